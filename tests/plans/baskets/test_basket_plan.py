"""Basket plans: ids, invalid plans, guarantees, ε, and several report types."""

import json
import math
import operator
import re
import time
import tracemalloc
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import reduce
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import items_plan

from assocpriv.guarantees.amplification import Guarantee, epsilon_from_amplification, parse_probability
from assocpriv.guarantees.errors import PlanError, PrivacyLimitError, WireError
from assocpriv.guarantees.shuffle_model import CentralGuarantee
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.baskets.catalogue import MAX_ITEMS, Catalogue
from assocpriv.plans.baskets.generator import Generator
from assocpriv.plans.baskets.operator import FixedSizeOperator, Operator
from assocpriv.plans.baskets.report_type import ReportType, SizesView
from assocpriv.plans.published_plan import _MOST_MARKS, pack_reports

OPERATOR = Operator(2, 1, 1, 10, (204, 102, 616))
BCH = Generator("bch", 4, 0b10011, 2, False)
NAMES = ["milk", "bread", "é🍞", "tea", "rice", "salt", "eggs"]
PLAN = items_plan(NAMES, OPERATOR, BCH, 2, Guarantee("5%", "50%"))
CONTENT = PLAN.to_json()
MOST_SECONDS = 30  # of processor time; computing with refused values first would take minutes or forever


def content(**changes: Any) -> dict[str, Any]:
    """Return the plan's content with replaced fields, also of its report type; ``a__b`` is field b of object a."""
    copy: dict[str, Any] = json.loads(json.dumps(CONTENT))
    for name, value in changes.items():
        *parts, inner = name.split("__")
        place = copy if name.partition("__")[0] in copy else copy["report_types"][0]
        (place[parts[0]] if parts else place)[inner] = value
    return copy


def refuse(text: str) -> str:
    """Return the message of the error that a plan's text raises."""
    with pytest.raises(PlanError) as caught:
        Plan.parse(text)
    return str(caught.value)


# ---- one plan, one id


CENTRAL = CentralGuarantee(Fraction(1), Fraction(1, 10**8), 100_000)


def test_a_central_guarantee_survives_json_and_makes_another_plan() -> None:
    """The text has its field only if there is one, and every value of it changes the id."""
    plan = replace(PLAN, central=CENTRAL)
    assert Plan.parse(plan.canonical_json) == plan
    assert "central" not in CONTENT
    assert plan.to_json() == CONTENT | {"central": plan.to_json()["central"]}
    others = [
        replace(CENTRAL, epsilon=Fraction(2)), replace(CENTRAL, delta=Fraction(1, 10**9)),
        replace(CENTRAL, reports=100_001), replace(CENTRAL, colluding=Fraction(1, 5)), replace(CENTRAL, delay=1),
    ]  # fmt: skip
    assert len({PLAN.plan_id, *(replace(plan, central=each).plan_id for each in [CENTRAL, *others])}) == 7


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("epsilon", "1"), ("epsilon", "101/1"), ("epsilon", 1), ("epsilon", "0/1"),
        ("delta", "1/100000"), ("delta", "2/2000000000"), ("delta", "0/1"),
        ("reports", 0), ("reports", "5"), ("reports", 1e5), ("reports", 10**13), ("reports", True),
        ("colluding", "1/1"), ("colluding", "0/1"), ("colluding", "99999/100000"), ("colluding", "999999/1000000"),
        ("delay", 0), ("delay", 604801), ("other", 1),
    ],
)  # fmt: skip
def test_an_invalid_central_guarantee_is_refused(name: str, value: object) -> None:
    """Each value has its range, and no other field is allowed; one person without colluding ones is enough."""
    fields = CENTRAL.to_json() | {name: value}
    if (name, value) == ("colluding", "99999/100000"):
        assert CentralGuarantee.from_json(fields).people == 1
        return
    with pytest.raises(PlanError, match=r"central guarantee|plan field"):
        Plan.from_json(CONTENT | {"central": fields})


