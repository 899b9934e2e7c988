"""Verbs of a collector: serve, relay, make_service; and of its operator: keys, status, closing of batches, removal."""

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
from assocpriv.collect.batch_closing import is_ended
from assocpriv.collect.folder import CollectionStatus, close_folder, folder_status, open_store
from assocpriv.collect.keys import KEYS_FILE, Keyring, SourceKey
from assocpriv.collect.sqlite import SqliteStore
from assocpriv.collect.store import BatchSizes, FolderLock, ReportStore, ServedCollection, check_system, private_umask
from assocpriv.files.oblivious_http import MOST_REQUEST_BYTES, hpke
from assocpriv.guarantees.errors import FileError, PlanError

if TYPE_CHECKING:
    from assocpriv.collect.collector_app import Service
    from assocpriv.plans.published_plan import PublishedPlan

_MOST_HEAD_BYTES = 4096  # before the report in an encrypted message
_LOG = logging.getLogger("assocpriv")


def serve(
    plan: "PublishedPlan",
    data: str | PathLike[str],
    *,
    host: str = "127.0.0.1",
    port: int = 8350,
    batch_reports: tuple[int, int] | None = None,
    allow_small: bool = False,
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
    """Collect reports of a plan over HTTP until the process is stopped by SIGTERM or SIGINT; stored reports stay.

    Args:
        plan: the published plan, of any type.
        data: the folder for its reports, made if missing; ``mine`` and the other readers can read it meanwhile.
        host: listen address. A reverse proxy provides TLS; the log warns where the address is reachable without one.
        port: 0 picks a free port.
        admin_host, admin_port: address of the operator's page, counts and metrics only; by default they share
            ``host`` and ``port``.
        batch_reports, allow_small, keys, store, oblivious, admin, origins, demo: as in :func:`make_service`.
        ready: called with the URL of the collector and that of the operator's page, once it listens.
        log_level: write log records from this level on to standard error, for example ``logging.INFO``; by default the
            caller configures the log.

    Raises:
        FileError: the address is in use or is not one of this machine; or as :func:`make_service`.
        PlanError: the extra ``assocpriv[server]`` is missing.

    >>> import assocpriv as ap
    >>> ap.collect.serve(ap.read_plan("plan.json"), "collection", keys=True, ready=print)  # doctest: +SKIP
    http://127.0.0.1:8350 http://127.0.0.1:8350
    """
    _check_can_serve()
    from assocpriv.collect import http_server

    with contextlib.ExitStack() as opened:
        opened.enter_context(private_umask())
        if log_level is not None:
            opened.enter_context(http_server.logging_lines(log_level, __version__))
        listeners = [opened.enter_context(_listening(host, port))]
        if admin_port is not None:
            listeners.append(opened.enter_context(_listening(admin_host, admin_port, "admin_port=")))
        service = make_service(
            plan, data, batch_reports=batch_reports, allow_small=allow_small, keys=keys, store=store,
            oblivious=oblivious, admin=admin, origins=origins, demo=demo,
        )  # fmt: skip
        service.admin_port = None if admin_port is None else listeners[1].getsockname()[1]
        _warn_of_network(listeners)
        urls = [_url(listener) for listener in listeners]

        def begun() -> None:
            _LOG.info("plan %s is collected at %s", plan.plan_id[:12], urls[0])
            if ready is not None:
                ready(urls[0], urls[-1])

        http_server.run(service, listeners, begun)


def relay(
    to: str,
    *,
    hold: float,
    host: str = "127.0.0.1",
    port: int = 8370,
    ready: Callable[[str], None] | None = None,
    log_level: int | None = None,
) -> None:
    """Forward messages to a collector's gateway, unread, until the process is stopped by SIGTERM or SIGINT.

    A relay sees the addresses of devices, so another party than the collector's operator must run it.

    Args:
        to: the collector's address, as ``https://collector.example``.
        hold: longest delay of a message in seconds; with a longer delay more messages leave together.
        host, port, ready, log_level: as in :func:`serve`.

    Raises:
        FileError: the address is in use or is not one of this machine.
        PlanError: no address of a collector, or no such delay; or the extra ``assocpriv[relay]`` is missing.

    >>> import assocpriv as ap
    >>> ap.collect.relay("https://collector.example", hold=20, ready=print)  # doctest: +SKIP
    http://127.0.0.1:8370
    """
    check_system()
    try:
        from assocpriv.collect import http_server
        from assocpriv.collect.relay_app import Relay
    except ImportError:
        raise PlanError("a relay needs aiohttp, uvicorn and Starlette: pip install 'assocpriv[relay]'") from None

    with contextlib.ExitStack() as opened:
        if log_level is not None:
            opened.enter_context(http_server.logging_lines(log_level, __version__))
        listener = opened.enter_context(_listening(host, port))
        application = Relay(to, hold)

        def begun() -> None:
            _LOG.info("relay listens at %s", _url(listener))
            _warn_of_plain_http(listener)
            if ready is not None:
                ready(_url(listener))

        http_server.run(application, [listener], begun)


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _is_reachable(listener: socket.socket) -> bool:
    """Return whether other machines reach a socket."""
    return not ipaddress.ip_address(listener.getsockname()[0]).is_loopback


def _warn_of_plain_http(listener: socket.socket) -> None:
    if _is_reachable(listener):
        _LOG.warning("%s serves plain HTTP to other machines; put a proxy with TLS before it", _url(listener))


def _warn_of_network(listeners: Sequence[socket.socket]) -> None:
    """Warn where a collector listens to other machines without TLS."""
    _warn_of_plain_http(listeners[0])
    if _is_reachable(listeners[-1]):
        hint = "give them their own admin_port" if len(listeners) == 1 else "let only your network reach it"
        _LOG.warning("other machines reach the operator's page, counts and metrics, too; %s", hint)


def make_service(
    plan: "PublishedPlan",
    data: str | PathLike[str],
    *,
    batch_reports: tuple[int, int] | None = None,
    allow_small: bool = False,
    keys: bool = False,
    store: str | None = None,
    oblivious: str | None = None,
    admin: bool = True,
    origins: Sequence[str] = (),
    demo: bool = False,
) -> "Service":
    """Return a collector as an ASGI application, for a server of your own. One process serves a folder.

    Args:
        plan: the published plan, of any type.
        data: the folder for its reports, made if missing.
        batch_reports: minimum batch size, for closing on request, and size at which a batch is closed automatically, in
            reports; by default those of the folder, and for a new folder 1,000 and about a million.
        allow_small: accept a minimum below 100; a report file that small nearly shows which report is whose.
        keys: accept reports only with a key made by :func:`assocpriv.collect.add_key`. A folder that has keys, or gets
            its first one later, always needs them.
        store: where reports are kept until their batch is closed: ``sqlite``, in the folder, or ``postgresql://…``, or
            ``@FILE`` that holds such a URL; by default that of the folder, and ``sqlite`` for a new folder.
        oblivious: ``only``: accept reports only through a relay (RFC 9458), and keep no order; ``also``: accept direct
            reports, too. A plan with a central guarantee needs ``only``. Both need ``sqlite`` and a folder without
            keys.
        admin: serve the operator's page at /admin; its token is written to the file ``admin-token`` of the folder.
        origins: sites, as ``https://shop.example``, whose pages may send reports from people's browsers.
        demo: serve a demonstration at /demo, in which visitors make reports of made-up baskets. It needs a plan of a
            catalogue's items, a folder of its own, and no keys.

    Returns:
        The application. It uses the folder alone until its lifespan, which a server starts, has ended.

    Raises:
        FileError: a folder or a database that cannot be used, belongs to another plan, or is served already; or batch
            sizes out of range.
        PlanError: the extra ``assocpriv[server]`` is missing, a malformed origin, or a demonstration of another plan
            type.

    >>> import uvicorn  # doctest: +SKIP
    >>> import assocpriv as ap
    >>> uvicorn.run(ap.collect.make_service(ap.read_plan("plan.json"), "collection"), port=8350)  # doctest: +SKIP
    """
    _check_can_serve()
    _check_channel(plan, oblivious)
    if demo:
        _check_demonstration(plan, keys=keys, oblivious=oblivious)
    from assocpriv.collect.collector_app import Service, check_origin
    from assocpriv.collect.keys import GatewayKeys
    from assocpriv.pages.demo_page import ClientFiles

    origins = [check_origin(each) for each in origins]
    sizes = None if batch_reports is None else BatchSizes(*batch_reports)
    if sizes is not None and not allow_small:
        sizes.check_minimum()
    if sizes is not None and sizes.maximum < plan.minimum_batch_size:
        raise FileError(
            f"batch_reports must allow batches of {plan.minimum_batch_size:,}, for which the plan's central guarantee "
            f"is proved, got a maximum of {sizes.maximum:,}; leave it out, or give a larger maximum"
        )
    folder = Path(data)
    with contextlib.ExitStack() as on_failure:
        lock = FolderLock.take(folder)
        on_failure.callback(lock.abandon)
        keyring = Keyring(folder, required=keys)
        if keyring.are_required() and plan.minimum_batch_size > 1:
            raise PlanError("keys identify senders, which a central guarantee hides; serve the plan without keys")
        opened = open_store(folder, plan, store, sizes=sizes, oblivious=bool(oblivious))
        on_failure.callback(opened.close)
        _check_senders(opened, folder, has_keys=keyring.are_required(), oblivious=oblivious)
        collection = ServedCollection(plan, opened, folder, is_ended(folder))
        gateway_keys = GatewayKeys(folder) if oblivious else None
        direct = oblivious != "only"
        required = None if oblivious else keyring  # behind a relay no key is ever used
        service = Service(collection, lock, keys=required, gateway_keys=gateway_keys, direct=direct, origins=origins)
        service.pages["client"] = ClientFiles()
        service.metrics.version = __version__
        _add_demonstration(service, plan, folder, demo=demo)
        if admin:
            _add_page(service, plan, folder)
        on_failure.pop_all()
    return service


def _check_can_serve() -> None:
    check_system()
    try:
        import jinja2  # noqa: F401
        import prometheus_client  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise PlanError("a collector needs uvicorn and Starlette: pip install 'assocpriv[server]'") from None


def _check_channel(plan: "PublishedPlan", oblivious: str | None) -> None:
    """Refuse a plan whose guarantee does not hold for reports sent in this way."""
    if oblivious not in (None, "only", "also"):
        raise PlanError("oblivious must be 'only' or 'also'")
    if plan.central is not None and oblivious != "only":
        raise PlanError(
            "the plan's central guarantee needs reports without their senders: serve it with oblivious='only', behind "
            "a relay that another party runs"
        )
    if oblivious:
        hpke()
        if plan.report_bytes > MOST_REQUEST_BYTES - _MOST_HEAD_BYTES:
            raise PlanError(
                f"reports of this plan have {plan.report_bytes:,} bytes; a relay forwards messages of at most "
                f"{MOST_REQUEST_BYTES:,} bytes"
            )


def _check_senders(opened: ReportStore, folder: Path, *, has_keys: bool, oblivious: str | None) -> None:
    """Refuse reports from anybody where others needed a key, and a store that shows the senders behind a relay."""
    if not has_keys and any(opened.counts_by_key()) and not is_ended(folder):
        raise FileError(
            f"{folder} has reports with keys but no {KEYS_FILE}, so anybody could send; restore that file, or name "
            "a new folder: mine reads both"
        )
    if oblivious and (has_keys or not isinstance(opened, SqliteStore)):
        raise PlanError(
            "reports through a relay must not show their senders, but keys identify sources, and PostgreSQL's log "
            "shows the order of arrival; use a folder without keys, and store sqlite"
        )


def _check_demonstration(plan: object, *, keys: bool, oblivious: str | None) -> None:
    from assocpriv.pages.demo_page import check_demonstration

    check_demonstration(plan)
    if keys or oblivious == "only":
        raise PlanError("visitors of a demonstration send directly; serve it without keys and without a relay")


def _add_demonstration(service: "Service", plan: "PublishedPlan", folder: Path, *, demo: bool) -> None:
    """Serve the demonstration at /demo if requested; its folder must not hold reports of people."""
    from assocpriv.pages.demo_page import DemoPage, check_demonstration, check_mark

    def reports() -> int:
        return int(service.status()["reports"])

    check_mark(folder, demo=demo, reports=reports() if demo else 0)
    if demo:
        service.pages["demo"] = DemoPage(check_demonstration(plan), folder, reports)


def _add_page(service: "Service", plan: "PublishedPlan", folder: Path) -> None:
    """Serve the operator's page at /admin; its token is in the folder."""
    from assocpriv.pages.collector_page import AdminPage, read_or_make_token

    page = AdminPage(plan, folder, service.status, service.close_batches, read_or_make_token(folder))
    service.pages["admin"], service.check_manipulation = page, page.check_manipulation
    service.metrics.failed_logins = lambda: page.failed_logins


@contextlib.contextmanager
def _listening(host: str, port: int, other: str = "host or port") -> Any:
    """Yield a listening socket; an error names what else to choose: ``other``."""
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
    """Return whether a machine can have this name; an empty one, as of an unset variable, means all addresses."""
    try:
        return bool(host.encode("idna")) and host.isprintable()
    except UnicodeError:
        return False


# ---- keys, status, batches


def add_key(data: str | PathLike[str], name: str, *, quota: int | None = None) -> tuple[SourceKey, str]:
    """Make a key of a collection; return its stored data and the key itself, which is not stored.

    A collector that serves the folder accepts the key from the next request on. After the first key it accepts no
    report without a key.

    Args:
        data: the folder of the collection.
        name: the name of the source, as ``till 7``; reports are stored with the key's number, not with the name.
        quota: largest number of reports with the key; repeated ones do not count.

    Returns:
        The key's stored data, and the key.

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
    """Return the keys of a collection's folder, including revoked ones, by rising number.

    Args:
        data: the folder of the collection.

    Returns:
        One entry a key: ``number``, ``name``, ``quota`` in reports (None: no limit), ``revoked``, and the key's
        ``sha256``.

    Raises:
        FileError: no such folder, or the keys cannot be read.

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
    """Stop accepting reports with a key; the reports that came with it stay.

    Args:
        data: the folder of the collection.
        number: the number of the key.

    Returns:
        The key's stored data.

    Raises:
        FileError: there is no such key, or it is revoked already.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> folder = mkdtemp()
    >>> kept, _ = ap.collect.add_key(folder, "till 7")
    >>> ap.collect.revoke_key(folder, kept.number).revoked
    True
    """
    return key_files.revoke_key(Path(data), number)


def collection_status(data: str | PathLike[str]) -> CollectionStatus:
    """Return the state of a collection's folder, with numbers of reports by key; it may be served meanwhile.

    Args:
        data: the folder of the collection.

    Returns:
        Numbers of reports in closed and open batches, by key, set aside and removed, and whether it is served or ended.

    Raises:
        FileError: it is no collector's folder.
        WireError: a damaged file.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> folder = mkdtemp()
    >>> plan = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> ap.write_plan(plan, f"{folder}/plan.json")  # as serve does
    >>> status = ap.collect.collection_status(folder)
    >>> status.reports, status.served, status.ended
    (0, False, False)
    """
    return folder_status(Path(data))


def close_batches(data: str | PathLike[str], *, store: str | None = None, allow_small: bool = False) -> int:
    """Write all open batches of a collection as report files; return the number of reports that were open.

    Args:
        data: the folder of the collection, which must not be served.
        allow_small: also close a batch below the minimum size, 1,000 reports unless it was served with another number.
            Someone who has a device's ledger, or saw when it sent, then knows that its report is one of these few.
        store: URL of the collection's PostgreSQL database, if the URL without password in the folder is not enough.

    Returns:
        How many reports were in open batches.

    Raises:
        FileError: it is served, a batch is below the minimum size, or the disk or the database refuses.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> folder = mkdtemp()
    >>> plan = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> ap.write_plan(plan, f"{folder}/plan.json")  # as serve does
    >>> ap.collect.close_batches(folder)  # nothing has come in
    0
    """
    with private_umask():
        return close_folder(Path(data), store, allow_small=allow_small)


def end_collection(data: str | PathLike[str], *, store: str | None = None, allow_small: bool = False) -> int:
    """Close a collection's batches, delete its submission ids, and accept no more reports.

    Args:
        data: the folder of the collection, which must not be served.
        store: URL of the collection's PostgreSQL database, as for :func:`close_batches`.
        allow_small: also close a batch below the minimum size, as for :func:`close_batches`.

    Returns:
        How many reports were in open batches.

    Raises:
        FileError: as :func:`close_batches`.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> folder = mkdtemp()
    >>> plan = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> ap.write_plan(plan, f"{folder}/plan.json")  # as serve does
    >>> ap.collect.end_collection(folder), ap.collect.collection_status(folder).ended
    (0, True)
    """
    with private_umask():
        return close_folder(Path(data), store, allow_small=allow_small, end=True)


def set_aside(data: str | PathLike[str], key: int, *, restore: bool = False, store: str | None = None) -> int:
    """Move the reports of one key out of a collection that is not served, into its folder ``set-aside``.

    Args:
        data: the folder of the collection.
        key: the number of the key.
        restore: move them back.
        store: as in :func:`close_batches`.

    Returns:
        How many reports were moved.

    Raises:
        FileError: the collection is served, it has no reports of the key, some are in a batch below the minimum size,
            or the disk refuses.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> folder = mkdtemp()
    >>> plan = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> ap.write_plan(plan, f"{folder}/plan.json")  # as serve does
    >>> ap.collect.set_aside(folder, 3)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    assocpriv.guarantees.errors.FileError: ... has no reports of key 3; ...
    >>> ap.collect.set_aside("collection", 3)  # doctest: +SKIP
    2317
    """
    with private_umask():
        return folders.set_aside(Path(data), key, restore=restore, store=store)


def remove_reports(data: str | PathLike[str], days: int) -> tuple[dict[str, int], int]:
    """Remove reports of a collection whose batch was closed more than ``days`` days ago, also those that are set aside.

    The collection must not be served. Submission ids stay, so a repeated report does not count, and quotas stay used.

    Args:
        data: the folder of the collection.
        days: whole days, in Coordinated Universal Time.

    Returns:
        Numbers of removed reports by the day on which their batch was closed; and the number of report files without a
        day, which no collector wrote: these stay.

    Raises:
        FileError: it is served, ``days`` is out of range, or the disk refuses.
        WireError: a damaged file.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> folder = mkdtemp()
    >>> plan = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> ap.write_plan(plan, f"{folder}/plan.json")  # as serve does
    >>> ap.collect.remove_reports(folder, 365)
    ({}, 0)
    """
    return folders.remove_reports(Path(data), days)
