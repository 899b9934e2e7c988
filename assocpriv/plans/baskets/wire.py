"""Report bytes ↔ bits: what is sent, packed to the bit.

A report is ``report_bits`` bits in ``report_bytes`` bytes; bit b is bit b mod 8 (least significant first) of
byte b div 8, the unused high bits of the last byte are 0. With a generator the bits are the seed, without one
bit i tells whether item i is present. Of reports of a fixed size they are the set's rank (core/ranking.py), which is
below the number of sets.

With sizes in clear a report is one byte that says the transaction's size, then the report of that size's group, filled
up with zeros: all reports of a plan have the same length.
"""

from collections.abc import Iterable
from math import comb

import numpy as np
from bitarray import bitarray
from bitarray.util import ba2int, int2ba
from numpy.typing import NDArray

from assocpriv.core.errors import WireError
from assocpriv.core.ranking import set_of_rank
from assocpriv.plans.baskets.codes import item_columns
from assocpriv.plans.baskets.plan import IN_CLEAR, Plan

_NO_SET = "{} is no number of a set of the plan's size; was it made with another plan?"


def encode_report(bits: int, plan: Plan) -> bytes:
    """Return the report whose bit b is bit b of an integer below 2^report_bits."""
    return int2ba(bits, length=plan.report_bits, endian="little").tobytes()


def with_size(size: int, report: bytes, plan: Plan) -> bytes:
    """Return the report, with its size in clear, that is made of a size and of its group's report."""
    return bytes([size]) + report.ljust(plan.report_bytes - 1, b"\0")


def decode_report(report: bytes, plan: Plan) -> int:
    """Return a report's bits as an integer; a size in clear is its lowest eight.

    Raises:
        WireError: wrong length, a size or a set that the plan does not have, or an unused bit that is not 0.
    """
    if len(report) != plan.report_bytes:
        raise WireError(
            f"a report of this plan has {plan.report_bytes} bytes, got {len(report)}; was it made with another plan?"
        )
    packed = bitarray(buffer=report, endian="little")
    if packed[plan.report_bits :].any():
        raise WireError(f"a report of this plan has {plan.report_bits} bits; a bit beyond them is not 0")
    if plan.sizes == IN_CLEAR:
        _check_sized(np.frombuffer(report, dtype=np.uint8)[None], plan, "", 0)
    bits = ba2int(packed)
    if plan.kind == "fixed-size" and bits >= comb(plan.padded_items, plan.fixed.report_size):
        raise WireError(_NO_SET.format("a report"))
    return bits


def report_items(report: bytes, plan: Plan) -> frozenset[int]:
    """Return the items that a report shows, dummies included: the randomized transaction t'.

    Raises:
        WireError: as :func:`decode_report`.
    """
    bits = decode_report(report, plan)
    if plan.sizes == IN_CLEAR:
        group = plan.groups[report[0] - 1]
        return report_items(report[1 : 1 + group.report_bytes], group)
    if plan.kind == "fixed-size":
        return frozenset(set_of_rank(bits, plan.padded_items, plan.fixed.report_size))
    if plan.generator.kind == "none":
        return frozenset(item for item in range(plan.padded_items) if bits >> item & 1)
    r, num = plan.independent.insert_bits, plan.independent.insert_num
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
    check_packed(packed, plan)
    return packed


def check_packed(packed: NDArray[np.uint8], plan: Plan, source: str = "", first: int = 0) -> None:
    """Refuse packed reports, uint8 of shape (reports, report_bytes), that :func:`decode_report` would refuse.

    Raises:
        WireError: naming ``source`` and the first such report, counted from ``first``.
    """
    check_unused_bits(packed, plan, source, first)
    if plan.sizes == IN_CLEAR:
        _check_sized(packed, plan, source, first)
    if plan.kind == "fixed-size":
        _check_ranks(packed, plan, source, first)


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


def _check_ranks(packed: NDArray[np.uint8], plan: Plan, source: str, first: int) -> None:
    """Refuse ranks that no set has. Most are decided by their highest byte."""
    largest = (comb(plan.padded_items, plan.fixed.report_size) - 1).to_bytes(plan.report_bytes, "little")
    rows = np.flatnonzero(packed[:, -1] >= largest[-1])  # they are equal to the largest in all higher bytes
    wrong = []
    for byte in range(plan.report_bytes - 1, -1, -1):
        values = packed[rows, byte]
        wrong += rows[values > largest[byte]][:1].tolist()
        rows = rows[values == largest[byte]]
    if wrong:
        raise WireError(_NO_SET.format(f"{source}report {first + min(wrong)}"))


def _check_sized(packed: NDArray[np.uint8], plan: Plan, source: str, first: int) -> None:
    """Refuse reports of a size that the plan does not have, or with a bit set beyond those of their group."""
    sizes = packed[:, 0]
    outside = np.flatnonzero((sizes < 1) | (sizes > plan.transaction_size))
    if len(outside):
        raise WireError(
            f"{source}report {first + int(outside[0])} states a size outside 1..{plan.transaction_size}; "
            "was it made with another plan?"
        )
    used = [8 + group.report_bits for group in plan.groups]
    last = range(min(used) // 8, plan.report_bytes)  # few: the groups' lengths differ by less than M bits
    unused = np.array(
        [[0xFF & -1 << min(max(bits - 8 * byte, 0), 8) for byte in last] for bits in used], dtype=np.uint8
    )
    beyond = np.flatnonzero((packed[:, last.start :] & unused[sizes - 1]).any(axis=1))
    if len(beyond):
        raise WireError(
            f"{source}report {first + int(beyond[0])} has a bit set beyond those of its size; "
            "was it made with another plan?"
        )
