"""The worked diffs of CONTRIBUTING.md apply to the code as it is, and do what is written below them."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
WORKED = re.findall(r"^## (.*?)\n.*?^```diff\n(.*?)^```\n\n^```python\n(.*?)^```", TEXT, flags=re.DOTALL | re.MULTILINE)


def test_there_are_three() -> None:
    """Those that are asked for most."""
    assert [name for name, _, _ in WORKED] == ["A chart", "A counting backend", "A kind of plan"]


@pytest.mark.parametrize(("diff", "code"), [worked[1:] for worked in WORKED], ids=[worked[0] for worked in WORKED])
def test_a_worked_diff_applies_and_works(diff: str, code: str, tmp_path: Path) -> None:
    """In a copy of the code: `git apply`, lint, the order of layers, then the lines below the diff."""
    for folder in ("assocpriv", "tests/second_kind"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "tests" / "whole").mkdir()
    shutil.copy(ROOT / "tests" / "whole" / "test_layers.py", tmp_path / "tests" / "whole")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    subprocess.run(["git", "apply", "-"], input=diff, text=True, cwd=tmp_path, check=True)
    subprocess.run([sys.executable, "-m", "ruff", "check", "-q", "assocpriv"], cwd=tmp_path, check=True)
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    where = "import assocpriv, pathlib; assert pathlib.Path(assocpriv.__file__).parents[1] == pathlib.Path.cwd()\n"
    layers = ["tests/whole/test_layers.py", "-k", "listed_once or point_upwards or in_order"]
    subprocess.run([sys.executable, "-m", "pytest", "-q", *layers], cwd=tmp_path, env=environment, check=True)
    subprocess.run([sys.executable, "-W", "ignore", "-c", where + code], cwd=tmp_path, env=environment, check=True)
