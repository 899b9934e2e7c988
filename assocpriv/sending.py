"""The door of sending: one device answers a collector, and loses no report."""

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assocpriv.plans.kind import on_first_use

if TYPE_CHECKING:
    from assocpriv.client.sending import Collector, SentReport, SentWaiting
    from assocpriv.promise.breaches import Breach

__all__ = ["Collector", "SentReport", "SentWaiting", "read_key", "send_report", "send_unsent"]
_HOMES = {
    "assocpriv.client.sending": (
        "Collector",
        "SentReport",
        "SentWaiting",
    ),
}
_MOST_KEY_BYTES = 4096

__getattr__, __dir__ = on_first_use(globals(), _HOMES)


def send_report(
    record: Any,
    collector: "str | Collector",
    *,
    ledger: str | PathLike[str],
    occasion: str,
    limit: "Breach | None" = None,
    plan_id: str | None = None,
    max_level: int | None = None,
    empty: str = "error",
) -> "SentReport":
    """Answer a collector: fetch its plan, check it, make one report, write it down, send it.

    A report that could not be sent waits in the ledger: the same call sends the same bytes again, or
    :func:`send_unsent`.

    Args:
        record: names of items; of another kind of plan what it takes, as {"age": 34}; or bytes, text as
            ``assocpriv report`` reads it. Of a guided plan the values by column: the guidance is asked for.
        collector: its URL, or a :class:`Collector` with a key or another patience.
        ledger: what this device told; made if it is missing, and something was written down.
        occasion: what the record is of; the same one gets the same report again.
        limit: a promise that all reports of this device keep, under any plans.
        plan_id: id of the plan that the collector must have.
        max_level: of a guided plan, the highest level that is answered.
        empty: "error", or "keep" to report on an empty basket.

    Raises:
        CollectorError: it cannot be reached, refuses, or is none; what was made waits in the ledger.
        BudgetError: the device has told all that a promise allows.
        PlanError: a plan that breaks its rules, or is another than ``plan_id``.
        RecordError, GuidanceError: nothing is spent.
        FileError: a ledger that cannot be used.
    """
    from assocpriv.client.sending import Device, send_record
    from assocpriv.promise.errors import BasketError

    if empty not in ("error", "keep"):
        raise BasketError("empty must be 'error' or 'keep'")
    device = Device(Path(ledger), limit, plan_id, max_level, empty)
    return send_record(record, _collector(collector), device, occasion)


def send_unsent(
    collector: "str | Collector", *, ledger: str | PathLike[str], plan_id: str | None = None
) -> "SentWaiting":
    """Send the reports that wait in a ledger for a collector, those of the plans that are collected there.

    Raises:
        CollectorError: it cannot be reached, refuses, or is none; what was not sent waits on.
        FileError: a ledger that cannot be used, or is none.
    """
    from assocpriv.client.sending import Device, send_waiting
    from assocpriv.promise.errors import FileError

    if not Path(ledger).exists():
        raise FileError(f"there is no ledger {ledger}, so no report waits")
    return send_waiting(_collector(collector), Device(Path(ledger), pinned_id=plan_id))


def read_key(path: str | PathLike[str]) -> str:
    """Return the key in a file, without blanks around it; what it holds is never shown.

    Raises:
        FileError: it cannot be read, or holds no key.
    """
    from assocpriv.promise.errors import FileError

    try:
        with open(path, "rb") as file:
            content = file.read(_MOST_KEY_BYTES + 1)
    except OSError as error:
        raise FileError(f"cannot read the key file {path}: {error.strerror or error}") from None
    text = content.decode("ascii", errors="surrogateescape").strip()
    if not text or len(content) > _MOST_KEY_BYTES or not text.isprintable():
        raise FileError(f"{path} holds no key: it must be one line of printable characters")
    return text


def _collector(given: "str | Collector") -> "Collector":
    from assocpriv.client.sending import Collector

    return Collector(given) if isinstance(given, str) else given
