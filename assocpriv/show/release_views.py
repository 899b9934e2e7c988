"""Records of releases: the guarantee, and which counts are published with which noise."""

from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING

from assocpriv.files.releases import SCALE
from assocpriv.plans.baskets.catalogue import name_itemsets
from assocpriv.show.result_record import Column, Part, Record, Say, Table

if TYPE_CHECKING:
    from assocpriv.files.releases import Release

_COLUMNS = [
    Column("itemsets", "{name}", "name"), Column("counted", "{counted:,}"), Column("standard error", "{error:points}"),
    Column("counts fully up to", "{kept:#item}"),
]  # fmt: skip


def released(release: "Release", output: Path | None = None) -> Record:
    """Return the guarantee of a release, and its counts with their noise."""
    rows = [
        {
            "name": name_itemsets(level.itemsets.shape[1]), "size": level.itemsets.shape[1],
            "counted": len(level.counts), "error": sqrt(level.noise.variance) / (SCALE * release.n_baskets),
            "kept": stage.transaction_size,
        }
        for stage, level in release.levels
    ]  # fmt: skip
    content = {
        "plan_id": release.plan_id, "baskets": release.n_baskets, "items": release.n_items, "unit": release.unit,
        "baskets_per_person": release.baskets_per_person, "epsilon": float(release.epsilon),
        "delta": float(release.delta), "noise": "discrete Gaussian" if release.is_gaussian else "two-sided geometric",
        "levels": rows,
    }  # fmt: skip
    parts: list[Part] = [
        Say("about {baskets:,} baskets of a catalogue of {items:#item}, counted with {noise} noise", kind="answer"),
        "central guarantee: (ε, δ) = ({epsilon:g}, {delta:g}) for {unit}; it also holds for whatever is computed from "
        "this release alone",
        Table(_COLUMNS, rows, name="counts"),
    ]
    if output is not None:
        parts.append(Say("written to {output}", {"output": str(output)}))
    parts.append(Say("Releases of the same baskets add up: ε and δ at most sum.", kind="hint"))
    return Record(content, parts)
