"""Tests that help and docs/cli document the whole command line."""

import re
from collections.abc import Callable, Iterator
from operator import attrgetter
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import click
import pytest
from command_line import DOCS, PLAN_ARGUMENTS, documents, parses, run, run_json, section
from running_collector import PLAN, upload

import assocpriv as ap
from assocpriv.cli.main import main
from assocpriv.cli.options import Command
from assocpriv.collect.sqlite import SqliteStore
from assocpriv.collect.store import close_all_batches


def commands(command: click.Command = main, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    """Yield every command and group with its full name."""
    yield " ".join(("assocpriv", *path)), command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from commands(below, (*path, name))


ALL = dict(commands())
LEAVES = [name for name, command in ALL.items() if not isinstance(command, click.Group)]


@pytest.mark.parametrize("name", sorted(ALL))
def test_help_shows_an_example(name: str) -> None:
    """Every command's help shows an example that begins with the program and parses."""
    output = run(*name.split()[1:], "--help").stdout
    examples = [line.strip().split() for line in output.splitlines() if line.strip().startswith("assocpriv ")]
    assert examples
    for example in examples:
        name = next(each for each in sorted(LEAVES, reverse=True) if " ".join(example).startswith(each))
        assert parses(ALL[name], example[len(name.split()) :])


def test_docs_have_a_section_for_each_command() -> None:
    """docs/cli has one section for every command and none for others."""
    headings = re.findall(r"^## `(assocpriv .+)`$", documents(), flags=re.MULTILINE)
    assert sorted(headings) == sorted(LEAVES)


def test_docs_have_an_index() -> None:
    """docs/cli.md lists the pages with the commands that each describes."""
    index = (DOCS / "cli.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\(cli/(\w+)\.md\)", index)) == {page.stem for page in DOCS.glob("cli/*.md")}
    for row in re.findall(r"^\| \[.*\|$", index, flags=re.MULTILINE):
        page = (DOCS / re.findall(r"\((cli/\w+\.md)\)", row)[0]).read_text(encoding="utf-8")
        selected = {f"assocpriv {name}" for name in re.findall(r"`([^`]+)`", row)}
        assert selected == set(re.findall(r"^## `(assocpriv .+)`$", page, flags=re.MULTILINE))


OTHER_PROGRAMS = {
    "--config", "--import", "--now", "--retry", "--retry-connrefused", "--retry-delay", "--slow", "--upgrade",
}  # fmt: skip


@pytest.mark.parametrize("page", [*DOCS.rglob("*.md"), DOCS.parent / "README.md"], ids=lambda page: page.stem)
def test_pages_name_existing_options_and_functions(page: Path) -> None:
    """Every option on a page is one of a command, and every name of ``ap`` exists."""
    text = page.read_text(encoding="utf-8")
    known = {word for command in ALL.values() for each in command.params for word in each.opts} | OTHER_PROGRAMS
    of_all = {"--force", "--help", "--help-all", "--json", "--quiet", "--verbose", "--version"}
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)) - known <= of_all
    for name in re.findall(r"\bap\.([\w.]*\w)", text):
        attrgetter(name)(ap)


@pytest.mark.parametrize("name", LEAVES)
def test_docs_take_options_from_the_code(name: str) -> None:
    """A command's section has the directive that lists its options."""
    [home] = re.findall(r"^```{options} (\S+)$", section(name), flags=re.MULTILINE)
    assert resolve_name(home) == ALL[name]


def test_commands_and_options_can_be_held_in_the_head() -> None:
    """There are at most 31 commands and 229 options, with hidden ones; help of the five most used shows at most 14."""
    own = {name: [each for each in command.params if isinstance(each, click.Option)] for name, command in ALL.items()}
    assert len(LEAVES) <= 31
    assert sum(map(len, own.values())) <= 229
    for name in ("plan", "randomize", "mine", "rules", "simulate"):
        assert sum(not each.hidden for each in own[f"assocpriv {name}"]) <= 14


@pytest.mark.parametrize("name", LEAVES)
def test_docs_have_examples_that_parse(name: str) -> None:
    """A command's section shows an example, and every example parses."""
    blocks = re.findall(r"```\n(.*?)```", section(name), flags=re.DOTALL)
    examples = [line for block in blocks for line in block.splitlines() if line.startswith("assocpriv ")]
    assert any(line.startswith(f"{name} ") or line == name for line in examples)
    for line in examples:
        if line.startswith(name):
            assert parses(ALL[name], line.removeprefix(name).split())


def inbox(folder: Path) -> Path:
    """Return a folder with one single report."""
    (folder / "inbox").mkdir()
    (folder / "inbox" / "r.bin").write_bytes(bytes(2))
    return folder / "inbox"


