"""Draws of the shipping clients of tables or under guidance, each of them walked through.

Of tables every draw of every column, which columns are asked, and whole records are compared with the plan; under
guidance every draw of small tuples, γ of what is then sent, and whole tuples of words.

A draw below 2^32 is not tried number by number. The client gets a number that stands for a whole range of draws; where
it asks what only a part of the range would answer with yes, it is run again for each part. So every draw is walked, in
as many runs as there are outcomes. What the client does to a draw must be sums, quotients and comparisons: a number is
then still ⌊(draw + a) / b⌋ + c. Any other use of it is refused.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import accumulate, combinations, pairwise, product
from math import comb, perm, prod
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from assocpriv.auditing.exact_draws import Noted, Replayed, words_of
from assocpriv.auditing.findings import Fault, client_at_work
from assocpriv.auditing.recompute_tables import (
    GAUSSIAN,
    TUPLE,
    WORD,
    ColumnNumbers,
    GuidedLaw,
    GuidedNumbers,
    Law,
    TableNumbers,
)
from assocpriv.client.guided import Perturbation, TupleRandomizer
from assocpriv.client.tables import TableRandomizer, encode, release, release_value
from assocpriv.plans.guidance import Guidance
from assocpriv.simulation.enumeration import SeededEntropy

if TYPE_CHECKING:
    from assocpriv.plans.guided import GuidedPlan
    from assocpriv.plans.tables import TablePlan

_Outcome = TypeVar("_Outcome")
_Ranges = tuple[tuple[int, int], ...]
_MOST_RUNS = 60_000  # of the client, for one walk
_CUTS = 1000  # of a range at once
_CHOICES = 5000  # of asked columns
_RECORDS, _MOST_RECORDS, _EDGES = 300, 3000, 2000  # records, and draws at the ends of runs, compared as words
_SWEPT, _DRAWS = 400_000, 8  # draws of all columns' inputs one after the other; of each at most
_MOST_OUTCOMES, _MOST_TUPLES = 3000, 40  # tuples times vectors of bits that are walked, and tuples
_TUPLES, _AT_ENDS = 200, 400  # tuples compared as words, and draws at a weight's end
_DIRECTIONS, _MOST_LEVEL = 3, 256  # of guidance that is tried: random ones, and bits themselves at most


# ---- ranges of draws


class _Split(BaseException):
    """A draw whose range must be cut at some places."""

    def __init__(self, draw: int, at: Sequence[int]) -> None:
        self.draw, self.at = draw, at


class Drawn:
    """A number that increases with a draw of which only a range is known."""

    __slots__ = ("_added", "_by", "_draw", "_high", "_low", "_plus")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, draw: int, low: int, high: int, form: tuple[int, int, int] = (0, 1, 0)) -> None:
        self._draw, self._low, self._high = draw, low, high
        self._plus, self._by, self._added = form  # a, b, c

    def _made(self, plus: int, by: int, added: int) -> "Drawn":
        return Drawn(self._draw, self._low, self._high, (plus, by, added))

    def __add__(self, other: int) -> "Drawn":
        return self._made(self._plus, self._by, self._added + _whole(other))

    __radd__ = __add__

    def __sub__(self, other: int) -> "Drawn":
        return self._made(self._plus, self._by, self._added - _whole(other))

    def __floordiv__(self, other: int) -> "Drawn":
        if _whole(other) < 1:
            raise TypeError("a draw is divided by a number from 1 on")
        return self._made(self._plus + self._added * self._by, self._by * other, 0)

    def __lt__(self, other: int) -> bool:
        first = self._first_from(other)
        if self._low < first < self._high:
            raise _Split(self._draw, [first])
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
        number, last = ((end + self._plus) // self._by + self._added for end in (self._low, self._high - 1))
        if number < last:
            raise _Split(
                self._draw, [self._first_from(each) for each in range(number + 1, min(last, number + _CUTS) + 1)]
            )
        return number

    __int__ = __index__

    def _first_from(self, bound: int) -> int:
        """Return the first draw of the range whose number is at least a bound; the range's end if there is none."""
        first = (_whole(bound) - self._added) * self._by - self._plus
        return min(max(first, self._low), self._high)


