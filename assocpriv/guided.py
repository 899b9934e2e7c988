"""The front of guided perturbation: the miner says where classes differ, people release what of them lies there."""

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assocpriv.plans.kind import on_first_use

if TYPE_CHECKING:
    from fractions import Fraction

    from assocpriv.client.guided import GuidedRecord, LevelError
    from assocpriv.client.waiting import AnswerCounts
    from assocpriv.files.atomic import check_writable
    from assocpriv.files.plans import read_guidance, write_guidance, write_plan
    from assocpriv.files.reports import Reports, read_messages, read_reports
    from assocpriv.planning.tables import foresee_guided as foresee
    from assocpriv.plans.guidance import Guidance
    from assocpriv.plans.guided import GuidedPlan, category, class_label, number
    from assocpriv.plans.guided import guided_plan as plan
    from assocpriv.promise.breaches import Breach
    from assocpriv.server.guided import (
        CLASSIFIERS,
        MinerState,
        collect,
        naive_bayes,
        publish,
        read_state,
        released_tuples,
        train,
        write_state,
    )
    from assocpriv.simulation.guided import PopulationTrial, Trial


__all__ = [
    "CLASSIFIERS", "AnswerCounts", "Guidance", "GuidedPlan", "GuidedRecord", "LevelError", "MinerState",
    "PopulationTrial", "Trial", "answer_file", "answer_table", "category", "check_writable", "class_label", "collect",
    "collect_files", "foresee", "naive_bayes", "number", "plan", "publish", "publish_file", "read_guidance",
    "read_messages", "read_plan", "read_reports", "read_state", "released_tuples", "simulate", "simulate_population",
    "start", "train", "wait", "write_guidance", "write_plan", "write_state",
]  # fmt: skip
_HOMES = {
    "assocpriv.client.waiting": ("AnswerCounts",),
    "assocpriv.client.guided": ("GuidedRecord", "LevelError"),
    "assocpriv.files.atomic": ("check_writable",),
    "assocpriv.files.plans": ("read_guidance", "write_guidance", "write_plan"),
    "assocpriv.files.reports": ("read_messages", "read_reports"),
    "assocpriv.simulation.guided": ("PopulationTrial", "Trial"),
    "assocpriv.planning.tables": ("foresee_guided as foresee",),
    "assocpriv.plans.guided": ("category", "class_label", "number", "GuidedPlan", "guided_plan as plan"),
    "assocpriv.plans.guidance": ("Guidance",),
    "assocpriv.server.guided": (
        "CLASSIFIERS", "MinerState", "collect", "naive_bayes", "publish", "read_state", "released_tuples", "train",
        "write_state",
    ),
}  # fmt: skip

__getattr__, __dir__ = on_first_use(globals(), _HOMES)


# ---- the miner


def start(
    table: Any,
    class_column: str,
    *,
    promise: "Breach | None" = None,
    keep: str = "bits",
    mu: "str | float | Fraction" = "15%",
    batch: int = 100,
    order: str = "magnitude",
    known: bool = False,
    separator: str | None = None,
    missing: str | Sequence[str] = (),
    seed: int | None = None,
) -> "MinerState":
    """Make a plan of a table's columns, and the state that a miner begins with.

    Args:
        table: records of people who do not mind, or public ones: a pandas, polars or pyarrow table, or the name of a
            CSV or Parquet file. Values of categories and quartiles of numbers are taken from it.
        class_column: the class, two or more labels; it is collected in clear.
        promise: what every report is to keep; without one none does, whoever publishes the guidance.
        keep: how a promise is kept: ``"bits"`` mixes every bit with a coin, ``"tuple"`` mixes whole
            tuples.
        mu: μ, how small an eigenvalue may be against the largest to be left out.
        batch: tuples after which guidance is published anew.
        order: of eigenvalues, ``"magnitude"`` or, for two classes, ``"value"`` as in the paper.
        known: start with the table's own tuples; otherwise with random ones.
        separator: of the cells of a CSV file; found out by default.
        missing: a word, or several, for missing values; empty cells are such anyway.
        seed: makes a random start repeatable.

    Raises:
        RecordError: a table that cannot be read, no such column, or fewer than two classes.
        PlanError: what the plan cannot hold.
        EstimateError: too few records of a class to start with.
    """
    from assocpriv.records.tables import TableOptions
    from assocpriv.server import guided
    from assocpriv.simulation.guided import plan_of, read_cells, read_people

    options = TableOptions(separator, _words(missing))
    settings = {"promise": promise, "keep": keep, "mu": _share(mu), "batch": batch, "order": order}
    plan = plan_of(read_cells(table, options), class_column, **settings)
    if not known:
        return guided.random_start(plan, seed)
    people = read_people(table, plan, options, seed)
    return guided.start(plan, people.classes, plan.to_bits(people.raw_positions))


