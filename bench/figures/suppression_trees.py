"""Error of decision trees on a table of categories: scikit-learn's by entropy, and C4.5 as Weka has it (J48).

J48 runs with Weka's defaults, which are C4.5's: at least two records in a leaf, pruning with a confidence of 25%.
scikit-learn has no multiway splits and no such pruning. With at least 20 records per leaf its base errors are those of
C4.5 on both tables.
"""

import subprocess
import tempfile
from pathlib import Path

import pandas as pd
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from bench.figures.suppression_tables import CLASS, Split

MIN_LEAF = 20
WEKA = Path("/usr/share/java/weka.jar")  # where Debian's package has it
ENTROPY, J48 = "entropy tree", "J48"


def errors(split: Split) -> dict[str, float]:
    """Return the error on the test records in percent, by classifier; J48's where Weka is installed."""
    found = {ENTROPY: entropy_error(split)}
    return found | {J48: j48_error(split)} if WEKA.is_file() else found


def entropy_error(split: Split) -> float:
    """Return the error of scikit-learn's tree, with one feature for each value of a column."""
    names = [name for name in split.train.columns if name != CLASS]
    code = OneHotEncoder(handle_unknown="ignore").fit(split.both[names])
    tree = DecisionTreeClassifier(criterion="entropy", min_samples_leaf=MIN_LEAF, random_state=0)
    tree.fit(code.transform(split.train[names]), split.train[CLASS])
    return 100 * (1 - float(tree.score(code.transform(split.test[names]), split.test[CLASS])))


def j48_error(split: Split) -> float:
    """Return the error of Weka's C4.5."""
    both = split.both
    heading = [
        f"@attribute '{name}' {{{','.join(map(_quoted, sorted(both[name].unique())))}}}" for name in both.columns
    ]
    with tempfile.TemporaryDirectory(prefix="assocpriv-bench-") as folder:
        files = [Path(folder) / "train.arff", Path(folder) / "test.arff"]
        for path, part in zip(files, (split.train, split.test), strict=True):
            rows = [",".join(map(_quoted, row)) for row in part.itertuples(index=False)]
            path.write_text("\n".join(["@relation table", *heading, "@data", *rows, ""]), encoding="utf-8")
        command = ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", str(WEKA)]
        command += ["weka.classifiers.trees.J48", "-o", "-t", str(files[0]), "-T", str(files[1])]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = done.stdout.split("Error on test data")[1].splitlines()
    return float(next(line for line in lines if line.startswith("Incorrectly")).split()[-2])


def _quoted(value: object) -> str:
    text = str(value).replace("'", "\\'")
    return f"'{text}'"


def without(split: Split, names: list[str]) -> Split:
    """Return a table without some columns."""
    return Split(split.train.drop(columns=names), split.test.drop(columns=names))


def resplit(table: pd.DataFrame, split: Split) -> Split:
    """Return a released table split where the original was."""
    cut = len(split.train)
    return Split(table[:cut].reset_index(drop=True), table[cut:].reset_index(drop=True))
