"""How much privacy a plan's noise leaves on data at hand: its attacks run, and run again on a γ plan of equal accuracy.

The data are released here by the shipping client, and each column's values then estimated from all released columns,
by whoever knows the plan and the released table, and nothing else. What is *left* is the width of the shortest interval
around the attacker's estimate that holds the true value with a confidence, by the errors found, as a share of the
range; beside it stand the width that the plan states, and that of an attacker who knows how values are spread and sees
no report at all.

The γ plan of equal accuracy releases each such column by a square wave, whose γ is chosen so that the unbiased mean of
values spread evenly has the variance that it has under the noise. All columns are answered, so the record's γ is the
product.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.client.numeric.bulk import randomize_inputs
from assocpriv.core.entropy import SystemEntropy, WordEntropy
from assocpriv.core.errors import EstimateError
from assocpriv.core.privacy import Breach, highest_posterior
from assocpriv.lab.filtering import (
    Floats,
    gaussian_bayes,
    interval_bayes,
    pair_bayes,
    principal_components,
    spectral_filtering,
    widths_left,
)
from assocpriv.planning.numeric.designs import design_window, noise_deviation
from assocpriv.planning.numeric.planner import ColumnSize, column_cost
from assocpriv.planning.numeric.table_facts import CONFIDENCES
from assocpriv.plans.numeric.channel import transition
from assocpriv.plans.numeric.columns import NumberColumn
from assocpriv.plans.numeric.laws import Clear, Noise, Window
from assocpriv.plans.numeric.plan import TablePlan
from assocpriv.records.table_files import TableOptions, stream_table

LEAST_RECORDS = 100
MOST_RECORDS = 200_000  # more would not change the widths
RELEASED, COMPONENTS = "released value", "principal components"
MEAN, LIKELIEST = "interval Bayes, mean", "interval Bayes, likeliest"
_LARGEST_EXPONENT = 16.0  # ln of the γ that a column's square wave may have; weights hold no more


@dataclass(frozen=True)
class LevelLeft:
    """What is left of a column's privacy at a confidence, widths as shares of the range.

    Attributes:
        stated: what the plan states.
        unseen: what somebody leaves who knows how values are spread and sees no report.
        left: by attack; "released value" is none, the release taken for the value.
        left_by_wave: by attack, under the square wave of equal accuracy; empty if none is as accurate.
    """

    stated: float
    unseen: float
    left: dict[str, float]
    left_by_wave: dict[str, float]

    @property
    def best(self) -> str:
        """The attack that leaves least."""
        return min(self.left, key=self.left.__getitem__)

    @property
    def best_on_wave(self) -> str:
        """The attack that leaves least under the square wave."""
        return min(self.left_by_wave, key=self.left_by_wave.__getitem__)


@dataclass(frozen=True)
class ColumnLeft:
    """What is left of a column's privacy, by confidence.

    ``amplification`` is γ of the square wave of equal accuracy; None if none is as accurate.
    """

    name: str
    amplification: float | None
    levels: dict[Fraction, LevelLeft]


@dataclass(frozen=True)
class PrivacyLeft:
    """What attacks leave of each column with noise, of so many records."""

    records: int
    columns: tuple[ColumnLeft, ...]


@dataclass(frozen=True)
class _Released:
    """A released column: codes, unbiased values in cells with the deviation of their noise, and the true cells."""

    column: NumberColumn
    codes: NDArray[np.int64]
    values: Floats
    deviation: float
    raw_cells: Floats


def attack_table(
    table: Any, plan: TablePlan, *, missing: str | Sequence[str] = (), confidences: Sequence[Fraction] = CONFIDENCES
) -> PrivacyLeft:
    """Attack the plan's noise on a table: a file's name or a frame, as records/table_files.py takes them.

    Values outside a range are moved to its ends. Raises RecordError of the table, and as :func:`privacy_left`.
    """
    batches, count = [], 0
    for batch in stream_table(table, plan, TableOptions(missing=missing, clip=True)):
        batches.append(batch)
        count += len(batch)
        if count >= MOST_RECORDS:
            break
    return privacy_left(plan, np.concatenate(batches), confidences=confidences)


def privacy_left(
    plan: TablePlan,
    raw_inputs: NDArray[np.int32],
    *,
    confidences: Sequence[Fraction] = CONFIDENCES,
    entropy: WordEntropy | None = None,
) -> PrivacyLeft:
    """Attack the plan's noise on data at hand.

    Args:
        plan: with one column of noise at least; columns of numbers released as they are help the attacker.
        raw_inputs: int32 (records, columns), as records/table_files.py reads them. Records with a missing number are
            left out; of many the first 200,000 are taken.
        confidences: of the widths; those that the plan states by default, 50, 95 and 99.9%.
        entropy: the clients'; by default the system's.

    Raises:
        EstimateError: no column has noise, or there are fewer than 100 records.
    """
    places = [place for place, column in enumerate(plan.columns) if _is_noise(column) or _is_clear(column)]
    columns = [column for place in places if isinstance(column := plan.columns[place], NumberColumn)]
    if not any(map(_is_noise, columns)):
        raise EstimateError("no column of the plan has noise added, so there is nothing to filter out")
    cells = raw_inputs[:, places]
    cells = np.ascontiguousarray(cells[(cells < [column.inputs for column in columns]).all(axis=1)][:MOST_RECORDS])
    if len(cells) < LEAST_RECORDS:
        raise EstimateError(f"the attack needs {LEAST_RECORDS} records without a missing number, got {len(cells)}")
    source = SystemEntropy() if entropy is None else entropy
    twins = [_twin(column) for column in columns]
    released = _release(columns, cells, source)
    waves = [column if twin is None else twin for column, twin in zip(columns, twins, strict=True)]
    found, under_waves = _attack(released, confidences), _attack(_release(waves, cells, source), confidences)
    columns_left = [
        _column_left(each, confidences, twin, attacks, on_wave)
        for each, twin, attacks, on_wave in zip(released, twins, found, under_waves, strict=True)
        if _is_noise(each.column)
    ]
    return PrivacyLeft(len(cells), tuple(columns_left))


def _column_left(
    released: _Released, confidences: Sequence[Fraction], twin: NumberColumn | None, left: list[dict[str, float]],
    on_wave: list[dict[str, float]],
) -> ColumnLeft:  # fmt: skip
    column = released.column
    unseen = widths_left(released.raw_cells, list(map(float, confidences)))
    levels = {
        level: LevelLeft(
            float(column.known_width(level)),
            unseen[at] / column.inputs,
            left[at],
            {} if twin is None else on_wave[at],
        )
        for at, level in enumerate(confidences)
    }
    return ColumnLeft(column.name, None if twin is None else float(twin.law.amplification or 0), levels)


def _is_noise(column: object) -> bool:
    return isinstance(column, NumberColumn) and isinstance(column.law, Noise)


def _is_clear(column: object) -> bool:
    return isinstance(column, NumberColumn) and isinstance(column.law, Clear) and column.law.width == 1


# ---- releases


def _release(columns: Sequence[NumberColumn], cells: NDArray[np.int32], entropy: WordEntropy) -> list[_Released]:
    return [_release_column(column, cells[:, place], entropy) for place, column in enumerate(columns)]


def _release_column(column: NumberColumn, cells: NDArray[np.int32], entropy: WordEntropy) -> _Released:
    plan = TablePlan((column,), int(column.is_protected), _promise_above(column))
    packed = np.concatenate(list(randomize_inputs([np.ascontiguousarray(cells[:, None])], plan, entropy=entropy)))
    codes, law = plan.codes(packed, 0).astype(np.int64), column.law
    if isinstance(law, Noise):
        deviation = math.sqrt(noise_deviation(law.noise_weights) ** 2 - 1 / 12)
        values: Floats = (codes - law.largest).astype(np.float64)
    elif isinstance(law, Window):
        slope = law.near * (law.high - law.low) / law.total(optional=column.optional)
        values = (codes.astype(np.float64) - (law.outputs - 1) / 2) / slope + (law.inputs - 1) / 2
        deviation = _wave_deviation(law.inputs, float(law.amplification))
    else:
        values, deviation = codes.astype(np.float64), 0.0
    return _Released(column, codes, values, deviation, cells.astype(np.float64))


def _promise_above(column: NumberColumn) -> Breach | None:
    """Return a promise that the column keeps."""
    gamma = column.law.amplification
    if gamma is None:
        return None
    prior = Fraction(1, 10**6)
    posterior = highest_posterior(prior, gamma * 2)
    return Breach(prior, Fraction(math.ceil(posterior * 10**12), 10**12))


def _twin(column: NumberColumn) -> NumberColumn | None:
    """Return the column released by the square wave under which means err as much; None if it has no noise."""
    law = column.law
    if not isinstance(law, Noise):
        return None
    wanted = noise_deviation(law.noise_weights) ** 2 - 1 / 12
    low, high = 1e-2, _LARGEST_EXPONENT
    if _wave_deviation(column.inputs, math.exp(high)) ** 2 > wanted:
        return None
    for _ in range(40):
        middle = (low + high) / 2
        if _wave_deviation(column.inputs, math.exp(middle)) ** 2 > wanted:
            low = middle
        else:
            high = middle
    wave = design_window(column.inputs, Fraction(math.exp(high)), optional=False)
    return NumberColumn(column.name, wave, False, column.low, column.high, column.intervals)


def _wave_deviation(cells: int, ratio: float) -> float:
    """Return the deviation, in cells, of a square wave's unbiased values around the true one, on average over cells."""
    cost = column_cost(ColumnSize(cells, is_number=True, optional=False), ratio)
    return math.sqrt(max(cost - 1, 0) * (cells**2 - 1) / 12)