def test_catalogue_is_a_sequence() -> None:
    """Names are found by position, slice and iteration, numbered or not, and positions by name."""
    for catalogue, names in ((Catalogue.numbered(3), ("0", "1", "2")), (Catalogue(["a", "b", "c"]), ("a", "b", "c"))):
        assert tuple(catalogue) == names
        assert catalogue[1:] == names[1:]
        assert catalogue[-1] == names[-1]
        assert catalogue.index_of == {name: i for i, name in enumerate(names)}
        with pytest.raises(IndexError):
            catalogue[3]
    assert Catalogue(["a", "b", "c"]) != ("a", "b", "c")


# ---- refusals


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"kind": "top-k"}, "version or type is unknown here; a newer release"),
    ({"share": "1 of 2"}, 'share must be "N of 1"'),
    ({"report_bits": 9}, "report_bits of a report type must be 8, which follows"),
    ({"operator__size": 0}, r"size must be in 1\.\.15, got 0"),
    ({"operator__kind": "cut-and-paste"}, "must have the kind select-a-size or fixed-size; a newer release"),
    ({"catalogue": {"names": ["a", 1]}}, "entry 2 must be text, got a int"),
    ({"catalogue": {"names": ["a", "b", "a"]}}, "entry 3 repeats an earlier name; names must be distinct"),
    ({"operator__insert_num": 2, "operator__insert_bits": 2}, "insert_num must be odd, got 2; lower insert_bits"),
    ({"operator__weight_bits": 11}, r"keep_weights must satisfy sum of C\(size, j\)"),
    ({"generator": {"kind": "hash", "seed_bits": 32}}, "none, bch or reed-solomon; a newer release may know it"),
    ({"generator__blocks": 1}, "itemsets of 2 items need a generator in which any 4 items are independent"),
    ({"catalogue": {"count": 14}}, "generator is too short for 16 items of 1 bits"),
    ({"guarantee__posterior": "2/1"}, "posterior must lie between 0 and 1"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED)
def test_bad_plan_is_refused(changes: dict[str, Any], message: str) -> None:
    """The message states the rule, the value and the remedy; the vectors have a plan for each rule."""
    assert re.search(message, refuse(json.dumps(content(**changes))))


REPORT_TYPE = CONTENT["report_types"][0]
PATHS = [
    *((name,) for name in CONTENT),
    *(("report_types", 0, name) for name in REPORT_TYPE),
    *(("report_types", 0, part, name) for part in ("operator", "generator") for name in REPORT_TYPE[part]),
    *(("guarantee", name) for name in CONTENT["guarantee"]),
    ("catalogue", "names"), ("catalogue", "names", 0), ("report_types", 0),
    ("report_types", 0, "operator", "keep_weights", 1),
]  # fmt: skip


HUGE = {
    "a float with a long exponent": "1e999999999", "text with a long exponent": '"1e999999999"',
    "text with a negative one": '"1e-999999999"', "an integer of 5000 digits": "9" * 5000,
    "an integer of 4000 digits": "9" * 4000, "text of a million digits": '"' + "9" * 1_000_000 + '"',
    "a fraction of a million digits": '"1/' + "9" * 1_000_000 + '"', "deep lists": "[" * 900 + "]" * 900,
    "deeper lists": "[" * 100_000 + "]" * 100_000, "deep objects": '{"a":' * 100_000 + "1" + "}" * 100_000,
    "a list of many": "[" + "1," * 200_000 + "1]",
}  # fmt: skip


@pytest.mark.parametrize("name", HUGE)
def test_huge_values_are_refused_fast(name: str) -> None:
    """Long numbers, long exponents and deep nesting are refused before anything is computed from them."""
    for path in PATHS:
        if path == ("catalogue", "names", 0) and HUGE[name].startswith('"'):
            continue  # any text is a name
        changed = content()
        reduce(operator.getitem, path[:-1], changed)[path[-1]] = "@"
        start = time.process_time()
        refuse(json.dumps(changed).replace('"@"', HUGE[name]))
        assert time.process_time() - start < MOST_SECONDS


