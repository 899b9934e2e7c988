"""Short, obvious twins of the package's fast code, and small plans made by hand to run both on.

The twins of the kernels return what the kernel writes. Nothing here is tuned; where a line is shorter or
slower than the package's it is meant to be.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np

from assocpriv.client.baskets import Randomizer, fit_transaction
from assocpriv.client.bulk import randomize_chunks
from assocpriv.client.tables import encode, release
from assocpriv.files.reports import Reports
from assocpriv.plans.baskets import Plan
from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.generator import Generator
from assocpriv.plans.operator import AnyOperator, FixedSizeOperator, Operator
from assocpriv.plans.question import Question
from assocpriv.promise.breaches import Breach
from assocpriv.promise.entropy import WordEntropy
from assocpriv.records.baskets import Baskets
from assocpriv.simulation.enumeration import SeededEntropy

# primitive polynomials over GF(2) by degree (Peterson and Weldon, appendix C); galois need not be loaded for them
PRIMITIVE = {2: 7, 3: 11, 4: 19, 5: 37, 6: 67, 7: 131, 8: 285, 9: 529, 10: 1033, 11: 2053, 12: 4179}
# γ below 10^30: small plans made for tests promise nothing worth having
NO_PROMISE = Breach(Fraction(1, 10**15), 1 - Fraction(1, 10**15))


class ReplayEntropy(WordEntropy):
    """Yields given words in order, counts them, and raises IndexError when they run out."""

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
    """Make a plan without searching: kept subsets of j items have weights in proportion to ``shares[j]``.

    Args:
        code: ``none``, ``bch`` or ``reed-solomon``.
        n_items: real items.
        m: transaction size M.
        k: itemset size K.
        insert: a and r of ρ = a/2^r.
        weight_bits: b.
        shares: m + 1 numbers, 1 … m + 1 by default.
    """
    shares = list(shares or range(1, m + 2))
    total = sum(comb(m, j) * share for j, share in enumerate(shares))
    weights = [(share << weight_bits) // total for share in shares]
    weights[m] += (1 << weight_bits) - sum(comb(m, j) * weight for j, weight in enumerate(weights))
    operator = Operator(m, *insert, weight_bits, tuple(weights))
    return items_plan(n_items, operator, small_generator(code, n_items + m, insert[1], m + k), k)


def fixed_plan(n_items: int, m: int, k: int, report_size: int, *, shares: Sequence[int] | None = None) -> Plan:
    """Make a plan for reports of a fixed size: sets that share j items with the transaction weigh ``shares[j]``.

    Args:
        n_items: real items.
        m: transaction size M.
        k: itemset size K.
        report_size: ℓ.
        shares: m + 1 numbers, 1 … m + 1 by default; those of a j that cannot occur are left out.
    """
    shares = list(shares or range(1, m + 2))
    weights = tuple(share if 0 <= report_size - j <= n_items else 0 for j, share in enumerate(shares))
    return items_plan(n_items, FixedSizeOperator(m, n_items + m, report_size, weights), Generator(), k)


def items_plan(
    items: int | Sequence[str],
    operator: AnyOperator,
    generator: Generator | None = None,
    k: int = 1,
    promise: Breach = NO_PROMISE,
    reports_per_person: int = 1,
) -> Plan:
    """Make a plan of one question about items, numbered or named, for itemsets of up to k."""
    catalogue = Catalogue.numbered(items) if isinstance(items, int) else Catalogue(items)
    question = Question(len(catalogue), operator, generator or Generator(), k)
    return Plan(catalogue, (question,), promise, reports_per_person=reports_per_person)


def small_generator(code: str, n_items: int, r: int, independent: int) -> Generator:
    """Make the generator that lab.planner would, from the polynomials above."""
    if code == "none":
        return Generator()
    if code == "bch":
        width = max(2, (n_items * r).bit_length())
        columns = independent * r
        return Generator("bch", width, PRIMITIVE[width], max(1, columns // 2), columns > 1 and columns % 2 == 1)
    width = max(2, r, (n_items - 1).bit_length())
    return Generator("reed-solomon", width, PRIMITIVE[width], independent)


def reports_of(baskets, plan, seed=1):
    """Return the reports of baskets, or of sets of items, by the shipping client from a seed."""
    if not isinstance(baskets, Baskets):
        baskets = Baskets.from_sets(baskets, plan.catalogue)
    chunks = randomize_chunks(baskets, plan, entropy=SeededEntropy(seed))
    return Reports(plan, np.concatenate([chunk.packed for chunk in chunks]))


def bits_of(words):
    """Return uint64 words, (n, w), as bits, uint8 (n, 64·w): bit b is bit b mod 64 of word b div 64."""
    octets = np.frombuffer(np.ascontiguousarray(words, dtype="<u8").tobytes(), dtype=np.uint8)
    return np.unpackbits(octets, bitorder="little").reshape(len(words), 64 * words.shape[1])


def lines_of(rows):
    """Return bitmaps in blocks, (blocks, rows, words), as one line of words a row."""
    return np.ascontiguousarray(rows.transpose(1, 0, 2)).reshape(rows.shape[1], -1)


def count_supersets(rows, itemsets):
    """Twin: rows (blocks, items, words), itemsets (candidates, k) -> counts (candidates,)."""
    bits = bits_of(lines_of(rows))
    return np.array([bits[itemset].all(axis=0).sum() for itemset in itemsets.tolist()], dtype=np.int64)


def randomize_transactions(transactions, plan, words):
    """Twin, of randomize_sets too: randomize by the one-report client as many transactions as the words suffice for.

    Returns:
        The reports (bytes), the M items that each transaction was fitted to, and the words that these used.
    """
    randomizer, reports, fitted, used = Randomizer(plan), [], [], 0
    for transaction in transactions:
        entropy = ReplayEntropy(words[used:])
        try:
            reports.append(randomizer.randomize(transaction, entropy=entropy))
        except IndexError:
            break
        fitted.append(fit_transaction(sorted(transaction), plan.items, ReplayEntropy(words[used:])))
        used += entropy.used
    return reports, fitted, used


def randomize_records(inputs, plan, words):
    """Twin: reports of as many records as the words suffice for, by the one-report client, and the words used."""
    reports, used = [], 0
    for row in inputs:
        entropy = ReplayEntropy(words[used:])
        try:
            reports.append(encode(release(row, plan, entropy), plan))
        except IndexError:
            break
        used += entropy.used
    return reports, used


def count_itemset(transactions, itemset):
    """Count the transactions that hold all items of an itemset."""
    return sum(set(itemset) <= set(transaction) for transaction in transactions)


def frequent_itemsets(transactions, n_items, min_support, largest):
    """Try every itemset of 1 … ``largest`` items; return the counts of those with support ≥ min_support."""
    found = {}
    for k in range(1, largest + 1):
        for itemset in combinations(range(n_items), k):
            count = count_itemset(transactions, itemset)
            if count / len(transactions) >= min_support:
                found[itemset] = count
    return found


def parse_numbers(text, max_digits):
    """Twin: bytes of whole lines -> the numbers of each line, and the position of the first bad byte or −1."""
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
