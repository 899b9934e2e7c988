"""Faults planted in a copy of the client in JavaScript, one at a time: each is caught by the checks that are named."""

import json
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import javascript
import naive
import pytest
from javascript import CLIENT

import assocpriv as ap
from assocpriv.client.baskets import Randomizer
from assocpriv.plans.baskets import Plan
from assocpriv.simulation.enumeration import distribution

WORDS, BASKETS, TABLES, GUIDED = (
    "words and draws are those of the page", "baskets agree with the vectors", "tables agree with the vectors",
    "guided tuples agree with the vectors",
)  # fmt: skip
VECTORS = (WORDS, BASKETS, TABLES, GUIDED)
LAWS, AUDIT = "exact laws", "audit"
ALL = (*VECTORS, LAWS, AUDIT)
ONE_REPORT = "an occasion has one report, whatever is asked at once and whatever the record is by then"
LIMIT = "a limit holds for all reports together, and takes no plan whose γ does not cover all"
WRITTEN = "what cannot be written is not handed out, and whatever is no ledger is left alone"
REPUBLISHED = "a plan that is published again gets no report without a limit, and none of an occasion that is answered"
LEDGER = (ONE_REPORT, LIMIT, WRITTEN, REPUBLISHED)  # tests of ledger-file.test.js
ITEM = 3


@dataclass(frozen=True, slots=True)
class Fault:
    """What of a file is replaced by what, and which checks see it."""

    name: str
    file: str
    old: str
    new: str
    seen_by: tuple[str, ...]


