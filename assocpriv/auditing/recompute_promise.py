"""A plan's promise computed anew from its JSON text, by docs/formats alone.

An audit that asks the plan what it promises repeats the plan's mistakes, so nothing of the package computes here: not
its own reader, nor its checks, nor how it cuts a catalogue. The text becomes integers, by docs/formats/plan.md; the
plan's blocks cut the catalogue one entry at a time. The integers become the largest ratio of the chances of a report
(recompute_reports.py) between two transactions, over all numbers of items that they can share and that a report can
show of each; the posteriors that such a ratio can lead to, by Bayes' rule; and the generator's field, walked through
element by element, and its masks, which Gaussian elimination tries.

A transaction longer than m counts as a uniform one of its parts of m items. Its law is an average of theirs, so no
ratio goes beyond those of the parts.

Source: EGS03, sections 3 (statement 1), 5 and 6.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, count, islice, product
from math import comb, gcd, nextafter
from typing import Any

from assocpriv.auditing.findings import BROKEN, CONSISTENT, EXACT, Finding
from assocpriv.auditing.recompute_reports import (
    Bch,
    Bits,
    Form,
    ReedSolomon,
    Seed,
    SelectASize,
    Sets,
    added_weights,
    masks,
    order_of_x,
    rank_over_gf2,
)
from assocpriv.promise.errors import PlanError

_MOST_BLOCKS, _MOST_CUT = 1 << 16, 1 << 24
NUMBER_BYTES = 2  # of a block's number, in a report
_FIXED, _NONE, _BCH = "fixed-size", "none", "bch"  # kinds of plans, and of generators
_FORMS: dict[str, type[SelectASize]] = {_NONE: Bits, _BCH: Bch, "reed-solomon": ReedSolomon}  # by the generator
_Generator = tuple[type[SelectASize], dict[str, int]]  # the form of reports, and the numbers of a code
_WEIGHT = re.compile(r"0|[1-9][0-9]{0,399}", re.ASCII)
_PROBABILITY = re.compile(r"([1-9][0-9]{0,24})/([1-9][0-9]{0,24})", re.ASCII)
_LARGEST_DENOMINATOR = 10**24
_MOST_SHOWN = 10**40
_FEW_SETS = 2000  # of items: where there are no more, all are tried
_TRIED_SETS = 150


# ---- blocks


def mixed(word: int) -> int:
    """Return the finalizer of MurmurHash3 of a 32-bit word.

    >>> mixed(1)
    1364076727
    """
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        word = (word ^ word >> shift) * factor & 0xFFFFFFFF
    return word ^ word >> 16


@dataclass(frozen=True, slots=True)
class Cuts:
    """A catalogue of so many entries, cut R times into g pieces by a seed."""

    entries: int
    partitions: int
    pieces: int
    seed: int

    @property
    def count(self) -> int:
        """Number of blocks."""
        return self.partitions * self.pieces

    @property
    def longest(self) -> int:
        """How many entries the longest blocks hold."""
        return (self.entries + self.pieces - 1) // self.pieces

    def members(self, block: int) -> list[int]:
        """Return the entries of a block, in increasing order.

        >>> Cuts(10, 2, 3, 0).members(4)
        [3, 4, 5]
        """
        return _partition(self, block // self.pieces)[block % self.pieces]


@lru_cache(maxsize=8)
def _partition(cuts: Cuts, number: int) -> list[list[int]]:
    """Return the pieces of one partition."""
    start = mixed(mixed(cuts.seed) + number & 0xFFFFFFFF)
    keys = [mixed(mixed(entry) ^ start) for entry in range(cuts.entries)]
    pieces: list[list[int]] = [[] for _ in range(cuts.pieces)]
    for rank, entry in enumerate(sorted(range(cuts.entries), key=keys.__getitem__)):
        pieces[rank * cuts.pieces // cuts.entries].append(entry)
    return [sorted(piece) for piece in pieces]


# ---- the integers of a text


@dataclass(frozen=True, slots=True)
class Numbers:
    """A plan's integers."""

    n_items: int  # of the catalogue, without dummies
    transaction_size: int
    itemset_size: int
    form: Form  # of its operator and reports; its items are those of a block where there are blocks
    prior: Fraction
    posterior: Fraction
    reports_per_person: int  # that the promise covers together
    cuts: Cuts | None = None  # of the catalogue, into blocks of which a report is about one

    @property
    def report_bytes(self) -> int:
        """Length of every report in bytes, that of a block's number among them."""
        return -(-self.form.report_bits // 8) + (NUMBER_BYTES if self.cuts else 0)

    @property
    def inside(self) -> "Numbers":
        """What is reported of one block, without its number; the plan's own integers where there are no blocks."""
        return self if self.cuts is None else replace(self, n_items=self.cuts.longest, cuts=None)

    @property
    def limit(self) -> Fraction:
        """What γ must stay below: the posterior's odds over the prior's."""
        return (self.posterior / (1 - self.posterior)) / (self.prior / (1 - self.prior))


def read_numbers(text: str) -> Numbers:
    """Read the integers of a plan's JSON text.

    Raises:
        PlanError: a field that is missing, doubled or not of the form of docs/formats/plan.md. Whether the numbers are
            those of a valid plan is not looked at.
    """
    content = json_content(text)
    m, kind = whole(content, "transaction_size", 1, 15), _text(content, "kind", ("select-a-size", _FIXED))
    _text(content, "sizes", ("hidden",))
    n = _count(field(content, "catalogue"))
    itemset_size = whole(content, "itemset_size", 1, m)
    cuts = _cuts(field(content, "view"), n, itemset_size)
    asked = cuts.longest if cuts else n
    operators = field(content, "operators")
    if not isinstance(operators, list) or len(operators) != 1:
        raise PlanError("operators must be a list of one")
    generator = _generator(field(content, "generator"))
    if kind == _FIXED and generator[0] is not Bits:
        raise PlanError("reports of a fixed size need the generator none")
    promise = field(content, "promise")
    prior, posterior = (_probability(field(promise, name), name) for name in ("prior", "posterior"))
    if not 0 < prior < posterior < 1:
        raise PlanError("a promise needs 0 < prior < posterior < 1")
    return Numbers(
        n_items=n,
        transaction_size=m,
        itemset_size=itemset_size,
        form=_form(operators[0], kind, m, asked, generator),
        prior=prior,
        posterior=posterior,
        reports_per_person=whole(content, "reports_per_person", 1, 1000),
        cuts=cuts,
    )


def _cuts(view: object, n_items: int, itemset_size: int) -> Cuts | None:
    """Read how the catalogue is cut into blocks, if it is."""
    if not isinstance(view, dict) or "blocks" not in view:
        return None
    blocks = view["blocks"]
    if field(view, "kind") == "sizes" or not isinstance(blocks, dict) or len(blocks) != 3:
        raise PlanError("blocks must be an object of three fields, and not in a view of sizes")
    pieces = whole(blocks, "pieces", 2, n_items // itemset_size)
    most = min(_MOST_BLOCKS // pieces, _MOST_CUT // n_items)
    return Cuts(n_items, whole(blocks, "partitions", 1, most), pieces, whole(blocks, "seed", 0, (1 << 32) - 1))


def _text(content: object, name: str, known: tuple[str, ...]) -> str:
    text = field(content, name)
    if not isinstance(text, str) or text not in known:
        raise PlanError(f"{name} must be one of {', '.join(known)}")
    return text


def _probability(text: object, name: str) -> Fraction:
    match = _PROBABILITY.fullmatch(text) if isinstance(text, str) else None
    a, b = (int(match[1]), int(match[2])) if match else (0, 0)
    if not match or gcd(a, b) != 1 or b > _LARGEST_DENOMINATOR:
        raise PlanError(f"{name} must be a fraction a/b in lowest terms, of a denominator of at most 10^24")
    return Fraction(a, b)


def _count(catalogue: object) -> int:
    if isinstance(catalogue, dict) and "names" in catalogue:
        if not isinstance(catalogue["names"], list) or not catalogue["names"]:
            raise PlanError("the catalogue's names must be a list")
        return len(catalogue["names"])
    return whole(catalogue, "count", 1, 1 << 20)


def _generator(content: object) -> _Generator:
    kind = _text(content, "kind", tuple(_FORMS))
    if kind == _NONE:
        return Bits, {}
    w = whole(content, "field_bits", 2, 24)
    ones_row = field(content, "ones_row") if kind == _BCH else False
    if type(ones_row) is not bool:
        raise PlanError("ones_row must be true or false")
    blocks = whole(content, "blocks", 1, 4096)
    if w * blocks + ones_row > 4096:
        raise PlanError("a seed may have at most 4096 bits")
    polynomial = whole(content, "field_polynomial", 1 << w, (2 << w) - 1)
    code = {"field_bits": w, "polynomial": polynomial, "blocks": blocks, "ones_row": int(ones_row)}
    return _FORMS[kind], code


def _form(content: object, kind: str, size: int, n_items: int, generator: _Generator) -> Form:
    whole(content, "size", size, size)
    weights = field(content, "keep_weights")
    if not isinstance(weights, list) or len(weights) != size + 1:
        raise PlanError(f"keep_weights must be a list of {size + 1}")
    if not all(isinstance(weight, str) and _WEIGHT.fullmatch(weight) for weight in weights):
        raise PlanError("keep_weights must be decimal text")
    values = tuple(map(int, weights))
    items = n_items + size
    if kind == _FIXED:
        whole(content, "items", items, min(items, 4096))
        return Sets(size, items, values, whole(content, "report_size", 1, items - 1))
    r, (kind_of_form, code) = whole(content, "insert_bits", 1, 16), generator
    return kind_of_form(
        size=size,
        items=items,
        weights=values,
        insert_num=whole(content, "insert_num", 1, (1 << r) - 1),
        insert_bits=r,
        weight_bits=whole(content, "weight_bits", 1, 1024),
        **code,
    )


# ---- the largest ratio


def overlaps(numbers: Numbers) -> set[int]:
    """Return how many items two padded transactions can share.

    Of s items, padded with the first m − s dummies: two of s1 ≤ s2 items share m − s2 dummies.
    """
    m, n = numbers.transaction_size, numbers.inside.n_items
    return {
        m - larger + both
        for larger in range(min(m, n) + 1)
        for smaller in range(larger + 1)
        for both in range(max(0, smaller + larger - n), smaller + 1)
    }


def largest_ratio(numbers: Numbers) -> Fraction:
    """Return the largest P[t1 → y] / P[t2 → y] over all transactions and all reports.

    With a generator it is an upper bound: whether a seed shows j1 items of t1 and j2 of t2 is left open.
    """
    form, m, largest = numbers.form, numbers.transaction_size, Fraction(1)
    for shared, first, second in product(overlaps(numbers), range(m + 1), range(m + 1)):
        own = m - shared  # items of each that the other does not have; items of neither show up in both chances alike
        both = _both_shown(form, shared, first, second)
        if both is not None:
            ratio = form.chance(first, second - both, own) / form.chance(second, first - both, own)
            largest = max(largest, ratio)
    return largest


def _both_shown(form: Form, shared: int, first: int, second: int) -> int | None:
    """Return how many shared items a report can show that shows ``first`` of t1's items and ``second`` of t2's."""
    own = form.size - shared
    neither = form.items - 2 * form.size + shared
    for both in range(max(0, first - own, second - own), min(first, second, shared) + 1):
        if form.can_show(first + second - both, neither):
            return both
    return None


def stated_ratio(form: Form) -> Fraction:
    """Return the γ of docs/formats, whether or not transactions are many enough to reach it."""
    outside = form.size  # as for two transactions that share nothing
    chances = [form.chance(j, outside - j, outside) for j in form.possible]
    return max(chances) / min(chances)


# ---- the findings


def check_integers(text: str) -> tuple[Numbers | None, list[Finding]]:
    """Return a plan's integers, if the text can be read, and what a recomputation finds."""
    try:
        numbers = read_numbers(text)
    except PlanError as error:
        return None, [Finding(EXACT, "plan text", BROKEN, f"The plan cannot be read: {error}.")]
    said = "The plan's text holds an operator, a generator and a promise of the stated form."
    findings = [Finding(EXACT, "plan text", CONSISTENT, said), _check_weights(numbers)]
    if findings[-1].verdict != BROKEN:  # else there are no probabilities to go on with
        findings += [_check_amplification(numbers), *_check_generator(numbers)]
    return numbers, findings


def _check_weights(numbers: Numbers) -> Finding:
    name, form = "weights", numbers.form
    if any((weight > 0) != (form.choices(j) > 0) for j, weight in enumerate(form.weights)):
        return Finding(EXACT, name, BROKEN, "A kept size that can occur has weight 0, or one that cannot has not.")
    added = added_weights(form)
    if added != form.total:
        said = f"The probabilities of the kept sizes add up to {_about(Fraction(added, form.total))}, not to 1."
        return Finding(EXACT, name, BROKEN, said)
    said = "The probabilities of keeping 0, 1, … items add up to 1 exactly."
    return Finding(EXACT, name, CONSISTENT, said, {"size_distribution": list(map(str, form.size_distribution))})


def _check_amplification(numbers: Numbers) -> Finding:
    reached = largest_ratio(numbers)
    worst, limit, times_asked = max(stated_ratio(numbers.form), reached), numbers.limit, numbers.reports_per_person
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
        "reached": _text_of(reached),
        "reports_per_person": times_asked,
        "composed": _decimal(composed, limit),  # as a fraction it may have more digits than anybody can read
        "limit": _text_of(limit),
        "highest_posterior": nextafter(rises / rises_of, 1),  # never rounded in our favour
        "lowest_posterior": nextafter(falls / falls_of, 0),
    }
    where = ""
    if numbers.cuts:
        where = f" It is that of what is reported of one of {numbers.cuts.count:,} blocks, drawn whatever is held."
        figures["blocks"] = numbers.cuts.count
    shown = f"γ = {_decimal(worst, limit)}"
    if times_asked > 1:
        shown = f"γ^{times_asked} = {_decimal(composed, limit)}, of {times_asked} reports of one person together,"
    if kept:
        said = f"{shown} is below the promise's limit {_about(limit)}.{where}"
    else:
        said = f"{shown} is not below the promise's limit {_about(limit)}; do not use this plan."
    return Finding(EXACT, "amplification", CONSISTENT if kept else BROKEN, said, figures)


def _posterior(prior: Fraction, ratio: int, to: int) -> tuple[int, int]:
    """Return the posterior, as a fraction not in lowest terms, of a report so many times likelier with a property."""
    yes, no = prior.numerator * ratio, (prior.denominator - prior.numerator) * to
    return yes, yes + no


def _check_generator(numbers: Numbers) -> list[Finding]:
    form = numbers.form
    if not isinstance(form, Seed):
        return []
    width, polynomial = form.field_bits, form.polynomial
    least = next(w for w in count(2) if form.fits_field(w))
    if width > least:
        said = f"The field has 2^{width} elements where 2^{least} suffice; clients refuse the plan."
        return [Finding(EXACT, "field", BROKEN, said, {"least_field_bits": least})]
    order, full = order_of_x(width, polynomial), (1 << width) - 1
    said = f"The powers of x run through {order} of the field's {full} elements other than 0."
    field = Finding(EXACT, "field", CONSISTENT if order == full else BROKEN, said, {"order_of_x": order})
    return [field, _check_independence(form, numbers.itemset_size)]


def _check_independence(form: Seed, itemset_size: int) -> Finding:
    name, tried, needed = "independence", 0, min(form.size + itemset_size, form.items)
    reason = _unfit(form, needed)
    if reason:
        return Finding(EXACT, name, BROKEN, f"The generator {reason}.")
    for chosen in _sets_to_try(form, needed):
        vectors = [mask for item in chosen for mask in masks(form, item)]
        tried += 1
        if rank_over_gf2(vectors) < len(vectors):
            said = f"Some {needed} items' bits depend on each other."
            return Finding(EXACT, name, BROKEN, said, {"sets_tried": tried})
    said = f"The generator meets the conditions of its theorem, and the bits of {tried} sets of items are independent."
    return Finding(EXACT, name, CONSISTENT, said, {"sets_tried": tried})


def _unfit(form: Seed, needed: int) -> str:
    """Return which condition of the theorem on its code a form breaks, if any."""
    if not form.fits_field(form.field_bits):
        return f"is too short for {form.items} items of {form.insert_bits} bits"
    if form.independent_items < needed:
        return f"makes any {form.independent_items} items independent, and {needed} are needed"
    return ""


def _sets_to_try(form: Seed, needed: int) -> Iterator[list[int]]:
    """Yield all sets of so many items where these are few, else regular ones and others."""
    n = form.items
    if comb(n, needed) <= _FEW_SETS:
        yield from map(list, combinations(range(n), needed))
        return
    yield list(range(n - needed, n))
    order = (1 << form.field_bits) - 1
    # steps that are powers of x, and steps onto subfields and their cosets, where codes are weakest
    steps = [1 << e for e in range(form.field_bits)] + [order // d for d in range(2, 32) if order % d == 0]
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


# ---- fields of a text


def json_content(text: str) -> Any:
    """Return what JSON text holds; refuse text that is none, or in which a field is given twice."""
    try:
        return json.loads(text, object_pairs_hook=_unique_fields)
    except (ValueError, RecursionError) as error:
        raise error if isinstance(error, PlanError) else PlanError("the text is not valid JSON") from None


def _unique_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise PlanError("a field is given twice")
    return dict(pairs)


def field(content: object, name: str) -> Any:
    """Return a field of a JSON object; refuse what has none of this name."""
    if not isinstance(content, dict) or name not in content:
        raise PlanError(f"the field {name} is missing")
    return content[name]


def whole(content: object, name: str, low: int, high: int) -> int:
    """Return a field that must be a whole number in low..high."""
    number = field(content, name)
    if type(number) is not int or not low <= number <= high:
        raise PlanError(f"{name} must be a whole number in {low}..{high}")
    return number
