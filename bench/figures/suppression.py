"""The cost of suppression for a classifier: figures 3a and 3b and table 3 of WFY05, on credit approvals and on Adult.

    python -m bench suppression [--quick]

*Base error* is the error of a tree on the original table, *suppression error* on the released one, *removal error*
without the sensitive columns. *Bare error*, which the paper omits, is the error on the sensitive columns alone, the
remainder of the fully suppressed table. Records are suppressed together and split afterwards, as in the paper. With the
rarer half of all values sensitive, some thresholds are below a value's share of all records, which no suppression
changes. Adult has a second set of rows with sensitive values that at most 10% of the records have.

Source: Wang, Fung, Yu, Template-Based Privacy Preservation in Classification Problems, ICDM 2005, sections 5.1 and 5.2.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from assocpriv.guarantees.errors import TemplateError
from assocpriv.suppress.suppression import LOCAL, PAPER, SuppressionOptions
from bench.figures.suppression_tables import (
    CLASS,
    PERCENTS,
    TABLES,
    TOPS,
    Split,
    inference_count,
    load,
    ranking,
    release_in_order,
    templates,
)
from bench.figures.suppression_trees import ENTROPY, entropy_error, errors, resplit, without
from bench.tables import Row, grouped

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
        released, outcome = release_in_order(both, template, SuppressionOptions(PAPER), CLASS)
    except TemplateError:
        released, suppressed = None, None
    else:
        suppressed = sum(both[name][hidden].nunique() for name, hidden in outcome.hidden.items())
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
METHODS: dict[str, tuple[SuppressionOptions, str | None, int]] = {  # options, class and number of seeds
    "paper": (SuppressionOptions(PAPER), CLASS, 1),
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
            yield setting | {
                "shown_percent": shown,
                ENTROPY: error,
                "alpha_percent": 100 * _alpha(made[0][0], template[0]),
            }


def _alpha(table: Any, template: Mapping[str, Any]) -> float:
    """Return the highest share of a sensitive value in a group, as pycanon counts it, over all values."""
    from pycanon.anonymity import alpha_k_anonymity

    return float(max(alpha_k_anonymity(table, template["channel"], [name])[0] for name in template["sensitive"]))


def run(folder: Path, *, quick: bool = False) -> dict[str, Any]:
    """Return the errors, their means, and the shares of cells shown against an adversary who knows the program."""
    found = list(rows(folder, quick=quick))
    tables = {"errors": found, "means": means(found)}
    return {"tables": tables if quick else tables | {"cells": list(cells(folder))}}
