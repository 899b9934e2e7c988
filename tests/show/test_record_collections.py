"""Collections give the same content as text, JSON and HTML: catalogues, baskets, devices, keys and folders."""

import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from naive import planned
from shown import check

import assocpriv as ap
from assocpriv.client.baskets.transactions import BasketCounts
from assocpriv.client.ledger import DeviceReport
from assocpriv.client.upload import QueueResult, SentReport
from assocpriv.collect.folder import CollectionStatus
from assocpriv.collect.gather import GatheredPlan, GatherResult, RefusedFile
from assocpriv.collect.keys import SourceKey
from assocpriv.guarantees.shuffle_model import CentralGuarantee
from assocpriv.records.basket_files import ReadCounts
from assocpriv.show import collection_views, text_renderer
from assocpriv.show.result_record import Record
from tests.vectors.make_devices import spent_by

PLAN = planned(12, 2, ap.Guarantee("5%", "50%"))
STATUS = CollectionStatus(
    PLAN.plan_id, 1200, 34, {0: 34, 7: 1200}, {7: 3, 9: 5}, 0, 1000, 0, True, None, served=False, ended=False
)


def noted(record: Record) -> str:
    """Return the text of a record's notes, checked like a result."""
    return check(Record(record.content, record.notes))


def test_catalogues() -> None:
    """Problems are listed with their names; without a file the names are the result, one per line."""
    made = ap.catalogues.draft_catalogue([[["Milk", "ice  cream"], ["milk", "tea"], ["tea"]]])
    record = collection_views.draft(made, None)
    assert check(record).split("\n") == list(made.catalogue)
    assert "1 name changed to Unicode form NFC" in noted(record)
    assert "names differ only in case, Unicode form, blanks or leading zeros: Milk | milk" in noted(record)
    assert check(collection_views.draft(made, Path("n.txt"))).startswith("4 names written to n.txt")
    checked = replace(ap.catalogues.check_catalogue(made.catalogue), odd=("a  b",))
    use = ap.catalogues.try_catalogue(made.catalogue, [[["milk", "rye"]]])
    output = check(collection_views.check(checked, use))
    assert "1 name not in Unicode form NFC with single blanks, as 'a  b'" in output
    assert "1 basket: 1 item not in the catalogue; 3 names of it in no basket" in output


@pytest.mark.parametrize("people", [None, 30])
def test_baskets_that_were_randomized(people: int | None) -> None:
    """Written, skipped and merged baskets, their people, and the loss by truncation."""
    done = BasketCounts(ReadCounts(50, 7, 2, 1), Counter({0: 4, 2: 20, 5: 16}), people)
    record = collection_views.randomized(done, PLAN, "r.parquet")
    assert check(record) == "40 reports of 1 byte written to r.parquet"
    output = noted(record)
    for line in ("7 items outside the catalogue dropped", "2 repeated items merged", "1 empty basket kept",
                 "3 of 50 baskets hold none of the catalogue's items; compare the spelling of names"):  # fmt: skip
        assert line in output
    assert ("of each of 30 people; 10 baskets left out" in output) == (people is not None)
    assert ("each basket counts as a different person" in output) == (people is None)
    assert "16 of 40 baskets have more than 2 items" in output


def test_devices() -> None:
    """A report and its state, the device's spent budget, and the note where no γ is stated."""
    made = DeviceReport(PLAN, True, 1, 0, Fraction(37, 2))
    assert check(collection_views.device(made, Path("r.bin"))).splitlines()[1:] == [
        f"plan {PLAN.plan_id[:16]}…: 1 report made, 0 remaining",
        "privacy budget spent in all: γ ≤ 18.5, ε ≤ 2.91778",
    ]
    central = replace(PLAN, central=CentralGuarantee(Fraction(1), Fraction(1, 10**8), 100_000))
    output = check(collection_views.device(replace(made, plan=central), Path("r")))
    assert "send it alone, through a relay of another party" in output
    sent = SentReport("already sent", PLAN.plan_id, 2, False, 1, 3, None, "no γ is stated")
    output = check(collection_views.sent(sent, "https://shop.example"))
    assert "report made before, 2 bytes, already sent to https://shop.example" in output
    assert output.endswith("no γ is stated")
    output = check(collection_views.queue_sent(QueueResult(3, 1), "https://shop.example"))
    assert "1 report of other plans still queued" in output


