"""Tests of baskets in memory."""

import itertools
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import planned, reports_of

from assocpriv.guarantees.amplification import Guarantee
from assocpriv.guarantees.errors import BasketError
from assocpriv.plans.baskets.catalogue import MAX_ITEMS, Catalogue
from assocpriv.records import baskets as baskets_module
from assocpriv.records.basket_files import read_baskets
from assocpriv.records.baskets import Baskets, assemble_in_order, detect_frame_layout, persons_of_frame, to_baskets
from assocpriv.records.cells import Cells, Origin
from assocpriv.records.columns import Rows
from assocpriv.records.layout import DetectedLayout, Layout, ReadOptions
from assocpriv.records.long_rows import long_cells, long_part
from tests.records.conftest import MAKERS, named, refused

ABC = Catalogue(["a", "b", "c"])
NAMES = st.text("abcé 0123", min_size=1, max_size=4).map(str.strip).filter(bool)
SETS = st.lists(st.sets(NAMES, max_size=5), min_size=1, max_size=8).filter(any)
SECRET = "Zx9secret"
KEPT = "list missing=keep"


# ---- the class


def test_basket_is_a_set_of_ids() -> None:
    """An index gives one basket's ids and a negative one counts from the end."""
    baskets = Baskets.from_sets([["c", "a"], [], ["b"]], empty="keep")
    assert [baskets[0], baskets[1], baskets[-1]] == [{0, 2}, set(), {1}]
    assert baskets.sizes.tolist() == [2, 0, 1]
    with pytest.raises(IndexError):
        baskets[3]


@given(SETS, st.integers(-10, 10), st.integers(-10, 10))
def test_slices_match_lists(sets: list[set[str]], start: int, stop: int) -> None:
    """A slice, and a slice of a slice, holds the baskets that a list's slice holds, sharing the items."""
    baskets = Baskets.from_sets(sets, empty="keep")
    part = baskets[start:stop]
    assert named(part) == sets[start:stop]
    assert named(part[1:]) == sets[start:stop][1:]
    assert part.items is baskets.items
    assert len(part.sizes) == len(part)


def test_slice_with_a_step_is_refused() -> None:
    """A slice with a step cannot share the items, so it is refused."""
    with pytest.raises(BasketError, match="step"):
        Baskets.from_sets([["a"], ["b"]])[::-1]


def test_repr_counts_and_shows_no_item() -> None:
    """The repr holds two counts and no item."""
    baskets = Baskets(Catalogue([SECRET, "b"]), np.array([0, 1], dtype=np.int64), np.array([0], dtype=np.int64))
    assert repr(baskets) == "Baskets(1 baskets over 2 items)"
    assert f"{Baskets.from_sets([[9999]] * 1234)}" == "Baskets(1,234 baskets over 10,000 items)"


@pytest.mark.parametrize(
    ("offsets", "items"),
    [
        (np.array([0, 1]), np.array([0.5])),
        (np.array([0, 1], dtype=np.int32), np.array([0])),
        (np.array([0, 2]), np.array([0])),
        (np.array([], dtype=np.int64), np.array([0])),
        (np.array([[0, 1]]), np.array([0])),
    ],
)
def test_wrong_arrays_are_refused(offsets: Any, items: Any) -> None:
    """Arrays of another type, shape or range are refused."""
    refused(r"offsets|items", Baskets, ABC, offsets, items)


def test_arrays_may_have_gaps() -> None:
    """Columns of a matrix, whose values are apart in memory, are randomized like others."""
    columns = np.array([[0, 0], [2, 3], [3, 5]], dtype=np.int64)
    plan = planned(6, 2, Guarantee("5%", "50%"))
    assert len(reports_of(Baskets(plan.catalogue, columns[:, 0], columns[:, 1]), plan)) == 2


# ---- sets


@given(SETS)
def test_sets_round_trip(sets: list[set[str]]) -> None:
    """Baskets made of sets hold the same names, their ids strictly increasing."""
    baskets = Baskets.from_sets(sets, empty="keep")
    assert named(baskets) == sets
    for row in range(len(baskets)):
        ids = baskets.items[baskets.offsets[row] : baskets.offsets[row + 1]]
        assert (np.diff(ids) > 0).all()


def test_numbers_get_a_numbered_catalogue() -> None:
    """Integers and their decimals are the same names, and alone give the numbered catalogue."""
    baskets = to_baskets([[2, "0"], [np.int64(4)]])
    assert baskets.catalogue == Catalogue.numbered(5)
    assert named(baskets) == [{"0", "2"}, {"4"}]


