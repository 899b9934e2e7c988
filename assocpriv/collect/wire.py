"""What one request to a collector holds, or why it is refused (docs/formats/collector.md).

Bytes, lengths and reasons are all there is. Nothing here knows of the web: a refusal has the status and the reason that
an HTTP answer then carries.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.plans.published import ID_BYTES
from assocpriv.promise.errors import WireError, counted

if TYPE_CHECKING:
    from assocpriv.plans.published import PublishedPlan

MOST_BYTES = 4 << 20  # of a request's body
NO_KEY = 0  # the number of no key, where anybody may send
_MOST_IDS = 100  # named in a refusal


class Refused(Exception):  # noqa: N818  # an answer, not a failure
    """A request that is answered by a refusal: its HTTP status, a reason that programs read, a sentence for people."""

    def __init__(
        self, status: int, reason: str, message: str, *, retry_after: int | None = None, **details: Any
    ) -> None:
        super().__init__(message)
        self.status, self.reason, self.message = status, reason, message
        self.retry_after, self.details = retry_after, details

    def to_json(self) -> dict[str, Any]:
        """Return the answer's content."""
        return {"error": self.reason, "message": self.message, **self.details}


@dataclass(frozen=True, slots=True)
class Upload:
    """One request: ``count`` records in ``body``, each a submission id and a report, its key's number and quota.

    One that stands ``apart`` is stored so that nothing tells which others came at the same time.
    """

    body: bytes
    count: int
    key: int = NO_KEY
    quota: int | None = None
    apart: bool = False

    def __repr__(self) -> str:
        return f"Upload({counted(self.count, 'report')})"


def read_upload(
    body: bytes, plan: "PublishedPlan", key: int = NO_KEY, quota: int | None = None, *, apart: bool = False
) -> Upload:
    """Return a request's body as an upload; what its reports hold is looked at later, of many requests at a time.

    Raises:
        Refused: a body that is no whole number of records, none, or several where it stands ``apart``.
    """
    length = plan.record_bytes
    count, rest = divmod(len(body), length)
    if rest or not count or (apart and count > 1):
        raise Refused(
            400,
            "malformed-body",
            f"a body is one {'record' if apart else 'or more records'} of {length} bytes, an id of {ID_BYTES} and a "
            f"report of {plan.report_bytes}; this one has {counted(len(body), 'byte')}",
            record_bytes=length,
        )
    return Upload(body, count, key, quota, apart)


def records_of(uploads: Sequence[Upload], plan: "PublishedPlan") -> NDArray[np.uint8]:
    """Return the records of uploads, uint8 of shape (records, 16 + report_bytes)."""
    joined = uploads[0].body if len(uploads) == 1 else b"".join([upload.body for upload in uploads])
    return np.frombuffer(joined, dtype=np.uint8).reshape(-1, plan.record_bytes)


def ids_of(records: NDArray[np.uint8]) -> list[bytes]:
    """Return the submission ids of records."""
    ids = np.ascontiguousarray(records[:, :ID_BYTES]).view(f"V{ID_BYTES}").ravel()
    return [bytes(each) for each in ids.tolist()]


def refuse_malformed(uploads: Sequence[Upload], plan: "PublishedPlan") -> list[Refused | None]:
    """Return a refusal for each upload with a report that no client of the plan can have sent, None for the others.

    Work is bounded whatever is sent: uploads are asked together, halves apart while there is something wrong, and of
    one upload only the first such reports are looked for.
    """
    reports = np.ascontiguousarray(records_of(uploads, plan)[:, ID_BYTES:])
    return _refuse(uploads, reports, plan)


def _refuse(uploads: Sequence[Upload], reports: NDArray[np.uint8], plan: "PublishedPlan") -> list[Refused | None]:
    if _can_come(reports, plan):
        return [None] * len(uploads)
    if len(uploads) == 1:
        return [_malformed(uploads[0], reports, plan)]
    half = len(uploads) // 2
    at = sum(upload.count for upload in uploads[:half])
    return _refuse(uploads[:half], reports[:at], plan) + _refuse(uploads[half:], reports[at:], plan)


def _can_come(reports: NDArray[np.uint8], plan: "PublishedPlan") -> bool:
    try:
        plan.check_form(reports)
    except WireError:
        return False
    return True


def _first_bad(reports: NDArray[np.uint8], plan: "PublishedPlan") -> list[int]:
    """Return the positions of the first reports that no client can have sent."""
    found, parts = list[int](), [(0, len(reports))]
    while parts and len(found) < _MOST_IDS:
        start, end = parts.pop()
        if end - start == 1:
            found += [] if _can_come(reports[start:end], plan) else [start]
        elif not _can_come(reports[start:end], plan):
            half = (start + end) // 2
            parts += [(half, end), (start, half)]
    return found


def _malformed(upload: Upload, reports: NDArray[np.uint8], plan: "PublishedPlan") -> Refused:
    bad = _first_bad(reports, plan)
    ids = [each.hex() for each in ids_of(records_of([upload], plan)[bad])]
    said = f"{'at least ' if len(bad) == _MOST_IDS else ''}{counted(len(bad), 'report')}"
    return Refused(
        400,
        "malformed-report",
        f"{said} of {upload.count:,} cannot come from a client of the plan; nothing of the "
        "request was stored: send it again without these",
        count=len(bad),
        ids=ids,
    )
