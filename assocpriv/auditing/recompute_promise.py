"""A plan's promise computed anew from its JSON text, by docs/formats alone.

An audit that asks the plan what it promises repeats the plan's mistakes, so nothing of the package computes here: not
its own reader, nor its checks, nor what a view makes of a transaction. The text becomes integers, by
docs/formats/plan.md. The integers of each question become the largest ratio of the chances of an answer
(recompute_reports.py) between two transactions, over all numbers of entries that they can share and that an answer can
show of each; the largest of all questions is γ, as which is asked is drawn whatever is held. From γ follow the
posteriors that it can lead to, by Bayes' rule. And of each question the generator's field is walked through element by
element, and Gaussian elimination tries its masks.

A transaction with more than m entries counts as a uniform one of its parts of m. Its law is an average of theirs, so no
ratio goes beyond those of the parts.

Source: EGS03, sections 3 (statement 1), 5 and 6.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from itertools import accumulate, combinations, count, islice, pairwise, product
from math import comb, gcd, nextafter
from typing import Any

from assocpriv.auditing.findings import BROKEN, CONSISTENT, PROMISE, Finding
from assocpriv.auditing.recompute_central import CentralNumbers, mean_blanket, proved
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

_MOST_QUESTIONS, _MOST_WEIGHT, _MOST_CLASSES = 16, 1 << 32, 64
_ITEMS, _SIZES = "items", "sizes"  # kinds of views
_SELECT, _FIXED, _NONE, _BCH = "select-a-size", "fixed-size", "none", "bch"  # of operators, and of generators
_FORMS: dict[str, type[SelectASize]] = {_NONE: Bits, _BCH: Bch, "reed-solomon": ReedSolomon}  # by the generator
_Generator = tuple[type[SelectASize], dict[str, int]]  # the form of answers, and the numbers of a code
_WEIGHT = re.compile(r"0|[1-9][0-9]{0,399}", re.ASCII)
_SHARE = re.compile(r"([1-9][0-9]{0,9}) of ([1-9][0-9]{0,9})", re.ASCII)
_FRACTION = re.compile(r"([1-9][0-9]{0,24})/([1-9][0-9]{0,24})", re.ASCII)
_LARGEST_DENOMINATOR = 10**24
_MOST_SHOWN = 10**40
_FEW_SETS = 2000  # of items: where there are no more, all are tried
_TRIED_SETS = 150


# ---- the integers of a text


@dataclass(frozen=True, slots=True)
class QuestionNumbers:
    """A question's integers."""

    n_items: int  # entries that it is about, without dummies
    itemset_size: int
    form: Form  # of its operator and answers
    bounds: tuple[int, ...]  # the least sizes of the classes that it is about; () where it is about items
    weight: int
    stated: tuple[int, object, object]  # the weight of all questions, γ as text and the bits of an answer

    @property
    def transaction_size(self) -> int:
        """M."""
        return self.form.size

    @property
    def report_bytes(self) -> int:
        """Length of every answer in bytes."""
        return -(-self.form.report_bits // 8)

    @property
    def most_entries(self) -> int:
        """How many entries a transaction can have: a transaction has one size."""
        return 1 if self.bounds else self.n_items

    def entries(self, transaction: Sequence[int]) -> list[int]:
        """Return the entries of a transaction: its items, or the last class that begins at its size or below.

        >>> QuestionNumbers(2, 1, Bits(1, 3, (1, 7), 1, 1, 3), (2, 4), 1, (1, "", 3)).entries([5, 6, 9])
        [0]
        """
        if not self.bounds:
            return sorted(transaction)
        return [place for place, bound in enumerate(self.bounds) if bound <= len(transaction)][-1:]


@dataclass(frozen=True, slots=True)
class Numbers:
    """A plan's integers."""

    n_items: int  # of the catalogue
    questions: tuple[QuestionNumbers, ...]
    prior: Fraction
    posterior: Fraction
    reports_per_person: int  # that the promise covers together
    central: CentralNumbers | None = None

    @property
    def cumulative(self) -> tuple[int, ...]:
        """The questions' weights added up: what a device draws from, where there are several."""
        return tuple(accumulate(question.weight for question in self.questions))

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The chance of each question to be asked."""
        return tuple(Fraction(question.weight, self.cumulative[-1]) for question in self.questions)

    @property
    def report_bytes(self) -> int:
        """Length of every report in bytes: the question's number, where there are several, and the longest answer."""
        return len(self.named(0)) + max(question.report_bytes for question in self.questions)

    def named(self, number: int) -> bytes:
        """Return what a report begins with that answers the question of a number."""
        return bytes([number]) if len(self.questions) > 1 else b""

    def report(self, number: int, answer: bytes) -> bytes:
        """Return the report of an answer to the question of a number."""
        return (self.named(number) + answer).ljust(self.report_bytes, b"\0")

    @property
    def limit(self) -> Fraction:
        """What γ must stay below."""
        return limit_of(self.prior, self.posterior)


def read_numbers(text: str) -> Numbers:
    """Read the integers of a plan's JSON text.

    Raises:
        PlanError: a field that is missing, doubled or not of the form of docs/formats/plan.md. Whether the numbers are
            those of a valid plan is not looked at.
    """
    content = json_content(text)
    _text(content, "kind", ("baskets",))
    n = _count(field(content, "catalogue"))
    field(content, "names")
    questions = field(content, "questions")
    if not isinstance(questions, list) or not 1 <= len(questions) <= _MOST_QUESTIONS:
        raise PlanError(f"questions must be a list of 1 to {_MOST_QUESTIONS}")
    if any(one == other for one, other in combinations(questions, 2)):
        raise PlanError("no two questions may be equal")
    promise = stated_promise(content)
    if promise is None:
        raise PlanError("a plan for baskets needs a promise")
    read = tuple(_question(each, n) for each in questions)
    if all(question.bounds for question in read):
        raise PlanError("at least one question must be about items")
    central = _central(content["central"]) if "central" in content else None
    return Numbers(n, read, *promise, whole(content, "reports_per_person", 1, 1000), central)


def _central(content: object) -> CentralNumbers:
    epsilon, delta, helping = (fraction(content, name) for name in ("epsilon", "delta", "helping"))
    central = CentralNumbers(epsilon, delta, helping, whole(content, "reports", 1, 10**12))
    whole(content, "delay", 1, 7 * 86400)
    if epsilon > 100 or delta * central.reports >= 1 or helping >= 1 or not central.people:
        raise PlanError("a central promise needs epsilon to 100, delta below 1/reports, and people who help nobody")
    return central


def _question(content: object, n_items: int) -> QuestionNumbers:
    text = field(content, "share")
    share = _SHARE.fullmatch(text) if isinstance(text, str) else None
    if share is None or not int(share[1]) <= int(share[2]) <= _MOST_WEIGHT:
        raise PlanError("share must be text such as 49 of 50, of at most 2^32")
    bounds = _bounds(field(content, "view"), n_items)
    entries = len(bounds) or n_items
    form = _form(field(content, "operator"), entries, _generator(field(content, "generator")))
    return QuestionNumbers(
        n_items=entries,
        itemset_size=whole(content, "itemset_size", 1, form.size),
        form=form,
        bounds=bounds,
        weight=int(share[1]),
        stated=(int(share[2]), field(content, "amplification"), field(content, "report_bits")),
    )


def _bounds(view: object, n_items: int) -> tuple[int, ...]:
    """Read what a question is about: the least sizes of classes, or () for the items."""
    if _text(view, "kind", (_ITEMS, _SIZES)) == _ITEMS:
        return ()
    bounds = field(view, "bounds")
    if not isinstance(bounds, list) or not 1 <= len(bounds) <= _MOST_CLASSES:
        raise PlanError(f"bounds must be a list of 1 to {_MOST_CLASSES}")
    if any(type(bound) is not int for bound in bounds) or any(low >= high for low, high in pairwise([0, *bounds])):
        raise PlanError("bounds must be whole numbers that rise from 1 or more")
    if bounds[-1] > n_items:
        raise PlanError("no class of sizes may begin beyond the number of items")
    return tuple(bounds)


def _text(content: object, name: str, known: tuple[str, ...]) -> str:
    text = field(content, name)
    if not isinstance(text, str) or text not in known:
        raise PlanError(f"{name} must be one of {', '.join(known)}")
    return text


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


def _form(content: object, n_items: int, generator: _Generator) -> Form:
    kind, size = _text(content, "kind", (_SELECT, _FIXED)), whole(content, "size", 1, 15)
    weights = field(content, "keep_weights")
    if not isinstance(weights, list) or len(weights) != size + 1:
        raise PlanError(f"keep_weights must be a list of {size + 1}")
    if not all(isinstance(weight, str) and _WEIGHT.fullmatch(weight) for weight in weights):
        raise PlanError("keep_weights must be decimal text")
    values = tuple(map(int, weights))
    items = n_items + size
    if kind == _FIXED:
        if generator[0] is not Bits:
            raise PlanError("reports of a fixed size need the generator none")
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


def overlaps(numbers: QuestionNumbers) -> set[int]:
    """Return how many entries two padded transactions can share.

    Of s entries, padded with the first m − s dummies: two of s1 ≤ s2 entries share m − s2 dummies.
    """
    m, n = numbers.transaction_size, numbers.n_items
    return {
        m - larger + both
        for larger in range(min(m, numbers.most_entries) + 1)
        for smaller in range(larger + 1)
        for both in range(max(0, smaller + larger - n), smaller + 1)
    }


def largest_ratio(numbers: QuestionNumbers) -> Fraction:
    """Return the largest P[t1 → y] / P[t2 → y] over all transactions and all answers.

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


def check_integers(text: str) -> list[Finding]:
    """Return what a recomputation finds."""
    try:
        numbers = read_numbers(text)
    except PlanError as error:
        return [Finding(PROMISE, "plan text", BROKEN, f"The plan cannot be read: {error}.")]
    said = "The plan's text holds questions, with an operator and a generator each, and a promise of the stated form."
    findings = [Finding(PROMISE, "plan text", CONSISTENT, said)]
    findings += [of_question(_check_weights(each.form), place, numbers) for place, each in enumerate(numbers.questions)]
    if all(finding.verdict != BROKEN for finding in findings):  # else there are no probabilities to go on with
        findings += [_check_amplification(numbers), *_check_central(numbers), _check_stated(numbers)]
        for place, question in enumerate(numbers.questions):
            findings += [of_question(finding, place, numbers) for finding in _check_generator(question)]
    return findings


def named_by_question(name: str, number: int, numbers: Numbers) -> str:
    """Return the name of a check of the question of a number, which it tells where there are several."""
    return name if len(numbers.questions) == 1 else f"{name}, question {number}"


def of_question(finding: Finding, number: int, numbers: Numbers) -> Finding:
    """Return a finding about the question of a number."""
    return replace(finding, name=named_by_question(finding.name, number, numbers))


def _check_weights(form: Form) -> Finding:
    name = "weights"
    if any((weight > 0) != (form.choices(j) > 0) for j, weight in enumerate(form.weights)):
        return Finding(PROMISE, name, BROKEN, "A kept size that can occur has weight 0, or one that cannot has not.")
    added = added_weights(form)
    if added != form.total:
        said = f"The probabilities of the kept sizes add up to {_about(Fraction(added, form.total))}, not to 1."
        return Finding(PROMISE, name, BROKEN, said)
    said = "The probabilities of keeping 0, 1, … items add up to 1 exactly."
    return Finding(PROMISE, name, CONSISTENT, said, {"size_distribution": list(map(str, form.size_distribution))})


def _check_amplification(numbers: Numbers) -> Finding:
    reached = [largest_ratio(question) for question in numbers.questions]
    ratios = [max(stated_ratio(each.form), ratio) for each, ratio in zip(numbers.questions, reached, strict=True)]
    worst, limit, times_asked = max(ratios), numbers.limit, numbers.reports_per_person
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
        "questions": [_text_of(ratio) for ratio in ratios],
        "reports_per_person": times_asked,
        "composed": _decimal(composed, limit),  # as a fraction it may have more digits than anybody can read
        "limit": _text_of(limit),
        "highest_posterior": nextafter(rises / rises_of, 1),  # never rounded in our favour
        "lowest_posterior": nextafter(falls / falls_of, 0),
    }
    where = ""
    if len(ratios) > 1:
        where = f" It is the largest of those of {len(ratios)} questions, of which one is drawn whatever is held."
    shown = f"γ = {_decimal(worst, limit)}"
    if times_asked > 1:
        shown = f"γ^{times_asked} = {_decimal(composed, limit)}, of {times_asked} reports of one person together,"
    if kept:
        said = f"{shown} is below the promise's limit {_about(limit)}.{where}"
    else:
        said = f"{shown} is not below the promise's limit {_about(limit)}; do not use this plan."
    return Finding(PROMISE, "amplification", CONSISTENT if kept else BROKEN, said, figures)


def _check_central(numbers: Numbers) -> list[Finding]:
    central = numbers.central
    if central is None:
        return []
    forms = [question.form for question in numbers.questions]
    gamma, mass = max(map(stated_ratio, forms)), mean_blanket(zip(numbers.shares, forms, strict=True))
    kept = proved(central, gamma, mass, numbers.reports_per_person)
    figures = {"amplification": _text_of(gamma), "blanket": float(mass), "people": central.people}
    said = (
        f"({_about(central.epsilon)}, {float(central.delta):.3g}) for whoever reads {central.reports:,} reports or "
        f"more, {_about(100 * central.helping)}% of them of people who help the reader, "
        f"{'follows' if kept else 'does not follow'} from γ and a blanket of {float(mass):.4g}"
        f"{'' if kept else '; do not use this plan'}."
    )
    return [Finding(PROMISE, "central promise", CONSISTENT if kept else BROKEN, said, figures)]


def _check_stated(numbers: Numbers) -> Finding:
    """Compare what a text states for people, shares, γ and lengths, with what follows."""
    name, total = "stated figures", numbers.cumulative[-1]
    for number, question in enumerate(numbers.questions):
        follows = (total, _at_most(stated_ratio(question.form)), question.form.report_bits)
        wrong = [
            what
            for what, stated, right in zip(("share", "amplification", "length"), question.stated, follows, strict=True)
            if type(stated) is not type(right) or stated != right
        ]
        if wrong:
            said = f"Question {number} states another {wrong[0]} than follows from the plan's numbers."
            return Finding(PROMISE, name, BROKEN, said)
    said = "The shares that the questions state add up to all; their γ and lengths are those that follow."
    return Finding(PROMISE, name, CONSISTENT, said, {"shares": list(map(_text_of, numbers.shares))})


def _at_most(ratio: Fraction) -> str:
    """Return γ as a plan states it, rounded up to nine digits after the point.

    >>> _at_most(Fraction(19, 3)), _at_most(Fraction(7))
    ('at most 6.333333334', 'at most 7.000000000')
    """
    whole_part, rest = divmod(-(-ratio.numerator * 10**9 // ratio.denominator), 10**9)
    return f"at most {whole_part}.{rest:09}"


def _posterior(prior: Fraction, ratio: int, to: int) -> tuple[int, int]:
    """Return the posterior, as a fraction not in lowest terms, of a report so many times likelier with a property."""
    yes, no = prior.numerator * ratio, (prior.denominator - prior.numerator) * to
    return yes, yes + no


def _check_generator(numbers: QuestionNumbers) -> list[Finding]:
    form = numbers.form
    if not isinstance(form, Seed):
        return []
    width, polynomial = form.field_bits, form.polynomial
    least = next(w for w in count(2) if form.fits_field(w))
    if width > least:
        said = f"The field has 2^{width} elements where 2^{least} suffice; clients refuse the plan."
        return [Finding(PROMISE, "field", BROKEN, said, {"least_field_bits": least})]
    order, full = order_of_x(width, polynomial), (1 << width) - 1
    said = f"The powers of x run through {order} of the field's {full} elements other than 0."
    field = Finding(PROMISE, "field", CONSISTENT if order == full else BROKEN, said, {"order_of_x": order})
    return [field, _check_independence(form, numbers.itemset_size)]


def _check_independence(form: Seed, itemset_size: int) -> Finding:
    name, tried, needed = "independence", 0, min(form.size + itemset_size, form.items)
    reason = _unfit(form, needed)
    if reason:
        return Finding(PROMISE, name, BROKEN, f"The generator {reason}.")
    for chosen in _sets_to_try(form, needed):
        vectors = [mask for item in chosen for mask in masks(form, item)]
        tried += 1
        if rank_over_gf2(vectors) < len(vectors):
            said = f"Some {needed} items' bits depend on each other."
            return Finding(PROMISE, name, BROKEN, said, {"sets_tried": tried})
    said = f"The generator meets the conditions of its theorem, and the bits of {tried} sets of items are independent."
    return Finding(PROMISE, name, CONSISTENT, said, {"sets_tried": tried})


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


def fraction(content: object, name: str) -> Fraction:
    """Return a field that must be a fraction in lowest terms."""
    text = field(content, name)
    match = _FRACTION.fullmatch(text) if isinstance(text, str) else None
    a, b = (int(match[1]), int(match[2])) if match else (0, 0)
    if not match or gcd(a, b) != 1 or b > _LARGEST_DENOMINATOR:
        raise PlanError(f"{name} must be a fraction a/b in lowest terms, of a denominator of at most 10^24")
    return Fraction(a, b)


def stated_promise(content: object) -> tuple[Fraction, Fraction] | None:
    """Return the prior and the posterior of a promise; None where the field says null."""
    promise = field(content, "promise")
    if promise is None:
        return None
    prior, posterior = (fraction(promise, name) for name in ("prior", "posterior"))
    if not 0 < prior < posterior < 1:
        raise PlanError("a promise needs 0 < prior < posterior < 1")
    return prior, posterior


def limit_of(prior: Fraction, posterior: Fraction) -> Fraction:
    """Return what γ must stay below: the posterior's odds over the prior's."""
    return (posterior / (1 - posterior)) / (prior / (1 - prior))
