"""A smooth distribution seen through a channel: penalized likelihood, its smoothness chosen by the data.

Shares are f = softmax(η). The log-density η of intervals in a row has a Gaussian prior under which its first or its
second differences are independent with variance 1/λ (penalized B-splines of degree 0: Eilers, Statistical Modelling
2007; as a prior: Efron, Biometrika 2016). With D the matrix of differences, W = diag(N / (A f)), J = diag(f) − f fᵀ,

    log-posterior(η) = Σ_y n_y log (A f)_y − λ/2 |D η|²,     M = J Aᵀ W A J + λ Dᵀ D

M is its negative Hessian in expectation, by which it is maximized (Fisher scoring), and log P(n | λ) ≈ log-posterior(η̂)
+ ½ log |λ DᵀD|₊ − ½ log |M| (Laplace). The estimate is the mean over both orders and a grid of λ weighted by P(n | λ),
so smoothness is chosen by no rule of thumb: second differences suit curves, first ones peaks and edges, which are kept
where the data show them. Covariances are those of the posterior, linear in f, the spread over λ included. They contain
what smoothing distorts, on average over the intervals (Nychka, JASA 1988), under the assumption that the log-density is
about as rough everywhere. An estimate by maximum likelihood alone has no such error: deconvolution is ill-posed, and
its own sampling error ignores what the noise has wiped out.

Two columns are smoothed along each of them by one λ. Named values, and missing ones, are not smoothed.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_FIRST, _FACTOR, _MOST = 1e4, 0.1, 11  # grid of λ, from smooth to rough
_HOPELESS = 8.0  # a log-evidence so far below the best has no weight
_ORDERS = (1, 2)  # of differences
_RIDGE = 1e-3  # precision of the directions without a penalty: level, slope, missing values
_NEWTON_STEPS, _NEWTON_GAIN = 50, 1e-3
_LEAST = 1e-300
_Fit = tuple[float, NDArray[np.float64], NDArray[np.float64]]  # log-evidence, shares, covariance


@dataclass(frozen=True, eq=False, slots=True)
class Posterior:
    """Mean, float64 (inputs of the first column, inputs of the second), and covariance of all of them in a row."""

    shares: NDArray[np.float64]
    covariance: NDArray[np.float64]


def smooth_shares(
    counts: NDArray[np.float64],
    first: NDArray[np.float64],
    second: NDArray[np.float64] | None = None,
    ordered: tuple[int, int] = (0, 0),
) -> Posterior:
    """Return the smooth estimate of the joint shares of two columns, or of one.

    Args:
        counts: of the pairs of bins, float64 (bins of the first, bins of the second).
        first: P(bin | input) of the first column; ``second`` of the second, by default one that is always the same.
        ordered: how many inputs of each are intervals in a row.
    """
    other = np.ones((1, 1)) if second is None else second
    fits = [fit for order in _ORDERS for fit in _fits(_Problem(counts, first, other, ordered, order))]
    return _averaged(fits, (first.shape[1], other.shape[1]))


def _fits(problem: "_Problem") -> list[_Fit]:
    """Return what each λ gives, from smooth to rough, until the evidence is hopeless."""
    eta = np.zeros(problem.penalty.shape[0])
    found: list[_Fit] = []
    for strength in _FIRST * _FACTOR ** np.arange(_MOST):
        eta, evidence, shares, covariance = problem.fit(eta, float(strength))
        found.append((evidence, shares, covariance))
        hopeless = max(each[0] for each in found) - _HOPELESS
        if not problem.penalty.any() or (evidence < hopeless and found[-2][0] < hopeless):
            break
    return found


def _averaged(found: list[_Fit], shape: tuple[int, int]) -> Posterior:
    """Return the mixture over order and λ: mean of the means, mean of the covariances and spread of the means."""
    logs = np.array([evidence for evidence, _, _ in found])
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    means = np.array([shares for _, shares, _ in found])
    mean = weights @ means
    covariance = (means - mean).T @ ((means - mean) * weights[:, None])
    for weight, (_, _, own) in zip(weights, found, strict=True):
        covariance = covariance + weight * own
    return Posterior(mean.reshape(shape), covariance)


class _Problem:
    """Counts seen through two channels, and the penalty."""

    def __init__(
        self,
        counts: NDArray[np.float64],
        first: NDArray[np.float64],
        second: NDArray[np.float64],
        ordered: tuple[int, int],
        order: int,
    ) -> None:
        self.counts, self.first, self.second, self.n = counts, first, second, float(counts.sum())
        penalties = [_penalty(each.shape[1], row, order) for each, row in zip((first, second), ordered, strict=True)]
        eyes = [np.eye(len(each)) for each in penalties]
        self.penalty = np.kron(penalties[0], eyes[1]) + np.kron(eyes[0], penalties[1])
        values = [np.linalg.eigvalsh(each) for each in penalties]
        self.roughness = np.maximum(np.add.outer(*values).ravel(), 0)
        self.squares = [] if second.size == 1 else [_outer_squares(each) for each in (first, second)]

    def expected(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return P(pair of bins), like the counts."""
        table = shares.reshape(self.first.shape[1], -1)
        chances = self.first @ table @ self.second.T
        return np.maximum(chances, _LEAST, out=chances)

    def posterior(self, eta: NDArray[np.float64], strength: float) -> tuple[float, NDArray[np.float64]]:
        """Return the log-posterior and the shares."""
        shares = np.exp(eta - eta.max())
        shares /= shares.sum()
        prior = strength * float(eta @ self.penalty @ eta) + _RIDGE * float(eta @ eta)
        return float((self.counts * np.log(self.expected(shares))).sum()) - prior / 2, shares

    def information(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return J Aᵀ W A J; as the columns of A add up to 1, Aᵀ W A f = N."""
        weights = self.n / self.expected(shares)
        if not self.squares:
            inner = (self.first * weights).T @ self.first
        else:
            m, n = self.first.shape[1], self.second.shape[1]
            crossed = self.squares[0].T @ weights @ self.squares[1]
            inner = crossed.reshape(m, m, n, n).transpose(0, 2, 1, 3).reshape(m * n, m * n)
        return np.outer(shares, shares) * (inner - self.n)

    def gradient(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the derivative of the log-likelihood by η."""
        ratio = self.first.T @ (self.counts / self.expected(shares)) @ self.second
        return shares * (ratio.ravel() - self.n)

    def fit(
        self, eta: NDArray[np.float64], strength: float
    ) -> tuple[NDArray[np.float64], float, NDArray[np.float64], NDArray[np.float64]]:
        """Return η̂ for one λ, the log-evidence, the shares and their covariance."""
        precision = strength * self.penalty + _RIDGE * np.eye(len(eta))
        value, shares = self.posterior(eta, strength)
        for _ in range(_NEWTON_STEPS):
            hessian = self.information(shares) + precision
            gradient = self.gradient(shares) - precision @ eta
            step = np.asarray(np.linalg.solve(hessian, gradient), dtype=np.float64)
            gain = float(gradient @ step)
            if gain < _NEWTON_GAIN:
                break
            eta, value, shares = self._search(eta, step, gain, value, strength)
        inverse = np.asarray(np.linalg.inv(self.information(shares) + precision), dtype=np.float64)
        evidence = value + np.log(strength * self.roughness + _RIDGE).sum() / 2 + np.linalg.slogdet(inverse)[1] / 2
        return eta, float(evidence), shares, _covariance(shares, inverse)

    def _search(
        self, eta: NDArray[np.float64], step: NDArray[np.float64], gain: float, value: float, strength: float
    ) -> tuple[NDArray[np.float64], float, NDArray[np.float64]]:
        """Halve a step until it gains what its slope promises."""
        length = 1.0
        while True:
            tried, shares = self.posterior(eta + length * step, strength)
            if tried >= value + 1e-4 * length * gain or length < 1e-6:
                return eta + length * step, tried, shares
            length /= 2


def _outer_squares(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return A[y, i]·A[y, j], float64 (bins, inputs²)."""
    return np.asarray(matrix[:, :, None] * matrix[:, None, :]).reshape(len(matrix), -1)


def _penalty(n: int, ordered: int, order: int) -> NDArray[np.float64]:
    """Return DᵀD of the first inputs, zero for the others."""
    full = np.zeros((n, n))
    if ordered > order:
        differences = np.diff(np.eye(ordered), order, axis=0)
        full[:ordered, :ordered] = differences.T @ differences
    return full


def _covariance(shares: NDArray[np.float64], inverse: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return J V J for a covariance V of η."""
    across = inverse @ shares
    inner = inverse - across[:, None] - across[None, :] + float(shares @ across)
    covariance: NDArray[np.float64] = np.outer(shares, shares) * inner
    return covariance
