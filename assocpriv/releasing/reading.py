"""Baskets for a release: each once, and at most a number of those of a person."""

from hashlib import sha256
from pathlib import Path
from typing import Any

from assocpriv.files.releases import is_release
from assocpriv.guarantees.errors import BasketError, PlanError
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.records.basket_files import read_baskets
from assocpriv.records.basket_sources import is_file
from assocpriv.records.baskets import Baskets, to_baskets
from assocpriv.records.columns import as_table
from assocpriv.records.layout import ReadOptions
from assocpriv.records.persons import limit_per_person


def read_once(
    source: Any, items: Catalogue | None, options: ReadOptions, person: str | int | None, most: int, person_as: str
) -> Baskets:
    """Return the baskets of files or tables, each once, and at most ``most`` of each person.

    Args:
        source: files, a table, lists or Baskets.
        items: the catalogue; None to take the items that are found.
        options: how to read.
        person: the column of persons, or None.
        most: R.
        person_as: as for :func:`limit_per_person`.

    Returns:
        The baskets.

    Raises:
        PlanError: releases in place of baskets, or baskets of another catalogue.
        BasketError: a file is named twice, or cannot be read.
    """
    if is_file(source):
        paths = [Path(source)] if isinstance(source, str | Path) else list(map(Path, source))
        if any(map(is_release, paths)):
            raise PlanError("a release holds no baskets; release raw baskets, and mine releases")
        digests = {sha256(path.read_bytes()).digest() for path in paths if len(paths) > 1 and path.is_file()}
        if len(digests) < len(paths) > 1:
            raise BasketError("a file is named twice, or is a copy: its baskets would count twice, less protected")
        read = read_baskets(source, items, options)[0]
    else:
        source = source if person is None else as_table(source, BasketError)  # read twice
        words = {name: getattr(options, name) for name in ("layout", "unknown", "repeats", "empty", "incomplete")}
        read = to_baskets(source, catalogue=items, **words)
    if items is not None and read.catalogue != items:
        raise PlanError("the baskets have another catalogue; give these baskets' own, if it is public")
    return read if person is None else limit_per_person(source, person, most, items, options, person_as).select(read)