# ---- attacks


def _attack(released: Sequence[_Released], confidences: Sequence[Fraction]) -> list[list[dict[str, float]]]:
    """Return, of each column and by confidence, what each attack leaves, as a share of the range."""
    levels = list(map(float, confidences))
    likeliest: list[list[Floats]] = [[] for _ in released]
    estimates: list[dict[str, Floats]] = [{RELEASED: each.values} for each in released]
    _linear(released, estimates)
    for place, each in enumerate(released):
        if each.deviation:
            matrix = transition(each.column)[: each.column.law.outputs, : each.column.intervals]
            middles = _middles(each.column)
            estimates[place][MEAN], likeliest[place] = interval_bayes(each.codes, matrix, middles, levels)
            partner = _partner(released, place)
            if partner is not None:
                other = released[partner]
                theirs = transition(other.column)[: other.column.law.outputs, : other.column.intervals]
                estimates[place]["pair Bayes"] = pair_bayes((each.codes, other.codes), (matrix, theirs), middles)
    return [_widths(*each, levels) for each in zip(released, estimates, likeliest, strict=True)]


def _widths(
    released: _Released, estimates: dict[str, Floats], likeliest: list[Floats], levels: list[float]
) -> list[dict[str, float]]:
    """Return what each attack leaves, by level; of principal components, with as many of them as leave least."""
    left: list[dict[str, float]] = [{} for _ in levels]

    def add(attack: str, errors: Floats, places: Sequence[int]) -> None:
        widths = widths_left(errors, [levels[at] for at in places])
        for at, width in zip(places, widths, strict=True):
            left[at][attack] = min(left[at].get(attack, math.inf), width / released.column.inputs)

    for name, values in estimates.items():
        add(name.partition(" (")[0], released.raw_cells - values, range(len(levels)))
    for at, values in enumerate(likeliest):
        add(LIKELIEST, released.raw_cells - values, [at])
    return left


