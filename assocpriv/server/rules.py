"""Association rules from mined itemsets, with the standard errors of confidence and lift.

For a rule A → C with B = A ∪ C and estimates b, a, c of the supports of B, A, C:

    confidence = b/a, lift = b/(a·c)
    Var(confidence) ≈ (V_bb − 2 conf V_ab + conf² V_aa) / a²
    Var(lift)       ≈ gᵀ V g with g = (1/(ac), −b/(a²c), −b/(ac²))         (delta method)

V is the joint covariance of the three estimates (estimate.py): they come from the same reports, and A, C ⊂ B
makes them strongly dependent. Every count V needs is that of a subset of B, which a mined table holds.
"""

import json
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.errors import EstimateError, PlanError
from assocpriv.core.privacy import parse_probability
from assocpriv.core.transition import SupportModel
from assocpriv.files.atomic import atomic_output
from assocpriv.server.estimate import covariance, sampling_variance
from assocpriv.server.itemsets import join_names, mining_facts, model_of, output_format

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
METRICS = [
    "antecedent support", "consequent support", "support", "confidence", "lift", "representativity",
    "leverage", "conviction", "zhangs_metric", "jaccard", "certainty", "kulczynski",
]  # fmt: skip
LEAST_SUPPORT = 2.0  # standard errors: a side not told from 0 says nothing about a share of it
ERRORS = ["support_std_error", "confidence_std_error", "lift_std_error"]


def association_rules(itemsets: "pd.DataFrame", min_confidence: "float | str" = 0.0) -> "pd.DataFrame":
    """Derive the rules A → C, A ∪ C frequent, whose estimated confidence is at least ``min_confidence``.

    Args:
        itemsets: a table as :func:`assocpriv.mine` returns it.
        min_confidence: in [0, 1], as 0.6 or ``"60%"``.

    A rule needs both its sides to be supported by at least two standard errors.

    Returns:
        mlxtend's columns ``antecedents``, ``consequents``, the supports and its metrics, computed from the
        estimates, and ``support_std_error``, ``confidence_std_error``, ``lift_std_error``; rules whose
        confidence is surely high (estimate less two standard errors) first. Estimates are not clipped: noise can make
        a confidence exceed 1.

    Raises:
        EstimateError: the table does not carry what standard errors need, or the confidence is not in [0, 1].
    """
    import pandas as pd

    threshold = _check_confidence(min_confidence)
    facts = mining_facts(itemsets)
    model = model_of(facts)
    position = {itemset: row for row, itemset in enumerate(itemsets["itemsets"])}
    counts = itemsets["count"].to_numpy(np.int64)
    supports = itemsets["support"].to_numpy(np.float64)
    told = (supports > 0) & (supports >= LEAST_SUPPORT * itemsets["std_error"].to_numpy(np.float64))
    parts = []
    for k in range(2, int(itemsets["length"].max() if len(itemsets) else 0) + 1):
        chosen = itemsets.loc[(itemsets["length"] == k) & itemsets["frequent"], "itemsets"]
        sets = [tuple(sorted(itemset)) for itemset in chosen]
        if sets:
            rows = _subset_rows(sets, position)
            parts += _rules_of_size(sets, rows, (counts, supports, told), facts, model, threshold)
    if not parts:
        return pd.DataFrame({name: [] for name in ["antecedents", "consequents", *METRICS, *ERRORS]})
    rules = pd.concat(parts, ignore_index=True)
    # by confidence alone, the noisiest rules would come first
    surely = rules["confidence"] - LEAST_SUPPORT * rules["confidence_std_error"]
    return rules.iloc[np.argsort(-surely.to_numpy(), kind="stable")].reset_index(drop=True)


def _check_confidence(value: "float | str") -> float:
    try:
        return float(parse_probability(value, "the minimum confidence"))
    except PlanError as error:
        raise EstimateError(str(error)) from None


def _subset_rows(sets: list[tuple[str, ...]], position: dict[frozenset[str], int]) -> NDArray[np.int64]:
    """Return the table row of every subset of every set, by mask, int64 (sets, 2^k); 0 for the empty one."""
    k = len(sets[0])
    rows = np.zeros((len(sets), 1 << k), dtype=np.int64)
    for row, names in enumerate(sets):
        for mask in range(1, 1 << k):
            subset = frozenset(name for i, name in enumerate(names) if mask >> i & 1)
            if subset not in position:
                raise EstimateError(
                    f"the table lacks a subset of the itemset in row {position[frozenset(names)]}; rules need "
                    "the whole table as it was mined"
                )
            rows[row, mask] = position[subset]
    return rows


def _rules_of_size(
    sets: list[tuple[str, ...]],
    rows: NDArray[np.int64],
    columns: tuple[NDArray[np.int64], Floats, NDArray[np.bool_]],
    facts: dict[str, Any],
    model: SupportModel,
    threshold: float,
) -> "list[pd.DataFrame]":
    counts, supports, told = columns
    k, n_reports = len(sets[0]), int(facts["reports"])
    subset_counts = counts[rows]
    subset_counts[:, 0] = n_reports
    parts = []
    for size in range(1, k):
        for chosen in combinations(range(k), size):
            inside = [int(i in chosen) for i in range(k)]
            mask = sum(1 << i for i in chosen)
            sides = mask, (1 << k) - 1 - mask
            b, a, c = (supports[rows[:, m]] for m in ((1 << k) - 1, *sides))
            good = np.flatnonzero(told[rows[:, sides[0]]] & told[rows[:, sides[1]]] & (b >= threshold * a))
            if not len(good):
                continue
            errors = _std_errors(
                subset_counts[good],
                n_reports,
                model,
                inside,
                (b[good], a[good], c[good]),
                facts["population"],
            )
            parts.append(_frame(sets, inside, good, (b[good], a[good], c[good]), errors))
    return parts


