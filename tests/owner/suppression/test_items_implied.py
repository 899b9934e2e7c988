"""Tests of what lists of supports imply, against exact linear programs and against all small databases."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, pairwise, product

import numpy as np
import pytest

from assocpriv.owner.suppression.items_implied import Program, universe_of
from assocpriv.owner.suppression.items_lists import Fact
from assocpriv.owner.suppression.items_templates import ItemBound
from assocpriv.owner.suppression.items_witness import TOLERANCE, Witness

Itemset = frozenset[str]
Baskets = Sequence[Itemset]
ZERO, ONE = Fraction(0), Fraction(1)


def subsets(items: str, least: int = 0) -> list[Itemset]:
    """Return all parts of some items of a least size."""
    return [frozenset(part) for k in range(least, len(items) + 1) for part in combinations(items, k)]


def support(baskets: Baskets, itemset: Itemset) -> Fraction:
    """Return the share of baskets that hold an itemset."""
    return Fraction(sum(itemset <= basket for basket in baskets), len(baskets))


def facts_of(baskets: Baskets, itemsets: Sequence[Itemset]) -> list[Fact]:
    """Return what a list of itemsets says of baskets."""
    return [Fact(((itemset, ONE),), support(baskets, itemset)) for itemset in itemsets]


def keeps(baskets: Baskets, bound: ItemBound) -> bool:
    """Tell whether baskets keep a bound, by counting each pattern."""
    for flags in product((False, True), repeat=len(bound.channel)):
        alike = [b for b in baskets if tuple(item in b for item in bound.channel) == flags]
        if sum(set(bound.sensitive) <= b for b in alike) > bound.confidence * len(alike):
            return False
    return True


def is_feasible(matrix: list[list[Fraction]], sides: list[Fraction]) -> bool:
    """Tell whether A x = b has a solution x ≥ 0: the simplex method with Bland's rule, in fractions."""
    n, rows = len(matrix[0]), []
    for at, (row, side) in enumerate(zip(matrix, sides, strict=True)):
        sign = -1 if side < 0 else 1
        rows.append([*(sign * v for v in row), *(Fraction(at == i) for i in range(len(sides))), sign * side])
    basis = [n + at for at in range(len(rows))]
    cost = [
        -sum((row[j] for row in rows), ZERO) if j < n or j == n + len(rows) else ZERO for j in range(n + len(rows) + 1)
    ]
    while (enter := next((j for j in range(n + len(rows)) if cost[j] < 0), None)) is not None:
        ratios = [(row[-1] / row[enter], basis[at], at) for at, row in enumerate(rows) if row[enter] > 0]
        leave = min(ratios)[2]
        pivot = rows[leave][enter]
        rows[leave] = [v / pivot for v in rows[leave]]
        for row in [*rows[:leave], *rows[leave + 1 :], cost]:
            if factor := row[enter]:
                row[:] = [v - factor * w for v, w in zip(row, rows[leave], strict=True)]
        basis[leave] = enter
    return cost[-1] == 0


def violates(facts: Sequence[Fact], bound: ItemBound, items: str) -> bool:
    """Tell whether no shares of the cells agree with all facts and keep a bound, exactly."""
    cells, flags = subsets(items), list(product((False, True), repeat=len(bound.channel)))
    matrix = [[ONE] * len(cells) + [ZERO] * len(flags)]
    for fact in facts:
        row = [sum((factor for itemset, factor in fact.terms if itemset <= cell), ZERO) for cell in cells]
        matrix.append(row + [ZERO] * len(flags))
    for at, pattern in enumerate(flags):
        there = [tuple(item in cell for item in bound.channel) == pattern for cell in cells]
        row = [(Fraction(set(bound.sensitive) <= c) - bound.confidence) * t for c, t in zip(cells, there, strict=True)]
        matrix.append(row + [Fraction(at == other) for other in range(len(flags))])
    return not is_feasible(matrix, [ONE, *(fact.value for fact in facts), *([ZERO] * len(flags))])


def verified(facts: Sequence[Fact], bound: ItemBound, items: str) -> Witness | None:
    """Return the witness that a linear program finds, if it holds."""
    found = Program(items, facts).witness(bound, ZERO)
    return found if found is not None and found.keeps(bound) and found.agrees(facts) else None


def random_case(rng: np.random.Generator, items: str, n: int) -> tuple[list[Itemset], list[Fact], ItemBound]:
    """Return random baskets, some of their supports, and a bound whose limit is often that of a pattern itself."""
    flags = rng.random((n, len(items))) < rng.uniform(0.2, 0.8, len(items))
    baskets = [frozenset(np.array(list(items))[row].tolist()) for row in flags]
    listed = [itemset for itemset in subsets(items, 1) if rng.random() < 0.6]
    names = rng.permutation(list(items)).tolist()
    k = int(rng.integers(1, 3))
    limit = Fraction(int(rng.integers(1, 8)), 8)
    if rng.random() < 0.5 and (found := support(baskets, frozenset(names[: k + 1]))):
        exact = found / support(baskets, frozenset(names[:k]))
        limit = exact if exact < 1 else limit
    return baskets, facts_of(baskets, listed), ItemBound(tuple(names[:k]), (names[k],), limit)


@pytest.mark.parametrize(("items", "cases"), [("abc", 200), ("abcd", 40)])
def test_verdicts_are_exact(items: str, cases: int, rng: np.random.Generator) -> None:
    """A list violates a bound exactly where an exact program says so, also at the limit itself."""
    verdicts = []
    for _ in range(cases):
        _, facts, bound = random_case(rng, items, 8)
        expected = violates(facts, bound, items)
        assert (verified(facts, bound, items) is None) == expected
        verdicts.append(expected)
    assert 0.1 * cases < sum(verdicts) < 0.9 * cases


