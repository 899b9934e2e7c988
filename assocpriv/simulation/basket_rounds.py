"""Both rounds of a collection, where one program holds the baskets: for trials, and for tills that randomize them.

Some of the people, drawn at random, report under the first plan. The plan of the second round follows from their
reports alone, and the others report under it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assocpriv.client.baskets.bulk_client import randomize_chunks
from assocpriv.client.baskets.transactions import BasketCounts, align_baskets, read_transactions
from assocpriv.files.atomic import check_writable
from assocpriv.files.plan_files import write_plan
from assocpriv.files.report_files import Reports
from assocpriv.guarantees.entropy import SystemEntropy
from assocpriv.guarantees.errors import BasketError, FileError, PlanError, PrivacyLimitError
from assocpriv.planning.collection_rounds import NextRound, first_count, plan_next_round
from assocpriv.planning.truncation_loss import TruncationLoss, measure_truncation_loss
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.records.basket_sources import is_file
from assocpriv.records.baskets import Baskets, count_sizes
from assocpriv.records.layout import ReadOptions
from assocpriv.records.persons import limit_per_person
from assocpriv.server.baskets.counting import LocalBackend
from assocpriv.server.baskets.mining import learn_items

if TYPE_CHECKING:
    from assocpriv.guarantees.entropy import WordEntropy

Progress = Callable[[str, int, int], None]
FILES = ("first.parquet", "second-plan.json", "second.parquet")


@dataclass(frozen=True, slots=True)
class BothRounds:
    """The reports of both rounds of a collection.

    Attributes:
        first: the reports of the first round.
        next_round: the plan of the second round, and what was learned.
        second: the reports of the second round.
        losses: the support that truncation loses in each round; in the second, of its own items.
        read: counts of skipped items, and of baskets by size; None for baskets in the plan's own catalogue.
    """

    first: Reports
    next_round: NextRound
    second: Reports
    losses: tuple[TruncationLoss, TruncationLoss]
    read: BasketCounts | None = None

    def write(self, paths: Sequence[Path], *, force: bool) -> None:
        """Write the reports of the first round, the second plan, and the reports of the second round.

        Args:
            paths: three files.
            force: replace existing ones.

        Raises:
            FileError: a file exists without ``force``, or cannot be written.
        """
        self.first.write(paths[0], force=force)
        write_plan(self.next_round.plan, paths[1], force=force)
        self.second.write(paths[2], force=force)


def randomize_rounds(
    baskets: Baskets, plan: Plan, *, entropy: "WordEntropy | None" = None, best: int | None = None,
    progress: Progress | None = None,
) -> BothRounds:  # fmt: skip
    """Randomize transactions over a plan's catalogue, one for each person, in two rounds.

    Raises:
        PlanError: the plan is not for one report of each person, or not about single items.
        PrivacyLimitError: fewer baskets in the first round than the plan's central guarantee is proved for.
        BasketError: fewer than two baskets.
    """
    if plan.reports_per_person > 1:
        raise PlanError(
            "both rounds of a file are for plans of one report per person; split the people, and use refine"
        )
    if plan.items.itemset_size > 1:
        raise PlanError(
            f"this plan is for itemsets of up to {plan.items.itemset_size} items; the first of two rounds is about "
            "single items: make its plan with rounds=2 (assocpriv plan --rounds 2)"
        )
    if len(baskets) < 2:
        raise BasketError("two rounds need at least two baskets")
    asked = first_count(plan.n_items, len(baskets))
    if asked < plan.minimum_batch_size:
        raise PrivacyLimitError(
            f"{asked:,} of {len(baskets):,} people report in the first round, fewer than the "
            f"{plan.minimum_batch_size:,} of this plan's central guarantee; make a plan for them: "
            f"assocpriv plan --people {len(baskets)}"
        )
    source = entropy or SystemEntropy()
    order = np.random.default_rng(source.words(4).tolist()).permutation(len(baskets))
    first_rows, others = (np.sort(rows) for rows in np.split(order, [asked]))
    stage = partial(progress, "randomizing") if progress else None
    first_baskets = baskets.take(first_rows)
    first = _reports_of(first_baskets, plan, source, stage)
    learned = learn_items([LocalBackend.from_reports(first, progress=progress)])
    following = plan_next_round(learned, plan, best, len(others))
    thinned, _ = align_baskets(baskets.take(others), following.plan)
    second = _reports_of(thinned, following.plan, source, stage)
    lost = measure_truncation_loss(count_sizes(first_baskets), plan)
    lost_then = measure_truncation_loss(count_sizes(thinned), following.plan)
    return BothRounds(first, following, second, (lost, lost_then))


def _reports_of(
    baskets: Baskets, plan: Plan, entropy: "WordEntropy", progress: Callable[[int, int], None] | None
) -> Reports:
    packed = [chunk.packed for chunk in randomize_chunks(baskets, plan, entropy=entropy, progress=progress)]
    return Reports(plan, np.concatenate([np.empty((0, plan.report_bytes), dtype=np.uint8), *packed]))


def randomize_in_rounds(
    records: Any,
    plan: Plan,
    folder: str | PathLike[str],
    *,
    best: int | None = None,
    person: str | int | None = None,
    person_as: str = "checked",
    layout: str | None = None,
    unknown: str | None = None,
    repeats: str | None = None,
    empty: str | None = None,
    incomplete: str | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> BothRounds:
    """Randomize baskets in a file or in memory in two rounds, with the operating system's entropy.

    Args:
        records: baskets, as for :func:`assocpriv.randomize`; each is another person's, or those of a ``person``.
        plan: the plan of the first round, for one report of each person.
        folder: the folder for ``first.parquet``, ``second-plan.json`` and ``second.parquet``; made if missing.
        best: number of items of the second round; 32 by default.
        person, person_as: as for :func:`assocpriv.randomize`.
        layout, unknown, repeats, empty, incomplete: as for :func:`assocpriv.randomize`.
        force: replace existing files.
        progress: called with (stage, done, total).

    Returns:
        The reports of both rounds, the second plan with what was learned, and counts of what was read.

    Raises:
        RecordError: baskets that do not fit the plan, or fewer than two.
        PlanError: a plan of another type, for several reports of a person, or not about single items.
        PrivacyLimitError: fewer baskets in the first round than the plan's central guarantee is proved for.
        FileError: the files exist without ``force``, or cannot be written.
        TypeError: no plan, or no baskets.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> plan = ap.plan([*"abcdefgh"], ap.Guarantee("5%", "50%"), reports=2_000, rounds=2)
    >>> done = ap.simulation.randomize_in_rounds([{"a", "b"}] * 2_000, plan, mkdtemp(), best=2)
    >>> len(done.first), len(done.second), done.next_round.plan.n_items
    (400, 1600, 2)
    """
    Plan.require(plan)
    paths = check_folder(Path(folder), FILES, force=force)
    in_file = is_file(records)
    given = {"layout": layout, "unknown": unknown, "repeats": repeats, "empty": empty, "incomplete": incomplete}
    reading: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if in_file and progress:
        reading["progress"] = partial(progress, "reading")
    options = ReadOptions(**reading)
    transactions, read = read_transactions(records, plan, options)
    if person is not None:
        kept = limit_per_person(
            records, person, plan.reports_per_person, plan.catalogue, replace(options, progress=None), person_as
        )
        transactions = kept.select(transactions)
        read = BasketCounts(read.read, count_sizes(transactions), kept.people)
    done = replace(randomize_rounds(transactions, plan, best=best, progress=progress), read=read)
    make_folder(Path(folder))
    done.write(paths, force=force)
    return done


def check_folder(folder: Path, names: Sequence[str], *, force: bool) -> list[Path]:
    """Return the paths of the files of a folder, which need not exist yet.

    Raises:
        FileError: a file exists without ``force``, or the folder's name is that of a file.
    """
    if folder.is_dir():
        return [check_writable(folder / name, force=force) for name in names]
    if folder.exists() or folder.suffix in (".parquet", ".json"):
        raise FileError(f"{folder} is the name of a file; name a folder for {names[0]} and the other files")
    return [folder / name for name in names]


def make_folder(folder: Path) -> None:
    """Make a folder if it is missing.

    Raises:
        FileError: it cannot be created.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot create the folder {folder}: {error.strerror or error}") from None
