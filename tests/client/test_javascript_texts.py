"""Texts of plans that only a careful reader refuses: the client in JavaScript and the one here judge them alike."""

import json
import random
import re
import subprocess
from pathlib import Path

import javascript

from assocpriv.plans.kind import parse_plan
from assocpriv.promise.errors import PlanError

ROOT = Path(__file__).parents[2]
FILES = "plans", "tables", "guided"
PLANS = [
    each["plan"] for name in FILES for each in json.loads((ROOT / f"tests/vectors/{name}.json").read_text())["plans"]
]
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|-?[0-9]+|true|false|null|[{}\[\]:,]')
NUMBERS = ["{}.0", "{}e0", "{}E+0", "-{}", "0{}", "+{}", "{}.", "0x{}", "{}n", "1e400", "NaN", "-Infinity", "-0"]
NUMBERS += ["9007199254740993", "4294967296", "18446744073709551617", 4300 * "7", 4301 * "7"]
TEXTS = [r"\ud83d\ude00", r"\ud83d", r"\ude00", r"\u0000", r"\x41", r"\u00e", r"e\u0301", r"\u00e9", r"\/", r"\ufeff"]
TEXTS += ["\x01", "\x7f", "\x85", "\u2028", "\u200b", "\U0001f600", "\ue000", "\ud800", "'"]
NAMES = ['"__proto__"', '"constructor"', '"toString"', '"hasOwnProperty"', '"then"', '"length"', '""', '"0"']
MARKS = [",", ",,", "", " ", "\ufeff", "\xa0", "\x0c", "\x00", "//", "/**/", "}", "]", "[", "{", "\n\t\r "]


def changed(text, chance):
    """Write one token of a text in another way, of the same meaning, of another, or of none."""
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


def judged(text):
    """Return what the reader here says of a text, as answer.js says it."""
    try:
        return {"id": parse_plan(text).plan_id, "answers": []}
    except PlanError:
        return {"refused": "PlanError"}


def disagreements(seed, count):
    """Return the texts on which the two readers differ, and how many were taken and refused."""
    chance, texts = random.Random(seed), []
    small = [text for text in (json.dumps(plan, separators=(",", ":")) for plan in PLANS) if len(text) < 6000]
    for _ in range(count):
        texts.append(changed(chance.choice(small), chance))
    lines = "".join(json.dumps({"plan": text, "records": []}) + "\n" for text in texts)
    done = subprocess.run(
        [javascript.node(), ROOT / "clients/js/test/answer.js"], input=lines, capture_output=True, text=True, check=True
    )
    said = [json.loads(line) for line in done.stdout.splitlines()]
    expected = [judged(text) for text in texts]
    refused = sum("refused" in each for each in expected)
    pairs = zip(texts, expected, said, strict=True)
    return [(text, here, there) for text, here, there in pairs if here != there], count - refused, refused


def test_texts_changed_by_a_token_are_judged_alike():
    """Numbers, escapes, doubled and strange names, marks and depths: one token of a plan written otherwise."""
    differing, taken, refused = disagreements(19, 1500)
    assert differing == []
    assert taken > 100
    assert refused > 700
