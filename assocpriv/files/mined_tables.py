"""Tables of mined itemsets: their columns, their facts, and reading and writing both.

A table has mlxtend's columns ``support`` and ``itemsets`` and includes all subsets of its itemsets. ``support`` is the
mean of the posterior (server/baskets/posterior.py), ``std_error`` its standard deviation, ``ci_low`` … ``ci_high`` its
central interval, and ``probability`` the posterior probability of a support of at least the minimum.
``expected_support`` is the support expected under independence (server/baskets/posterior.py). Rules also need
``common_error``, the part of the error shared by all itemsets of the size, and ``posterior``: for each node of the
upper bound on the support (estimation/mixtures.py) weight, mean and standard deviation of a normal distribution, (rows,
9). Comparisons need ``truncation`` and ``truncation_error``: the truncation correction and the part of
``unbiased_error`` that comes from it (server/baskets/comparison.py).

Facts name the plans and reports of the itemsets, the request, and what was counted. A table carries them as JSON
content in ``attrs["assocpriv"]``, which pandas copies with the table, and its files carry the same
(files/itemset_files.py). Code reads them as :class:`MiningFacts`; only this module writes them.
"""

import csv
import math
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import parquet_errors
from assocpriv.files.atomic import FORMATS, atomic_output, check_regular, output_format
from assocpriv.files.itemset_files import (
    ATTRIBUTE,
    DETAILS,
    FORMAT,
    MACHINE_COLUMNS,
    READERS,
    WRITERS,
    AnyFrame,
    LightFrame,
)
from assocpriv.files.report_files import gather_hint, holds_reports
from assocpriv.guarantees.errors import EstimateError, FileError, pluralize
from assocpriv.plans.baskets.catalogue import name_itemsets

if TYPE_CHECKING:
    import pandas as pd

SPLIT, ALL = "split", "all"  # by which reports itemsets are chosen and tested
VERSION = 7
_OF_FILES = ("format", "version", "meaning")  # besides facts
_NUMBERS = [
    "std_error", "ci_low", "ci_high", "length", "probability", "selected", "expected_support", "unbiased",
    "unbiased_error", "sampled", "sampled_error",
]  # fmt: skip
SHOWN_COLUMNS = ["support", "itemsets", *_NUMBERS]
COLUMNS = [*SHOWN_COLUMNS, *MACHINE_COLUMNS]
FDR_COLUMNS = ["p_value", "significant"]  # of tables mined with fdr
FEW_REPORTS = 5_000
_NODES = 3  # of estimation/mixtures.py
_LOST = (
    "the table lacks the facts that standard errors need (plan, number of reports, posteriors), which pandas keeps in "
    "attrs and loses where tables are merged or leave pandas; pass it as assocpriv.mine returned it, filtered or "
    "sorted, or read its file with read_itemsets"
)
_CHANGED = (
    "the numbers of the table were changed: 'support', 'std_error', 'unbiased' or 'unbiased_error'; keep these columns "
    "as mine returned them, and put other numbers into new columns"
)
_PLAIN: dict[Any, Any] = {str: str, int: int, float: int | float, bool: bool}
_Frame = TypeVar("_Frame", LightFrame, "pd.DataFrame")
_TYPES: dict[str, Any] = dict.fromkeys(["support", *_NUMBERS, "p_value", *MACHINE_COLUMNS], np.float64) | {
    "length": np.int64, "selected": np.bool_, "significant": np.bool_,
}  # fmt: skip
_KINDS = {np.float64: "fiu", np.bool_: "b", np.int64: "iu"}  # of numbers accepted in a column


@dataclass(frozen=True, slots=True)
class FdrControl:
    """The FDR control of itemsets marked as significant (server/baskets/mining.py).

    ``level`` is the expected share of false ones among them, ``by`` is ``split`` or ``all``. Itemsets of up to
    ``largest`` of ``items`` were chosen by ``selecting_reports``; ``hypotheses`` of them count as tested.
    """

    level: float
    by: str
    items: int
    largest: int
    selecting_reports: int
    hypotheses: int


