"""The command of who holds the baskets: release."""

from pathlib import Path
from typing import Any

import click

import assocpriv as ap
from assocpriv.cli import options as opt


@opt.command()
@click.argument("baskets", type=opt.PATH, nargs=-1, required=True)
@click.option("--catalogue", type=opt.PATH, help="Public names of the items, one a line.")
@click.option("--discover", is_flag=True, help="Publish items of many baskets, in place of a catalogue.")
@opt.usual("--epsilon", default="1", help="Privacy parameter ε.")
@opt.usual("--delta", default="1e-8", help="Privacy parameter δ; 0 for pure ε.")
@click.option("-o", "--output", type=opt.PARQUET, required=True, help="Release to write (.parquet).")
@click.option("--person", metavar="NAME", help="Column of persons: protect all baskets of each.")
@click.option(
    "--baskets-per-person", type=opt.WholeRange(1), metavar="R", help="Baskets counted of each.  [default: 1]"
)
@opt.usual("--max-itemset", default=3, type=opt.WholeRange(1, 5), help="Size of the largest itemsets counted.")
@click.option(
    "--ledger", type=opt.OUTPUT, help="Ledger of the releases of these baskets or persons; refuses above its limit."
)
@click.option("--limit", metavar="E,D", help="Limit of a new ledger: ε and δ of all releases, as 4,1e-7.")
@opt.reading_options
@opt.rules_options
@opt.advanced_options(
    opt.choice("--person-as", ["checked", "written"], "Several spellings of a person id: refuse, or treat as persons."),
)
def release(baskets: tuple[Path, ...], catalogue: Path | None, output: Path, force: bool, **options: Any) -> None:
    """Count itemsets of baskets that you hold, with noise, for publication.

    BASKETS are files of raw baskets. The output holds noisy counts under central (ε, δ) differential privacy; mine,
    rules, ask and compare read it as they read reports. The catalogue must be public: a price list, not the items found
    in the baskets; of these --discover publishes those with high noisy counts. Releases of the same baskets add up.

    \b
    Example:
      assocpriv release baskets.csv --catalogue names.txt -o counts.parquet
      assocpriv release baskets.csv --catalogue names.txt --ledger shop.ledger --limit 4,1e-7 -o counts.parquet
      assocpriv release baskets.csv --catalogue names.txt --person card --baskets-per-person 4 -o counts.parquet

    Next: assocpriv mine counts.parquet
    """
    opt.check_output(output, force, [*baskets, *([catalogue] if catalogue else [])])
    made = ap.release(list(baskets), catalogue, output=output, force=force, progress=opt.text.Progress(), **options)
    opt.show(ap.show.release_views.released(made, output))
