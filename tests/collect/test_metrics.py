"""Tests of a collector's metrics, read by Prometheus' own parser."""

import json
import re
from pathlib import Path

import yaml
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from assocpriv.collect.metrics import REASONS, LoadSnapshot, Metrics

ROOT = Path(__file__).parents[2]


def test_prometheus_reads_the_metrics(tmp_path: Path) -> None:
    """Families have help and type, counts are right, the histogram adds up, and no label identifies a person."""
    (tmp_path / "a").write_bytes(bytes(10))
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b").write_bytes(bytes(5))
    now = [0.0]
    metrics = Metrics(lambda: LoadSnapshot(41, 3, 1, 2, 99, 4, tmp_path), clock=lambda: now[0])
    metrics.connections, metrics.failed_logins = lambda: 7, lambda: 2
    metrics.manipulation, metrics.rejected, metrics.version = (True, 40), 1, "1.2.3"
    now[0] = 5.0
    metrics.record_close()
    now[0] = 8.0
    metrics.record_upload(5, 2, 0.02)
    metrics.record_upload(1, 0, 0.5)
    for reason in ("busy", "busy", "no-plan"):
        metrics.record_refusal(reason)
    for seconds in (0.0005, 0.001, 0.03, 9.0):
        metrics.record_commit(seconds)
    text = generate_latest(metrics).decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    samples = [sample for each in families.values() for sample in each.samples]
    values = {(sample.name, *sample.labels.values()): sample.value for sample in samples}
    assert all(family.documentation and family.type != "unknown" for family in families.values())
    not_named = "bucket", "disk", "process"
    named = {sample: value for sample, value in values.items() if not any(each in sample[0] for each in not_named)}
    assert named == {("assocpriv_requests_refused_total", reason): 0 for reason in REASONS} | {
        ("assocpriv_build_info", "1.2.3"): 1,
        ("assocpriv_connections",): 7,
        ("assocpriv_connections_rejected_total",): 1,
        ("assocpriv_logins_failed_total",): 2,
        ("assocpriv_manipulation_flagged",): 1,
        ("assocpriv_manipulation_tested",): 40,
        ("assocpriv_close_age_seconds",): 3,
        ("assocpriv_upload_seconds_sum",): 0.52,
        ("assocpriv_upload_seconds_count",): 2,
        ("assocpriv_reports_accepted_total",): 6,
        ("assocpriv_reports_duplicate_total",): 2,
        ("assocpriv_reports_conflicting_total",): 4,
        ("assocpriv_requests_refused_total", "busy"): 2,
        ("assocpriv_requests_refused_total", "no-plan"): 1,
        ("assocpriv_reports",): 41,
        ("assocpriv_batches_closed",): 3,
        ("assocpriv_batches_pending",): 1,
        ("assocpriv_queue_depth",): 2,
        ("assocpriv_queued_bytes",): 99,
        ("assocpriv_store_bytes",): 15,
        ("assocpriv_commit_seconds_sum",): 9.0315,
        ("assocpriv_commit_seconds_count",): 4,
    }
    assert values["assocpriv_disk_free_bytes",] > 0
    buckets = [sample for sample in families["assocpriv_commit_seconds"].samples if sample.name.endswith("bucket")]
    counts = [(each.labels["le"], each.value) for each in buckets]
    assert [count for _, count in counts] == sorted(count for _, count in counts)
    assert (counts[0], counts[-1]) == (("0.001", 2), ("+Inf", 4))
    assert {name for sample in samples for name in sample.labels} == {"le", "reason", "version"}
    assert values["process_resident_memory_bytes",] > 1e6
    assert 0 < values["process_open_fds",] < values["process_max_fds",]


def test_a_missing_folder_has_no_free_space(tmp_path: Path) -> None:
    """Metrics continue while the disk with the folder is gone, when they are needed most."""
    text = generate_latest(Metrics(lambda: LoadSnapshot(0, 0, 0, 0, 0, 0, tmp_path / "away"))).decode()
    assert "assocpriv_disk_free_bytes 0.0" in text


def names_of(text: str) -> set[str]:
    """Return the names of metrics in a text."""
    return set(re.findall(r"(?:assocpriv|process)_[a-z_]+", text))


def test_all_metrics_are_exported_from_the_start(tmp_path: Path) -> None:
    """Each reason of the format has a counter at 0; rules, dashboard and documents name existing metrics."""
    text = generate_latest(Metrics(lambda: LoadSnapshot(0, 0, 0, 0, 0, 0, tmp_path))).decode()
    format_page = (ROOT / "docs" / "formats" / "collector.md").read_text()
    documented = set(re.findall(r"^\| \d{3} \| `([a-z-]+)` \|", format_page, re.MULTILINE)) - {"no-guidance"}
    assert documented == set(REASONS)
    assert all(f'assocpriv_requests_refused_total{{reason="{reason}"}} 0.0' in text for reason in REASONS)
    own, examples = names_of(text), ROOT / "examples" / "collector"
    serve = (ROOT / "docs" / "cli" / "collector.md").read_text()
    assert names_of((ROOT / "docs" / "run-a-collection.md").read_text() + serve) <= own
    others = [name for name in own - names_of(serve) if name.startswith("assocpriv")]
    assert all(name.endswith(("_bucket", "_sum", "_count")) for name in others)
    rules = yaml.safe_load((examples / "alerts.yml").read_text())["groups"][0]["rules"]
    panels = json.loads((examples / "dashboard.json").read_text())["panels"]
    queries = [rule["expr"] for rule in rules] + [each["expr"] for panel in panels for each in panel["targets"]]
    assert len(queries) > 20
    assert all(names_of(each) <= own for each in queries if "up{" not in each)
    assert "assocpriv_batches_pending > 0" in queries  # one pending batch already shows that closing fails
    named = [found for text in queries for found in re.findall('reason=~?"([^"]+)"', text)]
    assert {each for found in named for each in found.split("|")} <= set(REASONS)
