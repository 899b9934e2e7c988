"""Verbs of who holds the baskets: release, read_release."""

from collections.abc import Callable, Iterable
from fractions import Fraction
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from assocpriv.files.releases import Release, read_release
from assocpriv.guarantees.amplification import parse_number
from assocpriv.guarantees.errors import BasketError, PlanError

if TYPE_CHECKING:
    from assocpriv.plans.baskets.catalogue import Catalogue

__all__ = ["read_release", "release"]


def release(
    baskets: Any,
    catalogue: "Catalogue | Iterable[str] | str | PathLike[str]",
    *,
    epsilon: float | str | Fraction = 1,
    delta: float | str | Fraction = "1e-8",
    person: str | int | None = None,
    baskets_per_person: int | None = None,
    person_as: str = "checked",
    max_itemset: int = 3,
    layout: str | None = None,
    unknown: str = "error",
    repeats: str = "error",
    empty: str = "error",
    incomplete: str = "refuse",
    progress: Callable[[str, int, int], None] | None = None,
) -> Release:
    """Count itemsets of raw baskets with noise, under central differential privacy.

    The result may be published: what is computed from it alone, by :func:`mine` or anybody else, keeps its guarantee.
    The catalogue is public, and must not be made from the baskets: a name that only one customer bought would show it.
    Releases of the same baskets or persons add up: their ε and δ at most sum.

    Args:
        baskets: as for :func:`randomize`: :class:`Baskets`, a list of sets, a table, or a file.
        catalogue: the public names of the items, or a file of them.
        epsilon: ε, above 0 and at most 100.
        delta: δ, below 1 over the number of baskets, for discrete Gaussian noise; 0 for two-sided geometric noise.
        person: the column of persons, if the guarantee is for all baskets of a person and not for one basket.
        baskets_per_person: how many baskets of each person are counted, drawn at random; 1 by default.
        person_as: "checked" to refuse several spellings of a person's id, or "written" to treat each as a person.
        max_itemset: size of the largest itemsets counted, 1 to 5.
        layout, unknown, repeats, empty, incomplete: as for :func:`read_baskets`.
        progress: called with (task, steps done, steps).

    Returns:
        The release; its ``write`` writes it to a file, and :func:`mine`, :func:`ask`, :func:`compare` and
        :func:`substitutes` read it as they read reports.

    Raises:
        PlanError: a number is out of range, or there are too few baskets to tell anything.
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
    from assocpriv.records.basket_files import read_baskets
    from assocpriv.records.basket_sources import is_file
    from assocpriv.records.baskets import to_baskets
    from assocpriv.records.columns import as_table
    from assocpriv.records.layout import ReadOptions
    from assocpriv.records.persons import limit_per_person
    from assocpriv.releasing.basket_release import ReleaseOptions, release_baskets

    if (person is None) and baskets_per_person is not None:
        raise PlanError("baskets_per_person needs person, the column of persons; name it, too")
    most = 0 if person is None else 1 if baskets_per_person is None else baskets_per_person
    numbers = (parse_number(epsilon, "epsilon", "a number of nats such as 1"), parse_number(delta, "delta"))
    wanted = ReleaseOptions(*numbers, most, max_itemset)
    if isinstance(catalogue, str | PathLike):
        catalogue = read_catalogue(fspath(catalogue))
    items = catalogue if isinstance(catalogue, Catalogue) else Catalogue(catalogue)
    options = ReadOptions(layout, unknown, repeats, empty, incomplete)
    in_file = is_file(baskets)
    if person is not None and not in_file:
        baskets = as_table(baskets, BasketError)  # read twice
    if in_file:
        read = read_baskets(baskets, items, options)[0]
    else:
        words = {"unknown": unknown, "repeats": repeats, "empty": empty, "incomplete": incomplete}
        read = to_baskets(baskets, layout, catalogue=items, **words)
    if read.catalogue != items:
        raise PlanError("the baskets have another catalogue; give these baskets' own, if it is public")
    if person is not None:
        read = limit_per_person(baskets, person, most, items, options, person_as).select(read)
    return release_baskets(read, wanted, progress=progress)
