#!/usr/bin/env bash
# PySpark 4.3.0: after setMinConfidence, a model's rules are the old ones until transform is called.
#
# Expected: FPGrowthModel.setMinConfidence changes what the model's associationRules lists and what transform predicts,
# both at once, since both come from one set of rules.
# Seen: associationRules is read from the Java model, which gets parameters of Python's only when transform runs. The
# same property lists 4 rules after setMinConfidence(0.7) and 2 after a call of transform, whose result is not even
# used.
#
# Prints what was seen; exits with 1 if that changes. Installs pinned public packages into a temporary folder.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet --disable-pip-version-check install pyspark==4.3.0 numpy==2.4.6 2> "$folder/pip.log" || {
    cat "$folder/pip.log" >&2
    exit 2
}
command -v java > /dev/null || {
    echo "needs Java 17 or later" >&2
    exit 2
}
"$folder/venv/bin/python" - <<'PYTHON'
import os
import sys

os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.ml.fpm import FPGrowth
from pyspark.sql import SparkSession

settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2", "spark.ui.showConsoleProgress": "false"}
spark = SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
spark.sparkContext.setLogLevel("OFF")
baskets = spark.createDataFrame([(["a", "b"],), (["a", "b"],), (["a"],), (["a", "c"],)], "items array<string>")
model = FPGrowth(minSupport=0.25, minConfidence=0.0).fit(baskets)
counts = [model.associationRules.count()]
model.setMinConfidence(0.7)
counts.append(model.associationRules.count())
model.transform(baskets)
counts.append(model.associationRules.count())
print("PySpark 4.3.0, rules at confidence 0, after setMinConfidence(0.7), after transform:", counts)
print("expected the second equal to the third")
spark.stop()
sys.exit(0 if counts[0] == counts[1] > counts[2] else 1)
PYTHON