@dataclass(frozen=True, slots=True)
class SizeFacts:
    """Facts about basket sizes: the number of size reports, the mean size, and the truncation correction.

    ``truncation`` has by itemset size, as text, the factor of a typical itemset's support and its relative error.
    """

    reports: int
    mean: float
    truncation: dict[str, list[float]]

    @classmethod
    def from_json(cls, content: Any) -> "SizeFacts":
        """Return the facts from JSON content; EstimateError where one is missing or of another type."""
        truncation: Any = content.get("truncation") if isinstance(content, dict) else None
        pairs = list(truncation.values()) if isinstance(truncation, dict) else [None]
        if not all(isinstance(pair, list) and len(pair) == 2 and all(map(_is_number, pair)) for pair in pairs):
            raise EstimateError("the fact truncation of sizes is missing or has another type")
        return cls(**_plain_fields(cls, content, " of sizes"), truncation=truncation)


@dataclass(frozen=True, slots=True)
class MiningFacts:
    """Where a table of mined itemsets comes from.

    Attributes:
        plan_ids: of all collections mined together, the longest catalogue's first.
        transaction_size: M, of the first plan.
        reports: number of reports about items.
        min_support: S, which ``probability`` refers to.
        counted: by itemset size the numbers of itemsets counted and possible, [counted, possible].
        whole: whether supports are those of whole baskets; else those within at most M items of a basket.
        incomplete_sizes: itemset sizes whose candidates were cut for lack of memory.
        unlisted: how the plan treats names outside its catalogue.
        auto: whether S is the automatic minimum support.
        top: the number of itemsets of largest support requested; 0 without.
        fdr: the FDR control, where itemsets were tested.
        sizes: facts about basket sizes, where the reports have any.
        epsilon: largest ε of all reports of one person under a plan, rounded up.
    """

    plan_ids: list[str]
    transaction_size: int
    reports: int
    min_support: float
    confidence_level: float
    counted: list[list[int]]
    whole: bool
    incomplete_sizes: list[int]
    unlisted: str = "error"
    auto: bool = False
    top: int = 0
    fdr: FdrControl | None = None
    sizes: SizeFacts | None = None
    epsilon: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """Return the facts as JSON content, without those that are None."""
        content = {"format": FORMAT, "version": VERSION, "meaning": f"supports are {self.meaning}"} | asdict(self)
        return {name: value for name, value in content.items() if value is not None}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> "MiningFacts":
        """Return the facts from JSON content.

        Raises:
            EstimateError: one is missing or of another type.
        """
        names = ("plan_ids", "counted", "incomplete_sizes", "fdr", "sizes")
        plan_ids, counts, incomplete, fdr, sizes = (content.get(name) for name in names)
        if not isinstance(plan_ids, list) or not plan_ids or not all(isinstance(each, str) for each in plan_ids):
            raise EstimateError("the fact plan_ids is missing or has another type")
        if not isinstance(counts, list) or not all(
            isinstance(pair, list) and len(pair) == 2 and all(isinstance(n, int) for n in pair) for pair in counts
        ):
            raise EstimateError("the fact counted is missing or has another type")
        possible = range(1, len(counts) + 1)
        if not isinstance(incomplete, list) or not all(isinstance(k, int) and k in possible for k in incomplete):
            raise EstimateError("the fact incomplete_sizes is missing or has another type")
        return cls(
            **_plain_fields(cls, content),
            plan_ids=plan_ids,
            counted=counts,
            incomplete_sizes=incomplete,
            fdr=None if fdr is None else FdrControl(**_plain_fields(FdrControl, fdr, " of fdr")),
            sizes=None if sizes is None else SizeFacts.from_json(sizes),
        )

    @property
    def meaning(self) -> str:
        """What supports are shares of."""
        if self.whole:
            return "those of whole baskets"
        return f"those within at most {pluralize(self.transaction_size, 'item')} sampled from each basket"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and 0 <= value < math.inf


