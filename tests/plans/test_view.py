"""Tests of views, also with blocks.

Tests of views: what is refused, their JSON, and what a plan with one is called.

Public random blocks: the cuts by their rule, read word by word, and that they fall evenly.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import small_plan

from assocpriv.plans import view as module
from assocpriv.plans.baskets import Plan
from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.view import LEFT_OUT, MAX_ANCESTORS, MAX_SIZE, UNKNOWN, Blocks, View
from assocpriv.promise.errors import PlanError

BASE = small_plan("none", 3, 2, 2)
TREE = (("beer", "drinks"), ("drinks", "food"), ("milk", "dairy"))


def plan_of(names: list[str], view: View) -> Plan:
    """Return a plan over some names with a view."""
    return replace(BASE, catalogue=Catalogue(names), view=view)


# ---- views made at random

NAMES = st.sampled_from([f"{letter}{number}" for letter in "abc" for number in range(5)])
NAME_SETS = st.sets(NAMES, min_size=1, max_size=5).map(lambda names: tuple(sorted(names)))
# a child is always less than its parent, so nothing goes in circles
PARENTS = st.lists(st.tuples(NAMES, NAMES).filter(lambda pair: pair[0] < pair[1]), max_size=12).map(
    lambda pairs: tuple(sorted(dict(pairs).items()))
)
BOUNDS = st.sets(st.integers(1, 6), max_size=4).map(lambda bounds: (0, *sorted(bounds)))


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Draw a plan with a view of any kind."""
    kind = draw(st.sampled_from(["items", "itemsets", "sizes"]))
    parents, fields = draw(PARENTS), {}
    catalogue = list(draw(st.permutations(draw(NAME_SETS))))
    if kind == "itemsets":
        fields["itemsets"] = tuple(draw(st.lists(NAME_SETS, min_size=1, max_size=5, unique=True)))
        catalogue = [f"entry {number}" for number in range(len(fields["itemsets"]))]
    if kind == "sizes":
        fields["bounds"] = draw(BOUNDS)
        fields["counted"] = draw(st.just(()) | NAME_SETS)
        parents = parents if fields["counted"] else ()
        catalogue = [f"from {bound}" for bound in fields["bounds"]]
    others = draw(st.sampled_from(["error", "drop"]))
    bare = View(kind=kind, others=others, parents=parents, **fields)  # type: ignore[arg-type]
    own = set(bare.vocabulary(Catalogue(catalogue)) or ())
    left_out = tuple(name for name in draw(st.just(()) | NAME_SETS) if name not in own)
    return plan_of(catalogue, replace(bare, left_out=left_out))


@given(plans())
def test_a_plan_with_a_view_survives_its_json(plan: Plan) -> None:
    """A plan read back is equal and has the same id, whatever the order of the taxonomy's object."""
    content = json.loads(plan.canonical_json)
    again = Plan.from_json(content)
    assert again == plan
    assert (again.plan_id, again.canonical_json) == (plan.plan_id, plan.canonical_json)
    content["view"]["parents"] = dict(reversed(content["view"]["parents"].items()))
    assert Plan.from_json(content).plan_id == plan.plan_id


@given(plans())
def test_a_view_matters_to_the_id(plan: Plan) -> None:
    """Plans that differ in nothing but their view have different ids."""
    others = {"error": "drop", "drop": "error"}[plan.view.others]
    assert replace(plan, view=replace(plan.view, others=others)).plan_id != plan.plan_id


# ---- plans and their versions


def test_a_view_that_does_nothing_is_written() -> None:
    """A plan made without a view states the one that does nothing, and has an id that is known."""
    plan = plan_of(["milk", "bread", "eggs"], View())
    assert plan.to_json()["view"] == {"kind": "items", "others": "error", "parents": {}, "left_out": []}
    assert plan.plan_id == replace(BASE, catalogue=plan.catalogue).plan_id
    assert plan.plan_id == "a4a54c7e54b22ef53ad94548ea16ed6ed3780c568c9cca2bd9075b44a1b7cdd3"


