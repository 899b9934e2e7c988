"""Trees on a public table: Adult under a γ promise beside a ceiling.

The ceiling sees raw records: scikit-learn's tree of the same limits, without any protection.
"""

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
from bench.figures.trees import Numbers, Row, accuracy, release

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


def promise_rows(folder: Path, seeds: int = 3) -> Iterator[Row]:
    """Yield accuracies on Adult against ε: all columns protected as the planner chooses, the class, too, or not."""
    train, test = adult(folder)
    schema = {"columns": _schema(pd.concat([train, test]))}
    hidden = {"columns": {**schema["columns"], LABEL: {**schema["columns"][LABEL], "release": "response"}}}
    raw, raw_test = (_encoded(part, pd.concat([train, test])) for part in (train, test))
    least = min(100, len(train) // 1000)
    plain = DecisionTreeClassifier(min_samples_leaf=least, random_state=0).fit(raw, train[LABEL])
    ceilings = {
        "always the commonest class": float((test[LABEL] == train[LABEL].mode()[0]).mean()),
        "scikit-learn, raw records": float(plain.score(raw_test, test[LABEL])),
    }
    for word, epsilon in EPSILONS.items():
        for seed in range(seeds):
            for of, suffix in ((schema, ""), (hidden, ", class protected")):
                made = plan_table(of, Epsilon(word), reports=len(train))
                reports = release(train, made, 1000 + seed)
                shared = {"epsilon": epsilon, "answered": made.answered, "seed": seed}
                for method in ("by-class", "randomized")[: 1 if suffix else 2]:
                    yield shared | {"method": method + suffix, "accuracy": accuracy(reports, method, test)[0]}
        for method, share in ceilings.items():
            yield {"epsilon": epsilon, "answered": 0, "seed": 0, "method": method, "accuracy": 100 * share}


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
