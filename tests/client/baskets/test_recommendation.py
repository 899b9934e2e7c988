"""On-device recommendation: equal to a naive implementation and to JavaScript; errors show no item."""

import json
import random

import command_line
import pytest
from command_line import NAME, NUMBER, marks_in, shown_by

from assocpriv.client.published_results import recommend
from assocpriv.files.model_files import read_device_rules, rules_to_text
from assocpriv.guarantees.errors import BasketError

NAMES = [f"item {number}" for number in range(30)] + ["Käse", "\U0001f600", "7", "__proto__"]


def some_rules(chance: random.Random, count: int) -> list[dict[str, object]]:
    """Return rules of random names; a name may stand on both sides, or twice on one; some have ``selected``."""
    return [
        {"antecedents": chance.sample(NAMES, chance.randint(1, 3)), "confidence": chance.random(),
         "consequents": chance.choices(NAMES, k=chance.randint(1, 2)),
         **chance.choice([{}, {"selected": True}, {"selected": False}])}
        for _ in range(count)
    ]  # fmt: skip


def naive(basket: list[str | int], rules: list[dict], top: int) -> list[tuple[list[str], float]]:
    """Return suggestions by going through rules until there are enough."""
    have, suggested, found = [str(name) for name in basket], [], []
    for rule in rules:
        new = [name for name in rule["consequents"] if name not in have + suggested]
        if new and rule.get("selected", True) and len(found) < top and {*rule["antecedents"]} <= {*have}:
            found.append((new, rule["confidence"]))
            suggested += new
    return found


def test_python_and_javascript_equal_a_naive_implementation(tmp_path):
    """On 300 random baskets and lists of rules, read from published files."""
    chance, lines, expected = random.Random(11), [], []
    for _ in range(300):
        text = rules_to_text(some_rules(chance, chance.randint(0, 40)), marked=True)
        (tmp_path / "r.json").write_text(text, encoding="utf-8")
        names = chance.sample(NAMES, chance.randint(0, 12))
        basket = [7 if name == "7" and chance.random() < 0.5 else name for name in names]
        top = chance.randint(1, 4)
        wanted = naive(basket, json.loads(text)["rules"], top)
        found = recommend(basket, read_device_rules(tmp_path / "r.json"), top)
        assert [(list(each.items), each.confidence) for each in found] == wanted
        lines.append({"basket": basket, "text": text, "top": top})
        expected.append([list(each) for each in wanted])
    assert sum(map(len, expected)) > 150
    assert command_line.lines_of_script("recommend.js", lines) == expected


def test_a_shop_page_loads_little():
    """The module is small enough for a page."""
    assert (command_line.CLIENT / "src" / "recommend.js").stat().st_size <= 3_000


@pytest.mark.parametrize("rules", ["antecedents", {"antecedents": []}, [{"antecedents": ["tea"]}]])
def test_rules_must_come_from_read_rules(rules):
    """Other types, as records or a frame's column names, raise an error that names read_device_rules."""
    with pytest.raises(TypeError, match="must be those of read_device_rules"):
        recommend({"tea"}, rules)


@pytest.mark.parametrize("basket", [NAME, NUMBER, NAME.encode(), None, {NAME: 0}])
def test_an_invalid_basket_is_not_shown(basket):
    """The error names only its type."""
    with pytest.raises(BasketError, match="set or list of names") as caught:
        recommend(basket, [])
    assert not marks_in(shown_by(caught.value))
