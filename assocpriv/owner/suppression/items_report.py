"""What was found in baskets or a list, or done to them, as JSON content, which stays with the owner."""

import json
from collections.abc import Sequence
from functools import singledispatch
from pathlib import Path
from typing import Any

from assocpriv.files.atomic import atomic_output
from assocpriv.owner.suppression.items_disclosure import ItemInference
from assocpriv.owner.suppression.items_implied import Implied
from assocpriv.owner.suppression.items_release import BasketCheck, BasketRelease
from assocpriv.owner.suppression.items_templates import ItemBound
from assocpriv.owner.suppression.items_withholding import BoundOnList, ListCheck, ListRelease

ItemResult = BasketCheck | BasketRelease | ListCheck | ListRelease


@singledispatch
def item_record(result: Any) -> dict[str, Any]:
    """Return what a check or a release of baskets or of a list found as JSON content."""
    raise TypeError(f"a result of check_items or suppress_items is needed, got a {type(result).__name__}")


@item_record.register
def _(result: BasketCheck) -> dict[str, Any]:
    return {
        "of": "baskets",
        "baskets": result.n_baskets,
        "passed": result.passed,
        "bounds": [_bound(bound) for bound in result.bounds],
        "violations": [_inference(each) for each in result.inferences],
    }


@item_record.register
def _(result: BasketRelease) -> dict[str, Any]:
    done = result.suppression
    return {
        "of": "baskets",
        "baskets": done.n_baskets,
        "bounds": [
            _bound(one.bound) | {"before": float(one.before), "after": None if one.after is None else float(one.after)}
            for one in done.bounds
        ],
        "dropped": [
            {"item": item, "cells": done.held[item], "inference": _inference(reason)}
            for item, reason in zip(done.dropped, done.reasons, strict=True)
        ],
        "cells": done.cells,
        "least_cells": done.least_cells,
        "entropy_bits": done.entropy_bits,
        "kept_bits": done.kept_bits,
        "steps": [{"item": s.item, "gain": s.gain, "loss": s.loss, "score": s.score} for s in done.steps],
    }


@item_record.register
def _(result: ListCheck) -> dict[str, Any]:
    return {
        "of": "list",
        "lines": result.n_lines,
        "passed": result.passed,
        "bounds": [_bound_on_list(one) for one in result.bounds],
        "violations": [_inference(each) for each in result.inferences],
    }


@item_record.register
def _(result: ListRelease) -> dict[str, Any]:
    return {
        "of": "list",
        "lines": result.n_lines,
        "bounds": [_bound_on_list(one) for one in result.bounds],
        "withheld": [{"line": one.place, "label": one.label, "bound": _bound(one.bound)} for one in result.withheld],
    }


def _bound(bound: ItemBound) -> dict[str, Any]:
    return {
        "channel": list(bound.channel),
        "sensitive": list(bound.sensitive),
        "confidence": float(bound.confidence),
    }


def _bound_on_list(one: BoundOnList) -> dict[str, Any]:
    checked = {
        "items": list(one.items),
        "complete": one.complete,
        "tolerance": float(one.tolerance),
        "unnamed": list(one.unnamed),
    }
    return _bound(one.bound) | {"violated": one.violated} | checked


def _inference(found: ItemInference | Implied) -> dict[str, Any]:
    counted = {"hits": found.hits} if isinstance(found, ItemInference) else {}
    return {
        "with": _picked(found, there=True),
        "without": _picked(found, there=False),
        "sensitive": list(found.bound.sensitive),
        "support": found.support,
        **counted,
        "confidence": float(found.confidence),
        "bound": float(found.bound.confidence),
    }


def _picked(found: ItemInference | Implied, *, there: bool) -> Sequence[str]:
    return [item for item, flag in zip(found.bound.channel, found.pattern, strict=True) if flag is there]


def write_item_report(result: ItemResult, path: Path, *, force: bool) -> None:
    """Write what was found or done as JSON."""
    with atomic_output(path, force=force) as stream:
        stream.write(json.dumps(item_record(result), ensure_ascii=False, indent=1).encode() + b"\n")