def collected(folder: Path) -> Path:
    """Return a collector's folder with a report that came with a key."""
    data = folder / "data"
    store = SqliteStore(data, PLAN)
    store.add([upload([1], key=1)])
    close_all_batches(store, allow_small=True)
    store.close()
    run("collector", "keys", data, "--add", "till-1")
    return data


def released_table(folder: Path) -> Path:
    """Return reports of loan applicants, made in a folder with the table."""
    table, schema, plan = folder / "table.csv", folder / "schema.toml", folder / "table-plan.json"
    run("generate", "agrawal", "--people", 2000, "--schema", schema, "-o", table)
    run("plan", "--schema", schema, "-o", plan)
    run("randomize", table, "--plan", plan, "-o", folder / "released.parquet")
    return folder / "released.parquet"


def released_and_plan(folder: Path) -> list[Any]:
    """Return a table of loan applicants and the option that names its plan."""
    released_table(folder)
    return [folder / "table.csv", "--plan", folder / "table-plan.json"]


def tree_model(folder: Path) -> Path:
    """Return a model of such reports."""
    run("tree", released_table(folder), "--class", "class", "-o", folder / "model.json")
    return folder / "model.json"


def templates_of_table(folder: Path) -> list[Any]:
    """Return a table and the option that names its templates, made in a folder."""
    (folder / "jobs.csv").write_text("job,ill,rating\ncook,no,good\nclerk,yes,bad\ncook,yes,bad\ncook,no,good\n")
    (folder / "templates.json").write_text('[{"channel": ["job"], "sensitive": {"ill": ["yes"]}, "confidence": "60%"}]')
    return [folder / "jobs.csv", "--templates", folder / "templates.json"]


def templates_of_baskets(folder: Path) -> list[Any]:
    """Return baskets, their layout, and the option that names their templates, made in a folder."""
    (folder / "b.csv").write_text("beer,test\nmilk\nbeer,test\nbeer\n")
    (folder / "t.json").write_text('[{"channel": ["beer"], "sensitive": ["test"], "confidence": "60%"}]')
    return [folder / "b.csv", "--layout", "lines", "--templates", folder / "t.json"]


def votes(folder: Path) -> list[Any]:
    """Return a table of votes, made in a folder, and the option that names its class."""
    lines = [f"{'ab'[place % 2]},{'yn'[place % 2]},{'yn'[place % 3 > 0]}" for place in range(60)]
    (folder / "votes.csv").write_text("\n".join(["party,v1,v2", *lines]) + "\n")
    return [folder / "votes.csv", "--class", "party"]


def miner(folder: Path) -> Path:
    """Return a miner's state, made in a folder with the plan of votes and its first guidance."""
    run("guide", "start", *votes(folder), "-o", folder / "guided.json", "--state", folder / "state.json")
    run("guide", "publish", folder / "state.json", "-o", folder / "guidance.json")
    return folder / "state.json"


def answering(folder: Path) -> list[Any]:
    """Return the arguments that answer this guidance."""
    miner(folder)
    given = [folder / "votes.csv", "--plan", folder / "guided.json", "--guidance", folder / "guidance.json"]
    return ["randomize", *given, "-o", folder / "released.parquet"]


def trying(folder: Path) -> list[Any]:
    """Return the arguments that simulate the plan of votes."""
    miner(folder)
    return ["simulate", folder / "votes.csv", "--plan", folder / "guided.json"]


def released_votes(folder: Path) -> Path:
    """Return reports that answer this guidance."""
    run(*answering(folder))
    return folder / "released.parquet"


def ledger_with_report(home: Path, folder: Path) -> Path:
    """Return a ledger with one report."""
    with ap.device.Ledger.open(folder / "l.bin") as ledger:
        ledger.report(["1"], ap.read_plan(home / "plan.json"), period="now")
    return folder / "l.bin"


