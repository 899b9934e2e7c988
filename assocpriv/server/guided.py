"""Guided perturbation at the miner: from released tuples to the guidance that asks for the next ones.

The miner keeps no tuple: of w columns in all it keeps w² sums for each class (equation 4), and the guidance that may
still be answered. Guidance is published again once per batch of tuples, so that nobody can take a single person's
tuple out of the difference of two. Tuples of the start, random ones or of people who do not mind, stay among the sums.

**Sums** of r'r over released tuples are an unbiased estimate also where the plan mixes in chance. A plan without a
promise releases R(t) itself. Under a promise kept by ``tuple`` a report is R(u), of a uniformly random tuple u, with
probability q, so that E[r'r] = (1 − q)·E[R(t)'R(t)] + q·U with U = E[R(u)'R(u)], which the guidance alone decides.
Under one kept by ``bits`` each bit is that of R(t) with probability 1 − λ, else a fair coin's: (r_j − λ/2)/(1 − λ) is
unbiased for R(t)_j, independently for every bit, and its square is not needed, as a bit is its own square.

**Where the classes differ** is in the eigen decomposition of the sums. With A_c the sum of R'R over the released tuples
of class c, two classes differ in A = A_0 − A_1 = V Σ V'. The paper takes the k* eigenvectors of its largest
eigenvalues; ordered by value, what class 1 has more of is left out, so that |σ| is the order by default. More than two
classes differ in Σ_c (A_c − Ā)², Ā the mean of the A_c, and σ is the square root of its eigenvalues: for two classes
Σ_c (A_c − Ā)² = A²/2, the same vectors, in the order of |σ|.

**Classifiers** of scikit-learn's are fitted on released tuples, and need no knowledge of the plan: every estimator
takes X and y as they are. Under a promise they hold what the plan mixes in as well, and a classifier learns through it.
Naive Bayes uses shares of single bits alone, of which that can be taken out again.

**At rest** the state is one JSON object with a digest of itself, replaced whole (docs/formats/miner-state.md).

Source: Zhang, Wang, Zhao, A New Scheme on Privacy-Preserving Data Classification, KDD 2005, section 4.1; of
classifiers sections 3 and 6.
"""

import hashlib
import io
import json
import logging
import math
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
from assocpriv.plans.guidance import WEIGHT_TOTAL, Guidance, bit_weights, coin_of, mixing, ratio_of, weight_bounds
from assocpriv.plans.guided import GuidedPlan, TupleMix
from assocpriv.promise.errors import EstimateError, FileError, PlanError, WireError, counted

if TYPE_CHECKING:
    import pandas as pd

    from assocpriv.server.spark import SparkReports


_TUPLES = 1 << 12  # of which U is a mean: all of them where there are no more
BY_VALUE = "value"
_DIGITS = 9
RECENT = 32  # guidances that may still be answered: 3,200 tuples at the usual batch
_AT_ONCE = 1 << 16
_LOG = logging.getLogger("assocpriv")  # told what is left out; the command line shows it
CLASSIFIERS = ("tree", "naive-bayes", "logistic")


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


def corrected(
    counts: NDArray[np.int64], sums: NDArray[np.int64], plan: GuidedPlan, guidance: Guidance
) -> NDArray[np.float64]:
    """Return what the classes' sums of R(t)'R(t) are estimated to be, float64 (classes, w, w), without bias.

    Args:
        counts: tuples of each class that answered the guidance, int64 (classes,).
        sums: their sums of r'r, int64 (classes, w, w).
        plan: the published plan.
        guidance: what they answered.
    """
    return _CORRECTIONS[plan.keep](counts, sums.astype(np.float64), plan, guidance)


def _as_they_are(
    _counts: NDArray[np.int64], sums: NDArray[np.float64], _plan: GuidedPlan, _guidance: Guidance
) -> NDArray[np.float64]:
    return sums


