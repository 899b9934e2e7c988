"""Tests of messages through a relay: published vectors, what is malformed, and bounds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assocpriv.files import oblivious_http as ohttp
from assocpriv.guarantees.errors import PlanError, WireError

# RFC 9458, appendix A
PRIVATE = bytes.fromhex("3c168975674b2fa8e465970b79c8dcf09f1c741626480bd4c6162fc5b6a98e1a")
CONFIG = bytes.fromhex("01002031e1f05a740102115220e9af918f738674aec95f54db6e04eb705aae8e79815500080001000100010003")
SEALED = bytes.fromhex(
    "010020000100014b28f881333e7c164ffc499ad9796f877f4e1051ee6d31bad19dec96c208b472"
    "6374e469135906992e1268c594d2a10c695d858c40a026e7965e7d86b83dd440b2c0185204b4d63525"
)
OPENED = bytes.fromhex("00034745540568747470730b6578616d706c652e636f6d012f")
SECRET = bytes.fromhex("62d87a6ba569ee81014c2641f52bea36")
ANSWER = bytes.fromhex("c789e7151fcba46158ca84b04464910d86f9013e404feea014e7be4a441f234f857fbd")
KEY = ohttp.GatewayKey(1, PRIVATE)

# RFC 9292, section 5: requests of known and of indeterminate length, responses of indeterminate and of known length
_AGENT = b"curl/7.16.3 libcurl/7.16.3 OpenSSL/0.9.7l zlib/1.2.3"
FIELDS = ((b"user-agent", _AGENT), (b"host", b"www.example.com"), (b"accept-language", b"en, mi"))
_CONTROL, _FIELDS = (
    "03474554056874747073000a2f68656c6c6f2e747874",
    "0a757365722d6167656e74346375726c2f372e31362e33206c69626375726c2f372e31362e33204f70656e53534c2f302e392e376c207a"
    "6c69622f312e322e3304686f73740f7777772e6578616d706c652e636f6d0f6163636570742d6c616e677561676506656e2c206d69",
)
KNOWN = bytes.fromhex(f"00{_CONTROL}406c{_FIELDS}0000")
INDETERMINATE = bytes.fromhex(f"02{_CONTROL}{_FIELDS}00000000000000000000000000")
INFORMED = bytes.fromhex(
    "0340660772756e6e696e670a22736c65657020313522004067046c696e6b233c2f7374796c652e6373733e3b2072656c3d7072656c6f6164"
    "3b2061733d7374796c65046c696e6b243c2f7363726970742e6a733e3b2072656c3d7072656c6f61643b2061733d73637269707400"
    "40c804646174651d4d6f6e2c203237204a756c20323030392031323a32383a353320474d5406736572766572064170616368650d6c617374"
    "2d6d6f6469666965641d5765642c203232204a756c20323030392031393a31353a353620474d5404657461671422333461613338372d642d"
    "3135363865623030220d6163636570742d72616e6765730562797465730e636f6e74656e742d6c656e677468023531047661727"
    "90f4163636570742d456e636f64696e670c636f6e74656e742d747970650a746578742f706c61696e003348656c6c6f20576f726c6421204d"
    "7920636f6e74656e7420696e636c75646573206120747261696c696e672043524c462e0d0a0000"
)
TRAILED = bytes.fromhex(
    "0140c8001d5468697320636f6e74656e7420636f6e7461696e732043524c462e0d0a0d07747261696c65720474657874"
)


# ---- keys and sealing


def test_the_published_exchange() -> None:
    """Key configuration, request and answer of RFC 9458's example are read as it says."""
    assert KEY.config.encoded == CONFIG
    assert ohttp.decode_key_configs(len(CONFIG).to_bytes(2) + CONFIG) == [KEY.config]
    message, exchange = ohttp.open_request(SEALED, {1: KEY})
    assert (message, exchange.secret) == (OPENED, SECRET)
    assert ohttp.BinaryRequest.decode(message) == ohttp.BinaryRequest(b"GET", b"/", authority=b"example.com")
    answer = ohttp.Exchange(SEALED[7:39], SECRET).open_response(ANSWER)
    assert ohttp.BinaryResponse.decode(answer) == ohttp.BinaryResponse(200)


