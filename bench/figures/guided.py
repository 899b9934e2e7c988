"""Guided perturbation: figures 3 and 4 of ZWZ05, guidance without initial data, and accuracy under a guarantee.

    python -m bench guided [--quick] [--seeds 3]

- *votes*: the congressional voting records, 435 records of 16 votes.
- *functions*: records of the 1992 generator, cut into columns of bits as in the paper; 100,000 to train on and 5,000
  others, raw, to test on.
- *hidden*: generated records with 24 binary attributes, some of which are informative about the class.

Source: Zhang, Wang, Zhao, A New Scheme on Privacy-Preserving Data Classification, KDD 2005, section 6.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import xlogy

from assocpriv.guarantees.amplification import Guarantee
from assocpriv.plans.guided.guided_plan import GuidedPlan, category, class_label, plan_guided
from assocpriv.records.table_files import TableOptions
from assocpriv.server.guided.collection import bit_frame, new_classifier, train
from assocpriv.simulation.guided_simulation import (
    People,
    PeopleSplit,
    Trial,
    TrialRequest,
    accuracy,
    collect_level,
    disclosure,
    plan_from_table,
    read_cells,
    read_people,
    run_trial,
)
from assocpriv.simulation.synthetic import LABEL, AgrawalSettings, generate_agrawal
from bench.figures import trees
from bench.tables import Row, means

VOTES_FILE = "house-votes-84.data"
NINE_LEVELS = (1, 2, 3, 4, 6, 8, 10, 12, 16)
MISSING = TableOptions(missing=("?",))
LIMITS = {4: ("20%", "50%"), 19: ("5%", "50%"), 99: ("1%", "50%"), 9801: ("1%", "99%")}
DISCLOSED = 0.25  # share of a tuple in figure 3
UNCONCERNED = 2_000  # people of figure 3 whose raw tuples the miner has, from the survey's 27% (section 2.2)
BATCH = 1_000  # people per batch, of many thousand
FUNCTIONS, COMPARED, LEVELS = (1, 2, 3, 4, 5), (1, 2, 3), (2, 8, 32, 41)
# classes, and the probability that an informative attribute matches the class
HIDDEN = ((2, 0.9), (2, 0.8), (2, 0.7), (4, 0.9))


def votes(data: Path) -> pd.DataFrame:
    """Return the voting records as a table."""
    rows = list(csv.reader(io.StringIO((data / VOTES_FILE).read_text(encoding="ascii"))))
    return pd.DataFrame(rows, columns=["party", *(f"vote{place}" for place in range(1, 17))])


def figure_4(data: Path, repeats: int) -> Iterator[Row]:
    """Yield accuracy of naive Bayes and disclosure of votes at nine levels, by batch size, without initial data."""
    for batch in (10, 20, 100):
        plan = plan_from_table(read_cells(votes(data), MISSING), "party", batch=batch)
        people = read_people(votes(data), plan, MISSING, 0)
        for row in _flat(run_trial(people, plan, TrialRequest(rounds=repeats, seed=11), NINE_LEVELS)):
            yield {"batch": batch} | row


def hidden(seeds: int) -> Iterator[Row]:
    """Yield the same for hidden classes of 24 attributes and 3,334 people, without initial data."""
    for classes, share in HIDDEN:
        for seed in range(seeds):
            rng = np.random.default_rng([classes, seed])
            label = class_label("class", [str(place) for place in range(classes)])
            plan = plan_guided([category(f"v{place}", ("n", "y")) for place in range(24)], label)
            people = hidden_people(rng, 5_000, classes, share)
            for row in _flat(run_trial(people, plan, TrialRequest(rounds=2, seed=seed), (1, 2, 3, 4, 6))):
                yield {"classes": classes, "telling": share, "seed": seed} | row


def hidden_people(rng: np.random.Generator, n: int, classes: int, share: float) -> People:
    """Return people with 24 binary attributes; nine per class match it with probability ``share``."""
    of = rng.integers(0, classes, n)
    probabilities = np.full((classes, 24), 0.5)
    for place in range(classes):
        probabilities[place, rng.permutation(24)[:9]] = rng.choice([share, 1 - share], 9)
    if classes == 2:
        probabilities[1] = 1 - probabilities[0]
    return People((rng.random((n, 24)) < probabilities[of]).astype(np.int32), of)


def _flat(trial: Trial) -> Iterator[Row]:
    for level in trial.levels:
        fields = asdict(level).items()
        flat = {f"{name}_{part}": value for name, each in fields if isinstance(each, dict)
                for part, value in each.items()}  # fmt: skip
        original = {"original": trial.original_accuracy.mean}
        yield original | {name: value for name, value in fields if not isinstance(value, dict)} | flat


def caution(data: Path, repeats: int) -> Iterator[Row]:
    """Yield the accuracy of naive Bayes on votes if 17% of people answer up to level 2, 56% up to 8, 27% any."""
    plan = plan_from_table(read_cells(votes(data), MISSING), "party")
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        people = read_people(votes(data), plan, MISSING, seed)[rng.permutation(435)]
        most = rng.choice([2, 8, plan.width], 290, p=[0.17, 0.56, 0.27])
        for level in (2, 8, plan.width):
            split = PeopleSplit(people[:0], people[:290][most >= level], people[290:])
            right = accuracy(train(*collect_level(plan, split, level, rng), "naive-bayes"), split.held_out, plan)
            yield {"level": level, "answer": float((most >= level).mean()), "accuracy": right}


# ---- the generator's functions


@dataclass(frozen=True, eq=False)
class Function:
    """The records of a function: a plan, people who answer and held-out people, and both as tables."""

    plan: GuidedPlan
    split: PeopleSplit
    train: pd.DataFrame
    test: pd.DataFrame


def function_records(number: int, seed: int, records: int, unconcerned: int = 0, **settings: Any) -> Function:
    """Return records of a function of the generator."""
    train_table, test_table = (
        generate_agrawal(AgrawalSettings(function=number, n_records=n, seed=2 * seed + part))
        for part, n in enumerate((records, 5_000))
    )
    options = TableOptions()
    plan = plan_from_table(read_cells(train_table, options), LABEL, batch=BATCH, **settings)
    known, test = (read_people(table, plan, options, seed) for table in (train_table, test_table))
    return Function(plan, PeopleSplit(known[:unconcerned], known[unconcerned:], test), train_table, test_table)


def figure_3(seed: int, records: int, functions: Sequence[int]) -> Iterator[Row]:
    """Yield the accuracy of trees at an expected disclosure of 25%, for guided perturbation and ByClass.

    Guided: the raw tuples of some people give the guidance. The others answer at the levels next below and above 25% of
    the squared norm, in proportions that give 25% on average. ByClass: Gaussian noise that leaves on average 25% of the
    information about the quartile.
    """
    percent = noise_percent(DISCLOSED)
    for number in functions:
        found = function_records(number, seed, records, min(UNCONCERNED, records // 4))
        shared = {"function": number, "seed": seed, "records": records}
        yield shared | {"method": "original", "disclosure": 1.0, "accuracy": _raw_accuracy(found, "tree")}
        yield shared | {"method": "guided"} | guided_at(found, DISCLOSED, seed)
        plan = trees.noisy_plan(records, "gaussian", percent)
        by_class, _ = trees.accuracy(trees.release(found.train, plan, seed), "by-class", found.test)
        yield shared | {"method": "by-class", "disclosure": DISCLOSED, "accuracy": by_class / 100, "level": percent}


def guided_at(found: Function, disclosed: float, seed: int) -> Row:
    """Return disclosure and accuracy of trees, with levels mixed to disclose a share of the squared norm."""
    rng = np.random.default_rng(seed)
    plan, split = found.plan, found.split
    below, above = 1, plan.width  # more directions disclose more
    reached = {1: 0.0, plan.width: 1.0}
    while above - below > 1:
        middle = (below + above) // 2
        reached[middle] = _released(plan, replace(split, answering=split.answering[:25_000]), middle, rng)[0]
        below, above = (below, middle) if reached[middle] >= disclosed else (middle, above)
    share = (disclosed - reached[below]) / (reached[above] - reached[below])
    cut = round(len(split.answering) * (1 - share))
    parts = [(below, split.answering[:cut]), (above, split.answering[cut:])]
    released = np.concatenate([_released(plan, replace(split, answering=one), level, rng)[1] for level, one in parts])
    y = np.array(plan.labels)[split.answering.classes]
    model = new_classifier("tree", len(y)).fit(bit_frame(released, plan), y)
    return {
        "disclosure": disclosure(plan.to_bits(split.answering.raw_positions), released),
        "accuracy": accuracy(model, split.held_out, plan),
        "level": above,
    }


def _released(
    plan: GuidedPlan, split: PeopleSplit, level: int, rng: np.random.Generator
) -> tuple[float, NDArray[np.uint8]]:
    """Return the disclosed share and the released bits."""
    bits = plan.unpack(collect_level(plan, split, level, rng)[1].packed)[2]
    return disclosure(plan.to_bits(split.answering.raw_positions), bits), bits


def noise_percent(disclosed: float) -> int:
    """Return the privacy of Gaussian noise, in percent at 95%, that leaves a share of the information about a quartile.

    The value is uniform on its range. The mutual information of released value and quartile is 2 · disclosed bits.
    """
    edges = np.linspace(-3, 4, 7001)
    for percent in range(10, 400):
        spread = percent / 100 / (2 * NormalDist().inv_cdf(0.975))
        values = (np.arange(400) + 0.5) / 400
        density = np.exp(-(((edges[:, None] - values[None, :]) / spread) ** 2) / 2)
        quarters = density.reshape(len(edges), 4, 100).sum(axis=2)
        joint = quarters / quarters.sum()
        bits = 2 + float(xlogy(joint, joint).sum() - xlogy(*2 * [joint.sum(axis=1)]).sum()) / np.log(2)
        if bits <= 2 * disclosed:
            return percent
    raise AssertionError("no noise is wide enough")


def _raw_accuracy(found: Function, classifier: str) -> float:
    people, plan = found.split.answering, found.plan
    model = new_classifier(classifier, len(people))
    model.fit(bit_frame(plan.to_bits(people.raw_positions), plan), np.array(plan.labels)[people.classes])
    return accuracy(model, found.split.held_out, plan)


# ---- at an equal guarantee


def equal_guarantee(seed: int, records: int, functions: Sequence[int], levels: Sequence[int]) -> Iterator[Row]:
    """Yield the accuracy of naive Bayes at equal γ: guidance with both ``keep`` options, and select-a-size."""
    for number in functions:
        shared = {"function": number, "seed": seed, "records": records}
        clear = function_records(number, seed, records)
        rng = np.random.default_rng(seed)
        yield shared | {"gamma": 0, "method": "raw", "level": 0, "accuracy": _raw_accuracy(clear, "naive-bayes")}
        for gamma, limits in LIMITS.items():
            guarantee = Guarantee(*limits)
            row = shared | {"gamma": gamma}
            for keep in ("bits", "tuple"):
                found = function_records(number, seed, records, guarantee=guarantee, keep=keep)
                for level in levels:
                    model = train(*collect_level(found.plan, found.split, level, rng), "naive-bayes")
                    right = accuracy(model, found.split.held_out, found.plan)
                    yield row | {"method": f"guided, {keep}", "level": level, "accuracy": right}
            yield row | {"method": "select-a-size", "level": 0, "accuracy": by_baskets(clear, guarantee, seed)}


def by_baskets(found: Function, guarantee: Guarantee, seed: int) -> float:
    """Return the accuracy of naive Bayes on supports of the bits as items, with one collection per class."""
    import assocpriv as ap

    plan, people = found.plan, found.split.answering
    made = ap.plan(
        list(plan.bit_names), transaction_size=len(plan.sizes), guarantee=guarantee, reports=len(people), itemset_size=1
    )
    rng = np.random.default_rng(seed)
    shares = []
    for place in range(len(plan.labels)):
        baskets = people[people.classes == place].raw_positions + plan.offsets
        names = [[plan.bit_names[item] for item in basket] for basket in baskets.tolist()]
        rng.shuffle(names)
        answers = ap.ask(ap.randomize(names, made), [[name] for name in plan.bit_names])
        by_name = {next(iter(row.itemsets)): row.support for row in answers.itertuples()}
        shares.append([by_name[name] for name in plan.bit_names])
    counts = np.bincount(people.classes)
    return _naive_bayes(np.clip(np.array(shares), 0, 1), counts, found)


def _naive_bayes(shares: NDArray[np.float64], counts: NDArray[np.int64], found: Function) -> float:
    from sklearn.naive_bayes import BernoulliNB

    plan = found.plan
    model = BernoulliNB(binarize=None).fit(bit_frame(shares, plan), np.array(plan.labels), sample_weight=counts)
    return accuracy(model, found.split.held_out, plan)


def run(data: Path, *, seeds: int, quick: bool) -> dict[str, Any]:
    """Return the figures, means over seeds; those of votes only if their file exists."""
    records, fewer, repeats = (5_000, 5_000, 2) if quick else (100_000, 20_000, 20)
    functions, compared = (FUNCTIONS[:1], COMPARED[:1]) if quick else (FUNCTIONS, COMPARED)
    third = [row for seed in range(seeds) for row in figure_3(seed, records, functions)]
    equal = [
        row for seed in range(seeds) for row in equal_guarantee(seed, fewer, compared, LEVELS[: 1 if quick else None])
    ]
    figures = ("original", "accuracy_mean", "estimate_mean", "disclosure_mean")
    tables = {
        "functions": means(third, ("function", "method", "records"), ("accuracy", "disclosure")),
        "guarantee": means(equal, ("function", "gamma", "method", "level", "records"), ("accuracy",)),
        "hidden": means(hidden(1 if quick else 5), ("classes", "telling", "level"), figures),
    }
    if (data / VOTES_FILE).is_file():
        tables["levels"] = list(figure_4(data, repeats))
        tables["caution"] = means(caution(data, repeats), ("level",), ("answer", "accuracy"))
    return {"tables": tables}
