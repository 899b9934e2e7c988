"""Tables and guided tuples in JavaScript and here: equal answers to random plans, and equal laws of small ones."""

import json
import random
import subprocess
from fractions import Fraction

import javascript
import naive
import numpy as np

from assocpriv.client.guided import parse_guided, randomize_guided
from assocpriv.client.tables import randomize_record
from assocpriv.plans.guidance import Guidance
from assocpriv.plans.guided import GuidedPlan
from assocpriv.plans.kind import parse_plan
from assocpriv.promise.errors import GuidanceError, PlanError, RecordError
from assocpriv.records.tables import parse_record
from tests.client.test_javascript_baskets import EDGES, change
from tests.vectors import make_guided, make_tables

VALUES = ["a", "é", "7", "-3", "true", "True", "false", "\U0001f600", "\uffee", "x y", "0"]
# blanks for Python and for JavaScript, or for neither; numbers of one text; what is no value of anything
ODD = ["7", 7, 7.0, True, False, None, "\u3000a\x1c", "\ufeffa", "a\u200b", -0.0, 0, 1e300, 10**40, 5e-324, [1], {}]


def run_node(script, lines):
    """Return what a script of clients/js/test says of lines of JSON, by one process."""
    text = "".join(json.dumps(line) + "\n" for line in lines)
    command = [javascript.node(), javascript.CLIENT / "test" / script]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def some_values(chance, least):
    """Return values that differ."""
    return chance.sample(VALUES, chance.randint(least, 6))


def some_bound(chance):
    """Return a fraction: small, large, or with many digits."""
    size = 10 ** chance.choice([1, 3, 16, 28])
    return Fraction(chance.randint(-size, size), chance.choice([1, 3, 7, 10 ** chance.randint(1, 28)]))


def as_text(number):
    """Return a fraction as plans write it."""
    return f"{number.numerator}/{number.denominator}"


def some_window(chance, near):
    """Return a window with small or with large weights."""
    low = chance.choice([1, 5, 1 << 20, 1 << 28])
    return {"law": "window", "near": near, "low": low, "high": low + chance.randint(1, low)}


def some_column(name, chance):
    """Return a column of random kind and law."""
    optional = chance.random() < 0.5
    if chance.random() < 0.4:
        values = some_values(chance, 2)
        law = some_window(chance, 1) if chance.random() < 0.6 else {"law": "clear", "width": 1}
        return make_tables.named(name, values, law, kind=chance.choice(["category", "label"]), optional=optional)
    cells, reach = chance.choice([2, 6, 30, 300]), chance.choice([1, 3, 200])
    half = sorted((chance.randint(1, 10 ** chance.randint(1, 9)) for _ in range(reach + 1)), reverse=True)
    law = chance.choice([
        some_window(chance, chance.choice([1, 3])), {"law": "clear", "width": 2},
        {"law": "uniform-noise", "reach": reach}, {"law": "gaussian-noise", "half": half},
    ])  # fmt: skip
    low, high = sorted([some_bound(chance), some_bound(chance)])
    return make_tables.number(name, law, cells, optional=optional, low=as_text(low), high=as_text(high))


def some_table(chance):
    """Return the plan of a table of random columns."""
    columns = [some_column(f"c{place}", chance) for place in range(chance.randint(1, 5))]
    windows = [column["kind"] for column in columns if column["release"]["law"] == "window"]
    asked = sum(kind != "label" for kind in windows)
    answered = chance.randint(1, asked) if asked else 0
    return make_tables.plan(columns, answered, "9/10" if windows else None, chance.choice([1, 1, 2]))


def some_cell(column, chance):
    """Return a value of a column, most often one that it takes: edges, and doubles beside them."""
    if chance.random() < 0.15:
        return chance.choice(ODD)
    if column.kind != "number":
        return chance.choice(column.values)
    edge = float(chance.choice(column.edges[1:-1] if len(column.edges) > 2 else column.edges))
    beside = chance.choice([edge, np.nextafter(edge, -np.inf), np.nextafter(edge, np.inf), round(edge)])
    return int(beside) if chance.random() < 0.2 and abs(beside) < 1e17 else float(beside)


