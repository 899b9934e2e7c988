"""The client in JavaScript and the one here, given the same words: the same reports, the same refusals."""

import json
import random
import subprocess
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import javascript
import naive

from assocpriv.client.baskets import randomize_basket
from assocpriv.plans.baskets import Plan
from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.kind import parse_plan
from assocpriv.plans.sizes_view import SizesView
from assocpriv.plans.view import ItemsView
from assocpriv.promise.errors import BasketError, PlanError
from assocpriv.promise.shuffling import CentralPromise

ROOT = Path(__file__).parents[2]
PLANS = [each["plan"] for each in json.loads((ROOT / "tests/vectors/plans.json").read_text())["plans"]]
EDGES = [0, 1, 1 << 32, (1 << 32) - 1, 1 << 62, 1 << 63, (1 << 63) + 1, (1 << 64) - 1]
AROUND = [*20 * [""], " ", "\x1c", "\u3000", "\ufeff", "\u200b"]  # blanks for Python and for JavaScript, or for neither


def some_plan(chance):
    """Return a small plan of random questions as JSON content."""
    n = chance.randint(5, 40)
    asked = [some_question(n, chance), *(some_question(n, chance) for _ in range(chance.choice([0, 0, 1, 2])))]
    asked += [some_question(n, chance, of_sizes=True)] * (chance.random() < 0.3)
    chance.shuffle(asked)
    plan = Plan(Catalogue.numbered(n), tuple({each.operator: each for each in asked}.values()), naive.NO_PROMISE)
    if chance.random() < 0.5:
        least = chance.randint(2, 10**6)
        delta, helping = Fraction(1, least + chance.randint(1, 10**9)), Fraction(chance.randint(1, 9), 20)
        plan = replace(plan, central=CentralPromise(Fraction(chance.randint(1, 99), 7), delta, least, helping, 60))
    return plan.to_json()


def some_question(n, chance, of_sizes=False):
    """Return a question of random form and numbers."""
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
    """Change one value of a plan, at any depth, to one of its kind or of another."""
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


def some_basket(plan, chance):
    """Return names, most of which the plan knows, some twice, some with blanks around them."""
    known = [*plan.catalogue[:12], *plan.names.parent_of, *plan.names.left_out]
    names = [chance.choice(known) + chance.choice(AROUND) for _ in range(chance.randint(0, 8))]
    return names if chance.random() < 0.2 else list(dict.fromkeys(names))


def answer(basket, plan, words):
    """Return what the client here makes of a basket, as answer.js says it."""
    entropy = naive.ReplayEntropy(words)
    try:
        return {"report": randomize_basket(basket, plan, entropy=entropy).hex(), "used": entropy.used}
    except BasketError:
        return {"refused": "RecordError"}


def expected_of(content, chance):
    """Return a line for answer.js, and the line that it must answer."""
    text = json.dumps(content)
    try:
        plan = parse_plan(text)
    except PlanError:
        return {"plan": text, "records": []}, {"refused": "PlanError"}
    records, answers = [], []
    for _ in range(4):
        words = [chance.choice(EDGES) if chance.random() < 0.2 else chance.getrandbits(64) for _ in range(200)]
        basket = some_basket(plan, chance)
        records.append({"names": basket, "words": [f"{word:016x}" for word in words]})
        answers.append(answer(basket, plan, words))
    return {"plan": text, "records": records}, {"id": plan.plan_id, "answers": answers}


def test_random_plans_and_baskets_are_answered_alike():
    """Plans of all forms, those of the vectors too, with up to two values changed: taken and answered alike."""
    node, chance = javascript.node(), random.Random(19)
    pairs = []
    for _ in range(800):
        content = some_plan(chance) if chance.random() < 0.5 else json.loads(json.dumps(chance.choice(PLANS)))
        for _ in range(chance.choice([0, 0, 1, 2])):
            change(content, chance)
        pairs.append(expected_of(content, chance))
    lines = "".join(json.dumps(line) + "\n" for line, _ in pairs)
    done = subprocess.run(
        [node, ROOT / "clients/js/test/answer.js"], input=lines, capture_output=True, text=True, check=True
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    for (line, expected), said in zip(pairs, found, strict=True):
        assert said == expected, line
    answers = [each for _, expected in pairs for each in expected.get("answers", [])]
    assert sum("report" in each for each in answers) > 400
    assert sum("refused" in each for each in answers) > 50
    assert sum("refused" in expected for _, expected in pairs) > 50
