"""The command group guide: guided perturbation, from the miner's first guidance to what can be learned.

start: a plan and the miner's state, from a table of people who do not mind. publish: what people are to answer now.
answer: the clients' side under guidance. collect: released tuples added to the miner's state. simulate: both sides on
a table at hand.
"""

from pathlib import Path
from typing import Any

import click

import assocpriv as ap
from assocpriv.cli import options as opt

_HOMES = {name: f"assocpriv.cli.guided:{name}" for name in ("start", "publish", "answer", "collect", "simulate")}
_sample_options = opt.joined(
    click.option("--class", "class_column", metavar="COLUMN", required=True, help="The class, collected in clear."),
    click.option("--missing", multiple=True, metavar="WORD", help="Stands for a missing value, as ?; repeatable."),
    opt.separator_option,
)
_promise_options = opt.joined(
    click.option("--prior", help="Belief before a report, as 5%; without a promise none is made."),
    click.option("--posterior", help="Belief that no report may lift the prior to."),
    opt.epsilon_option,
    opt.choice("--keep", ["bits", "tuple"], "How a promise is kept: a coin mixed into every bit, or random tuples."),
)
_scheme_options = opt.joined(
    opt.usual("--batch", metavar="N", default=100, help="Tuples after which guidance is published anew."),
    opt.choice("--order", ["magnitude", "value"], "Of eigenvalues: value is the paper's, for two classes."),
)
_mu_option = opt.usual(
    "--mu", metavar="SHARE", default="15%", help="Eigenvalues to this share of the largest are left out."
)


@click.group(cls=opt.LazyGroup, homes=_HOMES)
def guide() -> None:
    """Guided perturbation: people release what tells classes apart, and little else.

    \b
    Example, from a miner's first guidance to answers in its state:
      assocpriv guide start sample.csv --class party -o plan.json --state state.json
      assocpriv guide publish state.json -o guidance.json
      assocpriv guide answer table.csv --plan plan.json --guidance guidance.json -o released.parquet
      assocpriv guide collect released.parquet --state state.json
    """


@click.command()
@click.argument("table", type=opt.PATH)
@_sample_options
@_mu_option
@_scheme_options
@_promise_options
@click.option("--known", is_flag=True, help="Start with TABLE's own tuples instead of random ones.")
@click.option("-o", "--output", type=opt.OUTPUT, required=True, help="Plan file to write (JSON).")
@click.option("--state", type=opt.OUTPUT, required=True, help="State file to write (JSON).")
@opt.result_options
def start(table: Path, output: Path, state: Path, force: bool, **options: Any) -> None:
    """Make a plan of TABLE's columns, and the state that the miner keeps.

    TABLE holds records of people who do not mind, or public ones: its values and quartiles are published.

    \b
    Example:
      assocpriv guide start sample.csv --class party --missing ? -o plan.json --state state.json
      assocpriv guide start sample.csv --class party --epsilon 2 -o plan.json --state state.json
    """
    for path in (output, state):
        opt.check_writable(path, force=force, inputs=[table])
    made = ap.guided.start(table, promise=opt.take_promise(options), **options)
    ap.guided.write_state(made, state, force=force)
    ap.write_plan(made.plan, output, force=force)
    opt.show_result(
        lambda: ap.show.guided.start_record(made), lambda: ap.show.guided.start_lines(made, str(output), str(state))
    )


@click.command()
@click.argument("state", type=opt.PATH)
@click.option("-o", "--output", type=opt.OUTPUT, required=True, help="Guidance file to write (JSON).")
@opt.result_options
def publish(state: Path, output: Path, force: bool) -> None:
    """Write the guidance that people are to answer now, and note it in STATE.

    It changes once a batch of tuples has come in since the last; before that the last is written again.

    \b
    Example:
      assocpriv guide publish state.json -o guidance.json
    """
    with opt.Progress.while_busy("finding what tells classes apart"):
        done, new = ap.guided.publish_file(state, output, force=force)
    opt.show_result(
        lambda: ap.show.guided.publish_record(done, new), lambda: ap.show.guided.publish_lines(done, new, str(output))
    )


