"""Progressive disclosure against the paper's running example and a naive twin."""

import random
from fractions import Fraction
from typing import Any

import bank_customers
import naive_suppression as naive
import numpy as np
import pytest

from assocpriv.kernels.suppression import CANDIDATE, DISCLOSED
from assocpriv.promise.errors import TemplateError
from assocpriv.suppress.inferences import Candidates, Channel, highest_confidence, inferences
from assocpriv.suppress.progressive import disclose
from assocpriv.suppress.table import code_cells, mark_suppressed
from assocpriv.suppress.templates import Bound, irredundant

JOB_COUNTRY, JOB_CHILD = ["Job", "Country"], ["Job", "Child"]
EXAMPLE_2 = (*bank_customers.template(JOB_COUNTRY, "50%"), *bank_customers.template(JOB_CHILD, "50%"))


def random_case(rng: random.Random) -> tuple[dict[str, list[str | None]], list[Bound], str | None]:
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
        bounds += [Bound(tuple(channel), column, value, confidence) for value in cells[column][:1] if value]
    return cells, bounds, rng.choice(["k", None])


def compare(cells: dict[str, list[str | None]], bounds: list[Bound], klass: str | None) -> bool:
    """Compare a disclosure with the naive one in all that it says; return whether the bounds can be met."""
    rows = [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]
    expected = naive.disclose(rows, irredundant(bounds), klass)
    if expected is None:
        with pytest.raises(TemplateError, match="no suppression meets the templates"):
            disclose(code_cells(cells), bounds, klass)
        return False
    hidden, steps = expected
    found = disclose(code_cells(cells), bounds, klass)
    assert {(name, value) for name, values in found.suppressed.items() for value in values} == hidden
    assert [(step.column, step.value) for step in found.steps] == [(step.column, step.value) for step in steps]
    for step, twin in zip(found.steps, steps, strict=True):
        assert (step.gain, step.loss, step.score) == pytest.approx(twin[2:], abs=1e-9)
    for each in found.confidences:
        assert each.before == naive.highest_confidence(rows, each.bound, set())
        assert each.after == naive.highest_confidence(rows, each.bound, hidden) <= each.bound.confidence
    for value in found.reasons:
        check_reason(rows, irredundant(bounds), hidden - {(value.column, value.value)}, value)
    return True


def check_reason(rows: Any, bounds: Any, hidden: naive.Hidden, value: Any) -> None:
    """Check that a value's disclosure brings the inference that is given as the reason, or none above its bound."""
    assert (value.reason is None) == naive.satisfies(rows, bounds, hidden)
    if value.reason is not None:
        bound = value.reason.bound
        seen = [tuple("*" if (name, row[name]) in hidden else row[name] for name in bound.channel) for row in rows]
        alike = [row for row, pattern in zip(rows, seen, strict=True) if pattern == value.reason.values]
        hits = sum(row[bound.column] == bound.value for row in alike)
        assert (len(alike), hits) == (value.reason.support, value.reason.hits)
        assert value.reason.confidence > bound.confidence


def test_running_example() -> None:
    """Examples 1 and 2: suppressed values as in the paper's table 2, and nothing is lost about the rating."""
    found = disclose(bank_customers.table(), EXAMPLE_2, "Rating")
    assert found.suppressed == {"Job": ("Clerk", "Trader"), "Country": ("Canada", "UK"), "Child": ()}
    assert found.cells == {"Job": 10, "Country": 10, "Child": 0}
    assert [(each.before, each.after) for each in found.confidences] == [
        (Fraction(4, 5), Fraction(1, 2)),
        (Fraction(2, 3), Fraction(1, 2)),
    ]
    for before, after in found.information.values():
        assert before == pytest.approx(after, abs=1e-12)


def test_table_2() -> None:
    """The released table has the five kinds of records of the paper's table 2, with their counts."""
    table = bank_customers.table()
    found = disclose(table, EXAMPLE_2, "Rating")
    released = mark_suppressed(table, found.suppressed, "*")
    bound = Bound(("Job", "Country", "Child"), "Bankruptcy", "Discharged", Fraction(1, 2))
    assert sorted((each.values, each.support, each.hits) for each in inferences(released, bound)) == [
        (("*", "*", "No"), 10, 5),
        (("Artist", "France", "No"), 4, 0),
        (("Cook", "US", "No"), 4, 0),
        (("Doctor", "US", "Yes"), 6, 0),
    ]


