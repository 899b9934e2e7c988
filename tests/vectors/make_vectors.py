"""Make the golden vectors of docs/formats.md with the package: plans.json and reports.json in this folder.

Run ``python tests/vectors/make_vectors.py`` in the repository. No clock, machine or random source enters: the
words that clients draw come from SHA-256 of the case's name. A change of a vector is a change of format.
"""

import hashlib
import json
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.client.baskets import Randomizer, SetDraws
from assocpriv.client.transactions import view_baskets, view_transaction
from assocpriv.plans.baskets import Plan
from assocpriv.promise.breaches import format_fraction
from assocpriv.promise.entropy import WordEntropy
from assocpriv.promise.numbers import set_of_rank

TOOL = "tests/vectors/make_vectors.py"
VERSION = "assocpriv 0.1.0, formats of docs/formats.md version 1"  # raised by hand, with the formats
SPARE_WORDS = 2


class GivenWords(WordEntropy):
    """Words from a list; keeps what every draw returned."""

    def __init__(self, words: list[int]) -> None:
        self.tape = words
        self.used = 0
        self.drawn: list[int] = []
        self.spent: list[int] = []  # words that each draw took

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return the next words."""
        read = self.tape[self.used : self.used + count]
        if len(read) < count:
            raise EOFError("the tape of words is too short")
        self.used += count
        return np.array(read, dtype=np.uint64)

    def below(self, n: int) -> int:
        """Draw below n and note it."""
        before = self.used
        self.drawn.append(super().below(n))
        self.spent.append(self.used - before)
        return self.drawn[-1]

    def coins(self, count: int, num: int, bits: int) -> int:
        """Draw coins and note them."""
        self.drawn.append(super().coins(count, num, bits))
        return self.drawn[-1]


def weights(levels: str, insert_num: int, insert_bits: int, weight_bits: int) -> list[str]:
    """Return weights whose likelihoods are about 8 where the pattern says 1, and 1 elsewhere."""
    m, rest = len(levels) - 1, (1 << insert_bits) - insert_num
    shares = [insert_num**j * rest ** (m - j) * (8 if level == "1" else 1) for j, level in enumerate(levels)]
    scale = sum(comb(m, j) * share for j, share in enumerate(shares))
    found = [(share << weight_bits) // scale for share in shares]
    missing = (1 << weight_bits) - sum(comb(m, j) * v for j, v in enumerate(found))
    largest = 0 if found[0] > found[m] else m  # both ends count once, so the remainder fits there
    found[largest] += missing
    return [str(v) for v in found]


def plan_content(
    catalogue: int | list[str],
    itemset_size: int,
    levels: str,
    rho: tuple[int, int],
    weight_bits: int,
    generator: dict[str, Any],
    promise: tuple[str, str] = ("1/20", "1/2"),
) -> dict[str, Any]:
    """Return a plan as JSON content, written out here rather than by the package."""
    m = len(levels) - 1
    return {
        "format": "assocpriv-plan",
        "version": 1,
        "kind": "select-a-size",
        "catalogue": {"count": catalogue} if isinstance(catalogue, int) else {"names": catalogue},
        "sizes": "hidden",
        "transaction_size": m,
        "itemset_size": itemset_size,
        "operators": [
            {
                "size": m,
                "insert_num": rho[0],
                "insert_bits": rho[1],
                "weight_bits": weight_bits,
                "keep_weights": weights(levels, *rho, weight_bits),
            }
        ],
        "generator": generator,
        "promise": {"prior": promise[0], "posterior": promise[1]},
        "view": idle(),
        "reports_per_person": 1,
    }


def bch(field_bits: int, polynomial: int, blocks: int, *, ones: bool) -> dict[str, Any]:
    """Return a BCH generator."""
    content = {"kind": "bch", "field_bits": field_bits, "field_polynomial": polynomial, "blocks": blocks}
    return content | {"ones_row": ones}


def solomon(field_bits: int, polynomial: int, blocks: int) -> dict[str, Any]:
    """Return a Reed–Solomon generator."""
    return {"kind": "reed-solomon", "field_bits": field_bits, "field_polynomial": polynomial, "blocks": blocks}


NONE = {"kind": "none"}
NAMES = ["milk", "bread", "crème brûlée", "🍞", 'say "hi" \\ /', "ten\u00a0eggs"]


def good_plans() -> dict[str, dict[str, Any]]:
    """Return the plans of the vectors by name."""
    return first_plans() | fixed_plans() | view_plans() | several_plans() | block_plans()


def first_plans() -> dict[str, dict[str, Any]]:
    """Return plans without a view: one of each generator and of several lengths of draws."""
    example = plan_content(2, 1, "01", (1, 1), 3, bch(2, 0b111, 1, ones=False))
    example["operators"][0]["keep_weights"] = ["1", "7"]
    return {
        "worked-example": example,
        "none-r1-b10-names": plan_content(NAMES, 2, "001", (1, 1), 10, NONE),
        "none-r3-b64": plan_content(130, 2, "0011", (3, 3), 64, NONE),
        "none-r4-b128": plan_content(60, 3, "10001", (1, 4), 128, NONE, ("1/10", "19/20")),
        "bch-r1-b64": plan_content(10, 2, "101", (1, 1), 64, bch(4, 0b10011, 2, ones=False)),
        "bch-r1-ones-b10": plan_content(1000, 2, "0011", (1, 1), 10, bch(10, 0b10000001001, 2, ones=True)),
        "bch-r3-ones-b128": plan_content(20, 1, "001", (5, 3), 128, bch(7, 0b10000011, 4, ones=True)),
        "bch-r4-b10": plan_content(14, 2, "011", (7, 4), 10, bch(7, 0b10000011, 8, ones=False)),
        "reed-solomon-r1-b10": plan_content(12, 1, "011", (1, 1), 10, solomon(4, 0b10011, 3)),
        "reed-solomon-r3-b64": plan_content(30, 3, "0011", (3, 3), 64, solomon(6, 0b1000011, 6)),
        "reed-solomon-r5-b128": plan_content(1000, 3, "000111", (11, 5), 128, solomon(10, 0b10000001001, 8)),
    }


def idle(**changes: Any) -> dict[str, Any]:
    """Return a view that does nothing, with fields changed or added."""
    return {"kind": "items", "others": "error", "parents": {}, "left_out": []} | changes


def fixed_content(
    catalogue: int | list[str],
    itemset_size: int,
    report_size: int,
    keep_weights: list[int],
    promise: tuple[str, str] = ("1/20", "1/2"),
) -> dict[str, Any]:
    """Return a plan for reports of a fixed size."""
    m = len(keep_weights) - 1
    plan = plan_content(catalogue, itemset_size, "0" * (m + 1), (1, 1), 20, NONE, promise)
    items = m + (catalogue if isinstance(catalogue, int) else len(catalogue))
    operator = {"size": m, "items": items, "report_size": report_size, "keep_weights": [str(v) for v in keep_weights]}
    return plan | {"kind": "fixed-size", "operators": [operator]}


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
        "fixed-many-words": fixed_content(300, 3, 40, wide, ("1/10", "19/20")),
        "fixed-most-items": fixed_content(4095, 1, 70, [1 << 1023, 1 << 1024]),
        "fixed-512-bits": fixed_content(515, 1, 258, [2, 1]),
    }


LATE, LATER = "\uff5e", "\U0001f381"  # by code point in this order; by the halves of surrogate pairs in the other
TREE = {"stout": "beer", "beer": "drinks", "tonic": "drinks", "milk": "dairy", "brie": "cheese", "cheese": "dairy"}
LINE = {f"s{step:02}": f"s{step + 1:02}" for step in range(64)}


def view_plans() -> dict[str, dict[str, Any]]:
    """Return plans with a view of each kind, and of other kinds and sizes with one."""

    def seen(catalogue: int | list[str], **fields: Any) -> dict[str, Any]:
        return plan_content(catalogue, 2, "001", (1, 1), 10, NONE) | {"view": idle(**fields)}

    mixed = idle(parents=TREE | {LATER: "gifts", LATE: "gifts", "gifts": "bags"}, left_out=["bags", "cheese", LATE])
    pairs = [["drinks"], ["bread", "drinks"], ["bread", "dairy", "drinks"]]
    counted = {"kind": "sizes", "bounds": [0, 2, 1 << 30], "counted": ["dairy", "drinks"], "parents": TREE}
    held = idle(kind="itemsets", itemsets=pairs, parents=TREE, left_out=["brie"])
    fixed = fixed_content(["few", "some", "many"], 1, 2, [1, 9])
    return {
        "view-items": seen(["drinks", "beer", "dairy"], **mixed),
        "view-items-left-out": seen(["drinks", "beer"], left_out=["bags", LATE, LATER]),
        "view-items-drop": seen(12, others="drop"),
        "view-items-64-steps": seen(["s64", "other"], parents=LINE),
        "view-itemsets": seen(["d", "b and d", "all"], **held),
        "view-itemsets-numbers": seen(2, kind="itemsets", itemsets=[["1"], ["0"]], others="drop"),
        "view-sizes-any": seen(["none", "few", "many"], kind="sizes", bounds=[0, 1, 4], counted=[], left_out=["bags"]),
        "view-sizes-counted": seen(["0 to 1", "2", "never"], **counted),
        "view-sizes-fixed": fixed | {"view": idle(kind="sizes", bounds=[0, 2, 5], counted=[])},
    }


def several_plans() -> dict[str, dict[str, Any]]:
    """Return plans of several reports a person: of each kind, and with a view."""

    def of(plan: dict[str, Any], reports: int, prior: str, posterior: str) -> dict[str, Any]:
        promise = {"prior": prior, "posterior": posterior}
        return plan | {"reports_per_person": reports, "promise": promise}

    example = first_plans()["worked-example"]  # γ is 7; 49 is below 50, and 16807 below 16808
    low = fixed_content(2, 1, 1, [1000, 1002], ("1/20", "1/2"))
    return {
        "several-2": of(example, 2, "1/51", "1/2"),
        "several-5-bch": of(first_plans()["bch-r1-b64"], 5, "1/100000", "1/2"),
        "several-1000-fixed": of(low, 1000, "1/20", "1/2"),
        "several-3-view": of(view_plans()["view-itemsets"], 3, "1/1000", "1/2"),
    }


def block_plans() -> dict[str, dict[str, Any]]:
    """Return plans with blocks, of each form of reports, of full and of shorter pieces, and with a view."""

    def cut(
        plan: dict[str, Any], catalogue: int | list[str], partitions: int, pieces: int, seed: int
    ) -> dict[str, Any]:
        blocks = {"partitions": partitions, "pieces": pieces, "seed": seed}
        named = {"count": catalogue} if isinstance(catalogue, int) else {"names": catalogue}
        return plan | {"catalogue": named, "view": plan["view"] | {"blocks": blocks}}

    first, fixed = first_plans(), fixed_plans()
    held = idle(kind="itemsets", itemsets=[["a"], ["a", "b"], ["b"], ["b", "c"], ["c"]])
    chosen = plan_content(3, 1, "01", (1, 1), 10, NONE) | {"view": held}
    return {
        "blocks-none": cut(plan_content(4, 2, "0011", (3, 3), 64, NONE), 14, 5, 4, (1 << 32) - 1),
        "blocks-bch": cut(first["bch-r1-b64"], 29, 3, 3, 0),
        "blocks-reed-solomon": cut(first["reed-solomon-r3-b64"], 120, 64, 4, 1),
        "blocks-fixed": cut(fixed["fixed-3-of-8"], 17, 7, 3, 2024),
        "blocks-itemsets": cut(chosen, ["A", "AB", "B", "BC", "C"], 2, 2, 6),
    }


def edited(plan: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return a copy of a plan with fields changed; ``operator_…`` and ``generator_…`` reach inside."""
    copy: dict[str, Any] = json.loads(json.dumps(plan))
    for name, value in changes.items():
        part, _, inner = name.partition("__")
        place = {"operator": copy["operators"][0], "generator": copy["generator"], "promise": copy["promise"]}
        if inner:
            place[part][inner] = value
        else:
            copy[name] = value
    return copy


