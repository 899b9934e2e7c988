"""The verb compare."""

from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assocpriv.api.mining import backend
from assocpriv.files.report_files import Reports, as_collections, check_copies, files_by_day
from assocpriv.guarantees.amplification import compose, epsilon_from_amplification
from assocpriv.guarantees.errors import EstimateError, pluralize

if TYPE_CHECKING:
    from assocpriv.server.baskets.comparison import Comparison
    from assocpriv.server.spark_counting import SparkReports

    AnyReports = Reports | SparkReports | str | Path | Iterable[str | Path]


def compare(
    *sides: Any,
    names: Sequence[str] | None = None,
    at_least: float | str = 0.0,
    fdr: float | str | None = None,
    min_confidence: float | str = "50%",
    confidence_level: float | str = 0.95,
    memory_bytes: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> "Comparison":
    """Estimate what differs between stores, regions or seasons; of three or more, their trend.

    The sides must be disjoint samples of people. A person in two of them makes the stated errors wrong, and spends the
    budget of both reports.

    Args:
        sides: two or more, in order: tables of :func:`mine`, or files of these; or reports, report files, folders or
            lists of files, which are read for the same itemsets. Plans may differ. One folder alone stands for the days
            on which its files were closed.
        names: of the sides; by default those of their files, else A, B, C …
        at_least: the smallest difference of interest, as 0.01 or ``"1%"`` of baskets; 0 tests the sign of a change.
        fdr: also test which differences are larger than ``at_least``, without a prior, and mark significant ones: the
            expected share of false ones among them is at most this, as 0.05 or ``"5%"``.
        min_confidence: of rules; a rule is compared if it has this confidence on some side.
        confidence_level, memory_bytes, progress: as for :func:`mine`.

    Returns:
        ``itemsets`` and ``rules``, light tables whose ``to_pandas()`` makes data frames. ``difference`` is the last
        side minus the first (for more than two, the change along a straight line), with ``ci_low`` … ``ci_high``,
        ``probability`` (posterior probability of a difference above ``at_least``) and ``selected``, by probability.

    Raises:
        EstimateError: fewer than two sides, tables that cannot be compared, or a number out of range.
        WireError: files that are damaged, or a copy of another side's.

    Source: docs/why-it-works.md.

    >>> import assocpriv as ap
    >>> made = ap.plan(["ice", "tea"], ap.Guarantee("5%", "50%"), mean_size=1)
    >>> summer, winter = (ap.randomize([{name}] * 20_000, made) for name in ("ice", "tea"))
    >>> found = ap.compare(summer, winter, names=["summer", "winter"])
    >>> sorted((*row["itemsets"], row["difference"] > 0) for row in found.itemsets.to_dict()[:2])
    [('ice', False), ('tea', True)]
    """
    from assocpriv.estimation.supports import ErrorOptions
    from assocpriv.server.baskets.comparison import CompareRequest, read_sides
    from assocpriv.server.baskets.comparison import compare as run

    request = CompareRequest(at_least, fdr, min_confidence, ErrorOptions(confidence_level))
    if len(sides) == 1 and isinstance(sides[0], str | PathLike) and Path(sides[0]).is_dir():
        days = files_by_day(Path(sides[0]))
        if len(days) < 2:
            raise EstimateError(
                f"the reports in files of {sides[0]} are of {pluralize(len(days), 'day')}; a comparison is of two or "
                "more sides: name another, or close the reports of another day"
            )
        sides, names = tuple(days.values()), list(days) if names is None else names
    if len(sides) < 2:
        raise EstimateError(
            "a comparison is of two or more sides, each an argument of its own, as compare(first, second); got "
            f"{len(sides)}"
        )
    called = _names_of(sides) if names is None else [str(name) for name in names]
    if len(called) != len(sides) or len(set(called)) < len(sides):
        raise EstimateError(f"names must be {len(sides)} different ones, one a side, got {called}")
    given = {name: _opened(side) for name, side in zip(called, sides, strict=True)}
    sources = [_sources(side, given[name]) for name, side in zip(called, sides, strict=True)]
    if len(set().union(*sources)) < sum(map(len, sources)):
        raise EstimateError(f"some reports or tables are on two sides of {called}; a comparison is of different people")
    check_copies(reports for each in given.values() if isinstance(each, list) for reports in each)
    tables = {name: each for name, each in given.items() if not isinstance(each, list)}
    collections = {name: each for name, each in given.items() if isinstance(each, list)}
    counted = {
        name: [backend(reports, memory_bytes, progress) for reports in each] for name, each in collections.items()
    }
    read = tables | read_sides(counted, tables, request.errors)
    found = run({name: read[name] for name in called}, request)
    plans = [reports.plan for each in collections.values() for reports in each]
    factors = [plan.amplification for plan in plans for _ in range(plan.reports_per_person)]
    known = not tables and all(factors)
    found.facts["epsilon_in_all"] = epsilon_from_amplification(compose(filter(None, factors))) if known else None
    return found


def _names_of(sides: Sequence[Any]) -> list[str]:
    """Return file names without endings where these are unique, else letters."""
    paths = [Path(side) if isinstance(side, str | PathLike) else None for side in sides]
    stems = [path.name.partition(".")[0] if path else "" for path in paths]
    if all(stems) and len(set(stems)) == len(stems):
        return stems
    whole = [str(path) for path in paths if path]
    return whole if len(set(whole)) == len(sides) else [chr(ord("A") + place) for place in range(len(sides))]


def _opened(side: Any) -> Any:
    """Return a mined table, or a list of collections."""
    from assocpriv.files.mined_tables import mining_facts, read_table
    from assocpriv.files.report_files import holds_reports

    if hasattr(side, "columns"):
        mining_facts(side)  # refuses what is no such table
        return side
    if isinstance(side, str | PathLike) and not Path(side).is_dir() and not holds_reports(Path(side)):
        return read_table(Path(side))
    return as_collections(side)


def _sources(side: Any, opened: Any) -> set[Any]:
    """Return what identifies reports and tables, to find those that are given twice."""
    if isinstance(opened, list):
        memory = {sha256(reports.in_memory.tobytes()).digest() for reports in opened if len(reports.in_memory)}
        return memory | {path.resolve() for reports in opened for path in reports.paths}
    return {sha256(Path(side).read_bytes()).digest() if isinstance(side, str | PathLike) else id(opened)}
