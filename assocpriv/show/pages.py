"""The page or the chart of whatever was found."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assocpriv.files.atomic import LARGEST_TABLE, atomic_output, check_page, read_bounded
from assocpriv.files.itemsets import AnyFrame, LightFrame
from assocpriv.files.plans import read_plan
from assocpriv.files.tree_models import read_tree
from assocpriv.plans.baskets import Plan
from assocpriv.plans.published import PublishedPlan
from assocpriv.plans.tree_model import TreeModel
from assocpriv.promise.errors import EstimateError, PlanError, check_type, counted
from assocpriv.server.compare import Comparison
from assocpriv.server.distributions import Distributions
from assocpriv.server.itemsets import mining_facts, read_table
from assocpriv.server.rules import check_rules, derive_rules, rule_records
from assocpriv.server.selection import EVERYTHING, rows_to_show
from assocpriv.show import charts, comparisons, html, itemsets, promises, suppression, tables
from assocpriv.show.figures import percent_as_given
from assocpriv.show.record import Picture, Record, Writer

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
    """Return a page of what was found, HTML in one piece that loads nothing from elsewhere.

    It leads with what was found and how sure that is; then what could not be seen, the promise, and whether all this
    may be published. It holds no report, no basket and no record. Of a mined table it also shows rules; of a
    reconstruction how the values of each column are spread; of a tree what it asks; of a suppression what was withheld
    (that page stays with the owner); of a comparison what differs; of a plan what it promises, to be signed.

    Args:
        found: a table as :func:`assocpriv.mine` returned it, what :func:`assocpriv.reconstruct`,
            :func:`assocpriv.compare` or :func:`assocpriv.numeric.grow_tree` returned, a plan, or a file of one of
            them but a comparison, or of a suppression's report (JSON).
        plan: the plan that it was found with, or a file of it, for its promise to be said.
        min_confidence: of the rules shown.
        title: the page's heading.

    Raises:
        EstimateError: what was not found here, or two columns together.
        PlanError: another plan than that it was found with.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, promise=ap.Breach("5%", "50%"))
    >>> found = ap.mine(ap.randomize([{"milk", "tea"}] * 20_000, made), 0.5)
    >>> "<h1>Breakfast</h1>" in ap.page(found, made, title="Breakfast")
    True
    """
    known = read_plan(plan) if isinstance(plan, str | Path) else plan if plan is None else PublishedPlan.of(plan)
    thing: Any = _read(Path(found)) if isinstance(found, str | Path) else found
    if isinstance(thing, Distributions):
        thing = thing.record()
    if isinstance(thing, dict):
        return _record_page(thing, known, title, str(found) if isinstance(found, str | Path) else "it")
    if isinstance(thing, Comparison):
        return html.page(lambda rows: comparisons.page(thing, title or "What differs", rows))
    if isinstance(thing, PublishedPlan):
        return html.page(lambda _: promises.to_sign(thing))
    if isinstance(thing, TreeModel):
        _check_plan(known, thing.plan_id, "the tree was grown with")
        return html.page(lambda rows: tables.tree_page(thing, known, title or "", rows))
    facts, of_baskets = mining_facts(thing), None if known is None else known.as_a(Plan)
    if of_baskets is not None and of_baskets.plan_id not in facts.plan_ids:
        _check_plan(of_baskets, facts.plan_ids[0], "the table was mined with")
    derived = derive_rules(thing, min_confidence)  # once, of however many rows the page has room for
    return html.page(
        lambda rows: itemsets.page(thing, of_baskets, derived, title or "What baskets have in common", rows)
    )


def _check_plan(plan: PublishedPlan | None, its: str | None, said: str) -> None:
    if plan is not None and its and plan.plan_id != its:
        raise PlanError(f"{said} plan {its[:12]}, and this is {plan.plan_id[:12]}")


def _read(path: Path) -> Any:
    """Return a tree, a record of distributions or of a suppression, a plan, or else a mined table."""
    if path.suffix.lower() == ".json":
        try:
            content = json.loads(read_bounded(path, LARGEST_TABLE))
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
            f"{name} says how two columns are spread together; a page shows each by itself: leave --joint"
        )
    if plan is not None and "bounds" in record:
        raise PlanError("no promise of one plan binds what this page says; leave the plan out")
    _check_plan(plan, record.get("plan_id"), "the reports were of")

    def made(rows: int) -> Record:
        if "bounds" in record:
            return suppression.page(record, title or "What is withheld", rows)
        return tables.distributions_page(record, plan, title or "How the values are spread", rows)

    try:
        return html.page(made)
    except (KeyError, TypeError, AttributeError, ValueError, IndexError, ArithmeticError):
        raise EstimateError(f"{name} is damaged, or not what reconstruct or suppress wrote") from None


def write_page(
    found: "Shown",
    output: str | Path,
    plan: "PublishedPlan | str | Path | None" = None,
    *,
    force: bool = False,
    **options: Any,
) -> None:
    """Write what :func:`page` returns to a file.

    Args:
        found, plan: as for :func:`page`.
        output: the file, .html.
        force: replace an existing file.
        options: ``min_confidence`` and ``title``, as for :func:`page`.

    Raises:
        FileError: the file exists and ``force`` is not set, does not end in .html, or cannot be written; and as
            :func:`page`.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, promise=ap.Breach("5%", "50%"))
    >>> found = ap.mine(ap.randomize([{"milk", "tea"}] * 20_000, made), 0.5)
    >>> ap.write_page(found, f"{mkdtemp()}/found.html", made, title="Breakfast")
    """
    check_page(output, force=force)
    text = page(found, plan, **options)
    with atomic_output(output, force=force) as stream:
        stream.write(text.encode("utf-8"))


# ---- charts


def chart(
    found: "AnyFrame | Distributions", kind: str | None = None, *, rows: int | None = None, column: str | None = None
) -> charts.Chart:
    """Return a chart of what was found, as pages draw it: SVG that notebooks show, and that ``save`` writes to a file.

    A selection of rows is drawn as any table, as ``ap.chart(itemsets[itemsets["length"] == 2])``; whoever draws
    otherwise takes the tables' own ``ci_low`` and ``ci_high``.

    Args:
        found: a table as :func:`assocpriv.mine` or :func:`assocpriv.association_rules` returned it, or what
            :func:`assocpriv.reconstruct` returned.
        kind: of itemsets ``intervals`` (default) or ``sizes``, on a line for each size beside the minimum support;
            of rules ``scatter`` (default; by support and confidence) or ``graph``; of a column nothing.
        rows: at most so many, from the first: 30 intervals or 250 rules.
        column: which one of several.

    Raises:
        EstimateError: another kind or column, or a table that was not found here.

    >>> import assocpriv as ap
    >>> plan = ap.plan(["tea", "milk", "rye"], ap.Breach("5%", "50%"), mean_size=2)
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
        drawn = {"intervals": partial(_intervals_picture, found), "sizes": partial(itemsets.sizes_picture, found)}
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
    facts, frame = mining_facts(table), LightFrame.of(table)
    frame = frame.take(np.flatnonzero(itemsets.is_likely(frame)))
    shown = frame.take(rows_to_show(frame, EVERYTHING, rows or _INTERVALS))
    drawn = [row | {"name": ", ".join(sorted(row["itemsets"]))} for row in shown.to_dict()]
    said = f"{counted(facts.reports, 'report')}; minimum support {percent_as_given(facts.min_support, 4)}"
    said += "" if shown["listed"].all() else "; pale: less sure"
    more = len(frame) - len(drawn)
    said += f"; {more:,} more not drawn" if more else ""
    title = f"Supports with intervals of {percent_as_given(facts.confidence_level)}"
    return Picture(lambda: charts.intervals(drawn, title), said)


def _rules_picture(table: "AnyFrame", kind: str, rows: int | None) -> Picture:
    check_rules(table)
    return itemsets.rules_pictures(rule_records(LightFrame.of(table).head(rows or _RULES)))[kind]


def _column_picture(found: Distributions, content: dict[str, Any], column: str | None, rows: int | None) -> Picture:
    column = next(iter(found.columns)) if column is None and len(found.columns) == 1 else column
    if column is None or column not in found.columns:
        raise EstimateError(f"column must be one of {', '.join(map(repr, found.columns)) or 'none'}, got {column!r}")
    return tables.column_picture(content, column, rows or charts.MOST_VALUES)
