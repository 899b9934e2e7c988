"""Plans: what they promise, what so many reports of them can show, how far fake ones move that, why they were chosen.

Any kind of plan through the registry, and all that is said of plans of baskets.
"""

from collections.abc import Mapping
from dataclasses import replace
from math import comb
from typing import TYPE_CHECKING, Any

from assocpriv.planning.baskets import SHORT_BYTES, choose_plan, whole_levels
from assocpriv.planning.discovery import REPORTS, Prospects, foresee
from assocpriv.planning.expected import Sizes
from assocpriv.planning.information import spent
from assocpriv.planning.shortlist import short_catalogue
from assocpriv.plans.catalogue import itemsets_of
from assocpriv.plans.kind import load_for
from assocpriv.plans.operator import MAX_TRANSACTION_SIZE
from assocpriv.promise.breaches import Breach, epsilon
from assocpriv.server.compare import least_differences
from assocpriv.show.figures import fields, finite, plain
from assocpriv.show.promises import LEVEL, promise_content, promise_facts
from assocpriv.show.record import Column, Facts, Part, Record, Say, Table, write

if TYPE_CHECKING:
    from assocpriv.planning.baskets import Choice
    from assocpriv.planning.discovery import Found
    from assocpriv.planning.shortlist import Refinement
    from assocpriv.plans.baskets import Plan
    from assocpriv.plans.question import Question

LOWEST = "lowest_discoverable_support"
_MORE = tuple(10**k for k in range(3, 9))  # reports that may show more, or this promise does
_LENIENT = Breach("1%", "50%")
_RECORDS = (
    "each basket seems to hold {record_size:#item}, as records of {record_size} columns do: --transaction-size "
    "{record_size} makes a plan that fits them"
)
_LONG_RECORDS = (
    "each basket seems to hold {record_size:#item}, as records of {record_size} columns do: give --mean-size "
    "{record_size}, or ask about fewer columns"
)
_CODES = {"none": "no code (one bit an item)", "bch": "code BCH", "reed-solomon": "code Reed–Solomon"}
_SHORT = "items share held gain pays error"


# ---- any kind


def described(plan: Any, reports: int) -> Record:
    """Return what a plan of any kind promises, and what so many reports of it can show.

    Raises:
        PlanError: plans of its kind are not known here.
    """
    foresee_of, show = (load_for(plan.kind, each, "described") for each in ("planning.foresee", "show.plan"))
    made: Record = show(foresee_of(plan, reports))
    if plan.amplification is not None or "unbounded" in made.content:
        return made
    unbounded = {"amplification": None, "unbounded": plan.unbounded}  # whatever the kind's own words are
    return replace(made, content={**made.content, **unbounded}, parts=[promise_facts(unbounded), *made.parts])


def needed(found: Record, reports: Mapping[int, int | None], support: str) -> Record:
    """Return what is said of a plan, and how many reports of it discover a support, by itemset size."""
    said = [
        f"{{support}} takes {'more than 10^15 reports' if count is None else f'{{reports_needed[{k}]:#report}}'} for "
        f"{itemsets_of(k)}, all together"
        for k, count in reports.items()
    ]
    content = {**found.content, "reports_needed": {str(k): count for k, count in reports.items()}}
    return replace(found, content=content, parts=[*found.parts, Facts([("discover", said)], {"support": support})])


# ---- baskets


def plan(prospects: Prospects) -> Record:
    """Return what a plan promises and what so many reports of it can show, with everything."""
    content = _plan_content(prospects)
    return Record(content, [*_plan_parts(content), *_limit_parts(prospects, content)], "Plan")


def _plan_content(prospects: Prospects) -> dict[str, Any]:
    plan = prospects.plan
    return promise_content(plan) | fields(plan.items, "transaction_size itemset_size") | {
        "items": plan.n_items,
        "questions": [_question(question, plan) for question in plan.questions],
        "reports": prospects.reports,
        "candidates": {str(k): comb(plan.n_items, k) for k in prospects.discoverable.lowest},
        LOWEST: finite(prospects.discoverable.lowest),
        LEVEL: finite(prospects.discoverable.level),
        "influence": {"targets_at_once": prospects.most_targets, "itemsets": plain(prospects.liars)},
        "forged_sizes": plain(prospects.forged),
    }  # fmt: skip


def _question(question: "Question", plan: "Plan") -> dict[str, Any]:
    """Return what a question asks, of which share of the people, and how it is answered."""
    is_fixed = question.operator.kind == "fixed-size"
    return fields(question, "amplification report_bits") | fields(question.operator, "pattern") | {
        "asks": question.view.asks(question.transaction_size),
        "view": question.view.to_json(),
        "share": float(plan.share(question)),
        "operator": question.operator.kind,
        "default_probability": None if is_fixed else plain(question.independent.default_probability),
        "report_size": question.fixed.report_size if is_fixed else None,
        "code": question.generator.kind,
    }  # fmt: skip


