"""The content of one request to a collector, or why it is refused (docs/formats/collector.md).

This module handles bytes, lengths and reasons only. It does not know HTTP: a refusal has the status and reason that an
HTTP response then carries.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.guarantees.errors import WireError, pluralize
from assocpriv.plans.published_plan import ID_BYTES

if TYPE_CHECKING:
    from assocpriv.plans.published_plan import PublishedPlan

MOST_BYTES = 4 << 20  # of a request's body
NO_KEY = 0  # where no key is needed
_MOST_IDS = 100  # listed in a refusal


class RequestRefused(Exception):  # noqa: N818  # an answer, not a failure
    """A request that is answered with a refusal: an HTTP status, a reason for programs, a sentence for people."""

    def __init__(
        self, status: int, reason: str, message: str, *, retry_after: int | None = None, **details: Any
    ) -> None:
        super().__init__(message)
        self.status, self.reason, self.message = status, reason, message
        self.retry_after, self.details = retry_after, details

    def to_json(self) -> dict[str, Any]:
        """Return the content of the response."""
        return {"error": self.reason, "message": self.message, **self.details}


@dataclass(frozen=True, slots=True)
class Upload:
    """One request: ``count`` records in ``body``, each a submission id and a report, with its key's number and quota.

    With ``own_row`` it is stored so that nothing shows which uploads arrived at the same time.
    """

    body: bytes
    count: int
    key: int = NO_KEY
    quota: int | None = None
    own_row: bool = False

    def __repr__(self) -> str:
        return f"Upload({pluralize(self.count, 'report')})"


def read_upload(
    body: bytes, plan: "PublishedPlan", key: int = NO_KEY, quota: int | None = None, *, own_row: bool = False
) -> Upload:
    """Return a request's body as an upload; the content of its reports is checked later, for many requests at a time.

    Raises:
        RequestRefused: the body is not a whole number of records, is empty, or has several with ``own_row``.
    """
    length = plan.record_bytes
    count, rest = divmod(len(body), length)
    if rest or not count or (own_row and count > 1):
        raise RequestRefused(
            400,
            "malformed-body",
            f"a body must be one {'record' if own_row else 'or more records'} of {length} bytes, an id of {ID_BYTES} "
            f"and a report of {plan.report_bytes}; this one has {pluralize(len(body), 'byte')}",
            record_bytes=length,
        )
    return Upload(body, count, key, quota, own_row)


def records_of(uploads: Sequence[Upload], plan: "PublishedPlan") -> NDArray[np.uint8]:
    """Return the records of uploads, uint8 of shape (records, 16 + report_bytes)."""
    joined = uploads[0].body if len(uploads) == 1 else b"".join([upload.body for upload in uploads])
    return np.frombuffer(joined, dtype=np.uint8).reshape(-1, plan.record_bytes)


def ids_of(records: NDArray[np.uint8]) -> list[bytes]:
    """Return the submission ids of records."""
    return [bytes(each) for each in np.ascontiguousarray(records[:, :ID_BYTES]).view(f"V{ID_BYTES}").ravel().tolist()]


def refuse_malformed(uploads: Sequence[Upload], plan: "PublishedPlan") -> list[RequestRefused | None]:
    """Return a refusal for each upload with a report that no client of the plan can send, None for the others.

    Work is bounded for any input: uploads are checked together, then by halves where something is wrong. In one
    upload only the first malformed reports are located.
    """
    return _refuse(uploads, np.ascontiguousarray(records_of(uploads, plan)[:, ID_BYTES:]), plan)


def _refuse(
    uploads: Sequence[Upload], reports: NDArray[np.uint8], plan: "PublishedPlan"
) -> list[RequestRefused | None]:
    if _is_well_formed(reports, plan):
        return [None] * len(uploads)
    if len(uploads) == 1:
        return [_malformed(uploads[0], reports, plan)]
    half = len(uploads) // 2
    at = sum(upload.count for upload in uploads[:half])
    return _refuse(uploads[:half], reports[:at], plan) + _refuse(uploads[half:], reports[at:], plan)


def _is_well_formed(reports: NDArray[np.uint8], plan: "PublishedPlan") -> bool:
    try:
        plan.check_form(reports)
    except WireError:
        return False
    return True


def _first_bad(reports: NDArray[np.uint8], plan: "PublishedPlan") -> list[int]:
    """Return the positions of the first malformed reports."""
    found, parts = list[int](), [(0, len(reports))]
    while parts and len(found) < _MOST_IDS:
        start, end = parts.pop()
        if end - start == 1:
            found += [] if _is_well_formed(reports[start:end], plan) else [start]
        elif not _is_well_formed(reports[start:end], plan):
            half = (start + end) // 2
            parts += [(half, end), (start, half)]
    return found


def _malformed(upload: Upload, reports: NDArray[np.uint8], plan: "PublishedPlan") -> RequestRefused:
    bad = _first_bad(reports, plan)
    ids = [each.hex() for each in ids_of(records_of([upload], plan)[bad])]
    number = f"{'at least ' if len(bad) == _MOST_IDS else ''}{pluralize(len(bad), 'report')}"
    return RequestRefused(
        400,
        "malformed-report",
        f"{number} of {upload.count:,} cannot come from a client of the plan; no report of the request was stored: "
        "send it again without these",
        count=len(bad),
        ids=ids,
    )
