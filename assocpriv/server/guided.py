"""Guided perturbation at the miner: from released tuples to the guidance that asks for the next ones.

The miner keeps no tuple, but what is known of each class's shares of values. Guidance is published again once per batch
of tuples, so that nobody can take a single person's tuple out of the difference of two.

**Reading.** With u the tuple of uniform shares (1/s of each value of an attribute of s), t = u + d, and P = V Vᵀ,
E[R_j] = (t P_j)². Over people whose attributes are independent that is, for small d,

    E[R_j] = f_j + Σ_v J_jv E[d_v],   f_j = b_j² + Σ_v D_jv²/s_v,   J_jv = 2 b_j D_jv + D_jv² − its attribute's mean,

b_j = u P_j, D_jv = P_jv less its attribute's mean. So what comes back is linear in E[d], the shares less the uniform
ones, as long as b is not 0: V holds c, the direction of u, which is the same for everybody and tells nothing. (Without
it E[R_j] is a square, and shows only what was asked for.) With S the covariance of R at uniform shares, W = Jᵀ S⁻¹,
each class adds n·W J to its precision and W·Σ(r − f) to its weighted sum, and their quotient estimates E[d]. A prior
precision of 4 stands for nobody. What a promise mixes in is taken out of r first: r = (r' − q·x)/(1 − q), x = ½ of
coins, f of tuples.

**Exploring.** The directions after c are those in which the classes' shares differ, of shares *drawn* from what is
known (Thompson sampling): as long as little is known they are nearly random, later they are where classes do differ.
More than two classes differ in the singular vectors of their shares around their mean; a level with room for some of
these asks for others each time, drawn by how much the classes differ there. One direction alone is (c ± v)/√2, with the
sign changing from guidance to guidance, so that what is quadratic in d cancels.

**A start of known tuples** adds to what is known, and shows in which pairs of values the classes differ, which
released tuples do not: further directions are eigenvectors of the differences of the classes' covariances.

**What a level is worth** is the accuracy of naive Bayes once as many people again have answered: shares are drawn from
what is known, and a classifier from what would be; people's scores under both are nearly normal. Their variance is that
of independent attributes, times by how much released tuples show it to be larger in the directions that tell classes
apart. Other dependence is not seen, and makes the estimate too high.

**Classifiers** of scikit-learn's are fitted on released tuples, and need no knowledge of the plan: every estimator
takes X and y as they are. Naive Bayes uses shares alone, and so what is known of them.

**At rest** the state is one JSON object with a digest of itself, replaced whole (docs/formats.md#a-miners-state).

Source: Zhang, Wang, Zhao, A New Scheme on Privacy-Preserving Data Classification, KDD 2005, section 4.1; of
classifiers sections 3 and 6. Thompson, Biometrika 25, 1933. Reading and exploring are our own.
"""

import hashlib
import io
import json
import logging
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.atomic import atomic_output, check_writable
from assocpriv.files.plans import write_guidance
from assocpriv.files.reports import MESSAGE_ENDING, Reports, read_messages, read_reports
from assocpriv.plans.guidance import UNIT, Guidance, coin_of, mixing, ratio_of, weight_bounds
from assocpriv.plans.guided import GuidedPlan, TupleMix
from assocpriv.promise.errors import EstimateError, FileError, GuidanceError, PlanError, WireError, counted

if TYPE_CHECKING:
    import pandas as pd

    from assocpriv.server.spark import SparkReports

Floats = NDArray[np.float64]


RECENT = 128  # guidances that may still be answered: 2,560 tuples at the usual batch
_PRIOR = 4.0  # precision of a share around the uniform one
_LEVELS = (1, 2, 3, 4, 6, 8)  # whose worth is told
_DRAWS, _SCORES = 20, 500
_JITTER = 1e-6  # of a variance: attributes asked for whole have bits that sum to one
_LEAST_SHARE = 1e-3
_AT_ONCE = 1 << 16
_LOG = logging.getLogger("assocpriv")  # told what is left out; the command line shows it
CLASSIFIERS = ("naive-bayes", "tree", "logistic")


# ---- sums


