"""Collecting reports over HTTP, at the collector or from a device.

``serve`` runs a collector, which devices send their reports to, and ``make_service`` returns it for a server of one's
own; ``relay``, run by somebody else, hides from it who sends them. On the collector's machine ``add_key``,
``list_keys`` and ``revoke_key`` see to the keys of its sources, ``collection_status`` says what its folder holds,
``seal_collection`` and ``close_collection`` seal it, ``set_aside`` moves the reports of one key out of it, and
``remove_sealed`` removes what was sealed too long ago. On a device ``send_report`` answers a collector, and loses no
report: ``send_unsent`` sends what waits, and ``read_key`` reads the device's key from a file.
"""

import contextlib
import errno
import ipaddress
import logging
import socket
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assocpriv import __version__
from assocpriv.collect import folder as folders
from assocpriv.collect import keys as key_files
from assocpriv.collect.folder import CollectionStatus, folder_status, open_store, seal_folder
from assocpriv.collect.keys import KEYS_FILE, Keyring, SourceKey
from assocpriv.collect.log import logging_lines
from assocpriv.collect.sealing import is_closed
from assocpriv.collect.sqlite import SqliteStore
from assocpriv.collect.store import Collecting, EpochSizes, FolderLock, check_system, for_owner
from assocpriv.files.oblivious import MOST_REQUEST_BYTES, hpke
from assocpriv.promise.errors import FileError, PlanError

if TYPE_CHECKING:
    from assocpriv.client.connection import Collector
    from assocpriv.client.sending import SentReport, SentWaiting
    from assocpriv.collect.service import Service
    from assocpriv.plans.published import PublishedPlan
    from assocpriv.promise.breaches import Breach

_MOST_KEY_BYTES = 4096
_MOST_HEAD_BYTES = 4096  # of what stands before a report in a sealed message
_LOG = logging.getLogger("assocpriv")


# ---- a collector, served


def serve(
    plan: "PublishedPlan",
    data: str | PathLike[str],
    *,
    host: str = "127.0.0.1",
    port: int = 8350,
    epoch_reports: tuple[int, int] | None = None,
    few: bool = False,
    keys: bool = False,
    admin_host: str = "127.0.0.1",
    admin_port: int | None = None,
    store: str | None = None,
    oblivious: str | None = None,
    admin: bool = True,
    origins: Sequence[str] = (),
    demo: bool = False,
    ready: Callable[[str, str], None] | None = None,
    log_level: int | None = None,
) -> None:
    """Collect reports of a plan over HTTP until the process is told to end (SIGTERM, SIGINT); what is stored stays.

    Args:
        plan: the published plan, of any kind.
        data: the folder for its reports, made if it is missing; ``mine`` and the rest read it, also meanwhile.
        host: address to listen at; TLS is a reverse proxy's, and what is not behind one is warned of in the log.
        port: 0 for any that is free.
        admin_host, admin_port: where the operator's page, counts and metrics are served, and nothing else; by default
            they are where reports come in.
        epoch_reports, few, keys, store, oblivious, admin, origins, demo: as of :func:`make_service`.
        ready: called with the URL, and that of the operator's, once it listens.
        log_level: write what is logged from this level on to standard error, as ``logging.INFO``; by default whoever
            calls sees to the log.

    Raises:
        FileError: an address that is in use or not of this machine; or as :func:`make_service`.
        PlanError: the extra ``assocpriv[server]`` is missing.

    >>> import assocpriv as ap
    >>> ap.collect.serve(ap.read_plan("plan.json"), "collection", keys=True, ready=print)  # doctest: +SKIP
    http://127.0.0.1:8350 http://127.0.0.1:8350
    """
    _check_can_serve()
    from assocpriv.collect import serving

    with contextlib.ExitStack() as opened:
        opened.enter_context(for_owner())
        if log_level is not None:
            opened.enter_context(logging_lines(log_level, __version__))
        listeners = [opened.enter_context(_listening(host, port))]
        if admin_port is not None:
            listeners.append(opened.enter_context(_listening(admin_host, admin_port, "admin_port=")))
        service = make_service(
            plan, data, epoch_reports=epoch_reports, few=few, keys=keys, store=store, oblivious=oblivious, admin=admin,
            origins=origins, demo=demo,
        )  # fmt: skip
        service.admin_port = None if admin_port is None else listeners[1].getsockname()[1]
        _warn_of_network(listeners)
        urls = [_url(listener) for listener in listeners]

        def begun() -> None:
            _LOG.info("plan %s is collected at %s", plan.plan_id[:12], urls[0])
            if ready is not None:
                ready(urls[0], urls[-1])

        serving.run(service, listeners, begun)


