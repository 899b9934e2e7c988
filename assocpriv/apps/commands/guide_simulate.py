"""The command guide simulate: both sides on a table at hand."""

from pathlib import Path
from typing import Any

import click

from assocpriv.apps.commands.guide_start import mu_option, promise_options, sample_options, scheme_options
from assocpriv.apps.console import refuse_given, show_result
from assocpriv.apps.options import PATH, WholeRange, choice, json_option, take_promise, usual
from assocpriv.apps.progress import Progress


@click.command()
@click.argument("table", type=PATH)
@sample_options
@choice("--classifier", ["tree", "naive-bayes", "logistic"], "What is learned, by scikit-learn.")
@click.option("--population", metavar="GROUPS", help="People of mixed caution instead, as 17%:2,56%:8,27%:any.")
@click.option("--level", "levels", metavar="K", type=WholeRange(1), multiple=True, help="Only this level; repeatable.")
@mu_option
@scheme_options
@promise_options
@usual("--repeats", default=5, type=WholeRange(2), help="Each time with another third held back to test on.")
@usual("--people", "most_people", default=5000, type=WholeRange(3), help="So many records at most, drawn at random.")
@usual("--unconcerned", default=0, type=WholeRange(0), help="People who start it with raw tuples; 0: random tuples.")
@click.option("--seed", type=WholeRange(0), help="Makes the simulation repeatable.")
@json_option
def simulate(table: Path, population: str | None, mu: str, **options: Any) -> None:
    """Try guided perturbation on TABLE: accuracy against disclosure for every level; needs assocpriv[trees].

    \b
    Example:
      assocpriv guide simulate votes.csv --class party --missing ? --classifier naive-bayes --seed 1
      assocpriv guide simulate votes.csv --class party --missing ? --population 17%:2,56%:8,27%:any
    """
    from assocpriv.apps.render.guidance import population_lines, population_record, trial_lines, trial_record
    from assocpriv.guidance import simulate as run
    from assocpriv.guidance import simulate_population

    options["promise"] = take_promise(options)
    if population is None:
        refuse_given(("mu",), "goes with --population only; without it every level is tried")
        trial = run(table, progress=Progress().stage("levels"), **options)
        show_result(lambda: trial_record(trial), lambda: trial_lines(trial))
        return
    refuse_given(("levels", "repeats"), "does not go with --population")
    options = {name: value for name, value in options.items() if name not in ("levels", "repeats")}
    found = simulate_population(table, groups=population, mu=mu, **options)
    show_result(lambda: population_record(found), lambda: population_lines(found))
