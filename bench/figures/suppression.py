"""The cost of suppression for a classifier: figures 3a and 3b and table 3 of WFY05, on credit approvals and on Adult.

    python -m bench suppression [--quick]

*Base error* is the error of a tree on the original table, *suppression error* on the released one, *removal error*
without the sensitive columns. *Bare error*, which the paper omits, is the error on the sensitive columns alone, the
remainder of the fully suppressed table. Records are suppressed together and split afterwards, as in the paper. With the
rarer half of all values sensitive, some thresholds are below a value's share of all records, which no suppression
changes. Adult has a second set of rows with sensitive values that at most 10% of the records have.

The tables are categorical columns of credit approvals (CRX) and of Adult, records without missing values, split as
published. The best attributes for the class by gain ratio (TopN) are sensitive, each with the rarer half of its values;
all other columns are one channel.

The trees are scikit-learn's by entropy, and C4.5 as Weka has it (J48). J48 runs with Weka's defaults, which are C4.5's:
at least two records in a leaf, pruning with a confidence of 25%. scikit-learn has no multiway splits and no such
pruning. With at least 20 records per leaf its base errors are those of C4.5 on both tables.

Source: Wang, Fung, Yu, Template-Based Privacy Preservation in Classification Problems, ICDM 2005, section 5.
"""

import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from assocpriv.guarantees.errors import TemplateError
from assocpriv.records.table_files import TableOptions
from assocpriv.suppress.coded_table import CodedTable, read_source
from assocpriv.suppress.inference_templates import bounds, read_templates
from assocpriv.suppress.randomization import RandomBits
from assocpriv.suppress.suppression import LOCAL, SuppressionOptions, choose_hidden_cells
from bench.figures import progressive_disclosure
from bench.tables import Row, grouped

# ---- the tables and templates


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


def code_cells(columns: Mapping[str, Sequence[str | None]]) -> CodedTable:
    """Return the table of given cells, by column; None is a missing cell."""
    texts = {name: pa.array([cell and str(cell) for cell in cells], pa.string()) for name, cells in columns.items()}
    return read_source(pa.table(texts), columns, {}, TableOptions()).coded


def release_in_order(
    table: pd.DataFrame,
    template: list[dict[str, Any]],
    options: SuppressionOptions | None,
    class_column: str | None = None,
    seed: int = 0,
) -> tuple[pd.DataFrame, Mapping[str, NDArray[np.bool_]]]:
    """Return a release in the original order of records, so that it can be split as before, and its hidden cells.

    Without options it is that of the paper's algorithm. The key comes from a seed; a real release needs a secret key.
    """
    coded = code_cells({name: table[name].tolist() for name in table.columns})
    wanted = bounds(read_templates(template))
    if options is None:
        hidden = progressive_disclosure.hidden_cells(coded, wanted, class_column)
    else:
        bits = RandomBits(seed.to_bytes(32, "big"), b"bench")
        hidden = dict(choose_hidden_cells(coded, wanted, class_column, options, bits).hidden)
    return table.assign(**{name: table[name].where(~cells, "*") for name, cells in hidden.items()}), hidden


# ---- classifiers


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


# ---- the figures


READINGS = {"crx": (100,), "adult": (100, 10)}  # maximum percent of records with a sensitive value
ERRORS = ("base", "suppression", "bare", "removal")
AVERAGED = {"crx": (50, 70, 90), "adult": PERCENTS}  # thresholds averaged in the paper's figures


def rows(folder: Path, *, quick: bool = False) -> Iterator[Row]:
    """Yield the errors of every table, TopN, threshold and classifier."""
    for table in TABLES[:1] if quick else TABLES:
        split = load(table, folder)
        ranked, base = ranking(split.train), errors(split)
        for top in TOPS:
            shared = {"base": base, "removal": errors(without(split, ranked[:top]))}
            shared["bare"] = errors(without(split, ranked[top:]))
            for most in READINGS[table]:
                for percent in PERCENTS:
                    setting = {"table": table, "most_percent": most, "top": top, "threshold": percent}
                    yield from _errors(setting, split, templates(split.both, ranked[:top], percent, most), shared)


