"""What is told of a collection's keys and of its folder."""

from pathlib import Path
from typing import Any

from assocpriv.apps.render.figures import fields
from assocpriv.collect import CollectionStatus, SourceKey
from assocpriv.promise.errors import counted


def key_record(key: SourceKey) -> dict[str, Any]:
    """Return what is kept of a key but its hash, for ``--json``."""
    return fields(key, "number name quota revoked")


def key_lines(keys: list[SourceKey]) -> list[str]:
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


def status_record(found: CollectionStatus) -> dict[str, Any]:
    """Return what a folder holds, for ``--json``; keys' numbers are texts, as names in JSON are."""
    return fields(found, "plan_id reports sealed unsealed in_database keys served closed") | {
        "by_key": {str(key): count for key, count in found.by_key.items()},
        "set_aside": {str(key): count for key, count in found.set_aside.items()},
    }


def status_lines(found: CollectionStatus) -> list[str]:
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
        f"to take none from it either: assocpriv collector keys revoke {data} {key}",
    ]
