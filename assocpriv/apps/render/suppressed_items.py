"""What baskets and lists tell above templates over items, and what was dropped so that they do not, as text."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assocpriv.apps.render.figures import percent, percent_as_given
from assocpriv.core.errors import counted

if TYPE_CHECKING:
    from assocpriv.suppression import BasketCheck, BasketRelease, ListCheck, ListRelease

_MOST = 20  # lines of a list
_SOME_PATTERN = "  some pattern of the channel is above it in all baskets that agree with the list"


def item_check_lines(found: "BasketCheck | ListCheck") -> list[str]:
    """Return what is above its bound, bound by bound."""
    from assocpriv.suppression import BasketCheck

    if isinstance(found, BasketCheck):
        lines = [f"{counted(found.n_baskets, 'basket')}, {counted(len(found.bounds), 'bound')}"]
        lines += ["no inference is above its bound"] * found.passed
        for bound in dict.fromkeys(each.bound for each in found.inferences):
            own = [(f"{each.support:>7,}", each) for each in found.inferences if each.bound == bound]
            lines += ["", _heading(bound), "  confidence  baskets  pattern", *_violations(own)]
        return lines
    lines = [f"{counted(found.n_lines, 'line')}, {counted(len(found.bounds), 'bound')}"]
    lines += ["the list implies nothing above a bound"] * found.passed
    for bound in (one.bound for one in found.bounds if one.violated):
        sure = [(percent(each.support), each) for each in found.inferences if each.bound == bound]
        lines += ["", _heading(bound)]
        lines += ["    at least    share  pattern", *_violations(sure)] if sure else [_SOME_PATTERN]
    return [*lines, *_reach(found)]


def _heading(bound: Any) -> str:
    return f"{bound}, at most {_given(bound.confidence)}"


def _violations(own: Sequence[tuple[str, Any]]) -> list[str]:
    lines = [f"  {_share(each.confidence):>10}  {size:>7}  {_pattern(each)}" for size, each in own[:_MOST]]
    return [*lines, *_more(own)]


def item_release_lines(done: "BasketRelease | ListRelease", output: Path) -> list[str]:
    """Return what was dropped or withheld and why, and what is left."""
    from assocpriv.suppression import BasketRelease

    lines = _basket_lines(done) if isinstance(done, BasketRelease) else _list_lines(done)
    return [*lines, "", f"written to {output}"]


def _least(cells: int, least: int) -> str:
    if cells == least:
        return "fewest   no choice drops fewer"
    return f"fewest   at least {least:,}; the search ended early"


def _basket_lines(done: "BasketRelease") -> list[str]:
    result = done.suppression
    total, bits = len(result.entropy_bits), sum(result.entropy_bits.values())
    lines = [
        f"baskets  {result.n_baskets:,}",
        f"bounds   {len(result.bounds):,}, all hold in the baskets as written",
        f"dropped  {counted(len(result.dropped), 'item')} of the {total} in channels, from {result.cells:,} places",
        *([] if result.least_cells is None else [_least(result.cells, result.least_cells)]),
        f"left     {result.kept_bits:.4f} of {bits:.4f} bits of these items",
        "",
        "before   after    at most  inference",
    ]
    for one in result.bounds[:_MOST]:
        after = "—" if one.after is None else _share(one.after)
        lines.append(f"{_share(one.before):7}  {after:7}  {_given(one.bound.confidence):7}  {one.bound}")
    lines += _more(result.bounds)
    if result.reasons:
        lines += ["", "what an item would tell if it came back"]
    for item, each in list(zip(result.dropped, result.reasons, strict=True))[:_MOST]:
        lines.append(
            f"  {item}: {', '.join(each.bound.sensitive)} given {_pattern(each)}: {_share(each.confidence)} of "
            f"{counted(each.support, 'basket')}"
        )
    return [*lines, *_more(result.reasons)]


def _list_lines(done: "ListRelease") -> list[str]:
    lines = [
        f"lines     {done.n_lines:,}",
        f"bounds    {len(done.bounds):,}, none broken by what the list implies as written",
        f"withheld  {counted(len(done.withheld), 'line')}",
    ]
    if done.withheld:
        lines += ["", "line  itemset or rule, and the bound that it would break"]
    lines += [f"{one.place:>4}  {one.label}  [{one.bound}]" for one in done.withheld[:_MOST]]
    return [*lines, *_more(done.withheld), *_reach(done)]


def _reach(found: "ListCheck | ListRelease") -> list[str]:
    """Say how far each bound was checked."""
    lines = ["", "checked with all that the list states of these items together"]
    for one in found.bounds[:_MOST]:
        reach = "no other could tell more" if one.complete else "others might tell more"
        off = f"; supports contradict each other by {float(one.tolerance):.2g}" if one.tolerance else ""
        lines.append(f"  {one.bound}: {counted(len(one.items), 'item')}, {reach}{off}")
        lines += [f"    no line names {', '.join(one.unnamed)}; is it spelled as in the list?"] * bool(one.unnamed)
    return [*lines, *_more(found.bounds)]


def _more(rows: Sequence[Any]) -> list[str]:
    return [f"… and {len(rows) - _MOST:,} more (--json)"] if len(rows) > _MOST else []


def _pattern(found: Any) -> str:
    """Name a pattern: items that are there, and those that are not."""
    pairs = list(zip(found.bound.channel, found.pattern, strict=True))
    names = [item if flag else f"no {item}" for item, flag in pairs if flag is not None]
    return ", ".join(names) or "(any basket)"


def _share(value: Fraction | float) -> str:
    return percent(float(value), 1)


def _given(value: Fraction) -> str:
    return percent_as_given(float(value))
