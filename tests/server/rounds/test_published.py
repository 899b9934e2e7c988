"""What is published: fresh estimates with the whole correction in their errors, or what subsets allow."""

import math

import pytest

from assocpriv.server.posterior import Average, Estimate, Evidence, Knowledge, measured, published

KNOWN: Knowledge = {
    (0,): measured(0.35, 1e-4),
    (1,): measured(0.3, 1e-4),
    (0, 1): Estimate(0.12, 0.01, 0.12, 0.01),
}
FRESH = {(0,): Average(0.4, 1e-6), (1,): Average(0.25, 1e-6, 0.02, 0.04)}


def test_fresh_estimates_are_published_as_they_are() -> None:
    """Not what is expected, and not the average with what the choice was made by; the error has all that was undone."""
    evidence = Evidence({(0,): Average(0.38, 1e-7), (1,): Average(0.28, 1e-7)}, FRESH)
    told = published(KNOWN, evidence)
    assert told[0,].support == 0.4
    assert told[0,].variance == 1e-6
    assert told[0,].expected == 0.35
    assert told[1,].variance == pytest.approx(1e-6 + 0.04**2)


def test_unmeasured_itemsets_are_as_uncertain_as_their_subsets_allow() -> None:
    """The interval of a pair that nobody was asked about holds all that its items' intervals allow."""
    told = published(KNOWN, Evidence(FRESH, FRESH))
    pair = told[0, 1]
    reach = 1.96 * math.sqrt(pair.variance)
    assert pair.support == 0.12
    assert pair.support + reach >= 0.25
    assert pair.support - reach <= 0
    dense = {(0,): Average(0.9, 1e-8), (1,): Average(0.9, 1e-8)}
    told = published(KNOWN, Evidence(dense, dense))
    low, high = (told[0, 1].support + sign * 1.96 * math.sqrt(told[0, 1].variance) for sign in (-1, 1))
    assert low <= 0.8 + 1e-3
    assert high >= 0.9 - 1e-3
    assert high - low < 0.25


def test_a_noisy_measurement_tells_less_than_the_subsets() -> None:
    """A pair measured with an error far beyond its items' supports is published by these; a sharp one as measured."""
    noisy = FRESH | {(0, 1): Average(-0.8, 1.0)}
    assert published(KNOWN, Evidence(noisy, noisy))[0, 1].support == 0.12
    sharp = FRESH | {(0, 1): Average(0.05, 1e-6)}
    assert published(KNOWN, Evidence(sharp, sharp))[0, 1].support == 0.05
