"""Itemsets that were mined, as a table that carries its facts.

A table has mlxtend's columns ``support`` and ``itemsets`` and is closed under taking subsets. ``support`` is the mean
of the posterior (posterior.py), ``std_error`` its standard deviation, ``ci_low`` … ``ci_high`` its central interval.
``probability`` is that of a support of at least the minimum. What rules need beside these are ``common_error``, the
share of the error that all itemsets of the size have in common, and ``posterior``: for each node of the bound on the
support (mixtures.py) weight, mean and standard deviation of a normal law, in a row with blanks between. ``undoing`` and
``undoing_error`` are the truncation correction and the part of ``unbiased_error`` that comes of it (compare.py).
``expected_support`` is that under independence (posterior.py).

Facts say which plans and reports the itemsets come from, what was asked for, and what was counted. A table carries them
as JSON content in ``attrs["assocpriv"]``, which pandas copies wherever the table goes, and its files carry the same
(files/itemsets.py). Code reads them as :class:`MiningFacts`; how they are written is known here alone.

Other programs may read the listed itemsets with counts, as miners of plain baskets give them.
"""

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import parquet_errors
from assocpriv.files.atomic import FORMATS, atomic_output, check_regular, output_format
from assocpriv.files.itemsets import FORMAT, READERS, WRITERS, AnyFrame, LightFrame, as_column
from assocpriv.files.reports import gather_hint, holds_reports
from assocpriv.plans.catalogue import itemsets_of
from assocpriv.promise.errors import EstimateError, FileError, counted
from assocpriv.server.false_discovery import ALL, SPLIT
from assocpriv.server.mixtures import NODES
from assocpriv.server.supports import normal_quantile

if TYPE_CHECKING:
    import pandas as pd

    from assocpriv.plans.catalogue import Catalogue
    from assocpriv.server.posterior import Level


VERSION = 5
ATTRIBUTE = "assocpriv"
_OF_FILES = ("format", "version", "meaning")  # beside facts
_NUMBERS = [
    "std_error", "ci_low", "ci_high", "length", "probability", "listed", "expected_support", "unbiased",
    "unbiased_error", "sampled", "sampled_error", "common_error", "undoing", "undoing_error",
]  # fmt: skip
COLUMNS = ["support", "itemsets", *_NUMBERS, "posterior"]
CERTAIN_COLUMNS = ["p_value", "certain"]  # where it was asked for
FEW_REPORTS = 5_000
_PLAIN: dict[Any, Any] = {str: str, int: int, float: int | float, bool: bool}
_Frame = TypeVar("_Frame", LightFrame, "pd.DataFrame")
_TYPES: dict[str, Any] = dict.fromkeys(["support", *_NUMBERS, "p_value"], np.float64) | {
    "length": np.int64, "listed": np.bool_, "certain": np.bool_,
}  # fmt: skip
_KINDS = {np.float64: "fiu", np.bool_: "b", np.int64: "iu"}  # of numbers that a column may be made of


# ---- facts


@dataclass(frozen=True, slots=True)
class Certainty:
    """What is claimed of itemsets called certain, and what it rests on (false_discovery.py).

    ``level`` is 1 less the share of false ones allowed, ``by`` is ``split`` or ``all``. Itemsets of up to ``largest``
    of ``items`` were chosen by ``selecting_reports``; ``hypotheses`` of them count as tested.
    """

    level: float
    by: str
    items: int
    largest: int
    selecting_reports: int
    hypotheses: int


@dataclass(frozen=True, slots=True)
class SizeFacts:
    """What reports say of baskets' sizes: how many answers about them, the mean, and what undoing the sampling takes.

    ``undoing`` has by itemset size, as text, the factor of a typical itemset's support and its relative error.
    """

    answers: int
    mean: float
    undoing: dict[str, list[float]]

    @classmethod
    def from_json(cls, content: Any) -> "SizeFacts":
        """Read the facts; EstimateError where one is missing or of another kind."""
        undoing: Any = content.get("undoing") if isinstance(content, dict) else None
        pairs = list(undoing.values()) if isinstance(undoing, dict) else [None]
        if not all(isinstance(pair, list) and len(pair) == 2 and all(map(_is_number, pair)) for pair in pairs):
            raise EstimateError("it lacks what undoing the sampling takes, or has another kind of it")
        return cls(**_plain_fields(cls, content, " of sizes"), undoing=undoing)


