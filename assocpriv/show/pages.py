"""The page or the chart of whatever was found."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assocpriv.files.atomic import atomic_output, check_page
from assocpriv.files.itemsets import AnyFrame, LightFrame, itemset_records
from assocpriv.files.plans import read_plan
from assocpriv.files.tree_models import read_tree
from assocpriv.plans.baskets import Plan
from assocpriv.plans.tree_model import TreeModel, tree_sides
from assocpriv.promise.breaches import parse_share
from assocpriv.promise.errors import EstimateError, PlanError, counted
from assocpriv.server.distributions import Distributions
from assocpriv.server.itemsets import describe_limits, mining_facts, read_table
from assocpriv.server.rules import check_rules, derive_rules, rule_records
from assocpriv.server.selection import EVERYTHING, rows_to_show
from assocpriv.show import charts, sheets
from assocpriv.show.figures import errors_of, names, share
from assocpriv.show.itemsets import is_likely, list_line, meaning_lines, rule_line

if TYPE_CHECKING:
    from collections.abc import Collection

    from assocpriv.plans.published import PublishedPlan

    Shown = AnyFrame | Distributions | TreeModel | dict[str, Any] | str | Path

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
    (that page stays with the owner).

    Args:
        found: a table as :func:`assocpriv.mine` returned it, what :func:`assocpriv.reconstruct` or
            :func:`assocpriv.numeric.grow_tree` returned, or a file of one of them, or of a suppression's report (JSON).
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
    known = read_plan(plan) if isinstance(plan, str | Path) else plan
    thing: Any = _read(Path(found)) if isinstance(found, str | Path) else found
    if isinstance(thing, Distributions):
        thing = thing.record()
    if isinstance(thing, dict):
        return _record_page(thing, known, title, str(found) if isinstance(found, str | Path) else "it")
    if isinstance(thing, TreeModel):
        return _tree_page(thing, known, title)
    return _mined_page(thing, known, min_confidence, title or "What baskets have in common")


def _read(path: Path) -> Any:
    """Return a tree, a record of distributions or of a suppression, or else a mined table."""
    if path.suffix.lower() == ".json":
        try:
            content = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return read_table(path)  # which says what is wrong
        if isinstance(content, dict) and content.get("format") == "assocpriv-tree":
            return read_tree(path)
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
    its = record.get("plan_id")
    if plan is not None and its and plan.plan_id != its:
        raise PlanError(f"the reports were of plan {str(its)[:12]}, and this is {plan.plan_id[:12]}")
    missing = [] if plan is None else [each for each in record.get("columns", ()) if each not in _columns(plan)]
    if missing:
        raise PlanError(f"the plan has no column {missing[0]!r}; it must be that of the reports")
    try:
        if "bounds" in record:
            return sheets.withheld_page(record, title or "What is withheld")
        return sheets.spread_page(record, title or "How the values are spread", plan)
    except (KeyError, TypeError, AttributeError, ValueError, IndexError, ArithmeticError):
        raise EstimateError(f"{name} is damaged, or not what reconstruct or suppress wrote") from None


def _columns(plan: "PublishedPlan") -> "Collection[str]":
    return [each.name for each in getattr(plan, "columns", ())]


def _tree_page(model: "TreeModel", plan: "PublishedPlan | None", title: str | None) -> str:
    if plan is not None and model.plan_id and plan.plan_id != model.plan_id:
        raise PlanError(f"the tree was grown with plan {model.plan_id[:12]}, and this is {plan.plan_id[:12]}")
    nodes = model.nodes
    lines = [
        sheets.Line(depth, test, nodes[place].records, nodes[place].shares, nodes[place].split is None)
        for depth, test, place in tree_sides(model)
    ]
    facts = {
        "class": model.class_name, "classes": model.classes, "records": nodes[0].records, "shares": nodes[0].shares,
        "undecidable": model.undecidable, "method": model.method, "plan_id": model.plan_id,
    }  # fmt: skip
    return sheets.tree_page(facts, lines, title or f"What tells {model.class_name}", plan)


def _mined_page(table: "AnyFrame", plan: "PublishedPlan | None", min_confidence: float | str, title: str) -> str:
    facts, frame = mining_facts(table), LightFrame.of(table)
    known = None if plan is None else plan.as_a(Plan)
    if known is not None and known.plan_id not in facts.plan_ids:
        raise PlanError(f"the table was mined with plan {facts.plan_ids[0][:12]}, and this is {known.plan_id[:12]}")
    rules = derive_rules(frame, min_confidence)
    frame = frame.take(np.flatnonzero(is_likely(frame)))
    shown = frame.take(rows_to_show(frame, EVERYTHING, sheets.MOST_ITEMSETS))
    records = [record | {"sure": record["listed"]} for record in itemset_records(shown)]
    first = rule_records(rules.take(np.arange(min(len(rules), sheets.MOST_RULES))))
    least = f"{100 * float(parse_share(min_confidence, 'min_confidence')):g}%"
    limits = [*meaning_lines(facts)[1:], *describe_limits(facts)]
    return sheets.mined_page(
        sheets.Found(
            title, facts.to_json(), records, first, list_line(frame), len(rules), least, rule_line(rules), known,
            _marks(frame), limits,
        )
    )  # fmt: skip


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
    found: "AnyFrame | Distributions",
    kind: str | None = None,
    *,
    rows: int | None = None,
    column: str | None = None,
) -> charts.Chart:
    """Return a chart of what was found, as pages draw it: SVG that notebooks show, and that ``save`` writes to a file.

    A selection of rows is drawn as any table, as ``ap.chart(itemsets[itemsets["length"] == 2])``; whoever draws
    otherwise takes the tables' own ``ci_low`` and ``ci_high``.

    Args:
        found: a table as :func:`assocpriv.mine` or :func:`assocpriv.association_rules` returned it, or what
            :func:`assocpriv.reconstruct` returned.
        kind: of itemsets ``intervals`` (default) or ``sizes``, on a line for each size beside the minimum support;
            of rules ``scatter`` (default; by support and confidence), ``graph`` or ``matrix``; of a column
            nothing.
        rows: at most so many, the surest: 30 intervals or 250 rules.
        column: which one of several.

    Raises:
        EstimateError: another kind or column, or a table that was not found here.

    >>> import assocpriv as ap
    >>> plan = ap.plan(["tea", "milk", "rye"], ap.Breach("5%", "50%"), mean_size=2)
    >>> itemsets = ap.mine(ap.randomize([{"tea"}] * 20_000, plan), "50%")
    >>> ap.chart(itemsets)
    Chart(title='Supports with intervals of 95%')
    """
    draw: dict[str | None, Callable[..., charts.Chart]]
    if isinstance(found, Distributions):
        draw, options = {None: _column_chart}, {"column": column}
    else:
        draw, options = {"intervals": _itemsets_chart, "sizes": _sizes_chart}, {}
        if "antecedents" in getattr(found, "columns", ()):
            draw = dict.fromkeys(("scatter", "graph", "matrix"), _rules_chart)
            options = {"kind": kind or "scatter"}
        kind = kind or next(iter(draw))
    if kind not in draw:
        kinds = ", ".join(filter(None, draw)) or "one kind"
        raise EstimateError(f"there is no chart {kind!r} of this: it can be drawn as {kinds}")
    if rows is not None and (not isinstance(rows, int) or rows < 1):
        raise EstimateError(f"rows must be a number of at least 1, got {rows!r}")
    return draw[kind](found, rows=rows, **options)


def _itemsets_chart(table: "AnyFrame", rows: int | None) -> charts.Chart:
    facts = mining_facts(table)
    frame = LightFrame.of(table)
    frame = frame.take(np.flatnonzero(is_likely(frame)))
    shown = frame.take(rows_to_show(frame, EVERYTHING, rows or _INTERVALS))
    items, *numbers = (shown[name].tolist() for name in ("itemsets", "support", "ci_low", "ci_high", "listed"))
    drawn = [charts.Interval(", ".join(sorted(each)), *row) for each, *row in zip(items, *numbers, strict=True)]
    title = f"Supports with intervals of {100 * facts.confidence_level:g}%"
    said = f"{counted(facts.reports, 'report')}; minimum support {share(facts.min_support)}"
    said += "" if shown["listed"].all() else "; pale: less sure"
    more = len(frame) - len(drawn)
    return charts.picture(charts.intervals(drawn, title), [said + (f"; {more:,} more not drawn" if more else "")])


def _sizes_chart(table: "AnyFrame", rows: int | None) -> charts.Chart:
    frame = LightFrame.of(table)
    frame = frame.take(np.flatnonzero(is_likely(frame)))
    said = [
        "Each mark is an itemset by its support, on a logarithmic scale; pale ones are less sure.",
        "Dashed: the minimum support.",
    ]
    return charts.picture(charts.supports_chart(mining_facts(table).min_support, _marks(frame)[:rows]), said)


def _rules_chart(table: "AnyFrame", rows: int | None, kind: str) -> charts.Chart:
    check_rules(table)
    first = rule_records(LightFrame.of(table).head(rows or _RULES))
    draw, said = {
        "scatter": (charts.rules_chart, []),
        "graph": (charts.rules_graph, ["Rules between two items. Thick: high confidence."]),
        "matrix": (charts.rules_matrix, ["Large: high confidence."]),
    }[kind]
    (least, shade), *others = charts.SHADED_LEGEND
    return charts.picture(draw(first), said, [(f"lift {least}", shade), *others])


def _column_chart(found: "Distributions", rows: int | None, column: str | None) -> charts.Chart:
    column = next(iter(found.columns)) if column is None and len(found.columns) == 1 else column
    if column is None or column not in found.columns:
        raise EstimateError(f"column must be one of {', '.join(map(repr, found.columns)) or 'none'}, got {column!r}")
    one, level = found.columns[column], f"{100 * found.confidence_level:g}%"
    own = [(value, of[column].record()) for value, of in found.classes.items() if column in of][: charts.MOST_CLASSES]
    most = rows or charts.MOST_VALUES
    drawn = charts.column_chart(column, one.record(), own, errors_of(found.confidence_level), most)
    if one.numbers is None:
        more = max(len(one.values) - most, 0)
        return charts.picture(
            drawn, [f"Intervals of {level}" + (f"; {more:,} rarer values are not drawn" if more else "")]
        )
    said = f"Shares of people below a value. The curve lies within the grey band everywhere at once, with {level}."
    lines = [(each, f"curve line{place}") for place, each in enumerate(names(value for value, _ in own), 1)]
    return charts.picture(drawn, [said], [("all", "curve"), *lines] if own else [])


def _marks(frame: "LightFrame") -> list[tuple[int, float, bool]]:
    """Return size, support and whether it is listed, of every itemset."""
    return list(zip(frame["length"].tolist(), frame["support"].tolist(), frame["listed"].tolist(), strict=True))
