"""Results as text for a person and as JSON content for a program."""

import math
from typing import TYPE_CHECKING, Any

from assocpriv.client.sampling import SamplingLoss
from assocpriv.core.plan import Plan
from assocpriv.core.privacy import epsilon, format_fraction, highest_posterior
from assocpriv.core.transition import SupportModel

if TYPE_CHECKING:
    import pandas as pd

_CODE_NAMES = {"none": "no code (one bit an item)", "bch": "BCH", "reed-solomon": "Reed–Solomon"}


def plan_record(plan: Plan, reports: int) -> dict[str, Any]:
    """Return what a plan promises and what N reports of it can show, for ``--json``."""
    model = SupportModel.of(plan.operator)
    lds = {k: model.lowest_discoverable_support(k, reports) for k in range(1, plan.itemset_size + 1)}
    return {
        "plan_id": plan.plan_id,
        "items": plan.n_items,
        "transaction_size": plan.transaction_size,
        "itemset_size": plan.itemset_size,
        "promise": {
            "prior": format_fraction(plan.promise.prior),
            "posterior": format_fraction(plan.promise.posterior),
        },
        "amplification_limit": format_fraction(plan.promise.amplification_limit),
        "amplification": format_fraction(plan.amplification),
        "epsilon": epsilon(plan.amplification),
        "default_probability": format_fraction(plan.operator.default_probability),
        "pattern": plan.operator.pattern,
        "code": plan.generator.kind,
        "report_bits": plan.report_bits,
        "report_bytes": plan.report_bytes,
        "reports": reports,
        "lowest_discoverable_support": {str(k): s if math.isfinite(s) else None for k, s in lds.items()},
    }


def plan_lines(plan: Plan, reports: int) -> list[str]:
    """Say what a plan promises and what N reports of it can show."""
    promise = plan.promise
    prior, posterior = float(promise.prior), float(promise.posterior)
    original = -(-plan.n_items // 8)
    worst = float(highest_posterior(promise.prior, plan.amplification))
    lines = [
        f"plan        {plan.plan_id[:16]}…  {plan.n_items:,} items, at most {plan.transaction_size} a transaction "
        "(its size is hidden)",
        f"promise     no report lifts a belief from {prior:.10g} to {posterior:.10g}, whatever the data: "
        f"{prior:.10g} becomes at most {_up(worst)}",
        f"            γ < {_up(float(promise.amplification_limit))}, ε = ln γ ≤ {_up(epsilon(plan.amplification))}",
        f"report      {plan.report_bytes:,} bytes ({plan.report_bits:,} bits, {_CODE_NAMES[plan.generator.kind]}); "
        f"the basket as {plan.n_items:,} bits would take {original:,} bytes",
        f"operator    default probability {format_fraction(plan.operator.default_probability)}, "
        f"kept sizes 0…{plan.transaction_size} made likelier: {plan.operator.pattern}",
        f"from {reports:,} reports, within at most {plan.transaction_size} sampled items a basket, "
        "the lowest discoverable support is",
    ]
    return lines + _limit_lines(plan, reports)


def _limit_lines(plan: Plan, reports: int) -> list[str]:
    model = SupportModel.of(plan.operator)
    limits = [model.lowest_discoverable_support(k, reports) for k in range(1, plan.itemset_size + 1)]
    texts = [f"{lds:.3%}" if lds < 1 else "none: nothing below 100% can be discovered" for lds in limits]
    names = [_itemsets_of(k + 1) for k in range(len(texts))]
    if len(set(texts)) == 1:  # as at ρ = 1/2, where a report is as noisy for every size
        return [f"            {texts[0]} for {', '.join(names)} alike"]
    return [f"            {text} for {name}" for text, name in zip(texts, names, strict=True)]


def _up(value: float) -> str:
    """Write a figure of privacy with at least six digits, rounded up."""
    digits = 6 - math.floor(math.log10(value)) - 1
    return f"{math.ceil(value * 10**digits) / 10**digits:.6g}"


def _itemsets_of(k: int) -> str:
    return {1: "single items", 2: "pairs", 3: "triples"}.get(k, f"itemsets of {k}")


def loss_lines(loss: SamplingLoss) -> list[str]:
    """Say how many baskets are sampled and what share of support that loses."""
    size = loss.transaction_size
    if not loss.sampled:
        return [f"no basket is longer than {size} items: nothing is lost by sampling"]
    lost = ", ".join(f"{share:.1%} of {_itemsets_of(k)}" for k, share in loss.shares.items())
    lines = [
        f"{loss.sampled:,} of {loss.baskets:,} baskets are longer than {size} items and are sampled to {size}; "
        f"expected support lost, averaged over itemsets: {lost}"
    ]
    if max(loss.shares.values()) > 0.05:
        lines.append(
            f"warning: more than 5% is lost; estimated supports are those within at most {size} sampled items, "
            "lower than in the whole baskets (a larger --transaction-size loses less but needs more reports)"
        )
    return lines


def itemset_lines(frame: "pd.DataFrame", top: int) -> list[str]:
    """Show itemsets, frequent ones only, with the truth where the table holds it."""
    shown = frame[frame["frequent"]]
    truth = "true_support" in frame.columns
    interval = f"{100 * frame.attrs['assocpriv']['confidence_level']:.4g}% interval"
    header = f"{'support':>9} {'± error':>9}  {interval:>17}" + (f" {'true':>8} {'raw':>8}" if truth else "")
    lines = [header + "  itemset"]
    for row in shown.head(top).to_dict("records"):
        # shown clipped to what a support can be; the data are not
        low, high = max(row["ci_low"], 0.0), min(row["ci_high"], 1.0)
        line = f"{row['support']:9.3%} {row['std_error']:9.3%}  {low:8.3%}–{high:8.3%}"
        if truth:
            line += f" {row['true_support']:8.3%} {row['raw_support']:8.3%}"
        mark = "  ?" if row["support"] < 4 * row["std_error"] else ""
        lines.append(f"{line}  {', '.join(sorted(row['itemsets']))}{mark}")
    if any(line.endswith("  ?") for line in lines):
        lines.append("?: below four standard errors, so it may be nothing")
    return lines + _rest(len(shown), top)


def meaning_line(facts: dict[str, Any]) -> str:
    """Say what the supports of a table of itemsets are shares of."""
    return (
        f"from {facts['reports']:,} reports; supports are those within at most {facts['transaction_size']} sampled "
        "items a basket"
    )


def rule_lines(rules: "pd.DataFrame", top: int) -> list[str]:
    """Show rules, with the truth where the table holds it."""
    truth = "true_confidence" in rules.columns
    lines = [
        f"{'confidence':>10} {'± error':>8} {'lift':>8} {'± error':>8} {'support':>8}"
        + (f" {'true':>8}" if truth else "")
        + "  rule"
    ]
    for row in rules.head(top).to_dict("records"):
        line = (
            f"{row['confidence']:10.1%} {row['confidence_std_error']:8.1%} {row['lift']:8.2f} "
            f"{row['lift_std_error']:8.2f} {row['support']:8.2%}"
        )
        if truth:
            line += f" {row['true_confidence']:8.1%}"
        left, right = (", ".join(sorted(row[side])) for side in ("antecedents", "consequents"))
        lines.append(f"{line}  {left} → {right}")
    return lines + _rest(len(rules), top)


def _rest(total: int, top: int) -> list[str]:
    if not total:
        return ["(none)"]
    return [f"… and {total - top:,} more"] if total > top else []
