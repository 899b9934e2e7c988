"""The JavaScript client as one file, /client, for a shop's page, without npm.

clients/js/tools/bundle.js makes the files, which are part of the package. Their address contains a digest of the
script, so a response can be cached for ever, and another script never has the same address. Pages of any site may load
them: they are public, and nothing about the request is recorded.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from assocpriv.pages.collector_page import Send

BUNDLE = Path(__file__).parent / "bundle"
SCRIPT, TYPES = "assocpriv.min.js", "assocpriv.d.ts"
_HEADERS = {
    "access-control-allow-origin": "*",
    "cache-control": "public, max-age=31536000, immutable",
    "cross-origin-resource-policy": "cross-origin",
    "x-content-type-options": "nosniff",
}


class ClientFiles:
    """The application: /client returns the script's address and the integrity for its import map."""

    def __init__(self) -> None:
        integrity = (BUNDLE / f"{SCRIPT}.integrity").read_text(encoding="ascii").strip()
        digest = integrity.partition("-")[2].replace("+", "-").replace("/", "_")[:16]
        files = {f"/client/{digest}/{name}": BUNDLE / name for name in (SCRIPT, TYPES)}
        script, types = files
        content = {"script": script, "types": types, "integrity": integrity}

        async def get_index(_: object) -> Response:
            return JSONResponse(content, headers=_HEADERS | {"cache-control": "no-cache"})

        async def get_file(request: Any) -> Response:
            return FileResponse(files[request.url.path], media_type="text/javascript", headers=_HEADERS)

        routes = [Route("/client", get_index), *(Route(path, get_file) for path in files)]
        self._files = Starlette(routes=routes, middleware=[Middleware(GZipMiddleware)])
        self._files.router.redirect_slashes = False  # a redirect would repeat the request's Host

    async def __call__(self, scope: Mapping[str, Any], receive: Any, send: Send) -> None:
        """Answer a request."""
        await self._files(cast(Any, scope), receive, cast(Any, send))

    async def close(self) -> None:
        """Do nothing: nothing is open."""
