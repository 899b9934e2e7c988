"""A smooth distribution seen through a channel: penalized likelihood, its smoothness chosen by the data.

Shares are f = softmax(η). The log-density η of intervals in a row has a Gaussian prior under which its first or its
second differences are independent with variance 1/λ (penalized B-splines of degree 0: Eilers, Statistical Modelling
2007; as a prior: Efron, Biometrika 2016). With D the matrix of differences, W = diag(N / (A f)), J = diag(f) − f fᵀ,

    log-posterior(η) = Σ_y n_y log (A f)_y − λ/2 |D η|²,     M = J Aᵀ W A J + λ Dᵀ D

M is its negative Hessian in expectation, by which it is maximized (Fisher scoring), and log P(n | λ) ≈ log-posterior(η̂)
+ ½ log |λ DᵀD|₊ − ½ log |M| (Laplace). In place of λ stands the roughness ρ: how far η lies from a level or a line
under the prior, the root of its mean square. It means the same for any number of intervals and each order, and
its prior is exponential (the prior of a standard deviation by Simpson et al., Statistical Science 2017): without one,
few reports behind much noise would count as a sign of an even distribution, and wild shapes keep a weight that the
Laplace approximation gives them. The estimate is the mean over orders and a grid of ρ weighted by P(ρ) P(n | ρ), so
smoothness is chosen by no rule of thumb: second differences suit curves, first ones edges and peaks, which are
kept where the data show them. Covariances are those of the posterior, linear in f, the spread over ρ included. They
contain what smoothing distorts, on average over the intervals (Nychka, JASA 1988), under the assumption that the
log-density is about as rough everywhere. An estimate by maximum likelihood alone has no such error: deconvolution is
ill-posed, and its own sampling error ignores what the noise has wiped out.

Two columns are smoothed along each of them by one ρ. Named values, and missing ones, are not smoothed.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

_ROUGHNESS = 0.1 * np.sqrt(10.0) ** np.arange(9)  # grid of ρ, from smooth to rough
_MIDDLE = 3  # of the grid, where the search begins: ρ = 3
# by the prior; tuned on triangles, normal peaks, steps, spikes and an exponential law under square waves, where errors
# differ by 2% between 2 and 8
_MEAN_ROUGHNESS = 5.0
_ORDERS = (2, 1)  # of differences. Third ones, or more weight for second ones, come nearer to peaks by 5% and more, but
# behind Gaussian noise the bands of a plateau then cover in half of all cases
_HOPELESS = 8.0  # a log-evidence so far below the best has no weight
_RIDGE = 1e-3  # precision of the directions without a penalty: level, slope, missing values
_NEWTON_STEPS, _NEWTON_GAIN = 50, 1e-3
_LEAST = 1e-300
_Fit = tuple[float, NDArray[np.float64], NDArray[np.float64]]  # log-evidence, shares, Hessian of η
_Place = tuple[int, NDArray[np.float64]]  # on the grid of ρ, and η there


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
    fits: list[_Fit] = []
    start = _MIDDLE, np.zeros(first.shape[1] * other.shape[1])
    for order in _ORDERS:
        problem = _Problem(counts, first, other, ordered, order)
        if problem.penalty.any() or not fits:
            start = _climb(problem, start, fits)
    return _averaged(fits, (first.shape[1], other.shape[1]))


def _climb(problem: "_Problem", start: _Place, fits: list[_Fit]) -> _Place:
    """Add what each ρ gives, from the start upwards and then downwards, until the evidence falls and is hopeless.

    Return the best place, from which other orders may start.
    """
    found: list[tuple[float, _Place]] = []
    for way in (1, -1) if problem.penalty.any() else (1,):
        at, eta = start if way == 1 else (start[0] - 1, found[0][1][1])
        before = -np.inf if way == 1 else found[0][0]
        while 0 <= at < len(_ROUGHNESS):
            rho = float(_ROUGHNESS[at])
            eta, (evidence, shares, hessian) = problem.fit(eta, rho**-2)
            evidence += float(np.log(rho)) - rho / _MEAN_ROUGHNESS
            fits.append((evidence, shares, hessian))
            found.append((evidence, (at, eta)))
            hopeless = max(fit[0] for fit in fits) - _HOPELESS
            if not problem.penalty.any() or evidence < min(hopeless, before):
                break
            at, before = at + way, evidence
    return max(found, key=lambda each: each[0])[1]


def _averaged(fits: list[_Fit], shape: tuple[int, int]) -> Posterior:
    """Return the mixture over order and ρ: mean of the means, mean of the covariances and spread of the means."""
    best = max(evidence for evidence, _, _ in fits)
    found = [fit for fit in fits if fit[0] > best - _HOPELESS]
    weights = np.exp([evidence - best for evidence, _, _ in found])
    weights /= weights.sum()
    means = np.array([shares for _, shares, _ in found])
    mean = weights @ means
    covariance: NDArray[np.float64] = (means - mean).T @ ((means - mean) * weights[:, None])
    for weight, (_, shares, hessian) in zip(weights, found, strict=True):
        covariance += weight * _covariance(shares, np.asarray(np.linalg.inv(hessian), dtype=np.float64))
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
        found = [_penalty(each.shape[1], row, order) for each, row in zip((first, second), ordered, strict=True)]
        penalties = [penalty for penalty, _ in found]
        eyes = [np.eye(len(each)) for each in penalties]
        self.penalty = np.kron(penalties[0], eyes[1]) + np.kron(eyes[0], penalties[1])
        self.roughness = np.add.outer(*(values for _, values in found)).ravel()
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
            rooted = self.first * np.sqrt(weights)
            inner: NDArray[np.float64] = rooted.T @ rooted
        else:
            m, n = self.first.shape[1], self.second.shape[1]
            crossed = self.squares[0].T @ weights @ self.squares[1]
            inner = crossed.reshape(m, m, n, n).transpose(0, 2, 1, 3).reshape(m * n, m * n)
        inner -= self.n
        inner *= shares
        inner *= shares[:, None]
        return inner

    def gradient(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the derivative of the log-likelihood by η."""
        ratio = self.first.T @ (self.counts / self.expected(shares)) @ self.second
        return shares * (ratio.ravel() - self.n)

    def fit(self, eta: NDArray[np.float64], strength: float) -> tuple[NDArray[np.float64], _Fit]:
        """Return η̂ for one λ, and the log-evidence, the shares and the Hessian there."""
        precision = strength * self.penalty + _RIDGE * np.eye(len(eta))
        value, shares = self.posterior(eta, strength)
        hessian = self.information(shares) + precision
        for _ in range(_NEWTON_STEPS):
            gradient = self.gradient(shares) - precision @ eta
            step = np.asarray(np.linalg.solve(hessian, gradient), dtype=np.float64)
            gain = float(gradient @ step)
            if gain < _NEWTON_GAIN:
                break
            eta, value, shares = self._search(eta, step, gain, value, strength)
            hessian = self.information(shares) + precision
        prior = np.log(strength * self.roughness + _RIDGE).sum() / 2
        evidence = value + prior - np.linalg.slogdet(hessian)[1] / 2
        return eta, (float(evidence), shares, hessian)

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


@lru_cache(maxsize=16)  # columns are mostly alike
def _penalty(n: int, ordered: int, order: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return DᵀD of the first inputs, zero for the others, in the unit in which λ = 1/ρ², and its eigenvalues."""
    full, values = np.zeros((n, n)), np.zeros(n)
    if ordered > order:
        differences = np.diff(np.eye(ordered), order, axis=0)
        bent = differences.T @ differences
        curved = np.linalg.eigvalsh(bent)[order:]
        unit = (1 / curved).sum() / ordered
        full[:ordered, :ordered], values[: len(curved)] = unit * bent, unit * curved
    return full, values


def _covariance(shares: NDArray[np.float64], inverse: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return J V J for a covariance V of η."""
    across = inverse @ shares
    inner = inverse - across[:, None] - across[None, :] + float(shares @ across)
    covariance: NDArray[np.float64] = np.outer(shares, shares) * inner
    return covariance
