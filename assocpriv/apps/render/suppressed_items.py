"""What baskets tell above templates over items, and what was dropped so that they do not, as text."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assocpriv.apps.render.figures import confidence_above, percent, percent_as_given
from assocpriv.promise.errors import counted

if TYPE_CHECKING:
    from assocpriv.suppress import BasketCheck, BasketRelease
    from assocpriv.suppress.baskets import ItemInference

_MOST = 20  # lines of a list


def item_check_lines(found: "BasketCheck") -> list[str]:
    """Return what is above its bound, bound by bound."""
    lines = [f"{counted(found.n_baskets, 'basket')}, {counted(len(found.bounds), 'bound')}"]
    lines += ["no inference is above its bound"] * found.passed
    for bound in dict.fromkeys(each.bound for each in found.inferences):
        own = [each for each in found.inferences if each.bound == bound]
        lines += ["", f"{bound}, at most {_given(bound.confidence)}", "  confidence  baskets  pattern"]
        lines += [
            f"  {confidence_above(each.confidence):>10}  {each.support:>7,}  {_pattern(each)}" for each in own[:_MOST]
        ]
        lines += _more(own)
    return lines


def item_release_lines(done: "BasketRelease", output: Path) -> list[str]:
    """Return what was dropped and why, and what is left."""
    result = done.suppression
    total, bits = len(result.entropy_bits), sum(result.entropy_bits.values())
    lines = [
        f"baskets  {result.n_baskets:,}",
        f"bounds   {len(result.bounds):,}, all hold in the baskets as written",
        f"dropped  {counted(len(result.dropped), 'item')} of the {total} in channels, from {result.cells:,} places",
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
            f"  {item}: {', '.join(each.bound.sensitive)} given {_pattern(each)}: "
            f"{confidence_above(each.confidence)} of {counted(each.support, 'basket')}"
        )
    return [*lines, *_more(result.reasons), "", f"written to {output}"]


def _more(rows: Sequence[Any]) -> list[str]:
    return [f"… and {len(rows) - _MOST:,} more (--json)"] if len(rows) > _MOST else []


def _pattern(found: "ItemInference") -> str:
    """Name a pattern: items that are there, and those that are not."""
    pairs = list(zip(found.bound.channel, found.pattern, strict=True))
    names = [item if flag else f"no {item}" for item, flag in pairs if flag is not None]
    return ", ".join(names) or "(any basket)"


def _share(value: Fraction) -> str:
    return percent(float(value), 1)


def _given(value: Fraction) -> str:
    return percent_as_given(float(value))
