"""Pages and charts of results."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assocpriv.files.atomic import MAX_TABLE_BYTES, atomic_output, check_page_output, read_bounded
from assocpriv.files.itemset_files import AnyFrame, LightFrame
from assocpriv.files.plan_files import read_plan
from assocpriv.files.tree_files import read_tree
from assocpriv.guarantees.errors import EstimateError, PlanError, check_type, pluralize
from assocpriv.plans.basket_plan import Plan
from assocpriv.plans.published_plan import PublishedPlan
from assocpriv.plans.tree_model import TreeModel
from assocpriv.server.comparison import Comparison
from assocpriv.server.distributions import Distributions
from assocpriv.server.itemsets import mining_facts, read_table
from assocpriv.server.rules import check_rules, derive_rules, rule_records
from assocpriv.server.selection import NO_FILTER, rows_to_show
from assocpriv.show import (
    charts,
    comparison_views,
    guarantee_views,
    html_renderer,
    itemset_views,
    suppression_views,
    table_views,
)
from assocpriv.show.number_format import percent_as_given
from assocpriv.show.result_record import Picture, Record, Writer

if TYPE_CHECKING:
    Shown = AnyFrame | Comparison | Distributions | TreeModel | PublishedPlan | dict[str, Any] | str | Path

_INTERVALS, _RULES = 30, 250  # drawn in a chart


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
        return html_renderer.page(lambda rows: comparison_views.page(thing, title or "What differs", rows))
    if isinstance(thing, PublishedPlan):
        return html_renderer.page(lambda _: guarantee_views.to_sign(thing))
    if isinstance(thing, TreeModel):
        _check_plan(known, thing.plan_id, "the tree was grown with")
        return html_renderer.page(lambda rows: table_views.tree_page(thing, known, title or "", rows))
    facts, of_baskets = mining_facts(thing), None if known is None else known.require_type(Plan)
    if of_baskets is not None and of_baskets.plan_id not in facts.plan_ids:
        _check_plan(of_baskets, facts.plan_ids[0], "the table was mined with")
    derived = derive_rules(thing, min_confidence)  # once, before the page cuts rows
    return html_renderer.page(
        lambda rows: itemset_views.page(thing, of_baskets, derived, title or "What baskets have in common", rows)
    )


def _check_plan(plan: PublishedPlan | None, its: str | None, subject: str) -> None:
    if plan is not None and its and plan.plan_id != its:
        raise PlanError(f"{subject} plan {its[:12]}, and this is {plan.plan_id[:12]}")


def _read(path: Path) -> Any:
    """Return a tree, a record of distributions or of a suppression, a plan, or else a mined table."""
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
        return html_renderer.page(made)
    except (KeyError, TypeError, AttributeError, ValueError, IndexError, ArithmeticError):
        raise EstimateError(f"{name} is damaged, or was not written by reconstruct or suppress") from None


def write_page(
    found: "Shown",
    output: str | Path,
    plan: "PublishedPlan | str | Path | None" = None,
    *,
    force: bool = False,
    **options: Any,
) -> None:
    """Write the page of a result to a file.

    Args:
        found, plan: as for :func:`page`.
        output: the file, .html.
        force: replace an existing file.
        options: ``min_confidence`` and ``title``, as for :func:`page`.

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
    text = page(found, plan, **options)
    with atomic_output(output, force=force) as stream:
        stream.write(text.encode("utf-8"))


# ---- charts


def chart(
    found: "AnyFrame | Distributions", kind: str | None = None, *, rows: int | None = None, column: str | None = None
) -> charts.Chart:
    """Return a chart of a result: SVG that notebooks show and ``save`` writes to a file.

    A selection of rows is drawn like a table: ``ap.chart(itemsets[itemsets["length"] == 2])``.

    Args:
        found: a result of :func:`assocpriv.mine`, :func:`assocpriv.association_rules` or
            :func:`assocpriv.reconstruct`.
        kind: of itemsets ``intervals`` (default) or ``sizes`` (a line a size, with the minimum support); of rules
            ``scatter`` (default; support and confidence) or ``graph``; of a column nothing.
        rows: maximum number of rows; 30 intervals or 250 rules by default.
        column: which of several columns.

    Returns:
        The chart.

    Raises:
        EstimateError: an unknown kind or column, or no result of this package.

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
        drawn = {"intervals": partial(_intervals_picture, found), "sizes": partial(itemset_views.sizes_picture, found)}
    kind = next(iter(drawn)) if kind is None else check_type("kind", kind, str)
    if kind not in drawn:
        kinds = ", ".join(filter(None, drawn)) or "one kind"
        named = f"; a column is named by column={kind!r}" * (kind in getattr(found, "columns", ()))
        raise EstimateError(f"there is no chart {kind!r} of this: it can be drawn as {kinds}{named}")
    if rows is not None and (not isinstance(rows, int) or rows < 1):
        raise EstimateError(f"rows must be a number of at least 1, got {rows!r}")
    picture = drawn[kind](rows)
    shown = picture.draw()
    return replace(shown, notes=(Writer().fill(picture.caption, content),), keys=picture.legend) if shown else shown


def _intervals_picture(table: "AnyFrame", rows: int | None) -> Picture:
    facts, frame = mining_facts(table), LightFrame.from_frame(table)
    frame = frame.take(np.flatnonzero(itemset_views.is_likely(frame)))
    shown = frame.take(rows_to_show(frame, NO_FILTER, rows or _INTERVALS))
    drawn = [row | {"name": ", ".join(sorted(row["itemsets"]))} for row in shown.to_dict()]
    caption = f"{pluralize(facts.reports, 'report')}; minimum support {percent_as_given(facts.min_support, 4)}"
    caption += "" if shown["selected"].all() else "; pale: not selected"
    more = len(frame) - len(drawn)
    caption += f"; {more:,} more are not drawn" if more else ""
    title = f"Supports with intervals of {percent_as_given(facts.confidence_level)}"
    return Picture(lambda: charts.intervals(drawn, title), caption)


def _rules_picture(table: "AnyFrame", kind: str, rows: int | None) -> Picture:
    check_rules(table)
    return itemset_views.rules_pictures(rule_records(LightFrame.from_frame(table).head(rows or _RULES)))[kind]


def _column_picture(found: Distributions, content: dict[str, Any], column: str | None, rows: int | None) -> Picture:
    column = next(iter(found.columns)) if column is None and len(found.columns) == 1 else column
    if column is None or column not in found.columns:
        raise EstimateError(f"column must be one of {', '.join(map(repr, found.columns)) or 'none'}, got {column!r}")
    return table_views.column_picture(content, column, rows or charts.MOST_VALUES)
