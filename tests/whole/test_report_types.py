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


PLAN = Plan(Catalogue.numbered(N), REPORT_TYPES, Guarantee(1 / (1 + Fraction(19, 3) * Fraction(1001, 1000)), "1/2"))


def responses(number: int, basket: frozenset[int]) -> Distribution:
    """Return the exact distribution of the response of one report type, by the client of a plan with it alone.

    The entries of a basket are its items, or its size class (from 1 and from 3).
    """
    size_class = (int(len(basket) >= 3),) if basket else ()
    return client_distribution(plan_of_type(PLAN, REPORT_TYPES[number]), basket if number < 2 else size_class)


def largest_ratio(rows: list[Distribution]) -> Fraction:
    """Return the largest ratio of a report's probabilities under two baskets."""
    return max(max(row[y] for row in rows) / min(row[y] for row in rows) for y in rows[0])


def blanket(rows: list[Distribution]) -> Fraction:
    """Return Σ_y min_x P[x → y]."""
    return sum((min(row[y] for row in rows) for y in rows[0]), Fraction(0))


@pytest.mark.parametrize("basket", BASKETS, ids=sorted)
def test_a_report_is_a_random_type_and_its_response(basket: frozenset[int]) -> None:
    """P[x → (q, y)] = w_q/W · P_q[x → y] as fractions, for every basket: the number, the response, and zero bytes."""
    assert client_distribution(PLAN, basket) == {
        bytes([number]) + response.ljust(2, b"\0"): share * chance
        for number, share in enumerate(SHARES)
        for response, chance in responses(number, basket).items()
    }
    assert [PLAN.share(report_type) for report_type in REPORT_TYPES] == SHARES


def type_rows(number: int) -> list[Distribution]:
    """Return the response distributions of a report type for all baskets."""
    return [responses(number, basket) for basket in BASKETS]


def test_gamma_is_the_largest_of_the_report_types() -> None:
    """The largest ratio over all baskets and reports is the plan's γ, the largest of the report types."""
    own = [largest_ratio(type_rows(number)) for number in range(3)]
    assert own == [report_type.amplification for report_type in REPORT_TYPES] == [Fraction(19, 3), 5, 6]
    assert largest_ratio([client_distribution(PLAN, basket) for basket in BASKETS]) == PLAN.amplification == max(own)


def test_the_blanket_is_the_mean_of_the_report_types() -> None:
    """Σ_y min_x P[x → y] is the weighted mean of those of the report types, and at least the operators' blankets."""
    own = [blanket(type_rows(number)) for number in range(3)]
    whole = blanket([client_distribution(PLAN, basket) for basket in BASKETS])
    assert whole == sum(share * mass for share, mass in zip(SHARES, own, strict=True))
    stated = [report_type.operator.blanket for report_type in REPORT_TYPES]
    assert all(mass >= least for mass, least in zip(own, stated, strict=True))
    assert own[2] == stated[2]  # exact, because the report type covers all of its entries
    assert whole >= sum(share * least for share, least in zip(SHARES, stated, strict=True))
