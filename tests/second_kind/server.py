"""The server: reports -> the share of people whose answer is yes."""

from fractions import Fraction

from assocpriv.files.reports import Reports
from tests.second_kind.plan import YesNoPlan


def estimate_yes(reports: Reports) -> Fraction:
    """Return (r − q) / (p − q), r the share of reports that say yes, p and q = 1 − p its chances; unbiased."""
    plan = reports.plan.as_a(YesNoPlan)
    said = sum(int(batch.sum()) for batch in reports.batches(1 << 16))
    p = Fraction(plan.truth, plan.truth + plan.lie)
    return (Fraction(said, len(reports)) - (1 - p)) / (2 * p - 1)
