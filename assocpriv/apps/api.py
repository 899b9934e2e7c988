"""What a data scientist types first: the steps from baskets to itemsets, with their usual defaults."""

import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assocpriv.client.basket_files import ReadCounts, read_baskets, stream_baskets
from assocpriv.client.baskets import Baskets, to_baskets
from assocpriv.client.bulk import randomize_chunks
from assocpriv.client.itemset import Randomizer
from assocpriv.client.sampling import SamplingLoss, count_sizes, sampling_loss
from assocpriv.core.entropy import SystemEntropy
from assocpriv.core.errors import BasketError
from assocpriv.core.machine import default_memory, workers_within
from assocpriv.core.plan import Plan
from assocpriv.files.reports import Reports, read_reports, write_reports
from assocpriv.lab.planner import make_plan as plan
from assocpriv.server import itemsets as mined

if TYPE_CHECKING:
    import pandas as pd

    from assocpriv.lab.simulate import Simulation

__all__ = [
    "mine",
    "plan",
    "randomize",
    "randomize_baskets",
    "randomize_file",
    "read_baskets",
    "simulate",
    "to_baskets",
]


def randomize(transaction: Collection[str | int], plan: Plan) -> bytes:
    """Randomize one transaction with the operating system's entropy.

    Args:
        transaction: names of items of the plan's catalogue (an int 7 is the name "7"), none repeated; any
            number of them, also none.
        plan: the published plan.

    Returns:
        The report: ``plan.report_bytes`` bytes, all that may leave the device.

    Raises:
        BasketError: an item outside the catalogue or repeated.
        TypeError: not a collection of names.

    Source: EGS03, sections 5 and 6.
    """
    _check_plan(plan)
    if isinstance(transaction, str | bytes) or not isinstance(transaction, Collection):
        raise TypeError("a transaction must be a set or list of item names; randomize_baskets takes many of them")
    index = plan.catalogue.index_of
    items = []
    for position, name in enumerate(transaction, 1):
        if isinstance(name, bool) or not isinstance(name, str | int | np.integer):
            raise TypeError(f"item {position} must be a name (text or int), got a {type(name).__name__}")
        if str(name) not in index:
            raise BasketError(f"item {position} of the basket is not in the plan's catalogue; leave it out")
        items.append(index[str(name)])
    return Randomizer(plan).randomize(items, entropy=SystemEntropy())


def _check_plan(plan: object) -> None:
    if not isinstance(plan, Plan):
        raise TypeError(f"plan must be a Plan (read_plan reads one from a file), got a {type(plan).__name__}")


def randomize_baskets(
    baskets: Any, plan: Plan, *, unknown: str = "error", progress: Callable[[int, int], None] | None = None
) -> Reports:
    """Randomize many baskets with the operating system's entropy.

    Args:
        baskets: :class:`Baskets`, a list of sets, or a data frame (see :func:`to_baskets`).
        plan: the published plan.
        unknown: ``error`` or ``drop``: what to do with items outside the plan's catalogue.
        progress: called with (baskets done, baskets).

    Raises:
        BasketError: baskets that do not fit the plan.
    """
    _check_plan(plan)
    aligned, _ = to_baskets(baskets).aligned(plan.catalogue, unknown=unknown)
    chunks = randomize_chunks(aligned, plan, entropy=SystemEntropy(), progress=progress)
    parts = [chunk.packed for chunk in chunks]
    packed = np.concatenate(parts) if parts else np.empty((0, plan.report_bytes), dtype=np.uint8)
    return Reports(plan, packed)


@dataclass(frozen=True, slots=True)
class RandomizedFile:
    """What randomizing a file met.

    Attributes:
        counts: baskets, and items dropped, merged and kept on the way.
        empty: baskets that came out empty.
        loss: what sampling long baskets loses.
    """

    counts: ReadCounts
    empty: int
    loss: SamplingLoss


