"""Itemsets that were mined, as a table that carries its facts.

A table has mlxtend's columns ``support`` and ``itemsets`` and is closed under taking subsets. With its facts each
itemset's ``count`` gives the joint covariance of supports that rules need.

Facts say which plan and reports the itemsets come from, what was asked for, and what each size could decide. A table
carries them as JSON content in ``attrs["assocpriv"]``, which pandas copies wherever the table goes, and its files carry
the same (files/itemsets.py). Code reads them as :class:`MiningFacts`; how they are written is known here alone.

Other programs may read the frequent itemsets with counts, as miners of plain baskets give them.
"""

import csv
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import parquet_errors
from assocpriv.files.atomic import atomic_output, output_format
from assocpriv.files.itemsets import FORMAT, READERS, WRITERS, AnyFrame, LightFrame, as_column, put_together
from assocpriv.files.reports import holds_reports
from assocpriv.plans.baskets import Plan
from assocpriv.plans.operator import AnyOperator, operator_from_json
from assocpriv.plans.transition import SupportModel
from assocpriv.promise.errors import EstimateError, FileError, counted
from assocpriv.server.apriori import STATUSES, ItemsetEstimates, Level
from assocpriv.server.false_discovery import ALL, SPLIT
from assocpriv.server.intervals import ErrorOptions, support_intervals
from assocpriv.server.supports import Respondents, SupportEstimates

if TYPE_CHECKING:
    import pandas as pd

    from assocpriv.plans.catalogue import Catalogue


VERSION = 3
_PLAIN: dict[Any, Any] = {str: str, int: int, float: int | float, bool: bool}
_MAY_BE_UNKNOWN = ("std_error", "lowest_discoverable_support", "level_discoverable_support")
_Frame = TypeVar("_Frame", LightFrame, "pd.DataFrame")
ATTRIBUTE = "assocpriv"
COLUMNS = ["support", "itemsets", "std_error", "ci_low", "ci_high", "length", "frequent", "count"]
CERTAIN_COLUMNS = ["p_value", "certain"]  # where it was asked for
RANKS = ["rank", "rank_low", "rank_high"]  # where the largest estimates were asked for
CORRECTED = ["whole_support", "whole_std_error", "model_error"]
_NUMBERS = dict.fromkeys(("support", "std_error", "ci_low", "ci_high", "p_value", *CORRECTED), np.float64)
_TYPES: dict[str, Any] = _NUMBERS | dict.fromkeys(("frequent", "certain"), np.bool_)
_KINDS = {np.float64: "fiu", np.bool_: "b", np.int64: "iu"}  # of numbers that a column may be made of


# ---- facts


@dataclass(frozen=True, slots=True)
class Ranking:
    """How many itemsets of the largest estimates were wanted, of how many that were counted."""

    wanted: int
    ranked: int


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
        fields_ = _plain_fields(cls, content, " of sizes")
        undoing = content.get("undoing")
        told = isinstance(undoing, dict) and all(isinstance(pair, list) and len(pair) == 2 for pair in undoing.values())
        if not told or not all(
            isinstance(v, int | float) and 0 <= v < math.inf for pair in undoing.values() for v in pair
        ):
            raise EstimateError("it lacks what undoing the sampling takes, or has another kind of it")
        return cls(**fields_, undoing=undoing)