@pytest.mark.parametrize("names", [["01", "2"], [str(MAX_ITEMS)], ["-1"], ["1", "b"], [10**20]])
def test_other_names_get_a_sorted_catalogue(names: list[str | int]) -> None:
    """Names that are not canonical decimals, or exceed the size of a catalogue, give the sorted distinct names."""
    assert list(Baskets.from_sets([names]).catalogue) == sorted(map(str, names))


def test_largest_number_fits() -> None:
    """The largest number within the size of a catalogue gives a numbered one."""
    assert len(Baskets.from_sets([[MAX_ITEMS - 1]]).catalogue) == MAX_ITEMS


def test_names_lose_blanks() -> None:
    """Blanks around names do not make another item."""
    assert list(Baskets.from_sets([["a "], [" a"]]).catalogue) == ["a"]


def test_unknown_items() -> None:
    """An unknown item is named by basket, position and count, or dropped."""
    data = [["a"], ["b", "x", "y"], ["x"]]
    refused(r"the 2nd item of basket 2 .*3 such items in 2 baskets.*unknown='drop'", Baskets.from_sets, data, ABC)
    assert named(Baskets.from_sets(data, ABC, unknown="drop")) == [{"a"}, {"b"}, set()]


def test_repeated_items() -> None:
    """A repeated item is named by basket and count, or merged."""
    data = [["a"], ["b", "a", "b", "b"], ["c", "c"]]
    refused(r"basket 2 repeats an item \(3 repeats in 2 baskets\).*repeats='merge'", Baskets.from_sets, data)
    assert named(Baskets.from_sets(data, repeats="merge")) == [{"a"}, {"a", "b"}, {"c"}]


@pytest.mark.parametrize(
    "data", [["a", "b"], [1, 2], "ab", b"ab", Path("x.dat"), [["a"], None], {"a": 1}, 5, np.eye(3)]
)
def test_one_basket_or_a_path_is_a_type_error(data: Any) -> None:
    """One basket, a path or a number raises a TypeError with advice."""
    with pytest.raises(TypeError, match=r"list|read_baskets|table"):
        to_baskets(data)


@pytest.mark.parametrize(
    ("item", "layout"),
    [(1.0, None), (True, None), (b"a", None), (("a",), None), (None, KEPT), (float("nan"), KEPT), (pd.NA, KEPT)],
)
def test_other_items_are_a_type_error(item: Any, layout: str | None) -> None:
    """An item that is neither text nor an integer, nor missing, is named by its position and type."""
    with pytest.raises(TypeError, match=r"the 2nd item of basket 1 .* got a"):
        to_baskets([["a", item]], layout=layout)


@pytest.mark.parametrize("data", [[], [[], []]])
def test_no_items_need_a_catalogue(data: list[list[str]]) -> None:
    """Baskets without any item need a catalogue; their number is kept."""
    refused("catalogue", to_baskets, data, empty="keep")
    assert len(to_baskets(data, catalogue=ABC, empty="keep")) == len(data)


@pytest.mark.parametrize("option", ["unknown", "repeats"])
def test_options_are_checked(option: str) -> None:
    """An option takes only its own words."""
    refused(option, Baskets.from_sets, [["a"]], **{option: "maybe"})  # type: ignore[arg-type]


def test_baskets_pass_unchanged() -> None:
    """Baskets are returned unchanged."""
    baskets = Baskets.from_sets([["a"]])
    assert to_baskets(baskets) is baskets


# ---- assemble


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), max_size=30))
def test_assemble_merges_in_any_order(cells: list[tuple[int, int]]) -> None:
    """A row's cells in any order give its set of ids; repeats are refused exactly when there are some."""
    rows, ids = np.array(sorted(cells, key=lambda cell: cell[0]), dtype=np.int64).reshape(-1, 2).T
    source = Cells(np.bincount(rows, minlength=6), ids, None)
    merged = assemble_in_order(source, Catalogue.numbered(10), "merge")
    assert list(merged) == [{item for row, item in cells if row == wanted} for wanted in range(6)]
    if len(set(cells)) < len(cells):
        refused(f"{len(cells) - len(set(cells))} repeats", assemble_in_order, source, Catalogue.numbered(10), "error")
    else:
        assert list(assemble_in_order(source, Catalogue.numbered(10), "error")) == list(merged)


