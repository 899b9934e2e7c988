#!/usr/bin/env bash
# fastparquet 2026.9.0: a column of lists of strings is None in each row, depending on how the writer encoded the
# strings.
#
# Expected: lists of strings are read, whatever program wrote them, since they have one encoding in Parquet's specification and
# fastparquet reads those of pyarrow.
# Seen: lists that polars or DuckDB wrote are None in all rows, without an error, and so are those of pyarrow with
# use_dictionary=False. Strings that are not encoded by a dictionary are lost; pyarrow, too, gives up the dictionary of
# a column with many names. Lists of integers are read. pandas uses fastparquet with engine="fastparquet", or if pyarrow
# is not installed. Read with pyarrow.
#
# Prints what was seen; exits with 1 if that changes. Installs pinned public packages into a temporary folder.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet --disable-pip-version-check install fastparquet==2026.9.0 pyarrow==26.0.1 polars==2.1.0 duckdb==2.0.1 2> "$folder/pip.log" || {
    cat "$folder/pip.log" >&2
    exit 2
}
export FOLDER="$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import os
import sys
import warnings

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

warnings.simplefilter("ignore")
from fastparquet import ParquetFile  # noqa: E402

folder = os.environ["FOLDER"]
table = pa.table({"items": [["bread", "milk"], ["tea"]], "numbers": [[1, 2], [3]]})
pq.write_table(table, f"{folder}/pyarrow.parquet")
pq.write_table(table, f"{folder}/pyarrow-plain.parquet", use_dictionary=False)
pl.from_arrow(table).write_parquet(f"{folder}/polars.parquet")
duckdb.from_arrow(table).write_parquet(f"{folder}/duckdb.parquet")
seen = {}
for writer in ("pyarrow", "pyarrow-plain", "polars", "duckdb"):
    frame = ParquetFile(f"{folder}/{writer}.parquet").to_pandas()
    seen[writer] = frame["items"].tolist()
    print(f"written by {writer}: {seen[writer]}; pyarrow reads {pq.read_table(f'{folder}/{writer}.parquet')['items'].to_pylist()}")
lost = [None, None]
whole = [["bread", "milk"], ["tea"]]
sys.exit(0 if seen == {"pyarrow": whole, "pyarrow-plain": lost, "polars": lost, "duckdb": lost} else 1)
PYTHON
