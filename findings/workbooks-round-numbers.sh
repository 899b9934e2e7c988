#!/usr/bin/env bash
# openpyxl 3.1.5, XlsxWriter 3.3.1 and LibreOffice 7.4.7 and 26.8.2: a number is not the same after it was written to a
# workbook.
#
# Expected: a cell of .xlsx is an IEEE 754 double, written as Python's repr, or with the 17 digits that always give the
# same double when read. That a spreadsheet shows 15 digits concerns what is shown and what is typed in.
# Seen: openpyxl and XlsxWriter, and so pandas and polars, write 16 digits: 0.1 + 0.2 is read as 0.3, and two receipts
# numbered by date and time, 20260101000123456 and 20260101000123464, are one. LibreOffice writes 15 when it saves a
# workbook that was only opened: 1 / 3 is another number then. Store numbers of receipts and people as text.
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
"$folder/venv/bin/pip" --quiet --disable-pip-version-check install xlsxwriter==3.3.1 openpyxl==3.1.5 2> "$folder/pip.log" || {
    cat "$folder/pip.log" >&2
    exit 2
}
export FOLDER="$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import os
import pathlib
import subprocess
import sys

import openpyxl
import xlsxwriter

folder = pathlib.Path(os.environ["FOLDER"])
numbers = (0.1 + 0.2, 1 / 3, 20260101000123456, 20260101000123464)
with xlsxwriter.Workbook(folder / "xlsxwriter.xlsx") as book:
    book.add_worksheet().write_row(0, 0, numbers)
book = openpyxl.Workbook()
book.active.append(numbers)
book.save(folder / "openpyxl.xlsx")
command = ["soffice", f"-env:UserInstallation=file://{folder}/profile", "--headless", "--convert-to", "xlsx"]
subprocess.run([*command, "--outdir", folder / "saved", folder / "openpyxl.xlsx"], capture_output=True, check=True)
kept, one = {}, {}
for name in ("openpyxl", "xlsxwriter", "saved/openpyxl"):
    read = next(openpyxl.load_workbook(folder / f"{name}.xlsx").active.values)
    kept[name], one[name] = [wrote == back for wrote, back in zip(numbers, read)], read[2] == read[3]
    print(f"{name}.xlsx: {read}, equal: {kept[name]}, receipts are one: {one[name]}")
print("expected all equal; saved/ is what LibreOffice made of openpyxl.xlsx")
wrote = [False, True, False, False]
wanted = {"openpyxl": wrote, "xlsxwriter": wrote, "saved/openpyxl": [False] * 4}
sys.exit(0 if kept == wanted and all(one.values()) else 1)
PYTHON
