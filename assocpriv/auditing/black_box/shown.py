"""What an audit looks at in reports: items, bits and lengths, a batch at a time."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from assocpriv.auditing.black_box.clients import Answers
from assocpriv.auditing.black_box.neighbours import Neighbours, Transaction, form_of
from assocpriv.auditing.findings import BROKEN, CONSISTENT, Finding
from assocpriv.plans.baskets import Plan
from assocpriv.plans.generator import Field, item_columns
from assocpriv.plans.published import well_formed
from assocpriv.server.bitmaps import ItemTables, Rows, planes_of, report_planes

_WATCHED_OTHERS = 32
_MOST_BITS = 256
_RANDOM_SUMS = 32

Bits = NDArray[np.uint8]  # 0 and 1
Lines = NDArray[np.uint64]  # (lines, words): bit t mod 64 of word t div 64 is report t's; bits after the last are 0


def chance_of_plan(plan: Plan) -> np.random.Generator:
    """Return the numbers that choose what to look at: the same for every audit of a plan."""
    return np.random.default_rng(int(plan.plan_id[:16], 16))


def is_whole(answers: Answers, plan: Plan) -> NDArray[np.bool_]:
    """Tell which answers are reports of the plan, bool (n,)."""
    whole: NDArray[np.bool_] = answers.lengths == plan.report_bytes
    packed = np.ascontiguousarray(answers.octets[:, : plan.report_bytes])
    whole[whole] = well_formed(packed[whole], plan)
    return whole


def judge_format(depth: str, malformed: int, reports: int) -> Finding:
    """Judge the answers' form: a single one that is no report is a fault, and hides what the laws would find."""
    figures = {"malformed": malformed, "reports": reports}
    if malformed:
        said = (
            f"{malformed:,} of {reports:,} are no reports of the plan: of another length, with an unused bit "
            "set, or of a set or size that the plan does not have."
        )
        return Finding(depth, "format", BROKEN, said, figures)
    return Finding(depth, "format", CONSISTENT, "All reports can be read by the plan.", figures)


@dataclass(frozen=True, slots=True)
class Sample:
    """Reports of one transaction, in the order in which they came."""

    raw: NDArray[np.uint8]  # as they came, (n, report_bytes), cut to that length or filled up with zeros
    lengths: NDArray[np.int64]  # in bytes, (n,)
    packed: NDArray[np.uint8]  # the same; zeros where they are none
    malformed: int  # how many are none


def sample_of(answers: Answers, rows: NDArray[np.int64] | slice, plan: Plan) -> Sample:
    """Take the reports of one transaction out of a batch."""
    raw, lengths = np.ascontiguousarray(answers.octets[rows, : plan.report_bytes]), answers.lengths[rows]
    whole = is_whole(Answers(raw, lengths), plan)
    return Sample(raw, lengths, raw * whole[:, None].astype(np.uint8), int(len(whole) - whole.sum()))


class Viewer:
    """Which items the reports of a plan show; made once for any number of samples."""

    def __init__(self, plan: Plan, chosen: Neighbours) -> None:
        references = {item for each in chosen.transactions for item in each.reference}
        others = np.setdiff1d(np.arange(plan.padded_items), list(references))
        picked = chance_of_plan(plan).permutation(others)[:_WATCHED_OTHERS]
        self.plan = plan
        self.watched = np.array(sorted({*references, *picked.tolist()}), dtype=np.int64)
        self._tables = ItemTables(plan, self.watched)

    @cached_property
    def _all(self) -> ItemTables:
        return ItemTables(self.plan, np.arange(self.plan.padded_items, dtype=np.int64))

    def places(self, items: tuple[int, ...]) -> NDArray[np.int64]:
        """Return where items stand among the watched ones."""
        return np.searchsorted(self.watched, items)

    def look(self, packed: NDArray[np.uint8], item_counts: NDArray[np.int64] | None = None) -> Lines:
        """Return the watched items' lines, and add how many reports show each item to counts, int64 (padded_items,).

        ``packed`` are reports, uint8 (n, report_bytes).
        """
        planes = planes_of(packed, self.plan)
        if item_counts is not None:
            self._all.count(planes, len(packed), item_counts)
        return lines_of(self._tables.rows(planes, len(packed)))


