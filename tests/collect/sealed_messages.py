"""Encrypted messages with reports, as a device sends them through a relay, and their answers."""

from collections.abc import Sequence

from running_collector import HEADERS, records

from assocpriv.files.oblivious_http import BinaryRequest, BinaryResponse, Exchange, KeyConfig, seal_request

OUTER = {"content-type": "message/ohttp-req"}
INNER = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]


def sealed(
    body: bytes, config: KeyConfig, headers: Sequence[tuple[bytes, bytes]] = INNER, path: bytes = b"/reports"
) -> tuple[bytes, Exchange]:
    """Return an encrypted message with records, and the exchange that decrypts its answer."""
    return seal_request(BinaryRequest(b"POST", path, headers, body, authority=b"shop.example").encode(), config)


def sealed_report(number: int, config: KeyConfig) -> tuple[bytes, Exchange]:
    """Return an encrypted message with one report of a number."""
    return sealed(records([number]), config)


def opened(exchange: Exchange, content: bytes) -> BinaryResponse:
    """Return the decrypted answer."""
    return BinaryResponse.decode(exchange.open_response(content))
