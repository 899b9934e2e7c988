"""What a plan's integers promise, computed anew from its JSON text and docs/formats alone.

An audit that asks the plan what it promises repeats the plan's mistakes, so nothing of the package computes here. The
text becomes integers, and these become the largest ratio of the chances of a report (report_forms.py) between two
transactions, over all numbers of items that they can share and that a report can show of each; the posteriors that such
a ratio can lead to, by Bayes' rule; and the generator's field, walked through element by element, and its masks, which
Gaussian elimination tries.

A transaction longer than m counts as a uniform one of its parts of m items. Its law is an average of theirs, so no
ratio goes beyond those of the parts.

Source: EGS03, sections 3 (statement 1), 5 and 6.
"""

from collections.abc import Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from itertools import combinations, count, islice, product
from math import comb, nextafter

from assocpriv.auditing.findings import BROKEN, CONSISTENT, Finding
from assocpriv.auditing.recompute.codes import Seed, masks, order_of_x, rank_over_gf2
from assocpriv.auditing.recompute.plan_text import Numbers, read_numbers
from assocpriv.auditing.recompute.report_forms import Form, added_weights
from assocpriv.promise.errors import PlanError

DEPTH = "exact"
_MOST_SHOWN = 10**40
_FEW_SETS = 2000  # of items: where there are no more, all are tried
_TRIED_SETS = 150


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
        return None, [Finding(DEPTH, "plan text", BROKEN, f"The plan cannot be read: {error}.")]
    said = "The plan's text holds an operator, a generator and a promise of the stated form."
    findings = [Finding(DEPTH, "plan text", CONSISTENT, said), _check_weights(numbers)]
    if findings[-1].verdict != BROKEN:  # else there are no probabilities to go on with
        findings += [_check_amplification(numbers), *_check_generator(numbers)]
    return numbers, findings


def _check_weights(numbers: Numbers) -> Finding:
    name, form = "weights", numbers.form
    if any((weight > 0) != (form.choices(j) > 0) for j, weight in enumerate(form.weights)):
        return Finding(DEPTH, name, BROKEN, "A kept size that can occur has weight 0, or one that cannot has not.")
    added = added_weights(form)
    if added != form.total:
        said = f"The probabilities of the kept sizes add up to {_about(Fraction(added, form.total))}, not to 1."
        return Finding(DEPTH, name, BROKEN, said)
    said = "The probabilities of keeping 0, 1, … items add up to 1 exactly."
    return Finding(DEPTH, name, CONSISTENT, said, {"size_distribution": list(map(str, form.size_distribution))})


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
    return Finding(DEPTH, "amplification", CONSISTENT if kept else BROKEN, said, figures)


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
        return [Finding(DEPTH, "field", BROKEN, said, {"least_field_bits": least})]
    order, full = order_of_x(width, polynomial), (1 << width) - 1
    said = f"The powers of x run through {order} of the field's {full} elements other than 0."
    field = Finding(DEPTH, "field", CONSISTENT if order == full else BROKEN, said, {"order_of_x": order})
    return [field, _check_independence(form, numbers.itemset_size)]


def _check_independence(form: Seed, itemset_size: int) -> Finding:
    name, tried, needed = "independence", 0, min(form.size + itemset_size, form.items)
    reason = _unfit(form, needed)
    if reason:
        return Finding(DEPTH, name, BROKEN, f"The generator {reason}.")
    for chosen in _sets_to_try(form, needed):
        vectors = [mask for item in chosen for mask in masks(form, item)]
        tried += 1
        if rank_over_gf2(vectors) < len(vectors):
            said = f"Some {needed} items' bits depend on each other."
            return Finding(DEPTH, name, BROKEN, said, {"sets_tried": tried})
    said = f"The generator meets the conditions of its theorem, and the bits of {tried} sets of items are independent."
    return Finding(DEPTH, name, CONSISTENT, said, {"sets_tried": tried})


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
