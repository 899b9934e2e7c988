"""Records of releases: the guarantee, and which counts are published with which noise."""

from fractions import Fraction
from math import exp, nextafter, sqrt
from pathlib import Path
from typing import TYPE_CHECKING

from assocpriv.files.releases import SCALE
from assocpriv.plans.baskets.catalogue import name_itemsets
from assocpriv.show.result_record import Column, Page, Part, Record, Say, Section, Table

if TYPE_CHECKING:
    from assocpriv.files.release_ledger import ReleaseBudget
    from assocpriv.files.releases import Release

_COLUMNS = [
    Column("itemsets", "{name}", "name"), Column("counted", "{counted:,}"), Column("standard error", "{error:points}"),
    Column("counts fully up to", "{kept:#item}"),
]  # fmt: skip


def float_up(value: Fraction) -> float:
    """Return a number as a float that is not smaller."""
    near = float(value)
    return near if Fraction(near) >= value else nextafter(near, float("inf"))


def exp_up(epsilon: Fraction) -> float:
    """Return e^ε, not smaller."""
    return nextafter(exp(float_up(epsilon)) * (1 + 1e-15), float("inf"))


def budget(spent: "ReleaseBudget") -> Record:
    """Return what releases of the same baskets or persons spend together."""
    rows = [
        {"date": each.date or "—", "output": each.output or "—", "epsilon": float(each.epsilon),
         "delta": float(each.delta)}
        for each in spent.entries
    ]  # fmt: skip
    content = {
        "releases": len(rows), "unit": spent.unit, "epsilon": float_up(spent.epsilon), "delta": float(spent.delta),
        "limit": spent.limit and {"epsilon": float(spent.limit[0]), "delta": float(spent.limit[1])}, "entries": rows,
    }  # fmt: skip
    of = " of the ({limit[epsilon]:g}, {limit[delta]:g}) that the ledger allows" if spent.limit else ""
    columns = [
        Column("day", "{date}", "text"), Column("ε", "{epsilon:g}"), Column("δ", "{delta:g}"),
        Column("file", "{output}", "name"),
    ]  # fmt: skip
    spent_all = "{releases:#release}: (ε, δ) = ({epsilon:.6g}, {delta:.3g}) spent for each {unit}"
    return Record(content, [
        Say(spent_all + of, kind="answer"),
        Table(columns, rows, name="releases"),
        "This holds if all releases of the same people are named here: others are not known.",
    ])  # fmt: skip


def to_sign(release: "Release") -> Record:
    """Return the page to sign for a release: guarantee, what was counted, what is not covered."""
    found = released(release)
    lines = [Column(title, "_" * 24, "text") for title in ("Name and role", "Date", "Signature")]
    limit = exp_up(release.epsilon)
    noise, *counts = found.parts[0], found.parts[2]
    parts: list[Part] = [
        Section("The guarantee", [
            Say("Whatever was released is at most {odds:.4g} times as likely with {covered} as without, except with a "
                "probability of about {delta:g}. So an adversary's odds of any statement about it change by at most "
                "that factor, whatever else the adversary knows: a probability of 5% to at most {highest:.1%}.",
                {"odds": limit, "covered": release.unit, "highest": limit / (limit + 19)}),
            "In terms of differential privacy: (ε, δ) = ({epsilon:g}, {delta:g}), for adding or removing {unit}.",
        ], "guarantee"),
        Section("What was counted", [noise, *counts], "counted"),
        Section("What the guarantee does not cover", [
            "Every further release about the same people adds its ε and δ. The owner's ledger holds what was spent; if "
            "it is lost, what was spent is unknown, and nothing more should be released.",
            "The owner sees all baskets. The catalogue's names are public, as is that a release was made."
            if not release.threshold else
            "The owner sees all baskets. Names of items were found in these, and those with a noisy count of "
            "{discovered_from:,.0f} or more are published; δ includes the probability that one person's item is among "
            "them.",
            "The results may show something about all customers, also about those without a basket here. That is the "
            "purpose of the release. Check whether they are confidential to your business.",
        ], "outside"),
        Section("Signed", [
            "I consider this guarantee sufficient for publishing the release `{plan_id}`.", Table(lines, [{}]),
        ], "signed"),
    ]  # fmt: skip
    return Record(found.content, [Page(parts)], "What this release guarantees")


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
        "discovered_from": release.threshold / SCALE if release.threshold else None, "levels": rows,
    }  # fmt: skip
    parts: list[Part] = [
        Say("about {baskets:,} baskets of a catalogue of {items:#item}, counted with {noise} noise", kind="answer"),
        "central guarantee: (ε, δ) = ({epsilon:g}, {delta:g}) for {unit}; it also holds for whatever is computed from "
        "this release alone",
        Table(_COLUMNS, rows, name="counts"),
    ]
    if release.threshold:
        parts.append("Items were found in the baskets: those with a noisy count of {discovered_from:,.0f} or more.")
    if output is not None:
        parts.append(Say("written to {output}", {"output": str(output)}))
    parts.append(Say("Releases of the same baskets add up: ε and δ at most sum.", kind="hint"))
    return Record(content, parts)
