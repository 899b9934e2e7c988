"""A plan's guarantee recomputed from its JSON text, by docs/formats alone.

An audit that relied on the plan's own computation would repeat its errors. So this module uses no parser, no check and
no view of the package.

1. The text becomes integers, by docs/formats/plan.md.
2. The integers of each report type give the largest ratio of a response's probabilities (recompute_reports.py) between
   two transactions, over all numbers of entries that these can share and that a response can show of each.
3. γ is the largest ratio of all report types, since the report type is drawn independently of the transaction.
4. γ gives the highest and lowest posterior by Bayes' rule.
5. For each report type, the elements of the generator's field are enumerated, and Gaussian elimination tests its masks.

A transaction with more than m entries counts as a uniform one of its subsets of m entries. Its output distribution is
an average of theirs, so no ratio exceeds those of the subsets.

A central guarantee is proved again from γ and the privacy blanket alone. For a response that shows j of the
transaction's items, P[t → y] is w_j times its probability under pure noise, so the smallest w_j is the mass of a
blanket; λ is the mean of the report types' blankets. Let batches hold N reports of people who do not collude with the
reader. Each of these reports is a draw from the blanket with probability λ. With q = (1 − λ)/(γ − 1) and
κ = (e^ε − 1)/(γ − 1)

    δ(ε) ≤ (γ − 1)/N · E[(a − e^ε (C − a) − κ (C + c))_+],   a ~ Bin(C, ½), C ~ Bin(N, 2q), c ~ Bin(N − C, …)

as guarantees/shuffle_model.py derives. This module sums over every C by itself and takes tails of a from the incomplete
beta function. It spends 1/1000 of δ on a small c, and the same on each tail of C.

Sources: EGS03, sections 3 (statement 1), 5 and 6; Balle, Bell, Gascón, Nissim, The Privacy Blanket of the Shuffle
Model, CRYPTO 2019.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from itertools import accumulate, combinations, count, islice, pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.auditing import recompute_reports
from assocpriv.auditing.findings import BROKEN, CONSISTENT, GUARANTEE, Finding
from assocpriv.guarantees.errors import PlanError

_MOST_REPORT_TYPES, _MOST_WEIGHT, _MOST_CLASSES = 16, 1 << 32, 64
_ITEMS, _SIZES = "items", "sizes"  # kinds of views
_SELECT, _FIXED, _NONE, _BCH = "select-a-size", "fixed-size", "none", "bch"  # kinds of operators and of generators
_FORMS: dict[str, type[recompute_reports.SelectASize]] = {
    _NONE: recompute_reports.Bits,
    _BCH: recompute_reports.Bch,
    "reed-solomon": recompute_reports.ReedSolomon,
}  # by the generator
# the form of responses, and the numbers of a code
_Generator = tuple[type[recompute_reports.SelectASize], dict[str, int]]
_WEIGHT = re.compile(r"0|[1-9][0-9]{0,399}", re.ASCII)
_SHARE = re.compile(r"([1-9][0-9]{0,9}) of ([1-9][0-9]{0,9})", re.ASCII)
_FRACTION = re.compile(r"([1-9][0-9]{0,24})/([1-9][0-9]{0,24})", re.ASCII)
_LARGEST_DENOMINATOR = 10**24
_MOST_SHOWN = 10**40
_ALL_SETS = 2000  # itemsets: up to this number all are tested
_RANDOM_SETS = 150
_LOST = 1e-3  # share of δ for each of two tails of a central guarantee's proof
_ERRORS = 1e-6  # relative error of floats


# ---- the integers of a text


@dataclass(frozen=True, slots=True)
class ReportTypeNumbers:
    """A report type's integers."""

    n_items: int  # number of entries of its view, without padding items
    itemset_size: int
    form: recompute_reports.Form  # its operator and the form of responses
    bounds: tuple[int, ...]  # smallest sizes of the size classes of its view; () where the view is the items
    weight: int
    stated: tuple[int, object, object]  # the sum of all report types' weights, γ as text and the bits of a response

    @property
    def transaction_size(self) -> int:
        """M."""
        return self.form.size

    @property
    def report_bytes(self) -> int:
        """Length of every response in bytes."""
        return -(-self.form.report_bits // 8)

    def entries(self, transaction: Sequence[int]) -> list[int]:
        """Return the entries of a transaction: its items, or the last size class that begins at its size or below.

        >>> form = recompute_reports.Bits(1, 3, (1, 7), 1, 1, 3)
        >>> ReportTypeNumbers(2, 1, form, (2, 4), 1, (1, "", 3)).entries([5, 6, 9])
        [0]
        """
        if not self.bounds:
            return sorted(transaction)
        return [place for place, bound in enumerate(self.bounds) if bound <= len(transaction)][-1:]


@dataclass(frozen=True, slots=True)
class CentralNumbers:
    """The numbers of a central guarantee; a share ``colluding`` of a batch colludes with the reader."""

    epsilon: Fraction
    delta: Fraction
    colluding: Fraction
    reports: int

    @property
    def people(self) -> int:
        """N, the number of reports of people who do not collude."""
        return math.floor(self.reports * (1 - self.colluding))


@dataclass(frozen=True, slots=True)
class PlanNumbers:
    """A plan's integers."""

    n_items: int  # of the catalogue
    report_types: tuple[ReportTypeNumbers, ...]
    prior: Fraction
    posterior: Fraction
    reports_per_person: int  # covered by the guarantee together
    central: CentralNumbers | None = None

    @property
    def cumulative(self) -> tuple[int, ...]:
        """The cumulative weights of the report types, from which a device draws one of several."""
        return tuple(accumulate(report_type.weight for report_type in self.report_types))

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The probability of drawing each report type."""
        return tuple(Fraction(report_type.weight, self.cumulative[-1]) for report_type in self.report_types)

    @property
    def report_bytes(self) -> int:
        """Length of every report in bytes: the report type's number, if there are several, and the longest response."""
        return (len(self.report_types) > 1) + max(report_type.report_bytes for report_type in self.report_types)

    def report(self, number: int, response: bytes) -> bytes:
        """Return the report with a response of a report type, after that type's number where there are several."""
        head = bytes([number]) if len(self.report_types) > 1 else b""
        return (head + response).ljust(self.report_bytes, b"\0")

    @property
    def limit(self) -> Fraction:
        """The limit that γ must stay below."""
        return limit_of(self.prior, self.posterior)


def read_numbers(text: str) -> PlanNumbers:
    """Read the integers of a plan's JSON text.

    Raises:
        PlanError: a field that is missing, doubled or not of the form of docs/formats/plan.md. Whether the numbers are
            those of a valid plan is not checked.
    """
    content = json_content(text)
    _text(content, "kind", ("baskets",))
    n = _count(field(content, "catalogue"))
    field(content, "names")
    report_types = field(content, "report_types")
    is_short = isinstance(report_types, list) and 1 <= len(report_types) <= _MOST_REPORT_TYPES
    require(is_short, f"report types must be a list of 1 to {_MOST_REPORT_TYPES}")
    require(all(one != other for one, other in combinations(report_types, 2)), "no two report types may be equal")
    guarantee = stated_guarantee(content)
    if guarantee is None:
        raise PlanError("a plan for baskets needs a guarantee")
    read = tuple(_report_type(each, n) for each in report_types)
    require(not all(each.bounds for each in read), "at least one report type must have items as its view")
    central = _central(content["central"]) if "central" in content else None
    return PlanNumbers(n, read, *guarantee, whole(content, "reports_per_person", 1, 1000), central)


def _central(content: object) -> CentralNumbers:
    epsilon, delta, colluding = (fraction(content, name) for name in ("epsilon", "delta", "colluding"))
    central = CentralNumbers(epsilon, delta, colluding, whole(content, "reports", 1, 10**12))
    whole(content, "delay", 1, 7 * 86400)
    require(
        epsilon <= 100 and delta * central.reports < 1 and colluding < 1 and central.people > 0,
        "a central guarantee needs epsilon of at most 100, delta below 1/reports, and people who do not collude",
    )
    return central


def _report_type(content: object, n_items: int) -> ReportTypeNumbers:
    text = field(content, "share")
    share = _SHARE.fullmatch(text) if isinstance(text, str) else None
    if share is None or not int(share[1]) <= int(share[2]) <= _MOST_WEIGHT:
        raise PlanError("share must be text such as 49 of 50, of at most 2^32")
    bounds = _bounds(field(content, "view"), n_items)
    entries = len(bounds) or n_items
    form = _form(field(content, "operator"), entries, _generator(field(content, "generator")))
    return ReportTypeNumbers(
        n_items=entries,
        itemset_size=whole(content, "itemset_size", 1, form.size),
        form=form,
        bounds=bounds,
        weight=int(share[1]),
        stated=(int(share[2]), field(content, "amplification"), field(content, "report_bits")),
    )


def _bounds(view: object, n_items: int) -> tuple[int, ...]:
    """Read the view of a report type: the smallest sizes of size classes, or () for the items."""
    if _text(view, "kind", (_ITEMS, _SIZES)) == _ITEMS:
        return ()
    bounds = field(view, "bounds")
    is_short = isinstance(bounds, list) and 1 <= len(bounds) <= _MOST_CLASSES
    require(is_short, f"bounds must be a list of 1 to {_MOST_CLASSES}")
    increase = all(type(bound) is int for bound in bounds) and all(low < high for low, high in pairwise([0, *bounds]))
    require(increase, "bounds must be increasing whole numbers from 1 on")
    require(bounds[-1] <= n_items, "no size class may begin beyond the number of items")
    return tuple(bounds)


def _text(content: object, name: str, known: tuple[str, ...]) -> str:
    text = field(content, name)
    require(isinstance(text, str) and text in known, f"{name} must be one of {', '.join(known)}")
    return str(text)


def _count(catalogue: object) -> int:
    if isinstance(catalogue, dict) and "names" in catalogue:
        require(isinstance(catalogue["names"], list) and catalogue["names"], "the catalogue's names must be a list")
        return len(catalogue["names"])
    return whole(catalogue, "count", 1, 1 << 20)


def _generator(content: object) -> _Generator:
    kind = _text(content, "kind", tuple(_FORMS))
    if kind == _NONE:
        return recompute_reports.Bits, {}
    w = whole(content, "field_bits", 2, 24)
    ones_row = field(content, "ones_row") if kind == _BCH else False
    require(type(ones_row) is bool, "ones_row must be true or false")
    blocks = whole(content, "blocks", 1, 4096)
    require(w * blocks + ones_row <= 4096, "a seed may have at most 4096 bits")
    polynomial = whole(content, "field_polynomial", 1 << w, (2 << w) - 1)
    code = {"field_bits": w, "polynomial": polynomial, "blocks": blocks, "ones_row": int(ones_row)}
    return _FORMS[kind], code


def _form(content: object, n_items: int, generator: _Generator) -> recompute_reports.Form:
    kind, size = _text(content, "kind", (_SELECT, _FIXED)), whole(content, "size", 1, 15)
    weights = field(content, "keep_weights")
    require(isinstance(weights, list) and len(weights) == size + 1, f"keep_weights must be a list of {size + 1}")
    are_decimal = all(isinstance(weight, str) and _WEIGHT.fullmatch(weight) for weight in weights)
    require(are_decimal, "keep_weights must be decimal text")
    values = tuple(map(int, weights))
    items = n_items + size
    if kind == _FIXED:
        require(generator[0] is recompute_reports.Bits, "reports of a fixed size need the generator none")
        whole(content, "items", items, min(items, 4096))
        return recompute_reports.Sets(size, items, values, whole(content, "report_size", 1, items - 1))
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


def overlaps(numbers: ReportTypeNumbers) -> set[int]:
    """Return the numbers of entries that two padded transactions can share.

    A transaction of s entries has the first m − s padding items, so two of s1 ≤ s2 entries share m − s2 padding items.
    """
    m, n = numbers.transaction_size, numbers.n_items
    most = 1 if numbers.bounds else n  # a transaction has one size class
    return {
        m - larger + both
        for larger in range(min(m, most) + 1)
        for smaller in range(larger + 1)
        for both in range(max(0, smaller + larger - n), smaller + 1)
    }


def largest_ratio(numbers: ReportTypeNumbers) -> Fraction:
    """Return the largest P[t1 → y] / P[t2 → y] over all transactions and all responses.

    With a generator it is an upper bound: whether some seed shows j1 items of t1 and j2 of t2 is not checked.
    """
    form, m, largest = numbers.form, numbers.transaction_size, Fraction(1)
    for shared, first, second in product(overlaps(numbers), range(m + 1), range(m + 1)):
        own = m - shared  # items of each that the other lacks; the factors of items of neither cancel
        both = _both_shown(form, shared, first, second)
        if both is not None:
            ratio = form.probability(first, second - both, own) / form.probability(second, first - both, own)
            largest = max(largest, ratio)
    return largest


def _both_shown(form: recompute_reports.Form, shared: int, first: int, second: int) -> int | None:
    """Return how many shared items a report can show with ``first`` items of t1 and ``second`` of t2; None if none."""
    own = form.size - shared
    neither = form.items - 2 * form.size + shared
    for both in range(max(0, first - own, second - own), min(first, second, shared) + 1):
        if form.can_show(first + second - both, neither):
            return both
    return None


def stated_ratio(form: recompute_reports.Form) -> Fraction:
    """Return the γ that docs/formats defines, even where too few items exist for transactions to reach it."""
    outside = form.size  # as for two transactions that share nothing
    probabilities = [form.probability(j, outside - j, outside) for j in form.possible]
    return max(probabilities) / min(probabilities)


# ---- a central guarantee


def blanket(form: recompute_reports.Form) -> Fraction:
    """Return the smallest ratio of a response's likelihood to that of pure noise.

    >>> blanket(recompute_reports.Bits(1, 3, (4, 12), 1, 2, 4))
    Fraction(1, 3)
    """
    if isinstance(form, recompute_reports.Sets):
        noise = math.comb(form.items, form.report_size)
        return min(Fraction(form.weights[j] * noise, form.total) for j in form.possible)
    assert isinstance(form, recompute_reports.SelectASize)
    rho, m = form.default_probability, form.size
    return min(Fraction(form.weights[j], form.total) / (rho**j * (1 - rho) ** (m - j)) for j in form.possible)


def mean_blanket(forms: Iterable[tuple[Fraction, recompute_reports.Form]]) -> Fraction:
    """Return the mean blanket of report types, weighted by their shares."""
    return sum((share * blanket(form) for share, form in forms), Fraction(0))


def proves(central: CentralNumbers, gamma: Fraction, mass: Fraction, reports_per_person: int) -> bool:
    """Return whether a plan of this γ and blanket keeps a central guarantee for all R reports of a person."""
    composed, epsilon = gamma**reports_per_person, float(central.epsilon)
    if composed.numerator <= math.exp(epsilon) * (1 - _ERRORS) * composed.denominator:
        return True
    each = epsilon / reports_per_person * (1 - _ERRORS)
    # replacing R reports one after the other costs δ' (1 + e^ε' + … + e^((R−1)ε'))
    share = 1.0 if reports_per_person == 1 else math.expm1(each) / math.expm1(epsilon)
    allowed, clones = float(central.delta) * share, 2 / (gamma + 1)
    masses = {clones, max(mass, clones)}
    return any(delta_of(each, gamma, known, central.people, allowed) <= allowed for known in masses)


def delta_of(epsilon: float, gamma: Fraction, mass: Fraction, people: int, delta: float) -> float:
    """Return an upper bound for δ(ε); ``delta``, the allowed value, sets the share that tails may cost."""
    from scipy.special import betainc
    from scipy.stats import binom

    corner, growth, excess = (1 - mass) / (gamma - 1), math.exp(epsilon), float(gamma - 1)
    kappa, lost, clones = math.expm1(epsilon) / excess, _LOST * delta, float(2 * corner)
    first, last = int(binom.ppf(lost, people - 1, clones)), int(binom.isf(lost, people - 1, clones)) + 2
    counts = np.arange(first, min(last, people) + 1, dtype=np.float64)[:, None]
    neutral, weights = _neutral(people - counts, float((mass - 2 * corner) / (1 - 2 * corner)))
    # (1 + e^ε) (a − over)_+, and E[(a − over)_+] = C/2 P[a' ≥ t − 1] − over P[a ≥ t] with a' ~ Bin(C − 1, ½), t > over
    over = (growth * counts + kappa * (counts + neutral)) / (1 + growth)
    least = np.floor(over) + 1
    possible = least <= counts
    t, c = np.where(possible, least, 1.0), np.where(possible, counts, 1.0)
    above = betainc(t, c - t + 1, 0.5)
    before = np.where(t > 1, betainc(np.maximum(t - 1, 1), np.maximum(c - t + 1, 1), 0.5), 1.0)
    parts = np.where(possible, np.maximum(c / 2 * before * (1 + _ERRORS) - over * above * (1 - _ERRORS), 0), 0.0)
    expected = float(binom.pmf(counts[:, 0], people, clones) @ (weights * parts).sum(axis=1))
    return expected * excess * (1 + growth) / people * (1 + _ERRORS) + 2 * lost


def _neutral(draws: NDArray[np.float64], share: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return numbers of neutral reports and weights, (counts, numbers), for an upper bound of convex, falling means.

    Of Bin(n, p), ``draws`` n of shape (counts, 1), numbers between two of these move to them without a change of
    the mean; the mean below h is n p P[Bin(n − 1, p) < h].
    """
    from scipy.special import betainc

    def below(ends: NDArray[np.float64], draws: NDArray[np.float64]) -> NDArray[np.float64]:
        inside = np.clip(ends, 1, np.maximum(draws, 1))  # P[Bin(n, p) < h] = 1 − I_p(h, n − h + 1)
        return np.where(ends > draws, 1.0, np.where(ends < 1, 0.0, betainc(draws - inside + 1, inside, 1 - share)))

    width = np.ceil(np.sqrt(draws * share * (1 - share)) / 2)
    middle = np.clip(np.floor(draws * share) + width * np.arange(-24.0, 25.0), 0, draws)
    ends: NDArray[np.float64] = np.concatenate([np.zeros_like(draws), middle, draws + 1], axis=1)
    inside = np.diff(below(ends, draws), axis=1)
    means = draws * share * np.diff(below(ends - 1, np.maximum(draws - 1, 0)), axis=1)
    upper = np.clip((means - ends[:, :-1] * inside) / np.maximum(np.diff(ends, axis=1), 1), 0, inside)
    weights = np.zeros_like(ends)
    weights[:, :-1] += inside - upper
    weights[:, 1:] += upper
    return ends, weights


# ---- the findings


def check_integers(text: str) -> list[Finding]:
    """Recompute the guarantee of a basket plan from its text, and return the findings."""
    try:
        numbers = read_numbers(text)
    except PlanError as error:
        return [Finding(GUARANTEE, "plan text", BROKEN, f"The plan cannot be read: {error}.")]
    message = "The plan's text has well-formed report types, each with an operator and a generator, and a guarantee."
    findings = [Finding(GUARANTEE, "plan text", CONSISTENT, message)]
    for place, each in enumerate(numbers.report_types):
        findings.append(_labelled(_check_weights(each.form), place, numbers))
    if all(finding.verdict != BROKEN for finding in findings):  # else the probabilities are not defined
        findings += [_check_amplification(numbers), *_check_central(numbers), _check_stated(numbers)]
        for place, report_type in enumerate(numbers.report_types):
            findings += [_labelled(finding, place, numbers) for finding in _check_generator(report_type)]
    return findings


def _labelled(finding: Finding, number: int, numbers: PlanNumbers) -> Finding:
    """Return a finding named with its report type, where there are several."""
    several = len(numbers.report_types) > 1
    return replace(finding, name=f"{finding.name}, report type {number}") if several else finding


def _check_weights(form: recompute_reports.Form) -> Finding:
    name = "weights"
    if any((weight > 0) != (form.choices(j) > 0) for j, weight in enumerate(form.weights)):
        return Finding(GUARANTEE, name, BROKEN, "A possible kept size has weight 0, or an impossible one does not.")
    added = recompute_reports.added_weights(form)
    if added != form.total:
        message = f"The probabilities of kept sizes add up to {_approximate(Fraction(added, form.total))}, not to 1."
        return Finding(GUARANTEE, name, BROKEN, message)
    message = "The probabilities of keeping 0, 1, … items add up to 1 exactly."
    return Finding(GUARANTEE, name, CONSISTENT, message, {"size_distribution": list(map(str, form.size_distribution))})


def _check_amplification(numbers: PlanNumbers) -> Finding:
    reached = [largest_ratio(report_type) for report_type in numbers.report_types]
    ratios = [max(stated_ratio(each.form), ratio) for each, ratio in zip(numbers.report_types, reached, strict=True)]
    worst, limit, reports = max(ratios), numbers.limit, numbers.reports_per_person
    composed = worst**reports
    # Bayes' rule with the largest ratio, both ways; the limit is where these meet the guarantee
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
        "report_types": [_text_of(ratio) for ratio in ratios],
        "reports_per_person": reports,
        "composed": _decimal(composed, limit),  # as a fraction it may have too many digits to read
        "limit": _text_of(limit),
        "highest_posterior": math.nextafter(rises / rises_of, 1),  # rounded outwards, never towards more privacy
        "lowest_posterior": math.nextafter(falls / falls_of, 0),
    }
    where = ""
    if len(ratios) > 1:
        where = f" It is the largest γ of {len(ratios)} report types, one of which is drawn independently of the data."
    shown = f"γ = {_decimal(worst, limit)}"
    if reports > 1:
        shown = f"γ^{reports} = {_decimal(composed, limit)} for {reports} reports of one person"
    if kept:
        message = f"{shown} is below the guarantee's limit {_approximate(limit)}.{where}"
    else:
        message = f"{shown} is not below the guarantee's limit {_approximate(limit)}; do not use this plan."
    return Finding(GUARANTEE, "amplification", CONSISTENT if kept else BROKEN, message, figures)


def _check_central(numbers: PlanNumbers) -> list[Finding]:
    central = numbers.central
    if central is None:
        return []
    forms = [report_type.form for report_type in numbers.report_types]
    gamma, mass = max(map(stated_ratio, forms)), mean_blanket(zip(numbers.shares, forms, strict=True))
    kept = proves(central, gamma, mass, numbers.reports_per_person)
    figures = {"amplification": _text_of(gamma), "blanket": float(mass), "people": central.people}
    message = (
        f"(ε, δ) = ({_approximate(central.epsilon)}, {float(central.delta):.3g}) for batches of {central.reports:,} "
        f"reports or more, {_approximate(100 * central.colluding)}% of them of colluding people, "
        f"{'follows' if kept else 'does not follow'} from γ and a blanket of {float(mass):.4g}"
        f"{'' if kept else '; do not use this plan'}."
    )
    return [Finding(GUARANTEE, "central guarantee", CONSISTENT if kept else BROKEN, message, figures)]


def _check_stated(numbers: PlanNumbers) -> Finding:
    """Compare the shares, γ and lengths that a text states for people with those that its numbers give."""
    name, total = "stated figures", numbers.cumulative[-1]
    for number, report_type in enumerate(numbers.report_types):
        follows = (total, _at_most(stated_ratio(report_type.form)), report_type.form.report_bits)
        figures = zip(("share", "amplification", "length"), report_type.stated, follows, strict=True)
        wrong = [what for what, stated, right in figures if type(stated) is not type(right) or stated != right]
        if wrong:
            message = f"Report type {number} states another {wrong[0]} than the plan's numbers give."
            return Finding(GUARANTEE, name, BROKEN, message)
    message = "The stated shares of report types add up to 1, and their γ and lengths agree with the plan's numbers."
    return Finding(GUARANTEE, name, CONSISTENT, message, {"shares": list(map(_text_of, numbers.shares))})


def _at_most(ratio: Fraction) -> str:
    """Return γ as a plan states it, rounded up to nine digits after the point.

    >>> _at_most(Fraction(19, 3)), _at_most(Fraction(7))
    ('at most 6.333333334', 'at most 7.000000000')
    """
    whole_part, rest = divmod(-(-ratio.numerator * 10**9 // ratio.denominator), 10**9)
    return f"at most {whole_part}.{rest:09}"


def _posterior(prior: Fraction, ratio: int, to: int) -> tuple[int, int]:
    """Return the posterior after a report that is ratio/to times likelier with a property; not in lowest terms."""
    yes, no = prior.numerator * ratio, (prior.denominator - prior.numerator) * to
    return yes, yes + no


def _check_generator(numbers: ReportTypeNumbers) -> list[Finding]:
    form = numbers.form
    if not isinstance(form, recompute_reports.Seed):
        return []
    width, polynomial = form.field_bits, form.polynomial
    least = next(w for w in count(2) if form.fits_field(w))
    if width > least:
        message = f"The field has 2^{width} elements, but 2^{least} suffice; clients refuse the plan."
        return [Finding(GUARANTEE, "field", BROKEN, message, {"least_field_bits": least})]
    order, full = recompute_reports.order_of_x(width, polynomial), (1 << width) - 1
    message = f"The powers of x run through {order} of the field's {full} elements other than 0."
    field = Finding(GUARANTEE, "field", CONSISTENT if order == full else BROKEN, message, {"order_of_x": order})
    return [field, _check_independence(form, numbers.itemset_size)]


def _check_independence(form: recompute_reports.Seed, itemset_size: int) -> Finding:
    name, tested, needed = "independence", 0, min(form.size + itemset_size, form.items)
    reason = _broken_condition(form, needed)
    if reason:
        return Finding(GUARANTEE, name, BROKEN, f"The generator {reason}.")
    for chosen in _sets_to_test(form, needed):
        vectors = [mask for item in chosen for mask in recompute_reports.masks(form, item)]
        tested += 1
        if len(recompute_reports.basis_over_gf2(vectors)) < len(vectors):
            message = f"The bits of some {needed} items depend on each other."
            return Finding(GUARANTEE, name, BROKEN, message, {"sets_tested": tested})
    message = f"The generator meets its theorem's conditions; the bits of {tested} tested itemsets are independent."
    return Finding(GUARANTEE, name, CONSISTENT, message, {"sets_tested": tested})


def _broken_condition(form: recompute_reports.Seed, needed: int) -> str:
    """Return the condition of the code's theorem that a form breaks, if any."""
    if not form.fits_field(form.field_bits):
        return f"is too short for {form.items} items of {form.insert_bits} bits"
    if form.independent_items < needed:
        return f"makes any {form.independent_items} items independent, but {needed} are needed"
    return ""


def _sets_to_test(form: recompute_reports.Seed, needed: int) -> Iterator[list[int]]:
    """Yield all itemsets of ``needed`` items where these are few, else regular and pseudo-random ones."""
    n = form.items
    if math.comb(n, needed) <= _ALL_SETS:
        yield from map(list, combinations(range(n), needed))
        return
    yield list(range(n - needed, n))
    order = (1 << form.field_bits) - 1
    # powers of x, and steps onto subfields and their cosets, where codes are weakest
    steps = [1 << e for e in range(form.field_bits)] + [order // d for d in range(2, 32) if order % d == 0]
    for step in [*steps, *(n // d for d in range(2, 32))]:
        chosen = list(islice(dict.fromkeys(place * step % n for place in range(4 * needed)), needed))
        if len(chosen) == needed:
            yield chosen
    state = 1
    for _ in range(_RANDOM_SETS):
        picked: dict[int, None] = {}
        while len(picked) < needed:
            state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)  # Knuth's MMIX
            picked[(state >> 33) % n] = None
        yield list(picked)


def _text_of(ratio: Fraction) -> str:
    return f"{ratio.numerator}/{ratio.denominator}"


def _approximate(ratio: Fraction) -> str:
    with localcontext(prec=8, rounding=ROUND_FLOOR):
        return f"{Decimal(ratio.numerator) / Decimal(ratio.denominator):.8g}"


def _decimal(ratio: Fraction, limit: Fraction) -> str:
    """Return a ratio as a decimal, rounded up, with enough digits to stay below a limit that it is below."""
    if ratio > _MOST_SHOWN:
        return f"more than {_MOST_SHOWN:.0e}"
    more = max(0, ratio.denominator.bit_length() - 512)  # bits of γ^R beyond all digits shown
    above, below = (ratio.numerator >> more) + bool(more), ratio.denominator >> more
    for digits in (6, 12, 24, 48):
        with localcontext(prec=digits, rounding=ROUND_CEILING):
            shown = Decimal(above) / Decimal(below)
        if Fraction(shown) < limit:
            break
    return f"{shown:g}"


# ---- fields of a text


def json_content(text: str) -> Any:
    """Return the content of JSON text; PlanError for invalid JSON and for a field that is given twice."""
    try:
        return json.loads(text, object_pairs_hook=_unique_fields)
    except (ValueError, RecursionError) as error:
        raise error if isinstance(error, PlanError) else PlanError("the text is not valid JSON") from None


def _unique_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    require(len(dict(pairs)) == len(pairs), "a field is given twice")
    return dict(pairs)


def require(holds: object, rule: str) -> None:
    """Raise a PlanError with a rule that a text breaks."""
    if not holds:
        raise PlanError(rule)


def field(content: object, name: str) -> Any:
    """Return a field of a JSON object; PlanError if it is missing."""
    if not isinstance(content, dict) or name not in content:
        raise PlanError(f"the field {name} is missing")
    return content[name]


def whole(content: object, name: str, low: int, high: int) -> int:
    """Return a field that must be a whole number in low..high."""
    number = field(content, name)
    require(type(number) is int and low <= number <= high, f"{name} must be a whole number in {low}..{high}")
    return int(number)


def fraction(content: object, name: str) -> Fraction:
    """Return a field that must be a fraction in lowest terms."""
    text = field(content, name)
    match = _FRACTION.fullmatch(text) if isinstance(text, str) else None
    a, b = (int(match[1]), int(match[2])) if match else (0, 0)
    if not match or math.gcd(a, b) != 1 or b > _LARGEST_DENOMINATOR:
        raise PlanError(f"{name} must be a fraction a/b in lowest terms with a denominator of at most 10^24")
    return Fraction(a, b)


def stated_guarantee(content: object) -> tuple[Fraction, Fraction] | None:
    """Return the prior and the posterior of a guarantee; None where the field is null."""
    guarantee = field(content, "guarantee")
    if guarantee is None:
        return None
    prior, posterior = (fraction(guarantee, name) for name in ("prior", "posterior"))
    require(0 < prior < posterior < 1, "a guarantee needs 0 < prior < posterior < 1")
    return prior, posterior


def limit_of(prior: Fraction, posterior: Fraction) -> Fraction:
    """Return the limit that γ must stay below: the posterior's odds divided by the prior's."""
    return (posterior / (1 - posterior)) / (prior / (1 - prior))
