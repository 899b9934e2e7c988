#!/usr/bin/env bash
# LibreOffice 26.8.2: a Parquet table with a column of lists ends at the first list, without a message.
#
# Expected: a column of a type that a sheet cannot hold, such as a list of names, becomes text or an empty column, or
# the file is refused. The other columns are read.
# Seen: the list's header is "element", the name of a node inside Parquet's encoding of lists. Of three rows the cells
# before the first list are read, and nothing behind it: no further column, no further row. A table of itemsets opened
# so looks like one result without items. Columns of dates, of decimal numbers and of integers other than signed ones of
# 32 or 64 bits are empty, and their neighbours whole. Join names to one text before writing a Parquet file for
# LibreOffice, or write CSV.
#
# Prints what was seen; exits with 1 if that changes. Installs pinned public packages into a temporary folder.
set -euo pipefail
soffice --headless --version 2> /dev/null | grep -q "LibreOffice 26.8" || {
    echo "needs LibreOffice 26.8, such as libreoffice-calc-nogui of Debian sid" >&2
    exit 2
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet --disable-pip-version-check install pyarrow==26.0.1 2> "$folder/pip.log" || {
    cat "$folder/pip.log" >&2
    exit 2
}
export FOLDER="$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import datetime
import os
import pathlib
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq

folder = pathlib.Path(os.environ["FOLDER"])
command = ["soffice", f"-env:UserInstallation=file://{folder}/profile", "--headless", "--convert-to", "csv"]
columns = {
    "text": pa.array(["bread", "bread|milk", "tea"]),
    "list": pa.array([["bread"], ["bread", "milk"], ["tea"]]),
    "date": pa.array([datetime.date(2026, 3, 1)] * 3),
    "unsigned": pa.array([7, 5, 3], pa.uint64()),
}
seen = {}
for name, column in columns.items():
    path = folder / f"{name}.parquet"
    for letters in range(0, 200, 8):  # LibreOffice opens half of all files: see libreoffice-half-of-parquet-files.sh
        table = pa.table({"support" + "x" * letters: [0.7, 0.5, 0.3], "value": column, "n": [1, 2, 3]})
        pq.write_table(table, path, store_schema=False)
        if path.read_bytes()[-8] < 128:
            break
    subprocess.run([*command, "--outdir", folder / "out", path], capture_output=True, check=False)
    seen[name] = (folder / "out" / f"{name}.csv").read_text().replace("x", "").split()
    print(f"second column a {name}: {seen[name]}")
print("expected three rows of each")
empty = ["support,value,n", "0.7,,1", "0.5,,2", "0.3,,3"]
wanted = {"list": ["support,element,n", "0.7,,"], "date": empty, "unsigned": empty}
sys.exit(0 if seen.items() >= wanted.items() and seen["text"][3] == "0.3,tea,3" else 1)
PYTHON
