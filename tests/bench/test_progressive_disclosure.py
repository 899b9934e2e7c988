"""Progressive disclosure against the paper's running example and a naive implementation, and what it discloses."""

import math
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest
from suppress import bank_customers

from assocpriv.guarantees.errors import TemplateError
from assocpriv.suppress.coded_table import CodedTable, hide
from assocpriv.suppress.inference_templates import ConfidenceBound
from assocpriv.suppress.suppression import highest_confidence, inferences
from bench.figures.progressive_disclosure import disclose, hidden_cells, remove_redundant
from bench.figures.suppression import code_cells

Row = Mapping[str, str | None]
Hidden = set[tuple[str, str | None]]

EXAMPLE_2 = tuple(
    ConfidenceBound(("Job", other), "Bankruptcy", "Discharged", Fraction(1, 2)) for other in ("Country", "Child")
)


# ---- algorithm 1 as in the paper: every confidence counted again, every candidate tried in turn


def naive_confidence(rows: Sequence[Row], bound: ConfidenceBound, hidden: Hidden) -> Fraction:
    """Return Conf(IC → π) of the table in which all hidden values are one mark."""
    groups: dict[Any, list[bool]] = {}
    for row in rows:
        pattern = tuple("the mark" if (name, row[name]) in hidden else (row[name],) for name in bound.channel)
        groups.setdefault(pattern, []).append(row[bound.column] == bound.value)
    return max(Fraction(sum(group), len(group)) for group in groups.values())


def entropy(labels: Iterable[Any]) -> float:
    """Return the entropy of labels in bits."""
    counts = Counter(labels).values()
    return -sum(count / sum(counts) * math.log2(count / sum(counts)) for count in counts)


def naive_score(
    rows: Sequence[Row], bounds: Sequence[ConfidenceBound], hidden: Hidden, value: Any, klass: str | None
) -> float:
    """Return the score of disclosing a value, -∞ if it is not valid or not beneficial."""
    column, text = value
    suppressed = [row for row in rows if (column, row[column]) in hidden]
    labels = [row[klass] if klass is not None else row[column] == text for row in suppressed]
    inside = [label for label, row in zip(labels, suppressed, strict=True) if row[column] == text]
    outside = [label for label, row in zip(labels, suppressed, strict=True) if row[column] != text]
    after = {bound: naive_confidence(rows, bound, hidden - {value}) for bound in bounds}
    if any(after[each] > each.confidence for each in bounds) or (klass is not None and len(set(labels)) < 2):
        return -math.inf
    gain = entropy(labels) - (len(inside) * entropy(inside) + len(outside) * entropy(outside)) / len(labels)
    losses = [after[each] - naive_confidence(rows, each, hidden) for each in bounds if column in each.channel]
    return gain / (float(sum(losses) / len(losses)) + 1)


def naive_disclose(rows: Sequence[Row], bounds: Sequence[ConfidenceBound], klass: str | None) -> Hidden | None:
    """Return the values that stay suppressed; None if the fully suppressed table violates a bound."""
    masking = {name for bound in bounds for name in bound.channel} - {bound.column for bound in bounds}
    texts = {name: sorted({row[name] for row in rows}, key=lambda text: (text is None, text or "")) for name in masking}
    order = [(name, text) for name in rows[0] if name in masking for text in texts[name]]
    hidden = set(order)
    if any(naive_confidence(rows, bound, hidden) > bound.confidence for bound in bounds):
        return None
    while True:
        scores = {each: naive_score(rows, bounds, hidden, each, klass) for each in order if each in hidden}
        highest = max(scores.values(), default=-math.inf)
        if highest == -math.inf:
            return hidden
        hidden.remove(next(each for each, score in scores.items() if score >= highest - 1e-12))


# ---- comparison


def random_case(rng: random.Random) -> tuple[dict[str, list[str | None]], list[ConfidenceBound], str | None]:
    """Return a small table, bounds on it (also redundant ones, also with fixed columns), and a class or none."""
    n_records = rng.randint(2, 10)
    cells: dict[str, list[str | None]] = {}
    for name in "abcstk":
        texts = [None, "x", "y", "z", "w"][rng.randint(0, 1) : rng.choice([2, 3, 3, 4, 5])]
        cells[name] = [rng.choice(texts) for _ in range(n_records)]
    bounds = []
    for _ in range(rng.randint(1, 4)):
        column = rng.choice("st")
        channel = rng.sample(sorted(set("abcst") - {column}), rng.randint(1, 3))
        confidence = Fraction(rng.randint(4, 9), 10)
        bounds += [ConfidenceBound(tuple(channel), column, value, confidence) for value in cells[column][:1] if value]
    return cells, bounds, rng.choice(["k", None])


