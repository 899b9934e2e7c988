"""The golden vectors, and a second implementation of docs/formats.md that must agree with the package."""

import hashlib
import importlib.util
import itertools
import json
import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from math import comb
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from naive import NO_PROMISE, fixed_plan, items_plan

from assocpriv.auditing.findings import BROKEN
from assocpriv.auditing.recompute_promise import check_integers, read_numbers
from assocpriv.cli.main import main
from assocpriv.client.baskets import Randomizer
from assocpriv.client.transactions import stream_transactions, transaction_of, transactions_of_many
from assocpriv.files.plans import read_plan
from assocpriv.plans.baskets import Plan
from assocpriv.plans.generator import Field, Generator, bch_generator, reed_solomon_generator
from assocpriv.plans.operator import Operator
from assocpriv.plans.published import pack_reports
from assocpriv.plans.question import Question
from assocpriv.plans.sizes_view import SizesView
from assocpriv.promise.breaches import Breach, format_fraction
from assocpriv.promise.errors import BasketError, PlanError, WireError
from tests.plans.test_names import NAMES, plans

FOLDER = Path(__file__).parents[1] / "vectors"
LARGEST_FILE = 200_000


def load(name: str) -> ModuleType:
    """Load a script of the vectors' folder."""
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


decoder, maker = load("decoder"), load("make_vectors")
PLANS = json.loads((FOLDER / "plans.json").read_text(encoding="ascii"))
REPORTS = json.loads((FOLDER / "reports.json").read_text(encoding="ascii"))
PLAN_OF = {entry["name"]: entry["plan"] for entry in PLANS["plans"]}


def label(entry: dict[str, Any]) -> str:
    """Name a vector in pytest's output."""
    return " ".join(str(entry[key]) for key in ("name", "plan", "case", "breaks") if isinstance(entry.get(key), str))


def accepted(transaction: Callable[[], list[int]]) -> list[int] | None:
    """Return a transaction, None where the basket is refused."""
    try:
        return transaction()
    except (BasketError, decoder.RefusedError):
        return None


def ids_of(names: Iterable[str], plan: Plan, unknown: str = "error") -> list[int]:
    """Return the transaction of a basket, as the bulk client makes it."""
    found: list[int] = transactions_of_many([list(names)], plan, unknown=unknown)[0].items.tolist()
    return found


def use(plan: Plan) -> None:
    """Do what a client does first with a plan: build its field."""
    for question in plan.questions:
        if question.generator.kind != "none":
            Field(question.generator)


def test_vectors_are_what_the_package_makes() -> None:
    """Running the maker again gives the stored files, byte for byte."""
    for name, text in maker.make_all().items():
        assert (FOLDER / name).read_bytes() == text.encode("ascii"), f"run tests/vectors/make_vectors.py: {name}"
        assert len(text) < LARGEST_FILE


def test_plans_keep_their_ids() -> None:
    """Whatever versions come, the ids of the eleven plans that stand first stay."""
    ids = "".join(entry["id"] for entry in PLANS["plans"][:11])
    assert hashlib.sha256(ids.encode()).hexdigest()[:16] == "2734de8cd5c74d4d"


def test_second_implementation_takes_nothing_of_the_package() -> None:
    """The decoder imports neither the package nor anything outside the standard library."""
    text = (FOLDER / "decoder.py").read_text(encoding="utf-8")
    imported = {line.split()[1] for line in text.splitlines() if line.startswith(("import ", "from "))}
    assert imported == {"hashlib", "json", "collections.abc", "fractions", "itertools", "math", "typing"}
    assert "assocpriv" not in text.replace('"assocpriv-plan"', "")


@pytest.mark.parametrize("entry", PLANS["plans"], ids=label)
def test_second_implementation_agrees_on_plans(entry: dict[str, Any]) -> None:
    """Id, amplification and report length of every plan are computed alike."""
    plan = decoder.load_plan(json.dumps(entry["plan"]))
    assert decoder.plan_id(plan) == entry["id"]
    assert format_fraction(decoder.amplification(plan)) == entry["amplification"]
    assert decoder.report_bytes(plan) == entry["report_bytes"]
    assert decoder.canonical(plan) == Plan.from_json(entry["plan"]).canonical_json