@dataclass(frozen=True, slots=True)
class MiningFacts:
    """What a table of mined itemsets comes from.

    Attributes:
        reports: that were measured.
        operator: that made them.
        min_support: s_min, the least of all sizes.
        levels: what happened at each itemset size.
        others: what became of names that the plan does not know.
        auto: whether s_min is the lowest that can be believed.
        sizes: what reports say of sizes, where they do; supports in whole baskets are there then (whole_baskets.py).
        largest_estimate: where nothing was found, the largest estimate of a single item; otherwise None.
    """

    plan_id: str
    transaction_size: int
    itemset_size: int
    reports: int
    operator: AnyOperator
    min_support: float
    errors: ErrorOptions
    levels: tuple[Level, ...]
    others: str = "error"
    auto: bool = False
    top: Ranking | None = None
    certain: Certainty | None = None
    largest_estimate: float | None = None
    sizes: SizeFacts | None = None

    @property
    def respondents(self) -> Respondents:
        """Whose reports were measured."""
        return Respondents(self.reports, SupportModel.of(self.operator))

    def to_json(self) -> dict[str, Any]:
        """Return the facts as JSON content; what does not apply is left out."""
        content: dict[str, Any] = {"format": FORMAT, "version": VERSION}
        content |= {name: getattr(self, name) for name in ("plan_id", "transaction_size", "itemset_size", "reports")}
        content |= {"operator": self.operator.to_json()}
        content |= {"min_support": self.min_support, "meaning": f"supports are {meaning(self.transaction_size)}"}
        levels = (asdict(level).items() for level in self.levels)
        # JSON has no infinity: null where nothing can be learned
        finite = [{name: None if value == math.inf else value for name, value in level} for level in levels]
        content |= asdict(self.errors) | {"levels": finite}
        optional = {
            "others": self.others if self.others == "drop" else None,
            "auto": self.auto or None,
            "top": self.top and asdict(self.top),
            "certain": self.certain and asdict(self.certain),
            "largest_estimate": self.largest_estimate,
            "sizes": self.sizes and asdict(self.sizes),
        }
        return content | {name: value for name, value in optional.items() if value is not None}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> "MiningFacts":
        """Read the facts.

        Raises:
            EstimateError: one is missing or of another kind.
        """
        if not isinstance(content.get("levels"), list):
            raise EstimateError("it lacks the fact levels, or has another kind of it")
        levels = tuple(Level(**_plain_fields(Level, level, " of an itemset size")) for level in content["levels"])
        if any(level.status not in STATUSES for level in levels):
            raise EstimateError("it decides about an itemset size in an unknown way")
        top, certain = content.get("top"), content.get("certain")
        largest = content.get("largest_estimate")
        if not (largest is None or (isinstance(largest, int | float) and math.isfinite(largest))):
            raise EstimateError("its largest estimate is no number")
        return cls(
            **_plain_fields(cls, content),
            operator=operator_from_json(content.get("operator")),
            errors=ErrorOptions(**_plain_fields(ErrorOptions, content, all_given=True)),
            levels=levels,
            top=None if top is None else Ranking(**_plain_fields(Ranking, top, " of what is ranked")),
            certain=None if certain is None else Certainty(**_plain_fields(Certainty, certain, " of what is certain")),
            largest_estimate=largest,
            sizes=None if content.get("sizes") is None else SizeFacts.from_json(content["sizes"]),
        )


def meaning(transaction_size: int) -> str:
    """Say what supports are shares of."""
    return f"those within at most {counted(transaction_size, 'sampled item')} a basket"


def _plain_fields(kind: type, content: Any, of: str = "", *, all_given: bool = False) -> dict[str, Any]:
    """Return what JSON content says of a dataclass's strings, numbers (from 0) and truth values, or its defaults."""
    values = {}
    for field in fields(kind):
        if field.type not in _PLAIN:
            continue
        default = MISSING if all_given else field.default
        value = content.get(field.name, default) if isinstance(content, dict) else MISSING
        if value is None and field.name in _MAY_BE_UNKNOWN:
            value = math.inf
        elif (
            not isinstance(value, _PLAIN[field.type])
            or isinstance(value, bool) is not (field.type is bool)
            or (field.type is float and not 0 <= value < math.inf)
        ):
            raise EstimateError(f"it lacks the fact {field.name}{of}, or has another kind of it")
        values[field.name] = value
    return values


def describe_undecided(facts: MiningFacts) -> list[str]:
    """Say, a line each, what these reports cannot decide at this minimum support."""
    false_ones = "expect false ones among " + ("them" if facts.certain is None else "those not certain")
    consequence = {"undecidable": "none are reported", "uncertain": false_ones}
    n_reports = facts.reports if facts.certain is None else facts.certain.selecting_reports
    return [
        f"itemsets of {level.size}: {level.status} at {level.min_support:.4g} from {n_reports:,} reports "
        f"({_reach(level)}); {consequence[level.status]}"
        for level in facts.levels
        if level.status == "undecidable" or (level.status == "uncertain" and level.candidates)
    ] + nothing_found(facts)


