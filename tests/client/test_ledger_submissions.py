"""What a ledger keeps for sending: ids of submissions, what waits, drawn rounds; ledgers of the first version go on."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from naive import fixed_plan, small_plan

from assocpriv.client.ledger import Ledger, hash_occasion
from assocpriv.client.ledger_book import LedgerBook
from assocpriv.client.ledger_records import FIRST_HEADER, MARK, Acknowledged, DrawnRound, Entry, Waiting, parse_ledger
from assocpriv.core.errors import BudgetError, FileError, PlanError
from assocpriv.core.privacy import Breach
from assocpriv.lab.enumeration import distribution
from assocpriv.plans.campaign import Campaign
from tests.vectors import device_decoder as decoder

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "devices.json").read_text(encoding="ascii"))
PLAN = replace(small_plan("none", 125, 2, 2), reports_per_person=3)
BASKET = ["1", "3"]
FIRST, SECOND = (fixed_plan(2, 1, 1, 1, shares=[1, 3]), fixed_plan(2, 1, 1, 1, shares=[2, 3]))
CAMPAIGN = Campaign("", Breach("5%", "50%"), (3, 5, 2), FIRST.plan_id)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A place for a ledger."""
    return tmp_path / "ledger.bin"


def as_content(record: Any) -> dict[str, Any]:
    """Return a record as the second reader has it."""
    if isinstance(record, Entry):
        gamma = "none" if record.amplification is None else str(record.amplification)
        submission = record.submission_id and record.submission_id.hex()
        return {"kind": 1 + record.waits, "plan": record.plan_id, "occasion": record.occasion.hex(), "id": submission,
                "gamma": gamma, "report": record.report.hex()}  # fmt: skip
    if isinstance(record, Waiting):
        return {"kind": 3, "of": record.entry, "id": record.submission_id.hex()}
    if isinstance(record, Acknowledged):
        return {"kind": 4, "of": record.entry}
    return {"kind": 5, "campaign": record.campaign_id, "round": record.round_number}


@pytest.mark.parametrize("name", VECTORS["ledgers"])
def test_both_read_ledgers_alike(name: str) -> None:
    """The second reader and the package find the same records, or both refuse; written again the bytes are the same."""
    content, wanted = bytes.fromhex(VECTORS["ledgers"][name]["bytes"]), VECTORS["ledgers"][name]["found"]
    try:
        assert list(decoder.read_ledger(content)) == wanted
    except decoder.RefusedError:
        assert wanted == "refuse"
    try:
        records, end, marked = parse_ledger(content)
        book = LedgerBook()
        found = [list(map(as_content, records)), end] if all(list(map(book.add, records))) else "refuse"
    except FileError:
        found = "refuse"
    assert found == wanted
    if wanted != "refuse" and end:
        written = content[:20] + b"".join(record.to_bytes() + MARK for record in records)
        assert written[: end if marked else -len(MARK)] == content[:end]


def test_a_submission_waits_until_it_is_acknowledged(path: Path) -> None:
    """The same id and bytes at every attempt, also after a restart; acknowledged, it waits no more."""
    with Ledger.open(path) as ledger:
        made = [ledger.submit(BASKET, PLAN, occasion=name) for name in ("w1", "w2")]
        assert len({each.submission_id for each in made}) == 2
        assert {len(each.submission_id) for each in made} == {16}
        assert ledger.submit([], PLAN, occasion="w1") == made[0]
        assert ledger.unsent() == tuple(made)
        assert ledger.report([], PLAN, occasion="w1") == made[0].report
    with Ledger.open(path) as ledger:
        assert ledger.unsent() == tuple(made)
        for _ in range(2):
            ledger.acknowledge(made[0])
        assert ledger.unsent() == (made[1],)
    with Ledger.open(path) as ledger:
        assert ledger.unsent() == (made[1],)
        assert ledger.submit([], PLAN, occasion="w1") == replace(made[0], acknowledged=True)
        assert (ledger.spent(PLAN), ledger.left(PLAN)) == (2, 1)


def test_what_was_handed_out_does_not_wait(path: Path) -> None:
    """A report for a file is not sent by --unsent; asked for by a collector, it is, under the id that it has."""
    with Ledger.open(path) as ledger:
        report = ledger.report(BASKET, PLAN, occasion="w1")
        assert ledger.unsent() == ()
        (record,) = parse_ledger(path.read_bytes())[0]
        assert isinstance(record, Entry)
        asked = ledger.submit([], PLAN, occasion="w1")
        assert (asked.report, asked.submission_id) == (report, record.submission_id)
    with Ledger.open(path) as ledger:
        assert ledger.unsent() == (asked,)