def _plan_parts(content: Mapping[str, Any]) -> list[Part]:
    """Say what a plan promises, how long a report is and what is asked."""
    questions = [
        f"{{questions[{n}][share]:given}} of the people say {{questions[{n}][asks]}}"
        for n in range(len(content["questions"]))
    ]
    return [
        Facts([("plan", [
            "{plan_id}",
            "asks about {items:#item}; a basket is sampled or padded to {transaction_size}, which hides its size",
        ])]),
        promise_facts(content),
        Facts([("report", ["{report_bytes:#byte}"]), *([("questions", questions)] if len(questions) > 1 else [])]),
    ]  # fmt: skip


def _limit_parts(prospects: Prospects, content: Mapping[str, Any]) -> list[Part]:
    """Say how items are randomized, which support can be detected at least, and what fake reports do to that."""
    plan = prospects.plan
    asked = f"questions[{plan.questions.index(plan.items)}]"
    how = {
        "select-a-size": f"default probability {{{asked}[default_probability]}}",
        "fixed-size": f"each report shows {{{asked}[report_size]:#item}}",
    }[plan.items.operator.kind]
    code = "the number of a set" if plan.items.operator.kind == "fixed-size" else _CODES[plan.items.generator.kind]
    nothing = ["γ of answers about items is 1: they tell nothing of any basket, and so of no itemset"]
    operator = [
        f"{{{asked}[operator]}}, {how}, {code}, {{{asked}[report_bits]:#bit}}, γ ≤ {{{asked}[amplification]:up}}",
        f"of j = 0 … {{transaction_size}} kept items the likelier numbers are marked 1: {{{asked}[pattern]}}",
        *nothing * (plan.items.amplification == 1),
    ]
    rows = [
        {"name": itemsets_of(int(k)), "count": count, "chosen": content[LOWEST][k], "all": content[LEVEL][k]}
        for k, count in content["candidates"].items()
    ]
    return [
        Facts([("operator", operator)]),
        "Smallest support you can detect from {reports:#report}, within {transaction_size:#sampled item} of a basket:",
        Table(
            [Column("one itemset chosen beforehand", "{chosen:least}"), Column("searching all", "{all:least}"),
             Column("itemsets", "{name} ({count:#})", "name")],
            rows,
        ),
        "searching all: fewer than one false find in 100 collections",
        *_fake_parts(content),
    ]  # fmt: skip


def _fake_parts(content: Mapping[str, Any]) -> list[Part]:
    """Say how far fake reports among N move supports, of the itemsets that move furthest, and undoing the sampling."""
    known = {k: each for k, each in content["influence"]["itemsets"].items() if each}
    if not known:
        return []
    one = max(known, key=lambda k: known[k]["one_report"])
    moved = [(abs(end), k, n) for k, each in known.items() for n, end in enumerate(each["one_percent"])]
    _, hundredth, end = max(moved)
    person = f" (all of one person by {{influence[itemsets][{one}][one_person]:points}})"
    said: list[Part] = [
        f"Fake reports: one shifts a support by at most {{influence[itemsets][{one}][one_report]:points}}"
        f"{person * (content['reports_per_person'] > 1)}; 1% of them by "
        f"{{influence[itemsets][{hundredth}][one_percent][{end}]:points}}. One can show "
        "{influence[targets_at_once]:#item} at once."
    ]
    if content["forged_sizes"]:
        k = max(content["forged_sizes"][0]["factors"], key=int)
        usual, *forged = [
            f"by {{forged_sizes[{n}][factors][{k}]:number}}"
            + f" if {{forged_sizes[{n}][share]:support}} do" * (n > 0)
            + ", which is noticed" * each["noticed"]
            for n, each in enumerate(content["forged_sizes"])
        ]
        said.append(
            f"Undoing the sampling multiplies the support of {itemsets_of(int(k))} {usual}. Fake reports may say that "
            f"their baskets are of the largest class: then {', '.join(forged)}."
        )
    return said


# ---- the choice of a plan


