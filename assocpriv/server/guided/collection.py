"""Guided perturbation at the miner: from released tuples to the guidance for the next ones.

The miner keeps no tuples, only estimates of each class's shares of values. It publishes new guidance once per batch of
tuples, so the difference of two guidances does not reveal a single person's tuple.

**Response model.** Let u be the tuple of uniform shares (1/s for each value of an attribute of s values), t = u + d and
P = V Vᵀ. Then E[R_j] = (t P_j)². Over people with independent attributes that is, for small d,

    E[R_j] = f_j + Σ_v J_jv E[d_v],   f_j = b_j² + Σ_v D_jv²/s_v,   J_jv = 2 b_j D_jv + D_jv² − its attribute's mean,

where b_j = u P_j and D_jv = P_jv less its attribute's mean. So the expected response is linear in E[d], the shares less
the uniform ones, if b is not 0. Therefore V includes c, the direction of u, which is the same for all people and
discloses nothing. (Without c, E[R_j] is a square and shows only the requested directions.) Let S be
the covariance of R at uniform shares and W = Jᵀ S⁻¹. Each class adds n·W J to its precision and W·Σ(r − f) to its
weighted sum, and their quotient estimates E[d]. The prior has a precision of 4. The randomization of a guarantee is
first removed from r: r = (r' − q·x)/(1 − q), with x = ½ for random bits and f for random tuples.

**Exploration.** The directions after c are those in which the classes' shares differ, for shares *drawn* from their
posterior (Thompson sampling). They are nearly random at first; later they are the directions in which classes differ.
More than two classes differ in the singular vectors of their shares around their mean. A level below their number draws
some of them each time, by how much the classes differ there. A single direction is (c ± v)/√2. Its sign changes from
guidance to guidance, so terms quadratic in d cancel.

**Known tuples at the start** add to the precision. They also show the pairs of values in which classes differ, which
released tuples do not: further directions are eigenvectors of the differences of the classes' covariances.

**Accuracy of a level** is that of naive Bayes once the same number of people has responded again. Shares are drawn from
the posterior, and a classifier from the posterior after those responses; scores under both are nearly normal. Their
variance is that of independent attributes, times the factor by which released tuples show a larger variance in the
directions that separate classes. Other dependence is not modelled and makes the estimate too high.

**Classifiers** of scikit-learn are fitted on released tuples without knowledge of the plan. Naive Bayes uses the
estimated shares only.

**The state file** is one JSON object with its own digest, always replaced as a whole (docs/formats.md#a-miners-state).

Source: Zhang, Wang, Zhao, A New Scheme on Privacy-Preserving Data Classification, KDD 2005, section 4.1; for
classifiers sections 3 and 6. Thompson, Biometrika 25, 1933. The response model and exploration are our own.
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
from assocpriv.files.plan_files import write_guidance
from assocpriv.files.report_files import MESSAGE_ENDING, Reports, read_messages, read_reports
from assocpriv.guarantees.errors import EstimateError, FileError, GuidanceError, PlanError, WireError, pluralize
from assocpriv.plans.guided.guided_plan import (
    UNIT,
    Guidance,
    GuidedPlan,
    TupleMix,
    largest_ratio,
    mixing_weight,
    random_share,
    weight_bounds,
)
from assocpriv.plans.result_display import html_renderer, plan_bound, rows_frame, short_repr

if TYPE_CHECKING:
    import pandas as pd

    from assocpriv.server.spark_counting import SparkReports

Bits = NDArray[np.uint8]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


RECENT = 128  # guidances to which reports are still accepted: 2,560 tuples at the default batch
_PRIOR = 4.0  # precision of a share around the uniform one
_LEVELS = (1, 2, 3, 4, 6, 8)  # whose accuracy is estimated by default
_DRAWS, _SCORES = 20, 500
_JITTER = 1e-6  # of a variance: the bits of a wholly requested attribute sum to 1
_LEAST_SHARE = 1e-3
_AT_ONCE = 1 << 16
_LOG = logging.getLogger("assocpriv")  # logs what is left out; the command line shows it
CLASSIFIERS = ("naive-bayes", "tree", "logistic")


# ---- sums


def class_sums(classes: NDArray[np.integer], bits: Bits, n_classes: int) -> tuple[Ints, Ints]:
    """Return the number of tuples of each class, int64 (classes,), and their sums of r'r, int64 (classes, w, w)."""
    counts = np.bincount(classes, minlength=n_classes).astype(np.int64)
    sums = np.zeros((n_classes, bits.shape[1], bits.shape[1]), dtype=np.int64)
    for place in np.flatnonzero(counts):
        rows = bits[classes == place].astype(np.float64)  # sums of bits are exact in floats, and faster there
        sums[place] = (rows.T @ rows).astype(np.int64)
    return counts, sums