def _plain_fields(record: type, content: Any, of: str = "") -> dict[str, Any]:
    """Return a dataclass's strings, numbers (from 0) and truth values from JSON content, or its defaults."""
    values, known = {}, {field.name for field in fields(record)}
    if isinstance(content, dict) and not content.keys() <= known:
        raise EstimateError(f"it has unknown facts{of}")
    for field in (each for each in fields(record) if each.type in _PLAIN):
        value = content.get(field.name, field.default) if isinstance(content, dict) else MISSING
        fits = isinstance(value, _PLAIN[field.type]) and isinstance(value, bool) is (field.type is bool)
        if not fits or (field.type is float and not _is_number(value)):
            raise EstimateError(f"the fact {field.name}{of} is missing or has another type")
        values[field.name] = value
    return values


def describe_limits(facts: MiningFacts) -> list[str]:
    """Return a line for each limit of the results: too few reports, or itemsets that were not counted."""
    lines = []
    if facts.reports < FEW_REPORTS:
        count = pluralize(facts.reports, "report")
        lines.append(f"{count}: below {FEW_REPORTS:,}, estimates depend mostly on the prior; collect more reports")
    lines += [
        f"only {facts.counted[k - 1][0]:,} of {facts.counted[k - 1][1]:,} possible {name_itemsets(k)} were counted, "
        "the likeliest; request fewer itemsets (top, min_support) or allow more memory (memory_bytes)"
        for k in facts.incomplete_sizes
    ]
    return lines


def _check_is_table(itemsets: Any) -> None:
    if not hasattr(itemsets, "columns"):
        raise TypeError(
            f"itemsets must be a table from mine (read_itemsets reads one from a file), got a {type(itemsets).__name__}"
        )
    names = [str(name) for name in itemsets.columns]
    if "antecedents" in names:
        raise EstimateError("these are rules; give the table of itemsets that mine returned")
    if lost := [name for name in SHOWN_COLUMNS if name not in names and names]:
        raise EstimateError(f"the table has no column {lost[0]!r}, which tables of itemsets have as mine returns them")
    if any(isinstance(each, str) for each in itemsets["itemsets"]):
        raise EstimateError("the column 'itemsets' holds text; it must hold sets of names, as mine returned them")


def light_table(itemsets: AnyFrame) -> LightFrame:
    """Return a table of itemsets with its columns for machines; EstimateError or TypeError where it has none."""
    _check_is_table(itemsets)
    frame = LightFrame.from_frame(itemsets)
    if lost := [name for name in COLUMNS if name not in frame.columns]:
        raise EstimateError(_CHANGED if DETAILS in getattr(itemsets, "attrs", {}) else f"{_LOST} (no {lost[0]!r} here)")
    return frame


def posterior_components(frame: LightFrame) -> NDArray[np.float64]:
    """Return weight, mean and standard deviation of each node, (rows, nodes, 3)."""
    return np.asarray(frame["posterior"], dtype=np.float64).reshape(len(frame), _NODES, 3)


def with_facts(frame: _Frame, facts: MiningFacts) -> _Frame:
    """Attach facts to a table."""
    frame.attrs[ATTRIBUTE] = facts.to_json()
    return frame


def column_names(facts: MiningFacts) -> list[str]:
    """Return the columns that a table with these facts has."""
    return [*COLUMNS, *(FDR_COLUMNS if facts.fdr is not None else [])]


def typed(frame: LightFrame) -> LightFrame:
    """Return the table with its column types; ValueError where a column holds other values."""
    for name, dtype in _TYPES.items():
        if name in frame.columns and len(frame) and frame[name].dtype.kind not in _KINDS[dtype]:
            raise ValueError(f"the column {name} holds other values")
    return frame.assign(**{name: frame[name].astype(dtype) for name, dtype in _TYPES.items() if name in frame.columns})


def mining_facts(frame: AnyFrame) -> MiningFacts:
    """Return the facts of a table of itemsets; EstimateError where it carries none."""
    _check_is_table(frame)
    return _read_facts(getattr(frame, "attrs", {}).get(ATTRIBUTE))


def _read_facts(content: Any) -> MiningFacts:
    known = isinstance(content, dict) and content.get("format") == FORMAT
    if not known or content.get("version") != VERSION:
        raise EstimateError(_LOST)
    return MiningFacts.from_json({name: each for name, each in content.items() if name not in _OF_FILES})


