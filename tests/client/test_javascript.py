"""The client in JavaScript: its tests, types and style, in node and in Chromium; what it may import and call."""

import json
import os
import re
import subprocess
import tomllib

import javascript
import pytest
from debian_packages import program
from javascript import CLIENT, run

VECTORS = CLIENT.parents[1] / "tests" / "vectors"
BUNDLE = CLIENT.parents[1] / "assocpriv" / "pages" / "bundle"
SOURCES = sorted((CLIENT / "src").rglob("*.js"))
_IMPORT = re.compile(
    r"""^(?:import|export)\b[^;"]*?from "([^"]+)";|^import "([^"]+)";|\bimport\("([^"]+)"\)""", re.MULTILINE
)
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
# a folder imports only from those before it; what stands in src/ itself is below all but index.js and kinds.js
FLOORS = {"": 0, "baskets": 1, "tables": 1, "guided": 2, "device": 4, "node": 5}
ABOVE = {"kinds.js": 3, "index.js": 6}


def floor(path):
    """Return how high a file stands."""
    relative = path.relative_to(CLIENT / "src")
    return ABOVE[relative.name] if str(relative) in ABOVE else FLOORS[str(relative.parent).replace(".", "", 1)]


def test_node_runs_its_tests():
    """Every test of clients/js passes in node."""
    done = run(javascript.node(), "--test", *sorted(javascript.tools().glob("test/*.test.js")))
    assert int(re.search(r"^# pass (\d+)$", done.stdout, re.MULTILINE)[1]) >= 3


def test_types_and_style():
    """The types that comments give hold, and the linter finds nothing."""
    tools = javascript.tools()
    run(javascript.node(), tools / "node_modules/typescript/bin/tsc")
    run(javascript.node(), tools / "node_modules/eslint/bin/eslint.js", "--max-warnings", "0", ".")


def test_chromium_agrees_with_the_vectors():
    """The shared vectors hold in a page of Chromium as they do in node."""
    chromium = program("chromium", "chromium")
    tools = javascript.tools()
    done = run(javascript.node(), tools / "test/chromium.js", env=os.environ | {"CHROMIUM": chromium})
    assert done.stdout.count("\nok: ") + done.stdout.startswith("ok: ") >= 3


def test_the_package_has_what_the_sources_make(tmp_path):
    """Script, integrity and types in the Python package are those that the pinned tools make; the types hold."""
    tools = javascript.tools()
    run(javascript.node(), tools / "tools/bundle.js", tmp_path)
    for path in tmp_path.iterdir():
        assert (BUNDLE / path.name).read_bytes() == path.read_bytes(), f"{path.name}: run npm run bundle in clients/js"
    (tmp_path / "use.ts").write_text(
        'import { Collector, sendRecord, openLedger } from "assocpriv";\n'
        'const collector = new Collector("https://shop.example", { patienceSeconds: 10 });\n'
        "const sending = async () => {\n"
        '  const sent = await sendRecord([], { collector, ledger: await openLedger(), occasion: "1" });\n'
        "  // @ts-expect-error a text\n  const state: number = sent.state;\n};\n"
    )
    given = ["--strict", "--noEmit", "--target", "es2022", "--moduleResolution", "bundler", "--module", "esnext"]
    run(
        javascript.node(),
        tools / "node_modules/typescript/bin/tsc",
        *given,
        BUNDLE / "assocpriv.d.ts",
        tmp_path / "use.ts",
    )


def test_one_file_is_small_and_pinned():
    """The bundle is below 38 KB compressed; Chromium runs it by its integrity, and refuses it with one byte more."""
    chromium = program("chromium", "chromium")
    tools = javascript.tools()
    assert "ok: " in run(javascript.node(), tools / "test/pinned.js", env=os.environ | {"CHROMIUM": chromium}).stdout


def test_packed_and_installed_elsewhere(tmp_path):
    """The package for npm installs in an empty folder without a network, and runs there as either kind of module."""
    npm = program("npm", "npm")
    packed = json.loads(run(npm, "pack", "--json", "--pack-destination", tmp_path, folder=javascript.tools()).stdout)[0]
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
        assert run(javascript.node(), script, folder=tmp_path).stdout == "1\n"
    pipe = [javascript.node(), tmp_path / "node_modules/assocpriv/pipe.js", "plan.json"]
    assert len(run(*pipe, folder=tmp_path, input="1\n\n").stdout.splitlines()) == 3


