"""The client in JavaScript: its tests, types and style, in node and Chromium; its imports and calls."""

import json
import os
import re
import subprocess
import tomllib

import command_line
import pytest
from command_line import CLIENT, VECTORS, node, program, tools
from command_line import run_program as run

BUNDLE = CLIENT.parents[1] / "assocpriv" / "pages" / "bundle"
SOURCES = sorted((CLIENT / "src").rglob("*.js"))
_IMPORT = re.compile(
    r"""^(?:import|export)\b[^;"]*?from "([^"]+)";|^import "([^"]+)";|\bimport\("([^"]+)"\)""", re.MULTILINE
)
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
# a folder imports only from lower ones; files in src/ itself are below all, except index.js and plan-types.js
LEVELS = {"": 0, "baskets": 1, "tables": 1, "guided": 2, "device": 4, "node": 5}
ABOVE = {"plan-types.js": 3, "index.js": 6}


def level(path):
    """Return a file's level in the order of imports."""
    relative = path.relative_to(CLIENT / "src")
    return ABOVE[relative.name] if str(relative) in ABOVE else LEVELS[str(relative.parent).replace(".", "", 1)]


def test_node_runs_its_tests():
    """Every test of clients/js passes in node."""
    code = "".join(f'import "./test/{path.name}";' for path in sorted(tools().glob("test/*.test.js")))
    done = run(node(), "--test-reporter", "tap", "--input-type=module", "-e", code)
    assert int(re.search(r"^# pass (\d+)$", done.stdout, re.MULTILINE)[1]) >= 3


def test_style():
    """The linter and the type checker find nothing."""
    run(command_line.node(), command_line.tools() / "node_modules/typescript/bin/tsc", folder=command_line.tools())
    run(node(), tools() / "node_modules/eslint/bin/eslint.js", "--max-warnings", "0", ".")


def test_chromium_agrees_with_node():
    """In pages of Chromium the shared vectors hold, the ledger counts correctly and the bundle runs by its integrity.

    - Ledger: several pages and a worker at once, closed pages, storage that fails or is cleared: at most one report
      a reporting period.
    - Bundle: below 38 KB compressed, and refused with one byte more.
    """
    environment = os.environ | {"CHROMIUM": program("chromium", "chromium")}
    done = run(node(), tools() / "test/chromium.js", env=environment)
    assert done.stdout.count("ok: ") == 16


def test_the_package_has_the_bundle_of_the_sources(tmp_path):
    """Script, integrity and types in the Python package equal the output of the pinned tools; the types are right."""
    run(node(), tools() / "tools/bundle.js", tmp_path)
    for path in tmp_path.iterdir():
        assert (BUNDLE / path.name).read_bytes() == path.read_bytes(), f"{path.name}: run npm run bundle in clients/js"
    (tmp_path / "use.ts").write_text(
        'import { Collector, sendRecord, openLedger } from "assocpriv";\n'
        'const collector = new Collector("https://shop.example", { patienceSeconds: 10 });\n'
        "const sending = async () => {\n"
        '  const sent = await sendRecord([], { collector, ledger: await openLedger(), period: "1" });\n'
        "  // @ts-expect-error a text\n  const state: number = sent.state;\n};\n"
    )
    given = ["--strict", "--noEmit", "--skipDefaultLibCheck", "--target", "es2022"]
    given += ["--moduleResolution", "bundler", "--module", "esnext"]
    run(node(), tools() / "node_modules/typescript/bin/tsc", *given, BUNDLE / "assocpriv.d.ts", tmp_path / "use.ts")


@pytest.mark.slow
def test_packed_and_installed_elsewhere(tmp_path):
    """The npm package installs in an empty folder without a network and runs as CommonJS and ES module.

    Packing makes its types, so this also checks the types in the comments.
    """
    npm = program("npm", "npm")
    [packed] = json.loads(run(npm, "pack", "--json", "--pack-destination", tmp_path, folder=tools()).stdout)
    names = {each["path"] for each in packed["files"]}
    assert {"LICENSE", "README.md", "pipe.js", "src/index.js", "types/src/index.d.ts"} <= names
    assert not [name for name in names if name.startswith(("test", "tools"))]
    assert {name.split("/")[1] for name in names if name.startswith("node_modules")} == {"@hpke"}
    (tmp_path / "package.json").write_text("{}")
    run(npm, "install", "--offline", "--no-audit", "--no-fund", tmp_path / packed["filename"], folder=tmp_path)
    plan = json.dumps(json.loads((VECTORS / "plans.json").read_text(encoding="ascii"))["plans"][0]["plan"])
    (tmp_path / "plan.json").write_text(plan)
    body = "loadPlan(require('fs').readFileSync('plan.json')).then((plan) => console.log(plan.randomize([]).length))"
    (tmp_path / "old.cjs").write_text(f"import('assocpriv').then(({{ loadPlan }}) => {body})")
    (tmp_path / "new.mjs").write_text(
        "import { createRequire } from 'node:module';\nimport { loadPlan } from 'assocpriv';\n"
        "import { openLedgerFile } from 'assocpriv/node';\nconst require = createRequire(import.meta.url);\n"
        f"if (openLedgerFile) {body};"
    )
    for script in ("old.cjs", "new.mjs"):
        assert run(node(), script, folder=tmp_path).stdout == "1\n"
    pipe = [node(), tmp_path / "node_modules/assocpriv/pipe.js", "plan.json"]
    assert len(run(*pipe, folder=tmp_path, input="1\n\n").stdout.splitlines()) == 3