def some_guided(chance):
    """Return a plan of guided perturbation."""
    attributes = []
    for place in range(chance.randint(1, 4)):
        cuts = sorted({some_bound(chance) for _ in range(chance.randint(1, 4))})
        own = {"kind": "number", "cuts": [as_text(cut) for cut in cuts]}
        category = {"kind": "category", "values": some_values(chance, 2)}
        attributes.append({"name": f"c{place}", **(own if chance.random() < 0.5 else category)})
    bits = {"kind": "bits", "amplification": f"{chance.randint(2, 90)}/1"}
    safeguard = chance.choice(
        [None, bits, {"kind": "tuple", "honest": chance.randrange(1, 1 << chance.randint(1, 30))}]
    )
    promise = safeguard and {"prior": "1/100", "posterior": "1/2"}
    return make_guided.plan(safeguard, attributes=attributes, promise=promise)


def some_guidance(plan, chance):
    """Return guidance as JSON content, one in six of it changed."""
    level = chance.randint(1, plan.width)
    entries = np.random.default_rng(chance.getrandbits(32)).normal(size=(plan.width, level))
    vectors = np.linalg.qr(entries)[0] if chance.random() < 0.7 else np.eye(plan.width)[:, :level]
    content = Guidance.of_vectors(plan, chance.choice([1, 258, (1 << 32) - 1]), vectors).to_json()
    if chance.random() < 1 / 6:
        change(content, chance)
    return content


def some_line(plan, chance):
    """Return a record as text."""
    values = {column.name: some_cell(column, chance) for column in plan.columns if chance.random() < 0.97}
    if chance.random() < 0.03:
        values["further"] = 1
    if not isinstance(plan, GuidedPlan):
        return json.dumps(values)
    limits = {"max_level": chance.randint(0, 9), "announced": 1} if chance.random() < 0.1 else {}
    return json.dumps({"values": values, "guidance": some_guidance(plan, chance), **limits})


def answer(line, plan, entropy):
    """Return the report of a record that is a line of text."""
    if isinstance(plan, GuidedPlan):
        return randomize_guided(parse_guided(line.encode()), plan, entropy=entropy)
    return randomize_record(parse_record(line.encode()), plan, entropy=entropy)


def expected_of(content, chance):
    """Return a line for answer.js, and what it must answer: refusals by no name, as guidance has another one here."""
    text = json.dumps(content)
    try:
        plan = parse_plan(text)
    except PlanError:
        return {"plan": text, "records": []}, {"refused": True}
    records, answers = [], []
    for _ in range(4):
        line = some_line(plan, chance)
        words = [chance.choice(EDGES) if chance.random() < 0.2 else chance.getrandbits(64) for _ in range(100)]
        records.append({"line": line, "words": [f"{word:016x}" for word in words]})
        entropy = naive.ReplayEntropy(words)
        try:
            answers.append({"report": answer(line, plan, entropy).hex(), "used": entropy.used})
        except (RecordError, GuidanceError):
            answers.append({"refused": True})
    return {"plan": text, "records": records}, {"id": plan.plan_id, "answers": answers}


def without_names(said):
    """Return an answer with no name of a refusal but those that there are."""
    if "refused" in said:
        assert said["refused"] in ("PlanError", "LevelError", "RecordError")
        return {"refused": True}
    return said | {"answers": [without_names(each) for each in said["answers"]]} if "answers" in said else said


def compare(count, seed):
    """Compare answers to random plans; return how many reports, records refused and plans refused there were."""
    chance, pairs = random.Random(seed), []
    for _ in range(count):
        content = json.loads(json.dumps(chance.choice([some_table, some_guided])(chance)))
        if chance.random() < 0.3:
            change(content, chance)
        pairs.append(expected_of(content, chance))
    for (line, expected), said in zip(pairs, run_node("answer.js", [line for line, _ in pairs]), strict=True):
        assert without_names(said) == expected, line
    answers = [each for _, expected in pairs for each in expected.get("answers", [])]
    reports = sum("report" in each for each in answers)
    return reports, len(answers) - reports, sum("refused" in expected for _, expected in pairs)


def test_random_plans_and_records_are_answered_alike():
    """Random plans and records, some of them changed: the same bytes of as many words, or both refuse."""
    reports, records, plans = compare(200, 19)
    assert reports > 150
    assert records > 50
    assert plans > 20
