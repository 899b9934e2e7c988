"""What is gathered into: a folder to which a run adds one report file, or one new report file.

What comes in is written in random order, by the operating system's entropy, and a file's time of modification is a
fixed one: neither tells who sent what, or when. No program can set a file's times of change and birth, which ``stat``
shows where it was written, and which a copy does not have.
"""

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import parquet_errors
from assocpriv.files.atomic import check_writable, sync_folder
from assocpriv.files.reports import ITEMSETS_KEY, PLAN_KEY, write_reports
from assocpriv.plans.kind import parse_plan
from assocpriv.plans.published import PublishedPlan
from assocpriv.promise.entropy import SystemEntropy
from assocpriv.promise.errors import FileError, PlanError, WireError

BATCHES_KEY = b"assocpriv.batches"  # of a file's metadata: the ids of the batches that it holds, blanks between
_NO_DATE = 946_684_800  # 2000-01-01, seconds
_ENDING = ".parquet"


def shuffled(packed: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return rows in uniformly random order, up to two of 64-bit keys that are equal."""
    rows: NDArray[np.uint8] = packed[np.argsort(SystemEntropy().words(len(packed)))]
    return rows


def without_date(path: Path) -> None:
    """Give a file a time of modification that tells nothing."""
    with suppress(OSError):
        os.utime(path, (_NO_DATE, _NO_DATE))


def is_one_file(output: Path) -> bool:
    """Tell whether an output is a report file of its own, and no folder of them."""
    return output.suffix.lower() == _ENDING and not output.is_dir()


def holds_reports(folder: Path) -> bool:
    """Tell whether there are report files in a folder itself."""
    return any(folder.glob(f"[!.]*{_ENDING}"))


class Collection:
    """The collection of one plan's reports at a path, whether or not it is there yet.

    Only footers of its files are read, and each once.
    """

    def __init__(self, path: Path, plan: PublishedPlan) -> None:
        self.path, self.plan = path, plan
        self._rows: dict[Path, int] = {}
        self._batches: set[str] = set()

    @property
    def target(self) -> tuple[str, str]:
        """What marks a batch that is for this collection: the plan's id, and where the collection is."""
        return self.plan.plan_id, os.path.realpath(self.path)

    def check(self, *, new: bool) -> None:
        """Refuse what cannot be added to, before any report is touched.

        Raises:
            FileError: no folder, or it cannot be written, or it holds reports although it is to be new.
            WireError: it holds reports of another plan, or damaged files.
        """
        if is_one_file(self.path):
            check_writable(self.path, force=self.path.exists())
        elif os.path.lexists(self.path) and not self.path.is_dir():
            raise FileError(f"{self.path} is no folder; name a folder, or a new file that ends in {_ENDING}")
        if self.count() and new:
            raise FileError(
                f"{self.path} holds reports already; what is kept in the inbox would be in it twice: name a new folder"
            )

    def check_free(self) -> None:
        """Refuse a report file that is there: only folders are added to."""
        if is_one_file(self.path) and self.path.exists():
            raise FileError(
                f"{self.path} exists already, and a report file is never added to; name a folder, which gets a report "
                "file more with each run"
            )

    def count(self) -> int:
        """Return how many reports the collection has now."""
        self._look()
        return sum(self._rows.values())

    def has(self, batch_id: str) -> bool:
        """Tell whether the reports of a batch are in the collection."""
        self._look()
        return batch_id in self._batches

    def _look(self) -> None:
        """Read the footers of the files that are new."""
        one = is_one_file(self.path)
        files = self.path.glob(f"[!.]*{_ENDING}") if not one else [self.path] if self.path.exists() else []
        for file in files:
            if file not in self._rows:
                self._rows[file] = self._rows_of(file)

    def _rows_of(self, file: Path) -> int:
        import pyarrow.parquet as pq

        try:
            footer = pq.read_metadata(file)
        except parquet_errors() as error:
            raise WireError(f"{file} is damaged ({type(error).__name__}); move it out of the collection") from None
        metadata = footer.metadata or {}
        if ITEMSETS_KEY in metadata:  # a mined table beside its reports
            return 0
        text = metadata.get(PLAN_KEY, b"")
        if text != self.plan.canonical_json.encode("ascii"):
            self._check_plan(text.decode("utf-8", errors="replace"), file)
        self._batches.update(metadata.get(BATCHES_KEY, b"").decode("ascii", errors="replace").split())
        return int(footer.num_rows)

    def _check_plan(self, text: str, file: Path) -> None:
        """Refuse a file of another plan; the text of ours may have another layout."""
        try:
            plan_id = parse_plan(text).plan_id
        except PlanError as error:
            raise WireError(f"{file} is no report file: {error}; move it out of the collection") from None
        if plan_id != self.plan.plan_id:
            raise WireError(
                f"{file} holds reports of plan {plan_id[:12]}, not of plan {self.plan.plan_id[:12]}; name another "
                "output: a collection is of one plan"
            )

    def add(self, blocks: Iterator[NDArray[np.uint8]], batches: Sequence[str], *, only: bool = False) -> int:
        """Write blocks of reports as one file, and return their number when it is on disk; no file for none.

        Of several runs that each add the ``only`` file, one does: it has the same name in all, and is not replaced.

        Raises:
            FileError: the disk refuses, or somebody has made the file meanwhile.
        """
        first = next(blocks, None)
        if first is None:
            return 0
        path = self.path
        metadata = {BATCHES_KEY: " ".join(batches).encode("ascii")} if batches else None
        try:
            if not is_one_file(path):
                self._make_folder()
                name = batches[0] if batches else secrets.token_hex(8)
                path = self._file_of(self.plan.plan_id[:16] if only else name)
            written = write_reports(chain([first], blocks), self.plan, path, metadata=metadata)
            without_date(path)
        except OSError as error:
            raise FileError(f"cannot write {path}: {error.strerror or error}") from error
        self.sync()
        return written

    def sync(self) -> None:
        """Wait until it is on disk which files there are.

        Raises:
            FileError: the disk refuses.
        """
        try:
            sync_folder(self.path.parent if is_one_file(self.path) else self.path)
        except OSError as error:
            raise FileError(f"cannot write {self.path}: {error.strerror or error}") from error

    def sweep(self, batch_id: str) -> None:
        """Remove what a dead gatherer had written of the file that was to hold a batch."""
        for unfinished in self.path.glob(f".{self._file_of(batch_id).name}.*.part"):
            unfinished.unlink(missing_ok=True)

    def _file_of(self, batch_id: str) -> Path:
        return self.path / f"{batch_id}{_ENDING}"

    def _make_folder(self) -> None:
        """Make the folder, and the one above it, which several plans share."""
        for folder in (self.path.parent, self.path):
            if not folder.is_dir():
                folder.mkdir(exist_ok=True)
                sync_folder(folder.parent)