def databases(items: str, largest: int) -> Iterator[tuple[Itemset, ...]]:
    """Yield all databases of up to so many baskets."""
    for n in range(1, largest + 1):
        yield from combinations_with_replacement(subsets(items), n)


def test_no_small_database_contradicts_a_verdict(rng: np.random.Generator) -> None:
    """Of all databases up to 5 baskets over 3 items none agrees with a violating list and keeps the bound."""
    every, violating = list(databases("abc", 5)), 0
    for _ in range(40):
        baskets, facts, bound = random_case(rng, "abc", 5)
        agree = [d for d in every if all(support(d, fact.terms[0][0]) == fact.value for fact in facts)]
        assert any(sorted(map(sorted, baskets)) == sorted(map(sorted, each)) for each in agree)
        violated = verified(facts, bound, "abc") is None
        assert not (violated and any(keeps(d, bound) for d in agree))
        violating += violated
    assert violating > 5


def test_confidences_combine() -> None:
    """Supports, confidences and lifts of single lines combine: what no line says is implied by two."""
    bound = ItemBound(("a",), ("b",), Fraction(3, 4))
    a, ab = frozenset("a"), frozenset("ab")
    alone = Fact(((a, ONE),), Fraction(1, 2))
    absent = [Fact(((frozenset("b"), ONE),), Fraction(3, 4)), Fact(((ab, ONE),), Fraction(3, 10))]
    assert verified([alone], bound, "ab") is not None
    assert verified(absent, bound, "ab") is not None
    assert verified([alone, *absent], bound, "ab") is None  # 0.45 of the 0.5 without a
    lower = ItemBound(("a",), ("b",), Fraction(7, 10))  # all baskets are above it, so one of a and no a is
    assert verified(absent, lower, "ab") is None
    assert [one.pattern for one in Program("ab", absent).implied(lower, ZERO)] == [(None,)]
    ratio = Fact(((ab, ONE), (a, -Fraction(4, 5))), ZERO)
    assert verified([ratio], bound, "ab") is not None  # nobody may have a
    assert verified([ratio, alone], bound, "ab") is None


def test_contradictions_get_the_smallest_tolerance() -> None:
    """supp(ab) above supp(a) by 0.1 is met half way, 0.05 off each; the witness verifies with no less."""
    facts = [Fact(((frozenset("a"), ONE),), Fraction(3, 10)), Fact(((frozenset("ab"), ONE),), Fraction(2, 5))]
    program, bound = Program("ab", facts), ItemBound(("b",), ("a",), Fraction(9, 10))
    tolerance = program.tolerance()
    assert abs(tolerance - Fraction(1, 20)) < TOLERANCE
    assert program.witness(bound, ZERO) is None
    witness = program.witness(bound, tolerance)
    assert witness is not None
    assert witness.agrees(facts)
    assert not Witness(witness.items, witness.baskets, Fraction(4, 100)).agrees(facts)


def test_a_false_witness_is_refused() -> None:
    """Baskets that are off one fact, break the bound, or are none, are no witness."""
    facts, bound = [Fact(((frozenset("a"), ONE),), Fraction(1, 2))], ItemBound(("a",), ("b",), Fraction(1, 2))
    a, ab, none = frozenset("a"), frozenset("ab"), frozenset[str]()
    fine = Witness(ab, ((ab, 1), (a, 1), (none, 2)), ZERO)
    assert fine.agrees(facts)
    assert fine.keeps(bound)
    assert not Witness(ab, ((ab, 2), (a, 1), (none, 3)), ZERO).keeps(bound)
    assert not Witness(ab, ((ab, 1), (a, 1), (none, 3)), ZERO).agrees(facts)
    assert not Witness(ab, ((a, 2), (none, 3), (ab, -1)), TOLERANCE).agrees([])
    assert not Witness(ab, (), TOLERANCE).agrees([])


def test_items_left_out_tell_nothing_where_it_says_so(rng: np.random.Generator) -> None:
    """Where a universe is complete, the verdict is that of all items together; some are smaller than the whole."""
    smaller = 0
    for _ in range(60):
        baskets, _, bound = random_case(rng, "abcde", 16)
        singles = [frozenset(item) for item in "abcde"]
        pairs = [frozenset(pair) for pair in combinations("abcde", 2) if rng.random() < 0.4]
        facts = facts_of(baskets, [*singles, *pairs])
        universe = universe_of(bound, facts)
        assert universe.complete
        smaller += len(universe.items) < 5
        chosen = verified(facts, bound, "".join(universe.items)) is None
        assert chosen == (verified(facts, bound, "abcde") is None)
    assert smaller > 20


def test_more_items_than_fit_are_said() -> None:
    """Of 30 items that a list connects 12 at most are considered, nearest first, and it is said that more exist."""
    names = [f"i{at:02}" for at in range(30)]
    facts = [Fact(((frozenset(pair), ONE),), Fraction(1, 10)) for pair in pairwise(names)]
    universe = universe_of(ItemBound(("i00",), ("i01",), Fraction(1, 2)), facts)
    assert universe.items == tuple(names[:12])
    assert not universe.complete


def test_reports_name_the_least_confidence() -> None:
    """A report gives the least confidence and support that all baskets agreeing with the list have."""
    facts = [Fact(((frozenset(name), ONE),), Fraction(value, 10)) for name, value in (("a", 5), ("ab", 4), ("b", 6))]
    found = Program("ab", facts).implied(ItemBound(("a",), ("b",), Fraction(3, 5)), ZERO)
    assert [(one.pattern, round(one.confidence, 6), round(one.support, 6)) for one in found] == [((True,), 0.8, 0.5)]