@click.command()
@click.argument("table", type=opt.PATH)
@opt.plan_option
@click.option("--guidance", "guidance_path", type=opt.PATH, help="What the miner published; without it records wait.")
@click.option(
    "--max-level", metavar="K", type=opt.WholeRange(1), help="Highest level k* that is answered.  [default: any]"
)
@click.option(
    "--announced", metavar="K", type=opt.WholeRange(1), help="Level that was announced before the guidance came."
)
@click.option("--wait", "folder", type=opt.OUTPUT, help="Folder in which records wait, encrypted, for a lower level.")
@click.option("-o", "--output", type=opt.OUTPUT, help="File to write: .parquet for reports, .jsonl for messages.")
@click.option(
    "--missing", metavar="WORD", multiple=True, help="A word that stands for a missing value, as ?; may be repeated."
)
@opt.separator_option
@opt.memory_option
@opt.result_options
def answer(
    table: Path, plan_path: Path, guidance_path: Path | None, folder: Path | None, output: Path | None,
    memory: int | None, force: bool, **options: Any,
) -> None:  # fmt: skip
    """Answer guidance for TABLE, a record a person: the clients' side, with the operating system's entropy.

    TABLE is CSV with a header line, Parquet, or a folder in which records wait. The guidance is checked first; where it
    asks for more than --max-level nothing is sent, and with --wait the records wait.

    \b
    Example:
      assocpriv guide answer table.csv --plan plan.json --guidance guidance.json --max-level 4 -o released.parquet
    """
    if (guidance_path is None and folder is None) or (guidance_path is not None and output is None):
        raise click.UsageError(
            "give --guidance and --output, or --wait alone; with all three, what cannot be sent waits"
        )
    plan = ap.read_plan(plan_path, ap.guided.GuidedPlan)
    try:
        if guidance_path is None:
            raise ap.guided.LevelError("no guidance so far")
        assert output is not None
        opt.check_writable(output, force=force, inputs=[table, plan_path, guidance_path])
        progress = opt.Progress().stage("answering", in_bytes=True)
        guidance = ap.guided.read_guidance(guidance_path)
        done = ap.randomize(
            table, plan, output, guidance=guidance, memory_bytes=memory, force=force, progress=progress, **options
        )
    except ap.guided.LevelError as level:
        if folder is None or table.is_dir():
            raise
        reason = str(level).partition(";")[0]
        waiting = ap.guided.wait(table, plan, folder, separator=options["separator"], missing=options["missing"])
        opt.show_result(
            lambda: ap.show.guided.waiting_record(waiting, plan),
            lambda: ap.show.guided.waiting_lines(waiting, folder, reason),
        )
        return
    opt.show_result(
        lambda: ap.show.guided.answer_record(done, plan), lambda: ap.show.guided.answer_lines(done, plan, output)
    )


@click.command()
@opt.reports_argument
@click.option("--state", type=opt.PATH, required=True, help="The miner's state; replaced whole, or left as it is.")
@opt.json_option
def collect(reports: tuple[Path, ...], state: Path) -> None:
    """Add released tuples to the miner's state: REPORTS are files of reports, folders of them, or messages (.jsonl).

    Of a folder, a running collection's too, files that were collected before are passed over.

    \b
    Example:
      assocpriv guide collect released.parquet --state state.json
    """
    with opt.Progress.while_busy("adding up"):
        done = ap.guided.collect_files(reports, state)
    opt.show_result(lambda: ap.show.guided.collect_record(done), lambda: ap.show.guided.collect_lines(done))


@click.command()
@click.argument("table", type=opt.PATH)
@_sample_options
@opt.choice("--classifier", ["tree", "naive-bayes", "logistic"], "What is learned, by scikit-learn.")
@click.option("--population", metavar="GROUPS", help="People of mixed caution instead, as 17%:2,56%:8,27%:any.")
@click.option(
    "--level", "levels", metavar="K", type=opt.WholeRange(1), multiple=True, help="Only this level; repeatable."
)
@_mu_option
@_scheme_options
@_promise_options
@opt.usual("--repeats", default=5, type=opt.WholeRange(2), help="Each time with another third held back to test on.")
@opt.usual(
    "--people", "most_people", default=5000, type=opt.WholeRange(3), help="So many records at most, drawn at random."
)
@opt.usual(
    "--unconcerned", default=0, type=opt.WholeRange(0), help="People who start it with raw tuples; 0: random tuples."
)
@click.option("--seed", type=opt.WholeRange(0), help="Makes the simulation repeatable.")
@opt.json_option
def simulate(table: Path, population: str | None, mu: str, **options: Any) -> None:
    """Try guided perturbation on TABLE: accuracy against disclosure for every level; needs assocpriv[trees].

    \b
    Example:
      assocpriv guide simulate votes.csv --class party --missing ? --classifier naive-bayes --seed 1
      assocpriv guide simulate votes.csv --class party --missing ? --population 17%:2,56%:8,27%:any
    """
    options["promise"] = opt.take_promise(options)
    if population is None:
        opt.refuse_given(("mu",), "goes with --population only; without it every level is tried")
        trial = ap.guided.simulate(table, progress=opt.Progress().stage("levels"), **options)
        opt.show_result(lambda: ap.show.guided.trial_record(trial), lambda: ap.show.guided.trial_lines(trial))
        return
    opt.refuse_given(("levels", "repeats"), "does not go with --population")
    options = {name: value for name, value in options.items() if name not in ("levels", "repeats")}
    found = ap.guided.simulate_population(table, groups=population, mu=mu, **options)
    opt.show_result(lambda: ap.show.guided.population_record(found), lambda: ap.show.guided.population_lines(found))
