"""Wheel and source distribution install and run in environments of their own, of every Python that is here."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
BUILD = (  # which changes sys.argv
    "import sys; from setuptools import build_meta as b; to = sys.argv[1]; b.build_wheel(to); b.build_sdist(to)"
)
LINES = """
generate quest --people 20000 --items 50 -o b.dat
plan --items 50 --transaction-size 3 --prior 5% --posterior 90% -o plan.json
randomize b.dat --plan plan.json -o r.parquet
mine r.parquet --min-support auto -o i.parquet
rules i.parquet --min-confidence 10%
inspect i.parquet --html i.html
generate agrawal --people 3000 -o p.csv --schema s.toml
plan --schema s.toml -o t.json
randomize p.csv --plan t.json -o n.parquet
reconstruct n.parquet -o d.json
audit plan.json --trials 1000 --confidence 99.9999%
"""


def interpreter(version: str) -> str:
    """Return a Python of a version, or skip where none is here."""
    kept = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    for each in (sys.executable, shutil.which(f"python{version}"), *map(str, kept)):
        if each is None:
            continue
        said = subprocess.run([each, "--version"], capture_output=True, text=True, check=False).stdout
        if said.startswith(f"Python {version}."):
            return each
    pytest.skip(f"there is no Python {version} here")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Build both distributions of a copy of the sources."""
    sources, made = tmp_path_factory.mktemp("sources") / "s", tmp_path_factory.mktemp("built")
    without = shutil.ignore_patterns("__pycache__", ".*", "node_modules", "*.egg-info", "results", "site")
    shutil.copytree(ROOT, sources, symlinks=True, ignore=without)
    subprocess.run([sys.executable, "-c", BUILD, made], cwd=sources, check=True, capture_output=True)
    return {"wheel": next(made.glob("*.whl")), "sdist": next(made.glob("*.tar.gz"))}


@pytest.mark.slow
@pytest.mark.parametrize("version", PYTHONS)
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_it_runs_where_nothing_else_is_installed(
    built: dict[str, Path], tmp_path: Path, version: str, kind: str
) -> None:
    """From nothing to rules, distributions and an audit, without extras."""
    python = tmp_path / "v" / "bin" / "python"
    subprocess.run([interpreter(version), "-m", "venv", tmp_path / "v"], check=True)
    subprocess.run([python, "-m", "pip", "install", "-q", built[kind]], check=True)
    for line in LINES.split("\n"):
        if line:
            done = subprocess.run([python, "-m", "assocpriv", *line.split()], cwd=tmp_path, check=False)
            assert done.returncode == 0, line
