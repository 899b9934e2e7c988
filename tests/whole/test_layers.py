"""Tests of the architecture: which folder imports which, what an import loads, and the public names."""

import ast
import importlib
import inspect
import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import assocpriv
from assocpriv.plans import registry

PACKAGE = Path(assocpriv.__file__).parent

# What a folder may import besides itself. The trust boundary is in it: client, server and suppress never see each
# other; server, planning and collect see no records. Fronts, which people import, may import anything.
BELOW = {
    "guarantees": "", "kernels": "", "plans": "guarantees kernels", "spark": "guarantees kernels",
    "files": "guarantees kernels plans", "records": "guarantees kernels plans files",
    "client": "guarantees kernels plans files records spark", "suppress": "guarantees kernels plans files records",
    "server": "guarantees kernels plans files spark", "planning": "guarantees kernels plans files server",
    "collect": "guarantees kernels plans files",
    "simulation": "guarantees kernels plans files records client server planning spark",
    "auditing": "guarantees kernels plans files records client server planning simulation",
    "show": "guarantees kernels plans files records client server planning simulation auditing suppress collect",
    "pages": "guarantees kernels plans files server planning collect show",
}  # fmt: skip
PLAN = "plans.basket_plan"
HEAVY = {
    "numba", "galois", "scipy", "pandas", "pyspark", "click", "pyarrow", "starlette", "uvicorn", "psycopg", "jinja2",
}  # fmt: skip
ONLY_HOME = {
    "numba": {"kernels.compiling"},
    "galois": {"plans.generator"},
    "pyarrow": {"spark.spark_session"},  # which imports nothing of files: the others have it from files.arrow, late
    "click": {f"cli.{path.stem}" for path in (PACKAGE / "cli").glob("[a-z]*.py")},
    "pyspark": {"spark.spark_session", "client.spark_client", "server.spark_counting", "spark"},
}
# What a function may import: libraries that are slow to load or extras, and rooms that load such at their top. Fronts
# and commands import what they run.
LATE = {
    "numba", "openpyxl", "llvmlite", "galois", "scipy", "pandas", "narwhals", "jinja2", "rich",
    "cryptography", "psycopg", "pyhpke", "pyspark", "sklearn",
    "server.result_frames",  # classes of pandas
}  # fmt: skip
LATE_IN = {
    "cli.main": {"traceback"},  # only where something broke
    "cli.options": {"resource", "files.report_files"},  # Windows has none; --help does not need it
    "kernels.compiling": {"hashlib"},  # --help does not need it
    # --help loads it, and neither of these
    "kernels.parallel": {"numpy", "psutil"},
    # a device of baskets needs neither guidance nor its plan
    "files.plan_files": {"plans.guidance"},
    # one record is predicted without numpy
    "plans.tree_model": {"numpy"},
    "guarantees.entropy": {"numpy"},
    "guarantees.exact_numbers": {"numpy"},
    "client.prediction": {"client.table_classes", "records.table_files"},
    # --help loads these two, and no numpy
    "show.number_format": {"plans.catalogue"},
    "show.result_record": {"show.html_renderer"},
    # each imports the other; who asks which kinds there are needs it alone
    "plans.registry": {"plans.published_plan"},
    # plans are made, and say what forged reports do to them, without the miner
    "planning.size_reports": {"server.manipulation"},
    # of files it may import nothing, so not what loads pyarrow late
    "spark.spark_session": {"pyarrow"},
}