def test_figures_1_and_2() -> None:
    """Examples 3 and 4: counts and confidences after Clerk, and then Canada, are disclosed."""
    table = bank_customers.table()
    candidates = Candidates(table, ("Job", "Country", "Child"), "Rating")
    channels = [Channel(table, [bound], candidates) for bound in EXAMPLE_2]
    state = np.full(len(candidates.values), CANDIDATE, dtype=np.uint8)
    assert [channel.now.tolist() for channel in channels] == [[[5, 24]], [[5, 24]]]  # 20.83%
    for channel in channels:
        channel.start(state, candidates.spans)
    seen = []
    for name, value in [("Job", "Clerk"), ("Country", "Canada")]:
        number = candidates.values.index(value)
        for channel in channels:
            if name in channel.masking:
                channel.disclose(name, number, state, candidates.spans)
        state[number] = DISCLOSED
        seen.append([Fraction(*channel.now[0].tolist()) for channel in channels])
    assert seen == [[Fraction(1, 4)] * 2] * 2
    hidden = {
        name: [each for each in table.column(name).values if each not in ("Clerk", "Canada")] for name in JOB_COUNTRY
    }
    leaves = [
        (each.values, each.support, each.hits) for each in inferences(mark_suppressed(table, hidden, "*"), EXAMPLE_2[0])
    ]
    assert sorted(leaves) == [(("*", "*"), 19, 4), (("*", "Canada"), 1, 0), (("Clerk", "Canada"), 4, 1)]


def test_naive_twin() -> None:
    """On random small tables steps, suppressed values, confidences and reasons are those of the naive algorithm."""
    rng = random.Random("naive twin")
    cases = [random_case(rng) for _ in range(2000)]
    met = [compare(*case) for case in cases if case[1]]
    assert met.count(True) > 250
    assert met.count(False) > 250


def test_most_suppressed_table_violates() -> None:
    """Where the table with all suppressed violates a bound, the error names the bound, its rate and what is allowed."""
    with pytest.raises(TemplateError) as caught:
        disclose(bank_customers.table(), bank_customers.template(JOB_COUNTRY, "20%"), "Rating")
    text = str(caught.value)
    assert "Job, Country -> Bankruptcy = Discharged is in 20.83% of 24 records, 20.00% allowed" in text


def test_bound_that_is_just_met() -> None:
    """A confidence equal to the bound is allowed, one part in 10^20 less is not: integers decide, not floats."""
    table = code_cells({"a": ["x", "x", "x", "y"], "s": ["1", "0", "0", "0"]})
    third = Fraction(1, 3)
    assert disclose(table, [Bound(("a",), "s", "1", third)], None).suppressed == {"a": ()}
    less = Bound(("a",), "s", "1", third - Fraction(1, 10**20))
    assert disclose(table, [less], None).suppressed == {"a": ("x", "y")}


@pytest.mark.parametrize(
    ("bound", "klass", "said"),
    [
        (Bound(("Jobs",), "Bankruptcy", "Discharged", Fraction(1, 2)), "Rating", "the table has no column Jobs"),
        (Bound(("Job",), "Bankruptcy", "discharged", Fraction(1, 2)), "Rating", "no record has 'discharged'"),
        (Bound(("Job",), "Rating", "Good", Fraction(1, 2)), "Rating", "Rating is the class"),
        (Bound(("Rating",), "Bankruptcy", "Discharged", Fraction(1, 2)), "Rating", "Rating is the class"),
        (Bound(("Job",), "Bankruptcy", "Discharged", Fraction(1, 2)), "Score", "the table has no column Score"),
    ],
)
def test_bounds_that_do_not_fit(bound: Bound, klass: str, said: str) -> None:
    """Unknown columns, values that nobody has and the class in a template are refused by name."""
    with pytest.raises(TemplateError, match=said):
        disclose(bank_customers.table(), [bound], klass)


def test_many_columns() -> None:
    """Channels of more combinations than 64 bits can count give what a naive count gives."""
    rng = random.Random("many columns")
    cells = {f"c{place}": [str(rng.randrange(40)) for _ in range(60)] for place in range(15)}
    cells["c3"] = [cell if row % 2 else "0" for row, cell in enumerate(cells["c3"])]
    twice = {name: [*each, *each] for name, each in cells.items()}
    table = code_cells({**twice, "s": ["1"] * 20 + ["0"] * 100})
    bound = Bound(tuple(cells), "s", "1", Fraction(9, 10))
    assert highest_confidence(table, bound) == Fraction(1, 2)
    assert len(inferences(table, bound)) == 60
