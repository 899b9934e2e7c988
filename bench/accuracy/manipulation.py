"""Effect of manipulated reports on estimates, and how often the manipulation tests detect them.

Every attack raises the support of one rare pair. For comparison, one attack is undetectable: people who randomize a
false basket with the pair as the plan prescribes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.client.baskets.bulk_client import randomize_chunks
from assocpriv.estimation.manipulation_bounds import FALSE_ALARM, influence_of
from assocpriv.estimation.supports import Respondents, estimate_supports
from assocpriv.files.report_files import Reports
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.records.baskets import Baskets
from assocpriv.server.baskets.counting import LocalBackend
from assocpriv.server.baskets.manipulation import check_manipulation
from assocpriv.simulation.enumeration import SeededEntropy
from assocpriv.simulation.synthetic import QuestSettings, generate_quest
from bench.accuracy.attacks import manipulated_reports
from bench.plans import coded, fixed_size
from bench.speed.mining import log_progress
from bench.tables import table

SHARES = (0.001, 0.003, 0.01, 0.03)
RUNS = 3
HONEST, FALSE_BASKETS = "no manipulation", "false baskets, honestly randomized"


@dataclass(frozen=True)
class Attack:
    """Reports that all show some items, the pair first: ``copies`` of one report, or reports drawn independently."""

    name: str
    shown: tuple[int, ...] | None
    copies: bool = False


def cases() -> dict[str, tuple[Plan, list[Attack]]]:
    """Return the plans, each with the attacks on the pair of its last two items."""
    seeds, sets = coded(1_000), fixed_size(27)
    pair, few = (998, 999), (25, 26)
    return {
        "1,000 items, 40-bit seeds": (
            seeds,
            [
                Attack("shows the pair, else random", pair),
                Attack("shows 10 items, else random", (*pair, *range(8))),
                Attack("shows 20 items, else random", (*pair, *range(18))),
                Attack("copies of one report", pair, copies=True),
                Attack("shows all items: the seed 0", tuple(range(1_000))),
                Attack(FALSE_BASKETS, None),
            ],
        ),
        f"27 items, sets of {sets.items.fixed.report_size}": (
            sets,
            [
                Attack("shows the pair, else random", few),
                Attack("copies of one report", few, copies=True),
                Attack(FALSE_BASKETS, None),
            ],
        ),
    }


def run(n_reports: int, n_runs: int = RUNS) -> dict[str, Any]:
    """Return a row per plan, attack and share: the shift of the estimate, and the runs that each test flags."""
    rows = []
    for name, (plan, attacks) in cases().items():
        baskets = generate_quest(QuestSettings(n_baskets=n_reports, n_items=plan.n_items))
        people = Baskets(plan.catalogue, baskets.offsets, baskets.items)
        found: dict[tuple[str, float], list[dict[str, Any]]] = {}
        for seed in range(n_runs):
            log_progress(f"manipulation: {name}, run {seed + 1} of {n_runs}")
            for attack, share, seen in _one_run(plan, attacks, people, seed):
                found.setdefault((attack, share), []).append(seen)
        rows += [_row(name, plan, attack, share, seen) for (attack, share), seen in found.items()]
    return {"reports": n_reports, "runs": n_runs, "false_alarm": FALSE_ALARM, "rows": rows}


def _one_run(
    plan: Plan, attacks: list[Attack], people: Baskets, seed: int
) -> Iterator[tuple[str, float, dict[str, Any]]]:
    """Yield the figures of honest reports, then of the same reports with a share replaced."""
    entropy = SeededEntropy(seed)
    honest = _randomized(people, plan, entropy)
    pair = (plan.n_items - 2, plan.n_items - 1)
    before = _support(Reports(plan, honest), pair)
    yield HONEST, 0.0, _seen(Reports(plan, honest), 0.0)
    places = np.random.default_rng(seed).permutation(len(honest))
    for attack in attacks:
        for share in SHARES:
            count = round(share * len(honest))
            packed = honest.copy()
            packed[places[:count]] = _lies(plan, attack, pair, count, entropy)
            reports = Reports(plan, packed)
            yield attack.name, share, _seen(reports, _support(reports, pair) - before)


def _lies(plan: Plan, attack: Attack, pair: tuple[int, int], count: int, entropy: SeededEntropy) -> NDArray[np.uint8]:
    if attack.shown is not None:
        return manipulated_reports(plan, attack.shown, 1 if attack.copies else count, entropy=entropy)
    false = Baskets(plan.catalogue, np.arange(count + 1, dtype=np.int64) * 2, np.tile(np.array(pair, np.int64), count))
    return _randomized(false, plan, entropy)


def _randomized(people: Baskets, plan: Plan, entropy: SeededEntropy) -> NDArray[np.uint8]:
    return np.concatenate([chunk.packed for chunk in randomize_chunks(people, plan, entropy=entropy)])


def _support(reports: Reports, pair: tuple[int, int]) -> float:
    counter, model = LocalBackend.from_reports(reports).open()
    sums = counter.count_sums(np.array([pair]))
    return float(estimate_supports(sums, Respondents(counter.n_reports, model)).support[0])


def _seen(reports: Reports, moved: float) -> dict[str, Any]:
    return {"moved": moved, "flags": {test.name: test.flagged for test in check_manipulation(reports).tests}}


def _row(name: str, plan: Plan, attack: str, share: float, seen: list[dict[str, Any]]) -> dict[str, Any]:
    influence = influence_of(plan, 2)
    assert influence is not None
    gain = 0.0 if attack == HONEST else 1.0 if attack == FALSE_BASKETS else float(influence.largest)
    moved = float(np.mean([one["moved"] for one in seen]))
    flags = {test: sum(one["flags"][test] for one in seen) for test in seen[0]["flags"]}
    return {
        "plan": name,
        "attack": attack,
        "share": share,
        "formula": share * gain,
        "moved": moved,
        "flagged": sum(any(one["flags"].values()) for one in seen),
        "flags": flags,
    }


def markdown(result: dict[str, Any]) -> str:
    """Return the figures as one table per plan."""
    lines = [
        f"{result['reports']:,} reports; a share of them is manipulated to raise the support of one rare pair. Means "
        f"of {result['runs']} runs. *formula*: the share times max q, for a false basket times 1. *found in*: number "
        "of runs that some test flags; *by*: number for each test. All tests of a run together flag honest reports "
        f"with a probability of at most {result['false_alarm']:.1%}.\n"
    ]
    for name in dict.fromkeys(row["plan"] for row in result["rows"]):
        rows = [_shown(row) for row in result["rows"] if row["plan"] == name]
        lines.append(f"## {name}\n\n" + table({head: head for head in rows[0]}, rows))
    return "\n".join(lines)


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    by = [f"{test} {times}" for test, times in row["flags"].items() if times]
    return {
        "reports": row["attack"],
        "share": f"{row['share']:.1%}",
        "formula": f"{row['formula']:+.2%}",
        "moved": f"{row['moved']:+.2%}",
        "found in": row["flagged"],
        "by": "; ".join(by),
    }
