"""Tests of the architecture: who imports whom, what an import loads, and the public names."""

import ast
import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

import assocpriv

PACKAGE = Path(assocpriv.__file__).parent

# A module may import only modules standing above it, and none of a floor that its own floor must not see. __init__ and
# __main__ of the root are the front door: they may import anything, and only the command line may import the root (its
# version).
ORDER = [
    "core.compiling",
    "core.entropy",
    "core.errors",
    "core.light_frame",
    "core.loading",
    "core.progress_bar",
    "core.machine",
    "core.normal",
    "core.numbers",
    "core.parallel",
    "core.privacy",
    "core.information",
    "core.ranking",
    "core.kernels.words",
    "core.kernels.bitmaps",
    "core.kernels.counting",
    "core.kernels.block_counting",
    "core.kernels.disclosure",
    "core.kernels.draws",
    "core.kernels.ranks",
    "core.kernels.seeds",
    "core.kernels.randomizing",
    "core.kernels.tables",
    "core.kernels.tallies",
    "core.kernels.text",
    "core.spark.session",
    "core.spark.sums",
    "plans.published",
    "plans.registry",
    "plans.baskets.catalogue",
    "plans.baskets.generator",
    "plans.baskets.codes",
    "plans.baskets.blocks",
    "plans.baskets.report_form",
    "plans.baskets.operator",
    "plans.baskets.view",
    "plans.baskets.plan",
    "plans.baskets.information",
    "plans.baskets.asked",
    "plans.baskets.transition",
    "plans.numeric.laws",
    "plans.numeric.columns",
    "plans.numeric.plan",
    "plans.numeric.channel",
    "plans.numeric.tree_model",
    "plans.guided.attributes",
    "plans.guided.safeguards",
    "plans.guided.plan",
    "plans.guided.guidance",
    "plans.guided.weights",
    "files.atomic",
    "files.ledger_name",
    "files.parquet",
    "files.plans",
    "files.guidance",
    "files.open_epochs",
    "files.store_mark",
    "files.reports",
    "files.guided_messages",
    "files.tree_models",
    "files.arrow_columns",
    "files.tables",
    "files.names",
    "files.catalogues",
    "collector.single_reports",
    "collector.taking",
    "collector.output",
    "collector.gather",
    "collector.wire",
    "collector.accepting",
    "collector.keys",
    "collector.store",
    "collector.known_ids",
    "collector.sealing",
    "collector.lock",
    "collector.sqlite_store",
    "collector.postgres_link",
    "collector.postgres_store",
    "collector.opening",
    "collector.intake",
    "collector.metrics",
    "collector.origins",
    "collector.published_guidance",
    "collector.upkeep",
    "collector.service",
    "records.cells",
    "records.columns",
    "records.first_lines",
    "records.basket_signs",
    "records.text_layout",
    "records.basket_frames",
    "records.basket_text",
    "records.baskets",
    "records.budget",
    "records.source_files",
    "records.basket_parquet",
    "records.basket_files",
    "records.csv_rows",
    "records.table_cells",
    "records.table_batches",
    "records.table_files",
    "owner.suppression.templates",
    "owner.suppression.coded",
    "owner.suppression.inferences",
    "owner.suppression.candidates",
    "owner.suppression.channels",
    "owner.suppression.disclosure",
    "owner.suppression.tables",
    "owner.suppression.binning",
    "owner.suppression.checking",
    "owner.suppression.metadata",
    "owner.suppression.release",
    "owner.suppression.publishing",
    "owner.suppression.report",
    "owner.suppression.items_templates",
    "owner.suppression.items_disclosure",
    "owner.suppression.items_written",
    "owner.suppression.items_checking",
    "owner.suppression.items_release",
    "owner.suppression.items_report",
    "client.baskets.transactions",
    "client.baskets.fixed_size",
    "client.baskets.seeds",
    "client.baskets.randomizer",
    "client.baskets.bulk",
    "client.numeric.randomizer",
    "client.numeric.bulk",
    "client.numeric.predict",
    "client.guided.randomizer",
    "client.guided.bulk",
    "client.guided.waiting",
    "client.guided.answering",
    "client.guided.asking",
    "client.kinds",
    "client.ledger_records",
    "client.ledger_book",
    "client.ledger_file",
    "client.ledger",
    "client.collector_connection",
    "client.sending",
    "client.spark",
    "server.counting.bitmaps",
    "server.counting.sums",
    "server.counting.parts",
    "server.counting.block_counter",
    "server.counting.backend",
    "server.spark",
    "server.estimates.tails",
    "server.estimates.sampling_loss",
    "server.estimates.supports",
    "server.estimates.confidences",
    "server.estimates.intervals",
    "server.estimates.limits",
    "server.itemsets.apriori",
    "server.itemsets.sample_splitting",
    "server.itemsets.thresholds",
    "server.itemsets.requests",
    "server.itemsets.block_facts",
    "server.itemsets.facts",
    "server.itemsets.shown_frames",
    "server.itemsets.frames",
    "server.itemsets.mining",
    "server.itemsets.selection",
    "server.itemsets.rules",
    "server.itemsets.exchange",
    "server.itemsets.ask",
    "server.rounds.sampling_model",
    "server.rounds.knowledge",
    "server.rounds.shrinking",
    "server.rounds.published",
    "server.rounds.holdings",
    "server.rounds.combine",
    "server.crafted.repeats",
    "server.crafted.checks",
    "server.crafted.influence",
    "server.numeric.released",
    "server.numeric.counts",
    "server.numeric.likelihood",
    "server.numeric.iterated_bayes",
    "server.numeric.coarse_channel",
    "server.numeric.smooth",
    "server.numeric.moments",
    "server.numeric.bands",
    "server.numeric.distributions",
    "server.numeric.describe",
    "server.numeric.reconstruct",
    "server.numeric.trees.channels",
    "server.numeric.trees.correction",
    "server.numeric.trees.evidence",
    "server.numeric.trees.growing",
    "server.numeric.trees.pruning",
    "server.numeric.trees.recounting",
    "server.numeric.trees.held_out",
    "server.numeric.trees.building",
    "server.numeric.trees.export",
    "server.numeric.trees.estimator",
    "server.numeric.trees.reports",
    "server.guided.spectrum",
    "server.guided.correction",
    "server.guided.state",
    "server.guided.state_file",
    "server.guided.training",
    "server.kinds",
    "planning.numeric.designs",
    "planning.numeric.schema",
    "planning.numeric.planner",
    "planning.numeric.table_facts",
    "planning.guided.plan_facts",
    "planning.designs",
    "planning.fixed_size_designs",
    "planning.blocks",
    "planning.request",
    "planning.planner",
    "planning.discovery",
    "planning.rounds",
    "planning.refine",
    "planning.shuffling",
    "planning.transaction_size",
    "planning.block_proposal",
    "planning.plan_facts",
    "planning.worked_promises",
    "lab.enumeration",
    "lab.seeded_entropy",
    "lab.rounds",
    "lab.simulate",
    "lab.rounds_trial",
    "lab.synthetic",
    "lab.agrawal",
    "lab.sample_plans",
    "lab.sample_catalogues",
    "lab.demo",
    "lab.guided_columns",
    "lab.guided_measures",
    "lab.guided_trial",
    "lab.guided_population",
    "auditing.findings",
    "auditing.request",
    "auditing.recompute.json_fields",
    "auditing.recompute.report_forms",
    "auditing.recompute.codes",
    "auditing.recompute.cuts",
    "auditing.recompute.plan_text",
    "auditing.recompute.promise",
    "auditing.recompute.table_text",
    "auditing.recompute.guided_text",
    "auditing.enumerate.draws_by_form",
    "auditing.enumerate.words_and_bulk",
    "auditing.enumerate.blocks",
    "auditing.enumerate.table_walks",
    "auditing.enumerate.guided_walks",
    "auditing.enumerate.small_walks",
    "auditing.enumerate.exact",
    "auditing.black_box.clients",
    "auditing.black_box.neighbours",
    "auditing.black_box.shown",
    "auditing.black_box.tallies",
    "auditing.black_box.conformance",
    "auditing.black_box.laws",
    "auditing.black_box.dealt_baskets",
    "auditing.black_box.lower_bounds",
    "auditing.black_box.families",
    "auditing.black_box.block_tallies",
    "auditing.black_box.block_audit",
    "auditing.black_box.empirical",
    "auditing.black_box.pipe",
    "auditing.black_box.table_clients",
    "auditing.black_box.table_laws",
    "auditing.black_box.guided_clients",
    "auditing.baskets",
    "auditing.numeric",
    "auditing.guided",
    "auditing.kinds",
    "pages.wording",
    "pages.rate",
    "pages.sessions",
    "pages.analysis",
    "pages.charts",
    "pages.picture",
    "pages.found",
    "pages.kinds",
    "pages.facts",
    "pages.sheet",
    "pages.mined",
    "pages.combined",
    "pages.spread",
    "pages.tree",
    "pages.withheld",
    "pages.admin",
    "pages.demo",
    "basket_files",
    "baskets",
    "mining",
    "exchange",
    "spark",
    "showing",
    "rounds",
    "trials",
    "assurance",
    "sending",
    "collection",
    "amplification",
    "numeric",
    "suppression",
    "guidance",
    "serving",
    "operating",
    "apps.options",
    "apps.progress",
    "apps.terminal",
    "apps.console",
    "apps.kinds",
    "apps.render.figures",
    "apps.render.plan",
    "apps.render.table_plan",
    "apps.render.guided_plan",
    "apps.render.guided_answers",
    "apps.render.tables",
    "apps.render.distributions",
    "apps.render.trees",
    "apps.render.sizes",
    "apps.render.itemsets",
    "apps.render.assurance",
    "apps.render.collection",
    "apps.render.sending",
    "apps.render.operating",
    "apps.render.privacy",
    "apps.render.explain",
    "apps.render.rounds",
    "apps.render.trials",
    "apps.render.catalogue",
    "apps.render.guidance",
    "apps.render.notebook",
    "apps.render.suppression",
    "apps.render.suppressed_items",
    "apps.commands.ask",
    "apps.commands.audit",
    "apps.commands.catalogue",
    "apps.commands.collector",
    "apps.commands.collector_keys",
    "apps.commands.collector_seal",
    "apps.commands.collector_set_aside",
    "apps.commands.collector_status",
    "apps.commands.combine",
    "apps.commands.demo",
    "apps.commands.gather",
    "apps.commands.generate",
    "apps.commands.guide",
    "apps.commands.guide_answer",
    "apps.commands.guide_collect",
    "apps.commands.guide_publish",
    "apps.commands.guide_start",
    "apps.commands.guide_simulate",
    "apps.commands.inspect",
    "apps.commands.mine",
    "apps.commands.numeric",
    "apps.commands.page",
    "apps.commands.numeric_reconstruct",
    "apps.commands.numeric_plan",
    "apps.commands.numeric_predict",
    "apps.commands.numeric_randomize",
    "apps.commands.numeric_tree",
    "apps.commands.plan",
    "apps.commands.privacy",
    "apps.commands.randomize",
    "apps.commands.refine",
    "apps.commands.report",
    "apps.commands.rules",
    "apps.commands.serve",
    "apps.commands.simulate",
    "apps.commands.suppress",
    "apps.cli",
]
FLOORS = [
    "core",
    "plans",
    "files",
    "collector",
    "records",
    "owner",
    "client",
    "server",
    "planning",
    "lab",
    "auditing",
    "pages",
]
DOORS = [
    "showing",
    "exchange",
    "spark",
    "basket_files",
    "baskets",
    "mining",
    "rounds",
    "trials",
    "assurance",
    "sending",
    "collection",
    "amplification",
    "numeric",
    "suppression",
    "guidance",
    "serving",
    "operating",
]  # public modules
APPS, COMMANDS = "apps", "apps.commands."  # commands call doors and nothing deeper
UNSEEN = {  # what stands above a floor and is still not its business
    "records": {"collector"},
    "owner": {"collector"},
    "client": {"owner", "server", "collector"},
    "server": {"owner", "client", "records", "collector"},
    "planning": {"owner", "client", "records", "collector"},
    "lab": {"collector"},
    "auditing": {"collector"},
    "pages": {"owner", "client", "server", "records", "planning", "lab", "auditing"},
}
FRONT_DOOR = {"__init__", "__main__"}
PLAN = "plans.baskets.plan"
HEAVY = {
    "numba",
    "galois",
    "scipy",
    "pandas",
    "pyspark",
    "click",
    "pyarrow",
    "starlette",
    "uvicorn",
    "psycopg",
    "jinja2",
}
ONLY_HOME = {
    "numba": {"core.compiling"},
    "galois": {"plans.baskets.codes"},
    "click": {"apps.cli", "apps.console", "apps.options", "apps.terminal"}
    | {m for m in ORDER if m.startswith("apps.commands.")},
    "pyspark": {"core.spark.session", "core.spark.sums", "client.spark", "server.spark", "spark"},
}


