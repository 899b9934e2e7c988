"""The limits of suppression stated in docs/privacy-claims.md, each with a table where the property fails."""

from fractions import Fraction

import pandas as pd

from assocpriv.suppress import suppress

ILL = {"sensitive": {"state": ["ill"]}}


def highest(table, channel, column="state", value="ill"):
    """Return the highest share of a value among records that agree on some columns, exactly."""
    hits = (table[column] == value).groupby([table[name] for name in channel])
    return max(Fraction(int(n), int(total)) for n, total in zip(hits.sum(), hits.count(), strict=True))


def test_two_releases_of_a_table_disclose_more_than_each():
    """Two releases of one table, each within its bound, disclose more together where payloads link the rows."""
    rows = [("cook", "US", "ill", 1), ("cook", "UK", "well", 2), ("clerk", "US", "well", 3), ("clerk", "UK", "well", 4)]
    table = pd.DataFrame(rows * 2, columns=["job", "land", "state", "day"]).assign(hour=[8] * 4 + [9] * 4)
    first, second = (
        suppress(table, [{"channel": [known], "confidence": "50%"} | ILL], columns={dropped: "drop"})[0]
        for known, dropped in (("job", "land"), ("land", "job"))
    )
    assert highest(first, ["job"]) == highest(second, ["land"]) == Fraction(1, 2)
    assert highest(first.merge(second, on=["state", "day", "hour"]), ["job", "land"]) == 1


def test_columns_outside_the_channels_may_disclose_all():
    """A column in no channel is released unchanged, even if it determines the sensitive value of every record."""
    table = pd.DataFrame({"job": ["a", "a", "b", "b"], "ward": [1, 2, 1, 2], "state": ["ill", "well"] * 2})
    released, _ = suppress(table, [{"channel": ["job"], "confidence": "50%"} | ILL])
    assert highest(released, ["job"]) == Fraction(1, 2)
    assert highest(released, ["ward"]) == 1


def test_the_union_of_values_exceeds_their_bounds():
    """Each sensitive value is bounded separately: the disjunction of two may be certain, and so may be neither."""
    table = pd.DataFrame({"job": ["a"] * 2 + ["b"] * 2, "state": ["ill", "dead", "well", "well"]})
    template = {"channel": ["job"], "sensitive": {"state": ["ill", "dead"]}, "confidence": "50%"}
    released, _ = suppress(table, [template])
    assert not released.eq("*").any(axis=None)
    assert highest(released.assign(either=released["state"].ne("well")), ["job"], "either", True) == 1
    assert highest(released, ["job"], value="well") == 1


def test_knowledge_of_another_record_exceeds_the_bound():
    """Knowing that one record of a group is well reduces the group by a record, and exceeds the bound."""
    table = pd.DataFrame({"job": ["a", "a", "b", "b"], "state": ["ill", "well", "well", "well"]})
    released, _ = suppress(table, [{"channel": ["job"], "confidence": "50%"} | ILL])
    assert highest(released, ["job"]) == Fraction(1, 2)
    other = released[released["state"].eq("well") & released["job"].eq("a")].index[0]
    assert highest(released.drop(index=other), ["job"]) == 1
