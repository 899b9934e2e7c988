"""The package's exceptions, checks of arguments, and strict JSON: no repeated field, no NaN or infinity.

A message states what is wrong, the rule, the value and the remedy. It never contains an item, a value or a transaction
of a person: only names of fields, positions and counts.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

_Options = TypeVar("_Options")
_Type = TypeVar("_Type")


class AssocprivError(Exception):
    """The base class of all errors that this package raises; the command line prints the text as one line."""


class PlanError(AssocprivError, ValueError):
    """A plan, or a request for one, breaks a rule."""


class NotAPlanError(PlanError):
    """A text does not state that it is a plan; callers then try other formats."""


class PrivacyLimitError(PlanError):
    """A plan's operator breaks the guarantee that the plan states."""


class BudgetError(PlanError):
    """A further report would exceed a person's privacy budget; callers stop sending."""


class WireError(AssocprivError, ValueError):
    """Report bytes or a report file do not fit their plan."""


class RecordError(AssocprivError, ValueError):
    """Raw records cannot be read, or do not fit the plan."""


class GuidanceError(AssocprivError, ValueError):
    """Guidance belongs to another plan, or is of a higher level than the client allows; nothing is sent."""


class BasketError(RecordError):
    """Raw baskets cannot be read, or do not fit the plan."""


class TemplateError(AssocprivError, ValueError):
    """Templates of sensitive inferences cannot be read, do not fit the records, or cannot be met by suppression."""


class EstimateError(AssocprivError, ValueError):
    """The reports cannot give the requested estimate."""


class FileError(AssocprivError, ValueError):
    """A file other than baskets, plans and reports cannot be read or written."""


class CollectorError(AssocprivError):
    """A collector cannot be reached, refuses, or gives an invalid response; reports made for it stay queued."""


class SparkError(AssocprivError):
    """Spark cannot be started, does not respond, or failed a job."""


class RepeatedFieldError(ValueError):
    """A field of a JSON object is repeated; two readers might take different ones."""


def pluralize(count: int, what: str) -> str:
    """Return a count with its noun, in the plural where needed.

    >>> pluralize(1, "byte"), pluralize(2048, "byte"), pluralize(0, "class")
    ('1 byte', '2,048 bytes', '0 classes')
    """
    plural = "es" if what.endswith(("s", "ch")) else "s"
    return f"{count:,} {what}{plural if count != 1 else ''}"


def given_options(arguments: Mapping[str, Any], others: str) -> dict[str, Any]:
    """Return the options among the arguments of a call that the caller gave: neither None nor False, nor ``others``.

    >>> given_options({"data": 1, "sheet": None, "clip": True}, "data output")
    {'clip': True}
    """
    options = {name: each for name, each in arguments.items() if name not in others.split()}
    return {name: each for name, each in options.items() if each is not None and each is not False}


def build_options(options: type[_Options], given: Mapping[str, Any], more_names: Sequence[str] = ()) -> _Options:
    """Return an options dataclass with the values given by name.

    Raises:
        TypeError: an unknown name; the message lists the dataclass's fields after ``more_names``.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Paint:
    ...     colour: str = "white"
    >>> build_options(Paint, {"color": "red"})
    Traceback (most recent call last):
    TypeError: there is no argument 'color'; the arguments are colour
    """
    own = (name for name, each in vars(options)["__dataclass_fields__"].items() if each.init)
    check_argument_names(given, list(dict.fromkeys((*more_names, *own))))
    return options(**given)


def check_type(name: str, value: object, required: type[_Type]) -> _Type:
    """Return an argument's value; raise TypeError if it is not of the required type."""
    if not isinstance(value, required):
        raise TypeError(f"{name} must be of the class {required.__name__}, got a {type(value).__name__}")
    return value


def as_list(values: Iterable[_Type], name: str, error: type[AssocprivError] = PlanError) -> list[_Type]:
    """Return an argument's values as a list.

    Raises:
        TypeError: a single value, text or mapping.
        AssocprivError: of the class ``error``: an iterator without values, such as one that was read before.

    >>> as_list(iter([1, 2]), "numbers")
    [1, 2]
    """
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a list of them, got a {type(values).__name__}")
    if not (read := list(values)) and isinstance(values, Iterator):
        raise error(f"the iterator of {name} is empty, perhaps because it was read before; give a list")
    return read


def check_argument_names(given: Iterable[str], known: Sequence[str]) -> None:
    """Check that all given names of arguments are known.

    Raises:
        TypeError: an unknown name; the message lists the known ones.
    """
    for name in given:
        if name not in known:
            raise TypeError(f"there is no argument {name!r}; the arguments are {', '.join(known)}")


def json_fields(text: str | bytes, read_decimal: Callable[[str], Any] = float) -> Any:
    """Return the content of a JSON text in which no field is repeated and no number is NaN or infinite.

    ``read_decimal`` converts a number with a decimal point.

    Raises:
        RepeatedFieldError: a field is repeated.
        ValueError: the text is no JSON, or is nested too deeply.
    """
    try:
        return json.loads(text, parse_float=read_decimal, object_pairs_hook=_without_doubles, parse_constant=_refuse)
    except RecursionError:
        raise ValueError from None


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise RepeatedFieldError
    return fields


def _refuse(_name: str) -> float:
    raise ValueError
