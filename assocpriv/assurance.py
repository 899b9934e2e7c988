"""The door of assurance: what a plan proves, whether clients keep to it, what files hold, and one device's reports."""

from collections.abc import Callable, Iterable, Sequence, Sized
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from assocpriv.plans.kind import on_first_use
from assocpriv.promise.errors import BasketError, EstimateError, FileError, NotAPlanError, WireError

if TYPE_CHECKING:
    import pandas as pd

    from assocpriv.auditing.kinds import Audit, audit_file
    from assocpriv.auditing.request import AuditRequest
    from assocpriv.client.any_kind import parse_record, takes_names
    from assocpriv.client.ledger import Ledger
    from assocpriv.files.itemsets import LightFrame
    from assocpriv.files.plans import read_plan
    from assocpriv.planning.baskets import explain_promises
    from assocpriv.planning.discovery import DEFAULT_DELTA, Answers, Budget, Privacy, describe_budget, describe_privacy
    from assocpriv.plans.baskets import Plan
    from assocpriv.plans.published import PublishedPlan
    from assocpriv.plans.tree_model import TreeModel
    from assocpriv.promise.breaches import Breach
    from assocpriv.promise.entropy import SystemEntropy
    from assocpriv.server.crafted import CraftedCheck

__all__ = [
    "DEFAULT_DELTA",
    "ITEMSETS",
    "MODEL",
    "PLAN",
    "REPORTS",
    "AuditRequest",
    "Budget",
    "DeviceReport",
    "FileContent",
    "Ledger",
    "Privacy",
    "SystemEntropy",
    "audit",
    "audit_file",
    "describe_budget",
    "describe_privacy",
    "explain_promises",
    "inspect",
    "parse_record",
    "privacy",
    "read_plan",
    "report",
    "takes_names",
]  # fmt: skip
_HOMES = {
    "assocpriv.auditing.kinds": ("audit_file",),
    "assocpriv.auditing.request": ("AuditRequest",),
    "assocpriv.client.any_kind": ("parse_record", "takes_names"),
    "assocpriv.client.ledger": ("Ledger",),
    "assocpriv.promise.entropy": ("SystemEntropy",),
    "assocpriv.files.plans": ("read_plan",),
    "assocpriv.planning.discovery": ("DEFAULT_DELTA", "Budget", "Privacy", "describe_budget", "describe_privacy"),
    "assocpriv.planning.baskets": ("explain_promises",),
}  # fmt: skip
PLAN, REPORTS, ITEMSETS, MODEL = "plan", "reports", "itemsets", "model"


__getattr__, __dir__ = on_first_use(globals(), _HOMES)


# ---- promises


@overload
def privacy(  # type: ignore[overload-overlap]  # of a plan of baskets more is known than of any plan
    plans: "Plan", priors: Iterable["str | float | Fraction"] = (), **options: Any
) -> "Privacy": ...


@overload
def privacy(
    plans: "PublishedPlan | Iterable[Answers]", priors: Iterable["str | float | Fraction"] = ()
) -> "Budget": ...


def privacy(
    plans: "PublishedPlan | Iterable[Answers]", priors: Iterable["str | float | Fraction"] = (), **options: Any
) -> "Privacy | Budget":
    """Return what a plan proves about privacy, or what all answers of one person to several plans tell together.

    Args:
        plans: a plan; or a list of plans, each alone (as many reports as it allows a person) or with a number of
            reports: ``[survey, (weekly, 52)]`` is one survey and a year of weekly reports.
        priors: probabilities of a property beforehand, for the table; by default usual ones and the promises'.
        options: of one plan of baskets ``reports_per_person``, ``shuffled`` and ``delta``, as :func:`describe_privacy`
            has them.

    Returns:
        Of one plan of baskets its ``one`` report, several ``together``, and information in bits; of others all
        ``answers`` and what they prove ``together``: ``amplification`` (the product of all γ, rounded up),
        ``epsilon``, ``beliefs``.

    Raises:
        PlanError: a number out of range, or a plan that states no γ.
        TypeError: something that is no plan.
    """
    from assocpriv.planning.discovery import describe_budget, describe_privacy
    from assocpriv.plans.baskets import Plan
    from assocpriv.plans.published import PublishedPlan

    if isinstance(plans, PublishedPlan):
        if isinstance(plans, Plan):
            return describe_privacy(plans, priors, **options)
        plans = [plans]
    if options:
        raise TypeError(
            f"{next(iter(options))} goes with one plan of baskets; of others give pairs of a plan and its reports"
        )
    if not isinstance(plans, Iterable):
        raise TypeError(f"give a plan (read_plan reads one from a file) or a list, got a {type(plans).__name__}")
    return describe_budget(plans, priors)


