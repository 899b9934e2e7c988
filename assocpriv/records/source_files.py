"""Files of people's records, as they lie on disk: opened, cut into whole lines, and named in every error.

Each error becomes one that names the file and quotes nothing of it.
"""

import errno
import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

from assocpriv.promise.errors import BasketError, RecordError
from assocpriv.records.budget import CHUNK_BYTES, WORKING_BYTES, Budget
from assocpriv.records.cells import Origin
from assocpriv.records.first_lines import SAMPLE_BYTES

Progress = Callable[[int, int], None]
_Result = TypeVar("_Result")
_BOM = b"\xef\xbb\xbf"
SPREADSHEETS = (".xlsx", ".xlsm", ".xls", ".ods")
SPREADSHEET = "a spreadsheet's own format is not read; save it there as “CSV UTF-8” and read that"
_STARTS = {  # of what is no text
    b"PAR1": "the file is Parquet; leave format= (--format) out, or pass format='parquet' (--format parquet)",
    b"PK\x03\x04": f"the file is packed, as spreadsheets are; {SPREADSHEET}",
}
_PROBLEMS = (
    (FileNotFoundError, "no such file; check the path"),
    (IsADirectoryError, "this is a folder; name a file in it"),
    (PermissionError, "the file may not be read; check its permissions"),
    (EOFError, "the compressed data breaks off; fetch the file again"),
    ((gzip.BadGzipFile, zlib.error), "the compressed data is damaged; fetch the file again"),
    (OSError, "the system cannot read the file; check the path and the disk"),
)


def named_after(path: Path, step: Callable[[], _Result], kind: type[RecordError] = BasketError) -> _Result:
    """Take a step of reading; whatever fails becomes one error of a kind that names the file."""
    try:
        return step()
    except RecordError as error:
        problem = str(error)
    except (EOFError, OSError, zlib.error) as error:
        problem = next(text for kind, text in _PROBLEMS if isinstance(error, kind))
        if isinstance(error, OSError) and error.errno == errno.ELOOP:
            problem = "the path is a loop of links; name the file itself"
    # outside the handlers, so that no parser's exception is even the hidden context of this one
    raise kind(f"{path.name or path}: {problem}")


class _ProgressFile(io.FileIO):
    """A file that tells how far it has been read."""

    def __init__(self, path: Path, progress: Progress) -> None:
        super().__init__(path)
        self._progress, self._size, self._read = progress, path.stat().st_size, 0

    def readinto(self, buffer: Any) -> int | None:
        read = super().readinto(buffer)
        self._read += read or 0
        self._progress(self.tell() if self.seekable() else self._read, self._size)
        return read


class Resumed:
    """A file whose first bytes were read already, to be read from its beginning."""

    def __init__(self, first: bytes, file: BinaryIO) -> None:
        self._first, self._place, self._file = first, 0, file
        self._goes_back = isinstance(file, io.BufferedReader) and file.seekable()  # gzip would unpack it again

    def read(self, size: int = -1) -> bytes:
        """Return so many bytes, fewer at the end; all that are left if negative."""
        if self._place == len(self._first):
            return self._file.read(size)
        if not self._place and not 0 <= size < len(self._first) and self._goes_back:
            self._file.seek(-len(self._first), io.SEEK_CUR)  # no second copy of all that follows
            self._place = len(self._first)
            return self._file.read(size)
        stop = len(self._first) if size < 0 else min(self._place + size, len(self._first))
        taken, self._place = self._first[self._place : stop], stop
        return taken + self._file.read(size if size < 0 else size - len(taken))


def open_source(path: Path, progress: Progress | None) -> BinaryIO:
    """Open a file, unpacked if its name ends in .gz; ``progress`` is called with (bytes read, bytes of the file)."""
    if path.is_dir():
        raise IsADirectoryError
    raw = io.BufferedReader(_ProgressFile(path, progress), CHUNK_BYTES) if progress else path.open("rb")
    if not path.name.lower().endswith(".gz"):
        return raw
    unpacked = gzip.GzipFile(fileobj=raw)
    unpacked.myfileobj = cast(Any, raw)  # closed together
    return cast(BinaryIO, unpacked)


def read_sample(file: BinaryIO) -> bytes:
    """Return the first bytes of a file of text, without a mark before them; refuse what is no text of ours."""
    first = file.read(len(_BOM)).removeprefix(_BOM) + file.read(SAMPLE_BYTES)
    _refuse_utf16(first)
    for start, problem in _STARTS.items():
        if first.startswith(start):
            raise BasketError(problem)
    return first


def _refuse_utf16(first: bytes) -> None:
    start = first[:8]
    plain = [start[place::2].count(b"\0") for place in (0, 1)]
    if start.startswith((b"\xff\xfe", b"\xfe\xff")) or (len(start) == 8 and sorted(plain) == [0, 4]):
        raise BasketError(
            "the file is UTF-16 text; convert it to UTF-8 (iconv -f UTF-16 -t UTF-8 OLD > NEW, or save it as "
            "“CSV UTF-8”)"
        )


def line_chunks(file: Resumed, budget: Budget, skip: int) -> Iterator[tuple[bytes, Origin]]:
    """Cut a file into pieces that all end with the end of a line, and say how errors name their lines.

    The first ``skip`` lines are left out.
    """
    rest = bytearray()
    before, longest = 0, budget.units(WORKING_BYTES)
    while block := file.read(budget.chunk_bytes):
        if cut := block.rfind(b"\n") + 1:
            yield from _below_header(bytes(rest) + block[:cut], before, skip)
            before += block.count(b"\n")
            rest = bytearray()
        rest += block[cut:]
        if len(rest) > longest >= 0:
            budget.refuse(f"line {before + 1} takes at least {len(rest) * WORKING_BYTES >> 20:,} MiB to read")
    if rest:
        yield from _below_header(bytes(rest).removesuffix(b"\n") + b"\n", before, skip)


def _below_header(lines: bytes, before: int, skip: int) -> Iterator[tuple[bytes, Origin]]:
    """Yield what is left of whole lines, of which ``before`` stand before these, without the first ``skip`` of all."""
    while before < skip and lines:
        before, lines = before + 1, lines[lines.find(b"\n") + 1 :]
    if lines:
        yield lines, Origin("line", before, whole=False)