_RANDOM = "    globalThis.crypto.getRandomValues(halves);\n"
FAULTS = (
    Fault("Math.random in place of getRandomValues", "words.js", _RANDOM,
          "    halves.forEach((_, place) => (halves[place] = 2 ** 32 * Math.random()));\n", (WORDS,)),
    Fault("words of 32 bits", "words.js", _RANDOM, _RANDOM + "    halves.forEach((_, place) => (halves[place | 1] = 0));\n",
          (WORDS,)),
    Fault("words asked for once, and then used again", "words.js", "      this.#fill(this.#halves);\n",
          "      if (this.used === 0) this.#fill(this.#halves);\n", (WORDS,)),
    Fault("each word used twice", "words.js", "    this.#place += 2;\n", "    this.#place += 2 * (this.used % 2);\n", (WORDS,)),
    Fault("no word is rejected", "words.js", "      if (restHigh > 0 || restLow >= n ||", "      if (restHigh >= 0 || restLow >= n ||",
          (WORDS,)),
    Fault("below by the remainder", "words.js", "        return Math.floor(fourth / TWO_16);\n", "        return this.low % n;\n", (WORDS, BASKETS)),
    Fault("coins by the last digit first", "words.js", "if ((num >>> digit) & 1)", "if ((num >>> (digits - 1 - digit)) & 1)",
          (WORDS,)),
    Fault("bits that are not used are random", "words.js", "  if (count % 8) bytes[bytes.length - 1] &= (1 << (count % 8)) - 1;\n", "",
          (BASKETS, AUDIT)),
    Fault("a bound of a pick one too high", "words.js", "if (drawn < sums[middle])", "if (drawn <= sums[middle])", (BASKETS,)),
    Fault("padding begins one too far", "baskets/report-forms.js", "for (let dummy = this.items;", "for (let dummy = this.items + 1;",
          (BASKETS,)),
    Fault("no padding at all", "baskets/report-forms.js", "fitted.length < size; dummy += 1) fitted.push(dummy);",
          "fitted.length < size; dummy += 1) fitted.push(fitted[0] ?? dummy);", (BASKETS,)),
    Fault("of a long basket the first items", "baskets/report-forms.js", "place + words.below(fitted.length - place)",
          "place + 0 * words.below(fitted.length - place)", (BASKETS, LAWS)),
    Fault("long baskets shuffled in a biased way", "baskets/report-forms.js", "place + words.below(fitted.length - place)",
          "words.below(fitted.length)", (BASKETS, LAWS)),
    Fault("values written lowest digit first", "baskets/report-forms.js", "(insertBits - 1 - j)) & 1 })),\n", "j) & 1 })),\n", (BASKETS,)),
    Fault("the last bit of a seed is never 1", "baskets/report-forms.js", "words.bits(this.bits);", "words.bits(this.bits - 1);", (BASKETS,)),
    Fault("bits of a report highest first", "baskets/report-forms.js", "const bit = 1 << (item % 8);", "const bit = 128 >> item % 8;",
          (BASKETS, LAWS)),
    Fault("kept for dropped", "baskets/report-forms.js", "((keptMask >>> place) & 1) * bit", "(~(keptMask >>> place) & 1) * bit",
          (BASKETS, LAWS)),
    Fault("an item is always shown", "baskets/report-forms.js", "((keptMask >>> place) & 1) * bit",
          f"(item === {ITEM} ? 1 : (keptMask >>> place) & 1) * bit", (LAWS,)),
    Fault("an empty basket is asked the first question", "baskets/plan.js", "this.numberBytes ? words.pick",
          "this.numberBytes && transaction.length ? words.pick", (BASKETS, LAWS)),
    Fault("the first question is drawn a tenth too often", "baskets/plan.js", "(sum += BigInt(weight))",
          "(sum += BigInt(sum ? 10 * weight : 11 * weight))", (BASKETS, LAWS)),
    Fault("the question's number tells the size", "baskets/plan.js", "report[0] = number;", "report[0] = number | 8 * transaction.length;",
          (BASKETS, LAWS)),
    Fault("the bytes beyond an answer tell the size", "baskets/plan.js", "new Uint8Array(this.reportBytes);",
          "new Uint8Array(this.reportBytes).fill(transaction.length);", (BASKETS, LAWS)),
    Fault("γ is the first question's", "baskets/plan.js", "all.reduce((most, each) => (isLess(most, each) ? each : most))", "all[0]",
          (BASKETS,)),
    Fault("shares need not add up", "baskets/plan.js", "questions.some(({ total }) => total !== weight)",
          "questions.some(({ total }) => total < weight)", (BASKETS,)),
    Fault("a promise is for one report of several", "checks.js", "const power = BigInt(reportsPerPerson);", "const power = 1n;",
          (BASKETS, TABLES)),
    Fault("γ may reach its limit", "checks.js", "  if (!isLess([a ** power, b ** power], limit)) {",
          "  if (isLess(limit, [a ** power, b ** power])) {", (BASKETS,)),
    Fault("another plan's id is taken", "plan.js", "if (id !== undefined && id !== plan.id)", "if (id !== undefined && !plan.id)",
          (BASKETS,)),
    Fault("the cell beyond the noise is told", "tables/laws.js", "words.below(2 * this.reach + 1)", "words.below(2 * this.reach)",
          (TABLES,)),
    Fault("columns are left out without a draw", "tables/plan.js", "place + words.below(order.length - place)", "place", (TABLES,)),
    Fault("a coin one too small", "guided/guidance.js", "    return first;\n", "    return Math.max(first - 1, 0);\n", (GUIDED,)),
    Fault("sums cut off, not rounded", "guided/guidance.js", "Math.floor((Math.abs(sum) + 2 ** 23) / 2 ** 24)",
          "Math.floor(Math.abs(sum) / 2 ** 24)", (GUIDED,)),
    Fault("a report sent again is made anew", "device/ledger.js", "      if (found === undefined) return this.#made(",
          "      if (found !== null) return this.#made(", (ONE_REPORT,)),
    Fault("no limit over all reports", "device/budget.js", "product !== null && isLess(product, limit)",
          "product !== null", (LIMIT,)),
    Fault("a second plan for an occasion", "device/budget.js", "if (answered !== undefined) {", "if (answered === plan.id) {",
          (REPUBLISHED,)),
    Fault("another plan without a limit", "device/budget.js", "every(({ planId }) => planId === plan.id)", "every(() => true)",
          (REPUBLISHED,)),
    Fault("a report is handed out and not written", "device/ledger.js", "        return added;\n", "        return null;\n",
          (ONE_REPORT, WRITTEN)),
)  # fmt: skip
PLANS = (
    (naive.small_plan("none", 4, 2, 1, weight_bits=5, shares=[1, 2, 6]), [[0, 1, 2], [ITEM], []]),
    (javascript.vector_plan("asks-three"), [[0, 1, 2], [ITEM], []]),
)


