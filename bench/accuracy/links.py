"""What each party of the anonymous channel can link: a day of simulated devices that send through the relay.

A device makes its report at a random second of the day, asks the collector for its key then unless it has a pin, and
draws its send time as the client does. The relay holds messages for one of the next eight batches and forwards each
batch in random order. The collector stores them in its own format. Each party then guesses the sender of every report
as well as its knowledge allows, and right guesses are counted; a guess at random is right once on average.
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.collect.relay_app import _BATCHES
from assocpriv.collect.sqlite import SqliteStore
from assocpriv.collect.store import read_upload
from assocpriv.files.open_batches import batch_files, read_slots
from bench import tables
from bench.plans import coded

_DAY, _HOUR, _HOLD = 86_400, 3_600, 20.0
_Times = NDArray[np.float64]
_Order = NDArray[np.int64]


def through_relay(sent: _Times, rng: np.random.Generator) -> tuple[_Order, _Times]:
    """Return the senders in the order in which the collector gets their messages, and its times."""
    period = _HOLD / _BATCHES
    batches = np.floor(sent / period) + 1 + rng.integers(0, _BATCHES, len(sent))
    order = np.lexsort((rng.random(len(sent)), batches))
    return order, batches[order] * period


def by_time(order: _Order, times: _Times, seen: _Times, most: float, rng: np.random.Generator) -> int:
    """Return right guesses: for each message one of the devices seen at most ``most`` seconds before, at random."""
    devices, seen = np.argsort(seen), np.sort(seen)
    first, end = np.searchsorted(seen, times - most), np.searchsorted(seen, times)
    guesses = devices[np.minimum(first + np.floor(rng.random(len(times)) * (end - first)).astype(int), len(seen) - 1)]
    return int((guesses == order).sum())


def by_rank(order: _Order, seen: _Times) -> int:
    """Return right guesses: the nth message is of the nth device."""
    return int((np.argsort(seen) == order).sum())


def on_disk(order: _Order, times: _Times) -> _Order:
    """Return the senders in the order of the bytes of the collector's file, which gets messages in batches."""
    plan = coded(1_000)
    records = [device.to_bytes(16, "big") + bytes(plan.report_bytes) for device in order.tolist()]
    with tempfile.TemporaryDirectory() as place:
        store = SqliteStore(Path(place), plan, oblivious=True)
        for group in np.split(np.arange(len(order)), np.flatnonzero(np.diff(times)) + 1):
            store.add([read_upload(records[each], plan, own_row=True) for each in group])
        _, _, places = read_slots(batch_files(Path(place))[-1], plan)
        store.close()
    return np.array([int.from_bytes(each, "big") for each in sorted(places, key=lambda each: places[each])])


def run(devices: int = 20_000, seed: int = 1) -> dict[str, Any]:
    """Return for each party how many of a day's reports it links to the right device."""
    rng = np.random.default_rng(seed)
    made = rng.integers(0, _DAY, devices).astype(np.float64) + rng.random(devices)
    rows = []

    def add(party: str, knows: str, linked: int) -> None:
        rows.append({"party": party, "knows": knows, "linked": linked, "chance": 1})

    for name, delay in (("an hour", _HOUR), ("a day", _DAY)):
        sent = made + 1 + rng.integers(0, delay, devices)
        order, times = through_relay(sent, rng)
        asked = by_time(order, times, made, delay + 1 + _HOLD, rng), by_rank(order, made)
        add("collector alone", f"when a device asked for the key as it made its report, sent within {name}", max(asked))
        if delay > _HOUR:
            continue
        add("collector alone", "no address, as keys are pinned", by_rank(order, rng.random(devices)))
        add("collector alone", "when a device asked, were it while sending", by_time(order, times, sent, _HOLD, rng))
        file = on_disk(order, times)
        add("disk thief alone", "the file, and who sent in which order", by_rank(file, sent))
        add("collector and disk", "the file, and when a device asked as it made its report", by_rank(file, made))
        add("relay alone", "who sends when, no report", by_rank(rng.permutation(devices), sent))
        add("relay and collector", "everything: they must not work together", by_time(order, times, sent, _HOLD, rng))
    return {"devices": devices, "links": sorted(rows, key=lambda row: row["party"])}


def markdown(result: dict[str, Any]) -> str:
    """Return the figures as a table."""
    columns = {"party": "party", "knows": "knows", "reports linked": "linked", "by chance": "chance"}
    table = tables.table(columns, result["links"])
    return f"{result['devices']:,} devices, one report each on a day, held {_HOLD:.0f} s.\n\n{table}"
