"""Pages and charts of results, and HTML of records with jinja2: a page in one file, or a fragment.

A page loads nothing from elsewhere; its content-security-policy forbids it. Its one script, which sorts and filters, is
allowed by its hash. Pages with long names show fewer rows.
"""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from assocpriv.files.atomic import MAX_TABLE_BYTES, atomic_output, check_page_output, read_bounded
from assocpriv.files.mined_tables import AnyFrame, LightFrame, MiningFacts, check_names, mining_facts, read_table
from assocpriv.files.model_files import read_tree
from assocpriv.files.plan_files import read_plan
from assocpriv.files.releases import Release, is_release, read_release
from assocpriv.guarantees.errors import EstimateError, PlanError, check_type, pluralize
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.numeric.tree_model import TreeModel
from assocpriv.plans.published_plan import PublishedPlan
from assocpriv.server.baskets.comparison import Comparison
from assocpriv.server.baskets.rules import check_rules, derive_rules, rule_records
from assocpriv.server.baskets.tables import NO_FILTER, rows_to_show
from assocpriv.server.numeric.distributions import Distributions
from assocpriv.show import (
    charts,
    comparison_views,
    guarantee_views,
    itemset_views,
    release_views,
    suppression_views,
    table_views,
)
from assocpriv.show.number_format import percent_as_given, selected
from assocpriv.show.result_record import Picture, Record, Table, Writer, drawn_lines, drawn_rows, filled, write
from assocpriv.show.text_renderer import read_glossary

if TYPE_CHECKING:
    Shown = AnyFrame | Comparison | Distributions | TreeModel | PublishedPlan | dict[str, Any] | str | Path

_MOST_BYTES = 300_000  # of a page
_BAR = 160  # units of a bar
_OF_NAMES = {"name", "text"}  # fields whose direction of writing is their own
_INTERVALS, _RULES = 30, 250  # drawn in a chart
_DRAWN = {"itemsets", "support"}  # columns without which no chart of itemsets is drawn


def page(
    found: "Shown",
    plan: "PublishedPlan | str | Path | None" = None,
    *,
    min_confidence: float | str = "50%",
    title: str | None = None,
) -> str:
    """Return a page of a result: one HTML file that loads nothing from elsewhere.

    It shows results with credible intervals, then what could not be detected, the guarantee, and whether the page may
    be published. It holds no report, no basket and no record. For a mined table it also shows rules; for a
    reconstruction the distribution of each column; for a tree its tests; for a suppression the hidden cells (that
    page stays with the owner); for a comparison the differences; for a plan the guarantee, to be signed.

    Args:
        found: a result of :func:`assocpriv.mine`, :func:`assocpriv.reconstruct`, :func:`assocpriv.compare` or
            :func:`assocpriv.numeric.grow_tree`, a plan, or a file of one of them except a comparison, or of a
            suppression's report (JSON).
        plan: the plan of the reports, or its file, to state its guarantee.
        min_confidence: minimum confidence of the rules shown.
        title: the page's heading.

    Returns:
        The page, as HTML text.

    Raises:
        EstimateError: no result of this package, or a joint distribution of two columns.
        PlanError: not the plan of these reports.
        TypeError: ``plan`` is neither a plan nor the path of one.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> found = ap.mine(ap.randomize([{"milk", "tea"}] * 20_000, made), 0.5)
    >>> "<h1>Breakfast</h1>" in ap.page(found, made, title="Breakfast")
    True
    """
    known = read_plan(plan) if isinstance(plan, str | Path) else plan if plan is None else PublishedPlan.require(plan)
    thing: Any = _read(Path(found)) if isinstance(found, str | Path) else found
    if isinstance(thing, Distributions):
        thing = thing.record()
    if isinstance(thing, dict):
        return _record_page(thing, known, title, str(found) if isinstance(found, str | Path) else "it")
    if isinstance(thing, Comparison):
        return render_page(lambda rows: comparison_views.compared(thing, rows, title or "What differs"))
    if isinstance(thing, Release):
        return render_page(lambda _: release_views.to_sign(thing))
    if isinstance(thing, PublishedPlan):
        return render_page(lambda _: guarantee_views.to_sign(thing))
    if isinstance(thing, TreeModel):
        _check_plan(known, thing.plan_id, "the tree was grown with")
        return render_page(lambda rows: table_views.tree_page(thing, known, title or "", rows))
    of_baskets, ids = None if known is None else known.require_type(Plan), mining_facts(thing).plan_ids
    if of_baskets is not None and of_baskets.plan_id not in ids:
        _check_plan(of_baskets, ids[0], "the table was mined with")
    derived = derive_rules(thing, min_confidence)  # once, before the page cuts rows
    return render_page(
        lambda rows: itemset_views.page(thing, of_baskets, derived, title or "What baskets have in common", rows)
    )