@pytest.mark.parametrize("entry", PLANS["other_texts"], ids=lambda entry: entry["id"][:8])
def test_second_implementation_agrees_on_other_layouts(entry: dict[str, Any]) -> None:
    """The id of a plan written otherwise is that of its canonical form."""
    assert decoder.plan_id(decoder.load_plan(entry["text"])) == entry["id"]
    assert entry["id"] in {known["id"] for known in PLANS["plans"]}


@pytest.mark.parametrize("entry", PLANS["refused"], ids=label)
def test_bad_plan_is_refused_by_both(entry: dict[str, Any]) -> None:
    """Package and second implementation refuse every bad plan, at the latest when its field is built."""
    text = entry["text"] if "text" in entry else json.dumps(entry["plan"])
    with pytest.raises(decoder.RefusedError):
        decoder.load_plan(text)
    with pytest.raises(PlanError):
        use(Plan.parse(text))


@pytest.mark.parametrize("entry", PLANS["refused"], ids=label)
def test_bad_promise_is_refused_by_the_audit(entry: dict[str, Any]) -> None:
    """The audit's own reader refuses texts and promises that the package refuses for how they are written."""
    if "text" in entry or "is written" in entry["breaks"] or "posterior" in entry["breaks"]:
        text = entry["text"] if "text" in entry else json.dumps(entry["plan"])
        with pytest.raises(PlanError):
            read_numbers(text)


def test_fields_that_are_too_large_are_found_by_the_audit() -> None:
    """The audit finds every field that is larger than it must be, and says so before it walks through it."""
    large = [entry["plan"] for entry in PLANS["refused"] if "field" in entry["breaks"] and "must" in entry["breaks"]]
    large += [entry["plan"] for entry in PLANS["refused"] if "field of the most elements" in entry["breaks"]]
    assert len(large) == 3
    for plan in large:
        found = {finding.name: finding for finding in check_integers(json.dumps(plan))}
        assert found["field"].verdict == BROKEN
        assert "suffice; clients refuse the plan" in found["field"].said
    for plan in PLAN_OF.values():
        assert all("suffice" not in finding.said for finding in check_integers(json.dumps(plan)))


def test_a_plan_file_with_a_byte_order_mark_is_refused(tmp_path: Path) -> None:
    """A plan at rest begins with its JSON: a mark before it is refused with the remedy, also by the audit."""
    path = tmp_path / "plan.json"
    text = json.dumps(PLANS["plans"][1]["plan"])
    path.write_text(text, encoding="utf-8-sig")
    with pytest.raises(PlanError, match=r"byte order mark; save it as UTF-8 without one"):
        read_plan(path)
    run = CliRunner().invoke(main, ["audit", str(path)])
    assert (run.exit_code, "byte order mark" in run.stderr) == (1, True)
    path.write_text(text, encoding="utf-8")
    assert read_plan(path).plan_id == PLANS["plans"][1]["id"]


def test_people_may_type_a_promise_as_they_like(tmp_path: Path) -> None:
    """What is typed, in Python or on the command line, is read leniently; the plan made of it is written strictly."""
    assert Breach(" 5% ", "2/4") == Breach("1/20", 0.5)
    typed = ["--items", "20", "--transaction-size", "2", "--prior", " 2/40 ", "--posterior", "50.0%"]
    CliRunner().invoke(main, ["plan", *typed, "-o", str(tmp_path / "plan.json")])
    made = json.loads((tmp_path / "plan.json").read_text(encoding="ascii"))
    assert made["promise"] == {"prior": "1/20", "posterior": "1/2"}


ODD: list[Any] = [
    *(0, 1, -1, True, None, 0.5, 1 << 20, (1 << 20) + 1, 10**400, [], {}, ["a", "a"], {"a": "a"}, [0, 1]),
    *(
        "",
        "0",
        "01",
        " 1",
        "1/20",
        "5%",
        "1/3",
        "a",
        "drop",
        "items",
        "sizes",
        "9" * 401,
        "\ud800",
        "\u2003a",
    ),
]


