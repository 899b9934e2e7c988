"""Rules for names: invalid ones, JSON, and rolling up."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import small_plan

from assocpriv.guarantees.errors import PlanError
from assocpriv.plans.baskets import catalogue as module
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.baskets.catalogue import LEFT_OUT, MAX_ANCESTORS, UNKNOWN, Catalogue, Names

TREE = (("beer", "drinks"), ("drinks", "food"), ("milk", "dairy"))


def plan_of(items: list[str], names: Names) -> Plan:
    """Return a plan of some items with rules for names."""
    return replace(small_plan("none", len(items), 2, 2), catalogue=Catalogue(items), names=names)


# ---- random rules

NAMES = st.sampled_from([f"{letter}{number}" for letter in "abc" for number in range(5)])
NAME_SETS = st.sets(NAMES, min_size=1, max_size=5).map(lambda names: tuple(sorted(names)))
# a child always sorts before its parent, so there are no cycles
PARENTS = st.lists(st.tuples(NAMES, NAMES).filter(lambda pair: pair[0] < pair[1]), max_size=12).map(
    lambda pairs: tuple(sorted(dict(pairs).items()))
)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Draw a plan with random rules."""
    items = list(draw(st.permutations(draw(NAME_SETS))))
    left_out = tuple(name for name in draw(st.just(()) | NAME_SETS) if name not in items)
    return plan_of(items, Names(draw(st.sampled_from(["error", "drop"])), draw(PARENTS), left_out))


@given(plans())
def test_a_plan_with_rules_survives_its_json(plan: Plan) -> None:
    """A plan read back is equal and has the same id, also with the taxonomy in another order."""
    content = json.loads(plan.canonical_json)
    again = Plan.from_json(content)
    assert again == plan
    assert (again.plan_id, again.canonical_json) == (plan.plan_id, plan.canonical_json)
    content["names"]["parents"] = dict(reversed(content["names"]["parents"].items()))
    assert Plan.from_json(content).plan_id == plan.plan_id


@given(plans())
def test_rules_matter_to_the_id(plan: Plan) -> None:
    """Plans that differ only in the rules for names have different ids."""
    others = {"error": "drop", "drop": "error"}[plan.names.unlisted]
    assert replace(plan, names=replace(plan.names, unlisted=others)).plan_id != plan.plan_id


# ---- invalid rules


def test_rules_must_fit_their_catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Items that are left out, and too many names together, are refused."""
    with pytest.raises(PlanError, match="left out must not be"):
        plan_of(["x", "y"], Names(left_out=("w", "y")))
    monkeypatch.setattr(module, "MAX_ITEMS", 5)
    plan_of(["food", "dairy"], Names(parents=TREE))
    with pytest.raises(PlanError, match="at most 5 together"):
        plan_of(["food", "dairy"], Names(parents=TREE, left_out=("bags",)))


def chain(steps: int) -> tuple[tuple[str, str], ...]:
    """Return a taxonomy that is a single chain of names."""
    return tuple((f"{number:03}", f"{number + 1:03}") for number in range(steps))


@pytest.mark.parametrize("order", [1, -1])
def test_a_name_has_at_most_64_ancestors(order: int) -> None:
    """A name may have 64 ancestors and no more, in either sort order of the names."""
    turned = [(str(999 - int(a)), str(999 - int(b))) for a, b in chain(MAX_ANCESTORS + 1)]
    pairs = sorted(turned)[::-1] if order < 0 else list(chain(MAX_ANCESTORS + 1))
    assert len(Names(parents=tuple(sorted(pairs[1:]))).parents) == MAX_ANCESTORS
    with pytest.raises(PlanError, match="64 ancestors"):
        Names(parents=tuple(sorted(pairs)))
    for wrong in ((("b", "x"), ("a", "x")), (("a", "y"), ("a", "x")), (("a", "x"), ("a", "y"))):
        with pytest.raises(PlanError, match="sorted, with one parent for each name"):
            Names(parents=wrong)


# ---- rolling up


def test_the_nearest_ancestor_wins() -> None:
    """A name becomes its nearest ancestor-or-self in the catalogue, or is dropped if a left-out one is nearer."""
    names = Names(parents=(*TREE, ("stout", "beer"), ("wine", "drinks")), left_out=("beer",))
    assert [names.roll_up(name, {"food": 0}) for name in ("food", "drinks", "wine", "beer", "stout", "milk")] == [
        0, 0, 0, LEFT_OUT, LEFT_OUT, UNKNOWN,
    ]  # fmt: skip
    assert names.roll_up("stout", {"stout": 7, "food": 0}) == 7
    assert names.roll_up("wine", {"drinks": 3, "food": 0}) == 3


def test_the_repr_shows_no_names() -> None:
    """The repr has the numbers of names only."""
    assert repr(Names("drop", TREE, ("bags",))) == "Names(3 with a parent, 1 left out, unlisted: drop)"
