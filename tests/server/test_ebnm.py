"""Supports told by a mixture of uniforms, against those that R's package ebnm tells from the same numbers."""

import numpy as np
import pytest

from assocpriv.server.mixtures import Floats, fit_weights, posterior, seen_in

# R 4.2.2, ebnm 1.1-42, ashr 2.2-65, mixsqp 0.3-48; x as below. Without prior = "uniform" ashr favours the first part.
#   library(ebnm); library(ashr)
#   s <- rep(c(0.01, 0.02), 30)
#   g <- unimix(rep(0.1, 10), rep(0, 10), 10^seq(-2, 0, length.out = 10))
#   fit <- ebnm(x, s, prior_family = "unimodal_nonnegative", g_init = g, prior = "uniform",
#               control = list(convtol.sqp = 1e-12, eps = 1e-12))
#   print(logLik(fit), digits = 10); print(fit$fitted_g$pi, digits = 6)
#   print(fit$posterior[c(1:6, 34), c("mean", "sd")], digits = 6)
X = np.array([
    0.2954, 0.1018, 0.0663, 0.0604, 0.0304, 0.03, 0.0253, 0.0304, 0.0051, 0.0215, 0.0104, -0.0026, 0.0016, 0.003,
    -0.003, -0.0229, 0.0064, 0.0208, 0.0026, 0.0194, 0.0003, -0.0159, -0.0114, -0.0128, 0.0179, -0.0014, -0.0151,
    0.0029, -0.0011, -0.0069, -0.0039, -0.0145, -0.0014, -0.0341, -0.0093, -0.0046, 0.0096, 0.011, 0.0203, 0.0259,
    -0.0169, 0.0122, 0.0114, 0.0061, -0.0171, -0.0058, -0.0068, 0.0087, 0.0128, 0.0142, -0.0091, 0.017, 0.0013, 0.021,
    -0.0019, 0.005, 0.0004, -0.0037, 0.016, 0.0185,
])  # fmt: skip
SD = np.tile([0.01, 0.02], 30)
ENDS = np.logspace(-2, 0, 10)
LOG_LIKELIHOOD = 149.6800675
WEIGHTS = [0.9096374, 0, 0, 0, 0.0411240, 0.0226604, 0, 0.0265783, 0, 0]
LOOKED_AT = [0, 1, 2, 3, 4, 5, 33]  # the last is far below 0
MEANS = [0.29540000, 0.09300511, 0.06469271, 0.03696687, 0.01406569, 0.00765982, 0.00425366]
DEVIATIONS = [0.01000000, 0.02107730, 0.00891840, 0.02792139, 0.01234073, 0.00916824, 0.00293999]


def told(sd: Floats, ends: Floats) -> tuple[float, Floats, Floats, Floats]:
    """Return log-likelihood, weights, posterior means and standard deviations under the likeliest mixture."""
    densities, means, variances = seen_in(X[:, None], sd[:, None], np.zeros((1, len(ends))), ends[None])
    weights = fit_weights(np.exp(densities), np.full(len(ends), 1 / len(ends)), 0.0, 200_000)
    each = posterior(densities, weights, means, variances)
    return float(np.log(np.exp(densities) @ weights).sum()), weights, each.mean, np.sqrt(each.variance)


def test_supports_are_those_of_ebnm() -> None:
    """Likelihood, means and deviations are ebnm's to four digits: EM ends where a weight moves by less than 1e-5."""
    log_likelihood, weights, means, deviations = told(SD, ENDS)
    assert log_likelihood == pytest.approx(LOG_LIKELIHOOD, abs=2e-4)  # .00005 below
    assert weights == pytest.approx(WEIGHTS, abs=1e-4)  # .00004: neighbours share what they explain alike
    assert means[LOOKED_AT] == pytest.approx(MEANS, rel=1e-4)  # .00002
    assert deviations[LOOKED_AT] == pytest.approx(DEVIATIONS, rel=1e-4)  # .00003


@pytest.mark.parametrize(("errors", "ends"), [(1.01, 1.0), (0.99, 1.0), (1.0, 1.01), (1.0, 0.99)])
def test_other_errors_or_ends_are_told_apart(errors: float, ends: float) -> None:
    """Standard errors or ends of the intervals that are wrong by a hundredth give other numbers, ten tolerances off."""
    log_likelihood, _, means, _ = told(SD * errors, ENDS * ends)
    assert abs(log_likelihood - LOG_LIKELIHOOD) > 2e-3
    assert np.abs(means[LOOKED_AT] / MEANS - 1).max() > 1e-3
