#!/usr/bin/env bash
# diffprivlib 0.6.6: noisy counts are cut at 0 and therefore too high where the true count is small.
#
# Expected: count_nonzero and histogram add noise of mean 0 to integers, as Count of Google's library does (python-dp
# gives negative counts), so that a mean over cells or days is right.
# Seen: both draw from GeometricTruncated with the lower end 0. At epsilon = 0.5 a count of 0 is 0.94 on average.
# Itemsets and products are mostly rare, so their sum comes out too high by nearly one basket a cell. The mechanism
# diffprivlib.mechanisms.Geometric adds the noise alone.
#
# Prints what was seen; exits with 1 if that changes. Installs pinned public packages into a temporary folder.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet --disable-pip-version-check install diffprivlib==0.6.6 scikit-learn==1.5.2 numpy==2.4.6 2> "$folder/pip.log" || {
    cat "$folder/pip.log" >&2
    exit 2
}
"$folder/venv/bin/python" - <<'PYTHON'
import math
import sys

import numpy as np
from diffprivlib import mechanisms, tools

runs, epsilon = 4000, 0.5
counts = np.array([tools.count_nonzero(np.zeros(20), epsilon=epsilon) for _ in range(runs)])
cells = np.array([tools.histogram([0.5] * 20, epsilon=epsilon, bins=4, range=(0, 4))[0][1:] for _ in range(runs)])
plain = mechanisms.Geometric(epsilon=epsilon, sensitivity=1)
uncut = np.array([plain.randomise(0) for _ in range(runs)])
ratio = math.exp(-epsilon)
mean = ratio / (1 - ratio**2)  # of the positive part of two-sided geometric noise
print(f"diffprivlib 0.6.6, true count 0, epsilon {epsilon}, {runs} runs: expected mean 0; seen")
print(f"count_nonzero {counts.mean():.2f}, histogram {cells.mean():.2f} (positive part of the noise: {mean:.2f}), Geometric {uncut.mean():.2f}")
cut = min(counts.min(), cells.min()) == 0
# standard errors: below 0.03 of the first two, 0.05 of the last
sys.exit(0 if cut and abs(counts.mean() - mean) < 0.2 and abs(cells.mean() - mean) < 0.2 and uncut.min() < 0 and abs(uncut.mean()) < 0.3 else 1)
PYTHON
