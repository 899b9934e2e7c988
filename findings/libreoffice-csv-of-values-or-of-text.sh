#!/usr/bin/env bash
# LibreOffice 7.4.7 and 26.8.2: which numbers soffice --convert-to csv writes depends on whether options are named.
#
# Expected: cells are written as shown, which is the default of the eighth option of the CSV filter ("Export cell
# contents as shown") and of the dialog; naming the separator, the quotes and the character set with their usual values
# changes nothing.
# Seen: without options, numbers are written in full, dates in the locale's order (03/01/2026 for a cell that shows
# 01.03.26), shares with a percent sign and more digits than shown. With :44,34,76 the same workbook gives what each
# cell shows: 3.14 for 3.14159, 7% for 7.1%, "1,234,567" for 1234567, and nothing for a cell whose format hides it.
# Counts become text and quantities vanish. Read the .xlsx itself, or convert without options and give dates the format
# of ISO 8601.
#
# Prints what was seen; exits with 1 if that changes. Installs pinned public packages into a temporary folder, and Debian's
# LibreOffice where there is none.
set -euo pipefail
command -v soffice > /dev/null || apt-get install -y -qq --no-install-recommends libreoffice-calc-nogui > /dev/null || {
    echo "needs LibreOffice, such as Debian's libreoffice-calc-nogui" >&2
    exit 2
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet --disable-pip-version-check install xlsxwriter==3.3.1 2> "$folder/pip.log" || {
    cat "$folder/pip.log" >&2
    exit 2
}
export FOLDER="$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import csv
import datetime
import os
import pathlib
import subprocess
import sys

import xlsxwriter

folder = pathlib.Path(os.environ["FOLDER"])
with xlsxwriter.Workbook(folder / "sales.xlsx") as book:
    sheet = book.add_worksheet()
    formats = {"price": "0.00", "share": "0%", "count": "#,##0", "hidden": ";;;", "day": "dd.mm.yy"}
    values = [3.14159, 0.071, 1234567, 2, datetime.date(2026, 3, 1)]
    for column, ((name, text), value) in enumerate(zip(formats.items(), values)):
        sheet.write(0, column, name)
        shown = book.add_format({"num_format": text})
        write = sheet.write_datetime if name == "day" else sheet.write_number
        write(1, column, value, shown)
seen = {}
for options in ("csv", "csv:Text - txt - csv (StarCalc):44,34,76"):
    command = ["soffice", f"-env:UserInstallation=file://{folder}/profile", "--headless", "--convert-to", options]
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    subprocess.run(
        [*command, "--outdir", folder / "out", folder / "sales.xlsx"], capture_output=True, check=True, env=environment
    )
    with open(folder / "out" / "sales.csv", newline="") as file:
        seen[options] = list(csv.reader(file))[1]
    print(f"--convert-to {options!r}: {seen[options]}")
print("expected the same from both")
plain, named = seen.values()
sys.exit(
    0 if plain[:4] == ["3.14159", "7.1%", "1234567", "2"] and named == ["3.14", "7%", "1,234,567", "", "01.03.26"] else 1
)
PYTHON