def bad_plans() -> list[dict[str, Any]]:
    """Return plans that every reader must refuse, with the rule each one breaks."""
    plans = good_plans()
    none, code, rs = plans["none-r1-b10-names"], plans["bch-r1-b64"], plans["reed-solomon-r3-b64"]
    without = {key: value for key, value in none.items() if key != "sizes"}
    cases = [
        ("the weights do not sum to 2^weight_bits", edited(none, operator__keep_weights=["102", "102", "717"])),
        ("insert_num is even", edited(none, operator__insert_num=2, operator__insert_bits=2)),
        ("insert_num is 2^insert_bits", edited(none, operator__insert_num=2)),
        ("a weight is 0", edited(none, operator__keep_weights=["0", "102", "820"])),
        ("a weight begins with 0", edited(none, operator__keep_weights=["0102", "102", "718"])),
        ("a weight is a number, not text", edited(none, operator__keep_weights=[102, "102", "718"])),
        ("a weight is missing", edited(none, operator__keep_weights=["204", "820"])),
        ("the amplification is above the promise's limit", edited(none, promise__prior="1/4")),
        (
            "the amplification equals the promise's limit",
            edited(plans["worked-example"], promise__prior="1/8", promise__posterior="1/2"),
        ),
        ("the prior is not below the posterior", edited(none, promise__prior="1/2")),
        ("the posterior is 1", edited(none, promise__posterior="1/1")),
        ("the polynomial is irreducible but not primitive", edited(code, generator__field_polynomial=0b11111)),
        ("the polynomial is reducible", edited(code, generator__field_polynomial=0b10001)),
        ("the polynomial has another degree", edited(code, generator__field_polynomial=0b1011)),
        ("the field has too few columns for the items", edited(code, catalogue={"count": 14})),
        ("the field has too few elements for the items", edited(rs, catalogue={"count": 62})),
        ("the field has more columns than it must", edited(code, catalogue={"count": 5})),
        (
            "the field of the most elements for two items",
            plan_content(2, 1, "01", (1, 1), 10, bch(24, 0x100001B, 1, ones=True)),
        ),
        ("the field has more elements than it must", edited(rs, catalogue={"count": 29})),
        (
            "r exceeds the bits of a Reed-Solomon value",
            plan_content(10, 1, "01", (11, 5), 10, solomon(4, 0b10011, 2)),
        ),
        ("a promise of more than 60 characters", edited(none, promise__prior="1/2" + "0" * 58)),
        ("too few BCH blocks for M + K items", edited(code, generator__blocks=1)),
        ("too few Reed-Solomon blocks for M + K items", edited(rs, generator__blocks=5)),
        ("the generator is unknown", edited(none, generator={"kind": "hash"})),
        ("none with a field of another generator", edited(none, generator={"kind": "none", "blocks": 1})),
        ("bch without ones_row", edited(code, generator=solomon(4, 0b10011, 2) | {"kind": "bch"})),
        ("ones_row with reed-solomon", edited(rs, generator__ones_row=False)),
        ("ones_row is not true or false", edited(code, generator__ones_row=0)),
        ("the format is another", edited(none, format="assocpriv-itemsets")),
        ("the version is unknown", edited(none, version=2)),
        ("the kind is unknown", edited(none, kind="top-k")),
        ("the kind is that of other operators", edited(none, kind="fixed-size")),
        ("sizes is unknown", edited(none, sizes="grouped")),
        ("a field too many", edited(none, comment="hello")),
        ("a field too many in the operator", edited(none, operator__comment="hello")),
        ("a field is missing", without),
        ("two operators", edited(none, operators=none["operators"] * 2)),
        ("no operator", none | {"operators": []}),
        ("the operator's size is not transaction_size", edited(none, transaction_size=3)),
        ("itemset_size is above transaction_size", edited(none, itemset_size=3)),
        ("itemset_size is 0", edited(none, itemset_size=0)),
        ("transaction_size is not whole", edited(none, transaction_size=2.0)),
        ("transaction_size is true", edited(plans["worked-example"], transaction_size=True)),
        ("a name stands twice", edited(none, catalogue={"names": ["milk", "milk"]})),
        ("a name is empty", edited(none, catalogue={"names": ["milk", ""]})),
        ("a blank around a name", edited(none, catalogue={"names": ["milk\u3000"]})),
        ("a control character in a name", edited(none, catalogue={"names": ["mi\tlk"]})),
        ("a name is a number", edited(none, catalogue={"names": [1]})),
        ("no names", edited(none, catalogue={"names": []})),
        ("count is 0", edited(none, catalogue={"count": 0})),
        ("count is above 2^20", edited(none, catalogue={"count": (1 << 20) + 1})),
        ("both count and names", edited(none, catalogue={"count": 1, "names": ["milk"]})),
    ]
    texts = [
        ("not JSON", "{"),
        ("a list", "[]"),
        ("nested too deep", "[" * 3000),
        ("a number of many digits", '{"format":' + "1" * 5000 + "}"),
        ("a byte order mark before it", "\ufeff" + json.dumps(plans["worked-example"])),
    ]
    refused = [{"breaks": rule, "plan": plan} for rule, plan in cases]
    refused += [{"breaks": rule, "text": text} for rule, text in texts]
    return refused + [
        {"breaks": rule, "plan": plan}
        for rule, plan in (
            *(bad_promises() + bad_versions() + bad_fixed() + bad_views() + bad_several()),
            *bad_blocks(),
        )
    ]


