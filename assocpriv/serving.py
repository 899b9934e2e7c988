"""The door of running a collection: a collector behind HTTP, which devices send their reports to."""

import contextlib
import errno
import resource
import socket
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assocpriv.plans.kind import on_first_use
from assocpriv.promise.errors import FileError, PlanError

if TYPE_CHECKING:
    from assocpriv.collector.service import Service
    from assocpriv.files.plans import read_plan
    from assocpriv.pages.sessions import TOKEN_FILE
    from assocpriv.plans.published import PublishedPlan

__all__ = ["TOKEN_FILE", "Service", "make_service", "read_plan", "serve"]
_HOMES = {
    "assocpriv.collector.service": ("Service",),
    "assocpriv.files.plans": ("read_plan",),
    "assocpriv.pages.sessions": ("TOKEN_FILE",),
}
_STOP_SECONDS = 10  # that requests have to end, once the collector is told to stop

__getattr__, __dir__ = on_first_use(globals(), _HOMES)


def make_service(
    plan: "PublishedPlan",
    data: str | PathLike[str],
    *,
    epoch_reports: int | None = None,
    keys: bool = False,
    store: str | None = None,
    admin: bool = True,
    origins: Sequence[str] = (),
    demo: bool = False,
) -> "Service":
    """Return a collector as an ASGI application, for a server of one's own; one process may serve a folder.

    Args:
        plan: the published plan, of any kind.
        data: the folder for its reports, made if it is missing.
        epoch_reports: reports after which an epoch ends and is sealed; about a million by default.
        keys: take reports only with a key, as :func:`assocpriv.operating.add_key` makes them; a folder that has keys
            needs them in any case.
        store: where reports are kept before they are sealed: ``sqlite``, in the folder, or ``postgresql://…``, or
            ``@FILE`` that holds such a URL; by default what the folder has, and ``sqlite`` of a new one.
        admin: serve the operator's page at /admin; its token is made in the folder, in the file ``admin-token``.
        origins: sites, as ``https://shop.example``, whose pages may send reports from people's browsers.
        demo: serve a demonstration at /demo, in which visitors make reports of baskets that nobody bought. It takes a
            plan of a catalogue's items, a folder of its own, and no keys.

    Raises:
        FileError: a folder or a database that cannot be used, is of another plan, or is served already.
        PlanError: the extra ``assocpriv[server]`` is missing, an origin is none, or what cannot be demonstrated.
    """
    _need_extra()
    if demo:
        _check_demonstration(plan, keys=keys)
    from assocpriv.collector.keys import KEYS_FILE, Keyring
    from assocpriv.collector.lock import FolderLock
    from assocpriv.collector.opening import open_store
    from assocpriv.collector.origins import check_origin
    from assocpriv.collector.sealing import is_closed
    from assocpriv.collector.service import Service
    from assocpriv.collector.store import Collecting

    origins = [check_origin(each) for each in origins]
    folder = Path(data)
    lock = FolderLock.take(folder)
    try:
        keyring = Keyring(folder) if keys or (folder / KEYS_FILE).exists() else None
        opened = open_store(folder, plan, store, epoch_reports=epoch_reports)
        collection = Collecting(plan, opened, folder, is_closed(folder))
        service = Service(collection, lock, keys=keyring, origins=origins)
        _add_demonstration(service, plan, folder, demo=demo)
        if admin:
            _add_page(service, plan, folder)
    except BaseException:
        lock.abandon()
        raise
    return service


def _add_page(service: "Service", plan: "PublishedPlan", folder: Path) -> None:
    """Serve the operator's page at /admin, whose token is in the folder."""
    from assocpriv.pages.admin import AdminPage, Sources
    from assocpriv.pages.sessions import Sessions, read_or_make_token

    sources = Sources(plan, folder, service.status, service.seal)
    service.pages["admin"] = AdminPage(sources, Sessions(read_or_make_token(folder)))


def _check_demonstration(plan: object, *, keys: bool) -> None:
    from assocpriv.pages.demo import check_demonstration

    check_demonstration(plan)
    if keys:
        raise PlanError("visitors of a demonstration have no keys; serve it without --keys (keys=False)")


def _add_demonstration(service: "Service", plan: "PublishedPlan", folder: Path, *, demo: bool) -> None:
    """Serve the demonstration at /demo if it is wanted; keep its folder apart from those of people."""
    from assocpriv.pages.demo import DemoPage, check_demonstration, check_mark

    def reports() -> int:
        return int(service.status()["reports"])

    check_mark(folder, demo=demo, reports=reports() if demo else 0)
    if demo:
        service.pages["demo"] = DemoPage(check_demonstration(plan), folder, reports)


def serve(
    plan: "PublishedPlan",
    data: str | PathLike[str],
    *,
    host: str = "127.0.0.1",
    port: int = 8350,
    epoch_reports: int | None = None,
    keys: bool = False,
    store: str | None = None,
    admin: bool = True,
    origins: Sequence[str] = (),
    demo: bool = False,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Collect reports of a plan over HTTP until the process is told to end (SIGTERM, SIGINT); what is stored stays.

    Args:
        plan: the published plan, of any kind.
        data: the folder for its reports, made if it is missing; ``mine`` and the rest read it, also meanwhile.
        host: address to listen at; TLS is a reverse proxy's.
        port: 0 for any that is free.
        epoch_reports, keys, store, admin, origins, demo: as of :func:`make_service`.
        ready: called with the URL once it listens.

    Raises:
        FileError: an address that is in use or not of this machine; or as :func:`make_service`.
        PlanError: the extra ``assocpriv[server]`` is missing.
    """
    _need_extra()
    with _listening(host, port) as listener:
        service = make_service(
            plan, data, epoch_reports=epoch_reports, keys=keys, store=store, admin=admin, origins=origins, demo=demo
        )
        _run(service, listener, ready or (lambda _: None))


@contextlib.contextmanager
def _listening(host: str, port: int) -> Any:
    """Give a socket that listens."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        if not _can_name(host):
            raise OSError(errno.EINVAL, "no machine has such a name")
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        reason = str(getattr(error, "strerror", None) or error).partition(" (while attempting")[0]
        raise FileError(
            f"cannot listen at {host or 'no address'}, port {port}: {reason}; choose another --host or --port"
        ) from None
    with listener:
        yield listener


def _can_name(host: str) -> bool:
    """Tell whether a machine can have a name; none at all, as of a variable that is not set, would be all addresses."""
    try:
        return bool(host.encode("idna")) and host.isprintable()
    except UnicodeError:
        return False


def _run(service: "Service", listener: socket.socket, ready: Callable[[str], None]) -> None:
    import uvicorn

    host, port = listener.getsockname()[:2]

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets=sockets)
            ready(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")  # from here on signals end it

    config = uvicorn.Config(
        service,
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_STOP_SECONDS,
        lifespan="on",
        limit_max_requests=None,
        proxy_headers=False,
    )
    _allow_connections()
    with contextlib.suppress(KeyboardInterrupt):  # a signal that was seen to is raised again at the end
        Server(config).run(sockets=[listener])


def _allow_connections() -> None:
    """Let the process have as many connections as it may: shells often begin at 1,024, and slow clients hold theirs."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _need_extra() -> None:
    try:
        import jinja2  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise PlanError("a collector is served by uvicorn and Starlette: pip install 'assocpriv[server]'") from None