def choice(choice: "Choice", found: "Found | None" = None, *, verbose: bool = False) -> Record:
    """Return what was looked for, the plan, what was assumed for it, what is expected and what else could be done."""
    plan, sizes, short = choice.plan, choice.request.sizes, short_catalogue(choice)
    prospects, believed = foresee(plan, choice.reports, forged=False), finite(whole_levels(plan, choice.reports, sizes))
    told, costs = spent(plan), choice.short_costs
    content = _plan_content(prospects) | {
        "assumed_sizes": {"source": sizes.source, "mean": round(sizes.mean, 6)},
        "record_size": choice.request.record_size,
        "other_means": [{"mean": mean, "transaction_size": m} for mean, m in choice.other_means.items()],
        "expected": {
            str(k): fields(each) | {"error": each.total, "believed_from": believed[str(k)]}
            for k, each in choice.expected.items()
        },
        "eight_bytes_cost": costs and plain(costs - 1),
        "spent": plain(told),
        "spent_in_all": told and sum(told.values()),
        "short_catalogue": short and fields(short, _SHORT),
    }
    noise = {k: each.noise for k, each in choice.expected.items()}
    content["untold"] = [k for k, each in choice.expected.items() if each.total >= each.support]
    content["differences"] = {
        str(k): size if size < 1 else None for k, size in least_differences(noise, plan.n_items).items()
    }
    parts: list[Part] = []
    if found is not None:
        limit = found.promise.amplification_limit
        content["find"] = fields(found, "support size solved") | {"epsilon": epsilon(limit)}
        parts.append(_found(found))
    parts += _plan_parts(content)
    if choice.request.paper or verbose:
        parts += _limit_parts(prospects, content)
    if not choice.request.paper:
        parts += [*_expected(choice, content), *_short(choice, content)]
    if verbose and told is not None and not choice.request.paper:
        by_size = ", ".join(f"{itemsets_of(k)} {{spent[{k}]:.0%}}" for k in told)
        parts.append(Facts([("bound", [
            f"spends {{spent_in_all:.0%}} of what any local method with this promise could tell: {by_size}"
        ])]))  # fmt: skip
    return Record(content, parts, "Plan")


def _found(found: "Found") -> Facts:
    """Say which reports or which promise a support needs."""
    what = f"to find all {itemsets_of(found.size)} in {{find[support]:to}} of baskets"
    if found.solved == REPORTS:
        return Facts([("need", [f"about {{reports:#report}}, {what}"])])
    promise = "ε {find[epsilon]:.2f}, {promise[prior]:from} → {promise[posterior]:to}"
    return Facts([("need", [f"{promise}, {what} with {{reports:#report}}"])])


def _expected(choice: "Choice", content: Mapping[str, Any]) -> list[Part]:
    """Say how large baskets are taken to be, and what is expected of usual itemsets."""
    said = [{
        "usual": "assumed: baskets of {assumed_sizes[mean]:.3g} items on average (say --mean-size, the different "
        "items on a receipt)",
        "mean": "baskets of {assumed_sizes[mean]:.3g} items on average, as told; their spread is assumed",
        "sample": "baskets as in the sample, of {assumed_sizes[mean]:.3g} items on average",
    }[choice.request.sizes.source]]  # fmt: skip
    if len(choice.request.transaction_sizes) > 1:
        others = " and ".join(
            f"{{other_means[{n}][transaction_size]}} for {{other_means[{n}][mean]:.3g}}"
            for n in range(len(choice.other_means))
        )
        said.append(f"at most {{transaction_size}} of a basket are sampled; it would be {others} items on average")
    if content["record_size"] not in (None, content["transaction_size"]):
        said.append(_RECORDS if content["record_size"] <= MAX_TRANSACTION_SIZE else _LONG_RECORDS)
    rows = [{"name": itemsets_of(int(k)), **each} for k, each in content["expected"].items()]
    columns = [
        Column("of a usual support", "{support:.1%}"), Column("± error", "{error:.2%}"),
        Column("by noise", "{noise:.2%}"), Column("by undoing", "{undoing:.2%}"),
        Column("all believed from", "{believed_from:least}"), Column("itemsets", "{name}", "name"),
    ]  # fmt: skip
    untold = " and ".join(itemsets_of(k) for k in content["untold"])
    few = f"{{reports:#report}} cannot tell usual {untold}: the error is as large as the support, or larger"
    parts: list[Part] = [
        Facts([("sizes", said)]),
        Table(columns, rows, "Expected from {reports:#report}, in whole baskets:"),
        *[Facts([("too few", [few])])] * bool(untold),
    ]
    shown = [
        f"{{differences[{k}]:points}} of {itemsets_of(int(k))}" for k, size in content["differences"].items() if size
    ]
    if shown:
        told = f"two such collections show differences from {', '.join(shown)} on for certain, in four of five cases"
        parts.append(Facts([("compare", [told])]))
    return parts


