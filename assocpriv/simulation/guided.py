"""Guided perturbation tried on a table: what each level discloses, beside what can be learned from it.

A plan's attributes come from a table of people who do not mind, or of records at hand: a column of numbers of more than
ten values is cut at its quartiles, every other one has its values as categories. Of the 1992 generator's records that
gives the paper's columns of bits.

With T the raw tuples, a row of bits each, n attributes, m tuples and T_R what was released of them, what is disclosed
is measured beside the bound that was published for it:

    disclosure   1 − ‖T − T_R‖²/‖T‖², a share of squared norm; bound (29): Σ_{j≤k} ρ_j²/(mn), ρ_j singular values of T
    information  I(t; R(t))/H(t), which definition 2 calls disclosure, for people who are as likely as they are frequent

The bound does not hold for every guidance and table (docs/privacy.md).

A part of the records is held back, raw, to test on. The others are people, who answer one batch after the other: the
miner, who begins with nobody, publishes guidance of a fixed level, the shipping client answers, the miner adds it up
and goes on. A classifier is fitted on what arrived, and its accuracy stands beside what the miner, who has no raw
tuple, estimates that of naive Bayes to be. It is done several times with other people held back, so that every figure
has an error.

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

from assocpriv.client.guided import TupleRandomizer
from assocpriv.files.reports import Reports
from assocpriv.planning.schema import NUMBER, read_schema, warn_of_twins
from assocpriv.plans.guidance import MIXED_TOTAL, Guidance, bit_weights, coin_of, mixed, mixing
from assocpriv.plans.guided import BATCH, GuidedPlan, category, class_label, number, plan_guided
from assocpriv.plans.kind import shown_by
from assocpriv.promise.breaches import Breach, parse_probability
from assocpriv.promise.errors import PlanError, RecordError, counted, options_of
from assocpriv.records.columns import open_table
from assocpriv.records.numbers import all_numbers, words_among_numbers
from assocpriv.records.sources import Budget, named_after
from assocpriv.records.tables import TableOptions, stream_table
from assocpriv.server import guided
from assocpriv.simulation.enumeration import SeededEntropy

if TYPE_CHECKING:
    import pandas as pd


_ALL = Budget.within(None)
_MOST_CATEGORIES = 10  # numbers of more different values than this are cut at their quartiles
_LOG = logging.getLogger("assocpriv")
_QUARTILES = (0.25, 0.5, 0.75)
_INTERVALS = 4  # of a number in a schema that says no other
_MISSING = ("", "nan", "None", "<NA>")
_MOST_TERMS = 1 << 22  # of a sum over all reports and all tuples that there are
_HELD_BACK = 3  # one in so many people, to test on
_LEVELS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)  # that are tried, and all bits
_LONG_SECONDS = 20.0  # in all, which is said after the first step

Bits = NDArray[np.uint8]
Floats = NDArray[np.float64]
Progress = Callable[[str, int, int], None]


# ---- the plan of a table


@dataclass(frozen=True, eq=False, slots=True)
class People:
    """Raw tuples: positions of values, int32 (n, attributes), none missing any more, and classes, int64 (n,)."""

    raw_positions: NDArray[np.int32]
    classes: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.classes)

    def __getitem__(self, places: Any) -> "People":
        return People(self.raw_positions[places], self.classes[places])


def read_cells(table: Any, options: TableOptions) -> "pd.DataFrame":
    """Return a table's cells as text, None where a value is missing: of a CSV or Parquet file, or a frame.

    Raises:
        RecordError: a file that cannot be read, without records, or with two columns of one name.
    """
    import narwhals as nw
    import pandas as pd

    if isinstance(table, str | Path):
        frame = _read_file(Path(table), options)
    else:
        frame = nw.from_native(table, eager_only=True).to_pandas()
    names = [str(name).strip() for name in frame.columns]
    if len(set(names)) < len(names):
        raise RecordError("two columns of the table have the same name; names must differ")
    if not len(frame):
        raise RecordError("the table has no records; check that it is the right one")
    words = {*_MISSING, *options.missing}
    cells = {
        name: [None if text in words else text for text in map(_text, frame.iloc[:, place].tolist())]
        for place, name in enumerate(names)
    }
    return pd.DataFrame(cells, dtype=object)


def _text(value: Any) -> str:
    """Return a cell as text; a whole number as a float, as a column with missing values has it, is a whole number."""
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value) if whole else value).strip()


def _read_file(path: Path, options: TableOptions) -> "pd.DataFrame":
    import pandas as pd

    def read() -> pd.DataFrame:
        with open_table(path, (), options.separator, sheet=options.sheet) as table:
            parts = table.map(lambda rows: [each.to_pylist() for each in rows.columns], range(len(table.names)), _ALL)
            columns = [list(itertools.chain(*cells)) for cells in zip(*parts, strict=True)]
        frame = pd.DataFrame(dict(enumerate(columns)), dtype=object)
        return frame.set_axis(table.names, axis=1) if columns else pd.DataFrame(columns=table.names)

    return named_after(path, read, RecordError)


def attribute_values(cells: "pd.Series") -> tuple[str, ...] | tuple[float, ...]:
    """Return what a column's attribute is made of: cut points in rising order, as floats, or sorted categories.

    A cut point is a value of the column, the first of the interval above it.

    Raises:
        RecordError: nothing but missing values.
    """
    known = cells.dropna()
    if not len(known):
        raise RecordError(f"column {cells.name} holds nothing but missing values; leave it out")
    numbers = _numbers(known)
    if numbers is None or len(np.unique(numbers)) <= _MOST_CATEGORIES:
        return tuple(sorted(known.unique(), key=lambda text: (numbers is not None and float(text), text)))
    distinct = np.unique(numbers)
    cuts = np.quantile(numbers, _QUARTILES, method="higher")
    cuts = np.maximum(cuts, distinct[1])  # no interval below the least value
    return tuple(np.unique(cuts).tolist())


def _numbers(known: "pd.Series") -> NDArray[np.float64] | None:
    """Return numbers, float64 (n,), None where a cell is none."""
    try:
        numbers: NDArray[np.float64] = np.array(known.astype(np.float64), dtype=np.float64)
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).all() else None


def _plan_of_schema(schema: Any, class_column: str, **settings: Any) -> GuidedPlan:
    """Return a plan of a schema's columns, in which no value of a table stands; a number is cut at equal distances."""
    asked = read_schema(schema)
    warn_of_twins(asked)
    label = next((each for each in asked if each.name == class_column), None)
    if label is None or label.kind == NUMBER:
        raise PlanError(f"the schema lacks the class {class_column[:80]} with its values; write it with kind = 'label'")
    attributes = [
        number(each.name, [each.low + (each.high - each.low) * cut / parts for cut in range(1, parts)])
        if each.kind == NUMBER
        else category(each.name, each.values)
        for each in asked
        for parts in [each.intervals or _INTERVALS]
        if each is not label
    ]
    return plan_guided(attributes, class_label(class_column, label.values), **settings)


