"""Decision trees, and what predicting came to, as text and as JSON content."""

from collections import Counter
from typing import TYPE_CHECKING, Any

from assocpriv.promise.errors import counted

if TYPE_CHECKING:
    from assocpriv.numeric import PredictionCounts, TreeModel

MOST_LINES = 30  # of a tree shown as text
_UNDECIDABLE = [
    "undecidable: by reports that it was not grown on, a tree is hardly better than the commonest class, or worse;",
    "a single leaf is written. Gather more reports, or choose fewer columns or a weaker promise",
]


def tree_record(model: "TreeModel") -> dict[str, Any]:
    """Return what a tree is as JSON content; the file has the tree itself."""
    return {
        "plan_id": model.plan_id,
        "method": model.method,
        "class": model.class_name,
        "classes": dict(zip(model.classes, model.nodes[0].shares, strict=True)),
        "columns": [column.name for column in model.columns],
        "records": model.nodes[0].records,
        "leaves": model.n_leaves,
        "depth": model.depth,
        "grown_leaves": model.grown_leaves,
        "undecidable": model.undecidable,
    }


def tree_text(model: "TreeModel", lines: list[str]) -> list[str]:
    """Return the tree, and what it was grown on."""
    root = model.nodes[0]
    shares = ", ".join(f"{name} {share:.1%}" for name, share in zip(model.classes, root.shares, strict=True))
    pruned = model.grown_leaves - model.n_leaves
    shown = lines[:MOST_LINES]
    more = [f"… and {counted(len(lines) - MOST_LINES, 'more line')}"] if len(lines) > MOST_LINES else []
    return [
        *shown,
        *more,
        *(_UNDECIDABLE if model.undecidable else []),
        "",
        f"class     {model.class_name}: {shares}",
        f"records   {root.records:,}",
        f"size      {counted(model.n_leaves, 'leaf').replace('leafs', 'leaves')}, depth {model.depth}"
        + (f"; {pruned:,} of {model.grown_leaves:,} pruned" if pruned else ""),
    ]


def prediction_record(counts: "PredictionCounts", output: str) -> dict[str, Any]:
    """Return what predicting came to as JSON content."""
    return {
        "records": counts.records,
        "predicted": dict(sorted(counts.classes.items())),
        "missing": _some(counts.missing),
        "unseen": _some(counts.unseen),
        "outside": _some(counts.outside),
        "output": output,
    }


def prediction_lines(counts: "PredictionCounts", output: str) -> list[str]:
    """Return it as text."""
    found = ", ".join(f"{name} {count:,}" for name, count in sorted(counts.classes.items()))
    return [f"{counted(counts.records, 'record')} with their predicted class written to {output}: {found}"]


def prediction_notes(counts: "PredictionCounts") -> list[str]:
    """Return what is to be said on standard error: values that the model has no interval or category for."""
    notes = [
        (counts.missing, "missing, sent where most such records went"),
        (counts.unseen, "not known to the model, taken as missing"),
        (counts.outside, "outside the range, taken as its nearest end"),
    ]
    return [
        f"{counted(sum(found.values()), 'value')} {what}: "
        + ", ".join(f"{count:,} of {name}" for name, count in _some(found).items())
        for found, what in notes
        if sum(found.values())
    ]


def _some(found: Counter[str]) -> dict[str, int]:
    return {name: count for name, count in found.items() if count}
