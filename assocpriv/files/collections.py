"""Collections to be mined together: reports of one or several plans, and releases."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assocpriv.files.releases import Release, is_release, read_release
from assocpriv.files.report_files import as_reports, group_by_plan, read_reports
from assocpriv.guarantees.errors import WireError


def as_collections(given: Any) -> list[Any]:
    """Return one collection per plan: those given, or those in the named files, which may have several plans.

    Raises:
        TypeError: neither reports nor paths.
        WireError: two collections in memory have the same plan, or as :func:`assocpriv.read_reports`.
        FileError: a release cannot be read.
    """
    if isinstance(given, Release):
        return [given]
    if isinstance(given, str | Path):
        return open_collections([given])
    if isinstance(given, Sequence) and not isinstance(given, bytes) and len(given):
        if not any(isinstance(each, Path | Sequence) for each in given):
            collections = [each if isinstance(each, Release) else as_reports(each) for each in given]
            if len({each.plan.plan_id for each in collections}) < len(collections):
                raise WireError("two collections have the same plan; write them to files and name these together")
            return collections
        if all(isinstance(each, str | Path) for each in given):
            return open_collections(given)
    return [as_reports(given)]


def open_collections(paths: Sequence[str | Path]) -> list[Any]:
    """Open files and folders of reports, one collection for each plan, and releases.

    Raises:
        WireError: as :func:`assocpriv.read_reports`, or a release is named twice.
        FileError: a release cannot be read.
    """
    releases = {str(path): read_release(path) for path in paths if is_release(path)}
    others = [path for path in paths if str(path) not in releases]
    if len(paths) - len(others) > len({each.plan_id for each in releases.values()}):
        raise WireError("a release is named twice; its counts would count twice")
    by_plan = group_by_plan(others) if others or not releases else []
    return [*releases.values(), *map(read_reports, by_plan)]