def test_the_library_is_hpke() -> None:
    """RFC 9180, appendix A.1.1: the library opens the first message and exports what is published."""
    suite, key = KEY.suites[1], bytes.fromhex("4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8")
    context = suite.create_recipient_context(
        bytes.fromhex("37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431"),
        suite.kem.deserialize_private_key(key),
        info=b"Ode on a Grecian Urn",
    )
    sealed = "f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a"
    assert context.open(bytes.fromhex(sealed), b"Count-0") == b"Beauty is truth, truth beauty"
    exported = "e9e43065102c3836401bed8c3c3c75ae46be1639869391d62c61f1ec7af54931"
    assert context.export(b"TestContext", 32).hex() == exported


@pytest.mark.parametrize("aead", [1, 3])
def test_device_and_gateway(aead: int) -> None:
    """What a device seals, with either cipher, a gateway opens, and the other way round; others open neither."""
    config = ohttp.KeyConfig(1, KEY.config.public_key, ((1, aead),))
    content, device = ohttp.seal_request(OPENED, config)
    assert len(content) == len(OPENED) + ohttp.OVERHEAD
    message, gateway = ohttp.open_request(content, {1: KEY})
    answer = gateway.seal_response(b"answer")
    assert (message, device.open_response(answer)) == (OPENED, b"answer")
    _, other = ohttp.seal_request(OPENED, config)
    for changed in (answer[:-1], answer[:20], b"", bytes([answer[0] ^ 1]) + answer[1:]):
        with pytest.raises(WireError, match="answer cannot be opened"):
            device.open_response(changed)
    with pytest.raises(WireError, match="answer cannot be opened"):
        other.open_response(answer)
    assert "secret" not in repr(gateway)
    assert "private" not in repr(KEY)


def test_what_cannot_be_opened_is_one_error() -> None:
    """Cut off anywhere, with any bit changed, of another key or of none: the text of the error is the same."""
    others = [ohttp.seal_request(OPENED, ohttp.GatewayKey(number, bytes([7] * 32)).config)[0] for number in (1, 2)]
    low = SEALED[:7] + bytes(32) + SEALED[39:]  # a point of low order
    flipped = [
        bytes([*SEALED[:at], SEALED[at] ^ 1 << bit, *SEALED[at + 1 :]]) for at in range(len(SEALED)) for bit in (0, 6)
    ]
    texts = set()
    for content in [SEALED[:end] for end in range(len(SEALED))] + flipped + others + [low, SEALED + b"\0"]:
        with pytest.raises(WireError) as caught:
            ohttp.open_request(content, {1: KEY})
        texts.add(str(caught.value))
    assert len(texts) == 1


def test_key_configurations() -> None:
    """Other kinds of keys are passed over; what is cut off, empty, too long or has none of ours is refused."""
    other_kem = bytes([9]) + bytes.fromhex("0010") + bytes(65) + bytes.fromhex("000400010001")
    other_cipher = ohttp.KeyConfig(3, bytes(32), ((1, 2),))
    given = [KEY.config, ohttp.KeyConfig(2, bytes(32), ((2, 2), (1, 3)))]
    selected = len(other_kem).to_bytes(2) + other_kem + ohttp.encode_key_configs([*given, other_cipher])
    assert ohttp.decode_key_configs(selected) == given
    assert len({config.digest for config in given}) == 2
    bad = [selected[:end] for end in range(len(selected)) if end not in (123, 170)]
    bad += [b"", ohttp.encode_key_configs([other_cipher]), bytes(ohttp.MOST_KEYS_BYTES + 1), b"\0\x02\1\0", b"\0\0"]
    without = ohttp.KeyConfig(1, bytes(32), ())
    bad += [ohttp.encode_key_configs([without]), (len(CONFIG) + 1).to_bytes(2) + CONFIG + b"\0"]
    for content in bad:
        with pytest.raises(WireError, match="key configuration"):
            ohttp.decode_key_configs(content)