@pytest.mark.parametrize(
    ("given", "answered", "said"),
    [
        ("0\n\n", 2, ""),
        ("0\n777", 1, "assocpriv: the last line does not end in a line feed, so something may be missing\n"),
        ("0\n777\n", 0, "assocpriv: line 2: the basket holds an item id outside the plan's catalogue, 0..1\n"),
        ("milk\n", 0, "assocpriv: line 1: a transaction is item ids in decimal with one blank between two\n"),
        ("0\né\n", 0, "assocpriv: records must be ASCII\n"),
    ],
)
def test_a_client_on_a_pipe(tmp_path, given, answered, said):
    """A report a line after the plan's id; what cannot be answered is told in a line without its values."""
    vector = json.loads((VECTORS / "plans.json").read_text(encoding="ascii"))["plans"][0]
    (tmp_path / "plan.json").write_text(json.dumps(vector["plan"]))
    command = [javascript.node(), CLIENT / "pipe.js", tmp_path / "plan.json"]
    done = subprocess.run(command, input=given.encode(), capture_output=True, check=False)
    assert (done.returncode, done.stderr.decode()) == (int(said != ""), said)
    lines = done.stdout.decode().splitlines()
    assert lines[0] == f"plan {vector['id']}"
    assert len(lines) == 1 + answered


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ([], 2, "usage: node pipe.js PLAN < RECORDS > REPORTS\n"),
        (["none.json"], 1, "assocpriv: the plan cannot be read: ENOENT\n"),
        (["package.json"], 1, "assocpriv: not a plan: it does not say format assocpriv-plan\n"),
    ],
)
def test_a_client_on_a_pipe_without_a_plan(arguments, status, said):
    """Where there is no plan, nothing is answered."""
    command = [javascript.node(), CLIENT / "pipe.js", *arguments]
    done = subprocess.run(command, input="0\n", cwd=CLIENT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (status, "", said)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(CLIENT / "src")))
def test_source_imports_downwards_and_nothing_from_outside(path):
    """A module imports files of its own floor or below; only those for node import of node, and one a library."""
    for found in _IMPORT.finditer(path.read_text(encoding="utf-8")):
        name = next(filter(None, found.groups()))
        if name.startswith("node:") and path.parent.name == "node":
            continue
        if (name, path.name) == ("@hpke/core", "hpke.js"):
            continue
        assert name.startswith(("./", "../")), name
        target = (path.parent / name).resolve()
        assert target in SOURCES
        assert floor(target) < floor(path) or target.parent == path.parent, name


def test_source_has_one_source_of_chance_and_no_clock():
    """Words of reports come from one call of getRandomValues; nothing prints; one file asks a net and reads a clock."""
    for path in SOURCES:
        code = _COMMENT.sub("", path.read_text(encoding="utf-8"))
        assert not re.search(r"Math\.random|\bperformance\b|\bconsole\b|\beval\b|new Function", code), path
        assert not re.search(r"\bDate\b", code) or path.name == "connection.js", path  # for moments of sending
        assert not re.search(r"XMLHttpRequest|WebSocket|sendBeacon|EventSource|importScripts", code), path
        assert "fetch(" not in code or path.name == "connection.js", path
        if "getRandomValues" in code:
            assert path.name == "words.js" or path.parent.name in ("device", "node"), path


def test_what_the_readme_imports_is_exported():
    """Every name that a block of the client's README imports is one of the module that it is imported from."""
    text = (CLIENT / "README.md").read_text(encoding="utf-8")
    imports = re.findall(r'import \{ ([^}]+) \} from "assocpriv(/node)?";', text)
    assert len(imports) >= 4
    for names, place in imports:
        module = json.dumps(f"./src{place}/index.js")
        code = f"import({module}).then((found) => console.log(Object.keys(found).join()))"
        exported = run(javascript.node(), "--input-type=module", "-e", code).stdout.strip().split(",")
        assert set(names.split(", ")) <= set(exported)


def test_lock_file_names_no_host():
    """What is installed is said by version and digest; where it comes from is up to who installs it."""
    lock = (CLIENT / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in lock
    assert lock.count('"integrity"') > 5


def test_versions_are_one():
    """The package for npm has the version of the package for Python."""
    project = tomllib.loads((CLIENT.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    assert javascript.version() == project["project"]["version"]
