"""Verbs of who holds the baskets: release, read_release, release_budget."""

from collections.abc import Callable, Iterable
from fractions import Fraction
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assocpriv.files.atomic import check_writable
from assocpriv.files.release_ledger import UNITS, BudgetEntry, parse_limit, release_budget, spend, today
from assocpriv.files.releases import MOST_BASKETS_PER_PERSON, Release, read_release
from assocpriv.guarantees.amplification import parse_number
from assocpriv.guarantees.errors import PlanError
from assocpriv.guarantees.exact_numbers import check_range

if TYPE_CHECKING:
    from assocpriv.plans.baskets.catalogue import Catalogue

__all__ = ["read_release", "release", "release_budget"]


def release(
    baskets: Any,
    catalogue: "Catalogue | Iterable[str] | str | PathLike[str] | None" = None,
    *,
    discover: bool = False,
    epsilon: float | str | Fraction = 1,
    delta: float | str | Fraction = "1e-8",
    person: str | int | None = None,
    baskets_per_person: int | None = None,
    person_as: str = "checked",
    max_itemset: int = 3,
    ledger: str | PathLike[str] | None = None,
    limit: str | None = None,
    output: str | PathLike[str] | None = None,
    force: bool = False,
    layout: str | None = None,
    unknown: str = "error",
    repeats: str = "error",
    empty: str = "error",
    incomplete: str = "refuse",
    progress: Callable[[str, int, int], None] | None = None,
) -> Release:
    """Count itemsets of raw baskets with noise, under central differential privacy.

    The result may be published: what is computed from it alone, by :func:`mine` or anybody else, keeps its guarantee.
    A catalogue is public, and must not be made from the baskets: a name that only one customer bought would show it.
    Without one, ``discover`` publishes the names whose noisy counts reach a threshold, for a tenth of δ.
    Releases of the same baskets or persons add up: their ε and δ at most sum.

    Args:
        baskets: as for :func:`randomize`: :class:`Baskets`, a list of sets, a table, or a file.
        catalogue: the public names of the items, or a file of them.
        discover: publish items found in the baskets, in place of a catalogue.
        epsilon: ε, above 0 and at most 100.
        delta: δ, below 1 over the number of baskets, for discrete Gaussian noise; 0 for two-sided geometric noise.
        person: the column of persons, if the guarantee is for all baskets of a person and not for one basket.
        baskets_per_person: how many baskets of each person are counted, drawn at random; 1 by default.
        person_as: "checked" to refuse several spellings of a person's id, or "written" to treat each as a person.
        max_itemset: size of the largest itemsets counted, 1 to 5.
        ledger: the owner's ledger of releases of these baskets or persons, in which this one is counted before it is
            made; keep it with care.
        limit: of a new ledger, ε and δ of all releases together, as ``"4,1e-7"``.
        output: a file to write the release to, .parquet.
        force: replace an existing file.
        layout, unknown, repeats, empty, incomplete: as for :func:`read_baskets`.
        progress: called with (task, steps done, steps).

    Returns:
        The release; :func:`mine`, :func:`ask`, :func:`compare` and
        :func:`substitutes` read it as they read reports.

    Raises:
        PlanError: a number is out of range, there are too few baskets to tell anything, a ledger is for others, or
            neither or both of ``catalogue`` and ``discover`` are given.
        BudgetError: the ledger's limit would be exceeded; nothing is released.
        FileError: the ledger or the output cannot be written.
        BasketError: the baskets cannot be read, as :func:`read_baskets`.

    Source: Canonne, Kamath, Steinke, The Discrete Gaussian for Differential Privacy, NeurIPS 2020.

    >>> import assocpriv as ap
    >>> counts = ap.release([{"milk", "tea"}, {"tea"}] * 5_000, ["milk", "tea"], epsilon=2)
    >>> found = ap.mine(counts)
    >>> sorted(sorted(itemset) for itemset in found[found["selected"]]["itemsets"])
    [['milk'], ['milk', 'tea'], ['tea']]
    """
    from assocpriv.files.plan_files import read_catalogue
    from assocpriv.plans.baskets.catalogue import Catalogue
    from assocpriv.records.layout import ReadOptions
    from assocpriv.releasing.basket_release import ReleaseOptions, release_baskets
    from assocpriv.releasing.reading import read_once

    if (catalogue is None) != discover:
        raise PlanError(
            "name the public catalogue, or set discover (--discover) to publish items that are in many of the baskets"
        )
    if limit is not None and ledger is None:
        raise PlanError("a limit is that of a ledger; name its file, too")
    most = 0
    if person is not None:
        count = 1 if baskets_per_person is None else baskets_per_person
        most = check_range("baskets_per_person", count, 1, MOST_BASKETS_PER_PERSON)
    elif baskets_per_person is not None:
        raise PlanError("baskets_per_person needs person, the column of persons; name it, too")
    numbers = (parse_number(epsilon, "epsilon", "a number of nats such as 1"), parse_number(delta, "delta"))
    wanted = ReleaseOptions(*numbers, most, max_itemset, discover)
    if isinstance(catalogue, str | PathLike):
        catalogue = read_catalogue(fspath(catalogue))
    items = catalogue if catalogue is None or isinstance(catalogue, Catalogue) else Catalogue(catalogue)
    read = read_once(baskets, items, ReadOptions(layout, unknown, repeats, empty, incomplete), person, most, person_as)
    if output is not None:
        check_writable(output, force=force)
    if ledger is not None:
        entry = BudgetEntry(
            today(), "" if output is None else Path(output).name, wanted.epsilon, wanted.delta, wanted.threshold_delta
        )
        spend(ledger, entry, UNITS[most > 0], None if limit is None else parse_limit(limit))
    made = release_baskets(read, wanted, progress=progress)
    if output is not None:
        made.write(output, force=force)
    return made
