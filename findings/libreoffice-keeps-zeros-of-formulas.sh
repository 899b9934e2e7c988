#!/usr/bin/env bash
# LibreOffice 7.4.7 and 26.8.2 with XlsxWriter 3.3.1: formulas are computed on loading if openpyxl wrote them, and stay
# 0 if XlsxWriter did.
#
# Expected: both libraries write formulas without computing them, so a spreadsheet program computes both when it loads
# the workbook, and a workbook that was saved again holds the values.
# Seen: XlsxWriter stores 0 as the result of each formula, and LibreOffice by default trusts a stored result and does
# not compute (XlsxWriter's documentation says so). The saved copy holds 0, now as if it had been computed, and a CSV as
# well. A formula that makes text is the number 0. openpyxl stores no result, and LibreOffice computes. Recalculate with
# Ctrl+Shift+F9 before saving, or pass value= to write_formula.
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
with xlsxwriter.Workbook(folder / "xlsxwriter.xlsx") as book:
    book.add_worksheet().write_row(0, 0, [21, "=A1*2", '=A1&" tea"'])
book = openpyxl.Workbook()
book.active.append([21, "=A1*2", '=A1&" tea"'])
book.save(folder / "openpyxl.xlsx")
seen = {}
for name in ("xlsxwriter", "openpyxl"):
    command = ["soffice", f"-env:UserInstallation=file://{folder}/profile", "--headless", "--convert-to", "xlsx"]
    path = folder / f"{name}.xlsx"
    subprocess.run([*command, "--outdir", folder / "out", path], capture_output=True, check=True)
    saved = openpyxl.load_workbook(folder / "out" / path.name, data_only=True)
    seen[name] = next(saved.active.values)
    print(f"written by {name}, saved by LibreOffice: {seen[name]}")
print("expected (21, 42, '21 tea') from both")
sys.exit(0 if seen == {"xlsxwriter": (21, 0, 0), "openpyxl": (21, 42, "21 tea")} else 1)
PYTHON
