"""Taxonomy files: which name stands below which, as CSV."""

import csv
import io
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from assocpriv.core.errors import PlanError
from assocpriv.files.plans import read_text
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.plans.baskets.view import MAX_ANCESTORS


@dataclass(frozen=True)
class Taxonomy:
    """Names below names.

    Attributes:
        parents: (child, parent), sorted; no child twice.
        levels: the names of each column of the file, sorted.
    """

    parents: tuple[tuple[str, str], ...]
    levels: tuple[tuple[str, ...], ...]

    def level(self, number: int) -> Catalogue:
        """Return the names of a column, from 1.

        Raises:
            PlanError: there is no such column.
        """
        if not 1 <= number <= len(self.levels):
            raise PlanError(f"the level must be in 1..{len(self.levels)}, the columns of the taxonomy, got {number}")
        return Catalogue(self.levels[number - 1])


def read_taxonomy(path: str | Path) -> Taxonomy:
    """Read a taxonomy: CSV in UTF-8 without a header, each name's parent in the column after it.

    ``milk,dairy,food`` says that milk is dairy and dairy is food; lines may repeat what others say, end early, and
    be blank. Names lose the blanks around them.

    Raises:
        PlanError: the file cannot be read, is no CSV, holds what is no name, gives a name two parents, or goes in
            circles.
    """
    text = read_text(path, "taxonomy")
    try:
        return _parsed(text)
    except PlanError as error:
        raise PlanError(f"{path}: {error}") from None


@dataclass
class _Lines:
    """What the lines so far say."""

    parents: dict[str, str] = field(default_factory=dict)
    said: dict[str, int] = field(default_factory=dict)  # the line that first gave a name its parent
    levels: list[set[str]] = field(default_factory=list)

    def add(self, names: list[str], line: int) -> None:
        for level, name in enumerate(names):
            if level == len(self.levels):
                self.levels.append(set())
            if name not in self.levels[level]:
                _check_name(name, level, line)
                self.levels[level].add(name)
        for child, parent in pairwise(names):
            if self.parents.setdefault(child, parent) != parent:
                raise PlanError(
                    f"line {line} gives a name another parent than line {self.said[child]}; a name has one parent"
                )
            self.said.setdefault(child, line)


def _parsed(text: str) -> Taxonomy:
    lines = _Lines()
    rows = csv.reader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True)
    while True:
        try:
            row = next(rows, None)
        except csv.Error:
            raise PlanError(f"line {rows.line_num} is not CSV; check its quotes") from None
        if row is None:
            break
        names = [cell.strip() for cell in row]
        while names and not names[-1]:
            names.pop()
        if len(names) > MAX_ANCESTORS + 1:
            raise PlanError(
                f"line {rows.line_num} has more than {MAX_ANCESTORS + 1} names; a name has at most 64 above it"
            )
        lines.add(names, rows.line_num)
    if not lines.parents:
        raise PlanError("the taxonomy is empty; write a line child,parent for each name that has a parent")
    _check_circles(lines)
    return Taxonomy(tuple(sorted(lines.parents.items())), tuple(tuple(sorted(level)) for level in lines.levels))


def _check_name(name: str, level: int, line: int) -> None:
    try:
        Catalogue([name])
    except PlanError:
        pass
    else:
        return
    raise PlanError(f"line {line}, column {level + 1} must be a name, neither empty nor with control characters")


def _check_circles(lines: _Lines) -> None:
    ended: set[str] = set()
    for start in lines.parents:
        path, name = set[str](), start
        while name in lines.parents and name not in ended:
            if name in path:
                raise PlanError(f"line {lines.said[name]} closes a circle; every name must lead to a top")
            path.add(name)
            name = lines.parents[name]
        ended |= path
