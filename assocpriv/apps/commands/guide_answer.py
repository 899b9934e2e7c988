"""The command guide answer: the clients' side under guidance."""

from pathlib import Path
from typing import Any

import click

from assocpriv.apps.console import show_result
from assocpriv.apps.options import (
    OUTPUT,
    PATH,
    WholeRange,
    memory_option,
    plan_option,
    result_options,
    separator_option,
)
from assocpriv.apps.progress import Progress


@click.command()
@click.argument("table", type=PATH)
@plan_option
@click.option("--guidance", "guidance_path", type=PATH, help="What the miner published; without it records wait.")
@click.option("--max-level", metavar="K", type=WholeRange(1), help="Highest level k* that is answered.  [default: any]")
@click.option("--announced", metavar="K", type=WholeRange(1), help="Level that was announced before the guidance came.")
@click.option("--wait", "folder", type=OUTPUT, help="Folder in which records wait, encrypted, for a lower level.")
@click.option("-o", "--output", type=OUTPUT, help="File to write: .parquet for reports, .jsonl for messages.")
@click.option(
    "--missing", metavar="WORD", multiple=True, help="A word that stands for a missing value, as ?; may be repeated."
)
@separator_option
@memory_option
@result_options
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
    from assocpriv.apps.render.guided_answers import answer_lines, answer_record, waiting_lines, waiting_record
    from assocpriv.guidance import LevelError, answer_file, check_writable, read_guidance, read_plan, wait

    if (guidance_path is None and folder is None) or (guidance_path is not None and output is None):
        raise click.UsageError(
            "give --guidance and --output, or --wait alone; with all three, what cannot be sent waits"
        )
    plan = read_plan(plan_path)
    try:
        if guidance_path is None:
            raise LevelError("no guidance so far")
        assert output is not None
        check_writable(output, force=force, inputs=[table, plan_path, guidance_path])
        progress = Progress().stage("answering", in_bytes=True)
        guidance = read_guidance(guidance_path)
        done = answer_file(
            table, plan, guidance, output, memory_bytes=memory, force=force, progress=progress, **options
        )
    except LevelError as level:
        if folder is None or table.is_dir():
            raise
        reason = str(level).partition(";")[0]
        waiting = wait(table, plan, folder, separator=options["separator"], missing=options["missing"])
        show_result(lambda: waiting_record(waiting, plan), lambda: waiting_lines(waiting, folder, reason))
        return
    show_result(lambda: answer_record(done, plan), lambda: answer_lines(done, plan, output))