def plan_of(cells: "pd.DataFrame", class_column: str, **settings: Any) -> GuidedPlan:
    """Return a plan of all columns of a table but constant ones, which tell nothing of anybody.

    ``settings`` are those of :func:`assocpriv.plans.guided.plan_guided`.

    Raises:
        RecordError: no such column, fewer than two classes, or numbers that are none.
        PlanError: what a plan cannot hold.
    """
    if class_column not in cells.columns:
        raise RecordError(
            f"the table has no column {class_column[:80]!r} to be the class; line 1 must name the columns"
        )
    for name in cells.columns:
        codes, values = cells[name].factorize(use_na_sentinel=False)
        texts = [None if each is None else str(each) for each in values]
        if said := words_among_numbers(texts, codes):
            raise RecordError(f"column {name} holds numbers, {said}; schema= takes its values from a file instead")
        numbers = all_numbers(texts)
        if len(set(numbers.values())) < min(len(numbers), _MOST_CATEGORIES + 1):
            raise RecordError(
                f"column {name} writes some number in several ways, as 7 and 7.0, which would be categories of their "
                "own; write it in one way, or schema= takes its values from a file instead"
            )
    labels = sorted(cells[class_column].dropna().unique())
    if len(labels) < 2:
        raise RecordError(
            f"column {class_column} has {counted(len(labels), 'class')}, but guidance says where two or more differ"
        )
    if len(labels) > _MOST_CATEGORIES and _numbers(cells[class_column].dropna()) is not None:
        raise RecordError(
            f"column {class_column} has {len(labels):,} different numbers, and a plan would publish each of them as a "
            f"class; put them into {_MOST_CATEGORIES} intervals at most, as low and high, first"
        )
    made = {name: attribute_values(cells[name]) for name in cells.columns if name != class_column}
    constant = [name for name, values in made.items() if len(values) < 2 and isinstance(values[0], str)]
    if constant:
        _LOG.info("%s left out, with one value alone", counted(len(constant), "column"))
    attributes = [
        category(name, values) if isinstance(values[0], str) else number(name, values)
        for name, values in made.items()
        if name not in constant
    ]
    return plan_guided(attributes, class_label(class_column, labels), **settings)


