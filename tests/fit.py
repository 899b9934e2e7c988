"""How sampling tests decide: chi-square and z tests that wrongly reject one time in a million.

With 200 assertions a run on a fresh seed fails by chance at most twice in 10 000, so a failure is a bug
report, never a reason to run again. Each test also names a wrong model and asserts that it is rejected; choose
the sample size n so that n·Σ(p−q)²/q is at least 100 for up to 10 cells, 150 for up to 50.
"""

import numpy as np
from scipy.special import chdtrc
from scipy.stats import binom

FALSE_ALARM = 1e-6
Z_LIMIT = 4.9  # |z| of a mean with known variance; P(|Z| ≥ 4.9) = 9.6e-7
LEAST_EXPECTED = 5


def rejects(observed_counts, expected_probabilities) -> bool:
    """Tell whether a chi-square test at level FALSE_ALARM rejects the probabilities.

    Cells expected to hold fewer than 5 are merged into one; if that still expects fewer, it joins the smallest
    other cell. An observation in a cell of probability 0 rejects at once.

    Args:
        observed_counts: integers, shape (cells,).
        expected_probabilities: of the same shape, fixed before looking at the counts; they sum to 1.

    >>> rejects([5030, 4970], [0.5, 0.5]), rejects([5300, 4700], [0.5, 0.5])
    (False, True)
    """
    observed = np.asarray(observed_counts, dtype=np.float64).ravel()
    probabilities = np.asarray(expected_probabilities, dtype=np.float64).ravel()
    if observed.shape != probabilities.shape or abs(probabilities.sum() - 1) > 1e-9 or (probabilities < 0).any():
        raise ValueError("there must be one probability a cell, and they must sum to 1")
    if observed[probabilities == 0].any():
        return True
    observed, expected = _merged(observed, probabilities * observed.sum())
    if len(expected) < 2:
        raise ValueError("fewer than two cells are left to compare; take a larger sample")
    return bool(chdtrc(len(expected) - 1, ((observed - expected) ** 2 / expected).sum()) < FALSE_ALARM)


def _merged(observed, expected):
    """Sort cells by what they should hold and merge the smallest until each should hold at least 5."""
    order = np.argsort(expected, kind="stable")
    observed, expected = observed[order], expected[order]
    merge = int((expected < LEAST_EXPECTED).sum())
    if merge and expected[:merge].sum() < LEAST_EXPECTED:
        merge += 1
    if merge < 2:
        return observed, expected
    return (
        np.append(observed[:merge].sum(), observed[merge:]),
        np.append(expected[:merge].sum(), expected[merge:]),
    )


def binomial_sum(first, p, second, q):
    """Return the law of Binomial(first, p) + Binomial(second, q)."""
    return np.convolve(binom.pmf(np.arange(first + 1), first, p), binom.pmf(np.arange(second + 1), second, q))
