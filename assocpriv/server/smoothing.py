"""A smooth distribution seen through a channel: penalized likelihood, its smoothness chosen by the data.

Shares are f = softmax(η). The log-density η of intervals in a row has a Gaussian prior under which its first or its
second differences are independent with variance 1/λ (penalized B-splines of degree 0: Eilers, Statistical Modelling
2007; as a prior: Efron, Biometrika 2016). With D the matrix of differences, W = diag(N / (A f)), J = diag(f) − f fᵀ,

    log-posterior(η) = Σ_y n_y log (A f)_y − λ/2 |D η|²,     M = J Aᵀ W A J + λ Dᵀ D

M is its negative Hessian in expectation, by which it is maximized (Fisher scoring). Where the data say little, shares
may change much, and the likelihood falls off on both sides of a valley that is straight in the shares, but not in η: a
step follows its turn to the second order (geodesic acceleration: Transtrum and Sethna, arXiv:1201.5885). M is
computed anew only where steps by the last one get slow. Then log P(n | λ) ≈ log-posterior(η̂)
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
from scipy.linalg.lapack import dpotri, dpotrs

from assocpriv.server.matrices import root

Floats = NDArray[np.float64]

_ROUGHNESS = 0.1 * np.sqrt(10.0) ** np.arange(9)  # grid of ρ, from smooth to rough
_MIDDLE = 3  # of the grid, where the search begins: ρ = 3
# by the prior; tuned on triangles, normal peaks, steps, spikes and an exponential law under square waves, where errors
# differ by 2% between 2 and 8
_MEAN_ROUGHNESS = 5.0
_ORDERS = (2, 1)  # of differences. Third ones, or more weight for second ones, come nearer to peaks by 5% and more, but
# behind Gaussian noise the bands of a plateau then cover in half of all cases
_HOPELESS = 8.0  # a log-evidence so far below the best has no weight
_RIDGE = 1e-3  # precision of the directions without a penalty: level, slope, missing values
_LEAST = 1e-300
# Of the search for a maximum, tuned on Gaussian noise of 100% and a square wave of ε 0.64, 5000 and 10⁷ reports of a
# curve, a plateau, spikes and an exponential law
_MOST_STEPS, _FIRST_STEPS = 50, 20  # of Newton; of EM, before the first of them
_ENOUGH = 1e-3  # of the log-posterior: steps end when the next would gain less
_NEAR = 1e3  # the next step gains less: the log-posterior is nearly a paraboloid
_SLOW = 0.3  # of the gain of the step before; a step by its matrix that gains more calls for a new matrix
_UNSURE = 30.0  # a step gains more: what the evidence will be cannot be told yet


@dataclass(frozen=True, eq=False, slots=True)
class Posterior:
    """Mean, float64 (inputs of the first column, inputs of the second), and covariance of all of them in a row."""

    shares: Floats
    covariance: Floats


@dataclass(frozen=True, eq=False, slots=True)
class _Point:
    """η with its log-posterior, the shares, and P(pair of bins) like the counts."""

    eta: Floats
    value: float
    shares: Floats
    chances: Floats


@dataclass(frozen=True, eq=False, slots=True)
class _Fit:
    """What one λ gives: its log-evidence, η̂, the information of the data there, and L with M = L Lᵀ."""

    evidence: float
    point: _Point
    information: Floats
    factor: Floats


_Start = tuple[int, Floats, Floats]  # place on the grid of ρ, η, information there


def smooth_shares(
    counts: Floats, first: Floats, second: Floats | None = None, ordered: tuple[int, int] = (0, 0)
) -> Posterior:
    """Return the smooth estimate of the joint shares of two columns, or of one.

    Args:
        counts: of the pairs of bins, float64 (bins of the first, bins of the second).
        first: P(bin | input) of the first column; ``second`` of the second, by default one that is always the same.
        ordered: how many inputs of each are intervals in a row.
    """
    other = np.ones((1, 1)) if second is None else second
    problem = _Problem(counts, first, other)
    shares = problem.first_shares()
    start: _Start = _MIDDLE, np.log(shares), problem.information(shares, problem.expected(shares))
    fits: list[_Fit] = []
    for order in _ORDERS:
        penalty = _Penalty.of(problem.shape, ordered, order)
        if penalty.matrix.any() or not fits:
            start = _climb(problem, penalty, start, fits)
    return _averaged(fits, problem.shape)


def _climb(problem: "_Problem", penalty: "_Penalty", start: _Start, fits: list[_Fit]) -> _Start:
    """Add what each ρ gives, from the start upwards and then downwards, until the evidence falls and is hopeless.

    Return the best place, from which other orders may start.
    """
    found: list[tuple[float, _Start]] = []
    some = bool(penalty.matrix.any())
    for way in (1, -1) if some else (1,):
        at, eta, information = start if way == 1 else (start[0] - 1, *found[0][1][1:])
        before = -np.inf if way == 1 else found[0][0]
        while 0 <= at < len(_ROUGHNESS):
            best = max((fit.evidence for fit in fits), default=-np.inf)
            fit = problem.fit(eta, information, penalty, float(_ROUGHNESS[at]), best)
            eta, information = fit.point.eta, fit.information
            fits.append(fit)
            found.append((fit.evidence, (at, eta, information)))
            if not some or fit.evidence < min(best - _HOPELESS, before):
                break
            at, before = at + way, fit.evidence
    return max(found, key=lambda each: each[0])[1]


def _averaged(fits: list[_Fit], shape: tuple[int, int]) -> Posterior:
    """Return the mixture over order and ρ: mean of the means, mean of the covariances and spread of the means."""
    best = max(fit.evidence for fit in fits)
    found = [fit for fit in fits if fit.evidence > best - _HOPELESS]
    weights = np.exp([fit.evidence - best for fit in found])
    weights /= weights.sum()
    means = np.array([fit.point.shares for fit in found])
    mean = weights @ means
    covariance: Floats = (means - mean).T @ ((means - mean) * weights[:, None])
    for weight, fit in zip(weights, found, strict=True):
        covariance += weight * _covariance(fit.point.shares, _inverse(fit.factor))
    return Posterior(mean.reshape(shape), covariance)


class _Problem:
    """Counts seen through two channels."""

    def __init__(self, counts: Floats, first: Floats, second: Floats) -> None:
        self.counts, self.first, self.second, self.n = counts, first, second, float(counts.sum())
        self.shape = first.shape[1], second.shape[1]
        self.squares = [] if second.size == 1 else [_outer_squares(each) for each in (first, second)]

    def seen(self, values: Floats) -> Floats:
        """Return A of values of the inputs, like the counts."""
        through: Floats = self.first @ values.reshape(self.shape)
        if self.squares:
            through = through @ self.second.T
        return through

    def back(self, bins: Floats) -> Floats:
        """Return Aᵀ of values of the pairs of bins, (inputs,)."""
        through: Floats = self.first.T @ bins
        if self.squares:
            through = through @ self.second
        values: Floats = through.ravel()
        return values

    def expected(self, shares: Floats) -> Floats:
        """Return P(pair of bins), like the counts."""
        chances = self.seen(shares)
        return np.maximum(chances, _LEAST, out=chances)

    def first_shares(self) -> Floats:
        """Return shares to begin with: even ones after some steps of EM, none of them near 0."""
        n = self.shape[0] * self.shape[1]
        shares = np.full(n, 1 / n)
        for _ in range(_FIRST_STEPS):
            shares = shares * self.back(self.counts / self.expected(shares)) / self.n
        some = np.maximum(shares, 1e-4 / n)
        whole: Floats = some / some.sum()
        return whole

    def point(self, eta: Floats, precision: Floats) -> _Point:
        """Return what there is to know at η."""
        shares = np.exp(eta - eta.max())
        shares /= shares.sum()
        chances = self.expected(shares)
        likelihood = float(np.vdot(self.counts, np.log(chances)))
        return _Point(eta, likelihood - float(eta @ precision @ eta) / 2, shares, chances)

    def information(self, shares: Floats, chances: Floats) -> Floats:
        """Return J Aᵀ W A J; as the columns of A add up to 1, Aᵀ W A f = N."""
        weights = self.n / chances
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
        """Return the derivative of the log-likelihood by η."""
        return at.shares * (self.back(self.counts / at.chances) - self.n)

    def bend(self, at: _Point, step: Floats) -> Floats:
        """Return J Aᵀ W A f″, f″ being the second derivative of the shares along a step of η."""
        apart = step - at.shares @ step
        second = at.shares * (apart**2 - at.shares @ apart**2)
        pulled = at.shares * self.back(self.seen(second) * (self.n / at.chances))
        bent: Floats = pulled - at.shares * pulled.sum()
        return bent

    def fit(self, eta: Floats, information: Floats | None, penalty: "_Penalty", rho: float, best: float) -> _Fit:
        """Return what ρ gives.

        The search begins at η, whose information is known. It ends early where the evidence is far below the ``best``.
        """
        precision = penalty.matrix / rho**2 + _RIDGE * np.eye(len(eta))
        prior = float(np.log(penalty.values / rho**2 + _RIDGE).sum() / 2 + np.log(rho) - rho / _MEAN_ROUGHNESS)
        at, factor, before = self.point(eta, precision), None, 0.0
        for _ in range(_MOST_STEPS):
            gradient = self.gradient(at) - precision @ at.eta
            step = gradient if factor is None else _solve(factor, gradient)
            if factor is None or gradient @ step > _SLOW * before:
                if information is None:
                    information = self.information(at.shares, at.chances)
                factor = root(information + precision)
                step = _solve(factor, gradient)
            gain = float(gradient @ step)
            if gain < _enough(best - (at.value + gain + prior - _half_logdet(factor))):
                break
            turn = _solve(factor, self.bend(at, step)) / -2 if gain < _NEAR else 0.0 * step
            (at, length), information = self._search(at, (step, turn), gain, precision), None
            before = gain if length == 1 else 0.0
        if factor is None or information is None:
            information = self.information(at.shares, at.chances)
            factor = root(information + precision)
        return _Fit(at.value + gain / 2 + prior - _half_logdet(factor), at, information, factor)

    def _search(self, at: _Point, way: tuple[Floats, Floats], gain: float, precision: Floats) -> tuple[_Point, float]:
        """Halve a step, and its turn with the square, until it gains what its slope promises."""
        (step, turn), length = way, 1.0
        most = 2 * float(np.linalg.norm(step)) / max(float(np.linalg.norm(turn)), _LEAST)
        while True:
            tried = self.point(at.eta + length * step + length * min(length, most) * turn, precision)
            if tried.value >= at.value + 1e-4 * length * gain or length < 1e-6:
                return tried, length
            length /= 2


def _enough(behind: float) -> float:
    """Return the least gain that is worth another step where the log-evidence will be so far behind the best."""
    return _UNSURE if behind > _HOPELESS + 2 else _ENOUGH


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
    inverse: Floats = upper + upper.T - np.diag(upper.diagonal())
    return inverse


def _outer_squares(matrix: Floats) -> Floats:
    """Return A[y, i]·A[y, j], float64 (bins, inputs²)."""
    return np.asarray(matrix[:, :, None] * matrix[:, None, :]).reshape(len(matrix), -1)


@dataclass(frozen=True, eq=False, slots=True)
class _Penalty:
    """Matrix in the unit in which λ = 1/ρ², (inputs, inputs), and its eigenvalues."""

    matrix: Floats
    values: Floats

    @classmethod
    def of(cls, shape: tuple[int, int], ordered: tuple[int, int], order: int) -> "_Penalty":
        """Return that of so many differences along each of two columns."""
        (one, ones), (other, others) = (_differences(n, row, order) for n, row in zip(shape, ordered, strict=True))
        return cls(
            np.kron(one, np.eye(len(other))) + np.kron(np.eye(len(one)), other), np.add.outer(ones, others).ravel()
        )


@lru_cache(maxsize=16)  # columns are mostly alike
def _differences(n: int, ordered: int, order: int) -> tuple[Floats, Floats]:
    """Return DᵀD of the first inputs, zero for the others, in the unit in which λ = 1/ρ², and its eigenvalues."""
    full, values = np.zeros((n, n)), np.zeros(n)
    if ordered > order:
        differences = np.diff(np.eye(ordered), order, axis=0)
        bent = differences.T @ differences
        curved = np.linalg.eigvalsh(bent)[order:]
        unit = (1 / curved).sum() / ordered
        full[:ordered, :ordered], values[: len(curved)] = unit * bent, unit * curved
    return full, values


def _covariance(shares: Floats, inverse: Floats) -> Floats:
    """Return J V J for a covariance V of η."""
    across = inverse @ shares
    inner = inverse - across[:, None] - across[None, :] + float(shares @ across)
    covariance: Floats = np.outer(shares, shares) * inner
    return covariance
