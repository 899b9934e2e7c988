"""The door of collecting: single reports, as devices send them, become a collection that can be mined."""

from collections.abc import Callable, Iterable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from assocpriv.plans.kind import on_first_use

if TYPE_CHECKING:
    from assocpriv.collect.gather import Gathered, GatheredPlan, Refusal
    from assocpriv.plans.published import PublishedPlan

__all__ = ["Gathered", "GatheredPlan", "Refusal", "gather"]
_HOMES = {
    "assocpriv.collect.gather": ("Gathered", "GatheredPlan", "Refusal"),
}  # fmt: skip

__getattr__, __dir__ = on_first_use(globals(), _HOMES)


def gather(
    sources: "str | PathLike[str] | BinaryIO | Iterable[str | PathLike[str]]",
    plan: "PublishedPlan | Iterable[PublishedPlan]",
    output: str | PathLike[str],
    *,
    keep: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
) -> "Gathered":
    """Gather single reports, as ``assocpriv report`` writes and devices send them, into a collection.

    A file is one report, and is **removed** when the collection has it on disk. Whenever a gatherer is killed, and
    however many work on a folder at a time, the collection gets each report once: the next run finishes what one left.
    What is no report stays where it is.

    Args:
        sources: a folder, whose files are reports but for those that are hidden or in folders below; a file; a list
            of these; or a stream that is open for bytes, of reports one after another.
        plan: the plan of the reports, or several plans whose reports differ in length. A stream takes one.
        output: a folder, made if it is missing, which gets one report file more; or a new file that ends in .parquet.
            For several plans a folder with one for each, named by the first 12 digits of the plan's id.
        keep: leave the files where they are; the output must hold no reports yet, or it would have them twice (of two
            such runs at once, one is refused).
        progress: called with (what is done, done, total).

    Returns:
        What was gathered of each plan, and what was refused. Reports are written in random order, up to four million
        or 64 MiB at a time, without names and times.

    Raises:
        FileError: an output that cannot be written or is the inbox, files that cannot be taken, or files that a
            gatherer has taken for another collection and left.
        WireError: an output that holds reports of another plan.
        PlanError: plans whose reports have the same length, or several for a stream.
    """
    from assocpriv.collect.gather import gather_files, gather_stream
    from assocpriv.plans.published import PublishedPlan
    from assocpriv.promise.errors import FileError, PlanError

    plans = [plan] if isinstance(plan, PublishedPlan) else list(plan or ())
    if not plans or not all(isinstance(each, PublishedPlan) for each in plans):
        raise TypeError("plan must be a Plan, or a list of plans (read_plan reads one from a file)")
    if not hasattr(sources, "read"):
        listed = [sources] if isinstance(sources, str | PathLike) else list(sources)
        if not listed or not all(isinstance(source, str | PathLike) and str(source) for source in [*listed, output]):
            raise TypeError("sources and output must be names of files and folders, none of them empty")
        return gather_files(map(Path, listed), plans, Path(output), keep=keep, progress=progress)
    if keep:
        raise FileError("keep leaves files where they are, and a stream has none")
    if len(plans) > 1:
        raise PlanError("reports of several plans cannot be told apart in a stream; gather it with one plan")
    return gather_stream(cast("BinaryIO", sources), plans[0], Path(output))
