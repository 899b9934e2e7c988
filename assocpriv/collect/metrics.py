"""Metrics of a collector since it started, in the text format of Prometheus.

No label identifies a person. The rate of reports is measured in memory: no time of arrival is stored. Counters are
plain numbers, which prometheus-client formats: its own counters, and histograms as they are, would publish the time at
which each began.
"""

import shutil
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from prometheus_client import Histogram, core
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds
REASONS = (  # why requests are refused (docs/formats/collector.md); all are exported from the start
    "busy", "content-encoding", "content-type", "direct", "ended", "full", "long-head", "malformed-body",
    "malformed-report", "method", "no-http", "no-key", "no-plan", "not-found", "ohttp-key", "other-plan", "quota",
    "slow", "stopping", "too-large",
)  # fmt: skip
_WINDOW_SECONDS = 24 * 3600.0
_STEP_SECONDS = 60.0
_LEAST_SECONDS = 30.0  # of measurement, for a rate


# ---- counters


@dataclass(frozen=True)
class LoadSnapshot:
    """The present state of the store, the queue in front of it, and the folder."""

    reports: int
    batches_closed: int
    batches_pending: int
    queue_depth: int
    queued_bytes: int
    conflicts: int
    folder: Path

    def collect(self) -> Iterator[core.Metric]:
        """Yield a counter and gauges; sizes are those of all files in the folder."""
        conflicts = "Reports with a known id and other bytes, of those compared: no honest client sends them."
        yield core.CounterMetricFamily("assocpriv_reports_conflicting", conflicts, self.conflicts)
        free = 0  # the folder cannot be reached
        with suppress(OSError):
            free = shutil.disk_usage(self.folder).free
        for name, text, value in (
            ("reports", "Reports in the collection.", self.reports),
            ("batches_closed", "Closed batches.", self.batches_closed),
            ("batches_pending", "Full batches not yet closed; for minutes: closing fails.", self.batches_pending),
            ("queue_depth", "Requests waiting for the disk.", self.queue_depth),
            ("queued_bytes", "Bytes of unanswered requests.", self.queued_bytes),
            ("store_bytes", "Bytes of all files of the collection.", _bytes_in(self.folder)),
            ("disk_free_bytes", "Free bytes on their disk.", free),
        ):
            yield core.GaugeMetricFamily(f"assocpriv_{name}", text, value)


class Metrics(Collector):
    """Counters. Requests are counted on the event loop, commits and closed batches in their threads."""

    def __init__(self, load: Callable[[], LoadSnapshot], clock: Callable[[], float] = time.monotonic) -> None:
        """Start at 0; ``load`` is called whenever metrics are collected.

        ``connections`` and ``failed_logins`` return present numbers. ``manipulation`` holds whether the tests for
        manipulated reports flagged when last run, and on how many reports.
        """
        self._load, self._clock = load, clock
        self._accepted = self._duplicates = 0
        self._refusals = Counter(dict.fromkeys(REASONS, 0))
        self._requests = Histogram(
            "assocpriv_upload_seconds", "Seconds until stored uploads were answered.", buckets=_BOUNDS, registry=None
        )
        self._commits = Histogram("assocpriv_commit_seconds", "Seconds of commits.", buckets=_BOUNDS, registry=None)
        self._closed_at = clock()
        self.version, self.rejected = "", 0
        self.connections: Callable[[], int] = lambda: 0
        self.failed_logins: Callable[[], int] = lambda: 0
        self.manipulation = (False, 0)

    def record_upload(self, accepted: int, duplicates: int, seconds: float) -> None:
        """Count the reports of an upload, and record the seconds until its answer."""
        self._accepted += accepted
        self._duplicates += duplicates
        self._requests.observe(seconds)

    def record_refusal(self, reason: str) -> None:
        """Count a refused request."""
        self._refusals[reason] += 1

    def record_commit(self, seconds: float) -> None:
        """Record the seconds of a commit."""
        self._commits.observe(seconds)

    def record_close(self) -> None:
        """Record that batches were closed just now."""
        self._closed_at = self._clock()

    def collect(self) -> Iterator[core.Metric]:
        """Yield all metrics as prometheus-client's objects."""
        yield core.InfoMetricFamily("assocpriv_build", "Version of the collector.", {"version": self.version})
        for name, text, count in (
            ("reports_accepted", "Reports stored since the start.", self._accepted),
            ("reports_duplicate", "Repeated reports, stored before.", self._duplicates),
            ("logins_failed", "Logins to the operator's page with a wrong token.", self.failed_logins()),
            ("connections_rejected", "Connections closed because no file descriptor was free.", self.rejected),
        ):
            yield core.CounterMetricFamily(f"assocpriv_{name}", text, count)
        refused = core.CounterMetricFamily(
            "assocpriv_requests_refused", "Requests refused, by reason.", labels=["reason"]
        )
        for reason, count in sorted(self._refusals.items()):
            refused.add_metric([reason], count)
        yield refused
        yield from self._load().collect()
        flagged, tested = self.manipulation
        for name, text, value in (
            ("connections", "Open connections.", self.connections()),
            ("close_age_seconds", "Seconds since a batch was closed, or the start.", self._clock() - self._closed_at),
            ("manipulation_flagged", "1 if the last tests for manipulated reports flagged.", flagged),
            ("manipulation_tested", "Reports in those tests; 0 before the first ones.", tested),
        ):
            yield core.GaugeMetricFamily(f"assocpriv_{name}", text, float(value))
        for histogram in (*self._requests.collect(), *self._commits.collect()):
            histogram.samples = [each for each in histogram.samples if not each.name.endswith("_created")]
            yield histogram
        yield from ProcessCollector(registry=None).collect()  # memory, descriptors and their limit, on Linux


def _bytes_in(folder: Path) -> int:
    """Return the size of all files in a folder; a file removed meanwhile counts 0."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:
            continue
    return total


# ---- the rate of reports


class Rate:
    """The rate of reports of a collection in a second, over the last day or since the start."""

    def __init__(self, reports: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._samples = deque([(clock(), reports)])

    def per_second(self, reports: int) -> tuple[float, float] | None:
        """Record the present number of reports; return reports per second, and the seconds over which they were
        measured.

        None until half a minute has been measured.
        """
        now = self._clock()
        while len(self._samples) > 1 and self._samples[1][0] <= now - _WINDOW_SECONDS:
            self._samples.popleft()
        began, before = self._samples[0]
        if now - self._samples[-1][0] >= _STEP_SECONDS:
            self._samples.append((now, reports))
        return ((reports - before) / (now - began), now - began) if now - began > _LEAST_SECONDS else None
