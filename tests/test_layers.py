"""Tests of the architecture: who imports whom, what an import loads, and the public names."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import assocpriv

PACKAGE = Path(assocpriv.__file__).parent

# A module may import only modules standing above it. __init__ and __main__ of the root are the front door: they
# may import anything, and only the command line may import the root (its version).
ORDER = [
    "core.errors",
    "core.entropy",
    "core.privacy",
    "core.fields",
    "core.catalogue",
    "core.view",
    "core.operator",
    "core.generator",
    "core.plan",
    "core.transition",
    "core.numba_settings",
    "core.codes",
    "core.information",
    "core.ranking",
    "core.wire",
    "core.compiling",
    "core.kernels",
    "core.machine",
    "core.parallel",
    "core.bitmap",
    "files.atomic",
    "files.plans",
    "files.taxonomy",
    "files.parquet",
    "files.reports",
    "client.cells",
    "client.basket_frames",
    "client.baskets",
    "client.basket_text",
    "client.basket_files",
    "client.views",
    "client.seeded",
    "client.fixed_size",
    "client.itemset",
    "client.ledger_file",
    "client.ledger",
    "client.sampling",
    "client.bulk",
    "server.estimate",
    "server.influence",
    "server.tails",
    "server.discovery",
    "server.inequalities",
    "server.quadratic",
    "server.realizable",
    "server.consistent",
    "server.counting",
    "server.intervals",
    "server.limits",
    "server.apriori",
    "server.thresholds",
    "server.selection",
    "server.table_files",
    "server.itemsets",
    "server.rules",
    "server.query",
    "server.repeats",
    "server.liars",
    "server.sampled",
    "server.knowledge",
    "server.combine",
    "lab.exact",
    "lab.named",
    "lab.shuffling",
    "lab.seeded",
    "lab.attacks",
    "lab.designs",
    "lab.fixed_designs",
    "lab.planner",
    "lab.sizes",
    "lab.focus",
    "lab.rounds",
    "lab.schedule",
    "lab.refine",
    "lab.synthetic",
    "lab.simulate",
    "lab.trial",
    "audit.findings",
    "audit.numbers",
    "audit.plan_text",
    "audit.integers",
    "audit.draws",
    "audit.parts",
    "audit.bulk_equal",
    "audit.exact",
    "audit.black_box",
    "audit.pipe",
    "audit.neighbours",
    "audit.laws",
    "audit.shown",
    "audit.tallies",
    "audit.items",
    "audit.others",
    "audit.lower_bounds",
    "audit.empirical",
    "audit.conformance",
    "apps.options",
    "apps.progress",
    "apps.console",
    "apps.warm_up",
    "apps.show_liars",
    "apps.show_limits",
    "apps.show",
    "apps.show_rounds",
    "apps.api",
    "apps.simulation",
    "apps.inspect",
    "apps.demo",
    "apps.cli_report",
    "apps.show_audit",
    "apps.cli_audit",
    "apps.show_privacy",
    "apps.cli_privacy",
    "apps.cli_rounds",
    "apps.cli_lab",
    "apps.cli_server",
    "apps.cli",
]
FOLDERS = ["core", "files", "client", "server", "lab", "audit", "apps"]
FRONT_DOOR = {"__init__", "__main__"}
HEAVY = {"numba", "galois", "scipy", "pandas", "pyspark", "click", "pyarrow"}
ONLY_HOME = {
    "numba": {"core.compiling", "core.kernels", "core.numba_settings"},
    "galois": {"core.codes"},
    "click": {
        "apps.cli",
        "apps.cli_audit",
        "apps.cli_lab",
        "apps.cli_privacy",
        "apps.cli_report",
        "apps.cli_rounds",
        "apps.cli_server",
        "apps.console",
        "apps.options",
        "apps.warm_up",
    },
    "pyspark": set(),
}


def module_name(path: Path) -> str:
    """Return a file's module name below the package, ``core`` for core/__init__.py."""
    parts = list(path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


SOURCES = {module_name(path): path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))}


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
                found.add(full if full.removeprefix("assocpriv.") in {*ORDER, *FOLDERS} else base)
    return found


def inner_imports(module: str, source: str) -> set[str]:
    """Return the imported modules of this package, named without the package; the root as an empty name."""
    names = {name for name in imports_of(module, source) if name.split(".")[0] == "assocpriv"}
    return {name.removeprefix("assocpriv").removeprefix(".") for name in names}


def forbidden_imports(module: str, source: str) -> set[str]:
    """Return what a module imports although it does not stand above it."""
    allowed = set(ORDER[: ORDER.index(module)])
    folder = module.partition(".")[0]
    other_side = {"client": "server.", "server": "client."}.get(folder)
    if other_side:
        allowed = {name for name in allowed if not name.startswith(other_side)}
    if folder == "apps":
        allowed.add("")
    return inner_imports(module, source) - allowed


def loaded_after(code: str, names: set[str]) -> set[str]:
    """Return which of the named modules a fresh Python has loaded after running some code."""
    script = f"import json, sys\n{code}\nprint(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return names & set(json.loads(done.stderr.splitlines()[-1]))


