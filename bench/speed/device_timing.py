"""What device timing reveals: the one-report client is timed with a chosen kept subset or a chosen basket.

Each comparison takes two classes of reports in random order and compares the means of each class's faster nine tenths
(interruptions are in the slowest tenth). A difference is given in nanoseconds, as a share of the time of a report, and
in standard errors. Beyond about 4.5 standard errors, an adversary who times very many reports can separate the classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

import numpy as np

from assocpriv.client.baskets.basket_client import Randomizer
from assocpriv.guarantees.entropy import SystemEntropy
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.baskets.operator import FixedSizeOperator
from bench.plans import coded, fixed_size
from bench.tables import table

CALLS = 20_000  # calls per class; fewer if they take longer than SECONDS
SECONDS = 8.0
_FASTER = 0.9


class _Chosen(SystemEntropy):
    """The system's entropy, except that the kept subset or its size is chosen; the draw is made all the same."""

    __slots__ = ("choice",)

    def __init__(self) -> None:
        self.choice: int | None = None

    def pick(self, cumulative: Sequence[int]) -> int:
        """Return the choice after the default draw."""
        drawn = super().pick(cumulative)
        return drawn if self.choice is None else self.choice % len(cumulative)


@dataclass(frozen=True)
class Class:
    """Reports of one kind: a basket, and the number of the kept subset (−1 for the last, None for a random one)."""

    name: str
    basket: tuple[int, ...]
    choice: int | None = None


def cases() -> dict[str, Plan]:
    """Return one plan per kind of report."""
    return {
        "BCH, one bit an item": coded(1_000),
        "Reed–Solomon, seven bits an item": coded(1_000, "reed-solomon", 7),
        "no code": coded(1_000, "none"),
        "fixed size": fixed_size(27),
    }


def comparisons(plan: Plan) -> list[tuple[Class, Class]]:
    """Return the pairs of classes, which differ in the kept subset, the items held, or their number."""
    n, full = plan.n_items, (0, 1, 2, 3, 4)
    is_fixed = isinstance(plan.items.operator, FixedSizeOperator)
    one = [] if is_fixed else [(Class("keeps the first", full, 1), Class("the last of five", full, 5))]
    return [
        (Class("keeps nothing", full, 0), Class("keeps all", full, -1)),
        *one,
        (Class("the first items", full), Class("the last items", tuple(range(n - 5, n)))),
        (Class("an empty basket", ()), Class("a full one", full)),
        (Class("a full basket", full), Class("one of 20 items", tuple(range(20)))),
    ]


def compare(plan: Plan, pair: tuple[Class, Class], calls: int) -> dict[str, Any]:
    """Time both classes in random order."""
    randomizer, entropy = Randomizer(plan), _Chosen()
    randomizer.randomize(pair[0].basket, entropy=entropy)
    start = perf_counter_ns()
    for _ in range(20):
        randomizer.randomize(pair[0].basket, entropy=entropy)
    calls = min(calls, int(SECONDS * 1e9 * 20 / (2 * (perf_counter_ns() - start))))
    order = np.random.default_rng(0).permutation(2 * calls) % 2
    seconds = np.empty(2 * calls)
    for place, which in enumerate(order.tolist()):
        chosen = pair[which]
        entropy.choice = chosen.choice
        start = perf_counter_ns()
        randomizer.randomize(chosen.basket, entropy=entropy)
        seconds[place] = perf_counter_ns() - start
    kept = [np.sort(seconds[order == which])[: int(_FASTER * calls)] for which in (0, 1)]
    means = [float(times.mean()) for times in kept]
    error = float(np.sqrt(sum(times.var() / len(times) for times in kept)))
    return {
        "compared": f"{pair[0].name} / {pair[1].name}",
        "calls": calls,
        "report_us": means[0] / 1e3,
        "difference_ns": means[1] - means[0],
        "difference_share": (means[1] - means[0]) / means[0],
        "standard_errors": (means[1] - means[0]) / error,
    }


def run(*, quick: bool = False) -> dict[str, Any]:
    """Compare the classes for every kind of report."""
    calls = 500 if quick else CALLS
    rows = [{"plan": name} | compare(plan, pair, calls) for name, plan in cases().items() for pair in comparisons(plan)]
    return {"rows": rows}


def markdown(result: dict[str, Any]) -> str:
    """Return the comparisons as a table."""
    columns = {
        "plan": "plan",
        "compared": "compared",
        "calls per class": "calls",
        "µs/report": "report_us",
        "difference, ns": "difference_ns",
        "share": "difference_share",
        "standard errors": "standard_errors",
    }
    return table(columns, result["rows"])
