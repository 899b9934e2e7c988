"""Inspection of a path: a plan, reports, mined itemsets or a decision tree, read whole.

Of reports it can also be asked whether honest people could have sent them (server/crafted.py).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from assocpriv.files.atomic import FORMATS, check_regular
from assocpriv.files.itemsets import LightFrame
from assocpriv.files.plans import read_plan
from assocpriv.files.reports import IS_LEDGER, gather_hint, is_ledger, read_reports
from assocpriv.files.tree_models import read_tree
from assocpriv.plans.kind import load_for
from assocpriv.promise.errors import EstimateError, FileError, NotAPlanError, WireError
from assocpriv.server.itemsets import read_table

if TYPE_CHECKING:
    import pandas as pd

    from assocpriv.plans.published import PublishedPlan
    from assocpriv.plans.tree_model import TreeModel
    from assocpriv.server.crafted import CraftedCheck


PLAN, REPORTS, ITEMSETS, MODEL = "plan", "reports", "itemsets", "model"


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

    Returns:
        ``kind`` (``plan``, ``reports``, ``itemsets`` or ``model``), and of each kind what it holds.

    Raises:
        FileError: it is none of these, and says what speaks against each; or it holds no reports that can be tested.
        PlanError: it says that it is a plan, and what is wrong with it.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, promise=ap.Breach("5%", "50%"))
    >>> ap.randomize([{"milk"}, {"tea"}], made).write(file := f"{mkdtemp()}/reports.parquet")
    >>> ap.inspect(file).kind, ap.inspect(file).reports
    ('reports', 2)
    """
    if not isinstance(path, str | PathLike):
        raise TypeError(
            f"inspect() takes the path of a file or folder, got a {type(path).__name__}; print() shows plans, reports "
            "and tables in memory, and to_baskets() reads a table of baskets"
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
    return FileContent(PLAN, read_plan(path))


def _reports(path: Path) -> FileContent:
    """Read all reports, which checks them."""
    reports = read_reports(path)
    reports.check(1 << 20)
    unsealed = len(reports.in_memory)  # a collector's, which its folder holds beside report files
    return FileContent(REPORTS, reports.plan, len(reports), len(reports.paths), unsealed=unsealed)


def _table(path: Path) -> FileContent:
    return FileContent(ITEMSETS, table=read_table(path))


def _model(path: Path) -> FileContent:
    return FileContent(MODEL, model=read_tree(path))


def _with_check(content: FileContent, path: Path, progress: Callable[[str, int, int], None] | None) -> FileContent:
    if content.kind != REPORTS:
        raise FileError(f"{path} holds {content.said}; check_crafted needs reports")
    reports = read_reports(path)
    find = load_for(reports.plan.kind, "server.crafted", "tested for crafted reports")
    return replace(content, crafted=find(reports, progress=progress))