# ---- aligned


@given(SETS, st.lists(NAMES, min_size=1, max_size=6, unique=True))
def test_aligned_matches_names(sets: list[set[str]], names: list[str]) -> None:
    """Aligned baskets hold the names that both catalogues have, also of a slice, and count the others."""
    part = Baskets.from_sets(sets, empty="keep")[1:]
    aligned, dropped = part.aligned(Catalogue(names), unknown="drop")
    assert named(aligned) == [basket & set(names) for basket in sets[1:]]
    assert dropped == sum(len(basket - set(names)) for basket in sets[1:])
    assert aligned.catalogue == Catalogue(names)


@pytest.mark.parametrize("target", [Catalogue.numbered(4), Catalogue(["3", "1", "0", "2"])])
def test_aligned_numbers(target: Catalogue) -> None:
    """Numbered baskets align with a numbered and with a named catalogue."""
    baskets = Baskets.from_sets([[0, 3], [1, 9]])
    aligned, dropped = baskets.aligned(target, unknown="drop")
    assert (named(aligned), dropped) == ([{"0", "3"}, {"1"}], 1)
    refused(r"the 2nd item of basket 2 .*1 such items in 1 baskets", baskets.aligned, target)


def test_aligned_with_an_equal_catalogue_shares_arrays() -> None:
    """Aligning with an equal catalogue copies nothing."""
    baskets = Baskets.from_sets([["a"], ["b"], ["c"]])
    aligned, dropped = baskets.aligned(ABC)
    assert aligned.items is baskets.items
    assert dropped == 0


# ---- tables


@settings(max_examples=30)
@given(SETS)
def test_layouts_and_libraries_agree(sets: list[set[str]]) -> None:
    """List, long and onehot tables of every library give the same baskets as the sets themselves."""
    expected = Baskets.from_sets(sets, empty="keep")
    names = list(expected.catalogue) if not expected.catalogue.is_numbered else sorted(set().union(*sets))
    full = [basket for basket in sets if basket]
    onehot = {name: [name in basket for basket in sets] for name in names}
    lists = {"basket": [sorted(basket, reverse=True) for basket in sets]}
    cells = [(f"t{row}", name) for row, basket in enumerate(full) for name in basket]
    long = {"item": [name for _, name in cells], "transaction": [row for row, _ in cells]}
    for make in MAKERS.values():
        assert named(to_baskets(make(onehot), empty="keep")) == sets
        assert list(to_baskets(make(onehot), empty="keep").catalogue) == names
        assert list(to_baskets(make(lists), empty="keep")) == list(expected)
        assert list(to_baskets(make(long))) == list(Baskets.from_sets(full))


def test_onehot_numbers(make: Any) -> None:
    """Columns of 0 and 1, whole or floating, are onehot, and a row of zeros is an empty basket."""
    frame = make({"b": [1, 0, 0], "a": [1.0, 0.0, 1.0]})
    assert named(to_baskets(frame, empty="keep")) == [{"a", "b"}, set(), {"a"}]
    assert named(to_baskets(frame, empty="drop")) == [{"a", "b"}, {"a"}]
    assert list(to_baskets(frame, empty="keep").catalogue) == ["b", "a"]
    refused("basket 2 is an empty basket", to_baskets, frame)


def test_onehot_with_a_catalogue(make: Any) -> None:
    """A column outside the catalogue is an error only if a basket holds it."""
    frame = make({"x": [0, 1], "c": [1, 1]})
    refused("the 1st item of basket 2", to_baskets, frame, catalogue=ABC)
    assert list(to_baskets(frame, catalogue=ABC, unknown="drop")) == [{2}, {2}]
    assert list(to_baskets(make({"x": [0], "c": [1]}), catalogue=ABC)) == [{2}]


def test_onehot_pandas_variants() -> None:
    """Sparse columns and columns named by integers are onehot too."""
    sparse = pd.DataFrame({"a": pd.arrays.SparseArray([True, False]), "b": pd.arrays.SparseArray([0, 1])})
    assert list(to_baskets(sparse)) == [{0}, {1}]
    assert named(to_baskets(pd.DataFrame([[1, 0], [0, 1]]))) == [{"0"}, {"1"}]


