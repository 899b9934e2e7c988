#!/usr/bin/env bash
# pyarrow 26.0.1: filling nulls with a Python value imports pandas.
#
# Expected: pandas is imported where Arrow data become or come from pandas; reading CSV and computing on arrays do not
# need it, and a program that never touches a frame starts without it.
# Seen: pyarrow.compute.fill_null(array, False) makes a scalar of the value, for which pyarrow imports pandas, if it is
# installed, to see whether the value is one of pandas' missing values. For flags compute.and_kleene with is_valid gives
# the same array without it.
#
# Prints what was seen; exits with 1 if that changes. Installs pinned public packages into a temporary folder.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet --disable-pip-version-check install pyarrow==26.0.1 pandas==3.1.1 2> "$folder/pip.log" || {
    cat "$folder/pip.log" >&2
    exit 2
}
"$folder/venv/bin/python" - <<'PYTHON'
import io
import sys

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

column = csv.read_csv(io.BytesIO(b"bought\ntrue\n\nfalse\n"), parse_options=csv.ParseOptions(ignore_empty_lines=False))
flags = column.column(0).chunk(0)
before = "pandas" in sys.modules
filled = pc.and_kleene(flags, pc.is_valid(flags))
between = "pandas" in sys.modules
pc.fill_null(flags, False)
after = "pandas" in sys.modules
print(f"pyarrow {pa.__version__}: pandas imported by reading CSV: {before}; by and_kleene and is_valid: {between}; by fill_null: {after}")
print("expected False three times")
sys.exit(0 if (before, between, after) == (False, False, True) else 1)
PYTHON