def relay(
    to: str,
    *,
    hold: float,
    host: str = "127.0.0.1",
    port: int = 8370,
    ready: Callable[[str], None] | None = None,
    log_level: int | None = None,
) -> None:
    """Pass messages on to a collector's gateway, unread, until the process is told to end (SIGTERM, SIGINT).

    Whoever runs a relay sees the addresses of devices; it must be somebody else than who runs the collector.

    Args:
        to: the collector's address, as ``https://collector.example``.
        hold: seconds within which a message is passed on; the longer, the more others leave with it.
        host, port, ready, log_level: as of :func:`serve`.

    Raises:
        FileError: an address that is in use or not of this machine.
        PlanError: no such collector's address or time; or the extra ``assocpriv[relay]`` is missing.

    >>> import assocpriv as ap
    >>> ap.collect.relay("https://collector.example", hold=20, ready=print)  # doctest: +SKIP
    http://127.0.0.1:8370
    """
    check_system()
    try:
        from assocpriv.collect import serving
        from assocpriv.collect.relaying import Relay
    except ImportError:
        raise PlanError("a relay needs aiohttp, uvicorn and Starlette: pip install 'assocpriv[relay]'") from None

    with contextlib.ExitStack() as opened:
        if log_level is not None:
            opened.enter_context(logging_lines(log_level, __version__))
        listener = opened.enter_context(_listening(host, port))
        application = Relay(to, hold)

        def begun() -> None:
            _LOG.info("messages are passed on from %s", _url(listener))
            if not ipaddress.ip_address(listener.getsockname()[0]).is_loopback:
                _LOG.warning("%s is plain HTTP beyond this machine; keep a proxy with TLS before it", _url(listener))
            if ready is not None:
                ready(_url(listener))

        serving.run(application, [listener], begun)


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _warn_of_network(listeners: Sequence[socket.socket]) -> None:
    """Say what the network sees where a collector listens beyond its own machine."""
    if not ipaddress.ip_address(listeners[0].getsockname()[0]).is_loopback:
        _LOG.warning("%s is plain HTTP beyond this machine; keep a proxy with TLS before it", _url(listeners[0]))
    if not ipaddress.ip_address(listeners[-1].getsockname()[0]).is_loopback:
        hint = "give them a port of their own" if len(listeners) == 1 else "let none but yours reach it"
        _LOG.warning("counts, metrics and the operator's page are beyond this machine, too; %s", hint)