@pytest.mark.parametrize(
    ("arguments", "given", "reports", "message"),
    [
        (["plan.json"], "0\n\n", 2, ""),
        (["plan.json"], "0\n777", 1, "the last line has no line feed, so data may be missing"),
        (["plan.json"], "0\n777\n", 0, "line 2: the basket holds an item id outside the plan's catalogue, 0..1"),
        (["plan.json"], "milk\n", 0, "line 1: a transaction must be item ids in decimal, separated by one blank"),
        (["plan.json"], "0\né\n", 0, "records must be ASCII"),
        ([], "0\n", None, "usage: node pipe.js PLAN < RECORDS > REPORTS"),
        (["none.json"], "0\n", None, "the plan cannot be read: ENOENT"),
        (["other.json"], "0\n", None, "not a plan: it does not say format assocpriv-plan"),
    ],
)
def test_a_client_on_a_pipe(tmp_path, arguments, given, reports, message):
    """The pipe prints the plan's id and one report a line; an error is one line without the record's values."""
    vector = json.loads((VECTORS / "plans.json").read_text(encoding="ascii"))["plans"][0]
    (tmp_path / "plan.json").write_text(json.dumps(vector["plan"]))
    (tmp_path / "other.json").write_text("{}")
    command = [node(), CLIENT / "pipe.js", *arguments]
    done = subprocess.run(command, input=given.encode(), cwd=tmp_path, capture_output=True, check=False)
    prefix = "" if not arguments else "assocpriv: "
    assert done.stderr.decode() == (message and f"{prefix}{message}\n")
    assert done.returncode == (0 if not message else 1 if arguments else 2)
    lines = done.stdout.decode().splitlines()
    assert (lines[:1], len(lines)) == (([], 0) if reports is None else ([f"plan {vector['id']}"], 1 + reports))


def test_source_imports_downwards_and_nothing_from_outside():
    """A module imports files of its own level or lower ones; only node/ imports node's modules, one file a library."""
    imports = [(path, found) for path in SOURCES for found in _IMPORT.finditer(path.read_text(encoding="utf-8"))]
    for path, found in imports:
        name = next(filter(None, found.groups()))
        if (name.startswith("node:") and path.parent.name == "node") or (name, path.name) == ("@hpke/core", "hpke.js"):
            continue
        assert name.startswith(("./", "../")), name
        target = (path.parent / name).resolve()
        assert target in SOURCES
        assert level(target) < level(path) or target.parent == path.parent, name


def test_source_has_one_source_of_randomness_and_no_clock():
    """Random words come from one call of getRandomValues; nothing prints; one file uses the network and a clock."""
    for path in SOURCES:
        code = _COMMENT.sub("", path.read_text(encoding="utf-8"))
        assert not re.search(r"Math\.random|\bperformance\b|\bconsole\b|\beval\b|new Function", code), path
        assert not re.search(r"\bDate\b", code) or path.name == "connection.js", path  # for send times
        assert not re.search(r"XMLHttpRequest|WebSocket|sendBeacon|EventSource|importScripts", code), path
        assert "fetch(" not in code or path.name == "connection.js", path
        if "getRandomValues" in code:
            assert path.name == "words.js" or path.parent.name in ("device", "node"), path


def test_names_imported_in_the_readme_are_exported():
    """Every name that a code block of the client's README imports is exported by that module."""
    text = (CLIENT / "README.md").read_text(encoding="utf-8")
    imports = re.findall(r'import \{ ([^}]+) \} from "assocpriv(/node)?";', text)
    assert len(imports) >= 4
    for place in ("", "/node"):
        names = {name for found, where in imports if where == place for name in found.split(", ")}
        code = f'import {{ {", ".join(names)} }} from "./src{place}/index.js";'
        run(node(), "--input-type=module", "-e", code)


def test_lock_file_names_no_host():
    """The lock file pins version and digest; the installer chooses the registry."""
    lock = (CLIENT / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in lock
    assert lock.count('"integrity"') > 5


def test_versions_are_equal():
    """The package for npm has the version of the package for Python."""
    project = tomllib.loads((CLIENT.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    assert command_line.javascript_version() == project["project"]["version"]
