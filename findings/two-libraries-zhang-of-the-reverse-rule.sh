#!/usr/bin/env bash
# interest-measures 0.0.2 and miar 0.1.1: Zhang's metric of A -> B is mlxtend's of B -> A, and leverage has another
# formula.
#
# Expected: one name is one measure: Zhang's metric of A -> B is (P(AB) - P(A)P(B)) / max(P(AB)(1 - P(A)), P(A)(P(B) -
# P(AB))), as in mlxtend, and leverage is P(AB) - P(A)P(B) (Piatetsky-Shapiro).
# Seen: both follow the survey of Geng and Hamilton (ACM Computing Surveys 38(3), 2006): P(B) takes the place of P(A) in
# the denominator, and interest-measures' leverage is P(B|A) - P(A)P(B), while its piatetsky_shapiro is the difference
# above. A -> B with P(A) = 0.6, P(B) = 0.4, P(AB) = 0.3: 0.50 by mlxtend, 0.33 by both others, which is mlxtend's value
# of B -> A.
#
# Prints what was seen; exits with 1 if that changes. Installs pinned public packages into a temporary folder.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet --disable-pip-version-check install mlxtend==0.25.0 pandas==3.1.1 miar==0.1.1 2> "$folder/pip.log" || {
    cat "$folder/pip.log" >&2
    exit 2
}
# asks for numpy below 2, which mlxtend does not take; these formulas need nothing of either
"$folder/venv/bin/pip" --quiet --disable-pip-version-check install --no-deps interest-measures==0.0.2 2> "$folder/pip.log" || {
    cat "$folder/pip.log" >&2
    exit 2
}
"$folder/venv/bin/python" - <<'PYTHON'
import math
import sys

import pandas as pd
from interest_measures import InterestMeasures
from miar.measures import zhang
from mlxtend.frequent_patterns import association_rules

a, b = frozenset("a"), frozenset("b")
table = pd.DataFrame({"support": [0.6, 0.4, 0.3], "itemsets": [a, b, a | b]})
rules = association_rules(table, min_threshold=0.0).set_index("antecedents")
measures = InterestMeasures([0.6], [0.4], [0.3], 10)
ours, reverse = rules.loc[[a], "zhangs_metric"].iloc[0], rules.loc[[b], "zhangs_metric"].iloc[0]
others = [float(measures.zhang[0]), zhang([3, 3, 1, 3])]
leverage = [rules.loc[[a], "leverage"].iloc[0], float(measures.leverage[0])]
print(f"Zhang's metric of a -> b: mlxtend {ours:.3f}, interest-measures {others[0]:.3f}, miar {others[1]:.3f}; of b -> a, mlxtend {reverse:.3f}")
print(f"leverage of a -> b: mlxtend {leverage[0]:.3f}, interest-measures {leverage[1]:.3f}; expected equal values")
same = all(math.isclose(value, reverse) for value in others)
sys.exit(0 if same and not math.isclose(ours, reverse) and math.isclose(leverage[1], 0.26) else 1)
PYTHON
