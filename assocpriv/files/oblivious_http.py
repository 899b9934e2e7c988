"""Messages that a relay passes on without reading them: Oblivious HTTP (RFC 9458) around binary HTTP (RFC 9292).

A device seals a request for a gateway's published key (HPKE, RFC 9180, by pyhpke), a relay forwards what it cannot
open, and the gateway, which opens it, does not see who sent it. Both sides use this module: key configurations,
sealing and opening, and requests and responses as bytes. It knows neither of networks nor of files.

Lengths are compared with the bytes that are there before anything is read, so a message costs what its own bytes cost;
the caller bounds these. A message that cannot be opened raises one error with one text, whatever is wrong with it.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from assocpriv.guarantees.errors import PlanError, WireError

GATEWAY_PATH = "/.well-known/ohttp-gateway"  # RFC 9540
KEYS_TYPE, REQUEST_TYPE, RESPONSE_TYPE = "application/ohttp-keys", "message/ohttp-req", "message/ohttp-res"
KEY_PROBLEM = "https://iana.org/assignments/http-problem-types#ohttp-key"  # of a request that a gateway cannot open
MOST_KEYS_BYTES = 4096  # of a list of key configurations
MOST_REQUEST_BYTES = 64 << 10  # of a sealed request
OVERHEAD = 7 + 32 + 16  # bytes that sealing adds to a request: header, encapsulated key, tag

_KEM, _KDF, _AES, _CHACHA = 0x0020, 0x0001, 0x0001, 0x0003
_KEY_BYTES = {_AES: 16, _CHACHA: 32}
_NONCE_BYTES, _TAG_BYTES = 12, 16
_REQUEST_LABEL, _RESPONSE_LABEL = b"message/bhttp request\0", b"message/bhttp response"
_MOST_FIELDS = 64  # headers of a message
_FIELD_NAME = re.compile(rb"[a-z0-9!#$%&'*+.^_`|~-]+")
_FIELD_VALUE = re.compile(rb"(?:[^\0\r\n\t ](?:[^\0\r\n]*[^\0\r\n\t ])?)?", re.DOTALL)
Headers = Sequence[tuple[bytes, bytes]]


# ---- keys

_NO_KEYS = "what came is no list of key configurations (RFC 9458)"


@dataclass(frozen=True, slots=True)
class KeyConfig:
    """A gateway's public key and what it goes with (RFC 9458, section 3).

    ``algorithms`` are pairs of a KDF and an AEAD by their numbers in RFC 9180.
    """

    key_id: int
    public_key: bytes
    algorithms: tuple[tuple[int, int], ...] = ((_KDF, _AES), (_KDF, _CHACHA))

    @property
    def encoded(self) -> bytes:
        """The configuration as bytes, without a length before it."""
        pairs = b"".join(_uint16(kdf) + _uint16(aead) for kdf, aead in self.algorithms)
        return bytes([self.key_id]) + _uint16(_KEM) + self.public_key + _uint16(len(pairs)) + pairs

    @property
    def digest(self) -> str:
        """SHA-256 of :attr:`encoded`, in hexadecimal digits, by which a page may name the only key it trusts."""
        return hashlib.sha256(self.encoded).hexdigest()


def encode_key_configs(configs: Sequence[KeyConfig]) -> bytes:
    """Return key configurations as ``application/ohttp-keys``.

    >>> config = KeyConfig(1, bytes(32))
    >>> decode_key_configs(encode_key_configs([config])) == [config]
    True
    """
    return b"".join(_uint16(len(config.encoded)) + config.encoded for config in configs)


def decode_key_configs(content: bytes) -> list[KeyConfig]:
    """Return the key configurations in a list, in its order, without those of other kinds of keys.

    Raises:
        WireError: it is no such list, or has none that this package can use.
    """
    if len(content) > MOST_KEYS_BYTES:
        raise WireError(f"a list of key configurations has at most {MOST_KEYS_BYTES:,} bytes")
    reader, found = _Reader(content, _NO_KEYS), []
    while reader.left:
        config = _decode_key_config(reader.take(reader.number(2)))
        found += [] if config is None else [config]
    if not found:
        raise WireError("no key configuration is of X25519, HKDF-SHA256 and AES-128-GCM or ChaCha20Poly1305")
    return found


def _decode_key_config(content: bytes) -> KeyConfig | None:
    reader = _Reader(content, _NO_KEYS)
    key_id, kem = reader.number(1), reader.number(2)
    if kem != _KEM:
        return None
    public_key, pairs = reader.take(32), reader.take(reader.number(2))
    if reader.left or not pairs or len(pairs) % 4:
        raise WireError(_NO_KEYS)
    numbers = [int.from_bytes(pairs[at : at + 2]) for at in range(0, len(pairs), 2)]
    config = KeyConfig(key_id, public_key, tuple(zip(numbers[::2], numbers[1::2], strict=True)))
    return config if _aead_of(config) else None


def _aead_of(config: KeyConfig) -> int:
    """Return the number of the AEAD that is used with a configuration; 0 if there is none that is known."""
    return next((aead for kdf, aead in config.algorithms if kdf == _KDF and aead in _KEY_BYTES), 0)


@dataclass(frozen=True)
class GatewayKey:
    """A gateway's private key, 32 random bytes, and its number."""

    key_id: int
    private: bytes = field(repr=False)

    @cached_property
    def _pair(self) -> tuple[Any, bytes]:
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

        private = X25519PrivateKey.from_private_bytes(self.private)
        return hpke().KEMKey.from_pyca_cryptography_key(private), private.public_key().public_bytes_raw()

    @property
    def config(self) -> KeyConfig:
        """What is published of it."""
        return KeyConfig(self.key_id, self._pair[1])

    @cached_property
    def suites(self) -> dict[int, Any]:
        """Its HPKE suites, by number of the AEAD."""
        return {aead: _suite(aead) for aead in _KEY_BYTES}

    def context(self, aead: int, info: bytes, encapsulated: bytes) -> Any:
        """Return the recipient's HPKE context."""
        return self.suites[aead].create_recipient_context(encapsulated, self._pair[0], info=info)


