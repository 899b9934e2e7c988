"""Reports as a device sends them through a relay, and what comes back."""

from collections.abc import Sequence

from running_collector import HEADERS, records

from assocpriv.files.oblivious import BinaryRequest, BinaryResponse, Exchange, KeyConfig, seal_request

OUTER = {"content-type": "message/ohttp-req"}
INNER = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]


def sealed(
    body: bytes, config: KeyConfig, headers: Sequence[tuple[bytes, bytes]] = INNER, path: bytes = b"/reports"
) -> tuple[bytes, Exchange]:
    """Return a message with records in it, and what opens its answer."""
    return seal_request(BinaryRequest(b"POST", path, headers, body, authority=b"shop.example").encode(), config)


def sealed_report(number: int, config: KeyConfig) -> tuple[bytes, Exchange]:
    """Return a message with one report of a number."""
    return sealed(records([number]), config)


def opened(exchange: Exchange, content: bytes) -> BinaryResponse:
    """Return the answer in what came back."""
    return BinaryResponse.decode(exchange.open_response(content))