def publish_file(state: str | Path, output: str | Path, *, force: bool = False) -> "tuple[MinerState, bool]":
    """Write the guidance that people are to answer now; the state file keeps it.

    A new one is made when a batch of tuples has come in since the last; otherwise that is written again. The state is
    written first: guidance that was published is never forgotten.

    Returns:
        The state, and whether its guidance is a new one.

    Raises:
        FileError: a state that was cut or changed, or an output that exists without ``force`` or cannot be written.
        EstimateError: a class without tuples.
    """
    from assocpriv.files.atomic import check_writable
    from assocpriv.files.plans import write_guidance
    from assocpriv.server.guided import publish, read_state, replace_state

    check_writable(output, force=force, inputs=[Path(state)])
    before = read_state(state)
    after = publish(before)
    if after is not before:
        replace_state(before, after, state)
    assert after.guidance is not None
    write_guidance(after.guidance, output, force=force)
    return after, after is not before


def collect_files(reports: "str | Path | Sequence[str | Path]", state: str | Path) -> "MinerState":
    """Add files of reports or of messages (.jsonl), or folders of reports, to a state file: all of them or none.

    Of a folder those files are added that were not before, so one to which reports are still being collected can be
    given again and again; a collector's reports that are not sealed wait. Reports in it that answer guidance not known
    are left out.

    Raises:
        FileError: a state that was cut or changed, by another run meanwhile too, or cannot be written.
        PlanError: reports of another plan.
        WireError: a file that is named was collected before, or its reports answer guidance not known; a damaged one.
    """
    from assocpriv.files.reports import MESSAGE_ENDING, read_messages, read_reports
    from assocpriv.server.guided import collect, read_state, replace_state

    before = done = read_state(state)
    paths = [Path(path) for path in ([reports] if isinstance(reports, str | Path) else reports)]
    messages = [path for path in paths if path.suffix == MESSAGE_ENDING]
    for path in messages:
        done = collect(done, read_messages(path, done.plan), [path])
    folders = [path for path in paths if path not in messages and path.is_dir()]
    for path in folders:
        done = _collect_folder(done, path)
    if others := [path for path in paths if path not in messages and path not in folders]:
        done = collect(done, read_reports(others))
    replace_state(before, done, state)
    return done


def _collect_folder(state: "MinerState", folder: Path) -> "MinerState":
    """Return the state with the report files of a folder that it does not have; a collector's open epochs are none."""
    from assocpriv.files.reports import read_reports
    from assocpriv.server.guided import collect, is_collected

    files = sorted(folder.glob("[!.]*.parquet"))
    new = [path for path in files if not is_collected(state, path)]
    if not files and not (folder / "open").is_dir():
        read_reports(folder)  # says what is wrong with it
    return collect(state, read_reports(new), leave_out=True) if new else state


def _share(mu: "str | float | Fraction") -> "Fraction":
    from assocpriv.promise.breaches import parse_probability

    return parse_probability(mu, "mu")


def _words(missing: str | Sequence[str]) -> tuple[str, ...]:
    return (missing,) if isinstance(missing, str) else tuple(missing)


# ---- clients


def read_plan(path: str | PathLike[str]) -> "GuidedPlan":
    """Read a plan file, of guided perturbation.

    Raises:
        PlanError: the file cannot be read, is not a plan, or states a promise it breaks; or it is of another kind.
    """
    from assocpriv.files.plans import read_plan as read
    from assocpriv.plans.guided import GuidedPlan

    return read(Path(path), GuidedPlan)


def answer_table(
    table: Any,
    plan: "GuidedPlan",
    guidance: "Guidance",
    *,
    max_level: int | None = None,
    announced: int | None = None,
    separator: str | None = None,
    missing: str | Sequence[str] = (),
) -> "Reports":
    """Answer guidance for many records, with the operating system's entropy.

    ``assocpriv.randomize`` answers for one: it takes a :class:`GuidedRecord`.

    Args:
        table: a pandas, polars or pyarrow table, an iterable of such tables, or the name of a CSV or Parquet file. Of
            its columns those with the names of the plan's are taken, the class among them.
        plan: the published plan.
        guidance: what the miner published; it is checked before anything is read.
        max_level: the highest level that is answered; any by default.
        announced: the level that was announced before the guidance was asked for.
        separator: of the cells of a CSV file; found out from its header by default.
        missing: a word, or several, for missing values, as "?"; each becomes a value drawn uniformly.

    Raises:
        RecordError: another table than the plan's, or values that its columns do not take; no value is shown.
        GuidanceError: guidance that is none of the plan's, or not what was announced.
        LevelError: guidance of a higher level than is answered.
    """
    import numpy as np

    from assocpriv.client.guided import accept, randomize_inputs
    from assocpriv.files.reports import Reports
    from assocpriv.promise.entropy import SystemEntropy
    from assocpriv.records.tables import TableOptions, stream_table

    accept(guidance, plan, max_level=max_level, announced=announced)
    stream = stream_table(table, plan, TableOptions(separator, _words(missing)))
    return Reports(plan, np.concatenate(list(randomize_inputs(stream, plan, guidance, entropy=SystemEntropy()))))