def nothing_found(facts: MiningFacts) -> list[str]:
    """Say, where nothing was found, which support shows something, or that none does; the estimate is no find."""
    largest, first = facts.largest_estimate, facts.levels[0]
    if largest is None:
        return []
    said = f"nothing was found; the largest estimate of a single item is {_percent(largest, math.floor)}"
    more = "collect more reports, or make a plan with fewer items, a smaller transaction size or a weaker promise"
    if first.needed_support >= 1:
        return [f"{said}, and these reports show no support below 100%: {more}"]
    reach = _percent(first.needed_support, math.ceil)
    if largest < first.needed_support:
        return [f"{said}, and estimates can be believed from {reach} on: to find more, {more}"]
    if first.min_support <= largest:  # there, but not decidable at this support
        return [f"{said}, and estimates can be believed from {reach} on: try {reach}, or auto"]
    return [f"{said}: try at most that; estimates can be believed from {reach} on"]


def _percent(share: float, rounded: Callable[[float], int]) -> str:
    """Write a support as a percentage of three digits, rounded down or up, so that it can be asked for as it stands."""
    scale = 10 ** (2 - math.floor(math.log10(max(abs(share), 1e-9) * 100)))
    return f"{rounded(share * 100 * scale) / scale:g}%"


def _reach(level: Level) -> str:
    """Say what the reports can tell of one itemset of a size, and of all of them."""
    lowest, whole = level.lowest_discoverable_support, level.level_discoverable_support
    spread = "" if math.isinf(level.std_error) else f"standard error {level.std_error:.2%}; "
    if lowest >= 1:
        return f"{spread}nothing below 100% is discoverable"
    asked = f"all {level.candidates:,} counted" if level.candidates else "all that there are"
    believed = "cannot be believed below 100%" if whole >= 1 else f"can be believed from {whole:.2%}"
    return f"{spread}{lowest:.2%} is the lowest discoverable of one itemset, {asked} {believed}"


_TYPES |= dict.fromkeys(("length", "count", *RANKS), np.int64)


# ---- tables


def itemset_frame(
    found: Sequence[ItemsetEstimates], plan: Plan, facts: MiningFacts, columns: Sequence[dict[str, NDArray[Any]]]
) -> LightFrame:
    """Put found itemsets into a table, larger supports first within a size; ``columns`` are further ones of each."""
    parts, model = [], facts.respondents.model
    for level, more in zip(found, columns, strict=True):
        names = [names_of(plan.catalogue, row) for row in level.itemsets.tolist()]
        part = estimate_columns(names, level.sums, level.estimates, model, facts.errors)
        # the order that files have
        part |= {"frequent": level.frequent, "count": part.pop("count")}
        order = np.argsort(-part["support"], kind="stable")
        parts.append(_typed(LightFrame.made(part | more)).take(order))
    return with_facts(put_together(parts) if parts else _empty_frame(facts), facts)


def with_facts(frame: _Frame, facts: MiningFacts) -> _Frame:
    """Attach facts to a table."""
    frame.attrs[ATTRIBUTE] = facts.to_json()
    return frame


def estimate_columns(
    names: Sequence[frozenset[str]],
    sums: NDArray[np.int64],
    estimates: SupportEstimates,
    model: SupportModel,
    errors: ErrorOptions,
) -> dict[str, Any]:
    """Return the columns that tell what reports say of itemsets of one size, in the order of the itemsets."""
    ends = support_intervals(sums, estimates, model, errors.confidence_level, population=errors.population)
    return {
        "support": estimates.support.astype(np.float64),
        "itemsets": as_column(names),
        "std_error": estimates.std_error(population=errors.population),
        "ci_low": ends[:, 0],
        "ci_high": ends[:, 1],
        "length": np.array([len(itemset) for itemset in names], dtype=np.int64),
        "count": sums[:, -1],
    }


def names_of(catalogue: "Catalogue", row: Sequence[int]) -> frozenset[str]:
    """Return the names of an itemset."""
    return frozenset(catalogue[item] for item in row)


def _columns_of(facts: MiningFacts) -> list[str]:
    """Return the columns that a table with these facts must have."""
    certain = CERTAIN_COLUMNS if facts.certain is not None else []
    ranks = RANKS if facts.top is not None else []
    return [*COLUMNS, *certain, *ranks, *(CORRECTED if facts.sizes is not None else [])]


