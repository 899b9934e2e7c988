#!/usr/bin/env bash
# DuckDB 2.0.1: read_csv(skip=1) fails on what is in the skipped line.
#
# Expected: skip=1 leaves out the first line, whatever it holds, as skiprows of pandas and skip_rows of polars do. Files
# of measurements and of models often begin with a line of metadata, such as a JSON object.
# Seen: the dialect is detected with the skipped line. A line with one quoted field of JSON is skipped; with a list of
# numbers in it no dialect fits, and the same table is an error, also with delim, quote, escape and header given.
# strict_mode=false reads it.
#
# Prints what was seen; exits with 1 if that changes. Installs pinned public packages into a temporary folder.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet --disable-pip-version-check install duckdb==2.0.1 2> "$folder/pip.log" || {
    cat "$folder/pip.log" >&2
    exit 2
}
"$folder/venv/bin/python" - <<'PYTHON'
import pathlib
import sys
import tempfile

import duckdb

file = pathlib.Path(tempfile.mkdtemp()) / "table.csv"
table = 'support,items\n0.5,"bread,milk"\n0.3,bread\n0.2,tea\n'
whole = "skip=1, header=true, delim=',', quote='\"', escape='\"'"
seen = []
for facts, options in (('{"n": 1}', "skip=1"), ('{"n": 1, "of": [1, 2, 3]}', whole), ('{"n": 1, "of": [1, 2, 3]}', "skip=1, strict_mode=false")):
    file.write_text(f"# {facts}\n{table}")
    try:
        outcome = str(duckdb.sql(f"from read_csv('{file}', {options})").shape)
    except duckdb.Error as error:
        outcome = type(error).__name__
    seen.append(outcome)
    print(f"duckdb {duckdb.__version__}, first line # {facts}, {options}: expected (3, 2); seen {outcome}")
file.unlink()
file.parent.rmdir()
sys.exit(0 if seen == ["(3, 2)", "InvalidInputException", "(3, 2)"] else 1)
PYTHON
