"""Plans as results: what people send, the guarantee, what N reports can detect, and why the plan was chosen.

Plans of any type go through the registry; the rest of this module is for plans of baskets.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import comb
from typing import TYPE_CHECKING, Any

from assocpriv.estimation.supports import detectable_differences
from assocpriv.guarantees.amplification import Guarantee, epsilon_from_amplification
from assocpriv.planning.basket_planner import SHORT_BYTES, choose_plan, whole_basket_thresholds
from assocpriv.planning.detection_limits import REPORTS, Forecast, forecast
from assocpriv.planning.expected_error import BasketSizes
from assocpriv.planning.information_spent import information_shares
from assocpriv.planning.plan_parts import FORECAST
from assocpriv.plans.baskets.catalogue import name_itemsets
from assocpriv.plans.baskets.operator import MAX_TRANSACTION_SIZE
from assocpriv.plans.registry import Entry
from assocpriv.show.guarantee_views import CENTRAL_TOGETHER, central_together, guarantee_content, guarantee_facts
from assocpriv.show.number_format import fields, finite, plain
from assocpriv.show.privacy_views import LEVEL
from assocpriv.show.result_record import Column, Facts, Part, Record, Section, Table, write

if TYPE_CHECKING:
    from assocpriv.planning.basket_planner import PlannedCollection, TwoRounds
    from assocpriv.planning.collection_rounds import NextRound
    from assocpriv.planning.detection_limits import PlanForDetection
    from assocpriv.plans.baskets.basket_plan import Plan
    from assocpriv.plans.baskets.report_type import ReportType

LOWEST = "detectable_support"
_SHOW_PLAN: Entry[Callable[[Any], Record]] = Entry("show_plan", "described")
_MORE = tuple(10**k for k in range(3, 9))  # numbers of reports to try where nothing was found
_LENIENT = Guarantee("1%", "50%")
_LEAST_MEAN, _CLEARLY = 0.1, 0.8  # items; times the threshold
_RECORDS = (
    "every basket seems to hold {record_size:#item}, like records of {record_size} columns: `--transaction-size "
    "{record_size}` makes a plan that fits them"
)
_LONG_RECORDS = (
    "every basket seems to hold {record_size:#item}, like records of {record_size} columns: give `--mean-size "
    "{record_size}`, or use fewer columns"
)
_CODES = {"none": "no code (one bit an item)", "bch": "code BCH", "reed-solomon": "code Reed–Solomon"}
_LEGEND = (
    "detectable support: for one itemset chosen beforehand. detection threshold: for a search over all itemsets of the "
    "size, with at most one false detection in 100 collections."
)


# ---- any kind


def described(plan: Any, reports: int) -> Record:
    """Return the guarantee of a plan of any type, and what N reports of it can detect.

    Raises:
        PlanError: plans of its kind are not known here.
    """
    made = _SHOW_PLAN.of(plan.kind)(FORECAST.of(plan.kind)(plan, reports))
    if plan.amplification is not None or "unbounded" in made.content:
        return made
    unbounded = {"amplification": None, "unbounded": plan.unbounded}  # whatever the kind's own words are
    return replace(made, content={**made.content, **unbounded}, parts=[guarantee_facts(unbounded), *made.parts])


def needed(found: Record, reports: Mapping[int, int | None], support: str) -> Record:
    """Return a plan's record with the number of reports that detects a support, by itemset size."""
    rows = [
        {"name": name_itemsets(k), "reports": "more than 10^15" if count is None else f"{count:,}"}
        for k, count in reports.items()
    ]
    table = Table(
        [Column("itemsets", "{name}", "text"), Column("reports needed", "{reports}")],
        rows, f"Reports needed to detect a support of {support} in a search over all itemsets of a size:",
    )  # fmt: skip
    content = {**found.content, "reports_needed": {str(k): count for k, count in reports.items()}}
    return replace(found, content=content, parts=[*found.parts, table])


# ---- baskets


def plan(prospects: Forecast) -> Record:
    """Return all about a plan: the guarantee, and what N reports of it can detect."""
    content = _plan_content(prospects)
    return Record(content, [*_plan_parts(content), *_limit_parts(prospects, content)], "Plan")


