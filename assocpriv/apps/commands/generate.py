"""The command generate: synthetic baskets and records."""

from pathlib import Path
from typing import Any

import click

from assocpriv.apps.console import show_result
from assocpriv.apps.options import NUMBER, OUTPUT, WHOLE, WholeRange, result_options, usual
from assocpriv.apps.progress import Progress


@click.group()
def generate() -> None:
    """Make synthetic baskets, or records of a table.

    \b
    Example:
      assocpriv generate quest --baskets 100000 --items 1000 -o baskets.dat
      assocpriv generate agrawal --function 2 --records 100000 -o table.csv
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


@generate.command()
@usual("--function", default=1, help="Which function says the class.", type=WholeRange(1, 5))
@usual("--records", "n_records", default=100_000, help="Number of records.", type=WholeRange(2))
@usual("--seed", default=0, help="Same seed, same records.", type=WholeRange(0))
@click.option("--schema", type=OUTPUT, help="Also write a schema for numeric plan (TOML).")
@click.option("-o", "--output", type=OUTPUT, required=True, help="File to write: .csv or .parquet.")
@result_options
def agrawal(output: Path, schema: Path | None, force: bool, **settings: Any) -> None:
    """Records of loan applicants by Agrawal, Imielinski and Swami: nine attributes, and a class, half of each.

    \b
    Example:
      assocpriv generate agrawal --function 2 --records 100000 -o table.csv
    """
    from assocpriv.trials import AgrawalSettings, check_record_output, generate_agrawal_file

    chosen = AgrawalSettings(**settings)
    check_record_output(output)
    show = Progress().stage("generating")
    count = generate_agrawal_file(chosen, output, schema=schema, force=force, progress=show)
    outputs = {"output": str(output)} | ({} if schema is None else {"schema": str(schema)})
    show_result(
        lambda: {"records": count, "function": chosen.function, "seed": chosen.seed} | outputs,
        lambda: [
            f"{count:,} records of function {chosen.function} written to {output}",
            *([] if schema is None else [f"schema written to {schema}"]),
        ],
    )
