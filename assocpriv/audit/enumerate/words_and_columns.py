"""What the shipping client is made of, on the plan under audit: draws from words, and the generator's columns.

lab/enumeration.py takes draws for what core/entropy.py says they are. Here the plan's own draws are made of chosen
words:

    coins(count, a, r)  words that spell all numbers below 2^r, each once: just those below a are 1
    below(n)            the least words of a number, by the definition in docs/formats.md, after a word that is rejected
    pick(c)             numbers on both sides of every bound
"""

from itertools import accumulate, pairwise

import numpy as np

from assocpriv.audit.enumerate.steered import Replayed
from assocpriv.audit.findings import Fault, client_at_work
from assocpriv.audit.recompute.codes import masks
from assocpriv.audit.recompute.plan_text import Numbers
from assocpriv.audit.recompute.report_forms import Bits, Group
from assocpriv.plans.baskets.codes import item_columns
from assocpriv.plans.baskets.plan import Plan

_MOST_COLUMNS = 2000  # items whose columns are compared


def check_words(numbers: Numbers) -> int:
    """Make the plan's draws of chosen words; return how many draws were compared with their definition.

    Raises:
        Fault: a draw is another than the definition's.
    """
    coins = sum(_check_coins(group) for group in numbers.groups if isinstance(group, Bits))
    return coins + sum(_check_below(group) + _check_pick(group) for group in numbers.groups)


def _check_coins(group: Bits) -> int:
    a, r = group.insert_num, group.insert_bits
    count = max(64, 1 << r)
    spelt = [
        sum((64 * part + place >> (r - 1 - digit) & 1) << place for place in range(64))
        for part in range(count // 64)
        for digit in range(r)
    ]
    wanted = sum(1 << number for number in range(count) if number % (1 << r) < a)
    if Replayed(spelt).coins(count, a, r) != wanted:
        raise Fault("Coins made of all words there can be do not show with the plan's probability.")
    return count


def _check_below(group: Group) -> int:
    bounds = group.drawn_below | set(range(2, 2 * group.size + 1))  # what long transactions are sampled with
    draws = [(n, number) for n in bounds for number in {0, 1, n // 3, n // 2, n - 2, n - 1} if 0 <= number < n]
    for n, number in draws:
        if Replayed(words_of(number, n)).below(n) != number:
            raise Fault(f"A number drawn below a bound of {n.bit_length()} bits is not that of its words.")
    return len(draws)


def _check_pick(group: Group) -> int:
    cumulative = list(accumulate(group.picked_weights))
    for index, (low, high) in enumerate(pairwise([0, *cumulative])):
        for number in (low, high - 1):
            if Replayed(words_of(number, cumulative[-1])).pick(cumulative) != index:
                raise Fault("A pick is not that of its weights.")
    return 2 * len(cumulative)


def words_of(number: int, n: int) -> list[int]:
    """Return words that ``below(n)`` makes a number of: one draw that is rejected, if any is, then the least.

    >>> words_of(5, 8), words_of(0, 1), words_of(1, 3)
    ([5], [], [0, 6148914691236517206])
    """
    count = -(-(n - 1).bit_length() // 64)
    if n & (n - 1) == 0:
        return _split(number, count)
    span = 1 << 64 * count
    least = -(-(number * span + span % n) // n)  # of the x with ⌊x·n / span⌋ = number and x·n mod span ≥ span mod n
    return _split(0, count) + _split(least, count)


def _split(number: int, count: int) -> list[int]:
    return [number >> 64 * place & (1 << 64) - 1 for place in range(count)]


def check_columns(plan: Plan, numbers: Numbers, chance: np.random.Generator) -> int:
    """Compare the generator's columns that client and server use with masks made by their definition.

    How many items were compared is returned: all of at most 2,000, else so many, others in every audit.

    Raises:
        Fault: they differ.
    """
    compared = 0
    for group in {each.insert_bits: each for each in numbers.coded}.values():
        items = np.sort(chance.permutation(group.items)[:_MOST_COLUMNS])
        with client_at_work():
            made = item_columns(plan.generator, group.insert_bits, items)
        for item, columns in zip(items.tolist(), made, strict=True):
            if tuple(int.from_bytes(words.astype("<u8").tobytes(), "little") for words in columns) != masks(
                group, item
            ):
                raise Fault("A column of the generator differs from its definition.")
            compared += 1
    return compared
