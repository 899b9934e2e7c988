"""Tests that what a promise mixes in is taken out without bias, over all reports there can be."""

from dataclasses import replace
from itertools import product

import numpy as np
from guided_tables import random_guidance, small_plan

from assocpriv.plans.guidance import MIXED_TOTAL, WEIGHT_TOTAL, bit_weights, coin_of, mixed, mixing
from assocpriv.promise.breaches import Breach
from assocpriv.server.guided import corrected, random_products


def expected(shares):
    """E[R'R] of independent bits: products of shares, on the diagonal the shares."""
    found = np.outer(shares, shares)
    np.fill_diagonal(found, shares)
    return found


def all_tuples(plan):
    """Every tuple of a plan, positions (D, attributes)."""
    return np.array(list(product(*map(range, plan.sizes))))


def mean_over_reports(plan, guidance, law, correct):
    """E of what one report of class 1 adds, with independent bits of these probabilities."""
    total = 0.0
    for report in product((0, 1), repeat=plan.width):
        chance = np.prod([p if bit else 1 - p for bit, p in zip(report, law, strict=True)])
        sums = np.zeros((2, plan.width, plan.width), dtype=np.int64)
        sums[1] = np.outer(report, report)
        total = total + chance * (corrected(np.array([0, 1]), sums, plan, guidance) if correct else sums)
    assert not np.any(total[0])
    return total[1]


def test_coins_are_taken_out(rng):
    """Under a promise kept by bits the corrected sums have the expectation of R(t)'R(t); the raw ones have not."""
    plan = small_plan("bits")
    guidance = random_guidance(plan, 3, rng)
    assert 0 < mixing(plan, guidance) < 1
    position = all_tuples(plan)[4:5]
    shares = bit_weights(guidance, plan, position)[0] / WEIGHT_TOTAL
    law = mixed(bit_weights(guidance, plan, position), coin_of(guidance, plan))[0] / MIXED_TOTAL
    assert np.allclose(mean_over_reports(plan, guidance, law, True), expected(shares))
    assert not np.allclose(mean_over_reports(plan, guidance, law, False), expected(shares))


def test_tuples_are_taken_out(rng):
    """Under a promise kept by tuples the same holds, of the mixture over all tuples."""
    plan = small_plan("tuple")
    guidance = random_guidance(plan, 3, rng)
    share = float(mixing(plan, guidance))
    laws = bit_weights(guidance, plan, all_tuples(plan)) / WEIGHT_TOTAL

    def mean(correct):
        found = [mean_over_reports(plan, guidance, law, correct) for law in laws]
        return (1 - share) * found[2] + share * np.mean(found, axis=0)

    assert np.allclose(mean(True), expected(laws[2]))
    assert not np.allclose(mean(False), expected(laws[2]))


def test_nothing_but_coins_says_nothing(rng):
    """Where nothing but coins is sent, nothing is added, instead of a division by 0."""
    plan = small_plan("bits", Breach("1%", "1.0001%"))
    guidance = random_guidance(plan, 5, rng)
    assert mixing(plan, guidance) > 0.9
    found = corrected(np.array([3, 3]), np.full((2, 5, 5), 3), plan, guidance)
    assert np.isfinite(found).all()


def test_many_tuples_are_sampled_without_bias(rng, monkeypatch):
    """With more tuples than are enumerated the mean over guidances of what is sampled is the mean over all."""
    plan = small_plan("tuple")
    guidance = random_guidance(plan, 2, rng)
    exact = random_products(plan, guidance)
    monkeypatch.setattr("assocpriv.server.guided._TUPLES", 5)
    same = [replace(guidance, serial=serial) for serial in range(1, 401)]
    sampled = np.array([random_products(plan, each) for each in same])
    errors = sampled.std(axis=0, ddof=1) / np.sqrt(len(sampled))
    varied = errors > 1e-9
    assert varied.any()
    assert (np.abs(sampled.mean(axis=0) - exact)[varied] < 4.9 * errors[varied]).all()
    assert (random_products(plan, same[0]) == sampled[0]).all()
