"""Verbs of a device: send_report, send_queued, read_key."""

import logging
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assocpriv.guarantees.errors import FileError

if TYPE_CHECKING:
    from assocpriv.client.connection import Collector
    from assocpriv.client.upload import QueueResult, SentReport
    from assocpriv.guarantees.amplification import Guarantee

_MOST_KEY_BYTES = 4096
_MOST_HEAD_BYTES = 4096  # before the report in an encrypted message
_LOG = logging.getLogger("assocpriv")


def send_report(
    record: Any,
    collector: "str | Collector",
    *,
    ledger: str | PathLike[str],
    period: str,
    limit: "Guarantee | None" = None,
    plan_id: str | None = None,
    max_level: int | None = None,
    empty: str = "error",
) -> "SentReport":
    """Fetch a collector's plan, check it, make one report, write it to the ledger, and send it.

    A report that could not be sent stays queued in the ledger: the same call, or :func:`send_queued`, sends the same
    bytes again.

    Args:
        record: names of items; for another plan type its record, as {"age": 34}; or bytes, the text that ``assocpriv
            report`` reads. For a guided plan the values by column: the guidance is fetched.
        collector: its URL; or a :class:`assocpriv.device.Collector` with a key, another patience, or a relay, which a
            plan with a central guarantee needs.
        ledger: the device's ledger; made if missing, once a report is made.
        period: the reporting period of the record; the same period gets the same report again.
        limit: a guarantee for all reports of this device together, under any plans; without it only the first plan is
            answered.
        plan_id: required id of the collector's plan.
        max_level: highest level of guidance to answer, for a guided plan.
        empty: "error", or "keep" to report an empty basket.

    Returns:
        Whether the report was sent now or before or is scheduled, and the privacy budget spent and remaining.

    Raises:
        CollectorError: the collector cannot be reached, refuses, or is none; a report that was made stays queued.
        BudgetError: the privacy budget is spent, or this period or another plan was answered before.
        PlanError: a plan that breaks its rules, or another one than ``plan_id``.
        RecordError, GuidanceError: nothing is spent.
        FileError: a ledger that cannot be used.

    >>> import assocpriv as ap
    >>> collector = ap.device.Collector("https://shop.example", ap.collect.read_key("till-7.key"))  # doctest: +SKIP
    >>> basket = ["milk", "tea"]
    >>> ap.collect.send_report(basket, collector, ledger="ledger.db", period="2026-W48").state  # doctest: +SKIP
    'sent'
    """
    from assocpriv.client.upload import DeviceOptions, send_record
    from assocpriv.guarantees.errors import BasketError

    if empty not in ("error", "keep"):
        raise BasketError("empty must be 'error' or 'keep'")
    device = DeviceOptions(Path(ledger), limit, plan_id, max_level, empty)
    return send_record(record, _collector(collector), device, period)


def send_queued(
    collector: "str | Collector", *, ledger: str | PathLike[str], plan_id: str | None = None
) -> "QueueResult":
    """Send the queued reports of a ledger, those of the plan that the collector collects.

    Args:
        collector, ledger, plan_id: as in :func:`send_report`.

    Returns:
        How many reports were sent, how many stay queued for other collectors, and the send times of scheduled ones.

    Raises:
        CollectorError: it cannot be reached, refuses, or is none; unsent reports stay queued.
        FileError: there is no ledger, or it cannot be used.

    >>> import assocpriv as ap
    >>> ap.collect.send_queued("https://shop.example", ledger="ledger.db").sent  # doctest: +SKIP
    3
    """
    from assocpriv.client.upload import DeviceOptions, send_queue

    if not Path(ledger).exists():
        raise FileError(f"there is no ledger {ledger}, so no report is queued")
    return send_queue(_collector(collector), DeviceOptions(Path(ledger), pinned_id=plan_id))


def read_key(path: str | PathLike[str]) -> str:
    """Return the key in a file, stripped of white space; its content is never shown.

    Raises:
        FileError: it cannot be read, or holds no key.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> folder = Path(mkdtemp())
    >>> _, key = ap.collect.add_key(folder, "till 7")
    >>> _ = (folder / "key").write_text(key)
    >>> ap.collect.read_key(folder / "key") == key
    True
    """
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
    from assocpriv.client.connection import Collector

    return Collector(given) if isinstance(given, str) else given