def module_name(path: Path) -> str:
    """Return a file's module name below the package, ``spark`` for spark/__init__.py."""
    parts = list(path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


SOURCES = {module_name(path): path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
INITS = {module_name(path) for path in PACKAGE.rglob("__init__.py") if path.parent != PACKAGE}
FRONTS = {"api", "collect", "guided", "numeric", "spark", "suppress"}  # which people import
COMMANDS = {f"cli.{path.stem}" for path in (PACKAGE / "cli").glob("[a-z]*.py")} - {"cli.main", "cli.options"}


@cache
def imports_of(module: str, source: str) -> set[str]:
    """Return the full names of all modules that a source imports, also inside functions and for types alone.

    ``from a.b import c`` counts as a.b.c where that is a module of this package, otherwise as a.b.
    """
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parents = ["assocpriv", *module.split(".")][: -node.level] if node.level else []
            base = ".".join([*parents, *([node.module] if node.module else [])])
            for alias in node.names:
                full = f"{base}.{alias.name}"
                found.add(full if full.removeprefix("assocpriv.") in SOURCES else base)
    return found


def late_imports_of(module: str, source: str) -> set[str]:
    """Return what functions of a source import: modules of this package, and the libraries of others."""
    body = [
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    ]
    found = imports_of(module, ast.unparse(ast.Module(body, [])))
    return {name.removeprefix("assocpriv.") if is_ours(name) else name.partition(".")[0] for name in found}


def forbidden_imports(module: str, source: str) -> set[str]:
    """Return what a module imports although its folder may not."""
    names = {name.removeprefix("assocpriv").removeprefix(".") for name in imports_of(module, source) if is_ours(name)}
    folder = module.partition(".")[0]
    if module in COMMANDS:  # they call public modules, by one name, and show what they return
        return names - {"", "cli.options", "cli.plan_dialog"}
    if module in FRONTS or folder not in BELOW:
        return set()
    seen = {folder, "lazy_exports", *BELOW[folder].split()}
    return {name for name in names if name.partition(".")[0] not in seen}


def is_ours(name: str) -> bool:
    """Tell whether a module is one of this package."""
    return name.partition(".")[0] == "assocpriv"


def loaded_after(code: str, names: set[str]) -> set[str]:
    """Return which of the named modules a fresh Python has loaded after running some code."""
    script = f"import json, sys\n{code}\nprint(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return names & set(json.loads(done.stderr.splitlines()[-1]))


def test_folders_import_what_they_may() -> None:
    """By the table above, which has every folder; client and server never each other."""
    folders = {name.partition(".")[0] for name in SOURCES if "." in name}
    assert folders == {*BELOW, "cli"}
    broken = {module: forbidden_imports(module, source) for module, source in SOURCES.items()}
    assert {module: names for module, names in broken.items() if names} == {}


def test_folders_load_nothing() -> None:
    """A folder's __init__ imports nothing, so asking for one module loads no other side."""
    assert [folder for folder in INITS - FRONTS - {"show"} if imports_of(folder, SOURCES[folder])] == []


@pytest.mark.parametrize(
    ("module", "source", "caught"),
    [
        (PLAN, "import assocpriv.client.bulk_client as b", {"client.bulk_client"}),
        (PLAN, "from ..client.bulk_client import CHUNK", {"client.bulk_client"}),
        (PLAN, "from assocpriv import Plan", {""}),
        (PLAN, "import assocpriv", {""}),
        (PLAN, "def f():\n    if 1:\n        from assocpriv.server import rules", {"server.rules"}),
        ("server.rules", "from assocpriv.records.baskets import Baskets", {"records.baskets"}),
        ("planning.basket_planner", "from assocpriv.records.baskets import Baskets", {"records.baskets"}),
        ("collect.gather", "from assocpriv.records.baskets import Baskets", {"records.baskets"}),
        ("client.ledger", "from assocpriv.collect.gather import gather", {"collect.gather"}),
        ("planning.basket_planner", "from assocpriv.client.ledger import Ledger", {"client.ledger"}),
        ("client.bulk_client", "from assocpriv.server import supports", {"server.supports"}),
        ("simulation.simulate", "from assocpriv.show import plan_views", {"show.plan_views"}),
        ("simulation.simulate", "from assocpriv import api", {"api"}),
        (PLAN, "class A:\n    def f(self):\n        from assocpriv.server import rules", {"server.rules"}),
        (PLAN, "from assocpriv.plans.view import View\nimport numpy", set()),
        ("cli.main", "from assocpriv import __version__", set()),
        ("cli.mining_commands", "from assocpriv.files.report_files import read_reports", {"files.report_files"}),
        ("cli.mining_commands", "from assocpriv.api import mine", {"api"}),
        ("cli.mining_commands", "import assocpriv as ap\nfrom assocpriv.cli import options as opt", set()),
    ],
)
def test_wrong_imports_are_caught(module: str, source: str, caught: set[str]) -> None:
    """The check itself sees every way to write an import."""
    assert forbidden_imports(module, source) == caught


def test_heavy_libraries_have_one_home() -> None:
    """Only their homes import numba, galois, pyarrow, click and pyspark."""
    used = {name: {each.partition(".")[0] for each in imports_of(name, text)} for name, text in SOURCES.items()}
    assert {library: {name for name in used if library in used[name]} for library in ONLY_HOME} == ONLY_HOME


def test_galois_is_imported_inside_functions_only() -> None:
    """Importing plans.baskets.codes does not load galois, whose fields cost seconds."""
    body = [
        node for node in ast.parse(SOURCES["plans.generator"]).body if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    top = ast.Module(body, type_ignores=[])
    assert "galois" not in imports_of("plans.generator", ast.unparse(top))


def test_imports_stand_at_the_top() -> None:
    """Functions of rooms import only what is slow to load, extras, and what is named above with a reason."""
    rooms = {name for name in SOURCES if "." in name and name not in FRONTS}
    late = {name: late_imports_of(name, SOURCES[name]) - LATE - LATE_IN.get(name, set()) for name in rooms}
    assert {name: found for name, found in late.items() if found} == {}


LIGHT = HEAVY | {"numpy", "narwhals", "bitarray"}
HELP = """
import runpy
sys.argv = ['assocpriv', '--help']
try:
    runpy.run_module('assocpriv', run_name='__main__')
except SystemExit as end:
    assert not end.code
"""
CLIENT = [f"import assocpriv.{name}" for name in SOURCES if name.startswith("client.")]


@pytest.mark.parametrize(
    ("code", "names", "loaded"),
    [
        ("import assocpriv", LIGHT, set()),
        (HELP, LIGHT, {"click"}),
        ("\n".join(["import assocpriv.client", *CLIENT]), HEAVY, set()),
        ("import assocpriv\nassocpriv.Plan\nimport pyarrow", HEAVY, {"pyarrow"}),
    ],
    ids=["the package", "its help", "all modules of the client", "what this test would see"],
)
def test_what_is_imported_often_is_light(code: str, names: set[str], loaded: set[str]) -> None:
    """The package loads no library, its help click alone, and the client none that is heavy."""
    assert loaded_after(code, names) == loaded


LAZY = ("assocpriv", "assocpriv.guided", "assocpriv.numeric", "assocpriv.show", "assocpriv.suppress")


@pytest.mark.parametrize("front", LAZY)
def test_public_names_resolve(front: str) -> None:
    """Every public name can be had, dir() shows it, and an unknown one is an AttributeError."""
    module = importlib.import_module(front)
    for name in module.__all__:
        thing, room = getattr(module, name), f"{front}.{name}"  # no room takes a name's place when it is imported
        assert inspect.ismodule(thing) if room.removeprefix("assocpriv.") in SOURCES else callable(thing), room
        assert name in dir(module)
    assert sorted(module.__all__) == sorted(set(module.__all__))
    with pytest.raises(AttributeError, match="nothing"):
        _ = module.nothing


# ---- the registry of kinds


ROLES = {what for entries in registry.KINDS.values() for what in entries}
ASKED = [
    (module, node.value)
    for module, source in SOURCES.items()
    if module != "plans.registry"
    for node in ast.walk(ast.parse(source))
    if isinstance(node, ast.Constant) and node.value in ROLES
]


@pytest.mark.parametrize("kind", registry.KINDS)
def test_a_kind_names_what_there_is(kind: str) -> None:
    """Every entry can be loaded, from a room of the folder that its side is; its plan is of that kind."""
    assert kind in registry.load_for(kind, "plans.plan", "read").kinds
    for what, entry in registry.KINDS[kind].items():
        room, _, name = entry.partition(":")
        assert f"{what.partition('.')[0]}.{room}" in SOURCES
        assert registry.load_for(kind, what, "loaded") is not None, (what, name)


def test_no_side_reaches_another_through_the_registry() -> None:
    """Whoever asks for an entry may import the folder of its side; each that there is is asked for, and explained."""
    for module, what in ASKED:
        side, folder = what.partition(".")[0], module.partition(".")[0]
        assert module in FRONTS or side == folder or side in BELOW[folder].split(), (module, what)
    assert {what for _, what in ASKED} | {"plans.plan"} == ROLES
    assert all(f"    {what} " in str(registry.__doc__) for what in ROLES)
