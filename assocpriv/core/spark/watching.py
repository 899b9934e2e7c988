"""How far a job of Spark's is, by its tasks that are done.

Classic sessions are asked for the stages of the jobs of a tag, in a thread of its own; a server of Spark Connect tells
by itself. Sessions before 4.0 have nothing that finds a job by its tag, and nothing is told of theirs.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from threading import Event, Thread, get_ident
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BETWEEN_SECONDS = 0.5

Progress = Callable[[int, int], None]  # tasks done, tasks


class Stage(NamedTuple):
    """The tasks of a stage of a job."""

    number: int
    n_tasks: int
    done: int
    running: int = 0


@contextlib.contextmanager
def watched(spark: "SparkSession", tag: str, tell: Progress) -> Iterator[None]:
    """Tell of the tasks of what this thread meanwhile has Spark do; its jobs have a tag on classic sessions."""
    watch = _told_by_server if is_connect(spark) else _asked_for
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(Exception):  # of Spark before 4.0: what cannot be watched is done all the same
            stack.enter_context(watch(spark, tag, tell))
        yield


def is_connect(spark: "SparkSession") -> bool:
    """Return whether a session is one of Spark Connect, which has nothing of Java's here."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


@contextlib.contextmanager
def _told_by_server(spark: "SparkSession", _tag: str, tell: Progress) -> Iterator[None]:
    """Hand on what a server tells of the operation of this thread; that of others is told by the same handler."""
    mine = get_ident()

    def handle(stages: Iterable[Any] | None, inflight_tasks: int, operation_id: str | None, done: bool) -> None:  # noqa: ARG001
        if get_ident() == mine and stages and not done:
            tell(*tasks_of(Stage(each.stage_id, each.num_tasks, each.num_completed_tasks) for each in stages))

    handler: Any = handle
    spark.registerProgressHandler(handler)
    try:
        yield
    finally:
        spark.removeProgressHandler(handler)


@contextlib.contextmanager
def _asked_for(spark: "SparkSession", tag: str, tell: Progress) -> Iterator[None]:
    """Ask, again and again, for the stages of the jobs of a tag."""
    spark.sparkContext.addJobTag(tag)  # of this thread, which ends with the job
    ended = Event()
    Thread(target=_ask, args=(spark, tag, tell, ended), daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def _ask(spark: "SparkSession", tag: str, tell: Progress, ended: Event) -> None:
    tracker = spark.sparkContext.statusTracker()
    with contextlib.suppress(Exception):  # Spark before 4.0, or one that is stopping
        while not ended.wait(_BETWEEN_SECONDS):
            jobs = [
                tracker.getJobInfo(job) for job in spark.sparkContext._jsc.sc().statusTracker().getJobIdsForTag(tag)
            ]
            numbers = sorted({number for job in jobs if job is not None for number in job.stageIds})
            told = [(number, tracker.getStageInfo(number)) for number in numbers]
            tell(
                *tasks_of(
                    Stage(number, stage.numTasks, stage.numCompletedTasks, stage.numActiveTasks)
                    for number, stage in told
                    if stage is not None
                )
            )


def tasks_of(stages: Iterable[Stage]) -> tuple[int, int]:
    """Return how many tasks are done, and how many there are so far, without stages that are left out.

    Left out is a stage that has not begun when a later one has: Spark kept what it would have made.

    >>> tasks_of([Stage(0, 8, 8), Stage(1, 8, 0), Stage(2, 2, 1, running=1)])
    (9, 10)
    """
    known = list(stages)
    last = max((stage.number for stage in known if stage.done or stage.running), default=-1)
    counted = [stage for stage in known if stage.done or stage.running or stage.number > last]
    return sum(stage.done for stage in counted), sum(stage.n_tasks for stage in counted)
