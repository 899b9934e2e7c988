#!/usr/bin/env bash
# pyfim 6.28: by default, the minimum support of a rule is the minimum support of its antecedent.
#
# Expected: supp is the minimum support of a rule, and the support of a rule is that of all its items, as in mlxtend,
# arules, Spark and efficient-apriori. With supp=50 no rule is listed whose items are together in fewer than half of the
# baskets.
# Seen: arules(supp=50) lists b -> a and a -> b, which are in 3 of 10 baskets; the value under 's' is 0.3. The
# antecedents are in 5 and 6 baskets. mode='o' ("original rule support definition") gives what the other libraries do. A
# comparison of rules of two miners needs it.
#
# Prints what was seen; exits with 1 if that changes. Installs pinned public packages into a temporary folder.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet --disable-pip-version-check install pyfim==6.28 2> "$folder/pip.log" || {
    cat "$folder/pip.log" >&2
    exit 2
}
"$folder/venv/bin/python" - <<'PYTHON'
import sys

import fim

baskets = [["a", "b"]] * 3 + [["a"]] * 3 + [["b"]] * 2 + [["c"]] * 2


def listed(mode):
    rows = fim.arules(baskets, supp=50, conf=10, zmin=2, report="s", mode=mode)
    return sorted((" ".join(body), head, share) for head, body, share in rows)


print("pyfim 6.28, baskets of both a and b: 3 of 10; minimum support 50%")
print("expected: no rule")
print("seen by default:", listed(""))
print("seen with mode='o':", listed("o"))
sys.exit(0 if listed("") == [("a", "b", 0.3), ("b", "a", 0.3)] and not listed("o") else 1)
PYTHON
