"""Inspection of a path: a plan, reports, mined itemsets or a decision tree, read whole.

For reports it can also test whether people who follow the plan could have sent them (server/baskets/manipulation.py).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from assocpriv.files.atomic import FORMATS, check_regular
from assocpriv.files.mined_tables import LightFrame, read_table
from assocpriv.files.model_files import read_tree
from assocpriv.files.plan_files import read_plan
from assocpriv.files.releases import is_release, read_release
from assocpriv.files.report_files import IS_LEDGER, gather_hint, is_ledger, read_reports
from assocpriv.guarantees.errors import EstimateError, FileError, NotAPlanError, WireError, pluralize
from assocpriv.plans.result_display import html_renderer, plan_bound, rows_frame, short_repr
from assocpriv.server.plan_parts import CHECK_MANIPULATION

if TYPE_CHECKING:
    import pandas as pd

    from assocpriv.files.releases import Release
    from assocpriv.plans.numeric.tree_model import TreeModel
    from assocpriv.plans.published_plan import PublishedPlan
    from assocpriv.server.baskets.manipulation import ManipulationCheck


PLAN, REPORTS, ITEMSETS, MODEL, RELEASE = "plan", "reports", "itemsets", "model", "release"


@dataclass(frozen=True, slots=True)
class FileContent:
    """The content of a path.

    Attributes:
        kind: ``plan``, ``reports``, ``itemsets``, ``model`` (a decision tree) or ``release``.
        plan: the plan, of reports theirs.
        reports: number of reports.
        files: number of files.
        table: itemsets as the file holds them; ``itemsets`` is a data frame of them.
        model: the decision tree.
        release: the release.
        manipulation: the result of the manipulation tests, if these were requested.
        open: number of reports in a collector's open batch.
    """

    kind: str
    plan: "PublishedPlan | None" = None
    reports: int = 0
    files: int = 0
    table: "LightFrame | None" = None
    model: "TreeModel | None" = None
    release: "Release | None" = None
    manipulation: "ManipulationCheck | None" = None
    open: int = 0

    _repr_html_ = html_renderer("assocpriv.show.audit_views:inspected")

    def __repr__(self) -> str:
        rows = [] if self.plan is None else [f"plan {self.plan.plan_id[:12]}, {plan_bound(self.plan)}"]
        if self.manipulation is not None:
            rows += [f"{each.name}: p-value ≤ {each.p_value:.2g}" for each in self.manipulation.tests if each.flagged]
            rows += ["no test flags these reports as manipulated"] * (not self.manipulation.flagged)
        return short_repr(self, {
            PLAN: "a plan",
            REPORTS: f"{pluralize(self.reports, 'report')} in {pluralize(self.files, 'file')}",
            ITEMSETS: pluralize(len(self.table or ()), "itemset"),
            MODEL: "a decision tree",
            RELEASE: repr(self.release),
        }[self.kind], rows)  # fmt: skip

    def to_frame(self) -> "pd.DataFrame":
        """Return one row: the kind and the numbers of reports, files, reports in an open batch, and itemsets.

        Returns:
            A pandas frame with the columns ``kind``, ``plan_id``, ``reports``, ``files``, ``open`` and ``itemsets``.
        """
        plan_id = self.plan and self.plan.plan_id
        row = (self.kind, plan_id, self.reports, self.files, self.open, len(self.table or ()))
        return rows_frame("kind plan_id reports files open itemsets", [row])

    @property
    def itemsets(self) -> "pd.DataFrame | None":
        """The mined itemsets, as a data frame."""
        return None if self.table is None else self.table.to_pandas()

    @property
    def description(self) -> str:
        """The content in one or two words, as "a plan"."""
        return f"a {self.kind}" if self.kind in (PLAN, MODEL, RELEASE) else self.kind


def inspect(
    path: str | Path, *, check_manipulation: bool = False, progress: Callable[[str, int, int], None] | None = None
) -> FileContent:
    """Read the plan, reports (a file or a folder of them), itemsets, tree or release that a path holds.

    Args:
        path: The file or folder.
        check_manipulation: Also test whether people who follow the plan could have sent the reports.
        progress: Called during these tests with (stage, done, total).

    Returns:
        ``kind`` (``plan``, ``reports``, ``itemsets``, ``model`` or ``release``), and the content of that kind.

    Raises:
        FileError: The path holds none of these, with the reason for each kind; or no reports that can be tested.
        PlanError: The file claims to be a plan and is not a valid one.
        TypeError: Not a path.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> ap.randomize([{"milk"}, {"tea"}], made).write(file := f"{mkdtemp()}/reports.parquet")
    >>> ap.inspect(file).kind, ap.inspect(file).reports
    ('reports', 2)
    """
    if not isinstance(path, str | PathLike):
        raise TypeError(
            f"inspect() takes the path of a file or folder, got a {type(path).__name__}; use print() for plans, "
            "reports and tables in memory, and to_baskets() for a table of baskets"
        )
    path = Path(path)
    if not path.exists():
        raise FileError(f"there is no file {path}")
    try:
        check_regular(path)
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from None
    if is_ledger(path):
        raise FileError(f"{path} {IS_LEDGER}")
    if is_release(path) and not check_manipulation:
        return FileContent(RELEASE, release=read_release(path))
    reasons = []
    for endings, folders, read in _READERS:
        if not (folders if path.is_dir() else path.suffix.lower() in endings):
            continue
        try:
            content = read(path)
        except (NotAPlanError, WireError, EstimateError, FileError) as error:
            reasons.append(str(error))
            continue
        return _with_check(content, path, progress) if check_manipulation else content
    if not reasons:
        hint = gather_hint(path)
        raise FileError(f"{path} must end in .json, .parquet or .csv, or be a folder of report files; {hint}")
    raise FileError(f"{path} is not a plan, report file, file of itemsets, model or release: " + "; ".join(reasons))


def _reports(path: Path) -> FileContent:
    """Read all reports, and check their form."""
    reports = read_reports(path)
    reports.check(1 << 20)
    return FileContent(REPORTS, reports.plan, len(reports), len(reports.paths), open=len(reports.in_memory))


# the endings of files, whether a folder can hold it, and what reads it
_READERS: tuple[tuple[tuple[str, ...], bool, Callable[[Path], FileContent]], ...] = (
    ((".json",), False, lambda path: FileContent(PLAN, read_plan(path))),
    ((".json",), False, lambda path: FileContent(MODEL, model=read_tree(path))),
    ((".parquet",), True, _reports),
    (tuple(FORMATS), False, lambda path: FileContent(ITEMSETS, table=read_table(path))),
)


def _with_check(content: FileContent, path: Path, progress: Callable[[str, int, int], None] | None) -> FileContent:
    if content.kind != REPORTS:
        raise FileError(f"{path} holds {content.description}; check_manipulation needs reports")
    reports = read_reports(path)
    find = CHECK_MANIPULATION.of(reports.plan.kind)
    return replace(content, manipulation=find(reports, progress=progress))
