"""The command line: what a plan says."""

from assocpriv.show.record import Record
from tests.second_kind.plan import YesNoPlan


def foresee(plan: YesNoPlan, reports: int) -> tuple[YesNoPlan, int]:
    """Return what is described."""
    return plan, reports


def plan(prospects: tuple[YesNoPlan, int]) -> Record:
    """Return it as a record."""
    content = {"kind": prospects[0].kind, "question": prospects[0].question, "planned_reports": prospects[1]}
    return Record(content, ["asks: {question}"])