@dataclass(frozen=True, eq=False, slots=True)
class ResponseModel:
    """Linear model of responses to one guidance as a function of shares.

    Attributes:
        expected: f, the expected bits at uniform shares, float64 (w,).
        slopes: J, float64 (w, w).
        weights: W, float64 (w, w).
        random_share: q, the share of randomization in a report.
        random_bits: x, the expected bits of randomization, float64 (w,).
    """

    expected: Floats
    slopes: Floats
    weights: Floats
    random_share: float
    random_bits: Floats

    @property
    def precision(self) -> Floats:
        """What one tuple adds to the precision of its class's shares, float64 (w, w)."""
        product: Floats = self.weights @ self.slopes
        return (product + product.T) / 2  # exactly symmetric, as in the state file

    def weighted(self, count: int, ones: NDArray[np.integer]) -> Floats:
        """Return what ``count`` tuples add to the weighted sum; ``ones`` counts those with each bit, int64 (w,)."""
        released = (ones - count * self.random_share * self.random_bits) / (1 - self.random_share)
        return self.weights @ (released - count * self.expected)


def response_model(guidance: Guidance, plan: GuidedPlan) -> ResponseModel:
    """Return the response model of a guidance; see the module's text."""
    sizes = np.array(plan.sizes)[plan.attribute_of]
    projection = guidance.projection / float(UNIT**2)
    means = _attribute_means(projection, plan)
    apart = projection - means
    base = (means / sizes).sum(axis=1)
    squares = apart**2
    expected = base**2 + (squares / sizes).sum(axis=1)
    slopes = 2 * base[:, None] * apart + squares - _attribute_means(squares, plan)
    share = float(random_share(plan, guidance))
    random_bits = np.full(plan.width, 0.5) if plan.keep == "bits" else expected
    if share == 1:  # only random bits, without information
        return ResponseModel(expected, slopes, np.zeros_like(slopes), 0.0, random_bits)
    rates = np.clip((1 - share) * expected + share * random_bits, 0, 1)
    covariance = (slopes / sizes) @ slopes.T
    noise = np.maximum(rates * (1 - rates) / (1 - share) ** 2, np.diagonal(covariance))
    np.fill_diagonal(covariance, noise + _JITTER)
    return ResponseModel(expected, slopes, np.linalg.solve(covariance, slopes).T, share, random_bits)


def _attribute_means(rows: Floats, plan: GuidedPlan) -> Floats:
    """Return the mean over the values of each entry's attribute, along the last axis."""
    means: Floats = np.add.reduceat(rows, plan.offsets, axis=-1) / np.array(plan.sizes)
    return means[..., plan.attribute_of]


def _independent(shares: Floats, plan: GuidedPlan) -> Floats:
    """Return the covariance of tuples of independent attributes with these shares, float64 (w,), as (w, w)."""
    same = plan.attribute_of[:, None] == plan.attribute_of
    return np.diag(shares) - np.where(same, np.outer(shares, shares), 0.0)


