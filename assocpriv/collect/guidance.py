"""The guidance of a guided collection, as devices ask for it: a file that is replaced while the server runs."""

import asyncio
import logging
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from assocpriv.files.plans import read_guidance
from assocpriv.plans.guidance import Guidance
from assocpriv.plans.guided import GuidedPlan
from assocpriv.promise.errors import AssocprivError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


GUIDANCE_FILE = "guidance.json"
_LOG = logging.getLogger("assocpriv")


class PublishedGuidance:
    """The file in a collection's folder, read again when it was replaced."""

    def __init__(self, folder: Path, plan: GuidedPlan) -> None:
        self._path, self._plan = folder / GUIDANCE_FILE, plan
        self._guard = threading.Lock()
        self._read_at: tuple[int, ...] | None = None
        self._guidance: Guidance | None = None

    def current(self) -> Guidance | None:
        """Return the guidance that people are to answer now; None where there is none.

        A file that is no guidance of the plan is none: devices that would refuse it wait instead. It is logged once.
        """
        with self._guard:
            try:
                found = self._path.stat()
            except OSError:
                self._read_at = self._guidance = None
                return None
            stamp = (found.st_ino, found.st_mtime_ns, found.st_size)
            if stamp != self._read_at:
                self._read_at, self._guidance = stamp, self._read()
            return self._guidance

    def _read(self) -> Guidance | None:
        try:
            guidance = read_guidance(self._path)
            guidance.check(self._plan)
        except AssocprivError as error:
            _LOG.error("no guidance is published: %s", error)
            return None
        return guidance

    def to_json(self) -> dict[str, int] | None:
        """Return which guidance it is, for the status."""
        guidance = self.current()
        return None if guidance is None else {"serial": guidance.serial, "level": guidance.level}

    async def get_level(self, _: "Request") -> "Response":
        """Answer what level k* people are asked to answer, which each decides on before the guidance is asked for."""
        from starlette.responses import JSONResponse

        guidance = await asyncio.to_thread(self.current)
        if guidance is None:
            return _none()
        content = {"plan": guidance.plan_id, "serial": guidance.serial, "level": guidance.level}
        return JSONResponse(content, headers={"cache-control": "no-cache"})

    async def get_guidance(self, request: "Request") -> "Response":
        """Answer the guidance, V*."""
        from starlette.responses import Response

        guidance = await asyncio.to_thread(self.current)
        if guidance is None:
            return _none()
        headers = {"etag": f'"{guidance.guidance_id}"', "cache-control": "no-cache"}
        if guidance.guidance_id in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(guidance.canonical_json, media_type="application/json", headers=headers)


def _none() -> "Response":
    from starlette.responses import JSONResponse

    message = "no guidance is published so far; ask again later"
    return JSONResponse({"error": "no-guidance", "message": message}, 404, {"cache-control": "no-store"})
