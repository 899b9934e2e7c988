"""Make the golden vectors of docs/formats.md with the package: plans.json and reports.json in this folder.

PYTHONPATH=.:tests python tests/vectors/make_vectors.py

The vectors depend on no clock, machine or random source: clients' random words are SHA-256 digests of the case's name.
A change of a vector is a change of format.
"""

import hashlib
import json
from fractions import Fraction
from itertools import cycle
from math import comb
from pathlib import Path
from typing import Any

from naive import ReplayEntropy

from assocpriv.client.baskets.basket_client import Randomizer, Responder
from assocpriv.client.baskets.one_basket import transaction_of
from assocpriv.client.baskets.transactions import transactions_of_many
from assocpriv.guarantees.amplification import format_fraction
from assocpriv.guarantees.exact_numbers import set_of_rank
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.baskets.report_type import ReportType
from assocpriv.records.layout import ReadOptions

TOOL = "tests/vectors/make_vectors.py"
VERSION = "assocpriv 1.0.0, formats of docs/formats.md version 1"  # raised by hand, with the formats
SPARE_WORDS = 2


class GivenWords(ReplayEntropy):
    """Random words from a list; records the result of every draw."""

    def __init__(self, words: list[int]) -> None:
        super().__init__(words)
        self.drawn: list[int] = []
        self.spent: list[int] = []  # number of words of each draw

    def below(self, n: int) -> int:
        """Draw below n and record the result."""
        before = self.used
        self.drawn.append(super().below(n))
        self.spent.append(self.used - before)
        return self.drawn[-1]

    def random_bits(self, count: int, num: int, bits: int) -> int:
        """Draw random bits and record them."""
        self.drawn.append(super().random_bits(count, num, bits))
        return self.drawn[-1]