@dataclass(frozen=True, slots=True)
class MiningFacts:
    """What a table of mined itemsets comes from.

    Attributes:
        plan_ids: of all collections that were mined together, the longest catalogue's first.
        transaction_size: M, of the first.
        reports: that tell of items.
        min_support: S, that ``probability`` is of.
        counted: by itemset size how many were counted, and how many could have been wanted, [counted, possible].
        whole: whether supports are those of whole baskets; else within at most M sampled items.
        crowded: the sizes of which there was no memory to count more.
        others: what became of names that the plan does not know.
        auto: whether S is the least that is likely to be told from noise.
        top: how many itemsets of the largest supports were wanted, if that was asked for.
        sizes: what reports say of sizes, where they do.
    """

    plan_ids: list[str]
    transaction_size: int
    reports: int
    min_support: float
    confidence_level: float
    counted: list[list[int]]
    whole: bool
    crowded: list[int]
    others: str = "error"
    auto: bool = False
    top: int = 0
    certain: Certainty | None = None
    sizes: SizeFacts | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the facts as JSON content; what does not apply is left out."""
        content = {"format": FORMAT, "version": VERSION, "meaning": f"supports are {self.meaning}"} | asdict(self)
        return {name: value for name, value in content.items() if value is not None}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> "MiningFacts":
        """Read the facts.

        Raises:
            EstimateError: one is missing or of another kind.
        """
        plan_ids, counts, crowded, certain, sizes = (
            content.get(name) for name in ("plan_ids", "counted", "crowded", "certain", "sizes")
        )
        if not isinstance(plan_ids, list) or not plan_ids or not all(isinstance(each, str) for each in plan_ids):
            raise EstimateError("it lacks the ids of its plans")
        if not isinstance(counts, list) or not all(
            isinstance(pair, list) and len(pair) == 2 and all(isinstance(n, int) for n in pair) for pair in counts
        ):
            raise EstimateError("it lacks how many itemsets were counted")
        if not isinstance(crowded, list) or not all(
            isinstance(size, int) and 0 < size <= len(counts) for size in crowded
        ):
            raise EstimateError("it lacks of which sizes there was no room for more")
        return cls(
            **_plain_fields(cls, content),
            plan_ids=plan_ids,
            counted=counts,
            crowded=crowded,
            certain=None if certain is None else Certainty(**_plain_fields(Certainty, certain, " of what is certain")),
            sizes=None if sizes is None else SizeFacts.from_json(sizes),
        )

    @property
    def meaning(self) -> str:
        """What supports are shares of."""
        if self.whole:
            return "those of whole baskets"
        return f"those within at most {counted(self.transaction_size, 'sampled item')} a basket"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and 0 <= value < math.inf


def _plain_fields(kind: type, content: Any, of: str = "") -> dict[str, Any]:
    """Return what JSON content says of a dataclass's strings, numbers (from 0) and truth values, or its defaults."""
    values, known = {}, {field.name for field in fields(kind)}
    if isinstance(content, dict) and not content.keys() <= known:
        raise EstimateError(f"it has facts{of} that are not known here")
    for field in fields(kind):
        if field.type not in _PLAIN:
            continue
        value = content.get(field.name, field.default) if isinstance(content, dict) else MISSING
        if (
            not isinstance(value, _PLAIN[field.type])
            or isinstance(value, bool) is not (field.type is bool)
            or (field.type is float and not _is_number(value))
        ):
            raise EstimateError(f"it lacks the fact {field.name}{of}, or has another kind of it")
        values[field.name] = value
    return values


def describe_limits(facts: MiningFacts) -> list[str]:
    """Say, a line each, what these reports cannot tell, or what was not counted."""
    said = []
    if facts.reports < FEW_REPORTS:
        said.append(
            f"{counted(facts.reports, 'report')} {'tells' if facts.reports == 1 else 'tell'} little: what is said of "
            "an itemset is mostly what was assumed of all; collect more"
        )
    said += [
        f"{facts.counted[k - 1][0]:,} of {facts.counted[k - 1][1]:,} possible {itemsets_of(k)} were counted, the "
        "likeliest; ask for fewer (top, min_support) or allow more memory (memory_bytes)"
        for k in facts.crowded
    ]
    return said


# ---- tables


def itemset_frame(
    levels: Sequence["Level"],
    rows: Sequence[NDArray[Any]],
    catalogue: "Catalogue",
    facts: MiningFacts,
    columns: Sequence[dict[str, NDArray[Any]]],
) -> LightFrame:
    """Put rows of each size into a table, larger supports first within a size; ``columns`` are further ones of each."""
    parts = []
    for level, chosen, more in zip(levels, rows, columns, strict=True):
        order = chosen[np.argsort(-level.support[chosen], kind="stable")]
        place = np.empty(len(level), dtype=np.int64)
        place[chosen] = np.arange(len(chosen))
        part = posterior_columns(level, order, catalogue, facts)
        parts.append(part | {name: values[place[order]] for name, values in more.items()})
    empty = [name for name in columns_of(facts) if not parts]
    together = {name: np.concatenate([part[name] for part in parts]) for name in columns_of(facts) if parts}
    return with_facts(_typed(LightFrame(together | {name: np.empty(0, dtype=object) for name in empty})), facts)


