"""Plans of several questions, exactly: the shipping client is run for every way its coin and its draws can fall."""

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations

import pytest

from assocpriv.client.baskets import Randomizer
from assocpriv.plans.baskets import Plan
from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.operator import FixedSizeOperator, Operator
from assocpriv.plans.question import Question
from assocpriv.plans.sizes_view import SizesView
from assocpriv.promise.breaches import Breach
from assocpriv.promise.errors import PrivacyLimitError
from assocpriv.simulation.enumeration import distribution

Law = dict[bytes, Fraction]
N = 4
QUESTIONS = (
    Question(N, Operator(2, 1, 1, 5, (3, 5, 19)), itemset_size=2, weight=3),  # γ = 19/3
    Question(
        N, FixedSizeOperator(7, N + 7, 5, (0, 1, 2, 2, 3, 5, 0, 0)), weight=2
    ),  # γ = 5, in 9 bits: others are padded
    Question(2, FixedSizeOperator(1, 3, 1, (1, 6)), view=SizesView((1, 3)), weight=1),  # γ = 6
)
BASKETS = [frozenset(basket) for size in range(N + 1) for basket in combinations(range(N), size)]
SHARES = [Fraction(3, 6), Fraction(2, 6), Fraction(1, 6)]


def plan_of(questions: tuple[Question, ...], limit: Fraction) -> Plan:
    """Return a plan whose promise has a limit on γ."""
    return Plan(Catalogue.numbered(N), questions, Breach(1 / (1 + limit), Fraction(1, 2)))


PLAN = plan_of(QUESTIONS, Fraction(19, 3) * Fraction(1001, 1000))


@cache
def law_of(basket: frozenset[int]) -> Law:
    """Return the exact law of a basket's report, from the shipping client."""
    randomizer = Randomizer(PLAN)
    return distribution(lambda entropy: randomizer.randomize(sorted(basket), entropy=entropy))


@cache
def answers_of(number: int, entries: tuple[int, ...]) -> Law:
    """Return the exact law of the answer to a question about some entries: of the plan that asks it alone."""
    randomizer = Randomizer(PLAN.alone(QUESTIONS[number]))
    return distribution(lambda entropy: randomizer.randomize(entries, entropy=entropy))


def entries_of(number: int, basket: frozenset[int]) -> tuple[int, ...]:
    """Return what a question asks about a basket, written down by hand: sizes from 1 and from 3."""
    if number < 2:
        return tuple(sorted(basket))
    return () if not basket else (0,) if len(basket) < 3 else (1,)


def law_by_hand(basket: frozenset[int], shares: list[Fraction]) -> Law:
    """Return P[x → (q, y)] = w_q/W · P_q[x → y]: the number, the answer, and zero bytes."""
    longest = max(len(answer) for number in range(3) for answer in answers_of(number, ()))
    law: Law = {}
    for number, share in enumerate(shares):
        for answer, chance in answers_of(number, entries_of(number, basket)).items():
            law[bytes([number]) + answer.ljust(longest, b"\0")] = share * chance
    return law


def largest_ratio(laws: list[Law]) -> Fraction:
    """Return the largest ratio of a report's chances under two baskets."""
    return max(max(law[y] for law in laws) / min(law[y] for law in laws) for y in laws[0])


def blanket(laws: list[Law]) -> Fraction:
    """Return Σ_y min_x P[x → y]."""
    return sum((min(law[y] for law in laws) for y in laws[0]), Fraction(0))


def number_law(law: Law) -> list[Fraction]:
    """Return how likely each question is answered."""
    return [sum((p for report, p in law.items() if report[0] == number), Fraction(0)) for number in range(3)]


@pytest.mark.parametrize("basket", BASKETS, ids=sorted)
def test_a_report_is_the_coin_and_the_answer_to_its_question(basket: frozenset[int]) -> None:
    """For every basket P[x → (q, y)] is the question's share times the answer's chance, fraction for fraction."""
    law = law_of(basket)
    assert sum(law.values()) == 1
    assert law == law_by_hand(basket, SHARES)
    assert {len(report) for report in law} == {3}
    assert number_law(law) == SHARES == [PLAN.share(question) for question in QUESTIONS]


def test_gamma_is_the_largest_of_the_questions() -> None:
    """Over all baskets and reports the ratio reaches the plan's γ, the largest of the questions' own, and no more."""
    own = []
    for number, question in enumerate(QUESTIONS):
        own.append(largest_ratio([answers_of(number, entries_of(number, basket)) for basket in BASKETS]))
        assert own[-1] == question.amplification
    assert own == [Fraction(19, 3), 5, 6]
    assert largest_ratio([law_of(basket) for basket in BASKETS]) == PLAN.amplification == max(own)


@pytest.mark.parametrize("worst", range(3))
def test_a_plan_at_its_limit_is_refused(worst: int) -> None:
    """Whichever question has the largest γ, at the limit the plan is refused; by the least below it, it is taken."""
    questions = tuple(q for q in QUESTIONS if q.amplification <= QUESTIONS[worst].amplification)
    if not any(question.view.kind == "items" for question in questions):
        questions += (Question(N, FixedSizeOperator(1, N + 1, 1, (1, 2))),)
    limit = QUESTIONS[worst].amplification
    for rare in (1, 1 << 20):  # however seldom it is asked
        asked = tuple(replace(q, weight=1 if q.view == QUESTIONS[worst].view else rare) for q in questions)
        with pytest.raises(PrivacyLimitError, match="breaks its promise"):
            plan_of(asked, limit)
        assert plan_of(asked, limit + Fraction(1, 10**20)).amplification == limit


def test_all_reports_of_a_person_reach_the_power_of_the_largest() -> None:
    """Two reports draw a question each; together they reach γ², and a plan of two that is at its limit is refused."""
    worst = max(law_of(x)[y] / law_of(z)[y] for x in BASKETS[:3] for z in BASKETS[-3:] for y in law_of(x))
    two = worst**2
    assert two == PLAN.amplification**2
    with pytest.raises(PrivacyLimitError, match="of 2 reports together"):
        replace(PLAN, promise=Breach(1 / (1 + two), Fraction(1, 2)), reports_per_person=2)


def test_the_blanket_is_the_mean_of_the_questions() -> None:
    """Σ_y min_x P[x → y] is the share-weighted mean of the questions' own, and no less than their stated blankets."""
    own = [blanket([answers_of(number, entries_of(number, basket)) for basket in BASKETS]) for number in range(3)]
    whole = blanket([law_of(basket) for basket in BASKETS])
    assert whole == sum(share * mass for share, mass in zip(SHARES, own, strict=True))
    stated = [question.operator.blanket for question in QUESTIONS]
    assert all(mass >= least for mass, least in zip(own, stated, strict=True))
    assert own[2] == stated[2]  # all of its entries are asked about: there it is exact
    assert whole >= sum(share * least for share, least in zip(SHARES, stated, strict=True))