def test_a_ledger_of_the_first_version_goes_on(path: Path) -> None:
    """Its bytes stay; new records follow; equal records of two people get ids that differ."""
    told = Entry(1, PLAN.plan_id, hash_occasion("w1"), PLAN.amplification, bytes(16))
    old = FIRST_HEADER + told.to_bytes() + MARK
    ids = []
    for place in range(2):
        person = path.with_name(f"{place}.bin")
        person.write_bytes(old)
        with Ledger.open(person) as ledger:
            assert ledger.report([], PLAN, occasion="w1") == told.report
            assert person.read_bytes() == old
            assert ledger.unsent() == ()
            ids.append(ledger.submit([], PLAN, occasion="w1").submission_id)
            ledger.submit(BASKET, PLAN, occasion="w2")
        with Ledger.open(person) as ledger:
            assert ledger.unsent()[0].submission_id == ids[-1]
            assert (ledger.spent(PLAN), len(ledger.unsent())) == (2, 2)
            assert ledger.amplification == PLAN.amplification**2
        assert person.read_bytes().startswith(old)
    assert ids[0] != ids[1]


def test_what_cannot_follow_is_damage(path: Path) -> None:
    """A whole record that no device writes there is refused on opening, and nothing is handed out."""
    with Ledger.open(path) as ledger:
        ledger.submit(BASKET, PLAN, occasion="w1")
    with path.open("ab") as file:
        file.write(Acknowledged(2, 2).to_bytes() + MARK)
    with pytest.raises(FileError, match="damaged at record 2"):
        Ledger.open(path)


# ---- campaigns


def test_a_round_is_drawn_once(path: Path) -> None:
    """It is on disk before it is told, the same after restarts, and each campaign has its own."""
    with Ledger.open(path) as ledger:
        drawn = ledger.draw_round(CAMPAIGN)
        (record,) = parse_ledger(path.read_bytes())[0]
        assert record == DrawnRound(1, CAMPAIGN.campaign_id, drawn)
    for _ in range(3):
        with Ledger.open(path) as ledger:
            assert ledger.draw_round(CAMPAIGN) == drawn
    with Ledger.open(path) as ledger:
        assert ledger.draw_round(replace(CAMPAIGN, rounds=(7,))) == 1
        assert ledger.draw_round(CAMPAIGN) == drawn


def test_nobody_answers_twice_in_a_campaign(path: Path) -> None:
    """Whatever plan the round has later, the one report is sent again; another campaign with its plan gets none new."""
    with Ledger.open(path) as ledger:
        with pytest.raises(PlanError, match="drawn no round"):
            ledger.submit_round(["1"], FIRST, CAMPAIGN)
        ledger.draw_round(CAMPAIGN)
        with pytest.raises(PlanError, match="lets a person report 3 times"):
            ledger.submit_round(BASKET, PLAN, CAMPAIGN)
        made = ledger.submit_round(["1"], FIRST, CAMPAIGN)
        for plan in (FIRST, SECOND, PLAN):
            assert ledger.submit_round(["0"], plan, CAMPAIGN) == made
        assert ledger.answered(CAMPAIGN) == made
        again = replace(CAMPAIGN, name="again")
        ledger.draw_round(again)
        for plan in (FIRST, FIRST):
            with pytest.raises(BudgetError, match="made 1 of the 1 report"):
                ledger.submit_round(["1"], plan, again)
        assert (ledger.spent(FIRST), ledger.spent(SECOND)) == (1, 0)
    with Ledger.open(path) as ledger:
        assert ledger.unsent() == (made,)


def test_what_is_seen_has_the_promise_of_the_report(tmp_path: Path) -> None:
    """Round and report of the shipping ledger, draw by draw: weight_i / sum · P[y | record], so γ is the report's."""
    plans = {1: FIRST, 2: SECOND, 3: FIRST}
    seen = {}
    for held in ("0", "1"):
        count = iter(range(10**6))

        def answer(entropy: Any, held: str = held, count: Any = count) -> tuple[int, bytes]:
            with Ledger.open(tmp_path / f"{held}-{next(count)}") as ledger:
                drawn = ledger.draw_round(CAMPAIGN, entropy=entropy)
                return drawn, ledger.submit_round([held], plans[drawn], CAMPAIGN, entropy=entropy).report

        seen[held] = distribution(answer)
    for held, other in (("0", "1"), ("1", "0")):
        for drawn, weight in enumerate(CAMPAIGN.rounds, 1):
            of_round = {y: p for (i, y), p in seen[held].items() if i == drawn}
            assert sum(of_round.values()) == Fraction(weight, 10)
            ratios = [p / seen[other][drawn, y] for y, p in of_round.items()]
            assert max(ratios) == plans[drawn].amplification
    assert max(p / seen["1"][key] for key, p in seen["0"].items()) == max(FIRST.amplification, SECOND.amplification)
