"""What a ledger keeps for sending: ids of submissions, what waits; ledgers of the first version go on."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from naive import small_plan

from assocpriv.client.ledger import Ledger, LedgerBook, hash_occasion
from assocpriv.client.ledger_file import FIRST_HEADER, MARK, Acknowledged, Entry, Waiting, parse_ledger
from assocpriv.promise.errors import FileError
from tests.vectors import device_decoder as decoder
from tests.vectors import make_devices

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "devices.json").read_text(encoding="ascii"))
PLAN = replace(small_plan("none", 125, 2, 2), reports_per_person=3)
BASKET = ["1", "3"]


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
    return {"kind": 4, "of": record.entry}


def test_vectors_are_what_the_script_makes() -> None:
    """The file holds what the script and the second reader make of it."""
    assert json.loads(json.dumps(make_devices.make_all(decoder))) == VECTORS


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
