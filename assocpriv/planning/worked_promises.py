"""Promises to choose from, from strict to lenient, and what each costs: from which support on finds can be believed.

Costs are the level's figures (server/estimates/limits.py) of plans that the planner makes, each for its number of
reports, for one shape of baskets. Planning them all takes longer than a person waits, so they lie beside this file; a
test makes every plan again. The verdicts are a judgement, not a result: what people would accept is theirs to say.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from importlib.resources import files
from typing import Any

from assocpriv.planning.request import limit_of_each
from assocpriv.plans.baskets import Plan
from assocpriv.promise.breaches import Breach
from assocpriv.server.estimates.limits import discoverable_supports

VERDICTS = {  # by prior and posterior
    ("5%", "10%"): "very strict: a guess stays a guess",
    ("5%", "20%"): "strict: for what could embarrass",
    ("10%", "50%"): "firm: for habits that are private",
    ("5%", "50%"): "usual here: for everyday shopping",
    ("1%", "50%"): "lenient: for what friends may know",
    ("1%", "90%"): "weak: for what people tell when asked",
}
PEOPLE = (10**4, 10**5, 10**6, 10**7)  # reports
ITEMS, TRANSACTION_SIZE = 1000, 5
WEEKS, WEEKLY_PEOPLE, WEEKLY = 52, 10**6, ("5%", "50%")
COSTS = "worked_promises.json"
Levels = Mapping[int, float]  # the level's figure, by itemset size


@dataclass(frozen=True, slots=True)
class WorkedPromise:
    """A promise, what is said of it, and from which supports on so many reports can be believed."""

    promise: Breach
    verdict: str
    levels: Mapping[int, Levels]


@dataclass(frozen=True, slots=True)
class WeeklyWay:
    """A way to collect every week of a year under one promise: plans, reports of a person, reports of a week.

    ``covered``: how many reports of one person the plan's promise is for; ``reports``: how many each person sends.
    """

    covered: int
    reports: int
    weekly_reports: int
    levels: Levels

    @property
    def each_limit(self) -> Fraction:
        """The γ that every report stays below."""
        return limit_of_each(Breach(*WEEKLY), self.covered)

    @property
    def limit(self) -> Fraction:
        """The γ that all reports of a person together stay below: that of the promise, if it covers all."""
        return Breach(*WEEKLY).amplification_limit ** max(1, self.reports // self.covered)


@dataclass(frozen=True, slots=True)
class WorkedPromises:
    """Promises from strict to lenient, and ways to collect every week under the usual one; or a plan's promise."""

    promises: tuple[WorkedPromise, ...]
    weekly: tuple[WeeklyWay, ...]
    plan: Plan | None = None


def explain_promises(plan: Plan | None = None) -> WorkedPromises:
    """Return promises to choose from with their costs, for 1,000 items and at most 5 a transaction; or a plan's own.

    Of a plan there is its promise alone, with what its own reports cost, and where it stands among the others.
    """
    return _worked_promises() if plan is None else WorkedPromises((_promise_of(plan),), (), plan)


def _promise_of(plan: Plan) -> WorkedPromise:
    limit, known = plan.promise.amplification_limit, [(Breach(*levels), levels) for levels in VERDICTS]
    stricter = [" → ".join(levels) for each, levels in known if each.amplification_limit < limit]
    weaker = [" → ".join(levels) for each, levels in known if each.amplification_limit > limit]
    equal = [VERDICTS[levels] for each, levels in known if each.amplification_limit == limit]
    verdict = equal[0] if equal else f"stricter than {weaker[0]}" if weaker else "weaker than all that are shown"
    if stricter and weaker and not equal:
        verdict = f"weaker than {stricter[-1]}, {verdict}"
    return WorkedPromise(plan.promise, verdict, {n: levels_of(plan, n) for n in PEOPLE})


def _worked_promises() -> WorkedPromises:
    content = json.loads(files("assocpriv.planning").joinpath(COSTS).read_text(encoding="utf-8"))
    costs = {Case(**row.pop("case")): {int(k): level for k, level in row["level"].items()} for row in content}
    promises = tuple(
        WorkedPromise(Breach(*levels), verdict, {n: costs[Case(*levels, 1, n)] for n in PEOPLE})
        for levels, verdict in VERDICTS.items()
    )
    ways = [(1, WEEKS, WEEKLY_PEOPLE), (WEEKS, WEEKS, WEEKLY_PEOPLE), (1, 1, WEEKLY_PEOPLE // WEEKS)]
    weekly = (WeeklyWay(r, each, n, costs[Case(*WEEKLY, r, n)]) for r, each, n in ways)
    return WorkedPromises(promises, tuple(weekly))


@dataclass(frozen=True, slots=True)
class Case:
    """A plan to make, and for how many reports."""

    prior: str
    posterior: str
    reports_per_person: int
    reports: int


def cases() -> Iterator[Case]:
    """Yield all cases of the file of costs, in its order."""
    for prior, posterior in VERDICTS:
        for reports in PEOPLE:
            yield Case(prior, posterior, 1, reports)
    yield Case(*WEEKLY, WEEKS, WEEKLY_PEOPLE)
    yield Case(*WEEKLY, 1, WEEKLY_PEOPLE // WEEKS)


def compute_cost(case: Case) -> dict[str, Any]:
    """Return a row of the file of costs, six digits of each rounded up, by making the plan."""
    from assocpriv.planning.planner import make_plan

    promise = Breach(case.prior, case.posterior)
    plan = make_plan(ITEMS, TRANSACTION_SIZE, promise, reports=case.reports, reports_per_person=case.reports_per_person)
    levels, six_up = levels_of(plan, case.reports), Context(prec=6, rounding=ROUND_CEILING)
    return {
        "case": asdict(case),
        "level": {str(k): float(six_up.create_decimal(repr(float(cost)))) for k, cost in levels.items()},
    }


def levels_of(plan: Plan, reports: int) -> Levels:
    """Return from which supports on so many reports of a plan can be believed."""
    return discoverable_supports(plan, reports).level
