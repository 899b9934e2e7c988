"""Faults planted in the source, one at a time: who finds them, and how long that takes.

Each is planted in a copy of the repository. Then the audit runs as it does by default on a plan of a thousand items (5% →
50%, M = 5), which tells of the client for many baskets and of that for one; then on that client as a program on a pipe;
then the test suite, up to the first test that fails. A fault that one of them cannot see has a dash and says why.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assocpriv.files.plans import write_plan
from assocpriv.planning.baskets import make_plan
from bench import plans, tables

ROOT = Path(__file__).resolve().parents[2]
ITEM = 777
_ENTROPY, _ITEMSET, _SEEDED = "promise/entropy.py", "client/baskets.py", "client/baskets.py"
_BULK, _KERNELS = "client/bulk.py", "kernels/randomizing.py"
_PICKED = "        kept = [bool(mask >> position & 1) for position in range(len(items))]\n"
_DRAWN = "        number = entropy.pick(self.plan.cumulative_weights) if len(self._answerers) > 1 else 0\n"
_PICKED_IN_BULK = "        mask = masks[_pick(cumulative, words, state, shape[4], vector)]\n"
_SYSTEM_WORDS = (
    '        return np.frombuffer(secrets.token_bytes(count * 8), dtype="<u8").astype(np.uint64, copy=False)\n'
)
_WEIGHTS = "    weights = (operator.keep_weights[mask.bit_count()] for mask in masks)\n    return KeptSubsets(masks, tuple(accumulate(weights)))\n"
_PROGRAM_TRIALS = 100_000  # a program that answers one basket at a time
# first what such faults are likely to meet, then the rest
_FIRST = ("entropy", "exact_laws", "fixed_size", "bulk", "vectors", "ledger", "audit_items", "audit_exact", "audit")


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault: what of which files of the package is replaced by what; whether the plan has no code, or asks for sizes too."""

    name: str
    edits: tuple[tuple[str, str, str], ...]
    is_plain: bool = False
    asks_sizes: bool = False


