#!/usr/bin/env bash
# pyarrow 26.0.1: a set of strings is a list of strings, a frozenset is an error, even if the type is given.
#
# Expected: set and frozenset are treated alike: the two differ in that one can be changed.
# Seen: pyarrow.array([{'a'}]) is a list<string>; of [frozenset({'a'})] it cannot infer a type, and with type
# list<string> it finds that the value is no sequence. So itemsets of mlxtend, whose column holds frozensets, cannot be
# written to Parquet by pandas or converted by polars.from_pandas. Map them to sorted lists before.
#
# Prints what was seen; exits with 1 if that changes. Installs pinned public packages into a temporary folder.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet --disable-pip-version-check install pyarrow==26.0.1 2> "$folder/pip.log" || {
    cat "$folder/pip.log" >&2
    exit 2
}
"$folder/venv/bin/python" - <<'PYTHON'
import sys

import pyarrow as pa

strings = pa.list_(pa.string())
seen = []
for value in ({"a"}, frozenset({"a"})):
    for kind in (None, strings):
        try:
            outcome = str(pa.array([value], kind).type)
        except pa.ArrowException as error:
            outcome = type(error).__name__
        seen.append(outcome)
        print(f"pyarrow {pa.__version__}: {type(value).__name__}, type given: {kind is not None}: {outcome}")
print("expected the same for set and frozenset")
sys.exit(0 if seen == ["list<item: string>", "list<item: string>", "ArrowInvalid", "ArrowTypeError"] else 1)
PYTHON
