"""The door of pages that people look at: what mined tables say, as one file of HTML for a browser."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assocpriv.core.loading import on_first_use

if TYPE_CHECKING:
    from assocpriv.core.light_frame import AnyFrame
    from assocpriv.plans.baskets.plan import Plan

__all__ = ["check_page", "page", "write_page"]
_HOMES: dict[str, tuple[str, ...]] = {}
_TIMES = (2, 4, 10)  # as many people, for whom it is foreseen what could be told

__getattr__, __dir__ = on_first_use(globals(), _HOMES)


def page(
    itemsets: "AnyFrame | str | Path",
    plan: "Plan | str | Path | None" = None,
    *,
    min_confidence: float | str = "50%",
    title: str = "What baskets have in common",
) -> str:
    """Return a page of a mined table, HTML in one piece that loads nothing from elsewhere.

    It leads with what was found and how sure that is; then what could not be seen, rules, the promise, what more people
    would show, and whether all this may be published. It holds no report and no basket.

    Args:
        itemsets: a table as :func:`assocpriv.mine` returned it, or a file of it.
        plan: the plan it was mined with, or a file of it, for its promise to be said.
        min_confidence: of the rules shown.
        title: the page's heading.

    Raises:
        EstimateError: a table that was not mined here.
        PlanError: another plan than the table's.
    """
    import numpy as np

    from assocpriv.core.errors import PlanError
    from assocpriv.core.light_frame import LightFrame
    from assocpriv.core.privacy import parse_share
    from assocpriv.files.plans import read_plan
    from assocpriv.files.tables import itemset_records
    from assocpriv.mining import rules_of_table
    from assocpriv.pages.mined import MOST_ITEMSETS, MOST_RULES, Found, mined_page
    from assocpriv.plans.baskets.plan import Plan
    from assocpriv.server.estimates.limits import level_discoverable_support
    from assocpriv.server.itemsets.frames import mining_facts, read_table
    from assocpriv.server.itemsets.rules import rule_records
    from assocpriv.server.itemsets.selection import RuleFilter, Surest

    given = read_table(itemsets) if isinstance(itemsets, str | Path) else itemsets
    facts, frame = mining_facts(given), LightFrame.of(given)
    known = read_plan(plan, Plan) if isinstance(plan, str | Path) else plan
    if known is not None and known.plan_id != facts.plan_id:
        raise PlanError(f"the table was mined with plan {facts.plan_id[:12]}, and this is {known.plan_id[:12]}")
    surest = Surest.of(frame, MOST_ITEMSETS)
    records = [
        record | {"sure": each} for record, each in zip(itemset_records(surest.rows), surest.sure.tolist(), strict=True)
    ]
    has_rules = len(frame) and not facts.are_entries
    rules = rules_of_table(frame, min_confidence, None, RuleFilter()) if has_rules else LightFrame({})
    first = rule_records(rules.take(np.arange(min(len(rules), MOST_RULES)))) if has_rules else []
    more = {
        level.size: [
            level_discoverable_support(
                [replace(group, n_reports=times * group.n_reports) for group in facts.groups],
                level.size,
                max(level.candidates, 1),
            )
            for times in _TIMES
        ]
        for level in facts.levels
    }
    stronger = [] if known is None else _other_promises(known, facts.reports)
    least = f"{100 * float(parse_share(min_confidence, 'min_confidence')):g}%"
    counts = surest.finds, surest.sure_finds, len(rules)
    return mined_page(Found(title, facts.to_json(), records, first, *counts, least, known, _TIMES, more, stronger))


def _other_promises(plan: "Plan", reports: int) -> list[tuple[str, float | None]]:
    """Return half and twice the ε of a plan, and from which support on as many people would show single items then."""
    from assocpriv.core.errors import PlanError
    from assocpriv.core.privacy import Epsilon, epsilon
    from assocpriv.planning.planner import make_plan
    from assocpriv.server.estimates.limits import level_discoverable_support
    from assocpriv.server.estimates.supports import Group

    if not plan.view.is_plain or plan.view.blocks is not None or plan.in_clear or plan.reports_per_person > 1:
        return []  # of these it depends on more than the promise
    found: list[tuple[str, float | None]] = []
    for name, times in (("half", 0.5), ("twice", 2.0)):
        wanted = times * epsilon(plan.promise.amplification_limit)
        said = f"{name} the ε, {wanted:.3g}"
        try:
            other = make_plan(
                plan.catalogue, plan.transaction_size, Epsilon(f"{wanted:.6f}"), itemset_size=plan.itemset_size,
                reports=reports, code="none",  # no report is made, and what can be told is the same with any code
            )  # fmt: skip
        except PlanError:
            found.append((said, None))
            continue
        least = level_discoverable_support([Group.of(other, reports)], 1, plan.n_items)
        found.append((said, least if least < 1 else None))
    return found


def write_page(
    itemsets: "AnyFrame | str | Path",
    output: str | Path,
    plan: "Plan | str | Path | None" = None,
    *,
    force: bool = False,
    **options: Any,
) -> None:
    """Write what :func:`page` returns to a file.

    Raises:
        FileError: the file exists and ``force`` is not set, does not end in .html, or cannot be written; and as
            :func:`page`.
    """
    from assocpriv.files.atomic import atomic_output

    check_page(output, force=force)
    text = page(itemsets, plan, **options)
    with atomic_output(output, force=force) as stream:
        stream.write(text.encode("utf-8"))


def check_page(output: str | Path, *, force: bool = False, inputs: Iterable[Path] = ()) -> None:
    """Refuse a file that a page cannot be written to, before any work is done for it.

    Raises:
        FileError: as :func:`write_page`, or it is one of ``inputs``.
    """
    from assocpriv.core.errors import FileError
    from assocpriv.files.atomic import check_writable

    if Path(output).suffix.lower() not in (".html", ".htm"):
        raise FileError(f"{output} must end in .html: a page is HTML")
    check_writable(output, force=force, inputs=inputs)