def _check_plan(plan: PublishedPlan | None, its: str | None, subject: str) -> None:
    if plan is not None and its and plan.plan_id != its:
        raise PlanError(f"{subject} plan {its[:12]}, and this is {plan.plan_id[:12]}")


def _read(path: Path) -> Any:
    """Return a tree, a record of distributions or of a suppression, a plan, a release, or else a mined table."""
    if is_release(path):
        return read_release(path)
    if path.suffix.lower() == ".json":
        try:
            content = json.loads(read_bounded(path, MAX_TABLE_BYTES))
        except (OSError, ValueError, RecursionError):
            return read_table(path)  # which says what is wrong
        kind = content.get("format") if isinstance(content, dict) else None
        if kind in ("assocpriv-tree", "assocpriv-plan"):
            return read_tree(path) if kind == "assocpriv-tree" else read_plan(path)
        known = {"bounds"}, {"confidence_level", "columns"}, {"confidence_level", "joint"}
        if isinstance(content, dict) and any(names <= content.keys() for names in known):
            return content
    return read_table(path)


def _record_page(record: dict[str, Any], plan: "PublishedPlan | None", title: str | None, name: str) -> str:
    if "joint" in record:
        raise EstimateError(
            f"{name} holds a joint distribution of two columns; a page shows single columns: leave out --joint"
        )
    if plan is not None and "bounds" in record:
        raise PlanError("a suppression has no plan; leave the plan out")
    _check_plan(plan, record.get("plan_id"), "the reports were of")

    def made(rows: int) -> Record:
        if "bounds" in record:
            return suppression_views.page(record, title or "Hidden cells", rows)
        return table_views.distributions_page(record, plan, title or "Distributions of the columns", rows)

    try:
        return render_page(made)
    except (KeyError, TypeError, AttributeError, ValueError, IndexError, ArithmeticError):
        raise EstimateError(f"{name} is damaged, or was not written by reconstruct or suppress") from None


def write_page(
    found: "Shown",
    output: str | Path,
    plan: "PublishedPlan | str | Path | None" = None,
    *,
    force: bool = False,
    min_confidence: float | str = "50%",
    title: str | None = None,
) -> None:
    """Write the page of a result to a file.

    Args:
        found, plan: as for :func:`page`.
        output: the file, .html.
        force: replace an existing file.
        min_confidence, title: as for :func:`page`.

    Raises:
        FileError: the file exists and ``force`` is not set, does not end in .html, or cannot be written.
        EstimateError, PlanError: as :func:`page`.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> found = ap.mine(ap.randomize([{"milk", "tea"}] * 20_000, made), 0.5)
    >>> ap.write_page(found, f"{mkdtemp()}/found.html", made, title="Breakfast")
    """
    check_page_output(output, force=force)
    text = page(found, plan, min_confidence=min_confidence, title=title)
    with atomic_output(output, force=force) as stream:
        stream.write(text.encode("utf-8"))


# ---- HTML


class _HtmlWriter(Writer):
    """Escape what is filled in; isolate names, as some are written from right to left."""

    def format_field(self, value: Any, unit: str) -> str:
        if unit == "names":
            return Markup(", ").join(Markup("<bdi>{}</bdi>").format(name) for name in selected(value))
        text = escape(write(value, unit))
        return Markup("<bdi>{}</bdi>").format(text) if unit in _OF_NAMES else text


_WRITER = _HtmlWriter()


def _filled(template: str, content: Mapping[str, Any]) -> Markup:
    text = _WRITER.fill(str(escape(template)), content)
    return Markup(re.sub(r"`([^`<>]+)`", r"<code>\1</code>", text))  # escaped above