def make_service(
    plan: "PublishedPlan",
    data: str | PathLike[str],
    *,
    epoch_reports: tuple[int, int] | None = None,
    few: bool = False,
    keys: bool = False,
    store: str | None = None,
    oblivious: str | None = None,
    admin: bool = True,
    origins: Sequence[str] = (),
    demo: bool = False,
) -> "Service":
    """Return a collector as an ASGI application, for a server of one's own; one process may serve a folder.

    Args:
        plan: the published plan, of any kind.
        data: the folder for its reports, made if it is missing.
        epoch_reports: the fewest reports that are sealed together when that is asked for, and how many are without
            being asked; by default what the folder was served with before, and of a new one 1,000 and about a million.
        few: take numbers below 100: a file of so few reports tells nearly which is whose.
        keys: take reports only with a key, as :func:`assocpriv.collect.add_key` makes them; a folder that has keys, or
            gets its first one meanwhile, needs them in any case.
        store: where reports are kept before they are sealed: ``sqlite``, in the folder, or ``postgresql://…``, or
            ``@FILE`` that holds such a URL; by default what the folder has, and ``sqlite`` of a new one.
        oblivious: ``alone``: take reports through a relay alone (RFC 9458), and keep no order; ``beside``: also those
            that come directly. A plan with a central promise needs ``alone``. It goes with ``sqlite``, without keys.
        admin: serve the operator's page at /admin; its token is made in the folder, in the file ``admin-token``.
        origins: sites, as ``https://shop.example``, whose pages may send reports from people's browsers.
        demo: serve a demonstration at /demo, in which visitors make reports of baskets that nobody bought. It takes a
            plan of a catalogue's items, a folder of its own, and no keys.

    Returns:
        The application; the folder is its own until its lifespan, which a server begins, has ended.

    Raises:
        FileError: a folder or a database that cannot be used, is of another plan, or is served already; or numbers of
            reports that cannot be.
        PlanError: the extra ``assocpriv[server]`` is missing, an origin is none, or what cannot be demonstrated.

    >>> import uvicorn  # doctest: +SKIP
    >>> import assocpriv as ap
    >>> uvicorn.run(ap.collect.make_service(ap.read_plan("plan.json"), "collection"), port=8350)  # doctest: +SKIP
    """
    _check_can_serve()
    _check_channel(plan, oblivious)
    if demo:
        _check_demonstration(plan, keys=keys, oblivious=oblivious)
    from assocpriv.collect.gateway import GatewayKeys
    from assocpriv.collect.service import Service, check_origin
    from assocpriv.pages.device_client import ClientFiles

    origins = [check_origin(each) for each in origins]
    sizes = None if epoch_reports is None else EpochSizes(*epoch_reports)
    if sizes is not None and not few:
        sizes.check_few()
    folder = Path(data)
    lock = FolderLock.take(folder)
    try:
        keyring = Keyring(folder, required=keys)
        if keyring.asked() and plan.least_batch > 1:
            raise PlanError("keys name who sent a report, which a central promise hides; serve the plan without keys")
        opened = open_store(folder, plan, store, sizes=sizes)
        if not keyring.asked() and any(opened.counts_by_key()) and not is_closed(folder):
            opened.close()
            raise FileError(
                f"reports came to {folder} with keys, but it has no {KEYS_FILE}, so anybody could send; put that "
                "back, or begin another folder: mine takes both"
            )
        if oblivious and (keyring.asked() or not isinstance(opened, SqliteStore)):
            opened.close()
            raise PlanError(
                "through a relay reports come without a name: keys of sources would be one, and PostgreSQL's log tells "
                "the order in which they came; give a folder without keys, and store sqlite"
            )
        collection = Collecting(plan, opened, folder, is_closed(folder))
        gateway_keys = GatewayKeys(folder) if oblivious else None
        direct = oblivious != "alone"
        asked = None if oblivious else keyring  # a relay's collector never takes up a key
        service = Service(collection, lock, keys=asked, gateway_keys=gateway_keys, direct=direct, origins=origins)
        service.pages["client"] = ClientFiles()
        service.metrics.version = __version__
        _add_demonstration(service, plan, folder, demo=demo)
        if admin:
            _add_page(service, plan, folder)
    except BaseException:
        lock.abandon()
        raise
    return service


def _check_can_serve() -> None:
    check_system()
    try:
        import jinja2  # noqa: F401
        import prometheus_client  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise PlanError("a collector is served by uvicorn and Starlette: pip install 'assocpriv[server]'") from None


def _check_channel(plan: "PublishedPlan", oblivious: str | None) -> None:
    """Refuse a plan whose promise the way that its reports take does not keep."""
    if oblivious not in (None, "alone", "beside"):
        raise PlanError("oblivious must be 'alone' or 'beside'")
    if plan.central is not None and oblivious != "alone":
        raise PlanError(
            "the plan's central promise needs reports that nobody can tell whose they are: serve it with "
            "oblivious='alone', behind a relay of somebody else"
        )
    if oblivious:
        hpke()
        if plan.report_bytes > MOST_REQUEST_BYTES - _MOST_HEAD_BYTES:
            raise PlanError(
                f"reports of this plan have {plan.report_bytes:,} bytes; a relay passes on messages of "
                f"{MOST_REQUEST_BYTES:,}"
            )


def _check_demonstration(plan: object, *, keys: bool, oblivious: str | None) -> None:
    from assocpriv.pages.demo import check_demonstration

    check_demonstration(plan)
    if keys or oblivious == "alone":
        raise PlanError("visitors of a demonstration send directly, without keys; serve it without keys and a relay")


def _add_demonstration(service: "Service", plan: "PublishedPlan", folder: Path, *, demo: bool) -> None:
    """Serve the demonstration at /demo if it is wanted; keep its folder apart from those of people."""
    from assocpriv.pages.demo import DemoPage, check_demonstration, check_mark

    def reports() -> int:
        return int(service.status()["reports"])

    check_mark(folder, demo=demo, reports=reports() if demo else 0)
    if demo:
        service.pages["demo"] = DemoPage(check_demonstration(plan), folder, reports)


def _add_page(service: "Service", plan: "PublishedPlan", folder: Path) -> None:
    """Serve the operator's page at /admin, whose token is in the folder."""
    from assocpriv.pages.operator import AdminPage, read_or_make_token

    page = AdminPage(plan, folder, service.status, service.seal, read_or_make_token(folder))
    service.pages["admin"], service.crafted = page, page.crafted
    service.metrics.failed_logins = lambda: page.failed_logins