def test_a_key_of_low_order_is_refused() -> None:
    """No message is sealed for a point whose secret everybody knows."""
    with pytest.raises(WireError, match="no key"):
        ohttp.seal_request(OPENED, ohttp.KeyConfig(1, bytes(32)))


def test_the_library_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the library the error names what to install."""
    monkeypatch.setitem(__import__("sys").modules, "pyhpke", None)
    with pytest.raises(PlanError, match=r"assocpriv\[oblivious\]"):
        ohttp.hpke()


# ---- binary HTTP


def test_the_published_requests() -> None:
    """The requests of RFC 9292 are read and written as it says, whole or with empty ends cut off."""
    request = ohttp.BinaryRequest(b"GET", b"/hello.txt", FIELDS)
    assert request.encode() == KNOWN
    for content, cut in ((KNOWN, 2), (INDETERMINATE, 12)):
        for count in range(cut + 1):
            assert ohttp.BinaryRequest.decode(content[: len(content) - count]) == request


def test_the_published_responses() -> None:
    """The responses of RFC 9292 are read: after informational ones, and with a trailer, which is let go by."""
    informed = ohttp.BinaryResponse.decode(INFORMED)
    assert (informed.status, informed.body) == (200, b"Hello World! My content includes a trailing CRLF.\r\n")
    assert (b"etag", b'"34aa387-d-1568eb00"') in informed.headers
    assert ohttp.BinaryResponse.decode(TRAILED) == ohttp.BinaryResponse(200, (), b"This content contains CRLF.\r\n")


_NAMES, _BYTES = st.from_regex(rb"[a-z0-9-]{1,30}", fullmatch=True), st.binary(max_size=300)


@given(_BYTES, st.lists(st.tuples(_NAMES, _NAMES), max_size=5), st.binary(max_size=20_000), st.integers(0, 30_000))
def test_what_is_written_is_read(path: bytes, headers: list[tuple[bytes, bytes]], body: bytes, length: int) -> None:
    """Requests and responses come back, with padding, too."""
    request = ohttp.BinaryRequest(b"POST", path, tuple(headers), body, authority=b"shop.example")
    assert ohttp.BinaryRequest.decode(request.encode()) == request
    response = ohttp.BinaryResponse(404, tuple(headers), body)
    encoded = response.encode(length)
    assert ohttp.BinaryResponse.decode(encoded) == response
    assert len(encoded) == max(length, len(response.encode()))


def _with_field(name: bytes, value: bytes) -> bytes:
    return ohttp.BinaryRequest(b"GET", b"/", ((name, value),)).encode()


MALFORMED = [
    b"",
    b"\1" + KNOWN[1:],
    KNOWN[:40],
    KNOWN + b"\1",
    b"\0\xff\xff\xff\xff\xff\xff\xff\xffGET",
    *[_with_field(name, b"x") for name in (b"", b"Accept", b":method", b"a b")],
    *[_with_field(b"x", value) for value in (b"a\r\nb: c", b"a\0", b" a", b"a\t", b"a\n")],
    ohttp.BinaryRequest(b"GET", b"/", ((b"x", b"y"),) * 65).encode(),
]


@pytest.mark.parametrize("content", MALFORMED)
def test_malformed_requests_are_refused(content: bytes) -> None:
    """A response, a part, padding that says something, a length beyond the end, bad fields and too many of them."""
    with pytest.raises(WireError, match="RFC 9292"):
        ohttp.BinaryRequest.decode(content)


@pytest.mark.parametrize("content", [b"\0" + TRAILED[1:], b"\1\x00", b"\1\x44\x00", b"\1", b"\1\x40\x66\x00"])
def test_malformed_responses_are_refused(content: bytes) -> None:
    """A request, no status, and nothing behind an informational response."""
    with pytest.raises(WireError, match="RFC 9292"):
        ohttp.BinaryResponse.decode(content)
