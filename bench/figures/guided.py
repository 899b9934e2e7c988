"""Guided perturbation: figures 3, 4 and 5 of ZWZ05, and what a promise leaves of it.

    python -m bench guided [--quick] [--seeds 3]

*votes* are the congressional voting records, 435 of 16 questions; *functions* the records of the 1992 generator, cut as
in the paper into columns of bits, 100,000 to learn from and 5,000 others, raw, to test on.

Source: Zhang, Wang, Zhao, A New Scheme on Privacy-Preserving Data Classification, KDD 2005, section 6.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import xlogy

from assocpriv.plans.guided import GuidedPlan
from assocpriv.promise.breaches import Breach
from assocpriv.records.tables import TableOptions
from assocpriv.server.guided import bit_frame, new_classifier, train
from assocpriv.simulation.guided import (
    Group,
    Split,
    TrialRequest,
    accuracy,
    answer_all,
    disclosure,
    plan_of,
    read_cells,
    read_people,
    run_population,
    run_trial,
)
from assocpriv.simulation.synthetic import CLASSES, LABEL, AgrawalSettings, generate_agrawal
from bench.figures import trees

Row = dict[str, Any]
VOTES_FILE = "house-votes-84.data"
NINE_LEVELS = (1, 2, 3, 4, 6, 8, 10, 12, 16)
MISSING = TableOptions(missing=("?",))
LIMITS = {4: ("20%", "50%"), 19: ("5%", "50%"), 99: ("1%", "50%"), 9801: ("1%", "99%")}
TOLD = 0.25  # of a tuple in figure 3


def votes(data: Path) -> pd.DataFrame:
    """Return the voting records as a table."""
    rows = list(csv.reader(io.StringIO((data / VOTES_FILE).read_text(encoding="ascii"))))
    return pd.DataFrame(rows, columns=["party", *(f"vote{place}" for place in range(1, 17))])


def figure_4(data: Path, repeats: int) -> Iterator[Row]:
    """Yield accuracy of naive Bayes and disclosure at nine levels, with bounds of both theorems, by order and batch."""
    table = votes(data)
    for order in ("magnitude", "value"):
        for batch in (10, 100):
            plan = plan_of(read_cells(table, MISSING), "party", order=order, batch=batch)
            people = read_people(table, plan, MISSING, 0)
            trial = run_trial(people, plan, TrialRequest("naive-bayes", repeats, seed=1), NINE_LEVELS)
            shared = {"order": order, "batch": batch, "original": trial.original_accuracy.mean}
            for level in trial.levels:
                flat = {f"{name}_{part}": value for name, each in asdict(level).items() if isinstance(each, dict)
                        for part, value in each.items()}  # fmt: skip
                plain = {name: value for name, value in asdict(level).items() if not isinstance(value, dict)}
                yield shared | plain | flat


def figure_5(data: Path, seeds: int) -> Iterator[Row]:
    """Yield the level k* after each batch of ten voting records, from random tuples or from 64 of the records."""
    table = votes(data)
    groups = [Group(Fraction(1), 2 * (table.shape[1] - 1))]
    for share, order in product((Fraction(1, 40), Fraction(3, 20)), ("magnitude", "value")):
        plan = plan_of(read_cells(table, MISSING), "party", order=order, batch=10, mu=share)
        for known, seed in product((0, 64), range(seeds)):
            people = read_people(table, plan, MISSING, seed)
            request = TrialRequest("naive-bayes", unconcerned=known, seed=seed)
            for moment in run_population(people, plan, request, groups).moments:
                row = {"mu": float(share), "order": order, "known": known, "seed": seed}
                yield row | {"received": (moment.received - 1) // 10 * 10, "level": moment.level}


# ---- the generator's functions


@dataclass(frozen=True, eq=False)
class Function:
    """The records of a function: a plan, people who answer and people held back, and both as tables."""

    plan: GuidedPlan
    split: Split
    train: pd.DataFrame
    test: pd.DataFrame


def function_records(number: int, seed: int, records: int, **settings: Any) -> Function:
    """Return records of a function of the generator."""
    train_table, test_table = (
        generate_agrawal(AgrawalSettings(function=number, n_records=n, seed=2 * seed + part))
        for part, n in enumerate((records, 5_000))
    )
    options = TableOptions()
    plan = plan_of(read_cells(train_table, options), LABEL, **settings)
    known, test = (read_people(table, plan, options, seed) for table in (train_table, test_table))
    start = len(plan.attributes) * 10
    return Function(plan, Split(known[:start], known[start:], test), train_table, test_table)


def figure_3(seed: int, records: int, functions: Sequence[int]) -> Iterator[Row]:
    """Yield the accuracy of trees at an expected disclosure of 25%, of guided perturbation and of ByClass.

    Guided: people are of two groups, who accept the levels next below and above 25% of squared norm, in the proportion
    that makes 25% on average. ByClass: Gaussian noise that leaves on average 25% of the information on the quartile.
    """
    percent = noise_percent(TOLD)
    for number in functions:
        found = function_records(number, seed, records)
        shared = {"function": number, "seed": seed, "records": records}
        yield shared | {"method": "original", "disclosure": 1.0, "accuracy": _raw_accuracy(found, "tree")}
        yield shared | {"method": "guided"} | guided_at(found, TOLD, seed)
        plan = trees.noisy_plan(trees.generated_columns(), CLASSES, records, "gaussian", percent)
        by_class, _ = trees.accuracy(trees.release(found.train, plan, seed), "by-class", found.test)
        yield shared | {"method": "by-class", "disclosure": TOLD, "accuracy": by_class / 100, "level": percent}


def guided_at(found: Function, told: float, seed: int) -> Row:
    """Return disclosure and accuracy of trees where levels are mixed so that a share of squared norm is disclosed."""
    rng = np.random.default_rng(seed)
    plan, split = found.plan, found.split
    small = Split(split.unconcerned, split.answering[:25_000], split.held_back)
    below, above = 1, plan.width  # more directions disclose more
    reached = {level: _disclosed(plan, small, level, rng) for level in (below, above)}
    while above - below > 1:
        middle = (below + above) // 2
        reached[middle] = _disclosed(plan, small, middle, rng)
        below, above = (below, middle) if reached[middle] >= told else (middle, above)
    share = (told - reached[below]) / (reached[above] - reached[below])
    cut = round(len(split.answering) * (1 - share))
    parts = [(below, split.answering[:cut]), (above, split.answering[cut:])]
    bits, released, classes = [], [], []
    for level, people in parts:
        done = answer_all(plan, Split(split.unconcerned, people, split.held_back), level, rng)
        bits.append(plan.to_bits(people.raw_positions))
        released.append(plan.unpack(done.reports.packed)[2])
        classes.append(people.classes)
    X, y = bit_frame(np.concatenate(released), plan), np.array(plan.labels)[np.concatenate(classes)]
    model = new_classifier("tree", len(y)).fit(X, y)
    return {
        "disclosure": disclosure(np.concatenate(bits), np.concatenate(released)),
        "accuracy": accuracy(model, split.held_back, plan),
        "level": above,
    }


def _disclosed(plan: GuidedPlan, split: Split, level: int, rng: np.random.Generator) -> float:
    done = answer_all(plan, split, level, rng)
    return disclosure(plan.to_bits(split.answering.raw_positions), plan.unpack(done.reports.packed)[2])


def noise_percent(told: float) -> int:
    """Return the privacy of Gaussian noise, in percent at 95%, that leaves a share of what a quartile tells.

    The value is uniform on its range; the noise is so wide that the released one and the quartile share 2 · told bits.
    """
    edges = np.linspace(-3, 4, 7001)
    for percent in range(10, 400):
        spread = percent / 100 / (2 * NormalDist().inv_cdf(0.975))
        values = (np.arange(400) + 0.5) / 400
        law = np.exp(-(((edges[:, None] - values[None, :]) / spread) ** 2) / 2)
        quarters = law.reshape(len(edges), 4, 100).sum(axis=2)
        joint = quarters / quarters.sum()
        bits = 2 + float(xlogy(joint, joint).sum() - xlogy(*2 * [joint.sum(axis=1)]).sum()) / np.log(2)
        if bits <= 2 * told:
            return percent
    raise AssertionError("no noise is wide enough")


def _raw_accuracy(found: Function, classifier: str) -> float:
    people, plan = found.split.answering, found.plan
    model = new_classifier(classifier, len(people))
    model.fit(bit_frame(plan.to_bits(people.raw_positions), plan), np.array(plan.labels)[people.classes])
    return accuracy(model, found.split.held_back, plan)


# ---- at an equal promise


def equal_promise(seed: int, records: int, functions: Sequence[int], levels: Sequence[int]) -> Iterator[Row]:
    """Yield the accuracy of naive Bayes at equal γ: guidance, kept both ways, and select-a-size of the same columns."""
    for number in functions:
        shared = {"function": number, "seed": seed, "records": records}
        clear = function_records(number, seed, records)
        rng = np.random.default_rng(seed)
        yield shared | {"gamma": 0, "method": "raw", "level": 0, "accuracy": _raw_accuracy(clear, "naive-bayes")}
        for gamma, beliefs in LIMITS.items():
            promise = Breach(*beliefs)
            row = shared | {"gamma": gamma}
            for keep in ("bits", "tuple"):
                found = function_records(number, seed, records, promise=promise, keep=keep, batch=1000)
                for level in levels:
                    done = answer_all(found.plan, found.split, level, rng)
                    model = train(done.state, done.reports, "naive-bayes")
                    right = accuracy(model, found.split.held_back, found.plan)
                    yield row | {"method": f"guided, {keep}", "level": level, "accuracy": right}
            yield row | {"method": "select-a-size", "level": 0, "accuracy": by_baskets(clear, promise, seed)}


def by_baskets(found: Function, promise: Breach, seed: int) -> float:
    """Return the accuracy of naive Bayes on supports of the same bits as items, each class a collection of its own."""
    import assocpriv as ap

    plan, people = found.plan, found.split.answering
    made = ap.plan(
        list(plan.bit_names), transaction_size=len(plan.sizes), promise=promise, reports=len(people), itemset_size=1
    )
    rng = np.random.default_rng(seed)
    shares = []
    for place in range(len(plan.labels)):
        baskets = people[people.classes == place].raw_positions + plan.offsets
        names = [[plan.bit_names[item] for item in basket] for basket in baskets.tolist()]
        rng.shuffle(names)
        answered = ap.ask(ap.randomize(names, made), [[name] for name in plan.bit_names])
        by_name = {next(iter(row.itemsets)): row.support for row in answered.itertuples()}
        shares.append([by_name[name] for name in plan.bit_names])
    counts = np.bincount(people.classes)
    return _naive_bayes(np.clip(np.array(shares), 0, 1), counts, found)


def _naive_bayes(shares: NDArray[np.float64], counts: NDArray[np.int64], found: Function) -> float:
    from sklearn.naive_bayes import BernoulliNB

    plan = found.plan
    model = BernoulliNB(binarize=None).fit(bit_frame(shares, plan), np.array(plan.labels), sample_weight=counts)
    return accuracy(model, found.split.held_back, plan)
