"""Calibration of estimates, intervals and expected shares of false rules on difficult baskets.

Each family violates one assumption: an item in nearly all baskets, baskets of one size or of two, tables of 0 and 1,
heavy-tailed clicks, half of the baskets empty. A cell is a family with a number of people, a guarantee and a planner's
hint; figures are means over its seeds. Constants of the package were chosen on the tuning half alone; the held-out half
has other parameters and seeds.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.estimation.supports import ErrorOptions
from assocpriv.files.mined_tables import LightFrame
from assocpriv.guarantees.amplification import Guarantee
from assocpriv.planning.basket_planner import make_plan
from assocpriv.server.baskets.ask import ask
from assocpriv.server.baskets.counting import LocalBackend
from assocpriv.server.baskets.mining import MiningRequest, mine
from assocpriv.server.baskets.rules import derive_rules
from bench.accuracy import data
from bench.accuracy.data import generated
from bench.accuracy.metrics import exact_supports, true_itemsets
from bench.accuracy.ours import baskets_of, reports_of
from bench.accuracy.transactions import Transactions, offsets_of
from bench.tables import Row, grouped

Floats = NDArray[np.float64]
GUARANTEES = {"5→50%": Guarantee("5%", "50%"), "5→99%": Guarantee("5%", "99%")}
PEOPLE = (20_000, 200_000)
_ITEMS, _LARGER = 60, 60  # numbers of itemsets chosen beforehand: frequent items, and larger frequent sets
_DECILES = 10


# ---- families


def universal(n: int, *, share: float, items: int, mean_rest: float, seed: int) -> Transactions:
    """Generate baskets with few of many rare items; independently of them, a share of baskets holds item 0."""
    rng = np.random.default_rng(seed)
    weights = np.arange(1.0, items) ** -0.7
    rest = np.repeat(np.arange(n), rng.negative_binomial(1.2, 1.2 / (1.2 + mean_rest), size=n))
    drawn = 1 + rng.choice(items - 1, size=len(rest), p=weights / weights.sum())
    bags = np.flatnonzero(rng.random(n) < share)
    return data.merged([(rest, drawn), (bags, np.zeros_like(bags))], n, items)


def records(n: int, *, columns: int, values: int, seed: int, kinds: int = 3) -> Transactions:
    """Generate records with a number of columns and of values per column: all baskets have the same size."""
    rng = np.random.default_rng(seed)
    probabilities = rng.dirichlet(np.full(values, 1.5), size=(kinds, columns))
    kind = rng.choice(kinds, size=n, p=rng.dirichlet(np.full(kinds, 3.0)))
    below = probabilities.cumsum(axis=2)[kind]
    chosen = np.minimum((rng.random((n, columns, 1)) > below).sum(axis=2), values - 1)
    return Transactions(
        offsets_of(np.full(n, columns)), (chosen + values * np.arange(columns)).ravel(), columns * values
    )


def two_sizes(n: int, *, sizes: tuple[int, int], share: float, items: int, seed: int) -> Transactions:
    """Generate baskets of two sizes; a share of them has the first size."""
    rng = np.random.default_rng(seed)
    size = np.where(rng.random(n) < share, *sizes)
    keys = rng.gumbel(size=(n, items)) - 0.8 * np.log(np.arange(1, items + 1))
    order = np.argsort(-keys, axis=1)
    held = np.zeros((n, items), dtype=np.bool_)
    np.put_along_axis(held, order, np.arange(items) < size[:, None], axis=1)
    baskets, chosen = np.nonzero(held)
    return data.merged([(baskets, chosen)], n, items)


def half_empty(n: int, *, mean_size: float, items: int, seed: int) -> Transactions:
    """Generate baskets, half of them empty."""
    full = generated(n - n // 2, mean_size, seed, items)
    sizes = np.concatenate([full.sizes, np.zeros(n // 2, dtype=np.int64)])
    return Transactions(offsets_of(sizes), full.items, full.n_items)


@dataclass(frozen=True)
class Family:
    """A generator of baskets by number and seed, with the hints about them that ``make_plan`` takes."""

    name: str
    make: Callable[..., Transactions]
    hints: tuple[tuple[str, Any], ...] = ()


def _universal(share: float, items: int, rest: float) -> Family:
    make = partial(universal, share=share, items=items, mean_rest=rest)
    return Family(f"universal {share:g}", make, (("mean_size", round(share + rest, 1)),))


def _one_size(columns: int, values: int, hint: str) -> Family:
    hints: dict[str, tuple[tuple[str, Any], ...]] = {
        "M": (("transaction_size", columns),), "mean": (("mean_size", float(columns)),), "none": (),
    }  # fmt: skip
    return Family(
        f"{columns} columns of {values}, hint {hint}", partial(records, columns=columns, values=values), hints[hint]
    )


TUNING: tuple[Family, ...] = (
    *(_universal(share, 40, 0.83) for share in (0.5, 0.9, 0.97)),
    *(_one_size(columns, 4, "M") for columns in (3, 5, 8)),
    *(_one_size(columns, 4, hint) for columns in (5, 12) for hint in ("mean", "none")),
    _one_size(20, 3, "none"),
    Family("sizes 1 and 12", partial(two_sizes, sizes=(1, 12), share=0.6, items=60)),
    _one_size(15, 2, "M"), _one_size(15, 2, "none"),
    Family("dense 30%", partial(data.dense, items=60, density=0.3)),
    Family("clicks", partial(data.long_tail, items=3_000, sigma=1.2, mean_log=0.6)),
    Family("half empty", partial(half_empty, mean_size=5.0, items=400)),
)  # fmt: skip
HELD_OUT: tuple[Family, ...] = (
    *(_universal(share, items, rest) for share, items, rest in ((0.7, 40, 0.83), (0.97, 40, 0.83), (0.995, 80, 1.2))),
    *(_one_size(columns, 3, "M") for columns in (2, 4, 6, 11)),
    *(_one_size(columns, 3, hint) for columns in (7, 13) for hint in ("mean", "none")),
    _one_size(18, 4, "none"),
    Family("sizes 1 and 9", partial(two_sizes, sizes=(1, 9), share=0.4, items=50)),
    _one_size(14, 2, "M"), _one_size(12, 2, "none"),
    Family("dense 45%", partial(data.dense, items=40, density=0.45)),
    Family("clicks", partial(data.long_tail, items=5_000, sigma=1.3, mean_log=0.3)),
    Family("half empty", partial(half_empty, mean_size=8.0, items=800)),
)  # fmt: skip
HALVES = {"tuning": TUNING, "held-out": HELD_OUT}


# ---- one run


@dataclass(frozen=True)
class Task:
    """One collection: a family, a number of people, a guarantee and a seed."""

    family: Family
    n: int
    guarantee: str
    seed: int


def run_task(task: Task) -> dict[str, Any]:
    """Plan, randomize and mine one collection; return its cell and its figures."""
    seed = 1000 * task.seed + len(task.family.name)
    transactions = task.family.make(task.n, seed=seed)
    baskets = baskets_of(transactions)
    plan = make_plan(baskets.catalogue, GUARANTEES[task.guarantee], reports=task.n, **dict(task.family.hints))
    backend = LocalBackend.from_reports(reports_of(baskets, plan, seed + 1))
    mined = mine(backend, MiningRequest())
    cell = {"family": task.family.name, "n": task.n, "guarantee": task.guarantee}
    return cell | _named(transactions, backend) | _rules(transactions, mined)


def _named(transactions: Transactions, backend: LocalBackend) -> Row:
    """Return true supports, z and interval coverage of the most frequent itemsets, chosen beforehand."""
    largest = min(3, backend.plan.items.itemset_size)
    known = true_itemsets(transactions, _ITEMS + 4 * _LARGER, largest)
    items = [each for each in known if len(each) == 1][:_ITEMS]
    larger = [each for each in known if len(each) > 1][:_LARGER]
    named = [*items, *larger]
    answers = ask([backend], [[str(item) for item in each] for each in named], [], ErrorOptions()).itemsets
    truth = np.array([known[each] for each in named])
    z = (answers["unbiased"] - truth) / answers["unbiased_error"]
    return {
        "truth": truth.tolist(),
        "z": z.tolist(),
        "pairs": [len(each) > 1 for each in named],
        "held": ((answers["ci_low"] <= truth + 1e-12) & (truth <= answers["ci_high"] + 1e-12)).tolist(),
        "sum": float(answers["unbiased"][: len(items)].sum() - truth[: len(items)].sum()),
    }


def _rules(transactions: Transactions, mined: LightFrame) -> Row:
    """Return the coverage of confidence and lift for the selected rules, and the number of false ones."""
    rules = derive_rules(mined)
    rules = rules.take(np.flatnonzero(rules["selected"]))
    sides = [[tuple(sorted(map(int, names))) for names in rules[side]] for side in ("antecedents", "consequents")]
    whole = [tuple(sorted(a + c)) for a, c in zip(*sides, strict=True)]
    known = exact_supports(transactions, {*sides[0], *sides[1], *whole})
    a, c, b = (np.array([known[each] for each in sets]) for sets in (*sides, whole))
    confidence, lift = b / np.maximum(a, 1e-12), b / np.maximum(a * c, 1e-12)
    threshold = 0.5
    wrong = (1 - rules["probability"]).sum()

    def held(values: Floats, name: str) -> list[bool]:
        low, high = rules[f"{name}_ci_low"], rules[f"{name}_ci_high"]
        return ((low <= values + 1e-9) & (values <= high + 1e-9)).tolist()

    return {
        "rules": len(whole), "false": int((confidence < threshold).sum()), "announced": float(wrong),
        "confidence held": held(confidence, "confidence"), "lift held": held(lift, "lift"),
    }  # fmt: skip


# ---- cells


def cells(half: str, people: Sequence[int], seeds: int, workers: int = 2) -> list[Row]:
    """Run all cells of a half and return their figures in the order of the data."""
    tasks = [
        Task(family, n, guarantee, seed + 100 * (half != "tuning"))
        for family in HALVES[half] for n in people for guarantee in GUARANTEES for seed in range(seeds)
    ]  # fmt: skip
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        runs = list(pool.map(run_task, tasks))
    keys = ("family", "n", "guarantee")
    return [dict(zip(keys, key, strict=True)) | summary(same) for key, same in grouped(runs, keys).items()]


def summary(runs: Sequence[dict[str, Any]]) -> Row:
    """Return the figures of the runs of one cell.

    - ``z`` and ``z²``: means of (unbiased − true) / error over the itemsets chosen beforehand.
    - ``held``: shares of 95% intervals that hold the truth, for these itemsets and for the selected rules; the least
      and the largest share over tenths of the itemsets by true support are the ``decile`` figures.
    - ``false``: selected rules with a confidence below 50%; ``announced``: their expected number.
    - ``sum − size``: sum of the items' unbiased supports minus the sum of their true supports.
    """

    def whole(name: str) -> NDArray[Any]:
        return np.concatenate([np.asarray(run[name]) for run in runs])

    truth, z, held, pairs = whole("truth"), whole("z"), whole("held"), whole("pairs").astype(bool)
    order = np.argsort(truth, kind="stable")
    deciles = [float(held[part].mean()) for part in np.array_split(order, _DECILES)]
    rules = sum(run["rules"] for run in runs)
    return {
        "runs": len(runs),
        "sum − size": float(np.mean([run["sum"] for run in runs])),
        "z items": float(z[~pairs].mean()), "z² items": float((z[~pairs] ** 2).mean()),
        "z larger": float(z[pairs].mean()) if pairs.any() else None,
        "z² larger": float((z[pairs] ** 2).mean()) if pairs.any() else None,
        "items held": float(held[~pairs].mean()), "larger held": float(held[pairs].mean()) if pairs.any() else None,
        "least decile": min(deciles), "most decile": max(deciles),
        "rules": rules, "false": sum(run["false"] for run in runs),
        "announced": float(sum(run["announced"] for run in runs)),
        "confidences held": float(whole("confidence held").mean()) if rules else None,
        "lifts held": float(whole("lift held").mean()) if rules else None,
    }  # fmt: skip


def run(people: Sequence[int], seeds: int, workers: int) -> dict[str, Any]:
    """Return the cells of both halves as tables."""
    return {"tables": {half: cells(half, people, seeds, workers) for half in HALVES}}
