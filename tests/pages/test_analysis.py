"""Tests of what runs beside the collection, and of the rate at which reports come."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

import assocpriv as ap
from assocpriv.collect.metrics import Rate
from assocpriv.pages import operator
from assocpriv.pages.operator import Analyst, Answer, Question, _when, run_command


class Commands:
    """Stands in for commands: notes them, and how many ran at once."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ran, self.now, self.most = list[tuple[str, ...]](), 0, 0
        monkeypatch.setattr(operator, "run_command", self)

    async def __call__(self, arguments: list[str], seconds: float) -> dict[str, Any] | str:
        """Take a moment; a command named ``fails`` fails."""
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.001)
        self.ran.append(tuple(arguments))
        self.now -= 1
        return "it failed" if arguments[0] == "fails" else {"said": arguments[-1]}


def question(name: str, *commands: str) -> Question:
    """Return a question of commands, each with the number of reports as its argument."""
    return Question(name, tuple((command, (command, "{reports}")) for command in commands))


async def answered(analyst: Analyst, asked: Question, reports: int) -> tuple[Answer, bool]:
    """Return the answer of so many reports once it is there."""
    for _ in range(6000):
        answer, working = analyst.ask(asked, reports)
        if answer is not None and answer.reports == reports:
            return answer, working
        await asyncio.sleep(0.01)
    raise AssertionError("there was no answer within a minute")


def test_an_answer_is_kept_while_no_report_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same number of reports asks nothing, a new one does once the answer is old enough; one runs at a time."""
    commands, clock = Commands(monkeypatch), [0.0]

    async def try_all() -> None:
        analyst = Analyst(clock=lambda: clock[0])
        first, second = question("a", "one", "fails", "two"), question("b", "three")
        assert analyst.ask(first, 5) == (None, True)
        assert analyst.ask(second, 5) == (None, True)
        answer, working = await answered(analyst, first, 5)
        assert await answered(analyst, second, 5)
        assert (answer.reports, answer.records, answer.errors, working) == (
            5, {"one": {"said": "5"}, "two": {"said": "5"}}, {"fails": "it failed"}, False,
        )  # fmt: skip
        assert analyst.ask(first, 6) == (answer, False)
        clock[0] = 20.0
        assert analyst.ask(first, 5) == (answer, False)
        assert analyst.ask(first, 6) == (answer, True)
        newer, _ = await answered(analyst, first, 6)
        assert newer.reports == 6
        await analyst.close()

    asyncio.run(try_all())
    assert [words[0] for words in commands.ran] == ["one", "fails", "two", "three", "one", "fails", "two"]
    assert commands.most == 1


def test_what_cannot_be_computed_is_said(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Where no process begins there is an answer that says so, and the page goes on."""

    async def no_process(*_: Any) -> None:
        raise OSError(12, "no memory")

    async def try_it() -> None:
        analyst = Analyst()
        answer, working = await answered(analyst, question("a", "one"), 5)
        assert (answer.errors, working) == ({"one": "cannot be computed: no memory"}, False)

    monkeypatch.setattr(operator, "run_command", no_process)
    asyncio.run(try_it())


def test_commands_are_the_package_s_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record comes back, an error as its one line, a late one is ended; no module of the current folder is run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "numbers.py").write_text("raise SystemExit('this is not the standard library')")

    async def run_all() -> list[Any]:
        plan, missing = tmp_path / "p.json", ["inspect", str(tmp_path / "none.json")]
        plan.write_text(ap.plan(items=9, transaction_size=2, promise=ap.Breach("5%", "50%")).canonical_json)
        record, error = await asyncio.gather(run_command(["inspect", str(plan)], 60), run_command(missing, 60))
        return [record, error, await run_command(missing, 0.01)]

    record, error, late = asyncio.run(run_all())
    assert record["items"] == 9
    assert error == f"there is no file {tmp_path / 'none.json'}"
    assert late.startswith("took more than 0 seconds and was ended")


def test_lists_in_a_record_are_cut() -> None:
    """A page shows some rows and how many there are."""
    record = operator._read(0, b'{"rows": [%s0]}' % (b"0," * 4999), b"")
    assert isinstance(record, dict)
    assert (len(record["rows"]), record["rows_count"]) == (2000, 5000)
    assert operator._read(-9, b"", b"talk\n") == "ended with status -9"


def test_a_rate_is_that_of_the_last_day() -> None:
    """None is told in the first half minute; what came more than a day ago no longer counts."""
    clock = [0.0]
    rate = Rate(100, lambda: clock[0])
    assert rate.per_second(130) is None
    clock[0] = 60.0
    assert rate.per_second(160) == (1.0, 60.0)
    clock[0] = 86_400.0 + 60
    assert rate.per_second(160) == (0.0, 86_400.0)


@pytest.mark.parametrize(
    ("needed", "per_second", "said"),
    [
        (None, 1.0, "never under this plan"),
        (100, None, "now"),
        (101, None, "not known yet"),
        (101, 0.0, "no reports come"),
        (7300, 1.0, "in about 2 hours"),
    ],
)
def test_when_a_support_can_be_told(needed: int | None, per_second: float | None, said: str) -> None:
    """From how many reports there are, 100 here, and how fast they come."""
    assert _when(needed, 100, per_second) == said
