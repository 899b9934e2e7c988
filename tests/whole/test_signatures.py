"""Options of public functions by type checkers and completion: misspelt and mistyped ones are found before a run."""

import inspect
import subprocess
import sys
from pathlib import Path

import assocpriv as ap

ROOT = Path(__file__).parents[2]
EXPLICIT = [
    each
    for module in (ap, ap.catalogues, ap.device, ap.exports, ap.guarantees, ap.planning, ap.simulation)
    for each in (getattr(module, name) for name in module.__all__)
    if inspect.isfunction(each)
]
RIGHT = """
import assocpriv as ap

made: ap.Plan = ap.plan(["milk", "tea"], epsilon=2.0, mean_size=2)
also = ap.plan(100, prior="5%", posterior="50%", reports=50_000)
bound: float | None = made.epsilon
"""
WRONG = """
ap.plan(100, epsilom=2.0)
ap.plan(100, epsilon=[2.0])
ap.plan(100, epsilon=2.0, reports="many")
ap.plan(100, epsilon=2.0, mean_sizes=3)
ap.plan(100, detect="1%", epsilon=2.0, sizes=2)
ap.ask([], [["milk"]], level=0.9)
ap.ask_rules([], [(["milk"], ["tea"])], confidence=0.9)
"""


def test_every_option_is_a_parameter() -> None:
    """``help`` and completion name each; all but the first ones only by name."""
    for function in EXPLICIT:
        kinds = {each.kind for each in inspect.signature(function).parameters.values()}
        assert inspect.Parameter.VAR_KEYWORD not in kinds, function.__name__
        text = inspect.getdoc(function)
        assert text
        for name in inspect.signature(function).parameters:
            assert name in text, (function.__name__, name)


def test_mypy_finds_wrong_options(tmp_path: Path) -> None:
    """Each line of mistakes is an error, and no other."""
    script = tmp_path / "script.py"
    script.write_text(RIGHT + WRONG, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--follow-imports=silent"]
    done = subprocess.run(
        [*command, "--cache-dir", tmp_path / "cache", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    lines = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line}
    first = RIGHT.count("\n") + 2
    assert lines == set(range(first, first + WRONG.strip().count("\n") + 1)), done.stdout + done.stderr
