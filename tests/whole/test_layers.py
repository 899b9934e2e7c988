"""Tests of the architecture: imports between packages, libraries that an import loads, and public names."""

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

# The packages that a package may import besides itself. This is the trust boundary: client, server and suppress do not
# import each other; server, planning and collect do not import records. Public modules may import anything.
BELOW = {
    "guarantees": "", "kernels": "", "plans": "guarantees kernels", "spark": "guarantees kernels",
    "files": "guarantees kernels plans", "records": "guarantees kernels plans files",
    "client": "guarantees kernels plans files records spark", "suppress": "guarantees kernels plans files records",
    "releasing": "guarantees kernels plans files records estimation",
    "plan_types": "", "estimation": "guarantees kernels plans files",
    "server": "guarantees kernels plans files spark estimation",
    "planning": "guarantees kernels plans files estimation",
    "collect": "guarantees kernels plans files",
    "simulation": "guarantees kernels plans files records client estimation server planning spark",
    "auditing": "guarantees kernels plans files records client estimation server planning simulation releasing",
    "show": "guarantees kernels plans files records client estimation server planning simulation auditing suppress "
    "collect",
    "pages": "guarantees kernels plans files estimation server planning collect show",
}  # fmt: skip
PLAN, RULES = "plans.baskets.basket_plan", "from assocpriv.server.baskets import rules"
HEAVY = {"scipy", "pandas", "pyspark", "click", "pyarrow", "starlette", "uvicorn", "psycopg", "jinja2"}
ONLY_HOME = {
    "pyarrow": {"spark.spark_session"},  # may not import files; other modules use the lazy module of files.arrow
    "click": {f"cli.{path.stem}" for path in (PACKAGE / "cli").glob("[a-z]*.py")},
    "pyspark": {"spark.spark_session", "client.spark_client", "server.spark_counting", "api.spark_verbs"},
}
# What a function may import: libraries that are slow to load or optional, and modules that import such at their top.
# Public modules and commands import what they run.
LATE = {
    "openpyxl", "scipy", "pandas", "narwhals", "jinja2", "rich",
    "cryptography", "psycopg", "pyhpke", "pyspark", "sklearn",
    "server.baskets.result_frames",  # classes of pandas
}  # fmt: skip
LATE_IN = {
    # Windows lacks the first, --help does not need the others
    "cli.options": {"resource", "files.collections", "files.report_files", "guarantees.amplification"},
    # --help loads it, and neither of these
    "kernels.parallel": {"numpy", "psutil"},
    # a device of baskets needs neither guidance nor its plan
    "files.plan_files": {"plans.guided.guided_plan"},
    # one record is predicted without numpy
    "plans.numeric.tree_model": {"numpy"}, "guarantees.entropy": {"numpy"}, "guarantees.exact_numbers": {"numpy"},
    "client.published_results": {"client.numeric.table_classes", "records.table_files"},
    # --help loads these two, and no numpy
    "show.number_format": {"plans.baskets.catalogue"}, "show.result_record": {"show.result_pages"},
    # each imports the other; reading the list of plan types needs only the registry
    "plans.registry": {"plans.published_plan"},
    # it may not import files, and so not the lazy module of pyarrow
    "spark.spark_session": {"pyarrow"},
}  # fmt: skip


