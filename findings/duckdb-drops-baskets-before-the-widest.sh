#!/usr/bin/env bash
# DuckDB 2.0.1: of a file with a basket per line, read_csv drops the baskets before the widest ones.
#
# Expected: lines of different numbers of items are padded with null, read as one column of text, or refused, since
# strict mode is the default.
# Seen: of seven baskets two are read with header=false, and one without it. The sniffer takes the widest lines for the
# table and the shorter ones at the beginning for notes to skip; if shorter lines come later, too, the whole file is one
# column. Neither gives an error. With null_padding=true and header=false all seven baskets are read.
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
export FOLDER="$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import os
import sys

import duckdb

path = os.environ["FOLDER"] + "/baskets.csv"
baskets = ["bread,milk"] * 3 + ["tea"] * 2 + ["bread,tea,milk"] * 2
with open(path, "w") as file:
    file.write("\n".join(baskets) + "\n")
seen = {}
for options in ("", ", header=false", ", header=false, null_padding=true"):
    seen[options] = duckdb.sql(f"select count(*) from read_csv('{path}'{options})").fetchall()[0][0]
    print(f"read_csv('baskets.csv'{options}): {seen[options]} of {len(baskets)} baskets")
sys.exit(0 if list(seen.values()) == [1, 2, 7] else 1)
PYTHON
