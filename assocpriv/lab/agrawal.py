"""Records of loan applicants with a class, as decision trees have been compared on since 1992.

Nine attributes and five functions that say which class a record has. Half of the records are of each class: records are
drawn until each has enough. Nobody's data is in here, so numpy's seeded generator is the right source of randomness.
Numbered comments say where we differ from the source.

Source: Agrawal, Imielinski, Swami, Database Mining: A Performance Perspective, IEEE TKDE 1993 (the generator of 1992);
functions and attributes as in AS00, section 5.1.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.atomic import atomic_output, check_writable
from assocpriv.promise.errors import FileError, RecordError
from assocpriv.promise.numbers import as_whole

if TYPE_CHECKING:
    import pandas as pd

CHUNK_RECORDS = 1 << 16
LABEL, CLASSES = "class", ("A", "B")
RECORD_ENDINGS = (".csv", ".parquet")
_FLOATS = ("age", "hyears")
_LIMITS = {"function": (1, 5), "n_records": (2, 1 << 31), "seed": (0, (1 << 128) - 1)}
_SPARE = 1.2  # more records are drawn at a time than are expected to be needed
Records = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Range:
    """The range of an attribute, and how many values it has; None for a continuous one."""

    low: int
    high: int
    values: int | None = None


# a whole number v lies in the interval from v to v + 1, so that the ranges of whole numbers end one above the largest
ATTRIBUTES = {
    "salary": Range(20_000, 150_000),
    "commission": Range(0, 75_000),
    "age": Range(20, 80),
    "elevel": Range(0, 5, 5),
    "car": Range(1, 21, 20),
    "zipcode": Range(1, 10, 9),
    "hvalue": Range(50_000, 1_350_000),
    "hyears": Range(1, 30),
    "loan": Range(0, 500_000),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AgrawalSettings:
    """Which records :func:`generate_agrawal` makes: the function that says their class, how many, and a seed.

    Raises:
        RecordError: a number outside its range.

    >>> AgrawalSettings(function=2, n_records=1000).seed
    0
    """

    function: int = 1
    n_records: int = 100_000
    seed: int = 0

    def __post_init__(self) -> None:
        for name, (low, high) in _LIMITS.items():
            value = as_whole(getattr(self, name))
            if value is None or not low <= value <= high:
                raise RecordError(
                    f"{name} must be a whole number in {low}..{high}, got {str(getattr(self, name))[:40]}"
                )
            object.__setattr__(self, name, value)


def _draw(count: int, rng: np.random.Generator) -> Records:
    """Draw records of either class."""
    salary = rng.integers(20_000, 150_000, count, endpoint=True)  # 1. amounts are whole numbers, years hundredths
    commission = np.where(salary >= 75_000, 0, rng.integers(10_000, 75_000, count, endpoint=True))
    zipcode = rng.integers(1, 10, count)
    return {
        "salary": salary,
        "commission": commission,
        "age": rng.integers(20_00, 80_00, count) / 100,
        "elevel": rng.integers(0, 5, count),
        "car": rng.integers(1, 21, count),
        "zipcode": zipcode,
        # 2. the source leaves open which zip code has which k in 0 … 9; here k is the zip code
        "hvalue": np.rint(zipcode * (50_000 + 100_000 * rng.random(count))).astype(np.int64),
        "hyears": rng.integers(1_00, 30_00, count) / 100,
        "loan": rng.integers(0, 500_000, count, endpoint=True),
    }


def _within(amount: NDArray[Any], low: int, high: int) -> Any:
    return (amount >= low * 1000) & (amount <= high * 1000)


def _by_age(records: Records, young: Any, middle: Any, old: Any) -> Any:
    age = records["age"]
    return np.where(age < 40, young, np.where(age < 60, middle, old))


def _function_1(records: Records) -> Any:
    return _by_age(records, True, False, True)


def _function_2(records: Records) -> Any:
    salary = records["salary"]
    return _by_age(records, _within(salary, 50, 100), _within(salary, 75, 125), _within(salary, 25, 75))


def _function_3(records: Records) -> Any:
    salary, level = records["salary"], records["elevel"]
    low, middle, high = (_within(salary, *bounds) for bounds in ((25, 75), (50, 100), (75, 125)))
    return _by_age(
        records,
        np.where(level <= 1, low, (level <= 3) & middle),
        np.where(level == 4, high, (level >= 1) & middle),
        np.where(level == 1, low, (level >= 2) & middle),
    )


def _disposable(records: Records) -> NDArray[np.float64]:
    income = records["salary"] + records["commission"]
    found: NDArray[np.float64] = 0.67 * income - 0.2 * records["loan"] - 10_000
    return found


def _function_4(records: Records) -> Any:
    return _disposable(records) > 0


def _function_5(records: Records) -> Any:
    equity = 0.1 * records["hvalue"] * np.maximum(records["hyears"] - 20, 0)
    return _disposable(records) + 0.2 * equity > 0


FUNCTIONS: dict[int, Callable[[Records], Any]] = {
    1: _function_1, 2: _function_2, 3: _function_3, 4: _function_4, 5: _function_5,
}  # fmt: skip


def _chunk(wanted: tuple[int, int], function: int, rng: np.random.Generator) -> Records:
    """Return so many records of class A and of class B, in random order."""
    pieces: list[Records] = []
    found = np.zeros(2, dtype=np.int64)
    while (found < wanted).any():
        drawn = _draw(int(_SPARE * sum(wanted)) + 64, rng)
        drawn[LABEL] = np.where(FUNCTIONS[function](drawn), 0, 1)
        pieces.append(drawn)
        found += np.bincount(drawn[LABEL], minlength=2)
    every = {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
    kept = np.concatenate([np.flatnonzero(every[LABEL] == place)[:count] for place, count in enumerate(wanted)])
    kept = rng.permutation(kept)
    return {name: values[kept] for name, values in every.items()}


def _chunks(settings: AgrawalSettings) -> Iterator[Records]:
    rng = np.random.default_rng(settings.seed)
    for start in range(0, settings.n_records, CHUNK_RECORDS):
        count = min(CHUNK_RECORDS, settings.n_records - start)
        yield _chunk(((count + 1) // 2, count // 2), settings.function, rng)


def generate_agrawal(settings: AgrawalSettings) -> "pd.DataFrame":
    """Return records as a frame: the nine attributes, and ``class``, A where the function holds and B elsewhere.

    >>> made = generate_agrawal(AgrawalSettings(function=1, n_records=1000))
    >>> made["class"].value_counts().to_dict() == {"A": 500, "B": 500}
    True
    >>> bool((made["age"].between(40, 59.99) == (made["class"] == "B")).all())
    True
    """
    import pandas as pd

    pieces = list(_chunks(settings))
    every = {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
    every[LABEL] = np.array(CLASSES, dtype=object)[every[LABEL]]
    return pd.DataFrame(every)


def check_record_output(path: str | Path) -> None:
    """Refuse a name for records whose ending says neither CSV nor Parquet; raises FileError."""
    if Path(path).suffix.lower() not in RECORD_ENDINGS:
        raise FileError(f"{path} must end in .csv or .parquet to say what to write")


def generate_agrawal_file(
    settings: AgrawalSettings,
    path: str | Path,
    *,
    schema: str | Path | None = None,
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Write records to a CSV or Parquet file, part by part, and return their number.

    Args:
        settings: which records.
        path: file to write, .csv or .parquet.
        schema: also write a schema for ``assocpriv numeric plan``: every attribute with Gaussian noise at 100% privacy.
        force: replace existing files.
        progress: called with (records done, all).

    Raises:
        FileError: another ending, or a file that exists or cannot be written.
    """
    check_record_output(path)
    if schema is not None:
        check_writable(schema, force=force)
    with atomic_output(path, force=force) as stream:
        _write(settings, stream, Path(path).suffix.lower(), progress)
    if schema is not None:
        with atomic_output(schema, force=force) as stream:
            stream.write(agrawal_schema().encode("ascii"))
    return settings.n_records


