"""Plans with given parameters, simple reference implementations of fast code, and decisions of statistical tests.

Nothing here is optimized. tests/planning tests the planner; other tests make the plan that they need.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from scipy.special import chdtrc
from scipy.stats import binom

from assocpriv.client.baskets.basket_client import Randomizer, fit_transaction
from assocpriv.client.baskets.bulk_client import randomize_chunks
from assocpriv.client.guided.guided_client import randomize_inputs
from assocpriv.client.numeric.table_client import encode, release
from assocpriv.client.numeric.table_client import randomize_inputs as randomize_table
from assocpriv.estimation.supports import ObservedCounts
from assocpriv.files.report_files import Reports
from assocpriv.guarantees.amplification import Guarantee, parse_share
from assocpriv.guarantees.entropy import WordEntropy
from assocpriv.planning.basket_planner import add_sizes_report_type, as_catalogue, limit_per_report, sizes_share
from assocpriv.planning.operator_designs import FixedSizeFamily, WorstSupport, paper_family, runs
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.baskets.catalogue import Catalogue, Names
from assocpriv.plans.baskets.generator import BUILDERS, Generator
from assocpriv.plans.baskets.operator import AnyOperator, FixedSizeOperator, Operator, estimator_row, transition_matrix
from assocpriv.plans.baskets.report_type import ReportType
from assocpriv.plans.guided.guided_plan import Guidance, category, class_label, number, plan_guided
from assocpriv.plans.numeric.table_plan import Column
from assocpriv.records.baskets import Baskets
from assocpriv.records.table_files import TableOptions, stream_table
from assocpriv.server.baskets.bitmaps import ItemTables, planes_of
from assocpriv.simulation.enumeration import SeededEntropy, distribution
from bench.accuracy.transactions import Transactions

# primitive polynomials over GF(2) by degree (Peterson and Weldon, appendix C), which avoid loading galois
PRIMITIVE = {2: 7, 3: 11, 4: 19, 5: 37, 6: 67, 7: 131, 8: 285, 9: 529, 10: 1033, 11: 2053, 12: 4179}
# γ below 10^30: small plans for tests have no useful guarantee
NO_GUARANTEE = Guarantee(Fraction(1, 10**15), 1 - Fraction(1, 10**15))


class ReplayEntropy(WordEntropy):
    """Entropy that returns given words in order, counts them, and raises IndexError after the last."""

    def __init__(self, words: Iterable[int]) -> None:
        self.given = np.array(list(words), dtype=np.uint64)
        self.used = 0

    def words(self, count):
        """Return the next ``count`` of the given words."""
        if self.used + count > len(self.given):
            raise IndexError("no words left to replay")
        self.used += count
        return self.given[self.used - count : self.used]


def small_plan(
    code: str,
    n_items: int,
    m: int,
    k: int,
    *,
    insert: tuple[int, int] = (1, 1),
    weight_bits: int = 64,
    shares: Sequence[int] | None = None,
) -> Plan:
    """Make a plan with given parameters: kept subsets of j items have weights in proportion to ``shares[j]``.

    Args:
        code: ``none``, ``bch`` or ``reed-solomon``.
        n_items: real items.
        m: transaction size M.
        k: itemset size K.
        insert: a and r of ρ = a/2^r.
        weight_bits: b.
        shares: m + 1 numbers, by default 1 … m + 1.
    """
    shares = list(shares or range(1, m + 2))
    total = sum(comb(m, j) * share for j, share in enumerate(shares))
    weights = [(share << weight_bits) // total for share in shares]
    weights[m] += (1 << weight_bits) - sum(comb(m, j) * weight for j, weight in enumerate(weights))
    operator = Operator(m, *insert, weight_bits, tuple(weights))
    return items_plan(n_items, operator, small_generator(code, n_items + m, insert[1], m + k), k)


def fixed_plan(n_items: int, m: int, k: int, report_size: int, *, shares: Sequence[int] | None = None) -> Plan:
    """Make a plan with reports of a fixed size: sets that share j items with the transaction weigh ``shares[j]``.

    Args:
        n_items: real items.
        m: transaction size M.
        k: itemset size K.
        report_size: ℓ.
        shares: m + 1 numbers, by default 1 … m + 1; those of an impossible j are set to 0.
    """
    shares = list(shares or range(1, m + 2))
    weights = tuple(share if 0 <= report_size - j <= n_items else 0 for j, share in enumerate(shares))
    return items_plan(n_items, FixedSizeOperator(m, n_items + m, report_size, weights), Generator(), k)


def items_plan(
    items: int | Sequence[str],
    operator: AnyOperator,
    generator: Generator | None = None,
    k: int = 1,
    guarantee: Guarantee = NO_GUARANTEE,
    reports_per_person: int = 1,
) -> Plan:
    """Make a plan with one report type about numbered or named items, for itemsets of up to k items."""
    catalogue = Catalogue.numbered(items) if isinstance(items, int) else Catalogue(list(items))
    report_type = ReportType(len(catalogue), operator, generator or Generator(), k)
    return Plan(catalogue, (report_type,), guarantee, reports_per_person=reports_per_person)


@cache
def client_distribution(plan: Plan, basket: Iterable[int]) -> dict[bytes, Fraction]:
    """Return the exact output distribution of the client for a basket, a tuple or frozenset, by all its draws."""
    randomizer, items = Randomizer(plan), sorted(basket)
    return distribution(lambda entropy: randomizer.randomize(items, entropy=entropy))


def plan_of_type(plan: Plan, report_type: ReportType) -> Plan:
    """Return a plan with one report type only, whose view's entries become the items."""
    only = ReportType(report_type.n_items, report_type.operator, report_type.generator, report_type.itemset_size)
    items = Catalogue.numbered(report_type.n_items)
    return Plan(items, (only,), plan.guarantee, reports_per_person=plan.reports_per_person)


