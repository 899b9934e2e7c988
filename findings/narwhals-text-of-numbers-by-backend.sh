#!/usr/bin/env bash
# narwhals 2.29.0: an item code cast to text is 7.0 or 7, depending on the library behind the frame.
#
# Expected: cast(String) gives the same text over each backend, since narwhals documents one behaviour, that of polars.
# Seen: product codes with an empty cell are doubles in pandas. Their text is "7.0" over polars, DuckDB and pandas, and
# "7" over pyarrow and over pandas with Arrow's types. An item of one department is another item in the other's baskets,
# and no support of both together is found. Cast to Int64 first.
#
# Prints what was seen; exits with 1 if that changes. Installs pinned public packages into a temporary folder.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet --disable-pip-version-check install narwhals==2.29.0 pandas==3.1.1 polars==2.1.0 pyarrow==26.0.1 duckdb==2.0.1 2> "$folder/pip.log" || {
    cat "$folder/pip.log" >&2
    exit 2
}
"$folder/venv/bin/python" - <<'PYTHON'
import sys

import duckdb
import narwhals as nw
import pandas as pd
import polars as pl
import pyarrow as pa

table = pa.table({"code": [7.0, None, 12.0]})
frames = {
    "polars": pl.from_arrow(table),
    "duckdb": duckdb.from_arrow(table),
    "pandas": table.to_pandas(),
    "pyarrow": table,
    "pandas with Arrow": table.to_pandas(types_mapper=pd.ArrowDtype),
}
texts, whole = {}, set()
for name, frame in frames.items():
    lazy = nw.from_native(frame).lazy()
    texts[name] = lazy.select(nw.col("code").cast(nw.String)).collect().to_arrow()["code"].to_pylist()
    known = lazy.filter(~nw.col("code").is_null())
    cast = known.select(nw.col("code").cast(nw.Int64).cast(nw.String)).collect().to_arrow()["code"].to_pylist()
    whole.add(tuple(cast))
    print(f"{name}: {texts[name]}")
print("expected one text; by way of Int64:", whole)
first = {name for name, text in texts.items() if text == ["7.0", None, "12.0"]}
second = {name for name, text in texts.items() if text == ["7", None, "12"]}
kept = first == {"polars", "duckdb", "pandas"} and second == {"pyarrow", "pandas with Arrow"}
sys.exit(0 if kept and whole == {("7", "12")} else 1)
PYTHON
