"""What a file is, what it promises, and what can be learned from it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from assocpriv.apps.render import crafted as show_liars
from assocpriv.apps.render import results as show
from assocpriv.core.errors import EstimateError, FileError, PlanError, WireError
from assocpriv.files.basket_reports import basket_groups
from assocpriv.files.plans import read_plan
from assocpriv.files.reports import Reports, read_reports
from assocpriv.files.tables import FORMATS, itemset_records
from assocpriv.plans.baskets.plan import Plan
from assocpriv.server.itemsets.frames import mining_facts, read_itemsets

Description = tuple[str, Callable[[], dict[str, Any]], Callable[[], list[str]]]


def inspect_path(path: Path, reports: int, *, check_crafted: bool = False) -> Description:
    """Return what kind of file a path is, and how to describe it as JSON content and as text.

    Args:
        path: a plan, a report file or folder of them, or a file of mined itemsets.
        reports: number of reports to describe a plan for.
        check_crafted: also test whether honest people could have sent the reports (server/crafted/checks.py).

    Raises:
        FileError: it is none of these, and says what speaks against each; or it holds no reports that can be tested.
    """
    if not path.exists():
        raise FileError(f"there is no file {path}")
    if reports < 1:
        raise FileError(f"--reports must be at least 1, got {reports}")
    reasons = []
    for attempt in (_plan, _reports, _itemsets):
        try:
            description = attempt(path, reports)
        except (PlanError, WireError, EstimateError, FileError) as error:
            if isinstance(error, PlanError) and "not a plan" not in str(error):
                raise  # it says that it is a plan, so what is wrong with it is all there is to say
            reasons.append(str(error))
            continue
        if description is not None:
            return _with_check(description, path) if check_crafted else description
    if not reasons:
        raise FileError(f"{path} must end in .json, .parquet or .csv, or be a folder of report files")
    raise FileError(f"{path} is no plan, report file or file of itemsets: " + "; ".join(reasons))


def _plan(path: Path, reports: int) -> Description | None:
    if path.suffix.lower() != ".json" or path.is_dir():
        return None
    plan = read_plan(path, Plan)
    return "plan", lambda: show.plan_record(plan, reports), lambda: show.plan_lines(plan, reports)


def _reports(path: Path, _reports_planned: int) -> Description | None:
    if path.suffix.lower() != ".parquet" and not path.is_dir():
        return None
    collection = read_reports(path)
    plan, group_reports = collection.plan.as_a(Plan), _check_all(collection)
    n_reports = len(collection)
    files = len(collection.paths)

    def lines() -> list[str]:
        return [
            f"{n_reports:,} reports in {files} file{'s' * (files != 1)}, each whole and as its plan says",
            *show.plan_lines(plan, max(n_reports, 1), group_reports),
        ]

    def record() -> dict[str, Any]:
        told = show.plan_record(plan, max(n_reports, 1), group_reports)
        return told | {"reports": n_reports, "files": files}

    return "reports", record, lines


def _with_check(description: Description, path: Path) -> Description:
    """Add what the tests for crafted reports say of a description of reports."""
    from assocpriv.apps.progress import Progress
    from assocpriv.server.crafted.checks import check_reports

    kind, record, lines = description
    if kind != "reports":
        raise FileError(f"{path} holds {'a plan' if kind == 'plan' else kind}; --check-crafted needs reports")
    check = check_reports(read_reports(path), progress=Progress())
    return (
        kind,
        lambda: record() | {"crafted": show_liars.crafted_record(check)},
        lambda: [*lines(), *show_liars.crafted_lines(check)],
    )


def _check_all(collection: Reports) -> list[int] | None:
    """Read all reports, which checks them; return how many there are of each size that is in clear."""
    if collection.plan.uncovered:
        return [len(group) for group in basket_groups(collection)]
    for _ in collection.batches(1 << 20):
        pass
    return None


def _itemsets(path: Path, _reports_planned: int) -> Description | None:
    if path.suffix.lower() not in FORMATS or path.is_dir():
        return None
    frame = read_itemsets(path)
    facts = mining_facts(frame)

    def lines() -> list[str]:
        return [
            f"{len(frame):,} itemsets mined with plan {facts.plan_id[:16]}…, minimum support {facts.min_support:.4g}",
            show.meaning_line(facts),
            *show.threshold_lines(facts),
            *show.itemset_lines(frame, 20),
        ]

    return "itemsets", lambda: facts.to_json() | {"itemsets": itemset_records(frame)}, lines
