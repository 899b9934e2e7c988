"""Commands of the server's side, which see reports only: mine, rules, ask."""

import csv
from collections.abc import Iterable
from pathlib import Path

import click

from assocpriv.apps.console import say, show_result
from assocpriv.apps.options import (
    LEAST_SUPPORT,
    PATH,
    ROWS,
    force_option,
    json_option,
    memory_option,
    top_option,
)
from assocpriv.apps.progress import Progress

_ARROW = "=>"
reports_argument = click.argument("reports", type=PATH, nargs=-1, required=True)
level_option = click.option("--confidence-level", type=float, default=0.95, show_default=True, help="Of the intervals.")
population_option = click.option(
    "--population", is_flag=True, help="Errors for the population the baskets were drawn from."
)
output_option = click.option("-o", "--output", type=PATH, help="File to write: .parquet, .csv or .json.")


@click.command()
@reports_argument
@click.option("--min-support", metavar="S", help=f"{LEAST_SUPPORT} auto: the lowest at which finds can be believed.")
@click.option("--max-itemset", type=int, help="Largest itemsets.  [default: the plan's]")
@click.option("--certain", metavar="C", help="Mark itemsets that are frequent for sure, as 95%: at most 5% false ones.")
@click.option(
    "--certain-by",
    type=click.Choice(["split", "all"]),
    default="split",
    show_default=True,
    help="Which reports choose and test: 3 in 10 choose and the others test, or all do both.",
)
@click.option("--consistent", is_flag=True, help="Also give the nearest supports that baskets can have.")
@level_option
@population_option
@memory_option
@output_option
@click.option(
    "--top",
    type=click.IntRange(0),
    metavar="K",
    help="Without --min-support: mine the K itemsets of the largest estimates, with what is known of their order. "
    f"Else the rows shown as text.  [default: {ROWS}]",
)
@force_option
@json_option
def mine(
    reports: tuple[Path, ...],
    min_support: str | None,
    max_itemset: int | None,
    certain: str | None,
    certain_by: str,
    consistent: bool,
    confidence_level: float,
    population: bool,
    memory: int | None,
    output: Path | None,
    top: int | None,
    force: bool,
    as_json: bool,
) -> None:
    """Find frequent itemsets from REPORTS (files, or folders of them): the server's side.

    \b
    Example:
      assocpriv mine reports.parquet --min-support 2% -o itemsets.parquet
      assocpriv mine reports.parquet --min-support auto
      assocpriv mine reports.parquet --top 64
      assocpriv mine reports.parquet --min-support 2% --certain 95%
    """
    from assocpriv.apps.commands.warm_up import COUNTING, compile_told
    from assocpriv.apps.render import results as show
    from assocpriv.files.reports import read_reports
    from assocpriv.files.tables import itemset_records
    from assocpriv.server.counting.backend import LocalBackend
    from assocpriv.server.estimates.intervals import ErrorOptions
    from assocpriv.server.itemsets import mining
    from assocpriv.server.itemsets.frames import mining_facts, write_itemsets
    from assocpriv.server.itemsets.requests import MiningRequest
    from assocpriv.server.itemsets.undecided import describe_undecided

    if min_support is None and not top:
        raise click.UsageError(
            "give --min-support S, --min-support auto (the lowest at which what is found can be believed) or --top K, "
            "from 1 (the K itemsets of the largest estimates)"
        )
    wanted = top if min_support is None else None
    errors = ErrorOptions(confidence_level, population)
    request = MiningRequest(min_support, wanted, max_itemset, certain, certain_by, consistent, errors)
    _check_output(output, force, reports)
    collection = read_reports(reports)
    compile_told(COUNTING)
    frame = mining.mine(LocalBackend.of(collection, memory, Progress()), request)
    facts = mining_facts(frame)
    say(f"warning: {line}" for line in describe_undecided(facts))
    if output is not None:
        write_itemsets(frame, output, force=force)
    show_result(
        as_json,
        lambda: facts.to_json() | {"itemsets": itemset_records(frame)},
        lambda: [
            show.meaning_line(facts),
            *show.threshold_lines(facts),
            *show.itemset_lines(frame, len(frame) if wanted else ROWS if top is None else top),
        ],
    )


def _check_output(output: Path | None, force: bool, inputs: Iterable[Path]) -> None:
    from assocpriv.files.atomic import check_writable
    from assocpriv.files.tables import output_format

    if output is not None:
        output_format(output)
        check_writable(output, force=force, inputs=inputs)


