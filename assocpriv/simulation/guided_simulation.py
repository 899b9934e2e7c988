"""The simulation of guided perturbation on a table: disclosure and accuracy of each level.

A plan's attributes come from a table of volunteers, or of given records. A number column with more than ten values is
cut at its quartiles; every other column has its values as categories. For the 1992 generator's records this gives the
paper's columns of bits.

With T the raw tuples (one row of bits each), n attributes, m tuples and T_R the released tuples, disclosure is compared
with its published bound:

    disclosure   1 − ‖T − T_R‖²/‖T‖², a share of squared norm; bound (29): Σ_{j≤k} ρ_j²/(mn), ρ_j singular values of T
    information  I(t; R(t))/H(t), which definition 2 calls disclosure, for people drawn from the tuples' distribution

The bound does not hold for every guidance and table (docs/privacy-claims.md).

A part of the raw records is held back for tests. The other people answer in batches: the miner starts without data,
publishes guidance of a fixed level, the shipped client answers, and the miner adds up the answers. A classifier is
fitted on the released tuples. Its accuracy is compared with the miner's estimate for naive Bayes, which uses no raw
tuple. This is repeated with other people held back, so that every figure has a standard error.

Source: Zhang, Wang, Zhao, A New Scheme on Privacy-Preserving Data Classification, KDD 2005: section 5 for the bounds,
section 6 for columns and levels.
"""

import itertools
import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from assocpriv.client.guided.guided_client import TupleRandomizer
from assocpriv.files.report_files import Reports
from assocpriv.guarantees.amplification import Guarantee, parse_probability
from assocpriv.guarantees.errors import PlanError, RecordError, build_options, pluralize
from assocpriv.planning.table_planner import NUMBER, read_schema, warn_of_near_duplicates
from assocpriv.plans.guided.guided_plan import (
    BATCH,
    MIXED_TOTAL,
    Guidance,
    GuidedPlan,
    bit_weights,
    category,
    class_label,
    mix_weights,
    mixing_weight,
    number,
    plan_guided,
    random_share,
)
from assocpriv.plans.result_display import html_renderer, plan_bound, rows_frame, short_repr
from assocpriv.records.basket_sources import MemoryBudget, prefix_errors
from assocpriv.records.columns import open_table
from assocpriv.records.table_files import TableOptions, all_numbers, explain_words_among_numbers, stream_table
from assocpriv.server.guided import collection as guided_collection
from assocpriv.simulation.enumeration import SeededEntropy

if TYPE_CHECKING:
    import pandas as pd


_ALL = MemoryBudget.within(None)
_MAX_CATEGORIES = 10  # number columns with more distinct values are cut at their quartiles
_LOG = logging.getLogger("assocpriv")
_QUARTILES = (0.25, 0.5, 0.75)
_INTERVALS = 4  # of a number column, unless the schema states another number
_MISSING = ("", "nan", "None", "<NA>")
_MAX_TERMS = 1 << 22  # of a sum over all reports and all distinct tuples
_HELD_BACK = 3  # one in three people is held back for tests
_LEVELS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)  # simulated levels, besides all bits
_LONG_SECONDS = 20.0  # total time above which the first step logs an estimate

Bits = NDArray[np.uint8]
Floats = NDArray[np.float64]
Progress = Callable[[str, int, int], None]


# ---- the plan


@dataclass(frozen=True, eq=False, slots=True)
class People:
    """Raw tuples: positions of values, int32 (n, attributes), missing ones filled in, and classes, int64 (n,)."""

    raw_positions: NDArray[np.int32]
    classes: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.classes)

    def __getitem__(self, places: Any) -> "People":
        return People(self.raw_positions[places], self.classes[places])


def read_cells(table: Any, options: TableOptions) -> "pd.DataFrame":
    """Return the cells of a CSV or Parquet file or a frame as text, None for a missing value.

    Raises:
        RecordError: a file that cannot be read, without records, or with two columns of one name.
    """
    import narwhals as nw
    import pandas as pd

    if isinstance(table, str | Path):
        given, columns = prefix_errors(Path(table), lambda: _read_file(Path(table), options), RecordError)
    else:
        frame = nw.from_native(table, eager_only=True).to_pandas()
        given, columns = frame.columns, [frame.iloc[:, place].tolist() for place in range(frame.shape[1])]
    names = [str(name).strip() for name in given]
    if len(set(names)) < len(names):
        raise RecordError("two columns of the table have the same name; names must differ")
    if not any(columns):
        raise RecordError("the table has no records; check that it is the right file")
    words = {*_MISSING, *options.missing}
    cells = ([None if text in words else text for text in map(_text, column)] for column in columns)
    return pd.DataFrame(dict(zip(names, cells, strict=True)), dtype=object)


