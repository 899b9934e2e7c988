"""The tables of WFY05 and the paper's templates for them.

Categorical columns of credit approvals (CRX) and of Adult, records without missing values, split as published. The best
attributes for the class by gain ratio (TopN) are sensitive, each with the rarer half of its values; all other columns
are one channel.

Source: Wang, Fung, Yu, Template-Based Privacy Preservation in Classification Problems, ICDM 2005, section 5.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assocpriv.suppress.coded_table import code_cells
from assocpriv.suppress.inference_templates import bounds, read_templates
from assocpriv.suppress.randomization import RandomBits
from assocpriv.suppress.suppression import SuppressionOptions, SuppressionOutcome, choose_hidden_cells

CLASS = "class"
ADULT = [
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", CLASS,
]  # fmt: skip
CRX_CATEGORIES = ["A1", "A4", "A5", "A6", "A7", "A9", "A10", "A12", "A13"]
CRX_TRAIN = 465  # complete records among the first 490, the published training set
TABLES = ("crx", "adult")
TOPS = (1, 2, 3, 4)
PERCENTS = (10, 30, 50, 70, 90)
_CLOSE = 1e-3  # C4.5 takes attributes whose gain is at least the average less this


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """A table's training and test records, the class last."""

    train: pd.DataFrame
    test: pd.DataFrame

    @property
    def both(self) -> pd.DataFrame:
        """All records, the training records first."""
        return pd.concat([self.train, self.test], ignore_index=True)


def adult(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return Adult's training and test records without missing values."""
    parts = []
    for name, skip in (("adult.data", 0), ("adult.test", 1)):
        table = pd.read_csv(folder / name, names=ADULT, skiprows=skip, skipinitialspace=True, na_values="?").dropna()
        parts.append(table.assign(**{CLASS: table[CLASS].str.rstrip(".")}).reset_index(drop=True))
    return parts[0], parts[1]


def load(table: str, folder: Path) -> Split:
    """Return the categorical columns of ``crx`` or ``adult``."""
    if table == "adult":
        train, test = adult(folder)
        names = [*train.select_dtypes(exclude="number").columns]
        return Split(train[names], test[names])
    named = [*(f"A{place}" for place in range(1, 16)), CLASS]
    records = pd.read_csv(folder / "crx.data", names=named, na_values="?").dropna().reset_index(drop=True)
    records = records[[*CRX_CATEGORIES, CLASS]]
    return Split(records[:CRX_TRAIN], records[CRX_TRAIN:].reset_index(drop=True))


def entropy(counts: NDArray[np.float64]) -> float:
    """Return the entropy of counts, in bits."""
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum())


def ranking(train: pd.DataFrame) -> list[str]:
    """Return attributes from best to worst: the root of C4.5's tree, then the root without it, and so on.

    A root has the highest gain ratio among the attributes whose information gain is no less than the average.
    """
    before = entropy(train[CLASS].value_counts().to_numpy(float))
    gains: dict[str, float] = {}
    splits: dict[str, float] = {}
    for name in train.columns.drop(CLASS):
        counts = pd.crosstab(train[name], train[CLASS]).to_numpy(float)
        sizes = counts.sum(axis=1)
        gains[name] = before - sum(n * entropy(row) for n, row in zip(sizes, counts, strict=True)) / sizes.sum()
        splits[name] = entropy(sizes)
    ranked: list[str] = []
    while left := [name for name in gains if name not in ranked]:
        average = np.mean([gains[name] for name in left])
        worthy = [name for name in left if gains[name] >= average - _CLOSE]
        ranked.append(max(worthy, key=lambda name: gains[name] / splits[name]))
    return ranked


def rare_values(column: pd.Series, most: int = 100) -> list[str]:
    """Return the rarer half of a column's values, rounded down; of equally rare ones the alphabetically first.

    Values that more than ``most`` percent of the records have are left out.
    """
    counts = column.value_counts().sort_index().sort_values(kind="stable")
    return [str(value) for value, n in counts[: len(counts) // 2].items() if 100 * n <= most * len(column)]


def templates(table: pd.DataFrame, sensitive: list[str], percent: int, most: int = 100) -> list[dict[str, Any]]:
    """Return the paper's template: the channel is all columns but these and the class."""
    channel = [name for name in table.columns if name not in (*sensitive, CLASS)]
    values = {name: rare for name in sensitive if (rare := rare_values(table[name], most))}
    return [{"channel": channel, "sensitive": values, "confidence": f"{percent}%"}]


def inference_count(table: pd.DataFrame, template: dict[str, Any], percent: int) -> int:
    """Return how many inferences of a template have a confidence above ``percent`` (table 3), by pandas alone."""
    keys = [table[name] for name in template["channel"]]
    totals, found = table.groupby(template["channel"], sort=False).size(), 0
    for name, values in template["sensitive"].items():
        for value in values:
            hits = (table[name] == value).groupby(keys, sort=False).sum()
            found += int((100 * hits > percent * totals).sum())
    return found


def release_in_order(
    table: pd.DataFrame,
    template: list[dict[str, Any]],
    options: SuppressionOptions,
    class_column: str | None = None,
    seed: int = 0,
) -> tuple[pd.DataFrame, SuppressionOutcome]:
    """Return a release in the original order of records, so that it can be split as before, and its outcome.

    The key comes from a seed; a real release needs a secret key.
    """
    coded = code_cells({name: table[name].tolist() for name in table.columns})
    bits = RandomBits(seed.to_bytes(32, "big"), b"bench")
    outcome = choose_hidden_cells(coded, bounds(read_templates(template)), class_column, options, bits)
    return table.assign(**{name: table[name].where(~hidden, "*") for name, hidden in outcome.hidden.items()}), outcome
