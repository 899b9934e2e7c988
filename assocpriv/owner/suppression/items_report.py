"""What was found in baskets, or done to them, as JSON content, which stays with the owner."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assocpriv.files.atomic import atomic_output
from assocpriv.owner.suppression.items_disclosure import ItemInference
from assocpriv.owner.suppression.items_release import BasketCheck, BasketRelease
from assocpriv.owner.suppression.items_templates import ItemBound


def item_record(result: BasketCheck | BasketRelease) -> dict[str, Any]:
    """Return what a check or a release of baskets found as JSON content."""
    return _check_record(result) if isinstance(result, BasketCheck) else _release_record(result)


def _check_record(found: BasketCheck) -> dict[str, Any]:
    return {
        "baskets": found.n_baskets,
        "passed": found.passed,
        "bounds": [_bound(bound) for bound in found.bounds],
        "violations": [_inference(each) for each in found.inferences],
    }


def _release_record(released: BasketRelease) -> dict[str, Any]:
    done = released.suppression
    return {
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
        "entropy_bits": done.entropy_bits,
        "kept_bits": done.kept_bits,
        "steps": [{"item": s.item, "gain": s.gain, "loss": s.loss, "score": s.score} for s in done.steps],
    }


def _bound(bound: ItemBound) -> dict[str, Any]:
    return {
        "channel": list(bound.channel),
        "sensitive": list(bound.sensitive),
        "confidence": float(bound.confidence),
    }


def _inference(found: ItemInference) -> dict[str, Any]:
    return {
        "with": _picked(found, there=True),
        "without": _picked(found, there=False),
        "sensitive": list(found.bound.sensitive),
        "support": found.support,
        "hits": found.hits,
        "confidence": float(found.confidence),
        "bound": float(found.bound.confidence),
    }


def _picked(found: ItemInference, *, there: bool) -> Sequence[str]:
    return [item for item, flag in zip(found.bound.channel, found.pattern, strict=True) if flag is there]


def write_item_report(result: BasketRelease, path: Path, *, force: bool) -> None:
    """Write what was done as JSON."""
    with atomic_output(path, force=force) as stream:
        stream.write(json.dumps(item_record(result), ensure_ascii=False, indent=1).encode() + b"\n")