def weights(levels: str, insert_num: int, insert_bits: int, weight_bits: int) -> list[str]:
    """Return weights with likelihoods of about 8 where the pattern has 1, and 1 elsewhere."""
    m, rest = len(levels) - 1, (1 << insert_bits) - insert_num
    shares = [insert_num**j * rest ** (m - j) * (8 if level == "1" else 1) for j, level in enumerate(levels)]
    scale = sum(comb(m, j) * share for j, share in enumerate(shares))
    found = [(share << weight_bits) // scale for share in shares]
    missing = (1 << weight_bits) - sum(comb(m, j) * v for j, v in enumerate(found))
    largest = 0 if found[0] > found[m] else m  # both ends count once, so the remainder fits there
    found[largest] += missing
    return [str(v) for v in found]


def selects(levels: str, rho: tuple[int, int], weight_bits: int) -> dict[str, Any]:
    """Return a select-a-size operator, written independently of the package."""
    return {
        "kind": "select-a-size", "size": len(levels) - 1, "insert_num": rho[0], "insert_bits": rho[1],
        "weight_bits": weight_bits, "keep_weights": weights(levels, *rho, weight_bits),
    }  # fmt: skip


def fixed(n: int, report_size: int, keep_weights: list[int]) -> dict[str, Any]:
    """Return a fixed-size operator for responses about n entries."""
    m, weighed = len(keep_weights) - 1, [str(v) for v in keep_weights]
    return {"kind": "fixed-size", "size": m, "items": n + m, "report_size": report_size, "keep_weights": weighed}


NONE = {"kind": "none"}


def type_content(
    operator: dict[str, Any],
    itemset_size: int = 1,
    generator: dict[str, Any] = NONE,
    *,
    weight: int = 1,
    bounds: list[int] | None = None,
) -> dict[str, Any]:
    """Return a report type about items, or with bounds about sizes; its share holds only its weight."""
    view = {"kind": "sizes", "bounds": bounds} if bounds else {"kind": "items"}
    report_type = {"view": view, "share": weight, "itemset_size": itemset_size}
    return report_type | {"operator": operator, "generator": generator}


def plan_content(
    catalogue: int | list[str],
    *report_types: dict[str, Any],
    guarantee: tuple[str, str] = ("1/20", "1/2"),
    reports: int = 1,
    **names: Any,
) -> dict[str, Any]:
    """Return a plan with report types as JSON content; ``names`` are fields of the rules for names."""
    total = sum(report_type["share"] for report_type in report_types)
    return with_stated(
        {
            "format": "assocpriv-plan", "version": 1, "kind": "baskets",
            "catalogue": {"count": catalogue} if isinstance(catalogue, int) else {"names": catalogue},
            "names": {"unlisted": "error", "parents": {}, "left_out": []} | names,
            "report_types": [each | {"share": f"{each['share']} of {total}"} for each in report_types],
            "guarantee": {"prior": guarantee[0], "posterior": guarantee[1]}, "reports_per_person": reports,
        }
    )  # fmt: skip


def with_stated(plan: dict[str, Any]) -> dict[str, Any]:
    """Return a plan with the report types' derived fields, computed from the rest if possible."""
    report_types = []
    for report_type in plan["report_types"]:
        operator, generator, view = report_type["operator"], report_type["generator"], report_type["view"]
        follows = {"amplification": "at most 1.000000", "report_bits": 1}  # if they cannot be computed
        try:
            known = plan["catalogue"].get("count") or len(plan["catalogue"]["names"])
            n = len(view["bounds"]) if "bounds" in view else known
            follows = {"amplification": at_most(gamma(operator)), "report_bits": bits_of(operator, generator, n)}
        except (ArithmeticError, LookupError, TypeError, ValueError):
            pass
        report_types.append(report_type | follows)
    return plan | {"report_types": report_types}


def gamma(operator: dict[str, Any]) -> Fraction:
    """Return the largest ratio of two likelihoods."""
    likely = [Fraction(v) for v in operator["keep_weights"] if v != "0"]
    if operator["kind"] == "select-a-size":
        odds = Fraction((1 << operator["insert_bits"]) - operator["insert_num"], operator["insert_num"])
        likely = [v * odds**j for j, v in enumerate(likely)]
    return max(likely) / min(likely)


def at_most(ratio: Fraction) -> str:
    """Write a γ, rounded up."""
    digits = f"{-(-ratio.numerator * 10**9 // ratio.denominator):010}"
    return f"at most {digits[:-9]}.{digits[-9:]}"


def bits_of(operator: dict[str, Any], generator: dict[str, Any], n: int) -> int:
    """Return the bits of a response about n entries."""
    if operator["kind"] == "fixed-size":
        return max(1, (comb(operator["items"], operator["report_size"]) - 1).bit_length())
    if generator["kind"] == "none":
        return n + int(operator["size"])
    return int(generator["field_bits"] * generator["blocks"] + generator.get("ones_row", False))


def bch(field_bits: int, polynomial: int, blocks: int, *, ones: bool) -> dict[str, Any]:
    """Return a BCH generator."""
    content = {"kind": "bch", "field_bits": field_bits, "field_polynomial": polynomial, "blocks": blocks}
    return content | {"ones_row": ones}


def solomon(field_bits: int, polynomial: int, blocks: int) -> dict[str, Any]:
    """Return a Reed–Solomon generator."""
    return {"kind": "reed-solomon", "field_bits": field_bits, "field_polynomial": polynomial, "blocks": blocks}


NAMES = ["milk", "bread", "crème brûlée", "🍞", 'say "hi" \\ /', "ten\u00a0eggs"]
LATE, LATER = "\uff5e", "\U0001f381"  # sorted by code point; surrogate pairs would sort them in reverse
TREE = {"stout": "beer", "beer": "drinks", "tonic": "drinks", "milk": "dairy", "brie": "cheese", "cheese": "dairy"}
LINE = {f"s{step:02}": f"s{step + 1:02}" for step in range(64)}


def good_plans() -> dict[str, dict[str, Any]]:
    """Return the plans of the vectors by name."""
    return coded_plans() | fixed_plans() | named_plans() | several_plans() | several_type_plans()


def coded_plans() -> dict[str, dict[str, Any]]:
    """Return select-a-size plans of one report type: one for each generator and for several lengths of draws."""
    half, third = (1, 1), (3, 3)
    example = selects("01", half, 3) | {"keep_weights": ["1", "7"]}
    bch7, rs10 = bch(7, 0b10000011, 4, ones=True), solomon(10, 0b10000001001, 8)
    contents: dict[str, tuple[int | list[str], dict[str, Any]]] = {
        "worked-example": (2, type_content(example, 1, bch(2, 0b111, 1, ones=False))),
        "none-r1-b10-names": (NAMES, type_content(selects("001", half, 10), 2)),
        "none-r3-b64": (130, type_content(selects("0011", third, 64), 2)),
        "none-r4-b128": (60, type_content(selects("10001", (1, 4), 128), 3)),
        "bch-r1-b64": (10, type_content(selects("101", half, 64), 2, bch(4, 0b10011, 2, ones=False))),
        "bch-r1-ones-b10": (1000, type_content(selects("0011", half, 10), 2, bch(10, 0b10000001001, 2, ones=True))),
        "bch-r3-ones-b128": (20, type_content(selects("001", (5, 3), 128), 1, bch7)),
        "bch-r4-b10": (14, type_content(selects("011", (7, 4), 10), 2, bch(7, 0b10000011, 8, ones=False))),
        "reed-solomon-r1-b10": (12, type_content(selects("011", half, 10), 1, solomon(4, 0b10011, 3))),
        "reed-solomon-r3-b64": (30, type_content(selects("0011", third, 64), 3, solomon(6, 0b1000011, 6))),
        "reed-solomon-r5-b128": (1000, type_content(selects("000111", (11, 5), 128), 3, rs10)),
    }
    plans = {name: plan_content(catalogue, report_type) for name, (catalogue, report_type) in contents.items()}
    return plans | {"none-r4-b128": edited(plans["none-r4-b128"], guarantee=WEAK)}


WEAK = {"prior": "1/10", "posterior": "19/20"}


def fixed_content(catalogue: int | list[str], itemset_size: int, report_size: int, shares: list[int]) -> dict[str, Any]:
    """Return a plan of one report type with responses of a fixed size."""
    n = catalogue if isinstance(catalogue, int) else len(catalogue)
    return plan_content(catalogue, type_content(fixed(n, report_size, shares), itemset_size))


def fixed_plans() -> dict[str, dict[str, Any]]:
    """Return plans for reports of a fixed size."""
    wide = [3 << 64, 5 << 62, (1 << 64) + 1, 1 << 65, 7 << 63, 15 << 62]
    return {
        "fixed-by-hand": fixed_content(2, 1, 1, [1, 6]),
        "fixed-one-bit": fixed_content(1, 1, 1, [2, 3]),
        "fixed-3-of-8": fixed_content(NAMES, 2, 3, [1, 3, 8]),
        "fixed-never-below-2": fixed_content(3, 3, 5, [0, 0, 1, 7]),
        "fixed-never-above-2": fixed_content(7, 2, 2, [2, 1, 9, 0, 0]),
        "fixed-64-bits": fixed_content(65, 1, 33, [5, 4, 18]),
        "fixed-many-words": edited(fixed_content(300, 3, 40, wide), guarantee=WEAK),
        "fixed-most-items": fixed_content(4095, 1, 70, [1 << 1023, 1 << 1024]),
        "fixed-512-bits": fixed_content(515, 1, 258, [2, 1]),
    }


def named_plans() -> dict[str, dict[str, Any]]:
    """Return plans that roll names up, leave some out, or drop unlisted ones."""
    report_type = type_content(selects("001", (1, 1), 10), 2)
    rolled = {"parents": TREE | {LATER: "gifts", LATE: "gifts", "gifts": "bags"}, "left_out": ["bags", "cheese", LATE]}
    return {
        "names-items": plan_content(["drinks", "beer", "dairy"], report_type, **rolled),
        "names-left-out": plan_content(["drinks", "beer"], report_type, left_out=["bags", LATE, LATER]),
        "names-drop": plan_content(12, report_type, unlisted="drop"),
        "names-64-steps": plan_content(["s64", "other"], report_type, parents=LINE),
    }


def several_plans() -> dict[str, dict[str, Any]]:
    """Return plans with several reports per person."""
    coded = coded_plans()

    def of(plan: dict[str, Any], reports: int, prior: str) -> dict[str, Any]:
        return edited(plan, reports_per_person=reports, guarantee={"prior": prior, "posterior": "1/2"})

    return {  # γ is 7; 49 is below 50, and 16807 below 16808
        "several-2": of(coded["worked-example"], 2, "1/51"),
        "several-5-bch": of(coded["bch-r1-b64"], 5, "1/100000"),
        "several-1000-fixed": of(fixed_content(2, 1, 1, [1000, 1002]), 1000, "1/20"),
    }


def several_type_plans() -> dict[str, dict[str, Any]]:
    """Return plans of several report types; their responses have different lengths, except for the last plan's."""
    half, classes = (1, 1), list(range(1, 65))
    coded = type_content(selects("101", half, 64), 2, bch(4, 0b10011, 2, ones=False), weight=49)
    sizes = type_content(fixed(2, 1, [1, 6]), bounds=[2, 5])
    seeds = type_content(selects("0011", (3, 3), 64), 3, solomon(6, 0b1000011, 6), weight=(1 << 32) - 1)
    three = (
        type_content(selects("01", half, 10), weight=3),
        sizes | {"share": 5},
        type_content(fixed(8, 3, [1, 3, 8]), 2),
    )
    many = [type_content(fixed(1, 1, [2, 3]), weight=place) for place in range(1, 17)]
    return {
        "asks-items-and-sizes": plan_content(10, coded, sizes),
        "asks-64-sizes-first": plan_content(
            70,
            type_content(selects("01", half, 10), 1, NONE, weight=2, bounds=classes),
            type_content(fixed(70, 3, [3, 4, 9]), 2, weight=3),
        ),
        "asks-items-twice": plan_content(30, seeds, type_content(selects("01", (1, 2), 20))),
        "asks-fixed-and-coded": plan_content(
            14,
            type_content(fixed(14, 4, [1, 2, 5]), 2),
            type_content(selects("011", (7, 4), 10), 2, bch(7, 0b10000011, 8, ones=False)),
        ),
        "asks-three": plan_content(
            8, *three, guarantee=("1/100", "1/2"), reports=2, left_out=["bags"], parents={"crate-of-3": "3"}
        ),
        "asks-sixteen": plan_content(1, *many),
    }


def edited(plan: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return a copy of a plan with changed fields; ``operator__…`` and the like are fields of its last report type.

    Derived fields are computed anew, unless they are changed themselves.
    """
    plan = {**plan, **{name: value for name, value in changes.items() if "__" not in name}}
    if not isinstance(plan["report_types"], list) or not plan["report_types"]:
        return plan
    *before, report_type = plan["report_types"]
    at_end: dict[str, Any] = {}
    for name, value in changes.items():
        part, _, inner = name.partition("__")
        if part == "report_type":
            report_type = report_type | {inner: value}
            at_end |= {inner: value}
        elif inner and part in report_type:
            report_type = report_type | {part: report_type[part] | {inner: value}}
        elif inner:
            plan[part] = plan[part] | {inner: value}
    made = with_stated(plan | {"report_types": [*before, report_type]})
    made["report_types"][-1] |= at_end
    return made


def weighing(plan: dict[str, Any], *weights: Any) -> dict[str, Any]:
    """Return a copy of a plan with other weights in its last report type."""
    return edited(plan, operator__keep_weights=list(weights))


def without(content: dict[str, Any], name: str) -> dict[str, Any]:
    """Return content without a field."""
    return {key: value for key, value in content.items() if key != name}


def bad_plans() -> list[dict[str, Any]]:
    """Return plans that every reader must refuse, with the rule that each breaks."""
    example = json.dumps(good_plans()["worked-example"])
    twice = json.dumps(edited(good_plans()["names-items"], names__parents={"rye": "loaf", "RYE": "bread"}))
    texts = {
        "not JSON": "{", "a list": "[]", "nested too deep": "[" * 3000,
        "a number of many digits": '{"format":' + "1" * 5000 + "}", "a byte order mark before it": "\ufeff" + example,
        "a name has two parents": twice.replace("RYE", "rye"),
    }  # fmt: skip
    cases = bad_envelopes() | bad_guarantees() | bad_coded() | bad_fixed() | bad_names() | bad_report_types()
    refused = [{"breaks": rule, "plan": plan} for rule, plan in cases.items()]
    return refused + [{"breaks": rule, "text": text} for rule, text in texts.items()]


def bad_envelopes() -> dict[str, dict[str, Any]]:
    """Return plans whose envelope, catalogue or number of reports breaks a rule."""
    plans = good_plans()
    none, two = plans["names-drop"], plans["several-2"]
    return {
        "the format is another": edited(none, format="assocpriv-itemsets"),
        **{f"the version is {json.dumps(way)}": edited(none, version=way) for way in (0, 2, 1.0, True, "1")},
        **{f"the kind is {json.dumps(way)}": edited(none, kind=way) for way in ("top-k", "select-a-size", None)},
        **{f"{name} is missing": without(two, name) for name in two if name != "catalogue"},
        "a field too many": edited(none, view={"kind": "items"}),
        "a name stands twice": edited(none, catalogue={"names": ["milk", "milk"]}),
        "a name is empty": edited(none, catalogue={"names": ["milk", ""]}),
        "a blank around a name": edited(none, catalogue={"names": ["milk\u3000"]}),
        "a control character in a name": edited(none, catalogue={"names": ["mi\tlk"]}),
        "a name is a number": edited(none, catalogue={"names": [1]}),
        "no names": edited(none, catalogue={"names": []}),
        "count is 0": edited(none, catalogue={"count": 0}),
        "count is above 2^20": edited(none, catalogue={"count": (1 << 20) + 1}),
        "both count and names": edited(none, catalogue={"count": 1, "names": ["milk"]}),
        **{
            f"reports_per_person is {json.dumps(way)}": edited(two, reports_per_person=way)
            for way in (0, 1001, True, 2.0, "2", None)
        },
    }


def bad_guarantees() -> dict[str, dict[str, Any]]:
    """Return plans that do not keep their guarantee, or whose guarantee is not written as ``a/b`` in lowest terms."""
    plans = good_plans()
    example, none, two, three = (plans[n] for n in ("worked-example", "names-drop", "several-2", "asks-three"))
    fixed_size, hand = plans["fixed-3-of-8"], plans["fixed-by-hand"]
    ways: list[Any] = [
        *("2/40", " 1/20", "1/20 ", "1/20\n", "1 /20", "01/20", "1/020", "+1/20", "0.05", "5%", "1/2_0"),
        *("\uff11/20", "", "0/1", 0.05, f"1/{10**24 + 1}", "1/2" + "0" * 58),
    ]
    return {
        **{f"the prior is written {json.dumps(way)}": edited(example, guarantee__prior=way) for way in ways},
        "the posterior is written 0.5": edited(example, guarantee__posterior=0.5),
        "the posterior is not in lowest terms": edited(example, guarantee__posterior="2/4"),
        "the prior is not below the posterior": edited(none, guarantee__prior="1/2"),
        "the posterior is 1": edited(none, guarantee__posterior="1/1"),
        "the amplification is above the guarantee's limit": edited(none, guarantee__prior="1/4"),
        "the amplification equals the guarantee's limit": edited(example, guarantee__prior="1/8"),
        "the amplification equals the limit, fixed size": weighing(hand, "1", "19"),
        "the amplification is above the limit, fixed size": weighing(fixed_size, "1", "20", "2"),
        "the amplification from the middle weight down": weighing(fixed_size, "20", "1", "2"),
        "two reports at the limit together": edited(two, guarantee__prior="1/50"),
        "each report below the limit, two above it": edited(two, guarantee__prior="1/20"),
        "three reports where two reach just below the limit": edited(two, reports_per_person=3),
        "the last report type's amplification alone is above the limit": weighing(three, "1", "3", "10"),
    }


def bad_coded() -> dict[str, dict[str, Any]]:
    """Return plans whose select-a-size operator or generator breaks a rule."""
    plans = good_plans()
    none, code, rs = plans["names-drop"], plans["bch-r1-b64"], plans["reed-solomon-r3-b64"]
    operator = none["report_types"][0]["operator"]
    wide, small = bch(24, 0x100001B, 1, ones=True), selects("01", (1, 1), 10)
    return {
        "the weights do not sum to 2^weight_bits": edited(none, operator__keep_weights=["102", "102", "717"]),
        "insert_num is even": edited(none, operator__insert_num=2, operator__insert_bits=2),
        "insert_num is 2^insert_bits": edited(none, operator__insert_num=2),
        "a weight is 0": edited(none, operator__keep_weights=["0", "102", "820"]),
        "a weight begins with 0": edited(none, operator__keep_weights=["0102", "102", "718"]),
        "a weight is a number, not text": edited(none, operator__keep_weights=[102, "102", "718"]),
        "a weight is missing": edited(none, operator__keep_weights=["204", "820"]),
        "the operator has a size of its own": edited(none, operator__size=3),
        "the size is not whole": edited(none, operator__size=2.0),
        "the size is true": edited(plans["worked-example"], operator__size=True),
        "a field too many in the operator": edited(none, operator__comment="hello"),
        "the operator's kind is missing": edited(none, report_type__operator=without(operator, "kind")),
        "the operator's kind is unknown": edited(none, operator__kind="top-k"),
        "the operator's kind is that of other fields": edited(none, operator__kind="fixed-size"),
        "the polynomial is irreducible but not primitive": edited(code, generator__field_polynomial=0b11111),
        "the polynomial is reducible": edited(code, generator__field_polynomial=0b10001),
        "the polynomial has another degree": edited(code, generator__field_polynomial=0b1011),
        "the field has too few columns for the items": edited(code, catalogue={"count": 14}),
        "the field has too few elements for the items": edited(rs, catalogue={"count": 62}),
        "the field has more columns than it must": edited(code, catalogue={"count": 5}),
        "the field of the most elements for two items": plan_content(2, type_content(small, 1, wide)),
        "the field has more elements than it must": edited(rs, catalogue={"count": 29}),
        "r exceeds the bits of a Reed-Solomon value": plan_content(
            10, type_content(selects("01", (11, 5), 10), 1, solomon(4, 0b10011, 2))
        ),
        "too few BCH blocks for M + K items": edited(code, generator__blocks=1),
        "too few Reed-Solomon blocks for M + K items": edited(rs, generator__blocks=5),
        "the generator is unknown": edited(none, report_type__generator={"kind": "hash"}),
        "none with a field of another generator": edited(none, report_type__generator={"kind": "none", "blocks": 1}),
        "bch without ones_row": edited(code, report_type__generator=solomon(4, 0b10011, 2) | {"kind": "bch"}),
        "ones_row with reed-solomon": edited(rs, generator__ones_row=False),
        "ones_row is not true or false": edited(code, generator__ones_row=0),
    }


def bad_fixed() -> dict[str, dict[str, Any]]:
    """Return plans for reports of a fixed size that break a rule."""
    plans = good_plans()
    fixed_size, hand = plans["fixed-3-of-8"], plans["fixed-by-hand"]
    low, high = plans["fixed-never-below-2"], plans["fixed-never-above-2"]
    return {
        "a fixed size with a generator": edited(fixed_size, report_type__generator=bch(4, 0b10011, 2, ones=False)),
        "a fixed size of the other kind": edited(fixed_size, operator__kind="select-a-size"),
        "a field of another operator": edited(fixed_size, operator__weight_bits=10),
        "items is n": edited(fixed_size, operator__items=6),
        "items is above n + M": edited(fixed_size, operator__items=9),
        "more than 4096 padded items": fixed_content(4096, 1, 2, [1, 2]),
        "report_size is 0": edited(hand, operator__report_size=0),
        "report_size is N": edited(hand, operator__report_size=3, operator__keep_weights=["0", "6"]),
        "report_size is true": edited(hand, operator__report_size=True),
        "the size is not that of the weights": edited(fixed_size, operator__size=1),
        "a weight of 0 where j can occur": weighing(fixed_size, "0", "3", "8"),
        "a weight where j is above report_size": weighing(high, "2", "1", "9", "1", "0"),
        "a weight where too few others can be added": weighing(low, "0", "1", "1", "7"),
        "a weight of 0 that is written 00": weighing(low, "0", "00", "1", "7"),
        "a weight of 0 that is a number": weighing(low, 0, "0", "1", "7"),
        "a weight begins with 0, fixed size": weighing(fixed_size, "1", "03", "8"),
        "a weight too few": weighing(fixed_size, "1", "3"),
        "a weight above 2^1024": weighing(hand, str(1 << 1024), str((1 << 1024) + 1)),
        "a report of 513 bits": fixed_content(4095, 1, 71, [1, 2]),
        "itemsets of more than n items": fixed_content(1, 2, 2, [0, 1, 2]),
    }


def bad_names() -> dict[str, dict[str, Any]]:
    """Return plans with invalid rules for names."""
    plans = good_plans()
    plan, ring = plans["names-items"], {"rye": "loaf", "loaf": "bakery", "bakery": "loaf"}
    return {
        "names is a list": edited(plan, names=[]),
        "unlisted is unknown": edited(plan, names__unlisted="keep"),
        **{f"names without {name}": edited(plan, names=without(plan["names"], name)) for name in plan["names"]},
        "names with a field too many": edited(plan, names__kind="items"),
        "left_out is sorted by the halves of surrogate pairs": edited(plan, names__left_out=["bags", LATER, LATE]),
        "left_out has a name twice": edited(plan, names__left_out=["bags", "bags"]),
        "left_out is an object": edited(plan, names__left_out={}),
        "a name left out has a control character": edited(plan, names__left_out=["bags\n"]),
        "a name left out is in the catalogue": edited(plan, names__left_out=["beer"]),
        "a name is its own parent": edited(plan, names__parents={"rye": "rye"}),
        "a cycle above a name": edited(plan, names__parents=TREE | ring),
        "a cycle that begins with an item": edited(plan, names__parents={"dairy": "milk", "milk": "dairy"}),
        "65 steps": edited(plans["names-64-steps"], names__parents=LINE | {"s64": "s65"}),
        "a parent is a number": edited(plan, names__parents={"rye": 1}),
        "a parent is empty": edited(plan, names__parents={"rye": ""}),
        "a child has a blank around it": edited(plan, names__parents={" rye": "loaf"}),
        "parents is a list of pairs": edited(plan, names__parents=[["rye", "loaf"]]),
    }


def bad_report_types() -> dict[str, dict[str, Any]]:
    """Return plans whose report types, shares, views or derived fields break a rule."""
    plans = good_plans()
    none, two = plans["names-drop"], plans["asks-items-and-sizes"]
    [items, sizes], [one] = two["report_types"], none["report_types"]
    alone = edited(two, report_types=[sizes | {"share": "1 of 1"}])
    beyond = [items | {"share": f"{1 << 32} of {(1 << 32) + 1}"}, sizes | {"share": f"1 of {(1 << 32) + 1}"}]
    shares: list[Any] = [
        "0 of 1", "1", "1/1", "01 of 1", "1 of 01", "1 of 1 ", "1 of 1\n", "1 OF 1", "-1 of 1", "\uff11 of 1",
    ]  # fmt: skip
    shares += ["1 of 2", "2 of 1", 1, None, f"{1 << 32} of {1 << 32}1"]
    bounds: list[Any] = [[], [0, 2], [2, 2], [5, 2], [2, 11], [True, 5], [2.0, 5], ["2", "5"], {}, 2]
    states = ["at most 8.01", "8.010752689", "at most 8.0107526890", "At most 8.010752689", 8.010752689]
    return {
        "no report type": edited(none, report_types=[]),
        "report_types is an object": none | {"report_types": one},
        "seventeen report types": plan_content(
            1, *(type_content(fixed(1, 1, [2, 3]), weight=place) for place in range(1, 18))
        ),
        "two equal report types": edited(none, report_types=2 * [one | {"share": "1 of 2"}]),
        "only a report type about sizes": alone,
        **{
            f"a report type without {name}": edited(none) | {"report_types": [without(one, name)]}
            for name in ("view", "share", "amplification")
        },
        "a report type with a field too many": edited(none, report_type__comment="hello"),
        "a report type that is a list": none | {"report_types": [[]]},
        **{f"the share is {json.dumps(way)}": edited(none, report_type__share=way) for way in shares},
        "shares that do not add up": edited(two, report_type__share="2 of 50"),
        "shares of different sums": edited(two, report_type__share="1 of 51"),
        "shares of more than 2^32": edited(two, report_types=beyond),
        **{f"the amplification is {json.dumps(way)}": edited(none, report_type__amplification=way) for way in states},
        **{
            f"the amplification is {way:+} of its last digit": edited(
                none, report_type__amplification=at_most(gamma(one["operator"]) + Fraction(way, 10**9))
            )
            for way in (-1, 1)
        },
        **{
            f"report_bits is {json.dumps(way)}": edited(none, report_type__report_bits=way)
            for way in (13, 15, 14.0, "14")
        },
        "itemset_size is above the operator's size": edited(none, report_type__itemset_size=3),
        "itemset_size is 0": edited(none, report_type__itemset_size=0),
        **{
            f"the view is {json.dumps(way)}": edited(none, report_type__view=way)
            for way in ([], {}, {"kind": ["items"]})
        },
        "the view's kind is unknown": edited(none, view__kind="itemsets"),
        "a view of items with bounds": edited(none, report_type__view={"kind": "items", "bounds": [1]}),
        "a view of sizes without bounds": edited(two, report_type__view={"kind": "sizes"}),
        "a view of sizes with counted": edited(two, view__counted=[]),
        **{f"the bounds are {json.dumps(way)}": edited(two, view__bounds=way) for way in bounds},
        "sixty-five bounds": plan_content(
            70, type_content(fixed(70, 1, [1, 6])), type_content(fixed(65, 1, [1, 6]), bounds=list(range(1, 66)))
        ),
        "an operator for another number of classes": edited(two, view__bounds=[2]),
    }


def transactions(plan: Plan, report_type: ReportType) -> dict[str, list[int]]:
    """Return the transactions of the vectors by case; some are unsorted, as the client sorts them."""
    n, m = plan.n_items, report_type.transaction_size
    full = list(range(n - 1, max(n - 1 - m, -1), -1))
    cases = {"empty": [], "short": [n - 1][: m - 1], "full": full}
    if n > m:
        cases["long"] = [(7 * i + 3) % n for i in range(min(n, m + 4))] if n % 7 else list(range(min(n, m + 4)))
    return cases


def tape(name: str, case: str) -> list[int]:
    """Return more random words than any case reads; those of case ``rejected`` begin with a zero word."""
    made = [int.from_bytes(hashlib.sha256(f"{name}/{case}/{i}".encode()).digest()[:8], "little") for i in range(64)]
    return [0, *made] if case == "rejected" else made


def run_case(name: str, plan: Plan, case: str, transaction: list[int], words: list[int]) -> dict[str, Any]:
    """Randomize one transaction with given words and record every step."""
    entropy = GivenWords(words)
    report = Randomizer(plan).randomize(transaction, entropy=entropy)
    report_type, response = plan.unpack_report(report)
    drawn, m = entropy.drawn[plan.number_bytes :], report_type.transaction_size
    entries = report_type.view.entries(sorted(transaction))
    fitted = entries + list(range(report_type.n_items, report_type.n_items + m - len(entries)))
    if len(entries) > m:
        for place in range(m):
            other = place + drawn[place]
            fitted[place], fitted[other] = fitted[other], fitted[place]
        drawn = drawn[m:]
    made = {
        "plan": name, "case": case, "transaction": transaction,
        "words": [f"{word:016x}" for word in words[: entropy.used + SPARE_WORDS]], "words_used": entropy.used,
        "report_type": plan.report_types.index(report_type), "entries": entries, "fitted": fitted[:m],
    }  # fmt: skip
    steps = set_steps if report_type.form.name == "rank" else subset_steps
    made |= steps(Responder(report_type), fitted[:m], drawn)
    return made | {"report": report.hex(), "shows": sorted(report_type.form.items(response))}


def subset_steps(responder: Responder, fitted: list[int], drawn: list[int]) -> dict[str, Any]:
    """Return the steps of select-a-size after padding or sampling, derived from the draws."""
    subsets, m, report_type = responder.subsets, len(fitted), responder.report_type
    mask = subsets.masks[sum(total <= drawn[0] for total in subsets.cumulative)]
    made: dict[str, Any] = {"kept_mask": mask}
    if report_type.generator.kind == "none":
        return made | {"random_bits": f"{drawn[1]:x}"}
    num = report_type.independent.insert_num
    rest = (1 << report_type.independent.insert_bits) - num
    made["item_values"] = [x % num if mask >> place & 1 else num + x % rest for place, x in enumerate(drawn[1 : m + 1])]
    return made | {"first_seed": f"{drawn[m + 1]:x}"}


def set_steps(responder: Responder, fitted: list[int], drawn: list[int]) -> dict[str, Any]:
    """Return the steps of a response of a fixed size after padding or sampling, derived from the draws."""
    operator, draws, (picked, x, y) = responder.report_type.fixed, responder.sets, drawn
    kept = sum(total <= picked for total in operator.cumulative)
    kept_rank, added_rank = x // 2, y * draws.added_choices[kept - draws.fewest] // draws.added_bound
    others = sorted({*range(operator.items)} - {*fitted})
    added = set_of_rank(added_rank, len(others), operator.report_size - kept)
    return {
        "kept_mask": sum(1 << place for place in set_of_rank(kept_rank, operator.size, kept)),
        "kept_rank": kept_rank,
        "added_rank": f"{added_rank:x}",
        "added": [others[place] for place in added],
    }


def rejected_cases(name: str, plan: Plan, begin: list[int]) -> list[dict[str, Any]]:
    """Return runs in which a draw of each kind rejects words."""
    if name in ("fixed-most-items", "fixed-512-bits"):
        return []  # their runs are long and add nothing
    transaction, found = [plan.n_items - 1], []
    for place, case in enumerate(["first draw", "second draw", "third draw", "fourth draw"]):
        words = [*begin, *tape(name, f"rejected {case}")]
        first = GivenWords(words)
        Randomizer(plan).randomize(transaction, entropy=first)
        begins, taken = sum(first.spent[:place]), sum(first.spent[place : place + 1])
        words = words[:begins] + [0] * taken + words[begins:]
        again = GivenWords(words)
        Randomizer(plan).randomize(transaction, entropy=again)
        if taken and again.drawn == first.drawn and again.spent[place] == 2 * taken:
            found.append(run_case(name, plan, f"rejected {case}", transaction, words))
    return found


def draws_of(plan: Plan) -> list[list[list[int]]]:
    """Return the words that draw each report type: the first and the last of its share; none for a single type."""
    if len(plan.report_types) == 1:
        return [[[]]]
    total, found = plan.total_weight, []
    for report_type, end in zip(plan.report_types, plan.cumulative_weights, strict=True):
        ends = [end - report_type.weight, end - 1]
        if total & (total - 1):  # no power of two: the first word that is not rejected, and the last
            first = -(-(ends[0] << 64) // total)
            ends = [first + (first * total % (1 << 64) < (1 << 64) % total), ((end << 64) - 1) // total]
        found.append([[word] for word in ends])
    return found


def backwards(content: Any) -> Any:
    """Return JSON content with the fields of every object in reverse order."""
    if isinstance(content, dict):
        return {key: backwards(value) for key, value in reversed(content.items())}
    return [backwards(value) for value in content] if isinstance(content, list) else content


def make_plans() -> dict[str, Any]:
    """Return the content of plans.json."""
    made = []
    for name, content in good_plans().items():
        plan = Plan.from_json(content)
        follows = {"id": plan.plan_id, "amplification": format_fraction(plan.amplification)}
        made.append({"name": name, "plan": content} | follows | {"report_bytes": plan.report_bytes})
    texts = [
        {"text": text, "id": Plan.parse(text).plan_id}
        for text in (
            json.dumps(edited(good_plans()["bch-r1-b64"], catalogue={"names": [str(i) for i in range(10)]})),
            json.dumps(good_plans()["none-r1-b10-names"], indent=3, ensure_ascii=False),
            json.dumps(backwards(good_plans()["names-items"]), indent=1, ensure_ascii=False),
            json.dumps(backwards(good_plans()["asks-three"])),
        )
    ]
    return {"tool": TOOL, "version": VERSION, "plans": made, "other_texts": texts, "refused": bad_plans()}


def baskets() -> dict[str, dict[str, list[str]]]:
    """Return baskets of names by plan and case; in cases named ``dropping`` the client drops unknown names."""
    return {
        "none-r1-b10-names": {
            "names alone": ["🍞", "milk"],
            "dropping": ["Milk", "bread", "cre\u0300me bru\u0302le\u0301e"],
        },
        "bch-r1-b64": {"numbers": ["9", "0"], "dropping": ["03", "10", "4", "+5"]},
        "names-items": {
            "the nearest wins": ["stout", "tonic", "brie"], "names that become equal": ["stout", "beer"],
            "left out further up": [LATER, "brie", "milk"], "left out itself, though it has a parent": [LATE, "drinks"],
            "empty": [], "blanks around a name": [" beer\u3000", "\u0085\tdairy\n"],
            "dropping": ["zebra", "gifts", "beer", "zebra"],
        },
        "names-left-out": {"left out": ["bags", LATER, "beer", LATE]},
        "names-drop": {
            "dropped by the plan": ["3", "zebra", "03", "12", "11"],
            "repeats of a name that is dropped": ["zebra", "3", "zebra", " zebra"],
        },
        "names-64-steps": {"64 steps": ["s00"], "equal": ["s00", "s63", "s64", "other"]},
        "asks-three": {"rolled up before any report type": ["crate-of-3", "bags", "3", "7"]},
    }  # fmt: skip


def basket_cases() -> list[dict[str, Any]]:
    """Return baskets of names with their transactions under the plans."""
    made = []
    for name, cases in baskets().items():
        plan = Plan.from_json(good_plans()[name])
        for case, names in cases.items():
            unknown = "drop" if case == "dropping" else "error"
            found = transactions_of_many([names], plan, ReadOptions(unknown=unknown, empty="keep"))[0].items.tolist()
            made.append({"plan": name, "case": case, "names": names, "unknown": unknown, "transaction": found})
    return made


def bad_baskets() -> list[dict[str, Any]]:
    """Return baskets that a client must refuse by default."""
    cases = [
        ("none-r1-b10-names", "a name in other letters", ["Milk"]),
        ("none-r1-b10-names", "a name in another normal form", ["cre\u0300me bru\u0302le\u0301e"]),
        ("bch-r1-b64", "a number in another form", ["03"]),
        ("names-items", "a name without ancestor in the catalogue", ["beer", "zebra"]),
        ("names-items", "a name twice", ["beer", "beer"]),
        ("names-items", "a name twice that is left out", ["cheese", "cheese"]),
        ("names-items", "a name twice but for blanks", ["beer", "beer "]),
        ("names-items", "an empty name", ["beer", ""]),
        ("names-items", "a name of blanks", ["\u2003"]),
        ("names-items", "a control character in a name", ["be\u0007er"]),
        ("names-drop", "an empty name, though others are dropped", [""]),
        ("names-drop", "a name twice, though others are dropped", ["3", "3", "zebra"]),
        ("names-drop", "half of a surrogate pair, though others are dropped", ["a\ud83c"]),
        ("asks-three", "a name that no report type is about", ["zebra"]),
    ]
    return [{"plan": name, "breaks": rule, "names": names} for name, rule, names in cases]


DECODED = {*fixed_plans(), *several_type_plans()} - {"fixed-512-bits"}


def last_types(plan: Plan) -> list[tuple[int, ReportType]]:
    """Return a plan's last report types with their numbers; a plan with many has similar ones."""
    return list(enumerate(plan.report_types))[-3:]


def largest_response(report_type: ReportType) -> int:
    """Return the largest number that a response's bits can form."""
    if report_type.form.name != "rank":
        return (1 << report_type.report_bits) - 1
    return comb(report_type.padded_items, report_type.fixed.report_size) - 1


def decoded_cases(name: str, plan: Plan) -> list[dict[str, Any]]:
    """Return reports made by no client: the smallest and largest of each report type, and others of fixed size."""
    made = []
    for number, report_type in last_types(plan):
        last = largest_response(report_type)
        for bits in sorted({0, 1, last // 3, last} if report_type.form.name == "rank" else {0, last}):
            report, shows = plan.pack_report(number, report_type.form.encode(bits)), report_type.form.items
            shown = sorted(shows(report_type.form.encode(bits)))
            made.append({"plan": name, "report": report.hex(), "report_type": number, "shows": shown})
    return made


def bad_reports(name: str, plan: Plan, whole: str) -> list[dict[str, str]]:
    """Return invalid reports; ``whole`` is a valid one."""
    found = {"a byte short": whole[:-2], "a byte long": whole + "00"} | ({"empty": ""} if plan.number_bytes else {})
    for number in {len(plan.report_types), 255} if plan.number_bytes else ():
        found[f"there is no report type {number}"] = plan.pack_report(number, b"").hex()
    first = 8 * plan.number_bytes
    for number, report_type in last_types(plan):
        end, last = 8 * plan.report_bytes - first, largest_response(report_type)
        bits = {last + 1, (1 << report_type.report_bits) - 1} | {1 << bit for bit in (report_type.report_bits, end - 1)}
        for beyond in sorted(each for each in bits if last < each < 1 << end):
            wrong = number | beyond << first
            text = wrong.to_bytes(plan.report_bytes, "little").hex()
            found[f"report type {number} has no response {beyond:x}"] = text
    return [{"plan": name, "breaks": rule, "report": report} for rule, report in found.items()]


def report_cases(name: str, plan: Plan) -> list[dict[str, Any]]:
    """Return the runs of a plan."""
    if name == "worked-example":
        return [run_case(name, plan, "by hand", [1], [5, 2, 0, 0])]
    if name == "fixed-by-hand":
        found = [run_case(name, plan, f"by hand {word}", [1], [word, 0, 1 << 62, 0]) for word in (1, 2)]
        return found + rejected_cases(name, plan, [])
    if name.startswith("names-"):
        case, names = next(iter(baskets()[name].items()))
        return [run_case(name, plan, case, transaction_of(names, plan), tape(name, case)) | {"names": names}]
    found = []
    for begins, report_type in zip(draws_of(plan), plan.report_types, strict=True):
        for begin, (case, items) in zip(cycle(begins), transactions(plan, report_type).items(), strict=False):
            found.append(run_case(name, plan, case, items, begin + tape(name, case)))
        if report_type.form.name == "rank":
            found += rejected_cases(name, plan, begins[0])
    if name == "reed-solomon-r3-b64":  # the first draw, below 6, rejects a word
        found.append(run_case(name, plan, "rejected", [0, 1, 2, 3, 4, 29], tape(name, "rejected")))
    # keep the last case only: lists of 258 items are long, several reports per person change nothing, 16 types are many
    few = name.startswith("several-") or name in ("fixed-512-bits", "asks-sixteen")
    return found[-1:] if few else found


def make_reports() -> dict[str, Any]:
    """Return the content of reports.json."""
    plans = {name: Plan.from_json(content) for name, content in good_plans().items()}
    cases = {name: report_cases(name, plan) for name, plan in plans.items()}
    rows = {
        "reports": [case for found in cases.values() for case in found],
        "refused": [
            each for name, plan in plans.items() for each in bad_reports(name, plan, cases[name][-1]["report"])
        ],
        "decoded": [each for name, plan in plans.items() if name in DECODED for each in decoded_cases(name, plan)],
        "baskets": basket_cases(),
        "refused_baskets": bad_baskets(),
    }
    return {"tool": TOOL, "version": VERSION} | rows


def as_text(content: dict[str, Any]) -> str:
    """Write vectors as JSON, one case per line."""

    def rows(entries: list[Any]) -> str:
        return "[\n  " + ",\n  ".join(json.dumps(entry, separators=(",", ":")) for entry in entries) + "\n ]"

    parts = (f' "{key}": {rows(v) if isinstance(v, list) else json.dumps(v)}' for key, v in content.items())
    return "{\n" + ",\n".join(parts) + "\n}\n"


def make_all() -> dict[str, str]:
    """Return the text of every vector file by name."""
    return {"plans.json": as_text(make_plans()), "reports.json": as_text(make_reports())}


def main() -> None:
    """Write the vector files to this file's folder."""
    for name, text in make_all().items():
        Path(__file__).with_name(name).write_text(text, encoding="ascii")


if __name__ == "__main__":
    main()
