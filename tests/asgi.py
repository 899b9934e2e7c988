"""A visitor of ASGI applications without a network: one event loop, headers, forms."""

import asyncio
import json
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, urlencode


@dataclass(frozen=True)
class Answer:
    """What came back; of a header that is there several times the last."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode("utf-8")

    @property
    def json(self) -> Any:
        """The body as JSON content."""
        return json.loads(self.body)


class Visitor:
    """Asks an application that lives as long as this does, with ``headers`` in each request."""

    def __init__(self, application: Any, **headers: str) -> None:
        self.application, self.headers = application, headers
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        self._queue: asyncio.Queue[str] = self.run(_made_queue())
        self._life = self.run(self._begin())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.run(self._end())
        self._runner.close()

    def run(self, coroutine: Any) -> Any:
        """Run something on the application's event loop."""
        return self._runner.run(coroutine)

    def get(self, path: str, **headers: str) -> Answer:
        """Ask for a page."""
        return self.run(self._ask("GET", path, headers, b""))

    def get_computed(self, path: str) -> Answer:
        """Ask for a page until it no longer loads itself again, as while its figures are computed."""
        for _ in range(6000):
            answer = self.get(path)
            if 'http-equiv="refresh"' not in answer.text:
                return answer
            self.run(asyncio.sleep(0.01))
        raise AssertionError(f"{path} was not computed within a minute")

    def post(self, path: str, form: dict[str, str] | bytes = b"", **headers: str) -> Answer:
        """Send a form, or bytes."""
        body = form if isinstance(form, bytes) else urlencode(form).encode()
        return self.run(self._ask("POST", path, headers, body))

    async def _ask(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
        named = {name.replace("_", "-"): value for name, value in (self.headers | headers).items()}
        address, _, query = path.partition("?")
        scope = {
            "type": "http", "http_version": "1.1", "method": method, "path": address, "scheme": "http",
            "asgi": {"spec_version": "2.4"},
            "raw_path": quote(address).encode(), "query_string": query.encode(), "root_path": "", "client": None,
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in named.items()],
            "server": ("test", 80),
        }  # fmt: skip
        came, sent = iter([{"type": "http.request", "body": body}]), list[dict[str, Any]]()

        async def receive() -> dict[str, Any]:
            return next(came, {"type": "http.disconnect"})

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await self.application(scope, receive, send)
        pairs = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in sent[0]["headers"]]
        return Answer(sent[0]["status"], dict(pairs), b"".join(each.get("body", b"") for each in sent[1:]))

    async def _begin(self) -> "asyncio.Task[None] | None":
        if not hasattr(self.application, "_live"):  # a page has no life of its own
            return None
        began = asyncio.Event()

        async def receive() -> dict[str, str]:
            return {"type": await self._queue.get()}

        async def send(message: dict[str, str]) -> None:
            assert message["type"].endswith(".complete")
            began.set()

        task = asyncio.create_task(self.application({"type": "lifespan"}, receive, send))
        self._queue.put_nowait("lifespan.startup")
        await began.wait()
        return task

    async def _end(self) -> None:
        if self._life is None:
            await self.application.close()
            return
        self._queue.put_nowait("lifespan.shutdown")
        await self._life


async def _made_queue() -> "asyncio.Queue[str]":
    return asyncio.Queue()
