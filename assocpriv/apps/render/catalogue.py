"""Catalogues of names: what is odd about one. They get published, so their names may be shown."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from assocpriv.promise.errors import counted

if TYPE_CHECKING:
    from assocpriv.files.names import CatalogueCheck
    from assocpriv.simulation.samples import CatalogueDraft, CatalogueUse

_SHOWN = 5  # groups of twins


def draft_talk(draft: "CatalogueDraft") -> list[str]:
    """Say what a catalogue was made of, and what to look at."""
    lines = [f"{counted(draft.baskets, 'basket')}, {counted(len(draft.catalogue), 'item')}"]
    if draft.rare:
        lines.append(f"{counted(draft.rare, 'rarer name')} left out")
    if draft.rewritten:
        lines.append(
            f"warning: {counted(draft.rewritten, 'name')} put into Unicode form NFC with single blanks; baskets that "
            "write them otherwise do not match"
        )
    return [*lines, *twin_lines(draft.twins)]


def check_lines(check: "CatalogueCheck", use: "CatalogueUse | None") -> list[str]:
    """Say what is odd about a catalogue, and how baskets fit it."""
    lines = [f"{counted(len(check.catalogue), 'item')}, all names distinct"]
    if check.odd:
        lines.append(
            f"warning: {counted(len(check.odd), 'name')} not in Unicode form NFC with single blanks, as "
            f"{check.odd[0]!r}"
        )
    lines += twin_lines(check.twins)
    if not check.odd and not check.twins:
        lines.append("no names that people may take for one")
    if use is not None:
        lines.append(
            f"{counted(use.baskets, 'basket')}: {counted(use.unknown, 'item')} not in the catalogue; "
            f"{counted(use.unused, 'name')} of it in none of them"
        )
    return lines


def twin_lines(twins: Sequence[tuple[str, ...]]) -> list[str]:
    """Warn of names that people may take for one."""
    if not twins:
        return []
    shown = [f"  {' | '.join(group)}" for group in twins[:_SHOWN]]
    more = [f"  … and {counted(len(twins) - _SHOWN, 'group')} more"] if len(twins) > _SHOWN else []
    groups = counted(len(twins), "group")
    return [
        f"warning: {groups} of names differ in case, Unicode form or blanks only (shown, as a",
        "catalogue gets published):",
        *shown,
        *more,
    ]


def draft_record(draft: "CatalogueDraft", output: Any) -> dict[str, Any]:
    """Return a draft as JSON content."""
    return {
        "items": len(draft.catalogue),
        "baskets": draft.baskets,
        "rare": draft.rare,
        "rewritten": draft.rewritten,
        "twins": [list(group) for group in draft.twins],
        "names": list(draft.catalogue) if output is None else None,
        "output": None if output is None else str(output),
    }


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
