"""Smooth estimate of a distribution observed through a channel: penalized likelihood with data-driven smoothness.

Shares are f = softmax(η). The log-density η of intervals in a row has a Gaussian prior under which its first or its
second differences are independent with variance 1/λ (penalized B-splines of degree 0: Eilers, Statistical Modelling
2007; as a prior: Efron, Biometrika 2016). With D the matrix of differences, W = diag(N / (A f)), J = diag(f) − f fᵀ,

    log-posterior(η) = Σ_y n_y log (A f)_y − λ/2 |D η|²,     M = J Aᵀ W A J + λ Dᵀ D

M is the expected negative Hessian, which Fisher scoring uses. With little information, shares may change much, and the
likelihood forms a curved ridge in η that is straight in the shares. A step follows the ridge to the second order
(geodesic acceleration: Transtrum and Sethna, arXiv:1201.5885). M is recomputed only when steps with the last one become
slow. Then log P(n | λ) ≈ log-posterior(η̂) + ½ log |λ DᵀD|₊ − ½ log |M| (Laplace).

The roughness ρ replaces λ: the root mean square of η's distance from a constant or a line under the prior. It has the
same meaning for any number of intervals and each order. Its prior is exponential (the prior of a standard deviation by
Simpson et al., Statistical Science 2017). Without a prior, few reports with much noise would favour an even
distribution, and the Laplace approximation would give weight to extreme shapes. The estimate is the mean over orders
and a grid of ρ, weighted by P(ρ) P(n | ρ). Second differences suit curves; first differences suit edges and peaks.

Covariances are those of the posterior, linear in f, including the spread over ρ. On average over the intervals they
include the bias of smoothing (Nychka, JASA 1988), if the log-density has about the same roughness everywhere. Maximum
likelihood alone has no such error estimate: deconvolution is ill-posed, and its sampling error ignores what the noise
has removed.

Two columns are smoothed along each of them with one ρ. Named values and missing ones are not smoothed.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotri, dpotrs

from assocpriv.estimation.matrices import cholesky

Floats = NDArray[np.float64]

_ROUGHNESS = 0.1 * np.sqrt(10.0) ** np.arange(9)  # grid of ρ, from smooth to rough
_MIDDLE = 3  # position in the grid where the search begins: ρ = 3
# mean of the prior; tuned on triangles, normal peaks, steps, spikes and an exponential distribution under square waves,
# where errors differ by 2% between 2 and 8
_MEAN_ROUGHNESS = 5.0
# orders of differences. Third ones, or more weight for second ones, fit peaks better by 5% and more, but behind
# Gaussian noise the bands of a plateau then cover in half of all cases
_ORDERS = (2, 1)
_NEGLIGIBLE = 8.0  # a log-evidence this far below the best has no weight
_RIDGE = 1e-3  # precision of the directions without a penalty: level, slope, missing values
_LEAST = 1e-300
# Search for the maximum, tuned on Gaussian noise of 100% and a square wave of ε 0.64, 5000 and 10⁷ reports of a curve,
# a plateau, spikes and an exponential distribution
_MOST_STEPS, _FIRST_STEPS = 50, 20  # of Newton; of EM before the first of them
_ENOUGH = 1e-3  # steps end when the next would raise the log-posterior by less
_NEAR = 1e3  # when a step gains less, the log-posterior is nearly quadratic
_SLOW = 0.3  # a step with an old matrix that gains more than this part of the previous gain calls for a new matrix
_UNCERTAIN = 30.0  # while a step gains more, the evidence cannot be predicted


@dataclass(frozen=True, eq=False, slots=True)
class Posterior:
    """Mean, float64 (inputs of the first column, inputs of the second), and covariance of the flattened mean."""

    shares: Floats
    covariance: Floats


@dataclass(frozen=True, eq=False, slots=True)
class _Point:
    """η with its log-posterior, the shares, and P(pair of bins) in the shape of the counts."""

    eta: Floats
    value: float
    shares: Floats
    probabilities: Floats


@dataclass(frozen=True, eq=False, slots=True)
class _Fit:
    """The fit for one λ: its log-evidence, η̂, the information of the data there, and L with M = L Lᵀ."""

    evidence: float
    point: _Point
    information: Floats
    factor: Floats


_Start = tuple[int, Floats, Floats]  # position in the grid of ρ, η, information there


def smooth_shares(
    counts: Floats, first: Floats, second: Floats | None = None, ordered: tuple[int, int] = (0, 0)
) -> Posterior:
    """Return the smooth estimate of the joint shares of two columns, or of one.

    Args:
        counts: Counts of pairs of bins, float64 (bins of the first, bins of the second).
        first, second: P(bin | input) of each column; by default the second is constant.
        ordered: Number of inputs of each column that are consecutive intervals.
    """
    problem = _Problem(counts, first, np.ones((1, 1)) if second is None else second)
    shares = problem.first_shares()
    start: _Start = _MIDDLE, np.log(shares), problem.information(shares, problem.expected(shares))
    fits: list[_Fit] = []
    for order in _ORDERS:
        penalty = _Penalty.from_order(problem.shape, ordered, order)
        if penalty.matrix.any() or not fits:
            start = _maximize_evidence(problem, penalty, start, fits)
    return _average_fits(fits, problem.shape)


def _maximize_evidence(problem: "_Problem", penalty: "_Penalty", start: _Start, fits: list[_Fit]) -> _Start:
    """Add the fits for each ρ, from the start upwards and then downwards, until their evidence is negligible.

    Return the best position, where the search for other orders may start.
    """
    found: list[tuple[float, _Start]] = []
    some = bool(penalty.matrix.any())
    for direction in (1, -1) if some else (1,):
        at, eta, information = start if direction == 1 else (start[0] - 1, *found[0][1][1:])
        before = -np.inf if direction == 1 else found[0][0]
        while 0 <= at < len(_ROUGHNESS):
            best = max((fit.evidence for fit in fits), default=-np.inf)
            fit = problem.fit(eta, information, penalty, float(_ROUGHNESS[at]), best)
            eta, information = fit.point.eta, fit.information
            fits.append(fit)
            found.append((fit.evidence, (at, eta, information)))
            if not some or fit.evidence < min(best - _NEGLIGIBLE, before):
                break
            at, before = at + direction, fit.evidence
    return max(found, key=lambda each: each[0])[1]


def _average_fits(fits: list[_Fit], shape: tuple[int, int]) -> Posterior:
    """Return the mixture over order and ρ: mean of the means, mean of the covariances plus spread of the means."""
    best = max(fit.evidence for fit in fits)
    found = [fit for fit in fits if fit.evidence > best - _NEGLIGIBLE]
    weights = np.exp([fit.evidence - best for fit in found])
    weights /= weights.sum()
    means = np.array([fit.point.shares for fit in found])
    mean = weights @ means
    covariance: Floats = (means - mean).T @ ((means - mean) * weights[:, None])
    for weight, fit in zip(weights, found, strict=True):
        covariance += weight * _covariance(fit.point.shares, _inverse(fit.factor))
    return Posterior(mean.reshape(shape), covariance)


class _Problem:
    """Counts observed through two channels."""

    def __init__(self, counts: Floats, first: Floats, second: Floats) -> None:
        self.counts, self.first, self.second, self.n = counts, first, second, float(counts.sum())
        self.shape = first.shape[1], second.shape[1]
        self.squares = [] if second.size == 1 else [_outer_squares(each) for each in (first, second)]

    def forward(self, values: Floats) -> Floats:
        """Return A times values of the inputs, in the shape of the counts."""
        through: Floats = self.first @ values.reshape(self.shape)
        if self.squares:
            through = through @ self.second.T
        return through

    def back(self, bins: Floats) -> Floats:
        """Return Aᵀ times values of the pairs of bins, (inputs,)."""
        through: Floats = self.first.T @ bins
        if self.squares:
            through = through @ self.second
        return through.ravel()

    def expected(self, shares: Floats) -> Floats:
        """Return P(pair of bins), in the shape of the counts."""
        probabilities = self.forward(shares)
        return np.maximum(probabilities, _LEAST, out=probabilities)

    def first_shares(self) -> Floats:
        """Return initial shares: even ones after some steps of EM, none of them near 0."""
        n = self.shape[0] * self.shape[1]
        shares = np.full(n, 1 / n)
        for _ in range(_FIRST_STEPS):
            shares = shares * self.back(self.counts / self.expected(shares)) / self.n
        some = np.maximum(shares, 1e-4 / n)
        return np.asarray(some / some.sum())

    def point(self, eta: Floats, precision: Floats) -> _Point:
        """Return η with its log-posterior, shares and probabilities."""
        shares = np.exp(eta - eta.max())
        shares /= shares.sum()
        probabilities = self.expected(shares)
        likelihood = float(np.vdot(self.counts, np.log(probabilities)))
        return _Point(eta, likelihood - float(eta @ precision @ eta) / 2, shares, probabilities)

    def information(self, shares: Floats, probabilities: Floats) -> Floats:
        """Return J Aᵀ W A J; as the columns of A add up to 1, Aᵀ W A f = N."""
        weights = self.n / probabilities
        if not self.squares:
            rooted = self.first * np.sqrt(weights)
            inner: Floats = rooted.T @ rooted
        else:
            m, n = self.shape
            crossed = self.squares[0].T @ weights @ self.squares[1]
            inner = crossed.reshape(m, m, n, n).transpose(0, 2, 1, 3).reshape(m * n, m * n)
        inner -= self.n
        inner *= shares
        inner *= shares[:, None]
        return inner

    def gradient(self, at: _Point) -> Floats:
        """Return the gradient of the log-likelihood in η."""
        return at.shares * (self.back(self.counts / at.probabilities) - self.n)

    def curvature(self, at: _Point, step: Floats) -> Floats:
        """Return J Aᵀ W A f″, where f″ is the second derivative of the shares along a step of η."""
        apart = step - at.shares @ step
        second = at.shares * (apart**2 - at.shares @ apart**2)
        weighted = at.shares * self.back(self.forward(second) * (self.n / at.probabilities))
        return np.asarray(weighted - at.shares * weighted.sum())

    def fit(self, eta: Floats, information: Floats | None, penalty: "_Penalty", rho: float, best: float) -> _Fit:
        """Return the fit for ρ.

        The search begins at η, with its information. It ends early if the evidence is far below the ``best``.
        """
        precision = penalty.matrix / rho**2 + _RIDGE * np.eye(len(eta))
        prior = float(np.log(penalty.values / rho**2 + _RIDGE).sum() / 2 + np.log(rho) - rho / _MEAN_ROUGHNESS)
        at, factor, before = self.point(eta, precision), None, 0.0
        for _ in range(_MOST_STEPS):
            gradient = self.gradient(at) - precision @ at.eta
            step = gradient if factor is None else _solve(factor, gradient)
            if factor is None or gradient @ step > _SLOW * before:
                if information is None:
                    information = self.information(at.shares, at.probabilities)
                factor = cholesky(information + precision)
                step = _solve(factor, gradient)
            gain = float(gradient @ step)
            if gain < _enough(best - (at.value + gain + prior - _half_logdet(factor))):
                break
            turn = _solve(factor, self.curvature(at, step)) / -2 if gain < _NEAR else 0.0 * step
            (at, length), information = self._search(at, (step, turn), gain, precision), None
            before = gain if length == 1 else 0.0
        if factor is None or information is None:
            information = self.information(at.shares, at.probabilities)
            factor = cholesky(information + precision)
        return _Fit(at.value + gain / 2 + prior - _half_logdet(factor), at, information, factor)

    def _search(self, at: _Point, path: tuple[Floats, Floats], gain: float, precision: Floats) -> tuple[_Point, float]:
        """Halve a step, and its turn by the square, until it gains enough (Armijo's condition)."""
        (step, turn), length = path, 1.0
        most = 2 * float(np.linalg.norm(step)) / max(float(np.linalg.norm(turn)), _LEAST)
        while True:
            tried = self.point(at.eta + length * step + length * min(length, most) * turn, precision)
            if tried.value >= at.value + 1e-4 * length * gain or length < 1e-6:
                return tried, length
            length /= 2


def _enough(behind: float) -> float:
    """Return the least gain for another step, where the log-evidence will be ``behind`` the best."""
    return _UNCERTAIN if behind > _NEGLIGIBLE + 2 else _ENOUGH


def _half_logdet(factor: Floats) -> float:
    """Return ½ log |L Lᵀ|."""
    return float(np.log(factor.diagonal()).sum())


def _solve(factor: Floats, vector: Floats) -> Floats:
    """Return (L Lᵀ)⁻¹ v."""
    found: Floats = dpotrs(factor.T, vector)[0]  # transposed: LAPACK reads columns
    return found


def _inverse(factor: Floats) -> Floats:
    """Return (L Lᵀ)⁻¹."""
    upper: Floats = dpotri(factor.T)[0]
    return upper + upper.T - np.diag(upper.diagonal())


def _outer_squares(matrix: Floats) -> Floats:
    """Return A[y, i]·A[y, j], float64 (bins, inputs²)."""
    return np.asarray(matrix[:, :, None] * matrix[:, None, :]).reshape(len(matrix), -1)


@dataclass(frozen=True, eq=False, slots=True)
class _Penalty:
    """Penalty matrix in the unit in which λ = 1/ρ², (inputs, inputs), and its eigenvalues."""

    matrix: Floats
    values: Floats

    @classmethod
    def from_order(cls, shape: tuple[int, int], ordered: tuple[int, int], order: int) -> "_Penalty":
        """Return the penalty of differences of an order along each of two columns."""
        (one, ones), (other, others) = (_differences(n, row, order) for n, row in zip(shape, ordered, strict=True))
        matrix = np.kron(one, np.eye(len(other))) + np.kron(np.eye(len(one)), other)
        return cls(matrix, np.add.outer(ones, others).ravel())


@lru_cache(maxsize=16)  # columns often have the same shape
def _differences(n: int, ordered: int, order: int) -> tuple[Floats, Floats]:
    """Return DᵀD for the first inputs, 0 for the others, in the unit in which λ = 1/ρ², and its eigenvalues."""
    full, values = np.zeros((n, n)), np.zeros(n)
    if ordered > order:
        differences = np.diff(np.eye(ordered), order, axis=0)
        product = differences.T @ differences
        eigenvalues = np.linalg.eigvalsh(product)[order:]
        unit = (1 / eigenvalues).sum() / ordered
        full[:ordered, :ordered], values[: len(eigenvalues)] = unit * product, unit * eigenvalues
    return full, values


def _covariance(shares: Floats, inverse: Floats) -> Floats:
    """Return J V J for a covariance V of η."""
    across = inverse @ shares
    inner = inverse - across[:, None] - across[None, :] + float(shares @ across)
    return np.outer(shares, shares) * inner