def posterior_columns(
    level: "Level", rows: NDArray[Any], catalogue: "Catalogue", facts: MiningFacts
) -> dict[str, NDArray[Any]]:
    """Return the columns that tell what reports say of some itemsets of one size; ``listed`` is yet to be said."""
    told, error = level.told.take(rows), level.unbiased_error[rows]
    ends = told.intervals(facts.confidence_level)
    if facts.reports < FEW_REPORTS:  # intervals would be the prior's alone
        ends = _widened(ends, level.unbiased[rows], error, facts.confidence_level)
    parts = told.by_node()
    numbers = np.stack([parts.weights, parts.means, np.sqrt(parts.variances)], axis=2).reshape(len(rows), -1)
    return {
        "support": level.support[rows],
        "itemsets": as_column([frozenset(catalogue[item] for item in row) for row in level.itemsets[rows].tolist()]),
        "std_error": level.error[rows],
        "ci_low": ends[:, 0],
        "ci_high": ends[:, 1],
        "length": np.full(len(rows), level.itemsets.shape[1], dtype=np.int64),
        "probability": told.above(facts.min_support),
        "listed": np.zeros(len(rows), dtype=np.bool_),
        "expected_support": level.expected[rows],
        "unbiased": level.unbiased[rows],
        "unbiased_error": error,
        "sampled": level.sampled[rows],
        "sampled_error": level.sampled_error[rows],
        "common_error": level.common[rows],
        "undoing": level.undoing[rows],
        "undoing_error": level.undoing_error[rows],
        "posterior": as_column([" ".join(map(repr, row)) for row in numbers.tolist()]),
    }


def with_named_intervals(frame: LightFrame, level: float, low: str = "ci_low", high: str = "ci_high") -> LightFrame:
    """Return rows with intervals, in two columns, for itemsets that were named before anybody looked at results.

    They hold the support of each itemset with this probability, whatever those of others are: the unbiased estimate
    with its error, cut to [0, 1], and the posterior mean. The intervals of a table hold it on average over the
    catalogue: of best sellers, which the prior draws to the many rare items, less often.
    """
    mean = np.column_stack([frame["support"], frame["support"]])
    ends = _widened(mean, frame["unbiased"], frame["unbiased_error"], level)
    return frame.assign(**{low: ends[:, 0], high: ends[:, 1]})


def _widened(ends: NDArray[np.float64], x: NDArray[Any], error: NDArray[Any], level: float) -> NDArray[np.float64]:
    """Return intervals that hold the unbiased estimates' normal ones too, cut to [0, 1]."""
    reach = normal_quantile(level) * error
    both = np.column_stack([np.minimum(ends[:, 0], x - reach), np.maximum(ends[:, 1], x + reach)])
    return np.asarray(np.clip(both, 0.0, 1.0))


def parts_of(frame: LightFrame) -> NDArray[np.float64]:
    """Return what the column ``posterior`` says: weight, mean, standard deviation of each node, (rows, nodes, 3)."""
    parts = [[float(word) for word in text.split(" ")] for text in frame["posterior"].tolist()]
    return np.array(parts, dtype=np.float64).reshape(len(parts), len(NODES), 3)


def with_facts(frame: _Frame, facts: MiningFacts) -> _Frame:
    """Attach facts to a table."""
    frame.attrs[ATTRIBUTE] = facts.to_json()
    return frame


def columns_of(facts: MiningFacts) -> list[str]:
    """Return the columns that a table with these facts must have."""
    return [*COLUMNS, *(CERTAIN_COLUMNS if facts.certain is not None else [])]


def _typed(frame: LightFrame) -> LightFrame:
    """Return a table with columns of the types that they have; ValueError where one holds anything else."""
    for name, kind in _TYPES.items():
        if name in frame.columns and len(frame) and frame[name].dtype.kind not in _KINDS[kind]:
            raise ValueError(f"the column {name} holds other values")
    return frame.assign(**{name: frame[name].astype(kind) for name, kind in _TYPES.items() if name in frame.columns})


