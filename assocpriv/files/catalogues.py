"""Files of item names: written in one form, and checked for names that people take for one."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from assocpriv.files.atomic import atomic_output
from assocpriv.plans.baskets.catalogue import Catalogue

_BLANKS = re.compile(r"\s+")


def normalized(name: str) -> str:
    """Return a name in Unicode form NFC, with single blanks inside and none around.

    >>> normalized(" Cafe\u0301  au lait")
    'Café au lait'
    """
    return _BLANKS.sub(" ", unicodedata.normalize("NFC", name)).strip()


def twins(names: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """Return groups of names that are equal but for case, Unicode form (NFKC) or blanks, each sorted.

    >>> twins(["Milk", "bread", "milk "])
    (('Milk', 'milk '),)
    """
    groups = defaultdict[str, set[str]](set)
    for name in names:
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
        groups[_BLANKS.sub("", folded)].add(name)
    return tuple(tuple(sorted(group)) for _, group in sorted(groups.items()) if len(group) > 1)


@dataclass(frozen=True, slots=True)
class CatalogueCheck:
    """What is odd about a catalogue: names of another form than :func:`normalized`, and groups of :func:`twins`."""

    catalogue: Catalogue
    odd: tuple[str, ...]
    twins: tuple[tuple[str, ...], ...]


def check_catalogue(catalogue: Catalogue) -> CatalogueCheck:
    """Look for names in another form than NFC with single blanks, and for twins.

    >>> check_catalogue(Catalogue(["milk", "Milk"])).twins
    (('Milk', 'milk'),)
    """
    if catalogue.is_numbered:
        return CatalogueCheck(catalogue, (), ())
    odd = tuple(name for name in catalogue if name != normalized(name))
    return CatalogueCheck(catalogue, odd, twins(catalogue))


def write_catalogue(catalogue: Catalogue, path: str | Path, *, force: bool = False) -> None:
    """Write a catalogue as UTF-8 text, a name a line, as ``read_catalogue`` reads it.

    Raises:
        FileError: the file exists and ``force`` is not set, or cannot be written.
    """
    with atomic_output(path, force=force) as stream:
        stream.write("".join(f"{name}\n" for name in catalogue).encode("utf-8"))
