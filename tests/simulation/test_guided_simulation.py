"""Tests of simulated guided perturbation: levels, disclosure, information, and two published bounds that fail."""

import json
from collections import Counter
from itertools import product

import numpy as np
import pytest
from naive import guided_plan as small_plan
from naive import random_people, votes_plan

from assocpriv.guarantees.errors import RecordError
from assocpriv.records.table_files import TableOptions
from assocpriv.simulation.guided_simulation import (
    People,
    TrialRequest,
    attribute_values,
    disclosure_bound,
    information,
    plan_from_table,
    read_cells,
    read_people,
    run_trial,
)


def apart(rng, n_people=600, n=24, differing=9):
    """Return people of two classes that differ in some attributes: 90% against 10% have yes."""
    classes = rng.integers(0, 2, n_people)
    share = np.full((n_people, n), 0.5)
    share[:, :differing] = np.where(classes == 1, 0.9, 0.1)[:, None]
    return People((rng.random((n_people, n)) < share).astype(np.int64), classes)


@pytest.mark.parametrize("level", [1, 2])
def test_low_levels_disclose_little_and_learn_well(rng, level):
    """Without initial data, naive Bayes is within 5% of raw tuples at 15% disclosure, and the estimate agrees."""
    found = run_trial(apart(rng, 3000), votes_plan(), TrialRequest(rounds=2, seed=1), [level])
    one = found.levels[0]
    assert one.accuracy.mean > 0.95 * found.original_accuracy.mean
    assert one.disclosure.mean < 0.2
    assert abs(one.estimate.mean - one.accuracy.mean) < 0.03


def test_the_last_level_releases_everything(rng):
    """With one direction per bit R(t) = t: full disclosure, no wrong bits, and the accuracy of raw tuples."""
    plan = small_plan(batch=60)
    positions, _ = random_people(plan, 300, rng)
    people = People(positions, (positions[:, 0] ^ (rng.random(300) < 0.2)).astype(np.int64))
    trial = run_trial(people, plan, TrialRequest("tree", 3, seed=1), [1, 2, 3, 4, 5])
    last = trial.levels[-1]
    assert [each.level for each in trial.levels] == [1, 2, 3, 4, 5]
    assert last.disclosure.mean == last.disclosure_bound == 1
    assert last.accuracy == trial.original_accuracy
    assert last.information.low == last.information.high == pytest.approx(1)
    assert trial.levels[0].disclosure.mean < 1
    assert (trial.people, trial.held_out) == (200, 100)


def test_too_few_people_are_refused(rng):
    """A class that is missing among the people held back is refused."""
    people = People(np.zeros((20, 2), np.int32), np.array([0] * 19 + [1]))
    with pytest.raises(RecordError, match="some class has too few people"):
        run_trial(people, small_plan(), TrialRequest(seed=1))


def test_columns_become_attributes(tmp_path):
    """Number columns with more than ten values are cut at quartiles; others are sorted categories."""
    path = tmp_path / "t.csv"
    rows = [f"{age},{age % 3 * 5},{'nw'[age % 2]},x,{'ab'[age % 5 < 2]}" for age in range(20, 60)]
    path.write_text("\n".join(["age,size,side,same,class", *rows, "?,,n,x,a"]) + "\n")
    options = TableOptions(missing=("?",))
    plan = plan_from_table(read_cells(path, options), "class")
    fields = json.loads(plan.canonical_json)["attributes"]
    assert fields == [
        {"kind": "number", "name": "age", "cuts": ["30/1", "40/1", "50/1"]},
        {"kind": "category", "name": "size", "values": ["0", "5", "10"]},
        {"kind": "category", "name": "side", "values": ["n", "w"]},
    ]
    people = read_people(path, plan, options, 1)
    assert (people.raw_positions < np.array(plan.sizes)).all()
    assert np.bincount(people.raw_positions[:40, 0]).tolist() == [10, 10, 10, 10]
    assert people.classes[-1] == 0


def test_no_interval_is_empty():
    """If more than a quarter of the values are the smallest one, the first cut is the next larger value."""
    import pandas as pd

    cells = pd.Series(["0"] * 60 + [str(value) for value in range(10, 50)], name="commission")
    assert attribute_values(cells) == (10.0, 25.0)


