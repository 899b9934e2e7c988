"""Table plans and guided plans recomputed from their JSON text, without the package's own code.

A table plan's text becomes its integers, weights and γ, by docs/formats/plan.md:

    weight of output y under input x:   clear     1 at ⌊x / width⌋
                                        noise     half[|y − x − K|], K its reach; of uniform noise all are 1
                                        window    high for x ≤ y < x + near, low elsewhere
    a missing value, where allowed, is one more input and one more output, the last: a window gives it near·high against
    low for other outputs, and near·low where the record has a value; the other releases send it raw

γ of a report is the largest product of the ratios of all labels and of the protected columns in one report.

A guided plan's text becomes its integers and γ; guidance becomes exact probabilities:

    t_i = Σ of P = V·Vᵀ over a tuple's set bits    a_i = ⌊(|t_i| + 2^23)/2^24⌋    m_i = min(a_i², 2^32), of 2^32
    bits:   c·2^32 + (2^16 − c)·2·m_i, of 2^49     tuple: with probability h/2^32 the own tuple, else a uniform one

docs/formats/table-plan.md has the rules. This module computes them in Python's integers, entry by entry.
"""

import math
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.auditing.recompute_guarantee import field, fraction, json_content, require, stated_guarantee, whole
from assocpriv.auditing.recompute_reports import Draws

WHOLE = "whole-number"
CLEAR, UNIFORM, GAUSSIAN, WINDOW = "clear", "uniform-noise", "gaussian-noise", "window"
_MOST = 1 << 32
_MOST_WHOLE = 1 << 53
_WHOLE_BOUND = re.compile(r"(?:0|-?[1-9][0-9]{0,15})/1", re.ASCII)
_MAX_VALUES = 10_000
TUPLE, BITS = "tuple", "bits"
WORD, GRID = 1 << 32, 1 << 16
Matrix = NDArray[np.int64]


# ---- plans of tables


