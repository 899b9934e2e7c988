"""The exact distribution of releases by single cells, enumerated with the shipped search: all tables, all random bits.

The adversary knows the channel of all records, the algorithm, and the transcript: the tests and their results. The
probability of each order of the payloads and each outcome of the random bits is a whole number over a power of two.
"""

import itertools
import math
import random
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from assocpriv.suppress import suppression
from assocpriv.suppress.randomization import KEEP, OF, RandomBits

MAX_UNITS = 3072  # the default limit of a group's charge: e³ = 20
SHIFT = OF.bit_length() - 1
Weight = tuple[int, int]  # numerator, and exponent of the power of two in the denominator


class Script:
    """Scripted refusals and their probability; draws beyond the script refuse."""

    def __init__(self, script: list[bool]) -> None:
        self.script, self.drawn, self.weight = script, list[bool](), (1, 0)

    def __call__(self, units: int) -> bool:
        """Return the next result."""
        refused = self.script[len(self.drawn)] if len(self.drawn) < len(self.script) else True
        self.drawn.append(refused)
        factor = KEEP**units if refused else (1 << SHIFT * units) - KEEP**units
        self.weight = self.weight[0] * factor, self.weight[1] + SHIFT * units
        return refused


def all_outcomes(search: Callable[[Any], suppression.CellGroups]) -> Iterator[tuple[suppression.CellGroups, Weight]]:
    """Yield the results of a search and their weights, over all outcomes of the random bits."""
    scripts: list[list[bool]] = [[]]
    while scripts:
        each = Script(scripts.pop())
        yield search(each), each.weight
        scripts += [[*each.drawn[:at], not each.drawn[at]] for at in range(len(each.script), len(each.drawn))]


def random_case(rng: random.Random) -> Any:
    """Return a channel, payloads (bits of sensitive values), bounds that they meet in total, a minimum size, strata."""
    while True:
        n, n_bounds = rng.choice([3, 4, 5]), rng.choice([1, 1, 2])
        cells = [
            [4 * place + rng.randrange(rng.choice([2, 3, 4])) for _ in range(n)]
            for place in range(rng.choice([1, 2, 2, 3]))
        ]
        columns = np.unique(cells, return_inverse=True)[1].reshape(-1, n)
        bounds = [Fraction(rng.choice([1, 2, 3, 4, 5, 7, 8]), rng.choice([9, 10, 12])) for _ in range(n_bounds)]
        payloads = [sum(int(rng.random() < 0.4) << place for place in range(n_bounds)) for _ in range(n)]
        strata = [rng.choice([0, 0, 0, 1]) for _ in range(n)]
        shares = [
            (sum(p >> place & 1 for p, s in zip(payloads, strata, strict=True) if s == each), strata.count(each), bound)
            for each in set(strata) for place, bound in enumerate(bounds)
        ]  # fmt: skip
        if any(payloads) and all(hits <= bound * of_all for hits, of_all, bound in shares):
            return columns.T.astype(np.int32), payloads, bounds, rng.choice([1, 2]), strata


def weights_of(payloads: tuple[int, ...], n_bounds: int, strata: list[int]) -> np.ndarray:
    """Return the records and hits of each stratum, one row per record."""
    weights = np.zeros((len(payloads), max(strata) + 1, 1 + n_bounds), dtype=np.int64)
    for row, (payload, stratum) in enumerate(zip(payloads, strata, strict=True)):
        weights[row, stratum] = [1, *(payload >> place & 1 for place in range(n_bounds))]
    return weights.reshape(len(payloads), -1)


def outcome(groups: suppression.CellGroups, payloads: tuple[int, ...], strata: list[int]) -> Any:
    """Return the release and the transcript: the payloads of each group and stratum, without order."""
    members = zip(groups.groups.tolist(), strata, payloads, strict=True)
    return groups.shown.tobytes(), groups.tests, groups.refused, tuple(sorted(members))


def orders(payloads: list[int], strata: list[int]) -> list[tuple[int, ...]]:
    """Return all orders of payloads within strata."""
    members = sorted(zip(strata, payloads, strict=True))
    found = set(itertools.permutations(payloads))
    return sorted(order for order in found if sorted(zip(strata, order, strict=True)) == members)


def count_above(case: Any, search: Any, view: Any = outcome, draws: Any = all_outcomes) -> tuple[int, int, int]:
    """Return the numbers of tables and of outcomes, and of outcomes with a posterior above a bound."""
    codes, payloads, bounds, min_size, strata = case
    seen: dict[Any, list[tuple[tuple[int, ...], Weight]]] = defaultdict(list)
    tables, limits = orders(payloads, strata), suppression.limit_fractions(bounds, MAX_UNITS)
    for order in tables:
        weights = weights_of(order, len(bounds), strata)
        for groups, weight in draws(lambda refuses, w=weights: search(codes, w, limits, refuses, min_size)):
            seen[view(groups, order, strata)].append((order, weight))
    above = 0
    for found in seen.values():
        most = max(weight[1] for _, weight in found)
        level = [(order, weight << most - shift) for order, (weight, shift) in found]
        total = sum(weight for _, weight in level)
        shares = (
            (sum(weight for order, weight in level if order[person] >> place & 1), bound)
            for person in range(len(codes)) for place, bound in enumerate(bounds)
        )  # fmt: skip
        above += any(hits * bound.denominator > total * bound.numerator for hits, bound in shares)
    return len(tables), len(seen), above


def test_no_adversary_who_knows_the_algorithm_exceeds_a_bound(rng):
    """In some 5,000 small tables no posterior is above h, for all releases and all results of tests."""
    draws = random.Random(int(rng.integers(1 << 30)))
    tables = outcomes = above = 0
    while tables < 5000:
        each = count_above(random_case(draws), suppression.search_cells)
        tables, outcomes, above = tables + each[0], outcomes + each[1], above + each[2]
    assert above == 0
    assert outcomes > 1000