def test_long_order_and_columns(make: Any) -> None:
    """Baskets come by first appearance; columns by argument, by name, or as the first two if long is requested."""
    frame = make({"day": [1, 1, 2], "sku": [5, 3, 3], "bill": ["z", "a", "z"]})
    assert named(to_baskets(frame, layout="long rows=anywhere")) == [{"3", "5"}, {"3"}]
    assert named(to_baskets(frame, layout="long transaction=bill item=sku rows=anywhere")) == [{"3", "5"}, {"3"}]
    assert named(to_baskets(frame, layout="transaction=bill item=day rows=anywhere")) == [{"1", "2"}, {"1"}]
    assert named(to_baskets(make({"Item": ["a", "b"], "Transaction": [7, 7]}))) == [{"a", "b"}]


def test_ambiguous_tables_are_refused(make: Any) -> None:
    """The layout of three unnamed columns is not guessed; a column of ids in a one-hot table is left out."""
    refused("layout=", to_baskets, make({"day": [1], "thing": [5], "who": ["z"]}))
    assert named(to_baskets(make({"order": [7, 8], "milk": [1, 0], "bread": [0, 1]}))) == [{"milk"}, {"bread"}]


def test_list_column_among_others(make: Any) -> None:
    """A list column is found among others, nulls and empty lists are empty baskets, several need a name."""
    frame = make({"id": [4, 5, 6], "basket": [["b"], None, []]})
    assert named(to_baskets(frame, empty="keep")) == [{"b"}, set(), set()]
    two = make({"x": [["a"]], "y": [["b"]]})
    refused("list item=#1", to_baskets, two)
    assert named(to_baskets(two, layout="item=y")) == [{"b"}]


def test_frozen_sets_are_lists() -> None:
    """Columns of this package's and mlxtend's tables hold frozen sets; a missing value is an empty basket."""
    frame = pd.DataFrame({"basket": [frozenset("ab"), None, frozenset("a"), {"b"}]})
    assert named(to_baskets(frame, empty="keep")) == [{"a", "b"}, set(), {"a"}, {"b"}]


def test_categories_are_items() -> None:
    """Categorical columns are read by their categories, whatever their order, unused ones ignored."""
    items = pd.Categorical(["b", "a"], categories=["z", "b", "a"])
    frame = pd.DataFrame({"transaction": pd.Categorical(["t2", "t1"]), "item": items})
    assert named(to_baskets(frame)) == [{"b"}, {"a"}]
    assert len(to_baskets(frame).catalogue) == 2
    polars = pl.DataFrame({"t": [1, 2], "i": pl.Series(["b", "a"], dtype=pl.Categorical)})
    assert named(to_baskets(polars)) == [{"b"}, {"a"}]


def test_fixed_size_lists_and_slices() -> None:
    """Lists of a fixed size, including null ones, and sliced tables are read correctly."""
    lists = pa.array([["a", "b"], None, ["b", "c"]], pa.list_(pa.string(), 2))
    table = pa.table({"basket": lists})
    assert named(to_baskets(table, empty="keep")) == [{"a", "b"}, set(), {"b", "c"}]
    again = to_baskets(pa.concat_tables([table.slice(2), table]), empty="keep")
    assert named(again) == [{"b", "c"}, {"a", "b"}, set(), {"b", "c"}]


def arrow_table(ids: Any) -> Any:
    """Return a long table of Arrow with some ids."""
    return pa.table({"receipt": ids, "item": ["a", "b", "c"]})


# pyarrow's lower bound converts no UUIDs, and writes no views to Parquet
needs_later_arrow = pytest.mark.skipif(pa.__version__.startswith("19."), reason="not with pyarrow 19")
UUIDS = [UUID(int=number) for number in (1, 1, 2)]
UUID_ARRAY = pa.array([each.bytes for each in UUIDS], pa.uuid())
NOON = datetime(2026, 3, 1, 12)
FRAMES_OF_IDS: dict[str, Any] = {  # three rows, of which the first two are one transaction
    "floats": arrow_table([7.0, 7.0, 8.0]),
    "floats of 12 digits": arrow_table([123456789012.0, 123456789012.0, 123456789013.0]),
    "categories of floats": pd.DataFrame({"receipt": pd.Categorical([7.0, 7.0, 8.0]), "item": ["a", "b", "c"]}),
    "decimals": arrow_table(pa.array([Decimal("7.00"), Decimal("7.00"), Decimal("8.00")])),
    "codes of integers": arrow_table(pa.array([7, 7, 8]).dictionary_encode()),
    "large texts": arrow_table(pa.array(["7", "7", "8"], pa.large_string())),
    "views of texts": arrow_table(pa.array(["7", "7", "8"], pa.string_view())),
    "dates": arrow_table(pa.array([NOON, NOON, NOON.replace(day=2)], pa.date32())),
    "times": arrow_table(pa.array([NOON, NOON, NOON.replace(day=2)], pa.timestamp("ns"))),
    "UUIDs of Arrow": arrow_table(UUID_ARRAY),
    "UUIDs of pandas": pd.DataFrame({"receipt": UUIDS, "item": ["a", "b", "c"]}),
    "UUIDs of polars": pl.DataFrame({"receipt": pl.Series(UUIDS, dtype=pl.Object), "item": ["a", "b", "c"]}),
    "large integers of polars": pl.DataFrame(
        {"receipt": pl.Series([2**70, 2**70, 1], dtype=pl.Int128), "item": ["a", "b", "c"]}
    ),
    "a reader": arrow_table([7, 7, 8]).to_reader(),
}


