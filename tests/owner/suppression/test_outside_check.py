"""The highest confidence of a released table, counted by a program of others."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from assocpriv.suppress import check, suppress

pycanon = pytest.importorskip("pycanon.anonymity", reason="pycanon is not installed: pip install .[dev]")


def some_table(rng):
    """Return a table of 40 records: three columns of a channel, a sensitive column that follows the first, a class."""
    n = 40
    first = rng.integers(3, size=n)
    state = np.where(rng.random(n) < 0.7, first, rng.integers(3, size=n))
    columns = {"a": first, "b": rng.integers(2, size=n), "c": rng.integers(2, size=n), "state": state}
    words = np.array(["x", "y", "z"])
    return pd.DataFrame({name: words[codes] for name, codes in columns.items()} | {"class": words[first // 2]})


def test_alpha_of_pycanon_is_the_highest_confidence(rng):
    """With all values of a column bounded, alpha is the stated highest confidence, before and after, and at most h."""
    channel, lowered = ["a", "b", "c"], 0
    for percent in (60, 70, 80, 90):
        table = some_table(rng)
        template = [{"channel": channel, "sensitive": {"state": ["x", "y", "z"]}, "confidence": f"{percent}%"}]
        released, done = suppress(table, template, "class")
        before, after = (pycanon.alpha_k_anonymity(each, channel, ["state"])[0] for each in (table, released))
        assert Fraction(after).limit_denominator(40) == max(each.confidence for each in done.checked)
        assert after <= percent / 100
        found = check(table, template).violations
        assert (before > percent / 100) == bool(found)
        if found:
            assert Fraction(before).limit_denominator(40) == max(each.confidence for each in found)
            lowered += 1
    assert lowered >= 2
