"""Suppression beside (α, k)-anonymity by anjana, where both can say the same: all values of one column, one bound.

anjana bounds every value of a sensitive column by α and cannot name values or give two columns; with k = 1, no record
dropped and ``*`` as the only generalization its promise is that of a template with one channel. It suppresses whole
columns. sdcMicro and ARX install by neither pip nor Debian; they are not run.
"""

import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import pandas as pd

from assocpriv.suppress.decide import PAPER, Wishes
from bench.accuracy.suppression_tables import CLASS, Split, load, ranking, release_in_order
from bench.accuracy.suppression_trees import ENTROPY, J48, errors, resplit

Row = dict[str, Any]
SCRIPT = Path(__file__).with_name("anjana_table.py")
CASES: tuple[tuple[str, int, int | None], ...] = (
    ("crx", 1, None),
    ("crx", 3, None),
    ("crx", 4, None),
    ("adult", 1, 2_000),
)
PERCENTS = (70, 90)
LIMIT_S = 300


def rows(folder: Path, python: str) -> Iterator[Row]:
    """Yield how both fare in each case; the last of TopN is the sensitive column, the earlier ones take no part."""
    for name, top, records in CASES:
        whole = load(name, folder)
        ranked = ranking(whole.train)[:top]
        split = Split(whole.train[:records], whole.test[: records and records // 2])
        told = {"table": name, "records": len(split.both), "sensitive": ranked[-1]}
        channel = [each for each in split.both.columns if each not in (*ranked, CLASS)]
        _ours(split.both, channel, ranked[-1], PERCENTS[-1])  # what the first call loads is not counted
        for percent in PERCENTS:
            for method, release in (("ours", _ours), ("anjana", lambda *known: _anjana(python, *known))):
                seconds, released = release(split.both, channel, ranked[-1], percent)
                found = told | {"threshold": percent, "method": method, "seconds": seconds}
                yield found | _figures(released, channel, ranked[-1], split)


def _figures(released: pd.DataFrame | None, channel: list[str], sensitive: str, split: Split) -> Row:
    """Return the share of suppressed cells, the highest confidence left and errors; None of what was not released."""
    if released is None:
        return dict.fromkeys(("cells_percent", "highest_percent", ENTROPY, J48))
    highest = released.groupby(channel)[sensitive].value_counts(normalize=True).max()
    return {
        "cells_percent": 100 * float((released[channel] == "*").to_numpy().mean()),
        "highest_percent": 100 * float(highest),
        ENTROPY: None,
        J48: None,
    } | errors(resplit(released, split))


def _ours(table: pd.DataFrame, channel: list[str], sensitive: str, percent: int) -> tuple[float, pd.DataFrame]:
    values = sorted(table[sensitive].unique())
    template = {"channel": channel, "sensitive": {sensitive: values}, "confidence": f"{percent}%"}
    start = perf_counter()
    released, _ = release_in_order(table, [template], Wishes(PAPER), CLASS)
    return perf_counter() - start, released


def _anjana(
    python: str, table: pd.DataFrame, channel: list[str], sensitive: str, percent: int
) -> tuple[float | None, pd.DataFrame | None]:
    with tempfile.TemporaryDirectory(prefix="assocpriv-bench-") as folder:
        job, answer, source, output = (Path(folder) / name for name in ("job", "answer", "in.csv", "out.csv"))
        table.to_csv(source, index=False)
        known = {"channel": channel, "sensitive": sensitive, "alpha": percent / 100}
        job.write_text(json.dumps(known | {"table": str(source), "output": str(output)}), encoding="utf-8")
        command = [python, str(SCRIPT), str(job), str(answer)]
        try:
            subprocess.run(command, capture_output=True, check=True, timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            return None, None
        found = json.loads(answer.read_text(encoding="utf-8"))
        return found["seconds"], pd.read_csv(output, dtype=str, keep_default_na=False) if found["records"] else None
