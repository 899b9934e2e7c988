"""The JavaScript and the Python client make the same reports and refusals of the same random words."""

import json
import random
import re
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import chain

import command_line
import naive
import numpy as np

from assocpriv.client.ledger import make_report, parse_record
from assocpriv.guarantees.errors import GuidanceError, PlanError, RecordError
from assocpriv.guarantees.shuffle_model import CentralGuarantee
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.plans.baskets.report_type import ItemsView, SizesView
from assocpriv.plans.guided.guided_plan import Guidance, GuidedPlan
from assocpriv.plans.registry import parse_plan
from tests.vectors import make_guided, make_tables

PLANS = [
    [each["plan"] for each in json.loads((command_line.VECTORS / f"{name}.json").read_text())["plans"]]
    for name in ("plans", "tables", "guided")
]
EDGES = [0, 1, 1 << 32, (1 << 32) - 1, 1 << 62, 1 << 63, (1 << 63) + 1, (1 << 64) - 1]


def result_of(record, plan):
    """Return the Python client's result for a record, in the form of answer.js."""
    entropy = naive.ReplayEntropy([int(word, 16) for word in record["words"]])
    with suppress(RecordError, GuidanceError):
        content = record["names"] if "names" in record else parse_record(record["line"].encode(), plan)
        return {"report": make_report(content, plan, entropy=entropy).hex(), "used": entropy.used}
    return {"refused": True}


def without_names(result):
    """Return a result without the names of its errors, which must be of the known ones."""
    if "refused" in result:
        assert result["refused"] in ("PlanError", "LevelError", "RecordError")
        return {"refused": True}
    return result | {"answers": [without_names(each) for each in result["answers"]]} if "answers" in result else result


def compared(texts, chance, some_record=None):
    """Compare both clients' results for plans and records; return the numbers of reports, refused records and plans."""
    lines, wanted = [], []
    for text in texts:
        records, result = [], {"refused": True}
        with suppress(PlanError):
            plan = parse_plan(text)
            for _ in range(4 if some_record else 0):
                words = [chance.choice(EDGES) if chance.random() < 0.2 else chance.getrandbits(64) for _ in range(200)]
                records.append(some_record(plan, chance) | {"words": [f"{word:016x}" for word in words]})
            result = {"id": plan.plan_id, "answers": [result_of(record, plan) for record in records]}
        lines.append({"plan": text, "records": records})
        wanted.append(result)
    for line, expected, result in zip(lines, wanted, command_line.lines_of_script("answer.js", lines), strict=True):
        assert without_names(result) == expected, line
    answers = [each for result in wanted for each in result.get("answers", [])]
    reports = sum("report" in each for each in answers)
    return reports, len(answers) - reports, sum("refused" in result for result in wanted)


# ---- baskets

AROUND = [*20 * [""], " ", "\x1c", "\u3000", "\ufeff", "\u200b"]  # blanks for Python and for JavaScript, or for neither


def some_plan(chance):
    """Return a small plan of random report types as JSON content."""
    n = chance.randint(5, 40)
    types = [some_report_type(n, chance), *(some_report_type(n, chance) for _ in range(chance.choice([0, 0, 1, 2])))]
    types += [some_report_type(n, chance, of_sizes=True)] * (chance.random() < 0.3)
    chance.shuffle(types)
    plan = Plan(Catalogue.numbered(n), tuple({each.operator: each for each in types}.values()), naive.NO_GUARANTEE)
    if chance.random() < 0.5:
        least = chance.randint(2, 10**6)
        delta, colluding = Fraction(1, least + chance.randint(1, 10**9)), Fraction(chance.randint(1, 9), 20)
        plan = replace(plan, central=CentralGuarantee(Fraction(chance.randint(1, 99), 7), delta, least, colluding, 60))
    return plan.to_json()


def some_report_type(n, chance, of_sizes=False):
    """Return a report type of random form and numbers."""
    bounds = sorted(chance.sample(range(1, n + 1), chance.randint(1, 5)))
    entries = len(bounds) if of_sizes else n
    m, r = chance.randint(1, 1 if of_sizes else 5), chance.randint(1, 5)
    shares = [chance.randint(1, 10 ** chance.randint(1, 8)) for _ in range(m + 1)]
    if chance.random() < 0.3:
        plan = naive.fixed_plan(entries, m, 1, chance.randint(1, min(5, entries)), shares=shares)
    else:
        code, bits = chance.choice(["none", "bch", "reed-solomon"]), chance.choice([40, 63, 64, 65, 130])
        insert = chance.randrange(1, 1 << r, 2), r
        plan = naive.small_plan(code, entries, m, 1, insert=insert, weight_bits=bits, shares=shares)
    view = SizesView(tuple(bounds)) if of_sizes else ItemsView()
    return replace(plan.items, view=view, weight=chance.randint(1, 10 ** chance.randint(1, 9)))


