"""What 1.0 will freeze (docs/stability.md), read from the code, and the list that it is held against, frozen.json.

Run ``python tests/frozen.py`` to write the list anew once a change is meant, except for the keys of JSON, which tests
of commands compare: those are written by hand.
"""

import importlib
import inspect
import json
from pathlib import Path
from typing import Any

import click

from assocpriv.apps.cli import main
from assocpriv.plans.registry import KINDS

FILE = Path(__file__).with_name("frozen.json")
DOORS = (
    "assocpriv",
    "assocpriv.amplification",
    "assocpriv.campaigns",
    "assocpriv.exchange",
    "assocpriv.guidance",
    "assocpriv.numeric",
    "assocpriv.operating",
    "assocpriv.pipelines",
    "assocpriv.plot",
    "assocpriv.sending",
    "assocpriv.serving",
    "assocpriv.showing",
    "assocpriv.spark",
    "assocpriv.suppression",
)


def listed() -> dict[str, Any]:
    """Return the list as it is kept."""
    content: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return content


def python_names() -> dict[str, list[str]]:
    """Return the public names of every door, functions and classes with what they take, and what classes have."""
    return {door: sorted(_described(door)) for door in DOORS}


def _described(door: str) -> list[str]:
    module = importlib.import_module(door)
    found = []
    for name in module.__all__:
        thing = getattr(module, name)
        found += [f"{name}{_arguments(thing)}", *(f"{name}.{each}" for each in _members(thing))]
    return found


def _members(thing: Any) -> list[str]:
    """Return the public methods and properties that a class of ours has, also those of classes it is made of."""
    if not inspect.isclass(thing):
        return []
    ours = [each for each in thing.__mro__ if each.__module__.startswith("assocpriv")]
    names = {name for each in ours for name in vars(each) if not name.startswith("_")}
    return [f"{name}{_arguments(getattr(thing, name))}" for name in sorted(names)]


def _arguments(thing: Any) -> str:
    if not callable(thing):
        return ""
    try:
        parameters = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return ""
    marks = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    keyword = {inspect.Parameter.KEYWORD_ONLY: "="}
    names = [f"{marks.get(each.kind, '')}{each.name}{keyword.get(each.kind, '')}" for each in parameters]
    return f"({', '.join(names)})"


def options() -> dict[str, list[str]]:
    """Return the arguments and options of every command."""
    return dict(_options("assocpriv", main, click.Context(main)))


def _options(name: str, command: click.Command, context: click.Context) -> list[tuple[str, list[str]]]:
    found = [(name, sorted("/".join((*each.opts, *each.secondary_opts)) for each in command.params))]
    if isinstance(command, click.Group):
        for word in sorted(command.list_commands(context)):
            inner = command.get_command(context, word)
            assert inner is not None
            found += _options(f"{name} {word}", inner, context)
    return found


def plan_kinds() -> list[str]:
    """Return the kinds of plans that files may hold."""
    return sorted(KINDS)


if __name__ == "__main__":
    kept = listed() if FILE.exists() else {"json": {}}
    kept |= {"python": python_names(), "options": options(), "plans": plan_kinds()}
    FILE.write_text(json.dumps(kept, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
