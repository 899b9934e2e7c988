"""Plan files: the plan as JSON text."""

import json
from pathlib import Path

from assocpriv.core.catalogue import Catalogue
from assocpriv.core.errors import PlanError
from assocpriv.core.plan import Plan
from assocpriv.files.atomic import atomic_output

_LARGEST_FILE = 64 << 20  # a million names fit; anything longer is not a plan


def write_plan(plan: Plan, path: str | Path, *, force: bool = False) -> None:
    """Write a plan as indented JSON; its id depends on its content, not on the layout.

    Raises:
        FileError: the file exists and ``force`` is not set, or cannot be written.
    """
    with atomic_output(path, force=force) as stream:
        stream.write((json.dumps(plan.to_json(), indent=1) + "\n").encode("ascii"))


def read_plan(path: str | Path) -> Plan:
    """Read a plan file.

    Raises:
        PlanError: the file cannot be read, is not a plan, or states a promise its operator breaks.
    """
    source = Path(path)
    try:
        if source.stat().st_size > _LARGEST_FILE:
            raise PlanError(f"{source} is not a plan: it is larger than {_LARGEST_FILE >> 20} MiB")
        text = source.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise PlanError(f"cannot read the plan {source}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise PlanError(f"{source} is not a plan: it is not UTF-8 text") from None
    try:
        return Plan.parse(text)
    except PlanError as error:
        raise type(error)(f"{source}: {error}") from None


def read_catalogue(path: str | Path) -> Catalogue:
    """Read a catalogue: UTF-8 text, an item's name a line.

    Raises:
        PlanError: the file cannot be read, or a line is no name or repeats one.
    """
    text = read_text(path, "catalogue")
    try:
        return Catalogue(line.strip() for line in text.rstrip().split("\n"))
    except PlanError as error:
        raise PlanError(f"{path}: {error}") from None


def read_text(path: str | Path, what: str) -> str:
    """Read a file of names that a plan is made of; ``what`` it is stands in errors.

    Raises:
        PlanError: the file cannot be read, or is not UTF-8 text.
    """
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise PlanError(f"cannot read the {what} {path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise PlanError(f"the {what} {path} is not UTF-8 text") from None
