"""Make tests/vectors/guided.json: guided plans, guidance, records with random words and reports, and invalid inputs.

PYTHONPATH=.:tests python tests/vectors/make_guided.py
"""

import json
import random
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
from naive import ReplayEntropy

from assocpriv.client.guided.guided_client import GuidedRecord, Perturbation, randomize_guided
from assocpriv.plans.guided.guided_plan import UNIT, Guidance, GuidedPlan
from assocpriv.records.table_files import read_value

_VOTE = {"name": "vote", "kind": "category", "values": ["n", "y"]}
_AGE = {"name": "age", "kind": "number", "cuts": ["-5/2", "1/10", "60/1"]}
_CAR = {"name": "car", "kind": "category", "values": ["a", "é", "7"]}
_GUARANTEE = {"prior": "1/20", "posterior": "1/2"}


def plan(safeguard: Any = None, **other: Any) -> dict[str, Any]:
    """Return a plan as JSON content, written independently of the package."""
    envelope = {"format": "assocpriv-plan", "version": 1, "kind": "guided", "reports_per_person": 1}
    content = {"attributes": [_VOTE, _AGE, _CAR], "label": {"name": "party", "values": ["left", "right"]}}
    settings = {"mu": "3/20", "batch": 100, "safeguard": safeguard}
    return envelope | content | settings | {"guarantee": safeguard and _GUARANTEE} | other


def good_plans() -> dict[str, Any]:
    """Return plans by name."""
    many = {"name": "place", "values": [f"p{each}" for each in range(300)]}
    return {
        "plain": plan(),
        "tuple": plan({"kind": "tuple", "honest": 1 << 31}, guarantee=_GUARANTEE | {"posterior": "3/5"}),
        "bits": plan({"kind": "bits", "amplification": "1245183/65536"}),
        "bits-twice": plan({"kind": "bits", "amplification": "4/1"}, reports_per_person=2, label=many),
    }


def bad_plans() -> list[dict[str, Any]]:
    """Return plans that every reader must refuse, with the rule that each breaks."""
    wide = [{"name": f"v{each}", "kind": "category", "values": [str(v) for v in range(900)]} for each in range(3)]
    bits = {"kind": "bits", "amplification": "18/1"}
    changes: dict[str, dict[str, Any]] = {
        "no attributes": {"attributes": []}, "two of one name": {"attributes": [_VOTE, _VOTE]},
        "the label's name": {"attributes": [_VOTE | {"name": "party"}]},
        "one value": {"attributes": [_VOTE | {"values": ["n"]}]},
        "equal values": {"attributes": [_VOTE | {"values": ["n", "n"]}]},
        "cuts that do not increase": {"attributes": [_AGE | {"cuts": ["1/1", "1/1"]}]},
        "cuts nearer than doubles": {"attributes": [_AGE | {"cuts": [f"1{'0' * 20}1/1", f"1{'0' * 20}2/1"]}]},
        "a cut not in lowest terms": {"attributes": [_AGE | {"cuts": ["2/2"]}]},
        "no cuts": {"attributes": [_AGE | {"cuts": []}]}, "too many bits": {"attributes": wide},
        "an unknown kind": {"attributes": [_VOTE | {"kind": "label"}]},
        "one label": {"label": {"name": "party", "values": ["left"]}}, "μ of 1": {"mu": "1/1"},
        "no batch": {"batch": 0}, "a guarantee without a safeguard": {"guarantee": _GUARANTEE},
        "no guarantee": {"safeguard": bits, "guarantee": None},
        "γ at its limit": {"safeguard": bits | {"amplification": "19/1"}, "guarantee": _GUARANTEE},
        "γ of 1": {"safeguard": bits | {"amplification": "1/1"}, "guarantee": _GUARANTEE},
        "γ of several reports": {"safeguard": bits, "guarantee": _GUARANTEE, "reports_per_person": 2},
        "h of 0": {"safeguard": {"kind": "tuple", "honest": 0}, "guarantee": _GUARANTEE},
        "h too large": {"safeguard": {"kind": "tuple", "honest": (1 << 32) - 1}, "guarantee": _GUARANTEE},
        "an unknown safeguard": {"safeguard": {"kind": "coins"}, "guarantee": _GUARANTEE},
        "a field too many": {"more": 1},
    }  # fmt: skip
    return [{"breaks": rule, "plan": plan() | change} for rule, change in changes.items()]


