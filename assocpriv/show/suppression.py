"""Suppression as text: what data tell above their bounds, what was withheld so that they do not.

Of a table: patterns of values, and the values suppressed. Of baskets, above templates over items: patterns of items,
and the items dropped.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assocpriv.promise.errors import counted
from assocpriv.show.figures import confidence_above, percent, percent_as_given

if TYPE_CHECKING:
    from assocpriv.suppress.baskets import BasketCheck, BasketRelease, ItemInference
    from assocpriv.suppress.inferences import Inference
    from assocpriv.suppress.release import Check, Publication
    from assocpriv.suppress.templates import Bound, ItemBound

_MOST = 20  # lines of a list, and values of a line


# ---- tables


def check_lines(found: "Check") -> list[str]:
    """Return the inferences above their bounds, highest confidence first."""
    lines = [f"{counted(found.records, 'record')}, {counted(len(found.bounds), 'bound')}", *_bins(found.bins)]
    if found.passed:
        return [*lines, "no inference is above its bound"]
    bounds = dict.fromkeys(each.bound for each in found.violations)
    lines.append(
        f"{counted(len(found.violations), 'inference')} of {counted(len(bounds), 'bound')} above the highest "
        "confidence allowed:"
    )
    for bound in list(bounds)[:_MOST]:
        own = [each for each in found.violations if each.bound == bound]
        lines += ["", *_heading(bound, "records  pattern")]
        lines += [_row(each, _pattern(each)) for each in own[:_MOST]]
        lines += [f"  … and {len(own) - _MOST:,} more (--json)"] if len(own) > _MOST else []
    return [*lines, *_more_bounds(bounds)]


def publication_lines(done: "Publication", output: Path) -> list[str]:
    """Return what was suppressed and why, what is left of information, and what the written table tells at most."""
    result = done.suppression
    implied = f" ({done.redundant:,} implied by others)" if done.redundant else ""
    lines = [
        f"records     {done.records:,}",
        f"bounds      {len(done.checked):,}{implied}, all hold in the table as written",
        *_bins(done.bins),
        f"suppressed  {counted(len(result.reasons), 'value')}, {counted(sum(result.cells.values()), 'cell')}",
    ]
    lines += ["", *_columns(done), "", *_confidences(done)]
    if result.reasons:
        lines += ["", *_reasons(done)]
    return [*lines, "", f"written to {output}"]


def talk_lines(done: "Publication") -> list[str]:
    """Return what is to be said on standard error."""
    if not done.respelled:
        return []
    why = "as the file has quotes or writes a value in several ways"
    return [f"cells written anew, {why}: {', '.join(done.respelled)}"]


def _columns(done: "Publication") -> Iterable[str]:
    result, of = done.suppression, "class" if done.class_column else "column"
    width = max(6, *map(len, result.suppressed))
    yield f"{'column':{width}}  values      cells  bits of the {of}, before and after"
    for column, values in result.suppressed.items():
        before, after = result.information[column]
        yield f"{column:{width}}  {len(values):>6,}  {result.cells[column]:>9,}  {before:.4f}  {after:.4f}"


def _confidences(done: "Publication") -> Iterable[str]:
    pairs = list(zip(done.suppression.confidences, done.checked, strict=True))
    allowed = [_given(after.bound.confidence) for _, after in pairs[:_MOST]]
    width = max(7, *map(len, allowed))
    yield f"before   after    {'at most':{width}}  inference"
    for (before, after), most in zip(pairs, allowed, strict=False):
        yield f"{_share(before.before):7}  {_share(after.confidence):7}  {most:{width}}  {after.bound}"
    if len(pairs) > _MOST:
        yield f"… and {len(pairs) - _MOST:,} more"


def _reasons(done: "Publication") -> Iterable[str]:
    yield "what each suppressed value would tell if it were shown as well"
    silent: dict[str, list[str]] = defaultdict(list)
    telling: dict[Bound, list[str]] = defaultdict(list)
    for each in done.suppression.reasons:
        value, found = _value(each.value), each.reason
        if found is None:
            silent[each.column].append(value)
        else:
            telling[found.bound].append(_row(found, f"{each.column} = {value}: {_pattern(found)}"))
    for bound, lines in list(telling.items())[:_MOST]:
        yield from ("", *_heading(bound, "records  value shown: pattern"), *lines[:_MOST])
        if len(lines) > _MOST:
            yield f"  … and {len(lines) - _MOST:,} more (--report, --json)"
    yield from _more_bounds(telling)
    yield from [""] * bool(telling and silent)
    for column, values in silent.items():
        more = f" and {len(values) - _MOST:,} more" if len(values) > _MOST else ""
        about = "of the class" if done.class_column else "more"
        yield f"  {column} = {', '.join(values[:_MOST])}{more}: nothing {about}"


def _more_bounds(bounds: "Collection[Bound]") -> list[str]:
    return ["", f"… and {counted(len(bounds) - _MOST, 'bound')} more (--json)"] if len(bounds) > _MOST else []


def _bins(bins: dict[str, tuple[str, ...]]) -> list[str]:
    return [f"bins        {column}: {', '.join(labels)}" for column, labels in bins.items()]


def _pattern(found: "Inference") -> str:
    return ", ".join(_value(value) for value in found.values)


def _value(value: str | None) -> str:
    return "(missing)" if value is None else value


# ---- baskets


def item_check_lines(found: "BasketCheck") -> list[str]:
    """Return what is above its bound, bound by bound."""
    lines = [f"{counted(found.n_baskets, 'basket')}, {counted(len(found.bounds), 'bound')}"]
    lines += ["no inference is above its bound"] * found.passed
    for bound in dict.fromkeys(each.bound for each in found.inferences):
        own = [each for each in found.inferences if each.bound == bound]
        lines += ["", *_heading(bound, "baskets  pattern")]
        lines += [_row(each, _item_pattern(each)) for each in own[:_MOST]]
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
            f"  {item}: {', '.join(each.bound.sensitive)} given {_item_pattern(each)}: "
            f"{confidence_above(each.confidence)} of {counted(each.support, 'basket')}"
        )
    return [*lines, *_more(result.reasons), "", f"written to {output}"]


def _more(rows: Sequence[Any]) -> list[str]:
    return [f"… and {len(rows) - _MOST:,} more (--json)"] if len(rows) > _MOST else []


def _item_pattern(found: "ItemInference") -> str:
    """Name a pattern: items that are there, and those that are not."""
    pairs = list(zip(found.bound.channel, found.pattern, strict=True))
    names = [item if flag else f"no {item}" for item, flag in pairs if flag is not None]
    return ", ".join(names) or "(any basket)"


# ---- both


def _heading(bound: "Bound | ItemBound", columns: str) -> list[str]:
    return [f"{bound}, at most {_given(bound.confidence)}", f"  confidence  {columns}"]


def _row(found: "Inference | ItemInference", said: str) -> str:
    return f"  {confidence_above(found.confidence):>10}  {found.support:>7,}  {said}"


def _share(value: Fraction) -> str:
    return percent(float(value), 1)


def _given(value: Fraction) -> str:
    return percent_as_given(float(value))