def read_people(table: Any, plan: GuidedPlan, options: TableOptions, seed: int | None = None) -> People:
    """Return a table's records as raw tuples, each missing value drawn uniformly.

    Raises:
        RecordError: cells that the plan's columns do not take; no value is shown.
    """
    inputs = np.concatenate(list(stream_table(table, plan, options)))
    sizes = np.array(plan.sizes, dtype=np.int32)
    drawn = np.random.default_rng(seed).integers(0, sizes, (len(inputs), len(sizes)), dtype=np.int32)
    positions = inputs[:, :-1]
    return People(np.where(positions == sizes, drawn, positions), inputs[:, -1].astype(np.int64))


# ---- what is disclosed


def disclosure(raw_bits: Bits, released: Bits) -> float:
    """Return the share of squared norm that released tuples have in common with the raw ones, both uint8 (m, w).

    It is below 0 where more bits are wrong than there are ones.

    >>> disclosure(np.array([[1, 0, 1, 0]], np.uint8), np.array([[1, 0, 0, 0]], np.uint8))
    0.5
    """
    return 1 - float((raw_bits != released).sum()) / float(raw_bits.sum())


def disclosure_bound(raw_bits: Bits, level: int) -> float:
    """Return the share of the k largest singular values of T, squared, in ‖T‖² (bound 29)."""
    rows = raw_bits.astype(np.float64)
    squares = np.linalg.eigvalsh(rows.T @ rows)[::-1]
    return min(1.0, float(squares[:level].sum() / squares.sum()))


@dataclass(frozen=True, slots=True)
class Information:
    """I(t; R(t))/H(t): between two bounds, equal where it was computed."""

    low: float
    high: float


def information(raw_bits: Bits, shares: Floats) -> Information:
    """Return the share of information on tuples in what is released of them.

    H(R|t) is exact, a sum over bits. H(R) is enumerated where that is feasible. Otherwise it is at most the sum of its
    bits' entropies, and the information at least that of the bit that tells most.

    Args:
        raw_bits: tuples, uint8 (m, w).
        shares: with which probability each of their bits is released as 1, float64 (m, w).
    """
    _, first, counts = np.unique(raw_bits, axis=0, return_index=True, return_counts=True)
    weights, given = counts / counts.sum(), shares[first]
    total = _entropy(weights)
    if total == 0:
        return Information(0.0, 0.0)
    each = _bit_entropy(weights @ given) - weights @ _bit_entropy(given)
    low, high = float(each.max()), min(float(each.sum()), total)
    if len(first) << min(given.shape[1], 40) <= _MOST_TERMS:
        inside = float(weights @ _bit_entropy(given).sum(axis=1))
        low = high = min(max(_entropy(weights @ _report_shares(given)) - inside, 0.0), total)
    return Information(low / total, high / total)