def _whole(number: object) -> int:
    """Refuse what is no whole number: a sum with it would not increase in whole steps."""
    if not isinstance(number, int):
        raise TypeError(f"a draw goes with whole numbers, not with a {type(number).__name__}")
    return number


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
        self.below(cumulative[-1])
        low, high, _ = self.made[-1]
        first, last = bisect_right(cumulative, low), bisect_right(cumulative, high - 1)
        if first < last:
            raise _Split(len(self.made) - 1, [each for each in cumulative[first:last] if each < high])
        return first


def walk(
    run: Callable[[Any], _Outcome], most: int = _MOST_RUNS, make: Callable[[_Ranges], _Ranged] = _Ranged
) -> dict[_Outcome, Fraction] | None:
    """Return the exact chance of every outcome of a client; None if that takes too many runs.

    >>> walk(lambda entropy: int(entropy.below(1 << 32) // (1 << 31))) == {0: Fraction(1, 2), 1: Fraction(1, 2)}
    True
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
            waiting += [(*before, part, *after) for part in pairwise([low, *sorted(set(cut.at)), high])]
            if len(waiting) > most:
                return None
            continue
        chance = Fraction(1)
        for low, high, n in entropy.made:
            chance *= Fraction(high - low, n)
        outcomes[outcome] = outcomes.get(outcome, Fraction(0)) + chance
    return None if waiting else outcomes


# ---- columns of tables


def check_column(plan: "TablePlan", place: int, column: ColumnNumbers) -> tuple[int, int]:
    """Compare the client's law of a column with the plan's, for its first, last, middle and missing input and others.

    Returns how many inputs were compared, and how many draws' outcomes.
    """
    spread = {column.inputs * part // 8 for part in range(8)}
    inputs = sorted({0, 1, column.inputs - 1, column.choices - 1, *spread} & set(range(column.choices)))
    if column.choices <= _MOST_RUNS // (8 * len(column.runs(0))):
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


class _Given:
    """Gives the draw that it is told."""

    drawn = 0

    def below(self, n: int) -> int:
        """Return the draw."""
        if not 0 <= self.drawn < n:
            raise Fault("The client draws below another number than the plan's weights add up to.")
        return self.drawn

    def pick(self, cumulative: Sequence[int]) -> int:
        """Return the first place whose cumulative weight exceeds the draw."""
        return bisect_right(cumulative, self.below(cumulative[-1]))


def check_inputs(plan: "TablePlan", table: TableNumbers, chance: np.random.Generator) -> tuple[int, int]:
    """Compare what the client makes of draws at the ends of blocks of codes, for every input, or of many for some.

    So a law that is wrong for one input alone is found, of which walks look at some only. Returns how many inputs were
    compared, and how many draws.
    """
    entropy: Any = _Given()
    inputs = draws = 0
    for place, column in enumerate(table.columns):
        allowed = max(1, _SWEPT // (_DRAWS * len(table.columns)))
        step = -(-column.choices // allowed)
        for value in range(0, column.choices, step):
            ends = _block_ends(column, value, chance)
            for entropy.drawn in ends:
                with client_at_work():
                    code = release_value(value, plan.columns[place], entropy)
                if code != column.fallen_on(value, entropy.drawn):
                    raise Fault(f"The client's release of column {column.name} is not the plan's for some input.")
            inputs, draws = inputs + 1, draws + len(ends)
    return inputs, draws


def _block_ends(column: ColumnNumbers, value: int, chance: np.random.Generator) -> list[int]:
    """Return at most 8 draws: the first and last of each block; of many blocks those of all, and some between."""
    if column.law == GAUSSIAN:
        return [0, column.total - 1, *chance.integers(0, column.total, _DRAWS - 2).tolist()]
    ends = [0, *accumulate(count * weight for _, count, weight in column.blocks(value) if count)]
    return [*ends[:-1], *(end - 1 for end in ends[1:])]


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


def check_asked(plan: "TablePlan", table: TableNumbers, rows: Sequence[Sequence[int]]) -> int | None:
    """Compare which columns are asked with a uniform choice, for several records: it must not depend on them.

    Returns how many choices there are; None where they are too many to be walked.
    """
    asked, k = table.asked, table.answered
    choices = [frozenset(chosen) for chosen in combinations(asked, k)] if comb(len(asked), k) <= _CHOICES else None
    if choices is None or perm(len(asked), k) > _MOST_RUNS:
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


def _own_release(row: Sequence[int], table: TableNumbers, entropy: Any) -> list[int]:
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
            codes.append(column.fallen_on(value, entropy.below(column.total)))
        else:
            codes.append(column.fallen_on(value, 0))
    return codes


def check_words(plan: "TablePlan", table: TableNumbers, chance: np.random.Generator) -> dict[str, int]:
    """Compare our clients with the document's rules, for equal words: codes, bytes, and how many words are used.

    Records are ones with random words, in which columns take their inputs one after the other, as far as there are not
    too many, each in an order of its own; and ones whose draws fall on the ends of a column's runs.
    """
    count = min(_MOST_RECORDS, max(_RECORDS, *(column.choices for column in table.columns)))
    orders = [chance.permutation(column.choices) for column in table.columns]
    rows = [[int(order[number % len(order)]) for order in orders] for number in range(count)]
    cases: list[tuple[list[int], list[int]]] = [(row, []) for row in rows]
    cases += list(_at_ends(table, chance))
    source = SeededEntropy(int(chance.integers(0, 1 << 62)))
    wanted, words = [], []
    for row, first in cases:
        entropy = Noted(first, source)
        report = _bytes(_own_release(row, table, entropy), table)
        with client_at_work():
            replayed = Replayed(entropy.given)
            made = encode(release(row, plan, replayed), plan)
        if made != report or replayed.left:
            raise Fault("The client of one record does not make of its words what docs/formats/table-plan.md says.")
        wanted.append(report)
        words += entropy.given.tolist()
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


# ---- tuples under guidance


def tried(plan: "GuidedPlan", chance: np.random.Generator) -> list[Guidance]:
    """Return guidance of several kinds: one bit itself, all of them, and random directions, one and several."""
    width = plan.width
    several = min(_DIRECTIONS, width)
    random = np.linalg.qr(chance.normal(size=(width, several)))[0]
    one = chance.integers(0, width)
    found = [np.eye(width)[:, [one]], np.eye(width)[:, :_MOST_LEVEL], random[:, :1], random]
    return [Guidance.of_vectors(plan, serial, vectors) for serial, vectors in enumerate(found, 1)]


def law_of(numbers: GuidedNumbers, guidance: Guidance) -> GuidedLaw:
    """Return how guidance is answered, computed anew."""
    return GuidedLaw.of(numbers, guidance.vectors)


def _tuples_of(numbers: GuidedNumbers) -> list[tuple[int, ...]] | None:
    """Return all tuples, one with every value missing among them; None where they are too many to be walked."""
    count = prod(numbers.sizes)
    if count > _MOST_TUPLES or count << numbers.width > _MOST_OUTCOMES:
        return None
    return [*product(*map(range, numbers.sizes)), numbers.sizes]


def check_draws(plan: "GuidedPlan", numbers: GuidedNumbers, guidances: Sequence[Guidance]) -> list[list[Law]] | None:
    """Compare the client's law of every tuple with the plan's, every draw walked; return them, by guidance.

    None where there are too many tuples.
    """
    tuples = _tuples_of(numbers)
    if tuples is None:
        return None
    laws: list[list[Law]] = []
    for guidance in guidances:
        own = law_of(numbers, guidance)
        with client_at_work():
            perturbation = Perturbation(plan, guidance)
        laws.append([])
        for raw in tuples:
            found = walk(lambda entropy, raw=raw, p=perturbation: tuple(p.release(raw, entropy)))  # type: ignore[misc]
            if found is None:
                raise Fault("The client's release of a tuple falls into more outcomes than the plan has.")
            found = {bits: chance for bits, chance in found.items() if chance}
            if found != own.law(raw):
                raise Fault("The client's release of a tuple has not the chances that the plan says.")
            laws[-1].append(found)
    return laws


def largest_ratio(laws: Sequence[Law]) -> Fraction | None:
    """Return the largest ratio of two tuples' chances of one output; None where one of them is 0."""
    worst = Fraction(1)
    for bits in {bits for law in laws for bits in law}:
        chances = [law.get(bits, Fraction(0)) for law in laws]
        if min(chances) == 0:
            return None
        worst = max(worst, max(chances) / min(chances))
    return worst