def planted(fault: Fault | None, copy: Path) -> Path:
    """Copy the client, and plant the fault; its line must stand there once."""
    for name in ("src", "test"):
        shutil.copytree(CLIENT / name, copy / name)
    (copy.parents[1] / "tests").mkdir()
    (copy.parents[1] / "tests" / "vectors").symlink_to(CLIENT.parents[1] / "tests" / "vectors")
    for name in ("package.json", "pipe.js"):
        shutil.copy(CLIENT / name, copy / name)
    if fault is not None:
        path = copy / "src" / fault.file
        text = path.read_text(encoding="utf-8")
        assert text.count(fault.old) == 1, f"{fault.name}: its line is not in {fault.file} any more"
        path.write_text(text.replace(fault.old, fault.new), encoding="utf-8")
    return copy


def checked(cases: list[tuple[Path, tuple[str, ...]]]) -> list[dict[str, Any]]:
    """Return what caught.js says of some copies, each with the checks that it gets."""
    laws = [
        {"plan": json.dumps(plan.to_json()), "records": [" ".join(map(str, items)) for items in transactions]}
        for plan, transactions in PLANS
    ]
    lines = [
        {"folder": str(copy), "checks": [each for each in checks if each in VECTORS], "laws": laws * (LAWS in checks)}
        for copy, checks in cases
    ]
    command = [javascript.node(), CLIENT / "test" / "caught.js"]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True, timeout=120)
    return [json.loads(line) for line in done.stdout.splitlines()]


def ledger_failures(copy: Path) -> set[str]:
    """Return which tests of the ledger fail in a folder."""
    command = [javascript.node(), "--test", "--test-reporter=tap", copy / "test" / "ledger-file.test.js"]
    told = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120).stdout
    return set(re.findall(r"^ *not ok \d+ - (.*)$", told, re.MULTILINE))


def audited(copy: Path) -> bool:
    """Tell whether the audit finds nothing broken in the client in a folder."""
    path = copy / "plan.json"
    path.write_text(json.dumps(naive.small_plan("none", 40, 3, 2, shares=[1, 1, 1, 19]).to_json()))
    program = [javascript.node(), str(copy / "pipe.js")]
    return ap.audit(path, program=program, trials=3000, confidence="99.9999%").verdict == "consistent"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """Plant every fault, and none at all; say which of its checks caught each."""
    folder = tmp_path_factory.mktemp("planted")
    faults = [None, *FAULTS]
    cases = [
        (planted(each, folder / str(place) / "clients" / "js"), each.seen_by if each else ALL)
        for place, each in enumerate(faults)
    ]
    with ThreadPoolExecutor(2) as pool:
        halves = pool.map(checked, (cases[::2], cases[1::2]))
        audits = {copy: pool.submit(audited, copy) for copy, checks in cases if AUDIT in checks}
        ledgers = {copy: pool.submit(ledger_failures, copy) for copy, checks in cases if set(LEDGER) & set(checks)}
        told = [each for pair in zip_longest(*halves) for each in pair if each]
    expected = [[in_python(plan, items) for items in transactions] for plan, transactions in PLANS]
    found = {}
    for fault, (copy, checks), said in zip(faults, cases, told, strict=True):
        caught = set(said["caught"])
        caught |= {LAWS} if LAWS in checks and said["laws"] != expected else set()
        caught |= {AUDIT} if AUDIT in checks and not audits[copy].result() else set()
        caught |= ledgers[copy].result() & set(checks) if copy in ledgers else set()
        found[fault.name if fault else "none"] = caught
    return found


def in_python(plan: Plan, items: list[int]) -> dict[str, str]:
    """Return the law of a report as the client in Python makes it, written as laws.js writes it."""
    randomizer = Randomizer(plan)
    law = distribution(lambda entropy: randomizer.randomize(items, entropy=entropy))
    return {report.hex(): "/".join(map(str, p.as_integer_ratio())) for report, p in law.items()}


def test_nothing_is_caught_where_nothing_is_planted(found: dict[str, set[str]]) -> None:
    """The client as it is passes vectors, laws and the audit of it as a program on a pipe."""
    assert found["none"] == set()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_fault_is_caught(fault: Fault, found: dict[str, set[str]]) -> None:
    """A fault is seen by every check that it is said to be seen by."""
    assert found[fault.name] == set(fault.seen_by)
