"""Collections say the same as text, JSON and HTML: catalogues, baskets, devices, gathering, keys and folders."""

import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from naive import planned
from shown import check

import assocpriv as ap
from assocpriv.client.ledger import DeviceReport
from assocpriv.client.sending import SentReport, SentWaiting
from assocpriv.client.transactions import BasketCounts
from assocpriv.collect.folder import CollectionStatus
from assocpriv.collect.gather import Gathered, GatheredPlan, Refusal
from assocpriv.collect.keys import SourceKey
from assocpriv.promise.shuffling import CentralPromise
from assocpriv.records.basket_files import ReadCounts
from assocpriv.show import collections, text
from assocpriv.show.record import Record
from tests.vectors.make_devices import told_by

PLAN = planned(12, 2, ap.Breach("5%", "50%"))
STATUS = CollectionStatus(
    PLAN.plan_id, 1200, 34, {0: 34, 7: 1200}, {7: 3, 9: 5}, 0, 1000, 0, True, None, served=False, closed=False
)


def noted(record: Record) -> str:
    """Return what a record's notes say, which are checked as a result is."""
    return check(Record(record.content, record.notes))


def test_catalogues() -> None:
    """What is odd is said with its names; without a file the names are the result, a line each."""
    made = ap.draft_catalogue([[["Milk", "ice  cream"], ["milk", "tea"], ["tea"]]])
    record = collections.draft(made, None)
    assert check(record).split("\n") == list(made.catalogue)
    assert "1 name put into Unicode form NFC" in noted(record)
    assert "names differ only in case, Unicode form, blanks or leading zeros: Milk | milk" in noted(record)
    assert check(collections.draft(made, Path("n.txt"))).startswith("4 names written to n.txt")
    checked = replace(ap.check_catalogue(made.catalogue), odd=("a  b",))
    use = ap.try_catalogue(made.catalogue, [[["milk", "rye"]]])
    said = check(collections.check(checked, use))
    assert "1 name not in Unicode form NFC with single blanks, as 'a  b'" in said
    assert "1 basket: 1 item not in the catalogue; 3 names of it in none of them" in said


@pytest.mark.parametrize("people", [None, 30])
def test_baskets_that_were_randomized(people: int | None) -> None:
    """What was written, what was left out or merged, whose baskets they are, and what sampling loses."""
    done = BasketCounts(ReadCounts(50, 7, 2, 1), Counter({0: 4, 2: 20, 5: 16}), people)
    record = collections.randomized(done, PLAN, "r.parquet")
    assert check(record) == "40 reports of 1 byte written to r.parquet"
    said = noted(record)
    for line in ("7 items outside the catalogue dropped", "2 repeated items merged", "1 empty baskets kept",
                 "3 of 50 baskets hold none of the catalogue's items; check that names are"):  # fmt: skip
        assert line in said
    assert ("of 30 people; 10 left out" in said) == (people is not None)
    assert ("every basket counts as another person's" in said) == (people is None)
    assert "16 of 40 baskets are longer than 2 items" in said


def test_devices() -> None:
    """A report and what became of it, what the device told together, and what holds where no γ is stated."""
    made = DeviceReport(PLAN, True, 1, 0, Fraction(37, 2))
    assert check(collections.device(made, Path("r.bin"))).splitlines()[1:] == [
        f"of plan {PLAN.plan_id[:16]}… the ledger counts 1 report; left: 0",
        "all that this device told has γ ≤ 18.5, ε ≤ 2.91778",
    ]
    central = replace(PLAN, central=CentralPromise(Fraction(1), Fraction(1, 10**8), 100_000))
    assert "through a relay of somebody else alone" in check(collections.device(replace(made, plan=central), Path("r")))
    sent = SentReport("sent before", PLAN.plan_id, 2, False, 1, 3, None, "no γ is stated")
    said = check(collections.sent(sent, "https://shop.example"))
    assert "the report made before, 2 bytes, which https://shop.example has already" in said
    assert said.endswith("no γ is stated")
    said = check(collections.waiting(SentWaiting(3, 1), "https://shop.example"))
    assert "1 report of other plans" in said


