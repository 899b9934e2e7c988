"""Commands for tables: reconstruct, tree, predict, suppress.

reconstruct: distributions of columns. tree: a decision tree. predict: a published tree applied to raw records.
suppress: tables and baskets published with bounded confidence of named inferences.
"""

from pathlib import Path
from typing import Any

import click

import assocpriv as ap
from assocpriv.cli import options as opt


@opt.command()
@opt.reports_argument
@click.option("--by", metavar="COLUMN", help="Also distributions within the classes of a label or category.")
@click.option(
    "--joint", metavar="A,B", callback=opt.pair("give two columns, as age,salary"),
    help="Only the joint distribution of two columns.",
)  # fmt: skip
@opt.choice("--method", ["auto", "smooth", "em", "ems", "bayes", "least-squares"], "Estimator of shares.")
@opt.level_option
@opt.spark_option
@opt.table_output_option
def reconstruct(reports: tuple[Path, ...], spark: str | None, output: Path | None, force: bool, **options: Any) -> None:
    """Estimate the distribution of each column of a table.

    REPORTS are files of released records, or folders of them. The result has shares with standard errors, a band that
    holds the whole distribution function, and quantiles, mean and variance with intervals. The method auto is smooth
    for numbers with noise.

    \b
    Example:
      assocpriv reconstruct released.parquet
      assocpriv reconstruct released.parquet --by class -o distributions.csv
      assocpriv reconstruct released.parquet --joint age,salary --json

    Next: assocpriv tree released.parquet --class class -o model.json
    """
    opt.check_output(output, force, reports)
    progress = opt.text.Progress().stage("counting")
    found = ap.reconstruct(opt.open_reports(reports, spark), progress=progress, **options)
    opt.write(output, lambda path: found.write(path, force=force))
    opt.show(ap.show.table_views.distributions(found))


@opt.command()
@opt.reports_argument
@opt.class_option
@opt.choice("--method", ["by-class", "global", "local", "joint"], "Records over which columns are reconstructed.")
@click.option("--max-depth", type=opt.WholeRange(1), help="Maximum number of splits on a path.")
@opt.choice("--pruning", ["description-length", "none"], "Pruning of the tree.")
@click.option("-o", "--output", type=opt.OUTPUT, required=True, help="Model file to write (JSON).")
def tree(reports: tuple[Path, ...], class_column: str, output: Path, force: bool, **growth: Any) -> None:
    """Grow a decision tree on the reports of a table.

    REPORTS are files of released records, or folders of them. The result is a model file that predicts the class of raw
    records. The methods reconstruct columns by class, over all records (global), at nodes (local) or in leaves (joint).

    \b
    Example:
      assocpriv tree released.parquet --class class -o model.json

    Next: assocpriv predict model.json table.csv -o out.csv
    """
    opt.check_output(output, force, reports)
    with opt.text.Progress.while_busy("growing the tree"):
        model = ap.numeric.grow_tree(reports, class_column, **growth)
    ap.numeric.write_tree(model, output, force=force)
    opt.show(ap.show.table_views.tree(model, output))


@opt.command()
@click.argument("model", type=opt.PATH)
@click.argument("table", type=opt.PATH)
@click.option("-o", "--output", type=opt.OUTPUT, required=True, help="Table to write: .csv or .parquet.")
@opt.missing_option
@opt.layout_option
def predict(model: Path, table: Path, output: Path, force: bool, **reading: Any) -> None:
    """Predict the class of raw records with a decision tree.

    MODEL is a file of assocpriv tree. TABLE holds raw records, as CSV with a header line or as Parquet. The output is
    TABLE with a column predicted. The command runs where the records are, and sends no data.

    \b
    Example:
      assocpriv predict model.json table.csv -o out.csv

    Next: assocpriv inspect model.json
    """
    opt.check_output(output, force, [model, table])
    reading |= opt.table_reading(reading)
    counts = ap.numeric.predict_file(ap.numeric.read_tree(model), table, output, force=force, **reading)
    opt.show(ap.show.table_views.predictions(counts, output))


# ---- suppression


_TAKES = {
    "a table": ("class_column", "columns", "missing"),
    "baskets": ("incomplete", "repeats"),
}  # by the data that templates are over
_WRITING = ("output", "min_group_size", "max_epsilon", "deterministic_only", "new_key", "force")


@opt.command()
@click.argument("table", type=opt.PATH)
@click.option("--templates", type=opt.PATH, required=True, help="File of templates (TOML or JSON).")
@click.option("--check", "only_check", is_flag=True, help="List inferences above their bounds; write nothing.")
@click.option("-o", "--output", type=opt.OUTPUT, help="File to write, in the format of TABLE.")
@click.option("--class", "class_column", metavar="COLUMN", help="Column that readers know, released unchanged.")
@click.option(
    "--column", "columns", metavar="NAME=HOW", multiple=True,
    help="Intervals (age=8, or 8 for all columns), zip=category or id=drop; repeatable.",
)  # fmt: skip
@opt.usual("--min-group-size", default=2, help="Minimum number of records in a group.")
@opt.usual("--max-epsilon", default=3.0, help="Maximum ε that a group spends.", type=opt.NUMBER)
@click.option("--deterministic-only", is_flag=True, help="Show only cells that need no random test.")
@click.option("--new-key", is_flag=True, help="Draw a new key: a further release.")
@opt.missing_option
@opt.memory_option
@opt.reading_options
@opt.repeats_option
def suppress(table: Path, templates: Path, only_check: bool, output: Path | None, **options: Any) -> None:
    """Hide cells of a TABLE, so that given columns do not reveal sensitive values.

    TABLE is CSV with a header line or Parquet; for templates over items it is a file of baskets. Each row counts as one
    person. The output has the records in random order, and is checked before it gets its name. The key of the random
    bits is TABLE.key; keep it secret. With --check the exit status is 1 if an inference is above its bound.

    \b
    Example:
      assocpriv suppress table.csv --templates templates.toml --check
      assocpriv suppress table.csv --templates templates.toml -o released.csv
      assocpriv suppress table.csv --templates templates.toml --column age=8 --class rating -o released.csv
      assocpriv suppress baskets.csv --templates items.toml -o released.csv

    Next: assocpriv suppress released.csv --templates templates.toml --check
    """
    if only_check:
        opt.refuse_given(_WRITING, "writes, and --check does not")
    elif output is None:
        raise click.UsageError("give -o FILE for the released data, or --check to list inferences")
    is_over_items = ap.suppress.are_over_items(templates)
    own = opt.of_kind(options, "baskets" if is_over_items else "a table", _TAKES)
    mode = "deterministic" if own.pop("deterministic_only") else "local"
    if not is_over_items:
        own |= {"columns": list(own["columns"]) or None} | opt.table_reading(own)
    own["progress"] = opt.text.Progress().stage("reading")
    if output is None:
        content = ap.suppress.record(
            ap.suppress.check(table, templates, **{name: own[name] for name in own if name not in _WRITING})
        )
        opt.show(ap.show.suppression_views.check(content))
        if not content["passed"]:
            click.get_current_context().exit(1)
        return
    opt.check_output(output, own["force"], [table, templates])
    content = ap.suppress.record(ap.suppress.suppress_file(table, templates, output, mode=mode, **own))
    opt.show(ap.show.suppression_views.release(content, output))