def _without_tuples(
    counts: NDArray[np.int64], sums: NDArray[np.float64], plan: GuidedPlan, guidance: Guidance
) -> NDArray[np.float64]:
    share = float(mixing(plan, guidance))
    expected = counts[:, None, None] * share * random_products(plan, guidance)
    return (sums - expected) / (1 - share)


def _without_coins(
    counts: NDArray[np.int64], sums: NDArray[np.float64], plan: GuidedPlan, guidance: Guidance
) -> NDArray[np.float64]:
    share = float(mixing(plan, guidance))
    if share == 1:  # nothing but coins: they say nothing of anybody
        return np.zeros_like(sums)
    ones, n = np.diagonal(sums, axis1=1, axis2=2), counts[:, None]
    off = sums - share / 2 * (ones[:, :, None] + ones[:, None, :]) + n[:, :, None] * share**2 / 4
    off /= (1 - share) ** 2
    places = np.arange(sums.shape[1])
    off[:, places, places] = (ones - n * share / 2) / (1 - share)
    return off


_CORRECTIONS = {None: _as_they_are, "tuple": _without_tuples, "bits": _without_coins}


def random_products(plan: GuidedPlan, guidance: Guidance) -> NDArray[np.float64]:
    """Return U = E[R(u)'R(u)], float64 (w, w), of uniformly random tuples u.

    It is the mean over all tuples of the plan, or, where there are more than 4,096, over so many random ones, other
    ones for each guidance and the same ones each time: without bias, and with the error of so many reports at most.
    """
    sizes = np.array(plan.sizes)
    if math.prod(plan.sizes) <= _TUPLES:
        positions = np.stack(np.unravel_index(np.arange(math.prod(plan.sizes)), plan.sizes), axis=1)
    else:
        rng = np.random.default_rng([int(guidance.plan_id, 16), guidance.serial])
        positions = rng.integers(0, sizes, (_TUPLES, len(sizes)))
    shares = bit_weights(guidance, plan, positions) / WEIGHT_TOTAL
    products: NDArray[np.float64] = shares.T @ shares / len(shares)
    np.fill_diagonal(products, shares.mean(axis=0))
    return products


# ---- spectra


@dataclass(frozen=True, eq=False, slots=True)
class Spectrum:
    """Eigenvalues σ, float64 (w,), in the order in which they count, and their vectors, the columns of (w, w)."""

    values: NDArray[np.float64]
    vectors: NDArray[np.float64]

    def level(self, share: Fraction) -> int:
        """Return k*, the least k ≥ 1 with σ_{k+1} ≤ μ σ_1 in the order at hand (equation 6), w where there is none.

        >>> spectrum(np.array([np.diag([9.0, 1, 0]), np.diag([0.0, 0, 4])]), "magnitude").level(Fraction(15, 100))
        2
        """
        small = self.values[1:] <= float(share) * self.values[0]
        return int(np.argmax(small)) + 1 if small.any() else len(self.values)


def spectrum(sums: NDArray[np.float64], order: str) -> Spectrum:
    """Decompose the difference of the classes' sums, float64 (classes, w, w).

    ``order`` is ``"magnitude"``, by |σ| and of equal ones the positive first, or ``"value"``, of two classes alone. The
    largest entry of a vector, the first of several, is positive. What agrees to nine digits counts as equal, so that
    another machine's last digit decides neither. By magnitude ``values`` are |σ|.
    """
    values, vectors = np.linalg.eigh(_difference(sums))
    if len(sums) > 2:
        values = np.sqrt(np.clip(values, 0, None))
    key = values if order == BY_VALUE else np.abs(values)
    scale = np.abs(values).max() or 1.0
    places = np.lexsort((-values, -np.round(key / scale, _DIGITS)))
    vectors = vectors[:, places]
    largest = np.round(np.abs(vectors), _DIGITS).argmax(axis=0)
    signs = np.where(vectors[largest, np.arange(len(values))] < 0, -1.0, 1.0)
    return Spectrum(key[places], vectors * signs)


