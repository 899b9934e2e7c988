#!/usr/bin/env bash
# pandas 3.1.1 and XlsxWriter 3.3.1: to_excel with constant_memory writes a workbook with most cells empty.
#
# Expected: the option saves memory for a large table, as XlsxWriter describes it, and the workbook is the same; or
# writing fails.
# Seen: there is no error and no warning. pandas writes a frame column by column. With constant_memory XlsxWriter keeps
# only the current row (documented) and drops a cell of an earlier one. So the first column, the header and the last row
# arrive, and all else is empty: of three receipts one keeps its item. Write the rows with XlsxWriter itself, or leave
# the option out.
#
# Prints what was seen; exits with 1 if that changes. Installs pinned public packages into a temporary folder.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet --disable-pip-version-check install pandas==3.1.1 xlsxwriter==3.3.1 openpyxl==3.1.5 2> "$folder/pip.log" || {
    cat "$folder/pip.log" >&2
    exit 2
}
export FOLDER="$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import os
import sys

import openpyxl
import pandas as pd

path = os.environ["FOLDER"] + "/sales.xlsx"
frame = pd.DataFrame({"receipt": [1, 2, 3], "item": ["tea", "milk", "rye"], "quantity": [1, 1, 2]})
with pd.ExcelWriter(path, engine="xlsxwriter", engine_kwargs={"options": {"constant_memory": True}}) as writer:
    frame.to_excel(writer, index=False)
seen = list(openpyxl.load_workbook(path).active.values)
print("written:", frame.values.tolist())
print("read:   ", [list(row) for row in seen[1:]])
sys.exit(0 if seen[1:] == [(1, None, None), (2, None, None), (3, "rye", 2)] else 1)
PYTHON