def _std_errors(
    counts: NDArray[np.int64],
    n_reports: int,
    model: SupportModel,
    inside: list[int],
    estimates: tuple[Floats, Floats, Floats],
    population: bool,
) -> list[Floats]:
    """Return the standard errors of support, confidence and lift."""
    b, a, c = estimates
    members = [[1] * len(inside), inside, [1 - i for i in inside]]
    one = np.ones_like(b)
    gradients = [
        [one, 0 * one, 0 * one],
        [1 / a, -b / a**2, 0 * one],
        [1 / (a * c), -b / (a * a * c), -b / (a * c * c)],
    ]

    cov = _joint_covariance(counts, n_reports, model, members, estimates, population=population)
    errors = []
    for g in gradients:
        whole = np.sum([g[i] * g[j] * cov[i][j] for i in range(3) for j in range(3)], axis=0)
        # noise can make a joint estimate contradict itself; then without the covariances
        alone = np.sum([g[i] ** 2 * cov[i][i] for i in range(3)], axis=0)
        errors.append(np.sqrt(np.where(whole > 0, whole, alone)))
    return errors


def _joint_covariance(
    counts: NDArray[np.int64],
    n_reports: int,
    model: SupportModel,
    members: list[list[int]],
    estimates: tuple[Floats, ...],
    *,
    population: bool,
) -> list[list[Floats]]:
    """Estimate the covariance matrix, with the same lower bounds of its diagonal as itemsets have.

    Raising a variance scales its covariances with it, so that correlations stay.
    """
    raw = [
        [covariance(counts, n_reports, model, left, right, population=population) for right in members]
        for left in members
    ]
    scales = []
    for i, (member, support) in enumerate(zip(members, estimates, strict=True)):
        least = model.least_variance(sum(member), np.clip(support, 0.0, 1.0)) / n_reports
        if population:
            least = least + sampling_variance(support, n_reports)
        floored = np.maximum(raw[i][i], least)
        scales.append(np.sqrt(floored / np.where(raw[i][i] > 0, raw[i][i], np.inf)))
        raw[i][i] = floored
    return [[raw[i][j] * (1.0 if i == j else scales[i] * scales[j]) for j in range(3)] for i in range(3)]


def _frame(
    sets: list[tuple[str, ...]],
    inside: list[int],
    good: NDArray[np.intp],
    estimates: tuple[Floats, Floats, Floats],
    errors: list[Floats],
) -> "pd.DataFrame":
    import pandas as pd

    kept = [sets[row] for row in good]
    antecedents = [frozenset(n for n, i in zip(names, inside, strict=True) if i) for names in kept]
    consequents = [frozenset(n for n, i in zip(names, inside, strict=True) if not i) for names in kept]
    columns: dict[str, Any] = {"antecedents": antecedents, "consequents": consequents}
    return pd.DataFrame(columns | rule_metrics(*estimates) | dict(zip(ERRORS, errors, strict=True)))


def rule_metrics(b: Floats, a: Floats, c: Floats) -> dict[str, Floats]:
    """Compute mlxtend's metrics from supports of A ∪ C, A and C, float64 arrays of one shape; a, c > 0.

    >>> metrics = rule_metrics(np.array([0.25]), np.array([0.5]), np.array([0.5]))
    >>> metrics["confidence"].tolist(), metrics["lift"].tolist()
    ([0.5], [1.0])
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        confidence = b / a
        leverage = b - a * c
        scale = np.maximum(b * (1 - a), a * (c - b))
        certainty = np.where(c < 1, (confidence - c) / (1 - c), 0.0)
        return {
            "antecedent support": a,
            "consequent support": c,
            "support": b,
            "confidence": confidence,
            "lift": confidence / c,
            "representativity": np.ones_like(b),
            "leverage": leverage,
            "conviction": np.where(confidence < 1, (1 - c) / (1 - confidence), np.inf),
            "zhangs_metric": np.where(scale != 0, leverage / scale, 0.0),
            "jaccard": b / (a + c - b),
            "certainty": certainty,
            "kulczynski": (b / a + b / c) / 2,
        }


def rule_records(rules: "pd.DataFrame") -> list[dict[str, Any]]:
    """Return rules as plain objects, sides being sorted lists of names; an infinite conviction is null."""
    finite = rules.replace([np.inf, -np.inf], np.nan).astype(object)
    records: list[dict[str, Any]] = finite.where(finite.notna(), None).to_dict("records")  # type: ignore[assignment]
    for record in records:
        for side in ("antecedents", "consequents"):
            record[side] = sorted(record[side])
    return records


def write_rules(rules: "pd.DataFrame", path: str | Path, *, force: bool = False) -> None:
    """Write rules as Parquet, CSV or JSON by extension.

    Raises:
        FileError: unknown extension, existing file without ``force``, or the disk refuses.
    """
    kind = output_format(path)
    plain = rules.copy()
    for side in ("antecedents", "consequents"):
        lists = [sorted(names) for names in rules[side]]
        plain[side] = [join_names(names) for names in lists] if kind == "csv" else lists
    with atomic_output(path, force=force) as stream:
        if kind == "json":
            stream.write(json.dumps({"rules": rule_records(rules)}, indent=1, ensure_ascii=False).encode("utf-8"))
        elif kind == "csv":
            stream.write(plain.to_csv(index=False).encode("utf-8"))
        else:
            plain.to_parquet(stream, index=False)
