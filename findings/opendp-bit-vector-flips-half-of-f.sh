#!/usr/bin/env bash
# OpenDP 0.16.0: randomized response on bit vectors flips a bit with probability f / 2.
#
# Expected: make_randomized_response_bitvec(f=...) takes a "per-bit flipping probability", so that with f = 0.5 the
# output is a fair coin in each bit and tells nothing: epsilon is 0, and no estimate is possible.
# Seen: f is RAPPOR's: with probability f the bit is replaced by a fair coin, so it is flipped with probability f / 2.
# With f = 0.5 a bit flips in a quarter of cases, and the privacy map says 2 ln 3 for one bit set. The map fits what is
# done; an estimator that inverts with f in place of f / 2 is wrong.
#
# Prints what was seen; exits with 1 if that changes. Installs pinned public packages into a temporary folder.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet --disable-pip-version-check install opendp==0.16.0 2> "$folder/pip.log" || {
    cat "$folder/pip.log" >&2
    exit 2
}
"$folder/venv/bin/python" - <<'PYTHON'
import math
import sys

import opendp.prelude as dp

dp.enable_features("contrib")
flip = dp.m.make_randomized_response_bitvec(dp.bitvector_domain(max_weight=1), dp.discrete_distance(), f=0.5)
bits, loss = 80_000, flip.map(1)
flipped = sum(byte.bit_count() for byte in flip(bytes(bits // 8))) / bits
print(f"opendp 0.16.0, f = 0.5: expected a share of flipped bits of 0.5 and epsilon 0; seen {flipped:.3f} and {loss:.3f}")
# standard error 0.0015
sys.exit(0 if abs(flipped - 0.25) < 0.01 and math.isclose(loss, 2 * math.log(3)) else 1)
PYTHON
