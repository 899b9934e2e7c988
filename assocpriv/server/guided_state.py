"""The miner's state at rest: one JSON object with a digest of itself, replaced whole (docs/formats/miner-state.md)."""

import hashlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.atomic import atomic_output
from assocpriv.plans.guidance import Guidance
from assocpriv.plans.guided import GuidedPlan
from assocpriv.promise.errors import FileError, PlanError
from assocpriv.server.guided import MinerState

FORMAT, VERSION = "assocpriv-miner-state", 1
_FIELDS = {
    "format", "version", "plan", "started", "start_sums", "received", "sums", "guidances", "published_at", "collected",
    "digest",
}  # fmt: skip
_LARGEST_FILE = 1 << 30


def write_state(state: MinerState, path: str | Path, *, force: bool = False) -> None:
    """Write a state; what is there is replaced whole, or stays as it is. Equal states give equal bytes.

    Raises:
        FileError: the file exists and ``force`` is not set, or cannot be written.
    """
    text = _text(state)
    if len(text) > _LARGEST_FILE:
        raise FileError(f"{path} would be too large to read again; take fewer classes or fewer columns of bits")
    with atomic_output(path, force=force) as stream:
        stream.write(text)


def replace_state(before: MinerState, after: MinerState, path: str | Path) -> None:
    """Write a state over the one that it was made of.

    Raises:
        FileError: another run has replaced that meanwhile, whose work would be lost; or the file cannot be written.
    """
    if Path(path).read_bytes() != _text(before):
        raise FileError(f"{path} was changed by another run meanwhile; nothing was added here: run this again")
    write_state(after, path, force=True)


def read_state(path: str | Path) -> MinerState:
    """Read what :func:`write_state` wrote.

    Raises:
        FileError: the file cannot be read, is no state, or was cut or changed.
    """
    try:
        with Path(path).open("rb") as file:
            content = file.read(_LARGEST_FILE)
        fields = json.load(io.TextIOWrapper(io.BytesIO(content), encoding="utf-8"))
    except OSError as error:
        raise FileError(f"cannot read the state {path}: {error.strerror or error}") from None
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict) or fields.get("format") != FORMAT or fields.get("version") != VERSION:
        raise FileError(f"{path} is no whole state of assocpriv guide start: it was cut off, or is another file")
    if set(fields) != _FIELDS or fields.pop("digest") != _digest(fields):
        raise FileError(f"{path} was changed or damaged: its digest is another; go on from a copy, nothing was added")
    try:
        state = _from_json(fields)
    except (PlanError, KeyError, TypeError, ValueError):  # a digest of nonsense
        raise FileError(f"{path} contradicts itself, so it was not written by assocpriv guide") from None
    if _text(state) != content:  # the line's end cut off, say: what is written later is compared with these bytes
        raise FileError(f"{path} is not as assocpriv guide wrote it, byte for byte; go on from a copy")
    return state


def _text(state: MinerState) -> bytes:
    fields = _to_json(state)
    return (json.dumps(fields | {"digest": _digest(fields)}, sort_keys=True) + "\n").encode("ascii")


def _digest(fields: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(fields, sort_keys=True, separators=(",", ":")).encode("ascii")).hexdigest()


def _to_json(state: MinerState) -> dict[str, Any]:
    """Return a state as JSON content: of each class's sums the lower triangle, which is all, row by row."""
    lower = np.tril_indices(state.plan.width)
    return {
        "format": FORMAT,
        "version": VERSION,
        "plan": state.plan.to_json(),
        "started": state.started.tolist(),
        "start_sums": [each[lower].tolist() for each in state.start_sums],
        "received": state.received.tolist(),
        "sums": [_short(each[lower]) for each in state.sums],
        "guidances": [guidance.to_json() for guidance in state.guidances],
        "published_at": state.published_at,
        "collected": list(state.collected),
    }


def _short(sums: NDArray[np.float64]) -> list[int | float]:
    """Return sums as JSON writes them shortest and reads them to the last bit: whole ones without a fraction."""
    return [int(value) if value.is_integer() else value for value in sums.tolist()]


def _from_json(fields: dict[str, Any]) -> MinerState:
    plan = GuidedPlan.from_json(fields["plan"])
    start_sums, sums = (_whole(fields[name], plan) for name in ("start_sums", "sums"))
    started, received = (np.array(fields[name], dtype=np.int64) for name in ("started", "received"))
    guidances = tuple(Guidance.from_json(content) for content in fields["guidances"])
    for guidance in guidances:
        guidance.check(plan)
    at, collected = fields["published_at"], tuple(fields["collected"])
    return MinerState(plan, started, start_sums.astype(np.int64), received, sums, guidances, at, collected)


def _whole(triangles: list[list[float]], plan: GuidedPlan) -> NDArray[np.float64]:
    """Return the sums of every class, float64 (classes, w, w), of their lower triangles."""
    lower = np.tril_indices(plan.width)
    sums = np.zeros((len(plan.labels), plan.width, plan.width))
    for into, values in zip(sums, triangles, strict=True):
        into[lower] = values
        into.T[lower] = values
    return sums
