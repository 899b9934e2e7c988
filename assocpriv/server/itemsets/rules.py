"""Association rules from mined itemsets, with the standard errors of confidence and lift.

For a rule A → C with B = A ∪ C and estimates b, a, c of the supports of B, A, C:

    confidence = b/a, lift = b/(a·c)
    Var(confidence) ≈ (V_bb − 2 conf V_ab + conf² V_aa) / a²
    Var(lift)       ≈ gᵀ V g with g = (1/(ac), −b/(a²c), −b/(ac²))         (delta method)

V is the joint covariance of the three estimates (estimate.py): they come from the same reports, and A, C ⊂ B
makes them strongly dependent. Every count V needs is that of a subset of B, which a mined table holds.

Whether a confidence reaches C is tested by D = b − C·a, whose expectation is negative if it does not, with
p = Φ(−D/σ) and σ² the larger of two estimates: (1, −C) V (1, −C)ᵀ, and Var D as it would be with D = 0. For the latter,
one report adds W = Z_B − C·Z_A to N·D; its variance is estimated without bias by the mean of U = W² (population) or
U = W² − (1 − 2C)·Z_B − C²·Z_A (transactions at hand), and regression, mean U − D·Cov(U, W)/Var W, tells what it would
be had D come out as 0. Without that, few of the rare reports that count most against a rule make D large and its noise
seem small. It remains a normal approximation: where only some tens of reports show all items of a side, p-values
below 1% are not to be taken literally.
"""

import json
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.errors import EstimateError, PlanError
from assocpriv.core.privacy import parse_probability
from assocpriv.files.atomic import atomic_output
from assocpriv.files.tables import join_names, output_format
from assocpriv.server.estimates.false_discovery import false_discoveries_controlled
from assocpriv.server.estimates.supports import Group, covariance, estimate_supports, sampling_variance
from assocpriv.server.itemsets.mining import ATTRIBUTE, CERTAIN_COLUMNS, counts_of, groups_of, mining_facts
from assocpriv.server.itemsets.sample_splitting import SPLIT, all_rules, parse_certainty

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
METRICS = [
    "antecedent support", "consequent support", "support", "confidence", "lift", "representativity",
    "leverage", "conviction", "zhangs_metric", "jaccard", "certainty", "kulczynski",
]  # fmt: skip
LEAST_SUPPORT = 2.0  # standard errors: a side not told from 0 says nothing about a share of it
ERRORS = ["support_std_error", "confidence_std_error", "lift_std_error"]


def association_rules(
    itemsets: "pd.DataFrame", min_confidence: "float | str" = 0.0, *, certain: "float | str | None" = None
) -> "pd.DataFrame":
    """Derive the rules A → C, A ∪ C frequent, whose estimated confidence is at least ``min_confidence``.

    Args:
        itemsets: a table as :func:`assocpriv.mine` returns it.
        min_confidence: in [0, 1], as 0.6 or ``"60%"``.
        certain: also test which rules have that confidence, such that among those called certain the expected share of
            false ones is at most 1 less this. Needs a table that was mined with ``certain``.

    A rule needs both its sides to be supported by at least two standard errors.

    Returns:
        mlxtend's columns ``antecedents``, ``consequents``, the supports and its metrics, computed from the
        estimates, and ``support_std_error``, ``confidence_std_error``, ``lift_std_error``; rules whose
        confidence is surely high (estimate less two standard errors) first. Estimates are not clipped: noise can make
        a confidence exceed 1. With ``certain`` also ``p_value`` and ``certain``.

    Raises:
        EstimateError: the table does not carry what standard errors or tests need, or a number is out of range.
    """
    import pandas as pd

    threshold = _check_confidence(min_confidence)
    facts = mining_facts(itemsets)
    if facts.get("view") == "itemsets":
        raise EstimateError(
            "these itemsets are entries that the plan asks for one by one; rules compare an itemset with its subsets, "
            "from a plan that asks for items"
        )
    level, hypotheses = parse_certainty(certain, SPLIT), _hypotheses(itemsets, facts)
    if level is not None and hypotheses is None:
        raise EstimateError(
            "rules can be certain only if their itemsets were mined with certain (--certain) too: this table's were "
            "chosen by the same reports that would test their rules"
        )
    groups = groups_of(facts)
    position = {itemset: row for row, itemset in enumerate(itemsets["itemsets"])}
    counts = counts_of(itemsets)
    supports = itemsets["support"].to_numpy(np.float64)
    told = (supports > 0) & (supports >= LEAST_SUPPORT * itemsets["std_error"].to_numpy(np.float64))
    parts = []
    for k in range(2, int(itemsets["length"].max() if len(itemsets) else 0) + 1):
        chosen = itemsets.loc[(itemsets["length"] == k) & itemsets["frequent"], "itemsets"]
        sets = [tuple(sorted(itemset)) for itemset in chosen]
        if sets:
            rows = _subset_rows(sets, position)
            parts += _rules_of_size(
                sets, rows, (counts, supports, told), facts, groups, threshold, tested=level is not None
            )
    more = CERTAIN_COLUMNS[:1] if level is not None else []
    empty = pd.DataFrame({name: [] for name in ["antecedents", "consequents", *METRICS, *ERRORS, *more]})
    rules = pd.concat(parts, ignore_index=True) if parts else empty
    if level is not None:
        assert hypotheses is not None
        p = rules["p_value"].to_numpy(np.float64)
        rules["certain"] = false_discoveries_controlled(p, float(1 - level), hypotheses)
    # by confidence alone, the noisiest rules would come first
    surely = rules["confidence"] - LEAST_SUPPORT * rules["confidence_std_error"]
    rules = rules.iloc[np.argsort(-surely.to_numpy(np.float64), kind="stable")].reset_index(drop=True)
    if level is not None:
        told_of = {"level": float(level), "min_confidence": threshold, "hypotheses": hypotheses}
        rules.attrs[ATTRIBUTE] = {"certain": told_of}
    return rules


