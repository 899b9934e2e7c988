"""Charts for notebooks: what they draw is what tables say, names are text, and new axes come where none are given."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import assocpriv as ap
from assocpriv import plot
from assocpriv.core.errors import EstimateError

matplotlib = pytest.importorskip("matplotlib", reason="charts are drawn by matplotlib: pip install 'assocpriv[plot]'")
matplotlib.use("agg")
pytestmark = pytest.mark.filterwarnings("ignore:itemsets of")
NAMES = ["milk", "$\\frac{1}{0}$", "x" * 500, "tea"]


@pytest.fixture(scope="module")
def plan() -> Any:
    """A plan with a weak promise."""
    return ap.plan(items=NAMES, transaction_size=2, promise=ap.Breach("5%", "90%"))


@pytest.fixture(scope="module")
def itemsets(plan: Any) -> pd.DataFrame:
    """What was mined of baskets with pairs."""
    baskets = [{NAMES[0], NAMES[1]}, {NAMES[1], NAMES[2]}, {NAMES[3]}] * 4000
    return ap.mine(ap.randomize_baskets(baskets, plan), 0.1)


@pytest.fixture
def ax() -> Any:
    """Axes of a figure that is closed again."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


def drawn(ax: Any) -> None:
    """Have it drawn, which fails on names that are taken for mathematics."""
    ax.figure.canvas.draw()


def test_supports(itemsets: pd.DataFrame, ax: Any) -> None:
    """The points are the estimates of the frequent itemsets, and each has its name, cut."""
    assert plot.supports(itemsets, ax) is ax
    drawn(ax)
    points = [x for line in ax.containers for x in line[0].get_xdata()]
    assert sorted(points) == pytest.approx(sorted(itemsets.loc[itemsets["frequent"], "support"]))
    assert max(len(label.get_text()) for label in ax.get_yticklabels()) <= 50
    with pytest.raises(EstimateError):
        plot.supports(pd.DataFrame({"support": [0.5], "itemsets": [frozenset({"milk"})]}), ax)


def test_rules(itemsets: pd.DataFrame, ax: Any) -> None:
    """A point a rule, at its support and confidence."""
    rules = ap.association_rules(itemsets, 0.1)
    plot.rules(rules, ax)
    drawn(ax)
    points = ax.collections[-1].get_offsets()
    assert np.sort(np.asarray(points)[:, 1]) == pytest.approx(np.sort(rules["confidence"]))
    plot.rules(rules.head(0), ax)


def test_discoverable(plan: Any, ax: Any) -> None:
    """More reports tell smaller supports, pairs less than items; figures are the planner's."""
    from assocpriv.planning.plan_facts import foresee

    plot.discoverable(plan, ax)
    drawn(ax)
    singles = ax.lines[0]
    assert (np.diff(singles.get_ydata()) < 0).all()
    reports, least = singles.get_xdata()[-1], singles.get_ydata()[-1]
    assert least == foresee(plan, int(reports)).discoverable.level[1]


def test_no_rules_and_no_table_of_rules(ax: Any, itemsets: pd.DataFrame) -> None:
    """Where no rule is confident enough an empty chart is drawn; itemsets are refused."""
    plot.rules(ap.association_rules(itemsets, "99.9%").iloc[:0], ax)
    drawn(ax)
    with pytest.raises(EstimateError, match="no table of rules"):
        plot.rules(itemsets)
    with pytest.raises(TypeError, match=r"numeric\.reconstruct returns"):
        plot.distribution(itemsets)


def test_distribution(ax: Any) -> None:
    """Numbers by their distribution function within its band, values by their shares."""
    from fractions import Fraction

    from assocpriv import numeric
    from assocpriv.plans.numeric.columns import LabelColumn, NumberColumn
    from assocpriv.plans.numeric.laws import Clear
    from assocpriv.plans.numeric.plan import TablePlan

    age = NumberColumn("age $", Clear(40), False, Fraction(20), Fraction(80), 20)
    plan = TablePlan((age, LabelColumn("class", Clear(2), False, ("A", "B"))), 0, None)
    table = pd.DataFrame({"age $": np.arange(3000) % 60 + 20.0, "class": np.where(np.arange(3000) % 3, "A", "B")})
    found = numeric.reconstruct(numeric.randomize_table(table, plan)).columns
    plot.distribution(found["age $"], ax)
    drawn(ax)
    assert ax.lines[0].get_ydata()[[0, -1]] == pytest.approx([0, 1])
    bars = plot.distribution(found["class"])
    assert [bar.get_height() for bar in bars.patches] == pytest.approx([2 / 3, 1 / 3], abs=0.01)
    import matplotlib.pyplot as plt

    plt.close(bars.figure)
