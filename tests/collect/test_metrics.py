"""Tests of what a collector tells of itself, read by Prometheus' own parser."""

from pathlib import Path

from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from assocpriv.collect.metrics import Load, Metrics


def test_metrics_are_what_prometheus_reads(tmp_path: Path) -> None:
    """Families are told and typed; counts are those counted, the histogram adds up, no label is a person's."""
    (tmp_path / "a").write_bytes(bytes(10))
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b").write_bytes(bytes(5))
    metrics = Metrics(lambda: Load(41, 3, 1, 2, 99, tmp_path))
    metrics.took(5, 2)
    metrics.took(1, 0)
    metrics.refused("busy")
    metrics.refused("busy")
    metrics.refused("no-plan")
    for seconds in (0.0005, 0.001, 0.03, 9.0):
        metrics.committed(seconds)
    text = generate_latest(metrics).decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    values = {
        (sample.name, *sample.labels.values()): sample.value for each in families.values() for sample in each.samples
    }
    assert all(family.documentation and family.type != "unknown" for family in families.values())
    named = {sample: value for sample, value in values.items() if "bucket" not in sample[0] and "disk" not in sample[0]}
    assert named == {
        ("assocpriv_reports_accepted_total",): 6,
        ("assocpriv_reports_duplicate_total",): 2,
        ("assocpriv_requests_refused_total", "busy"): 2,
        ("assocpriv_requests_refused_total", "no-plan"): 1,
        ("assocpriv_reports",): 41,
        ("assocpriv_epochs_sealed",): 3,
        ("assocpriv_epochs_waiting",): 1,
        ("assocpriv_queue_depth",): 2,
        ("assocpriv_waiting_bytes",): 99,
        ("assocpriv_store_bytes",): 15,
        ("assocpriv_commit_seconds_sum",): 9.0315,
        ("assocpriv_commit_seconds_count",): 4,
    }
    assert values["assocpriv_disk_free_bytes",] > 0
    buckets = [sample for sample in families["assocpriv_commit_seconds"].samples if sample.name.endswith("bucket")]
    assert [each.value for each in buckets] == sorted(each.value for each in buckets)
    assert (buckets[0].labels["le"], buckets[0].value) == ("0.001", 2)
    assert (buckets[-1].labels["le"], buckets[-1].value) == ("+Inf", 4)
    assert {name for each in families.values() for sample in each.samples for name in sample.labels} == {"le", "reason"}