_SHOWN = (
    _ITEMSET,
    _PICKED,
    _PICKED.replace("mask >> position & 1)", f"mask >> position & 1) or items[position] == {ITEM}"),
)
_SHOWN_IN_BULK = (
    _KERNELS,
    _PICKED_IN_BULK,
    f"{_PICKED_IN_BULK}        for place in range(m):\n            if fit[place] == {ITEM}:\n                mask |= 1 << place\n",
)
_HASHED = (
    "        import hashlib, time\n        seed = int(time.time() * 1000) & 0xFFFFF\n"
    "        made = hashlib.shake_256(seed.to_bytes(8, 'little')).digest(count * 8)\n"
    "        return np.frombuffer(made, dtype='<u8').astype(np.uint64)\n"
)
_SEEDED_ONCE = (
    "        if '_source' not in globals():\n            globals()['_source'] = np.random.default_rng(secrets.randbits(16))\n"
    "        return globals()['_source'].integers(0, 1 << 64, count, dtype=np.uint64)\n"
)
_TWICE = (
    "        half = np.frombuffer(secrets.token_bytes(-(-count // 2) * 8), dtype='<u8').astype(np.uint64)\n"
    "        return np.repeat(half, 2)[:count]\n"
)
_ROUNDED = (
    "    unit = 1 << operator.weight_bits - 16\n"
    "    weights = (operator.keep_weights[mask.bit_count()] for mask in masks)\n"
    "    ends = tuple((each + unit // 2) // unit * unit for each in accumulate(weights))\n"
    "    return KeptSubsets(masks, (*ends[:-1], 1 << operator.weight_bits))\n"
)
_OFF = (
    "    weights = [operator.keep_weights[mask.bit_count()] for mask in masks]\n"
    "    off = weights[-1] * 3 // 100\n    weights[0], weights[-1] = weights[0] + off, weights[-1] - off\n"
    "    return KeptSubsets(masks, tuple(accumulate(weights)))\n"
)
FAULTS = (
    Fault("item 777 always shown, client for one", (_SHOWN,)),
    Fault("item 777 always shown, bulk client", (_SHOWN_IN_BULK,)),
    Fault("item 777 always shown, both clients", (_SHOWN, _SHOWN_IN_BULK)),
    Fault("items 777 and 778 swapped, client for one", ((
        _SEEDED, "np.array(items, dtype=np.int64), field)", "np.array([{777: 778, 778: 777}.get(i, i) for i in items]), field)"
    ),)),
    Fault("words are a hash of a time of 20 bits", ((_ENTROPY, _SYSTEM_WORDS, _HASHED),)),
    Fault("a seed of 16 bits for each process", ((_ENTROPY, _SYSTEM_WORDS, _SEEDED_ONCE),)),
    Fault("each word used twice", ((_ENTROPY, _SYSTEM_WORDS, _TWICE),), is_plain=True),
    Fault("weights rounded to 2^16, both clients", ((_ITEMSET, _WEIGHTS, _ROUNDED),)),
    Fault("p[M] off by 3%, both clients", ((_ITEMSET, _WEIGHTS, _OFF),)),
    Fault("a bound of a pick one too high, bulk client", ((
        _BULK, " for total in subsets.cumulative]", " for total in [each + 1 for each in subsets.cumulative]]"
    ),)),
    Fault("first items kept one time in five, client for one", ((
        _ITEMSET, _PICKED, f"        if entropy.below(5) == 0:\n            mask = (1 << mask.bit_count()) - 1\n{_PICKED}"
    ),)),
    Fault("one bit not randomized, bulk client", ((
        _KERNELS,
        "            _set_kept(fit, m, mask, vector)\n",
        "            _set_kept(fit, m, mask, vector)\n            vector[0] &= ~np.uint64(1)\n"
        "            for place in range(m):\n                if fit[place] == 0:\n                    vector[0] |= np.uint64(1)\n",
    ),), is_plain=True),
    Fault("last seed bit never 1, client for one", ((
        _SEEDED, "entropy.below(1 << question.generator.seed_bits)\n", "entropy.below(1 << question.generator.seed_bits - 1)\n"
    ),)),
    Fault("the longer half of baskets makes longer reports, client for one", ((
        _ITEMSET,
        "        return self.plan.report_of(number, answerer.answer(entries, entropy))\n",
        "        sent = self.plan.report_of(number, answerer.answer(entries, entropy))\n"
        "        return sent + b'\\0' * (len(checked) > 2)\n",
    ),)),
    Fault("of a long basket the first M items, both clients", (
        (_ITEMSET, "        other = place + entropy.below(len(fitted) - place)\n",
         "        other = place + 0 * entropy.below(len(fitted) - place)\n"),
        (_KERNELS, "other = place + draw_below(length", "other = place + 0 * draw_below(length"),
    )),
    Fault("an assertion fails for item 777, client for one", ((
        _ITEMSET, _PICKED, f"        assert {ITEM} not in items, items\n{_PICKED}"
    ),)),
    Fault("the bulk client blames the plan for item 777", ((
        _KERNELS, _PICKED_IN_BULK,
        f"{_PICKED_IN_BULK}        for place in range(m):\n            if fit[place] == {ITEM}:\n"
        "                return t, used, DEPENDENT_COLUMNS\n",
    ),)),
    Fault("large baskets are always asked for their size, client for one", ((
        _ITEMSET, _DRAWN, f"{_DRAWN}        number = 1 if len(checked) > 5 else number\n"
    ),), asks_sizes=True),
    Fault("a question drawn anew while nothing is to be said, client for one", ((
        _ITEMSET,
        "        return self.plan.report_of(number, answerer.answer(entries, entropy))\n",
        "        while checked and not entries:\n"
        "            number = entropy.pick(self.plan.cumulative_weights)\n"
        "            answerer = self._answerers[number]\n"
        "            entries = answerer.question.view.entries(checked)\n"
        "        return self.plan.report_of(number, answerer.answer(entries, entropy))\n",
    ),), asks_sizes=True),
    Fault("sizes asked of twice the people, bulk client", ((
        _BULK,
        "        numbers = np.searchsorted(self.plan.cumulative_weights, drawn, side=\"right\")\n",
        "        ends = [end - (place == 0) for place, end in enumerate(self.plan.cumulative_weights)]\n"
        "        numbers = np.searchsorted(ends, drawn, side=\"right\")\n",
    ),), asks_sizes=True),
    Fault("classes of sizes begin one later, both clients", (
        ("plans/sizes_view.py", "sum(bound <= len(transaction) for", "sum(bound < len(transaction) for"),
        ("plans/sizes_view.py", "np.diff(offsets), side=\"right\")", "np.diff(offsets), side=\"left\")"),
    ), asks_sizes=True),
)  # fmt: skip


def run(names: str = "") -> dict[str, Any]:
    """Plant every fault, or those whose names hold one of some words, and none at first."""
    wanted = [word for word in names.split(",") if word]
    chosen = [fault for fault in FAULTS if not wanted or any(word in fault.name for word in wanted)]
    rows = []
    for fault in (Fault("none", ()), *chosen):
        rows.append({"fault": fault.name} | measured(fault))
        sys.stderr.write(f"{json.dumps(rows[-1])}\n")
    return {"faults": rows}