def module_name(path: Path) -> str:
    """Return a file's module name below the package, ``spark`` for spark/__init__.py."""
    parts = list(path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


SOURCES = {module_name(path): path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
INITS = {module_name(path) for path in PACKAGE.rglob("__init__.py") if path.parent != PACKAGE}
# modules that users import
PUBLIC = {"api", "catalogues", "collect", "device", "exports", "guided", "numeric", "spark", "suppress", "tables"}
COMMANDS = {f"cli.{path.stem}" for path in (PACKAGE / "cli").glob("[a-z]*.py")} - {"cli.main", "cli.options"}


@cache
def import_nodes(source: str) -> tuple[list[ast.Import | ast.ImportFrom], list[ast.Import | ast.ImportFrom]]:
    """Return all statements of a source that import, also for types only, and those inside functions."""
    found = [], []
    for part in ast.parse(source).body:
        nodes = [node for node in ast.walk(part) if isinstance(node, ast.Import | ast.ImportFrom)]
        is_late = isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        found[0].extend(nodes)
        found[1].extend(nodes if is_late else [])
    return found


def imports_of(module: str, source: str, late: bool = False) -> set[str]:
    """Return the full names of all modules that a source imports, with ``late`` inside functions only.

    ``from a.b import c`` counts as a.b.c where that is a module of this package, otherwise as a.b.
    """
    found = set()
    for node in import_nodes(source)[late]:
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
    """Return the modules of this package and the libraries that functions of a source import."""
    found = imports_of(module, source, late=True)
    return {name.removeprefix("assocpriv.") if is_ours(name) else name.partition(".")[0] for name in found}


def forbidden_imports(module: str, source: str) -> set[str]:
    """Return the imports of a module that its package may not have."""
    names = {name.removeprefix("assocpriv").removeprefix(".") for name in imports_of(module, source) if is_ours(name)}
    folder = module.partition(".")[0]
    if module in COMMANDS:  # they call public modules, by one name, and show the results
        return names - {"", "cli.options"}
    if module in PUBLIC or folder not in BELOW:
        return set()
    allowed = {folder, "lazy_exports", *BELOW[folder].split()}
    return {name for name in names if name.partition(".")[0] not in allowed}


def is_ours(name: str) -> bool:
    """Return whether a module is one of this package."""
    return name.partition(".")[0] == "assocpriv"


def loaded_after(code: str, names: set[str]) -> set[str]:
    """Return which of the named modules a new Python process has loaded after running some code."""
    script = f"import json, sys\n{code}\nprint(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return names & set(json.loads(done.stderr.splitlines()[-1]))


def test_packages_import_only_what_they_may() -> None:
    """The table above has every package, and every import is allowed by it."""
    folders = {name.partition(".")[0] for name in SOURCES if "." in name}
    assert folders == {*BELOW, "api", "cli"}
    broken = {module: forbidden_imports(module, source) for module, source in SOURCES.items()}
    assert {module: names for module, names in broken.items() if names} == {}


def test_packages_load_nothing() -> None:
    """A package's __init__ imports nothing but its list of names, so one module loads no other trust domain."""
    lazy = {"assocpriv.lazy_exports"}
    assert [folder for folder in INITS - PUBLIC if imports_of(folder, SOURCES[folder]) - lazy] == []


@pytest.mark.parametrize(
    ("module", "source", "caught"),
    [
        (PLAN, "import assocpriv.client.baskets.bulk_client as b", {"client.baskets.bulk_client"}),
        (PLAN, "from ...client.baskets.bulk_client import CHUNK", {"client.baskets.bulk_client"}),
        (PLAN, "from assocpriv import Plan", {""}),
        (PLAN, "import assocpriv", {""}),
        (PLAN, f"def f():\n    if 1:\n        {RULES}", {"server.baskets.rules"}),
        (PLAN, f"class A:\n    def f(self):\n        {RULES}", {"server.baskets.rules"}),
        ("server.baskets.rules", "from assocpriv.records.baskets import Baskets", {"records.baskets"}),
        ("planning.basket_planner", "from assocpriv.records.baskets import Baskets", {"records.baskets"}),
        ("collect.gather", "from assocpriv.records.baskets import Baskets", {"records.baskets"}),
        ("client.ledger", "from assocpriv.collect.gather import gather", {"collect.gather"}),
        ("planning.basket_planner", "from assocpriv.client.ledger import Ledger", {"client.ledger"}),
        ("client.baskets.bulk_client", "from assocpriv.estimation import supports", {"estimation.supports"}),
        ("simulation.simulate", "from assocpriv.show import plan_views", {"show.plan_views"}),
        ("simulation.simulate", "from assocpriv import api", {"api"}),
        (PLAN, "from assocpriv.plans.baskets.report_type import View\nimport numpy", set()),
        ("cli.main", "from assocpriv import __version__", set()),
        ("cli.mining_commands", "from assocpriv.files.report_files import read_reports", {"files.report_files"}),
        ("cli.mining_commands", "from assocpriv.api.mining import mine", {"api.mining"}),
        ("cli.mining_commands", "import assocpriv as ap\nfrom assocpriv.cli import options as opt", set()),
    ],
)
def test_wrong_imports_are_caught(module: str, source: str, caught: set[str]) -> None:
    """The check sees all forms of imports."""
    assert forbidden_imports(module, source) == caught


def test_heavy_libraries_are_imported_in_few_modules() -> None:
    """Only the modules of ``ONLY_HOME`` import pyarrow, click and pyspark."""
    used = {name: {each.partition(".")[0] for each in imports_of(name, text)} for name, text in SOURCES.items()}
    assert {library: {name for name in used if library in used[name]} for library in ONLY_HOME} == ONLY_HOME


def test_imports_are_at_the_top() -> None:
    """Functions import only slow or optional libraries, and the modules listed above with a reason."""
    modules = {name for name in SOURCES if "." in name and name not in PUBLIC and not name.startswith("api.")}
    late = {name: late_imports_of(name, SOURCES[name]) - LATE - LATE_IN.get(name, set()) for name in modules}
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
    ids=["the package", "its help", "all modules of the client", "the test itself"],
)
def test_frequent_imports_are_light(code: str, names: set[str], loaded: set[str]) -> None:
    """The package loads no library, its help only click, and the client no heavy library."""
    assert loaded_after(code, names) == loaded


LAZY = ("assocpriv", "assocpriv.guided", "assocpriv.numeric", "assocpriv.show", "assocpriv.suppress")


@pytest.mark.parametrize("public", LAZY)
def test_public_names_resolve(public: str) -> None:
    """Every public name can be imported, and dir() has no others; an unknown one is an AttributeError."""
    module = importlib.import_module(public)
    for name in module.__all__:
        thing, full = getattr(module, name), f"{public}.{name}"  # importing a module replaces no public name
        assert inspect.ismodule(thing) if full.removeprefix("assocpriv.") in SOURCES else callable(thing), full
    assert {name for name in dir(module) if not name.startswith("__")} == set(module.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        _ = module.nothing


# ---- the registry of plan types


PACKAGE_OF = {  # entry -> the package of its parts
    "plan": "plans", "report": "client", "randomize": "client", "parse": "client", "values": "client",
    "add_guidance": "client", "mine": "server", "reconstruct": "server", "collect": "server",
    "check_manipulation": "server", "forecast": "planning", "warn": "planning", "simulate": "simulation",
    "subject": "auditing", "show_plan": "show", "show_simulation": "show", "analysis": "pages",
}  # fmt: skip


@pytest.mark.parametrize("kind", registry.KINDS)
def test_parts_of_plan_types_can_be_loaded(kind: str) -> None:
    """Every part can be loaded, from a module of its package; the plan class has that type."""
    parts = importlib.import_module(registry.KINDS[kind])
    assert kind in parts.plan.kinds
    for name in parts.__all__:
        part = getattr(parts, name)
        home = part.__module__ if inspect.isroutine(part) or inspect.isclass(part) else type(part).__module__
        assert home.startswith((f"assocpriv.{PACKAGE_OF[name]}.", "assocpriv.records.")), (name, home)


def test_entries_are_defined_where_their_parts_are() -> None:
    """So imports keep the trust boundary: who calls a part imports its package. Every entry is documented."""
    found = {}
    for module, source in SOURCES.items():
        for node in ast.walk(ast.parse(source)) if "Entry(" in source else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Entry" and len(node.args) == 2:
                found[ast.literal_eval(node.args[0])] = module
    assert found.keys() == PACKAGE_OF.keys()
    assert all(f"    {name} " in str(registry.__doc__) for name in PACKAGE_OF)
    homes = {name: module.partition(".")[0] for name, module in found.items()}
    assert homes == PACKAGE_OF | {"simulate": "api"}  # a public module, which may import anything