def _report_shares(given: Floats) -> Floats:
    """Return the probability of every report, float64 (tuples, 2^w)."""
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
    total: Floats = -(both * logs).sum(axis=0)
    return total


# ---- levels tried


@dataclass(frozen=True, slots=True)
class TrialRequest:
    """How a trial is made.

    Attributes:
        classifier: a name of ``server.guided.CLASSIFIERS``.
        rounds: how often, each time with other people held back.
        people: so many at most, who are then a random sample.
        unconcerned: people whose raw tuples the miner starts with; 0 to start from nobody.
        seed: of all draws; None for new ones.
    """

    classifier: str = "naive-bayes"
    rounds: int = 5
    people: int = 5000
    unconcerned: int = 0
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """A mean over rounds, and its standard error."""

    mean: float
    std_error: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Measured":
        """Return the mean of a value of each round."""
        spread = float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
        return cls(float(np.mean(values)), spread / math.sqrt(len(values)))


@dataclass(frozen=True, slots=True)
class Level:
    """What one level came to, all shares.

    ``share`` is the μ from which on the miner, knowing all raw tuples, would ask for no more than this level, and
    ``estimate`` the accuracy that it estimates from released tuples alone.
    """

    level: int
    share: float
    disclosure: Measured
    disclosure_bound: float
    information: Information
    accuracy: Measured
    estimate: Measured


@dataclass(frozen=True, slots=True)
class Trial:
    """What a trial found: a level for each number of eigenvectors, and the accuracy of learning from raw tuples."""

    plan: GuidedPlan
    request: TrialRequest
    people: int
    held_back: int
    original_accuracy: Measured
    majority: Measured
    levels: tuple[Level, ...]
    _repr_html_ = shown_by("assocpriv.show.guided:simulated")


@dataclass(frozen=True, eq=False, slots=True)
class Split:
    """People whose raw tuples the miner starts with, those who answer, and those held back."""

    unconcerned: People
    answering: People
    held_back: People


def _split_people(people: People, rng: np.random.Generator, request: TrialRequest) -> Split:
    """Divide people at random, a third of them held back.

    Raises:
        RecordError: a class that some part lacks.
    """
    mixed = people[rng.permutation(len(people))[: request.people]]
    back = len(mixed) // _HELD_BACK
    split = Split(mixed[back : back + request.unconcerned], mixed[back + request.unconcerned :], mixed[:back])
    classes = len(np.unique(people.classes))
    if any(len(np.unique(part.classes)) < classes for part in (split.answering, split.held_back)):
        raise RecordError("there are too few people of some class to learn from and to test on; take more records")
    return split


def begin(plan: GuidedPlan, split: Split, rng: np.random.Generator) -> guided.MinerState:
    """Return the miner's state before anybody answers."""
    if not len(split.unconcerned):
        return guided.explore(plan, int(rng.integers(1 << 62)))
    bits = plan.to_bits(split.unconcerned.raw_positions)
    return guided.start(plan, split.unconcerned.classes, bits, int(rng.integers(1 << 62)))


@dataclass(frozen=True, eq=False, slots=True)
class Collected:
    """What a collection of one level came to."""

    state: guided.MinerState
    reports: Reports


