"""The exact law of releases by single cells, enumerated through the shipping search: all tables, all coins.

A reader knows the channel of all, the algorithm, and the transcript: which tests there were and how they ended. Of
every order of the payloads and every outcome of the coins the weight is a whole number over a power of two.
"""

import itertools
import math
import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from assocpriv.kernels import groups as kernels
from assocpriv.suppress import local
from assocpriv.suppress.coins import KEEP, OF, Coins

SHIFT = OF.bit_length() - 1
Weight = tuple[int, int]  # a whole number, and the power of two that it is over


class Script:
    """Coins that fall as told, and the chance of that; those that nobody told of say “refused”."""

    def __init__(self, told: list[bool]) -> None:
        self.told, self.fallen, self.weight = told, list[bool](), (1, 0)

    def __call__(self, units: int) -> bool:
        """Toss one."""
        refused = self.told[len(self.fallen)] if len(self.fallen) < len(self.told) else True
        self.fallen.append(refused)
        chance = KEEP**units if refused else (1 << SHIFT * units) - KEEP**units
        self.weight = self.weight[0] * chance, self.weight[1] + SHIFT * units
        return refused


def law(search: Callable[[Any], local.Groups]) -> Iterator[tuple[local.Groups, Weight]]:
    """Yield what a search may end with and the weight of that, over all coins."""
    told: list[list[bool]] = [[]]
    while told:
        script = Script(told.pop())
        yield search(script), script.weight
        told += [
            [*script.fallen[:place], not script.fallen[place]] for place in range(len(script.told), len(script.fallen))
        ]


def random_case(rng: random.Random) -> Any:
    """Return a channel, payloads (bits of sensitive values), bounds that they meet as a whole, a least, strata."""
    while True:
        n, n_bounds = rng.choice([3, 4, 5]), rng.choice([1, 1, 2])
        columns = []
        for _ in range(rng.choice([1, 2, 2, 3])):
            codes = np.unique([rng.randrange(rng.choice([2, 3, 4])) for _ in range(n)], return_inverse=True)[1]
            columns.append(codes + sum(int(each.max()) + 1 for each in columns))
        bounds = [Fraction(rng.choice([1, 2, 3, 4, 5, 7, 8]), rng.choice([9, 10, 12])) for _ in range(n_bounds)]
        payloads = [sum(int(rng.random() < 0.4) << place for place in range(n_bounds)) for _ in range(n)]
        strata = [rng.choice([0, 0, 0, 1]) for _ in range(n)]
        shares = [
            (sum(p >> place & 1 for p, s in zip(payloads, strata, strict=True) if s == each), strata.count(each), bound)
            for each in set(strata) for place, bound in enumerate(bounds)
        ]  # fmt: skip
        if any(payloads) and all(hits <= bound * of_all for hits, of_all, bound in shares):
            return np.stack(columns, 1).astype(np.int32), payloads, bounds, rng.choice([1, 2]), strata


def weights_of(payloads: tuple[int, ...], n_bounds: int, strata: list[int]) -> np.ndarray:
    """Return records and hits of each stratum, a row a record."""
    weights = np.zeros((len(payloads), (1 + n_bounds) * (max(strata) + 1)), dtype=np.int64)
    for row, (payload, stratum) in enumerate(zip(payloads, strata, strict=True)):
        weights[row, stratum * (1 + n_bounds)] = 1
        for place in range(n_bounds):
            weights[row, stratum * (1 + n_bounds) + 1 + place] = payload >> place & 1
    return weights


def outcome(groups: local.Groups, payloads: tuple[int, ...], strata: list[int]) -> Any:
    """Return what is released, and the transcript: of each group and stratum the payloads, in no order."""
    told = zip(groups.groups.tolist(), strata, payloads, strict=True)
    return groups.shown.tobytes(), groups.tested, groups.refused, tuple(sorted(told))


def orders(payloads: list[int], strata: list[int]) -> list[tuple[int, ...]]:
    """Return all orders of payloads within strata."""
    found = {
        order for order in itertools.permutations(payloads)
        if all(sorted(p for p, s in zip(order, strata, strict=True) if s == each)
               == sorted(p for p, s in zip(payloads, strata, strict=True) if s == each) for each in set(strata))
    }  # fmt: skip
    return sorted(found)


def count_above(case: Any, search: Any, told: Any = outcome, coins: Any = law) -> tuple[int, int, int]:
    """Return how many tables and outcomes a case has, and in how many somebody's chance is above the bound."""
    codes, payloads, bounds, least, strata = case
    seen: dict[Any, list[tuple[tuple[int, ...], Weight]]] = defaultdict(list)
    tables, limits = orders(payloads, strata), local.limits_of(bounds, local.CAP)
    for order in tables:
        weights = weights_of(order, len(bounds), strata)
        for groups, weight in coins(lambda toss, w=weights: search(codes, w, limits, toss, least)):
            seen[told(groups, order, strata)].append((order, weight))
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


def test_no_reader_who_knows_the_algorithm_is_above_a_bound(rng):
    """On some 5,000 small tables nobody's chance is above h, whatever was released and however tests ended."""
    draws = random.Random(int(rng.integers(1 << 30)))
    tables = outcomes = above = 0
    while tables < 5000:
        each = count_above(random_case(draws), local.search_cells)
        tables, outcomes, above = tables + each[0], outcomes + each[1], above + each[2]
    assert above == 0
    assert outcomes > 1000