def _difference(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    if len(sums) == 2:
        difference: NDArray[np.float64] = sums[0] - sums[1]
        return difference
    apart = sums - sums.mean(axis=0)
    total: NDArray[np.float64] = (apart @ apart).sum(axis=0)
    return total


# ---- state


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class MinerState:
    """All that the miner knows.

    Attributes:
        plan: the published plan.
        started: tuples of each class at the start, int64 (classes,).
        start_sums: of t't over these, int64 (classes, w, w).
        received: tuples of each class that were collected since, int64 (classes,).
        sums: of r'r over these, corrected for what the plan mixes in, float64 (classes, w, w).
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
    started: NDArray[np.int64]
    start_sums: NDArray[np.int64]
    received: NDArray[np.int64]
    sums: NDArray[np.float64]
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
    def spectrum(self) -> Spectrum:
        """Where the classes differ, as far as is known."""
        return spectrum(self.start_sums + self.sums, self.plan.order)


def start(plan: GuidedPlan, classes: NDArray[np.integer], bits: NDArray[np.uint8]) -> MinerState:
    """Begin with tuples in the plan's form, uint8 (n, w), of the classes at positions (n,).

    Raises:
        EstimateError: fewer tuples of a class than the plan has attributes.
    """
    counts, sums = class_sums(classes, bits, len(plan.labels))
    few = [place for place, count in enumerate(counts) if count < len(plan.attributes)]
    if few:
        raise EstimateError(
            f"class {plan.labels[few[0]]} has {counted(int(counts[few[0]]), 'tuple')} to start with, but needs "
            f"{len(plan.attributes)}, one for each attribute; give more, or start with random ones"
        )
    return MinerState(plan, counts, sums, np.zeros_like(counts), np.zeros(sums.shape))


def random_start(plan: GuidedPlan, seed: int | None = None) -> MinerState:
    """Begin with uniformly random tuples, of each class as many as there are attributes.

    They are nobody's, and need no entropy of the system's. ``seed`` makes them repeatable.
    """
    rng = np.random.default_rng(seed)
    classes = np.repeat(np.arange(len(plan.labels)), len(plan.sizes))
    positions = rng.integers(0, np.array(plan.sizes), (len(classes), len(plan.sizes)))
    return start(plan, classes, plan.to_bits(positions))


def publish(state: MinerState, level: int | None = None) -> MinerState:
    """Return the state with guidance to publish as its last: a new one if a batch has come in, else the one it has.

    ``level`` asks for so many eigenvectors instead of those that the plan's μ needs.

    Raises:
        EstimateError: a class without tuples.
        GuidanceError: a level below 1.

    Source: ZWZ05, section 4.1, equations (4) to (6).

    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> table = pd.DataFrame({"smokes": ["no", "yes"] * 10, "ill": ["no", "yes"] * 10})
    >>> state = ap.guided.publish(ap.guided.start(table, "ill", promise=ap.Breach("5%", "50%"), known=True))
    >>> state.guidance.serial, state.guidance.level, ap.guided.publish(state) is state
    (1, 2, True)
    """
    if not state.is_due:
        return state
    absent = [name for name, n in zip(state.plan.labels, state.started + state.received, strict=True) if not n]
    if absent:
        raise EstimateError(
            f"class {absent[0]} has no tuple so far, so nothing is known of how it differs; collect more"
        )
    found = state.spectrum
    wanted = found.level(state.plan.mu) if level is None else level
    serial = state.guidances[-1].serial + 1 if state.guidances else 1
    made = Guidance.of_vectors(state.plan, serial, found.vectors[:, :wanted])
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
    n_classes, n_cells = len(state.plan.labels), state.sums[0].size
    n_sums = len(state.guidances) * n_classes * (1 + n_cells)
    found = count(0, reports) if isinstance(reports, Reports) else reports.add_up(count, n_sums)
    received, sums = state.received.copy(), state.sums.copy()
    for guidance, each in zip(state.guidances, found.reshape(-1, n_classes, 1 + n_cells), strict=True):
        received += each[:, 0]
        sums += corrected(each[:, 0], each[:, 1:].reshape(sums.shape), state.plan, guidance)
    if left := len(reports) - int((received - state.received).sum()):
        _LOG.info(
            "%s left out: not of the last %d guidances that this state has published", counted(left, "report"), RECENT
        )
    return replace(state, received=received, sums=sums, collected=(*state.collected, *digests))


def _sums_by_guidance(state: MinerState, leave_out: bool, _first: int, reports: Reports) -> NDArray[np.int64]:
    """Return what reports add up to, int64: by guidance and class the tuples' number, and their sums of r'r."""
    places = {guidance.serial: place for place, guidance in enumerate(state.guidances)}
    n_classes = len(state.plan.labels)
    found = np.zeros((len(places), n_classes, 1 + state.sums[0].size), dtype=np.int64)
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
    """Return scikit-learn's BernoulliNB of the corrected shares of bits by class, of what was received.

    The diagonals of the sums are the expected number of each bit; a share outside [0, 1] is moved to its end.

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
    [10.0, 10.0]
    """
    from sklearn.naive_bayes import BernoulliNB

    plan, counts = state.plan, state.received
    if not counts.all():
        raise EstimateError("a class has no tuples so far, so nothing can be learned of it; collect more")
    shares = np.clip(np.diagonal(state.sums, axis1=1, axis2=2) / counts[:, None], 0, 1)
    return BernoulliNB(alpha=alpha, binarize=None).fit(
        bit_frame(shares, plan), np.array(plan.labels), sample_weight=counts
    )


FORMAT, VERSION = "assocpriv-miner-state", 1
_FIELDS = {
    "format", "version", "plan", "started", "start_sums", "received", "sums", "guidances", "published_at", "collected",
    "digest",
}  # fmt: skip
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
        "started": state.started.tolist(),
        "start_sums": [each[lower].tolist() for each in state.start_sums],
        "received": state.received.tolist(),
        "sums": [_short(each[lower]) for each in state.sums],
        "guidances": [guidance.to_json() for guidance in state.guidances],
        "published_at": state.published_at,
        "collected": list(state.collected),
    }


def _short(sums: NDArray[np.float64]) -> list[int | float]:
    """Return sums as JSON writes them shortest and reads them to the last bit: whole ones without a fraction."""
    return [int(value) if value.is_integer() else value for value in sums.tolist()]


def _from_json(fields: dict[str, Any]) -> MinerState:
    plan = GuidedPlan.from_json(fields["plan"])
    start_sums, sums = (_whole(fields[name], plan) for name in ("start_sums", "sums"))
    started, received = (np.array(fields[name], dtype=np.int64) for name in ("started", "received"))
    guidances = tuple(Guidance.from_json(content) for content in fields["guidances"])
    for guidance in guidances:
        guidance.check(plan)
    at, collected = fields["published_at"], tuple(fields["collected"])
    return MinerState(plan, started, start_sums.astype(np.int64), received, sums, guidances, at, collected)


def _whole(triangles: list[list[float]], plan: GuidedPlan) -> NDArray[np.float64]:
    """Return the sums of every class, float64 (classes, w, w), of their lower triangles."""
    lower = np.tril_indices(plan.width)
    sums = np.zeros((len(plan.labels), plan.width, plan.width))
    for into, values in zip(sums, triangles, strict=True):
        into[lower] = values
        into.T[lower] = values
    return sums


def publish_file(state: str | Path, output: str | Path, *, force: bool = False) -> tuple[MinerState, bool]:
    """Write the guidance that people are to answer now; the state file keeps it.

    A new one is made when a batch of tuples has come in since the last; otherwise that is written again. The state is
    written first: guidance that was published is never forgotten.

    Returns:
        The state, and whether its guidance is a new one.

    Raises:
        FileError: a state that was cut or changed, or an output that exists without ``force`` or cannot be written.
        EstimateError: a class without tuples.

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
    after = publish(before)
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