# ---- audit


def audit(
    plan: "PublishedPlan | str | Path",
    *,
    depth: str = "all",
    trials: int = 1_000_000,
    confidence: str | float | Fraction = "99.9%",
    client: str = "both",
    program: Sequence[str] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> "Audit":
    """Audit a plan and clients of it: is the promise kept, and do the clients follow the plan?

    The clients run on records made here, never on anybody's.

    Args:
        plan: a plan, or a plan file.
        depth: "exact" (the promise recomputed, our clients walked through draw by draw), "conformance" or "empirical"
            (clients as black boxes), or "all".
        trials: reports to ask each client for, 1,000 at least.
        confidence: chance, at least, that clients that follow the plan are not called broken; from 50% to below 100%.
        client: of ours, "bulk" (for many baskets), "single" (for one) or "both".
        program: a program of any language and its arguments, in place of our clients; it needs a plan file.
        progress: called with (stage, done, total).

    Returns:
        ``verdict`` ("consistent" or "broken"), ``is_broken``, and ``findings``, each with a ``verdict`` of its own,
        which can also be "not decided", and what was ``said``.

    Raises:
        PlanError: no plan, where the exact depth is not asked for, or a number out of range.
        FileError: the file cannot be read, or a program cannot be started.
    """
    from assocpriv.auditing.kinds import Audit, audit_file
    from assocpriv.auditing.kinds import audit as run
    from assocpriv.auditing.request import AuditRequest
    from assocpriv.plans.published import PublishedPlan

    words = None if program is None else tuple(program)
    request = AuditRequest(depth, trials, confidence, client, words)
    if isinstance(plan, str | Path):
        return audit_file(Path(plan), request, progress)
    plan = PublishedPlan.of(plan)
    if words is not None:
        raise FileError("a program reads its plan from a file; write the plan with write_plan and name the file")
    return Audit(request, plan, tuple(run(plan, plan.canonical_json, request, progress)))


# ---- files


@dataclass(frozen=True, slots=True)
class FileContent:
    """What a path of a kind (``plan``, ``reports``, ``itemsets`` or ``model``, a decision tree) holds.

    Of itemsets their ``table`` as a file holds it, and ``itemsets``, the same as a data frame; of reports their plan,
    their number, their files, how many a collector has not sealed, and what the tests for crafted reports say, where
    they were asked for.
    """

    kind: str
    plan: "PublishedPlan | None" = None
    reports: int = 0
    files: int = 0
    table: "LightFrame | None" = None
    model: "TreeModel | None" = None
    crafted: "CraftedCheck | None" = None
    unsealed: int = 0

    @property
    def itemsets(self) -> "pd.DataFrame | None":
        """The mined itemsets, as a data frame."""
        return None if self.table is None else self.table.to_pandas()

    @property
    def said(self) -> str:
        """What it holds, in a sentence."""
        return f"a {self.kind}" if self.kind in (PLAN, MODEL) else self.kind


def inspect(
    path: str | Path, *, check_crafted: bool = False, progress: Callable[[str, int, int], None] | None = None
) -> FileContent:
    """Read a plan, reports (a file or a folder of them), mined itemsets or a tree whole, whichever a path holds.

    Args:
        path: the file or folder.
        check_crafted: also test whether honest people could have sent the reports (server/crafted.py).
        progress: of these tests, called with (what is done, done, total).

    Raises:
        FileError: it is none of these, and says what speaks against each; or it holds no reports that can be tested.
        PlanError: it says that it is a plan, and what is wrong with it.
    """
    from assocpriv.files.itemsets import FORMATS
    from assocpriv.files.reports import IS_LEDGER, gather_hint, is_ledger

    path = Path(path)
    if not path.exists():
        raise FileError(f"there is no file {path}")
    if is_ledger(path):
        raise FileError(f"{path} {IS_LEDGER}")
    reasons = []
    for endings, folders, read in (
        ((".json",), False, _plan),
        ((".json",), False, _model),
        ((".parquet",), True, _reports),
        (FORMATS, False, _table),
    ):
        if not (folders if path.is_dir() else path.suffix.lower() in endings):
            continue
        try:
            content = read(path)
        except (NotAPlanError, WireError, EstimateError, FileError) as error:
            reasons.append(str(error))
            continue
        return _with_check(content, path, progress) if check_crafted else content
    if not reasons:
        hint = gather_hint(path)
        raise FileError(f"{path} must end in .json, .parquet or .csv, or be a folder of report files; {hint}")
    raise FileError(f"{path} is no plan, report file, file of itemsets or model: " + "; ".join(reasons))


def _plan(path: Path) -> FileContent:
    from assocpriv.files.plans import read_plan

    return FileContent(PLAN, read_plan(path))


def _reports(path: Path) -> FileContent:
    """Read all reports, which checks them."""
    from assocpriv.files.reports import read_reports

    reports = read_reports(path)
    reports.check(1 << 20)
    unsealed = len(reports.packed)  # a collector's, which its folder holds beside report files
    return FileContent(REPORTS, reports.plan, len(reports), len(reports.paths), unsealed=unsealed)


def _table(path: Path) -> FileContent:
    from assocpriv.server.itemsets import read_table

    return FileContent(ITEMSETS, table=read_table(path))


def _model(path: Path) -> FileContent:
    from assocpriv.files.tree_models import read_tree

    return FileContent(MODEL, model=read_tree(path))


def _with_check(content: FileContent, path: Path, progress: Callable[[str, int, int], None] | None) -> FileContent:
    from dataclasses import replace

    from assocpriv.files.reports import read_reports
    from assocpriv.server.kinds import check_crafted

    if content.kind != REPORTS:
        raise FileError(f"{path} holds {content.said}; --check-crafted needs reports")
    return replace(content, crafted=check_crafted(read_reports(path), progress))


# ---- one device


@dataclass(frozen=True, slots=True)
class DeviceReport:
    """One report of a device that keeps count of what it told.

    Attributes:
        plan: what it answers.
        new: whether it was made now; else the occasion had one already.
        spent: reports of the plan that this device has made.
        left: how many more it may make.
        amplification: γ of all that it told, under any plans; None if one of these states none.
    """

    plan: "PublishedPlan"
    new: bool
    spent: int
    left: int
    amplification: Fraction | None


def report(
    basket: Any,
    plan: "PublishedPlan",
    *,
    ledger: Path,
    occasion: str,
    output: Path,
    limit: "Breach | None" = None,
    empty: str = "error",
    inputs: Iterable[Path] = (),
    force: bool = False,
) -> DeviceReport:
    """Make one record's report on a device that keeps count, with the operating system's entropy, and write it.

    Args:
        basket: names of items; of another kind of plan what it takes, for a table a dictionary {"age": 34}.
        plan: the published plan.
        ledger: what this device told; made if it is missing, and a report was made.
        occasion: what the record is of; the same one gets the same report again, for free.
        output: file for the report's bytes, all that may leave the device.
        limit: a promise that all reports of this device keep, under any plans.
        empty: "error", or "keep" to report on an empty basket; a pipe that fails gives one.
        inputs: files that the output may not be.
        force: replace an existing file.

    Raises:
        BudgetError: the device has told all that a promise allows.
        RecordError: a basket or record that does not fit the plan, or an empty basket; nothing is spent.
        FileError: a ledger or an output that cannot be used.
    """
    from assocpriv.client.any_kind import takes_names
    from assocpriv.client.ledger import Ledger
    from assocpriv.files.atomic import atomic_output, check_writable

    if empty not in ("error", "keep"):
        raise BasketError("empty must be 'error' or 'keep'")
    with Ledger.open(ledger, limit=limit) as book:
        try:
            # only now does a new ledger exist, so that the output can be told from it under any name
            check_writable(output, force=force, inputs=[*inputs, ledger])
            if (
                empty == "error"
                and takes_names(plan)
                and isinstance(basket, Sized)
                and not len(basket)
                and not book.has(plan, occasion)
            ):
                raise BasketError(
                    "the basket is empty, as after a pipe that failed; if nothing was bought, report that with "
                    "--empty keep (empty='keep')"
                )
            before = book.spent(plan)
            sent = book.report(basket, plan, occasion=occasion)
        except BaseException:
            book.abandon()
            raise
        spent = book.spent(plan)
        done = DeviceReport(plan, spent > before, spent, book.left(plan), book.amplification)
    with atomic_output(output, force=force) as stream:
        stream.write(sent)
    return done
