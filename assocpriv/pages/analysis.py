"""What the operator asks of the collection, answered by the package's own commands in processes beside the server.

So the collection goes on while they compute: one at a time, at low priority, for a bounded time. Answers are kept by
question, and taken again while the number of reports is the same.
"""

import asyncio
import contextlib
import json
import logging
import os
import shutil
import sys
import tempfile
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MOST_SECONDS = 600.0  # of one command
_LEAST_AGE = 20.0  # seconds before a question is answered anew, however fast reports come
_MOST_ANSWERS = 16
_MOST_ROWS = 2000  # of a list in an answer that are kept
_LOG = logging.getLogger("assocpriv")
Record = dict[str, Any]


@dataclass(frozen=True)
class Question:
    """Commands to run one after the other, by the name of what each tells.

    ``{made}`` in an argument is a folder for what they make, ``{reports}`` the number of reports. A command that fails
    leaves a line in place of its record, and those that need its output fail, too.
    """

    name: str
    steps: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class Answer:
    """What the commands said, by name: a record or, of one that failed, its error; and the ``files`` they made."""

    reports: int
    done_at: float
    records: Mapping[str, Record]
    errors: Mapping[str, str]
    files: Mapping[str, bytes]


class Analyst:
    """Answers questions one at a time; used on one event loop."""

    def __init__(
        self,
        seconds: float = MOST_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        *,
        least_age: float = _LEAST_AGE,
    ) -> None:
        self._seconds, self._clock, self._least_age = seconds, clock, least_age
        self._answers: OrderedDict[Question, Answer] = OrderedDict()
        self._waiting: OrderedDict[Question, int] = OrderedDict()
        self._task: asyncio.Task[None] | None = None

    def ask(self, question: Question, reports: int) -> tuple[Answer | None, bool]:
        """Return the last answer, which may be of fewer reports, and whether a newer one is being made.

        A new one is begun if reports came since the last, and that is old enough.
        """
        answer = self._answers.get(question)
        if answer is not None:
            self._answers.move_to_end(question)
        young = answer is not None and self._clock() - answer.done_at < self._least_age
        if answer is None or (answer.reports != reports and not young):
            self._waiting[question] = reports
            while len(self._waiting) > _MOST_ANSWERS:
                self._waiting.popitem(last=False)
            if self._task is None or self._task.done():
                self._task = asyncio.get_running_loop().create_task(self._answer_all())
        return answer, question in self._waiting

    def last(self, question: Question) -> Answer | None:
        """Return the last answer, and begin none."""
        return self._answers.get(question)

    async def close(self) -> None:
        """End what is being computed."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _answer_all(self) -> None:
        while self._waiting:
            question, reports = next(iter(self._waiting.items()))
            try:
                self._answers[question] = await self._answer(question, reports)
            except (OSError, ValueError) as error:  # no room for what is made, no process, an answer that is none
                said = f"cannot be computed: {getattr(error, 'strerror', None) or type(error).__name__}"
                _LOG.error("the operator's page: %s", said)
                errors = {name: said for name, _ in question.steps}
                self._answers[question] = Answer(reports, self._clock(), {}, errors, {})
            finally:
                self._waiting.pop(question, None)
            while len(self._answers) > _MOST_ANSWERS:
                self._answers.popitem(last=False)

    async def _answer(self, question: Question, reports: int) -> Answer:
        records, errors = dict[str, Record](), dict[str, str]()
        with tempfile.TemporaryDirectory(prefix="assocpriv-admin-") as made:
            for name, arguments in question.steps:
                words = [each.replace("{made}", made).replace("{reports}", str(reports)) for each in arguments]
                done = await run_command(words, self._seconds)
                if isinstance(done, str):
                    errors[name] = done
                else:
                    records[name] = done
            files = {path.name: path.read_bytes() for path in Path(made).glob("*.json")}
        return Answer(reports, self._clock(), records, errors, files)


async def run_command(arguments: Sequence[str], seconds: float) -> Record | str:
    """Run a command of assocpriv with ``--json``; return its record, or its error in a line."""
    lower = [nice, "-n", "10"] if (nice := shutil.which("nice")) else []
    # modules from where this process has them: -m alone would take a numbers.py that lies in the current folder
    path = os.pathsep.join(filter(None, sys.path))
    process = await asyncio.create_subprocess_exec(
        *lower, sys.executable, "-P", "-m", "assocpriv", *arguments, "--json", env={**os.environ, "PYTHONPATH": path},
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        async with asyncio.timeout(seconds):
            said, talk = await process.communicate()
    except TimeoutError:
        return f"took more than {seconds:.0f} seconds and was ended; run assocpriv {arguments[0]} by hand"
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return await asyncio.to_thread(_read, process.returncode, said, talk)


def _read(status: int | None, said: bytes, talk: bytes) -> Record | str:
    """Return a command's record, its lists cut to what a page shows, or its error in a line."""
    if status == 0:
        record: Record = json.loads(said)
        cut = {name: rows[:_MOST_ROWS] for name, rows in record.items() if isinstance(rows, list)}
        return record | cut | {f"{name}_count": len(record[name]) for name in cut}
    lines = talk.decode("utf-8", "replace").splitlines()
    error = next((line for line in reversed(lines) if line.startswith("Error: ")), None)
    return error.removeprefix("Error: ") if error else f"ended with status {status}"
