"""Views: their entries, one by one and in bulk, their JSON, and invalid ones."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assocpriv.guarantees.errors import PlanError
from assocpriv.plans.baskets.report_type import ItemsView, SizesView, View

BOUNDS = st.sets(st.integers(1, 12), min_size=1, max_size=6).map(lambda bounds: tuple(sorted(bounds)))
ANY_VIEW = st.just(ItemsView()) | BOUNDS.map(SizesView)
TRANSACTIONS = st.lists(st.sets(st.integers(0, 14)).map(sorted), max_size=8)


@given(ANY_VIEW, TRANSACTIONS, st.integers(0, 3))
def test_bulk_entries_equal_single_ones(view: View, transactions: list[list[int]], skipped: int) -> None:
    """Entries of many transactions, also from the middle of a batch, equal those of each transaction."""
    offsets = np.cumsum([0, *map(len, transactions)]).astype(np.int64)
    items = np.array([item for each in transactions for item in each], dtype=np.int64)
    starts, entries = view.entries_of_many(offsets[min(skipped, len(transactions)) :], items)
    found = [entries[one:other].tolist() for one, other in pairwise(starts)]
    assert found == [view.entries(each) for each in transactions[skipped:]]


@given(BOUNDS, st.integers(0, 15))
def test_size_classes_begin_at_their_bounds(bounds: tuple[int, ...], size: int) -> None:
    """The entry is the last class that the size reaches; below the first class there is none."""
    reached = [number for number, bound in enumerate(bounds) if bound <= size]
    assert SizesView(bounds).entries(list(range(size))) == reached[-1:]


def test_size_classes_need_a_catalogue_of_this_size() -> None:
    """A class that no transaction can reach is refused; a view has one entry per class."""
    assert SizesView((2, 5)).n_entries(5) == 2
    assert ItemsView().n_entries(5) == 5
    with pytest.raises(PlanError, match="bounds must be at most the number of items, 4"):
        SizesView((2, 5)).n_entries(4)