def _sentence(template: str, content: Mapping[str, Any]) -> Markup:
    """Return a template filled as a sentence: with a capital and a full stop, which plain text leaves out."""
    text = _filled(template, content)
    return Markup(text[:1].upper()) + text[1:] + Markup("" if text.endswith((*".:;?!…", "</code>")) else ".")


def _bars(table: Table) -> list[str]:
    """Return the SVG path of each row's interval and estimate, which the page's policy allows."""
    if table.lines:
        return [_line(row) for row in drawn_lines(table)]
    if table.bars is None:
        return []
    drawn = [[round(_BAR * each) for each in row] for row in drawn_rows(table)]
    return [f"M{low} 8h{max(high - low, 1)}M{middle} 3v10" for low, middle, high in drawn]


def _line(triples: Sequence[tuple[float, float, float]]) -> str:
    """Return the SVG path of a line through estimates with upright intervals; the scale has 16 units."""
    step = _BAR / max(len(triples), 1)
    places = [round(step * (place + 0.5)) for place in range(len(triples))]
    points = [[round(15 - 14 * each, 1) for each in row] for row in triples]
    upright = "".join(f"M{x} {low:g}V{high:g}" for x, (low, _, high) in zip(places, points, strict=True))
    return upright + "M" + "L".join(f"{x} {middle:g}" for x, (_, middle, _) in zip(places, points, strict=True))