def _text(value: Any) -> str:
    """Return a cell as text; a float that is whole, as in a column with missing values, becomes a whole number."""
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value) if whole else value).strip()


def _read_file(path: Path, options: TableOptions) -> tuple[Sequence[str], list[list[Any]]]:
    """Return the names of a file's columns, and their cells; no columns if it has no rows."""
    with open_table(path, (), options.separator, sheet=options.sheet) as table:
        parts = table.map(lambda rows: [each.to_pylist() for each in rows.columns], range(len(table.names)), _ALL)
        return table.names, [list(itertools.chain(*cells)) for cells in zip(*parts, strict=True)]


def attribute_values(cells: "pd.Series") -> tuple[str, ...] | tuple[float, ...]:
    """Return the values of a column's attribute: increasing cut points as floats, or sorted categories.

    A cut point is a value of the column, the first one of the interval above it.

    Raises:
        RecordError: only missing values.
    """
    known = cells.dropna()
    if not len(known):
        raise RecordError(f"column {cells.name} has only missing values; leave it out")
    numbers = _numbers(known)
    if numbers is None or len(np.unique(numbers)) <= _MAX_CATEGORIES:
        return tuple(sorted(known.unique(), key=lambda text: (numbers is not None and float(text), text)))
    distinct = np.unique(numbers)
    cuts = np.quantile(numbers, _QUARTILES, method="higher")
    cuts = np.maximum(cuts, distinct[1])  # no interval below the smallest value
    return tuple(np.unique(cuts).tolist())


def _numbers(known: "pd.Series") -> NDArray[np.float64] | None:
    """Return cells as numbers, float64 (n,), or None if some cell is not a number."""
    try:
        numbers: NDArray[np.float64] = np.array(known.astype(np.float64), dtype=np.float64)
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).all() else None


def _plan_from_schema(schema: Any, class_column: str, **settings: Any) -> GuidedPlan:
    """Return a plan from a schema, without any value of a table; number columns are cut at equal distances."""
    columns = read_schema(schema)
    warn_of_near_duplicates(columns)
    label = next((each for each in columns if each.name == class_column), None)
    if label is None or label.kind == NUMBER:
        raise PlanError(f"the schema lacks the class {class_column[:80]} with its values; write it with kind = 'label'")
    attributes = [
        number(each.name, [each.low + (each.high - each.low) * cut / parts for cut in range(1, parts)])
        if each.kind == NUMBER
        else category(each.name, each.values)
        for each in columns
        for parts in [each.intervals or _INTERVALS]
        if each is not label
    ]
    return plan_guided(attributes, class_label(class_column, label.values), **settings)


def plan_from_table(cells: "pd.DataFrame", class_column: str, **settings: Any) -> GuidedPlan:
    """Return a plan of all columns of a table except constant ones, which carry no information.

    ``settings`` are those of :func:`assocpriv.plans.guided.guided_plan.plan_guided`.

    Raises:
        RecordError: no such column, fewer than two classes, or invalid numbers.
        PlanError: columns that a plan cannot have.
    """
    if class_column not in cells.columns:
        raise RecordError(f"the table has no class column {class_column[:80]!r}; line 1 must name the columns")
    for name in cells.columns:
        codes, values = cells[name].factorize(use_na_sentinel=False)
        texts = [None if each is None else str(each) for each in values]
        if words := explain_words_among_numbers(texts, codes):
            raise RecordError(f"column {name} holds numbers, {words}; schema= takes its values from a file instead")
        numbers = all_numbers(texts)
        if len(set(numbers.values())) < min(len(numbers), _MAX_CATEGORIES + 1):
            raise RecordError(
                f"column {name} writes a number in several ways, as 7 and 7.0, which would be separate categories; "
                "write it in one way, or take its values from a file with schema="
            )
    labels = sorted(cells[class_column].dropna().unique())
    if len(labels) < 2:
        raise RecordError(
            f"column {class_column} has {pluralize(len(labels), 'class')}, but guidance needs two or more"
        )
    if len(labels) > _MAX_CATEGORIES and _numbers(cells[class_column].dropna()) is not None:
        raise RecordError(
            f"column {class_column} has {len(labels):,} different numbers, and a plan would publish each as a class; "
            f"convert them to at most {_MAX_CATEGORIES} intervals first, such as low and high"
        )
    made = {name: attribute_values(cells[name]) for name in cells.columns if name != class_column}
    constant = [name for name, values in made.items() if len(values) < 2 and isinstance(values[0], str)]
    if constant:
        _LOG.info("%s left out, with a single value", pluralize(len(constant), "column"))
    attributes = [
        category(name, values) if isinstance(values[0], str) else number(name, values)
        for name, values in made.items()
        if name not in constant
    ]
    return plan_guided(attributes, class_label(class_column, labels), **settings)


