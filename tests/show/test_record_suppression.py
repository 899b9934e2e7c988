"""Records of suppressions: what data tell above their bounds, what was withheld, and the owner's page of it."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from walks import check

import assocpriv as ap
from assocpriv.show import suppression
from assocpriv.show.html import fragment

CELLS = pd.DataFrame(
    [("cook", 30, "bad", "no")] * 4 + [("<b>", 41, "good", "no")] * 6 + [("<b>", 52, "bad", "yes")] * 5
    + [(None, 27, "good", "no")] * 3,
    columns=["job", "age", "rating", "debt"],
)  # fmt: skip
OF_CELLS = [
    {"channel": ["job", "age"], "sensitive": {"debt": ["yes"]}, "confidence": "45%"},
    {"channel": ["job"], "sensitive": {"debt": ["yes"]}, "confidence": "45%"},
]
BASKETS = [["tea", "<i>", "milk"]] * 2 + [["tea", "milk"], ["tea"], ["<i>"], ["bread"], ["bread"], ["bread", "milk"]]
OF_ITEMS = [{"channel": ["tea", "<i>"], "sensitive": ["milk"], "confidence": "60%"}]


def cells(**options: Any) -> dict[str, Any]:
    """Return the report of a table that was released."""
    _, done = ap.suppress.suppress(CELLS, OF_CELLS, "rating", bins=4, **options)
    return ap.suppress.publication_record(done)


def test_a_check_lists_what_is_above_its_bound() -> None:
    """The highest confidence first, with the records that it is about; of baskets, too; or that there is nothing."""
    said = check(suppression.check(ap.suppress.check_record(ap.suppress.check(CELLS, OF_CELLS, bins=4))))
    assert "bins        age: " in said
    assert said.index(" 100.0%      45%        5  job = <b>, age =") < said.index(
        "  45.5%      45%       11  job = <b> →"
    )
    found = ap.suppress.item_record(ap.suppress.check_items(BASKETS, OF_ITEMS))
    assert "100.0%      60%        2  <i>, tea → milk" in check(suppression.check(found))
    passed = ap.suppress.item_record(ap.suppress.check_items(BASKETS[-2:], [OF_ITEMS[0] | {"channel": ["bread"]}]))
    assert "no inference is above its bound" in check(suppression.check(passed))


@pytest.mark.parametrize("name", ["cells", "items"])
def test_a_release_says_what_is_withheld_and_why(name: str) -> None:
    """Every suppressed value and dropped item, with what it would tell; the page says whose it is; names are text."""
    content = cells() if name == "cells" else ap.suppress.item_record(ap.suppress.suppress_items(BASKETS, OF_ITEMS))
    said = check(suppression.release(content, Path("out.csv")))
    assert said.endswith("written to out.csv")
    page = suppression.page(content)
    check(page)
    shown = str(fragment(page))
    for each in content["suppressed" if name == "cells" else "dropped"]:
        assert (f"{each['column']} = " if name == "cells" else each["item"]) in said
        if told := each["inference"]:
            assert f"{told['support']:,}" in said
    assert "It stays with the owner" in shown
    assert "It stays with the owner" not in said
    assert not any(tag in shown for tag in ("<b>", "<i>", "<script"))


def test_long_lists_are_cut() -> None:
    """A page of few rows says how many are left out."""
    content = cells()
    assert len(content["suppressed"]) > 1
    assert f"… and {len(content['suppressed']) - 1} more" in check(suppression.page(content, rows=1))