def hpke() -> Any:
    """Return the library of hybrid public key encryption.

    Raises:
        PlanError: it is not installed.
    """
    try:
        import pyhpke
    except ImportError:
        raise PlanError("reports through a relay need pyhpke: pip install 'assocpriv[oblivious]'") from None
    return pyhpke


def _suite(aead: int) -> Any:
    library = hpke()
    return library.CipherSuite.new(library.KEMId(_KEM), library.KDFId(_KDF), library.AEADId(aead))


# ---- sealing and opening


@dataclass(frozen=True, slots=True)
class Exchange:
    """What device and gateway share after a request: by it the gateway seals its one answer and the device opens it."""

    encapsulated: bytes
    secret: bytes = field(repr=False)
    aead: int = _AES

    def seal_response(self, message: bytes) -> bytes:
        """Return an answer as ``message/ohttp-res`` (RFC 9458, section 4.4)."""
        nonce = secrets.token_bytes(_KEY_BYTES[self.aead])
        cipher, first = self._cipher(nonce)
        return nonce + bytes(cipher.encrypt(first, message, b""))

    def open_response(self, content: bytes) -> bytes:
        """Return the answer in what a relay brought.

        Raises:
            WireError: it is no answer of the gateway to this request.
        """
        from cryptography.exceptions import InvalidTag

        length = _KEY_BYTES[self.aead]
        if len(content) < length + _TAG_BYTES:
            raise WireError(_NO_ANSWER)
        cipher, first = self._cipher(content[:length])
        try:
            return bytes(cipher.decrypt(first, content[length:], b""))
        except InvalidTag:
            raise WireError(_NO_ANSWER) from None

    def _cipher(self, nonce: bytes) -> tuple[Any, bytes]:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305

        key_of_all = hmac.digest(self.encapsulated + nonce, self.secret, "sha256")  # HKDF-Extract, then one block each
        key = hmac.digest(key_of_all, b"key\x01", "sha256")[: _KEY_BYTES[self.aead]]
        first = hmac.digest(key_of_all, b"nonce\x01", "sha256")[:_NONCE_BYTES]
        return (AESGCM if self.aead == _AES else ChaCha20Poly1305)(key), first


