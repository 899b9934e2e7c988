"""Options of public functions by type checkers and completion: misspelt and mistyped ones are found before a run."""

import inspect
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jedi
import pytest

import assocpriv as ap

ROOT = Path(__file__).parents[2]
MODULES = [ap, *(each for name in ap.__all__ if inspect.ismodule(each := getattr(ap, name)))]
RIGHT = """
import assocpriv as ap

made: ap.Plan = ap.plan(["milk", "tea"], epsilon=2.0, mean_size=2)
also = ap.plan(100, prior="5%", posterior="50%", reports=50_000)
bound: float | None = made.epsilon
needed: int = ap.plan(100, detect="1%", epsilon=2.0).reports
report: bytes = ap.randomize({"milk"}, made)
reports: ap.Reports = ap.randomize([{"milk"}], made, empty="keep")
itemsets = ap.mine(reports, "1%")
count: int = len(ap.association_rules(itemsets, 0.5))
found: int = ap.simulate([{"milk"}], made, seed=1).found_count
"""
WRONG = """
ap.plan(100, epsilom=2.0)
ap.plan(100, epsilon=[2.0])
ap.plan(100, epsilon=2.0, reports="many")
ap.plan(100, epsilon=2.0, mean_sizes=3)
ap.plan(100, detect="1%", epsilon=2.0, sizes=2)
ap.ask(reports, [["milk"]], level=0.9)
ap.ask_rules(reports, [(["milk"], ["tea"])], confidence=0.9)
ap.randomize([{"milk"}], made, clip="yes")
ap.randomize([{"milk"}], made, seed=1)
ap.simulate([{"milk"}], made, random_state=1)
ap.privacy(made, report_per_person=2)
ap.write_page(itemsets, "x.html", titel="x")
ap.to_baskets([["a"]], emtpy="keep")
ap.association_rules(itemsets, metric="lift")
ap.mine(reports, "1%").suport_columns()
"""
VERBS = [
    "plan", "randomize", "simulate", "mine", "association_rules", "ask", "privacy", "page", "to_baskets", "compare",
]  # fmt: skip


def test_every_option_is_a_parameter() -> None:
    """No function takes options that ``help`` and completion do not know; test_docstrings.py wants each described."""
    for function in (getattr(module, name) for module in MODULES for name in module.__all__):
        if inspect.isfunction(function):
            kinds = {each.kind for each in inspect.signature(function).parameters.values()}
            assert inspect.Parameter.VAR_KEYWORD not in kinds, function.__name__


def mypy(script: Path) -> set[int]:
    """Return the lines in which mypy finds errors, with the settings and the cache of the project's own check."""
    command = [sys.executable, "-m", "mypy", "--no-error-summary", str(script)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line}


def pyright(script: Path) -> set[int]:
    """Return the lines in which pyright finds errors."""
    program = ROOT / "clients" / "js" / "node_modules" / ".bin" / "pyright"
    if not program.exists():
        pytest.skip("pyright is not installed (npm ci in clients/js)")
    command = [program, "--pythonpath", sys.executable, "--level", "error", "--outputjson", script]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    return {each["range"]["start"]["line"] + 1 for each in found["generalDiagnostics"]}


@pytest.mark.parametrize("checker", [mypy, pytest.param(pyright, marks=pytest.mark.slow)])
def test_checkers_find_wrong_options(tmp_path: Path, checker: Callable[[Path], set[int]]) -> None:
    """Each line of mistakes is an error, and no other."""
    script = tmp_path / "script.py"
    script.write_text(RIGHT + WRONG, encoding="utf-8")
    first = RIGHT.count("\n") + 2
    assert checker(script) == set(range(first, first + WRONG.strip().count("\n") + 1))


@pytest.mark.parametrize("verb", VERBS)
def test_editors_and_notebooks_complete_every_option(
    verb: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """jedi names each option, from the source alone and of the imported module."""
    # its cache in the user's folder may be damaged by a process that was killed
    monkeypatch.setattr(jedi.settings, "cache_directory", tmp_path_factory.getbasetemp() / "jedi")
    code = f"import assocpriv as ap\nap.{verb}("
    names = {name for name, each in inspect.signature(getattr(ap, verb)).parameters.items() if each.kind.value != 2}
    in_editor = jedi.Script(code, path=ROOT / "script.py").complete()
    in_notebook = jedi.Interpreter(f"ap.{verb}(", [{"ap": ap}]).complete()
    for found, refused in ((in_editor, {"seed"} if verb == "randomize" else set()), (in_notebook, set())):
        assert {f"{name}=" for name in names - refused} <= {each.name for each in found}
