"""The anonymous channel from end to end, against direct sending: devices, relay and collector are three processes.

For the rates, each device encrypts one report of one basket with the package's own message code. It sends the message
from a marked address with marked headers. Afterwards the files, log and output of each party are searched for data that
it must not have: the collector's for address, headers and their time, the relay's also for report contents. Then the
same number of devices sends with the full client code while both parties are killed (crowd.py).
"""

import asyncio
import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import assocpriv as ap
from assocpriv.client.baskets.basket_client import Randomizer
from assocpriv.files.oblivious_http import (
    GATEWAY_PATH,
    REQUEST_TYPE,
    BinaryRequest,
    BinaryResponse,
    Exchange,
    decode_key_configs,
    seal_request,
)
from assocpriv.files.open_batches import batch_files
from assocpriv.files.plan_files import write_plan
from assocpriv.guarantees.entropy import SystemEntropy
from bench import tables
from bench.plans import coded
from bench.speed import crowd
from bench.speed.crowd import ADDRESS, MARKS, Party, marks_in, parties

_CONNECTIONS, _HELD_CONNECTIONS = 256, 1500
_OCTETS = "application/octet-stream"


def records_of(plan: Any, devices: int) -> list[bytes]:
    """Return a record for each device, from its own basket: a submission id and a report."""
    entropy, randomizer = SystemEntropy(), Randomizer(plan)
    baskets = [{entropy.below(plan.n_items) for _ in range(5)} for _ in range(devices)]
    return [os.urandom(16) + randomizer.randomize(basket, entropy=entropy) for basket in baskets]


async def send_all(
    url: str, path: str, bodies: Sequence[bytes], headers: dict[str, str], at_a_time: int
) -> list[bytes]:
    """Send bodies from the marked address with marked headers, each over a new connection, and return the answers.

    At most ``at_a_time`` connections are open together.
    """
    import aiohttp

    answers, left = [b""] * len(bodies), iter(range(len(bodies)))
    connector = aiohttp.TCPConnector(limit=at_a_time, local_addr=(ADDRESS, 0), force_close=True)
    async with aiohttp.ClientSession(connector=connector, headers=MARKS | headers) as session:

        async def device() -> None:
            for number in left:
                while not answers[number]:
                    with suppress(aiohttp.ClientError):  # for example if this process was too slow: send again
                        async with session.post(url + path, data=bodies[number]) as answer:
                            content = await answer.read()
                            assert answer.status == 200, content
                            answers[number] = content

        await asyncio.gather(*(device() for _ in range(at_a_time)))
    return answers


def through(url: str, plan: Any, records: Sequence[bytes]) -> tuple[list[bytes], list[Exchange], float]:
    """Return messages for a gateway whose keys a relay serves, exchanges to decrypt answers, and µs per message."""
    from urllib.request import urlopen

    with urlopen(url + GATEWAY_PATH) as answer:
        config = decode_key_configs(answer.read())[0]
    headers = ((b"assocpriv-plan", plan.plan_id.encode("ascii")), (b"content-type", _OCTETS.encode("ascii")))
    began = perf_counter()
    requests = (BinaryRequest(b"POST", b"/reports", headers, each, authority=b"collector.example") for each in records)
    messages, exchanges = zip(*(seal_request(request.encode(), config) for request in requests), strict=True)
    return list(messages), list(exchanges), 1e6 * (perf_counter() - began) / len(records)


