"""The shipping client of tables walked through: every draw of every column, which columns are asked, whole records.

A draw below 2^32 is not tried number by number. The client gets a number that stands for a whole range of draws; where
it asks what only a part of the range would answer with yes, it is run again for each part. So every draw is walked, in
as many runs as there are outcomes. This needs what the client does to a draw to be increasing, as its steps are: sums,
quotients and comparisons; any other use of such a number is refused.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import accumulate, combinations
from math import comb, perm
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from assocpriv.auditing.enumerate.words_and_bulk import Replayed, words_of
from assocpriv.auditing.findings import Fault, client_at_work
from assocpriv.auditing.recompute.table_text import ColumnNumbers, TableNumbers
from assocpriv.client.numeric.bulk import TableRandomizer
from assocpriv.client.numeric.randomizer import encode, release, release_value
from assocpriv.core.entropy import WordEntropy
from assocpriv.lab.seeded_entropy import SeededEntropy
from assocpriv.plans.numeric.plan import TablePlan

_Outcome = TypeVar("_Outcome")
_Ranges = tuple[tuple[int, int], ...]
MOST_RUNS = 60_000  # of the client, for one walk
_CHOICES = 5000  # of asked columns
_RECORDS, _EDGES = 300, 2000  # records, and draws at the ends of runs, that are compared as words


# ---- ranges of draws


class _Split(BaseException):
    """A draw whose range must be cut in two."""

    def __init__(self, draw: int, at: int) -> None:
        self.draw, self.at = draw, at


class Drawn:
    """A number that increases with a draw of which only a range is known."""

    __slots__ = ("_draw", "_high", "_low", "_of")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, draw: int, low: int, high: int, of: Callable[[int], int] = int) -> None:
        self._draw, self._low, self._high, self._of = draw, low, high, of

    def _made(self, step: Callable[[int], int]) -> "Drawn":
        before = self._of
        return Drawn(self._draw, self._low, self._high, lambda number: step(before(number)))

    def __add__(self, other: int) -> "Drawn":
        return self._made(lambda number: number + other)

    __radd__ = __add__

    def __sub__(self, other: int) -> "Drawn":
        return self._made(lambda number: number - other)

    def __floordiv__(self, other: int) -> "Drawn":
        return self._made(lambda number: number // other)

    def __lt__(self, other: int) -> bool:
        first = self._first_from(other)
        if self._low < first < self._high:
            raise _Split(self._draw, first)
        return first >= self._high

    def __ge__(self, other: int) -> bool:
        return not self < other

    def __gt__(self, other: int) -> bool:
        return not self < other + 1

    def __le__(self, other: int) -> bool:
        return self < other + 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, int) and not self < other and self < other + 1

    def __index__(self) -> int:
        number = self._of(self._low)
        first = self._first_from(number + 1)
        if first < self._high:
            raise _Split(self._draw, first)
        return number

    __int__ = __index__

    def _first_from(self, bound: int) -> int:
        """Return the first draw of the range whose number is at least a bound; the range's end if there is none."""
        return self._low + bisect_left(range(self._low, self._high), bound, key=self._of)


class _Ranged:
    """Draws known by ranges; those beyond are whole."""

    def __init__(self, ranges: _Ranges) -> None:
        self._ranges = ranges
        self.made: list[tuple[int, int, int]] = []  # low, high, below

    def below(self, n: int) -> Any:
        """Return a draw."""
        place = len(self.made)
        low, high = self._ranges[place] if place < len(self._ranges) else (0, n)
        self.made.append((low, high, n))
        return Drawn(place, low, high)

    def pick(self, cumulative: Sequence[int]) -> int:
        """Return the first place whose cumulative weight exceeds a draw."""
        drawn, low, high = self.below(cumulative[-1]), 0, len(cumulative) - 1
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if drawn < cumulative[middle] else (middle + 1, high)
        return low