# ---- whole tuples, of words


def _own_tuple_release(raw: Sequence[int], law: GuidedLaw, entropy: Any) -> list[int]:
    """Return the released bits of a tuple as docs/formats/guided-plan.md says, of draws below a bound."""
    numbers = law.numbers
    fills = [entropy.below(size) for size in numbers.sizes]
    answered = [f if v == size else v for v, f, size in zip(raw, fills, numbers.sizes, strict=True)]
    if numbers.keep == TUPLE:
        other = [entropy.below(size) for size in numbers.sizes]
        if entropy.below(WORD) >= numbers.honest:
            answered = other
    return [int(entropy.below(numbers.total) < weight) for weight in law.weights(tuple(answered))]


def check_tuple_words(
    plan: "GuidedPlan",
    numbers: GuidedNumbers,
    guidances: Sequence[Guidance],
    chance: np.random.Generator,
) -> int:
    """Compare our clients with the document's rules for equal words: bits, and how many words they take.

    Tuples have random words, or draws at the ends of a bit's weight. Returns how many tuples were compared.
    """
    source, compared = SeededEntropy(int(chance.integers(0, 1 << 62))), 0
    for guidance in guidances:
        law = law_of(numbers, guidance)
        with client_at_work():
            perturbation, randomizer = Perturbation(plan, guidance), TupleRandomizer(plan, guidance)
        rows, wanted, words = [], [], []
        for raw, given in _cases(law, chance):
            entropy = Noted(given, source)
            bits = _own_tuple_release(raw, law, entropy)
            replayed = Replayed(entropy.given)
            with client_at_work():
                made = perturbation.release(raw, replayed)
            if list(made) != bits or replayed.left:
                raise Fault("The client of one tuple does not make of its words what docs/formats/guided-plan.md says.")
            if len(entropy.given) == randomizer.words:  # else a draw was rejected
                rows.append(raw)
                wanted.append(bits)
                words += entropy.given.tolist()
        with client_at_work():
            packed, _ = randomizer.randomize(np.array(rows, np.int32), np.array(words, np.uint64), Replayed([]))
        if packed.tolist() != wanted:
            raise Fault("The bulk client's bits differ from those of one tuple at a time.")
        compared += len(rows)
    return compared


def _cases(law: GuidedLaw, chance: np.random.Generator) -> Iterator[tuple[list[int], list[int]]]:
    """Yield tuples, some with missing values, and words for them: none, or with draws at the ends of weights."""
    numbers = law.numbers
    sizes = np.array(numbers.sizes)
    for _ in range(_TUPLES):
        yield chance.integers(0, sizes + 1).tolist(), []
    for _ in range(-(-_AT_ENDS // numbers.width)):
        raw = chance.integers(0, sizes).tolist()
        head = [1 << 62] * len(sizes)
        if numbers.keep == TUPLE:
            head = [*head, *head, int(chance.choice([0, numbers.honest - 1, numbers.honest]))]
        ends = [weight - int(chance.integers(0, 2)) for weight in law.weights(tuple(raw))]
        yield raw, head + [min(max(end, 0), numbers.total - 1) for end in ends]
