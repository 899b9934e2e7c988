"""Progressive disclosure: the suppression that keeps most of what classification needs, found greedily.

All values of the masking columns are suppressed first. Then one value after another is disclosed: of those after which
all bounds still hold (valid) and that tell something about the class (beneficial) the one of highest

    Score(v) = InfoGain(v) / (PrivLoss(v) + 1).

InfoGain is the decrease of the class's entropy, in bits, when the records suppressed in v's column are split into those
that hold v and the rest; without a class it is the entropy of this split. PrivLoss is the mean of Conf_v − Conf over
the bounds whose channel has v's column: how much the highest confidence of an inference grows. Validity is decided in
integers. Scores within 1e-12 bits of the highest are ties: the earlier column of the table wins, then the earlier value
in the order of text, a missing cell last.

Source: Wang, Fung, Yu, Template-Based Privacy Preservation in Classification Problems, 2005, section 4 (algorithm 1).
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from assocpriv.core.errors import TemplateError
from assocpriv.owner.suppression.coded import CodedTable
from assocpriv.owner.suppression.inferences import Inference
from assocpriv.owner.suppression.templates import Bound, irredundant

TIE_BITS = 1e-12
MARK = "*"

Progress = Callable[[int, int], None]
Value = tuple[str, str | None]  # a column and one of its values


@dataclass(frozen=True, slots=True)
class Step:
    """One disclosure: information gained (bits), privacy lost (mean growth of confidence), and their score."""

    column: str
    value: str | None
    gain: float
    loss: float
    score: float


@dataclass(frozen=True, slots=True)
class Confidence:
    """The highest confidence of a bound's inferences in the raw table and in the released one."""

    bound: Bound
    before: Fraction
    after: Fraction


@dataclass(frozen=True, slots=True)
class SuppressedValue:
    """A suppressed value, the number of its cells, and why it is suppressed.

    The reason is an inference above its bound that the value's disclosure would bring into the released table, where
    suppressed values stand as the mark. None: the disclosure would tell nothing about the class.
    """

    column: str
    value: str | None
    cells: int
    reason: Inference | None


@dataclass(frozen=True, slots=True)
class Suppression:
    """Which values are suppressed, and what came of it.

    ``suppressed`` has every masking column, in the table's order, with its suppressed values in order of text;
    ``cells`` the number of suppressed cells in each; ``information`` each one's mutual information with the class (without a
    class: its entropy) in bits, before and after; ``confidences`` one line for each bound given, also redundant ones.
    """

    suppressed: dict[str, tuple[str | None, ...]]
    steps: tuple[Step, ...]
    confidences: tuple[Confidence, ...]
    cells: dict[str, int]
    information: dict[str, tuple[float, float]]
    reasons: tuple[SuppressedValue, ...]


def masking_columns(bounds: Iterable[Bound]) -> tuple[str, ...]:
    """Return the columns of channels that are sensitive nowhere: those whose values may be suppressed."""
    every = list(bounds)
    sensitive = {bound.column for bound in every}
    return tuple(dict.fromkeys(name for bound in every for name in bound.channel if name not in sensitive))


def check_columns(table: CodedTable, bounds: Sequence[Bound], class_column: str | None) -> None:
    """Refuse bounds that do not fit a table; TemplateError says which and why."""
    for bound in bounds:
        for name in (*bound.channel, bound.column):
            table.column(name)
            if name == class_column:
                raise TemplateError(f"{name} is the class; it can neither be sensitive nor stand in a channel")
        if bound.value not in table.column(bound.column).values:
            raise TemplateError(f"no record has {bound.value!r} in column {bound.column}; correct the template")
    if class_column is not None:
        table.column(class_column)


def disclose(
    table: CodedTable, bounds: Sequence[Bound], class_column: str | None, *, progress: Progress | None = None
) -> Suppression:
    """Return the suppression that progressive disclosure ends with.

    Args:
        table: has the columns of all bounds, and the class.
        bounds: what must hold; redundant ones are left out of the search, as all others imply them.
        class_column: what a released table shall help to classify; None: values as such.
        progress: is told how many values are decided, and of how many.

    Raises:
        TemplateError: the bounds do not fit the table; or the most suppressed table violates one, so that no
            suppression meets them (lemma 3.3).
    """
    check_columns(table, bounds, class_column)
    report: Progress = progress or (lambda _done, _total: None)
    result = _Simple(table, bounds, class_column).run()
    report(1, 1)
    return result


def _text_order(value: str | None) -> tuple[bool, str]:
    return value is None, value or ""


def entropy(counts: Iterable[int]) -> float:
    """Return the entropy in bits of a histogram."""
    present = [count for count in counts if count]
    total = sum(present)
    return -math.fsum(count / total * math.log2(count / total) for count in present)