def test_whole_columns_keep_the_promise(rng):
    """The same holds where a column is shown or hidden for everybody."""
    draws = random.Random(int(rng.integers(1 << 30)))
    found = np.array([count_above(random_case(draws), local.search_columns) for _ in range(200)])
    assert found[:, 2].sum() == 0
    assert found[:, 1].max() > 1


@pytest.mark.parametrize("search", [local.search_cells, local.search_columns])
def test_groups_have_the_least_size(search):
    """A value of as many records as the least may stand apart; one of a record less may not."""
    weights, limits = np.tile([1, 0], (9, 1)), local.limits_of([Fraction(1, 2)], local.CAP)
    for records in (2, 3):
        codes = (np.arange(9) < records).astype(np.int32)[:, None]
        assert search(codes, weights, limits, None, 3).shown.all() == (records == 3)


def planted(old: str, new: str) -> Any:
    """Return a search through kernels with a fault, in Python."""
    source = Path(kernels.__file__).read_text(encoding="utf-8")
    assert old in source
    source = source.replace(old, new).replace("from assocpriv.kernels.compiling import kernel", "kernel = lambda f: f")
    names: dict[str, Any] = {}
    exec(compile(source, "planted", "exec"), names)
    faulty = SimpleNamespace(**names)

    def search(*arguments: Any, **options: Any) -> local.Groups:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(local, "_kernels", faulty)
            return local.search_cells(*arguments, **options)

    return search


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return max(distance, 0)", "return max(distance, 0) + 1"),
        ("charged[state[VALUE]] = state[UNITS]", "charged[state[VALUE]] = state[UNITS] // 2"),
        ("    return low\n", "    return spent + (low - spent) * 13 // 10\n"),
    ],
    ids=["distance and one", "half charge", "more than is left"],
)
def test_planted_faults_are_found(rng, old, new):
    """A search with a fault raises somebody's chance above h."""
    draws, search = random.Random(int(rng.integers(1 << 30))), planted(old, new)
    assert any(count_above(random_case(draws), search)[2] for _ in range(400))


def test_two_refused_values_of_a_column_are_charged():
    """Two records may differ in two values that were refused: a group is charged both, and no third."""
    codes, weights = np.arange(4, dtype=np.int32)[:, None], np.tile([1000, 100], (4, 1))
    limits = local.limits_of([Fraction(3, 10)], local.CAP)
    found = local.search_cells(codes, weights, limits, lambda _: True, 1)
    units = math.ceil(kernels.WANTED / (301 - 100))  # of the first: hits that are expected below the limit, and one
    assert found.refused == 4
    assert 2 * units <= found.charged < 2.2 * units


def test_coins_from_the_table_and_kept_orders_are_found(rng):
    """Coins that follow from the table leave no doubt which table it was, and so do rows in their order."""
    draws = random.Random(int(rng.integers(1 << 30)))

    def known(search: Any) -> Iterator[tuple[local.Groups, Weight]]:
        weights = search.__defaults__[0]
        yield search(Coins(bytes(32), weights.tobytes()).refuses), (1, 0)

    cases = [random_case(draws) for _ in range(60)]
    assert any(count_above(case, local.search_cells, coins=known)[2] for case in cases)
    assert any(count_above(case, local.search_cells, told=lambda g, p, s: (outcome(g, p, s), p))[2] for case in cases)


def test_limits_are_exact(rng):
    """Before anything is spent a limit is ⌊a·h⌋; after u units it is the largest share within them, or one below."""
    for bound in [Fraction(int(a), int(b)) for a, b in rng.integers([1, 500], [500, 900], (20, 2))]:
        limits = local.limits_of([bound], 40)[0].tolist()
        for records in range(1, 61):
            assert records * limits[0][0] // limits[0][1] == int(records * bound)
            power = Fraction(OF, KEEP) ** 40
            share = bound / (bound + power * (1 - bound))
            assert records * limits[40][0] // limits[40][1] in (int(records * share), int(records * share) - 1)


def test_coins_are_exact(monkeypatch):
    """A coin of u units says “refused” for just the numbers below 1023^u; more units are more coins."""
    coins, drawn = Coins(bytes(32), b""), list[bytes]()
    monkeypatch.setattr(Coins, "_stream", lambda self, use, n: drawn.pop(0))
    for units in (1, 12, 13, 20, 256, 700):
        parts = [min(256, units - start) for start in range(0, units, 256)]
        for more, refused in ((-1, True), (0, False)):
            numbers = [KEEP**part - 1 for part in parts[:-1]] + [KEEP ** parts[-1] + more]
            drawn[:] = [
                (((number + 1) << (spare := -SHIFT * part % 8)) - 1).to_bytes((SHIFT * part + spare) // 8, "big")
                for number, part in zip(numbers, parts, strict=True)
            ]
            assert coins.refuses(units) is refused
            assert drawn == []


def test_orders_come_from_key_and_table():
    """The same key and table give the same order, another key or table another; each has every record once."""
    made = [
        Coins(key * 32, table).order(1000).tolist()
        for key, table in ((b"a", b"t"), (b"a", b"t"), (b"b", b"t"), (b"a", b"u"))
    ]
    assert made[0] == made[1]
    assert len({tuple(each) for each in made}) == 3
    assert all(sorted(each) == list(range(1000)) for each in made)
    assert len({tuple(Coins(bytes([key]) * 32, b"t").order(3).tolist()) for key in range(60)}) == 6