def bad_versions() -> list[tuple[str, dict[str, Any]]]:
    """Return plans of another version, and plans that leave out what every plan states."""
    plans = good_plans()
    none, seen = plans["none-r1-b10-names"], plans["view-items-drop"]
    leaving = ["none-r1-b10-names", "fixed-3-of-8", "view-items-drop", "several-2"]
    return [
        ("version 0", edited(seen, version=0)),
        ("version 2", edited(seen, version=2)),
        ("the version is 1.0", edited(seen, version=1.0)),
        ("the version is true", edited(none, version=True)),
        ("the version is text", edited(seen, version="1")),
        ("the version is missing", {k: v for k, v in none.items() if k != "version"}),
        ("the kind is missing", {k: v for k, v in seen.items() if k != "kind"}),
        ("sizes is unknown beside a view", edited(seen, sizes="grouped")),
        *((f"{name} without a view", {k: v for k, v in plans[name].items() if k != "view"}) for name in leaving),
        *(
            (f"{name} without reports_per_person", {k: v for k, v in plans[name].items() if k != "reports_per_person"})
            for name in leaving
        ),
    ]


def bad_promises() -> list[tuple[str, dict[str, Any]]]:
    """Return plans whose promise is not written as ``a/b`` in lowest terms."""
    plan = good_plans()["worked-example"]
    ways = [
        *("2/40", " 1/20", "1/20 ", "1/20\n", "1 /20", "01/20", "1/020", "+1/20", "0.05", "5%", "1/2_0"),
        *("\uff11/20", "", "0/1", 0.05, f"1/{10**24 + 1}"),
    ]
    return [(f"the prior is written {json.dumps(way)}", edited(plan, promise__prior=way)) for way in ways] + [
        ("the posterior is written 0.5", edited(plan, promise__posterior=0.5)),
        ("the posterior is not in lowest terms", edited(plan, promise__posterior="2/4")),
    ]