def test_gathering() -> None:
    """Each collection, what was refused by its name, and files that came again; nothing to do is said."""
    refused = tuple(Refusal(f"in/{place}\n", "has 3 bytes, where a report has 2") for place in range(25))
    done = Gathered(
        (GatheredPlan(PLAN, Path("c"), 3, 1, 1234, 34), GatheredPlan(PLAN, Path("d"), 0, 0, 0, 0)), 131, refused
    )
    record = collections.gathered(done)
    assert check(record).startswith("3 reports gathered into c, which holds 1,234 now; plan ")
    assert "34 of them are not sealed" in check(record)
    assert noted(record).count("left where it is: in/") == 20
    assert "and 111 more" in noted(record)
    assert "nothing to do" in check(collections.gathered(Gathered((), 0, ())))


def test_keys() -> None:
    """A table of them, one that was made, one that is revoked, none."""
    till = SourceKey(1, "till 7", "0" * 64, 5000)
    assert "revoked" in check(collections.keys([till, SourceKey(22, "תה", "0" * 64, revoked=True)]))
    assert check(collections.new_key(till, "assocpriv_x")) == "assocpriv_x"
    assert noted(collections.new_key(till, "assocpriv_x")).startswith("key 1; it is shown this once")
    assert "key 1 (till 7) is revoked" in check(collections.revoked_key(till))
    assert "there are no keys" in check(collections.keys([]))


def test_folders() -> None:
    """What a folder holds, by key; what was set aside, and what is left to do."""
    said = check(collections.status(STATUS))
    assert "1,234 reports: 1,200 sealed, 34 not yet; at least 1,000 are sealed together" in said
    assert "70 reports removed" in check(collections.status(replace(STATUS, removed=70)))
    assert [line.split() for line in said.splitlines()[-4:]] == [
        ["key", "reports", "set", "aside"], ["none", "34", "—"], ["7", "1,200", "3"], ["9", "—", "5"],
    ]  # fmt: skip
    assert "5 in PostgreSQL" in check(collections.status(replace(STATUS, in_database=5)))
    assert "stop the collector" in check(collections.status(replace(STATUS, in_database=None)))
    alone = replace(STATUS, by_key={0: 34}, set_aside={}, closed=True)
    assert "closed" in check(collections.status(alone))
    open_to = {
        relay: check(collections.status(replace(alone, keys=False, relay=relay))).partition("anybody may send")[2]
        for relay in (None, "alone", "may")
    }
    assert [said.partition("\n")[0] for said in open_to.values()] == [
        "",
        ", through a relay alone",
        ", also through a relay",
    ]
    assert len(text.lines(collections.status(alone))) == 2
    assert "--revoke 7" in check(collections.set_aside(3, 7, Path("c"), restore=False))
    assert check(collections.set_aside(3, 7, Path("c"), restore=True)) == "3 reports of key 7 restored to c"


TOLD = json.loads((Path(__file__).parents[1] / "vectors" / "devices.json").read_text(encoding="ascii"))["told"]


@pytest.mark.parametrize("name", TOLD)
def test_what_a_device_told(name: str) -> None:
    """Every figure of the two lines is in the JSON content, and on a page."""
    case = TOLD[name]
    found = told_by([(plan, gamma) for plan, gamma, times in case["reports"] for _ in range(times)], case["limit"])
    assert check(collections.told(found)).splitlines() == case["lines"]
    assert "<p>The ledger of this device counts " in found._repr_html_()


def test_sealing_and_removing() -> None:
    """How many, and what few of them cost; what was removed by its day, and what has none."""
    few = collections.sealed(3, 1000, Path("c"), closed=True)
    assert check(few) == "3 reports sealed; c is closed, and takes no more reports"
    assert "fewer than 1,000" in noted(few)
    assert "one of 3" in noted(few)
    assert noted(collections.sealed(1000, 1000, Path("c"), closed=False)) == ""
    said = collections.removed({"2026-01-01": 1200}, 2, 365)
    assert check(said).splitlines()[0] == "1,200 reports removed, sealed more than 365 days ago"
    assert "2 files without a day stay" in noted(said)
