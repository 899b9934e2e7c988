"""Marked raw items, and ways to look for them in everything that a failure shows or leaves behind."""

from collections.abc import Iterator
from pathlib import Path

NAME = "CANARY-7qz3"  # goes in as an item's name; not hexadecimal, as addresses and ids are
NUMBER = 7654321  # goes in as an item's number; beyond every catalogue's largest
_MARKS = ("canary", "7qz3", "7654321")


def marks_in(text: str | bytes) -> list[str]:
    """Return the marks that occur in a text, in any case, or in bytes, also as UTF-16.

    >>> marks_in("item CANARY-7qz3"), marks_in("item 3 of basket 7")
    (['canary', '7qz3'], [])
    """
    if isinstance(text, bytes):
        lowered = text.lower()
        return [mark for mark in _MARKS if mark.encode() in lowered or mark.encode("utf-16-le") in lowered]
    return [mark for mark in _MARKS if mark in text.lower()]


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and all it was raised from or during, suppressed ones too."""
    waiting, seen = [error], set()
    while waiting:
        current = waiting.pop()
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        waiting += [current.__cause__, current.__context__]
        if isinstance(current, BaseExceptionGroup):
            waiting += current.exceptions


def shown_by(error: BaseException) -> str:
    """Return all that an exception can show: its text, arguments, attributes and notes, and its chain's."""
    parts = []
    for link in chain(error):
        parts += [str(link), repr(link), repr(link.args), repr(vars(link))]
        if isinstance(link, UnicodeError):
            parts.append(repr(getattr(link, "object", "")))
    return "\n".join(parts)


def marked_files(folder: Path, given: set[Path]) -> list[str]:
    """Return the files below a folder that hold or are named by a mark, except those given as input."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and path not in given)
    return [path.name for path in found if marks_in(path.read_bytes()) or marks_in(path.name)]
