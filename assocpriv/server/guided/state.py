"""The miner's state: the sums of what came in, and the guidance that it asks for.

The miner keeps no tuple: of w columns in all it keeps w² sums for each class (equation 4), and the guidance that may
still be answered. Guidance is published again once per batch of tuples, so that nobody can take a single person's
tuple out of the difference of two. Tuples of the start, random ones or of people who do not mind, stay among the sums.

Source: Zhang, Wang, Zhao, A New Scheme on Privacy-Preserving Data Classification, KDD 2005, section 4.1.
"""

import hashlib
import logging
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.reports import Reports
from assocpriv.plans.guidance import Guidance, coin_of, ratio_of, weight_bounds
from assocpriv.plans.guided import GuidedPlan, TupleMix
from assocpriv.promise.errors import EstimateError, PlanError, WireError, counted
from assocpriv.server.guided.correction import class_sums, corrected
from assocpriv.server.guided.spectrum import Spectrum, spectrum

if TYPE_CHECKING:
    from assocpriv.server.spark import SparkReports

RECENT = 32  # guidances that may still be answered: 3,200 tuples at the usual batch
_AT_ONCE = 1 << 16
_LOG = logging.getLogger("assocpriv")  # told what is left out; the command line shows it


@dataclass(frozen=True, eq=False, slots=True)
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
    """

    plan: GuidedPlan
    started: NDArray[np.int64]
    start_sums: NDArray[np.int64]
    received: NDArray[np.int64]
    sums: NDArray[np.float64]
    guidances: tuple[Guidance, ...] = ()
    published_at: int = 0
    collected: tuple[str, ...] = ()

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
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest in known:
            raise WireError(f"{path} was collected before; its tuples would count twice, nothing was added")
        known.add(digest)
        digests.append(digest)
    return digests


def is_collected(state: MinerState, path: Path) -> bool:
    """Tell whether a file has been collected before."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() in state.collected


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