@pytest.mark.parametrize(
    "kind", [pytest.param(each, marks=[needs_later_arrow] * each.startswith("UUIDs of p")) for each in FRAMES_OF_IDS]
)
def test_types_of_ids(kind: str) -> None:
    """Ids are compared by their text, whatever their type in a frame."""
    assert named(to_baskets(FRAMES_OF_IDS[kind], layout="long")) == [{"a", "b"}, {"c"}]


@pytest.mark.parametrize(
    ("ids", "names"),
    [
        ([7.0, 8.0, 7.0], {"7", "8"}),
        (pa.array(np.array([7.0, 8.0, 7.0], dtype=np.float16)), {"7", "8"}),
        (pa.array([Decimal(7), Decimal(8), Decimal(7)]), {"7", "8"}),
        (UUID_ARRAY, {str(each) for each in UUIDS}),
        pytest.param(pa.array(["7", "8", "7"], pa.string_view()), {"7", "8"}, marks=needs_later_arrow),
    ],
    ids=["floats", "short floats", "decimals", "UUIDs", "views"],
)
def test_types_of_items_of_files(tmp_path: Path, ids: Any, names: set[str]) -> None:
    """Items are named as CSV names them, in a column of items and in lists, in memory and in Parquet."""
    ids = ids if isinstance(ids, pa.Array) else pa.array(ids)
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 3], pa.int32()), ids)
    for table in (pa.table({"receipt": [1, 2, 3], "item": ids}), pa.table({"items": lists})):
        assert set().union(*named(to_baskets(table))) == names
        if ids.type != pa.float16():
            pq.write_table(table, tmp_path / "t.parquet")
            assert set().union(*named(read_baskets(tmp_path / "t.parquet")[0])) == names


@pytest.mark.parametrize(
    ("ids", "match"),
    [
        ([2.0**53, 7.0, 8.0], "floats that have lost digits"),
        ([-(2.0**53), 7.0, 8.0], "floats that have lost digits"),
        ([float("inf"), 7.0, 8.0], "floats that have lost digits"),
        (pa.array([2.0**24, 7.0, 8.0], pa.float32()), "floats that have lost digits"),
        ([7.5, 7.0, 8.0], "have fractions"),
        (pa.array([Decimal("7.5"), Decimal(7), Decimal(8)]), "have fractions"),
        ([float("nan"), 7.0, 8.0], "row 1 has no"),
        (["9007199254740992.0", "7", "8"], "in row 1 is a number that has lost digits"),
        (["1.23457E+17", "7", "8"], "in row 1 is a number that has lost digits"),
        (pa.array(["7", "-1,5e+05", "8"]).dictionary_encode(), "in row 2 is a number that has lost digits"),
    ],
)
def test_ids_that_have_lost_digits_are_refused(ids: Any, match: str) -> None:
    """Such a number may represent several ids of transactions, items or persons, also in lists."""
    table = pa.table({"receipt": ids, "item": ["a", "b", "c"], "n": [1, 2, 3]})
    refused(match, to_baskets, table, layout="long")
    refused(match, to_baskets, table, layout="long transaction=n item=receipt")
    if "no" not in match:
        refused(match, persons_of_frame, table, "receipt", ReadOptions("long transaction=n item=item"), None)
    lists = pa.ListArray.from_arrays(pa.array([0, 3], pa.int32()), table.column("receipt").combine_chunks())
    says = match if "row" not in match else "item of basket 1"
    refused(says, to_baskets, pa.table({"items": lists}), layout="list item=items missing=keep")