# ---- guarantees


@pytest.mark.parametrize(
    "given", ["5%", " 5% ", "5.0%", 0.05, "0.05", ".05", "1/20", "2/40", "5e-2", "500e-4", Fraction(1, 20)]
)
def test_probability_is_read_as_written(given: Any) -> None:
    """All forms of 5% give the same exact fraction."""
    assert parse_probability(given, "prior") == Fraction(1, 20)
    assert Guarantee(given, "50%") == Guarantee(Fraction(1, 20), 0.5)


@pytest.mark.parametrize(
    ("prior", "posterior", "message"),
    [
        ("nan", "50%", "prior must be a probability such as 5% or 0.05, got 'nan'"),
        (math.nan, 0.5, "prior must be a probability"), (math.inf, 0.5, "prior must be a probability"),
        ("5%", "inf", "posterior must be a probability"), ("-5%", "50%", "prior must lie between 0 and 1"),
        (-0.05, 0.5, "prior must lie between 0 and 1"),
        ("5", "50", r"prior must lie between 0 and 1 \(0% and 100%\), got 5; did you mean '5%'\?$"),
        ("5%", 1.5, "posterior must lie between 0 and 1"),
        ("5%", "101%", r"posterior must lie between 0 and 1 \(0% and 100%\), got 101%$"),
        ("50%", "5%", "needs 0 < prior < posterior < 1, got prior 0.5 and posterior 0.05"),
        ("5%", "5%", "needs 0 < prior < posterior < 1"), (0, 0.5, "needs 0 < prior < posterior < 1"),
        (0.5, 1, "needs 0 < prior < posterior < 1"), ("", "50%", "prior must be a probability"),
        ("%", "50%", "prior must be a probability"), ("1/0", "50%", "prior must be a probability"),
        ("1//2", "50%", "prior must be a probability"), ("5%%", "50%", "prior must be a probability"),
        ("1_0%", "50%", "prior must be a probability"), ("1e-999", "50%", "prior must be a probability"),
        ("٥%", "50%", "prior must be a probability"), (True, 0.5, "prior must be a probability"),
        (None, 0.5, "prior must be a probability"), ("9" * 100, 0.5, "prior must be a probability"),
    ],
)  # fmt: skip
def test_bad_guarantee_is_refused(prior: Any, posterior: Any, message: str) -> None:
    """Prior and posterior must be probabilities in increasing order; errors name the wrong one."""
    with pytest.raises(PlanError, match=message):
        Guarantee(prior, posterior)


# ---- ε


def true_epsilon(gamma: Fraction) -> Decimal:
    """Return ln γ to 300 digits."""
    with localcontext(prec=700):  # γ just above 1 loses up to 2^1024, 309 digits
        return (Decimal(gamma.numerator) / Decimal(gamma.denominator)).ln()


BIG = st.integers(64, 1000).flatmap(lambda bits: st.integers(1 << bits, (2 << bits) - 1))


@settings(max_examples=25)
@given(BIG, st.fractions(Fraction(100_001, 100_000), 100, max_denominator=10**6))
def test_epsilon_is_rounded_up(denominator: int, about: Fraction) -> None:
    """ε is at least ln γ and exceeds it by less than a part in 10^12, for short and long fractions."""
    for gamma in (Fraction(int(denominator * about) + 1, denominator), about):
        exact = true_epsilon(gamma)
        assert exact <= Decimal(epsilon_from_amplification(gamma)) <= exact * (1 + Decimal("1e-12")) + Decimal("1e-300")


def test_broken_guarantee_with_a_huge_amplification_is_refused() -> None:
    """An amplification beyond a double's range is refused like any other that breaks the guarantee."""
    with pytest.raises(PrivacyLimitError):
        replace(PLAN, report_types=(ReportType(len(NAMES), Operator(1, 1, 16, 1024, (1, (1 << 1024) - 1))),))


