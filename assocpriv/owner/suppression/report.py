"""What was found in a table, or done to it, as JSON content: for the owner, because it names suppressed values."""

import json
from pathlib import Path
from typing import Any

from assocpriv.files.atomic import atomic_output
from assocpriv.owner.suppression.disclosure import SuppressedValue
from assocpriv.owner.suppression.inferences import Inference
from assocpriv.owner.suppression.publishing import Check, Publication
from assocpriv.owner.suppression.templates import Bound


def check_record(found: Check) -> dict[str, Any]:
    """Return what a table tells as it is as JSON content."""
    return {
        "records": found.records,
        "passed": found.passed,
        "bounds": [bound_record(bound) for bound in found.bounds],
        "bins": {column: list(labels) for column, labels in found.bins.items()},
        "violations": [_inference(each) for each in found.violations],
    }


def publication_record(done: Publication) -> dict[str, Any]:
    """Return what was done to a table as JSON content."""
    result = done.suppression
    bounds = zip(done.checked, result.confidences, strict=True)
    return {
        "records": done.records,
        "class": done.class_column,
        "mark": done.mark,
        "bounds": [
            bound_record(each.bound)
            | {
                "before": float(before.before),
                "after": float(each.confidence),
                "support": each.support,
                "hits": each.hits,
            }
            for each, before in bounds
        ],
        "redundant": done.redundant,
        "bins": {column: list(labels) for column, labels in done.bins.items()},
        "respelled": list(done.respelled),
        "suppressed": [_suppressed(each) for each in result.reasons],
        "cells": result.cells,
        "information": {
            column: {"before": before, "after": after} for column, (before, after) in result.information.items()
        },
        "steps": [
            {"column": step.column, "value": step.value, "gain": step.gain, "loss": step.loss, "score": step.score}
            for step in result.steps
        ],
    }


def bound_record(bound: Bound) -> dict[str, Any]:
    """Return a bound as JSON content."""
    return {
        "channel": list(bound.channel),
        "column": bound.column,
        "value": bound.value,
        "confidence": float(bound.confidence),
    }


def _inference(found: Inference) -> dict[str, Any]:
    return {
        "channel": dict(zip(found.bound.channel, found.values, strict=True)),
        "column": found.bound.column,
        "value": found.bound.value,
        "support": found.support,
        "hits": found.hits,
        "confidence": float(found.confidence),
        "bound": float(found.bound.confidence),
    }


def _suppressed(found: SuppressedValue) -> dict[str, Any]:
    return {
        "column": found.column,
        "value": found.value,
        "cells": found.cells,
        "inference": None if found.reason is None else _inference(found.reason),
    }


def write_report(done: Publication, path: Path, *, force: bool) -> None:
    """Write what was done to a table as JSON."""
    with atomic_output(path, force=force) as stream:
        stream.write(json.dumps(publication_record(done), ensure_ascii=False, indent=1).encode() + b"\n")