def read_people(table: Any, plan: GuidedPlan, options: TableOptions, seed: int | None = None) -> People:
    """Return a table's records as raw tuples, with a uniformly drawn value for each missing one.

    Raises:
        RecordError: cells that do not fit the plan's columns; the message shows no value.
    """
    inputs = np.concatenate(list(stream_table(table, plan, options)))
    sizes = np.array(plan.sizes, dtype=np.int32)
    drawn = np.random.default_rng(seed).integers(0, sizes, (len(inputs), len(sizes)), dtype=np.int32)
    positions = inputs[:, :-1]
    return People(np.where(positions == sizes, drawn, positions), inputs[:, -1].astype(np.int64))


# ---- disclosure


def disclosure(raw_bits: Bits, released: Bits) -> float:
    """Return 1 − ‖T − T_R‖²/‖T‖² for raw and released tuples, both uint8 (m, w).

    It is negative if more bits are wrong than T has ones.

    >>> disclosure(np.array([[1, 0, 1, 0]], np.uint8), np.array([[1, 0, 0, 0]], np.uint8))
    0.5
    >>> ones = np.eye(4, dtype=np.uint8)
    >>> disclosure(ones, ones), disclosure(ones, 0 * ones), disclosure(ones, 1 - ones)
    (1.0, 0.0, -3.0)
    """
    return 1 - float((raw_bits != released).sum()) / float(raw_bits.sum())


def disclosure_bound(raw_bits: Bits, level: int) -> float:
    """Return the share of the k largest squared singular values of T in ‖T‖² (bound 29)."""
    rows = raw_bits.astype(np.float64)
    squares = np.linalg.eigvalsh(rows.T @ rows)[::-1]
    return min(1.0, float(squares[:level].sum() / squares.sum()))


@dataclass(frozen=True, slots=True)
class Information:
    """Bounds of I(t; R(t))/H(t), equal where it is computed exactly."""

    low: float
    high: float


def information(raw_bits: Bits, shares: Floats) -> Information:
    """Return the share of the information on tuples that is in their release.

    H(R|t) is exact, a sum over bits. H(R) is enumerated where feasible. Otherwise it is at most the sum of the bits'
    entropies, and the information is at least that of the most informative bit.

    Args:
        raw_bits: Tuples, uint8 (m, w).
        shares: The probability of releasing each bit as 1, float64 (m, w).
    """
    _, first, counts = np.unique(raw_bits, axis=0, return_index=True, return_counts=True)
    weights, given = counts / counts.sum(), shares[first]
    total = _entropy(weights)
    if total == 0:
        return Information(0.0, 0.0)
    each = _bit_entropy(weights @ given) - weights @ _bit_entropy(given)
    low, high = float(each.max()), min(float(each.sum()), total)
    if len(first) << min(given.shape[1], 40) <= _MAX_TERMS:
        inside = float(weights @ _bit_entropy(given).sum(axis=1))
        low = high = min(max(_entropy(weights @ _report_shares(given)) - inside, 0.0), total)
    return Information(low / total, high / total)


def _report_shares(given: Floats) -> Floats:
    """Return the probability of every report for each tuple, float64 (tuples, 2^w)."""
    found = np.ones((len(given), 1))
    for share in given.T:
        found = np.concatenate([found * (1 - share)[:, None], found * share[:, None]], axis=1)
    return found


def _entropy(shares: Floats) -> float:
    known = shares[shares > 0]
    return -float(known @ np.log2(known))


def _bit_entropy(shares: Floats) -> Floats:
    both = np.stack([shares, 1 - shares])
    logs = np.log2(both, out=np.zeros_like(both), where=both > 0)
    return np.asarray(-(both * logs).sum(axis=0))