def walk(
    run: Callable[[Any], _Outcome], most: int = MOST_RUNS, make: Callable[[_Ranges], _Ranged] = _Ranged
) -> dict[_Outcome, Fraction] | None:
    """Return the exact chance of every outcome of a client; None if that takes too many runs.

    >>> walk(lambda entropy: int(entropy.below(1 << 32) // (1 << 31)))
    {0: Fraction(1, 2), 1: Fraction(1, 2)}
    """
    outcomes: dict[_Outcome, Fraction] = {}
    waiting: list[_Ranges] = [()]
    for _ in range(most):
        if not waiting:
            return outcomes
        ranges = waiting.pop()
        entropy = make(ranges)
        try:
            with client_at_work():
                outcome = run(entropy)
        except _Split as cut:
            made = [(low, high) for low, high, _ in entropy.made]
            low, high = made[cut.draw]
            before, after = tuple(made[: cut.draw]), tuple(made[cut.draw + 1 :])
            waiting += [(*before, (cut.at, high), *after), (*before, (low, cut.at), *after)]
            continue
        chance = Fraction(1)
        for low, high, n in entropy.made:
            chance *= Fraction(high - low, n)
        outcomes[outcome] = outcomes.get(outcome, Fraction(0)) + chance
    return None if waiting else outcomes


# ---- columns, and which of them are asked


