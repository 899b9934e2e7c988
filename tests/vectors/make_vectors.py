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

from assocpriv.client.itemset import Randomizer
from assocpriv.core.entropy import WordEntropy
from assocpriv.core.plan import Plan
from assocpriv.core.privacy import format_fraction
from assocpriv.core.wire import report_items

TOOL = "tests/vectors/make_vectors.py"
VERSION = "assocpriv 0.1.0, formats of docs/formats.md version 1"  # raised by hand, with the formats
SPARE_WORDS = 2


class GivenWords(WordEntropy):
    """Words from a list; keeps what every draw returned."""

    def __init__(self, words: list[int]) -> None:
        self.tape = words
        self.used = 0
        self.drawn: list[int] = []

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return the next words."""
        read = self.tape[self.used : self.used + count]
        if len(read) < count:
            raise EOFError("the tape of words is too short")
        self.used += count
        return np.array(read, dtype=np.uint64)

    def below(self, n: int) -> int:
        """Draw below n and note it."""
        self.drawn.append(super().below(n))
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
        ("the kind is unknown", edited(none, kind="fixed-size")),
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
    ]
    return [{"breaks": rule, "plan": plan} for rule, plan in cases] + [
        {"breaks": rule, "text": text} for rule, text in texts
    ]


def transactions(plan: Plan) -> dict[str, list[int]]:
    """Return the transactions of the vectors by case; unsorted ones too, the client sorts."""
    n, m = plan.n_items, plan.transaction_size
    cases = {"empty": [], "short": [n - 1][: m - 1], "full": list(range(n - 1, n - 1 - m, -1))}
    if n > m:
        cases["long"] = [(7 * i + 3) % n for i in range(min(n, m + 4))] if n % 7 else list(range(min(n, m + 4)))
    return cases


def tape(name: str, case: str) -> list[int]:
    """Return more words than any case reads; those of case ``rejected`` begin with a zero word."""
    made = [int.from_bytes(hashlib.sha256(f"{name}/{case}/{i}".encode()).digest()[:8], "little") for i in range(64)]
    return [0, *made] if case == "rejected" else made


def run_case(name: str, plan: Plan, case: str, transaction: list[int], words: list[int]) -> dict[str, Any]:
    """Randomize one transaction with given words and note every step."""
    entropy = GivenWords(words)
    randomizer = Randomizer(plan)
    report = randomizer.randomize(transaction, entropy=entropy)
    drawn, m = entropy.drawn, plan.transaction_size
    fitted = sorted(transaction) + list(range(plan.n_items, plan.n_items + m - len(transaction)))
    if len(transaction) > m:
        for place in range(m):
            other = place + drawn[place]
            fitted[place], fitted[other] = fitted[other], fitted[place]
        drawn = drawn[m:]
    cumulative = randomizer.subsets.cumulative
    mask = randomizer.subsets.masks[sum(total <= drawn[0] for total in cumulative)]
    made = {
        "plan": name,
        "case": case,
        "transaction": transaction,
        "words": [f"{word:016x}" for word in words[: entropy.used + SPARE_WORDS]],
        "words_used": entropy.used,
        "fitted": fitted[:m],
        "kept_mask": mask,
    }
    if plan.generator.kind == "none":
        made["coins"] = f"{drawn[1]:x}"
    else:
        num = plan.operator.insert_num
        made["item_values"] = [u if mask >> place & 1 else num + u for place, u in enumerate(drawn[1 : m + 1])]
        made["first_seed"] = f"{drawn[m + 1]:x}"
    return made | {"report": report.hex(), "shows": sorted(report_items(report, plan))}


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
        )
    ]
    return {"tool": TOOL, "version": VERSION, "plans": made, "other_texts": texts, "refused": bad_plans()}


def make_reports() -> dict[str, Any]:
    """Return the content of reports.json."""
    cases: list[dict[str, Any]] = []
    refused: list[dict[str, str]] = []
    for name, content in good_plans().items():
        plan = Plan.from_json(content)
        found = [run_case(name, plan, case, basket, tape(name, case)) for case, basket in transactions(plan).items()]
        if name == "worked-example":
            found = [run_case(name, plan, "by hand", [1], [5, 2, 0, 0])]
        if name == "reed-solomon-r3-b64":  # the first draw is below 6 and meets a word that is rejected
            found.append(run_case(name, plan, "rejected", [0, 1, 2, 3, 4, 29], tape(name, "rejected")))
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
    return {"tool": TOOL, "version": VERSION, "reports": cases, "refused": refused}


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
