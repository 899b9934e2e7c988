"""Tests of disclosure, error and information, and of the two published bounds that fail."""

from itertools import product

import numpy as np
import pytest

from assocpriv.simulation.guided import disclosure, disclosure_bound, errors, information


def naive_information(raw_bits, shares):
    """I(t; R)/H(t) from the joint law, by the definition."""
    joint = {}
    for tuple_, given in zip(map(bytes, raw_bits), shares, strict=True):
        for report in product((0, 1), repeat=shares.shape[1]):
            chance = np.prod([p if bit else 1 - p for bit, p in zip(report, given, strict=True)]) / len(raw_bits)
            joint[tuple_, report] = joint.get((tuple_, report), 0) + chance
    sides = [{}, {}]
    for key, chance in joint.items():
        for side, name in zip(sides, key, strict=True):
            side[name] = side.get(name, 0) + chance
    total = -sum(p * np.log2(p) for p in sides[0].values())
    return sum(p * np.log2(p / sides[0][t] / sides[1][r]) for (t, r), p in joint.items() if p) / total


def test_information_is_that_of_the_joint_law(rng):
    """Enumerated information equals the definition's, and lies between the bounds given for wider reports."""
    raw = rng.integers(0, 2, (12, 4)).astype(np.uint8)
    shares = raw @ rng.random((4, 4)) / 4  # the same for equal tuples
    found = information(raw, shares)
    assert found.low == found.high == pytest.approx(naive_information(raw, shares))
    wide = np.hstack([shares, np.zeros((12, 20))])  # bits that tell nothing, too many to enumerate
    bracket = information(raw, wide)
    assert bracket.low < found.low < bracket.high


def test_bound_on_disclosure_fails():
    """Theorem 5.2 is false: with one attribute constant, V = e₁ tells all there is, more than the bound of 3/4."""
    raw = np.array([[1, 0, 1, 0], [0, 1, 1, 0]], dtype=np.uint8)
    shares = raw * np.array([1.0, 0, 0, 0])  # of V = e₁: the first bit is released as it is
    assert information(raw, shares).low == pytest.approx(1)
    assert disclosure_bound(raw, 1) == pytest.approx(0.75)


def test_bound_on_disclosure_fails_on_votes(votes):
    """On the voting records, 12 coordinates disclose more of the information than Theorem 5.2 allows."""
    raw, _ = votes
    asked = 2 * np.array([0, 1, 2, 5, 6, 9, 10, 11, 12, 13, 14, 15])  # of 16 votes those that tell most together
    shares = np.where(np.isin(np.arange(raw.shape[1]), asked), raw, 0.0)
    told = [entropy(np.unique(each, axis=0, return_counts=True)[1]) for each in (shares, raw)]
    found = information(raw, shares)
    assert found.low < told[0] / told[1] <= found.high
    assert told[0] / told[1] > disclosure_bound(raw, 12) + 0.01


def entropy(counts):
    """Return the entropy of counts, in bits."""
    shares = counts / counts.sum()
    return -float(shares @ np.log2(shares))


@pytest.fixture
def votes(shared_data):
    """The voting records, missing votes drawn at random, and who is a democrat."""
    rng = np.random.default_rng(0)
    lines = [line.split(",") for line in (shared_data / "house-votes-84.data").read_text().split()]
    yes = np.array([[{"y": 1, "n": 0, "?": rng.integers(0, 2)}[vote] for vote in line[1:]] for line in lines])
    raw = np.stack([1 - yes, yes], axis=2).reshape(len(lines), -1).astype(np.uint8)
    return raw, np.array([line[0] == "democrat" for line in lines])


def projected(votes, order):
    """Return l_e of tuples projected, without rounding, on the eigenvectors that μ = 2.5% takes, and the bound."""
    raw, democrat = votes
    sums = np.array([raw[~democrat].T.astype(float) @ raw[~democrat], raw[democrat].T.astype(float) @ raw[democrat]])
    values, vectors = np.linalg.eigh(sums[0] - sums[1])
    key = values if order == "value" else np.abs(values)
    places = np.argsort(-key)
    level = int(np.argmax(key[places][1:] <= 0.025 * key[places][0])) + 1
    projector = vectors[:, places[:level]] @ vectors[:, places[:level]].T
    after = projector @ sums @ projector
    return max(errors(sums, after, len(raw), np.repeat(np.arange(16), 2))), 2 * 0.025 * key[places][0] / len(raw)


def test_bound_on_error_fails_by_value_and_holds_by_magnitude(votes):
    """The step of Theorem 5.1 that bounds |A − Ã| by μσ₁ fails where eigenvalues are ordered by value."""
    wrong, bound = projected(votes, "value")
    assert wrong > 3 * bound
    wrong, bound = projected(votes, "magnitude")
    assert wrong <= bound / 2


def test_disclosure_counts_wrong_bits(rng):
    """Disclosure is 1 where everything is released, 0 where nothing is, below 0 where more is wrong than there is."""
    raw = np.eye(4, dtype=np.uint8)
    assert disclosure(raw, raw) == 1
    assert disclosure(raw, np.zeros_like(raw)) == 0
    assert disclosure(raw, 1 - raw) == -3


def test_errors_are_the_largest_of_shares():
    """l_e(1) looks at single values, l_e(2) at pairs of values of different attributes alone."""
    raw = np.zeros((2, 4, 4))
    after = raw.copy()
    after[0, 0, 0], after[1, 2, 2] = 3, -4
    after[0, 1, 2] = after[0, 2, 1] = 5
    after[0, 0, 1] = after[0, 1, 0] = 9  # two values of one attribute
    assert errors(raw, after, 10, np.array([0, 0, 1, 1])) == (0.4, 0.5)