def check_column(plan: TablePlan, place: int, column: ColumnNumbers) -> tuple[int, int]:
    """Compare the client's law of a column with the plan's, for its first, last, middle and missing input and others.

    Returns how many inputs were compared, and how many draws' outcomes.
    """
    spread = {column.inputs * part // 8 for part in range(8)}
    inputs = sorted({0, 1, column.inputs - 1, column.choices - 1, *spread} & set(range(column.choices)))
    if column.choices <= MOST_RUNS // (8 * len(column.runs(0))):
        inputs = list(range(column.choices))
    outcomes = 0
    for value in inputs:
        law = walk(lambda entropy, value=value: int(release_value(value, plan.columns[place], entropy)))  # type: ignore[misc]
        if law is None:
            raise Fault(f"The client's release of column {column.name} falls into more outcomes than the plan has.")
        if law != column.law_of(value):
            raise Fault(f"The client's release of column {column.name} has not the chances that the plan says.")
        outcomes += len(law)
    return len(inputs), outcomes


class _First(_Ranged):
    """The first draws as ranges; of those beyond only the lowest number."""

    def __init__(self, ranges: _Ranges, count: int) -> None:
        super().__init__(ranges)
        self._count = count

    def below(self, n: int) -> Any:
        """Return a draw."""
        return super().below(n) if len(self.made) < self._count else 0

    def pick(self, cumulative: Sequence[int]) -> int:
        """Return the first place."""
        return super().pick(cumulative) if len(self.made) < self._count else 0


def check_asked(plan: TablePlan, table: TableNumbers, rows: Sequence[Sequence[int]]) -> int | None:
    """Compare which columns are asked with a uniform choice, for several records: it must not depend on them.

    Returns how many choices there are; None where they are too many to be walked.
    """
    asked, k = table.asked, table.answered
    choices = [frozenset(chosen) for chosen in combinations(asked, k)] if comb(len(asked), k) <= _CHOICES else None
    if choices is None or perm(len(asked), k) > MOST_RUNS:
        return None
    codes = {place: table.columns[place].codes for place in asked}
    for row in rows:

        def answered(entropy: Any, row: Sequence[int] = row) -> frozenset[int]:
            released = [int(code) for code in release(row, plan, entropy)]
            return frozenset(place for place in asked if released[place] != codes[place])

        law = walk(answered, make=lambda ranges: _First(ranges, k))
        if law != dict.fromkeys(choices, Fraction(1, len(choices))):
            raise Fault("Which columns a report leaves out is not drawn uniformly, or depends on the record.")
    return len(choices)


# ---- whole records, of words


def own_release(row: Sequence[int], table: TableNumbers, entropy: Any) -> list[int]:
    """Return the codes of a record as docs/formats/table-plan.md says, of draws below a bound."""
    order = list(table.asked)
    skipped: set[int] = set()
    if table.is_sampled:
        for place in range(table.answered):
            other = place + entropy.below(len(order) - place)
            order[place], order[other] = order[other], order[place]
        skipped = set(order[table.answered :])
    codes = []
    for place, (value, column) in enumerate(zip(row, table.columns, strict=True)):
        if place in skipped:
            codes.append(column.codes)
        elif column.draws:
            codes.append(_fallen_on(column, value, entropy.below(column.total)))
        else:
            codes.append(column.runs(value)[0][0])
    return codes


def _fallen_on(column: ColumnNumbers, value: int, drawn: int) -> int:
    for code, weight in column.runs(value):
        if drawn < weight:
            return code
        drawn -= weight
    raise AssertionError("a draw is below the sum of the weights")


def check_words(plan: TablePlan, table: TableNumbers, chance: np.random.Generator) -> dict[str, int]:
    """Compare our clients with the document's rules, for equal words: codes, bytes, and how many words are used.

    Records are random ones with random words, and ones whose draws fall on the ends of a column's runs.
    """
    rows = [[int(chance.integers(0, column.choices)) for column in table.columns] for _ in range(_RECORDS)]
    cases: list[tuple[list[int], list[int]]] = [(row, []) for row in rows]
    cases += list(_at_ends(table, chance))
    source = SeededEntropy(int(chance.integers(0, 1 << 62)))
    wanted, words = [], []
    for row, first in cases:
        entropy = _Noted(first, source)
        report = _bytes(own_release(row, table, entropy), table)
        with client_at_work():
            replayed = Replayed(entropy.given)
            made = encode(release(row, plan, replayed), plan)
        if made != report or replayed.left:
            raise Fault("The client of one record does not make of its words what docs/formats/table-plan.md says.")
        wanted.append(report)
        words += entropy.given
    with client_at_work():
        inputs = np.array([row for row, _ in cases], dtype=np.int32)
        packed = TableRandomizer(plan).randomize(inputs, np.array(words, dtype=np.uint64), Replayed([]))
    if [row.tobytes() for row in packed] != wanted:
        raise Fault("The bulk client's reports differ from those of one record at a time.")
    return {"records": len(rows), "ends": len(cases) - len(rows)}


def _at_ends(table: TableNumbers, chance: np.random.Generator) -> Iterator[tuple[list[int], list[int]]]:
    """Yield records with the words of draws at both ends of runs, of every column that draws."""
    drawing = [place for place, column in enumerate(table.columns) if column.draws]
    for place in drawing:
        column = table.columns[place]
        for value in {0, column.inputs - 1, column.choices - 1}:
            ends = [0, *accumulate(weight for _, weight in column.runs(value) if weight)]
            numbers = sorted({number for end in ends for number in (end - 1, end) if 0 <= number < column.total})
            for number in chance.permutation(numbers)[: _EDGES // (6 * len(drawing)) + 1].tolist():
                row = [int(chance.integers(0, each.choices)) for each in table.columns]
                row[place] = value
                yield row, _words(table, place, words_of(number, column.total), chance)
                yield row, _words(table, place, _greatest_word(number, column.total), chance)


def _greatest_word(number: int, n: int) -> list[int]:
    """Return the greatest word that a draw below n ≤ 2^32 makes a number of."""
    return [number | (1 << 64) - n] if n & (n - 1) == 0 else [(((number + 1) << 64) - 1) // n]


def _words(table: TableNumbers, place: int, drawn: list[int], chance: np.random.Generator) -> list[int]:
    """Return the words of a record of which one column, which is asked first, draws with the words given."""
    words: list[int] = []
    skipped: set[int] = set()
    if table.is_sampled:
        order = list(table.asked)
        for step in range(table.answered):
            other = order.index(place) if step == 0 and place in order else step
            words += words_of(other - step, len(order) - step)
            order[step], order[other] = order[other], order[step]
        skipped = set(order[table.answered :])
    for at, column in enumerate(table.columns):
        if column.draws and at not in skipped:
            words += drawn if at == place else words_of(int(chance.integers(0, column.total)), column.total)
    return words


def _bytes(codes: Sequence[int], table: TableNumbers) -> bytes:
    """Return codes as a report: one byte each, or two where a column has more than 256 codes, the lowest first."""
    report = b""
    for place, (code, column) in enumerate(zip(codes, table.columns, strict=True)):
        n_codes = column.codes + (table.is_sampled and place in table.asked)
        report += code.to_bytes(1 if n_codes <= 256 else 2, "little")
    return report


class _Noted(WordEntropy):
    """Hands out given words, then a source's, and keeps them all."""

    __slots__ = ("_first", "_source", "given")

    def __init__(self, first: list[int], source: WordEntropy) -> None:
        self._first, self._source = list(first), source
        self.given: list[int] = []

    def words(self, count: int) -> NDArray[np.uint64]:
        led, self._first = self._first[:count], self._first[count:]
        handed = np.concatenate([np.array(led, dtype=np.uint64), self._source.words(count - len(led))])
        self.given += handed.tolist()
        return handed