def bad_several() -> list[tuple[str, dict[str, Any]]]:
    """Return plans of several reports a person that break a rule."""
    plans = good_plans()
    two = plans["several-2"]
    seen = plans["view-items-drop"]
    return [
        ("reports_per_person is 0", edited(two, reports_per_person=0)),
        ("reports_per_person is above 1000", edited(seen, reports_per_person=1001)),
        ("reports_per_person is true", edited(two, reports_per_person=True)),
        ("reports_per_person is 2.0", edited(two, reports_per_person=2.0)),
        ("reports_per_person is text", edited(two, reports_per_person="2")),
        ("reports_per_person is null", edited(two, reports_per_person=None)),
        ("two reports at the limit together", edited(two, promise__prior="1/50")),
        ("each report below the limit, two above it", edited(two, promise__prior="1/20")),
        ("three reports where two reach just below the limit", edited(two, reports_per_person=3)),
    ]


def bad_fixed() -> list[tuple[str, dict[str, Any]]]:
    """Return plans for reports of a fixed size that break a rule."""
    plans = good_plans()
    fixed, hand, none = plans["fixed-3-of-8"], plans["fixed-by-hand"], plans["none-r1-b10-names"]
    low, high = plans["fixed-never-below-2"], plans["fixed-never-above-2"]
    return [
        ("a fixed size with a generator", edited(fixed, generator=bch(4, 0b10011, 2, ones=False))),
        ("a fixed size with another operator", edited(fixed, operators=none["operators"])),
        ("select-a-size with an operator of a fixed size", edited(fixed, kind="select-a-size")),
        ("two operators of a fixed size", edited(fixed, operators=fixed["operators"] * 2)),
        ("a field of another operator", edited(fixed, operator__weight_bits=10)),
        ("items is n", edited(fixed, operator__items=6)),
        ("items is above n + M", edited(fixed, operator__items=9)),
        ("more than 4096 padded items", fixed_content(4096, 1, 2, [1, 2])),
        ("report_size is 0", edited(hand, operator__report_size=0)),
        ("report_size is N", edited(hand, operator__report_size=3, operator__keep_weights=["0", "6"])),
        ("report_size is true", edited(hand, operator__report_size=True)),
        ("the operator's size is not M", edited(fixed, operator__size=1)),
        ("a weight of 0 where j can occur", edited(fixed, operator__keep_weights=["0", "3", "8"])),
        ("a weight where j is above report_size", edited(high, operator__keep_weights=["2", "1", "9", "1", "0"])),
        ("a weight where too few others can be added", edited(low, operator__keep_weights=["0", "1", "1", "7"])),
        ("a weight of 0 that is written 00", edited(low, operator__keep_weights=["0", "00", "1", "7"])),
        ("a weight of 0 that is a number", edited(low, operator__keep_weights=[0, "0", "1", "7"])),
        ("a weight begins with 0, fixed size", edited(fixed, operator__keep_weights=["1", "03", "8"])),
        ("a weight too few", edited(fixed, operator__keep_weights=["1", "3"])),
        ("a weight above 2^1024", edited(hand, operator__keep_weights=[str(1 << 1024), str((1 << 1024) + 1)])),
        ("the amplification equals the limit, fixed size", edited(hand, operator__keep_weights=["1", "19"])),
        ("the amplification is above the limit, fixed size", edited(fixed, operator__keep_weights=["1", "20", "2"])),
        ("the amplification from the middle weight down", edited(fixed, operator__keep_weights=["20", "1", "2"])),
        ("a report of 513 bits", fixed_content(4095, 1, 71, [1, 2])),
        ("itemsets of more than n items", fixed_content(1, 2, 2, [0, 1, 2])),
    ]


