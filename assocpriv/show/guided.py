"""Guided perturbation, as text for a person or as JSON content.

What a plan promises (figures of privacy err against us), the miner's state and its guidance, what came of answering
guidance, and trials of both sides.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from assocpriv.plans.tables import shortened
from assocpriv.promise.breaches import epsilon, float_up, format_fraction, highest_posterior
from assocpriv.promise.errors import counted
from assocpriv.show.figures import becomes, fields, figure, figure_up, percent_as_given, percent_within
from assocpriv.show.plans import Description, promise_record
from assocpriv.simulation.guided import Measured, PopulationTrial, Trial

if TYPE_CHECKING:
    from assocpriv.client.waiting import AnswerCounts
    from assocpriv.planning.tables import GuidedFacts
    from assocpriv.plans.guided import GuidedPlan
    from assocpriv.server.guided import MinerState

_INDENT = " " * 12
_LEGEND = (
    "disclosure: share of the squared norm of tuples that is released",
    "information: share of what a tuple tells that its release tells, or bounds of it",
    "error: the largest, over values and pairs, of the difference between classes",
    "bound: what the paper states for disclosure and for error; both can fail",
)


# ---- plans


def plan_record(facts: "GuidedFacts") -> dict[str, Any]:
    """Return what a plan promises, for ``--json``."""
    plan, gamma, together = facts.plan, facts.plan.amplification, facts.plan.composed_amplification
    share = facts.random_share
    return {
        "plan_id": plan.plan_id,
        "plan_kind": plan.kind,
        "promise": plan.promise and promise_record(plan.promise),
        "amplification_limit": plan.promise and format_fraction(plan.promise.amplification_limit),
        "amplification": gamma and format_fraction(gamma),
        "epsilon": None if gamma is None else epsilon(gamma),
        "composed_amplification": together and format_fraction(together),
        **fields(plan, "keep reports_per_person uncovered report_bytes width batch order"),
        "random_share": None if share is None else float(share),
        "mu": float(plan.mu),
        "class": {"name": plan.label.name, "labels": list(plan.labels)},
        "attributes": [{"name": column.name, "values": column.inputs} for column in plan.attributes],
        "reports": facts.reports,
        "guidances": facts.guidances,
    }


def plan_lines(facts: "GuidedFacts") -> list[str]:
    """Say what a plan promises."""
    plan = facts.plan
    names = [column.name for column in plan.attributes]
    order = "magnitude" if plan.order == "magnitude" else "value, as the paper prints it"
    return [
        f"plan        {plan.plan_id}",
        f"{_INDENT}{counted(len(names), 'attribute')} of {plan.width} values; a report has "
        f"{counted(plan.report_bytes, 'byte')}",
        *_promise_lines(facts),
        f"attributes  {shortened(names)}",
        f"in clear    the class {plan.label.name}: {shortened(plan.labels)}",
        f"guidance    of eigenvalues above {percent_as_given(float(plan.mu))} of the largest, by {order};",
        f"{_INDENT}new after every {counted(plan.batch, 'report')}, {counted(facts.guidances, 'time')} in "
        f"{counted(facts.reports, 'report')}",
    ]


def _promise_lines(facts: "GuidedFacts") -> list[str]:
    plan, promise = facts.plan, facts.plan.promise
    gamma, together = plan.amplification, plan.composed_amplification
    if gamma is None or together is None or promise is None:
        return []
    who = "no report lifts a" if plan.reports_per_person == 1 else f"{plan.reports_per_person:,} reports lift no"
    lines = [
        f"promise     whatever the guidance: {who} belief from {percent_within(promise.prior, up=False)} to "
        f"{percent_within(promise.posterior, up=True)},",
        f"{_INDENT}{becomes(promise.prior, highest_posterior(promise.prior, together), promise.posterior)}",
        f"{_INDENT}γ < {figure_up(float(promise.amplification_limit))}, ε = ln γ ≤ {figure_up(epsilon(together))}",
    ]
    if plan.reports_per_person > 1:
        lines.append(f"{_INDENT}one report alone: γ ≤ {figure(gamma)}, ε ≤ {figure_up(epsilon(gamma))}")
    return [*lines, f"kept        {_kept(facts)}"]


def _kept(facts: "GuidedFacts") -> str:
    if facts.random_share is None:
        return "by coins in every bit, as many as the guidance needs"
    return f"by {figure(facts.random_share * 100)}% of reports that answer for a random tuple"


# ---- the miner


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


# ---- answers


def answer_record(done: "AnswerCounts", plan: "GuidedPlan") -> dict[str, Any]:
    """Return what was answered, for ``--json``."""
    sent = {"plan_id": plan.plan_id, "sent": done.records, "waiting": 0, "report_bytes": plan.report_bytes}
    return sent | fields(done, "serial level clipped missing waited")


def answer_lines(done: "AnswerCounts", plan: "GuidedPlan", output: Path) -> list[str]:
    """Say what was answered."""
    lines = [
        f"{counted(done.records, 'report')} of {counted(plan.report_bytes, 'byte')} written to {output}: answers to "
        f"guidance {done.serial}, level {done.level}"
    ]
    if done.missing:
        lines.append(f"{counted(sum(done.missing.values()), 'missing value')} drawn uniformly")
    if done.clipped:
        lines.append(f"{counted(done.clipped, 'bit')} had a probability above 1, taken for 1")
    if done.waited:
        lines.append("no record waits any more; their key is gone")
    if plan.amplification is None:
        lines.append(f"no γ: {plan.unbounded}")
    return lines


def waiting_record(waiting: int, plan: "GuidedPlan") -> dict[str, Any]:
    """Return how many records wait, for ``--json``."""
    return {"plan_id": plan.plan_id, "sent": 0, "waiting": waiting}


def waiting_lines(waiting: int, folder: Path, reason: str) -> list[str]:
    """Say why records wait, and where."""
    return [f"{counted(waiting, 'record')} waiting in {folder}, encrypted; nothing was sent", reason]


# ---- trials


def describe_guided(done: Trial | PopulationTrial, _plan: "GuidedPlan", _top: int) -> Description:
    """Return both ways to describe a trial of every level, or of people of mixed caution."""
    if isinstance(done, Trial):
        return Description(lambda: _trial_record(done), lambda: _trial_lines(done))
    return Description(lambda: _population_record(done), lambda: _population_lines(done))


def _trial_record(trial: Trial) -> dict[str, Any]:
    return {
        "plan_id": trial.plan.plan_id,
        "classifier": trial.request.classifier,
        "columns": trial.plan.width,
        "amplification": None if trial.plan.amplification is None else float(trial.plan.amplification),
        "people": trial.people,
        "held_back": trial.held_back,
        "rounds": trial.request.rounds,
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


def _trial_lines(trial: Trial) -> list[str]:
    """Return a line a level."""
    plan, request, levels = trial.plan, trial.request, trial.levels
    wanted = next((each.level for each in levels if each.share <= plan.mu), plan.width)
    whole = next((place for place, each in enumerate(levels, 1) if each.disclosure == Measured(1, 0)), len(levels))
    lines = [
        f"{trial.people:,} people answer, {trial.held_back:,} are held back to test on; {request.rounds} rounds of "
        f"{request.classifier}",
        f"accuracy on raw tuples {_percent(trial.original_accuracy)}; of always saying the commonest class "
        f"{trial.majority.mean:.1%}",
        f"at the plan's μ of {percent_as_given(float(plan.mu))} a miner who knew all tuples would ask for level "
        f"{wanted}",
        "",
        f"{'level':>5} {'μ':>6} {'disclosure':>13} {'bound':>6} {'information':>12} {'accuracy':>13} {'error':>6} "
        f"{'bound':>6}",
    ]
    for each in levels[:whole]:
        told = f"{each.information.low:.0%}–{each.information.high:.0%}"
        if each.information.low == each.information.high:
            told = f"{each.information.low:.1%}"
        worst = max(each.error_of_values.mean, each.error_of_pairs.mean)
        bound = "—" if each.error_bound is None else f"{each.error_bound:.3f}"
        lines.append(
            f"{each.level:>5} {each.share:>6.1%} {_percent(each.disclosure):>13} {each.disclosure_bound:>6.1%} "
            f"{told:>12} {_percent(each.accuracy):>13} {worst:>6.3f} {bound:>6}"
        )
    return [*lines, *(["higher levels disclose everything, too"] if whole < len(levels) else []), "", *_LEGEND]


def _percent(value: Any) -> str:
    return f"{value.mean:.1%} ± {100 * value.std_error:.1f}"


def _population_record(found: PopulationTrial) -> dict[str, Any]:
    return {
        "plan_id": found.plan.plan_id,
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


def _population_lines(found: PopulationTrial) -> list[str]:
    lines = [f"{'level':>6} {'people':>8} {'at once':>8} {'waited':>8} {'mean wait':>10} {'longest':>8} {'never':>8}"]
    lines += [
        f"{each.group.most_level:>6} {each.people:>8,} {each.at_once:>8,} {each.waited:>8,} {each.mean_wait:>10,.0f} "
        f"{each.longest_wait:>8,} {each.never:>8,}"
        for each in found.groups
    ]
    lines += [
        "level: the largest that a group accepts; waits are in people who came meanwhile",
        "",
        f"{'came':>8} {'received':>9} {'level':>6} {'accuracy':>9}",
    ]
    tested = [each for each in found.moments if each.accuracy is not None]
    return lines + [f"{each.came:>8,} {each.received:>9,} {each.level:>6} {each.accuracy:>9.1%}" for each in tested]
