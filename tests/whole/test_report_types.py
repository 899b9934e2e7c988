"""Plans of several report types, exactly: the client is run for all values of its random bits."""

from fractions import Fraction
from itertools import combinations

import pytest
from naive import client_distribution, plan_of_type

from assocpriv.guarantees.amplification import Guarantee
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.plans.baskets.operator import FixedSizeOperator, Operator
from assocpriv.plans.baskets.report_type import ReportType, SizesView

Distribution = dict[bytes, Fraction]
N = 4
REPORT_TYPES = (
    ReportType(N, Operator(2, 1, 1, 5, (3, 5, 19)), itemset_size=2, weight=3),  # γ = 19/3
    # γ = 5, in 9 bits: the other report types are padded with zero bytes
    ReportType(N, FixedSizeOperator(7, N + 7, 5, (0, 1, 2, 2, 3, 5, 0, 0)), weight=2),
    ReportType(2, FixedSizeOperator(1, 3, 1, (1, 6)), view=SizesView((1, 3)), weight=1),  # γ = 6
)
BASKETS = [frozenset(basket) for size in range(N + 1) for basket in combinations(range(N), size)]
SHARES = [Fraction(3, 6), Fraction(2, 6), Fraction(1, 6)]


def plan_of(report_types: tuple[ReportType, ...], limit: Fraction) -> Plan:
    """Return a plan whose guarantee has this limit of γ."""
    return Plan(Catalogue.numbered(N), report_types, Guarantee(1 / (1 + limit), Fraction(1, 2)))


PLAN = plan_of(REPORT_TYPES, Fraction(19, 3) * Fraction(1001, 1000))


def report_distribution(basket: frozenset[int]) -> Distribution:
    """Return the exact output distribution of the client for a basket."""
    return client_distribution(PLAN, basket)


def response_distribution(number: int, entries: tuple[int, ...]) -> Distribution:
    """Return the exact distribution of the response of one report type, by the client of a plan with it alone."""
    return client_distribution(plan_of_type(PLAN, REPORT_TYPES[number]), entries)


def entries_of(number: int, basket: frozenset[int]) -> tuple[int, ...]:
    """Return the entries of a basket for a report type: its items, or its size class (from 1 and from 3)."""
    if number < 2:
        return tuple(sorted(basket))
    return () if not basket else (0,) if len(basket) < 3 else (1,)


def expected_distribution(basket: frozenset[int], shares: list[Fraction]) -> Distribution:
    """Return P[x → (q, y)] = w_q/W · P_q[x → y]: the number, the response, and zero bytes."""
    longest = max(len(response) for number in range(3) for response in response_distribution(number, ()))
    expected: Distribution = {}
    for number, share in enumerate(shares):
        for response, chance in response_distribution(number, entries_of(number, basket)).items():
            expected[bytes([number]) + response.ljust(longest, b"\0")] = share * chance
    return expected


def largest_ratio(rows: list[Distribution]) -> Fraction:
    """Return the largest ratio of a report's probabilities under two baskets."""
    return max(max(row[y] for row in rows) / min(row[y] for row in rows) for y in rows[0])


def blanket(rows: list[Distribution]) -> Fraction:
    """Return Σ_y min_x P[x → y]."""
    return sum((min(row[y] for row in rows) for y in rows[0]), Fraction(0))


def type_shares(reports: Distribution) -> list[Fraction]:
    """Return the probability of each report type."""
    return [sum((p for report, p in reports.items() if report[0] == number), Fraction(0)) for number in range(3)]


@pytest.mark.parametrize("basket", BASKETS, ids=sorted)
def test_a_report_is_a_random_type_and_its_response(basket: frozenset[int]) -> None:
    """P[x → (q, y)] is the report type's share times the response's probability, as fractions, for every basket."""
    reports = report_distribution(basket)
    assert sum(reports.values()) == 1
    assert reports == expected_distribution(basket, SHARES)
    assert {len(report) for report in reports} == {3}
    assert type_shares(reports) == SHARES == [PLAN.share(report_type) for report_type in REPORT_TYPES]


def type_rows(number: int) -> list[Distribution]:
    """Return the response distributions of a report type for all baskets."""
    return [response_distribution(number, entries_of(number, basket)) for basket in BASKETS]


def test_gamma_is_the_largest_of_the_report_types() -> None:
    """The largest ratio over all baskets and reports is the plan's γ, the largest of the report types."""
    own = []
    for number, report_type in enumerate(REPORT_TYPES):
        own.append(largest_ratio(type_rows(number)))
        assert own[-1] == report_type.amplification
    assert own == [Fraction(19, 3), 5, 6]
    assert largest_ratio([report_distribution(basket) for basket in BASKETS]) == PLAN.amplification == max(own)


def test_the_blanket_is_the_mean_of_the_report_types() -> None:
    """Σ_y min_x P[x → y] is the weighted mean of those of the report types, and at least the operators' blankets."""
    own = [blanket(type_rows(number)) for number in range(3)]
    whole = blanket([report_distribution(basket) for basket in BASKETS])
    assert whole == sum(share * mass for share, mass in zip(SHARES, own, strict=True))
    stated = [report_type.operator.blanket for report_type in REPORT_TYPES]
    assert all(mass >= least for mass, least in zip(own, stated, strict=True))
    assert own[2] == stated[2]  # exact, because the report type covers all of its entries
    assert whole >= sum(share * least for share, least in zip(SHARES, stated, strict=True))
