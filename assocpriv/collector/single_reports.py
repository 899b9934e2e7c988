"""Single reports: which bytes are one, and of which plan. Only a report's length tells plans apart."""

import errno
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field

from assocpriv.files.reports import IS_LEDGER, LEDGER_NAME
from assocpriv.plans.published import PublishedPlan, pack_reports
from assocpriv.promise.errors import PlanError, WireError, counted

_MOST_NAMED = 100  # of what is refused
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A file that was left, or a report of a stream (its file is ``-``) that was passed over, and why."""

    file: str
    reason: str


@dataclass
class Refusals:
    """What was refused: all are counted, the first hundred are named."""

    count: int = 0
    named: list[Refusal] = field(default_factory=list)

    def add(self, file: str, reason: str) -> None:
        """Count one more, and name it while there is room."""
        self.count += 1
        if len(self.named) < _MOST_NAMED:
            self.named.append(Refusal(file, reason))


class SingleReports:
    """The single reports of some plans, each of another length.

    Raises:
        PlanError: two plans whose reports are of the same length.
    """

    def __init__(self, plans: Iterable[PublishedPlan]) -> None:
        self._by_length: dict[int, PublishedPlan] = {}
        for plan in plans:
            other = self._by_length.setdefault(plan.report_bytes, plan)
            if other.plan_id != plan.plan_id:
                length = counted(plan.report_bytes, "byte")
                raise PlanError(
                    f"reports of plan {other.plan_id[:12]} and of plan {plan.plan_id[:12]} both have {length}, so "
                    "nothing tells which is which; keep a folder for the reports of each, and gather one plan at a time"
                )

    @property
    def plans(self) -> list[PublishedPlan]:
        """The plans, as given; one that was given twice stands once."""
        return list(self._by_length.values())

    def read(self, path: str, folder: int | None = None) -> tuple[PublishedPlan, bytes]:
        """Return the plan of the report that a file is, and its bytes; its path may be from an open folder on.

        Raises:
            WireError: why the file is no report.
            FileNotFoundError: it is gone.
        """
        try:
            file = os.open(path, _FLAGS, dir_fd=folder)
        except FileNotFoundError:
            raise
        except OSError as error:
            link = error.errno == errno.ELOOP
            raise WireError("is a link; name the file itself" if link else _unreadable(error)) from None
        try:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode):
                raise WireError("is no regular file")
            report = os.read(file, max(*self._by_length, len(LEDGER_NAME)) + 1)
        except OSError as error:
            raise WireError(_unreadable(error)) from None
        finally:
            os.close(file)
        if report.startswith(LEDGER_NAME):
            raise WireError(IS_LEDGER)
        return self._plan_of(report, max(status.st_size, len(report))), report

    def _plan_of(self, report: bytes, size: int) -> PublishedPlan:
        plan = self._by_length.get(len(report))
        if plan is None:
            allowed = " or ".join(f"{length:,}" for length in sorted(self._by_length))
            raise WireError(f"has {counted(size, 'byte')}, where a report has {allowed}")
        try:
            pack_reports([report], plan)
        except WireError as error:
            raise WireError(str(error).removeprefix("report 0 ")) from None
        return plan


def _unreadable(error: OSError) -> str:
    return f"cannot be read: {error.strerror}"