def mining_facts(frame: AnyFrame) -> MiningFacts:
    """Return what a table of itemsets comes from; EstimateError where it does not carry that."""
    if not (hasattr(frame, "columns") and hasattr(frame, "attrs")):
        raise TypeError(
            "itemsets must be a table as mine returned it (read_itemsets reads one from a file), got a "
            f"{type(frame).__name__}"
        )
    missing = [name for name in COLUMNS if name not in frame.columns]
    return _read_facts({} if missing else frame.attrs.get(ATTRIBUTE))


def _read_facts(content: Any) -> MiningFacts:
    known = isinstance(content, dict) and content.get("format") == FORMAT
    if not known or content.get("version") != VERSION:
        raise EstimateError(
            "this table does not carry the plan, the number of reports and the counts that standard errors "
            "need; take it as assocpriv.mine returned it or read_itemsets read it"
        )
    return MiningFacts.from_json({name: each for name, each in content.items() if name not in _OF_FILES})


# ---- files


def write_itemsets(frame: AnyFrame, path: str | Path, *, force: bool = False) -> None:
    """Write a table of itemsets with all that rules need; Parquet, CSV or JSON by extension.

    Raises:
        FileError: unknown extension, existing file without ``force``, or the disk refuses.
        EstimateError: the table does not carry its facts.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, promise=ap.Breach("5%", "50%"))
    >>> found = ap.mine(ap.randomize([{"milk", "tea"}] * 20_000, made), 0.5)
    >>> ap.write_itemsets(found, f"{mkdtemp()}/found.csv")
    """
    kind = output_format(path)
    facts = mining_facts(frame)
    table = LightFrame.of(frame)
    known = LightFrame({name: table[name] for name in columns_of(facts)})  # a column that somebody added stays with him
    with atomic_output(path, force=force) as stream:
        WRITERS[kind](known, facts.to_json(), stream)


def read_itemsets(path: str | Path, *, light: bool = False) -> Any:
    """Read a table of itemsets that :func:`write_itemsets` wrote, as pandas' data frame.

    Args:
        path: a file of .parquet, .csv or .json.
        light: return a light table, made without pandas; its ``to_pandas()`` makes the data frame.

    Raises:
        EstimateError: the file is not such a table, or is damaged.
        FileError: it cannot be read, or has another extension.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, promise=ap.Breach("5%", "50%"))
    >>> found = ap.mine(ap.randomize([{"milk", "tea"}] * 20_000, made), 0.5)
    >>> ap.write_itemsets(found, file := f"{mkdtemp()}/found.parquet")
    >>> ap.read_itemsets(file).equals(found)
    True
    """
    if light:
        return read_table(path)
    from assocpriv.server.data_frames import shown

    return shown(read_table(path))


def read_table(path: str | Path) -> LightFrame:
    """Read a table of itemsets, without pandas; raises what :func:`read_itemsets` does."""
    source = Path(path)
    kind = FORMATS.get(source.suffix.lower())
    if kind is None:
        raise FileError(f"{source} is no file of mined itemsets (.parquet, .csv or .json): {gather_hint(source)}")
    damage: tuple[type[BaseException], ...] = (*parquet_errors(), csv.Error, AttributeError)
    try:
        check_regular(source)
        frame, content = READERS[kind](source)
        facts = _read_facts(content)
        if not set(frame.columns) <= set(columns_of(facts)):
            raise EstimateError("it has columns that are not known here")
        if not len(frame):  # which tells no types
            frame = LightFrame({name: np.empty(0, dtype=object) for name in columns_of(facts)})
        frame = with_facts(_typed(LightFrame({name: frame[name] for name in columns_of(facts)})), facts)
        _check_table(frame, facts)
    except OSError as error:
        raise FileError(f"cannot read {source}: {error.strerror or 'it is damaged'}") from None
    except damage as error:
        reason = str(error).splitlines()[0] if isinstance(error, EstimateError) else _what_else(source)
        raise EstimateError(f"{source} is not a file of mined itemsets: {reason}") from None
    return frame


def _what_else(source: Path) -> str:
    """Say what a file is that holds no itemsets, and what to do with it."""

    if holds_reports(source):
        return "it holds reports; mine them first: assocpriv mine"
    return "it is damaged or not mined here"