def bad_views() -> list[tuple[str, dict[str, Any]]]:
    """Return plans whose view breaks a rule."""
    plans = good_plans()

    def wrong(name: str, **fields: Any) -> dict[str, Any]:
        return plans[name] | {"view": plans[name]["view"] | fields}

    items, held, sizes, counted = "view-items", "view-itemsets", "view-sizes-any", "view-sizes-counted"
    ring = {"rye": "loaf", "loaf": "bakery", "bakery": "loaf"}
    without = {key: value for key, value in plans[items]["view"].items() if key != "left_out"}
    return [
        ("the view is a list", plans[items] | {"view": []}),
        ("the view's kind is unknown", wrong(items, kind="pairs")),
        ("the view's kind is a list", wrong(items, kind=["items"])),
        ("others is unknown", wrong(items, others="keep")),
        ("a view without left_out", plans[items] | {"view": without}),
        ("a view with a field too many", wrong(items, comment="hello")),
        ("a view of items with bounds", wrong(items, bounds=[0, 1, 2])),
        ("a view of items with itemsets", wrong(items, itemsets=[])),
        ("a view of sizes without counted", plans[sizes] | {"view": idle(kind="sizes", bounds=[0, 1, 4])}),
        ("an itemset too few for the catalogue", wrong(held, itemsets=[["drinks"], ["bread", "drinks"]])),
        ("an itemset too many for the catalogue", wrong(held, itemsets=[["a"], ["b"], ["c"], ["d"]])),
        ("an itemset without names", wrong(held, itemsets=[["drinks"], [], ["bread"]])),
        ("an itemset that is not sorted", wrong(held, itemsets=[["drinks"], ["drinks", "bread"], ["bread"]])),
        ("an itemset with a name twice", wrong(held, itemsets=[["drinks"], ["bread", "bread"], ["bread"]])),
        ("two equal itemsets", wrong(held, itemsets=[["drinks"], ["bread"], ["drinks"]])),
        ("an itemset that is text", wrong(held, itemsets=[["drinks"], "bread", ["dairy"]])),
        ("a name of an itemset has a blank around it", wrong(held, itemsets=[["drinks"], ["bread "], ["dairy"]])),
        ("a bound too few for the catalogue", wrong(sizes, bounds=[0, 1])),
        ("a bound too many for the catalogue", wrong(sizes, bounds=[0, 1, 4, 5])),
        ("the bounds do not begin with 0", wrong(sizes, bounds=[1, 2, 4])),
        ("the bounds do not rise", wrong(sizes, bounds=[0, 4, 4])),
        ("a bound is true", wrong(sizes, bounds=[0, True, 4])),
        ("a bound is above 2^30", wrong(sizes, bounds=[0, 1, (1 << 30) + 1])),
        ("counted is not sorted", wrong(counted, counted=["drinks", "dairy"])),
        ("counted has a name twice", wrong(counted, counted=["dairy", "dairy"])),
        ("parents where any name counts", wrong(counted, counted=[])),
        ("left_out is sorted by the halves of surrogate pairs", wrong(items, left_out=["bags", LATER, LATE])),
        ("left_out has a name twice", wrong(items, left_out=["bags", "bags"])),
        ("left_out is an object", wrong(items, left_out={})),
        ("a name left out has a control character", wrong(items, left_out=["bags\n"])),
        ("a name left out is in the catalogue", wrong(items, left_out=["beer"])),
        ("a name left out is in an itemset", wrong(held, left_out=["bread"])),
        ("a name left out is counted", wrong(counted, left_out=["dairy"])),
        ("a name is its own parent", wrong(items, parents={"rye": "rye"})),
        ("a circle above a name", wrong(items, parents=TREE | ring)),
        (
            "a circle that begins with an item of the catalogue",
            wrong(items, parents={"dairy": "milk", "milk": "dairy"}),
        ),
        ("65 steps", wrong("view-items-64-steps", parents=LINE | {"s64": "s65"})),
        ("a parent is a number", wrong(items, parents={"rye": 1})),
        ("a parent is empty", wrong(items, parents={"rye": ""})),
        ("a child has a blank around it", wrong(items, parents={" rye": "loaf"})),
        ("parents is a list of pairs", wrong(items, parents=[["rye", "loaf"]])),
    ]


