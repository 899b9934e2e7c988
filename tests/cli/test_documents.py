"""Tests that help and docs/cli document the whole command line."""

import re
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from pkgutil import resolve_name

import click
import pytest
from command_line import DOCS, documents, parses, run, section

import assocpriv as ap
from assocpriv.cli.main import main
from assocpriv.cli.options import Command
from assocpriv.show import collection_views
from tests.whole.test_frozen import FROZEN, JOURNEY


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


SECTIONS = {  # of steps in whole/frozen.txt whose keys are those of a plan type
    "plan of a table": "Plans of a table", "inspect table plan": "Plans of a table",
    "randomize of a table": "Randomizing a table", "randomize guided": "Answering guidance",
}  # fmt: skip
STEPS = dict(line.split(": ") for line in JOURNEY.strip().splitlines())
PRINTED = {  # the keys of the JSON that each step prints
    block.partition(",")[0]: re.findall(r"^  \.(\w+)\?? ", block, flags=re.MULTILINE)
    for block in re.findall(r"^json ((?:.+, exit status [01]\n)(?:  .*\n)*)", FROZEN.read_text(encoding="utf-8"), re.M)
}


def command_of(step: str) -> str:
    """Return the name of a step's command."""
    return next(name for name in sorted(LEAVES, reverse=True) if f"assocpriv {STEPS[step]} ".startswith(f"{name} "))


def text_about(name: str) -> str:
    """Return a command's section, and those of the commands whose keys or facts it refers to."""
    text = section(name)
    others = re.findall(r"(?:keys|facts|model those|release those) of\s`(?:assocpriv )?([a-z ]+)`", text)
    return text + "".join(text_about(f"assocpriv {each}") for each in others)


@pytest.mark.parametrize("step", PRINTED)
def test_docs_name_all_json_keys(step: str) -> None:
    """A command's section names every key that its --json prints; frozen.txt has them."""
    text = text_about(SECTIONS.get(step) or command_of(step))
    assert [key for key in PRINTED[step] if f"`{key}`" not in text] == []


def test_docs_name_the_keys_of_a_set_aside_key() -> None:
    """The step above has no reports of a key, so it prints none."""
    record = collection_views.set_aside(3, 7, Path("c"), restore=False).to_json()
    assert [key for key in record if f"`{key}`" not in section("assocpriv collector set-aside")] == []


def test_every_json_command_is_tried() -> None:
    """These steps have every command that has --json."""
    with_json = [name for name in LEAVES if isinstance(command := ALL[name], Command) and "json" in command.taken]
    assert {command_of(step) for step in PRINTED} == set(with_json)
