"""Wheel and source distribution hold every file, and run in their own environments: with each installed Python,
with each extra alone, and with the oldest allowed libraries.
"""

import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
BUILDER = f"{sys.version_info.major}.{sys.version_info.minor}"
BUILD = (  # which changes sys.argv
    "import sys; from setuptools import build_meta as b; to = sys.argv[1]; b.build_wheel(to); b.build_sdist(to)"
)
EXTRAS = {  # modules that each extra makes importable
    "trees": "assocpriv.server.numeric.tree_estimator",
    "queue": "cryptography.fernet, assocpriv.client.guided.guided_client",
    "oblivious": "pyhpke, assocpriv.files.oblivious_http", "server": "uvicorn, assocpriv.collect.collector_app",
    "relay": "assocpriv.collect.relay_app", "postgres": "psycopg, assocpriv.collect.postgres", "xlsx": "openpyxl",
    "spark": "pyspark.sql, assocpriv.spark", "docs": "sphinx, pydata_sphinx_theme",
}  # fmt: skip
LINES = """
generate quest --people 20000 --items 50 -o b.dat
plan --items 50 --transaction-size 3 --prior 5% --posterior 90% -o plan.json
randomize b.dat --plan plan.json -o r.parquet
mine r.parquet -o i.parquet
rules i.parquet --min-confidence 10%
inspect i.parquet --html i.html
generate agrawal --people 3000 -o p.csv --schema s.toml
plan --schema s.toml -o t.json
randomize p.csv --plan t.json -o n.parquet
reconstruct n.parquet -o d.json
audit plan.json --trials 1000 --confidence 99.9999%
"""


def interpreter(version: str) -> str:
    """Return a Python of a version, or skip the test if there is none."""
    kept = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    for each in (sys.executable, shutil.which(f"python{version}"), *map(str, kept)):
        if each is None:
            continue
        shown = subprocess.run([each, "--version"], capture_output=True, text=True, check=False).stdout
        if shown.startswith(f"Python {version}."):
            return each
    pytest.skip(f"there is no Python {version} here")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Build both distributions of a copy of the sources."""
    sources, made = tmp_path_factory.mktemp("sources") / "s", tmp_path_factory.mktemp("built")
    without = shutil.ignore_patterns("__pycache__", ".*", "node_modules", "*.egg-info", "results", "site")
    shutil.copytree(ROOT, sources, symlinks=True, ignore=without)
    project = sources / "pyproject.toml"
    project.write_text(project.read_text(encoding="utf-8").replace('"-O3"', '"-O0"'), encoding="utf-8")  # in less time
    subprocess.run([sys.executable, "-c", BUILD, made], cwd=sources, check=True, capture_output=True)
    return {"wheel": next(made.glob("*.whl")), "sdist": next(made.glob("*.tar.gz"))}


def installed(folder: Path, python: str, *wanted: object) -> Path:
    """Make an environment with only the wanted packages; return its Python."""
    subprocess.run([python, "-m", "venv", folder], check=True)
    subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "-q", *map(str, wanted)], check=True)
    return folder / "bin" / "python"


def run_all(python: Path, folder: Path) -> None:
    """Run commands from generated data to rules, distributions and an audit."""
    for line in LINES.strip().split("\n"):
        done = subprocess.run([python, "-m", "assocpriv", *line.split()], cwd=folder, check=False)
        assert done.returncode == 0, line


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "version"), [("wheel", BUILDER), *(("sdist", each) for each in PYTHONS)])
def test_commands_run_without_extras(built: dict[str, Path], tmp_path: Path, kind: str, version: str) -> None:
    """The commands run with the required libraries only; a wheel is for the Python that built it."""
    run_all(installed(tmp_path / "v", interpreter(version), built[kind]), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("extra", EXTRAS)
def test_each_extra_installs_alone(built: dict[str, Path], tmp_path: Path, extra: str) -> None:
    """An extra alone makes its modules importable."""
    python = installed(tmp_path / "v", sys.executable, f"{built['wheel']}[{extra}]")
    subprocess.run([python, "-c", f"import {EXTRAS[extra]}"], cwd=tmp_path, check=True)


@pytest.mark.slow
def test_the_oldest_libraries_work(built: dict[str, Path], tmp_path: Path) -> None:
    """The lower bounds of pyproject.toml install together, and pass the tests of clients and servers (not Spark)."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [name for name in EXTRAS if name not in ("spark", "docs")]
    bounds = [*project["dependencies"], *(each for name in extras for each in project["optional-dependencies"][name])]
    oldest = tmp_path / "oldest.txt"
    found = (re.match(r"([\w.-]+)(?:\[\w+\])?>=([\w.]+)", each) for each in bounds)
    oldest.write_text("".join(f"{each[1]}=={each[2]}.*\n" for each in found if each), encoding="utf-8")
    tools = ("pytest", "hypothesis", "mlxtend", "polars", "pyyaml", "galois")
    wheel = f"{built['wheel']}[{','.join(extras)}]"
    python = installed(tmp_path / "v", sys.executable, wheel, *tools, "-c", oldest)
    run_all(python, tmp_path)
    folders = [ROOT / "tests" / each for each in ("client", "collect", "files", "records", "server", "suppress")]
    subprocess.run([python, "-m", "pytest", "-p", "no:cacheprovider", *folders], cwd=ROOT, check=True)


def test_the_wheel_holds_every_file(built: dict[str, Path]) -> None:
    """It holds modules, templates, compiled loops, and the scripts of a collector's page, equal to those of clients/js.

    The sources of the loops are in the source distribution alone.
    """
    package, client = ROOT / "assocpriv", ROOT / "clients" / "js" / "src"
    own = [path for path in package.rglob("*") if "__pycache__" not in path.parts and path.is_file()]
    compiled = {path.name for path in own if path.suffix in (".so", ".pyd")}
    sources = {str(path.relative_to(ROOT)) for path in own if path.suffix in (".c", ".h")}
    own = [path for path in own if path.suffix not in (".c", ".h", ".so", ".pyd")]
    wanted = {str(path.relative_to(ROOT)): path.read_bytes() for path in own}
    wanted |= {f"assocpriv/pages/client/{path.relative_to(client)}": path.read_bytes() for path in client.rglob("*.js")}
    with zipfile.ZipFile(built["wheel"]) as opened:
        held = {name: opened.read(name) for name in opened.namelist()}
    assert len([name for name in wanted if name.endswith(".js")]) > 30
    assert {name: held.get(name) for name in wanted} == wanted
    assert {name.rpartition("/")[2] for name in held if name.endswith((".so", ".pyd"))} == compiled != set()
    with tarfile.open(built["sdist"]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert sources <= names
    assert not sources & held.keys()
