"""Tests of the architecture: which folder imports which, what an import loads, and the public names."""

import ast
import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

import assocpriv
from assocpriv.plans import kind as registry

PACKAGE = Path(assocpriv.__file__).parent

# What a folder may import besides itself. The trust boundary is in it: client, server and suppress never see each
# other; server, planning and collect see no records. Fronts, which people import, may import anything.
BELOW = {
    "promise": "", "kernels": "", "plans": "promise kernels", "spark": "promise kernels",
    "files": "promise kernels plans", "records": "promise kernels plans files",
    "client": "promise kernels plans files records spark", "suppress": "promise kernels plans files records",
    "server": "promise kernels plans files spark", "planning": "promise kernels plans files server",
    "collect": "promise kernels plans files",
    "simulation": "promise kernels plans files records client server planning spark",
    "auditing": "promise kernels plans files records client server planning simulation",
    "show": "promise kernels plans files records client server planning simulation auditing suppress collect",
    "pages": "promise kernels plans files server planning collect show",
}  # fmt: skip
PLAN = "plans.baskets"
HEAVY = {
    "numba", "galois", "scipy", "pandas", "pyspark", "click", "pyarrow", "starlette", "uvicorn", "psycopg", "jinja2",
}  # fmt: skip
ONLY_HOME = {
    "numba": {"kernels.compiling"},
    "galois": {"plans.generator"},
    "pyarrow": {"spark.session"},  # which imports nothing of files: the others have it from files.arrow, late
    "click": {f"cli.{path.stem}" for path in (PACKAGE / "cli").glob("[a-z]*.py")},
    "pyspark": {"spark.session", "client.spark", "server.spark", "spark"},
}
# What a function may import: libraries that are slow to load or extras, and rooms that load such at their top. Fronts
# and commands import what they run.
LATE = {
    "numba", "openpyxl", "llvmlite", "galois", "scipy", "pandas", "narwhals", "jinja2", "rich",
    "cryptography", "psycopg", "pyhpke", "pyspark", "sklearn",
    "server.data_frames",  # classes of pandas
}  # fmt: skip
LATE_IN = {
    "cli.main": {"traceback"},  # only where something broke
    "cli.options": {"resource", "files.reports"},  # Windows has none; --help does not need it
    "kernels.compiling": {"hashlib"},  # --help does not need it
    # --help loads it, and neither of these
    "kernels.parallel": {"numpy", "psutil"},
    # a device of baskets needs neither guidance nor its plan
    "files.plans": {"plans.guidance"},
    # one record is predicted without numpy
    "plans.tree_model": {"numpy"},
    "promise.entropy": {"numpy"},
    "promise.numbers": {"numpy"},
    "client.predict": {"client.table_classes", "records.tables"},
    # --help loads these two, and no numpy
    "show.figures": {"plans.catalogue"},
    "show.record": {"show.html"},
    # each imports the other; who asks which kinds there are needs it alone
    "plans.kind": {"plans.published"},
    # plans are made, and say what forged reports do to them, without the miner
    "planning.sizes": {"server.crafted"},
    # of files it may import nothing, so not what loads pyarrow late
    "spark.session": {"pyarrow"},
}


