"""A collection, from its catalogue to its folder of reports, as text for a person or as JSON content.

Catalogues: what is odd about one. They get published, so their names may be shown. Sending: what became of a device's
report, and of those that waited. Gathering: what a run came to. Then a collection's keys, what its folder holds, and
what a device told.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assocpriv.promise.breaches import format_bound
from assocpriv.promise.errors import counted
from assocpriv.show.figures import fields

if TYPE_CHECKING:
    from assocpriv.client.ledger import DeviceReport
    from assocpriv.client.sending import SentReport, SentWaiting
    from assocpriv.collect.folder import CollectionStatus
    from assocpriv.collect.gather import Gathered, Refusal
    from assocpriv.collect.keys import SourceKey
    from assocpriv.files.plans import CatalogueCheck
    from assocpriv.simulation.samples import CatalogueDraft, CatalogueUse

_SHOWN = 20  # of what was refused
_NAMES_SHOWN = 5  # groups of twins


# ---- catalogues


def draft_record(draft: "CatalogueDraft", output: Any) -> dict[str, Any]:
    """Return a draft as JSON content."""
    return {
        "items": len(draft.catalogue),
        "baskets": draft.baskets,
        "rare": draft.rare,
        "share": draft.share,
        "rewritten": draft.rewritten,
        "twins": [list(group) for group in draft.twins],
        "names": list(draft.catalogue) if output is None else None,
        "output": None if output is None else str(output),
    }


def draft_talk(draft: "CatalogueDraft") -> list[str]:
    """Say what a catalogue was made of, and what to look at."""
    source = f"{counted(draft.baskets, 'basket')}, " if draft.baskets else ""
    lines = [f"{source}{counted(len(draft.catalogue), 'item')}"]
    if draft.rare:
        lines.append(
            f"{counted(draft.rare, 'rarer name')} left out; the catalogue's items are {draft.share:.0%} of all, so as "
            "many of a basket's items stay on average (plan --mean-size)"
        )
    if draft.rewritten:
        lines.append(
            f"warning: {counted(draft.rewritten, 'name')} put into Unicode form NFC with single blanks; baskets that "
            "write them otherwise do not match"
        )
    return [*lines, *_twin_lines(draft.twins)]


def check_record(check: "CatalogueCheck", use: "CatalogueUse | None") -> dict[str, Any]:
    """Return a check as JSON content."""
    return {
        "items": len(check.catalogue),
        "odd": list(check.odd),
        "twins": [list(group) for group in check.twins],
        "baskets": None if use is None else use.baskets,
        "unknown": None if use is None else use.unknown,
        "unused": None if use is None else use.unused,
    }


def check_lines(check: "CatalogueCheck", use: "CatalogueUse | None") -> list[str]:
    """Say what is odd about a catalogue, and how baskets fit it."""
    lines = [f"{counted(len(check.catalogue), 'item')}, all names distinct"]
    if check.odd:
        lines.append(
            f"warning: {counted(len(check.odd), 'name')} not in Unicode form NFC with single blanks, as "
            f"{check.odd[0]!r}"
        )
    lines += _twin_lines(check.twins)
    if not check.odd and not check.twins:
        lines.append("no names that people may take for one")
    if use is not None:
        lines.append(
            f"{counted(use.baskets, 'basket')}: {counted(use.unknown, 'item')} not in the catalogue; "
            f"{counted(use.unused, 'name')} of it in none of them"
        )
    return lines


def _twin_lines(twins: Sequence[tuple[str, ...]]) -> list[str]:
    """Warn of names that people may take for one."""
    if not twins:
        return []
    shown = [f"  {' | '.join(group)}" for group in twins[:_NAMES_SHOWN]]
    more = [f"  … and {counted(len(twins) - _NAMES_SHOWN, 'group')} more"] if len(twins) > _NAMES_SHOWN else []
    groups = counted(len(twins), "group")
    return [
        f"warning: {groups} of names differ in case, Unicode form or blanks only (shown, as a",
        "catalogue gets published):",
        *shown,
        *more,
    ]


# ---- sending


def sent_record(sent: "SentReport") -> dict[str, Any]:
    """Return what became of a report, for ``--json``."""
    return {
        **fields(sent, "state plan_id new report_bytes spent left"),
        "amplification": sent.amplification and format_bound(sent.amplification),
    }


def sent_lines(sent: "SentReport", url: str) -> list[str]:
    """Say what became of a report."""
    made = "a new report" if sent.new else "the report made before"
    state = f"sent to {url}" if sent.state == "sent" else f"which {url} has already"
    return [
        f"{made}, {counted(sent.report_bytes, 'byte')}, {state}",
        f"of plan {sent.plan_id[:16]}… this device has made {counted(sent.spent, 'report')}; left: {sent.left}",
        *([sent.unbounded] if sent.unbounded else []),
    ]


def waiting_record(sent: "SentWaiting") -> dict[str, Any]:
    """Return what became of the reports that waited, for ``--json``."""
    return fields(sent, "sent other_plans")


def waiting_lines(sent: "SentWaiting", url: str) -> list[str]:
    """Say what became of the reports that waited."""
    others = f"{counted(sent.other_plans, 'report')} of other plans, which are not collected there: kept"
    return [f"{counted(sent.sent, 'report')} sent to {url}", *([others] if sent.other_plans else [])]


# ---- gathering


def gathered_record(done: "Gathered") -> dict[str, Any]:
    """Return what was gathered and refused, for ``--json``; the plan's id stands at the top if there is one plan."""
    ids = [each.plan.plan_id for each in done.collections]
    return {
        "plan_id": ids[0] if len(ids) == 1 else None,
        "gathered": done.gathered,
        "repeated": done.repeated,
        "reports": sum(each.reports for each in done.collections),
        "refused_count": done.refused_count,
        "refused": [fields(each, "file reason") for each in done.refused],
        "collections": [
            {"plan_id": each.plan.plan_id, "path": str(each.path), **fields(each, "gathered repeated reports")}
            for each in done.collections
        ],
    }