def _plan_content(prospects: Forecast) -> dict[str, Any]:
    plan = prospects.plan
    return guarantee_content(plan) | fields(plan.items, "transaction_size itemset_size") | {
        "items": plan.n_items,
        "report_types": [_report_type(report_type, plan) for report_type in plan.report_types],
        "reports": prospects.reports,
        "candidates": {str(k): comb(plan.n_items, k) for k in prospects.detectable.chosen},
        LOWEST: finite(prospects.detectable.chosen),
        LEVEL: finite(prospects.detectable.threshold),
        "manipulation_limits": {
            "targets_at_once": prospects.max_targets, "itemsets": plain(prospects.manipulation_limits)
        },
        "manipulated_sizes": plain(prospects.manipulated_sizes),
    }  # fmt: skip


def _report_type(report_type: "ReportType", plan: "Plan") -> dict[str, Any]:
    """Return what a report type asks, of which share of the people, and how it is answered."""
    is_fixed = report_type.operator.kind == "fixed-size"
    return fields(report_type, "amplification report_bits") | fields(report_type.operator, "pattern") | {
        "content": report_type.view.describe(report_type.transaction_size),
        "view": report_type.view.to_json(),
        "share": float(plan.share(report_type)),
        "operator": report_type.operator.kind,
        "default_probability": None if is_fixed else plain(report_type.independent.default_probability),
        "report_size": report_type.fixed.report_size if is_fixed else None,
        "code": report_type.generator.kind,
    }  # fmt: skip


def _plan_parts(content: Mapping[str, Any]) -> list[Part]:
    """Return what people send, and the guarantee."""
    rows = [f"{{report_types[{n}][share]:given}} of reports: {{report_types[{n}][content]}}"
            for n in range(len(content["report_types"]))]  # fmt: skip
    return [
        Section("What people send", [Facts([
            ("report", ["{report_bytes:#byte}, randomized on the device. A larger basket is cut to {transaction_size} "
                        "of its items; a smaller one is padded with blanks, so that all reports have one length."]),
            ("contents", rows),
            ("plan id", ["{plan_id}"]),
        ])]),
        Section("Privacy guarantee", [guarantee_facts(content)]),
    ]  # fmt: skip


def _limit_parts(prospects: Forecast, content: Mapping[str, Any]) -> list[Part]:
    """Return how items are randomized, the smallest detectable supports, and what manipulated reports change."""
    plan = prospects.plan
    asked = f"report_types[{plan.report_types.index(plan.items)}]"
    how = {
        "select-a-size": f"default probability {{{asked}[default_probability]}}",
        "fixed-size": f"each report shows {{{asked}[report_size]:#item}}",
    }[plan.items.operator.kind]
    code = "the rank of a set" if plan.items.operator.kind == "fixed-size" else _CODES[plan.items.generator.kind]
    nothing = ["γ is 1: a report is independent of the basket, so no support can be estimated"]
    operator = [
        f"{{{asked}[operator]}}, {how}, {code}, {{{asked}[report_bits]:#bit}}, γ ≤ {{{asked}[amplification]:up}}",
        f"numbers of kept items, 0 … {{transaction_size}}, with the higher probability (1): {{{asked}[pattern]}}",
        *nothing * (plan.items.amplification == 1),
    ]
    limits = [*_detectable_parts(content), *_manipulation_parts(content)]
    return [Facts([("operator", operator)]), Section("", limits)]


def limits(prospects: Forecast) -> Record:
    """Return by itemset size what a number of reports can detect."""
    content = _plan_content(prospects)
    return Record(content, _detectable_parts(content))


def _detectable_parts(content: Mapping[str, Any]) -> list[Part]:
    rows = [
        {"name": name_itemsets(int(k)), "count": count, "chosen": content[LOWEST][k], "all": content[LEVEL][k]}
        for k, count in content["candidates"].items()
    ]
    columns = [
        Column("itemsets", "{name}", "text"), Column("number", "{count:#}"),
        Column("detectable support", "{chosen:least}"), Column("detection threshold", "{all:least}"),
    ]  # fmt: skip
    caption = "What {reports:#report} can detect within the {transaction_size:#item} of a cut basket:"
    return [Table(columns, rows, caption), _LEGEND]