def bad_blocks() -> list[tuple[str, dict[str, Any]]]:
    """Return plans whose blocks break a rule."""
    plans = good_plans()
    plan, sizes = plans["blocks-none"], plans["view-sizes-any"]
    good = plan["view"]["blocks"]

    def wrong(**fields: Any) -> dict[str, Any]:
        return plan | {"view": plan["view"] | {"blocks": good | fields}}

    return [
        ("blocks is null", plan | {"view": plan["view"] | {"blocks": None}}),
        ("blocks is a list", plan | {"view": plan["view"] | {"blocks": [5, 4, 0]}}),
        ("blocks without a seed", plan | {"view": plan["view"] | {"blocks": {"partitions": 5, "pieces": 4}}}),
        ("blocks with a field too many", wrong(overlap=0)),
        ("one piece", wrong(pieces=1)),
        ("pieces is 4.0", wrong(pieces=4.0)),
        ("so many pieces that some hold fewer items than an itemset", wrong(pieces=8)),
        ("pieces of other lengths than the operator is made for", plans["blocks-fixed"] | {"catalogue": {"count": 19}}),
        ("no partition", wrong(partitions=0)),
        ("partitions is true", wrong(partitions=True)),
        ("more than 65536 blocks", wrong(partitions=16385)),
        ("partitions of more than 2^24 entries in all", wrong(partitions=17) | {"catalogue": {"count": 1 << 20}}),
        ("the seed of blocks is negative", wrong(seed=-1)),
        ("the seed of blocks has 33 bits", wrong(seed=1 << 32)),
        ("the seed of blocks is text", wrong(seed="0")),
        ("blocks in a view of sizes", sizes | {"view": sizes["view"] | {"blocks": good | {"pieces": 2}}}),
        ("blocks beside the view", plan | {"view": idle(), "blocks": good}),
    ]


def transactions(plan: Plan) -> dict[str, list[int]]:
    """Return the transactions of the vectors by case; unsorted ones too, the client sorts."""
    n, m = plan.n_items, plan.transaction_size
    full = list(range(n - 1, max(n - 1 - m, -1), -1))
    cases = {"empty": [], "short": [n - 1][: m - 1], "full": full}
    if plan.view.blocks is not None:
        cases |= {"odd items": list(range(1, n, 2)), "all": list(range(n))}
    elif n > m:
        cases["long"] = [(7 * i + 3) % n for i in range(min(n, m + 4))] if n % 7 else list(range(min(n, m + 4)))
    return cases


def tape(name: str, case: str) -> list[int]:
    """Return more words than any case reads; those of case ``rejected`` begin with a zero word."""
    made = [int.from_bytes(hashlib.sha256(f"{name}/{case}/{i}".encode()).digest()[:8], "little") for i in range(64)]
    return [0, *made] if case == "rejected" else made


def run_case(name: str, plan: Plan, case: str, transaction: list[int], words: list[int]) -> dict[str, Any]:
    """Randomize one transaction with given words and note every step."""
    entropy = GivenWords(words)
    report = Randomizer(plan).randomize(transaction, entropy=entropy)
    inside = plan.block_plan
    drawn, m, held, of_block = entropy.drawn, plan.transaction_size, sorted(transaction), dict[str, Any]()
    if plan.view.blocks is not None:
        block, *drawn = drawn
        held = plan.view.blocks.places(block, held, plan.n_items)
        of_block = {"block": block, "places": held}
    fitted = held + list(range(inside.n_items, inside.n_items + m - len(held)))
    if len(held) > m:
        for place in range(m):
            other = place + drawn[place]
            fitted[place], fitted[other] = fitted[other], fitted[place]
        drawn = drawn[m:]
    made = {
        "plan": name,
        "case": case,
        "transaction": transaction,
        "words": [f"{word:016x}" for word in words[: entropy.used + SPARE_WORDS]],
        "words_used": entropy.used,
        **of_block,
        "fitted": fitted[:m],
    }
    made |= set_steps(inside, fitted[:m], drawn) if plan.kind == "fixed-size" else subset_steps(inside, drawn)
    return made | {"report": report.hex(), "shows": sorted(plan.form.items(report))}


def subset_steps(plan: Plan, drawn: list[int]) -> dict[str, Any]:
    """Return the steps of select-a-size after the fit, told from what was drawn."""
    subsets, m = Randomizer(plan).subsets, plan.transaction_size
    mask = subsets.masks[sum(total <= drawn[0] for total in subsets.cumulative)]
    made: dict[str, Any] = {"kept_mask": mask}
    if plan.generator.kind == "none":
        return made | {"coins": f"{drawn[1]:x}"}
    num, rest = plan.independent.insert_num, (1 << plan.independent.insert_bits) - plan.independent.insert_num
    made["item_values"] = [x % num if mask >> place & 1 else num + x % rest for place, x in enumerate(drawn[1 : m + 1])]
    return made | {"first_seed": f"{drawn[m + 1]:x}"}


def set_steps(plan: Plan, fitted: list[int], drawn: list[int]) -> dict[str, Any]:
    """Return the steps of a report of a fixed size after the fit, told from what was drawn."""
    operator, (picked, x, y) = plan.fixed, drawn
    kept = sum(total <= picked for total in operator.cumulative)
    draws = SetDraws.of(operator)
    kept_rank, added_rank = x // 2, y * draws.added_choices[kept - draws.fewest] // draws.added_bound
    others = sorted({*range(operator.items)} - {*fitted})
    added = set_of_rank(added_rank, len(others), operator.report_size - kept)
    return {
        "kept_mask": sum(1 << place for place in set_of_rank(kept_rank, operator.size, kept)),
        "kept_rank": kept_rank,
        "added_rank": f"{added_rank:x}",
        "added": [others[place] for place in added],
    }