def test_whole_columns_keep_the_guarantee(rng):
    """The same holds where a column is shown or hidden for all records."""
    draws = random.Random(int(rng.integers(1 << 30)))
    found = np.array([count_above(random_case(draws), suppression.search_columns) for _ in range(200)])
    assert found[:, 2].sum() == 0
    assert found[:, 1].max() > 1


@pytest.mark.parametrize("search", [suppression.search_cells, suppression.search_columns])
def test_groups_have_the_minimum_size(search):
    """A value with the minimum number of records may be split off; one with a record less may not."""
    weights, limits = np.tile([1, 0], (9, 1)), suppression.limit_fractions([Fraction(1, 2)], MAX_UNITS)
    for records in (2, 3):
        codes = (np.arange(9) < records).astype(np.int32)[:, None]
        assert search(codes, weights, limits, None, 3).shown.all() == (records == 3)


def test_both_parts_of_a_group_keep_what_was_charged():
    """A refusal before a split counts for all records that it was about."""
    codes, weights, every = np.array([[0, 2], [0, 3], [1, 2], [1, 3]], np.int32), np.tile([1, 0], (4, 1)), np.arange(4)
    charged, column_of = np.array([0, 0, 3, 0]), np.array([0, 0, 1, 1])
    group = suppression._Group(every, *suppression._count_values(codes, weights, every, 1), charged)
    parts = suppression._split_group(group, 0, codes, weights, column_of)
    assert [part.charged.tolist() for part in parts] == [[0, 0, 3, 0]] * 2


def faulty_search(old: str, new: str) -> Any:
    """Return a search with a seeded fault."""
    source = Path(suppression.__file__).read_text(encoding="utf-8")
    assert old in source
    faulty = ModuleType("faulty")
    with pytest.MonkeyPatch.context() as patch:  # data classes look for their module
        patch.setitem(sys.modules, "faulty", faulty)
        exec(compile(source.replace(old, new), "faulty", "exec"), vars(faulty))
    return faulty.search_cells


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    return max(0, int((", "    return 1 + max(0, int(("),
        ("more[group.values[test.place]] = test.units", "more[group.values[test.place]] = test.units // 2"),
        ("    left = max(int(within", "    left = 1.3 * max(int(within"),
    ],
    ids=["distance and one", "half charge", "more than is left"],
)
def test_seeded_faults_are_found(rng, old, new):
    """A search with a fault raises some posterior above h."""
    draws, search = random.Random(int(rng.integers(1 << 30))), faulty_search(old, new)
    assert any(count_above(random_case(draws), search)[2] for _ in range(400))


def test_two_refused_values_of_a_column_are_charged():
    """Two records may differ in two refused values: a group is charged both, and no third."""
    codes, weights = np.arange(4, dtype=np.int32)[:, None], np.tile([1000, 100], (4, 1))
    limits = suppression.limit_fractions([Fraction(3, 10)], MAX_UNITS)
    found = suppression.search_cells(codes, weights, limits, lambda _: True, 1)
    units = math.ceil(suppression.TARGET / (301 - 100))  # for the first: expected distance from the limit, plus one
    assert found.refused == 4
    assert 2 * units <= found.charged < 2.2 * units


def test_random_bits_from_the_table_and_kept_orders_are_found(rng):
    """Random bits derived from the table identify the table, and so does the original order of rows."""
    draws = random.Random(int(rng.integers(1 << 30)))

    def known(search: Any) -> Iterator[tuple[suppression.CellGroups, Weight]]:
        weights = search.__defaults__[0]
        yield search(RandomBits(bytes(32), weights.tobytes()).refuses), (1, 0)

    cases = [random_case(draws) for _ in range(60)]
    for options in ({"draws": known}, {"view": lambda g, p, s: (outcome(g, p, s), p)}):
        assert any(count_above(case, suppression.search_cells, **options)[2] for case in cases)


def test_limits_are_exact(rng):
    """Before any spending a limit is ⌊a·h⌋; after u units it is the largest allowed number of hits, or one below."""
    for bound in [Fraction(int(a), int(b)) for a, b in rng.integers([1, 500], [500, 900], (20, 2))]:
        limits = suppression.limit_fractions([bound], 40)[0].tolist()
        for records in range(1, 61):
            assert records * limits[0][0] // limits[0][1] == int(records * bound)
            power = Fraction(OF, KEEP) ** 40
            share = bound / (bound + power * (1 - bound))
            assert records * limits[40][0] // limits[40][1] in (int(records * share), int(records * share) - 1)


def test_refusals_are_exact(monkeypatch):
    """A draw of u units refuses exactly for the numbers below 1023^u; more units are split into several draws."""
    bits, drawn = RandomBits(bytes(32), b""), list[bytes]()
    monkeypatch.setattr(RandomBits, "_stream", lambda self, use, n: drawn.pop(0))
    for units in (1, 12, 13, 20, 256, 700):
        parts = [min(256, units - start) for start in range(0, units, 256)]
        for more, refused in ((-1, True), (0, False)):
            numbers = [KEEP**part - 1 for part in parts[:-1]] + [KEEP ** parts[-1] + more]
            drawn[:] = [
                (((number + 1) << (spare := -SHIFT * part % 8)) - 1).to_bytes((SHIFT * part + spare) // 8, "big")
                for number, part in zip(numbers, parts, strict=True)
            ]
            assert bits.refuses(units) is refused
            assert drawn == []


def test_all_orders_occur():
    """Among the orders of three records under 60 keys are all six."""
    assert len({tuple(RandomBits(bytes([key]) * 32, b"t").order(3).tolist()) for key in range(60)}) == 6
