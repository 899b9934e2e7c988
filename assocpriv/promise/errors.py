"""Every exception this package raises on purpose.

A message says what is wrong, the rule, the value and the remedy. It never contains an item, a value or a
transaction of a person: only names of fields, positions and counts.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

_Options = TypeVar("_Options")
_Wanted = TypeVar("_Wanted")


class AssocprivError(Exception):
    """Anything this package refuses; the command line prints its text as one line."""


class PlanError(AssocprivError, ValueError):
    """A plan, or a request for one, that breaks a rule."""


class NotAPlanError(PlanError):
    """Text that does not even say that it is a plan; a caller goes on to ask what else it may be."""


class PrivacyLimitError(PlanError):
    """A plan whose operator breaks the promise it states."""


class BudgetError(PlanError):
    """A further report of a person whose reports have told all that a promise allows; a caller stops asking."""


class WireError(AssocprivError, ValueError):
    """Report bytes or a report file that do not fit their plan."""


class RecordError(AssocprivError, ValueError):
    """Raw records of any kind that cannot be read or do not fit the plan."""


class GuidanceError(AssocprivError, ValueError):
    """Guidance that is none of the plan, or asks for more than a client lets go; nothing is sent."""


class BasketError(RecordError):
    """Raw baskets that cannot be read or do not fit the plan."""


class TemplateError(AssocprivError, ValueError):
    """Templates of sensitive inferences that cannot be read, do not fit the records, or that no suppression meets."""


class EstimateError(AssocprivError, ValueError):
    """A question the reports cannot answer."""


class FileError(AssocprivError, ValueError):
    """A file that cannot be read or written, other than baskets, plans and reports."""


class CollectorError(AssocprivError):
    """A collector that cannot be reached, refuses, or answers as none does; what was made for it waits."""


class SparkError(AssocprivError):
    """Spark cannot be started, does not answer, or gave up a job."""


def counted(count: int, what: str) -> str:
    """Return a number of things in words.

    >>> counted(1, "byte"), counted(2048, "byte"), counted(0, "class")
    ('1 byte', '2,048 bytes', '0 classes')
    """
    plural = "es" if what.endswith("s") else "s"
    return f"{count:,} {what}{plural if count != 1 else ''}"


def options_of(made: type[_Options], given: Mapping[str, Any], beside: Sequence[str] = ()) -> _Options:
    """Return options, of a dataclass, as somebody named them, and may name others ``beside`` them.

    Raises:
        TypeError: a name that they do not have; those that they have are said.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Paint:
    ...     colour: str = "white"
    >>> options_of(Paint, {"color": "red"})
    Traceback (most recent call last):
    TypeError: there is no argument 'color' here; there are colour
    """
    own = (name for name, each in vars(made)["__dataclass_fields__"].items() if each.init)
    check_names(given, list(dict.fromkeys((*beside, *own))))
    return made(**given)


def check_type(name: str, value: object, wanted: type[_Wanted]) -> _Wanted:
    """Return a value of the type that an argument must have; a TypeError of any other."""
    if not isinstance(value, wanted):
        raise TypeError(f"{name} must be of the class {wanted.__name__}, got a {type(value).__name__}")
    return value


def listed(values: Iterable[_Wanted], name: str, unfit: type[AssocprivError] = PlanError) -> list[_Wanted]:
    """Return several values of an argument as a list.

    Raises:
        TypeError: one value, a text or a mapping.
        AssocprivError: ``unfit`` of an iterator that gives none: who read it before got them.

    >>> listed(iter([1, 2]), "numbers")
    [1, 2]
    """
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a list of them, got a {type(values).__name__}")
    if not (found := list(values)) and isinstance(values, Iterator):
        raise unfit(f"the iterator of {name} gives none; one that was read before is empty: give a list")
    return found


def check_names(given: Iterable[str], known: Sequence[str]) -> None:
    """Refuse names of arguments that there are not, in the caller's words.

    Raises:
        TypeError: says those that there are.
    """
    for name in given:
        if name not in known:
            raise TypeError(f"there is no argument {name!r} here; there are {', '.join(known)}")
