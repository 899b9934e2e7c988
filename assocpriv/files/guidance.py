"""Guidance at rest: one JSON object (docs/formats/guided-plan.md)."""

from pathlib import Path

from assocpriv.files.atomic import atomic_output
from assocpriv.files.plans import read_text
from assocpriv.plans.guided.guidance import Guidance
from assocpriv.promise.errors import GuidanceError, PlanError


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
