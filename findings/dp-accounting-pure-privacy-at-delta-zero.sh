#!/usr/bin/env bash
# dp_accounting 0.6.0: at delta = 0 the accountants give epsilon = infinity for a mechanism of pure differential
# privacy.
#
# Expected: Laplace noise of scale 2 on a sensitivity of 1 is 0.5-differentially private, with delta = 0. An accountant
# says 0.5, up to its rounding, as autodp's does; to calibrate noise for epsilon = 1 and delta = 0 gives scale 1.
# Seen: the accountants of privacy loss distributions and of Renyi divergence both say infinity at delta = 0 and 0.5 at
# delta = 1e-9. Calibration for delta = 0 does not fail: it returns a noise of 20.04 for epsilon = 0.5 as for epsilon =
# 1, ten and twenty times too much. The result is private, but useless: pass a tiny delta in place of 0.
#
# Prints what was seen; exits with 1 if that changes. Installs pinned public packages into a temporary folder.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet --disable-pip-version-check install dp-accounting==0.6.0 2> "$folder/pip.log" || {
    cat "$folder/pip.log" >&2
    exit 2
}
"$folder/venv/bin/python" - <<'PYTHON'
import math
import sys

import dp_accounting
from dp_accounting import pld, rdp

laplace = dp_accounting.LaplaceDpEvent


def epsilon(accountant, delta):
    return float(accountant().compose(laplace(2.0)).get_epsilon(delta))


def calibrated(target, delta):
    return float(dp_accounting.calibrate_dp_mechanism(pld.PLDAccountant, laplace, target, delta))


at_zero = [epsilon(accountant, 0.0) for accountant in (pld.PLDAccountant, rdp.RdpAccountant)]
nearly = epsilon(pld.PLDAccountant, 1e-9)
noise = [round(calibrated(target, 0.0), 2) for target in (0.5, 1.0)]
print(f"dp_accounting 0.6.0, Laplace noise of scale 2: expected epsilon 0.5; seen {at_zero}, at delta 1e-9 {nearly:.4f}")
print(f"noise for epsilon 0.5 and 1, delta 0: expected 2 and 1; seen {noise}; at delta 1e-9 {calibrated(1.0, 1e-9):.2f}")
sys.exit(0 if at_zero == [math.inf, math.inf] and abs(nearly - 0.5) < 1e-3 and noise == [20.04, 20.04] else 1)
PYTHON
