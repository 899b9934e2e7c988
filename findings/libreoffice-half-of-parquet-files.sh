#!/usr/bin/env bash
# LibreOffice 26.8.2: half of all Parquet files cannot be loaded.
#
# Expected: the new import filter for Parquet (orcus 0.21 with Arrow) opens each small file of text, or none.
# Seen: of 24 files that differ in the length of a column's name 12 open, and 12 "could not be loaded". A Parquet file
# ends with the length of its footer, in four bytes; the 12 are those whose lowest byte is 128 or more. Of files of one
# program with the same types of columns some open and some do not: a name that is one letter longer decides. pandas,
# polars, DuckDB and Spark read all of them. Rename a column, or write CSV, where LibreOffice refuses.
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
import os
import pathlib
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq

folder = pathlib.Path(os.environ["FOLDER"])
command = ["soffice", f"-env:UserInstallation=file://{folder}/profile", "--headless", "--convert-to", "csv"]
lowest = {}
for length in range(24):
    path = folder / f"t{length:02d}.parquet"
    pq.write_table(pa.table({"item" + "x" * 4 * length: ["tea", "milk"]}), path, store_schema=False)
    lowest[path.stem] = path.read_bytes()[-8]
    subprocess.run([*command, "--outdir", folder / "out", path], capture_output=True, check=False)
opened = {name for name in lowest if (folder / "out" / f"{name}.csv").exists()}
print(f"LibreOffice opened {len(opened)} of {len(lowest)} files; expected all")
for name, byte in lowest.items():
    print(f"lowest byte of the footer's length {byte:3d}: {'opened' if name in opened else 'could not be loaded'}")
sys.exit(0 if opened == {name for name, byte in lowest.items() if byte < 128} != set(lowest) else 1)
PYTHON