def _errors(
    setting: Row, split: Split, template: list[dict[str, Any]], shared: dict[str, dict[str, float]]
) -> Iterator[Row]:
    both = split.both
    found = setting | {"inferences": inference_count(both, template[0], setting["threshold"])}
    found["values"] = sum(both[name].nunique() for name in template[0]["channel"])
    try:
        released, hidden = release_in_order(both, template, None, CLASS)
    except TemplateError:
        released, suppressed = None, None
    else:
        suppressed = sum(both[name][cells].nunique() for name, cells in hidden.items())
    after = {} if released is None else errors(resplit(released, split))
    for classifier in shared["base"]:
        each = {name: by_classifier[classifier] for name, by_classifier in shared.items()}
        yield found | {"suppressed": suppressed, "classifier": classifier, "suppression": after.get(classifier)} | each


def means(found: Sequence[Row]) -> list[Row]:
    """Return errors by table, reading, classifier and TopN: means over the paper's thresholds that are possible."""
    keys = ("table", "most_percent", "classifier", "top")
    met = (row for row in found if row["suppression"] is not None and row["threshold"] in AVERAGED[row["table"]])
    return [
        dict(zip(keys, group, strict=True))
        | {name: fmean(row[name] for row in same) for name in ERRORS}
        | {"thresholds": len(same)}
        for group, same in sorted(grouped(met, keys).items())
    ]


SETTINGS = (
    ("crx", 1, 70, 100), ("crx", 1, 90, 100), ("crx", 4, 50, 100), ("crx", 4, 70, 100), ("crx", 4, 90, 100),
    ("adult", 1, 10, 10), ("adult", 1, 50, 100), ("adult", 4, 50, 100), ("adult", 4, 70, 100), ("adult", 4, 90, 100),
)  # fmt: skip
SEEDS = 5
METHODS: dict[str, tuple[SuppressionOptions | None, str | None, int]] = {  # options, class and number of seeds
    "paper": (None, CLASS, 1),
    "local": (SuppressionOptions(LOCAL, min_group_size=1), None, SEEDS),
    "local, least 2": (SuppressionOptions(LOCAL), None, SEEDS),
    "local, least 5": (SuppressionOptions(LOCAL, min_group_size=5), None, SEEDS),
    "local, class": (SuppressionOptions(LOCAL, min_group_size=1), CLASS, SEEDS),
}


def cells(folder: Path) -> Iterator[Row]:
    """Yield the share of shown channel cells, and the error of the entropy tree, by mode; means over seeds."""
    for name, top, percent, most in SETTINGS:
        split = load(name, folder)
        template = templates(split.both, ranking(split.train)[:top], percent, most)
        for method, (options, known, seeds) in METHODS.items():
            setting = {"table": name, "top": top, "threshold": percent, "method": method}
            try:
                made = [release_in_order(split.both, template, options, known, seed) for seed in range(seeds)]
            except TemplateError:  # a bound fails in one class alone
                yield setting | {"shown_percent": None, ENTROPY: None, "alpha_percent": None}
                continue
            shown = fmean(100 * float((each[template[0]["channel"]] != "*").to_numpy().mean()) for each, _ in made)
            error = fmean(entropy_error(resplit(each, split)) for each, _ in made)
            alpha = 100 * _alpha(made[0][0], template[0])
            yield setting | {"shown_percent": shown, ENTROPY: error, "alpha_percent": alpha}


def _alpha(table: Any, template: Mapping[str, Any]) -> float:
    """Return the highest share of a sensitive value in a group, as pycanon counts it, over all values."""
    from pycanon.anonymity import alpha_k_anonymity

    return float(max(alpha_k_anonymity(table, template["channel"], [name])[0] for name in template["sensitive"]))


def run(folder: Path, *, quick: bool = False) -> dict[str, Any]:
    """Return the errors, their means, and the shares of cells shown against an adversary who knows the program."""
    found = list(rows(folder, quick=quick))
    tables = {"errors": found, "means": means(found)}
    return {"tables": tables if quick else tables | {"cells": list(cells(folder))}}
