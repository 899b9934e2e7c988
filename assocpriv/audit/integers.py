"""What a plan's integers promise, computed anew from its JSON text and docs/formats.md alone.

An audit that asks the plan what it promises repeats the plan's mistakes. So nothing of the package computes here: not
the checks of a plan, not its operators, not the generators' matrices. The text becomes integers, and these become

* the chance of a report given a transaction, from its definition, and the largest ratio between two transactions over
  all numbers of items that they can share and that a report can show of each;
* the posteriors that such a ratio can lead to, by Bayes' rule;
* the generator's field, walked through element by element, and its masks, which Gaussian elimination tries.

With m the items of a (padded) transaction t, N those of the catalogue with its dummies, j = |t ∩ y| and q = 2^r:

    select-a-size   P[t → y] = v_j / 2^b · a^(|y|−j) (q−a)^(N−m−|y|+j) / q^(N−m)
    seeds           P[t → ξ] = v_j / 2^b / (2^(s−mr) a^j (q−a)^(m−j)), over how many seeds agree on t's items
    fixed size      P[t → y] = v_j / T,  T = Σ_j C(m,j) C(N−m, ℓ−j) v_j

A transaction longer than m counts as a uniform one of its parts of m items. Its law is an average of theirs, so no
ratio goes beyond those of the parts.

Source: EGS03, sections 3 (statement 1), 5 and 6.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, islice
from math import comb, nextafter
from typing import Any

from assocpriv.audit.findings import BROKEN, CONSISTENT, Finding
from assocpriv.core.errors import PlanError

DEPTH = "exact"
NONE, FIXED, BCH, REED_SOLOMON = "none", "fixed-size", "bch", "reed-solomon"
_MOST_SHOWN = 10**40
_FEW_SETS = 2000  # of items: where there are no more, all are tried
_TRIED_SETS = 150
_WEIGHT = re.compile(r"0|[1-9][0-9]{0,399}", re.ASCII)
_PROBABILITY = re.compile(r"([0-9./]{1,60}(?:e-?[0-9]{1,2})?)(%?)", re.ASCII)  # no exponent of a billion digits


@dataclass(frozen=True, slots=True)
class Group:
    """One operator of a plan and what its reports are made with, as integers.

    Attributes:
        kind: ``none``, ``bch``, ``reed-solomon`` or ``fixed-size``.
        size: m, the items of a transaction, dummies included.
        items: N, those of the catalogue, dummies included.
        weights: v_0 … v_m.
        insert_num, insert_bits, weight_bits: a, r and b; 0 for reports of a fixed size.
        report_size: ℓ of reports of a fixed size, else 0.
        field_bits, polynomial, blocks, ones_row: of the generator, else 0.
    """

    kind: str
    size: int
    items: int
    weights: tuple[int, ...]
    insert_num: int = 0
    insert_bits: int = 0
    weight_bits: int = 0
    report_size: int = 0
    field_bits: int = 0
    polynomial: int = 0
    blocks: int = 0
    ones_row: int = 0

    @property
    def seed_bits(self) -> int:
        """Length s of a seed."""
        return self.field_bits * self.blocks + self.ones_row

    @property
    def total(self) -> int:
        """What the weights of all single choices add up to: 2^b, or T of reports of a fixed size."""
        return _added_weights(self) if self.kind == FIXED else 1 << self.weight_bits

    def choices(self, j: int) -> int:
        """Return how many choices share the weight v_j: kept subsets, or sets of ℓ items."""
        if self.kind != FIXED:
            return comb(self.size, j)
        if j > self.report_size:
            return 0
        return comb(self.size, j) * comb(self.items - self.size, self.report_size - j)

    def matching(self, j: int) -> Fraction:
        """Return how many seeds show just j given items of m, if the items' bits are independent."""
        a, rest = self.insert_num, (1 << self.insert_bits) - self.insert_num
        agreeing: int = a**j * rest ** (self.size - j)
        return Fraction(agreeing << self.seed_bits, 1 << self.size * self.insert_bits)

    def chance(self, j: int, shown: int, outside: int) -> Fraction:
        """Return the probability of a report that shows j given items of a transaction's m and no others of them.

        Without a generator, only ``outside`` of the other items are looked at; ``shown`` given ones of them show.
        """
        weight = Fraction(self.weights[j], self.total)
        if self.kind == FIXED:
            return weight
        if self.kind != NONE:
            return weight / self.matching(j)
        a, q = self.insert_num, 1 << self.insert_bits
        return weight * Fraction(a**shown * (q - a) ** (outside - shown), q**outside)

    def probability(self, transaction: frozenset[int], shown: frozenset[int]) -> Fraction:
        """Return P[t → y] of a transaction of m items and of a report (with a seed: of one) that shows given items."""
        j = len(transaction & shown)
        return self.chance(j, len(shown) - j, self.items - self.size)

    @property
    def report_bits(self) -> int:
        """Length of a report, without the byte of a size in clear."""
        if self.kind == FIXED:
            return max(1, (comb(self.items, self.report_size) - 1).bit_length())
        return self.items if self.kind == NONE else self.seed_bits

    def report_items(self, report: int) -> frozenset[int]:
        """Return the items that a report shows, by the definitions of docs/formats.md."""
        if self.kind == FIXED:
            return frozenset(set_of(report, self.items, self.report_size))
        if self.kind == NONE:
            return frozenset(item for item in range(self.items) if report >> item & 1)
        return frozenset(item for item in range(self.items) if value(self, item, report) < self.insert_num)