# ---- state


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class MinerState:
    """The miner's state: plan, estimates and published guidance.

    Attributes:
        plan: The published plan.
        seed: Seed of the draws for guidance.
        started: Tuples of each class known at the start, int64 (classes,).
        start_sums: Sums of t't over these, int64 (classes, w, w).
        received: Tuples of each class collected since, int64 (classes,).
        precision: Precision of each class's shares, without the prior, float64 (classes, w, w).
        weighted: The precision times the estimated shares less the uniform ones, float64 (classes, w).
        spread: Variance in the directions that separate classes, in released tuples and for independent attributes,
            float64 (2,), summed over tuples.
        guidances: The last published guidances, the current one last.
        published_at: Number of tuples received when the current guidance was made.
        collected: SHA-256 of each collected file.

    Source: ZWZ05, section 4.1.

    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> table = pd.DataFrame({"smokes": ["no", "yes"] * 10, "ill": ["no", "yes"] * 10})
    >>> state = ap.guided.start(table, "ill", guarantee=ap.Guarantee("5%", "50%"), known=True)
    >>> state.started.tolist(), state.tuples, state.guidance, state.is_due
    ([10, 10], 0, None, True)
    """

    plan: GuidedPlan
    seed: int
    started: Ints
    start_sums: Ints
    received: Ints
    precision: Floats
    weighted: Floats
    spread: Floats
    guidances: tuple[Guidance, ...] = ()
    published_at: int = 0
    collected: tuple[str, ...] = ()

    def __repr__(self) -> str:
        kept = f"{self.tuples:,} tuples, {len(self.guidances)} guidances kept"
        return short_repr(self, f"of {self.plan.plan_id[:12]}, {kept}", [plan_bound(self.plan)])

    _repr_html_ = html_renderer("assocpriv.show.table_views:collected")

    def to_frame(self) -> "pd.DataFrame":
        """Return a row a class and value: the value's estimated share in the class.

        Returns:
            A pandas frame with the columns ``class``, ``value`` and ``share``; from few tuples a share may be below 0.
        """
        return rows_frame("class value share", (
            (label, value, share)
            for label, shares in zip(self.plan.labels, self.shares.tolist(), strict=True)
            for value, share in zip(self.plan.bit_names, shares, strict=True)
        ))  # fmt: skip

    @property
    def tuples(self) -> int:
        """Number of tuples received."""
        return int(self.received.sum())

    @property
    def guidance(self) -> Guidance | None:
        """The current guidance, or None before the first is published."""
        return self.guidances[-1] if self.guidances else None

    @property
    def is_due(self) -> bool:
        """Whether a batch has arrived since guidance was published, or there is no guidance yet."""
        return not self.guidances or self.tuples - self.published_at >= self.plan.batch

    @property
    def amplification_bound(self) -> Fraction | None:
        """Upper bound on γ of a report under the current guidance; None without a bound or without guidance.

        Without a guarantee there is no bound if some tuples alone never, or always, release a bit as 1.
        """
        if self.guidance is None or isinstance(self.plan.safeguard, TupleMix):
            return self.plan.amplification
        low, high = weight_bounds(self.guidance, self.plan)
        return largest_ratio(low, high, mixing_weight(self.guidance, self.plan))

    @property
    def uniform(self) -> Floats:
        """Uniform shares, float64 (w,)."""
        return 1 / np.array(self.plan.sizes)[self.plan.attribute_of]

    @property
    def shares(self) -> Floats:
        """Each class's estimated shares of values, float64 (classes, w); from few tuples some may be below 0."""
        return self.uniform + np.linalg.solve(self._posterior, self.weighted[:, :, None])[:, :, 0]

    @property
    def _posterior(self) -> Floats:
        return self.precision + _PRIOR * np.eye(self.plan.width)

    def deviations(self, rng: np.random.Generator, more: Floats | float = 0.0) -> Floats:
        """Draw random errors of the shares, as a normal approximation has them.

        Args:
            rng: The source of the draws.
            more: Precision to add to that of each class, a number or float64 that broadcasts to (classes, w, w).

        Returns:
            Errors of the shares, float64 (classes, w); those of an attribute's values add up to 0.
        """
        lower = np.linalg.cholesky(self._posterior + more)
        drawn = rng.standard_normal((len(lower), self.plan.width, 1))
        errors = np.linalg.solve(np.swapaxes(lower, 1, 2), drawn)[:, :, 0].astype(np.float64)
        return errors - _attribute_means(errors, self.plan)


def start_with_tuples(
    plan: GuidedPlan, classes: NDArray[np.integer], bits: Bits, seed: int | None = None
) -> MinerState:
    """Return a state with known tuples in the plan's form, uint8 (n, w), and their classes' positions, (n,).

    Raises:
        EstimateError: A class has fewer tuples than the plan has attributes.
    """
    counts, sums = class_sums(classes, bits, len(plan.labels))
    if few := [place for place, count in enumerate(counts) if count < len(plan.attributes)]:
        raise EstimateError(
            f"class {plan.labels[few[0]]} has {pluralize(int(counts[few[0]]), 'tuple')} to start with, but needs "
            f"{len(plan.attributes)}, one for each attribute; give more, or start without known tuples"
        )
    state = start_empty(plan, seed)
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


