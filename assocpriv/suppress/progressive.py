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

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from assocpriv.kernels.suppression import CANDIDATE, DISCLOSED, SUPPRESSED
from assocpriv.promise.errors import TemplateError, counted
from assocpriv.suppress.inferences import Candidates, Channel, Inference, highest_confidence, masking_columns
from assocpriv.suppress.table import CodedTable, mark_suppressed
from assocpriv.suppress.templates import Bound, irredundant, plain_spelling

_TIE_BITS = 1e-12
MARK = "*"
_MOST_RECORDS = 2**31 - 1  # products of two counts fit 64 bits
_MOST_SAID = 5  # bounds in one error


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
    ``cells`` the number of suppressed cells in each; ``information`` each one's mutual information with the class
    (without a class: its entropy) in bits, before and after; ``confidences`` a line for each bound, also redundant
    ones.
    """

    suppressed: dict[str, tuple[str | None, ...]]
    steps: tuple[Step, ...]
    confidences: tuple[Confidence, ...]
    cells: dict[str, int]
    information: dict[str, tuple[float, float]]
    reasons: tuple[SuppressedValue, ...]


def check_columns(table: CodedTable, bounds: Sequence[Bound], class_column: str | None) -> None:
    """Refuse bounds that do not fit a table; TemplateError says which and why."""
    for bound in bounds:
        for name in (*bound.channel, bound.column):
            table.column(name)
            if name == class_column:
                raise TemplateError(f"{name} is the class; it can neither be sensitive nor stand in a channel")
        if bound.value not in table.column(bound.column).values:
            raise TemplateError(f"no record has {bound.value!r} in column {bound.column}; correct the template")
    _check_spellings(table, bounds)
    if class_column is not None:
        table.column(class_column)
    if not bounds:
        raise TemplateError("there are no templates, so nothing is to be suppressed")
    if table.n_records > _MOST_RECORDS:
        raise TemplateError(f"the table has {table.n_records:,} records; {_MOST_RECORDS:,} is the most")


def _check_spellings(table: CodedTable, bounds: Sequence[Bound]) -> None:
    """Refuse a sensitive value that the table also writes otherwise: who reads 1.0 has learned what 1 means."""
    for name in dict.fromkeys(bound.column for bound in bounds):
        named = {bound.value for bound in bounds if bound.column == name}
        plain = {plain_spelling(value): value for value in named}
        for value in table.column(name).values:
            if value is not None and value not in named and (alike := plain.get(plain_spelling(value))) is not None:
                raise TemplateError(
                    f"column {name} also writes {alike} in another way, as 1 and 1.0 or yes and Yes are one value; "
                    "write it in one way, or name each of them as sensitive, which bounds it on its own"
                )


def disclose(table: CodedTable, bounds: Sequence[Bound], class_column: str | None, *, mark: str = MARK) -> Suppression:
    """Return the suppression that progressive disclosure ends with.

    Args:
        table: has the columns of all bounds, and the class.
        bounds: what must hold; redundant ones are left out of the search, as all others imply them.
        class_column: what a released table shall help to classify; None: values as such.
        mark: what stands for suppressed values in the reasons.

    Raises:
        TemplateError: the bounds do not fit the table; or the most suppressed table violates one, so that no
            suppression meets them (lemma 3.3).
    """
    check_columns(table, bounds, class_column)
    search = _Search(table, bounds, class_column)
    return _result_of(search, bounds, search.run(), mark)


class _Search:
    """What is disclosed so far, and for each candidate its gain, its loss and whether it may be disclosed.

    TemplateError if the most suppressed table violates a bound (lemma 3.3).
    """

    def __init__(self, table: CodedTable, bounds: Sequence[Bound], class_column: str | None) -> None:
        self.table = table
        self.candidates = Candidates(table, masking_columns(bounds), class_column)
        by_channel: dict[frozenset[str], list[Bound]] = {}
        for bound in irredundant(bounds):
            by_channel.setdefault(frozenset(bound.channel), []).append(bound)
        self.channels = [Channel(table, group, self.candidates) for group in by_channel.values()]
        n_values = len(self.candidates.values)
        self.state = np.full(n_values, CANDIDATE, dtype=np.uint8)
        self.gains, self.losses = np.zeros(n_values), np.zeros(n_values)
        self.beneficial = np.zeros(n_values, dtype=bool)
        self.n_bounds = np.zeros(n_values, dtype=np.int64)
        for channel in self.channels:
            for name in channel.masking:
                self.n_bounds[slice(*self.candidates.spans[name])] += len(channel.bounds)
        self._check_possible()
        for channel in self.channels:
            channel.start(self.state, self.candidates.spans)
        for column in self.candidates.columns:
            self._update_gains(column.name)
        self._update_losses()

    def _check_possible(self) -> None:
        rates = [
            (bound, *shares)
            for channel in self.channels
            for bound, shares in zip(channel.bounds, channel.now.tolist(), strict=True)
        ]
        said = [
            f"{bound} is in {hits / total:.2%} of {counted(total, 'record')}, {float(bound.confidence):.2%} allowed"
            for bound, hits, total in rates
            if not bound.allows(hits, total)
        ]
        if said:
            raise TemplateError(
                "no suppression meets the templates: a table with all their channels suppressed still violates "
                f"{counted(len(said), 'bound')}: {'; '.join(said[:_MOST_SAID])}{'; …' * (len(said) > _MOST_SAID)}; "
                "ask for a higher confidence"
            )

    def run(self) -> tuple[Step, ...]:
        """Disclose one candidate after another until none is left that is valid and beneficial."""
        steps: list[Step] = []
        while len(open_values := np.flatnonzero((self.state == CANDIDATE) & self.beneficial)):
            scores = self.gains[open_values] / (self.losses[open_values] + 1)
            steps.append(self.disclose(int(open_values[np.argmax(scores >= scores.max() - _TIE_BITS)])))
        return tuple(steps)

    def disclose(self, value: int) -> Step:
        """Disclose a valid candidate, and look again at what this affects."""
        name = self.candidates.columns[self.candidates.places[value]].name
        gain, loss = float(self.gains[value]), float(self.losses[value])
        spans = self._open_spans()
        for channel in self.channels:
            if name in channel.masking:
                channel.disclose(name, value, self.state, spans)
        self.state[value] = DISCLOSED
        self._update_gains(name)
        self._update_losses()
        return Step(name, self.candidates.values[value], gain, loss, gain / (loss + 1))

    def _update_gains(self, name: str) -> None:
        span = slice(*self.candidates.spans[name])
        self.gains[span], self.beneficial[span] = self.candidates.gains(name, self.state != DISCLOSED)

    def _update_losses(self) -> None:
        sums = np.zeros(len(self.state))
        for channel in self.channels:
            invalid = channel.violations(channel.best).any(1)
            self.state[invalid & (self.state == CANDIDATE)] = SUPPRESSED
            for name in channel.masking:
                span = slice(*self.candidates.spans[name])
                sums[span] += channel.losses(span)
        self.losses = sums / self.n_bounds

    def _open_spans(self) -> dict[str, tuple[int, int]]:
        """Return the columns' numbers of values, an empty span where no value is a candidate any more."""
        return {
            name: span if (self.state[slice(*span)] == CANDIDATE).any() else (0, 0)
            for name, span in self.candidates.spans.items()
        }


