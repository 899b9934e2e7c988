"""The door of files of baskets: reading them, and the catalogue of names that a collection may publish."""

import warnings
from collections.abc import Callable
from os import PathLike
from typing import TYPE_CHECKING, Any

from assocpriv.plans.kind import on_first_use
from assocpriv.promise.errors import counted

if TYPE_CHECKING:
    from assocpriv.files.names import check_catalogue, write_catalogue
    from assocpriv.files.plans import read_catalogue
    from assocpriv.plans.catalogue import Catalogue
    from assocpriv.records.baskets import Baskets
    from assocpriv.simulation.samples import draft_catalogue, try_catalogue

__all__ = [
    "catalogue", "check_catalogue", "draft_catalogue", "read_baskets", "read_catalogue", "try_catalogue",
    "write_catalogue",
]  # fmt: skip
_HOMES = {
    "assocpriv.files.names": ("check_catalogue", "write_catalogue"),
    "assocpriv.files.plans": ("read_catalogue",),
    "assocpriv.simulation.samples": ("draft_catalogue", "try_catalogue"),
}

__getattr__, __dir__ = on_first_use(globals(), _HOMES)


def read_baskets(
    path: str | PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 -- the command line's --format
    separator: str | None = None,
    header: bool | None = None,
    transaction_column: str | int | None = None,
    item_column: str | int | None = None,
    catalogue: "Catalogue | None" = None,
    unknown: str = "error",
    repeats: str = "error",
    empty: str = "error",
    progress: Callable[[int, int], None] | None = None,
) -> "Baskets":
    """Read a file of baskets.

    What is not said of a CSV file's layout is found out from its first lines, or refused where these may mean several
    things; the logger ``assocpriv`` is told what was understood, at the level INFO. docs/cli.md has the rules.

    Args:
        path: the file; a name that ends in .gz is decompressed.
        format: "dat" (a line of item numbers a basket, blanks between), "basket" (CSV, a line of names a
            basket), "long" (CSV, a line an item of a transaction, blank lines ignored), "onehot" (CSV with a header,
            a column an item, cells 1 and 0 or t and f), "parquet" (long, or a column of lists). By default .dat and
            .txt are dat, .parquet and .pq are parquet, and .csv and .tsv show it themselves.
        separator: of the cells: "," ";" "|" "tab" or "blank".
        header: whether line 1 names columns.
        transaction_column: of the long layout, by name or number from 1; of onehot, the column that is no item.
        item_column: of the long layout, or the column of lists, by name or number from 1.
        catalogue: the items there may be, looked up by name: the number 7 is the name "7". By default
            0 … the largest number for dat (the distinct ones beyond 2^20), the columns for onehot, otherwise the
            sorted names.
        unknown: "error", or "drop" to leave out items that are not in the catalogue.
        repeats: "error", or "merge" to count an item that a basket repeats once.
        empty: "error", or "keep" to take a blank line, or a null or empty list, as an empty basket.
        progress: called with (bytes read, bytes of the file).

    Returns:
        The baskets in the order of the file; those of the long layout by first appearance.

    Raises:
        BasketError: a file that cannot be read, is not of the format or may be of several; unknown, repeated, missing
            or unusable items; empty baskets.
    """
    from assocpriv.records import basket_files

    options = basket_files.ReadOptions(
        format,
        unknown,
        repeats,
        empty,
        progress=progress,
        separator=separator,
        header=header,
        transaction_column=transaction_column,
        item_column=item_column,
    )
    return basket_files.read_baskets(path, catalogue, options)[0]


def catalogue(
    *sources: Any,
    min_count: int = 1,
    format: str | None = None,  # noqa: A002 -- as read_baskets
    separator: str | None = None,
    header: bool | None = None,
    transaction_column: str | int | None = None,
    item_column: str | int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> "Catalogue":
    """Make a catalogue of the names of items in baskets that may be looked at: it gets published with the plan.

    Names are put into Unicode form NFC with single blanks, so baskets that write them otherwise do not match it.

    Args:
        sources: files of baskets, or baskets in memory (see ``to_baskets``).
        min_count: baskets that a name must be in.
        format, separator, header, transaction_column, item_column: of the files, as for :func:`read_baskets`.
        progress: called with (bytes read, bytes of the file), file by file.

    Returns:
        The names, sorted; ``write_catalogue`` writes them, a line each.

    Raises:
        BasketError: as :func:`read_baskets`; no item is in so many baskets.

    Warns:
        UserWarning: names that are equal but for case, Unicode form or blanks: how many groups, ``check_catalogue`` has
            the names.
    """
    from assocpriv.simulation.samples import draft_catalogue as draft

    columns = {"transaction_column": transaction_column, "item_column": item_column}
    draft_made = draft(
        sources, min_count, {"format": format, "separator": separator, "header": header, **columns}, progress
    )
    if draft_made.twins:
        groups = counted(len(draft_made.twins), "group")
        warnings.warn(
            f"{groups} of names differ in case, Unicode form or blanks only; "
            "assocpriv.basket_files.check_catalogue(…).twins has them",
            stacklevel=2,
        )
    return draft_made.catalogue