def start_empty(plan: GuidedPlan, seed: int | None = None) -> MinerState:
    """Return a state without tuples; ``seed`` makes the guidance reproducible."""
    n, w = len(plan.labels), plan.width
    drawn = int(np.random.default_rng(seed).integers(1 << 53))
    none = np.zeros(n, dtype=np.int64)
    return MinerState(
        plan, drawn, none, np.zeros((n, w, w), dtype=np.int64), none, np.zeros((n, w, w)), np.zeros((n, w)), np.zeros(2)
    )


# ---- directions


def class_differences(state: MinerState, shares: Floats) -> tuple[Floats, Floats]:
    """Return how much classes differ in each direction, float64 (m,), falling, and the directions, float64 (w, m).

    There are classes − 1 directions for the given shares, float64 (classes, w), and w more with known tuples.
    """
    counts = state.started + state.received + 1
    weights = (counts / counts.sum())[:, None]
    _, values, rows = np.linalg.svd(np.sqrt(weights) * (shares - (weights * shares).sum(axis=0)), full_matrices=False)
    # guidance releases squares: in t't these shares have a component of the size of u
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
    """Return V, float64 (w, level), of the guidance with a serial number, by default at the level for the plan's μ."""
    rng = np.random.default_rng([state.seed, serial])
    values, vectors = class_differences(state, state.shares + state.deviations(rng))
    wanted = choose_level(values, state.plan) if level is None else level
    if not 1 <= wanted <= state.plan.width:
        raise GuidanceError(f"the level must be in 1..{state.plan.width}, the number of bits, got {wanted}")
    if not state.started.any() and wanted - 1 < len(values):
        vectors = vectors[:, rng.choice(len(values), len(values), replace=False, p=values**2 / (values**2).sum())]
    common = state.uniform / np.linalg.norm(state.uniform)
    if wanted == 1:
        return np.asarray((common + (-1) ** serial * vectors[:, 0])[:, None] / np.sqrt(2))
    found = [common[:, None], vectors]
    while sum(part.shape[1] for part in found) < wanted:
        found.append(class_differences(state, state.shares + state.deviations(rng))[1])
    orthonormal: Floats = np.linalg.qr(np.hstack([*found, np.eye(state.plan.width)]))[0]
    return orthonormal[:, :wanted]


def choose_level(values: Floats, plan: GuidedPlan) -> int:
    """Return k*: 1 for c, plus the number of directions with a difference above μ of the largest (equation 6)."""
    return min(1 + max(1, int((values > float(plan.mu) * values[0]).sum())), plan.width)


@dataclass(frozen=True, slots=True)
class LevelAccuracy:
    """Estimated accuracy of naive Bayes on raw tuples.

    Attributes:
        level: Level of the guidance that people answer next; 0 for the responses received so far.
        accuracy: Share of tuples that are classified correctly.
        std_error: Its standard error, a share.
    """

    level: int
    accuracy: float
    std_error: float


def estimate_accuracy(state: MinerState, levels: Iterable[int] = ()) -> list[LevelAccuracy]:
    """Estimate the accuracy of naive Bayes now, and at each level once the same number of people responds again.

    The estimate uses released tuples only; see the module's text.

    Args:
        state: A state with collected responses.
        levels: Levels from 1 to the number of bits; by default 1, 2, 3, 4, 6 and 8.

    Returns:
        One estimate for now (level 0) and one for each level; empty without responses.

    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> table = pd.DataFrame({"smokes": ["no", "yes"] * 500, "ill": ["no", "yes"] * 500})
    >>> state = ap.guided.publish(ap.guided.start(table, "ill", seed=1))
    >>> state = ap.guided.collect(state, ap.randomize(table, state.plan, guidance=state.guidance))
    >>> [(each.level, round(each.accuracy, 1)) for each in ap.guided.estimate_accuracy(state, [1, 2])]
    [(0, 1.0), (1, 1.0), (2, 1.0)]
    """
    if not state.tuples:
        return []
    wanted = tuple(levels) or tuple(level for level in _LEVELS if level <= state.plan.width)
    found = [_estimate_level(state, 0, np.zeros_like(state.precision))]
    for level in wanted:
        guidance = Guidance.from_vectors(state.plan, 1, directions(state, level, 1))
        more = state.received[:, None, None] * response_model(guidance, state.plan).precision
        found.append(_estimate_level(state, level, more))
    return found


def _estimate_level(state: MinerState, level: int, more: Floats) -> LevelAccuracy:
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
    return LevelAccuracy(level, float(np.mean(right)), float(np.std(right)))