@dataclass(frozen=True)
class ColumnNumbers:
    """One column: its name and kind, its inputs and the numbers of its release."""

    name: str
    kind: str
    inputs: int
    optional: bool
    mechanism: str
    numbers: dict[str, Any]
    used: int  # inputs that some value has: the first ones, without the missing value

    @property
    def outputs(self) -> int:
        """Number of outputs without that of a missing value."""
        if self.mechanism == CLEAR:
            return int(self.inputs // self.numbers["width"])
        return int(self.inputs + self.numbers["near"] - 1) if self.mechanism == WINDOW else self.inputs + 2 * self.reach

    @property
    def reach(self) -> int:
        """K, the largest noise, in cells."""
        return int(self.numbers["reach"]) if self.mechanism == UNIFORM else len(self.numbers["half"]) - 1

    @property
    def codes(self) -> int:
        """Number of codes without that of a column left out of the report."""
        return self.outputs + self.optional

    @property
    def choices(self) -> int:
        """Number of inputs, a missing value among them."""
        return self.inputs + self.optional

    @property
    def ratio(self) -> Fraction | None:
        """γ: the largest ratio of two inputs' probabilities of one output; None where a probability is 0."""
        return Fraction(self.numbers["high"], self.numbers["low"]) if self.mechanism == WINDOW else None

    @cached_property
    def total(self) -> int:
        """The sum of the weights of an input, the same for all inputs."""
        return sum(count * weight for _, count, weight in self.blocks(0))

    def blocks(self, value: int) -> list[tuple[int, int, int]]:
        """Return (first code, number of codes, weight of each) in the order in which a draw selects them.

        Source: docs/formats/table-plan.md. Blocks may be empty; codes of weight 0 are left out.
        """
        if self.mechanism == WINDOW:
            near, high, low = (int(self.numbers[name]) for name in ("near", "high", "low"))
            if value == self.inputs:
                return [(self.outputs, 1, near * high), (0, self.outputs, low)]
            close = [(value, near, high), (0, value, low), (value + near, self.outputs - value - near, low)]
            return [*close, (self.outputs, 1, near * low)] if self.optional else close
        if value == self.inputs:
            return [(self.outputs, 1, self.total)]
        if self.mechanism == CLEAR:
            return [(value // self.numbers["width"], 1, 1)]
        if self.mechanism == UNIFORM:
            return [(value, 2 * self.reach + 1, 1)]
        return [(value + place, 1, weight) for place, weight in enumerate(self._gaussian)]

    def runs(self, value: int) -> list[tuple[int, int]]:
        """Return (code, weight) of each code, as :meth:`blocks`."""
        return [(first + step, weight) for first, count, weight in self.blocks(value) for step in range(count)]

    def code_of_draw(self, value: int, drawn: int) -> int:
        """Return the code that a draw below ``total`` selects."""
        if self.mechanism == GAUSSIAN and value < self.inputs:
            return value + bisect_right(self._sums, drawn)
        for first, count, weight in self.blocks(value):
            if drawn < count * weight:
                return first + drawn // weight
            drawn -= count * weight
        raise AssertionError("a draw is below the sum of the weights")

    @cached_property
    def _gaussian(self) -> list[int]:
        half = self.numbers["half"]
        return [*half[:0:-1], *half]

    @cached_property
    def _sums(self) -> list[int]:
        return list(accumulate(self._gaussian))


@dataclass(frozen=True)
class TableNumbers:
    """A table plan's integers."""

    columns: tuple[ColumnNumbers, ...]
    columns_per_report: int
    guarantee: tuple[Fraction, Fraction] | None  # prior and posterior
    reports_per_person: int

    @cached_property
    def protected_positions(self) -> list[int]:
        """Positions of the protected columns other than labels."""
        return [place for place, each in enumerate(self.columns) if each.ratio is not None and each.kind != "label"]

    @property
    def is_sampled(self) -> bool:
        """Whether a report has only some of these columns."""
        return self.columns_per_report < len(self.protected_positions)

    @property
    def amplification(self) -> Fraction | None:
        """γ of one report; None where no column has one."""
        labels = [each.ratio for each in self.columns if each.ratio is not None and each.kind == "label"]
        others = sorted((self.columns[place].ratio or Fraction(1) for place in self.protected_positions), reverse=True)
        chosen = [*labels, *others[: self.columns_per_report]]
        return math.prod(chosen, start=Fraction(1)) if chosen else None


def recompute_record(row: Sequence[int], table: TableNumbers, words: Draws) -> bytes:
    """Return the report that random words give for a record, by docs/formats/table-plan.md."""
    order, skipped, report = list(table.protected_positions), set[int](), b""
    if table.is_sampled:
        for place in range(table.columns_per_report):
            other = place + words.below(len(order) - place)
            order[place], order[other] = order[other], order[place]
        skipped = set(order[table.columns_per_report :])
    for place, (value, column) in enumerate(zip(row, table.columns, strict=True)):
        code = column.codes if place in skipped else column.code_of_draw(value, words.below(column.total))
        n_codes = column.codes + (table.is_sampled and place in table.protected_positions)
        report += code.to_bytes(1 if n_codes <= 256 else 2, "little")
    return report


def read_table(text: str) -> TableNumbers:
    """Read the integers of a table plan's JSON text.

    Raises:
        PlanError: a field that is missing, doubled or of another form. Whether the guarantee holds is not checked.
    """
    content = json_content(text)
    texts = field(content, "columns")
    require(isinstance(texts, list) and texts, "columns must be a list")
    columns = tuple(map(_column, texts))
    require(len({each.name for each in columns}) == len(columns), "two columns have one name")
    stated = stated_guarantee(content)
    table = TableNumbers(columns, 0, stated, whole(content, "reports_per_person", 1, 1000))
    most = len(table.protected_positions)
    sampled = whole(content, "columns_per_report", min(1, most), most)
    labels = sum(each.ratio is not None and each.kind == "label" for each in columns)
    given = (sampled + labels) * table.reports_per_person  # with more, γ^R would have millions of digits
    rule = f"a person gives more than {_MAX_VALUES:,} protected values, which γ cannot be computed for"
    require(given <= _MAX_VALUES, rule)
    return TableNumbers(columns, sampled, stated, table.reports_per_person)


def _column(content: object) -> ColumnNumbers:
    name, kind, optional = (field(content, key) for key in ("name", "kind", "optional"))
    release = field(content, "release")
    mechanism = field(release, "mechanism")
    is_known = kind in ("number", WHOLE, "category", "label") and type(optional) is bool
    require(isinstance(name, str) and is_known, "a column needs a name, a known kind, and optional true or false")
    if kind in ("number", WHOLE):
        inputs = whole(content, "cells", 1, 1 << 16)
    else:
        values = field(content, "values")
        differ = isinstance(values, list) and len(set(map(str, values))) == len(values) > 0
        require(differ, "values must be a list of texts that differ")
        inputs = len(values)
    used = _used(content, inputs) if kind == WHOLE else inputs
    weights = _read_mechanism(release, mechanism, inputs)
    column = ColumnNumbers(name, kind, inputs, optional, str(mechanism), weights, used)
    is_small = column.total <= _MOST and column.outputs < (1 << 16) - 1
    require(is_small, "a column's weights add up to more than 2^32, or it has too many outputs")
    return column


def _used(content: object, cells: int) -> int:
    """Return how many cells hold whole numbers, where all of these cells but the last hold equally many."""
    texts = [str(field(content, name)) for name in ("low", "high")]
    require(all(map(_WHOLE_BOUND.fullmatch, texts)), "whole numbers need whole bounds")
    low, high = (int(text.removesuffix("/1")) for text in texts)
    is_near = -_MOST_WHOLE <= low < high <= _MOST_WHOLE
    require(is_near, "whole numbers need low < high, both from -2^53 to 2^53")
    values = high - low + 1
    used = math.ceil(Fraction(values, math.ceil(Fraction(values, cells))))
    require(2 * used > cells, "half of the cells hold no value")
    return used


def _read_mechanism(release: object, mechanism: object, inputs: int) -> dict[str, Any]:
    if mechanism == CLEAR:
        width = whole(release, "width", 1, inputs)
        require(inputs % width == 0, "width must divide the cells")
        return {"width": width}
    if mechanism == UNIFORM:
        return {"reach": whole(release, "reach", 1, 1 << 16)}
    if mechanism == GAUSSIAN:
        half = field(release, "half")
        are_whole = isinstance(half, list) and all(type(each) is int and each >= 1 for each in half)
        require(are_whole and len(half) >= 2, "half must be a list of whole numbers from 1 on")
        return {"half": half}
    require(mechanism == WINDOW, "the mechanism of a release is unknown")
    low = whole(release, "low", 1, _MOST)
    return {"near": whole(release, "near", 1, 1 << 16), "high": whole(release, "high", low, _MOST), "low": low}


# ---- guided plans


@dataclass(frozen=True)
class GuidedNumbers:
    """A guided plan's integers: its tuples, and how it keeps its guarantee."""

    sizes: tuple[int, ...]
    labels: int
    keep: str | None
    honest: int
    stated: Fraction | None
    guarantee: tuple[Fraction, Fraction] | None
    reports_per_person: int

    @property
    def width(self) -> int:
        """Number of bits."""
        return sum(self.sizes)

    @property
    def amplification(self) -> Fraction | None:
        """γ of one report, None where the text has none."""
        return 1 + Fraction(self.honest * prod(self.sizes), WORD - self.honest) if self.keep == TUPLE else self.stated

    @property
    def total(self) -> int:
        """Upper limit of a bit's draw, exclusive."""
        return 2 * WORD * GRID if self.keep == BITS else WORD

    @cached_property
    def places(self) -> list[range]:
        """The bits of each attribute."""
        ends = list(accumulate(self.sizes))
        return [range(end - size, end) for end, size in zip(ends, self.sizes, strict=True)]


def read_guided(text: str) -> GuidedNumbers:
    """Read a guided plan's text; PlanError where it is not one."""
    content = json_content(text)
    attributes, safeguard = field(content, "attributes"), field(content, "safeguard")
    require(isinstance(attributes, list) and attributes, "the plan has no attributes")
    keep = None if safeguard is None else field(safeguard, "kind")
    require(keep in (None, TUPLE, BITS), "the kind of the safeguard is unknown")
    return GuidedNumbers(
        tuple(map(_values_of, attributes)),
        len(_texts(field(content, "label"), "values")),
        keep,
        whole(safeguard, "honest", 1, WORD - 1) if keep == TUPLE else 0,
        fraction(safeguard, "amplification") if keep == BITS else None,
        stated_guarantee(content),
        whole(content, "reports_per_person", 1, 1000),
    )


def _values_of(attribute: Any) -> int:
    if field(attribute, "kind") == "number":
        return len(_texts(attribute, "cuts")) + 1
    return len(_texts(attribute, "values"))


def _texts(content: Any, name: str) -> list[str]:
    texts = field(content, name)
    are_texts = isinstance(texts, list) and texts and all(isinstance(text, str) for text in texts)
    require(are_texts, f"{name} must be a list of texts")
    return list(texts)


# ---- guidance


def weight(share: int) -> int:
    """Return the weight, of 2^32, of a share times 2^40."""
    return min(((abs(share) + (1 << 23)) // (1 << 24)) ** 2, WORD)


def mixed(plain: int, mixing: int) -> int:
    """Return a weight mixed with random bits, of 2^49."""
    return mixing * WORD + 2 * (GRID - mixing) * plain


@dataclass(frozen=True)
class GuidedDistribution:
    """The output distribution of tuples under one guidance: P and the weight of random bits mixed in."""

    numbers: GuidedNumbers
    shares: Matrix
    mixing: int
    _known: dict[tuple[int, ...], list[int]] = dataclass_field(default_factory=dict)  # weights computed before

    @classmethod
    def from_vectors(cls, numbers: GuidedNumbers, vectors: Matrix) -> "GuidedDistribution":
        """Return it for V, int64 (w, k), entries times 2^20; sums of 2^11 products below 2^40 are exact."""
        shares = vectors @ vectors.T
        return cls(numbers, shares, _mixing_weight(numbers, shares) if numbers.keep == BITS else 0)

    def weights(self, positions: tuple[int, ...]) -> list[int]:
        """Return each bit's weight, of the plan's total, for a tuple without missing values."""
        if positions not in self._known:
            rows = [places[value] for places, value in zip(self.numbers.places, positions, strict=True)]
            plain = [weight(share) for share in self.shares[rows].sum(axis=0).tolist()]
            is_mixed = self.numbers.keep == BITS
            self._known[positions] = [mixed(each, self.mixing) for each in plain] if is_mixed else plain
        return self._known[positions]

    def reported_tuples(self, positions: tuple[int, ...]) -> list[tuple[tuple[int, ...], Fraction]]:
        """Return the tuples that a client may report for one, with the probability of each."""
        sizes = self.numbers.sizes
        known = [range(size) if v == size else [v] for v, size in zip(positions, sizes, strict=True)]
        own = Fraction(self.numbers.honest, WORD) if self.numbers.keep == TUPLE else Fraction(1)
        whole_tuples = list(product(*known))
        found = [(each, own / len(whole_tuples)) for each in whole_tuples]
        if own < 1:
            every = list(product(*map(range, sizes)))
            found += [(each, (1 - own) / len(every)) for each in every]
        return found


def recompute_tuple(row: Sequence[int], serial: int, distribution: GuidedDistribution, words: Draws) -> bytes:
    """Return the report that random words give for a tuple and its class, the last, by docs/formats/table-plan.md."""
    numbers = distribution.numbers
    fills = [words.below(size) for size in numbers.sizes]
    reported = tuple(f if v == size else v for v, f, size in zip(row, fills, numbers.sizes, strict=False))
    if numbers.keep == TUPLE:
        other = tuple(words.below(size) for size in numbers.sizes)
        reported = reported if words.below(WORD) < numbers.honest else other
    weights = distribution.weights(reported)
    bits = sum((words.below(numbers.total) < weight) << place for place, weight in enumerate(weights))
    head = serial.to_bytes(4, "little") + row[-1].to_bytes(1 if numbers.labels <= 256 else 2, "little")
    return head + bits.to_bytes(-(-numbers.width // 8), "little")


def bounds(numbers: GuidedNumbers, shares: Matrix) -> list[tuple[int, int]]:
    """Return the smallest and largest weight that each bit can have, of 2^32."""
    found = []
    for i in range(numbers.width):
        columns = [shares[places.start : places.stop, i].tolist() for places in numbers.places]
        low, high = sum(map(min, columns)), sum(map(max, columns))
        ends = (weight(low), weight(high))
        found.append((0 if low <= 0 <= high else min(ends), max(ends)))
    return found


def product_of_ratios(limits: list[tuple[int, int]], mixing: int) -> Fraction | None:
    """Return the product over bits of the largest ratio; None where probability 0, or 1, meets another one."""
    total, above, below = 2 * WORD * GRID, 1, 1
    for plain in limits:
        low, high = (mixed(each, mixing) for each in plain)
        if low < high and (low == 0 or high == total):
            return None
        up = (high, low) if low == high or high * (total - high) >= low * (total - low) else (total - low, total - high)
        above, below = above * up[0], below * up[1]
    return Fraction(above, below)


def _mixing_weight(numbers: GuidedNumbers, shares: Matrix) -> int:
    """Return the smallest weight of random bits that keeps the stated γ."""
    limits, first, last = bounds(numbers, shares), 0, GRID
    while first < last:
        middle = (first + last) // 2
        ratio = product_of_ratios(limits, middle)
        kept = ratio is not None and numbers.stated is not None and ratio <= numbers.stated
        first, last = (first, middle) if kept else (middle + 1, last)
    return first
