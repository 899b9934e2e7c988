"""Guided perturbation as text and as JSON content: the miner's state, its guidance, and trials of both sides."""

from typing import TYPE_CHECKING, Any

from assocpriv.promise.breaches import float_up
from assocpriv.promise.errors import counted

if TYPE_CHECKING:
    from assocpriv.guidance import MinerState, PopulationTrial, Trial


def start_record(state: "MinerState") -> dict[str, Any]:
    """Return a new state as JSON content."""
    plan = state.plan
    return {
        "plan_id": plan.plan_id,
        "attributes": len(plan.attributes),
        "columns": plan.width,
        "classes": dict(zip(plan.labels, state.started.tolist(), strict=True)),
        "report_bytes": plan.report_bytes,
        "amplification": None if plan.amplification is None else float(plan.amplification),
    }


def start_lines(state: "MinerState", output: str, path: str) -> list[str]:
    """Return it as text."""
    plan = state.plan
    bound = (
        "none stated: whoever publishes guidance chooses what is disclosed"
        if plan.promise is None
        else f"γ below {float(plan.promise.amplification_limit):g}, whatever the guidance"
    )
    return [
        f"columns   {counted(len(plan.attributes), 'attribute')}, {counted(plan.width, 'column')} of bits",
        f"classes   {', '.join(plan.labels)}: {int(state.started.sum()):,} tuples to start with",
        f"promise   {bound}",
        f"plan      {output}",
        f"state     {path}",
    ]


def publish_record(state: "MinerState", new: bool) -> dict[str, Any]:
    """Return the current guidance as JSON content."""
    guidance = state.guidance
    assert guidance is not None
    return {
        "plan_id": state.plan.plan_id,
        "serial": guidance.serial,
        "new": new,
        "level": guidance.level,
        "columns": state.plan.width,
        "received": state.tuples,
        "amplification": None if state.ratio is None else float_up(state.ratio),
    }


def publish_lines(state: "MinerState", new: bool, output: str) -> list[str]:
    """Return it as text."""
    guidance = state.guidance
    assert guidance is not None
    again = "" if new else f", as before: {state.plan.batch:,} tuples make a batch"
    return [
        f"guidance  {guidance.serial}{again}",
        f"level     {guidance.level} of {state.plan.width}",
        f"γ         {'infinite' if state.ratio is None else f'at most {float_up(state.ratio):g}'}",
        f"received  {counted(state.tuples, 'tuple')}",
        f"written   {output}",
    ]


def collect_record(state: "MinerState") -> dict[str, Any]:
    """Return what has been collected as JSON content."""
    return {
        "plan_id": state.plan.plan_id,
        "received": state.tuples,
        "classes": dict(zip(state.plan.labels, state.received.tolist(), strict=True)),
        "due": state.is_due,
    }


def collect_lines(state: "MinerState") -> list[str]:
    """Return it as text."""
    shares = ", ".join(f"{name} {count:,}" for name, count in zip(state.plan.labels, state.received, strict=True))
    left = state.published_at + state.plan.batch - state.tuples
    then = "new guidance is due" if state.is_due else f"new guidance after {counted(left, 'further tuple')}"
    return [f"received  {counted(state.tuples, 'tuple')}: {shares}", f"next      {then}"]


def trial_record(trial: "Trial") -> dict[str, Any]:
    """Return a trial as JSON content."""
    return {
        "classifier": trial.request.classifier,
        "columns": trial.plan.width,
        "amplification": None if trial.plan.amplification is None else float(trial.plan.amplification),
        "people": trial.people,
        "held_back": trial.held_back,
        "repeats": trial.request.repeats,
        "original_accuracy": trial.original_accuracy.mean,
        "original_accuracy_std_error": trial.original_accuracy.std_error,
        "majority_accuracy": trial.majority.mean,
        "levels": [
            {
                "level": each.level,
                "mu": each.share,
                "disclosure": each.disclosure.mean,
                "disclosure_std_error": each.disclosure.std_error,
                "disclosure_bound": each.disclosure_bound,
                "information_low": each.information.low,
                "information_high": each.information.high,
                "accuracy": each.accuracy.mean,
                "accuracy_std_error": each.accuracy.std_error,
                "value_error": each.error_of_values.mean,
                "value_error_std_error": each.error_of_values.std_error,
                "pair_error": each.error_of_pairs.mean,
                "pair_error_std_error": each.error_of_pairs.std_error,
                "error_bound": each.error_bound,
            }
            for each in trial.levels
        ],
    }


def trial_lines(trial: "Trial") -> list[str]:
    """Return it as text: a line a level."""
    lines = [
        f"{trial.people:,} people answer, {trial.held_back:,} are held back; {trial.request.repeats} repeats",
        f"accuracy on raw tuples {_percent(trial.original_accuracy)}; of the commonest class {trial.majority.mean:.1%}",
        "",
        f"{'level':>5} {'μ':>6} {'disclosure':>13} {'bound':>6} {'information':>12} {'accuracy':>13} {'error':>6} "
        f"{'bound':>6}",
    ]
    for each in trial.levels:
        told = f"{each.information.low:.0%}–{each.information.high:.0%}"
        if each.information.low == each.information.high:
            told = f"{each.information.low:.1%}"
        worst = max(each.error_of_values.mean, each.error_of_pairs.mean)
        bound = "—" if each.error_bound is None else f"{each.error_bound:.3f}"
        lines.append(
            f"{each.level:>5} {each.share:>6.1%} {_percent(each.disclosure):>13} {each.disclosure_bound:>6.1%} "
            f"{told:>12} {_percent(each.accuracy):>13} {worst:>6.3f} {bound:>6}"
        )
    return lines


def _percent(value: Any) -> str:
    return f"{value.mean:.1%} ± {100 * value.std_error:.1f}"


def population_record(found: "PopulationTrial") -> dict[str, Any]:
    """Return a collection from mixed people as JSON content."""
    return {
        "columns": found.plan.width,
        "groups": [
            {
                "share": float(each.group.share),
                "level": each.group.most_level,
                "people": each.people,
                "at_once": each.at_once,
                "waited": each.waited,
                "mean_wait": each.mean_wait,
                "longest_wait": each.longest_wait,
                "never": each.never,
            }
            for each in found.groups
        ],
        "batches": [
            {"came": each.came, "received": each.received, "level": each.level, "accuracy": each.accuracy}
            for each in found.moments
        ],
    }


def population_lines(found: "PopulationTrial") -> list[str]:
    """Return it as text."""
    lines = [f"{'level':>6} {'people':>8} {'at once':>8} {'waited':>8} {'mean wait':>10} {'longest':>8} {'never':>8}"]
    lines += [
        f"{each.group.most_level:>6} {each.people:>8,} {each.at_once:>8,} {each.waited:>8,} {each.mean_wait:>10,.0f} "
        f"{each.longest_wait:>8,} {each.never:>8,}"
        for each in found.groups
    ]
    lines += ["waits are in people who came meanwhile", "", f"{'came':>8} {'received':>9} {'level':>6} {'accuracy':>9}"]
    tested = [each for each in found.moments if each.accuracy is not None]
    return lines + [f"{each.came:>8,} {each.received:>9,} {each.level:>6} {each.accuracy:>9.1%}" for each in tested]