def _empty_frame(facts: MiningFacts) -> LightFrame:
    return LightFrame({name: np.empty(0, dtype=_TYPES.get(name, object)) for name in _columns_of(facts)})


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
    return MiningFacts.from_json(content)


def sure_rows(frame: AnyFrame) -> NDArray[np.bool_]:
    """Tell which itemsets' estimates nobody's itemset would have but in one of a hundred collections, bool (rows,).

    The estimate is at least the support from which the finds of its size can be believed, and at least as many of its
    own standard errors (server/intervals.py).
    """
    sizes = np.asarray(frame["length"], dtype=np.int64)
    support, errors = (np.asarray(frame[name], dtype=np.float64) for name in ("support", "std_error"))
    sure = np.zeros(len(frame), dtype=np.bool_)
    for level in mining_facts(frame).levels:
        least = np.maximum(level.level_discoverable_support, level.errors * errors)
        sure |= (sizes == level.size) & (support >= least)
    return sure


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
    content = mining_facts(frame).to_json()
    with atomic_output(path, force=force) as stream:
        WRITERS[kind](LightFrame.of(frame), content, stream)


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
    kind = output_format(source)
    damage: tuple[type[BaseException], ...] = (*parquet_errors(), csv.Error, AttributeError)
    try:
        frame, content = READERS[kind](source)
        facts = _read_facts(content)
        if kind == "json" and not len(frame):
            frame = _empty_frame(facts)
        frame = with_facts(_typed(LightFrame({name: frame[name] for name in _columns_of(facts)})), facts)
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
    if not _between(frame["count"], 0, facts.reports) or (frame["std_error"] < 0).any():
        raise EstimateError("a count or a standard error is out of range")
    if facts.top is not None:
        rank, low, high = (frame[name] for name in RANKS)
        if not ((low >= 0) & (low <= rank) & (rank <= high) & (high <= facts.top.ranked)).all():
            raise EstimateError("a rank is out of range")
    if facts.certain is not None:
        certain = facts.certain
        if not (0 < certain.level < 1 and certain.by in (SPLIT, ALL) and certain.hypotheses >= len(frame)):
            raise EstimateError("what it says of what is certain is out of range")
        if not _between(frame["p_value"], 0, 1):
            raise EstimateError("a p-value is out of range")


def _between(values: NDArray[Any], least: Any, most: Any) -> bool:
    return bool(((values >= least) & (values <= most)).all())


def frequent_counts(itemsets: "pd.DataFrame") -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield the names of each frequent itemset, sorted, and about how many baskets hold it."""
    reports, frame = mining_facts(itemsets).reports, LightFrame.of(itemsets)
    for row in frame.to_dict():
        if row["frequent"]:
            yield tuple(sorted(row["itemsets"])), max(round(row["support"] * reports), 0)


def write_counts(itemsets: "pd.DataFrame", path: str | Path, line: str, *, force: bool) -> None:
    """Write a line for each frequent itemset; a name with a blank in it cannot stand there."""
    found = list(frequent_counts(itemsets))
    if any(len(name.split()) != 1 for items, _ in found for name in items):
        raise EstimateError("a name has a blank in it, which such a file takes for two names; write Parquet or JSON")
    with atomic_output(path, force=force) as stream:
        for items, count in found:
            stream.write((line.format(items=" ".join(items), count=count) + "\n").encode("utf-8"))


def to_efficient_apriori(itemsets: "pd.DataFrame") -> dict[int, dict[tuple[str, ...], int]]:
    """Return frequent itemsets as efficient-apriori's ``itemsets_from_transactions`` does: counts by itemset, by size.

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
    for items, count in frequent_counts(itemsets):
        found.setdefault(len(items), {})[items] = count
    return found


def write_spmf(itemsets: "pd.DataFrame", path: "str | Path", *, force: bool = False) -> None:
    """Write frequent itemsets as SPMF's miners do: ``1 2 3 #SUP: 120``, a line each.

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
    """Write frequent itemsets as FIMI's miners do: ``1 2 3 (120)``, a line each; raises as :func:`write_spmf`.

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
