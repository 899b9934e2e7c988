"""Single reports of a plan: bytes ↔ bits ↔ items. What the bits say is the form's (plans/baskets/report_form.py)."""

from assocpriv.plans.baskets.plan import Plan


def encode_report(bits: int, plan: Plan) -> bytes:
    """Return the report whose bit b is bit b of an integer below 2^report_bits."""
    return plan.form.encode(bits)


def decode_report(report: bytes, plan: Plan) -> int:
    """Return a report's bits as an integer; a size in clear is its lowest eight.

    Raises:
        WireError: wrong length, a size or a set that the plan does not have, or an unused bit that is not 0.
    """
    return plan.form.decode(report)


def report_items(report: bytes, plan: Plan) -> frozenset[int]:
    """Return the items that a report shows, dummies included: the randomized transaction t'.

    Raises:
        WireError: as :func:`decode_report`.
    """
    return plan.form.items(report)


def with_size(size: int, report: bytes, plan: Plan) -> bytes:
    """Return the report, with its size in clear, that is made of a size and of its group's report."""
    return bytes([size]) + report.ljust(plan.report_bytes - 1, b"\0")
