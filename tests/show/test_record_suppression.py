"""Records of suppressions: inferences above their bounds, hidden cells, and the owner's page."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from shown import check

import assocpriv as ap
from assocpriv.show import suppression_views
from assocpriv.show.result_pages import fragment

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
    """Return the report of a released table."""
    _, done = ap.suppress.suppress(CELLS, OF_CELLS, columns=4, **options)
    return ap.suppress.record(done)


def test_a_check_lists_inferences_above_their_bounds() -> None:
    """The highest confidence first, with the number of records; also for baskets; or a note that none is above."""
    output = check(suppression_views.check(ap.suppress.record(ap.suppress.check(CELLS, OF_CELLS, columns=4))))
    assert "bins        age: " in output
    assert output.index(" 100.0%      45%        5  job = <b>, age =") < output.index(
        "  45.5%      45%       11  job = <b> →"
    )
    found = ap.suppress.record(ap.suppress.check(BASKETS, OF_ITEMS))
    assert "100.0%      60%        2  <i> = yes, tea = yes → milk = yes" in check(suppression_views.check(found))
    passed = ap.suppress.record(ap.suppress.check(BASKETS[-2:], [OF_ITEMS[0] | {"channel": ["bread"]}]))
    assert "no inference is above its bound" in check(suppression_views.check(passed))


@pytest.mark.parametrize("name", ["cells", "items"])
def test_a_release_shows_hidden_cells_and_method(name: str) -> None:
    """Hidden cells by column or item, and tests; the page is marked for the owner; names are escaped."""
    content = ap.suppress.record(ap.suppress.suppress(BASKETS, OF_ITEMS)[1]) if name == "items" else cells()
    output = check(suppression_views.release(content, Path("out.csv")))
    assert "written to out.csv" in output
    page = suppression_views.page(content)
    check(page)
    shown = str(fragment(page))
    for each in content["cells"]:
        assert each in output
    assert "1 test" in output or " tests, " in output
    assert "It is for the owner" in shown
    assert "It is for the owner" not in output
    assert not any(tag in shown for tag in ("<b>", "<i>", "<script"))


def test_long_lists_are_cut() -> None:
    """A page of few rows states how many are left out."""
    assert "… and 1 more" in check(suppression_views.page(cells(), rows=1))
