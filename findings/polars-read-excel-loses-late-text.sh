#!/usr/bin/env bash
# polars 2.1.0 with fastexcel 0.21.0: a product code with a letter below row 100 is missing.
#
# Expected: a column whose first codes are numbers and whose later ones have letters is read as text, or reading fails,
# as polars' read_csv does, which takes the type of a column from its first rows, too.
# Seen: read_excel takes the type from the first 100 rows (documented) and puts null where a later cell does not fit it,
# without an error. The product A12 is in the workbook and not in the frame. Among the first 100 rows the same cell
# makes the column text. Pass infer_schema_length=None, or schema_overrides for columns of codes.
#
# Prints what was seen; exits with 1 if that changes. Installs pinned public packages into a temporary folder.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet --disable-pip-version-check install polars==2.1.0 fastexcel==0.21.0 xlsxwriter==3.3.1 2> "$folder/pip.log" || {
    cat "$folder/pip.log" >&2
    exit 2
}
export FOLDER="$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import os
import sys

import polars as pl
import xlsxwriter

folder, seen = os.environ["FOLDER"], {}
for rows in (90, 110):
    path = f"{folder}/{rows}.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["receipt", "product"])
        for row in range(1, rows + 1):
            sheet.write_row(row, 0, [row, 100 + row])
        sheet.write_row(rows + 1, 0, [rows + 1, "A12"])
    last = pl.read_excel(path)["product"]
    seen[rows] = (str(last.dtype), last[-1])
    print(f"A12 after {rows} rows of numbers: {seen[rows]}")
whole = pl.read_excel(path, infer_schema_length=None)["product"][-1]
try:
    pl.read_csv(b"product\n" + b"7\n" * 110 + b"A12\n")
    outcome = "read"
except pl.exceptions.ComputeError:
    outcome = "error"
print(f"with infer_schema_length=None: {whole}; read_csv of such a column: {outcome}")
sys.exit(0 if seen == {90: ("String", "A12"), 110: ("Int64", None)} and (whole, outcome) == ("A12", "error") else 1)
PYTHON