def test_gathering() -> None:
    """Each collection, refused files by name, and repeated files; a note if there is nothing to do."""
    refused = tuple(RefusedFile(f"in/{place}\n", "has 3 bytes, where a report has 2") for place in range(25))
    plans = GatheredPlan(PLAN, Path("c"), 3, 1, 1234, 34), GatheredPlan(PLAN, Path("d"), 0, 0, 0, 0)
    record = collection_views.gathered(GatherResult(plans, 131, refused))
    assert check(record).startswith("3 reports gathered into c, which holds 1,234 now; plan ")
    assert "34 of them are in the open batch" in check(record)
    assert noted(record).count("not gathered: in/") == 20
    assert "and 111 more" in noted(record)
    assert "nothing to do" in check(collection_views.gathered(GatherResult((), 0, ())))


def test_keys() -> None:
    """A table of keys, a new key, a revoked key, and no key."""
    till = SourceKey(1, "till 7", "0" * 64, 5000)
    assert "revoked" in check(collection_views.keys([till, SourceKey(22, "תה", "0" * 64, revoked=True)]))
    assert check(collection_views.new_key(till, "assocpriv_x")) == "assocpriv_x"
    assert noted(collection_views.new_key(till, "assocpriv_x")).startswith("key 1, shown only now")
    assert "key 1 (till 7) is revoked" in check(collection_views.revoked_key(till))
    assert "no keys" in check(collection_views.keys([]))


def test_folders() -> None:
    """The content of a folder by key, set-aside files, and remaining work."""
    output = check(collection_views.status(STATUS))
    assert "1,234 reports: 1,200 in closed batches, 34 open; minimum batch size 1,000" in output
    assert "70 reports removed" in check(collection_views.status(replace(STATUS, removed=70)))
    assert [line.split() for line in output.splitlines()[-4:]] == [
        ["key", "reports", "set", "aside"], ["none", "34", "—"], ["7", "1,200", "3"], ["9", "—", "5"],
    ]  # fmt: skip
    assert "5 open in PostgreSQL" in check(collection_views.status(replace(STATUS, in_database=5)))
    assert "stop the collector" in check(collection_views.status(replace(STATUS, in_database=None)))
    alone = replace(STATUS, by_key={0: 34}, set_aside={}, ended=True)
    assert "ended" in check(collection_views.status(alone))
    for relay, words in ((None, ""), ("only", " through a relay only"), ("also", " directly or through a relay")):
        lines = check(collection_views.status(replace(alone, ended=False, keys=False, relay=relay))).splitlines()
        assert any(line.endswith(f"everyone may send{words}") for line in lines)
    assert len(text_renderer.lines(collection_views.status(alone))) == 2
    assert "--revoke 7" in check(collection_views.set_aside(3, 7, Path("c"), restore=False))
    assert check(collection_views.set_aside(3, 7, Path("c"), restore=True)) == "3 reports of key 7 restored to c"


SPENT = json.loads((Path(__file__).parents[1] / "vectors" / "devices.json").read_text(encoding="ascii"))["spent"]


@pytest.mark.parametrize("name", SPENT)
def test_the_budget_spent_by_a_device(name: str) -> None:
    """Every figure of the two lines is in the JSON content and on a page."""
    case = SPENT[name]
    found = spent_by([(plan, gamma) for plan, gamma, times in case["reports"] for _ in range(times)], case["limit"])
    assert check(collection_views.spent(found)).splitlines() == case["lines"]
    assert "<p>This device&#39;s ledger holds " in found._repr_html_()


def test_closing_and_removing() -> None:
    """The number of reports, the cost of a small batch, and reports removed by day or without one."""
    few = collection_views.closed(3, 1000, Path("c"), ended=True)
    assert check(few) == "3 reports closed; c has ended, and takes no more reports"
    assert "below the minimum of 1,000" in noted(few)
    assert "one of 3" in noted(few)
    assert noted(collection_views.closed(1000, 1000, Path("c"), ended=False)) == ""
    output = collection_views.removed({"2026-01-01": 1200}, 2, 365)
    assert check(output).splitlines()[0] == "1,200 reports removed, from batches closed more than 365 days ago"
    assert "2 files without a day kept" in noted(output)