class _Simple:
    def __init__(self, table: CodedTable, bounds: Sequence[Bound], class_column: str | None) -> None:
        cells = {c.name: [c.values[code] for code in c.codes] for c in table.columns}
        self.names = list(cells)
        self.rows = Counter(zip(*cells.values(), strict=True))
        self.bounds, self.used, self.klass = bounds, irredundant(bounds), class_column
        masking = masking_columns(bounds)
        self.masking = [name for name in self.names if name in masking]
        self.values = {n: sorted(set(cells[n]), key=_text_order) for n in self.masking}

    def conf(self, bound: Bound, hidden: set[Value]) -> tuple[Fraction, tuple[str | None, ...], int, int]:
        total: Counter[tuple[str | None, ...]] = Counter()
        hits: Counter[tuple[str | None, ...]] = Counter()
        for row, n in self.rows.items():
            cell = dict(zip(self.names, row, strict=True))
            ic = tuple(MARK if (c, cell[c]) in hidden else cell[c] for c in bound.channel)
            total[ic] += n
            hits[ic] += n * (cell[bound.column] == bound.value)
        best = max(total, key=lambda ic: Fraction(hits[ic], total[ic]))
        return Fraction(hits[best], total[best]), best, total[best], hits[best]

    def gain(self, column: str, value: str | None, hidden: set[Value]) -> tuple[float, int]:
        at, k = self.names.index(column), None if self.klass is None else self.names.index(self.klass)
        inside: Counter[object] = Counter()
        outside: Counter[object] = Counter()
        for row, n in self.rows.items():
            if (column, row[at]) in hidden:
                key = row[at] == value if k is None else row[k]
                (inside if row[at] == value else outside)[key] += n
        both = inside + outside
        n, a, b = sum(both.values()), sum(inside.values()), sum(outside.values())
        return entropy(both.values()) - a / n * entropy(inside.values()) - b / n * entropy(outside.values()), len(both)

    def information(self, column: str, hidden: set[Value]) -> float:
        at, k = self.names.index(column), None if self.klass is None else self.names.index(self.klass)
        joint: Counter[tuple[object, object]] = Counter()
        for row, n in self.rows.items():
            shown = (0, "") if (column, row[at]) in hidden else (1, row[at])
            joint[shown, shown if k is None else row[k]] += n
        left: Counter[object] = Counter()
        right: Counter[object] = Counter()
        for (a, b), n in joint.items():
            left[a] += n
            right[b] += n
        return entropy(left.values()) + entropy(right.values()) - entropy(joint.values())

    def run(self) -> Suppression:
        hidden = {(c, v) for c in self.masking for v in self.values[c]}
        if [b for b in self.used if self.conf(b, hidden)[0] > b.confidence]:
            said = [f"{b}: {self.conf(b, hidden)[0]}" for b in self.used]
            raise TemplateError(f"no suppression meets the templates; with all suppressed {'; '.join(said)}")
        steps = []
        while True:
            candidates = []
            for column in self.masking:
                for value in self.values[column]:
                    if (column, value) in hidden:
                        less = hidden - {(column, value)}
                        gain, classes = self.gain(column, value, hidden)
                        concerned = [b for b in self.used if column in b.channel]
                        after = [self.conf(b, less)[0] for b in self.used]
                        if all(c <= b.confidence for b, c in zip(self.used, after, strict=True)) and (
                            self.klass is None or classes > 1
                        ):
                            grown = sum(self.conf(b, less)[0] - self.conf(b, hidden)[0] for b in concerned)
                            loss = float(grown / len(concerned))
                            candidates.append(Step(column, value, gain, loss, gain / (loss + 1)))
            if not candidates:
                break
            top = max(each.score for each in candidates)
            best = next(each for each in candidates if each.score >= top - TIE_BITS)
            steps.append(best)
            hidden.remove((best.column, best.value))
        return self.result(hidden, tuple(steps))

    def result(self, hidden: set[Value], steps: tuple[Step, ...]) -> Suppression:
        suppressed = {c: tuple(v for v in self.values[c] if (c, v) in hidden) for c in self.masking}
        count: Counter[Value] = Counter()
        for row, n in self.rows.items():
            for c, v in zip(self.names, row, strict=True):
                count[c, v] += n
        reasons = []
        for column, values in suppressed.items():
            for value in values:
                reason = None
                for bound in self.used:
                    highest, ic, support, hits = self.conf(bound, hidden - {(column, value)})
                    if reason is None and highest > bound.confidence:
                        reason = Inference(bound, ic, support, hits)
                reasons.append(SuppressedValue(column, value, count[column, value], reason))
        return Suppression(
            suppressed,
            steps,
            tuple(Confidence(b, self.conf(b, set())[0], self.conf(b, hidden)[0]) for b in self.bounds),
            {c: sum(count[c, v] for v in values) for c, values in suppressed.items()},
            {c: (self.information(c, set()), self.information(c, hidden)) for c in self.masking},
            tuple(reasons),
        )