def lines_of(rows: Rows) -> Lines:
    """Return bitmaps in blocks as one line each."""
    return np.ascontiguousarray(rows.transpose(1, 0, 2)).reshape(rows.shape[1], -1)


def bits_of(lines: Lines, n: int) -> Bits:
    """Return lines over n reports as 0 and 1, (lines, n)."""
    octets = lines.astype("<u8", copy=False).view(np.uint8)
    return np.unpackbits(octets, axis=1, count=n, bitorder="little")


def joint_counts(left: Lines, right: Lines) -> NDArray[np.int64]:
    """Count the reports that are in each line of one and each of another list, int64 (left, right)."""
    counts = [np.bitwise_count(line & right).sum(axis=1, dtype=np.int64) for line in left]
    return np.array(counts, dtype=np.int64).reshape(len(left), len(right))


def raw_bits(packed: NDArray[np.uint8]) -> Bits:
    """Return the bits of reports as 0 and 1, (n, 8 · report_bytes)."""
    return np.unpackbits(packed, axis=1, bitorder="little")


def sum_lines(packed: NDArray[np.uint8], sums: list[NDArray[np.int64]]) -> Lines:
    """Return in which reports, uint8 (n, report_bytes), each sum of bits, given by their places, is odd."""
    lines = lines_of(report_planes(packed))
    odd = [np.bitwise_xor.reduce(lines[places], axis=0) for places in sums]
    return np.array(odd, dtype=np.uint64).reshape(len(sums), lines.shape[1])


def free_sums(transaction: Transaction) -> list[NDArray[np.int64]]:
    """Choose sums of seed bits, each given by their places, that are fair coins whatever is kept; none without a seed.

    A seed is uniform among those that agree with the kept items, which fix its products with the transaction's
    columns. A sum outside the span of these columns is a fair coin on each such set. Single bits come first.
    """
    plan = transaction.plan
    n_bits, n_octets = form_of(plan).seed_bits, plan.report_bytes
    if transaction.is_sampled or not n_bits:
        return []
    span = span_of(transaction.reference, plan)
    singles = [1 << int(bit) for bit in np.unique(np.linspace(0, n_bits - 1, _MOST_BITS).astype(int))]
    chance = chance_of_plan(plan)
    sums = [int.from_bytes(chance.bytes(n_octets), "little") & (1 << n_bits) - 1 for _ in range(_RANDOM_SUMS)]
    free = [each for each in singles + sums if not is_spanned(each, span)]
    octets = np.frombuffer(b"".join(each.to_bytes(n_octets, "little") for each in free), dtype=np.uint8)
    return [np.flatnonzero(bits) for bits in raw_bits(octets.reshape(len(free), n_octets))]


def coin_bits(transaction: Transaction) -> NDArray[np.int64]:
    """Return which report bits are fair coins by themselves, at most 256 of them: seed bits, or items at ρ = 1/2."""
    form = form_of(transaction.plan)
    if form.seed_bits:
        singles = [int(places[0]) for places in free_sums(transaction) if len(places) == 1]
        return np.array(singles, dtype=np.int64)
    others = np.setdiff1d(np.arange(form.items), transaction.reference)
    return others[: _MOST_BITS * (form.has_coins and form.others_shown(0, 1) == Fraction(1, 2))]


def span_of(items: tuple[int, ...], plan: Plan, field: Field | None = None) -> list[int]:
    """Return a basis of the columns of some items: the sums of seed bits that a report's showing them fixes."""
    columns = item_columns(plan.generator, plan.independent.insert_bits, np.array(items, dtype=np.int64), field)
    basis: list[int] = []
    for words in columns.reshape(-1, columns.shape[2]):
        rest = _reduced(int.from_bytes(words.astype("<u8").tobytes(), "little"), basis)
        if rest:
            basis.append(rest)
    return basis


def is_spanned(vector: int, basis: list[int]) -> bool:
    """Tell whether a sum of seed bits, given as an integer, is fixed."""
    return not _reduced(vector, basis)


def _reduced(vector: int, basis: list[int]) -> int:
    for other in basis:
        vector = min(vector, vector ^ other)
    return vector
