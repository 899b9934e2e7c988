#!/usr/bin/env bash
# pyfpgrowth 1.0: of the rules with one antecedent only the last one found is kept.
#
# Expected: generate_association_rules(patterns, confidence) gives each rule of at least that confidence.
# Seen: the result is a dictionary from the antecedent to one pair (consequent, confidence). Bread with milk and bread
# with tea both have confidence 0.5 and bread is a key once, so one of the two rules is lost.
#
# Prints what was seen; exits with 1 if that changes. Installs pinned public packages into a temporary folder.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet --disable-pip-version-check install pyfpgrowth==1.0 2> "$folder/pip.log" || {
    cat "$folder/pip.log" >&2
    exit 2
}
"$folder/venv/bin/python" - <<'PYTHON'
import sys

import pyfpgrowth

pairs = {("bread",): 4, ("milk",): 2, ("tea",): 2, ("bread", "milk"): 2, ("bread", "tea"): 2}
rules = pyfpgrowth.generate_association_rules(pairs, 0.5)
of_bread = [consequent for antecedent, (consequent, _) in rules.items() if antecedent == ("bread",)]
print("pyfpgrowth 1.0: expected bread -> milk and bread -> tea, each with confidence 0.5; seen bread ->", of_bread)
sys.exit(0 if len(of_bread) == 1 else 1)
PYTHON