def _short(choice: "Choice", content: Mapping[str, Any]) -> list[Part]:
    """Say what shorter reports would cost, and what a short catalogue would gain."""
    parts: list[Part] = []
    if choice.short_costs is not None and choice.plan.items.report_bits > 8 * SHORT_BYTES:
        costs = "would have errors larger by {eight_bytes_cost:.0%}"
        said = costs if content["eight_bytes_cost"] is not None else "are not enough for any design"
        parts.append(Facts([("shorter", [f"reports of {SHORT_BYTES} bytes {said}"])]))
    short = content["short_catalogue"]
    if short and short["pays"]:
        parts.append(Facts([("best sold", [
            "asking only about the {short_catalogue[items]:#} best sold items makes errors of pairs "
            "{short_catalogue[error]:.0%} as large, if {short_catalogue[share]:.0%} of sales are theirs (Zipf's law):",
            "`assocpriv catalogue --sales sales.csv --best {short_catalogue[items]} -o best.txt`",
            "`assocpriv plan --catalogue best.txt --others drop --mean-size {short_catalogue[held]:.2g} …`",
        ])]))  # fmt: skip
    return parts


# ---- least supports


def least_pairs(choice: "Choice") -> str:
    """Say from which support on pairs can be believed, single items where none are asked for; as in the table."""
    return _least_said(choice.plan, _least_level(choice.plan, choice.reports, choice.request.sizes))


def _least_level(plan: "Plan", reports: int, sizes: Sizes) -> float:
    return whole_levels(plan, reports, sizes)[min(2, plan.items.itemset_size)]


def _least_said(plan: "Plan", level: float, field: str = "") -> str:
    """Say it, or return the template that does, of the field that holds it."""
    name = itemsets_of(min(2, plan.items.itemset_size))
    if level >= 1:
        return f"no {name} (too few people)"
    return f"{name} from {f'{{{field}:least}}' if field else write(level, 'least')} on"


def nothing_found(plan: "Plan", reports: int) -> Record:
    """Return what can be believed of so many reports, and what more of them, or a weaker promise, would show.

    Baskets are taken to be as large as usual, as a plan does not hold the sizes that it was made for.
    """
    sizes = Sizes.usual(plan.n_items)
    level = _least_level(plan, reports, sizes)
    content: dict[str, Any] = {"reports": reports, "believed_from": level if level < 1 else None}
    found = _least_said(plan, level, "believed_from")
    said = [
        f"nothing can be told from noise; of baskets of {sizes.mean:.3g} items {{reports:#report}} can show {found}"
    ]
    tried = ((n, _least_level(plan, n, sizes)) for n in _MORE if n > 2 * reports)
    more = next(((n, each) for n, each in tried if each < min(1, level)), None)
    if more is not None:
        content["more"] = {"reports": more[0], "believed_from": more[1]}
        said.append(f"{{more[reports]:#report}} would show {_least_said(plan, more[1], 'more[believed_from]')}")
    if plan.promise.amplification_limit < _LENIENT.amplification_limit:
        weaker = choose_plan(plan.n_items, _LENIENT, reports=reports, itemset_size=plan.items.itemset_size)
        level = _least_level(weaker.plan, reports, weaker.request.sizes)
        content["lenient"] = level if level < 1 else None
        told = _least_said(weaker.plan, level, "lenient")
        said += [f"the promise 1% → 50% would show {told}, for less privacy"] if level < 1 else []
    return Record(content, said)


# ---- a plan for other people


def refinement(refinement: "Refinement") -> Record:
    """Return a plan of a short catalogue, whether it pays, and what it means for whoever answers both."""
    plan, before = refinement.plan, refinement.before
    prospects = foresee(plan, refinement.reports, forged=False)
    content = _plan_content(prospects) | {
        "before": before.plan_id,
        "short_catalogue": fields(refinement.short, _SHORT),
        "both": {
            "reports": before.reports_per_person,
            "epsilon": epsilon(refinement.amplification_limit),
            **fields(refinement, "amplification_limit highest_posterior lowest_posterior"),
        },
    }
    verdict = "DOES NOT PAY: ask other people what the first were asked, and mine the reports of all together"
    if refinement.short.pays:
        verdict = "pays: errors of pairs are {short_catalogue[error]:.0%} of those of the first plan for as many people"
    both = [
        "γ < {both[amplification_limit]:up}, ε ≤ {both[epsilon]:up}; {promise[prior]:from} becomes at most "
        "{both[highest_posterior]:to}, not {promise[posterior]:to}",
        *["that holds for {both[reports]:#report} of each plan"] * (before.reports_per_person > 1),
        "each further answer multiplies γ again",
    ]
    parts: list[Part] = [
        Say(verdict, kind="answer"),
        "for OTHER people than those of plan {before:id}",
        *_plan_parts(content),
        Facts([
            ("catalogue", ["{short_catalogue[items]:#item}; {short_catalogue[share]:.0%} of all items bought are of "
                           "these, {short_catalogue[held]:.3g} in a basket on average"]),
            ("both plans", ["whoever answers both tells more:", *both]),
        ]),
        *_limit_parts(prospects, content),
    ]  # fmt: skip
    return Record(content, parts, "Plan for other people")