def answer_all(plan: GuidedPlan, split: Split, level: int, rng: np.random.Generator) -> Collected:
    """Let everybody answer guidance of one level, a batch after the other."""
    entropy = SeededEntropy(int(rng.integers(1 << 62)))
    state, packed = begin(plan, split, rng), []
    for first in range(0, len(split.answering), plan.batch):
        state = guided.publish(state, level)
        batch = split.answering[first : first + plan.batch]
        asked = state.guidances[-1]
        answers = TupleRandomizer(plan, asked)  # a thread for each of so many small batches would take longer than it
        bits, _ = answers.randomize(batch.raw_positions, entropy.words(len(batch) * answers.words), entropy)
        packed.append(plan.pack(asked.serial, batch.classes, bits))
        state = guided.collect(state, Reports(plan, packed[-1]))
    return Collected(state, Reports(plan, np.concatenate(packed)))


def accuracy(model: Any, people: People, plan: GuidedPlan) -> float:
    """Return the share of raw tuples whose class a classifier tells."""
    predicted = model.predict(guided.bit_frame(plan.to_bits(people.raw_positions), plan))
    return float((predicted == np.array(plan.labels)[people.classes]).mean())


def run_trial(
    people: People,
    plan: GuidedPlan,
    request: TrialRequest,
    levels: Sequence[int] = (),
    progress: Progress | None = None,
) -> Trial:
    """Try levels, by default some of 1 to w, on people.

    Raises:
        RecordError: too few people of a class to learn from and to hold back.
    """
    wanted, tell = (
        tuple(levels) or (*(level for level in _LEVELS if level < plan.width), plan.width),
        progress or (lambda *_: None),
    )
    rng = np.random.default_rng(request.seed)
    splits = [_split_people(people, rng, request) for _ in range(request.rounds)]
    found = []
    tell("learning from raw tuples", 0, len(splits))
    with threadpool_limits(1):  # matrices of a few dozen rows: on several threads they wait for each other
        raw = [accuracy(_of_raw(split, plan, request), split.held_back, plan) for split in splits]
        tell("levels", 0, len(wanted))
        began = perf_counter()
        for done, level in enumerate(wanted, 1):
            found.append(_level(splits, plan, request, level, rng))
            if done == 1:
                _say_if_long(perf_counter() - began, len(wanted), "rounds or people")
            tell("levels", done, len(wanted))
    commonest = [np.bincount(split.held_back.classes).max() / len(split.held_back) for split in splits]
    first = splits[0]
    counts = len(first.answering), len(first.held_back)
    return Trial(plan, request, *counts, Measured.of(raw), Measured.of(commonest), tuple(found))


def _say_if_long(seconds: float, times: float, fewer: str) -> None:
    if seconds * times > _LONG_SECONDS:
        _LOG.info("this takes about %.0f s in all; fewer %s take less", seconds * times, fewer)


def _of_raw(split: Split, plan: GuidedPlan, request: TrialRequest) -> Any:
    raw = split.answering
    X = guided.bit_frame(plan.to_bits(raw.raw_positions), plan)
    return guided.new_classifier(request.classifier, len(raw)).fit(X, np.array(plan.labels)[raw.classes])


def _level(
    splits: Sequence[Split], plan: GuidedPlan, request: TrialRequest, level: int, rng: np.random.Generator
) -> Level:
    answers = [answer_all(plan, split, level, rng) for split in splits]
    models = [guided.train(each.state, each.reports, request.classifier) for each in answers]
    right = [accuracy(model, split.held_back, plan) for model, split in zip(models, splits, strict=True)]
    raw_bits = [plan.to_bits(split.answering.raw_positions) for split in splits]
    told = [disclosure(bits, plan.unpack(each.reports.packed)[2]) for bits, each in zip(raw_bits, answers, strict=True)]
    known = guided.start(plan, splits[0].answering.classes, raw_bits[0])
    values = guided.differences(known, known.shares)[0]
    return Level(
        level=level,
        share=float(values[level - 1] / values[0]) if level <= len(values) else 0.0,
        disclosure=Measured.of(told),
        disclosure_bound=disclosure_bound(raw_bits[0], level),
        information=_information(answers[0].state.guidances[-1], plan, splits[0].answering),
        accuracy=Measured.of(right),
        estimate=Measured.of([guided.worth(each.state, [level])[0].accuracy for each in answers]),
    )