def gathered_lines(done: "Gathered") -> list[str]:
    """Say what was gathered, what the collections hold now, and where the files are."""
    lines = [
        f"{counted(each.gathered, 'report')} gathered into {each.path}, which holds {each.reports:,} now; "
        f"plan {each.plan.plan_id[:16]}…"
        for each in done.collections
        if each.reports
    ]
    if not done.gathered and not done.repeated and not done.refused_count:
        return [*lines, "nothing to do: there was no file to gather"]
    if done.gathered:
        lines.append("the files gathered are removed: the collection has their bytes, and nothing else of them")
    return lines


def refused_lines(done: "Gathered") -> list[str]:
    """Name what was refused, one a line, and say where it is; then how many files came again."""
    shown = [_refused(each) for each in done.refused[:_SHOWN]]
    rest = done.refused_count - len(shown)
    again = f"{counted(done.repeated, 'file')} removed without counting: reports under their names were gathered before"
    return shown + [f"and {rest:,} more"] * (rest > 0) + [again] * (done.repeated > 0)


def failure(done: "Gathered") -> str:
    """Say that something was there and none of it could be gathered; empty where that is not so."""
    if done.gathered or done.repeated or not done.refused_count:
        return ""
    if done.refused_count == 1:
        return f"nothing was gathered; {_refused(done.refused[0])}"
    return f"nothing was gathered: none of {done.refused_count:,} is a report of the plan"


def _refused(refusal: "Refusal") -> str:
    # whoever may put files into an inbox chooses their names: nothing of them may pass for our own lines
    name = "".join(character if character.isprintable() else "?" for character in refusal.file)
    return f"left where it is: {name} {refusal.reason}"


# ---- keys


def key_record(key: "SourceKey") -> dict[str, Any]:
    """Return what is kept of a key but its hash, for ``--json``."""
    return fields(key, "number name quota revoked")


def key_lines(keys: "list[SourceKey]") -> list[str]:
    """Return a table of keys."""
    if not keys:
        return ["there are no keys: anybody may send reports, unless the collector is started with --keys"]
    rows = [
        (str(key.number), "no limit" if key.quota is None else f"{key.quota:,}", "revoked" * key.revoked, key.name)
        for key in keys
    ]
    head = ("key", "quota", "", "name")
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(3)]
    return [
        "  ".join([number.rjust(widths[0]), quota.rjust(widths[1]), state.ljust(widths[2]), name])
        for number, quota, state, name in [head, *rows]
    ]


# ---- folders


def status_record(found: "CollectionStatus") -> dict[str, Any]:
    """Return what a folder holds, for ``--json``; keys' numbers are texts, as names in JSON are."""
    return fields(found, "plan_id reports sealed unsealed in_database keys served closed") | {
        "by_key": {str(key): count for key, count in found.by_key.items()},
        "set_aside": {str(key): count for key, count in found.set_aside.items()},
    }


def status_lines(found: "CollectionStatus") -> list[str]:
    """Say what a folder holds."""
    state = "closed" if found.closed else "being served" if found.served else "not being served"
    lines = [
        f"plan {found.plan_id[:16]}…, {state}; {'only sources with a key' if found.keys else 'anybody'} may send",
        f"{counted(found.reports, 'report')}: {found.sealed:,} sealed, {found.unsealed:,} not yet",
    ]
    if found.in_database is None:
        lines.append("and in PostgreSQL those that are not sealed: stop the collector, then assocpriv collector seal")
    elif found.in_database:
        lines.append(f"and {found.in_database:,} in PostgreSQL, not sealed: assocpriv collector seal")
    if set(found.by_key) - {0}:
        lines += [f"  key {key}: {count:,}" if key else f"  no key: {count:,}" for key, count in found.by_key.items()]
    lines += [f"  key {key}: {count:,} set aside" for key, count in found.set_aside.items()]
    return lines


def set_aside_lines(moved: int, key: int, data: Path, restore: bool) -> list[str]:
    """Say what was moved, and what there is left to do."""
    if restore:
        return [f"{counted(moved, 'report')} of key {key} restored to {data}"]
    return [
        f"{counted(moved, 'report')} of key {key} set aside; mine and the rest see them no more",
        f"to take none from it either: assocpriv collector keys {data} --revoke {key}",
    ]


# ---- one device


def device_record(report: "DeviceReport") -> dict[str, Any]:
    """Return a device's report for ``--json``; its bytes are in the file."""
    return {
        "plan_id": report.plan.plan_id,
        "new": report.new,
        "report_bytes": report.plan.report_bytes,
        **fields(report, "spent left"),
        "amplification": report.amplification and format_bound(report.amplification),
    }


def device_lines(report: "DeviceReport", output: Path) -> list[str]:
    """Say what was written, and how many reports the device may still make."""
    plan = report.plan
    return [
        f"{'a new report' if report.new else 'the report made before'}, {counted(plan.report_bytes, 'byte')}, "
        f"written to {output}",
        f"of plan {plan.plan_id[:16]}… this device has made {report.spent} of "
        f"{counted(plan.reports_per_person, 'report')}; "
        f"left: {report.left}",
        *([plan.unbounded] if plan.amplification is None else []),
    ]