def _manipulation_parts(content: Mapping[str, Any]) -> list[Part]:
    """Return how far manipulated reports move supports at most, and the truncation correction."""
    known = {k: each for k, each in content["manipulation_limits"]["itemsets"].items() if each}
    if not known:
        return []
    one = max(known, key=lambda k: known[k]["one_report"])
    moved = [(abs(end), k, n) for k, each in known.items() for n, end in enumerate(each["one_percent"])]
    _, hundredth, end = max(moved)
    person = f" (all reports of one person: {{manipulation_limits[itemsets][{one}][one_person]:points}})"
    parts: list[Part] = [
        "Manipulated reports: one moves a support by at most "
        f"{{manipulation_limits[itemsets][{one}][one_report]:points}}"
        f"{person * (content['reports_per_person'] > 1)}; 1% of all reports move it by up to "
        f"{{manipulation_limits[itemsets][{hundredth}][one_percent][{end}]:points}}. One report can name up to "
        "{manipulation_limits[targets_at_once]:#item}."
    ]
    if content["manipulated_sizes"]:
        k = max(content["manipulated_sizes"][0]["factors"], key=int)
        usual, *manipulated = [
            f"{{manipulated_sizes[{n}][factors][{k}]:number}}"
            + f" at {{manipulated_sizes[{n}][share]:support}}" * (n > 0)
            + " (detected)" * each["detected"]
            for n, each in enumerate(content["manipulated_sizes"])
        ]
        mean = BasketSizes.from_mean(content["items"]).mean
        parts.append(
            f"If baskets have {mean:.3g} items on average, the default assumption, the truncation correction "
            f"multiplies supports of {name_itemsets(int(k))} by {usual}; `mine` estimates the sizes from reports. If a "
            f"share of reports claims the largest basket size, the factor becomes {', '.join(manipulated)}."
        )
    return parts


# ---- the choice of a plan


def choice(choice: "PlannedCollection", found: "PlanForDetection | None" = None, *, verbose: bool = False) -> Record:
    """Return the plan: what people send, the guarantee, what is detectable, what was assumed, what would help."""
    prospects = forecast(choice.plan, choice.reports, manipulated=False)
    content = _choice_content(choice, prospects)
    parts: list[Part] = []
    if found is not None:
        limit = found.guarantee.amplification_limit
        content["detect"] = fields(found, "support size solved") | {"epsilon": epsilon_from_amplification(limit)}
        parts.append(_found(found))
    parts += _plan_parts(content)
    if choice.request.paper or verbose:
        parts += _limit_parts(prospects, content)
    if choice.request.paper:
        return Record(content, parts, "Plan")
    helps = Section("What would help most", [Facts(_helps(choice, content))])
    parts += [_rounds(content)] if choice.rounds is not None else []
    parts += [_expected(content), _assumed(choice, content), helps]
    if verbose and content["information_shares"] is not None:
        by_size = ", ".join(
            f"{name_itemsets(int(k))} {{information_shares[{k}]:.0%}}" for k in content["information_shares"]
        )
        parts.append(Facts([("efficiency", [
            f"uses {{information_share:.0%}} of the information that any local method with this guarantee can have: "
            f"{by_size}"
        ])]))  # fmt: skip
    return Record(content, parts, "Plan")


def _choice_content(choice: "PlannedCollection", prospects: Forecast) -> dict[str, Any]:
    plan, sizes, rounds = choice.plan, choice.request.sizes, choice.rounds
    thresholds = finite(whole_basket_thresholds(plan, choice.reports, sizes))
    shares, costs = information_shares(plan), choice.short_costs
    noise = {k: each.noise for k, each in choice.expected.items()}
    return _plan_content(prospects) | {
        "assumed_sizes": {"source": sizes.source, "mean": round(sizes.mean, 6)},
        "record_size": choice.request.record_size,
        "other_means": [{"mean": mean} | fields(each) for mean, each in choice.other_means.items()],
        "expected": {
            str(k): fields(each) | {"error": each.total, "detection_threshold": thresholds[str(k)]}
            for k, each in choice.expected.items()
        },
        "eight_bytes_cost": costs and plain(costs - 1),
        "information_shares": plain(shares),
        "information_share": shares and sum(shares.values()),
        "rounds": None if rounds is None else _rounds_content(choice, rounds),
        "undetectable": [k for k, each in choice.expected.items() if each.total >= each.support],
        "differences": finite(detectable_differences(noise, plan.n_items)),
    }


