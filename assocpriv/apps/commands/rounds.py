"""Commands for several rounds with other people each: refine, combine; and what plan and simulate do for rounds."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assocpriv.apps.console import say, show_result
from assocpriv.apps.options import PATH, force_option, json_option, top_option
from assocpriv.apps.progress import Progress

if TYPE_CHECKING:
    from assocpriv.core.privacy import Breach
    from assocpriv.plans.baskets.catalogue import Catalogue
    from assocpriv.plans.baskets.plan import Plan
    from assocpriv.plans.baskets.view import View

WANTED = 64
histogram_option = click.option("--histogram", type=PATH, help="Mined table of a sizes plan (plan --histogram).")


@click.command()
@click.argument("itemsets", type=PATH)
@click.option("--plan", "plan_path", type=PATH, required=True, help="The plan that ITEMSETS were mined with.")
@click.option("--top", type=int, default=WANTED, show_default=True, help="Itemsets wanted.")
@click.option("--itemsets", "candidates", is_flag=True, help="Ask for the itemsets themselves, not their items.")
@histogram_option
@click.option("--reports", type=int, help="People who will answer; after sizes, in all rounds to come.")
@click.option("--items", type=int, help="After sizes of all names: number of items, named 0 … N−1.")
@click.option("--catalogue", type=PATH, help="After sizes of all names: file of item names, one a line.")
@click.option("-o", "--output", type=PATH, required=True, help="Plan file to write (JSON).")
@force_option
@json_option
def refine(
    itemsets: Path,
    plan_path: Path,
    top: int,
    candidates: bool,
    histogram: Path | None,
    reports: int | None,
    items: int | None,
    catalogue: Path | None,
    output: Path,
    force: bool,
    as_json: bool,
) -> None:
    """Plan a next round for OTHER people: the items of mined ITEMSETS become its short catalogue.

    After a round of sizes (plan --histogram) the next one asks about all items; says how to split the people.

    \b
    Example:
      assocpriv refine sizes.csv --plan plan0.json --items 1000 --reports 980000 -o plan1.json
      assocpriv refine itemsets.parquet --plan plan.json -o plan2.json
      assocpriv refine itemsets2.parquet --plan plan2.json --itemsets -o plan3.json
    """
    from assocpriv import baskets as api
    from assocpriv.apps.render import rounds as show_rounds
    from assocpriv.files.atomic import check_writable
    from assocpriv.files.plans import read_catalogue, read_plan, write_plan
    from assocpriv.plans.baskets.plan import Plan

    if items is not None and catalogue is not None:
        raise click.UsageError("give one of --items and --catalogue")
    read = [itemsets, plan_path, *(path for path in (histogram, catalogue) if path is not None)]
    before = read_plan(plan_path, Plan)
    check_writable(output, force=force, inputs=read)
    names = items if catalogue is None else read_catalogue(catalogue)
    made = api.refine(
        itemsets, before, top=top, candidates=candidates, histogram=histogram, reports=reports, items=names
    )
    write_plan(made.plan, output, force=force)
    show_result(as_json, lambda: show_rounds.refinement_record(made), lambda: show_rounds.refinement_lines(made))


@click.command()
@click.argument("tables", type=PATH, nargs=-1, required=True)
@histogram_option
@click.option("-o", "--output", type=PATH, help="File to write: .parquet, .csv or .json.")
@top_option
@force_option
@json_option
def combine(
    tables: tuple[Path, ...],
    histogram: Path | None,
    output: Path | None,
    top: int,
    force: bool,
    as_json: bool,
) -> None:
    """Put mined TABLES of several rounds side by side, and average what estimates the same.

    \b
    Example:
      assocpriv combine itemsets.parquet itemsets2.parquet --histogram sizes.csv -o combined.csv
    """
    from assocpriv import baskets as api
    from assocpriv.apps.render import rounds as show_rounds
    from assocpriv.core.errors import FileError
    from assocpriv.files.atomic import check_writable
    from assocpriv.files.tables import output_format
    from assocpriv.server.rounds.combine import combined_records, write_combined

    if output is not None:
        output_format(output)
        check_writable(output, force=force, inputs=[*tables, *([histogram] if histogram is not None else [])])
    if len({path.resolve() for path in tables}) != len(tables):
        raise FileError("a table is named twice; each counts once")
    frame = api.combine(tables, histogram=histogram)
    if output is not None:
        write_combined(frame, output, force=force)
    show_result(as_json, lambda: combined_records(frame), lambda: show_rounds.combined_lines(frame, top))


def histogram_plan(promise: "Breach", names_and_view: "tuple[int | Catalogue, View] | None", reports: int) -> "Plan":
    """Return the plan that asks for the sizes of baskets alone, of all names or of those given."""
    from dataclasses import replace

    from assocpriv.planning.request import check_range
    from assocpriv.planning.rounds import plan_sizes
    from assocpriv.plans.baskets.catalogue import MAX_ITEMS
    from assocpriv.plans.baskets.view import View

    check_range("reports", reports, 1, 10**15)
    if names_and_view is None:
        return plan_sizes(promise)
    names, view = names_and_view
    if isinstance(names, int):
        check_range("items", names, 1, MAX_ITEMS)
    counted = sorted(map(str, range(names)) if isinstance(names, int) else names)
    made = plan_sizes(promise, counted=counted)
    wider = View("sizes", "drop", view.parents, view.left_out, (), made.view.bounds, made.view.counted)
    return replace(made, view=wider)


def run_rounds_simulation(
    baskets: Path,
    rounds: str,
    promise: tuple[str | None, str | None],
    *,
    top: int,
    seed: int | None,
    reading: dict[str, str | None],
    as_json: bool,
) -> None:
    """Try schedules of rounds on a file of baskets and print what they found."""
    from assocpriv import baskets as api
    from assocpriv.apps.commands.warm_up import compile_told
    from assocpriv.apps.render import rounds as show_rounds
    from assocpriv.core.privacy import Breach
    from assocpriv.lab.rounds_trial import of_used_items

    prior, posterior = promise
    assert prior is not None
    assert posterior is not None
    limit = Breach(prior, posterior)
    raw = api.read_baskets(
        baskets,
        format=reading["format"],
        repeats=reading["repeats"] or "error",
        empty=reading["empty"] or "error",
        progress=Progress().stage("reading", "B"),
    )
    compile_told()
    trial = api.simulate_rounds(
        of_used_items(raw),
        limit,
        rounds=rounds if rounds == "auto" else int(rounds),
        top=top,
        seed=seed,
        progress=Progress(),
    )
    if as_json and not trial.tells:  # the text says it itself
        say(["warning: with this promise and so many people nothing can be told"])
    show_result(as_json, lambda: show_rounds.trial_record(trial), lambda: show_rounds.trial_lines(trial, top))


def refuse_given(names: Iterable[str], why: str) -> None:
    """Refuse options that do not go together with another one."""
    context = click.get_current_context()
    for name in names:
        parameter = next(each for each in context.command.params if each.name == name)
        if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT:
            raise click.UsageError(f"{max(parameter.opts, key=len)} {why}")


def require(names: Iterable[str]) -> None:
    """Refuse to go on without options that are required here."""
    context = click.get_current_context()
    for name in names:
        if context.params.get(name) is None:
            parameter = next(each for each in context.command.params if each.name == name)
            raise click.MissingParameter(ctx=context, param=parameter)