def measured(fault: Fault) -> dict[str, Any]:
    """Return what the audit and the suite say of one fault, and their seconds."""
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        _copy(clone)
        for file, old, new in fault.edits:
            path = clone / "assocpriv" / file
            path.write_text(replaced(path.read_text(encoding="utf-8"), old, new), encoding="utf-8")
        environment = os.environ | {"PYTHONPATH": str(clone)}
        plan = plans.coded(1000, "none" if fault.is_plain else "bch")
        if fault.asks_sizes:
            plan = make_plan(1000, plans.PROMISE, transaction_size=5)
        write_plan(plan, clone / "p.json")
        return _audits(clone, environment) | _suite(clone, environment)


_ASSOCPRIV = (sys.executable, "-m", "assocpriv")


def replaced(text: str, old: str, new: str) -> str:
    """Return a text with the one occurrence of a part replaced."""
    if text.count(old) != 1:
        raise ValueError(f"{old!r} stands {text.count(old)} times in the file")
    return text.replace(old, new)


def _copy(clone: Path) -> None:
    """Copy the files that git knows, and the compiled kernels."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.split(b"\0")
    kept = [str(path.relative_to(ROOT)) for path in (ROOT / "assocpriv").rglob("__pycache__/*.nb?")]
    for name in [os.fsdecode(each) for each in listed if each] + kept:
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, clone / name)


def _call(
    command: list[str], folder: Path, environment: Mapping[str, str]
) -> tuple["subprocess.CompletedProcess[str]", float]:
    start = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done, time.perf_counter() - start


def _audits(clone: Path, environment: Mapping[str, str]) -> dict[str, Any]:
    both, seconds = _call([*_ASSOCPRIV, "audit", "p.json", "--json"], clone, environment)
    client = f"{sys.executable} tests/pipe_client.py"
    options = ["--program", client, "--trials", str(_PROGRAM_TRIALS)]
    piped, piped_seconds = _call([*_ASSOCPRIV, "audit", "p.json", "--json", *options], clone, environment)
    found = [_broken(each.stdout, each.stderr) for each in (both, piped)]
    return {
        "exact": found[0].get("", ""),
        "single": found[0].get("single", ""),
        "bulk": found[0].get("bulk", ""),
        "audit_seconds": round(seconds, 1),
        "program": found[1].get("program", ""),
        "program_seconds": round(piped_seconds, 1),
    }


def _broken(text: str, errors: str) -> dict[str, str]:
    """Return what is broken, by client; "" are findings about the plan and about both."""
    try:
        findings = json.loads(text)["findings"]
    except json.JSONDecodeError:
        return {"": f"no answer: {errors.strip().splitlines()[-1:]}"}
    by_client: dict[str, list[str]] = {}
    for finding in findings:
        if finding["verdict"] == "broken":
            by_client.setdefault(finding["client"] or "", []).append(finding["name"])
    return {client: ", ".join(dict.fromkeys(names)) for client, names in by_client.items()}


def _suite(clone: Path, environment: Mapping[str, str]) -> dict[str, Any]:
    rest = sorted(str(path.relative_to(clone)) for path in (clone / "tests").rglob("test_*.py"))
    first = [path for name in _FIRST for path in rest if Path(path).name == f"test_{name}.py"]
    # a clone has no .git, and two of the files look at it
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider"]
    done, seconds = _call(command + list(dict.fromkeys(first + rest)), clone, environment)
    failed = next(_failures(done.stdout), "")
    return {"suite": failed, "suite_seconds": round(seconds, 1)}


def _failures(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if line.startswith(("FAILED ", "ERROR ")):
            yield line.split(" ")[1].removeprefix("tests/").split("[")[0]


def markdown(result: Mapping[str, Any]) -> str:
    """Return the table."""
    columns = {
        "fault": "fault",
        "audit, exact": "exact",
        "bulk": "bulk",
        "single": "single",
        "s": "audit_seconds",
        "program": "program",
        "s ": "program_seconds",
        "first test that fails": "suite",
        "s  ": "suite_seconds",
    }
    said = (
        "What the default audit calls broken, of the client for many baskets (bulk) and for one (single); what it "
        "calls broken of the latter as a program on a pipe; the first test of the suite that fails.\n\n"
    )
    rows = [{key: row[key] or "–" for key in columns.values()} for row in result["faults"]]
    return said + tables.table(columns, rows)
