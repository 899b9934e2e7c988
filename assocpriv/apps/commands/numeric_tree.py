"""The command numeric tree: a decision tree from the reports of a table."""

from pathlib import Path
from typing import Any

import click

from assocpriv.apps.console import show_result
from assocpriv.apps.options import NUMBER, OUTPUT, WholeRange, choice, reports_argument, result_options, usual
from assocpriv.apps.progress import Progress


@click.command()
@reports_argument
@click.option("--class", "class_column", metavar="COLUMN", required=True, help="The class: a label or a category.")
@choice("--method", ["by-class", "global", "local"], "Reconstruct columns by class, over all records, or at nodes.")
@click.option("--max-depth", type=WholeRange(1), help="Splits that a record meets at most.")
@click.option(
    "--min-samples-leaf",
    type=WholeRange(1),
    help="Records of a leaf at least.  [default: one in a thousand, 1 to 100]",
)
@choice("--pruning", ["description-length", "cost-complexity", "none"], "How the tree is pruned.")
@usual("--ccp-alpha", default=0.0, type=NUMBER, help="Price of a leaf, for cost-complexity.")
@usual("--seed", default=0, type=WholeRange(0, (1 << 32) - 1), help="Order in which equal values are taken.")
@click.option("-o", "--output", type=OUTPUT, required=True, help="Model file to write (JSON).")
@result_options
def tree(reports: tuple[Path, ...], class_column: str, output: Path, force: bool, **growth: Any) -> None:
    """Grow a decision tree on REPORTS of a table; needs scikit-learn: pip install assocpriv[trees].

    \b
    Example:
      assocpriv numeric tree released.parquet --class class -o model.json
    """
    from assocpriv.apps.render.trees import tree_record, tree_text
    from assocpriv.numeric import check_writable, grow_tree, tree_lines, write_model

    check_writable(output, force=force, inputs=reports)
    with Progress.while_busy("growing the tree"):
        model = grow_tree(reports, class_column, **growth)
    write_model(model, output, force=force)
    show_result(
        lambda: tree_record(model) | {"output": str(output)},
        lambda: [*tree_text(model, list(tree_lines(model))), f"model     {output}"],
    )
