#!/usr/bin/env bash
# narwhals 2.29.0 and polars 2.1.0: explode through narwhals keeps empty lists that the frame's own explode drops.
#
# Expected: narwhals passes explode on to polars, so the same call on the same frame gives the same rows.
# Seen: polars 2 drops an empty list, as DuckDB's unnest and Spark's explode do, and narwhals asks for the older
# behaviour: an empty list becomes a row with null, over polars, DuckDB and pandas. Baskets counted by their rows differ
# by the empty ones, and a miner that takes null for an item finds a frequent one. Filter null items, and count baskets
# before the lists are exploded.
#
# Prints what was seen; exits with 1 if that changes. Installs pinned public packages into a temporary folder.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet --disable-pip-version-check install narwhals==2.29.0 polars==2.1.0 pyarrow==26.0.1 duckdb==2.0.1 2> "$folder/pip.log" || {
    cat "$folder/pip.log" >&2
    exit 2
}
"$folder/venv/bin/python" - <<'PYTHON'
import sys

import duckdb
import narwhals as nw
import polars as pl

frame = pl.DataFrame({"receipt": [1, 2, 3], "item": [["tea", "rye"], [], ["milk"]]})
own = frame.explode("item").rows()
through = nw.from_native(frame).explode("item").to_native().rows()
relation = duckdb.sql("from frame")
duck = sorted(nw.from_native(relation).explode("item").to_native().fetchall())
unnest = sorted(duckdb.sql("select receipt, unnest(item) from frame").fetchall(), key=str)
print("polars:", own)
print("polars through narwhals:", through)
print("duckdb unnest:", unnest)
print("duckdb through narwhals:", duck)
without = [(1, "tea"), (1, "rye"), (3, "milk")]
kept = own == without and set(unnest) == set(without)
sys.exit(0 if kept and set(through) == set(duck) == {*without, (2, None)} else 1)
PYTHON