def environment(*packages: str) -> Environment:
    """Return the templates of packages and those of all pages; values are escaped."""
    loaders = [PackageLoader(package) for package in (*packages, "assocpriv.show")]
    made = Environment(
        loader=ChoiceLoader(loaders), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters |= {"fill": _filled, "sentence": _sentence}
    made.globals |= {"content_of": filled, "bars_of": _bars}
    return made


_TEMPLATES = environment()


def fragment(record: Record) -> Markup:
    """Return a record's parts as HTML, for a notebook or within a page."""
    shown = _TEMPLATES.get_template("parts.html").module
    return Markup(shown.show(record.parts, record.content))  # type: ignore[attr-defined]


def _glossary() -> list[list[str]]:
    return [each.removeprefix("**").split("**: ", 1) for each in read_glossary().split("\n\n")]


def render_page(record: Callable[[int], Record]) -> str:
    """Return a page of at most 300 kB; ``record`` makes the record for a maximum number of rows in each table."""
    script = _TEMPLATES.get_template("page.js").render()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    rows = 1000
    while True:
        made = _TEMPLATES.get_template("page.html").render(
            record=record(rows), script=Markup(script), script_hash=digest, glossary=_glossary()
        )
        if len(made.encode()) <= _MOST_BYTES or rows < 2:
            return made
        rows = int(0.9 * rows * _MOST_BYTES / len(made.encode()))


# ---- charts


def chart(
    found: "AnyFrame | Distributions", kind: str | None = None, *, rows: int | None = None, column: str | None = None
) -> charts.Chart:
    """Return a chart of a result: SVG that notebooks show and ``save`` writes to a file.

    Rows that you chose are drawn in your order: ``ap.chart(itemsets.sort_values("length").head(10))``. Of a table as
    :func:`assocpriv.mine` returned it, only likely rows are drawn. The note below says what is not drawn.

    Args:
        found: a result of :func:`assocpriv.mine`, :func:`assocpriv.association_rules` or
            :func:`assocpriv.reconstruct`; or itemsets or rules of mlxtend or rusket, which are drawn without intervals.
        kind: of itemsets ``intervals`` (default) or ``sizes`` (a line a size, with the minimum support); of rules
            ``scatter`` (default; support and confidence) or ``graph``; of a column nothing.
        rows: maximum number of rows; 30 intervals, 30 values of a column or 250 rules by default.
        column: which of several columns.

    Returns:
        The chart.

    Raises:
        EstimateError: an unknown kind or column, or no result of this package.
        TypeError: ``kind`` is no text.

    >>> import assocpriv as ap
    >>> plan = ap.plan(["tea", "milk", "rye"], ap.Guarantee("5%", "50%"), mean_size=2)
    >>> itemsets = ap.mine(ap.randomize([{"tea"}] * 20_000, plan), "50%")
    >>> ap.chart(itemsets)
    Chart(title='Supports with intervals of 95%')
    """
    content: dict[str, Any] = {}
    drawn: dict[str | None, Callable[[int | None], Picture]]
    if isinstance(found, Distributions):
        content = found.record()
        drawn = {None: partial(_column_picture, found, content, column)}
    elif "antecedents" in getattr(found, "columns", ()):
        drawn = {each: partial(_rules_picture, found, each) for each in ("scatter", "graph")}
    else:
        drawn = {each: partial(_itemsets_picture, found, each) for each in ("intervals", "sizes")}
    kind = next(iter(drawn)) if kind is None else check_type("kind", kind, str)
    if kind not in drawn:
        kinds = ", ".join(filter(None, drawn)) or "one kind"
        named = f"; a column is named by column={kind!r}" * (kind in getattr(found, "columns", ()))
        raise EstimateError(f"there is no chart {kind!r} of this: it can be drawn as {kinds}{named}")
    if rows is not None and (not isinstance(rows, int) or rows < 1):
        raise EstimateError(f"rows must be a number of at least 1, got {rows!r}")
    picture = drawn[kind](rows)
    shown, notes = picture.draw(), [Writer().fill(picture.caption, content).strip()]
    return replace(shown, notes=notes, keys=picture.legend if shown else ())


def _itemsets_picture(table: "AnyFrame", kind: str, rows: int | None) -> Picture:
    """Draw the caller's rows in their order; of a table as it was returned, likely rows of every size."""
    facts, frame = _facts_or_none(table), LightFrame.from_frame(table)
    drawn, most = frame, rows or (_INTERVALS if kind == "intervals" else len(frame))
    shown = frame.head(most)
    if facts and _is_as_returned(table):
        drawn = frame.take(np.flatnonzero(itemset_views.is_likely(frame)))
        shown = drawn.take(rows_to_show(drawn, NO_FILTER, most))
    left = itemset_views.not_drawn(
        (len(drawn) - len(shown), "further itemset", ""),
        (len(frame) - len(drawn), "itemset", " estimated below the minimum support"),
    )
    if kind == "sizes":
        return itemset_views.sizes_picture(shown, facts.min_support if facts else 0.0, left)
    return _intervals_picture(shown, facts, left)


def _intervals_picture(frame: LightFrame, facts: MiningFacts | None, left: str) -> Picture:
    marks = [row | {"name": charts.join_items(sorted(row["itemsets"]))} for row in frame.to_dict()]
    title, caption = "Supports with intervals" if "ci_low" in frame.columns else "Supports", ""
    if facts:
        title += f" of {percent_as_given(facts.confidence_level)}"
        caption = f"{pluralize(facts.reports, facts.unit)}; minimum support {percent_as_given(facts.min_support, 4)}."
    caption += " Pale: not selected." * any(not row.get("selected", True) for row in marks)
    return Picture(lambda: charts.intervals(marks, title), caption + left)


def _is_as_returned(table: "AnyFrame") -> bool:
    if isinstance(table, LightFrame):
        return False  # it does not know, and pandas need not be loaded
    from assocpriv.server.baskets.result_frames import is_as_returned

    return is_as_returned(table)


def _facts_or_none(table: "AnyFrame") -> MiningFacts | None:
    """Return the facts of a table of itemsets; None where it has none, but the columns to draw."""
    try:
        return mining_facts(table)
    except EstimateError:
        if not _DRAWN.issubset(table.columns):
            raise
        check_names(table, "itemsets")
        return None


def _rules_picture(table: "AnyFrame", kind: str, rows: int | None) -> Picture:
    check_rules(table)
    frame = LightFrame.from_frame(table)
    shown = frame.head(rows or _RULES)
    return itemset_views.rules_pictures(rule_records(shown), len(frame) - len(shown))[kind]


def _column_picture(found: Distributions, content: dict[str, Any], column: str | None, rows: int | None) -> Picture:
    column = next(iter(found.columns)) if column is None and len(found.columns) == 1 else column
    if column is None or column not in found.columns:
        raise EstimateError(f"column must be one of {', '.join(map(repr, found.columns)) or 'none'}, got {column!r}")
    return table_views.column_picture(content, column, rows or charts.MOST_VALUES)
