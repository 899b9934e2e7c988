"""Manipulated reports: reports made from no basket to show chosen items, for the bench and the manipulation tests.

Each such report adds q[k] to N·ŝ of an itemset of k of the chosen items. All else is uniform, so that reports differ:

- With a code, the seed is uniform among the seeds that give every chosen item the value 0. These solve linear
  equations, so they exist for any number of items. (For a > 1 other seeds show the items as well.)
- Without a code, each other item is shown with probability ρ.
- In reports of a fixed size, the other items are uniform.
"""

from collections.abc import Iterable, Sequence
from math import comb

import numpy as np
from numpy.typing import NDArray

from assocpriv.guarantees.entropy import WordEntropy
from assocpriv.guarantees.errors import PlanError
from assocpriv.guarantees.exact_numbers import rank_of_set, set_of_rank
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.baskets.generator import WORD_BITS, item_columns
from assocpriv.plans.baskets.operator import FixedSizeOperator
from assocpriv.plans.baskets.report_type import ReportType
from assocpriv.server.baskets.counting import report_type_number


def manipulated_reports(
    plan: Plan, shown: Sequence[int], count: int, *, entropy: WordEntropy, report_type: ReportType | None = None
) -> NDArray[np.uint8]:
    """Return packed reports that all show the chosen entries, uint8 (count, report_bytes).

    Args:
        plan: the plan of the reports.
        shown: distinct ids, any number of them; at most ℓ for responses of a fixed size.
        count: number of reports.
        entropy: source of random bits.
        report_type: type of all reports; by default the type about items that most devices draw.

    Raises:
        PlanError: there are more entries than a response of a fixed size shows.
    """
    number = report_type_number(plan, report_type)
    answers = _answers(plan.report_types[number], shown, count, entropy)
    made = b"".join(plan.pack_report(number, answer) for answer in answers)
    return np.frombuffer(made, dtype=np.uint8).reshape(count, plan.report_bytes)


def _answers(report_type: ReportType, shown: Sequence[int], count: int, entropy: WordEntropy) -> Iterable[bytes]:
    if isinstance(report_type.operator, FixedSizeOperator):
        return _sets(report_type, shown, count, entropy)
    if report_type.generator.is_seedless:
        operator, wanted = report_type.independent, sum(1 << item for item in shown)
        random_bits = (
            entropy.random_bits(report_type.padded_items, operator.insert_num, operator.insert_bits)
            for _ in range(count)
        )
        return (report_type.form.encode(bits | wanted) for bits in random_bits)
    return _seeds(report_type, shown, count, entropy)


def _sets(report_type: ReportType, shown: Sequence[int], count: int, entropy: WordEntropy) -> Iterable[bytes]:
    size = report_type.fixed.report_size - len(shown)
    if size < 0:
        raise PlanError(f"a report of this plan shows {report_type.fixed.report_size} items, not {len(shown)}")
    others = [item for item in range(report_type.padded_items) if item not in set(shown)]
    choices = comb(len(others), size)
    drawn = (set_of_rank(entropy.below(choices), len(others), size) for _ in range(count))
    ranks = (rank_of_set([*shown, *(others[place] for place in places)]) for places in drawn)
    return (report_type.form.encode(rank) for rank in ranks)


def _seeds(report_type: ReportType, shown: Sequence[int], count: int, entropy: WordEntropy) -> Iterable[bytes]:
    basis = free_seeds(report_type, shown)
    n_words = -(-len(basis) // WORD_BITS)
    drawn = entropy.words(count * n_words).astype("<u8", copy=False).view(np.uint8).reshape(count, 8 * n_words)
    chosen = np.unpackbits(drawn, axis=1, count=len(basis), bitorder="little").astype(np.int64)
    bits = np.array([[seed >> b & 1 for b in range(report_type.report_bits)] for seed in basis], dtype=np.int64)
    seeds = chosen @ bits.reshape(len(basis), report_type.report_bits) & 1
    return (row.tobytes() for row in np.packbits(seeds.astype(np.uint8), axis=1, bitorder="little"))


def free_seeds(report_type: ReportType, shown: Sequence[int]) -> list[int]:
    """Return a basis of the seeds whose values of the items are all 0, as integers; empty if only the seed 0 is."""
    columns = item_columns(report_type.generator, report_type.independent.insert_bits, np.array(shown, dtype=np.int64))
    reduced: dict[int, int] = {}  # pivot: equation; no other equation has its pivot bit
    for words in columns.reshape(-1, columns.shape[2]):
        column = int.from_bytes(words.astype("<u8").tobytes(), "little")
        for pivot, equation in reduced.items():
            column ^= equation if column >> pivot & 1 else 0
        if not column:
            continue  # linearly dependent on the others
        new = column.bit_length() - 1
        reduced = {pivot: other ^ (column if other >> new & 1 else 0) for pivot, other in reduced.items()}
        reduced[new] = column
    return [
        1 << bit | sum(1 << pivot for pivot, equation in reduced.items() if equation >> bit & 1)
        for bit in range(report_type.report_bits)
        if bit not in reduced
    ]