def rejected_cases(name: str, plan: Plan) -> list[dict[str, Any]]:
    """Return runs in which a draw of each kind meets words that are rejected."""
    if name in ("fixed-most-items", "fixed-512-bits"):
        return []  # their runs are long, and show no more than others
    is_short = plan.kind == "fixed-size" and plan.view.blocks is None
    transaction = [plan.n_items - 1] if is_short else list(range(plan.n_items))
    found = []
    for place, case in enumerate(["first draw", "second draw", "third draw"]):
        words = tape(name, f"rejected {case}")
        without = GivenWords(words)
        Randomizer(plan).randomize(transaction, entropy=without)
        begins, taken = sum(without.spent[:place]), sum(without.spent[place : place + 1])
        words = words[:begins] + [0] * taken + words[begins:]
        again = GivenWords(words)
        Randomizer(plan).randomize(transaction, entropy=again)
        if taken and again.drawn == without.drawn and again.spent[place] == 2 * taken:
            found.append(run_case(name, plan, f"rejected {case}", transaction, words))
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
        made.append(
            {
                "name": name,
                "plan": content,
                "id": plan.plan_id,
                "amplification": format_fraction(plan.amplification),
                "report_bits": plan.report_bits,
                "report_bytes": plan.report_bytes,
            }
        )
    texts = [
        {"text": text, "id": Plan.parse(text).plan_id}
        for text in (
            json.dumps(edited(good_plans()["bch-r1-b64"], catalogue={"names": [str(i) for i in range(10)]})),
            json.dumps(good_plans()["none-r1-b10-names"], indent=3, ensure_ascii=False),
            json.dumps(backwards(good_plans()["view-items"]), indent=1, ensure_ascii=False),
            json.dumps(edited(good_plans()["view-itemsets-numbers"], catalogue={"names": ["0", "1"]})),
        )
    ]
    refused = bad_plans()
    twice = json.dumps(edited(good_plans()["view-items"], view=idle(parents={"rye": "loaf", "RYE": "bread"})))
    refused.append({"breaks": "a name has two parents", "text": twice.replace("RYE", "rye")})
    return {"tool": TOOL, "version": VERSION, "plans": made, "other_texts": texts, "refused": refused}


def baskets() -> dict[str, list[tuple[str, list[str]]]]:
    """Return baskets of names by plan, each with what it is a case of; ``dropping`` ones drop names at the client."""
    return {
        "none-r1-b10-names": [
            ("no view", ["🍞", "milk"]),
            ("dropping", ["Milk", "bread", "cre\u0300me bru\u0302le\u0301e"]),
        ],
        "bch-r1-b64": [("numbers", ["9", "0"]), ("dropping", ["03", "10", "4", "+5"])],
        "view-items": [
            ("the nearest wins", ["stout", "tonic", "brie"]),
            ("names that become equal", ["stout", "beer"]),
            ("left out further up", [LATER, "brie", "milk"]),
            ("left out itself, though it has a parent", [LATE, "drinks"]),
            ("empty", []),
            ("blanks around a name", [" beer\u3000", "\u0085\tdairy\n"]),
            ("dropping", ["zebra", "gifts", "beer", "zebra"]),
        ],
        "view-items-left-out": [("left out", ["bags", LATER, "beer", LATE])],
        "view-items-drop": [
            ("dropped by the view", ["3", "zebra", "03", "12", "11"]),
            ("repeats of a name that is dropped", ["zebra", "3", "zebra", " zebra"]),
        ],
        "view-items-64-steps": [("64 steps", ["s00"]), ("equal", ["s00", "s63", "s64", "other"])],
        "view-itemsets": [
            ("two of three", ["stout", "tonic", "bread"]),
            ("all", ["tonic", "milk", "cheese", "bread"]),
            ("none whole", ["bread", "dairy"]),
            ("left out", ["brie", "bread", "beer"]),
            ("dropping", ["drinks", "d", "all"]),
        ],
        "view-itemsets-numbers": [("numbers", ["1", "2"])],
        "view-sizes-any": [
            ("three names", ["0", "zebra", "none"]),
            ("empty", []),
            ("left out", ["bags"]),
            ("at a bound", ["a", "b", "c", "d", "bags"]),
        ],
        "view-sizes-counted": [
            ("two names left", ["stout", "beer", "brie"]),
            ("one name left", ["stout", "beer", "drinks"]),
            ("empty", []),
            ("dropping", ["zebra", "beer"]),
        ],
        "view-sizes-fixed": [("two names", ["b", "a"]), ("empty", [])],
    }


def basket_cases() -> list[dict[str, Any]]:
    """Return baskets of names with the transactions that the plans make of them."""
    made = []
    for name, cases in baskets().items():
        plan = Plan.from_json(good_plans()[name])
        for case, names in cases:
            dropping = case == "dropping"
            if dropping:
                found = view_baskets([names], plan, unknown="drop")[0].items.tolist()
            else:
                found = view_transaction(names, plan)
            made.append({"plan": name, "case": case, "names": names, "dropping": dropping, "transaction": found})
    return made


def bad_baskets() -> list[dict[str, Any]]:
    """Return baskets that a client must refuse unless it is told otherwise."""
    cases = [
        ("none-r1-b10-names", "a name of other letters", ["Milk"]),
        ("none-r1-b10-names", "a name composed otherwise", ["cre\u0300me bru\u0302le\u0301e"]),
        ("bch-r1-b64", "a number written otherwise", ["03"]),
        ("view-items", "a name that leads nowhere", ["beer", "zebra"]),
        ("view-items", "a name twice", ["beer", "beer"]),
        ("view-items", "a name twice that is left out", ["cheese", "cheese"]),
        ("view-items", "a name twice but for blanks", ["beer", "beer "]),
        ("view-items", "an empty name", ["beer", ""]),
        ("view-items", "a name of blanks", ["\u2003"]),
        ("view-items", "a control character in a name", ["be\u0007er"]),
        ("view-items-drop", "an empty name, though others are dropped", [""]),
        ("view-items-drop", "a name twice, though others are dropped", ["3", "3", "zebra"]),
        ("view-items-drop", "half of a surrogate pair, though others are dropped", ["a\ud83c"]),
        ("view-sizes-any", "a name twice where any name counts", ["a", "a"]),
        ("view-itemsets", "the name of an entry", ["b and d"]),
        ("view-sizes-counted", "a name that does not count", ["bread"]),
        ("view-sizes-any", "a control character where any name counts", ["a\u007fb"]),
    ]
    return [{"plan": name, "breaks": rule, "names": names} for name, rule, names in cases]