def _hypotheses(itemsets: "pd.DataFrame", facts: dict[str, Any]) -> int | None:
    """Return how many rules were considered: all of the itemsets' splits, or of all possible itemsets; None: unknown.

    Rules left out for what the testing reports say of them count too, as p = 1.
    """
    certain = facts.get("certain")
    if certain is None:
        return None
    if certain["by"] == SPLIT:
        return sum((1 << int(k)) - 2 for k in itemsets["length"])
    return all_rules(certain["items"], certain["largest"])


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
    groups: Sequence[Group],
    threshold: float,
    *,
    tested: bool,
) -> "list[pd.DataFrame]":
    counts, supports, told = columns
    k = len(sets[0])
    subset_counts = counts[rows].transpose(0, 2, 1)
    subset_counts[:, :, 0] = [group.n_reports for group in groups]
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
            estimates, own = (b[good], a[good], c[good]), subset_counts[good]
            cov = joint_covariance(own, groups, inside, estimates, population=facts["population"])
            part = rule_frame([sets[row] for row in good], inside, estimates, rule_errors(estimates, cov))
            if tested:
                part["p_value"] = _p_values(
                    own, groups, inside, estimates, cov, threshold, population=facts["population"]
                )
            parts.append(part)
    return parts


def rule_errors(estimates: tuple[Floats, Floats, Floats], cov: list[list[Floats]]) -> list[Floats]:
    """Return the standard errors of support, confidence and lift, from b, a, c and their covariance matrix."""
    b, a, c = estimates
    one = np.ones_like(b)
    gradients = [
        [one, 0 * one, 0 * one],
        [1 / a, -b / a**2, 0 * one],
        [1 / (a * c), -b / (a * a * c), -b / (a * c * c)],
    ]
    return [np.sqrt(_quadratic_form(gradient, cov)) for gradient in gradients]


def _quadratic_form(gradient: "Sequence[Floats | float]", cov: list[list[Floats]]) -> Floats:
    indices = range(len(gradient))
    whole: Floats = np.sum([gradient[i] * gradient[j] * cov[i][j] for i in indices for j in indices], axis=0)
    # noise can make a joint estimate contradict itself; then without the covariances
    alone: Floats = np.sum([gradient[i] ** 2 * cov[i][i] for i in indices], axis=0)
    return np.where(whole > 0, whole, alone)


