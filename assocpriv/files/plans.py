"""Plans, guidance and tree models at rest.

Plan files: the plan as JSON text.

Guidance at rest: one JSON object (docs/formats/guided-plan.md).
"""

import io
import json
from pathlib import Path
from typing import overload

from assocpriv.files.atomic import atomic_output
from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.guidance import Guidance
from assocpriv.plans.kind import parse_plan
from assocpriv.plans.published import AnyPlan, PublishedPlan
from assocpriv.promise.errors import GuidanceError, NotAPlanError, PlanError

_LARGEST_FILE = 64 << 20  # a million names fit; anything longer is neither a plan nor names


def write_plan(plan: PublishedPlan, path: str | Path, *, force: bool = False) -> None:
    """Write a plan as indented JSON; its id depends on its content, not on the layout.

    Raises:
        FileError: the file exists and ``force`` is not set, or cannot be written.
    """
    with atomic_output(path, force=force) as stream:
        stream.write((json.dumps(plan.to_json(), indent=1) + "\n").encode("ascii"))


@overload
def read_plan(path: str | Path) -> PublishedPlan: ...


@overload
def read_plan(path: str | Path, wanted: type[AnyPlan]) -> AnyPlan: ...


def read_plan(path: str | Path, wanted: type[PublishedPlan] = PublishedPlan) -> PublishedPlan:
    """Read a plan file, of the class of plans that there is a use for.

    Raises:
        PlanError: the file cannot be read, is not a plan, or states a promise its operator breaks; or the plan is of
            another kind than wanted.
    """
    return plan_of_text(read_plan_text(path), path, wanted)


def plan_of_text(text: str, path: str | Path, wanted: type[AnyPlan]) -> AnyPlan:
    """Return the plan that a file's text holds, as :func:`read_plan`; ``path`` is named in errors."""
    try:
        return parse_plan(text).as_a(wanted)
    except PlanError as error:
        raise type(error)(f"{path}: {error}") from None


def read_plan_text(path: str | Path) -> str:
    """Read the text of a plan file, UTF-8 without a mark before it; every reader takes the same bytes for a plan."""
    text = _read(path, "plan", "utf-8", NotAPlanError)
    if text.startswith("\ufeff"):
        raise NotAPlanError(f"{path} is not a plan: it begins with a byte order mark; save it as UTF-8 without one")
    return text


def read_catalogue(path: str | Path) -> Catalogue:
    """Read a catalogue: UTF-8 text, an item's name a line.

    Raises:
        PlanError: the file cannot be read, or a line is no name or repeats one.
    """
    return read_names(path, "catalogue")


def read_names(path: str | Path, what: str) -> Catalogue:
    """Read names as :func:`read_catalogue` does; ``what`` they are stands in errors."""
    text = read_text(path, what)
    try:
        return Catalogue(line.strip() for line in text.rstrip().split("\n"))
    except PlanError as error:
        raise PlanError(f"{path}: {error}") from None


def read_text(path: str | Path, what: str) -> str:
    """Read a file of names that a plan is made of, perhaps after a byte order mark; ``what`` it is stands in errors."""
    return _read(path, what, "utf-8-sig")


def _read(path: str | Path, what: str, encoding: str, unfit: type[PlanError] = PlanError) -> str:
    try:
        with Path(path).open("rb") as file:
            content = file.read(_LARGEST_FILE + 1)  # whatever size a device or a pipe may claim
        if len(content) > _LARGEST_FILE:
            raise unfit(f"{path} is not a {what}: it is larger than {_LARGEST_FILE >> 20} MiB")
        return io.TextIOWrapper(io.BytesIO(content), encoding=encoding).read()
    except OSError as error:
        raise PlanError(f"cannot read the {what} {path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        found = "a Parquet file, as of reports or itemsets" if content.startswith(b"PAR1") else "not UTF-8 text"
        raise unfit(f"{path} is not a {what}: it is {found}") from None


def write_guidance(guidance: Guidance, path: str | Path, *, force: bool = False) -> None:
    """Write guidance; the file appears whole or not at all.

    Raises:
        FileError: the file exists and ``force`` is not set, or cannot be written.
    """
    with atomic_output(path, force=force) as stream:
        stream.write((guidance.canonical_json + "\n").encode("ascii"))


def read_guidance(path: str | Path) -> Guidance:
    """Read guidance; a client checks it against its plan before it answers.

    Raises:
        GuidanceError: the file cannot be read, or holds no guidance.
    """
    try:
        return Guidance.parse(read_text(path, "guidance"))
    except PlanError as error:
        raise GuidanceError(str(error)) from None
    except GuidanceError as error:
        raise GuidanceError(f"{path}: {error}") from None