def publish(state: MinerState, level: int | None = None) -> MinerState:
    """Return the state with the guidance to publish: new guidance if a batch has arrived, otherwise the current one.

    Args:
        state: The miner's state.
        level: Number of directions; by default the number for the plan's μ.

    Returns:
        The state whose last guidance is to be published; the same object if no new guidance is due.

    Raises:
        GuidanceError: The level is below 1, or above the number of bits.

    Source: ZWZ05, section 4.1, equation (6); the choice of directions is our own.

    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> table = pd.DataFrame({"smokes": ["no", "yes"] * 10, "ill": ["no", "yes"] * 10})
    >>> state = ap.guided.publish(ap.guided.start(table, "ill", guarantee=ap.Guarantee("5%", "50%"), known=True))
    >>> state.guidance.serial, state.guidance.level, ap.guided.publish(state) is state
    (1, 2, True)
    """
    if not state.is_due:
        return state
    serial = state.guidances[-1].serial + 1 if state.guidances else 1
    made = Guidance.from_vectors(state.plan, serial, directions(state, level, serial))
    return replace(state, guidances=(*state.guidances[1 - RECENT :], made), published_at=state.tuples)


def collect(
    state: MinerState,
    reports: "Reports | SparkReports",
    files: Iterable[Path] | None = None,
    *,
    leave_out: bool = False,
) -> MinerState:
    """Return the state with reports added, all of them or none.

    Args:
        state: The miner's state.
        reports: Reports of the state's plan, also for Spark.
        files: Files of the reports, if the reports do not name them. A file is identified by its SHA-256, and refused
            if it was collected before.
        leave_out: Skip reports to unknown guidance and log their number, instead of raising. An open collector can
            receive such reports from anyone.

    Returns:
        The new state.

    Raises:
        PlanError: The reports are of another plan.
        WireError: A file is damaged or was collected before; a report is invalid; or its guidance was never published,
            or is too old for its randomization to be known.

    Source: ZWZ05, section 4.1, equation (4).

    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> table = pd.DataFrame({"smokes": ["no", "yes"] * 10, "ill": ["no", "yes"] * 10})
    >>> state = ap.guided.publish(ap.guided.start(table, "ill", guarantee=ap.Guarantee("5%", "50%"), known=True))
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
            model = response_model(guidance, state.plan)
            received += counts
            precision += counts[:, None, None] * model.precision
            weighted += [model.weighted(n, np.diagonal(of)) for n, of in zip(counts, sums, strict=True)]
            spread += _variances(state, model, counts, sums)
    if left := len(reports) - int((received - state.received).sum()):
        _LOG.info("%s left out: not for the last %d guidances of this state", pluralize(left, "report"), RECENT)
    return replace(
        state,
        received=received,
        precision=precision,
        weighted=weighted,
        spread=spread,
        collected=(*state.collected, *digests),
    )


def _variances(state: MinerState, model: ResponseModel, counts: Ints, sums: Ints) -> Floats:
    """Return variances in the directions that separated classes before: measured, and for independent attributes.

    Bits are drawn independently, so their covariances are those of tuples, but not their variances.
    """
    total = np.zeros(2)
    if state.plan.keep == "tuple":  # random tuples would add their own variance
        return total
    shares = np.clip(state.shares, 0, 1)
    along = (shares - shares.mean(axis=0)) @ model.weights
    for n, products, each in zip(counts.tolist(), sums, shares, strict=True):
        if n > 1:
            ones = np.diagonal(products) / n
            measured = (products / n - np.outer(ones, ones)) * n / (n - 1) / (1 - model.random_share) ** 2
            expected = model.slopes @ _independent(each, state.plan) @ model.slopes.T
            for place, covariance in enumerate((measured, expected)):
                np.fill_diagonal(covariance, 0)
                total[place] += n * ((along @ covariance) * along).sum()
    return total


def _sums_by_guidance(state: MinerState, leave_out: bool, _first: int, reports: Reports) -> Ints:
    """Return the number of tuples and their sums of r'r, by guidance and class, flattened, int64."""
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
            raise WireError(f"{path} was collected before, so its tuples would count twice; nothing was added")
        known.add(digest)
        digests.append(digest)
    return digests


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _by_guidance(state: MinerState, packed: Bits, leave_out: bool) -> Iterable[tuple[Guidance, Ints, Bits]]:
    """Yield the classes and bits of reports, by the guidance that they respond to."""
    serials, classes, bits = state.plan.unpack(packed)
    known = {guidance.serial: guidance for guidance in state.guidances}
    last = max(known, default=0)
    for serial in np.unique(serials).tolist():
        if serial not in known:
            if leave_out:
                continue
            raise WireError(_unknown_guidance(serial, last))
        mine = serials == serial
        yield known[serial], classes[mine], bits[mine]