def module_name(path: Path) -> str:
    """Return a file's module name below the package, ``spark`` for spark/__init__.py."""
    parts = list(path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


SOURCES = {module_name(path): path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
INITS = {module_name(path) for path in PACKAGE.rglob("__init__.py") if path.parent != PACKAGE}
FRONTS = {"api", "collect", "guided", "numeric", "spark", "suppress"}  # which people import
FOLDERS = sorted(INITS - FRONTS - {"show"})  # each with a bare __init__; that of show gives its rooms on first use
COMMANDS = {f"cli.{path.stem}" for path in (PACKAGE / "cli").glob("[a-z]*.py")} - {"cli.main", "cli.options"}


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
    functions = [
        node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    found = {name for function in functions for name in imports_of(module, ast.unparse(function))}
    return {name.removeprefix("assocpriv.") if is_ours(name) else name.partition(".")[0] for name in found}


def forbidden_imports(module: str, source: str) -> set[str]:
    """Return what a module imports although its folder may not."""
    names = {name.removeprefix("assocpriv").removeprefix(".") for name in imports_of(module, source) if is_ours(name)}
    folder = module.partition(".")[0]
    if module in COMMANDS:  # commands call fronts, by one name, and show what they return; one asks for its options
        return names - {"", "cli.options", "cli.asking"}
    if module in FRONTS or folder not in BELOW:
        return set()
    seen = {folder, "fronts", *BELOW[folder].split()}
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


@pytest.mark.parametrize("folder", FOLDERS)
def test_folders_load_nothing(folder: str) -> None:
    """A folder's __init__ imports nothing, so asking for one module loads no other side."""
    assert imports_of(folder, SOURCES[folder]) == set()


@pytest.mark.parametrize(
    ("module", "source", "caught"),
    [
        (PLAN, "import assocpriv.client.bulk as b", {"client.bulk"}),
        (PLAN, "from ..client.bulk import CHUNK", {"client.bulk"}),
        (PLAN, "from assocpriv import Plan", {""}),
        (PLAN, "import assocpriv", {""}),
        (PLAN, "def f():\n    if 1:\n        from assocpriv.server import rules", {"server.rules"}),
        ("server.rules", "from assocpriv.records.baskets import Baskets", {"records.baskets"}),
        ("planning.baskets", "from assocpriv.records.baskets import Baskets", {"records.baskets"}),
        ("collect.gather", "from assocpriv.records.baskets import Baskets", {"records.baskets"}),
        ("client.ledger", "from assocpriv.collect.gather import gather", {"collect.gather"}),
        ("planning.baskets", "from assocpriv.client.ledger import Ledger", {"client.ledger"}),
        ("client.bulk", "from assocpriv.server import supports", {"server.supports"}),
        ("simulation.simulate", "from assocpriv.show import plans", {"show.plans"}),
        ("simulation.simulate", "from assocpriv import api", {"api"}),
        (PLAN, "from assocpriv.plans.view import View\nimport numpy", set()),
        ("cli.main", "from assocpriv import __version__", set()),
        ("cli.mine", "from assocpriv.files.reports import read_reports", {"files.reports"}),
        ("cli.mine", "from assocpriv.api import mine", {"api"}),
        ("cli.mine", "import assocpriv as ap\nfrom assocpriv.cli import options as opt", set()),
    ],
)
def test_wrong_imports_are_caught(module: str, source: str, caught: set[str]) -> None:
    """The check itself sees every way to write an import."""
    assert forbidden_imports(module, source) == caught


@pytest.mark.parametrize("library", sorted(ONLY_HOME))
def test_heavy_libraries_have_one_home(library: str) -> None:
    """Only their homes import numba, galois, pyarrow, click and pyspark."""
    users = {name for name, text in SOURCES.items() if library in {i.split(".")[0] for i in imports_of(name, text)}}
    assert users == ONLY_HOME[library]


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


def test_late_imports_are_seen() -> None:
    """Inside methods and closures, of modules and of names, but none at the top."""
    source = (
        "import csv\nclass A:\n    def f(self):\n        import json.decoder\n"
        "        def g():\n            from assocpriv.server import rules"
    )
    assert late_imports_of(PLAN, source) == {"json", "server.rules"}


def test_client_is_light() -> None:
    """All modules of the client together load no heavy library."""
    modules = ["assocpriv.client", *(f"assocpriv.{name}" for name in SOURCES if name.startswith("client."))]
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


def test_no_module_takes_the_place_of_a_public_name() -> None:
    """When every module was imported, each public name is still a function or a class, or the front it is."""
    code = (
        "import importlib, inspect, pkgutil, assocpriv\n"
        "names = [each.name for each in pkgutil.walk_packages(assocpriv.__path__, 'assocpriv.')]\n"
        "modules = [importlib.import_module(name) for name in names if name != 'assocpriv.__main__']\n"
        "for front in (assocpriv, *(each for each in modules if hasattr(each, '__all__'))):\n"
        "    for name in front.__all__:\n"
        "        thing, module = getattr(front, name), f'{front.__name__}.{name}'\n"
        "        assert callable(thing) or inspect.ismodule(thing) and thing.__name__ == module, (front, name)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


LAZY = ("assocpriv", "assocpriv.guided", "assocpriv.numeric", "assocpriv.show", "assocpriv.suppress")


@pytest.mark.parametrize("front", LAZY)
def test_public_names_resolve(front: str) -> None:
    """Every public name can be had, dir() shows it, and an unknown one is an AttributeError."""
    module = importlib.import_module(front)
    for name in module.__all__:
        assert getattr(module, name) is not None
        assert name in dir(module)
    assert sorted(module.__all__) == sorted(set(module.__all__))
    with pytest.raises(AttributeError, match="nothing"):
        _ = module.nothing


# ---- the registry of kinds


ROLES = {what for entries in registry.KINDS.values() for what in entries}
ASKED = [
    (module, node.value)
    for module, source in SOURCES.items()
    if module != "plans.kind"
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