def change(content, chance):
    """Change one value of a plan, at any depth, to one of its type or of another."""
    places = [(content, key) for key in content]
    while True:
        holder, key = chance.choice(places)
        value = holder[key]
        if not isinstance(value, dict | list) or not value or chance.random() < 0.2:
            break
        keys = list(value) if isinstance(value, dict) else range(len(value))
        places = [(value, each) for each in keys]
    others = {
        int: [value + 1, value - 1, 2 * value, float(value), None] if type(value) is int else [],
        str: [value + "0", value[:-1], " " + value, value + "\ufeff", "\uffff", "items"] if type(value) is str else [],
        list: [[], value[1:], value[::-1], [*value, *value[:1]]] if type(value) is list else [],
    }
    holder[key] = chance.choice(others.get(type(value)) or [[], {}, 1, "sizes"])


def compare_random(count, some, some_record):
    """Compare results for random plans, up to two values of each changed; return the numbers of :func:`compared`."""
    chance, texts = random.Random(19), []
    for _ in range(count):
        content = json.loads(json.dumps(some(chance)))
        for _ in range(chance.choice([0, 0, 1, 2])):
            change(content, chance)
        texts.append(json.dumps(content))
    return compared(texts, chance, some_record)


def some_basket(plan, chance):
    """Return names, most of them of the plan, some twice, some with blanks around them."""
    known = [*plan.catalogue[:12], *plan.names.parent_of, *plan.names.left_out]
    names = [chance.choice(known) + chance.choice(AROUND) for _ in range(chance.randint(0, 8))]
    return {"names": names if chance.random() < 0.2 else list(dict.fromkeys(names))}


def test_random_plans_and_baskets_give_equal_results():
    """Plans of all forms and of the vectors, with up to two values changed: equal reports or refusals."""

    def some(chance):
        return some_plan(chance) if chance.random() < 0.5 else chance.choice(PLANS[0])

    assert np.greater(compare_random(400, some, some_basket), (200, 25, 25)).all()


# ---- tables and guided tuples

VALUES = ["a", "é", "7", "-3", "true", "True", "false", "\U0001f600", "\uffee", "x y", "0"]
# blanks for Python and JavaScript, or for neither; numbers of equal text; values of no column
ODD = ["7", 7, 7.0, True, False, None, "\u3000a\x1c", "\ufeffa", "a\u200b", -0.0, 0, 1e300, 10**40, 5e-324, [1], {}]


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
    return {"mechanism": "window", "near": near, "low": low, "high": low + chance.randint(1, low)}


def some_column(name, chance):
    """Return a column of random kind and mechanism."""
    optional = chance.random() < 0.5
    if chance.random() < 0.4:
        values = some_values(chance, 2)
        mechanism = some_window(chance, 1) if chance.random() < 0.6 else {"mechanism": "clear", "width": 1}
        return make_tables.named(name, values, mechanism, kind=chance.choice(["category", "label"]), optional=optional)
    cells, reach = chance.choice([2, 6, 30, 300]), chance.choice([1, 3, 200])
    half = sorted((chance.randint(1, 10 ** chance.randint(1, 9)) for _ in range(reach + 1)), reverse=True)
    mechanism = chance.choice([
        some_window(chance, chance.choice([1, 3])), {"mechanism": "clear", "width": 2},
        {"mechanism": "uniform-noise", "reach": reach}, {"mechanism": "gaussian-noise", "half": half},
    ])  # fmt: skip
    if chance.random() < 0.4:
        far, near = (-(10**16), 10**16), (-9, 99)
        ends = sorted(chance.randint(*(far if chance.random() < 0.2 else near)) for _ in "ab")
        bounds = {name: f"{end}/1" for name, end in zip(("low", "high"), ends, strict=True)}
        return make_tables.counts(name, mechanism, cells, 2, optional=optional, **bounds)
    low, high = sorted([some_bound(chance), some_bound(chance)])
    return make_tables.number(name, mechanism, cells, optional=optional, low=as_text(low), high=as_text(high))


def some_table(chance):
    """Return the plan of a table of random columns."""
    columns = [some_column(f"c{place}", chance) for place in range(chance.randint(1, 5))]
    windows = [column["kind"] for column in columns if column["release"]["mechanism"] == "window"]
    protected = sum(kind != "label" for kind in windows)
    reported = chance.randint(1, protected) if protected else 0
    return make_tables.plan(columns, reported, "9/10" if windows else None, chance.choice([1, 1, 2]))


def some_cell(column, chance):
    """Return a value, mostly one that the column accepts: edges, and doubles next to them."""
    if chance.random() < 0.15:
        return chance.choice(ODD)
    if column.kind == "whole-number" and chance.random() < 0.8:
        return chance.randint(int(column.low) - 1, int(column.high) + 1)
    if column.kind not in ("number", "whole-number"):
        return chance.choice(column.values)
    edge = float(chance.choice(column.edges[1:-1] if len(column.edges) > 2 else column.edges))
    near = chance.choice([edge, np.nextafter(edge, -np.inf), np.nextafter(edge, np.inf), round(edge)])
    return int(near) if chance.random() < 0.2 and abs(near) < 1e17 else float(near)


