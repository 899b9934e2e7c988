"""Trees on public tables: Adult and credit approvals with noise, Adult under a γ promise beside two ceilings.

Ceilings see raw records: scikit-learn's tree of the same limits, without any protection, and diffprivlib's forest,
whose ε holds for who sees the forest but not for who collects the records.
"""

import json
import subprocess
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier

from assocpriv.numeric import plan_table
from assocpriv.promise.breaches import Epsilon
from assocpriv.simulation.synthetic import LABEL
from bench.figures.trees import METHODS, NOISES, Numbers, Row, accuracy, noisy_plan, release

ADULT = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "class",
]
EPSILONS = {"1": 1.0, "2": 2.0, "ln19": 2.944, "4": 4.0, "6": 6.0, "8": 8.0}
LIMITS = {"adult": 1, "credit": 10}  # splits into training and test
PRIVACY = (25, 50, 100)
FOREST = Path(__file__).with_name("forest.py")


def adult(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return Adult's records without missing values, those to train on and those to test on."""
    parts = []
    for name, skip in (("adult.data", 0), ("adult.test", 1)):
        table = pd.read_csv(folder / name, names=ADULT, skiprows=skip, skipinitialspace=True, na_values="?").dropna()
        parts.append(table.assign(**{LABEL: table[LABEL].str.rstrip(".")}).reset_index(drop=True))
    return parts[0], parts[1]


def credit(folder: Path) -> pd.DataFrame:
    """Return credit approvals without missing values: A1 to A15 and the class."""
    names = [*(f"A{place}" for place in range(1, 16)), LABEL]
    return pd.read_csv(folder / "crx.data", names=names, na_values="?").dropna().reset_index(drop=True)


def number_columns(table: pd.DataFrame) -> dict[str, Numbers]:
    """Return the columns of numbers, with their ranges; whole numbers of at most 100 values each take one interval."""
    found = {}
    for name in table.select_dtypes("number").columns:
        low, high = Fraction(str(table[name].min())), Fraction(str(table[name].max()))
        values = int(high - low) + 1 if (table[name] % 1 == 0).all() and high - low < 100 else None
        found[name] = Numbers(low, high + 1 if values else high, values)
    return found


def noise_rows(folder: Path) -> Iterator[Row]:
    """Yield accuracies on the tables' numbers alone, each released with noise as in AS00."""
    raw = credit(folder)
    for seed in range(max(LIMITS.values())):
        order = np.random.default_rng(seed).permutation(len(raw))
        cut = 2 * len(raw) // 3
        halves = {"credit": (raw.iloc[order[:cut]], raw.iloc[order[cut:]]), "adult": adult(folder)}
        for name, (train, test) in halves.items():
            if seed < LIMITS[name]:
                yield from _noise_rows(name, train, test, seed)


def _noise_rows(name: str, train: pd.DataFrame, test: pd.DataFrame, seed: int) -> Iterator[Row]:
    columns = number_columns(pd.concat([train, test]))
    classes = sorted(train[LABEL].unique())
    shared = {"table": name, "seed": seed}
    for noise in (None, *NOISES):
        for privacy in (0,) if noise is None else PRIVACY:
            reports = release(train, noisy_plan(columns, classes, len(train), noise, privacy), 1000 + seed)
            for method in METHODS[:1] if noise is None else METHODS[1:]:
                share, leaves = accuracy(reports, method, test)
                yield shared | {
                    "noise": noise or "none",
                    "privacy": privacy,
                    "method": method,
                    "accuracy": share,
                    "leaves": leaves,
                }


def promise_rows(folder: Path, forest_python: str | None = None) -> Iterator[Row]:
    """Yield accuracies on Adult against ε: all columns protected but the class, as the planner chooses."""
    train, test = adult(folder)
    schema = {"columns": _schema(pd.concat([train, test]))}
    always = float((test[LABEL] == train[LABEL].mode()[0]).mean())
    raw, raw_test = (_encoded(part, pd.concat([train, test])) for part in (train, test))
    least = min(100, len(train) // 1000)
    plain = DecisionTreeClassifier(min_samples_leaf=least, random_state=0).fit(raw, train[LABEL])
    ceiling = 100 * float(plain.score(raw_test, test[LABEL]))
    forests = _forests(raw, train[LABEL], raw_test, test[LABEL], forest_python) if forest_python else {}
    for word, epsilon in EPSILONS.items():
        made = plan_table(schema, Epsilon(word), reports=len(train))
        reports = release(train, made, 1000)
        shared = {"epsilon": epsilon, "answered": made.answered}
        for method in ("by-class", "local", "global", "randomized"):
            yield shared | {"method": method, "accuracy": accuracy(reports, method, test)[0]}
        yield shared | {"method": "always the commonest class", "accuracy": 100 * always}
        yield shared | {"method": "scikit-learn, raw records", "accuracy": ceiling}
        if word in forests:
            yield shared | {"method": "diffprivlib's forest, raw records", "accuracy": forests[word]}


def _schema(table: pd.DataFrame) -> dict[str, Any]:
    numbers = number_columns(table)
    columns: dict[str, Any] = {}
    for name in table.columns:
        if name in numbers:
            known = numbers[name]
            columns[name] = {"kind": "number", "low": int(known.low), "high": int(known.high), "release": "square-wave"}
        else:
            values = sorted(table[name].unique())
            kind, how = ("label", "as-is") if name == LABEL else ("category", "response")
            columns[name] = {"kind": kind, "values": values, "release": how}
    return columns


def _encoded(part: pd.DataFrame, every: pd.DataFrame) -> np.ndarray[Any, Any]:
    columns = [
        part[name] if pd.api.types.is_numeric_dtype(part[name]) else part[name].map(
            {value: place for place, value in enumerate(sorted(every[name].unique()))}
        )
        for name in part.columns
        if name != LABEL
    ]  # fmt: skip
    return np.stack(columns, axis=1).astype(np.float64)


def _forests(raw: Any, classes: Any, raw_test: Any, classes_test: Any, python: str) -> dict[str, float]:
    """Return the accuracy of diffprivlib's forest by ε; it needs an older scikit-learn, so a Python of its own."""
    with tempfile.TemporaryDirectory(prefix="assocpriv-bench-") as folder:
        arrays = Path(folder) / "arrays.npz"
        names = sorted(set(classes))
        labels = {name: place for place, name in enumerate(names)}
        np.savez(arrays, X=raw, y=classes.map(labels), X_test=raw_test, y_test=classes_test.map(labels))
        done = subprocess.run(
            [python, "-W", "ignore", str(FOREST), str(arrays), json.dumps(EPSILONS)],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    found: dict[str, float] = json.loads(done.stdout)
    return found
