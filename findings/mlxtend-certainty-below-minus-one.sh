#!/usr/bin/env bash
# mlxtend 0.25.0: the measure "certainty" of association_rules has no lower bound.
#
# Expected: the certainty factor of a rule (Berzal, Blanco, Sanchez, Vila, Intelligent Data Analysis 6(3), 2002) lies in
# [-1, 1]: where the confidence is below the support of the consequent, the difference is divided by that support.
# Seen: mlxtend divides by 1 - support of the consequent in both cases. Ten baskets, bread in nine, tea in two, both in
# one: tea -> bread has confidence 0.5 and certainty -4, where the certainty factor is -0.44. The least possible value
# depends on the consequent: with one in 99.9% of baskets it is -999.
#
# Prints what was seen; exits with 1 if that changes. Installs pinned public packages into a temporary folder.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet --disable-pip-version-check install --no-deps \
    mlxtend==0.25.0 joblib==1.6.0 cloudpickle==3.1.3 pandas==3.1.1 numpy==2.4.6 python-dateutil==4.0.0 six==1.17.0 2> "$folder/pip.log" || {
    cat "$folder/pip.log" >&2
    exit 2
}
"$folder/venv/bin/python" - <<'PYTHON'
import sys

import mlxtend
import pandas as pd
from mlxtend.frequent_patterns import association_rules

bread, tea = frozenset({"bread"}), frozenset({"tea"})
itemsets = pd.DataFrame({"support": [0.9, 0.2, 0.1], "itemsets": [bread, tea, bread | tea]})
rules = association_rules(itemsets, metric="confidence", min_threshold=0.0)
row = rules[rules["antecedents"] == tea].iloc[0]
factor = (row["confidence"] - 0.9) / 0.9
print(f"mlxtend {mlxtend.__version__}: tea -> bread, confidence {row['confidence']:.2f}, support of bread 0.90")
print(f"expected certainty factor {factor:.2f}, in [-1, 1]; seen {row['certainty']:.2f}")
sys.exit(0 if abs(row["certainty"] + 4) < 1e-9 else 1)
PYTHON