def _unknown_guidance(serial: int, last: int) -> str:
    if not 1 <= serial <= last:
        return f"reports respond to guidance {serial}, which this state has not published; give this collection's state"
    return (
        f"reports respond to guidance {serial}, but the state keeps only the last {RECENT}, up to {last}; leave these "
        "reports out; nothing was added"
    )


# ---- classifiers


def new_classifier(name: str, tuples: int) -> Any:
    """Return an unfitted estimator of scikit-learn, one of ``CLASSIFIERS``.

    A tree splits by entropy; its leaves have at least a thousandth of the tuples, between 1 and 100.

    Raises:
        EstimateError: The name is unknown, or scikit-learn is not installed.
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
    """Return a classifier fitted on reports, or for naive Bayes on the state's corrected shares.

    Args:
        state: The state after collecting the reports.
        reports: The collected reports.
        name: ``"tree"``, ``"naive-bayes"`` or ``"logistic"``.

    Returns:
        An estimator of scikit-learn; it takes tuples in the form of :func:`released_tuples`, released or raw.

    Raises:
        EstimateError: The name is unknown, scikit-learn is not installed, or a class has no tuples.

    Source: ZWZ05, sections 3 and 6.

    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> table = pd.DataFrame({"smokes": ["no", "yes"] * 10, "ill": ["no", "yes"] * 10})
    >>> state = ap.guided.publish(ap.guided.start(table, "ill", guarantee=ap.Guarantee("5%", "50%"), known=True))
    >>> reports = ap.randomize(table, state.plan, guidance=state.guidance)
    >>> ap.guided.train(ap.guided.collect(state, reports), reports, "tree").classes_.tolist()
    ['no', 'yes']
    """
    if name == "naive-bayes":
        return naive_bayes(state)
    X, y = released_tuples(reports)
    return new_classifier(name, len(y)).fit(X, y)


def bit_frame(bits: NDArray[Any], plan: GuidedPlan) -> "pd.DataFrame":
    """Return tuples, (n, w), as a frame for classifiers, with a column for each value of each attribute."""
    import pandas as pd

    return pd.DataFrame(bits, columns=list(plan.bit_names))


def released_tuples(reports: Reports) -> "tuple[pd.DataFrame, NDArray[Any]]":
    """Return the released bits and classes of reports.

    Args:
        reports: Reports of a guided plan.

    Returns:
        Bits, 0 or 1, a frame of shape (n, w) with a column for each value of each attribute, and the names of the
        classes, (n,).

    Raises:
        PlanError: The reports are of another plan type.
        EstimateError: There are no reports.
        WireError: A file is damaged.

    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> table = pd.DataFrame({"smokes": ["no", "yes"] * 10, "ill": ["no", "yes"] * 10})
    >>> state = ap.guided.publish(ap.guided.start(table, "ill", guarantee=ap.Guarantee("5%", "50%"), known=True))
    >>> reports = ap.randomize(table, state.plan, guidance=state.guidance)
    >>> bits, classes = ap.guided.released_tuples(reports)
    >>> bits.columns.tolist(), bits.shape, classes[:2].tolist()
    (['smokes=no', 'smokes=yes'], (20, 2), ['no', 'yes'])
    """
    plan = reports.plan.require_type(GuidedPlan)
    parts = [plan.unpack(packed)[1:] for packed in reports.batches(_AT_ONCE)]
    if not parts:
        raise EstimateError("there are no reports to train a classifier on")
    classes, bits = (np.concatenate(each) for each in zip(*parts, strict=True))
    return bit_frame(bits, plan), np.array(plan.labels)[classes]


def naive_bayes(state: MinerState, alpha: float = 1.0) -> Any:
    """Return scikit-learn's BernoulliNB fitted to each class's estimated shares of values.

    Shares are clipped to [0, 1].

    Args:
        state: A state with collected reports of each class.
        alpha: scikit-learn's additive smoothing, in tuples.

    Returns:
        The fitted estimator.

    Raises:
        EstimateError: A class has no tuples.

    Source: ZWZ05, section 6.

    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> table = pd.DataFrame({"smokes": ["no", "yes"] * 10, "ill": ["no", "yes"] * 10})
    >>> state = ap.guided.publish(ap.guided.start(table, "ill", guarantee=ap.Guarantee("5%", "50%"), known=True))
    >>> reports = ap.randomize(table, state.plan, guidance=state.guidance)
    >>> ap.guided.naive_bayes(ap.guided.collect(state, reports)).class_count_.tolist()
    [20.0, 20.0]
    """
    from sklearn.naive_bayes import BernoulliNB

    counts = state.started + state.received
    if not counts.all():
        raise EstimateError("a class has no tuples so far, so it cannot be learned; collect more reports")
    return BernoulliNB(alpha=alpha, binarize=None).fit(
        bit_frame(np.clip(state.shares, 0, 1), state.plan), np.array(state.plan.labels), sample_weight=counts
    )


FORMAT, VERSION = "assocpriv-miner-state", 2
_FIELDS = {"format", "version", "digest", *MinerState.__dataclass_fields__}
_LARGEST_FILE = 1 << 30


def write_state(state: MinerState, path: str | Path, *, force: bool = False) -> None:
    """Write a state, atomically; equal states give equal bytes.

    Args:
        state: The miner's state.
        path: The file to write.
        force: Replace an existing file.

    Raises:
        FileError: The file exists and ``force`` is not set, or it cannot be written.

    >>> from tempfile import mkdtemp
    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> table = pd.DataFrame({"smokes": ["no", "yes"] * 10, "ill": ["no", "yes"] * 10})
    >>> state = ap.guided.publish(ap.guided.start(table, "ill", guarantee=ap.Guarantee("5%", "50%"), known=True))
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


