"""Docstrings of the public API have one form: a summary in one line, then Args, Returns and Raises.

Public are the names in the stubs of the public modules, the dataclasses that these functions return, and the public
methods and properties of all these classes.

- A function or method names each parameter under ``Args:``. Entries may name several parameters.
- One that returns something has ``Returns:``.
- One has ``Raises:`` if its own source raises an error or calls a function that checks an argument (``CHECKS``). Each
  class of error that its source raises by name is an entry, or a class above it is.
- A class names each argument of its constructor under ``Attributes:`` or ``Args:``, and has ``Raises:`` likewise.
- A property has a sentence.
"""

import ast
import builtins
import dataclasses
import functools
import inspect
import re
import textwrap
from collections.abc import Iterator
from importlib import import_module
from types import FunctionType
from typing import Any

import pytest

import assocpriv as ap
from assocpriv.guarantees import errors as package_errors

# show is for commands
MODULES = [ap, *(getattr(ap, name) for name in ap.__all__ if name != "show" and inspect.ismodule(getattr(ap, name)))]
SECTIONS = ("Args", "Attributes", "Returns", "Raises")
OF_TYPES = ("check_type", "require")  # functions that raise TypeError for an argument of another type
CHECKS = re.compile(r"_?check_\w+|require|require_type|read_share|parse_\w+")  # those that raise for a wrong value


def public() -> dict[str, Any]:
    """Return the functions, classes, methods and properties by their names; inherited ones by their own class."""
    values = [getattr(module, name) for module in MODULES for name in module.__all__]
    values += [each for value in values if isinstance(value, FunctionType) for each in results(value)]
    found: dict[str, Any] = {}
    for value in values:
        if not inspect.ismodule(value):
            found[f"{value.__module__}.{value.__qualname__}"] = value
        if isinstance(value, type):
            found |= members(value)
    return found


@functools.cache
def imported(module: Any) -> dict[str, str]:
    """Return the home of each name that a module imports."""
    imports = [each for each in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(each, ast.ImportFrom)]
    return {alias.name: str(each.module) for each in imports for alias in each.names}


def results(function: FunctionType) -> Iterator[type]:
    """Yield the dataclasses of this package that a function returns, by its annotation and its module's imports."""
    module = inspect.getmodule(function)
    homes = imported(module)
    for name in re.findall(r"[A-Z]\w+", str(inspect.signature(function).return_annotation)):
        home = import_module(homes[name]) if homes.get(name, "").startswith("assocpriv") else module
        value = vars(home).get(name)
        if isinstance(value, type) and value.__module__.startswith("assocpriv") and dataclasses.is_dataclass(value):
            yield value


def members(cls: type) -> dict[str, Any]:
    """Return the public methods and properties that this package defines of a class."""
    homes = {name: home for home in reversed(cls.__mro__) for name in vars(home) if not name.startswith("_")}
    found = {}
    for name, home in homes.items():
        member = vars(home)[name]
        member = getattr(member, "__func__", member)  # of a class method
        if home.__module__.startswith("assocpriv.") and isinstance(
            member, FunctionType | property | functools.cached_property
        ):
            found[f"{home.__module__}.{home.__qualname__}.{name}"] = member
    return found


def faults(value: Any) -> Iterator[str]:
    """Yield what a docstring lacks."""
    lines = inspect.cleandoc(value.__doc__ or "").splitlines() or [""]
    if not lines[0].endswith((".", "?")) or "".join(lines[1:2]):
        yield "a summary in one line that ends with a full stop"
    if (isinstance(value, type) and issubclass(value, Exception)) or not callable(value):
        return
    entries = read_entries(lines)
    if list(entries) != sorted(entries, key=SECTIONS.index):
        yield f"sections in the order {', '.join(SECTIONS)}"
    is_class = isinstance(value, type)
    described = entries.get("Args", set()) | (entries.get("Attributes", set()) if is_class else set())
    arguments = set() if is_class and value.__init__ is object.__init__ else parameters(value)
    yield from (f"an entry of {name}" for name in sorted(arguments - described))
    yield from (f"no entry of {name}, which is no parameter" for name in sorted(entries.get("Args", set()) - arguments))
    if not is_class and "Returns" not in entries and inspect.signature(value).return_annotation not in (None, "None"):
        yield "Returns:"
    raised = {error for each in (constructors(value) if is_class else [value]) for error in errors(each)}
    if raised and "Raises" not in entries:
        yield "Raises:"
    else:
        named = entries.get("Raises", set())
        yield from (
            f"an entry of {each.__name__}"
            for each in raised - {Exception}
            if not named & {up.__name__ for up in each.__mro__}
        )


def read_entries(lines: list[str]) -> dict[str, set[str]]:
    """Return the names that have an entry, by section."""
    entries, section = dict[str, set[str]](), ""
    for line in lines:
        if line and not line.startswith(" "):
            section = line[:-1] if line[-1] == ":" and line[:-1] in SECTIONS else ""
            entries |= {section: set()} if section else {}
        elif section and (entry := re.match(r" {4}(\w+(?:, \w+)*): \S", line)):
            entries[section] |= set(entry[1].split(", "))
    return entries


def parameters(value: Any) -> set[str]:
    """Return the parameters of a function, without the first of a method, or of a class."""
    names = inspect.signature(value).parameters
    return {name for name in names if not name.startswith("_") and name not in ("self", "cls")}


def constructors(cls: type) -> list[FunctionType]:
    """Return the methods of a class, written by hand, that check what it is made of."""
    written = (vars(cls).get(name) for name in ("__init__", "__post_init__"))
    return [each for each in written if each is not None and not each.__code__.co_filename.startswith("<")]


def errors(function: FunctionType) -> Iterator[type]:
    """Yield the errors that a function's own source raises by name; Exception for any that a check raises."""
    known = vars(builtins) | vars(package_errors)
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function)))):
        if isinstance(node, ast.Raise):
            raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            yield known.get(name_of(raised), Exception)
        elif isinstance(node, ast.Call) and CHECKS.fullmatch(name := name_of(node.func)):
            yield TypeError if name in OF_TYPES else Exception


def name_of(called: ast.expr | None) -> str:
    """Return the last name in an expression such as ``errors.PlanError``."""
    return str(getattr(called, "attr", getattr(called, "id", "")))


PUBLIC = public()


@pytest.mark.parametrize("name", PUBLIC)
def test_docstrings_have_one_form(name: str) -> None:
    """The docstring of each public name has all that the form asks for."""
    assert list(faults(PUBLIC[name])) == [], name


def written(count: int, size: int = 2) -> list[int]:
    """Return a list.

    Args:
        count, size: numbers.

    Returns:
        The list, of ``count`` numbers.

    Raises:
        ValueError: the count is negative.
    """
    if count < 0:
        raise ValueError(count)
    return [size] * count


@pytest.mark.parametrize(
    ("text", "other", "fault"),
    [
        (".", "", "a summary in one line that ends with a full stop"), ("count, size", "count", "an entry of size"),
        ("count, size", "count, size, more", "no entry of more, which is no parameter"),
        ("Args:", "With:", "an entry of count"), ("Returns:", "What:", "Returns:"), ("Raises:", "When:", "Raises:"),
        ("ValueError", "KeyError", "an entry of ValueError"),
    ],
)  # fmt: skip
def test_faults_are_found(text: str, other: str, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check passes a whole docstring, and finds each thing that is missing."""
    assert list(faults(written)) == []
    monkeypatch.setattr(written, "__doc__", str(written.__doc__).replace(text, other, 1))
    assert fault in list(faults(written))