def _write(
    settings: AgrawalSettings, stream: BinaryIO, ending: str, progress: Callable[[int, int], None] | None
) -> None:
    import pyarrow as pa
    import pyarrow.csv as pc
    import pyarrow.parquet as pq

    fields = [(name, pa.float64() if name in _FLOATS else pa.int64()) for name in ATTRIBUTES]
    schema = pa.schema([*fields, (LABEL, pa.string())])
    done = 0
    options = {"write_options": pc.WriteOptions(quoting_style="none")} if ending == ".csv" else {}
    opened = (pc.CSVWriter if ending == ".csv" else pq.ParquetWriter)(stream, schema, **options)
    with opened as writer:
        for piece in _chunks(settings):
            named = piece | {LABEL: np.array(CLASSES)[piece[LABEL]]}
            writer.write_table(pa.table(named, schema=schema))
            done += len(piece[LABEL])
            if progress:
                progress(done, settings.n_records)


def agrawal_schema(release: str = "gaussian", privacy: str = "100%") -> str:
    """Return a schema for ``assocpriv numeric plan``, TOML: every attribute released with noise, the class as it is."""
    lines = []
    for name, known in ATTRIBUTES.items():
        lines += [f"[columns.{name}]", 'kind = "number"', f"low = {known.low}", f"high = {known.high}"]
        if known.values is not None:
            lines += [f"intervals = {known.values}", f"cells = {known.values}"]
        lines += [f'release = "{release}"', f'privacy = "{privacy}"', 'confidence = "95%"', ""]
    values = ", ".join(f'"{value}"' for value in CLASSES)
    return "\n".join([*lines, f"[columns.{LABEL}]", 'kind = "label"', f"values = [{values}]", 'release = "as-is"', ""])