# ---- simulated levels


@dataclass(frozen=True, slots=True)
class TrialRequest:
    """The options of a simulation.

    Attributes:
        classifier: a name of ``guided_collection.CLASSIFIERS``.
        rounds: number of repetitions, each with other people held back.
        people: maximum number of people, then a random sample.
        unconcerned: number of people whose raw tuples the miner starts with; 0 starts without data.
        seed: random seed; None for new draws.
    """

    classifier: str = "naive-bayes"
    rounds: int = 5
    people: int = 5000
    unconcerned: int = 0
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class RoundMean:
    """A mean over rounds, with its standard error."""

    mean: float
    std_error: float

    @classmethod
    def from_values(cls, values: Sequence[float]) -> "RoundMean":
        """Return the mean of one value per round."""
        spread = float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
        return cls(float(np.mean(values)), spread / math.sqrt(len(values)))


@dataclass(frozen=True, slots=True)
class LevelTrial:
    """The results of one level, all shares.

    ``share`` is the μ above which a miner who knows all raw tuples would publish no higher level. ``estimate`` is the
    accuracy that the miner estimates from released tuples alone.
    """

    level: int
    share: float
    disclosure: RoundMean
    disclosure_bound: float
    information: Information
    accuracy: RoundMean
    estimate: RoundMean


@dataclass(frozen=True, slots=True)
class Trial:
    """The results of a simulation of guided perturbation.

    Attributes:
        plan: The plan.
        request: The options.
        people: Number of people who answer, in each round.
        held_out: Number of people who are held back to test classifiers, in each round.
        original_accuracy: Accuracy of a classifier trained on raw tuples, a share.
        majority: Share of the most frequent class among the people held back.
        levels: The results of each level, one per number of eigenvectors.
    """

    plan: GuidedPlan
    request: TrialRequest
    people: int
    held_out: int
    original_accuracy: RoundMean
    majority: RoundMean
    levels: tuple[LevelTrial, ...]
    _repr_html_ = html_renderer("assocpriv.show.table_views:guided_trial")

    def __repr__(self) -> str:
        raw = f"accuracy on raw tuples {self.original_accuracy.mean:.1%}"
        return short_repr(self, f"{self.people:,} people, {raw}, {plan_bound(self.plan)}", [
            f"level {each.level}: discloses {each.disclosure.mean:.1%}, accuracy {each.accuracy.mean:.1%}"
            for each in self.levels
        ])  # fmt: skip

    def to_frame(self) -> "pd.DataFrame":
        """Return a row a level: what it discloses and the accuracy of a classifier, with standard errors.

        Returns:
            A pandas frame with the columns ``level``, ``mu``, ``disclosure``, ``disclosure_bound``,
            ``information_low``, ``information_high``, ``accuracy``, ``estimate``, and ``…_std_error`` of means.
        """
        return rows_frame(
            "level mu disclosure disclosure_std_error disclosure_bound information_low information_high accuracy "
            "accuracy_std_error estimate estimate_std_error",
            (
                (each.level, each.share, each.disclosure.mean, each.disclosure.std_error, each.disclosure_bound,
                 each.information.low, each.information.high, each.accuracy.mean, each.accuracy.std_error,
                 each.estimate.mean, each.estimate.std_error)
                for each in self.levels
            ),
        )  # fmt: skip


@dataclass(frozen=True, eq=False, slots=True)
class PeopleSplit:
    """People whose raw tuples the miner starts with, people who answer, and people held back for tests."""

    unconcerned: People
    answering: People
    held_out: People


def _split_people(people: People, rng: np.random.Generator, request: TrialRequest) -> PeopleSplit:
    """Split people at random, and hold back a third of them.

    Raises:
        RecordError: a class that is missing in some part.
    """
    mixed = people[rng.permutation(len(people))[: request.people]]
    back = len(mixed) // _HELD_BACK
    split = PeopleSplit(mixed[back : back + request.unconcerned], mixed[back + request.unconcerned :], mixed[:back])
    classes = len(np.unique(people.classes))
    if any(len(np.unique(part.classes)) < classes for part in (split.answering, split.held_out)):
        raise RecordError("some class has too few people for training and tests; use more records")
    return split


