"""Crafted reports: which collections no honest people could have sent, whatever their baskets.

Sees reports and their plan only. Answers to each question are tested apart, given which question each report answers;
of one question are meant reports, n, M and items. Every padded transaction holds exactly M of the n items (dummies
included), and given the transactions reports are independent. So for every data set:

1. *Totals.* A transaction holds C(M, k) itemsets of k items, so the estimates of all of them add up to that. A report
   showing W of n items adds g_k(W) = Σ_x C(W, x) C(n−W, k−x) q[x], and E g_k(W) = C(M, k): k = 1 tests the mean of W,
   k = 2 its variance. Var g_k is that of independent insertion where any M + 2k items are independent, and otherwise at
   most (max g_k − E)(E − min g_k) (Bhatia and Davis). Void for reports of a fixed size, where W = ℓ.
2. *Repeats.* Reports repeat each other no more often than the likeliest one's probability allows. No report has a
   probability above p = max_j w_j/2^s (w_j the likelihoods over those of a uniform seed, s the seed's bits; for reports
   without a code and of a fixed size see :func:`likeliest_report`). So a report repeats an earlier one with a chance of
   at most (number of earlier ones)·p, whatever these are, and the number of repeats is not above that of independent
   events of these chances, with the mean C(N, 2)·p. Some report occurs c times with a chance of at most
   C(N, c)·p^(c−1), and at most (number of reports there are)·P(Bin(N, p) ≥ c).
3. *Partial supports.* s_l, the share of transactions holding exactly l of A's items, is not negative. A report showing
   l' of them adds Y_l(l') = Σ_b (−1)^(b−l) C(b, l) Σ_x C(l', x) C(k−l', b−x) q_b[x] to N·ŝ_l: row l of P⁻¹, written
   with the q_b of itemsets of b items. Its variance is at most the largest over what a transaction may hold.

And of all reports together:

4. *Shares.* Devices draw the question, whatever they hold, so that how many reports answer a question of share φ is
   Bin(N, φ). Who crafts reports can choose what they answer: the few who are asked about sizes are moved more easily
   than the many who are asked about items. Both of the law's exact tails are tested.
5. *Sizes.* Who is asked about sizes is drawn, so as many of them hold M items or more as of those who are asked about
   items, whose dummies tell it. With Z what an answer adds to the one estimate and Z' to the other, each of the mean
   [|t| ≥ M], and φ, φ' the questions' shares, Σ (Z − ½)/(N φ) − Σ (Z' − ½)/(N φ') has the mean 0 over coins and
   answers.

P-values are upper bounds for any N, without approximations (of 1, 3 and 5 by Bernstein's inequality, of 4 exact). A
test flags below its share of one false-alarm rate for all tests together.

Seeds are not tested apart: for all linear functions λ of a seed, Σ_λ≠0 (E (−1)^λ(ξ))² = 2^s Σ_ξ P(ξ)² − 1 (Parseval),
so biases of seed bits, or of random functions of them, are faint views of what repeats show.

**What no test sees.** False baskets that are honestly randomized, and crafted reports that, mixed with the honest ones,
look like those of some baskets: at ρ = 1/2 with the likelier reports keeping all M items, reports that always show A
look like baskets holding A, of max q times as many people. A clean check proves nothing.

**How far they move estimates** follows from the plan alone. A report cannot be checked, and a crafted one weighs more
than an honest one. With q the values that a report can add to N·ŝ of an itemset of k items (plans/transition.py):

    one report replaced      moves ŝ by at most (max q − min q) / N
    one report added         by (q_l − ŝ) / (N + 1)
    a share f replaced       by f·(q_l − s) on average, s the support among the people replaced

Somebody who may send R reports moves R times as much. An *honest* liar, who randomizes a false basket as the plan says,
moves ŝ by at most 1/N on average, so max q is what crafting gains over that.

**How many targets one report hits.** With a code an item is present where r linear functions of the seed, read as a
number, are below a. Any ``Generator.independent_items(r)`` items can be given any pattern; and as the functions have no
constant term, the seed 0 shows *all* items. So does a report of ones without a code. A report of a fixed size shows ℓ.
Items whose functions have rank h are all shown by at least 2^(s−h) of the 2^s seeds, so that crafted reports of some
targets need not be copies of each other.

Source: Boucheron, Lugosi, Massart, Concentration Inequalities, 2013, chapter 2 (Bernstein, Chernoff's bound); the rest
is ours.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assocpriv.kernels.parallel import add_up, default_memory
from assocpriv.plans.baskets import Plan
from assocpriv.plans.generator import WORD_BITS
from assocpriv.plans.operator import FixedSizeOperator
from assocpriv.plans.question import Question
from assocpriv.plans.transition import SupportModel, transition_matrix
from assocpriv.plans.view import ItemsView
from assocpriv.promise.errors import EstimateError
from assocpriv.server.bitmaps import ItemTables, Rows, planes_of
from assocpriv.server.counting import (
    Answers,
    LocalBackend,
    Progress,
    Source,
    count_candidates,
    count_subsets,
    part_size,
)
from assocpriv.server.supports import partial_counts

if TYPE_CHECKING:
    from assocpriv.files.reports import Reports
    from assocpriv.plans.operator import AnyOperator

FALSE_ALARM = 1e-3  # of all tests together, whatever the honest people's baskets
_LEAST_P = 1e-300
_MOST_PAIRS = 1_000_000  # above, pairs are tested only where they are named
_LARGEST_TOTAL = 2
_Seen = tuple[str, str, float]  # name, what was seen, logarithm of the p-value
_ROWS_AT_ONCE = 1 << 17  # reports
_PERCENT = Fraction(1, 100)


@dataclass(frozen=True, slots=True)
class CraftedTest:
    """One test: what was seen and should be, and a bound of its chance among honest people, whatever their baskets.

    It is ``flagged`` where that bound is below the test's share of the false-alarm rate.
    """

    name: str
    said: str
    p_value: float
    flagged: bool


@dataclass(frozen=True, slots=True)
class CraftedCheck:
    """What all tests say; the chance of any flag, were all people honest, is at most ``level``."""

    tests: tuple[CraftedTest, ...]
    level: float

    @property
    def flagged(self) -> bool:
        """Tell whether any test flags."""
        return any(test.flagged for test in self.tests)


def check_reports(
    reports: "Reports",
    itemsets: Sequence[NDArray[np.int64]] = (),
    *,
    level: float = FALSE_ALARM,
    memory_bytes: int | None = None,
    progress: Progress | None = None,
) -> CraftedCheck:
    """Test whether honest people could have sent these reports, whatever their baskets.

    Shares of the questions, and sizes beside dummies; and of the answers to each question totals, repeats, and the
    partial supports of all single entries (dummies included), of all pairs if there are at most 10^6 of them and the
    question is made for pairs, and of larger itemsets that are named. All itemsets of a size count as tested, so they
    may be named after looking at the reports.

    ``itemsets`` are named by item id, int64 (itemsets, k) each, every row increasing, k at most K. ``level`` is the
    false-alarm rate of all tests together, in (0, 1). Of reports and bitmaps ``memory_bytes`` may be held, a quarter of
    the free memory by default.

    Raises:
        EstimateError: there are no reports, the level is no probability, or an itemset is not one of the plan's.
    """
    if not len(reports):
        raise EstimateError("there are no reports to check; collect some first")
    if not 0 < level < 1:
        raise EstimateError(f"level must lie between 0 and 1, got {level:g}; it is a false-alarm rate such as 0.001")
    plan = reports.plan.as_a(Plan)
    _check_itemsets(itemsets, plan)
    memory = default_memory() if memory_bytes is None else memory_bytes
    backend = LocalBackend.of(reports, memory_bytes, progress)
    several, seen, planned = len(plan.questions) > 1, list[_Seen](), 0
    answers = [Answers(backend.reports, number) for number in range(len(plan.questions))]
    for number, asked in enumerate(answers):
        named = itemsets if asked.question is plan.items else ()
        tests = [*_totals(asked, memory), *_repeats(asked, memory), *_negatives(backend, asked.question, named)]
        of = f"question {number}, " if several else ""
        seen += [(of + name, said, log_p) for name, said, log_p in (tests if len(asked) else ())]
        # also those not made: what is named may follow data
        planned += _LARGEST_TOTAL + 2 + asked.question.itemset_size + several
    seen += _shares(answers, plan) if several else ()
    seen += _large(backend, len(reports))
    planned += plan.sizes is not None
    limit = math.log(level / planned)
    # a chance that no float can tell from 0 is not called 0
    p_values = [max(math.exp(min(0.0, log_p)), _LEAST_P) for _, _, log_p in seen]
    made = (CraftedTest(name, said, p, log_p <= limit) for (name, said, log_p), p in zip(seen, p_values, strict=True))
    return CraftedCheck(tuple(made), level)


def _check_itemsets(itemsets: Sequence[NDArray[np.int64]], plan: Plan) -> None:
    for rows in itemsets:
        if rows.ndim != 2 or not 1 <= rows.shape[1] <= plan.items.itemset_size:
            raise EstimateError(f"itemsets must be arrays of shape (itemsets, k), k in 1..{plan.items.itemset_size}")
        if rows.size and (rows.min() < 0 or rows.max() >= plan.n_items or (np.diff(rows, axis=1) <= 0).any()):
            raise EstimateError("each itemset must be a row of increasing item ids of the plan's catalogue")


def _bernstein(excess: float, variance: float, bound: float, n_reports: int) -> float:
    """Return the logarithm of a bound of P(the mean of N independent terms is ``excess`` above its own mean).

    A term has at most this variance and is at most ``bound`` above its mean.
    """
    return -n_reports * excess**2 / (2 * (variance + bound * excess / 3)) if excess > 0 else 0.0


def _bernsteins(excess: NDArray[np.float64], variance: float, bound: float, n_reports: int) -> NDArray[np.float64]:
    """Return :func:`_bernstein` of many."""
    above = np.maximum(excess, 0.0)
    return np.asarray(-n_reports * above**2 / (2 * (variance + bound * above / 3)))


# ---- shares


def _shares(answers: Sequence[Answers], plan: Plan) -> Iterator[_Seen]:
    total = sum(map(len, answers))
    for number, asked in enumerate(answers):
        share = plan.share(asked.question)
        said = f"{len(asked):,} of {total:,} reports answer it, {float(share):.3%} are to"
        yield f"question {number}, share", said, log_share_chance(len(asked), total, share)


def log_share_chance(count: int, total: int, share: Fraction) -> float:
    """Return the logarithm of twice the lesser tail of Bin(N, φ) from a count on, at most 0.

    >>> round(math.exp(log_share_chance(8, 8, Fraction(1, 2))), 5)
    0.00781
    """
    from scipy.stats import binom

    law = binom(total, float(share))
    return min(0.0, math.log(2) + float(min(law.logcdf(count), law.logsf(count - 1))))


# ---- sizes


def _large(backend: LocalBackend, n_reports: int) -> Iterator[_Seen]:
    """Compare how many hold M items or more by those asked about sizes, and by the dummies of those asked of items."""
    plan = backend.plan
    if plan.sizes is None:
        return
    classes, dummy = np.arange(plan.sizes.n_items), np.array([plan.n_items])
    means, difference, square, most = [], 0.0, 0.0, 0.0
    for question, entries, sign in ((plan.sizes, classes, 1), (plan.items, dummy, -1)):
        counter, model = backend.open(question=question)
        none, held = (float(value) for value in model.row(1))
        shown = float(counter.count(entries[:, None]).sum()) / max(counter.n_reports, 1)
        constant, step = (sign < 0) + sign * len(entries) * none, sign * (held - none)
        worst = max(abs(constant + step * number - 0.5) for number in _numbers_shown(question, len(entries)))
        people = float(plan.share(question))
        means.append(constant + step * shown)
        difference += sign * counter.n_reports / n_reports * (means[-1] - 0.5) / people
        square, most = square + worst**2 / people, max(most, worst / people)
    m = plan.items.transaction_size
    said = (
        f"{means[0]:.3%} of the baskets would hold {m} items or more by answers about sizes, {means[1]:.3%} by dummies"
    )
    yield "sizes beside dummies", said, math.log(2) + _bernstein(abs(difference), square, most, n_reports)


def _numbers_shown(question: Question, count: int) -> range:
    """Return how many of so many entries an answer can show; where it shows a fixed number the others show the rest."""
    size = _shown_by_all(question)
    if size is None:
        return range(count + 1)
    return range(max(0, size - (question.padded_items - count)), min(size, count) + 1)


# ---- totals


def _totals(reports: Answers, memory_bytes: int) -> Iterator[_Seen]:
    question = reports.question
    if not len(reports) or _shown_by_all(question) is not None:
        return
    weights = weight_counts(reports, memory_bytes)
    for k in range(1, min(_LARGEST_TOTAL, question.itemset_size) + 1):
        try:
            values, variance = total_law(question, k)
        except EstimateError:
            continue
        expected, mean = comb(question.transaction_size, k), float(weights @ values) / len(reports)
        bound = float(np.abs(values - expected).max())
        log_p = math.log(2) + _bernstein(abs(mean - expected), variance, bound, len(reports))
        error, what = math.sqrt(variance / len(reports)), "items" if k == 1 else "pairs"
        said = f"an average basket would hold {mean:,.4g} {what} (± {error:,.2g}), {expected} in truth"
        yield ("number of items shown", "its variance")[k - 1], said, log_p


def weight_counts(reports: Answers, memory_bytes: int) -> NDArray[np.int64]:
    """Return how many reports show 0 … n items, dummies included, int64 (n + 1,)."""
    n_items = reports.question.padded_items
    tables = ItemTables(reports.question, np.arange(n_items, dtype=np.int64))

    def count(packed: NDArray[np.uint8], counts: NDArray[np.int64]) -> Iterator[int]:
        planes = planes_of(packed, reports.question)
        rows = tables.empty_rows(planes)
        yield from tables.expand_in_steps(planes, len(packed), rows)
        for block, first in enumerate(range(0, len(packed), WORD_BITS * rows.shape[2])):
            shown = items_shown(rows[block : block + 1], min(len(packed) - first, WORD_BITS * rows.shape[2]))
            counts += np.bincount(shown, minlength=n_items + 1)
            yield 0

    return add_up(count, reports.batches(part_size(len(reports), 3 * n_items, memory_bytes)), n_items + 1)


def items_shown(rows: Rows, n_reports: int) -> NDArray[np.int64]:
    """Return how many items each report shows, int64 (n_reports,), from bitmaps (blocks, items, words).

    Bits of 64 reports are added at once: planes hold the digits of partial sums, which are added two by two.
    """
    planes = [rows]
    while planes[0].shape[1] > 1:
        half, odd = divmod(planes[0].shape[1], 2)
        carry, sums = np.zeros_like(planes[0][:, :half]), []
        for plane in planes:
            left, right = plane[:, :half], plane[:, half : 2 * half]
            differ = left ^ right
            sums.append(differ ^ carry)
            carry = left & right | differ & carry
        sums.append(carry)
        if odd:  # the last waits for the next turn
            last = [plane[:, -1:] for plane in planes]
            sums = [np.concatenate(pair, axis=1) for pair in zip(sums, [*last, np.zeros_like(last[0])], strict=True)]
        planes = sums
    total = np.zeros(n_reports, dtype=np.int64)
    for digit, plane in enumerate(planes):
        octets = np.ascontiguousarray(plane.astype("<u8", copy=False)).view(np.uint8).ravel()
        total += np.unpackbits(octets, count=n_reports, bitorder="little").astype(np.int64) << digit
    return total


def total_law(question: Question, k: int) -> tuple[NDArray[np.float64], float]:
    """Return g_k(W) for W = 0 … n, float64 (n + 1,), and a bound of its variance, whatever the basket.

    Raises:
        EstimateError: nothing can be learned about itemsets of k items.
    """
    operator, n, m = question.independent, question.padded_items, question.transaction_size
    row, expected = SupportModel.of(operator).row(k), comb(m, k)
    scale = math.lcm(*(value.denominator for value in row))  # whole numbers are faster
    whole = [int(value * scale) for value in row]
    values = np.array([sum(comb(w, x) * comb(n - w, k - x) * whole[x] for x in range(k + 1)) / scale
                       for w in range(n + 1)])  # fmt: skip
    independent = n if question.generator.is_seedless else question.generator.independent_items(operator.insert_bits)
    if independent < min(m + 2 * k, n):
        return values, float((values.max() - expected) * (expected - values.min()))
    from scipy.stats import binom

    own = np.array([float(p) for p in operator.size_distribution])
    law = np.convolve(own, binom.pmf(np.arange(n - m + 1), n - m, float(operator.default_probability)))
    return values, float(law @ (values - expected) ** 2)


# ---- repeats


def _repeats(reports: Answers, memory_bytes: int) -> Iterator[_Seen]:
    if not len(reports):
        return
    n, p = len(reports), float(likeliest_report(reports.question))
    repeats, most = repeated_reports(reports, memory_bytes)
    expected = n * (n - 1) / 2 * p
    mean = min(expected, n - 1)
    most_said = f"{mean:,.0f}" if mean >= 100 else f"{mean:.3g}"
    seen = f"{repeats:,} reports repeat an earlier one; of honest ones at most {most_said} on average"
    yield "repeated reports", seen, log_tail(repeats, expected)
    copies = f"one report came {most:,} time{'s' * (most != 1)}"
    yield "copies of one report", copies, log_copies_chance(reports.question, n, most)


def likeliest_report(question: Question) -> Fraction:
    """Return p, the largest probability that any basket gives any report of a question.

    Attained by baskets of at most M items; a sampled one is a mixture.
    """
    if (
        _shown_by_all(question) is None and question.generator.is_seedless
    ):  # reports of noise alone are not equally likely
        operator, rho = question.independent, question.independent.default_probability
        kept = Fraction(max(operator.keep_weights), operator.total)
        return kept * max(rho, 1 - rho) ** (question.padded_items - operator.size)
    return max(question.operator.normalized_likelihoods) / _report_count(question)


def _report_count(question: Question) -> int:
    shown = _shown_by_all(question)
    return 1 << question.report_bits if shown is None else comb(question.padded_items, shown)


def _shown_by_all(question: Question) -> int | None:
    """Return ℓ, the number of items that every report shows; None where it varies."""
    return question.operator.report_size if isinstance(question.operator, FixedSizeOperator) else None


def log_copies_chance(question: Question, n_reports: int, most: int) -> float:
    """Return the logarithm of a bound of P(some report occurs so often)."""
    p = float(likeliest_report(question))
    if most < 2:
        return 0.0
    if not p:  # below every double
        return -math.inf
    together = math.lgamma(n_reports + 1) - math.lgamma(most + 1) - math.lgamma(n_reports - most + 1)
    return min(together + (most - 1) * math.log(p), math.log(_report_count(question)) + log_tail(most, n_reports * p))


def log_tail(count: int, expected: float) -> float:
    """Return the logarithm of a bound of P(as many events or more), of independent ones whose number has this mean."""
    if count <= expected:
        return 0.0
    return count - expected - count * math.log(count / expected) if expected else -math.inf


def repeated_reports(reports: Answers, memory_bytes: int) -> tuple[int, int]:
    """Return how many reports repeat an earlier one, and how often the commonest report occurs.

    Reports that do not fit a quarter of the memory are read several times, each time those with some of the hashes.
    """
    width = max(8, reports.question.form.length)
    parts = 1 + 4 * width * len(reports) // memory_bytes
    repeats = most = 0
    for part in range(parts):
        mine = [keys[_hash(keys) % parts == part] if parts > 1 else keys for keys in _keys(reports)]
        _, counts = np.unique(np.concatenate(mine), return_counts=True)
        repeats += int((counts - 1).sum())
        most = max(most, int(counts.max(initial=0)))
    return repeats, most


def _keys(reports: Answers) -> Iterator[NDArray[np.void] | NDArray[np.uint64]]:
    """Yield reports as values that can be sorted: numbers where they fit one."""
    width = reports.question.form.length
    for packed in reports.batches(_ROWS_AT_ONCE):
        if width > 8:
            yield np.ascontiguousarray(packed).view(np.dtype((np.void, width)))[:, 0]
        else:
            octets = np.zeros((len(packed), 8), dtype=np.uint8)
            octets[:, :width] = packed
            yield octets.view("<u8")[:, 0].astype(np.uint64, copy=False)


def _hash(keys: NDArray[np.void] | NDArray[np.uint64]) -> NDArray[np.int64]:
    octets = np.ascontiguousarray(keys).view(np.uint8).reshape(len(keys), -1)
    places = np.arange(1, octets.shape[1] + 1) * 0x9E3779B1  # odd multiples spread neighbours
    return (octets @ places >> 16) & 0xFFFF


# ---- partial supports


def _negatives(backend: LocalBackend, question: Question, itemsets: Sequence[NDArray[np.int64]]) -> Iterator[_Seen]:
    source = backend.open(question=question)
    for rows, sums in _counted(source, question, itemsets) if source[0].n_reports else ():
        try:
            added = partial_support_rows(question.operator, rows.shape[1])
        except EstimateError:  # the plan tells nothing of this size
            continue
        yield _least_likely(question, backend.plan.catalogue, added, rows, sums)


def partial_support_rows(operator: "AnyOperator", k: int) -> list[list[Fraction]]:
    """Return P⁻¹ for itemsets of k items: [l][l'] is what a report showing l' of them adds to N·ŝ_l.

    Raises:
        EstimateError: nothing can be learned about itemsets of some size up to k.
    """
    model = SupportModel.of(operator)
    rows = [(Fraction(1),), *(model.row(b) for b in range(1, k + 1))]
    numbers = range(k + 1)

    def of_subsets(b: int, shown: int) -> Fraction:
        return sum((comb(shown, x) * comb(k - shown, b - x) * q for x, q in enumerate(rows[b])), Fraction(0))

    def added(held: int, subsets: list[Fraction]) -> Fraction:
        return sum(((-1) ** (b - held) * comb(b, held) * subsets[b] for b in range(held, k + 1)), Fraction(0))

    by_shown = [[of_subsets(b, shown) for b in numbers] for shown in numbers]
    return [[added(held, subsets) for subsets in by_shown] for held in numbers]


def _counted(
    source: Source, question: Question, itemsets: Sequence[NDArray[np.int64]]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield itemsets of each size, (itemsets, k), and C_0 … C_k of each, (itemsets, k + 1): supports.py."""
    done = 1
    items = np.arange(question.padded_items, dtype=np.int64)[:, None]
    singles = count_candidates(source, items)
    yield items, singles.sums
    if question.itemset_size > 1 and 0 < comb(question.n_items, 2) <= _MOST_PAIRS:
        done, pairs = 2, np.column_stack(np.triu_indices(question.n_items, 1))
        yield pairs, count_candidates(source, pairs, singles).sums
    for k in range(done + 1, question.itemset_size + 1):
        named = [rows for rows in itemsets if rows.shape[1] == k and len(rows)]
        if named:
            yield np.concatenate(named), count_subsets(source, np.concatenate(named)).sums()


def _least_likely(
    question: Question,
    names: Sequence[str],
    added: list[list[Fraction]],
    itemsets: NDArray[np.int64],
    sums: NDArray[np.int64],
) -> _Seen:
    """Find the partial support that is the least likely to be so negative."""
    k, n_reports = itemsets.shape[1], int(sums[0, 0])
    estimates = partial_counts(sums) @ np.array(added, dtype=np.float64).T / n_reports
    worst = [_worst_case(question.operator, added[held], held) for held in range(k + 1)]
    places = [
        int(np.lexsort((column, _bernsteins(-column, *bounds, n_reports)))[0])
        for column, bounds in zip(estimates.T, worst, strict=True)
    ]
    least = [float(estimates[place, held]) for held, place in enumerate(places)]
    logs = [_bernstein(-low, *bounds, n_reports) for low, bounds in zip(least, worst, strict=True)]
    held = min(range(k + 1), key=lambda held: (logs[held], least[held]))
    place = places[held]
    real = [int(item) for item in itemsets[place] if item < question.n_items]
    shown = ", ".join(sorted(question.view.entry_name(entry, names) for entry in real)) if real else "(a dummy)"
    noun = "item " if real and question.view.kind == ItemsView.kind else ""
    holding = ("not hold ", "hold ")[held] + noun if k == 1 else f"hold {held} of the {k} items "
    said = f"{least[held]:.3%} of the baskets would {holding}{shown}"
    tested = (comb(question.n_items, k) if k > 1 else question.padded_items) * (k + 1)
    return f"shares of baskets holding 0 … {k} of {k} items", said, math.log(tested) + logs[held]


def _worst_case(operator: "AnyOperator", added: Sequence[Fraction], held: int) -> tuple[float, float]:
    """Return, over all baskets, the largest variance of a report's part in ŝ_l, and the furthest below its mean."""
    k = len(added) - 1
    matrix = transition_matrix(operator, k)
    variances = [
        sum((matrix[to][inside] * value**2 for to, value in enumerate(added)), Fraction(0)) - int(inside == held)
        for inside in range(k + 1)
    ]
    return float(max(variances)), float(1 - min(added))


# ---- influence


@dataclass(frozen=True, slots=True)
class Influence:
    """How far crafted reports move the estimate of an itemset of one size: min q and max q."""

    least: Fraction
    largest: Fraction

    def of_one(self, n_reports: int) -> Fraction:
        """Return the largest change, up or down, by replacing one of N reports."""
        return (self.largest - self.least) / n_reports

    def of_share(self, share: Fraction, support: Fraction = Fraction(0)) -> tuple[Fraction, Fraction]:
        """Return the average changes, down and up, by crafting a share f of the reports, of people of this support.

        >>> Influence(Fraction(-1), Fraction(3)).of_share(Fraction(1, 100), Fraction(1, 4))
        (Fraction(-1, 80), Fraction(11, 400))
        """
        return share * (self.least - support), share * (self.largest - support)


def influence_of(plan: Plan, k: int) -> Influence | None:
    """Return how far crafted reports move estimates of itemsets of k items; None if none of this size is estimated."""
    if k > plan.items.transaction_size:
        return None
    try:
        values = SupportModel.of(plan.items.operator).row(k)
    except EstimateError:
        return None
    return Influence(min(values), max(values))


def most_targets(plan: Plan) -> int:
    """Return how many real items one crafted report can show at once."""
    return min(plan.n_items, _shown_by_all(plan.items) or plan.n_items)


@dataclass(frozen=True, slots=True)
class Liars:
    """The largest change by one report or all of one person, and the average ones by 1% of all, down and up."""

    one_report: float
    one_person: float
    one_percent: tuple[float, float]


def liars_among(plan: Plan, reports: int) -> dict[int, Liars | None]:
    """Return by itemset size how far crafted reports among N move estimates; None where nothing is estimated."""
    liars: dict[int, Liars | None] = {}
    for k in range(1, plan.items.itemset_size + 1):
        influence, liars[k] = influence_of(plan, k), None
        if influence is not None and reports:
            asked = max(1, round(reports * plan.share(plan.items)))
            one, (down, up) = influence.of_one(asked), influence.of_share(_PERCENT)
            liars[k] = Liars(float(one), float(one * plan.reports_per_person), (float(down), float(up)))
    return liars
