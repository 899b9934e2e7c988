"""Tests of views: what entries they make, one by one and in bulk, their JSON and what is refused."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assocpriv.plans.question import VIEWS
from assocpriv.plans.sizes_view import SizesView
from assocpriv.plans.view import ItemsView, View
from assocpriv.promise.errors import PlanError

BOUNDS = st.sets(st.integers(1, 12), min_size=1, max_size=6).map(lambda bounds: tuple(sorted(bounds)))
ANY_VIEW = st.just(ItemsView()) | BOUNDS.map(SizesView)
TRANSACTIONS = st.lists(st.sets(st.integers(0, 14)).map(sorted), max_size=8)


@given(ANY_VIEW, TRANSACTIONS, st.integers(0, 3))
def test_bulk_entries_are_those_of_one(view: View, transactions: list[list[int]], skipped: int) -> None:
    """Entries of many transactions, also from the middle of a batch, are each transaction's own."""
    offsets = np.cumsum([0, *map(len, transactions)]).astype(np.int64)
    items = np.array([item for each in transactions for item in each], dtype=np.int64)
    starts, entries = view.entries_of_many(offsets[min(skipped, len(transactions)) :], items)
    found = [entries[one:other].tolist() for one, other in pairwise(starts)]
    assert found == [view.entries(each) for each in transactions[skipped:]]


@given(ANY_VIEW)
def test_a_view_survives_its_json(view: View) -> None:
    """A view is read back by the class of its kind, and says what it asks."""
    content = view.to_json()
    assert VIEWS[content["kind"]].from_json(content) == view
    assert view.asks(3)


@given(BOUNDS, st.integers(0, 15))
def test_sizes_are_classes_from_a_least_number_on(bounds: tuple[int, ...], size: int) -> None:
    """The entry is the last class that the size reaches; below the first there is none."""
    reached = [number for number, bound in enumerate(bounds) if bound <= size]
    assert SizesView(bounds).entries(list(range(size))) == reached[-1:]


def test_sizes_need_a_catalogue_as_long() -> None:
    """A class that no transaction can reach is refused; as many entries as classes there are."""
    assert SizesView((2, 5)).n_entries(5) == 2
    assert ItemsView().n_entries(5) == 5
    with pytest.raises(PlanError, match="begin at 4 items at most"):
        SizesView((2, 5)).n_entries(4)