def _check_table(frame: LightFrame, facts: MiningFacts) -> None:
    """Refuse a table that no mining could have written."""
    if not (facts.reports >= 1 and 0 < facts.min_support <= 1):
        raise EstimateError("a number of reports or a minimum support is out of range")
    itemsets = frame["itemsets"].tolist()
    named = all(itemset and all(isinstance(name, str) for name in itemset) for itemset in itemsets)
    sizes = [len(itemset) for itemset in itemsets]
    if not named or sizes != frame["length"].tolist() or len(set(itemsets)) != len(itemsets):
        raise EstimateError("an itemset is empty, repeated, not made of names or of another length than it says")
    numbers = [frame[name] for name in COLUMNS if _TYPES.get(name) is np.float64 and name != "sampled_error"]
    shares = [frame[name] for name in ("support", "ci_low", "ci_high", "probability")]
    if not all(np.isfinite(each).all() for each in numbers) or not all(_between(each, 0, 1) for each in shares):
        raise EstimateError("a number is missing or out of range")
    if not np.isfinite(parts_of(frame)).all():
        raise EstimateError("a posterior is not made of numbers")
    if facts.certain is not None:
        certain = facts.certain
        if not (0 < certain.level < 1 and certain.by in (SPLIT, ALL) and certain.hypotheses >= len(frame)):
            raise EstimateError("what it says of what is certain is out of range")
        if not _between(frame["p_value"], 0, 1):
            raise EstimateError("a p-value is out of range")


def _between(values: NDArray[Any], least: Any, most: Any) -> bool:
    return bool(((values >= least) & (values <= most)).all())


def listed_counts(itemsets: "pd.DataFrame") -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield the names of each listed itemset, sorted, and about how many baskets hold it."""
    reports, frame = mining_facts(itemsets).reports, LightFrame.of(itemsets)
    for row in frame.to_dict():
        if row["listed"]:
            yield tuple(sorted(row["itemsets"])), max(round(row["support"] * reports), 0)


def write_counts(itemsets: "pd.DataFrame", path: str | Path, line: str, *, force: bool) -> None:
    """Write a line for each listed itemset; a name with a blank in it cannot stand there."""
    found = list(listed_counts(itemsets))
    if any(len(name.split()) != 1 for items, _ in found for name in items):
        raise EstimateError("a name has a blank in it, which such a file takes for two names; write Parquet or JSON")
    with atomic_output(path, force=force) as stream:
        for items, count in found:
            stream.write((line.format(items=" ".join(items), count=count) + "\n").encode("utf-8"))


def to_efficient_apriori(itemsets: "pd.DataFrame") -> dict[int, dict[tuple[str, ...], int]]:
    """Return listed itemsets as efficient-apriori's ``itemsets_from_transactions`` does: counts by itemset, by size.

    Counts are estimates of how many baskets hold the itemset: supports times reports, rounded.

    Raises:
        EstimateError: not a table that mine returned.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, promise=ap.Breach("5%", "50%"))
    >>> found = ap.mine(ap.randomize([{"milk", "tea"}] * 20_000, made), 0.5)
    >>> sorted(ap.to_efficient_apriori(found)[1]), list(ap.to_efficient_apriori(found)[2])
    ([('milk',), ('tea',)], [('milk', 'tea')])
    """
    found: dict[int, dict[tuple[str, ...], int]] = {}
    for items, count in listed_counts(itemsets):
        found.setdefault(len(items), {})[items] = count
    return found


def write_spmf(itemsets: "pd.DataFrame", path: "str | Path", *, force: bool = False) -> None:
    """Write listed itemsets as SPMF's miners do: ``1 2 3 #SUP: 120``, a line each.

    Raises:
        EstimateError: not a table that mine returned, or a name with a blank, which such a file cannot tell from two.
        FileError: the file exists and ``force`` is not set, or cannot be written.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, promise=ap.Breach("5%", "50%"))
    >>> found = ap.mine(ap.randomize([{"milk", "tea"}] * 20_000, made), 0.5)
    >>> ap.write_spmf(found, file := Path(mkdtemp(), "found.txt"))
    >>> sorted(line.split(" #SUP: ")[0] for line in file.read_text().splitlines())
    ['milk', 'milk tea', 'tea']
    """

    write_counts(itemsets, path, "{items} #SUP: {count}", force=force)


def write_fimi(itemsets: "pd.DataFrame", path: "str | Path", *, force: bool = False) -> None:
    """Write listed itemsets as FIMI's miners do: ``1 2 3 (120)``, a line each; raises as :func:`write_spmf`.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, promise=ap.Breach("5%", "50%"))
    >>> found = ap.mine(ap.randomize([{"milk", "tea"}] * 20_000, made), 0.5)
    >>> ap.write_fimi(found, file := Path(mkdtemp(), "found.txt"))
    >>> sorted(line.split(" (")[0] for line in file.read_text().splitlines())
    ['milk', 'milk tea', 'tea']
    """

    write_counts(itemsets, path, "{items} ({count})", force=force)