def _rounds_content(choice: "PlannedCollection", rounds: "TwoRounds") -> dict[str, Any]:
    """Return who reports in which round, and the detection thresholds after two rounds and after one."""
    levels = [
        whole_basket_thresholds(each.plan, each.reports, each.request.sizes) for each in (rounds.then, rounds.alone)
    ]
    rows = [
        {"itemset_size": k, "two_rounds": plain(levels[0][k]), "one_round": plain(levels[1][k])}
        for k in range(2, 1 + min(map(len, levels)))
    ]
    counts = {"first": choice.reports, "second": rounds.then.reports}
    people = -(-rounds.then.reports // choice.plan.reports_per_person)  # rounded up
    return counts | {"second_people": people, "detection_thresholds": rows} | fields(rounds, "items share gain")


def _rounds(content: Mapping[str, Any]) -> Section:
    """Return who reports in which round, what is detected then, and the commands."""
    rows = [
        {"name": f"{name_itemsets(each['itemset_size'])} of these items", **each}
        for each in content["rounds"]["detection_thresholds"]
    ]
    return Section("Two rounds", [
        Facts([
            ("round 1", ["{rounds[first]:#report} of this plan, from people drawn at random: single items"
                         + " and basket sizes" * (len(content["report_types"]) > 1)]),
            ("round 2", ["{rounds[second]:#report} of the other people, about the {rounds[items]:#} likeliest items:",
                         "`assocpriv refine first.parquet --people {rounds[second_people]} -o plan2.json`"]),
            ("result", ["`assocpriv mine first.parquet second.parquet`"]),
        ]),
        Table([
            Column("detection threshold", "{name}", "text"), Column("after two rounds", "{two_rounds:least}"),
            Column("in one round of all", "{one_round:least}"),
        ], rows),
        "Assumed for the second round: {rounds[share]:.0%} of purchases fall on its items, as by Zipf's law. Nobody "
        "reports in both rounds, so draw the people before round 1."
        + " `assocpriv randomize --rounds 2` does both on a file." * (content["reports_per_person"] == 1),
    ], "rounds")  # fmt: skip


def solution(found: "PlanForDetection") -> Record:
    """Return the plan that detects a support, as :func:`choice`."""
    return choice(found.choice, found)


def _found(found: "PlanForDetection") -> Facts:
    """Return the number of reports, or the guarantee, that a support needs."""
    what = f"detects all {name_itemsets(found.size)} in {{detect[support]:to}} of baskets"
    if found.solved == REPORTS:
        return Facts([("needed", [f"about {{reports:#report}}, which {what}"])])
    guarantee = "ε = {detect[epsilon]:.2f} (prior {guarantee[prior]:from}, posterior {guarantee[posterior]:to})"
    return Facts([("needed", [f"{guarantee}, which with {{reports:#report}} {what}"])])


def _expected(content: Mapping[str, Any]) -> Part:
    """Return the expected errors and detection thresholds, by itemset size."""
    rows = [{"name": name_itemsets(int(k)), **each} for k, each in content["expected"].items()]
    columns = [
        Column("itemsets", "{name}", "text"), Column("example support", "{support:.1%}"),
        Column("standard error", "{error:.2%}"), Column("randomization", "{noise:.2%}"),
        Column("truncation", "{truncation:.2%}"), Column("detection threshold", "{detection_threshold:least}"),
    ]  # fmt: skip
    shown = [
        f"{{differences[{k}]:points}} for {name_itemsets(int(k))}" for k, size in content["differences"].items() if size
    ]
    *most, last = [name_itemsets(k) for k in content["undetectable"]] or [""]
    hopeless = " and ".join([*[", ".join(most)] * bool(most), last])
    return Section("What {reports:#report} can detect, as shares of baskets before they are cut", [
        Table(columns, rows),
        "example support: a common one in such baskets; the errors are computed for it. randomization, truncation: the "
        "two causes of the standard error; their squares add up. detection threshold: smallest support that a search "
        "over all itemsets of a size detects, with at most one false detection in 100 collections.",
        *[f"{hopeless[:1].upper()}{hopeless[1:]}: {{reports:#report}} are too few; the standard error reaches "
          "the support."] * bool(hopeless),
        *["A comparison of two such collections (two seasons, say) detects changes of a support of at least "
          f"{', '.join(shown)}, each with a probability of 80%."]
        * bool(shown),
    ])  # fmt: skip


def _assumed(choice: "PlannedCollection", content: Mapping[str, Any]) -> Part:
    """Return the basket sizes that the plan was made for."""
    assumptions = [{
        "default": "{assumed_sizes[mean]:.3g} items on average, the default. Give `--mean-size`: the mean number of "
        "different items on a receipt.",
        "mean": "{assumed_sizes[mean]:.3g} items on average, as given; their spread is assumed",
        "sample": "as in the sample, {assumed_sizes[mean]:.3g} items on average",
        "reports": "as estimated from reports, {assumed_sizes[mean]:.3g} items on average",
    }[choice.request.sizes.source]]  # fmt: skip
    if choice.rounds is not None:
        assumptions.append("round 1 estimates the sizes, for the plan of round 2")
    if len(choice.request.transaction_sizes) > 1:
        assumptions.append("baskets are cut to {transaction_size:#item}")
        assumptions += [
            f"if the mean is {{other_means[{n}][mean]:.3g}}: errors are {{other_means[{n}][cost]:.2f}} times those of "
            f"a plan for it, which would cut to {{other_means[{n}][transaction_size]}}"
            for n in range(len(choice.other_means))
        ]
    if content["record_size"] not in (None, content["transaction_size"]):
        assumptions.append(_RECORDS if content["record_size"] <= MAX_TRANSACTION_SIZE else _LONG_RECORDS)
    return Section("What was assumed", [Facts([("basket size", assumptions)])])


def _helps(choice: "PlannedCollection", content: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    """Return what would reduce errors most, and what shorter reports cost."""
    found = []
    found.append(("more reports", [f"{4 * choice.reports:,} reports would halve the errors by randomization"]))
    if choice.short_costs is not None and choice.plan.items.report_bits > 8 * SHORT_BYTES:
        costs = "have errors that are {eight_bytes_cost:.0%} larger"
        costs = costs if content["eight_bytes_cost"] is not None else "are not enough for any design"
        found.append(("fewer bytes", [f"reports of {SHORT_BYTES} bytes {costs}"]))
    return found


# ---- least supports


def pair_threshold(choice: "PlannedCollection") -> str:
    """Return the detection threshold of pairs, or of single items in a plan without pairs, as in the table."""
    return _threshold_text(choice.plan, _pair_threshold(choice.plan, choice.reports, choice.request.sizes))


def _pair_threshold(plan: "Plan", reports: int, sizes: BasketSizes) -> float:
    return whole_basket_thresholds(plan, reports, sizes)[min(2, plan.items.itemset_size)]


def _threshold_text(plan: "Plan", level: float, field: str = "") -> str:
    """Return the threshold in words, or the template that writes it from a field."""
    name = name_itemsets(min(2, plan.items.itemset_size))
    if level >= 1:
        return f"no {name} (too few reports)"
    return f"{name} from a support of {f'{{{field}:least}}' if field else write(level, 'least')}"


def nothing_found(plan: "Plan", reports: int, mean_size: float | None = None) -> Record:
    """Return what these reports can detect, and what could detect more, the cheapest first.

    Args:
        plan: the plan of the reports.
        reports: their number.
        mean_size: the mean basket size, as estimated; without it the default, as a plan does not hold the sizes that it
            was made for.
    """
    sizes = _sizes(plan, mean_size)
    level = _pair_threshold(plan, reports, sizes)
    content: dict[str, Any] = {"reports": reports, "detection_threshold": level if level < 1 else None}
    found = _threshold_text(plan, level, "detection_threshold")
    lines: list[Part] = [
        f"No itemset is distinguishable from noise. {{reports:#report}} of baskets of {sizes.mean:.3g} items "
        f"detect {found}."
    ]
    if mean_size is not None:
        fitting = fitting_plan(plan, reports, mean_size)
        content |= fitting.content
        lines += fitting.parts
    tried = ((n, _pair_threshold(plan, n, sizes)) for n in _MORE if n > 2 * reports)
    more = next(((n, each) for n, each in tried if each < min(1, level)), None)
    if more is not None:
        content["more"] = {"reports": more[0], "detection_threshold": more[1]}
        lines.append(
            f"{{more[reports]:#report}} would detect {_threshold_text(plan, more[1], 'more[detection_threshold]')}."
        )
    if plan.guarantee.amplification_limit < _LENIENT.amplification_limit:
        weaker, level = _pair_threshold_of(plan, _LENIENT, reports, sizes)
        content["lenient"] = level if level < 1 else None
        found = _threshold_text(weaker, level, "lenient")
        lines += [f"The weaker guarantee 1% → 50% would detect {found}."] if level < 1 else []
    return Record(content, lines)


def fitting_plan(plan: "Plan", reports: int, mean_size: float) -> Record:
    """Return what a plan made for the mean basket size that reports estimate would detect, if that is clearly more."""
    if plan.central is not None:
        return Record({}, [])
    sizes = _sizes(plan, mean_size)
    made, level = _pair_threshold_of(plan, plan.guarantee, reports, sizes)
    if level >= _CLEARLY * min(_pair_threshold(plan, reports, sizes), 1):
        return Record({}, [])
    line = f"As many reports of a plan made with `--mean-size {sizes.mean:.2g}` would detect "
    return Record({"fitting": level}, [f"{line}{_threshold_text(made, level, 'fitting')}."])


def _sizes(plan: "Plan", mean_size: float | None) -> BasketSizes:
    """Return basket sizes of an estimated mean, which noise may carry out of its range, or of the default."""
    kept = None if mean_size is None else min(max(mean_size, _LEAST_MEAN), plan.n_items)
    return BasketSizes.from_mean(plan.n_items, kept)


def _pair_threshold_of(like: "Plan", guarantee: Guarantee, reports: int, sizes: BasketSizes) -> tuple["Plan", float]:
    """Return a plan for the items of another one and these sizes, and its detection threshold of pairs."""
    size = like.items.itemset_size
    made = choose_plan(like.n_items, guarantee, reports=reports, itemset_size=size, sample=sizes).plan
    return made, _pair_threshold(made, reports, sizes)


# ---- the second round


def next_round(found: "NextRound") -> Record:
    """Return the plan of a second round, what was learned, and the guarantee for reports in both rounds."""
    plan, before = found.plan, found.before
    content = _choice_content(found.choice, forecast(plan, found.reports, manipulated=False)) | {
        "before": before.plan_id,
        **central_together(found.central),
        **fields(found, "mean_size share held"),
        "both": {
            "reports": before.reports_per_person,
            "epsilon": epsilon_from_amplification(found.amplification_limit),
            **fields(found, "amplification_limit highest_posterior lowest_posterior"),
        },
    }
    both = [
        "γ < {both[amplification_limit]:up}, ε ≤ {both[epsilon]:up}: a prior of {guarantee[prior]:from} becomes at "
        "most {both[highest_posterior]:to}, not {guarantee[posterior]:to}",
        *["for {both[reports]:#report} of each plan"] * (before.reports_per_person > 1),
        "each further report multiplies γ again",
        *[CENTRAL_TOGETHER] * (found.central is not None),
    ]
    parts: list[Part] = [
        "For people who sent no report of plan {before:id}"
        + ", nor of the first round if that is the plan of a second one" * (before.items.itemset_size > 1),
        *_plan_parts(content),
        Section("What the first round shows", [Facts([
            ("basket size", ["{mean_size:.3g} items on average"]),
            ("catalogue", ["the {items:#} likeliest items, with {share:.0%} of all items bought, "
                           "{held:.3g} in a basket on average"]),
        ])]),
        Section("", [Facts([("both rounds", ["a person who reports in both spends more budget:", *both])])]),
        _expected(content),
    ]  # fmt: skip
    return Record(content, parts, "Plan of the second round")
