"""Metrics of a collector since it started, in Prometheus' text format.

No label is of a person. How fast reports come is measured in memory: when what arrived is stored nowhere.
"""

import shutil
import threading
import time
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)  # seconds of a commit
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
    folder: Path

    def to_lines(self) -> list[str]:
        """Return gauges; sizes are of all files in the folder."""
        return [
            *_one("reports", "gauge", "Reports in the collection.", self.reports),
            *_one("epochs_sealed", "gauge", "Epochs that are sealed.", self.epochs_sealed),
            *_one(
                "epochs_waiting",
                "gauge",
                "Epochs that ended and are not sealed; more than one: sealing fails.",
                self.epochs_waiting,
            ),
            *_one("queue_depth", "gauge", "Requests that wait for the disk.", self.queue_depth),
            *_one("waiting_bytes", "gauge", "Bytes of requests that are not answered.", self.waiting_bytes),
            *_one("store_bytes", "gauge", "Bytes of all files of the collection.", _bytes_in(self.folder)),
            *_one("disk_free_bytes", "gauge", "Bytes free on their disk.", shutil.disk_usage(self.folder).free),
        ]


class Metrics:
    """Counters; uploads are counted on the event loop, commits in the threads that make them."""

    def __init__(self) -> None:
        self.accepted = self.duplicates = 0
        self.refusals: Counter[str] = Counter()
        self._buckets, self._seconds = [0] * (len(_BOUNDS) + 1), 0.0
        self._guard = threading.Lock()

    def took(self, accepted: int, duplicates: int) -> None:
        """Count the reports of an upload."""
        self.accepted += accepted
        self.duplicates += duplicates

    def refused(self, reason: str) -> None:
        """Count a request that was refused."""
        self.refusals[reason] += 1

    def committed(self, seconds: float) -> None:
        """Count a commit."""
        with self._guard:
            self._buckets[bisect_left(_BOUNDS, seconds)] += 1
            self._seconds += seconds

    def text(self, load: Load) -> str:
        """Return everything in Prometheus' text format, 0.0.4."""
        with self._guard:
            buckets, seconds = list(self._buckets), self._seconds
        lines = [
            *_one("reports_accepted_total", "counter", "Reports stored since the start.", self.accepted),
            *_one("reports_duplicate_total", "counter", "Reports that were stored before.", self.duplicates),
            *_head("requests_refused_total", "counter", "Requests refused, by reason."),
            *(
                f'assocpriv_requests_refused_total{{reason="{reason}"}} {n}'
                for reason, n in sorted(self.refusals.items())
            ),
            *load.to_lines(),
            *_head("commit_seconds", "histogram", "Seconds that commits took."),
        ]
        total = 0
        for bound, count in zip([*map(str, _BOUNDS), "+Inf"], buckets, strict=True):
            total += count
            lines.append(f'assocpriv_commit_seconds_bucket{{le="{bound}"}} {total}')
        return (
            "\n".join([*lines, f"assocpriv_commit_seconds_sum {seconds!r}", f"assocpriv_commit_seconds_count {total}"])
            + "\n"
        )


def _bytes_in(folder: Path) -> int:
    """Return the size of all files in a folder; one that is removed meanwhile counts nothing."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:
            continue
    return total


def _head(name: str, kind: str, text: str) -> list[str]:
    return [f"# HELP assocpriv_{name} {text}", f"# TYPE assocpriv_{name} {kind}"]


def _one(name: str, kind: str, text: str, value: int) -> list[str]:
    return [*_head(name, kind, text), f"assocpriv_{name} {value}"]


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