def naive_information(raw_bits, shares):
    """Return I(t; R)/H(t) from the joint distribution, by the definition."""
    joint, tuples, reports = Counter(), Counter(), Counter()
    for name, given in zip(map(bytes, raw_bits), shares, strict=True):
        for report in product((0, 1), repeat=shares.shape[1]):
            mass = np.prod([p if bit else 1 - p for bit, p in zip(report, given, strict=True)]) / len(raw_bits)
            joint[name, report] += mass
            tuples[name] += mass
            reports[report] += mass
    total = -sum(p * np.log2(p) for p in tuples.values())
    return sum(p * np.log2(p / tuples[t] / reports[r]) for (t, r), p in joint.items() if p) / total


def test_information_is_that_of_the_joint_distribution(rng):
    """Enumerated information equals the definition, and lies between the bounds for wider reports."""
    raw = rng.integers(0, 2, (12, 4)).astype(np.uint8)
    shares = raw @ rng.random((4, 4)) / 4  # the same for equal tuples
    found = information(raw, shares)
    assert found.low == found.high == pytest.approx(naive_information(raw, shares))
    wide = np.hstack([shares, np.zeros((12, 20))])  # uninformative bits, too many to enumerate
    bracket = information(raw, wide)
    assert bracket.low < found.low < bracket.high


def test_bound_on_disclosure_fails():
    """Theorem 5.2 is false: with one attribute constant, V = e₁ discloses all information, above the bound of 3/4."""
    raw = np.array([[1, 0, 1, 0], [0, 1, 1, 0]], dtype=np.uint8)
    shares = raw * np.array([1.0, 0, 0, 0])  # for V = e₁ the first bit is released raw
    assert information(raw, shares).low == pytest.approx(1)
    assert disclosure_bound(raw, 1) == pytest.approx(0.75)


def test_bound_on_disclosure_fails_on_votes(votes):
    """On the voting records, 12 coordinates disclose more of the information than Theorem 5.2 allows."""
    raw, _ = votes
    released = 2 * np.array([0, 1, 2, 5, 6, 9, 10, 11, 12, 13, 14, 15])  # the most informative of 16 votes
    shares = np.where(np.isin(np.arange(raw.shape[1]), released), raw, 0.0)
    entropies = [entropy(np.unique(each, axis=0, return_counts=True)[1]) for each in (shares, raw)]
    found = information(raw, shares)
    assert found.low < entropies[0] / entropies[1] <= found.high
    assert entropies[0] / entropies[1] > disclosure_bound(raw, 12) + 0.01


def entropy(counts):
    """Return the entropy of counts, in bits."""
    shares = counts / counts.sum()
    return -float(shares @ np.log2(shares))


@pytest.fixture
def votes(shared_data):
    """Return the voting records with missing votes drawn at random, and the democrats among them."""
    rng = np.random.default_rng(0)
    lines = [line.split(",") for line in (shared_data / "house-votes-84.data").read_text().split()]
    yes = np.array([[{"y": 1, "n": 0, "?": rng.integers(0, 2)}[vote] for vote in line[1:]] for line in lines])
    raw = np.stack([1 - yes, yes], axis=2).reshape(len(lines), -1).astype(np.uint8)
    return raw, np.array([line[0] == "democrat" for line in lines])


def projected(votes, order):
    """Return l_e of tuples projected, without rounding, on the eigenvectors selected by μ = 2.5%, and the bound."""
    raw, democrat = votes
    sums = np.array([raw[~democrat].T.astype(float) @ raw[~democrat], raw[democrat].T.astype(float) @ raw[democrat]])
    difference = sums[0] - sums[1]
    values, vectors = np.linalg.eigh(difference)
    key = values if order == "value" else np.abs(values)
    places = np.argsort(-key)
    level = int(np.argmax(key[places][1:] <= 0.025 * key[places][0])) + 1
    projector = vectors[:, places[:level]] @ vectors[:, places[:level]].T
    off = np.abs(difference - projector @ difference @ projector) / len(raw)
    attribute = np.repeat(np.arange(16), 2)
    of_values_and_pairs = (attribute[:, None] != attribute) | np.eye(32, dtype=bool)
    return off[of_values_and_pairs].max(), 2 * 0.025 * key[places][0] / len(raw)


def test_bound_on_error_fails_by_value_and_holds_by_magnitude(votes):
    """The step of Theorem 5.1 that bounds |A − Ã| by μσ₁ fails where eigenvalues are ordered by value."""
    wrong, bound = projected(votes, "value")
    assert wrong > 3 * bound
    wrong, bound = projected(votes, "magnitude")
    assert wrong <= bound / 2
