"""Verbs of a collector: serve, relay, make_service."""

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
from assocpriv.collect.batch_closing import is_ended
from assocpriv.collect.folder import open_store
from assocpriv.collect.keys import KEYS_FILE, Keyring
from assocpriv.collect.log import logging_lines
from assocpriv.collect.sqlite import SqliteStore
from assocpriv.collect.store import BatchSizes, FolderLock, ServedCollection, check_system, private_umask
from assocpriv.files.oblivious_http import MOST_REQUEST_BYTES, hpke
from assocpriv.guarantees.errors import FileError, PlanError

if TYPE_CHECKING:
    from assocpriv.collect.collector_app import Service
    from assocpriv.plans.published_plan import PublishedPlan

_MOST_KEY_BYTES = 4096
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
            opened.enter_context(logging_lines(log_level, __version__))
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
            opened.enter_context(logging_lines(log_level, __version__))
        listener = opened.enter_context(_listening(host, port))
        application = Relay(to, hold)

        def begun() -> None:
            _LOG.info("relay listens at %s", _url(listener))
            if not ipaddress.ip_address(listener.getsockname()[0]).is_loopback:
                _LOG.warning("%s serves plain HTTP to other machines; put a proxy with TLS before it", _url(listener))
            if ready is not None:
                ready(_url(listener))

        http_server.run(application, [listener], begun)


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _warn_of_network(listeners: Sequence[socket.socket]) -> None:
    """Warn where a collector listens to other machines without TLS."""
    if not ipaddress.ip_address(listeners[0].getsockname()[0]).is_loopback:
        _LOG.warning("%s serves plain HTTP to other machines; put a proxy with TLS before it", _url(listeners[0]))
    if not ipaddress.ip_address(listeners[-1].getsockname()[0]).is_loopback:
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
    from assocpriv.collect.gateway import GatewayKeys
    from assocpriv.pages.device_client import ClientFiles

    origins = [check_origin(each) for each in origins]
    sizes = None if batch_reports is None else BatchSizes(*batch_reports)
    if sizes is not None and not allow_small:
        sizes.check_minimum()
    folder = Path(data)
    lock = FolderLock.take(folder)
    try:
        keyring = Keyring(folder, required=keys)
        if keyring.are_required() and plan.minimum_batch_size > 1:
            raise PlanError("keys identify senders, which a central guarantee hides; serve the plan without keys")
        opened = open_store(folder, plan, store, sizes=sizes)
        if not keyring.are_required() and any(opened.counts_by_key()) and not is_ended(folder):
            opened.close()
            raise FileError(
                f"{folder} has reports with keys but no {KEYS_FILE}, so anybody could send; restore that file, or name "
                "a new folder: mine reads both"
            )
        if oblivious and (keyring.are_required() or not isinstance(opened, SqliteStore)):
            opened.close()
            raise PlanError(
                "reports through a relay must not show their senders, but keys identify sources, and PostgreSQL's log "
                "shows the order of arrival; use a folder without keys, and store sqlite"
            )
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