def _linear(released: Sequence[_Released], estimates: list[dict[str, Floats]]) -> None:
    """Add the estimates that look at covariances."""
    table = np.stack([each.values for each in released], axis=1)
    deviations = np.array([each.deviation for each in released])
    noisy = np.flatnonzero(deviations)
    filtered = spectral_filtering(table[:, noisy], deviations[noisy])
    attacks = {"Gaussian Bayes": gaussian_bayes(table, deviations)}
    for kept in range(1, len(released)):  # however many tell most, as an attacker may know
        attacks[f"{COMPONENTS} ({kept})"] = principal_components(table, deviations, kept)
    for name, found in attacks.items():
        for place in range(len(released)):
            estimates[place][name] = found[:, place]
    for position, noise_place in enumerate(noisy.tolist()):
        estimates[noise_place]["spectral filtering"] = filtered[:, position]


def _partner(released: Sequence[_Released], place: int) -> int | None:
    """Return the column that goes best with another, by the correlation of their values as far as it can be told."""
    if len(released) < 2:
        return None
    table = np.stack([each.values for each in released], axis=1)
    covariance = np.cov(table.T) - np.diag([each.deviation**2 for each in released])
    scales = np.sqrt(np.maximum(np.diag(covariance), 1e-9))
    strength = np.abs(covariance[place] / scales)
    strength[place] = -1
    return int(np.argmax(strength))


def _middles(column: NumberColumn) -> Floats:
    """Return the middles of the intervals, in cells counted as the middle of the first one being 0."""
    cells = column.inputs // column.intervals
    middles: Floats = np.arange(column.intervals, dtype=np.float64) * cells + (cells - 1) / 2
    return middles
