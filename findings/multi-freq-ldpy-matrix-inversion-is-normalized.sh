#!/usr/bin/env bash
# multi-freq-ldpy 0.2.5: estimates by matrix inversion are not unbiased.
#
# Expected: GRR_Aggregator_MI estimates frequencies by matrix inversion, (share of reports - q) / (p - q), which is
# unbiased (Kairouz, Bonawitz and Ramage, ICML 2016), sums to 1 for this protocol, and may be negative.
# Seen: negative estimates become 0 and the rest is divided by its sum. Of 100 reports on three values at epsilon = 1,
# 60, 38 and 2 of each, the last value has an inverse below 0, and the function gives 0. With many rare items most
# negative errors are cut and the frequent items shrink: averages over repetitions are biased. Compare it with other
# estimators only after the same step.
#
# Prints what was seen; exits with 1 if that changes. Installs pinned public packages into a temporary folder.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet --disable-pip-version-check install multi-freq-ldpy==0.2.5 xxhash==3.5.0 2> "$folder/pip.log" || {
    cat "$folder/pip.log" >&2
    exit 2
}
"$folder/venv/bin/python" - <<'PYTHON'
import math
import sys

from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI

counts, values, epsilon = (60, 38, 2), 3, 1.0
reports = [value for value, count in enumerate(counts) for _ in range(count)]
kept = math.exp(epsilon) / (math.exp(epsilon) + values - 1)
other = (1 - kept) / (values - 1)
inverse = [(count / len(reports) - other) / (kept - other) for count in counts]
seen = [float(share) for share in GRR_Aggregator_MI(reports, values, epsilon)]
print("multi-freq-ldpy 0.2.5: expected", [round(share, 3) for share in inverse], "; seen", [round(share, 3) for share in seen])
positive = [max(share, 0.0) for share in inverse]
cut = [share / sum(positive) for share in positive]
sys.exit(0 if min(inverse) < 0 and all(map(math.isclose, seen, cut)) else 1)
PYTHON