JSON_COMMANDS: dict[str, Callable[[Path, Path], list[Any]]] = {
    "assocpriv plan": lambda home, out: [*PLAN_ARGUMENTS, "-o", out / "p.json"],
    "assocpriv randomize": lambda home, out: [
        "randomize", home / "b.dat", "--plan", home / "plan.json", "-o", out / "r.parquet"
    ],
    "assocpriv report": lambda home, out: [
        "report", "--plan", home / "plan.json", "--ledger", out / "l.bin", "--period", "now", "--empty", "keep",
        "-o", out / "r.bin",
    ],
    "assocpriv report of the budget": lambda home, out: [
        "report", "--ledger", ledger_with_report(home, out), "--spent"
    ],
    "assocpriv reconstruct": lambda home, out: ["reconstruct", released_table(out), "--by", "class"],
    "assocpriv tree": lambda home, out: ["tree", released_table(out), "--class", "class", "-o", out / "m.json"],
    "assocpriv predict": lambda home, out: ["predict", tree_model(out), out / "table.csv", "-o", out / "p.csv"],
    "assocpriv release": lambda home, out: [
        "release", home / "b.dat", "--catalogue", names_of(home, out), "--epsilon", 50, "-o", out / "counts.parquet"
    ],
    "assocpriv suppress": lambda home, out: ["suppress", *templates_of_table(out), "-o", out / "released.csv"],
    "assocpriv suppress of baskets": lambda home, out: ["suppress", *templates_of_baskets(out), "-o", out / "out.csv"],
    "assocpriv guide start": lambda home, out: [
        "guide", "start", *votes(out), "-o", out / "guided.json", "--state", out / "state.json"
    ],
    "assocpriv guide publish": lambda home, out: ["guide", "publish", miner(out), "-o", out / "g.json"],
    "assocpriv guide collect": lambda home, out: [
        "guide", "collect", released_votes(out), "--state", out / "state.json"
    ],
    "assocpriv gather": lambda home, out: ["gather", inbox(out), "--plan", home / "plan.json", "-o", out / "c"],
    "assocpriv collector keys": lambda home, out: ["collector", "keys", collected(out), "--add", "till"],
    "assocpriv collector status": lambda home, out: ["collector", "status", collected(out)],
    "assocpriv collector close": lambda home, out: ["collector", "close", collected(out)],
    "assocpriv collector remove": lambda home, out: ["collector", "remove", collected(out), 365],
    "assocpriv collector set-aside": lambda home, out: ["collector", "set-aside", collected(out), "--key", 1],
    "assocpriv mine": lambda home, out: ["mine", home / "r.parquet", "--min-support", "20%"],
    "assocpriv rules": lambda home, out: ["rules", home / "i.parquet", "--min-confidence", "10%"],
    "assocpriv ask": lambda home, out: ["ask", home / "r.parquet", "--itemset", "1,2", "--rule", "1=>2"],
    "assocpriv compare": lambda home, out: ["compare", home / "r.parquet", home / "i.parquet", "--fdr", "5%"],
    "assocpriv refine": lambda home, out: [
        "refine", home / "r.parquet", "--best", 3, "-o", out / "p.json"
    ],
    "assocpriv catalogue": lambda home, out: ["catalogue", home / "b.csv", "-o", out / "names.txt"],
    "assocpriv privacy": lambda home, out: ["privacy", home / "plan.json"],
    "assocpriv inspect": lambda home, out: ["inspect", home / "r.parquet"],
    "assocpriv simulate": lambda home, out: [
        "simulate", home / "b.dat", "--plan", home / "plan.json", "--min-support", "20%"
    ],
    "assocpriv simulate of tables": lambda home, out: ["simulate", *released_and_plan(out)],
    "assocpriv simulate of levels": lambda home, out: trying(out),
    "assocpriv audit": lambda home, out: ["audit", home / "plan.json", "--trials", 1000, "--confidence", "99.9999%"],
    "assocpriv generate": lambda home, out: ["generate", "quest", "--people", 9, "-o", out / "b.dat"],
    "assocpriv demo": lambda home, out: ["demo", "--baskets", home / "b.dat", "-o", out / "demo"],
}  # fmt: skip


OTHER_KINDS: dict[str, Callable[[Path, Path], list[Any]]] = {  # of plans: sections of their own
    "Plans of a table": lambda home, out: [
        "plan", "--schema", released_table(out).with_name("schema.toml"), "-o", out / "p.json",
    ],
    "Randomizing a table": lambda home, out: ["randomize", *released_and_plan(out), "-o", out / "again.parquet"],
    "Answering guidance": lambda home, out: answering(out),
}  # fmt: skip


def names_of(home: Path, out: Path) -> Path:
    """Write the catalogue of b.dat."""
    plan = ap.read_plan(home / "plan.json", ap.Plan)
    (out / "names.txt").write_text("\n".join(plan.catalogue) + "\n", encoding="utf-8")
    return out / "names.txt"


def text_about(name: str) -> str:
    """Return a command's section, and those of the commands whose keys or facts it refers to."""
    text = section(name)
    return text + "".join(text_about(each) for each in re.findall(r"(?:keys|facts) of `(assocpriv [a-z ]+)`", text))


@pytest.mark.parametrize("name", JSON_COMMANDS | OTHER_KINDS)
def test_docs_name_all_json_keys(home: Path, tmp_path: Path, name: str) -> None:
    """A command's section names every key that its --json prints."""
    record = run_json(*(JSON_COMMANDS | OTHER_KINDS)[name](home, tmp_path))
    text = text_about(name.partition(" of ")[0] if name in JSON_COMMANDS else name)
    assert [key for key in record if f"`{key}`" not in text] == []


def test_every_json_command_is_tried() -> None:
    """The list above holds every command that has --json."""
    with_json = [name for name in LEAVES if isinstance(command := ALL[name], Command) and "json" in command.taken]
    assert {name.partition(" of ")[0] for name in JSON_COMMANDS} == set(with_json)