def _result_of(search: _Search, bounds: Sequence[Bound], steps: tuple[Step, ...], mark: str) -> Suppression:
    """Return what a search has come to: the values that are not disclosed, and why."""
    candidates, hidden = search.candidates, search.state != DISCLOSED
    reasons: dict[int, Inference] = {}
    for channel in search.channels:
        reasons = channel.reasons(search.state, candidates, search.table, mark) | reasons
    suppressed = {}
    for name, (low, high) in candidates.spans.items():
        suppressed[name] = tuple(candidates.values[value] for value in range(low, high) if hidden[value])
    values = [
        SuppressedValue(
            candidates.columns[candidates.places[value]].name,
            candidates.values[value],
            int(candidates.counts[value].sum()),
            reasons.get(value),
        )
        for value in np.flatnonzero(hidden).tolist()
    ]
    known = {
        bound: Confidence(bound, before, Fraction(*after))
        for channel in search.channels
        for bound, before, after in zip(channel.bounds, channel.before, channel.now.tolist(), strict=True)
    }
    released = mark_suppressed(search.table, suppressed, mark) if len(known) < len(set(bounds)) else search.table
    for bound in set(bounds) - set(known):
        before, after = (highest_confidence(table, bound) for table in (search.table, released))
        known[bound] = Confidence(bound, before, after)
    nothing = np.zeros_like(hidden)
    return Suppression(
        suppressed,
        steps,
        tuple(known[bound] for bound in bounds),
        {name: sum(each.cells for each in values if each.column == name) for name in suppressed},
        {name: (candidates.information(name, nothing), candidates.information(name, hidden)) for name in suppressed},
        tuple(values),
    )
