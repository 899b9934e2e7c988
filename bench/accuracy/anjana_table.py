"""(α, k)-anonymity by anjana, in a Python of its own, as its versions are pinned: ``anjana_table.py JOB ANSWER``.

The job is JSON: ``table`` and ``output`` (CSV files), ``channel``, ``sensitive`` (one column) and ``alpha``. A value is
generalized to ``*``, a whole column at once, which is the only hierarchy that suppression needs; no record is dropped.
"""

import json
import sys
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd
from anjana.anonymity import alpha_k_anonymity


def main() -> None:
    """Anonymize one table."""
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    table = pd.read_csv(job["table"], dtype=str, keep_default_na=False)
    levels = {name: {0: table[name].to_numpy(), 1: np.full(len(table), "*")} for name in job["channel"]}
    start = perf_counter()
    released = alpha_k_anonymity(table, [], list(job["channel"]), job["sensitive"], 1, job["alpha"], 0, levels)
    elapsed = perf_counter() - start
    released.to_csv(job["output"], index=False)
    Path(sys.argv[2]).write_text(json.dumps({"seconds": elapsed, "records": len(released)}), encoding="utf-8")


if __name__ == "__main__":
    main()