def run(*, quick: bool, devices: int = 20_000) -> dict[str, Any]:
    """Return rates and processor time of both ways, and the marks that each party has."""
    plan = coded(1_000)
    devices = 2_000 if quick else devices
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        write_plan(plan, home / "plan.json")
        ways, kept = {}, {}
        for name, hold in (("relay, 1 s held", 1.0), ("relay, nothing held", 0.0), ("gateway, no relay", None)):
            (home / name).mkdir()
            with parties(home / name, home / "plan.json", hold or 0.0, "--oblivious") as (collector, relay):
                ways[name], found = _sealed(plan, collector, None if hold is None else relay, devices, held=bool(hold))
            kept = kept or _kept(collector, relay, *found)
        (home / "direct").mkdir()
        with parties(home / "direct", home / "plan.json", 0.0) as (collector, _):
            ways["direct"] = _direct(plan, collector, devices)
        (home / "killed").mkdir()
        made = ap.plan(1_000, central=(1, "1e-8"), reports=devices)
        made = replace(made, central=replace(made.central, delay=devices // 25))
        rng = np.random.default_rng(1)
        baskets = [[str(item) for item in {*rng.choice(1_000, 4).tolist()}] for _ in range(devices)]
        killed = crowd.run(home / "killed", made, baskets, of_node=devices // 10, every=30.0)
    return {"devices": devices, "ways": ways, "kept": kept, "killed": killed}


def _sealed(
    plan: Any, collector: Party, relay: Party | None, devices: int, *, held: bool
) -> tuple[dict[str, float], tuple[list[bytes], list[bytes], int]]:
    records = records_of(plan, devices)
    receiver = relay or collector
    messages, exchanges, sealing = through(receiver.url, plan, records)
    before = collector.worked(), relay.worked() if relay else 0.0, relay.written() if relay else 0
    began = perf_counter()
    at_a_time = _HELD_CONNECTIONS if held else _CONNECTIONS
    answers = asyncio.run(send_all(receiver.url, GATEWAY_PATH, messages, {"content-type": REQUEST_TYPE}, at_a_time))
    spent = perf_counter() - began
    figures = {
        "reports_s": devices / spent,
        "collector_cpu_us": 1e6 * (collector.worked() - before[0]) / devices,
        "relay_cpu_us": 1e6 * (relay.worked() - before[1]) / devices if relay else 0.0,
        "device_seals_us": sealing,
        "request_bytes": len(messages[0]),
        "answer_bytes": len(answers[0]),
    }
    assert len({len(each) for each in answers}) == 1
    inside = [
        BinaryResponse.decode(exchange.open_response(each)) for exchange, each in zip(exchanges, answers, strict=True)
    ]
    assert all((each.status, each.body) == (200, b'{"accepted": 1, "duplicates": 0}') for each in inside)
    return figures, (records, messages, relay.written() - before[2] if relay else 0)


def _direct(plan: Any, collector: Party, devices: int) -> dict[str, float]:
    records, before, began = records_of(plan, devices), collector.worked(), perf_counter()
    headers = {"assocpriv-plan": plan.plan_id, "content-type": _OCTETS}
    asyncio.run(send_all(collector.url, "/reports", records, headers, _CONNECTIONS))
    spent = perf_counter() - began
    return {
        "reports_s": devices / spent,
        "collector_cpu_us": 1e6 * (collector.worked() - before) / devices,
        "request_bytes": len(records[0]),
    }


def _kept(
    collector: Party, relay: Party, records: Sequence[bytes], messages: Sequence[bytes], written: int
) -> dict[str, Any]:
    """Return the data of both ended parties: marks, reports, and the correlation of stored order and sending order."""
    data = collector.home / "data"
    content = batch_files(data)[-1].read_bytes()
    order = sorted(range(len(records)), key=lambda place: content.index(records[place]))
    assert sorted(order) == list(range(len(records)))
    some = [*records[::97], *messages[::97]]
    return {
        "collector_has": marks_in(collector),
        "relay_has": marks_in(relay),
        "relay_has_of_reports": sum(relay.has(each[:16]) or relay.has(each[:16].hex().encode()) for each in some),
        "collector_has_reports": len(ap.read_reports(data)),
        "relay_files": len(list(relay.home.rglob("*"))),
        "relay_wrote_bytes": written,
        "order_correlation": float(np.corrcoef(order, np.arange(len(order)))[0, 1]),
    }


def markdown(result: dict[str, Any]) -> str:
    """Return the figures as tables."""
    columns = {
        "way": "way", "reports/s": "reports_s", "collector CPU µs/report": "collector_cpu_us",
        "relay CPU µs/report": "relay_cpu_us", "encryption µs/report": "device_seals_us",
        "request bytes": "request_bytes", "answer bytes": "answer_bytes",
    }  # fmt: skip
    rows = [{"way": name} | figures for name, figures in result["ways"].items()]
    kept, killed = result["kept"], result["killed"]
    return (
        f"{result['devices']:,} devices, one report each.\n\n{tables.table(columns, rows)}\n"
        f"Marks (address, header, time) found: collector {kept['collector_has'] or 'none'}, relay "
        f"{kept['relay_has'] or 'none'}. The relay has {kept['relay_has_of_reports']} reports and "
        f"{kept['relay_files']} files, and wrote {kept['relay_wrote_bytes']} bytes to disks. The collector has "
        f"{kept['collector_has_reports']:,} reports, each once; the correlation of their order with the order of "
        f"sending is {kept['order_correlation']:.3f}.\n\n"
        f"{killed['devices']:,} devices sent with the full client code, {killed['of_node']:,} of them in node, while "
        f"collector and relay were killed {killed['killed']} times. Of {killed['reports']:,} reports "
        f"{killed['lost']} are lost, {killed['doubled']} duplicated and {killed['foreign']} of unknown origin. "
        f"Marks found: collector {killed['collector_has'] or 'none'}, relay {killed['relay_has'] or 'none'}. The relay "
        f"has {killed['relay_has_of_reports']} of about 200 reports and {killed['relay_files']} files. "
        f"{killed['closed']:,} reports are closed in one batch and {killed['read']:,} are read from it.\n"
    )