def collect_level(
    plan: GuidedPlan, split: PeopleSplit, level: int, rng: np.random.Generator
) -> tuple[guided_collection.MinerState, Reports]:
    """Collect reports of all people under guidance of one level, batch by batch; return the last state and them."""
    entropy, seed, packed = SeededEntropy(int(rng.integers(1 << 62))), int(rng.integers(1 << 62)), []
    if len(split.unconcerned):
        bits = plan.to_bits(split.unconcerned.raw_positions)
        state = guided_collection.start_with_tuples(plan, split.unconcerned.classes, bits, seed)
    else:
        state = guided_collection.start_empty(plan, seed)
    for first in range(0, len(split.answering), plan.batch):
        state = guided_collection.publish(state, level)
        batch = split.answering[first : first + plan.batch]
        guidance = state.guidances[-1]
        randomizer = TupleRandomizer(plan, guidance)  # without threads, which would cost more than these small batches
        bits, _ = randomizer.randomize(batch.raw_positions, entropy.words(len(batch) * randomizer.words), entropy)
        packed.append(plan.pack(guidance.serial, batch.classes, bits))
        state = guided_collection.collect(state, Reports(plan, packed[-1]))
    return state, Reports(plan, np.concatenate(packed))


def accuracy(model: Any, people: People, plan: GuidedPlan) -> float:
    """Return the share of raw tuples whose class a classifier predicts correctly."""
    predicted = model.predict(guided_collection.bit_frame(plan.to_bits(people.raw_positions), plan))
    return float((predicted == np.array(plan.labels)[people.classes]).mean())


def run_trial(
    people: People,
    plan: GuidedPlan,
    request: TrialRequest,
    levels: Sequence[int] = (),
    progress: Progress | None = None,
) -> Trial:
    """Simulate levels, by default some of 1 to w, on people.

    Raises:
        RecordError: too few people of a class for training and tests.
    """
    wanted = tuple(levels) or (*(level for level in _LEVELS if level < plan.width), plan.width)
    report = progress or (lambda *_: None)
    rng = np.random.default_rng(request.seed)
    splits = [_split_people(people, rng, request) for _ in range(request.rounds)]
    found = []
    report("learning from raw tuples", 0, len(splits))
    with threadpool_limits(1):  # several threads slow down matrices of a few dozen rows
        raw = [accuracy(_fit_raw(split, plan, request), split.held_out, plan) for split in splits]
        report("levels", 0, len(wanted))
        began = perf_counter()
        for done, level in enumerate(wanted, 1):
            found.append(_level(splits, plan, request, level, rng))
            seconds = (perf_counter() - began) * len(wanted)
            if done == 1 and seconds > _LONG_SECONDS:
                _LOG.info("this takes about %.0f s in total; fewer rounds or people take less time", seconds)
            report("levels", done, len(wanted))
    commonest = [np.bincount(split.held_out.classes).max() / len(split.held_out) for split in splits]
    counts = len(splits[0].answering), len(splits[0].held_out)
    return Trial(plan, request, *counts, RoundMean.from_values(raw), RoundMean.from_values(commonest), tuple(found))


def _fit_raw(split: PeopleSplit, plan: GuidedPlan, request: TrialRequest) -> Any:
    raw = split.answering
    X = guided_collection.bit_frame(plan.to_bits(raw.raw_positions), plan)
    return guided_collection.new_classifier(request.classifier, len(raw)).fit(X, np.array(plan.labels)[raw.classes])


def _level(
    splits: Sequence[PeopleSplit], plan: GuidedPlan, request: TrialRequest, level: int, rng: np.random.Generator
) -> LevelTrial:
    answers = [collect_level(plan, split, level, rng) for split in splits]
    models = [guided_collection.train(state, reports, request.classifier) for state, reports in answers]
    right = [accuracy(model, split.held_out, plan) for model, split in zip(models, splits, strict=True)]
    raw_bits = [plan.to_bits(split.answering.raw_positions) for split in splits]
    reported = [plan.unpack(reports.packed)[2] for _, reports in answers]
    known = guided_collection.start_with_tuples(plan, splits[0].answering.classes, raw_bits[0])
    values = guided_collection.class_differences(known, known.shares)[0]
    return LevelTrial(
        level=level,
        share=float(values[level - 1] / values[0]) if level <= len(values) else 0.0,
        disclosure=RoundMean.from_values(list(map(disclosure, raw_bits, reported))),
        disclosure_bound=disclosure_bound(raw_bits[0], level),
        information=_information(answers[0][0].guidances[-1], plan, splits[0].answering),
        accuracy=RoundMean.from_values(right),
        estimate=RoundMean.from_values(
            [guided_collection.estimate_accuracy(state, [level])[0].accuracy for state, _ in answers]
        ),
    )