def answer_file(
    table: Any,
    plan: "GuidedPlan",
    guidance: "Guidance",
    output: str | PathLike[str],
    *,
    max_level: int | None = None,
    announced: int | None = None,
    separator: str | None = None,
    missing: str | Sequence[str] = (),
    memory_bytes: int | None = None,
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> "AnswerCounts":
    """Answer guidance for a table of any size, or for records that wait, into a file of reports or of messages.

    Records that waited are taken away once the file is written.

    Args:
        table, plan, guidance, max_level, announced, separator, missing: as for :func:`answer_table`; ``table`` can
            also be a folder that :func:`wait` made.
        output: .parquet or .pq for reports; .jsonl for messages, a line each with the bits that are set.
        memory_bytes: what reading a file may hold at a time; a quarter of the free memory by default.
        force: replace an existing file.
        progress: called with (bytes read, bytes of the file).

    Raises:
        FileError: the output exists and ``force`` is not set, or cannot be written.
        GuidanceError, LevelError, RecordError: as of :func:`answer_table`.
    """
    from assocpriv.client.waiting import AnswerRequest, answer_into

    reading = AnswerRequest(max_level, announced, separator, _words(missing), memory_bytes, progress)
    return answer_into(table, plan, guidance, Path(output), reading, force=force)


def wait(
    table: Any,
    plan: "GuidedPlan",
    folder: str | PathLike[str],
    *,
    separator: str | None = None,
    missing: str | Sequence[str] = (),
) -> int:
    """Let a table's records wait for guidance, encrypted, in a new folder; returns how many. Needs the extra ``wait``.

    Raises:
        RecordError: another table than the plan's, or values that its columns do not take.
        FileError: the folder exists, or cannot be written.
    """
    import numpy as np

    from assocpriv.client.waiting import check_waiting, keep_waiting
    from assocpriv.records.tables import TableOptions, stream_table

    check_waiting(Path(folder))
    raw = np.concatenate(list(stream_table(table, plan, TableOptions(separator, _words(missing)))))
    keep_waiting(raw, plan, Path(folder))
    return len(raw)


# ---- both sides, on a table at hand


def simulate(
    table: Any,
    class_column: str,
    *,
    classifier: str = "tree",
    levels: Sequence[int] = (),
    promise: "Breach | None" = None,
    keep: str = "bits",
    batch: int = 100,
    order: str = "magnitude",
    repeats: int = 5,
    most_people: int = 5000,
    unconcerned: int = 0,
    separator: str | None = None,
    missing: str | Sequence[str] = (),
    seed: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> "Trial":
    """Run both sides on a table: accuracy against disclosure, for every level that guidance can have.

    Args:
        table, class_column, promise, keep, batch, order, separator, missing: as of :func:`start`.
        classifier: ``"tree"``, ``"naive-bayes"`` or ``"logistic"``.
        levels: which ones to try, 1 to the number of bits by default.
        repeats: how often, each time with another third of the people held back to test on.
        most_people: so many of the records at most, drawn at random.
        unconcerned: people whose raw tuples the miner starts with; 0 for random tuples.
        seed: makes the simulation repeatable.
        progress: called with (levels done, levels).

    Raises:
        RecordError: as :func:`start`, or too few people of a class.
        EstimateError: scikit-learn is not installed, or no such classifier.
    """
    from assocpriv.records.tables import TableOptions
    from assocpriv.simulation.guided import TrialRequest, plan_of, read_cells, read_people, run_trial

    options = TableOptions(separator, _words(missing))
    request = TrialRequest(classifier, repeats, most_people, unconcerned, seed)
    settings = {"promise": promise, "keep": keep, "batch": batch, "order": order}
    plan = plan_of(read_cells(table, options), class_column, **settings)
    return run_trial(read_people(table, plan, options, seed), plan, request, levels, progress)


def simulate_population(
    table: Any,
    class_column: str,
    groups: str,
    *,
    classifier: str = "tree",
    promise: "Breach | None" = None,
    keep: str = "bits",
    mu: "str | float | Fraction" = "15%",
    batch: int = 100,
    order: str = "magnitude",
    most_people: int = 5000,
    unconcerned: int = 0,
    separator: str | None = None,
    missing: str | Sequence[str] = (),
    seed: int | None = None,
) -> "PopulationTrial":
    """Run one collection from people of mixed caution: who waits, for how long, and what is learned meanwhile.

    Args:
        groups: shares of people, and the largest level that they accept: ``"17%:2,56%:8,27%:any"``.
        mu: μ, as of :func:`start`; the others as of :func:`simulate`.

    Raises:
        RecordError: as :func:`simulate`, or groups that are not so written.
    """
    from assocpriv.records.tables import TableOptions
    from assocpriv.simulation.guided import TrialRequest, parse_groups, plan_of, read_cells, read_people, run_population

    options = TableOptions(separator, _words(missing))
    request = TrialRequest(classifier, 1, most_people, unconcerned, seed)
    settings = {"promise": promise, "keep": keep, "mu": _share(mu), "batch": batch, "order": order}
    plan = plan_of(read_cells(table, options), class_column, **settings)
    people = read_people(table, plan, options, seed)
    return run_population(people, plan, request, parse_groups(groups, plan.width))
