"""The ledger and the command report for tables: the same bytes again, limits, and records as JSON."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from assocpriv.cli.main import main
from assocpriv.client.any_kind import parse_record
from assocpriv.client.ledger import Ledger
from assocpriv.files.plans import write_plan
from assocpriv.plans.columns import CategoryColumn, Clear, NumberColumn, UniformNoise, Window
from assocpriv.plans.tables import TablePlan
from assocpriv.promise.breaches import Breach
from assocpriv.promise.errors import BudgetError, PlanError, RecordError

CANARY = "7319.25"
AGE = NumberColumn("age", Window(8, 3, 5, 2), True, Fraction(0), Fraction(80), 8)
REGION = CategoryColumn("region", Window(2, 1, 3, 1), False, ("north", "south"))
PROTECTED = TablePlan((AGE, REGION), 2, Breach("5%", "80%"), reports_per_person=2)
PARTLY = TablePlan((AGE, CategoryColumn("job", Clear(2), False, ("a", "b"))), 1, Breach("5%", "50%"))
NOISE = TablePlan((NumberColumn("age", UniformNoise(8, 2), False, Fraction(0), Fraction(80), 8),), 0)


def test_one_record_gives_one_release(tmp_path: Path) -> None:
    """The same occasion gets the same bytes, so that noise cannot be averaged away; a further one is counted."""
    with Ledger.open(tmp_path / "l") as ledger:
        sent = ledger.report({"age": 34, "region": "north"}, PROTECTED, occasion="1")
        assert {ledger.report({"age": 2, "region": "south"}, PROTECTED, occasion="1") for _ in range(40)} == {sent}
        ledger.report({"region": "south"}, PROTECTED, occasion="2")
        assert ledger.amplification == PROTECTED.amplification**2 == Fraction(15, 2) ** 2
        with pytest.raises(BudgetError, match="has made 2 of the 2 reports"):
            ledger.report({"region": "south"}, PROTECTED, occasion="3")
    with Ledger.open(tmp_path / "free") as ledger:
        noisy = ledger.report({"age": 34}, NOISE, occasion="1")
        assert ledger.amplification is None
        assert {ledger.report({"age": 34}, NOISE, occasion="1") for _ in range(40)} == {noisy}


@pytest.mark.parametrize(("plan", "why"), [(NOISE, "states no γ"), (PARTLY, "sends column job, which lie")])
def test_a_limit_refuses_what_no_gamma_covers(tmp_path: Path, plan: TablePlan, why: str) -> None:
    """With a limit neither plans without γ are answered nor those that send columns outside it."""
    record = {"age": 34, "job": "a"} if plan is PARTLY else {"age": 34}
    with Ledger.open(tmp_path / "l", limit=Breach("5%", "99%")) as ledger:
        assert ledger.left(plan) == 0
        with pytest.raises(PlanError, match=why):
            ledger.report(record, plan, occasion="1")
        assert ledger.left(PROTECTED) == 2


@pytest.mark.parametrize(
    "text",
    [b"", b"[]", b'{"age": 1, "age": 2}',
     b'{"age": NaN}', b'{"age": 1', b"\xff", b'{"age": ' + b"9" * 5000 + b"}", b"[" * 9999],
)  # fmt: skip
def test_text_that_is_no_record(text: bytes) -> None:
    """What is no JSON object is refused in one line that shows none of it."""
    with pytest.raises(RecordError, match="must be one JSON object") as caught:
        parse_record(text, PROTECTED)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def report(folder: Path, text: str, plan: TablePlan = PROTECTED, *options: Any) -> Result:
    """Run the command on a record."""
    write_plan(plan, folder / "plan.json", force=True)
    words = ["--plan", folder / "plan.json", "--ledger", folder / "l", "--occasion", "1", "-o", folder / "r.bin"]
    return CliRunner().invoke(main, ["report", *map(str, [*words, *options])], input=text, catch_exceptions=False)


def test_the_command_takes_a_record(tmp_path: Path) -> None:
    """A JSON object on standard input becomes a report; the same occasion gives it again."""
    made = report(tmp_path, '{"age": 34.5, "region": "north"}\n')
    assert "a new report, 2 bytes" in made.stdout
    sent = (tmp_path / "r.bin").read_bytes()
    again = report(tmp_path, '{"age": null, "region": "south"}', PROTECTED, "--force", "--json")
    assert json.loads(again.stdout)["new"] is False
    assert (tmp_path / "r.bin").read_bytes() == sent
    PROTECTED.check_form(np.frombuffer(sent, "u1").reshape(1, -1))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f'{{"age": {CANARY}, "region": "north"}}', "column age has a value outside its range"),
        (f'{{"age": "{CANARY}", "region": "north"}}', "column age takes numbers, got a str"),
        (f'{{"age": [{CANARY}], "region": "north"}}', "column age takes numbers, got a list"),
        (f'{{"age": 1, "region": "{CANARY}"}}', "column region has a value that is none of its 2 values"),
        (f'{{"age": 1, "region": {{"{CANARY}": 1}}}}', "column region has a value that is none of its 2 values"),
        (f'{{"age": 1, "region": "north", "{CANARY}": 1}}', "the record has 1 column beside the plan's"),
        ('{"age": 1}', "column region has no value"),
        (f"age {CANARY}", "must be one JSON object"),
        ("", "must be one JSON object"),
    ],
)
def test_bad_records_spend_nothing(tmp_path: Path, text: str, said: str) -> None:
    """One line, exit status 1, no file, no ledger, and the value nowhere."""
    done = report(tmp_path, text)
    assert done.exit_code == 1
    assert said in done.stderr
    assert CANARY not in done.output
    assert not (tmp_path / "r.bin").exists()
    assert not (tmp_path / "l").exists()


def test_names_are_no_record(tmp_path: Path) -> None:
    """--basket goes with plans of baskets only."""
    done = report(tmp_path, "", PROTECTED, "--basket", "age")
    assert done.exit_code == 2
    assert "--basket does not go with a plan of the kind table" in done.stderr