def guidance_of(made: GuidedPlan) -> list[Guidance]:
    """Return guidance of several kinds; only the rounded integers are in the file."""
    w = made.width
    slanted = np.linalg.qr(np.array([[(3 * i * j + i + j) % 7 - 2.5 for j in range(3)] for i in range(w)]))[0]
    return [Guidance.from_vectors(made, 1 + n, V) for n, V in enumerate((np.eye(w)[:, :1], np.eye(w), slanted))]


def bad_guidance(content: dict[str, Any]) -> list[dict[str, Any]]:
    """Return guidance that every client must refuse; ``content`` is the identity."""

    def changed(rule: str, **fields: Any) -> dict[str, Any]:
        return {"breaks": rule, "guidance": content | fields}

    def vectors(change: Any) -> list[list[int]]:
        made = deepcopy(content["vectors"])
        change(made)
        return made

    w = len(content["vectors"])
    return [
        changed("of another plan", plan="0" * 64),
        changed("serial number 0", serial=0),
        changed("another level", level=w - 1),
        changed("no vector", level=0, vectors=[]),
        changed("a vector too many", level=w + 1, vectors=[*content["vectors"], content["vectors"][0]]),
        changed("a short vector", vectors=vectors(lambda made: made[0].pop())),
        changed("an entry above 1", vectors=vectors(lambda made: made[0].__setitem__(0, UNIT + 1))),
        changed("not of norm 1", vectors=vectors(lambda made: made[0].__setitem__(0, UNIT - 4))),
        changed("not orthogonal", vectors=vectors(lambda made: made[0].__setitem__(1, 8))),
        changed("a number that is not whole", vectors=vectors(lambda made: made[0].__setitem__(0, 1.0))),
    ]


class RecordingEntropy(ReplayEntropy):
    """Given random words; records the weight of every draw between two."""

    def __init__(self, words):
        super().__init__(words)
        self.weights: list[int] = []

    def pick(self, cumulative):
        """Draw and record the first weight."""
        self.weights.append(int(cumulative[0]))
        return super().pick(cumulative)


def run_case(name: str, made: GuidedPlan, guidance: Guidance, number: int) -> dict[str, Any]:
    """Randomize one record under guidance with given words."""
    rng = random.Random(f"{name} {number}")
    values = {"vote": ["n", "y", None], "age": [-2.5, -2.6, 0.1, 59.5, 60, 1e300, None], "car": ["a", "é", "7", None]}
    record = {attribute: rng.choice(choices) for attribute, choices in values.items()}
    record[made.label.name] = rng.choice(made.labels)
    words = [rng.choice([rng.getrandbits(64), rng.getrandbits(64), 0]) for _ in range(24)]
    report = randomize_guided(GuidedRecord(record, guidance), made, entropy=ReplayEntropy(words))
    entropy = RecordingEntropy(words)
    bits = Perturbation(made, guidance).release([read_value(record[c.name], c) for c in made.attributes], entropy)
    used = [f"{word:016x}" for word in words[: entropy.used]]
    case = {"plan": name, "guidance": guidance.serial, "record": record, "words": used}
    return case | {"weights": entropy.weights[-made.width :], "bits": bits, "report": report.hex()}


def make_all() -> dict[str, Any]:
    """Return the content of guided.json."""
    plans, guidances, weights, reports, refused, wrong = [], [], [], [], [], []
    for name, content in good_plans().items():
        made = GuidedPlan.parse(json.dumps(content))
        plans.append({"name": name, "id": made.plan_id, "plan": content})
        for guidance in guidance_of(made):
            guidances.append({"plan": name, "id": guidance.guidance_id, "guidance": guidance.to_json()})
            mixing = Perturbation(made, guidance).mixing_weight
            weights.append({"plan": name, "guidance": guidance.serial, "mixing_weight": mixing})
            reports += [run_case(name, made, guidance, each) for each in range(3)]
        whole = reports[-1]["report"]
        bad = {"a byte short": whole[:-2], "a byte long": whole + "00", "no guidance": "00000000" + whole[8:]}
        bad |= {"a bit too many": whole[:-2] + "ff", "an unknown class": whole[:8] + "ff" * (len(whole) // 2 - 4)}
        refused += [{"plan": name, "breaks": rule, "report": report} for rule, report in bad.items()]
        if name == "plain":
            wrong += [{"plan": name} | each for each in bad_guidance(guidances[-2]["guidance"])]
    return {
        "plans": plans, "bad_plans": bad_plans(), "guidance": guidances, "bad_guidance": wrong,
        "mixing_weights": weights, "reports": reports, "bad_reports": refused,
    }  # fmt: skip


if __name__ == "__main__":
    from make_tables import as_text

    Path(__file__).with_name("guided.json").write_text(as_text(make_all()), encoding="ascii")