_NO_ANSWER = "the answer cannot be opened: it is not the gateway's to this request"
_CANNOT_OPEN = "the message cannot be opened with a key of this gateway"


def seal_request(message: bytes, config: KeyConfig) -> tuple[bytes, Exchange]:
    """Return a request as ``message/ohttp-req`` for a gateway, and what opens its answer (RFC 9458, section 4.3).

    Raises:
        WireError: the key is none.
        PlanError: pyhpke is not installed.

    >>> key = GatewayKey(1, bytes(range(32)))
    >>> content, device = seal_request(b"report_type", key.config)
    >>> message, gateway = open_request(content, {1: key})
    >>> message, device.open_response(gateway.seal_response(b"answer"))
    (b'report_type', b'answer')
    """
    aead = _aead_of(config)
    header = _header(config.key_id, aead)
    suite = _suite(aead)
    try:
        public = suite.kem.deserialize_public_key(config.public_key)
        encapsulated, context = suite.create_sender_context(public, info=_REQUEST_LABEL + header)
    except (ValueError, hpke().PyHPKEError):
        raise WireError("a key configuration has a point that is no key") from None
    return header + encapsulated + context.seal(message), _exchange(encapsulated, context, aead)


def open_request(content: bytes, keys: Mapping[int, GatewayKey]) -> tuple[bytes, Exchange]:
    """Return the request in what a relay brought, and what seals its answer.

    Args:
        content: the whole message; the caller bounds its length.
        keys: by number.

    Raises:
        WireError: always with the same text.
    """
    header, encapsulated, sealed = content[:7], content[7:39], content[39:]
    key = keys.get(content[0]) if content else None
    aead = int.from_bytes(content[5:7])
    if key is None or aead not in _KEY_BYTES or header != _header(key.key_id, aead) or len(sealed) < _TAG_BYTES:
        raise WireError(_CANNOT_OPEN)
    try:
        context = key.context(aead, _REQUEST_LABEL + header, encapsulated)
        return context.open(sealed), _exchange(encapsulated, context, aead)
    except (ValueError, hpke().PyHPKEError):
        raise WireError(_CANNOT_OPEN) from None


def _header(key_id: int, aead: int) -> bytes:
    return bytes([key_id]) + _uint16(_KEM) + _uint16(_KDF) + _uint16(aead)


def _exchange(encapsulated: bytes, context: Any, aead: int) -> Exchange:
    return Exchange(encapsulated, context.export(_RESPONSE_LABEL, _KEY_BYTES[aead]), aead)


# ---- binary HTTP


@dataclass(frozen=True, slots=True)
class BinaryRequest:
    """A request; names of headers are in small letters."""

    method: bytes
    path: bytes
    headers: Headers = ()
    body: bytes = field(default=b"", repr=False)
    scheme: bytes = b"https"
    authority: bytes = b""

    def encode(self) -> bytes:
        """Return the request as ``message/bhttp`` of known length, without padding.

        >>> BinaryRequest(b"GET", b"/plan").encode()
        b'\\x00\\x03GET\\x05https\\x00\\x05/plan\\x00\\x00\\x00'
        """
        control = b"".join(map(_sized, (self.method, self.scheme, self.authority, self.path)))
        return b"\0" + control + _encode_content(self.headers, self.body)

    @classmethod
    def decode(cls, content: bytes) -> "BinaryRequest":
        """Return the request in a message of known or of indeterminate length.

        Raises:
            WireError: it is none.
        """
        reader, known = _begun(content, 0)
        method, scheme, authority, path = (reader.take(reader.integer()) for _ in range(4))
        headers, body = _decode_content(reader, known=known)
        return cls(method, path, headers, body, scheme, authority)