def randomize_file(
    baskets: str | Path,
    plan: Plan,
    output: str | Path,
    *,
    format: str | None = None,  # noqa: A002 -- as read_baskets
    unknown: str = "error",
    repeats: str = "error",
    empty: str = "error",
    memory_bytes: int | None = None,
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> RandomizedFile:
    """Randomize a file of baskets of any size into a file of reports, with the operating system's entropy.

    Args:
        baskets: the file, read batch by batch.
        plan: the published plan.
        output: Parquet file to write; it appears whole or not at all.
        format: as for :func:`read_baskets`.
        unknown: as for :func:`read_baskets`.
        repeats: as for :func:`read_baskets`.
        empty: as for :func:`read_baskets`.
        memory_bytes: what reading may hold at a time; a quarter of the free memory by default.
        force: replace an existing file.
        progress: called with (bytes read, bytes of the file).

    Raises:
        BasketError: as :func:`read_baskets`, or a line or a file of the long layout that does not fit the memory.
        FileError: the output exists and ``force`` is not set, or cannot be written.
    """
    _check_plan(plan)
    choices = {"unknown": unknown, "repeats": repeats, "empty": empty}
    memory = default_memory() if memory_bytes is None else memory_bytes
    stream = stream_baskets(baskets, plan.catalogue, format=format, memory_bytes=memory, progress=progress, **choices)
    sizes: Counter[int] = Counter()

    def counted() -> Iterator[Baskets]:
        for batch in stream:
            sizes.update(count_sizes(batch))
            yield batch

    chunks = randomize_chunks(counted(), plan, entropy=SystemEntropy(), workers=workers_within(memory))
    write_reports((chunk.packed for chunk in chunks), plan, output, force=force)
    return RandomizedFile(stream.counts, sizes[0], sampling_loss(sizes, plan))


def mine(
    reports: Reports | str | Path | Iterable[str | Path],
    min_support: float | str,
    *,
    max_itemset: int | None = None,
    confidence_level: float = 0.95,
    population: bool = False,
    memory_bytes: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> "pd.DataFrame":
    """Find frequent itemsets from reports alone.

    Supports are shares of transactions *within at most M sampled items* (the plan's transaction size): a longer
    basket reported only M of its items. Estimates are unbiased and not clipped to [0, 1].

    Args:
        reports: reports, a report file, a folder of them, or a list of files.
        min_support: in (0, 1], as 0.02 or ``"2%"``.
        max_itemset: largest itemsets; the plan's ``itemset_size`` by default, which its generator supports.
        confidence_level: of the intervals ``ci_low`` … ``ci_high`` (normal approximation).
        population: standard errors for the population that the transactions were drawn from, instead of for
            the transactions that were collected.
        memory_bytes: what of reports, bitmaps and candidates may be held; a quarter of the free memory by default.
        progress: called with (what is done, done, total).

    Returns:
        One row an itemset: ``support``, ``itemsets`` (frozenset of names), ``std_error``, ``ci_low``, ``ci_high``,
        ``length``, ``frequent``, ``count`` (reports showing the itemset). Subsets of frequent itemsets that noise
        pushes below ``min_support`` are there with ``frequent`` False. ``write_itemsets`` keeps the table with
        what ``association_rules`` needs of it.

    Raises:
        EstimateError: no reports, or sizes that the plan cannot answer.
        WireError: files that are damaged or of different plans.

    Warns:
        UserWarning: of itemset sizes that these reports cannot decide at this support.
    """
    collection = _collection(reports)
    frame = mined.mine(
        collection,
        min_support,
        max_itemset=max_itemset,
        confidence_level=confidence_level,
        population=population,
        memory_bytes=memory_bytes,
        progress=progress,
    )
    for line in mined.describe_undecided(mined.mining_facts(frame)):
        warnings.warn(line, stacklevel=2)
    return frame


def _collection(reports: Any) -> Reports:
    if isinstance(reports, Reports):
        return reports
    paths = [reports] if isinstance(reports, str | Path) else reports
    if hasattr(paths, "columns") or not isinstance(paths, Iterable):
        raise TypeError(f"reports must be Reports, a file or a list of files, got a {type(reports).__name__}")
    listed = list(paths)
    if not all(isinstance(path, str | Path) for path in listed):
        raise TypeError("a list of reports must name files; write collections with Reports.write and list the files")
    return read_reports(listed)


def simulate(
    baskets: Any,
    plan: Plan,
    min_support: float | str,
    *,
    max_itemset: int | None = None,
    seed: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> "Simulation":
    """Randomize baskets, mine the reports and compare with the truth: what would this plan find on data like mine?

    Args:
        baskets: :class:`Baskets`, a list of sets, or a data frame (see :func:`to_baskets`).
        plan: the plan to try.
        min_support: in (0, 1], as 0.02 or ``"2%"``.
        max_itemset: largest itemsets; the plan's ``itemset_size`` by default.
        seed: makes the run repeatable; the operating system's entropy by default.
        progress: called with (stage, done, total).

    Returns:
        ``itemsets`` with their ``true_support`` (within at most M sampled items) and ``raw_support``, ``missed``
        ones, counts of found, missed and false ones, and the time of each stage.

    Raises:
        BasketError: an item outside the plan's catalogue.
        EstimateError: no baskets, or sizes that the plan cannot answer.
    """
    from assocpriv.lab.simulate import simulate as run

    aligned, _ = to_baskets(baskets).aligned(plan.catalogue)
    return run(aligned, plan, min_support, max_itemset=max_itemset, seed=seed, progress=progress)