def mutated(rng: random.Random, plan: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of a plan with one place changed, left out or doubled."""
    copy: dict[str, Any] = json.loads(json.dumps(plan))
    places: list[tuple[Any, Any]] = []
    found: list[Any] = [copy]
    for part in found:  # grows on the way
        keys = list(part) if isinstance(part, dict) else range(len(part))
        places += [(part, key) for key in keys]
        found += [part[key] for key in keys if isinstance(part[key], dict | list)]
    part, key = rng.choice(places)
    old, how = part[key], rng.random()
    if how < 0.1:
        del part[key]
    elif how < 0.2 and isinstance(part, list):
        part.insert(key, old)
    elif how < 0.4 and isinstance(old, str):
        part[key] = rng.choice([f" {old}", f"{old} ", f"{old}\n", f"0{old}", f"+{old}"])
    elif how < 0.5 and type(old) is int:
        part[key] = old + rng.choice([-1, 1])
    else:
        part[key] = rng.choice(ODD)
    return copy


@pytest.mark.parametrize("name", PLAN_OF)
def test_both_take_the_same_plans(name: str, rng: np.random.Generator) -> None:
    """Of plans with one place changed both implementations take the same, under the same ids; the audit reads them."""
    draws = random.Random(int(rng.integers(1 << 62)))
    for _ in range(60):
        text = json.dumps(mutated(draws, PLAN_OF[name]))
        try:
            plan = Plan.parse(text)
        except PlanError:
            with pytest.raises(decoder.RefusedError):
                decoder.load_plan(text)
        else:
            assert decoder.plan_id(decoder.load_plan(text)) == plan.plan_id
            assert read_numbers(text).n_items == plan.n_items


@pytest.mark.parametrize("entry", REPORTS["reports"], ids=label)
def test_second_implementation_agrees_on_reports(entry: dict[str, Any]) -> None:
    """From the same words both make the same report over the same steps, and show the same items."""
    plan = PLAN_OF[entry["plan"]]
    words = decoder.Words(int(word, 16) for word in entry["words"])
    report, steps = decoder.make_report(plan, entry["transaction"], words)
    assert report.hex() == entry["report"]
    for name in ("coins", "first_seed", "added_rank"):
        if name in steps:
            steps[name] = f"{steps[name]:x}"
    assert steps == {name: entry[name] for name in steps}
    assert steps.keys() >= entry.keys() - {"plan", "case", "transaction", "words", "report", "shows", "names"}
    assert decoder.shown_entries(plan, report) == (entry["question"], entry["shows"])


def test_vectors_show_kept_items_and_hide_dropped_ones() -> None:
    """Every vector's report shows its kept items and none of its dropped ones."""
    for entry in REPORTS["reports"]:
        for place, item in enumerate(entry["fitted"]):
            assert (item in entry["shows"]) == bool(entry["kept_mask"] >> place & 1), label(entry)


@pytest.mark.parametrize("entry", REPORTS["refused"], ids=label)
def test_bad_report_is_refused_by_both(entry: dict[str, Any]) -> None:
    """Package and second implementation refuse every bad report."""
    report, plan = bytes.fromhex(entry["report"]), Plan.from_json(PLAN_OF[entry["plan"]])
    with pytest.raises(decoder.RefusedError):
        decoder.read_report(PLAN_OF[entry["plan"]], report)
    with pytest.raises(WireError):
        plan.answer_in(report)
    with pytest.raises(WireError, match="report 0"):
        pack_reports([report], plan)


@pytest.mark.parametrize("entry", REPORTS["decoded"], ids=lambda entry: f"{entry['plan']} {entry['report'][:8]}")
def test_second_implementation_agrees_on_items(entry: dict[str, Any]) -> None:
    """Reports at the ends of what a plan allows show the same items to both."""
    report, plan = bytes.fromhex(entry["report"]), PLAN_OF[entry["plan"]]
    assert decoder.shown_entries(plan, report) == (entry["question"], entry["shows"])
    assert pack_reports([report], Plan.from_json(plan)).tobytes() == report


@pytest.mark.parametrize("entry", REPORTS["baskets"], ids=label)
def test_second_implementation_agrees_on_baskets(entry: dict[str, Any]) -> None:
    """A basket of names becomes the same transaction, of one basket and of many."""
    content, names, dropping = PLAN_OF[entry["plan"]], entry["names"], entry["unknown"] == "drop"
    plan = Plan.from_json(content)
    assert decoder.transaction_of(content, names, dropping=dropping) == entry["transaction"]
    assert ids_of(names, plan, entry["unknown"]) == entry["transaction"]
    if dropping:
        with pytest.raises(decoder.RefusedError):
            decoder.transaction_of(content, names)
        with pytest.raises(BasketError):
            transaction_of(names, plan)


@pytest.mark.parametrize("entry", REPORTS["refused_baskets"], ids=label)
def test_bad_basket_is_refused_by_both(entry: dict[str, Any]) -> None:
    """Package and second implementation refuse every bad basket."""
    plan = PLAN_OF[entry["plan"]]
    with pytest.raises(decoder.RefusedError):
        decoder.transaction_of(plan, entry["names"])
    with pytest.raises(BasketError):
        transaction_of(entry["names"], Plan.from_json(plan))
    with pytest.raises(BasketError):
        ids_of(entry["names"], Plan.from_json(plan))


def test_reports_of_baskets_begin_with_their_names() -> None:
    """Where a report's vector gives names, its transaction is what the plan makes of them."""
    found = [entry for entry in REPORTS["reports"] if "names" in entry]
    assert {entry["plan"] for entry in found} == {name for name in PLAN_OF if name.startswith("names-")}
    for entry in found:
        assert decoder.transaction_of(PLAN_OF[entry["plan"]], entry["names"]) == entry["transaction"]


@given(plans(), st.sets(NAMES | st.sampled_from(["zebra", "entry 0"]), max_size=6), st.booleans())
def test_second_implementation_agrees_on_random_names(plan: Plan, names: set[str], dropping: bool) -> None:
    """For random rules and baskets both make the same transaction, or both refuse the basket."""
    other = decoder.load_plan(plan.canonical_json)
    assert decoder.plan_id(other) == plan.plan_id
    expected = accepted(lambda: ids_of(names, plan, "drop" if dropping else "error"))
    assert accepted(lambda: decoder.transaction_of(other, sorted(names), dropping=dropping)) == expected


POOLS = {
    "none-r1-b10-names": ["milk", " milk", "zebra", "\ud800", "", "🍞"],
    "bch-r1-b64": ["9", "09", "zebra", "0", "a\x07"],
    "names-items": ["beer", "stout", "zebra", "\uff5e", "gifts", "beer\u3000", ""],
    "names-left-out": ["beer", "bags", "zebra", "drinks", " bags"],
    "names-drop": ["3", "zebra", "03", "zebra ", "\x7f", "\udfff"],
    "asks-three": ["3", "crate-of-3", "bags", "03", "bags "],
}


@pytest.mark.parametrize("name", POOLS)
def test_one_basket_and_many_agree_on_all_small_baskets(name: str, tmp_path: Path) -> None:
    """Whatever three names a basket has, one-report client, bulk client, files and decoder agree, or all refuse it."""
    plan, content = Plan.from_json(PLAN_OF[name]), PLAN_OF[name]
    seen = set()
    for size in range(4):
        for names in itertools.product(POOLS[name], repeat=size):
            expected = accepted(lambda names=names: decoder.transaction_of(content, names))
            assert accepted(lambda names=names: transaction_of(names, plan)) == expected
            assert accepted(lambda names=names: ids_of(names, plan)) == expected
            seen.add((size, expected is None))
            if all(each.strip() and each.isprintable() for each in names) and size:
                path = tmp_path / "baskets.csv"
                path.write_text(",".join(names) + "\n", encoding="utf-8")
                stream = stream_transactions(path, plan)
                read = accepted(lambda stream=stream: [*itertools.chain(*map(sorted, next(stream)))])
                assert read == expected
    assert seen >= {(1, False), (2, False), (1, True), (2, True)}


def random_operator(rng: random.Random, m: int) -> Operator:
    """Return an operator of random shape for transactions of m items."""
    r = rng.randint(1, 4)
    a, b = rng.randrange(1, 1 << r, 2), rng.choice([8, 10, 33, 64, 65, 128, 200])
    weights = [rng.randint(1, (1 << b) // ((m + 1) * comb(m, j))) for j in range(m + 1)]
    weights[m] += (1 << b) - sum(comb(m, j) * v for j, v in enumerate(weights))
    return Operator(m, a, r, b, tuple(weights))


def random_generator(rng: random.Random, n_items: int, r: int, independent: int) -> Generator:
    """Return a generator of a random kind."""
    makers = [lambda *_: Generator(), bch_generator, reed_solomon_generator]
    return rng.choice(makers)(n_items, r, independent)


def random_plan(rng: random.Random) -> Plan:
    """Return a small plan of random shape; its promise is as weak as its operator needs."""
    m = rng.randint(1, 4)
    k, n, operator = rng.randint(1, m), rng.randint(1, 40), random_operator(rng, m)
    generator = random_generator(rng, n + m, operator.insert_bits, m + k)
    names = [f"x{chr(rng.randint(161, 9000))}{i}" for i in range(n)]
    promise = promise_above(operator.amplification)
    return items_plan(n if rng.random() < 0.5 else names, operator, generator, k, promise)


def random_fixed_plan(rng: random.Random) -> Plan:
    """Return a small plan of random shape, for reports of a fixed size."""
    m = rng.randint(1, 4)
    k, n = rng.randint(1, m), rng.randint(m, 60)
    shares = [rng.randint(1, 1 << rng.choice([2, 30, 70])) for _ in range(m + 1)]
    return fixed_plan(n, m, k, rng.randrange(1, n + m), shares=shares)


def random_asking_plan(rng: random.Random) -> Plan:
    """Return a small plan of two to five questions of random shape, about items and sizes."""
    items = random_plan(rng)
    asked = [items.items]
    for _ in range(rng.randint(1, 4)):
        operator = random_operator(rng, rng.randint(1, 3))
        is_of_sizes = rng.random() < 0.5
        bounds = sorted(rng.sample(range(1, items.n_items + 1), rng.randint(1, min(9, items.n_items))))
        n = len(bounds) if is_of_sizes else items.n_items
        generator = random_generator(rng, n + operator.size, operator.insert_bits, operator.size + 1)
        view = {"view": SizesView(tuple(bounds))} if is_of_sizes else {}
        asked.append(Question(n, operator, generator, weight=rng.randint(1, 1 << rng.choice([1, 8, 29])), **view))
    rng.shuffle(asked)
    return replace(items, questions=tuple(asked), promise=NO_PROMISE)


def promise_above(amplification: Fraction) -> Breach:
    """Return a promise that an amplification keeps; with prior 1/2 its limit is posterior / (1 − posterior)."""
    return Breach("1/2", f"{int(amplification) + 2}/{int(amplification) + 3}")


def shown(plan: Plan, report: bytes) -> tuple[int, list[int]]:
    """Return the number of the question that a report answers, and the entries that it shows."""
    question, answer = plan.answer_in(report)
    return plan.questions.index(question), sorted(question.form.items(answer))


@pytest.mark.parametrize("make", [random_plan, random_fixed_plan, random_asking_plan])
@pytest.mark.parametrize("seed", range(200))
def test_second_implementation_agrees_on_random_plans(seed: int, make: Callable[[random.Random], Plan]) -> None:
    """For random plans, transactions and words both make the same report from equally many words."""
    rng = random.Random(seed)
    plan = make(rng)
    other = decoder.load_plan(plan.canonical_json)
    assert decoder.plan_id(other) == plan.plan_id
    assert decoder.amplification(other) == plan.amplification
    for _ in range(3):
        most = min(plan.n_items, plan.items.transaction_size + 3)
        transaction = rng.sample(range(plan.n_items), rng.randint(0, most))
        # zero words are what a draw from a number of values that is no power of two rejects
        words = [rng.getrandbits(64) if rng.random() < 0.9 else 0 for _ in range(100)]
        entropy, tape = maker.GivenWords(words), decoder.Words(words)
        report = Randomizer(plan).randomize(transaction, entropy=entropy)
        assert decoder.make_report(other, transaction, tape)[0] == report
        assert tape.used == entropy.used
        assert decoder.shown_entries(other, report) == shown(plan, report)
    noise = rng.randbytes(plan.report_bytes + rng.choice([-1, 0, 0, 0, 1]))
    try:
        expected = shown(plan, noise)
    except WireError:
        with pytest.raises(decoder.RefusedError):
            decoder.shown_entries(other, noise)
    else:
        assert decoder.shown_entries(other, noise) == expected