def exact_transition(column: Column) -> list[list[Fraction]]:
    """Return P(code | cell or value), exactly: a row for each input (a missing value last), an entry for each code."""
    weights, optional = column.mechanism.weights, column.optional
    rows = (weights(value, optional=optional) for value in range(column.inputs + optional))
    return [[Fraction(weight, sum(row)) for weight in row] for row in rows]


def small_generator(code: str, n_items: int, r: int, independent: int) -> Generator:
    """Make the generator that the planner would choose, from the polynomials above."""
    if code == "none":
        return Generator()
    if code == "bch":
        width, columns = max(2, (n_items * r).bit_length()), independent * r
        return Generator("bch", width, PRIMITIVE[width], max(1, columns // 2), columns > 1 and columns % 2 == 1)
    width = max(2, r, (n_items - 1).bit_length())
    return Generator("reed-solomon", width, PRIMITIVE[width], independent)


def reports_of(baskets, plan, seed=1):
    """Return the client's reports of baskets, of sets of items, or of who holds what, bool (people, items)."""
    if isinstance(baskets, np.ndarray):
        baskets = Baskets(plan.catalogue, np.append(0, baskets.sum(axis=1).cumsum()), np.nonzero(baskets)[1])
    elif not isinstance(baskets, Baskets):
        baskets = Baskets.from_sets(baskets, plan.catalogue, empty="keep")
    chunks = randomize_chunks(baskets, plan, entropy=SeededEntropy(seed))
    return Reports(plan, np.concatenate([chunk.packed for chunk in chunks]))


def bits_of(words):
    """Return uint64 words, (n, w), as bits, uint8 (n, 64·w): bit b is bit b mod 64 of word b div 64."""
    octets = np.frombuffer(np.ascontiguousarray(words, dtype="<u8").tobytes(), dtype=np.uint8)
    return np.unpackbits(octets, bitorder="little").reshape(len(words), 64 * words.shape[1])


def lines_of(rows):
    """Return bitmaps in blocks, (blocks, rows, words), as one line of words per row."""
    return np.ascontiguousarray(rows.transpose(1, 0, 2)).reshape(rows.shape[1], -1)


def released_table(table, plan, seed):
    """Return the client's reports of a table from a seed."""
    inputs = stream_table(table, plan, TableOptions())
    batches = randomize_table(inputs, plan, entropy=SeededEntropy(seed), workers=1)
    return Reports(plan, np.concatenate(list(batches)))


def observed_counts(operator, counts):
    """Return partial counts of itemsets, (itemsets, k + 1), with the operator's matrices."""
    k = counts.shape[1] - 1
    matrix = np.array([[float(x) for x in row] for row in transition_matrix(operator, k)])
    return ObservedCounts(counts.astype(np.int64), matrix, np.array([float(x) for x in estimator_row(operator, k)]))


def report_rows(packed, report_type, items):
    """Return packed reports as bitmaps of some items, (blocks, items, words)."""
    return ItemTables(report_type, items).rows(planes_of(packed, report_type), len(packed))


def count_supersets(rows, itemsets):
    """Count supersets naively: rows (blocks, items, words), itemsets (candidates, k) -> counts (candidates,)."""
    bits = bits_of(lines_of(rows))
    return np.array([bits[itemset].all(axis=0).sum() for itemset in itemsets.tolist()], dtype=np.int64)


def randomize_until(records, words, randomize):
    """Return what ``randomize`` makes of records and words until these run out, and the number of used words."""
    reports, used = [], 0
    for record in records:
        entropy = ReplayEntropy(words[used:])
        try:
            reports.append(randomize(record, entropy))
        except IndexError:
            break
        used += entropy.used
    return reports, used


def randomize_transactions(transactions, plan, words):
    """Randomize transactions with the client for one report until the words run out; reference for bulk clients.

    Returns:
        The reports (bytes), the M items that each transaction was fitted to, and the number of used words.
    """
    randomizer = Randomizer(plan)

    def fit_and_randomize(transaction, entropy):
        fitted = fit_transaction(sorted(transaction), plan.items, ReplayEntropy(entropy.given))
        return randomizer.randomize(transaction, entropy=entropy), fitted

    made, used = randomize_until(transactions, words, fit_and_randomize)
    return [report for report, _ in made], [fitted for _, fitted in made], used


def randomize_records(inputs, plan, words):
    """Return reports of records by the client for one report until the words run out, and the number of used words."""
    return randomize_until(inputs, words, lambda row, entropy: encode(release(row, plan, entropy), plan))


def count_itemset(transactions, itemset):
    """Count the transactions that hold all items of an itemset."""
    return sum(set(itemset) <= set(transaction) for transaction in transactions)


def frequent_itemsets(transactions, n_items, min_support, largest):
    """Return the counts of all itemsets of 1 … ``largest`` items with support ≥ min_support, by trying every one."""
    every = [itemset for k in range(1, largest + 1) for itemset in combinations(range(n_items), k)]
    counts = {itemset: count_itemset(transactions, itemset) for itemset in every}
    return {itemset: count for itemset, count in counts.items() if count / len(transactions) >= min_support}


def parse_numbers(text, max_digits):
    """Parse naively: bytes of whole lines -> the numbers of each line, and the position of the first bad byte or −1."""
    lines, position = [], 0
    for line in text.removesuffix(b"\n").split(b"\n"):
        content = line.removesuffix(b"\r")
        digits = 0
        for place, byte in enumerate(content):
            digits = digits + 1 if chr(byte) in "0123456789" else 0
            if digits > max_digits or chr(byte) not in "0123456789 \t":
                return lines, position + place
        lines.append([int(number) for number in content.split()])
        position += len(line) + 1
    return lines, -1


LONGEST_FIXED = 256


def planned(
    items, transaction_size=None, guarantee=None, *, itemset_size=None, reports=10**6, reports_per_person=1, names=None,
    kind="auto", code=None, sizes=None,
):  # fmt: skip
    """Return the plan with the shortest reports within 2% of the smallest lowest detectable support (LDS) for M items.

    ``kind`` is that of the operator, ``independent`` or ``fixed-size``; ``sizes`` the share of reports about sizes, or
    ``auto``.
    """
    catalogue, m = as_catalogue(items), transaction_size
    largest, limit = itemset_size or min(3, m), limit_per_report(guarantee, reports_per_person)
    objective, padded = WorstSupport(largest, reports), len(catalogue) + m
    families = [] if kind == "fixed-size" else [paper_family(m)]
    if kind == "fixed-size" or (kind == "auto" and code in (None, "none") and m + largest <= padded <= LONGEST_FIXED):
        families.append(FixedSizeFamily(m, padded, tuple(range(1, padded // 2 + 1))))
    designs = [design for family in families for design in family.search(limit, objective, runs(m))]
    least = min(design.error for design in designs)
    near = [design for design in designs if design.error <= 1.02 * least]
    design = min(near, key=lambda design: (design.report_bits(padded, m + largest), design.error))
    generator = design.generator(padded, m + largest)
    if code is not None and generator.kind != code:
        generator = BUILDERS[code](padded, design.insert_bits, m + largest) if code != "none" else Generator()
    report_types = (ReportType(len(catalogue), design.operator(limit), generator, largest),)
    if sizes is not None:
        share = sizes_share(reports) if sizes == "auto" else Fraction(parse_share(sizes, "share"))
        report_types = add_sizes_report_type(report_types[0], share, limit, reports)
    return Plan(catalogue, report_types, guarantee, names or Names(), reports_per_person)


LABEL = class_label("class", ("no", "yes"))


def guided_plan(keep=None, guarantee=None, **settings):
    """Return a plan of two attributes and five bits."""
    attributes = [category("vote", ("n", "y")), number("age", [Fraction(30), Fraction(60)])]
    kept = {} if keep is None else {"guarantee": guarantee or Guarantee("5%", "50%"), "keep": keep}
    return plan_guided(attributes, LABEL, **kept, **settings)


def votes_plan(n=24, labels=("no", "yes"), **settings):
    """Return a plan of n yes/no questions."""
    return plan_guided(
        [category(f"v{place}", ("n", "y")) for place in range(n)], class_label("class", labels), **settings
    )


def random_guidance(plan, level, rng, serial=1):
    """Return guidance with random directions."""
    vectors, _ = np.linalg.qr(rng.standard_normal((plan.width, level)))
    return Guidance.from_vectors(plan, serial, vectors)


def random_people(plan, n, rng):
    """Return positions, (n, attributes), and classes, (n,), of random people."""
    return rng.integers(0, np.array(plan.sizes), (n, len(plan.sizes))), rng.integers(0, len(plan.labels), n)


def randomize_tuples(positions, classes, plan, guidance, *, entropy):
    """Return the client's reports of tuples under guidance."""
    inputs = np.column_stack([positions, classes]).astype(np.int32)
    return np.concatenate(list(randomize_inputs([inputs], plan, guidance, entropy=entropy)))


FALSE_ALARM = 1e-6
Z_LIMIT = 4.9  # |z| of a mean with known variance; P(|Z| ≥ 4.9) = 9.6e-7
LEAST_EXPECTED = 5


def rejects(observed_counts, expected_probabilities) -> bool:
    """Return whether a chi-square test at level FALSE_ALARM rejects the probabilities.

    Cells with an expectation below 5 are merged into one; if its expectation is still below 5, it joins the smallest
    other cell. An observation in a cell of probability 0 rejects immediately.

    Args:
        observed_counts: integers, shape (cells,).
        expected_probabilities: same shape, fixed before the counts are known; they sum to 1.

    >>> rejects([5030, 4970], [0.5, 0.5]), rejects([5300, 4700], [0.5, 0.5])
    (False, True)
    """
    observed = np.asarray(observed_counts, dtype=np.float64).ravel()
    probabilities = np.asarray(expected_probabilities, dtype=np.float64).ravel()
    if observed.shape != probabilities.shape or abs(probabilities.sum() - 1) > 1e-9 or (probabilities < 0).any():
        raise ValueError("expected_probabilities must have one probability per cell, and sum to 1")
    if observed[probabilities == 0].any():
        return True
    observed, expected = _merged(observed, probabilities * observed.sum())
    if len(expected) < 2:
        raise ValueError("fewer than two cells are left to compare; use a larger sample")
    return bool(chdtrc(len(expected) - 1, ((observed - expected) ** 2 / expected).sum()) < FALSE_ALARM)


def _merged(observed, expected):
    """Sort cells by their expectation and merge the smallest until each has an expectation of at least 5."""
    order = np.argsort(expected, kind="stable")
    observed, expected = observed[order], expected[order]
    merge = int((expected < LEAST_EXPECTED).sum())
    if merge and expected[:merge].sum() < LEAST_EXPECTED:
        merge += 1
    if merge < 2:
        return observed, expected
    return (np.append(observed[:merge].sum(), observed[merge:]), np.append(expected[:merge].sum(), expected[merge:]))


def binomial_sum(first, p, second, q):
    """Return the distribution of Binomial(first, p) + Binomial(second, q)."""
    return np.convolve(binom.pmf(np.arange(first + 1), first, p), binom.pmf(np.arange(second + 1), second, q))


# ---- transactions of the accuracy bench


def transactions_of(baskets, n_items):
    """Make transactions from sets."""
    offsets = np.concatenate(([0], np.cumsum([len(basket) for basket in baskets]))).astype(np.int64)
    flat = np.array([item for basket in baskets for item in sorted(basket)], dtype=np.int64)
    return Transactions(offsets, flat, n_items, "small")


def random_transactions(rng, n, n_items, share=0.3):
    """Make baskets that hold each item independently, with probabilities near ``share``."""
    held = rng.random((n, n_items)) < share * np.linspace(1.6, 0.4, n_items)
    return transactions_of([np.flatnonzero(row).tolist() for row in held], n_items)


def held_by(transactions):
    """Return the baskets as sets."""
    return [set(part.tolist()) for part in np.split(transactions.items, transactions.offsets[1:-1])]


def _posteriors(prior: Any, transition: Any) -> tuple[Any, Any, Any]:
    """Return P[X], P[Y] and P[X | Y], for values and outputs of positive probability."""
    before, rows = np.asarray(prior, dtype=float), np.asarray(transition, dtype=float)
    joint = (before[:, None] * rows)[before > 0]
    outputs = joint.sum(axis=0)
    return before[before > 0], outputs[outputs > 0], joint[:, outputs > 0] / outputs[outputs > 0]


def _divergences(before: Any, after: Any) -> Any:
    ratios = np.maximum(after / before[:, None], np.finfo(float).tiny)
    return (after * np.log2(ratios)).sum(axis=0)


def mutual_information(prior: Any, transition: Any) -> float:
    """Return I(X; Y) of EGS03, section 7, in bits."""
    before, outputs, after = _posteriors(prior, transition)
    return float(outputs @ _divergences(before, after))


def worst_information(prior: Any, transition: Any) -> float:
    """Return the worst-case information WI(X; Y) in bits."""
    before, _, after = _posteriors(prior, transition)
    return float(_divergences(before, after).max())


def inverse_worst_information(prior: Any, transition: Any) -> float:
    """Return IWI(X; Y) in bits; infinite if a report excludes a value."""
    before, _, after = _posteriors(prior, transition)
    with np.errstate(divide="ignore"):
        return float((before[:, None] * np.log2(before[:, None] / after)).sum(axis=0).max())