def module_name(path: Path) -> str:
    """Return a file's module name below the package, ``core`` for core/__init__.py."""
    parts = list(path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


SOURCES = {module_name(path): path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
FOLDERS = sorted(
    module_name(path) for path in PACKAGE.rglob("__init__.py") if path.parent != PACKAGE
)  # each with a bare __init__


def floor_of(module: str) -> str:
    """Return the floor that a module stands on: its top folder, or ``doors``."""
    return "doors" if module in DOORS else module.partition(".")[0]


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
    unseen = UNSEEN.get(floor_of(module), set())
    allowed = {name for name in ORDER[: ORDER.index(module)] if floor_of(name) not in unseen}
    if floor_of(module) == APPS:
        allowed.add("")
    if module.startswith(COMMANDS):
        allowed &= {name for name in ORDER if floor_of(name) in ("doors", APPS)} | {"core.errors"}
    return inner_imports(module, source) - allowed


def loaded_after(code: str, names: set[str]) -> set[str]:
    """Return which of the named modules a fresh Python has loaded after running some code."""
    script = f"import json, sys\n{code}\nprint(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return names & set(json.loads(done.stderr.splitlines()[-1]))


def test_every_file_is_listed_once() -> None:
    """ORDER lists every module of every folder."""
    assert sorted(ORDER) == sorted(set(SOURCES) - set(FOLDERS) - FRONT_DOOR)


def test_floors_stand_in_order() -> None:
    """The modules of a folder stand together, and the floors in the architecture's order."""
    assert list(dict.fromkeys(map(floor_of, ORDER))) == [*FLOORS, "doors", APPS]
    folders = [name.rpartition(".")[0] for name in ORDER]
    runs = [folder for folder, before in zip(folders, [None, *folders], strict=False) if folder != before]
    nested = [folder for folder in runs if folder.count(".")]
    assert len(nested) == len(set(nested))


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
        (PLAN, "from assocpriv.plans.baskets.transition import estimator_row", {"plans.baskets.transition"}),
        (PLAN, "import assocpriv.client.baskets.bulk as b", {"client.baskets.bulk"}),
        (PLAN, "from assocpriv.plans.baskets import transition, view", {"plans.baskets.transition"}),
        (PLAN, "from . import transition", {"plans.baskets.transition"}),
        (PLAN, "from .transition import estimator_row", {"plans.baskets.transition"}),
        (PLAN, "from ...client.baskets.bulk import CHUNK", {"client.baskets.bulk"}),
        (PLAN, "from assocpriv import Plan", {""}),
        (PLAN, "import assocpriv", {""}),
        (
            PLAN,
            "def f():\n    if 1:\n        from assocpriv.plans.baskets.transition import x",
            {"plans.baskets.transition"},
        ),
        ("server.itemsets.rules", "from assocpriv.records.baskets import Baskets", {"records.baskets"}),
        ("planning.planner", "from assocpriv.records.baskets import Baskets", {"records.baskets"}),
        ("collector.gather", "from assocpriv.records.baskets import Baskets", {"records.baskets"}),
        ("client.kinds", "from assocpriv.collector.taking import Batch", {"collector.taking"}),
        ("planning.planner", "from assocpriv.client.ledger import Ledger", {"client.ledger"}),
        ("client.baskets.bulk", "from assocpriv.server.estimates import supports", {"server.estimates.supports"}),
        ("lab.simulate", "from assocpriv.apps.render import plan", {"apps.render.plan"}),
        ("lab.simulate", "from assocpriv import baskets", {"baskets"}),
        ("plans.baskets.information", "from assocpriv.plans.baskets.plan import Plan\nimport numpy", set()),
        ("apps.cli", "from assocpriv import __version__", set()),
        ("apps.commands.mine", "from assocpriv.files.reports import read_reports", {"files.reports"}),
        ("apps.commands.mine", "from assocpriv.baskets import read_reports", set()),
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
    """Importing plans.baskets.codes does not load galois, whose fields cost seconds."""
    body = [
        node for node in ast.parse(SOURCES["plans.baskets.codes"]).body if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    top = ast.Module(body, type_ignores=[])
    assert "galois" not in imports_of("plans.baskets.codes", ast.unparse(top))


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


LAZY_DOORS = {"__init__": assocpriv} | {name: importlib.import_module(f"assocpriv.{name}") for name in DOORS}


@pytest.mark.parametrize("door", LAZY_DOORS)
def test_public_names_resolve(door: str) -> None:
    """Every public name can be had, dir() shows it, and an unknown one is an AttributeError."""
    module = LAZY_DOORS[door]
    for name in module.__all__:
        assert getattr(module, name) is not None
        assert name in dir(module)
    assert sorted(module.__all__) == sorted(set(module.__all__))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = module.nothing


@pytest.mark.parametrize("door", LAZY_DOORS)
def test_types_and_lazy_names_agree(door: str) -> None:
    """What a door tells type checkers is what it loads; these and its own are its names."""
    module = LAZY_DOORS[door]
    typed = {
        alias.asname or alias.name: (node.module, alias.name)
        for node in ast.walk(ast.parse(SOURCES[door]))
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    entries = [(home, *entry.partition(" as ")[::2]) for home, names in module._HOMES.items() for entry in names]
    lazy = {alias or name: (home, name) for home, name, alias in entries}
    assert lazy == {name: typed.get(name) for name in lazy}
    own = {
        node.name
        for node in ast.parse(SOURCES[door]).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
    }
    words = {name for name in module.__all__ if name.isupper()} - set(lazy)
    assert set(module.__all__) == set(lazy) | own | words