def replace_state_file(before: MinerState, after: MinerState, path: str | Path) -> None:
    """Write a state over the one from which it was made.

    Raises:
        FileError: Another run has replaced that state meanwhile, or the file cannot be written.
    """
    if Path(path).read_bytes() != _text(before):
        raise FileError(f"{path} was changed by another run meanwhile, so nothing was added; run this again")
    write_state(after, path, force=True)


def read_state(path: str | Path) -> MinerState:
    """Read the state in a file written by :func:`write_state`.

    Args:
        path: The state file.

    Returns:
        The state.

    Raises:
        FileError: The file cannot be read, is not a state, or was cut off or changed.

    >>> from tempfile import mkdtemp
    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> table = pd.DataFrame({"smokes": ["no", "yes"] * 10, "ill": ["no", "yes"] * 10})
    >>> path = f"{mkdtemp()}/state.json"
    >>> ap.guided.write_state(ap.guided.start(table, "ill", guarantee=ap.Guarantee("5%", "50%")), path)
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
        raise FileError(f"{path} is not a complete state of assocpriv guide start: it was cut off, or is another file")
    if set(fields) != _FIELDS or fields.pop("digest") != _content_digest(fields):
        raise FileError(f"{path} was changed or damaged: its digest does not match; use a backup, nothing was added")
    try:
        state = _from_json(fields)
    except (PlanError, KeyError, TypeError, ValueError):  # a digest of nonsense
        raise FileError(f"{path} contradicts itself, so it was not written by assocpriv guide") from None
    if _text(state) != content:  # such as a missing line end: later writes compare these bytes
        raise FileError(f"{path} differs from the bytes that assocpriv guide wrote; use a backup")
    return state


def _text(state: MinerState) -> bytes:
    fields = _to_json(state)
    return (json.dumps(fields | {"digest": _content_digest(fields)}, sort_keys=True) + "\n").encode("ascii")


def _content_digest(fields: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(fields, sort_keys=True, separators=(",", ":")).encode("ascii")).hexdigest()


def _to_json(state: MinerState) -> dict[str, Any]:
    """Return a state as JSON content; symmetric sums are stored as their lower triangle, row by row."""
    lower = np.tril_indices(state.plan.width)
    return {
        "format": FORMAT,
        "version": VERSION,
        "plan": state.plan.to_json(),
        "seed": state.seed,
        "guidances": [guidance.to_json() for guidance in state.guidances],
        "published_at": state.published_at,
        "collected": list(state.collected),
        **{name: getattr(state, name).tolist() for name in ("started", "received", "weighted", "spread")},
        **{name: [each[lower].tolist() for each in getattr(state, name)] for name in ("start_sums", "precision")},
    }


def _from_json(fields: dict[str, Any]) -> MinerState:
    plan = GuidedPlan.from_json(fields["plan"])
    start_sums, precision = (_from_triangles(fields[name], plan) for name in ("start_sums", "precision"))
    started, received = (np.array(fields[name], dtype=np.int64) for name in ("started", "received"))
    weighted, spread = (np.array(fields[name], dtype=np.float64) for name in ("weighted", "spread"))
    guidances = tuple(Guidance.from_json(content) for content in fields["guidances"])
    for guidance in guidances:
        guidance.check(plan)
    known = (started, start_sums.astype(np.int64), received, precision, weighted, spread)
    return MinerState(plan, fields["seed"], *known, guidances, fields["published_at"], tuple(fields["collected"]))


def _from_triangles(triangles: list[list[float]], plan: GuidedPlan) -> Floats:
    """Return the sums of every class, float64 (classes, w, w), from their lower triangles."""
    lower = np.tril_indices(plan.width)
    sums = np.zeros((len(plan.labels), plan.width, plan.width))
    for into, values in zip(sums, triangles, strict=True):
        into[lower] = values
        into.T[lower] = values
    return sums


def publish_file(
    state: str | Path, output: str | Path, *, level: int | None = None, force: bool = False
) -> tuple[MinerState, bool]:
    """Write the current guidance to a file, and keep it in the state file.

    New guidance is made if a batch of tuples has arrived since the last; otherwise the last is written again. The state
    is written first, so published guidance is always in the state.

    Args:
        state: The state file.
        output: The guidance file to write.
        level: Number of directions, as for :func:`publish`.
        force: Replace an existing output.

    Returns:
        The state, and whether its guidance is new.

    Raises:
        FileError: The state was cut off or changed; or the output exists and ``force`` is not set, or it cannot be
            written.
        GuidanceError: The level is below 1, or above the number of bits.

    >>> from tempfile import mkdtemp
    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> table = pd.DataFrame({"smokes": ["no", "yes"] * 10, "ill": ["no", "yes"] * 10})
    >>> folder, guarantee = mkdtemp(), ap.Guarantee("5%", "50%")
    >>> ap.guided.write_state(ap.guided.start(table, "ill", guarantee=guarantee), f"{folder}/state.json")
    >>> state, is_new = ap.guided.publish_file(f"{folder}/state.json", f"{folder}/guidance.json")
    >>> is_new, ap.guided.read_guidance(f"{folder}/guidance.json").guidance_id == state.guidance.guidance_id
    (True, True)
    """

    check_writable(output, force=force, inputs=[Path(state)])
    before = read_state(state)
    after = publish(before, level)
    if after is not before:
        replace_state_file(before, after, state)
    assert after.guidance is not None
    write_guidance(after.guidance, output, force=force)
    return after, after is not before


def collect_files(reports: str | Path | Iterable[str | Path], state: str | Path) -> MinerState:
    """Add files of reports or messages (.jsonl), or folders of reports, to a state file: all of them or none.

    From a folder only new files are added, so the folder of a running collection can be given repeatedly; reports in a
    collector's open batch are added later. Reports in a folder to unknown guidance are left out.

    Args:
        reports: A file, a folder, or several.
        state: The state file.

    Returns:
        The new state.

    Raises:
        FileError: The state was cut off or changed, also by another run meanwhile, or cannot be written.
        PlanError: The reports are of another plan.
        WireError: A given file is damaged or was collected before, or its reports respond to unknown guidance.

    >>> from tempfile import mkdtemp
    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> table = pd.DataFrame({"smokes": ["no", "yes"] * 10, "ill": ["no", "yes"] * 10})
    >>> state = ap.guided.publish(ap.guided.start(table, "ill", guarantee=ap.Guarantee("5%", "50%"), known=True))
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
    replace_state_file(before, done, state)
    return done


def _collect_folder(state: MinerState, folder: Path) -> MinerState:
    """Return the state with a folder's new report files; open batches of a collector are not files yet."""

    files = sorted(folder.glob("[!.]*.parquet"))
    new = [path for path in files if _digest(path) not in state.collected]
    if not files and not (folder / "open").is_dir():
        read_reports(folder)  # raises with the reason
    return collect(state, read_reports(new), leave_out=True) if new else state
