"""Tests of what people type first in Python, beyond the steps from baskets to rules."""

from collections.abc import Callable

import pandas as pd
import pytest
from naive import planned

import assocpriv as ap


@pytest.fixture(scope="module")
def plan() -> ap.Plan:
    """A plan of four names."""
    return planned(["bread", "milk", "eggs", "tea"], 2, ap.Breach("5%", "50%"), kind="independent", code="none")


def test_dir_shows_public_names_alone() -> None:
    """What a shell completes is what may be used: nothing that only types or loading need."""
    assert {name for name in dir(ap) if not name.startswith("__")} == set(ap.__all__)


def test_report_items_are_names(plan: ap.Plan) -> None:
    """A report shows names of the catalogue, those that its bits say; dummies are not among them."""
    ids = {name: plan.catalogue.index_of[name] for name in plan.catalogue}
    for report in (bytes([number]) for number in range(1 << plan.n_items + plan.items.transaction_size)):  # a bit each
        shown = {name for name, item in ids.items() if item in plan.items.form.items(report)}
        assert ap.report_items(report, plan) == shown
    assert ap.report_items(b"\x3f", plan) == set(plan.catalogue)


@pytest.mark.parametrize("front", ["numeric", "guided", "suppress", "collect", "spark"])
def test_every_public_name_has_an_example(front: str) -> None:
    """Functions and classes but exceptions show their use; a front without a list of names has those it defines."""
    module = getattr(ap, front)
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__]
    public = [getattr(module, name) for name in getattr(module, "__all__", own) if not name.startswith("_")]
    shown = [each for each in public if not (isinstance(each, type) and issubclass(each, Exception))]
    assert shown
    assert [each.__name__ for each in shown if ">>>" not in (each.__doc__ or "")] == []


def test_one_record_is_told_from_many(plan: ap.Plan) -> None:
    """A set or list of names is one person's; an empty list is nobody's; a mapping, whose zeros count, is no basket."""
    assert all(len(ap.randomize(one, plan)) == plan.report_bytes for one in ({"milk"}, ["milk", "tea"], set()))
    assert [len(ap.randomize(many, plan)) for many in ([], [["milk"]], [set(), {"tea"}])] == [0, 1, 2]
    for wrong in ({"milk": 1, "tea": 0}, [{"milk": 1, "tea": 0}], "milk"):
        with pytest.raises(TypeError) as refused:
            ap.randomize(wrong, plan)
        assert "milk" not in str(refused.value)
    with pytest.raises(TypeError, match="unknown goes with many records, and this is one"):
        ap.randomize({"milk"}, plan, unknown="drop")


@pytest.mark.parametrize(
    ("slip", "said"),
    [
        (lambda: ap.plan(epsilon=2), r"plan\(\) has no argument 'epsilon'; give promise=Epsilon\(2\)"),
        (lambda: ap.plan(9, ap.Epsilon(2), report=5), "no argument 'report' here; there are items"),
        (lambda: ap.plan(9), r"plan\(\) needs a promise"),
        (lambda: ap.plan(promise=ap.Epsilon(2)), r"plan\(\) needs items"),
        (lambda: ap.ask([], [], level=1), "no argument 'level' here; there are confidence_level"),
        (lambda: ap.foresee("plan.json", 100), "read_plan reads one from a file"),
        (lambda: ap.mine({"milk"}, 0.5), "got a set"),
        (lambda: ap.mine([{"milk"}]), r"as randomize\(baskets, plan\) makes them, .* got a set"),
        (lambda: ap.mine(ap.to_baskets([{"milk"}])), r"got a Baskets of other things: .* randomize\(baskets, plan\)"),
        (lambda: ap.plan({"columns": {"age": {}}}, ap.Epsilon(2)), "are planned by assocpriv.numeric.plan_table"),
        (lambda: ap.plan(9, ap.Epsilon(2), like=pd.Series([2, 3])), r"dict\(sizes.value_counts\(\)\); got a Series"),
        (lambda: ap.randomize([{"a"}], ap.plan(["a"], ap.Epsilon(2)), seed=1), r"no seed: .* simulate\(\) has one"),
    ],
)
def test_slips_are_answered_in_the_callers_words(slip: Callable[[], object], said: str) -> None:
    """Wrong names and missing arguments of verbs say what is meant, by the names that the caller typed."""
    with pytest.raises(TypeError, match=said):
        slip()