@lru_cache(maxsize=32)
def _added_weights(group: Group) -> int:
    return sum(group.choices(j) * weight for j, weight in enumerate(group.weights))


@dataclass(frozen=True, slots=True)
class Numbers:
    """A plan's integers.

    Attributes:
        n_items: n, without dummies.
        transaction_size, itemset_size: M and K.
        in_clear: whether reports tell their transaction's size.
        groups: one for each operator.
        prior, posterior: of the promise.
        reports_per_person: how many reports of a person the promise covers together.
    """

    n_items: int
    transaction_size: int
    itemset_size: int
    in_clear: bool
    groups: tuple[Group, ...]
    prior: Fraction
    posterior: Fraction
    reports_per_person: int

    @property
    def report_bytes(self) -> int:
        """Length of every report in bytes, that of a size in clear among them."""
        return -(-self.groups[-1].report_bits // 8) + self.in_clear

    @property
    def limit(self) -> Fraction:
        """What γ must stay below: the posterior's odds over the prior's."""
        return (self.posterior / (1 - self.posterior)) / (self.prior / (1 - self.prior))


# ---- the text


def read_numbers(text: str) -> Numbers:
    """Read the integers of a plan's JSON text.

    Raises:
        PlanError: a field that is missing, doubled or not of the form of docs/formats.md. Whether the numbers are
            those of a valid plan is not looked at.
    """
    try:
        content = json.loads(text, object_pairs_hook=_without_doubles)
    except (ValueError, RecursionError) as error:
        raise error if isinstance(error, PlanError) else PlanError("the text is not valid JSON") from None
    m, kind = _whole(content, "transaction_size", 1, 15), _text(content, "kind", ("select-a-size", FIXED))
    in_clear = _text(content, "sizes", ("hidden", "in clear")) == "in clear"
    n = _count(_field(content, "catalogue"))
    operators = _field(content, "operators")
    sizes = list(range(1, m + 1)) if in_clear else [m]
    if not isinstance(operators, list) or len(operators) != len(sizes):
        raise PlanError(f"operators must be a list of {len(sizes)}")
    generator = _generator(_field(content, "generator"))
    if kind == FIXED and (in_clear or generator["kind"] != NONE):
        raise PlanError("reports of a fixed size need hidden sizes and the generator none")
    promise = _field(content, "promise")
    prior, posterior = (_probability(_field(promise, name), name) for name in ("prior", "posterior"))
    if not 0 < prior < posterior < 1:
        raise PlanError("a promise needs 0 < prior < posterior < 1")
    return Numbers(
        n_items=n,
        transaction_size=m,
        itemset_size=_whole(content, "itemset_size", 1, m),
        in_clear=in_clear,
        groups=tuple(_group(each, kind, size, n, generator) for each, size in zip(operators, sizes, strict=True)),
        prior=prior,
        posterior=posterior,
        reports_per_person=_whole(content, "reports_per_person", 1, 1000) if "reports_per_person" in content else 1,
    )


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise PlanError("a field is given twice")
    return dict(pairs)


def _field(content: object, name: str) -> Any:
    if not isinstance(content, dict) or name not in content:
        raise PlanError(f"the field {name} is missing")
    return content[name]


def _whole(content: object, name: str, low: int, high: int) -> int:
    number = _field(content, name)
    if type(number) is not int or not low <= number <= high:
        raise PlanError(f"{name} must be a whole number in {low}..{high}")
    return number


def _text(content: object, name: str, known: tuple[str, ...]) -> str:
    text = _field(content, name)
    if not isinstance(text, str) or text not in known:
        raise PlanError(f"{name} must be one of {', '.join(known)}")
    return text


def _probability(number: object, name: str) -> Fraction:
    match = _PROBABILITY.fullmatch(str(number).strip()) if isinstance(number, str | float) else None
    try:
        return Fraction(match[1] if match else "") / (100 if match and match[2] else 1)
    except (ValueError, ZeroDivisionError):
        raise PlanError(f"{name} must be a fraction a/b") from None


def _count(catalogue: object) -> int:
    if isinstance(catalogue, dict) and "names" in catalogue:
        if not isinstance(catalogue["names"], list) or not catalogue["names"]:
            raise PlanError("the catalogue's names must be a list")
        return len(catalogue["names"])
    return _whole(catalogue, "count", 1, 1 << 20)


def _generator(content: object) -> dict[str, Any]:
    kind = _text(content, "kind", (NONE, BCH, REED_SOLOMON))
    if kind == NONE:
        return {"kind": kind}
    w = _whole(content, "field_bits", 2, 24)
    ones_row = _field(content, "ones_row") if kind == BCH else False
    if type(ones_row) is not bool:
        raise PlanError("ones_row must be true or false")
    blocks = _whole(content, "blocks", 1, 4096)
    if w * blocks + ones_row > 4096:
        raise PlanError("a seed may have at most 4096 bits")
    polynomial = _whole(content, "field_polynomial", 1 << w, (2 << w) - 1)
    return {"kind": kind, "field_bits": w, "polynomial": polynomial, "blocks": blocks, "ones_row": int(ones_row)}


def _group(content: object, kind: str, size: int, n_items: int, generator: dict[str, Any]) -> Group:
    _whole(content, "size", size, size)
    weights = _field(content, "keep_weights")
    if not isinstance(weights, list) or len(weights) != size + 1:
        raise PlanError(f"keep_weights must be a list of {size + 1}")
    if not all(isinstance(weight, str) and _WEIGHT.fullmatch(weight) for weight in weights):
        raise PlanError("keep_weights must be decimal text")
    values = tuple(map(int, weights))
    items = n_items + size
    if kind == FIXED:
        _whole(content, "items", items, min(items, 4096))
        return Group(FIXED, size, items, values, report_size=_whole(content, "report_size", 1, items - 1))
    r = _whole(content, "insert_bits", 1, 16)
    return Group(
        size=size,
        items=items,
        weights=values,
        insert_num=_whole(content, "insert_num", 1, (1 << r) - 1),
        insert_bits=r,
        weight_bits=_whole(content, "weight_bits", 1, 1024),
        **generator,
    )


# ---- the field and the masks, by their definitions


def times(x: int, y: int, width: int, polynomial: int) -> int:
    """Multiply two elements of GF(2^width), bit i of a number being the coefficient of x^i.

    >>> times(2, 3, 2, 0b111)
    1
    """
    product = 0
    while y:
        if y & 1:
            product ^= x
        x <<= 1
        if x >> width:
            x ^= polynomial
        y >>= 1
    return product


def order_of_x(width: int, polynomial: int) -> int:
    """Return after how many steps the powers of x come back to 1; 0 if they never do. It walks through them all.

    >>> order_of_x(4, 0b10011), order_of_x(4, 0b11111), order_of_x(4, 0b10000)
    (15, 5, 0)
    """
    power = 1
    for step in range(1, 1 << width):
        power <<= 1
        if power >> width:
            power ^= polynomial
        if power == 1:
            return step
    return 0


@lru_cache(maxsize=1 << 14)
def masks(group: Group, item: int) -> tuple[int, ...]:
    """Return an item's r masks: the parity of a seed's bits in mask j is the j-th digit of the item's value."""
    w, polynomial, r = group.field_bits, group.polynomial, group.insert_bits
    if group.kind == BCH:
        return tuple(_bch_mask(group, item * r + j) for j in range(r))
    found = [0] * r
    element = 1  # item^d
    for d in range(group.blocks):
        shifted = element  # α^e · item^d
        for e in range(w):
            for j in range(r):
                found[j] |= (shifted >> (r - 1 - j) & 1) << (d * w + e)
            shifted = times(shifted, 2, w, polynomial)
        element = times(element, item, w, polynomial)
    return tuple(found)


def _bch_mask(group: Group, column: int) -> int:
    w, polynomial = group.field_bits, group.polynomial
    power = 1
    for bit in bin(column)[2:]:  # α^column by repeated squares
        power = times(power, power, w, polynomial)
        power = times(power, 2, w, polynomial) if bit == "1" else power
    square, mask = times(power, power, w, polynomial), 0
    for t in range(group.blocks):
        mask |= power << t * w
        power = times(power, square, w, polynomial)
    return mask | group.ones_row << group.blocks * w


def value(group: Group, item: int, seed: int) -> int:
    """Return the value of an item under a seed; the item is shown iff it is below a."""
    u = 0
    for mask in masks(group, item):
        u = u << 1 | (mask & seed).bit_count() & 1
    return u


def set_of(rank: int, n_items: int, size: int) -> list[int]:
    """Return the set of numbers below ``n_items`` with a rank: for i = size … 1 the largest c with C(c, i) ≤ rank.

    >>> set_of(3, 4, 2)
    [3, 0]
    """
    members, c, i = [], n_items - 1, size
    ways = comb(c, i) if size else 0  # C(c, i) throughout, without a new product each time
    while i:
        if ways > rank:
            c, ways = c - 1, ways * (c - i) // c
        else:
            members.append(c)
            rank -= ways
            c, i, ways = c - 1, i - 1, ways * i // c if ways else 0  # C(c, i) = 0 stays 0 for all that follow
    return members


def rank_over_gf2(vectors: list[int]) -> int:
    """Return the rank of vectors over GF(2), by elimination.

    >>> rank_over_gf2([0b011, 0b101, 0b110])
    2
    """
    by_length: dict[int, int] = {}
    for vector in vectors:
        left = vector
        while left and left.bit_length() in by_length:
            left ^= by_length[left.bit_length()]
        if left:
            by_length[left.bit_length()] = left
    return len(by_length)


# ---- the largest ratio


def overlaps(numbers: Numbers, group: Group) -> set[int]:
    """Return how many items two padded transactions of a group can share.

    Of s items, padded with the first m − s dummies: two of s1 ≤ s2 items share m − s2 dummies.
    """
    m, n = group.size, numbers.n_items
    sizes = range(m, m + 1) if numbers.in_clear else range(m + 1)
    sizes = range(2) if numbers.in_clear and m == 1 else sizes  # an empty transaction counts as one of one item
    return {
        m - larger + both
        for smaller in sizes
        for larger in sizes
        if smaller <= larger <= n
        for both in range(max(0, smaller + larger - n), smaller + 1)
    }


def largest_ratio(numbers: Numbers, group: Group) -> Fraction:
    """Return the largest P[t1 → y] / P[t2 → y] over all transactions of a group and all reports; 1 if there are none.

    With a generator it is an upper bound: whether a seed shows j1 items of t1 and j2 of t2 is left open.
    """
    m, largest = group.size, Fraction(1)
    for shared in overlaps(numbers, group):
        own = m - shared  # items of each that the other does not have; items of neither show up in both chances alike
        for first in range(m + 1):
            for second in range(m + 1):
                both = _both_shown(group, shared, first, second)
                if both is None:
                    continue
                largest = max(
                    largest,
                    group.chance(first, second - both, own) / group.chance(second, first - both, own),
                )
    return largest


def _both_shown(group: Group, shared: int, first: int, second: int) -> int | None:
    """Return how many shared items a report can show that shows ``first`` of t1's items and ``second`` of t2's."""
    own = group.size - shared
    neither = group.items - 2 * group.size + shared
    for both in range(max(0, first - own, second - own), min(first, second, shared) + 1):
        rest = group.report_size - first - second + both  # what a report of a fixed size shows of the others
        if group.kind != FIXED or 0 <= rest <= neither:
            return both
    return None


def stated_ratio(group: Group) -> Fraction:
    """Return the γ of docs/formats.md, whether or not transactions are many enough to reach it."""
    outside = group.size  # as for two transactions that share nothing
    chances = [
        group.chance(j, outside - j, outside) if group.kind == NONE else group.chance(j, 0, 0)
        for j in range(group.size + 1)
        if group.choices(j)
    ]
    return max(chances) / min(chances)


# ---- the findings


def check_integers(text: str) -> tuple[Numbers | None, list[Finding]]:
    """Return a plan's integers, if the text can be read, and what a recomputation finds."""
    try:
        numbers = read_numbers(text)
    except PlanError as error:
        return None, [Finding(DEPTH, "plan text", BROKEN, f"The plan cannot be read: {error}.")]
    said = f"The plan's text holds {len(numbers.groups)} operator(s), a generator and a promise of the stated form."
    findings = [Finding(DEPTH, "plan text", CONSISTENT, said), _check_weights(numbers)]
    if findings[-1].verdict == BROKEN:
        return numbers, findings  # there are no probabilities to go on with
    return numbers, [*findings, _check_amplification(numbers), *_check_generator(numbers)]


def _check_weights(numbers: Numbers) -> Finding:
    name = "weights"
    for group in numbers.groups:
        if any((weight > 0) != (group.choices(j) > 0) for j, weight in enumerate(group.weights)):
            said = f"A kept size that can occur has weight 0, or one that cannot has not (size {group.size})."
            return Finding(DEPTH, name, BROKEN, said)
        added = _added_weights(group)
        if added != group.total:
            said = f"The probabilities of the kept sizes add up to {_about(Fraction(added, group.total))}, not to 1"
            return Finding(DEPTH, name, BROKEN, f"{said} (operator of size {group.size}).")
    shares = [
        [str(Fraction(group.choices(j) * weight, group.total)) for j, weight in enumerate(group.weights)]
        for group in numbers.groups
    ]
    said = "The probabilities of keeping 0, 1, … items add up to 1 exactly."
    return Finding(DEPTH, name, CONSISTENT, said, {"size_distributions": shares})


def _check_amplification(numbers: Numbers) -> Finding:
    stated = [stated_ratio(group) for group in numbers.groups]
    reached = [largest_ratio(numbers, group) for group in numbers.groups]
    worst, limit, times_asked = max(stated + reached), numbers.limit, numbers.reports_per_person
    composed = worst**times_asked
    # Bayes' rule with the largest ratio, both ways; the limit is where these meet the promise
    rises, rises_of = _posterior(numbers.prior, composed.numerator, composed.denominator)
    falls, falls_of = _posterior(numbers.posterior, composed.denominator, composed.numerator)
    kept = (
        composed < limit
        and rises * numbers.posterior.denominator < numbers.posterior.numerator * rises_of
        and falls * numbers.prior.denominator > numbers.prior.numerator * falls_of
    )
    figures = {
        "amplification": _text_of(worst),
        "reached": _text_of(max(reached)),
        "reports_per_person": times_asked,
        "composed": _decimal(composed, limit),  # as a fraction it may have more digits than anybody can read
        "limit": _text_of(limit),
        "highest_posterior": nextafter(rises / rises_of, 1),  # never rounded in our favour
        "lowest_posterior": nextafter(falls / falls_of, 0),
    }
    where = " Each size stands by itself; the size is told." if numbers.in_clear else ""
    shown = f"γ = {_decimal(worst, limit)}"
    if times_asked > 1:
        shown = f"γ^{times_asked} = {_decimal(composed, limit)}, of {times_asked} reports of one person together,"
    if kept:
        said = f"{shown} is below the promise's limit {_about(limit)}.{where}"
    else:
        said = f"{shown} is not below the promise's limit {_about(limit)}; do not use this plan."
    return Finding(DEPTH, "amplification", CONSISTENT if kept else BROKEN, said, figures)


def _posterior(prior: Fraction, ratio: int, to: int) -> tuple[int, int]:
    """Return the posterior, as a fraction not in lowest terms, of a report so many times likelier with a property."""
    yes, no = prior.numerator * ratio, (prior.denominator - prior.numerator) * to
    return yes, yes + no


def _check_generator(numbers: Numbers) -> list[Finding]:
    group = numbers.groups[-1]
    if group.kind in (NONE, FIXED):
        return []
    order, full = order_of_x(group.field_bits, group.polynomial), (1 << group.field_bits) - 1
    said = f"The powers of x run through {order} of the field's {full} elements other than 0."
    field = Finding(DEPTH, "field", CONSISTENT if order == full else BROKEN, said, {"order_of_x": order})
    return [field, _check_independence(numbers)]


def _check_independence(numbers: Numbers) -> Finding:
    name, tried = "independence", 0
    for group in numbers.groups:
        needed = min(group.size + min(numbers.itemset_size, group.size), group.items)
        reason = _unfit(group, needed)
        if reason:
            return Finding(DEPTH, name, BROKEN, f"The generator {reason} (operator of size {group.size}).")
        for chosen in _sets_to_try(group, needed):
            vectors = [mask for item in chosen for mask in masks(group, item)]
            tried += 1
            if rank_over_gf2(vectors) < len(vectors):
                said = f"Some {needed} items' bits depend on each other (operator of size {group.size})."
                return Finding(DEPTH, name, BROKEN, said, {"sets_tried": tried})
    said = f"The generator meets the conditions of its theorem, and the bits of {tried} sets of items are independent."
    return Finding(DEPTH, name, CONSISTENT, said, {"sets_tried": tried})


def _unfit(group: Group, needed: int) -> str:
    """Return which condition of the theorem on its generator a group breaks, if any.

    BCH: a code of length up to 2^w − 1 and designed distance 2τ + 1 (one more with the row of ones) has any 2τ (+ 1)
    columns independent. Reed–Solomon: τ values at distinct elements fix a polynomial of τ coefficients.
    """
    w, r = group.field_bits, group.insert_bits
    if group.kind == BCH:
        long_enough = group.items * r <= (1 << w) - 1
        independent = (2 * group.blocks + group.ones_row) // r
    else:
        long_enough = r <= w and group.items <= 1 << w
        independent = group.blocks
    if not long_enough:
        return f"is too short for {group.items} items of {r} bits"
    if independent < needed:
        return f"makes any {independent} items independent, and {needed} are needed"
    return ""


def _sets_to_try(group: Group, needed: int) -> Iterator[list[int]]:
    """Yield all sets of so many items where these are few, else regular ones and others."""
    n = group.items
    if comb(n, needed) <= _FEW_SETS:
        yield from map(list, combinations(range(n), needed))
        return
    yield list(range(n - needed, n))
    order = (1 << group.field_bits) - 1
    # steps that are powers of x, and steps onto subfields and their cosets, where codes are weakest
    steps = [1 << e for e in range(group.field_bits)] + [order // d for d in range(2, 32) if order % d == 0]
    for step in [*steps, *(n // d for d in range(2, 32))]:
        chosen = list(islice(dict.fromkeys(place * step % n for place in range(4 * needed)), needed))
        if len(chosen) == needed:
            yield chosen
    state = 1
    for _ in range(_TRIED_SETS):
        picked: dict[int, None] = {}
        while len(picked) < needed:
            state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)  # Knuth's MMIX
            picked[(state >> 33) % n] = None
        yield list(picked)


def _text_of(ratio: Fraction) -> str:
    return f"{ratio.numerator}/{ratio.denominator}"


def _about(ratio: Fraction) -> str:
    with localcontext(prec=8, rounding=ROUND_FLOOR):
        return f"{Decimal(ratio.numerator) / Decimal(ratio.denominator):.8g}"


def _decimal(ratio: Fraction, limit: Fraction) -> str:
    """Return a ratio as a decimal, rounded up, with as many digits as it takes to stay below a limit it is below."""
    if ratio > _MOST_SHOWN:
        return f"more than {_MOST_SHOWN:.0e}"
    more = max(0, ratio.denominator.bit_length() - 512)  # bits of many reports' γ that no digit shows
    above, below = (ratio.numerator >> more) + bool(more), ratio.denominator >> more
    for digits in (6, 12, 24, 48):
        with localcontext(prec=digits, rounding=ROUND_CEILING):
            shown = Decimal(above) / Decimal(below)
        if Fraction(shown) < limit:
            break
    return f"{shown:g}"
