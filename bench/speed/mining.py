"""The main job end to end, from report file to itemset file, against common miners of raw baskets."""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from psutil import virtual_memory

from bench.speed.datasets import shared_file
from bench.speed.measuring import log_progress, measure, take_turns
from bench.speed.miners import PEERS
from bench.tables import table

LARGEST = 3  # maximum itemset size
ADDRESS_SPACE = min(16 << 30, virtual_memory().total * 3 // 4)
OURS, EXACT, RELEASE = "assocpriv", "assocpriv on baskets", "assocpriv release"


@dataclass(frozen=True)
class Case:
    """A collection and the supports to mine it at, the highest first.

    ``source`` is a public file; without it ``reports`` baskets over ``items`` items are generated. ``memory`` limits
    our bitmaps in bytes (None: the default of mining). ``peers``: the other miners, which get the raw baskets.
    """

    name: str
    supports: tuple[str, ...]
    reports: int = 10**6
    items: int = 1_000
    posterior: str = "50%"
    source: str = ""
    memory: int | None = None
    peers: Sequence[str] = tuple(PEERS)


CASES = (
    Case("quest-1e6", ("2%",)),
    Case("quest-1e7", ("2%", "0.5%"), reports=10**7, peers=("pyfim fpgrowth",)),  # by far the fastest at 10^6
    Case("quest-1e6x16470", ("1.2%",), items=16_470),
    Case("quest-1e6x100000", ("1.2%",), items=100_000),
    Case("T5N1D1800", ("1%",), source="T5N1D1800.dat.gz"),
    Case("retail", ("3%",), posterior="90%", source="retail.dat"),
)
LARGE = Case("quest-1e8", ("2%", "0.5%", "0.2%"), reports=10**8, memory=1 << 30, peers=())
QUICK = (
    Case("quest-1e5", ("4%",), reports=10**5),
    Case("quest-1e5x16470", ("4%",), reports=10**5, items=16_470),
    replace(CASES[-1]),
)


@dataclass(frozen=True)
class Settings:
    """Choices of the command line: sizes, cases and peers (empty for all), and a peer's time limit in seconds."""

    quick: bool = False
    large: bool = False
    cases: Sequence[str] = ()
    peers: Sequence[str] = tuple(PEERS)
    limit_s: float = 300.0

    def chosen(self) -> list[Case]:
        """Return the cases to run."""
        offered = QUICK if self.quick else CASES + (LARGE,) * self.large
        return [case for case in offered if not self.cases or case.name in self.cases]

    def on_peer(self, task: str, **arguments: Any) -> dict[str, Any]:
        """Run a peer's task within the limits; Spark's virtual machine has its own memory limit."""
        space = 0 if arguments["peer"] == "Spark" else ADDRESS_SPACE
        return measure(task, limit_s=self.limit_s, address_space=space, **arguments)


def run(settings: Settings) -> dict[str, Any]:
    """Return the figures of all cases."""
    cases = [figures for case in settings.chosen() if (figures := run_case(case, settings))]
    return {"limit_s": settings.limit_s, "address_space": ADDRESS_SPACE, "cases": cases}


def run_case(case: Case, settings: Settings) -> dict[str, Any] | None:
    """Mine one collection at its supports, every miner in turn; None if its data is missing."""
    with tempfile.TemporaryDirectory(prefix="assocpriv-bench-") as folder:
        made = _make(case, folder)
        if made is None:
            log_progress(f"{case.name}: skipped, {case.source} is not in the folder shared/data next to the clone")
            return None
        if "failure" in made:
            log_progress(f"{case.name}: {made['failure']}")
            return {"case": case.name} | made
        able = [peer for peer in case.peers if peer in settings.peers]
        minings = []
        for support in case.supports:
            log_progress(f"{case.name} at {support}")
            outcomes = take_turns(_miners(case, support, made, able, settings))
            minings.append({"support": support} | _compared(outcomes))
            able = [peer for peer in able if "failure" not in outcomes[peer]]  # more itemsets need at least as much
        described = {name: value for name, value in made.items() if not name.endswith("_path")}  # without paths
        return {"case": case.name, "data": described, "minings": minings}


def _make(case: Case, folder: str) -> dict[str, Any] | None:
    log_progress(f"{case.name}: making the reports")
    if not case.source:
        return measure(
            "bench.speed.datasets:quest", folder=folder, reports=case.reports, items=case.items, plain=bool(case.peers)
        )
    source = shared_file(case.source)
    return source and measure(
        "bench.speed.datasets:from_file", folder=folder, source=str(source), posterior=case.posterior
    )


def _miners(
    case: Case, support: str, made: dict[str, Any], able: list[str], settings: Settings
) -> dict[str, Callable[[], dict[str, Any]]]:
    ours = {"reports_path": made["reports_path"], "support": support, "memory_bytes": case.memory}
    miners = {OURS: partial(measure, "bench.speed.miners:mine_reports", **ours)}
    plain = {"baskets_path": made["baskets_path"], "support": support, "max_itemset": LARGEST}
    if case.peers:
        miners[EXACT] = partial(measure, "bench.speed.miners:mine_baskets", **plain)
        miners[RELEASE] = partial(measure, "bench.speed.miners:release_file", baskets_path=made["baskets_path"])
    return miners | {
        peer: partial(settings.on_peer, "bench.speed.miners:mine_file", peer=peer, **plain) for peer in able
    }


def _compared(outcomes: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the outcomes with our ratio to the fastest peer, and whether all exact miners agree."""
    exact = {
        name: figures for name, figures in outcomes.items() if name not in (OURS, RELEASE) and "failure" not in figures
    }
    result: dict[str, Any] = {"miners": outcomes}
    if exact:
        result["exact_miners_agree"] = len({figures["itemsets"] for figures in exact.values()}) == 1
    peers = {name: figures for name, figures in exact.items() if name in PEERS}
    if peers and "failure" not in outcomes[OURS]:
        fastest = min(peers, key=lambda name: peers[name]["seconds"])
        result["fastest_peer"] = fastest
        result["ours_to_fastest_peer"] = outcomes[OURS]["seconds"] / peers[fastest]["seconds"]
        result["ours_to_fastest_peer_process"] = outcomes[OURS]["process_s"] / peers[fastest]["process_s"]
    return result


# ---- as Markdown

_COLUMNS = {
    "case": "case",
    "reports": "reports",
    "items": "items",
    "min. support": "support",
    "miner": "miner",
    "data": "data",
    "file → result s": "seconds",
    "mining only s": "mining_s",
    "second run s": "again_s",
    "process s": "process_s",
    "peak MB": "peak_mb",
    "itemsets": "itemsets",
    "ours ÷ this": "ratio",
    "": "failure",
}


def markdown(result: dict[str, Any]) -> str:
    """Return the figures as a table."""
    return table(_COLUMNS, [row for case in result["cases"] for row in _case_rows(case)])


def _case_rows(case: dict[str, Any]) -> list[dict[str, Any]]:
    if "failure" in case:
        return [case]
    rows = []
    for mining in case["minings"]:
        ours = mining["miners"][OURS]
        for miner, figures in mining["miners"].items():
            row = {"case": case["case"], "support": mining["support"], "miner": miner}
            row |= {"data": "reports" if miner == OURS else "raw baskets"} | figures
            row |= {name: case["data"][name] for name in ("reports", "items")}
            if miner != OURS and "failure" not in ours | figures:
                row["ratio"] = ours["seconds"] / figures["seconds"]
            rows.append(row)
    return rows