def write_itemsets(frame: AnyFrame, path: str | Path, *, force: bool = False) -> None:
    """Write a table of itemsets with all that rules need, as Parquet, CSV or JSON.

    Args:
        frame: a table that :func:`assocpriv.mine` returned.
        path: the file, ``.parquet``, ``.csv`` or ``.json``.
        force: replace an existing file.

    Raises:
        FileError: unknown extension, existing file without ``force``, or the file cannot be written.
        EstimateError: the table does not carry its facts.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> found = ap.mine(ap.randomize([{"milk", "tea"}] * 20_000, made), 0.5)
    >>> ap.write_itemsets(found, f"{mkdtemp()}/found.csv")
    """
    extension = output_format(path)
    facts = mining_facts(frame)
    table = light_table(frame)
    known = LightFrame({name: table[name] for name in column_names(facts)})  # without added columns
    with atomic_output(path, force=force) as stream:
        WRITERS[extension](known, facts.to_json(), stream)


def read_table(path: str | Path) -> LightFrame:
    """Return a table of itemsets from a file, without pandas; raises as :func:`read_itemsets`."""
    source = Path(path)
    if (extension := FORMATS.get(source.suffix.lower())) is None:
        raise FileError(f"{source} is no file of mined itemsets (.parquet, .csv or .json): {gather_hint(source)}")
    damage: tuple[type[BaseException], ...] = (*parquet_errors(), csv.Error, AttributeError)
    try:
        check_regular(source)
        frame, content = READERS[extension](source)
        if not set(frame.columns) <= set(column_names(_read_facts(content))):
            raise EstimateError("it has unknown columns")
        return known_table(frame, content)
    except OSError as error:
        raise FileError(f"cannot read {source}: {error.strerror or 'it is damaged'}") from None
    except damage as error:
        reason = str(error).splitlines()[0] if isinstance(error, EstimateError) else _describe_other_file(source)
        raise EstimateError(f"{source} is not a file of mined itemsets: {reason}") from None


def known_table(frame: LightFrame, content: Any) -> LightFrame:
    """Return the table that mine wrote, without further columns, from a file's columns and facts."""
    facts = _read_facts(content)
    names = column_names(facts)
    if not len(frame):  # then columns have no types
        frame = LightFrame({name: np.empty(0, dtype=object) for name in names})
    frame = with_facts(typed(LightFrame({name: frame[name] for name in names})), facts)
    _check_table(frame, facts)
    return frame


def _describe_other_file(source: Path) -> str:
    """Return what a file holds that has no itemsets, and the command for it."""
    if holds_reports(source):
        return f"it holds reports; mine them first: assocpriv mine {source}"
    return "it is damaged, or assocpriv mine did not write it"


def _check_table(frame: LightFrame, facts: MiningFacts) -> None:
    """Raise EstimateError for a table that mine cannot have written."""
    if not (facts.reports >= 1 and 0 < facts.min_support <= 1):
        raise EstimateError("a number of reports or a minimum support is out of range")
    itemsets = frame["itemsets"].tolist()
    named = all(itemset and all(isinstance(name, str) for name in itemset) for itemset in itemsets)
    sizes = [len(itemset) for itemset in itemsets]
    if not named or sizes != frame["length"].tolist() or len(set(itemsets)) != len(itemsets):
        raise EstimateError(
            "an itemset is empty or repeated, holds something else than names, or differs from its length"
        )
    numbers = [frame[name] for name in COLUMNS if _TYPES.get(name) is np.float64 and name != "sampled_error"]
    shares = [frame[name] for name in ("support", "ci_low", "ci_high", "probability")]
    if not all(np.isfinite(each).all() for each in numbers) or not all(_between(each, 0, 1) for each in shares):
        raise EstimateError("a number is missing or out of range")
    if not np.isfinite(posterior_components(frame)).all():
        raise EstimateError("a posterior holds something else than numbers")
    if (fdr := facts.fdr) is not None:
        if not (0 < fdr.level < 1 and fdr.by in (SPLIT, ALL) and fdr.hypotheses >= len(frame)):
            raise EstimateError("a fact of fdr is out of range")
        if not _between(frame["p_value"], 0, 1):
            raise EstimateError("a p-value is out of range")


def _between(values: NDArray[Any], least: Any, most: Any) -> bool:
    return bool(((values >= least) & (values <= most)).all())
