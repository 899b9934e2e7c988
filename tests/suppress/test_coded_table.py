"""Tests of intervals of numbers, against short definitions."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from assocpriv import suppress
from assocpriv.guarantees.errors import TemplateError
from assocpriv.records.table_files import all_numbers
from assocpriv.suppress.coded_table import bin_labels, equal_starts, read_handling, value_numbers


def ill_among(confidence, *channel):
    """Return a template of those who are ill."""
    return [{"channel": [*channel], "sensitive": {"ill": ["yes"]}, "confidence": confidence}]


def test_equal_frequency(rng):
    """The requested number of intervals, none larger than its share by more than the records of one number."""
    for bins in (2, 3, 7):
        counts = rng.integers(1, 9, 50)
        starts = equal_starts(counts, bins)
        sizes = [int(counts[low:high].sum()) for low, high in pairwise([0, *starts, len(counts)])]
        assert len(sizes) == bins
        assert max(sizes) <= counts.sum() / bins + counts.max()
    assert equal_starts(np.array([100, 1, 1]), 3) == [1]


def test_intervals_stand_in_the_release():
    """Each number is released as its interval; a missing one stays missing."""
    numbers = [3.5, -2, 10, 10, 7, None, 0, 1, 2, 3]
    frame = pd.DataFrame({"x": numbers, "ill": ["yes", "no"] * 5})
    released, done = suppress.suppress(frame, ill_among("99%", "x"), columns={"x": 3})
    labels = done.bins["x"]
    assert labels == ("<2", "2 to <7", ">=7")
    wanted = Counter(labels[(number >= 2) + (number >= 7)] for number in numbers if number is not None)
    shown = Counter(label for label in released["x"] if isinstance(label, str))
    assert set(shown) - {"*"}
    assert all(shown[label] <= count for label, count in wanted.items())
    assert shown.total() in (9, 10)


def test_a_csv_of_numbers(tmp_path):
    """In CSV numbers are detected from their texts; a missing-value marker must be named."""
    lines = "".join(f"{number},{'yes' if number % 4 == 1 else 'no'}\n" for number in range(20))
    (tmp_path / "t.csv").write_text("x,ill\n" + lines + "?,no\n")
    templates = ill_among("30%", "x")
    with pytest.raises(TemplateError, match=r"column x of a channel holds numbers, .* missing='\?'"):
        suppress.check(tmp_path / "t.csv", templates, columns={"x": 2})
    found = suppress.check(tmp_path / "t.csv", templates, columns=5, missing="?")
    assert found.bins == {"x": ("<4", "4 to <8", "8 to <12", "12 to <16", ">=16")}
    assert found.passed


@pytest.mark.parametrize(
    ("values", "wanted"),
    [(("1", "2", "3"), True), (("1", "2"), False), (("1", "2", "x"), False), (("1e3", ".5", "-7", None), True),
     (("1,000", "2", "3"), True), (("1,5", "2.5", "3"), False), (("1.000,5", "2", "3,5"), True),
     (("1_0", "2", "3"), False), (("٣", "2", "3"), False), (("NaN", "", "4", "5", "6"), True)],
)  # fmt: skip
def test_what_are_numbers(values, wanted):
    """A column of three or more numbers and missing values only is a column of numbers."""
    assert (value_numbers(values, all_numbers(values)) is not None) == wanted


@pytest.mark.parametrize("bins", ["x", -3, 0, 1, 1001, True, 2.5, ["3", "4"], "age=", {"age": "many"}])
def test_invalid_bins_are_refused(bins):
    """Other words and numbers are refused."""
    with pytest.raises(TemplateError, match="columns"):
        read_handling(bins)


def test_a_column_is_binned_or_a_category():
    """A column cannot be both; the handling of a named column has priority over that of all columns."""
    with pytest.raises(TemplateError, match="a column is named twice"):
        read_handling(["age=3", "age=category"])
    wanted = {"": 5, "age": 3, "zip": "category", "id": "drop"}
    assert read_handling(["5", "age=3", "zip=category", "id=drop"]) == wanted


def test_labels():
    """Intervals are named by their cuts in the shortest form."""
    assert bin_labels([-1.0, 0.1, 1e20]) == ("<-1", "-1 to <0.1", "0.1 to <1e+20", ">=1e+20")
    assert bin_labels([]) == ("any",)


def test_bins_without_effect_are_refused():
    """Intervals for all columns are an error where no column of a channel holds numbers, or each is named."""
    frame = pd.DataFrame({"job": ["cook", "clerk"] * 4, "x": list(range(8)), "ill": ["no", "yes"] * 4})
    with pytest.raises(TemplateError, match=r"columns=3 has no effect"):
        suppress.check(frame, ill_among("60%", "job"), columns=3)
    both = ill_among("60%", "job", "x")
    with pytest.raises(TemplateError, match="has no effect"):
        suppress.check(frame, both, columns=["3", "x=2"])
    assert suppress.check(frame, both, columns=["3"]).bins["x"]
