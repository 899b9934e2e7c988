"""Scripts of which other sites' pages may talk to a collector: cross-origin resource sharing of the Fetch standard.

A browser asks before such a script may send a report or read an answer. No cookie is ever asked for, and pages for
people, as the operator's, lie outside.
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

from assocpriv.promise.errors import PlanError

_ORIGIN = re.compile(r"https?://(?:[a-z0-9.-]+|\[[0-9a-f:]+\])(?::[0-9]{1,5})?")
_ASKED_SECONDS = 600  # for which a browser need not ask again


def check_origin(origin: str) -> str:
    """Return an origin as browsers write it.

    Raises:
        PlanError: a path, a name in capitals, ``*``: whoever may send reports from people's browsers is named.

    >>> check_origin("https://shop.example")
    'https://shop.example'
    """
    if not isinstance(origin, str) or not _ORIGIN.fullmatch(origin):
        raise PlanError(
            f"{str(origin)[:100]!r} is no origin; name a site as browsers do, as https://shop.example: in small "
            "letters, without a path or a / at the end"
        )
    return origin


def shared_with(application: Callable[..., Awaitable[None]], origins: Sequence[str]) -> Callable[..., Awaitable[None]]:
    """Return an ASGI application that pages of some origins may use from people's browsers."""
    if not origins:
        return application
    from starlette.middleware.cors import CORSMiddleware

    shared = CORSMiddleware(
        cast("Any", application),
        allow_origins=[check_origin(each) for each in origins],
        allow_methods=["GET", "POST"],
        allow_headers=["Assocpriv-Plan", "Authorization", "Content-Type"],
        expose_headers=["Assocpriv-Plan", "Retry-After"],
        max_age=_ASKED_SECONDS,
    )
    return cast("Callable[..., Awaitable[None]]", shared)
