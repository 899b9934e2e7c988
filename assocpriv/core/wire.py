"""Report bytes ↔ bits: what is sent, packed to the bit.

A report is ``report_bits`` bits in ``report_bytes`` bytes; bit b is bit b mod 8 (least significant first) of
byte b div 8, the unused high bits of the last byte are 0. With a generator the bits are the seed, without one
bit i tells whether item i is present.
"""

from collections.abc import Iterable

import numpy as np
from bitarray import bitarray
from bitarray.util import ba2int, int2ba
from numpy.typing import NDArray

from assocpriv.core.codes import item_columns
from assocpriv.core.errors import WireError
from assocpriv.core.plan import Plan


def encode_report(bits: int, plan: Plan) -> bytes:
    """Return the report whose bit b is bit b of an integer below 2^report_bits."""
    return int2ba(bits, length=plan.report_bits, endian="little").tobytes()


def decode_report(report: bytes, plan: Plan) -> int:
    """Return a report's bits as an integer.

    Raises:
        WireError: wrong length, or an unused bit that is not 0.
    """
    if len(report) != plan.report_bytes:
        raise WireError(
            f"a report of this plan has {plan.report_bytes} bytes, got {len(report)}; was it made with another plan?"
        )
    packed = bitarray(buffer=report, endian="little")
    if packed[plan.report_bits :].any():
        raise WireError(f"a report of this plan has {plan.report_bits} bits; a bit beyond them is not 0")
    return ba2int(packed)


def report_items(report: bytes, plan: Plan) -> frozenset[int]:
    """Return the items that a report shows, dummies included: the randomized transaction t'.

    Raises:
        WireError: as :func:`decode_report`.
    """
    bits = decode_report(report, plan)
    if plan.generator.kind == "none":
        return frozenset(item for item in range(plan.padded_items) if bits >> item & 1)
    r, num = plan.operator.insert_bits, plan.operator.insert_num
    columns = item_columns(plan.generator, r, np.arange(plan.padded_items, dtype=np.int64))
    seed = np.frombuffer(bits.to_bytes(columns.shape[2] * 8, "little"), dtype="<u8")
    products = np.bitwise_count(columns & seed).sum(axis=2) & 1
    values = products @ (1 << np.arange(r - 1, -1, -1))
    return frozenset(np.flatnonzero(values < num).tolist())


def pack_reports(reports: Iterable[bytes], plan: Plan) -> NDArray[np.uint8]:
    """Return reports as one array, uint8 of shape (reports, report_bytes).

    Raises:
        WireError: a report that :func:`decode_report` would refuse; its position is named.
    """
    listed = list(reports)
    for position, report in enumerate(listed):
        if len(report) != plan.report_bytes:
            raise WireError(
                f"report {position} has {len(report)} bytes, the plan's reports have {plan.report_bytes}; "
                "was it made with another plan?"
            )
    packed = np.frombuffer(b"".join(listed), dtype=np.uint8).reshape(-1, plan.report_bytes)
    check_unused_bits(packed, plan)
    return packed


def check_unused_bits(packed: NDArray[np.uint8], plan: Plan, source: str = "", first: int = 0) -> None:
    """Refuse packed reports, uint8 of shape (reports, report_bytes), with a bit set beyond report_bits.

    Raises:
        WireError: naming ``source`` and the first such report, counted from ``first``.
    """
    used = plan.report_bits % 8
    wrong = packed[:, -1] >> used if used else np.zeros(len(packed), dtype=np.uint8)
    if wrong.any():
        position = first + int(np.flatnonzero(wrong)[0])
        raise WireError(
            f"{source}report {position} has a bit set beyond the plan's {plan.report_bits}; "
            "was it made with another plan?"
        )
