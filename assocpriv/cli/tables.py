"""The command group numeric: tables, from a schema to distributions or decision trees.

plan: from a schema of a table to its plan. randomize: the clients' side, in bulk. reconstruct: distributions of columns
from released records. tree: a decision tree from the reports of a table. predict: a published tree applied to the
records of a table.
"""

from pathlib import Path
from typing import Any

import click

import assocpriv as ap
from assocpriv.cli import options as opt

_HOMES = {name: f"assocpriv.cli.tables:{name}" for name in ("plan", "randomize", "reconstruct", "tree", "predict")}
_missing_option = click.option(
    "--missing", metavar="WORD", multiple=True, help="A word that stands for a missing value, as ?; may be repeated."
)


@click.group(cls=opt.LazyGroup, homes=_HOMES)
def numeric() -> None:
    """Tables of numbers and categories: perturb them, reconstruct their distributions, grow decision trees.

    \b
    Example, from a schema to the distribution of every column:
      assocpriv numeric plan schema.toml -o plan.json
      assocpriv numeric randomize table.csv --plan plan.json -o released.parquet
      assocpriv numeric reconstruct released.parquet
    """


def _to_answer(_context: click.Context, _option: click.Parameter, text: str | None) -> "int | str | None":
    """Take a number of columns, or the word all."""
    if text is None or text == "all":
        return text
    if not (text.isascii() and text.isdigit()):
        raise click.BadParameter("give a number of columns, or all")
    return int(text)


@click.command()
@click.argument("schema", type=opt.PATH)
@click.option("--prior", help="Belief before a report, as 5% or 0.05.  [default: 5%]")
@click.option("--posterior", help="Belief that no report may lift the prior to.  [default: 50%]")
@opt.epsilon_option
@opt.usual("--reports", default=1_000_000, help="Reports that are expected; they set the number of intervals.")
@opt.usual("--reports-per-person", default=1, help="R: the promise covers all R reports of one person together.")
@click.option(
    "--answer",
    metavar="K|all",
    callback=_to_answer,
    help="Protected columns that a report answers, labels apart.  [default: whichever errs least]",
)
@opt.plan_output_options
def plan(schema: Path, output: Path, force: bool, **options: Any) -> None:
    """Choose how each column of a table is released: SCHEMA (TOML) names its columns.

    Columns released by square-wave or response are protected: the promise covers all of them together. Columns with
    added noise promise an average only; the plan says so.

    \b
    Example:
      assocpriv numeric plan schema.toml -o plan.json
      assocpriv numeric plan schema.toml --prior 5% --posterior 50% -o plan.json
    """
    promise = opt.take_promise(options)
    opt.check_writable(output, force=force, inputs=[schema])
    made = ap.numeric.plan_table(schema, promise, **options)
    ap.write_plan(made, output, force=force)
    described = ap.show.plans.describe_plan(made, options["reports"])
    opt.show_result(described.record, described.lines)


@click.command()
@click.argument("table", type=opt.PATH)
@opt.plan_option
@click.option("-o", "--output", type=opt.OUTPUT, required=True, help="Report file to write (Parquet).")
@click.option("--clip", is_flag=True, help="Move values outside a column's range to its ends, instead of an error.")
@_missing_option
@opt.separator_option
@opt.memory_option
@opt.result_options
def randomize(table: Path, plan_path: Path, output: Path, memory: int | None, force: bool, **reading: Any) -> None:
    """Randomize TABLE, a record a person: the clients' side, in bulk, with the operating system's entropy.

    TABLE is CSV with a header line, or Parquet. Files of any size are read, randomized and written batch by batch.

    \b
    Example:
      assocpriv numeric randomize table.csv --plan plan.json -o released.parquet
    """
    plan = ap.read_plan(plan_path, ap.numeric.TablePlan)
    opt.check_writable(output, force=force, inputs=[table, plan_path])
    progress = opt.Progress().stage("randomizing", in_bytes=True)
    done = ap.randomize(table, plan, output, memory_bytes=memory, force=force, progress=progress, **reading)
    opt.say(ap.show.tables.outcome_lines(done, plan))
    opt.show_result(
        lambda: ap.show.tables.outcome_record(done, plan),
        lambda: [
            f"{opt.counted(done.records, 'report')} of {opt.counted(plan.report_bytes, 'byte')} written to {output}"
        ],
    )


def _to_pair(_context: click.Context, _option: click.Parameter, text: str | None) -> tuple[str, str] | None:
    """Take the names of two columns."""
    names = [] if text is None else [name.strip() for name in text.split(",")]
    if text is not None and len(names) != 2:
        raise click.BadParameter("give two columns, as age,salary")
    return (names[0], names[1]) if names else None