@click.command()
@click.argument("itemsets", type=PATH)
@click.option("--min-confidence", required=True, help="Least confidence of a rule, as 60% or 0.6.")
@click.option("--certain", metavar="C", help="Mark rules that have it for sure, as 95%: at most 5% false ones.")
@output_option
@top_option
@force_option
@json_option
def rules(
    itemsets: Path,
    min_confidence: str,
    certain: str | None,
    output: Path | None,
    top: int,
    force: bool,
    as_json: bool,
) -> None:
    """Derive association rules from mined ITEMSETS.

    \b
    Example:
      assocpriv rules itemsets.parquet --min-confidence 60% -o rules.csv
    """
    from assocpriv.apps.render import results as show
    from assocpriv.server.itemsets.frames import mining_facts, read_itemsets
    from assocpriv.server.itemsets.rules import association_rules, rule_records, write_rules
    from assocpriv.server.itemsets.undecided import describe_undecided

    _check_output(output, force, [itemsets])
    frame = read_itemsets(itemsets)
    found = association_rules(frame, min_confidence, certain=certain)
    if output is not None:
        write_rules(found, output, force=force)
    facts = mining_facts(frame)
    say(f"warning: {line}" for line in describe_undecided(facts))
    source = {name: getattr(facts, name) for name in ("plan_id", "reports", "transaction_size", "min_support")}
    source |= found.attrs.get("assocpriv", {})
    show_result(
        as_json,
        lambda: source | {"rules": rule_records(found)},
        lambda: [show.meaning_line(facts), *show.rule_lines(found, top)],
    )


@click.command()
@reports_argument
@click.option("--itemset", "itemsets", multiple=True, metavar="NAMES", help='Names with commas, as "milk,bread".')
@click.option("--rule", "rules_", multiple=True, metavar="RULE", help='Two itemsets, as "milk,bread => eggs".')
@level_option
@population_option
@memory_option
@json_option
def ask(
    reports: tuple[Path, ...],
    itemsets: tuple[str, ...],
    rules_: tuple[str, ...],
    confidence_level: float,
    population: bool,
    memory: int | None,
    as_json: bool,
) -> None:
    """Estimate the supports of chosen itemsets, and rules, from REPORTS (files, or folders of them) without mining.

    \b
    Example:
      assocpriv ask reports.parquet --itemset milk,bread --itemset eggs --rule milk=>eggs
    """
    from assocpriv.apps.commands.warm_up import COUNTING, compile_told
    from assocpriv.apps.render import results as show
    from assocpriv.files.reports import read_reports
    from assocpriv.files.tables import itemset_records
    from assocpriv.server.counting.backend import LocalBackend
    from assocpriv.server.estimates.intervals import ErrorOptions
    from assocpriv.server.itemsets import ask as asking
    from assocpriv.server.itemsets.rules import rule_records

    if not itemsets and not rules_:
        raise click.UsageError("give at least one --itemset or --rule")
    asked = [_names(text, "--itemset") for text in itemsets], [_rule(text) for text in rules_]
    collection = read_reports(reports)
    compile_told(COUNTING)
    questions = asking.Questions(*asked, errors=ErrorOptions(confidence_level, population))
    answers = asking.ask(LocalBackend.of(collection, memory, Progress()), questions)
    show_result(
        as_json,
        lambda: {
            **answers.facts.to_json(),
            "itemsets": itemset_records(answers.itemsets),
            "rules": rule_records(answers.rules),
        },
        lambda: [show.meaning_line(answers.facts), *show.answer_lines(answers)],
    )


def _names(text: str, option: str) -> list[str]:
    """Read names written as a CSV line."""
    try:
        lines = list(csv.reader([text], skipinitialspace=True, strict=True))
    except csv.Error as error:
        raise click.UsageError(f"{option} {text!r} is not a line of names with commas between: {error}") from None
    names = lines[0] if len(lines) == 1 else []
    if not all(names) or not names:
        raise click.UsageError(f'{option} {text!r} must be names with commas between, as "milk,bread"')
    return names


def _rule(text: str) -> tuple[list[str], list[str]]:
    """Read a rule: the arrow stands once, outside of quotes."""
    pieces = text.split('"')  # every other one is inside
    arrows = [place for place in range(0, len(pieces), 2) for _ in range(pieces[place].count(_ARROW))]
    if len(arrows) != 1:
        raise click.UsageError(f'--rule {text!r} must be two itemsets with one arrow between, as "milk,bread => eggs"')
    at = arrows[0]
    left, right = pieces[at].split(_ARROW)
    sides = '"'.join([*pieces[:at], left]), '"'.join([right, *pieces[at + 1 :]])
    return _names(sides[0].strip(), "--rule"), _names(sides[1].strip(), "--rule")
