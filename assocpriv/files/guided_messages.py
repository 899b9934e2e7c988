"""Answers to guidance as messages: one JSON object a line, with the released bits as a list of those that are set.

    {"guidance": 3, "class": "democrat", "ones": [0, 17]}

The list is short, as few bits are set (ZWZ05, section 7.1); a file of reports (files/reports.py) is shorter still where
there are many.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.atomic import atomic_output
from assocpriv.files.reports import Reports
from assocpriv.plans.guided.plan import GuidedPlan
from assocpriv.promise.errors import FileError, WireError

ENDING = ".jsonl"
_FIELDS = {"guidance", "class", "ones"}


def message_lines(packed: NDArray[np.uint8], plan: GuidedPlan) -> Iterator[str]:
    """Yield packed reports, uint8 (n, report_bytes), as messages."""
    serials, classes, bits = plan.unpack(packed)
    for serial, place, row in zip(serials.tolist(), classes.tolist(), bits, strict=True):
        message = {"guidance": serial, "class": plan.labels[place], "ones": np.flatnonzero(row).tolist()}
        yield json.dumps(message) + "\n"


def write_messages(
    batches: Iterable[NDArray[np.uint8]], plan: GuidedPlan, path: str | Path, *, force: bool = False
) -> int:
    """Write batches of packed reports as messages and return their number; the file appears whole or not at all.

    Raises:
        FileError: the file exists and ``force`` is not set, or cannot be written.
    """
    written = 0
    with atomic_output(path, force=force) as stream:
        for packed in batches:
            stream.writelines(line.encode("ascii") for line in message_lines(packed, plan))
            written += len(packed)
    return written


def read_messages(path: str | Path, plan: GuidedPlan) -> Reports:
    """Read a file of messages as reports of a plan.

    Raises:
        FileError: it cannot be read.
        WireError: no message, or a line that is none of the plan; its number is named.
    """
    try:
        lines = Path(path).read_bytes().split(b"\n")
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from None
    labels = {label: place for place, label in enumerate(plan.labels)}
    rows = [_row(line, plan, labels, f"{path}: line {number}") for number, line in enumerate(lines, 1) if line.strip()]
    if not rows:
        raise WireError(f"{path} holds no message; is it the right file?")
    return Reports(plan, np.concatenate(rows))


def _row(line: bytes, plan: GuidedPlan, labels: dict[str, int], where: str) -> NDArray[np.uint8]:
    try:
        message: Any = json.loads(line)
    except (ValueError, RecursionError):
        message = None
    if not isinstance(message, dict) or set(message) != _FIELDS:
        raise WireError(f"{where} is no message: it must be one JSON object of {', '.join(sorted(_FIELDS))}")
    serial, label, ones = message["guidance"], message["class"], message["ones"]
    if type(serial) is not int or not 1 <= serial < 1 << 32 or not isinstance(label, str) or label not in labels:
        raise WireError(f"{where} names no guidance, or a class that the plan does not have")
    if not isinstance(ones, list) or not all(type(one) is int and 0 <= one < plan.width for one in ones):
        raise WireError(f"{where} must list places of bits, 0 to {plan.width - 1}, that are set")
    if ones != sorted(set(ones)):
        raise WireError(f"{where} must list places of bits once, in rising order")
    bits = np.zeros((1, plan.width), dtype=np.uint8)
    bits[0, ones] = 1
    return plan.pack(serial, np.array([labels[label]]), bits)