def class_sums(
    classes: NDArray[np.integer], bits: NDArray[np.uint8], n_classes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of tuples of every class, int64 (classes,), and their sums of r'r, int64 (classes, w, w)."""
    counts = np.bincount(classes, minlength=n_classes).astype(np.int64)
    sums = np.zeros((n_classes, bits.shape[1], bits.shape[1]), dtype=np.int64)
    for place in np.flatnonzero(counts):
        rows = bits[classes == place].astype(np.float64)  # sums of bits are exact in floats, and faster there
        sums[place] = (rows.T @ rows).astype(np.int64)
    return counts, sums


@dataclass(frozen=True, eq=False, slots=True)
class Reading:
    """What answers to one guidance tell of shares.

    Attributes:
        expected: f, the expected bits at uniform shares, float64 (w,).
        slopes: J, float64 (w, w).
        weights: W, float64 (w, w).
        mixed: q, the share of chance in a report.
        of_chance: x, the expected bits of chance, float64 (w,).
    """

    expected: Floats
    slopes: Floats
    weights: Floats
    mixed: float
    of_chance: Floats

    @property
    def precision(self) -> Floats:
        """What one tuple adds to the precision of its class's shares, float64 (w, w)."""
        product: Floats = self.weights @ self.slopes
        return (product + product.T) / 2  # as it is at rest, to the last digit

    def weighted(self, count: int, ones: NDArray[np.integer]) -> Floats:
        """Return what so many tuples, of which so many have each bit, int64 (w,), add to the weighted sum."""
        released = (ones - count * self.mixed * self.of_chance) / (1 - self.mixed)
        told: Floats = self.weights @ (released - count * self.expected)
        return told


def reading_of(guidance: Guidance, plan: GuidedPlan) -> Reading:
    """Return how answers to guidance are read; see the module's text."""
    of = plan.attribute_of
    sizes = np.array(plan.sizes)[of]
    projection = guidance.projection / float(UNIT**2)
    means = _attribute_means(projection, plan)
    apart = projection - means
    base = (means / sizes).sum(axis=1)
    squares = apart**2
    expected = base**2 + (squares / sizes).sum(axis=1)
    slopes = 2 * base[:, None] * apart + squares - _attribute_means(squares, plan)
    share = float(mixing(plan, guidance))
    of_chance = np.full(plan.width, 0.5) if plan.keep == "bits" else expected
    if share == 1:  # nothing but coins: they say nothing of anybody
        return Reading(expected, slopes, np.zeros_like(slopes), 0.0, of_chance)
    rates = np.clip((1 - share) * expected + share * of_chance, 0, 1)
    covariance = (slopes / sizes) @ slopes.T
    noise = np.maximum(rates * (1 - rates) / (1 - share) ** 2, np.diagonal(covariance))
    np.fill_diagonal(covariance, noise + _JITTER)
    return Reading(expected, slopes, np.linalg.solve(covariance, slopes).T, share, of_chance)


def _attribute_means(rows: Floats, plan: GuidedPlan) -> Floats:
    """Return each entry's mean over the values of its attribute, along the last axis."""
    means: Floats = np.add.reduceat(rows, plan.offsets, axis=-1) / np.array(plan.sizes)
    return means[..., plan.attribute_of]


def _independent(shares: Floats, plan: GuidedPlan) -> Floats:
    """Return the covariance of tuples of independent attributes with these shares, float64 (w,), as (w, w)."""
    same = plan.attribute_of[:, None] == plan.attribute_of
    covariance: Floats = np.diag(shares) - np.where(same, np.outer(shares, shares), 0.0)
    return covariance


# ---- state


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class MinerState:
    """All that the miner knows.

    Attributes:
        plan: the published plan.
        seed: of the draws that guidance is made of.
        started: tuples of each class known at the start, int64 (classes,).
        start_sums: of t't over these, int64 (classes, w, w).
        received: tuples of each class that were collected since, int64 (classes,).
        precision: of each class's shares, without the prior, float64 (classes, w, w).
        weighted: the precision times the shares less the uniform ones, as they were read, float64 (classes, w).
        spread: variance in the directions that tell classes apart, as released tuples show it, and of independent
            attributes, float64 (2,), summed over tuples.
        guidances: the last published ones, the current one last.
        published_at: how many tuples had been received when that was made.
        collected: SHA-256 of each file collected.

    Source: ZWZ05, section 4.1.

    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> table = pd.DataFrame({"smokes": ["no", "yes"] * 10, "ill": ["no", "yes"] * 10})
    >>> state = ap.guided.start(table, "ill", promise=ap.Breach("5%", "50%"), known=True)
    >>> state.started.tolist(), state.tuples, state.guidance, state.is_due
    ([10, 10], 0, None, True)
    """

    plan: GuidedPlan
    seed: int
    started: NDArray[np.int64]
    start_sums: NDArray[np.int64]
    received: NDArray[np.int64]
    precision: Floats
    weighted: Floats
    spread: Floats
    guidances: tuple[Guidance, ...] = ()
    published_at: int = 0
    collected: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"MinerState(of {self.plan.plan_id[:12]}, {self.tuples:,} tuples, {len(self.guidances)} guidances kept)"

    @property
    def tuples(self) -> int:
        """How many tuples were received."""
        return int(self.received.sum())

    @property
    def guidance(self) -> Guidance | None:
        """The current guidance; None before the first one is published."""
        return self.guidances[-1] if self.guidances else None

    @property
    def is_due(self) -> bool:
        """Whether a batch has come in since guidance was published, or there is none yet."""
        return not self.guidances or self.tuples - self.published_at >= self.plan.batch

    @property
    def ratio(self) -> Fraction | None:
        """What bounds γ of a report under the current guidance; None where nothing does, or there is no guidance.

        Without a promise nothing does wherever a bit is never released as 1, or always, for some tuples alone.
        """
        if self.guidance is None or isinstance(self.plan.safeguard, TupleMix):
            return self.plan.amplification
        low, high = weight_bounds(self.guidance, self.plan)
        return ratio_of(low, high, coin_of(self.guidance, self.plan))

    @property
    def uniform(self) -> Floats:
        """Uniform shares, float64 (w,)."""
        return 1 / np.array(self.plan.sizes)[self.plan.attribute_of]

    @property
    def shares(self) -> Floats:
        """Each class's estimated shares of values, float64 (classes, w); of so few tuples some may be below 0."""
        known = np.linalg.solve(self._posterior, self.weighted[:, :, None])[:, :, 0]
        return self.uniform + known

    @property
    def _posterior(self) -> Floats:
        return self.precision + _PRIOR * np.eye(self.plan.width)

    def deviations(self, rng: np.random.Generator, more: Floats | float = 0.0) -> Floats:
        """Draw errors of the shares, float64 (classes, w), as large as they are with so much more precision."""
        lower = np.linalg.cholesky(self._posterior + more)
        drawn = rng.standard_normal((len(lower), self.plan.width, 1))
        errors = np.linalg.solve(np.swapaxes(lower, 1, 2), drawn)[:, :, 0].astype(np.float64)
        return errors - _attribute_means(errors, self.plan)


def start(
    plan: GuidedPlan, classes: NDArray[np.integer], bits: NDArray[np.uint8], seed: int | None = None
) -> MinerState:
    """Begin with known tuples in the plan's form, uint8 (n, w), of the classes at positions (n,).

    Raises:
        EstimateError: fewer tuples of a class than the plan has attributes.
    """
    counts, sums = class_sums(classes, bits, len(plan.labels))
    few = [place for place, count in enumerate(counts) if count < len(plan.attributes)]
    if few:
        raise EstimateError(
            f"class {plan.labels[few[0]]} has {counted(int(counts[few[0]]), 'tuple')} to start with, but needs "
            f"{len(plan.attributes)}, one for each attribute; give more, or start from nobody"
        )
    state = explore(plan, seed)
    sizes = np.array(plan.sizes)[plan.attribute_of]
    one = np.eye(plan.width) * sizes
    ones = np.diagonal(sums, axis1=1, axis2=2)
    return replace(
        state,
        started=counts,
        start_sums=sums,
        precision=counts[:, None, None] * (one - _attribute_means(one, plan)),
        weighted=(sizes * ones - counts[:, None]).astype(np.float64),
    )


def explore(plan: GuidedPlan, seed: int | None = None) -> MinerState:
    """Begin with nobody. ``seed`` makes the guidance repeatable."""
    n, w = len(plan.labels), plan.width
    drawn = int(np.random.default_rng(seed).integers(1 << 53))
    nobody = np.zeros(n, dtype=np.int64)
    return MinerState(
        plan, drawn, nobody, np.zeros((n, w, w), dtype=np.int64), nobody, np.zeros((n, w, w)), np.zeros((n, w)),
        np.zeros(2),
    )  # fmt: skip


# ---- directions


def differences(state: MinerState, shares: Floats) -> tuple[Floats, Floats]:
    """Return in which directions classes differ, the columns of float64 (w, m), and how much, float64 (m,), falling.

    They are classes − 1 for the shares given, float64 (classes, w), and w more if there are known tuples.
    """
    counts = state.started + state.received + 1
    weights = (counts / counts.sum())[:, None]
    _, values, rows = np.linalg.svd(np.sqrt(weights) * (shares - (weights * shares).sum(axis=0)), full_matrices=False)
    # of t't, the squares of which guidance releases, these shares are a part as large as u
    values, vectors = values[:-1] * np.linalg.norm(state.uniform), rows[:-1].T
    if state.started.any():
        n = state.started[:, None]
        means = np.diagonal(state.start_sums, axis1=1, axis2=2) / n
        within = state.start_sums / n[:, :, None] - means[:, :, None] * means[:, None, :]
        apart = within - (weights[:, :, None] * within).sum(axis=0)
        squares, pairs = np.linalg.eigh((weights[:, :, None] * (apart @ apart)).sum(axis=0))
        values, vectors = np.append(values, np.sqrt(np.clip(squares, 0, None))), np.hstack([vectors, pairs])
    order = np.argsort(-values, kind="stable")
    return values[order], vectors[:, order]


def directions(state: MinerState, level: int | None, serial: int) -> Floats:
    """Return V, float64 (w, level), of the guidance with a serial number; by default of the level that μ needs."""
    rng = np.random.default_rng([state.seed, serial])
    values, vectors = differences(state, state.shares + state.deviations(rng))
    wanted = level_for(values, state.plan) if level is None else level
    if not 1 <= wanted <= state.plan.width:
        raise GuidanceError(f"the level must be in 1..{state.plan.width}, the number of bits, got {wanted}")
    if not state.started.any() and wanted - 1 < len(values):
        vectors = vectors[:, rng.choice(len(values), len(values), replace=False, p=values**2 / (values**2).sum())]
    common = state.uniform / np.linalg.norm(state.uniform)
    if wanted == 1:
        alone: Floats = (common + (-1) ** serial * vectors[:, 0])[:, None] / np.sqrt(2)
        return alone
    found = [common[:, None], vectors]
    while sum(part.shape[1] for part in found) < wanted:
        found.append(differences(state, state.shares + state.deviations(rng))[1])
    orthonormal: Floats = np.linalg.qr(np.hstack([*found, np.eye(state.plan.width)]))[0]
    return orthonormal[:, :wanted]


def level_for(values: Floats, plan: GuidedPlan) -> int:
    """Return k*: c, and the directions in which classes differ by more than μ of the largest (equation 6)."""
    return min(1 + max(1, int((values > float(plan.mu) * values[0]).sum())), plan.width)


@dataclass(frozen=True, slots=True)
class Worth:
    """The estimated accuracy of naive Bayes on raw tuples, a share, and its standard error; 0 is the level of now."""

    level: int
    accuracy: float
    std_error: float


def worth(state: MinerState, levels: Iterable[int] = ()) -> list[Worth]:
    """Estimate what is told now, and what would be once as many people again have answered guidance of each level.

    It is nothing but what released tuples tell; see the module's text. Empty before anybody answered.

    Args:
        state: with answers collected.
        levels: from 1 to the number of bits; by default some up to 8.

    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> table = pd.DataFrame({"smokes": ["no", "yes"] * 500, "ill": ["no", "yes"] * 500})
    >>> state = ap.guided.publish(ap.guided.start(table, "ill", seed=1))
    >>> state = ap.guided.collect(state, ap.randomize(table, state.plan, guidance=state.guidance))
    >>> [(each.level, round(each.accuracy, 1)) for each in ap.guided.worth(state, [1, 2])]
    [(0, 1.0), (1, 1.0), (2, 1.0)]
    """
    if not state.tuples:
        return []
    wanted = tuple(levels) or tuple(level for level in _LEVELS if level <= state.plan.width)
    found = [_worth(state, 0, np.zeros_like(state.precision))]
    for level in wanted:
        asked = Guidance.of_vectors(state.plan, 1, directions(state, level, 1))
        more = state.received[:, None, None] * reading_of(asked, state.plan).precision
        found.append(_worth(state, level, more))
    return found


def _worth(state: MinerState, level: int, more: Floats) -> Worth:
    rng = np.random.default_rng(state.seed)
    classes = (state.received + 1) / (state.received + 1).sum()
    larger = max(1.0, state.spread[0] / state.spread[1]) if state.spread[1] > 0 else 1.0
    right = []
    for _ in range(_DRAWS):
        truth = state.shares + state.deviations(rng)
        known = state.shares if level == 0 else truth + state.deviations(rng, more)
        clipped = np.clip(known, _LEAST_SHARE, 1 - _LEAST_SHARE)
        weights, base = np.log(clipped / (1 - clipped)), np.log(1 - clipped).sum(axis=1) + np.log(classes)
        right.append(0.0)
        for place, share in enumerate(classes):
            spread = larger * weights @ _independent(clipped[place], state.plan) @ weights.T
            scores = rng.multivariate_normal(weights @ truth[place] + base, spread, _SCORES, "ignore")
            right[-1] += float(share * (scores.argmax(axis=1) == place).mean())
    return Worth(level, float(np.mean(right)), float(np.std(right)))


def publish(state: MinerState, level: int | None = None) -> MinerState:
    """Return the state with guidance to publish as its last: a new one if a batch has come in, else the one it has.

    ``level`` asks for so many directions instead of those that the plan's μ needs.

    Raises:
        GuidanceError: a level below 1, or above the number of bits.

    Source: ZWZ05, section 4.1, equation (6); how directions are found is our own.

    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> table = pd.DataFrame({"smokes": ["no", "yes"] * 10, "ill": ["no", "yes"] * 10})
    >>> state = ap.guided.publish(ap.guided.start(table, "ill", promise=ap.Breach("5%", "50%"), known=True))
    >>> state.guidance.serial, state.guidance.level, ap.guided.publish(state) is state
    (1, 2, True)
    """
    if not state.is_due:
        return state
    serial = state.guidances[-1].serial + 1 if state.guidances else 1
    made = Guidance.of_vectors(state.plan, serial, directions(state, level, serial))
    return replace(state, guidances=(*state.guidances[1 - RECENT :], made), published_at=state.tuples)


def collect(
    state: MinerState,
    reports: "Reports | SparkReports",
    files: Iterable[Path] | None = None,
    *,
    leave_out: bool = False,
) -> MinerState:
    """Return the state with reports added, all of them or none.

    A file is known by its SHA-256, and refused when it has been collected before. ``files`` are those that the reports
    came from, where they do not say so themselves. With ``leave_out`` reports that answer guidance which is not known
    are left out, and it is logged how many: where anybody may send, one of them would spoil all others.

    Raises:
        PlanError: reports of another plan.
        WireError: a file collected before or damaged, reports that no client sends, or that answer guidance which was
            never published, or is too old for what was mixed in to be known.

    Source: ZWZ05, section 4.1, equation (4).

    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> table = pd.DataFrame({"smokes": ["no", "yes"] * 10, "ill": ["no", "yes"] * 10})
    >>> state = ap.guided.publish(ap.guided.start(table, "ill", promise=ap.Breach("5%", "50%"), known=True))
    >>> reports = ap.randomize(table, state.plan, guidance=state.guidance)
    >>> ap.guided.collect(state, reports).received.tolist()
    [10, 10]
    """
    if reports.plan.plan_id != state.plan.plan_id:
        raise PlanError(
            f"the reports are of plan {reports.plan.plan_id[:12]}, the state is of plan {state.plan.plan_id[:12]}; "
            "nothing was added"
        )
    digests = _new_digests(state, reports.paths if files is None else files)
    count = partial(_sums_by_guidance, state, leave_out)
    n_classes, n_cells = len(state.plan.labels), state.plan.width**2
    n_sums = len(state.guidances) * n_classes * (1 + n_cells)
    found = count(0, reports) if isinstance(reports, Reports) else reports.add_up(count, n_sums)
    received, precision, weighted = state.received.copy(), state.precision.copy(), state.weighted.copy()
    spread = state.spread.copy()
    for guidance, each in zip(state.guidances, found.reshape(-1, n_classes, 1 + n_cells), strict=True):
        counts, sums = each[:, 0], each[:, 1:].reshape(n_classes, state.plan.width, -1)
        if counts.any():
            read = reading_of(guidance, state.plan)
            received += counts
            precision += counts[:, None, None] * read.precision
            weighted += [read.weighted(n, np.diagonal(of)) for n, of in zip(counts, sums, strict=True)]
            spread += _spread(state, read, counts, sums)
    if left := len(reports) - int((received - state.received).sum()):
        _LOG.info(
            "%s left out: not of the last %d guidances that this state has published", counted(left, "report"), RECENT
        )
    return replace(
        state,
        received=received,
        precision=precision,
        weighted=weighted,
        spread=spread,
        collected=(*state.collected, *digests),
    )


def _spread(state: MinerState, read: Reading, counts: NDArray[np.int64], sums: NDArray[np.int64]) -> Floats:
    """Return variance in the directions that told classes apart before, measured and of independent attributes.

    Bits are drawn one by one, so that their covariances, and not their variances, are those of tuples.
    """
    total = np.zeros(2)
    if state.plan.keep == "tuple":  # of whose tuples it would be
        return total
    shares = np.clip(state.shares, 0, 1)
    along = (shares - shares.mean(axis=0)) @ read.weights
    for n, products, each in zip(counts.tolist(), sums, shares, strict=True):
        if n > 1:
            ones = np.diagonal(products) / n
            measured = (products / n - np.outer(ones, ones)) * n / (n - 1) / (1 - read.mixed) ** 2
            expected = read.slopes @ _independent(each, state.plan) @ read.slopes.T
            for place, covariance in enumerate((measured, expected)):
                np.fill_diagonal(covariance, 0)
                total[place] += n * ((along @ covariance) * along).sum()
    return total


def _sums_by_guidance(state: MinerState, leave_out: bool, _first: int, reports: Reports) -> NDArray[np.int64]:
    """Return what reports add up to, int64: by guidance and class the tuples' number, and their sums of r'r."""
    places = {guidance.serial: place for place, guidance in enumerate(state.guidances)}
    n_classes = len(state.plan.labels)
    found = np.zeros((len(places), n_classes, 1 + state.plan.width**2), dtype=np.int64)
    for packed in reports.batches(_AT_ONCE):
        for guidance, classes, bits in _by_guidance(state, packed, leave_out):
            counts, added = class_sums(classes, bits, n_classes)
            found[places[guidance.serial]] += np.hstack([counts[:, None], added.reshape(n_classes, -1)])
    return found.ravel()


def _new_digests(state: MinerState, paths: Iterable[Path]) -> list[str]:
    known = set(state.collected)
    digests = []
    for path in paths:
        digest = _digest(path)
        if digest in known:
            raise WireError(f"{path} was collected before; its tuples would count twice, nothing was added")
        known.add(digest)
        digests.append(digest)
    return digests


def is_collected(state: MinerState, path: Path) -> bool:
    """Tell whether a file has been collected before."""
    return _digest(path) in state.collected


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _by_guidance(
    state: MinerState, packed: NDArray[np.uint8], leave_out: bool
) -> Iterable[tuple[Guidance, NDArray[np.int64], NDArray[np.uint8]]]:
    """Yield the classes and bits of reports, for each guidance that they answer."""
    serials, classes, bits = state.plan.unpack(packed)
    known = {guidance.serial: guidance for guidance in state.guidances}
    last = max(known, default=0)
    for serial in np.unique(serials).tolist():
        if serial not in known:
            if leave_out:
                continue
            raise WireError(_unknown(serial, last))
        mine = serials == serial
        yield known[serial], classes[mine], bits[mine]


def _unknown(serial: int, last: int) -> str:
    if not 1 <= serial <= last:
        return f"reports answer guidance {serial}, which this state has not published; is it another collection's?"
    return (
        f"reports answer guidance {serial}, but only the last {RECENT}, up to {last}, are known still: "
        "leave them out; nothing was added"
    )


# ---- classifiers


def new_classifier(name: str, tuples: int) -> Any:
    """Return an unfitted estimator of scikit-learn's, one of ``CLASSIFIERS``.

    A tree splits by entropy; its leaves have one in a thousand of the tuples at least, 1 at least and 100 at most.

    Raises:
        EstimateError: another name, or scikit-learn is not installed.
    """
    try:
        from sklearn.linear_model import LogisticRegression
        from sklearn.naive_bayes import BernoulliNB
        from sklearn.tree import DecisionTreeClassifier
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "sklearn":
            raise
        raise EstimateError("classifiers need scikit-learn; install it: pip install assocpriv[trees]") from None
    leaf = max(1, min(100, tuples // 1000))
    made = {
        "tree": lambda: DecisionTreeClassifier(criterion="entropy", min_samples_leaf=leaf, random_state=0),
        "naive-bayes": BernoulliNB,
        "logistic": lambda: LogisticRegression(max_iter=1000),
    }
    if name not in made:
        raise EstimateError(f"classifier must be one of {', '.join(CLASSIFIERS)}, got {name[:40]!r}")
    return made[name]()


def train(state: MinerState, reports: Reports, name: str) -> Any:
    """Return a classifier fitted on reports; naive Bayes on what the state says of the same, corrected.

    Args:
        state: with the reports collected.
        reports: those that were collected.
        name: ``"tree"``, ``"naive-bayes"`` or ``"logistic"``.

    Returns:
        An estimator of scikit-learn's; it takes tuples as :func:`released_tuples` gives them, released or raw.

    Raises:
        EstimateError: another name, scikit-learn is not installed, or a class without tuples.

    Source: ZWZ05, sections 3 and 6.

    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> table = pd.DataFrame({"smokes": ["no", "yes"] * 10, "ill": ["no", "yes"] * 10})
    >>> state = ap.guided.publish(ap.guided.start(table, "ill", promise=ap.Breach("5%", "50%"), known=True))
    >>> reports = ap.randomize(table, state.plan, guidance=state.guidance)
    >>> ap.guided.train(ap.guided.collect(state, reports), reports, "tree").classes_.tolist()
    ['no', 'yes']
    """
    if name == "naive-bayes":
        return naive_bayes(state)
    X, y = released_tuples(reports)
    return new_classifier(name, len(y)).fit(X, y)


def bit_frame(bits: NDArray[Any], plan: GuidedPlan) -> "pd.DataFrame":
    """Return tuples, (n, w), as a frame with a column for each value of each attribute: what classifiers take."""
    import pandas as pd

    return pd.DataFrame(bits, columns=list(plan.bit_names))


def released_tuples(reports: Reports) -> "tuple[pd.DataFrame, NDArray[Any]]":
    """Return the released bits of reports, a frame with a column for each value of each attribute, and their classes.

    Returns:
        Bits, 0 or 1, a frame of shape (n, w), and the classes' names, (n,).

    Raises:
        PlanError: reports of another kind of plan.
        EstimateError: there are none.
        WireError: damaged files.

    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> table = pd.DataFrame({"smokes": ["no", "yes"] * 10, "ill": ["no", "yes"] * 10})
    >>> state = ap.guided.publish(ap.guided.start(table, "ill", promise=ap.Breach("5%", "50%"), known=True))
    >>> reports = ap.randomize(table, state.plan, guidance=state.guidance)
    >>> bits, classes = ap.guided.released_tuples(reports)
    >>> bits.columns.tolist(), bits.shape, classes[:2].tolist()
    (['smokes=no', 'smokes=yes'], (20, 2), ['no', 'yes'])
    """
    plan = reports.plan.as_a(GuidedPlan)
    parts = [plan.unpack(packed)[1:] for packed in reports.batches(_AT_ONCE)]
    if not parts:
        raise EstimateError("there are no reports to learn from")
    classes, bits = (np.concatenate(each) for each in zip(*parts, strict=True))
    return bit_frame(bits, plan), np.array(plan.labels)[classes]


def naive_bayes(state: MinerState, alpha: float = 1.0) -> Any:
    """Return scikit-learn's BernoulliNB of each class's shares of values as they are known.

    A share outside [0, 1] is moved to its end.

    Args:
        state: with reports of each class collected.
        alpha: scikit-learn's additive smoothing, in tuples.

    Raises:
        EstimateError: a class has no tuples.

    Source: ZWZ05, section 6.

    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> table = pd.DataFrame({"smokes": ["no", "yes"] * 10, "ill": ["no", "yes"] * 10})
    >>> state = ap.guided.publish(ap.guided.start(table, "ill", promise=ap.Breach("5%", "50%"), known=True))
    >>> reports = ap.randomize(table, state.plan, guidance=state.guidance)
    >>> ap.guided.naive_bayes(ap.guided.collect(state, reports)).class_count_.tolist()
    [20.0, 20.0]
    """
    from sklearn.naive_bayes import BernoulliNB

    counts = state.started + state.received
    if not counts.all():
        raise EstimateError("a class has no tuples so far, so nothing can be learned of it; collect more")
    return BernoulliNB(alpha=alpha, binarize=None).fit(
        bit_frame(np.clip(state.shares, 0, 1), state.plan), np.array(state.plan.labels), sample_weight=counts
    )


FORMAT, VERSION = "assocpriv-miner-state", 2
_FIELDS = {"format", "version", "digest", *MinerState.__dataclass_fields__}
_LARGEST_FILE = 1 << 30


def write_state(state: MinerState, path: str | Path, *, force: bool = False) -> None:
    """Write a state; what is there is replaced whole, or stays as it is. Equal states give equal bytes.

    Raises:
        FileError: the file exists and ``force`` is not set, or cannot be written.

    >>> from tempfile import mkdtemp
    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> table = pd.DataFrame({"smokes": ["no", "yes"] * 10, "ill": ["no", "yes"] * 10})
    >>> state = ap.guided.publish(ap.guided.start(table, "ill", promise=ap.Breach("5%", "50%"), known=True))
    >>> path = f"{mkdtemp()}/state.json"
    >>> ap.guided.write_state(state, path)
    >>> ap.guided.read_state(path).guidance.serial
    1
    """
    text = _text(state)
    if len(text) > _LARGEST_FILE:
        raise FileError(f"{path} would be too large to read again; take fewer classes or fewer columns of bits")
    with atomic_output(path, force=force) as stream:
        stream.write(text)


def replace_state(before: MinerState, after: MinerState, path: str | Path) -> None:
    """Write a state over the one that it was made of.

    Raises:
        FileError: another run has replaced that meanwhile, whose work would be lost; or the file cannot be written.
    """
    if Path(path).read_bytes() != _text(before):
        raise FileError(f"{path} was changed by another run meanwhile; nothing was added here: run this again")
    write_state(after, path, force=True)


def read_state(path: str | Path) -> MinerState:
    """Read what :func:`write_state` wrote.

    Raises:
        FileError: the file cannot be read, is no state, or was cut or changed.

    >>> from tempfile import mkdtemp
    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> table = pd.DataFrame({"smokes": ["no", "yes"] * 10, "ill": ["no", "yes"] * 10})
    >>> path = f"{mkdtemp()}/state.json"
    >>> ap.guided.write_state(ap.guided.start(table, "ill", promise=ap.Breach("5%", "50%")), path)
    >>> ap.guided.read_state(path).plan.names
    ('smokes', 'ill')
    """
    try:
        with Path(path).open("rb") as file:
            content = file.read(_LARGEST_FILE)
        fields = json.load(io.TextIOWrapper(io.BytesIO(content), encoding="utf-8"))
    except OSError as error:
        raise FileError(f"cannot read the state {path}: {error.strerror or error}") from None
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict) or fields.get("format") != FORMAT or fields.get("version") != VERSION:
        raise FileError(f"{path} is no whole state of assocpriv guide start: it was cut off, or is another file")
    if set(fields) != _FIELDS or fields.pop("digest") != _content_digest(fields):
        raise FileError(f"{path} was changed or damaged: its digest is another; go on from a copy, nothing was added")
    try:
        state = _from_json(fields)
    except (PlanError, KeyError, TypeError, ValueError):  # a digest of nonsense
        raise FileError(f"{path} contradicts itself, so it was not written by assocpriv guide") from None
    if _text(state) != content:  # the line's end cut off, say: what is written later is compared with these bytes
        raise FileError(f"{path} is not as assocpriv guide wrote it, byte for byte; go on from a copy")
    return state


def _text(state: MinerState) -> bytes:
    fields = _to_json(state)
    return (json.dumps(fields | {"digest": _content_digest(fields)}, sort_keys=True) + "\n").encode("ascii")


def _content_digest(fields: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(fields, sort_keys=True, separators=(",", ":")).encode("ascii")).hexdigest()


def _to_json(state: MinerState) -> dict[str, Any]:
    """Return a state as JSON content: of each class's sums the lower triangle, which is all, row by row."""
    lower = np.tril_indices(state.plan.width)
    return {
        "format": FORMAT,
        "version": VERSION,
        "plan": state.plan.to_json(),
        "seed": state.seed,
        "started": state.started.tolist(),
        "start_sums": [each[lower].tolist() for each in state.start_sums],
        "received": state.received.tolist(),
        "precision": [each[lower].tolist() for each in state.precision],
        "weighted": state.weighted.tolist(),
        "spread": state.spread.tolist(),
        "guidances": [guidance.to_json() for guidance in state.guidances],
        "published_at": state.published_at,
        "collected": list(state.collected),
    }


def _from_json(fields: dict[str, Any]) -> MinerState:
    plan = GuidedPlan.from_json(fields["plan"])
    start_sums, precision = (_whole(fields[name], plan) for name in ("start_sums", "precision"))
    started, received = (np.array(fields[name], dtype=np.int64) for name in ("started", "received"))
    weighted, spread = (np.array(fields[name], dtype=np.float64) for name in ("weighted", "spread"))
    guidances = tuple(Guidance.from_json(content) for content in fields["guidances"])
    for guidance in guidances:
        guidance.check(plan)
    known = (started, start_sums.astype(np.int64), received, precision, weighted, spread)
    return MinerState(plan, fields["seed"], *known, guidances, fields["published_at"], tuple(fields["collected"]))


def _whole(triangles: list[list[float]], plan: GuidedPlan) -> Floats:
    """Return the sums of every class, float64 (classes, w, w), of their lower triangles."""
    lower = np.tril_indices(plan.width)
    sums = np.zeros((len(plan.labels), plan.width, plan.width))
    for into, values in zip(sums, triangles, strict=True):
        into[lower] = values
        into.T[lower] = values
    return sums


def publish_file(
    state: str | Path, output: str | Path, *, level: int | None = None, force: bool = False
) -> tuple[MinerState, bool]:
    """Write the guidance that people are to answer now; the state file keeps it.

    A new one is made when a batch of tuples has come in since the last; otherwise that is written again. ``level``
    is that of :func:`publish`. The state is written first: guidance that was published is never forgotten.

    Returns:
        The state, and whether its guidance is a new one.

    Raises:
        FileError: a state that was cut or changed, or an output that exists without ``force`` or cannot be written.
        GuidanceError: a level below 1, or above the number of bits.

    >>> from tempfile import mkdtemp
    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> table = pd.DataFrame({"smokes": ["no", "yes"] * 10, "ill": ["no", "yes"] * 10})
    >>> folder = mkdtemp()
    >>> ap.guided.write_state(ap.guided.start(table, "ill", promise=ap.Breach("5%", "50%")), f"{folder}/state.json")
    >>> state, is_new = ap.guided.publish_file(f"{folder}/state.json", f"{folder}/guidance.json")
    >>> is_new, ap.guided.read_guidance(f"{folder}/guidance.json").guidance_id == state.guidance.guidance_id
    (True, True)
    """

    check_writable(output, force=force, inputs=[Path(state)])
    before = read_state(state)
    after = publish(before, level)
    if after is not before:
        replace_state(before, after, state)
    assert after.guidance is not None
    write_guidance(after.guidance, output, force=force)
    return after, after is not before


def collect_files(reports: str | Path | Iterable[str | Path], state: str | Path) -> MinerState:
    """Add files of reports or of messages (.jsonl), or folders of reports, to a state file: all of them or none.

    Of a folder those files are added that were not before, so one to which reports are still being collected can be
    given again and again; a collector's reports that are not sealed wait. Reports in it that answer guidance not known
    are left out.

    Raises:
        FileError: a state that was cut or changed, by another run meanwhile too, or cannot be written.
        PlanError: reports of another plan.
        WireError: a file that is named was collected before, or its reports answer guidance not known; a damaged one.

    >>> from tempfile import mkdtemp
    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> table = pd.DataFrame({"smokes": ["no", "yes"] * 10, "ill": ["no", "yes"] * 10})
    >>> state = ap.guided.publish(ap.guided.start(table, "ill", promise=ap.Breach("5%", "50%"), known=True))
    >>> folder = mkdtemp()
    >>> ap.guided.write_state(state, f"{folder}/state.json")
    >>> _ = ap.randomize(table, state.plan, f"{folder}/reports.parquet", guidance=state.guidance)
    >>> ap.guided.collect_files(f"{folder}/reports.parquet", f"{folder}/state.json").tuples
    20
    """

    before = done = read_state(state)
    paths = [Path(path) for path in ([reports] if isinstance(reports, str | Path) else reports)]
    messages = [path for path in paths if path.suffix == MESSAGE_ENDING]
    for path in messages:
        done = collect(done, read_messages(path, done.plan), [path])
    folders = [path for path in paths if path not in messages and path.is_dir()]
    for path in folders:
        done = _collect_folder(done, path)
    if others := [path for path in paths if path not in messages and path not in folders]:
        done = collect(done, read_reports(others))
    replace_state(before, done, state)
    return done


def _collect_folder(state: MinerState, folder: Path) -> MinerState:
    """Return the state with the report files of a folder that it does not have; a collector's open epochs are none."""

    files = sorted(folder.glob("[!.]*.parquet"))
    new = [path for path in files if not is_collected(state, path)]
    if not files and not (folder / "open").is_dir():
        read_reports(folder)  # says what is wrong with it
    return collect(state, read_reports(new), leave_out=True) if new else state