def test_canonical_view() -> None:
    """The canonical text of a view holds all its fields and no more, keys sorted."""
    view = View(others="drop", parents=TREE, left_out=("bags",))
    text = '"view":{"kind":"items","left_out":["bags"],"others":"drop","parents":{"beer":"drinks","drinks":"food",'
    assert text + '"milk":"dairy"}}' in plan_of(["food", "dairy"], view).canonical_json
    sizes = View(kind="sizes", bounds=(0, 4), counted=("a", "b"))
    text = '"view":{"bounds":[0,4],"counted":["a","b"],"kind":"sizes","left_out":[],"others":"error","parents":{}}'
    assert text in plan_of(["few", "many"], sizes).canonical_json
    pairs = View(kind="itemsets", itemsets=(("a", "b"), ("a",)))
    text = '"view":{"itemsets":[["a","b"],["a"]],"kind":"itemsets","left_out":[],"others":"error","parents":{}}'
    assert text in plan_of(["a and b", "a"], pairs).canonical_json


@pytest.mark.parametrize("field", ["view", "reports_per_person"])
def test_every_plan_states_its_view_and_reports(field: str) -> None:
    """A plan has one text: one that leaves the view or the number of reports out is refused, whatever they would be."""
    for view in (View(), View(others="drop")):
        fields = plan_of(["a"], view).to_json()
        del fields[field]
        with pytest.raises(PlanError, match=f"exactly the fields .*{field}"):
            Plan.from_json(fields)


# ---- what is refused

BAD_VIEWS: list[tuple[dict[str, Any], str]] = [
    ({"kind": "pairs"}, "kind items, itemsets or sizes"),
    ({"others": "keep"}, "'error' or 'drop'"),
    ({"kind": "itemsets"}, "needs itemsets"),
    ({"kind": "sizes"}, "needs itemsets, one of sizes bounds"),
    ({"itemsets": (("a",),)}, "no other view has them"),
    ({"bounds": (0,)}, "no other view has them"),
    ({"counted": ("a",)}, "belong to a view of sizes"),
    ({"kind": "sizes", "bounds": (0,), "counted": ("b", "a")}, "sorted and distinct"),
    ({"kind": "sizes", "bounds": (0,), "counted": ("a", "a")}, "sorted and distinct"),
    ({"kind": "sizes", "bounds": (0,), "parents": (("a", "b"),)}, "any name counts"),
    ({"kind": "sizes", "bounds": (1,)}, "rise from 0"),
    ({"kind": "sizes", "bounds": (0, 0)}, "rise from 0"),
    ({"kind": "sizes", "bounds": (0, 2, 1)}, "rise from 0"),
    ({"kind": "sizes", "bounds": (0, True)}, "rise from 0"),
    ({"kind": "sizes", "bounds": (0, 1.5)}, "rise from 0"),
    ({"kind": "sizes", "bounds": (0, MAX_SIZE + 1)}, "rise from 0"),
    ({"kind": "itemsets", "itemsets": ((),)}, "sorted list of distinct names"),
    ({"kind": "itemsets", "itemsets": (("b", "a"),)}, "sorted list of distinct names"),
    ({"kind": "itemsets", "itemsets": (("a", "a"),)}, "sorted list of distinct names"),
    ({"kind": "itemsets", "itemsets": ((" a",),)}, "sorted list of distinct names"),
    ({"kind": "itemsets", "itemsets": (("a", 1),)}, "sorted list of distinct names"),
    ({"kind": "itemsets", "itemsets": (("a",), ("a",))}, "must be distinct"),
    ({"left_out": ("b", "a")}, "left out must be sorted"),
    ({"left_out": ("a", "a")}, "left out must be sorted"),
    ({"left_out": ("",)}, "left out must be sorted"),
    ({"parents": (("b", "x"), ("a", "x"))}, "must be sorted"),
    ({"parents": (("a", "x"), ("a", "y"))}, "one parent"),
    ({"parents": (("a", "x\n"),)}, "from names to names"),
    ({"parents": (("a", 3),)}, "from names to names"),
    ({"parents": (("a", "a"),)}, "circles"),
    ({"parents": (("a", "b"), ("b", "a"))}, "circles"),
    ({"parents": (("a", "b"), ("b", "c"), ("c", "b"))}, "circles"),
]


@pytest.mark.parametrize("position", range(len(BAD_VIEWS)))
def test_bad_views_are_refused(position: int) -> None:
    """Each rule of a view is checked, and the message says which."""
    fields, message = BAD_VIEWS[position]
    with pytest.raises(PlanError, match=message):
        View(**fields)