def test_every_file_is_listed_once() -> None:
    """ORDER lists every module, and every folder beside the root has a bare __init__."""
    assert sorted(ORDER) == sorted(set(SOURCES) - set(FOLDERS) - FRONT_DOOR)
    assert {path.name for path in PACKAGE.iterdir() if path.is_dir()} - {"__pycache__"} == set(FOLDERS)


def test_folders_stand_in_order() -> None:
    """The modules of a folder stand together, and the folders in the architecture's order."""
    assert list(dict.fromkeys(name.split(".")[0] for name in ORDER)) == FOLDERS
    folders = [name.split(".")[0] for name in ORDER]
    assert folders == sorted(folders, key=FOLDERS.index)


@pytest.mark.parametrize("module", ORDER)
def test_imports_point_upwards(module: str) -> None:
    """A module imports only modules standing above it; client and server never each other."""
    assert forbidden_imports(module, SOURCES[module]) == set()


@pytest.mark.parametrize("folder", FOLDERS)
def test_folders_load_nothing(folder: str) -> None:
    """A folder's __init__ imports nothing, so asking for one module loads no other side."""
    assert imports_of(folder, SOURCES[folder]) == set()


@pytest.mark.parametrize(
    ("module", "source", "caught"),
    [
        ("core.plan", "from assocpriv.core.wire import encode_report", {"core.wire"}),
        ("core.plan", "import assocpriv.client.bulk as b", {"client.bulk"}),
        ("core.plan", "from assocpriv.core import wire, errors", {"core.wire"}),
        ("core.plan", "from . import wire", {"core.wire"}),
        ("core.plan", "from .wire import encode_report", {"core.wire"}),
        ("core.plan", "from ..client.bulk import CHUNK", {"client.bulk"}),
        ("core.plan", "from assocpriv import Plan", {""}),
        ("core.plan", "import assocpriv", {""}),
        ("core.plan", "def f():\n    if 1:\n        from assocpriv.core.wire import x", {"core.wire"}),
        ("server.rules", "from assocpriv.client.baskets import Baskets", {"client.baskets"}),
        ("client.bulk", "from assocpriv.server import estimate", {"server.estimate"}),
        ("lab.simulate", "from assocpriv.apps import show", {"apps.show"}),
        ("core.wire", "from assocpriv.core.plan import Plan\nimport numpy", set()),
        ("apps.cli", "from assocpriv import __version__", set()),
    ],
)
def test_wrong_imports_are_caught(module: str, source: str, caught: set[str]) -> None:
    """The check itself sees every way to write an import."""
    assert forbidden_imports(module, source) == caught


@pytest.mark.parametrize("library", sorted(ONLY_HOME))
def test_heavy_libraries_have_one_home(library: str) -> None:
    """Only the home of numba, galois, click and pyspark imports them."""
    users = {name for name, text in SOURCES.items() if library in {i.split(".")[0] for i in imports_of(name, text)}}
    assert users == ONLY_HOME[library]


def test_galois_is_imported_inside_functions_only() -> None:
    """Importing core.codes does not load galois, whose fields cost seconds."""
    body = [node for node in ast.parse(SOURCES["core.codes"]).body if isinstance(node, ast.Import | ast.ImportFrom)]
    top = ast.Module(body, type_ignores=[])
    assert "galois" not in imports_of("core.codes", ast.unparse(top))


def test_client_is_light() -> None:
    """All modules of the client together load no heavy library."""
    modules = ["assocpriv.client", *(f"assocpriv.{name}" for name in ORDER if name.startswith("client."))]
    assert loaded_after("\n".join(f"import {name}" for name in modules), HEAVY) == set()


def test_package_is_light() -> None:
    """Importing the package loads no library at all."""
    assert loaded_after("import assocpriv", HEAVY | {"numpy", "narwhals", "bitarray"}) == set()


def test_help_is_light() -> None:
    """The command line shows its help without numpy or anything heavier than click."""
    code = (
        "import runpy\nsys.argv = ['assocpriv', '--help']\n"
        "try:\n    runpy.run_module('assocpriv', run_name='__main__')\n"
        "except SystemExit as end:\n    assert not end.code"
    )
    assert loaded_after(code, (HEAVY - {"click"}) | {"numpy", "narwhals", "bitarray"}) == set()


def test_light_checks_see_what_is_loaded() -> None:
    """The check of loaded modules finds a module that is loaded."""
    assert loaded_after("import assocpriv\nassocpriv.Plan\nimport pyarrow", HEAVY) == {"pyarrow"}


def test_public_names_resolve() -> None:
    """Every public name can be had, dir() shows it, and an unknown one is an AttributeError."""
    for name in assocpriv.__all__:
        assert getattr(assocpriv, name) is not None
        assert name in dir(assocpriv)
    assert list(assocpriv.__all__) == sorted(set(assocpriv.__all__))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = assocpriv.nothing


def test_types_and_lazy_names_agree() -> None:
    """What the root tells type checkers is what it loads at run time."""
    told = {
        alias.name: node.module
        for node in ast.walk(ast.parse(SOURCES["__init__"]))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("assocpriv.")
        for alias in node.names
    }
    assert told == assocpriv._HOME_OF
    assert set(told) == set(assocpriv.__all__)
