"""Effect of manipulated reports on estimates, and how often the manipulation tests detect them.

Every attack raises the support of one rare pair. For comparison, one attack is undetectable: people who randomize a
false basket with the pair as the plan prescribes.

A manipulated report is made from no basket, to show chosen items. It adds q[k] to N·ŝ of an itemset of k of these. All
else is uniform, so that reports differ:

- With a code, the seed is uniform among the seeds that give every chosen item the value 0. These solve linear
  equations, so they exist for any number of items. (For a > 1 other seeds show the items as well.)
- Without a code, each other item is shown with probability ρ.
- In reports of a fixed size, the other items are uniform.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.client.baskets.bulk_client import randomize_chunks
from assocpriv.estimation.manipulation_bounds import FALSE_ALARM, influence_of
from assocpriv.estimation.supports import Respondents, estimate_supports
from assocpriv.files.report_files import Reports
from assocpriv.guarantees.entropy import WordEntropy
from assocpriv.guarantees.errors import PlanError
from assocpriv.guarantees.exact_numbers import rank_of_set, set_of_rank
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.baskets.generator import WORD_BITS, item_columns
from assocpriv.plans.baskets.operator import FixedSizeOperator
from assocpriv.plans.baskets.report_type import ReportType
from assocpriv.records.baskets import Baskets
from assocpriv.server.baskets.counting import LocalBackend, report_type_number
from assocpriv.server.baskets.manipulation import check_manipulation
from assocpriv.simulation.enumeration import SeededEntropy
from assocpriv.simulation.synthetic import QuestSettings, generate_quest
from bench.plans import coded, fixed_size
from bench.speed.measuring import log_progress
from bench.tables import Row, grouped, plain

# ---- manipulated reports


def manipulated_reports(
    plan: Plan, shown: Sequence[int], count: int, *, entropy: WordEntropy, report_type: ReportType | None = None
) -> NDArray[np.uint8]:
    """Return packed reports that all show the chosen entries, uint8 (count, report_bytes).

    Args:
        plan: the plan of the reports.
        shown: distinct ids, any number of them; at most ℓ for responses of a fixed size.
        count: number of reports.
        entropy: source of random bits.
        report_type: type of all reports; by default the type about items that most devices draw.

    Raises:
        PlanError: there are more entries than a response of a fixed size shows.
    """
    number = report_type_number(plan, report_type)
    answers = _answers(plan.report_types[number], shown, count, entropy)
    made = b"".join(plan.pack_report(number, answer) for answer in answers)
    return np.frombuffer(made, dtype=np.uint8).reshape(count, plan.report_bytes)


def _answers(report_type: ReportType, shown: Sequence[int], count: int, entropy: WordEntropy) -> Iterable[bytes]:
    if isinstance(report_type.operator, FixedSizeOperator):
        return _sets(report_type, shown, count, entropy)
    if report_type.generator.is_seedless:
        operator, wanted = report_type.independent, sum(1 << item for item in shown)
        random_bits = (
            entropy.random_bits(report_type.padded_items, operator.insert_num, operator.insert_bits)
            for _ in range(count)
        )
        return (report_type.form.encode(bits | wanted) for bits in random_bits)
    return _seeds(report_type, shown, count, entropy)


def _sets(report_type: ReportType, shown: Sequence[int], count: int, entropy: WordEntropy) -> Iterable[bytes]:
    size = report_type.fixed.report_size - len(shown)
    if size < 0:
        raise PlanError(f"a report of this plan shows {report_type.fixed.report_size} items, not {len(shown)}")
    others = [item for item in range(report_type.padded_items) if item not in set(shown)]
    choices = comb(len(others), size)
    drawn = (set_of_rank(entropy.below(choices), len(others), size) for _ in range(count))
    ranks = (rank_of_set([*shown, *(others[place] for place in places)]) for places in drawn)
    return (report_type.form.encode(rank) for rank in ranks)


def _seeds(report_type: ReportType, shown: Sequence[int], count: int, entropy: WordEntropy) -> Iterable[bytes]:
    basis = free_seeds(report_type, shown)
    n_words = -(-len(basis) // WORD_BITS)
    drawn = entropy.words(count * n_words).astype("<u8", copy=False).view(np.uint8).reshape(count, 8 * n_words)
    chosen = np.unpackbits(drawn, axis=1, count=len(basis), bitorder="little").astype(np.int64)
    seeds = chosen @ basis & 1
    return (row.tobytes() for row in np.packbits(seeds.astype(np.uint8), axis=1, bitorder="little"))


def free_seeds(report_type: ReportType, shown: Sequence[int]) -> NDArray[np.int64]:
    """Return a basis of the seeds whose values of the items are all 0, as bits, int64 (basis, s)."""
    import galois

    columns = item_columns(report_type.generator, report_type.independent.insert_bits, np.array(shown, dtype=np.int64))
    octets = columns.reshape(-1, columns.shape[2]).astype("<u8").view(np.uint8)
    masks = np.unpackbits(octets, axis=1, count=report_type.report_bits, bitorder="little")
    return np.array(galois.GF2(masks).null_space(), dtype=np.int64).reshape(-1, report_type.report_bits)


# ---- the bench

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
        people, found = Baskets(plan.catalogue, baskets.offsets, baskets.items), list[Row]()
        for seed in range(n_runs):
            log_progress(f"manipulation: {name}, run {seed + 1} of {n_runs}")
            found += _one_run(plan, attacks, people, seed)
        rows += [_row(name, plan, *key, seen) for key, seen in grouped(found, ("attack", "share")).items()]
    return {"reports": n_reports, "runs": n_runs, "false_alarm": FALSE_ALARM, "rows": rows}


def _one_run(plan: Plan, attacks: list[Attack], people: Baskets, seed: int) -> Iterator[Row]:
    """Yield the figures of honest reports, then of the same reports with a share replaced."""
    entropy = SeededEntropy(seed)
    honest = _randomized(people, plan, entropy)
    pair = (plan.n_items - 2, plan.n_items - 1)
    before = _support(Reports(plan, honest), pair)
    yield _seen(HONEST, 0.0, Reports(plan, honest), 0.0)
    places = np.random.default_rng(seed).permutation(len(honest))
    for attack in attacks:
        for share in SHARES:
            count = round(share * len(honest))
            packed = honest.copy()
            packed[places[:count]] = _lies(plan, attack, pair, count, entropy)
            reports = Reports(plan, packed)
            yield _seen(attack.name, share, reports, _support(reports, pair) - before)


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


def _seen(attack: str, share: float, reports: Reports, moved: float) -> Row:
    flags = {test.name: test.flagged for test in check_manipulation(reports).tests}
    return {"attack": attack, "share": share, "moved": moved, "flags": flags}


def _row(name: str, plan: Plan, attack: str, share: float, seen: list[Row]) -> Row:
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
        lines.append(f"## {name}\n\n" + plain(rows))
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