@contextlib.contextmanager
def _listening(host: str, port: int, other: str = "host or port") -> Any:
    """Give a socket that listens; who cannot have it is told to choose an ``other``."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        if not _can_name(host):
            raise OSError(errno.EINVAL, "no machine has such a name")
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        reason = str(getattr(error, "strerror", None) or error).partition(" (while attempting")[0]
        raise FileError(
            f"cannot listen at {host or 'no address'}, port {port}: {reason}; choose another {other}"
        ) from None
    with listener:
        yield listener


def _can_name(host: str) -> bool:
    """Tell whether a machine can have a name; none at all, as of a variable that is not set, would be all addresses."""
    try:
        return bool(host.encode("idna")) and host.isprintable()
    except UnicodeError:
        return False


# ---- a collection on its machine


def add_key(data: str | PathLike[str], name: str, *, quota: int | None = None) -> tuple[SourceKey, str]:
    """Make a key of a collection and return what is kept of it, and the key itself, which is not kept.

    A collector that serves the folder takes the key from the next request on; from the first one on it takes reports
    from nobody without a key.

    Args:
        data: the folder of the collection.
        name: what people call the source, as ``till 7``; reports are stored with the key's number, not with it.
        quota: the most reports that may come with the key; repeated ones do not count.

    Raises:
        FileError: no such folder, one that a relay sends to, a name that another key has, or a quota below 1.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> folder = mkdtemp()
    >>> kept, key = ap.collect.add_key(folder, "till 7", quota=1000)
    >>> kept.number, kept.name, key[:10]
    (1, 'till 7', 'assocpriv_')
    """
    return key_files.add_key(Path(data), name, quota)


def list_keys(data: str | PathLike[str]) -> list[SourceKey]:
    """Return the keys of a collection's folder, revoked ones too, by rising number.

    Raises:
        FileError: no such folder, or they cannot be read.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> folder = mkdtemp()
    >>> _ = ap.collect.add_key(folder, "till 7"), ap.collect.add_key(folder, "till 8")
    >>> [(key.number, key.name, key.revoked) for key in ap.collect.list_keys(folder)]
    [(1, 'till 7', False), (2, 'till 8', False)]
    """
    if not Path(data).is_dir():
        raise FileError(f"there is no folder {data}")
    return key_files.read_keys(Path(data))


def revoke_key(data: str | PathLike[str], number: int) -> SourceKey:
    """Let a collection take no more reports with a key; those that came with it stay.

    Args:
        data: the folder of the collection.
        number: of the key.

    Returns:
        What is kept of the key.

    Raises:
        FileError: there is no such key, or it is revoked.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> folder = mkdtemp()
    >>> kept, _ = ap.collect.add_key(folder, "till 7")
    >>> ap.collect.revoke_key(folder, kept.number).revoked
    True
    """
    return key_files.revoke_key(Path(data), number)


def collection_status(data: str | PathLike[str]) -> CollectionStatus:
    """Return what a collection's folder holds, by number of key; it may be served meanwhile.

    Raises:
        FileError: it is no collector's folder.
        WireError: a damaged file.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> folder = mkdtemp()
    >>> plan = ap.plan(["milk", "tea"], transaction_size=2, promise=ap.Breach("5%", "50%"))
    >>> ap.write_plan(plan, f"{folder}/plan.json")  # as serve does
    >>> status = ap.collect.collection_status(folder)
    >>> status.reports, status.served, status.closed
    (0, False, False)
    """
    return folder_status(Path(data))


def seal_collection(data: str | PathLike[str], *, store: str | None = None, few: bool = False) -> int:
    """Turn all reports of a collection that nobody serves into report files, and return how many were not yet.

    Args:
        data: the folder of the collection.
        few: also if fewer wait than are sealed together, 1,000 unless it was served with another number: whoever has a
            device's ledger, or saw when it sent, then knows its report to be one of these few.
        store: of a collection in PostgreSQL its URL, where the folder's note of it, without a password, does not do.

    Raises:
        FileError: it is served, fewer wait, or the disk or the database refuses.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> folder = mkdtemp()
    >>> plan = ap.plan(["milk", "tea"], transaction_size=2, promise=ap.Breach("5%", "50%"))
    >>> ap.write_plan(plan, f"{folder}/plan.json")  # as serve does
    >>> ap.collect.seal_collection(folder)  # nothing has come in
    0
    """
    with for_owner():
        return seal_folder(Path(data), store, few=few)


def close_collection(data: str | PathLike[str], *, store: str | None = None, few: bool = False) -> int:
    """Seal a collection, forget its submission ids, and let it take no reports any more; as :func:`seal_collection`.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> folder = mkdtemp()
    >>> plan = ap.plan(["milk", "tea"], transaction_size=2, promise=ap.Breach("5%", "50%"))
    >>> ap.write_plan(plan, f"{folder}/plan.json")  # as serve does
    >>> ap.collect.close_collection(folder), ap.collect.collection_status(folder).closed
    (0, True)
    """
    with for_owner():
        return seal_folder(Path(data), store, few=few, close=True)


def set_aside(data: str | PathLike[str], key: int, *, restore: bool = False, store: str | None = None) -> int:
    """Move the reports of one key out of a collection that nobody serves, into its folder ``set-aside``.

    Args:
        data: the folder of the collection.
        key: the number of the key.
        restore: move them back.
        store: as of :func:`seal_collection`.

    Returns:
        How many reports these are.

    Raises:
        FileError: the collection is served, there are no reports of the key, some wait to be sealed and are too few, or
            the disk refuses.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> folder = mkdtemp()
    >>> plan = ap.plan(["milk", "tea"], transaction_size=2, promise=ap.Breach("5%", "50%"))
    >>> ap.write_plan(plan, f"{folder}/plan.json")  # as serve does
    >>> ap.collect.set_aside(folder, 3)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    assocpriv.promise.errors.FileError: ... has no reports of key 3; ...
    >>> ap.collect.set_aside("collection", 3)  # doctest: +SKIP
    2317
    """
    with for_owner():
        return folders.set_aside(Path(data), key, restore=restore, store=store)


def remove_sealed(data: str | PathLike[str], days: int) -> tuple[dict[str, int], int]:
    """Remove the reports of a collection that were sealed more than so many days ago, also those that are set aside.

    The collection must not be served. Submission ids stay, so what is sent again does not count, and quotas stay used.

    Args:
        data: the folder of the collection.
        days: whole days, in Coordinated Universal Time.

    Returns:
        How many reports were removed, by the day on which they were sealed; and how many report files do not tell it,
        as such as no collector sealed: these stay.

    Raises:
        FileError: it is served, no such number of days, or the disk refuses.
        WireError: a damaged file.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> folder = mkdtemp()
    >>> plan = ap.plan(["milk", "tea"], transaction_size=2, promise=ap.Breach("5%", "50%"))
    >>> ap.write_plan(plan, f"{folder}/plan.json")  # as serve does
    >>> ap.collect.remove_sealed(folder, 365)
    ({}, 0)
    """
    return folders.remove_sealed(Path(data), days)


# ---- one device


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
        collector: its URL, or a :class:`assocpriv.Collector` with a key or another patience, or behind a relay, which a
            plan with a central promise asks for.
        ledger: what this device told; made if it is missing, and something was written down.
        occasion: what the record is of; the same one gets the same report again.
        limit: a promise that all reports of this device keep together, whatever their plans; without one the first
            plan is answered and no other.
        plan_id: id of the plan that the collector must have.
        max_level: of a guided plan, the highest level that is answered.
        empty: "error", or "keep" to report on an empty basket.

    Returns:
        Whether it was sent now or before, or waits for its moment, and what the device has told and may tell.

    Raises:
        CollectorError: it cannot be reached, refuses, or is none; what was made waits in the ledger.
        BudgetError: the device has told all that a promise allows, or has answered another plan or this occasion.
        PlanError: a plan that breaks its rules, or is another than ``plan_id``.
        RecordError, GuidanceError: nothing is spent.
        FileError: a ledger that cannot be used.

    >>> import assocpriv as ap
    >>> collector = ap.Collector("https://shop.example", ap.collect.read_key("till-7.key"))  # doctest: +SKIP
    >>> basket = ["milk", "tea"]
    >>> ap.collect.send_report(basket, collector, ledger="told.db", occasion="2026-W48").state  # doctest: +SKIP
    'sent'
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

    Args:
        collector, ledger, plan_id: as of :func:`send_report`.

    Returns:
        How many reports were sent, how many wait on for other collectors, and the moments of those that wait for one.

    Raises:
        CollectorError: it cannot be reached, refuses, or is none; what was not sent waits on.
        FileError: a ledger that cannot be used, or is none.

    >>> import assocpriv as ap
    >>> ap.collect.send_unsent("https://shop.example", ledger="told.db").sent  # doctest: +SKIP
    3
    """
    from assocpriv.client.sending import Device, send_waiting

    if not Path(ledger).exists():
        raise FileError(f"there is no ledger {ledger}, so no report waits")
    return send_waiting(_collector(collector), Device(Path(ledger), pinned_id=plan_id))


def read_key(path: str | PathLike[str]) -> str:
    """Return the key in a file, without blanks around it; what it holds is never shown.

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
