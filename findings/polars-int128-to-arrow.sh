#!/usr/bin/env bash
# polars 2.1.0 with pyarrow 26.0.1: a column of 128-bit integers does not become an Arrow array.
#
# Expected: Series.to_arrow() gives an array for each integer type of polars; Arrow has decimal128(38, 0) for large ones.
# Seen: the column is exported under a format of polars' own, "_pli128", which Arrow's C data interface does not know, and
# pyarrow raises ArrowInvalid. Whoever takes frames of polars through Arrow must cast such columns before.
#
# Prints what was seen; exits with 1 if that changes. Installs pinned public packages into a temporary folder.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet --disable-pip-version-check install polars==2.1.0 pyarrow==26.0.1 2> "$folder/pip.log" || {
    cat "$folder/pip.log" >&2
    exit 2
}
"$folder/venv/bin/python" - <<'PYTHON'
import sys

import polars as pl
import pyarrow as pa

column = pl.Series([0, 1, 1], dtype=pl.Int128)
seen = "an array"
try:
    seen = f"an array of {column.to_arrow().type}"
except pa.ArrowInvalid as error:
    seen = f"ArrowInvalid: {error}"
print(f"polars {pl.__version__}, pyarrow {pa.__version__}: Int128 to Arrow: expected an array, seen {seen}")
print("cast to Int64:", column.cast(pl.Int64).to_arrow().type)
sys.exit(0 if "_pli128" in seen else 1)
PYTHON