@pytest.mark.parametrize("piece", ["{},", "[],", '"a":1,', "[{"])
def test_text_of_mostly_brackets_is_refused_unparsed(piece: str) -> None:
    """JSON that would take 25 times the memory of its text is refused before it is parsed."""
    text = "[" + piece * (_MOST_MARKS // 2 + 1)
    tracemalloc.start()
    error = refuse(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "4,195,328 of the characters" in error
    assert peak < 1 << 20


def test_a_million_items_may_have_a_pair_of_names_or_two_commas_each() -> None:
    """The largest plans have fewer of the counted characters than the limit, and one more than the limit is refused."""
    each = ['"a,b,c",', '"ab",["a","b"],']  # a name with commas; a name and its pair
    longest = max(MAX_ITEMS * sum(map(piece.count, "{[:,")) for piece in each)
    spare = sum(map(PLAN.canonical_json.count, "{[:,")) + 15 * sum(map(json.dumps(OPERATOR.to_json()).count, "{[:,"))
    assert longest + spare + 100 < _MOST_MARKS
    text = PLAN.canonical_json
    full = text + "," * (_MOST_MARKS - sum(map(text.count, "{[:,")))
    assert "not valid JSON" in refuse(full)  # it is parsed
    assert "of the characters" in refuse(full + ",")


# ---- several report types

SEVERAL = replace(
    PLAN,
    report_types=(
        replace(PLAN.items, weight=40),
        ReportType(2, FixedSizeOperator(1, 3, 1, (1, 5)), view=SizesView((2, 5)), weight=7),
        ReportType(7, Operator(1, 3, 2, 4, (2, 14)), weight=3),
    ),
)


def test_the_largest_amplification_is_the_plan_s() -> None:
    """γ of a plan is the largest of its report types', and this report type alone can break the guarantee."""
    assert SEVERAL.amplification == max(each.amplification for each in SEVERAL.report_types) == Fraction(308, 51)
    with pytest.raises(PrivacyLimitError):
        replace(SEVERAL, guarantee=Guarantee("1/8", Fraction(308, 359 + 7 * 51)))
    strict = replace(SEVERAL, report_types=(*SEVERAL.report_types[1:2], replace(SEVERAL.report_types[2], weight=1)))
    assert strict.amplification == 5
    assert strict.share(strict.items) == Fraction(1, 8)


def test_reports_of_all_report_types_are_equally_long() -> None:
    """The type's number comes first; shorter responses end in zero bytes; all other byte strings are refused."""
    wide = replace(SEVERAL, catalogue=Catalogue.numbered(17), report_types=(
        ReportType(17, OPERATOR, weight=1), ReportType(2, FixedSizeOperator(1, 3, 1, (1, 5)), view=SizesView((2, 5))),
    ))  # fmt: skip
    assert (wide.number_bytes, wide.report_bytes) == (1, 4)
    report = wide.pack_report(1, b"\x02")
    assert report == b"\x01\x02\x00\x00"
    assert wide.unpack_report(report) == (wide.report_types[1], b"\x02")
    packed = pack_reports([report, wide.pack_report(0, b"\x01\x00\x04"), report], wide)
    assert wide.type_numbers(packed).tolist() == [1, 0, 1]
    assert wide.responses_in(packed, 1).tolist() == [[2], [2]]
    for wrong, message in (
        (b"\x02\x00\x00\x00", r"report 1 has a report type outside 0\.\.1"),
        (b"\x01\x02\x00\x01", "report 1 has bits set beyond its response"),
        (b"\x01\x03\x00\x00", "report 1 is no rank of a set"),
        (b"\x00\x00\x00\x08", "report 1 has a bit set beyond the plan's 19"),
    ):
        with pytest.raises(WireError, match=message):
            pack_reports([report, wrong], wide)
        with pytest.raises(WireError):
            wide.unpack_report(wrong)
    with pytest.raises(WireError, match="4 bytes, got 3"):
        wide.unpack_report(report[:3])
