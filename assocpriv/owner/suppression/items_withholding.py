"""Lists of mined itemsets and rules that may go out: what they imply, and which lines to withhold so that they do not.

Lines are let out by support, the largest first, each if with those before it there is still a witness for every bound
(``items_implied``): greedy, as the largest set of lines would take a search over all of them. A line that is missing
says nothing, unless whoever publishes says that the list is complete.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from assocpriv.core.errors import FileError, TemplateError
from assocpriv.files.atomic import atomic_output, check_writable
from assocpriv.files.tables import output_format
from assocpriv.owner.suppression.items_implied import Implied, Program, Universe, universe_of
from assocpriv.owner.suppression.items_lists import Fact, Line, MinedList, read_list
from assocpriv.owner.suppression.items_release import Templates
from assocpriv.owner.suppression.items_templates import (
    ItemBound,
    ItemTemplate,
    check_spellings,
    item_bounds,
    read_item_templates,
)
from assocpriv.owner.suppression.items_witness import TOLERANCE, Witness

_NEAR_ITEMS = 8


@dataclass(frozen=True, slots=True)
class BoundOnList:
    """How far a bound was checked against a list, as it came or as it is released, and what the list implies.

    Attributes:
        bound: the bound.
        items: items considered together.
        complete: whether no other item of the list can add to what is known.
        tolerance: how far supports may be off the list, because it contradicts itself; 0 where it does not.
        violated: whether the list implies that the bound is broken.
        unnamed: items of the bound that no line of the list names: misspelled, or not mined.
    """

    bound: ItemBound
    items: tuple[str, ...]
    complete: bool
    tolerance: Fraction
    violated: bool
    unnamed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Withheld:
    """A line that does not go out, its place from 1, and the bound that it would break with the lines before it."""

    place: int
    label: str
    bound: ItemBound


@dataclass(frozen=True, slots=True)
class ListCheck:
    """What a list implies: each bound, and the inferences that surely exceed one, highest confidence first."""

    n_lines: int
    bounds: tuple[BoundOnList, ...]
    inferences: tuple[Implied, ...]

    @property
    def passed(self) -> bool:
        """Whether every bound holds in some baskets that agree with the list."""
        return not any(one.violated for one in self.bounds)


@dataclass(frozen=True, slots=True)
class ListRelease:
    """A released list, None if it was written to a file, the lines withheld, and how far each bound was checked."""

    released: Any
    n_lines: int
    withheld: tuple[Withheld, ...]
    bounds: tuple[BoundOnList, ...]


@dataclass(eq=False)
class _Checker:
    """Looks for witnesses of one bound; what it found is kept by what was considered."""

    bound: ItemBound
    lines: Sequence[Line]
    _known: dict[tuple[tuple[str, ...], frozenset[Fact]], Witness | None] = field(default_factory=dict)

    def universe(self, places: Iterable[int]) -> Universe:
        """Return the items to consider: which ones tell nothing depends on what else is stated."""
        return universe_of(self.bound, _facts(self.lines, places))

    def witness(self, places: Sequence[int]) -> Witness | None:
        """Return a verified witness of some lines, None if there is none."""
        program = Program(self.universe(places).items, _facts(self.lines, places))
        key = (program.items, frozenset(program.facts))
        if key not in self._known:
            self._known[key] = self._look(program)
        return self._known[key]

    def _look(self, program: Program) -> Witness | None:
        found = program.witness(self.bound, Fraction(0))
        if found is None and (tolerance := program.tolerance()):
            found = program.witness(self.bound, tolerance)
        return found if found is not None and _holds(found, self.bound, program.facts) else None

    def about(self, places: Sequence[int]) -> BoundOnList:
        """Say how far the bound was checked against some lines, and whether these violate it."""
        universe = self.universe(places)
        off = Program(universe.items, _facts(self.lines, places)).tolerance()
        off = off if off > TOLERANCE else Fraction(0)
        violated = self.witness(places) is None
        return BoundOnList(self.bound, universe.items, universe.complete and not off, off, violated, self._unnamed())

    def _unnamed(self) -> tuple[str, ...]:
        named = {item for line in self.lines for fact in line.facts for item in fact.items}
        return tuple(item for item in self.universe(()).items if item not in named)

    def implied(self, about: BoundOnList) -> list[Implied]:
        """Return the inferences that all lines imply, as far as few items tell: that takes many programs."""
        few = about.items[: max(_NEAR_ITEMS, len(self.bound.channel) + len(self.bound.sensitive))]
        return Program(few, _facts(self.lines, range(len(self.lines)))).implied(self.bound, about.tolerance)


def _facts(lines: Sequence[Line], places: Iterable[int]) -> list[Fact]:
    return list(dict.fromkeys(fact for at in sorted(places) for fact in lines[at].facts))


def _holds(witness: Witness, bound: ItemBound, facts: Iterable[Fact]) -> bool:
    return witness.keeps(bound) and witness.agrees(facts)


def check_list(data: Any, templates: Templates) -> ListCheck:
    """Return what a list of itemsets or rules implies of templates over items.

    Raises:
        TemplateError: templates or a list that cannot be read.
    """
    bounds, mined = item_bounds(read_item_templates(templates)), read_list(data)
    _check_spellings(bounds, mined)
    checkers = [_Checker(bound, mined.lines) for bound in bounds]
    found = [checker.about(range(len(mined.lines))) for checker in checkers]
    pairs = zip(checkers, found, strict=True)
    inferences = (each for checker, about in pairs if about.violated for each in checker.implied(about))
    return ListCheck(len(mined.lines), tuple(found), tuple(inferences))


def suppress_list(
    data: Any, templates: Templates, output: str | PathLike[str] | None = None, *, force: bool = False
) -> ListRelease:
    """Withhold lines of a list of itemsets or rules until it implies nothing above the templates.

    Args:
        data: a file that ``mine`` or ``rules`` wrote, or with mlxtend's columns: CSV, JSON or Parquet; or a table.
        templates: a file of templates over items, or a list of them.
        output: file to write, of the format that came in; None to return the rows of a table instead.
        force: whether to replace a file.

    Raises:
        TemplateError: templates or a list that cannot be read; or the written list fails the check, which is a defect.
        FileError: the output cannot be written.
    """
    bounds = item_bounds(read_item_templates(templates))
    if output is not None:
        _check_output(data, templates, Path(fspath(output)), force)
    mined = read_list(data)
    if output is not None and mined.write is None:
        raise TemplateError("a list in memory is returned, not written; leave the output out, or give a file")
    if output is None and mined.take is None:
        raise TemplateError("a list in a file needs an output (-o); a table in memory is returned")
    _check_spellings(bounds, mined)
    every = [_Checker(bound, mined.lines) for bound in bounds]  # redundant ones too: each is checked with other items
    kept, withheld = _choose(every, mined.lines)
    witnesses = [checker.witness(kept) for checker in every]
    released = _let_out(mined, sorted(kept), None if output is None else Path(fspath(output)), every, witnesses, force)
    return ListRelease(released, len(mined.lines), withheld, tuple(checker.about(kept) for checker in every))


def _check_spellings(bounds: Iterable[ItemBound], mined: MinedList) -> None:
    check_spellings(bounds, frozenset[str]().union(*(fact.items for line in mined.lines for fact in line.facts)))


def _check_output(data: Any, templates: Templates, output: Path, force: bool) -> None:
    paths = [Path(fspath(each)) for each in (data, templates) if isinstance(each, str | PathLike)]
    check_writable(output, force=force, inputs=paths)
    if isinstance(data, str | PathLike) and output_format(output) != output_format(fspath(data)):
        raise FileError(
            f"{output}: a list goes out in the format it came in; end the name like that of {Path(data).name}"
        )


def _choose(checkers: Sequence[_Checker], lines: Sequence[Line]) -> tuple[list[int], tuple[Withheld, ...]]:
    """Return the places of lines that go out, and those withheld.

    Lines are tried many at once, and by halves where that fails: what a line breaks more lines break too, so the
    result is that of trying one after the other.
    """
    order = sorted(range(len(lines)), key=lambda at: (-lines[at].support, at))
    kept, withheld, waiting = list[int](), list[Withheld](), [order]
    while waiting:
        part = waiting.pop()
        broken = next((checker for checker in checkers if checker.witness([*kept, *part]) is None), None)
        if broken is None:
            kept += part
        elif len(part) == 1:
            withheld.append(Withheld(part[0] + 1, lines[part[0]].label, broken.bound))
        else:
            waiting += [part[len(part) // 2 :], part[: len(part) // 2]]
    return kept, tuple(sorted(withheld, key=lambda one: one.place))


def _let_out(
    mined: MinedList,
    kept: Sequence[int],
    output: Path | None,
    checkers: Sequence[_Checker],
    witnesses: Sequence[Witness | None],
    force: bool,
) -> Any:
    if output is None:
        assert mined.take is not None
        released = mined.take(kept)
        _verify(read_list(released), kept, checkers, witnesses)
        return released
    assert mined.write is not None
    with atomic_output(output, force=force) as stream:
        mined.write(kept, stream)
        stream.flush()
        _verify(read_list(stream.name, kind=output_format(output)), kept, checkers, witnesses)
    return None


def _verify(
    written: MinedList, kept: Sequence[int], checkers: Sequence[_Checker], witnesses: Sequence[Witness | None]
) -> None:
    """Refuse a list, as it was written and read again, for which a witness of a bound fails or is missing."""
    facts = _facts(written.lines, range(len(written.lines)))
    fine = all(
        witness is not None and _holds(witness, checker.bound, facts)
        for checker, witness in zip(checkers, witnesses, strict=True)
    )
    if not fine or len(written.lines) != len(kept):
        raise TemplateError(
            f"the check of the released list failed: {len(written.lines):,} of {len(kept):,} lines; nothing was "
            "released; this is a defect of assocpriv, please report it"
        )


def templates_from_rules(rules: Any, confidence: Any, *, consequent: Sequence[str] = ()) -> tuple[ItemTemplate, ...]:
    """Make a template of each rule of a list: its antecedent is the channel, its consequent the sensitive itemset.

    Args:
        rules: a file that ``rules`` wrote or with mlxtend's columns, or a table.
        confidence: the highest confidence allowed, for all of them.
        consequent: items; only rules whose consequent holds all of these are taken.

    Raises:
        TemplateError: no list of rules, or none of the rules asked for.
    """
    sides = [line.sides for line in read_list(rules).lines if line.sides is not None]
    wanted = frozenset(consequent)
    chosen = [(left, right) for left, right in sides if wanted <= right]
    if not chosen:
        where = f"{fspath(rules)}: " if isinstance(rules, str | PathLike) else ""
        lack = "the list holds no rules, with antecedents and consequents; write one with assocpriv rules -o"
        raise TemplateError(where + ("no rule has that consequent; check its spelling" if sides else lack))
    return tuple(ItemTemplate(sorted(left), [sorted(right)], confidence) for left, right in chosen)
