"""Manipulated reports: tests for collections that honest people could not have sent, whatever their baskets.

The tests use reports and their plan only. They test the responses of each report type separately, given the type of
each report. Below, reports, n, M and items are those of one report type. Every padded transaction holds exactly M of
the n items (padding items included), and given the transactions, reports are independent. So for every data set:

1. *Totals.* A transaction holds C(M, k) itemsets of k items, so the estimates of all of them add up to that. A report
   showing W of n items adds g_k(W) = Σ_x C(W, x) C(n−W, k−x) q[x], and E g_k(W) = C(M, k): k = 1 tests the mean of W,
   k = 2 its variance. Var g_k is that of independent insertion where any M + 2k items are independent, and otherwise at
   most (max g_k − E)(E − min g_k) (Bhatia and Davis). Void for reports of a fixed size, where W = ℓ.
2. *Repeats.* Reports repeat each other no more often than the most probable report allows. No report has a probability
   above p = max_j w_j/2^s (w_j the likelihoods relative to those of a uniform seed, s the seed's bits; for reports
   without a code and of a fixed size see :func:`max_report_probability`). So a report repeats an earlier one with
   probability at most (number of earlier ones)·p, whatever these are. The number of repeats is stochastically at most
   that of independent events with these probabilities, whose mean is C(N, 2)·p. Some report occurs c times with
   probability at most C(N, c)·p^(c−1), and at most (number of possible reports)·P(Bin(N, p) ≥ c).
3. *Partial supports.* s_l, the share of transactions holding exactly l of A's items, is not negative. A report showing
   l' of them adds Y_l(l') = Σ_b (−1)^(b−l) C(b, l) Σ_x C(l', x) C(k−l', b−x) q_b[x] to N·ŝ_l: row l of P⁻¹, written
   with the q_b of itemsets of b items. Its variance is at most the largest over all transactions.

For all reports together:

4. *Shares.* Devices draw the report type independently of their basket, so the number of reports of a type with share φ
   is Bin(N, φ). An attacker can choose the type: the few responses about sizes are easier to outweigh than the many
   about items. Both exact tails of the binomial distribution are tested.
5. *Sizes.* The people who report sizes are drawn at random. So the same share of them holds M items or more as of the
   people who report items, for whom the padding items estimate it. Let Z be what a response adds to the first estimate
   and Z' to the second, each with the mean [|t| ≥ M], and φ, φ' the shares of the report types. Then
   Σ (Z − ½)/(N φ) − Σ (Z' − ½)/(N φ') has the mean 0 over draws of the type and randomization.

P-values are upper bounds for any N, without approximations (Bernstein's inequality for 1, 3 and 5; exact for 4). A test
flags if its p-value is below its share of one false-alarm rate for all tests together.

Seeds need no test of their own: for all linear functions λ of a seed, Σ_λ≠0 (E (−1)^λ(ξ))² = 2^s Σ_ξ P(ξ)² − 1
(Parseval). So biases of seed bits, or of random functions of them, show much less than repeats do.

**Undetectable manipulation.** No test finds false baskets that are honestly randomized, or manipulated reports that,
mixed with honest ones, look like those of some baskets. At ρ = 1/2, where the more probable reports keep all M items,
reports that always show A look like baskets holding A, from max q times their number of people. Passing all tests
proves nothing.

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

from assocpriv.estimation.manipulation_bounds import (
    FALSE_ALARM,
    bernstein,
    bernsteins,
    fixed_report_size,
    log_share_probability,
    log_tail_bound,
)
from assocpriv.estimation.supports import partial_counts
from assocpriv.guarantees.errors import EstimateError
from assocpriv.kernels.itemset_counts import Rows
from assocpriv.kernels.parallel import add_up, default_memory
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.baskets.generator import WORD_BITS
from assocpriv.plans.baskets.operator import SupportModel, transition_matrix
from assocpriv.plans.baskets.report_type import ItemsView, ReportType
from assocpriv.server.baskets.bitmaps import ItemTables, planes_of
from assocpriv.server.baskets.counting import (
    LocalBackend,
    Progress,
    Responses,
    part_size,
)

if TYPE_CHECKING:
    from assocpriv.files.report_files import Reports
    from assocpriv.plans.baskets.operator import AnyOperator

Ints = NDArray[np.int64]
_LEAST_P = 1e-300
_MOST_PAIRS = 1_000_000  # with more pairs, only given itemsets are tested
_LARGEST_TOTAL = 2
_TestOutcome = tuple[str, str, float]  # name, observation, logarithm of the p-value
_ROWS_AT_ONCE = 1 << 17  # reports


@dataclass(frozen=True, slots=True)
class ManipulationTest:
    """One test: what was observed and expected, and an upper bound of the p-value for honest people.

    It is ``flagged`` if the p-value is below the test's share of the false-alarm rate.
    """

    name: str
    observed: str
    p_value: float
    flagged: bool


@dataclass(frozen=True, slots=True)
class ManipulationCheck:
    """The results of all tests; if all people are honest, some test flags with probability at most ``level``."""

    tests: tuple[ManipulationTest, ...]
    level: float

    @property
    def flagged(self) -> bool:
        """Whether any test flags."""
        return any(test.flagged for test in self.tests)


def check_manipulation(
    reports: "Reports",
    itemsets: Sequence[NDArray[np.int64]] = (),
    *,
    level: float = FALSE_ALARM,
    memory_bytes: int | None = None,
    progress: Progress | None = None,
) -> ManipulationCheck:
    """Test whether honest people could have sent these reports, whatever their baskets.

    Tests cover the shares of the report types, sizes against padding items, and for each report type:

    - totals and repeats;
    - partial supports of all single entries (padding items included);
    - partial supports of all pairs, if there are at most 10^6 and the report type estimates pairs;
    - partial supports of the given larger itemsets.

    All itemsets of a size count as tested, so they may be chosen after looking at the reports.

    Args:
        reports: Reports of a basket plan.
        itemsets: Arrays of item ids, int64 (itemsets, k) each, every row increasing, k at most K.
        level: False-alarm rate of all tests together, in (0, 1).
        memory_bytes: Memory for reports and bitmaps, a quarter of the free memory by default.
        progress: Called with (task, reports done, reports).

    Raises:
        EstimateError: There are no reports, the level is not in (0, 1), or an itemset is not one of the plan's.
    """
    if not len(reports):
        raise EstimateError("there are no reports to check; collect some first")
    if not 0 < level < 1:
        raise EstimateError(f"level must lie between 0 and 1, got {level:g}; it is a false-alarm rate such as 0.001")
    plan = reports.plan.require_type(Plan)
    _check_itemsets(itemsets, plan)
    memory = default_memory() if memory_bytes is None else memory_bytes
    backend = LocalBackend.from_reports(reports, memory_bytes, progress)
    several, outcomes, planned = len(plan.report_types) > 1, list[_TestOutcome](), 0
    by_type = [Responses(backend.reports, number) for number in range(len(plan.report_types))]
    for number, responses in enumerate(by_type):
        report_type = responses.report_type
        given = itemsets if report_type is plan.items else ()
        tests = [*_total_tests(responses, memory), *_repeat_tests(responses, memory)]
        tests += _partial_support_tests(backend, report_type, given)
        prefix = f"report type {number}, " if several else ""
        outcomes += [(prefix + name, observed, log_p) for name, observed, log_p in (tests if len(responses) else ())]
        # also tests that are not made: the choice of itemsets may depend on the reports
        planned += _LARGEST_TOTAL + 2 + report_type.itemset_size + several
    outcomes += _share_tests(by_type, plan) if several else ()
    outcomes += _size_test(backend, len(reports))
    planned += plan.sizes is not None
    limit = math.log(level / planned)
    made = (
        # a p-value that underflows is not shown as 0
        ManipulationTest(name, observed, max(math.exp(min(0.0, log_p)), _LEAST_P), log_p <= limit)
        for name, observed, log_p in outcomes
    )
    return ManipulationCheck(tuple(made), level)


def _check_itemsets(itemsets: Sequence[NDArray[np.int64]], plan: Plan) -> None:
    for rows in itemsets:
        if rows.ndim != 2 or not 1 <= rows.shape[1] <= plan.items.itemset_size:
            raise EstimateError(f"itemsets must be arrays of shape (itemsets, k), k in 1..{plan.items.itemset_size}")
        if rows.size and (rows.min() < 0 or rows.max() >= plan.n_items or (np.diff(rows, axis=1) <= 0).any()):
            raise EstimateError("each itemset must be a row of increasing item ids of the plan's catalogue")


# ---- shares


def _share_tests(by_type: Sequence[Responses], plan: Plan) -> Iterator[_TestOutcome]:
    total = sum(map(len, by_type))
    for number, responses in enumerate(by_type):
        share = plan.share(responses.report_type)
        observed = f"{len(responses):,} of {total:,} reports are of this type, expected {float(share):.3%}"
        yield f"report type {number}, share", observed, log_share_probability(len(responses), total, share)


# ---- sizes


def _size_test(backend: LocalBackend, n_reports: int) -> Iterator[_TestOutcome]:
    """Compare the share of baskets with M items or more, as size responses and as padding items estimate it."""
    plan = backend.plan
    if plan.sizes is None:
        return
    classes, padding_item = np.arange(plan.sizes.n_items), np.array([plan.n_items])
    means, difference, variance, most = [], 0.0, 0.0, 0.0
    for report_type, entries, sign in ((plan.sizes, classes, 1), (plan.items, padding_item, -1)):
        counter, model = backend.open(report_type=report_type)
        none, held = (float(value) for value in model.row(1))
        shown = float(counter.count(entries[:, None]).sum()) / max(counter.n_reports, 1)
        constant, step = (sign < 0) + sign * len(entries) * none, sign * (held - none)
        worst = max(abs(constant + step * number - 0.5) for number in _numbers_shown(report_type, len(entries)))
        people = float(plan.share(report_type))
        means.append(constant + step * shown)
        difference += sign * counter.n_reports / n_reports * (means[-1] - 0.5) / people
        variance, most = variance + worst**2 / people, max(most, worst / people)
    observed = (
        f"{means[0]:.3%} of the baskets hold {plan.items.transaction_size} items or more by size responses, "
        f"{means[1]:.3%} by padding items"
    )
    yield "sizes against padding items", observed, math.log(2) + bernstein(abs(difference), variance, most, n_reports)


def _numbers_shown(report_type: ReportType, count: int) -> range:
    """Return how many of ``count`` entries a response can show; with a fixed size the other entries show the rest."""
    if (size := fixed_report_size(report_type)) is None:
        return range(count + 1)
    return range(max(0, size - (report_type.padded_items - count)), min(size, count) + 1)


# ---- totals


def _total_tests(reports: Responses, memory_bytes: int) -> Iterator[_TestOutcome]:
    report_type = reports.report_type
    if not len(reports) or fixed_report_size(report_type) is not None:
        return
    weights = weight_counts(reports, memory_bytes)
    for k in range(1, min(_LARGEST_TOTAL, report_type.itemset_size) + 1):
        try:
            values, variance = total_contributions(report_type, k)
        except EstimateError:
            continue
        expected, mean = comb(report_type.transaction_size, k), float(weights @ values) / len(reports)
        bound = float(np.abs(values - expected).max())
        log_p = math.log(2) + bernstein(abs(mean - expected), variance, bound, len(reports))
        error, what = math.sqrt(variance / len(reports)), "items" if k == 1 else "pairs"
        observed = f"mean of {mean:,.4g} {what} in a padded basket (standard error {error:,.2g}), expected {expected}"
        yield ("number of items shown", "its variance")[k - 1], observed, log_p


def weight_counts(reports: Responses, memory_bytes: int) -> NDArray[np.int64]:
    """Return how many reports show 0 … n items, padding items included, int64 (n + 1,)."""
    n_items = reports.report_type.padded_items
    tables = ItemTables(reports.report_type, np.arange(n_items, dtype=np.int64))

    def count(packed: NDArray[np.uint8], counts: NDArray[np.int64]) -> Iterator[int]:
        planes = planes_of(packed, reports.report_type)
        rows = tables.empty_rows(planes)
        yield from tables.expand_in_steps(planes, len(packed), rows)
        for block, first in enumerate(range(0, len(packed), WORD_BITS * rows.shape[2])):
            shown = count_items_shown(rows[block : block + 1], min(len(packed) - first, WORD_BITS * rows.shape[2]))
            counts += np.bincount(shown, minlength=n_items + 1)
            yield 0

    return add_up(count, reports.batches(part_size(len(reports), 3 * n_items, memory_bytes)), n_items + 1)


def count_items_shown(rows: Rows, n_reports: int) -> NDArray[np.int64]:
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
        if odd:  # the last is added in the next pass
            last = [plane[:, -1:] for plane in planes]
            sums = [np.concatenate(pair, axis=1) for pair in zip(sums, [*last, np.zeros_like(last[0])], strict=True)]
        planes = sums
    total = np.zeros(n_reports, dtype=np.int64)
    for digit, plane in enumerate(planes):
        octets = np.ascontiguousarray(plane.astype("<u8", copy=False)).view(np.uint8).ravel()
        total += np.unpackbits(octets, count=n_reports, bitorder="little").astype(np.int64) << digit
    return total


def total_contributions(report_type: ReportType, k: int) -> tuple[NDArray[np.float64], float]:
    """Return g_k(W) for W = 0 … n, float64 (n + 1,), and a bound of its variance for any basket.

    Raises:
        EstimateError: The operator gives no information about itemsets of k items.
    """
    operator, generator = report_type.independent, report_type.generator
    n, m = report_type.padded_items, report_type.transaction_size
    row, expected = SupportModel(operator).row(k), comb(m, k)
    scale = math.lcm(*(value.denominator for value in row))  # whole numbers are faster
    whole = [int(value * scale) for value in row]
    values = np.array([sum(comb(w, x) * comb(n - w, k - x) * whole[x] for x in range(k + 1)) / scale
                       for w in range(n + 1)])  # fmt: skip
    independent = n if generator.is_seedless else generator.independent_items(operator.insert_bits)
    if independent < min(m + 2 * k, n):
        return values, float((values.max() - expected) * (expected - values.min()))
    from scipy.stats import binom

    own = np.array([float(p) for p in operator.size_distribution])
    distribution = np.convolve(own, binom.pmf(np.arange(n - m + 1), n - m, float(operator.default_probability)))
    return values, float(distribution @ (values - expected) ** 2)


# ---- repeats


def _repeat_tests(reports: Responses, memory_bytes: int) -> Iterator[_TestOutcome]:
    if not len(reports):
        return
    n, p = len(reports), float(max_report_probability(reports.report_type))
    repeats, most = count_repeats(reports, memory_bytes)
    expected = n * (n - 1) / 2 * p
    mean = min(expected, n - 1)
    most_expected = f"{mean:,.0f}" if mean >= 100 else f"{mean:.3g}"
    observed = f"{repeats:,} reports repeat an earlier one; honest reports at most {most_expected} on average"
    yield "repeated reports", observed, log_tail_bound(repeats, expected)
    copies = f"the most frequent report occurs {most:,} time{'s' * (most != 1)}"
    yield "copies of one report", copies, log_copies_probability(reports.report_type, n, most)


def max_report_probability(report_type: ReportType) -> Fraction:
    """Return p, the largest probability of any report of a report type over all baskets.

    Baskets of at most M items attain it; truncated ones are mixtures of these.
    """
    # without a code, reports that are noise alone are not equally likely
    if fixed_report_size(report_type) is None and report_type.generator.is_seedless:
        operator, rho = report_type.independent, report_type.independent.default_probability
        kept = Fraction(max(operator.keep_weights), operator.total)
        return kept * max(rho, 1 - rho) ** (report_type.padded_items - operator.size)
    return max(report_type.operator.normalized_likelihoods) / _report_count(report_type)


def _report_count(report_type: ReportType) -> int:
    size = fixed_report_size(report_type)
    return 1 << report_type.report_bits if size is None else comb(report_type.padded_items, size)


def log_copies_probability(report_type: ReportType, n_reports: int, most: int) -> float:
    """Return the logarithm of a bound of P(some report occurs ``most`` times or more)."""
    p = float(max_report_probability(report_type))
    if most < 2:
        return 0.0
    if not p:  # p underflows
        return -math.inf
    together = math.lgamma(n_reports + 1) - math.lgamma(most + 1) - math.lgamma(n_reports - most + 1)
    return min(
        together + (most - 1) * math.log(p), math.log(_report_count(report_type)) + log_tail_bound(most, n_reports * p)
    )


def count_repeats(reports: Responses, memory_bytes: int) -> tuple[int, int]:
    """Return how many reports repeat an earlier one, and how often the most frequent report occurs.

    Reports that do not fit a quarter of the memory are read several times, each time a part by their hash.
    """
    width = max(8, reports.report_type.form.length)
    parts = 1 + 4 * width * len(reports) // memory_bytes
    repeats = most = 0
    for part in range(parts):
        mine = [keys[_hash(keys) % parts == part] if parts > 1 else keys for keys in _keys(reports)]
        _, counts = np.unique(np.concatenate(mine), return_counts=True)
        repeats += int((counts - 1).sum())
        most = max(most, int(counts.max(initial=0)))
    return repeats, most


def _keys(reports: Responses) -> Iterator[NDArray[np.void] | NDArray[np.uint64]]:
    """Yield reports as sortable values: integers if 8 bytes suffice."""
    width = reports.report_type.form.length
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


def _partial_support_tests(
    backend: LocalBackend, report_type: ReportType, itemsets: Sequence[Ints]
) -> Iterator[_TestOutcome]:
    for rows, sums in _count_sums(backend, report_type, itemsets):
        try:
            added = partial_support_rows(report_type.operator, rows.shape[1])
        except EstimateError:  # the plan estimates nothing for this size
            continue
        yield _least_likely(report_type, backend.plan.catalogue, added, rows, sums)


def partial_support_rows(operator: "AnyOperator", k: int) -> list[list[Fraction]]:
    """Return P⁻¹ for itemsets of k items: [l][l'] is what a report showing l' of them adds to N·ŝ_l.

    Raises:
        EstimateError: The operator gives no information about itemsets of some size up to k.
    """
    model = SupportModel(operator)
    rows = [(Fraction(1),), *(model.row(b) for b in range(1, k + 1))]
    numbers = range(k + 1)

    def of_subsets(b: int, shown: int) -> Fraction:
        return sum((comb(shown, x) * comb(k - shown, b - x) * q for x, q in enumerate(rows[b])), Fraction(0))

    def added(held: int, subsets: list[Fraction]) -> Fraction:
        return sum(((-1) ** (b - held) * comb(b, held) * subsets[b] for b in range(held, k + 1)), Fraction(0))

    by_shown = [[of_subsets(b, shown) for b in numbers] for shown in numbers]
    return [[added(held, subsets) for subsets in by_shown] for held in numbers]


def _count_sums(
    backend: LocalBackend, report_type: ReportType, itemsets: Sequence[Ints]
) -> Iterator[tuple[Ints, Ints]]:
    """Yield itemsets of each size, (itemsets, k), and C_0 … C_k of each, (itemsets, k + 1): supports.py."""
    done, counter = 1, backend.open(report_type=report_type)[0]
    if not counter.n_reports:
        return
    items = np.arange(report_type.padded_items, dtype=np.int64)[:, None]
    singles = counter.count_candidates(items)
    yield items, singles.sums
    if report_type.itemset_size > 1 and 0 < comb(report_type.n_items, 2) <= _MOST_PAIRS:
        done, pairs = 2, np.column_stack(np.triu_indices(report_type.n_items, 1))
        yield pairs, counter.count_candidates(pairs, singles).sums
    for k in range(done + 1, report_type.itemset_size + 1):
        if given := [rows for rows in itemsets if rows.shape[1] == k and len(rows)]:
            yield np.concatenate(given), counter.count_sums(np.concatenate(given))


def _least_likely(
    report_type: ReportType, names: Sequence[str], added: list[list[Fraction]], itemsets: Ints, sums: Ints
) -> _TestOutcome:
    """Return the test of the negative partial support with the smallest p-value."""
    k, n_reports = itemsets.shape[1], int(sums[0, 0])
    estimates = partial_counts(sums) @ np.array(added, dtype=np.float64).T / n_reports
    worst = [_worst_case(report_type.operator, added[held], held) for held in range(k + 1)]
    places = [
        int(np.lexsort((column, bernsteins(-column, *bounds, n_reports)))[0])
        for column, bounds in zip(estimates.T, worst, strict=True)
    ]
    least = [float(estimates[place, held]) for held, place in enumerate(places)]
    logs = [bernstein(-low, *bounds, n_reports) for low, bounds in zip(least, worst, strict=True)]
    held = min(range(k + 1), key=lambda held: (logs[held], least[held]))
    place = places[held]
    real = [int(item) for item in itemsets[place] if item < report_type.n_items]
    shown = ", ".join(sorted(report_type.view.entry_name(entry, names) for entry in real)) or "(a padding item)"
    noun = "item " if real and report_type.view.kind == ItemsView.kind else ""
    holding = ("not hold ", "hold ")[held] + noun if k == 1 else f"hold {held} of the {k} items "
    observed = f"{least[held]:.3%} of the baskets would {holding}{shown}"
    tested = (comb(report_type.n_items, k) if k > 1 else report_type.padded_items) * (k + 1)
    return f"shares of baskets holding 0 … {k} of {k} items", observed, math.log(tested) + logs[held]


def _worst_case(operator: "AnyOperator", added: Sequence[Fraction], held: int) -> tuple[float, float]:
    """Return the largest variance of a report's term in ŝ_l over all baskets, and its largest shortfall of the mean."""
    k = len(added) - 1
    matrix = transition_matrix(operator, k)
    variances = [
        sum((matrix[to][inside] * value**2 for to, value in enumerate(added)), Fraction(0)) - int(inside == held)
        for inside in range(k + 1)
    ]
    return float(max(variances)), float(1 - min(added))