def some_guided(chance):
    """Return a plan of guided perturbation."""
    attributes = []
    for place in range(chance.randint(1, 4)):
        cuts = sorted({some_bound(chance) for _ in range(chance.randint(1, 4))})
        own = {"kind": "number", "cuts": [as_text(cut) for cut in cuts]}
        category = {"kind": "category", "values": some_values(chance, 2)}
        attributes.append({"name": f"c{place}", **(own if chance.random() < 0.5 else category)})
    bits = {"kind": "bits", "amplification": f"{chance.randint(2, 90)}/1"}
    honest = chance.randrange(1, 1 << chance.randint(1, 30))
    safeguard = chance.choice([None, bits, {"kind": "tuple", "honest": honest}])
    guarantee = safeguard and {"prior": "1/100", "posterior": "1/2"}
    return make_guided.plan(safeguard, attributes=attributes, guarantee=guarantee)


def some_guidance(plan, chance):
    """Return guidance as JSON content, one in six of it changed."""
    level = chance.randint(1, plan.width)
    entries = np.random.default_rng(chance.getrandbits(32)).normal(size=(plan.width, level))
    vectors = np.linalg.qr(entries)[0] if chance.random() < 0.7 else np.eye(plan.width)[:, :level]
    content = Guidance.from_vectors(plan, chance.choice([1, 258, (1 << 32) - 1]), vectors).to_json()
    if chance.random() < 1 / 6:
        change(content, chance)
    return content


def some_line(plan, chance):
    """Return a record as text."""
    values = {column.name: some_cell(column, chance) for column in plan.columns if chance.random() < 0.97}
    if chance.random() < 0.03:
        values["further"] = 1
    if not isinstance(plan, GuidedPlan):
        return {"line": json.dumps(values)}
    limits = {"max_level": chance.randint(0, 9), "announced_level": 1} if chance.random() < 0.1 else {}
    return {"line": json.dumps({"values": values, "guidance": some_guidance(plan, chance), **limits})}


def test_random_plans_and_records_give_equal_results():
    """Random plans and records, some of them changed: equal bytes from the same number of words, or both refuse."""
    counts = compare_random(200, lambda chance: chance.choice([some_table, some_guided])(chance), some_line)
    assert np.greater(counts, (150, 50, 20)).all()


# ---- malformed JSON texts

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|-?[0-9]+|true|false|null|[{}\[\]:,]')
NUMBERS = ["{}.0", "{}e0", "{}E+0", "-{}", "0{}", "+{}", "{}.", "0x{}", "{}n", "1e400", "NaN", "-Infinity", "-0"]
NUMBERS += ["9007199254740993", "4294967296", "18446744073709551617", 4300 * "7", 4301 * "7"]
TEXTS = [r"\ud83d\ude00", r"\ud83d", r"\ude00", r"\u0000", r"\x41", r"\u00e", r"e\u0301", r"\u00e9", r"\/", r"\ufeff"]
TEXTS += ["\x01", "\x7f", "\x85", "\u2028", "\u200b", "\U0001f600", "\ue000", "\ud800", "'"]
NAMES = ['"__proto__"', '"constructor"', '"toString"', '"hasOwnProperty"', '"then"', '"length"', '""', '"0"']
MARKS = [",", ",,", "", " ", "\ufeff", "\xa0", "\x0c", "\x00", "//", "/**/", "}", "]", "[", "{", "\n\t\r "]


def changed(text, chance):
    """Rewrite one token of a text: with the same meaning, another meaning, or invalid."""
    tokens = [(found.start(), found.end()) for found in TOKEN.finditer(text)]
    start, end = chance.choice(tokens)
    token = text[start:end]
    if token[0] in "-0123456789":
        token = chance.choice(NUMBERS).format(token)
    elif token[0] == '"' and chance.random() < 0.8:
        place = chance.choice([1, len(token) - 1])
        escaped = '"' + "".join(f"\\u{ord(each):04X}" for each in token[1:-1]) + '"' if token.isascii() else token
        token = chance.choice([token[:place] + chance.choice(TEXTS) + token[place:], chance.choice(NAMES), escaped])
    elif token == "{" and chance.random() < 0.7:
        name = re.match(r'\{("(?:[^"\\]|\\.)*"):', text[start:])
        again = name.group(1) if name else '"a"'
        token = "{" + chance.choice([again, again[:1] + "\\u0061" + again[2:], *NAMES]) + ":1,"
    elif chance.random() < 0.3:
        depth = chance.choice([3, 63, 64, 65, 5000])
        token = depth * "[" + depth * "]"
    else:
        token = chance.choice([token + chance.choice(MARKS), chance.choice(MARKS) + token, chance.choice(MARKS)])
    return text[:start] + token + text[end:]


def test_texts_with_one_changed_token_give_equal_results():
    """One token of a plan is rewritten: numbers, escapes, repeated and special names, marks, depths."""
    chance, texts = random.Random(19), [json.dumps(plan, separators=(",", ":")) for plan in chain(*PLANS)]
    small = [text for text in texts if len(text) < 6000]
    refused = compared([changed(chance.choice(small), chance) for _ in range(1000)], chance)[2]
    assert 400 < refused < 930