def decoded_cases(name: str, plan: Plan) -> list[dict[str, Any]]:
    """Return reports that no client made, the least and the greatest, of a fixed size or of blocks."""
    if plan.view.blocks is not None:
        blocks, inside = plan.view.blocks.count, plan.block_plan
        last = (
            comb(inside.padded_items, inside.fixed.report_size)
            if plan.kind == "fixed-size"
            else 1 << inside.report_bits
        )
        reports = [
            block.to_bytes(2, "little") + inside.form.encode(number)
            for block in (0, blocks // 2, blocks - 1)
            for number in (0, last - 1)
        ]
    else:
        last = comb(plan.padded_items, plan.fixed.report_size) - 1
        reports = [plan.form.encode(rank) for rank in sorted({0, 1, last // 3, last})]
    return [{"plan": name, "report": report.hex(), "shows": sorted(plan.form.items(report))} for report in reports]


def bad_reports(name: str, plan: Plan) -> list[dict[str, str]]:
    """Return reports of a fixed size or of blocks that break a rule."""
    found: list[tuple[str, bytes]] = []
    if plan.view.blocks is not None:
        last, empty = plan.view.blocks.count, bytes(plan.report_bytes - 2)
        found = [(f"there is no block {block}", block.to_bytes(2, "little") + empty) for block in (last, 65535)]
    elif plan.kind == "fixed-size":
        count = comb(plan.padded_items, plan.fixed.report_size)
        ranks = {count, (1 << plan.report_bits) - 1}
        beyond = sorted(rank for rank in ranks if count <= rank < 1 << plan.report_bits)
        found = [(f"no set has the rank {rank:x}", rank.to_bytes(plan.report_bytes, "little")) for rank in beyond]
    return [{"plan": name, "breaks": rule, "report": report.hex()} for rule, report in found]


def make_reports() -> dict[str, Any]:
    """Return the content of reports.json."""
    cases: list[dict[str, Any]] = []
    refused: list[dict[str, str]] = []
    decoded: list[dict[str, Any]] = []
    for name, content in good_plans().items():
        plan = Plan.from_json(content)
        found = [run_case(name, plan, case, basket, tape(name, case)) for case, basket in transactions(plan).items()]
        if name == "worked-example":
            found = [run_case(name, plan, "by hand", [1], [5, 2, 0, 0])]
        if name == "fixed-512-bits":  # the 258 items it shows are a long list
            found = found[-1:]
        if name.startswith("several-"):  # their reports are those of plans of one report a person
            found = found[-1:]
        if name == "fixed-by-hand":
            found = [run_case(name, plan, f"by hand {word}", [1], [word, 0, 1 << 62, 0]) for word in (1, 2)]
        if name.startswith("view-"):
            case, names = baskets()[name][0]
            found = [run_case(name, plan, case, view_transaction(names, plan), tape(name, case)) | {"names": names}]
        if name == "reed-solomon-r3-b64":  # the first draw is below 6 and meets a word that is rejected
            found.append(run_case(name, plan, "rejected", [0, 1, 2, 3, 4, 29], tape(name, "rejected")))
        if name.startswith(("fixed-", "blocks-")):
            found += rejected_cases(name, plan)
            decoded += decoded_cases(name, plan)
        cases += found
        whole = found[-1]["report"]
        refused += [
            {"plan": name, "breaks": "a byte short", "report": whole[:-2]},
            {"plan": name, "breaks": "a byte long", "report": whole + "00"},
            {"plan": name, "breaks": "empty", "report": ""},
        ]
        for bit in sorted({plan.report_bits, 8 * plan.report_bytes - 1}):
            if plan.report_bits <= bit < 8 * plan.report_bytes:
                wrong = int.from_bytes(bytes.fromhex(whole), "little") | 1 << bit
                text = wrong.to_bytes(plan.report_bytes, "little").hex()
                refused.append({"plan": name, "breaks": f"bit {bit} is set", "report": text})
        refused += bad_reports(name, plan)
    return {
        "tool": TOOL,
        "version": VERSION,
        "reports": cases,
        "refused": refused,
        "decoded": decoded,
        "baskets": basket_cases(),
        "refused_baskets": bad_baskets(),
    }


def as_text(content: dict[str, Any]) -> str:
    """Write vectors as JSON, one case a line."""
    parts = []
    for key, value in content.items():
        lines = ",\n  ".join(json.dumps(entry) for entry in value) if isinstance(value, list) else ""
        parts.append(f' "{key}": ' + (f"[\n  {lines}\n ]" if isinstance(value, list) else json.dumps(value)))
    return "{\n" + ",\n".join(parts) + "\n}\n"


def make_all() -> dict[str, str]:
    """Return the text of every vector file by name."""
    return {"plans.json": as_text(make_plans()), "reports.json": as_text(make_reports())}


def main() -> None:
    """Write the vector files beside this one."""
    for name, text in make_all().items():
        Path(__file__).with_name(name).write_text(text, encoding="ascii")


if __name__ == "__main__":
    main()