def joint_covariance(
    counts: NDArray[np.int64],
    groups: Sequence[Group],
    inside: list[int],
    estimates: tuple[Floats, Floats, Floats],
    *,
    population: bool,
) -> list[list[Floats]]:
    """Estimate the covariance matrix of b, a, c, with the same lower bounds of its diagonal as itemsets have.

    Raising a variance scales its covariances with it, so that correlations stay.

    Args:
        counts: c_D for every subset D of A ∪ C by mask, int64 (rules, groups, 2^k).
        groups: whose reports they are.
        inside: 0 or 1 for each of the k items: membership of A.
        estimates: b, a, c.
        population: for the population, else for the transactions at hand.
    """
    members = [[1] * len(inside), inside, [1 - i for i in inside]]
    raw = [[covariance(counts, groups, left, right, population=population) for right in members] for left in members]
    scales = []
    for i, (member, support) in enumerate(zip(members, estimates, strict=True)):
        least = estimate_supports(_sums_within(counts, member), groups).least_variance
        if population:
            least = least + sampling_variance(support, sum(group.n_reports for group in groups))
        floored = np.maximum(raw[i][i], least)
        with np.errstate(invalid="ignore"):  # a single report: infinite errors
            scales.append(np.sqrt(floored / np.where(raw[i][i] > 0, raw[i][i], np.inf)))
        raw[i][i] = floored
    return [[raw[i][j] * (1.0 if i == j else scales[i] * scales[j]) for j in range(3)] for i in range(3)]


def _sums_within(counts: NDArray[np.int64], member: list[int]) -> NDArray[np.int64]:
    """Return C_0 … C_j of the j members among the k items, of counts by mask: int64 (rules, groups, j + 1)."""
    mask = sum(1 << i for i, inside in enumerate(member) if inside)
    within = [shown for shown in range(1 << len(member)) if shown | mask == mask]
    sizes = np.bitwise_count(np.array(within))
    return np.stack([counts[..., np.array(within)[sizes == j]].sum(axis=-1) for j in range(sum(member) + 1)], axis=-1)


def _p_values(
    counts: NDArray[np.int64],
    groups: Sequence[Group],
    inside: list[int],
    estimates: tuple[Floats, Floats, Floats],
    cov: list[list[Floats]],
    threshold: float,
    *,
    population: bool,
) -> Floats:
    """Return p-values against "the confidence is below the threshold" (see the module's text)."""
    from scipy.special import ndtr

    b, a, _ = estimates
    difference = b - threshold * a
    variance = np.maximum(
        _quadratic_form([1.0, -threshold], cov),
        _variance_at_zero(counts, groups, inside, threshold, population=population),
    )
    p: Floats = ndtr(-difference / np.sqrt(np.maximum(variance, 1e-300)))
    return p


def _variance_at_zero(
    counts: NDArray[np.int64], groups: Sequence[Group], inside: list[int], threshold: float, *, population: bool
) -> Floats:
    """Return Var D, or what it would be had D come out as 0 if that is more."""
    k, n_reports = len(inside), sum(group.n_reports for group in groups)
    shown = np.arange(1 << k)
    of_a = shown & sum(1 << i for i, member in enumerate(inside) if member)
    moments = np.zeros((4, len(counts)))
    for column, group in enumerate(groups):
        z_b, z_a = (
            np.array([float(x) for x in group.model.row(size)])[np.bitwise_count(masks)]
            for size, masks in ((k, shown), (sum(inside), of_a))
        )
        w = z_b - threshold * z_a
        u = w * w - (0.0 if population else (1 - 2 * threshold) * z_b + threshold**2 * z_a)
        moments += np.stack([w, u, w * w, u * w]) @ _exactly(counts[:, column]).T / n_reports
    w, u, ww, uw = moments
    spread = ww - w * w
    slope = (uw - u * w) / np.where(spread > 0, spread, np.inf)
    variance: Floats = np.maximum(u, u - slope * w) / n_reports
    return variance


def _exactly(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Turn counts of reports showing all of D into counts of those showing exactly D, by mask, int64 (sets, 2^k)."""
    exact = counts.copy()
    for i in range((counts.shape[1] - 1).bit_length()):
        without = [mask for mask in range(counts.shape[1]) if not mask >> i & 1]
        exact[:, without] -= exact[:, [mask | 1 << i for mask in without]]
    return exact


def rule_frame(
    sets: list[tuple[str, ...]], inside: list[int], estimates: tuple[Floats, Floats, Floats], errors: list[Floats]
) -> "pd.DataFrame":
    """Put rules of one pattern into a table: the sides, their metrics and standard errors."""
    import pandas as pd

    antecedents = [frozenset(n for n, i in zip(names, inside, strict=True) if i) for names in sets]
    consequents = [frozenset(n for n, i in zip(names, inside, strict=True) if not i) for names in sets]
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