def test_codes_with_an_exponent_are_items() -> None:
    """Product codes are text, even if a program could read them as numbers; so are UUIDs, and a plan's own names."""
    assert named(to_baskets([UUIDS[1:]])) == [{str(each) for each in UUIDS}]
    assert named(to_baskets([["12E5", "1E+05", "1.5E5", "7.0"]])) == [{"12E5", "1E+05", "1.5E5", "7.0"}]
    assert named(to_baskets([["1.5E+05"]], catalogue=Catalogue(["1.5E+05"]))) == [{"1.5E+05"}]
    refused("the 1st item of basket 1 is a number that has lost digits", to_baskets, [["1.5E+05"]])


@pytest.mark.parametrize(
    "kind",
    [
        *(pytest.param(each, marks=needs_later_arrow) for each in (pa.list_view, pa.large_list_view)),
        pa.list_,
        pa.large_list,
    ],
)
def test_lists_of_arrow(tmp_path: Path, kind: Callable[[Any], Any]) -> None:
    """Lists and list views are baskets: in tables, slices and Parquet, and as an array itself."""
    lists = pa.array([["a", "b"], [], ["c"]], kind(pa.string()))
    expected: list[set[str]] = [{"a", "b"}, set(), {"c"}]
    table = pa.table({"items": lists})
    pq.write_table(table, tmp_path / "t.parquet")
    assert named(to_baskets(table, empty="keep")) == named(to_baskets(lists, empty="keep")) == expected
    assert named(to_baskets(table[1:], empty="keep")) == expected[1:]
    assert named(to_baskets(pa.chunked_array([lists, lists]), empty="keep")) == expected * 2
    assert named(read_baskets(tmp_path / "t.parquet", None, ReadOptions(empty="keep"))[0]) == expected


def test_large_integers_of_polars_are_flags() -> None:
    """Zeros and ones of 128 bits are flags, as of any other integers."""
    flags = {name: pl.Series([0, 1], dtype=pl.Int128) for name in "ab"}
    assert named(to_baskets(pl.DataFrame(flags), empty="keep")) == [set(), {"a", "b"}]


@pytest.mark.parametrize(
    ("columns", "options", "match"),
    [
        ({"a": [2, 1], "b": [0, 1]}, {"layout": "one-hot"}, "column 1 is neither"),
        ({"t": [1, None], "i": ["a", "b"]}, {}, "row 2 has no transaction"),
        ({"t": [1, 1], "i": ["a", None]}, {}, "row 2 has no item"),
        ({"order": [1, 2], "i": [0.5, 2.5]}, {}, "items have fractions"),
        ({"i": ["a"]}, {}, "1 columns"),
        ({"t": [5], "i": ["a"]}, {"layout": "item=nope"}, "item= "),
        ({"t": [5], "i": ["a"]}, {"layout": "item=t transaction=t"}, "different"),
        ({"t": [5], "i": ["a"]}, {"layout": "list"}, "got 0"),
        ({"t": [5], "i": ["a"]}, {"layout": "list item=i"}, "column of lists"),
        ({"b": [["a", None]]}, {"layout": "list item=b missing=keep"}, "the 2nd item of basket 1 is missing"),
        ({"b": [[["a"]]]}, {}, "nested"),
        ({"t": [1, 1], "i": ["a", "a"]}, {}, "basket 1 repeats"),
        ({"t": [5, 5], "i": ["a", " "]}, {}, "row 2 has no item"),
        ({" a": [0], "a": [1]}, {}, "repeats an earlier"),
        ({"t": [5], "i": ["a"]}, {"layout": "wide"}, "unknown words"),
    ],
)
def test_bad_tables(make: Any, columns: Any, options: Any, match: str) -> None:
    """Each kind of bad table has an error that gives position and problem."""
    refused(match, to_baskets, make(columns), **options)


def test_odd_tables() -> None:
    """Lazy tables are a TypeError; tables without columns or with one name twice are BasketErrors."""
    with pytest.raises(TypeError, match="in memory"):
        to_baskets(pl.LazyFrame({"a": [1]}))
    refused("columns", to_baskets, pl.DataFrame())
    refused("different names", to_baskets, pd.DataFrame([[1, 0]], columns=["a", "a"]))


