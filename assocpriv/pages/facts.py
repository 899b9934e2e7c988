"""What the operator's page says of a collection: the answer first, then the promise and what each kind shows."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assocpriv.pages.analysis import Answer
from assocpriv.pages.kinds import AUTO, KINDS, NEXT_PLAN, Wishes, first_error
from assocpriv.pages.wording import belief, figure_up, pace, share, size_name, span
from assocpriv.plans.kind import parse_plan
from assocpriv.plans.published import PublishedPlan
from assocpriv.promise.breaches import epsilon
from assocpriv.promise.errors import counted

_MOST_FILES = 100
_LEAST_SPAN = 120.0  # seconds, of fewer it is said how many they are


def collection_facts(
    plan: PublishedPlan,
    folder: Path,
    counts: Mapping[str, Any],
    answer: Answer | None,
    rate: tuple[float, float] | None,
    wishes: Wishes,
) -> dict[str, Any]:
    """Return what a page shows of a collection; ``rate`` is reports a second, and of how many seconds."""
    kind = KINDS.get(plan.kind)
    view = {} if kind is None or answer is None else kind.view(answer, rate and rate[0])
    sealed = sorted(folder.glob("[!.]*.parquet"))
    return {
        "reports": counted(counts["reports"], "report"),
        "none_yet": not counts["reports"],
        "pace": "" if rate is None else _pace_line(*rate),
        "answer": _answer_line(view, is_wanted=wishes.support != AUTO),
        "promise": promise_sentences(plan),
        "view": view,
        "is_wanted": wishes.support != AUTO,
        "computed_of": None if answer is None else counted(view.get("reports", answer.reports), "report"),
        "template": None if kind is None else kind.template,
        "guidance": counts.get("guidance"),
        "unsealed": counts["reports"] - counts["sealed"],
        "files": [(path.name, _bytes(path.stat().st_size)) for path in sealed[:_MOST_FILES]],
        "more_files": max(len(sealed) - _MOST_FILES, 0),
        "folder": str(folder),
    }


def round_facts(answer: Answer | None) -> dict[str, Any]:
    """Return what a page shows of a proposed next round: its promise, and what it is expected to see."""
    if answer is None or NEXT_PLAN not in answer.files:
        return {"proposal": None, "error": "" if answer is None else first_error(answer)}
    plan, record = parse_plan(answer.files[NEXT_PLAN].decode("utf-8")), answer.records["plan"]
    least = record["level_discoverable_support"].items()
    return {
        "proposal": {
            "id": plan.plan_id,
            "entries": counted(record["items"], "entry").replace("entrys", "entries"),
            "reports": counted(record["reports"], "person").replace("persons", "people"),
            "promise": promise_sentences(plan),
            "sharp": [(size_name(int(k)), share(value)) for k, value in least],
        },
        "error": "",
    }


def promise_sentences(plan: PublishedPlan) -> list[str]:
    """Say what a plan promises, in words, and what lies outside it."""
    sentences = []
    if plan.promise is not None:
        before, after = belief(plan.promise.prior, up=False), belief(plan.promise.posterior, up=True)
        seen = "all that the person sends" if plan.reports_per_person > 1 else "the person’s report"
        sentences.append(
            f"Somebody thinks that something about a person is {before} likely, and then sees {seen}: that cannot make "
            f"it {after} likely, whatever the thing is, and whatever else is known."
        )
    gamma = plan.amplification
    if gamma is None:
        sentences.append(f"{plan.unbounded[:1].upper()}{plan.unbounded[1:]}.")
    else:
        sentences.append(
            f"In figures: γ is at most {figure_up(float(gamma))} and ε at most {figure_up(epsilon(gamma))}, for each "
            f"report; a person may send {counted(plan.reports_per_person, 'report')}."
        )
    if plan.uncovered:
        sentences.append(f"Outside the promise: {plan.uncovered}.")
    return sentences


def bound_clause(plan: PublishedPlan | None) -> str:
    """Say, after that a page tells no more of a person than the report did, whether a promise bounds that."""
    if plan is None:
        return ", and that is what its plan’s promise bounds (see above)"
    if plan.amplification is None:
        return "; but no promise bounds that (see above)"
    if plan.uncovered:
        return ", and the promise bounds that, but for what lies outside it (see above)"
    return ", and that is what the promise bounds"


def _answer_line(view: Mapping[str, Any], *, is_wanted: bool) -> str:
    """Return the sentence that the page leads with: what can be told now, or when what is wanted can."""
    sharp = view.get("sharp")
    if not sharp:
        return ""
    can = [f"{row['size']} from {row['all']}" for row in sharp if row["all"] != "none"]
    if is_wanted and sharp[0]["when"]:
        late = [row for row in sharp if not row["reached"]]
        if not late:
            return "Sharp enough: every itemset of the support that you want can be told."
        takes = ", ".join(f"{row['size']} {_reports(row['needed'])}" for row in late)
        last = max(late, key=lambda row: math.inf if row["needed"] is None else row["needed"])
        return f"Not sharp enough yet. It takes, for {takes}. When: {last['when']}."
    return f"Can be told now: {', '.join(can)}." if can else "Nothing can be decided yet: more reports are needed."


def _reports(needed: int | None) -> str:
    return "more reports than anybody has" if needed is None else f"{needed:,} reports"


def _pace_line(per_second: float, seconds: float) -> str:
    measured = span(seconds).removeprefix("about ") if seconds >= _LEAST_SPAN else f"{seconds:.0f} seconds"
    if per_second <= 0:
        return f"No reports came in the last {measured}."
    return f"Reports come at {pace(per_second)}, over the last {measured}."


def _bytes(size: int) -> str:
    for unit, length in (("GB", 10**9), ("MB", 10**6), ("kB", 1000)):
        if size >= length:
            return f"{size / length:.1f} {unit}"
    return counted(size, "byte")
