"""The command generate: synthetic baskets."""

from pathlib import Path
from typing import Any

import click

from assocpriv.apps.console import show_result
from assocpriv.apps.options import NUMBER, OUTPUT, WHOLE, WholeRange, result_options, usual
from assocpriv.apps.progress import Progress


@click.group()
def generate() -> None:
    """Make synthetic baskets.

    \b
    Example:
      assocpriv generate quest --baskets 100000 --items 1000 -o baskets.dat
    """


@generate.command()
@usual("--baskets", "n_baskets", default=1_000_000, help="Number of baskets.")
@usual("--items", "n_items", default=1_000, help="Number of items.")
@click.option("--mean-size", type=NUMBER, help="Mean size of a basket.")
@click.option("--patterns", "n_patterns", type=WHOLE, help="Number of patterns that baskets are made of.")
@click.option("--mean-pattern-size", type=NUMBER, help="Mean size of a pattern.")
@usual("--seed", default=0, help="Same seed, same baskets.", type=WholeRange(0))
@click.option("-o", "--output", type=OUTPUT, required=True, help="File to write: .dat (ids) or .csv (names).")
@result_options
def quest(output: Path, force: bool, **settings: Any) -> None:
    """Baskets in the style of IBM's Quest generator: Poisson sizes, overlapping and corrupted patterns.

    \b
    Example:
      assocpriv generate quest --baskets 100000 --items 1000 -o baskets.dat
    """
    from assocpriv.trials import FILE_FORMATS, QuestSettings, generate_file

    if output.suffix not in FILE_FORMATS:
        raise click.UsageError("-o must end in .dat or .csv")
    chosen = QuestSettings(**{name: value for name, value in settings.items() if value is not None})
    count = len(generate_file(chosen, output, force=force, progress=Progress().stage("generating")))
    show_result(
        lambda: {"baskets": count, "items": chosen.n_items, "seed": chosen.seed, "output": str(output)},
        lambda: [f"{count:,} baskets over {chosen.n_items:,} items written to {output}"],
    )