@given(
    st.lists(st.lists(st.integers(0, 1200), max_size=6), min_size=1, max_size=4),
    st.sampled_from(["as they come", "rising", "padded"]),
)
def test_rows_of_the_long_layout_are_one_basket_an_id(parts: list[list[int]], order: str) -> None:
    """Increasing ids (the fast path) and repeated ids, also across parts, give the baskets of a naive count."""
    flat = [number for part in parts for number in part]
    flat = flat if order == "as they come" else sorted(flat)
    ids = [f"{number:04}" if order == "padded" else str(number) for number in flat]
    items = [f"i{row % 3}" for row in range(len(ids))]
    expected: dict[str, list[str]] = {}
    for name, item in zip(ids, items, strict=True):
        expected.setdefault(name, []).append(item)
    rows, made = iter(zip(ids, items, strict=True)), []
    layout = DetectedLayout(Layout("long", rows="anywhere"), ("id", "item"), (0, 1))
    for part in parts:
        taken = list(itertools.islice(rows, len(part)))
        columns = [pa.array([row[place] for row in taken], pa.string()) for place in (0, 1)]
        made.append(long_part(Rows(columns, lambda row: row + 1, Origin()), layout))
    cells = long_cells(made)
    names = [cells.names[code] for code in cells.codes.tolist()] if cells.names is not None else []
    ends = np.cumsum(cells.sizes).tolist()
    found = [names[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    assert found == list(expected.values())


def objects(columns: dict[str, list[Any]]) -> pd.DataFrame:
    """Return a frame of columns of objects."""
    return pd.DataFrame(columns, dtype=object)


def categories(columns: dict[str, list[Any]]) -> pd.DataFrame:
    """Return a frame of categories."""
    return pd.DataFrame(columns).astype("category")


FLAGGED = {  # tea in the first and the last basket, rye in the last one, by values of each kind
    "yes and no": (["yes", "no", "Yes"], ["no", "no", "YES"]),
    "T and F": (["T", "F", "T"], ["F", "F", "T"]),
    "text of digits": (["1", "0", "1"], ["0", "0", "1"]),
    "x and nothing": (["x", "", " x"], ["", None, "x"]),
    "bools and nulls": ([True, None, True], [None, False, True]),
    "numbers and nulls": ([1, None, 1], [0, None, 1]),
    "decimals": ([Decimal(1), Decimal(0), Decimal(1)], [Decimal(0), None, Decimal(1)]),
}


@pytest.mark.parametrize("make", [pd.DataFrame, objects, categories, pl.DataFrame, pa.table])
@pytest.mark.parametrize("kind", FLAGGED)
def test_flags_of_frames_are_those_of_files(kind: str, make: Any) -> None:
    """A one-hot frame accepts the words of a CSV file, and its layout is detected."""
    tea, rye = FLAGGED[kind]
    frame = make({"tea": tea, "rye": rye, "oil": [None] * 3})
    unknown = {} if kind == "x and nothing" else {"incomplete": "keep"}  # empty cells, where others are false
    assert named(to_baskets(frame, empty="keep", **unknown)) == [{"tea"}, set(), {"tea", "rye"}]


@pytest.mark.parametrize(
    ("cell", "problem"),
    [
        ("canary", "row 2, column 1 is neither true nor false"),
        ("2", "row 2, column 1 is neither true nor false"),
        ("nan", "basket 2 has an empty cell"),
    ],
)
@pytest.mark.parametrize("make", [pd.DataFrame, categories, pl.DataFrame, pa.table])
def test_other_words_are_no_flags(cell: str, problem: str, make: Any) -> None:
    """An error about a word that is not a flag gives only its place."""
    message = refused(problem, to_baskets, make({"tea": ["yes", cell], "rye": ["no", "no"]}), layout="one-hot")
    assert "canary" not in message


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_few_cells_of_a_wide_table_are_looked_at(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells of flags are not converted to Python, and those of other columns no more often than for a narrow table."""
    seen = []
    monkeypatch.setattr(baskets_module, "values_of", lambda column: seen.append(len(column)) or column.to_pylist())
    assert detect_frame_layout(make({f"i{n}": [n % 2 == 0] * 500 for n in range(400)}), None)[0].kind == "one-hot"
    assert not seen
    assert detect_frame_layout(make({f"i{n}": [n % 2] * 500 for n in range(400)}), None)[0].kind == "one-hot"
    assert sum(seen) <= 1 << 17
