"""The suppression of fewest cells against all subsets of the values."""

import random
from fractions import Fraction

import bank_customers
import naive_suppression as naive
import pytest

from assocpriv.core.errors import TemplateError
from assocpriv.owner.suppression import exact
from assocpriv.owner.suppression.coded import code_cells
from assocpriv.owner.suppression.disclosure import disclose
from assocpriv.owner.suppression.exact import suppress_least
from assocpriv.owner.suppression.templates import Bound


def random_case(rng: random.Random) -> tuple[dict[str, list[str | None]], list[Bound]]:
    """Return a small table and bounds on channels of up to three columns, of which one may be fixed."""
    n_records = rng.randint(3, 14)
    cells: dict[str, list[str | None]] = {}
    for name, most in (("a", 5), ("b", 4), ("s", 3), ("t", 3)):
        texts = [None, "x", "y", "z"][rng.randint(0, 1) : rng.randint(2, most)]
        cells[name] = [rng.choice(texts) for _ in range(n_records)]
    bounds = []
    for _ in range(rng.randint(1, 3)):
        column = rng.choice("st")
        channel = tuple(rng.sample(sorted(set("abst") - {column}), rng.randint(1, 3)))
        bounds += [Bound(channel, column, each, Fraction(rng.randint(3, 9), 10)) for each in cells[column][:1] if each]
    return cells, bounds


def test_all_subsets() -> None:
    """On random small tables no subset of the values that meets the bounds has fewer cells, and the result says so."""
    rng = random.Random("all subsets")
    met, saved = 0, 0
    for cells, bounds in (random_case(rng) for _ in range(300)):
        rows = [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]
        table = code_cells(cells)
        fewest = naive.fewest_cells(rows, bounds) if bounds else None
        if fewest is not None:
            found = suppress_least(table, bounds, None)
            assert (found.cells, found.least_cells, found.is_least) == (fewest, fewest, True)
            hidden = {(name, value) for name, values in found.suppression.suppressed.items() for value in values}
            assert naive.satisfies(rows, bounds, hidden)
            assert all(value.reason for value in found.suppression.reasons)  # none of them could be disclosed
            met += 1
            saved += sum(disclose(table, bounds, None).cells.values()) > fewest
        elif bounds:
            with pytest.raises(TemplateError, match="no suppression meets"):
                suppress_least(table, bounds, None)
    assert met > 60
    assert saved > 3  # the search finds what progressive disclosure does not


def test_running_example() -> None:
    """Of table 1 suppression by hand of two countries or two jobs will do, 10 cells, where the paper's has 20."""
    bounds = bank_customers.template(["Job", "Country"], "75%")
    found = suppress_least(bank_customers.table(), bounds, "Rating")
    assert found.suppression.suppressed == {"Job": (), "Country": ("Canada", "UK")}
    assert found.cells == 10


def test_search_that_ends_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search cut short still meets the bounds, and its lower bound is one."""
    rng = random.Random("ends early")
    cells = {name: [rng.choice("abcdef") for _ in range(40)] for name in "xyz"} | {
        "s": [rng.choice("01") for _ in range(40)]
    }
    bounds = [Bound(("x", "y", "z"), "s", "1", Fraction(7, 10))]
    table = code_cells(cells)  # type: ignore[arg-type]
    whole = suppress_least(table, bounds, None)
    monkeypatch.setattr(exact, "_MOST", 3)
    early = suppress_least(table, bounds, None)
    assert whole.is_least
    assert not early.is_least
    assert early.least_cells < whole.cells <= early.cells
    assert all(each.after <= each.bound.confidence for each in early.suppression.confidences)