@click.command()
@opt.reports_argument
@click.option("--by", metavar="COLUMN", help="Also the distributions within each class of a label or category.")
@click.option("--joint", metavar="A,B", callback=_to_pair, help="Instead: how two columns are spread together.")
@opt.choice(
    "--method",
    ["auto", "smooth", "em", "ems", "bayes", "least-squares"],
    "How shares are estimated; auto takes smooth behind noise.",
)
@opt.usual("--confidence-level", default="95%", help="Of intervals and bands, as 95% or 0.95.")
@opt.backend_options
@opt.table_output_option
@opt.result_options
def reconstruct(
    reports: tuple[Path, ...],
    by: str | None,
    joint: tuple[str, str] | None,
    method: str,
    confidence_level: str,
    backend: str,
    master: str | None,
    output: Path | None,
    force: bool,
) -> None:
    """Reconstruct how the values of each column are spread, from REPORTS (files of released records, or folders).

    Shares come with standard errors, the distribution function with a band that holds everywhere at once, and
    quantiles, mean and variance with intervals.

    \b
    Example:
      assocpriv numeric reconstruct released.parquet
      assocpriv numeric reconstruct released.parquet --by class -o distributions.csv
      assocpriv numeric reconstruct released.parquet --joint age,salary --json
    """
    opt.check_table_output(output, force, reports)
    found = ap.reconstruct(
        opt.open_reports(reports, backend, master), by=by, joint=joint, method=method,
        confidence_level=confidence_level, progress=opt.Progress().stage("counting"),
    )  # fmt: skip
    opt.warn(ap.show.tables.left_out_lines(found))
    if output is not None:
        found.write(output, force=force)
        opt.say_written(output)
    opt.show_result(found.record, lambda: ap.show.tables.distribution_lines(found))


@click.command()
@opt.reports_argument
@click.option("--class", "class_column", metavar="COLUMN", required=True, help="The class: a label or a category.")
@opt.choice("--method", ["by-class", "global", "local"], "Reconstruct columns by class, over all records, or at nodes.")
@click.option("--max-depth", type=opt.WholeRange(1), help="Splits that a record meets at most.")
@click.option(
    "--min-samples-leaf",
    type=opt.WholeRange(1),
    help="Records of a leaf at least.  [default: one in a thousand, 1 to 100]",
)
@opt.choice("--pruning", ["description-length", "cost-complexity", "none"], "How the tree is pruned.")
@opt.usual("--ccp-alpha", default=0.0, type=opt.NUMBER, help="Price of a leaf, for cost-complexity.")
@opt.usual("--seed", default=0, type=opt.WholeRange(0, (1 << 32) - 1), help="Order in which equal values are taken.")
@click.option("-o", "--output", type=opt.OUTPUT, required=True, help="Model file to write (JSON).")
@opt.result_options
def tree(reports: tuple[Path, ...], class_column: str, output: Path, force: bool, **growth: Any) -> None:
    """Grow a decision tree on REPORTS of a table; needs scikit-learn: pip install assocpriv[trees].

    \b
    Example:
      assocpriv numeric tree released.parquet --class class -o model.json
    """

    opt.check_writable(output, force=force, inputs=reports)
    with opt.Progress.while_busy("growing the tree"):
        model = ap.numeric.grow_tree(reports, class_column, **growth)
    ap.numeric.write_tree(model, output, force=force)
    opt.show_result(
        lambda: ap.show.tables.tree_record(model) | {"output": str(output)},
        lambda: [*ap.show.tables.tree_text(model, list(ap.numeric.tree_lines(model))), f"model     {output}"],
    )


@click.command()
@click.argument("model", type=opt.PATH)
@click.argument("table", type=opt.PATH)
@click.option("-o", "--output", type=opt.OUTPUT, required=True, help="Table to write: .csv or .parquet.")
@opt.usual("--column", metavar="NAME", default="predicted", help="Name of the column to add; TABLE must not have it.")
@_missing_option
@opt.separator_option
@opt.result_options
def predict(model: Path, table: Path, output: Path, force: bool, **reading: Any) -> None:
    """Apply a tree, the file MODEL, to raw records, the file TABLE; adds a column, their class.

    Runs where the records lie, without scikit-learn; nothing leaves. TABLE is CSV with a header line, or Parquet.

    \b
    Example:
      assocpriv numeric predict model.json table.csv -o out.csv
    """

    opt.check_writable(output, force=force, inputs=[model, table])
    counts = ap.numeric.predict_file(ap.numeric.read_tree(model), table, output, force=force, **reading)
    opt.say(ap.show.tables.prediction_notes(counts))
    opt.show_result(
        lambda: ap.show.tables.prediction_record(counts, str(output)),
        lambda: ap.show.tables.prediction_lines(counts, str(output)),
    )
