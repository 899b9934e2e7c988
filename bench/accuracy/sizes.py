"""The law of baskets' sizes, and what sampling takes: from dummies and a few people's answers.

    python -m bench accuracy sizes [--people 1000000] [--seeds 3] [--save]

Some people answer only which class their basket's size lies in, max(1%, 2000 / people) of them and 5% at most; the
others' reports show dummies. The law is the posterior of server/size_law.py, the factor F that undoes sampling to M
items that of SizeLaw.undoing. Answers are simulated exactly; dummies' supports are normal with their exact covariances.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv import plan
from assocpriv.plans.transition import SupportModel
from assocpriv.promise.breaches import Breach
from assocpriv.server.size_law import SizeLaw, fit_size_law, size_classes
from bench.accuracy.data import FILES, MILLION, MissingDataError, load
from bench.accuracy.harness import Row, grouped
from bench.accuracy.metrics import NORMAL_95
from bench.accuracy.oracles import Floats
from bench.tables import table

PROMISE, GAMMA = Breach("5%", "50%"), 19.0
TRANSACTION_SIZES = (3, 6, 12)
LARGEST = 3000
SETS = tuple(name for name in FILES if name != "T5N1D1800")
_SIZES = np.arange(LARGEST + 1)


def _law(weights: Callable[[NDArray[np.int64]], Floats]) -> Floats:
    """Return the law with these weights of sizes from 1 on."""
    shares = np.append(0.0, weights(_SIZES[1:]))
    return np.asarray(shares / shares.sum())


def _normal(mean: float, deviation: float) -> Floats:
    return _law(lambda c: np.exp(-(((c - mean) / deviation) ** 2) / 2))


def _poisson(mean: float) -> Floats:
    logs = np.append(0.0, np.cumsum(np.log(_SIZES[1:])))
    return _law(lambda c: np.exp(c * math.log(mean) - mean - logs[c]))


GENERATED: dict[str, Floats] = {
    "short-geometric": _law(lambda c: 0.6 ** c.astype(np.float64)),
    "short-poisson": _poisson(2.0),
    "long-gamma": _law(lambda c: c * np.exp(-c / 9.0)),
    "long-poisson": _poisson(15.0),
    "mixed": 0.7 * _poisson(2.5) + 0.3 * _poisson(15.0),
    "dense": _normal(30.0, 4.0),
    "fixed-31": _normal(31.0, 0.01),
    "log-normal": _law(lambda c: np.exp(-((np.log(c) - 1.3) ** 2) / 2) / c * (c <= 300)),
    "pareto": _law(lambda c: (c + 8.0) ** -3.5),
}


def run(seeds: int = 3, people: int = MILLION, sets: Sequence[str] = SETS) -> dict[str, Any]:
    """Return a row for each set, M and size of itemsets."""
    laws = dict(GENERATED)
    for name in sets:
        try:
            counts = np.bincount(np.minimum(load(name).sizes, LARGEST), minlength=LARGEST + 1)
        except MissingDataError:
            continue
        laws[name] = counts / counts.sum()
    runs = [
        row for name, law in laws.items() for m in TRANSACTION_SIZES for row in measure(name, law, m, people, seeds)
    ]
    return {
        "people": people,
        "rows": [_summed(key, rows) for key, rows in grouped(runs, ("dataset", "m", "k")).items()],
    }


def measure(name: str, law: Floats, m: int, people: int, seeds: int) -> list[Row]:
    """Return how wrong each factor of a law of sizes, float64 from 0 on, came out, and what was stated."""
    true, rows = SizeLaw(_SIZES, law[None, :]), []
    asked = round(people * min(max(2000 / people, 0.01), 0.05))
    for seed in range(seeds):
        rng = np.random.default_rng([seed, m])
        ours = _ours(law, m, people - asked, asked, rng)
        for k in range(1, min(m, 3) + 1):
            (factor, _), (found, error) = true.undoing(m, k), ours.undoing(m, k)
            rows.append({
                "dataset": name, "m": m, "k": k, "factor": factor, "stated": error, "wrong": found / factor - 1,
                "held": abs(found - factor) <= NORMAL_95 * error * found + 1e-4,
            })  # fmt: skip
    return rows


def _ours(law: Floats, m: int, people: int, asked: int, rng: np.random.Generator) -> SizeLaw:
    """Return the fit to simulated supports of dummies, and answers by generalized randomized response."""
    below, bounds = np.cumsum(law)[:m], size_classes(m)
    dummies = rng.multivariate_normal(below, dummies_covariance(below, m) / people)
    errors = dummies_covariance(np.maximum.accumulate(np.clip(dummies, 0, 1)), m) / people
    classes = np.add.reduceat(law, bounds)
    other = 1 / (GAMMA + len(bounds))
    shown = rng.multinomial(asked, other * (1 + (GAMMA - 1) * np.append(classes, 1 - classes.sum()))) / asked
    likely, scale = np.maximum(shown, other) / np.maximum(shown, other).sum(), (GAMMA - 1) * other
    covariance = (np.diag(likely) - np.outer(likely, likely))[:-1, :-1] / asked / scale**2
    return fit_size_law(dummies, errors, (shown[:-1] - other) / scale, covariance, bounds)


@lru_cache
def _model(m: int) -> SupportModel:
    return SupportModel.of(plan(1_000, PROMISE, transaction_size=m).items.operator)


def dummies_covariance(below: Floats, m: int) -> Floats:
    """Return the covariances of the estimates that one report makes of P(size ≤ 0), … P(size ≤ m − 1), (m, m).

    ``below`` are these, not falling: a dummy's holders hold the next one, too.
    """
    one, two = (np.array(_model(m).transition(k)[k], dtype=np.float64) for k in (1, 2))
    shown = one[0] + (one[1] - one[0]) * below
    least, most = np.minimum.outer(below, below), np.maximum.outer(below, below)
    both = two[2] * least + two[1] * (most - least) + two[0] * (1 - most)
    np.fill_diagonal(both, shown)
    return np.asarray((both - np.outer(shown, shown)) / (one[1] - one[0]) ** 2)


def _summed(key: tuple[Any, ...], rows: Sequence[Row]) -> Row:
    """Return medians over the runs of one cell, and how often the factor was held."""
    return dict(zip(("dataset", "m", "k"), key, strict=True)) | {
        "factor": rows[0]["factor"],
        "error": float(np.median([abs(row["wrong"]) for row in rows])),
        "stated": float(np.median([row["stated"] for row in rows])),
        "coverage": float(np.mean([row["held"] for row in rows])),
    }


def markdown(result: dict[str, Any]) -> str:
    """Return the table."""
    columns = {
        "data": "dataset", "M": "m", "items": "k", "F": "factor", "error": "error", "stated": "stated",
        "coverage": "coverage",
    }  # fmt: skip
    every = float(np.mean([row["coverage"] for row in result["rows"]]))
    said = (
        f"{result['people']:,} people, promise 5% → 50%; relative errors of the factor F, medians. Intervals hold F in "
        f"{every:.3f} of all runs:"
    )
    return f"{said}\n\n{table(columns, result['rows'])}\n"