def suppressed(table: CodedTable, bounds: Any, klass: str | None) -> dict[str, tuple[str | None, ...]]:
    """Return the values that stay suppressed, by column."""
    return {
        name: tuple(value for value, is_hidden in zip(table.column(name).values, found, strict=True) if is_hidden)
        for name, found in disclose(table, bounds, klass).items()
    }


def compare(cells: dict[str, list[str | None]], bounds: list[ConfidenceBound], klass: str | None) -> bool:
    """Compare a disclosure with the naive one; return whether the bounds can be met."""
    rows = [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]
    expected = naive_disclose(rows, remove_redundant(bounds), klass)
    if expected is None:
        with pytest.raises(TemplateError, match="no suppression meets the templates"):
            disclose(code_cells(cells), bounds, klass)
        return False
    found = suppressed(code_cells(cells), bounds, klass)
    assert {(name, value) for name, values in found.items() for value in values} == expected
    for bound in bounds:
        assert highest_confidence(code_cells(cells), bound) == naive_confidence(rows, bound, set())
    return True


def released(table: CodedTable, bounds: tuple[ConfidenceBound, ...], klass: str | None) -> CodedTable:
    """Return a table as released."""
    hidden = hidden_cells(table, bounds, klass)
    columns = [hide(each, hidden[each.name], "*") if each.name in hidden else each for each in table.columns]
    return CodedTable(tuple(columns), table.n_records)


def test_table_2() -> None:
    """Examples 1 and 2: the released table has the five kinds of records of the paper's table 2, with their counts."""
    table = code_cells({name: [row[name] for row in bank_customers.rows()] for name in bank_customers.COLUMNS})
    assert suppressed(table, EXAMPLE_2, "Rating") == {
        "Job": ("Clerk", "Trader"),
        "Country": ("Canada", "UK"),
        "Child": (),
    }
    bound = ConfidenceBound(("Job", "Country", "Child"), "Bankruptcy", "Discharged", Fraction(1, 2))
    found = inferences(released(table, EXAMPLE_2, "Rating"), bound)
    assert sorted((each.values, each.support, each.hits) for each in found) == [
        (("*", "*", "No"), 10, 5),
        (("Artist", "France", "No"), 4, 0),
        (("Cook", "US", "No"), 4, 0),
        (("Doctor", "US", "Yes"), 6, 0),
    ]


def test_naive_implementation() -> None:
    """On random small tables suppressed values and confidences are those of the naive implementation."""
    rng = random.Random("naive twin")
    cases = [random_case(rng) for _ in range(120)]
    met = [compare(*case) for case in cases if case[1]]
    assert met.count(True) > 15
    assert met.count(False) > 15


def test_an_adversary_who_knows_the_algorithm_exceeds_the_bound() -> None:
    """Two cooks, four clerks, two ill: at 50% all jobs are hidden only if both cooks are ill, which hiding shows."""
    bound, alike = ConfidenceBound(("job",), "state", "ill", Fraction(1, 2)), set()
    for ill in combinations(range(6), 2):
        states = ["ill" if place in ill else "well" for place in range(6)]
        found = suppressed(code_cells({"job": ["cook"] * 2 + ["clerk"] * 4, "state": states}), [bound], None)
        if found == {"job": ("clerk", "cook")}:
            alike.add(ill)
    assert alike == {(0, 1)}


def test_redundant_bounds() -> None:
    """A larger channel with the same value and no higher confidence implies a bound (lemma 3.1)."""
    wide = ConfidenceBound(("a", "b"), "s", "x", Fraction(1, 2))
    implied = [ConfidenceBound(("b",), "s", "x", Fraction(1, 2)), ConfidenceBound(("b", "a"), "s", "x", Fraction(2, 3))]
    others = [ConfidenceBound(("a",), "s", "x", Fraction(1, 3)), ConfidenceBound(("a",), "s", "y", Fraction(1, 2))]
    assert remove_redundant([*implied, wide, *others, wide]) == (wide, *others)