BAD_JSON: list[tuple[Callable[[dict[str, Any]], Any], str]] = [
    (lambda view: None, "exactly the fields"),
    (lambda view: [], "exactly the fields"),
    (lambda view: view | {"more": 1}, "exactly the fields"),
    (lambda view: view | {"bounds": [0]}, "exactly the fields"),
    (lambda view: {name: value for name, value in view.items() if name != "left_out"}, "exactly the fields"),
    (lambda view: view | {"kind": []}, "kind items"),
    (lambda view: view | {"kind": "future"}, "kind items"),
    (lambda view: view | {"others": ["drop"]}, "'error' or 'drop'"),
    (lambda view: view | {"parents": [["a", "b"]]}, "child to parent"),
    (lambda view: view | {"parents": {"a": None}}, "from names to names"),
    (lambda view: view | {"parents": {"a": ["b"]}}, "from names to names"),
    (lambda view: view | {"left_out": "bags"}, "left_out"),
    (lambda view: view | {"left_out": [["a"]]}, "left out must be sorted"),
    (lambda view: view | {"kind": "itemsets", "itemsets": "ab"}, "list of lists"),
    (lambda view: view | {"kind": "itemsets", "itemsets": ["ab"]}, "list of lists"),
    (lambda view: view | {"kind": "itemsets", "itemsets": [[{}]]}, "sorted list of distinct"),
    (lambda view: view | {"kind": "sizes", "bounds": 0, "counted": []}, "list of whole numbers"),
    (lambda view: view | {"kind": "sizes", "bounds": [0], "counted": "a"}, "list of whole numbers"),
    (lambda view: view | {"kind": "sizes", "bounds": [0], "counted": [{}], "parents": {}}, "sorted and distinct"),
]


@pytest.mark.parametrize("position", range(len(BAD_JSON)))
def test_bad_json_is_refused(position: int) -> None:
    """JSON that is no view is a PlanError, whatever its types."""
    change, message = BAD_JSON[position]
    content = plan_of(["food", "dairy"], View(others="drop", parents=TREE)).to_json()
    with pytest.raises(PlanError, match=message):
        Plan.from_json(content | {"view": change(content["view"])})


def test_views_must_fit_their_catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another number of entries, names left out that are entries' own, and too many names in all are refused."""
    pairs = View(kind="itemsets", itemsets=(("a", "b"), ("b",)))
    with pytest.raises(PlanError, match="makes 2 entries, the catalogue names 3"):
        plan_of(["x", "y", "z"], pairs)
    with pytest.raises(PlanError, match="makes 1 entries"):
        plan_of(["x", "y"], View(kind="sizes", bounds=(0,)))
    for view in (replace(pairs, left_out=("a",)), View(kind="sizes", bounds=(0, 1), counted=("a",), left_out=("a",))):
        with pytest.raises(PlanError, match="left out must not be"):
            plan_of(["x", "y"], view)
    with pytest.raises(PlanError, match="left out must not be"):
        plan_of(["x", "y"], View(left_out=("w", "y")))
    monkeypatch.setattr(module, "MAX_ITEMS", 5)
    plan_of(["food", "dairy"], View(parents=TREE))
    plan_of(["a", "b", "c", "d", "e", "f"], View())
    with pytest.raises(PlanError, match="at most 5 in all"):
        plan_of(["food", "dairy"], View(parents=TREE, left_out=("bags",)))


def chain(steps: int) -> tuple[tuple[str, str], ...]:
    """Return a taxonomy of one name above the other."""
    return tuple((f"{number:03}", f"{number + 1:03}") for number in range(steps))


@pytest.mark.parametrize("order", [1, -1])
def test_ancestors_are_few(order: int) -> None:
    """A name may have 64 ancestors and no more, however the names are sorted."""
    turned = [(str(999 - int(a)), str(999 - int(b))) for a, b in chain(MAX_ANCESTORS + 1)]
    pairs = sorted(turned)[::-1] if order < 0 else list(chain(MAX_ANCESTORS + 1))
    assert len(View(parents=tuple(sorted(pairs[1:]))).parents) == MAX_ANCESTORS
    with pytest.raises(PlanError, match="64 ancestors"):
        View(parents=tuple(sorted(pairs)))


# ---- rolling up


