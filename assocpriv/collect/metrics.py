"""Metrics of a collector since it started, in Prometheus' text format.

No label is of a person. How fast reports come is measured in memory: when what arrived is stored nowhere. Counters are
plain numbers, of which prometheus-client makes the text: its own counters would tell when each began.
"""

import shutil
import threading
import time
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds
REASONS = (  # why requests are refused (docs/formats/collector.md); each is told from the beginning
    "busy", "closed", "content-encoding", "content-type", "direct", "full", "long-head", "malformed-body",
    "malformed-report", "method", "no-http", "no-key", "no-plan", "not-found", "ohttp-key", "other-plan", "quota",
    "slow", "stopping", "too-large",
)  # fmt: skip
_WINDOW_SECONDS = 24 * 3600.0
_STEP_SECONDS = 60.0
_LEAST_SECONDS = 30.0  # before a rate is told


# ---- counters


@dataclass(frozen=True)
class Load:
    """What there is at a moment: in the store, in front of it, and in which folder."""

    reports: int
    epochs_sealed: int
    epochs_waiting: int
    queue_depth: int
    waiting_bytes: int
    conflicts: int
    folder: Path

    def told(self) -> Iterator[Metric]:
        """Yield a counter and gauges; sizes are of all files in the folder."""
        conflicts = "Reports with an id that is there and other bytes, of those compared: nobody honest sends such."
        yield CounterMetricFamily("assocpriv_reports_conflicting", conflicts, self.conflicts)
        free = 0  # where the folder is away
        with suppress(OSError):
            free = shutil.disk_usage(self.folder).free
        for name, text, value in (
            ("reports", "Reports in the collection.", self.reports),
            ("epochs_sealed", "Epochs that are sealed.", self.epochs_sealed),
            ("epochs_waiting", "Epochs ended and not sealed; for minutes: sealing fails.", self.epochs_waiting),
            ("queue_depth", "Requests that wait for the disk.", self.queue_depth),
            ("waiting_bytes", "Bytes of requests that are not answered.", self.waiting_bytes),
            ("store_bytes", "Bytes of all files of the collection.", _bytes_in(self.folder)),
            ("disk_free_bytes", "Bytes free on their disk.", free),
        ):
            yield GaugeMetricFamily(f"assocpriv_{name}", text, value)


class _Histogram:
    """How often something took how long; added to in any thread."""

    def __init__(self) -> None:
        self._buckets, self._seconds, self._guard = [0] * (len(_BOUNDS) + 1), 0.0, threading.Lock()

    def add(self, seconds: float) -> None:
        """Count one."""
        with self._guard:
            self._buckets[bisect_left(_BOUNDS, seconds)] += 1
            self._seconds += seconds

    def told(self, name: str, text: str) -> Metric:
        """Return it as prometheus-client has it."""
        with self._guard:
            totals, seconds = list(accumulate(self._buckets)), self._seconds
        buckets = list(zip([*map(str, _BOUNDS), "+Inf"], totals, strict=True))
        return HistogramMetricFamily(f"assocpriv_{name}", text, buckets, seconds)


class Metrics(Collector):
    """Counters; requests are counted on the event loop, commits and seals in the threads that make them."""

    def __init__(self, load: Callable[[], Load], clock: Callable[[], float] = time.monotonic) -> None:
        """Count from 0; ``load`` is asked whenever metrics are.

        ``connections`` and ``failed_logins`` say how many there are, ``crafted`` whether tests for crafted reports
        flagged when last done, and of how many reports.
        """
        self._load, self._clock = load, clock
        self._accepted = self._duplicates = 0
        self._refusals = Counter(dict.fromkeys(REASONS, 0))
        self._commits, self._requests = _Histogram(), _Histogram()
        self._sealed_at = clock()
        self.version, self.turned_away = "", 0
        self.connections: Callable[[], int] = lambda: 0
        self.failed_logins: Callable[[], int] = lambda: 0
        self.crafted = (False, 0)

    def took(self, accepted: int, duplicates: int, seconds: float) -> None:
        """Count the reports of an upload, and in how many seconds it was answered."""
        self._accepted += accepted
        self._duplicates += duplicates
        self._requests.add(seconds)

    def refused(self, reason: str) -> None:
        """Count a request that was refused."""
        self._refusals[reason] += 1

    def committed(self, seconds: float) -> None:
        """Count a commit."""
        self._commits.add(seconds)

    def sealed(self) -> None:
        """Note that epochs were sealed just now."""
        self._sealed_at = self._clock()

    def collect(self) -> Iterator[Metric]:
        """Yield everything that is measured, as prometheus-client has it."""
        yield InfoMetricFamily("assocpriv_build", "Version of the collector.", {"version": self.version})
        for name, text, count in (
            ("reports_accepted", "Reports stored since the start.", self._accepted),
            ("reports_duplicate", "Reports that were stored before.", self._duplicates),
            ("logins_failed", "Logins to the operator's page with a wrong token.", self.failed_logins()),
            ("connections_turned_away", "Connections closed for want of descriptors.", self.turned_away),
        ):
            yield CounterMetricFamily(f"assocpriv_{name}", text, count)
        refused = CounterMetricFamily("assocpriv_requests_refused", "Requests refused, by reason.", labels=["reason"])
        for reason, count in sorted(self._refusals.items()):
            refused.add_metric([reason], count)
        yield refused
        yield from self._load().told()
        flagged, tested = self.crafted
        for name, text, value in (
            ("connections", "Connections that are open.", self.connections()),
            ("seal_age_seconds", "Seconds since reports were sealed, or the start.", self._clock() - self._sealed_at),
            ("crafted_flagged", "1 where tests speak against the reports, last time they were done.", flagged),
            ("crafted_tested", "Reports that there were then; 0 before the first time.", tested),
        ):
            yield GaugeMetricFamily(f"assocpriv_{name}", text, float(value))
        yield self._requests.told("upload_seconds", "Seconds in which uploads that were stored were answered.")
        yield self._commits.told("commit_seconds", "Seconds that commits took.")
        yield from ProcessCollector(registry=None).collect()  # memory, descriptors and their limit, where Linux tells


def _bytes_in(folder: Path) -> int:
    """Return the size of all files in a folder; one that is removed meanwhile counts nothing."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:
            continue
    return total


# ---- the rate of reports


class Rate:
    """Reports of a collection a second, over the last day or since the start."""

    def __init__(self, reports: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen = deque([(clock(), reports)])

    def per_second(self, reports: int) -> tuple[float, float] | None:
        """Note how many reports there are now; return how many come a second, and of how many seconds that is.

        None where it was measured for half a minute or less.
        """
        now = self._clock()
        while len(self._seen) > 1 and self._seen[1][0] <= now - _WINDOW_SECONDS:
            self._seen.popleft()
        began, before = self._seen[0]
        if now - self._seen[-1][0] >= _STEP_SECONDS:
            self._seen.append((now, reports))
        return ((reports - before) / (now - began), now - began) if now - began > _LEAST_SECONDS else None