def _information(guidance: Guidance, plan: GuidedPlan, people: People) -> Information:
    """Return the share of information in what guidance releases; with tuples mixed in, bounds.

    Information is convex in the law of reports, so a share q of reports that tell nothing leaves 1 − q of it at most.
    """
    shares = mixed(bit_weights(guidance, plan, people.raw_positions), coin_of(guidance, plan)) / MIXED_TOTAL
    found = information(plan.to_bits(people.raw_positions), shares)
    if plan.keep != "tuple":
        return found
    return Information(0.0, found.high * float(1 - mixing(plan, guidance)))


# ---- what people call


def start(
    table: Any,
    class_column: str,
    *,
    schema: Any = None,
    promise: Breach | None = None,
    keep: str = "bits",
    mu: str | float | Fraction = "15%",
    batch: int = BATCH,
    known: bool = False,
    separator: str | None = None,
    missing: str | Sequence[str] = (),
    sheet: str | None = None,
    seed: int | None = None,
) -> guided.MinerState:
    """Make a plan of a table's columns, and the state that a miner begins with.

    Args:
        table: records of people who do not mind, or public ones: a pandas, polars or pyarrow table, or the name of a
            CSV or Parquet file. Values of categories and quartiles of numbers are taken from it, and become public
            with the plan. With a schema it may be None; what it holds must fit the plan.
        class_column: the class, two or more labels; it is collected in clear.
        schema: the path of a TOML file, or what one holds, as :func:`assocpriv.numeric.plan_table` takes it: values and
            ranges are taken from it, and none from the table. How it releases columns does not count here.
        promise: what every report is to keep; without one none does, whoever publishes the guidance.
        keep: how a promise is kept: ``"bits"`` mixes every bit with a coin, ``"tuple"`` mixes whole
            tuples.
        mu: μ, how small a difference of classes may be against the largest to be left out.
        batch: tuples after which guidance is published anew.
        known: start with the table's own tuples; otherwise from nobody.
        separator: of the cells of a CSV file; found out by default.
        missing: a word, or several, for missing values; empty cells are such anyway.
        sheet: of a workbook, by name, or by number as "#1".
        seed: makes the guidance repeatable.

    Raises:
        RecordError: a table that cannot be read, no such column, or fewer than two classes.
        PlanError: what the plan cannot hold.
        EstimateError: too few records of a class to start with.

    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> table = pd.DataFrame({"smokes": ["no", "yes"] * 10, "ill": ["no", "yes"] * 10})
    >>> state = ap.guided.start(table, "ill", promise=ap.Breach("5%", "50%"), seed=0)
    >>> state.plan.bit_names, state.plan.labels, state.tuples
    (('smokes=no', 'smokes=yes'), ('no', 'yes'), 0)
    """

    options = TableOptions(separator, missing, sheet)
    settings = {"promise": promise, "keep": keep, "mu": parse_probability(mu, "mu"), "batch": batch}
    if schema is None:
        plan = plan_of(read_cells(table, options), class_column, **settings)
    else:
        plan = _plan_of_schema(schema, class_column, **settings)
    if not known and (schema is None or table is None):
        return guided.explore(plan, seed)
    people = read_people(table, plan, options, seed)
    if not known:
        return guided.explore(plan, seed)
    return guided.start(plan, people.classes, plan.to_bits(people.raw_positions), seed)


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
    """Try every level of a plan on a table at hand; :func:`assocpriv.simulate` says what comes back.

    ``trial`` is a :class:`TrialRequest` by name.

    Source: ZWZ05, sections 5 and 6.
    """
    request = options_of(TrialRequest, trial)
    reading = None if progress is None else partial(progress, "reading")
    people = read_people(table, plan, TableOptions(separator, missing, sheet, progress=reading), request.seed)
    return run_trial(people, plan, request, progress=progress)