@dataclass(frozen=True, slots=True)
class BinaryResponse:
    """A response; names of headers are in small letters."""

    status: int
    headers: Headers = ()
    body: bytes = field(default=b"", repr=False)

    def encode(self, length: int = 0) -> bytes:
        """Return the response as ``message/bhttp`` of known length, with zeros behind it up to a length in bytes.

        >>> BinaryResponse(200).encode(8)
        b'\\x01@\\xc8\\x00\\x00\\x00\\x00\\x00'
        """
        return (b"\1" + _integer(self.status) + _encode_content(self.headers, self.body)).ljust(length, b"\0")

    @classmethod
    def decode(cls, content: bytes) -> "BinaryResponse":
        """Return the final response in a message of known or of indeterminate length.

        Raises:
            WireError: it is none.
        """
        reader, known = _begun(content, 1)
        while 100 <= (status := reader.integer()) < 200:
            _decode_fields(reader, known=known)
        if not 200 <= status <= 599:
            raise WireError(_MALFORMED)
        return cls(status, *_decode_content(reader, known=known))


_MALFORMED = "the message is no binary HTTP (RFC 9292)"


def _begun(content: bytes, known: int) -> tuple["_Reader", bool]:
    """Return what stands behind a message's framing indicator, ``known`` or two more, and whether lengths are known."""
    reader = _Reader(content, _MALFORMED)
    framing = reader.integer()
    if framing not in (known, known + 2):
        raise WireError(_MALFORMED)
    return reader, framing == known


def _encode_content(headers: Headers, body: bytes) -> bytes:
    """Return a message's header fields, content, and no trailer."""
    return _sized(b"".join(_sized(name) + _sized(value) for name, value in headers)) + _sized(body) + b"\0"


def _decode_content(reader: "_Reader", *, known: bool) -> tuple[Headers, bytes]:
    """Return a message's header fields and content; empty parts at the end may have been cut off."""
    headers = _decode_fields(reader, known=known)
    body = b"".join(_chunks(reader, 1 if known else reader.left))
    _decode_fields(reader, known=known)  # the trailer
    if any(reader.take(reader.left)):
        raise WireError(_MALFORMED)
    return headers, body


def _chunks(reader: "_Reader", most: int) -> list[bytes]:
    """Return parts of a content, which end at their number or where one is empty."""
    chunks = list[bytes]()
    while reader.left and len(chunks) < most and (length := reader.integer()):
        chunks.append(reader.take(length))
    return chunks


def _decode_fields(reader: "_Reader", *, known: bool) -> Headers:
    """Return a section of fields, which has a length of its own or ends with a name of no length."""
    if not reader.left:
        return ()
    section = _Reader(reader.take(reader.integer()), _MALFORMED) if known else reader
    found = list[tuple[bytes, bytes]]()
    while section.left and ((length := section.integer()) or known):
        name, value = section.take(length), section.take(section.integer())
        if not _FIELD_NAME.fullmatch(name) or not _FIELD_VALUE.fullmatch(value) or len(found) == _MOST_FIELDS:
            raise WireError(_MALFORMED)
        found.append((name, value))
    return tuple(found)


class _Reader:
    """Bytes, taken from the front: never more than there are."""

    def __init__(self, content: bytes, malformed: str) -> None:
        self._content, self._at, self._malformed = content, 0, malformed

    @property
    def left(self) -> int:
        return len(self._content) - self._at

    def take(self, count: int) -> bytes:
        if count > self.left:
            raise WireError(self._malformed)
        self._at += count
        return self._content[self._at - count : self._at]

    def number(self, length: int) -> int:
        return int.from_bytes(self.take(length))

    def integer(self) -> int:
        """Take an integer of 1, 2, 4 or 8 bytes, as its first two bits say (RFC 9000, section 16)."""
        (first,) = self.take(1)
        if first < 0x40:  # nearly all are
            return first
        more = (1 << (first >> 6)) - 1
        return (first & 0x3F) << 8 * more | self.number(more)


def _uint16(number: int) -> bytes:
    return number.to_bytes(2)


def _integer(number: int) -> bytes:
    size = next(size for size in range(4) if number < 1 << (8 << size) - 2)
    return (number | size << (8 << size) - 2).to_bytes(1 << size)


def _sized(content: bytes) -> bytes:
    return _integer(len(content)) + content