def test_the_nearest_wins() -> None:
    """A name goes to its nearest known ancestor or itself, or is dropped by one left out that comes first."""
    view = View(parents=(*TREE, ("stout", "beer"), ("wine", "drinks")), left_out=("beer",))
    assert [view.roll_up(name, {"food": 0}) for name in ("food", "drinks", "wine", "beer", "stout", "milk")] == [
        0, 0, 0, LEFT_OUT, LEFT_OUT, UNKNOWN,
    ]  # fmt: skip
    assert view.roll_up("stout", {"stout": 7, "food": 0}) == 7
    assert view.roll_up("wine", {"drinks": 3, "food": 0}) == 3


def test_a_view_shows_numbers_only() -> None:
    """The repr of a view tells how many names it has, and none of them."""
    view = View(others="drop", parents=TREE, left_out=("bags",))
    assert repr(view) == "View(items, 3 names with a parent, 1 left out, others: drop)"


def fmix32(word: int) -> int:
    """Return the finalizer of MurmurHash3, in plain integers."""
    word = (word ^ word >> 16) * 0x85EBCA6B % 2**32
    word = (word ^ word >> 13) * 0xC2B2AE35 % 2**32
    return word ^ word >> 16


def naive_members(blocks: Blocks, block: int, n: int) -> list[int]:
    """Return the entries of a block by the rule of the documents."""
    partition, piece = divmod(block, blocks.pieces)
    start = fmix32((fmix32(blocks.seed) + partition) % 2**32)
    by_key = sorted(range(n), key=lambda entry: fmix32(fmix32(entry) ^ start))
    return sorted(entry for rank, entry in enumerate(by_key) if rank * blocks.pieces // n == piece)


@pytest.mark.parametrize(("n", "partitions", "pieces", "seed"), [(10, 3, 4, 0), (64, 2, 8, 7), (101, 4, 9, 2**32 - 1)])
def test_blocks_follow_the_rule(n: int, partitions: int, pieces: int, seed: int) -> None:
    """Members, tables and places are those of the rule; each partition holds every entry once."""
    blocks = Blocks(partitions, pieces, seed)
    table = blocks.table(n)
    for block in range(blocks.count):
        partition, piece = divmod(block, pieces)
        wanted = naive_members(blocks, block, n)
        assert blocks.members(block, n).tolist() == wanted
        assert table.entries[partition, table.starts[piece] : table.starts[piece + 1]].tolist() == wanted
        assert table.places[partition, wanted].tolist() == list(range(len(wanted)))
        assert (table.pieces[partition, wanted] == piece).all()
        assert n // pieces <= len(wanted) <= blocks.longest(n)
        assert blocks.places(block, [0, n // 2, n - 1], n) == [
            wanted.index(i) for i in (0, n // 2, n - 1) if i in wanted
        ]
    assert np.array_equal(np.sort(table.entries, axis=1), np.tile(np.arange(n), (partitions, 1)))


def test_pairs_and_triples_meet_as_often_as_at_random() -> None:
    """Of 512 partitions into eight pieces a pair meets in a share of .12 ± .014, as coins would have it.

    The seed is fixed, so that the test cannot fail by chance. A partition that repeated another would give twice the
    variance: of pairs it stays within 10% of the binomial's.
    """
    n, blocks = 60, Blocks(512, 8)
    pieces = blocks.table(n).pieces
    together = np.array([(pieces[:, i] == pieces[:, j]).sum() for i, j in combinations(range(n), 2)])
    sizes = np.diff(blocks.table(n).starts)
    share = (sizes * (sizes - 1)).sum() / (n * (n - 1))
    assert together.mean() == pytest.approx(512 * share)
    assert together.var() == pytest.approx(512 * share * (1 - share), rel=0.1)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ((0, 2), "partitions"),
        ((1, 1), "pieces"),
        ((40_000, 2), "partitions"),
        ((1, 2, -1), "seed"),
        ((1.0, 2), "integer"),
    ],
)
def test_numbers_out_of_range_are_refused(numbers: tuple[int, ...], message: str) -> None:
    """What a plan's text may say of blocks is bounded."""
    with pytest.raises(PlanError, match=message):
        Blocks(*numbers)


def test_too_small_blocks_are_refused() -> None:
    """A block holds at least as many entries as the largest itemset has."""
    Blocks(2, 4).check_catalogue(12, 3)
    with pytest.raises(PlanError, match="fewer pieces"):
        Blocks(2, 4).check_catalogue(11, 3)
    with pytest.raises(PlanError, match="at most 16 for so many"):
        Blocks(17, 4).check_catalogue(1 << 20, 3)
