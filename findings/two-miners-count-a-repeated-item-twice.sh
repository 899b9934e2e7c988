#!/usr/bin/env bash
# PAMI 2026.10.13.1 and node-fpgrowth 1.2.1: an item that is twice in a basket makes itemsets {a, a} and wrong counts.
#
# Expected: a basket is a set: pyfim, rusket, arules, efficient-apriori, apyori, Orange and mlxtend's encoder count a
# repeated item once, and Spark refuses the basket. Receipts and click streams repeat items; the public file kosarak
# does.
# Seen: of the baskets (a, a, b) and (b), both report {a, a} and {a, a, b}, and count a, and a with b, in 2 baskets,
# though one has them. Remove repeated items first.
#
# Prints what was seen; exits with 1 if that changes. Installs pinned public packages into a temporary folder.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet --disable-pip-version-check install --no-deps \
    pami==2026.10.13.1 pandas==2.3.3 numpy==2.3.5 python-dateutil==4.0.0 pytz==2026.6 six==1.17.0 tzdata==2026.6 \
    deprecated==1.3.1 wrapt==2.5.2 psutil==7.2.2 validators==0.36.0 2> "$folder/pip.log" || {
    cat "$folder/pip.log" >&2
    exit 2
}
npm install --silent --no-audit --no-fund --prefix "$folder" node-fpgrowth@1.2.1 > "$folder/npm.log" 2>&1 || {
    cat "$folder/npm.log" >&2
    exit 2
}
export FOLDER="$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys

from PAMI.frequentPattern.basic.FPGrowth import FPGrowth

folder = pathlib.Path(os.environ["FOLDER"])
file = folder / "baskets.txt"
file.write_text("a\ta\tb\nb\n")
with contextlib.redirect_stdout(io.StringIO()):
    miner = FPGrowth(str(file), 1, "\t")
    miner.mine()
pami = {"".join(sorted(items)): count for items, count in miner.getPatterns().items()}
program = """
const { FPGrowth } = require("node-fpgrowth");
new FPGrowth(0.5).exec([["a", "a", "b"], ["b"]]).then((found) => console.log(JSON.stringify(found.itemsets ?? found)));
"""
shown = subprocess.run(["node", "-e", program], cwd=folder, capture_output=True, text=True, check=True).stdout
node = {"".join(sorted(each["items"])): each["support"] for each in json.loads(shown)}
print("baskets (a, a, b) and (b): expected {'a': 1, 'b': 2, 'ab': 1}")
print("PAMI", pami)
print("node-fpgrowth", node)
sys.exit(0 if pami == node == {"a": 2, "aa": 1, "b": 2, "ab": 2, "aab": 1} else 1)
PYTHON