def _information(guidance: Guidance, plan: GuidedPlan, people: People) -> Information:
    """Return the share of information in a release under guidance; bounds if tuples are mixed.

    Information is convex in the output distribution, so a share q of uninformative reports leaves at most 1 − q of it.
    """
    shares = mix_weights(bit_weights(guidance, plan, people.raw_positions), mixing_weight(guidance, plan)) / MIXED_TOTAL
    found = information(plan.to_bits(people.raw_positions), shares)
    return found if plan.keep != "tuple" else Information(0.0, found.high * float(1 - random_share(plan, guidance)))


# ---- public functions


def start(
    table: Any,
    class_column: str,
    *,
    schema: Any = None,
    guarantee: Guarantee | None = None,
    keep: str = "bits",
    mu: str | float | Fraction = "15%",
    batch: int = BATCH,
    known: bool = False,
    separator: str | None = None,
    missing: str | Sequence[str] = (),
    sheet: str | None = None,
    seed: int | None = None,
) -> guided_collection.MinerState:
    """Make a guided plan of a table's columns, and the miner's initial state.

    Args:
        table: Records of volunteers, or public ones: a pandas, polars or pyarrow table, or the path of a CSV or Parquet
            file. The plan publishes its category values and the quartiles of its numbers. With a schema it may be None;
            its cells must fit the plan.
        class_column: The class, two or more labels; it is collected raw.
        schema: The path or content of a TOML schema, as for :func:`assocpriv.numeric.plan_table`. Values and ranges
            then come from the schema, not from the table. Its release settings are ignored.
        guarantee: The privacy guarantee of each report; without one there is none under adversarial guidance.
        keep: How the guarantee is kept: ``"bits"`` mixes every bit with random bits, ``"tuple"`` mixes whole tuples.
        mu: μ, the size of a class difference, relative to the largest, below which it is left out.
        batch: Number of tuples after which guidance is published again.
        known: Start with the table's own tuples; otherwise without data.
        separator: The separator of a CSV file; detected by default.
        missing: One or more missing-value markers; empty cells are always missing.
        sheet: The sheet of a workbook, by name, or by number as "#1".
        seed: Random seed of the guidance.

    Returns:
        The state, with its ``plan``.

    Raises:
        RecordError: A table that cannot be read, no such column, or fewer than two classes.
        PlanError: Columns that a plan cannot have.
        EstimateError: Too few records of a class to start with.

    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> table = pd.DataFrame({"smokes": ["no", "yes"] * 10, "ill": ["no", "yes"] * 10})
    >>> state = ap.guided.start(table, "ill", guarantee=ap.Guarantee("5%", "50%"), seed=0)
    >>> state.plan.bit_names, state.plan.labels, state.tuples
    (('smokes=no', 'smokes=yes'), ('no', 'yes'), 0)
    """

    options = TableOptions(separator, missing, sheet)
    settings = {"guarantee": guarantee, "keep": keep, "mu": parse_probability(mu, "mu"), "batch": batch}
    if schema is None:
        plan = plan_from_table(read_cells(table, options), class_column, **settings)
    else:
        plan = _plan_from_schema(schema, class_column, **settings)
    if not known and (schema is None or table is None):
        return guided_collection.start_empty(plan, seed)
    people = read_people(table, plan, options, seed)
    if not known:
        return guided_collection.start_empty(plan, seed)
    return guided_collection.start_with_tuples(plan, people.classes, plan.to_bits(people.raw_positions), seed)


def simulate_guided(
    table: Any,
    plan: GuidedPlan,
    *,
    separator: str | None = None,
    missing: str | Sequence[str] = (),
    sheet: str | None = None,
    progress: Progress | None = None,
    **trial: Any,
) -> Trial:
    """Simulate every level of a guided plan on a table, as :func:`assocpriv.simulate`.

    ``trial`` has the fields of :class:`TrialRequest` by name.

    Source: ZWZ05, sections 5 and 6.
    """
    request = build_options(TrialRequest, trial)
    reading = None if progress is None else partial(progress, "reading")
    people = read_people(table, plan, TableOptions(separator, missing, sheet, progress=reading), request.seed)
    return run_trial(people, plan, request, progress=progress)
