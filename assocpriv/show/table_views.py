"""Tables of numbers or categories as records.

The guarantee of a plan, column by column (privacy figures are rounded to the safe side); counts of randomized values;
reconstructed distributions, with the truth in a simulation; decision trees and predictions. Of guided plans also the
miner's state and guidance, counts of responses, and trials of miner and people.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assocpriv.guarantees.amplification import epsilon_from_amplification, float_up
from assocpriv.guarantees.errors import pluralize
from assocpriv.guarantees.exact_numbers import rounded
from assocpriv.planning.table_planner import AS_IS, CONFIDENCES, GAUSSIAN, MEMBERSHIP, UNIFORM, ColumnFacts, TableFacts
from assocpriv.plans.baskets.operator import MAX_TRANSACTION_SIZE
from assocpriv.plans.numeric.table_plan import NumberColumn
from assocpriv.plans.numeric.tree_model import tree_lines
from assocpriv.show import charts
from assocpriv.show.guarantee_views import guarantee_content, guarantee_facts, privacy_sections
from assocpriv.show.number_format import errors_of, fields, interval, percent_as_given, plain
from assocpriv.show.result_record import Column, Facts, Page, Part, Picture, Record, Say, Section, Table, more
from assocpriv.simulation.guided_simulation import RoundMean, Trial

if TYPE_CHECKING:
    from assocpriv.client.guided.guided_client import ResponseCounts
    from assocpriv.client.numeric.table_classes import PredictionCounts
    from assocpriv.planning.table_planner import GuidedFacts
    from assocpriv.plans.guided.guided_plan import GuidedPlan
    from assocpriv.plans.numeric.table_plan import TablePlan
    from assocpriv.plans.numeric.tree_model import TreeModel
    from assocpriv.plans.published_plan import PublishedPlan
    from assocpriv.records.table_files import TableCounts
    from assocpriv.server.guided.collection import LevelAccuracy, MinerState
    from assocpriv.server.numeric.distributions import Distributions
    from assocpriv.simulation.table_simulation import TableSimulation

    DistributionContent = Distributions | Mapping[str, Any]

_MOST_COSTS = 4  # shown
_PAIRS = 20  # shown of two columns
_SCALES = {GAUSSIAN: "σ ", UNIFORM: "noise up to ±", MEMBERSHIP: "classes of width "}
_BASES = {
    "least-squares": "Bands and quantiles assume only uniform values within intervals (unbiased least squares).",
    "smooth": "Behind Gaussian noise, bands and quantiles assume a log-density of even roughness, no narrow peaks.",
}
_EMPTY = "The estimated share of people with a value is 0, so the distribution of values cannot be estimated."
_DRAWN = ("", "share", "share")  # bars of a row of shares
_SHARE, _ERROR = Column("share", "{share:.2%}"), Column("standard error", "{std_error:.2%}")
_RAW_STAYS = "raw records stayed on the devices."
_TRIAL_LEGEND = (
    "μ: from here on, a miner who knew all tuples would request at most this level",
    "disclosure: released share of the squared norm of tuples (mean ± standard error)",
    "bound: the paper's bound on disclosure, which can fail",
    "information: share of a tuple's information in its release, or bounds on it",
    "accuracy: of the classifier on held-out raw tuples (mean ± standard error)",
    "estimate: the miner's estimate of naive Bayes' accuracy from released tuples",
)


# ---- plans

_AS_ITEMS = (
    "this plan estimates distributions and trees; for association rules across the {columns} columns, plan items named "
    "column=value with `--transaction-size {columns}`: docs/cli/numeric.md, Columns as items"
)


def plan(facts: TableFacts) -> Record:
    """Return the guarantee and the columns of a plan."""
    made = facts.plan
    content = guarantee_content(made) | {
        "columns_per_report": made.columns_per_report,
        "protected_columns": len(made.protected_positions),
        "sampling_costs": plain(facts.costs),
        "reports": facts.reports,
        "columns": [_column_content(each) for each in facts.columns],
    }
    columns = [Record(each, [Facts([(each["name"], _column_lines(each))])]) for each in content["columns"]]
    own: list[Part] = [Facts([("plan", ["{plan_id}", "a report has {report_bytes:#byte}"])]), guarantee_facts(content)]
    if 1 < len(columns) <= MAX_TRANSACTION_SIZE:
        own.append(Facts([("rules", [_AS_ITEMS.format(columns=len(columns))])]))
    return Record(content, [*own, *_sampling_parts(made, content), Section("Columns", columns)])


def _sampling_parts(made: "TablePlan", content: Mapping[str, Any]) -> list[Part]:
    """Return the number of protected columns in a report, and the cost of other numbers."""
    if content["protected_columns"] < 2:
        return []
    labels = sum(column.is_protected for column in made.columns) - content["protected_columns"]
    chosen = content["columns_per_report"]
    which = "{columns_per_report} of {protected_columns}" if made.is_sampled else "all {protected_columns}"
    drawn = ", drawn by the device" * made.is_sampled
    also = f", and {'the label' if labels == 1 else 'each label'}" if labels else ""
    lines = [f"includes {which} protected columns{drawn}{also}"]
    lines += ["joint distributions need two columns a report: `plan --columns-per-report 2`"] * (chosen == 1)
    costs = sorted(content["sampling_costs"], key=lambda each: (each["cost"], each["columns_per_report"]))
    rows = [row for place, row in enumerate(costs) if place < _MOST_COSTS or row["columns_per_report"] == chosen]
    columns = [Column("columns a report", "{columns_per_report}"), Column("reports", "{cost:.3g}")]
    caption = "Reports with the information of one raw value, on average over columns (all columns of a report share "
    caption += "one guarantee):"
    return [Section("Columns a report", [Facts([("a report", lines)]), Table(columns, rows, caption)])]


def _column_content(facts: ColumnFacts) -> dict[str, Any]:
    column, mechanism, gamma, kept = facts.column, facts.column.mechanism, facts.column.mechanism.amplification, None
    if gamma:
        kept = float(Fraction(mechanism.near * mechanism.high, mechanism.total(optional=column.optional)))  # type: ignore[attr-defined]
    content: dict[str, Any] = fields(column, "name kind optional codes") | fields(facts, "release scale distance") | {
        "protected": column.is_protected,
        "amplification": plain(gamma),
        "epsilon": gamma and epsilon_from_amplification(gamma),
        "keep_probability": kept,
    }  # fmt: skip
    if not isinstance(column, NumberColumn):
        return content | {"values": list(column.values)}  # type: ignore[attr-defined]
    widths = zip(CONFIDENCES, facts.widths, strict=False)
    return content | {
        "low": float(column.low),
        "high": float(column.high),
        "whole": bool(column.grain),
        "intervals": column.intervals,
        "cells": column.inputs,
        "privacy": {plain(level): -float_up(-width) for level, width in widths},
    }


def _column_lines(content: Mapping[str, Any]) -> list[str]:
    """Return the guarantee and the grid of a column's mechanism."""
    is_number = "cells" in content
    what = "{kind}: {values:some}"
    if is_number:
        what = f"{'whole ' * content['whole']}number {{low:edge}} … {{high:edge}} in {{intervals:#interval}}"
    lines = [f"{what}{', may be missing' if content['optional'] else ''}; {{release}}"]
    if content["release"] == AS_IS:
        return [*lines, f"no guarantee: reports hold the raw value{' (one of {cells:,} cells)' if is_number else ''}"]
    if content["amplification"]:
        is_range = is_number and not (content["whole"] and content["scale"] < 1)
        near = "a value within ±{scale:edge}" if is_range else "the value itself"
        lines.append("γ ≤ {amplification:up}, ε ≤ {epsilon:up}")
        lines[-1] += f"; {near} is reported with probability {{keep_probability:.3g}}"
    else:
        widths = [f"{{privacy[{key}]:from}} at {percent_as_given(float(Fraction(key)))}" for key in content["privacy"]]
        lines.append(f"{_SCALES[content['release']]}{{scale:edge}}; privacy on average, no γ")
        lines.append(f"interval that holds the value after one release, as a share of the range: {', '.join(widths)}")
    if content["distance"] is not None:
        lines.append("grid of {cells:#cell}: total variation to the continuous mechanism at most {distance:least_up}")
    return lines


# ---- randomizing


def randomized(done: "TableCounts", plan: "TablePlan", output: Path) -> Record:
    """Return the counts of randomized values, and notes on what the guarantee does not cover."""
    content = fields(plan, "plan_id report_bytes") | {
        "reports": done.records,
        **fields(done, "clipped missing looks_whole"),
    }
    written = Say("{reports:#report} of {report_bytes:#byte} written to {output}", {"output": output})
    return Record(content, [written], notes=_notes(done, plan))


def _notes(done: "TableCounts", plan: "TablePlan") -> list[Part]:
    notes: list[Part] = ["values clipped to the range: {clipped:each}"] if done.clipped else []
    notes += ["missing values: {missing:each}"] if done.missing else []
    if done.looks_whole:
        notes.append(
            "whole numbers in {looks_whole:names}, which the plan treats as uniform over cells, so means are up to "
            "half a cell off; plan such a column with whole = true"
        )
    if plan.amplification is None:
        notes.append("the plan has no γ: its noise guarantees privacy on average, not for every record")
    elif plan.uncovered:
        notes.append(Say("γ does not cover {outside}", {"outside": plan.uncovered}))
    return notes


# ---- distributions


def overview(found: "DistributionContent", rows: int = 15) -> Record:
    """Return the reports and the mean of each column, with intervals."""
    content: Mapping[str, Any] = found if isinstance(found, Mapping) else found.record()
    if "joint" in content:
        return distributions(content)
    lines = [_line(*each) for each in _each_column(content)]
    columns = {
        "reports": Column("reports", "{reports:,}"), "mean": Column("mean", "{mean:number}"),
        "interval": Column(interval(content["confidence_level"]), "{interval:interval}"),
        "variance": Column("variance", "{variance:number}"), "missing": Column("missing", "{missing:.2%}"),
        "missing_interval": Column(interval(content["confidence_level"]), "{missing_interval:share_interval}"),
        "band": Column("± cdf band", "{band:share}"), "column": Column("column", "{column:name}", "name"),
    }  # fmt: skip
    known = [each for key, each in columns.items() if any(line[key] is not None for line in lines)]
    known += [Column(content.get("by", ""), "{class:name}", "name")] * ("by" in content)
    bands = [each["distribution"]["half_width"] for each in content["columns"].values() if "distribution" in each]
    band = "; shares below a value have a band of ± {worst:share} or less" if bands else ""
    given = {"count": len(content["columns"]), "worst": max(bands, default=0)}
    parts: list[Part] = [
        Say(f"Distributions of {{count:#column}}, estimated from {{reports:#report}}{band}.", given, "answer"),
        Table(known, lines[:rows], name="columns"),
        *more(len(lines) - rows, "row"),
        *[Say("left out: {by} = {value}: {why}", {"by": content["by"], "value": value, "why": why})
          for value, why in content.get("left_out", {}).items()],
    ]  # fmt: skip
    return Record(content, parts)


def _each_column(content: Mapping[str, Any]) -> Iterator[tuple[str, str | None, Mapping[str, Any]]]:
    """Yield name, class and content of each column: first over all records, then for each class."""
    for name, column in content["columns"].items():
        yield name, None, column
        for value, own in content.get("classes", {}).items():
            if name in own["columns"]:
                yield name, value, own["columns"][name]


def _line(name: str, of_class: str | None, column: Mapping[str, Any]) -> dict[str, Any]:
    mean, variance, missing, band = (column.get(each) or {} for each in ("mean", "variance", "missing", "distribution"))
    return {
        "column": name, "class": of_class or "(all)", "reports": column["reports"], "mean": mean.get("value"),
        "interval": mean or None, "variance": variance.get("value"), "missing": missing.get("value"),
        "missing_interval": missing or None, "band": band.get("half_width"),
    }  # fmt: skip


def distributions(found: "DistributionContent", rows: int = 50) -> Record:
    """Return the distributions of columns, also by class, or the joint distribution of two columns."""
    content: Mapping[str, Any] = found if isinstance(found, Mapping) else found.record()
    if "joint" in content:
        return Record(content, _joint_parts(content["joint"]))
    numbers = [column for _, _, column in _each_column(content) if "distribution" in column]
    hints = ["cdf band: holds the whole distribution function with {confidence_level:given} confidence."] * bool(
        numbers
    )
    hints += [_BASES[each] for each in sorted({column["distribution"]["basis"] for column in numbers})]
    if any(column["mean"] and not column["variance"] for column in numbers):
        hints.append("—: the variance cannot be estimated, as reports do not show the values within a class.")
    sections = list(islice(_each_column(content), rows + 1))
    spread = [_spread(content, *each, rows) for each in sections[:rows]]
    left: list[Part] = ["… and more columns (`--json`)"] * (len(sections) > rows)
    return Record(content, [*overview(content, rows).parts, Section("", hints), *spread, *left])


def _spread(
    content: Mapping[str, Any], name: str, of_class: str | None, column: Mapping[str, Any], rows: int
) -> Record:
    """Return the quantiles and shares of a column, or of a class in it."""
    level, is_number = content["confidence_level"], "edges" in column
    own = {**column, "name": name, "by": content.get("by"), "class": of_class, "confidence_level": level}
    parts: list[Part] = ["{reports:#report}, method {method}"]
    if is_number and column["mean"] is None:
        parts.append(_EMPTY)
    else:
        parts += _number_tables(column, level) if is_number else _value_table(column, rows)
        parts += [] if of_class else [column_picture(content, name)]
    title = "{name:name}" if of_class is None else "{name:name}, {by:name} = {class:name}"
    return Record(own, [Section(title, parts)])


def _number_tables(column: Mapping[str, Any], level: float) -> list[Part]:
    quantiles = [
        Column("share below", "{level:given}"), Column("value", "{value:number}"),
        Column(interval(level), "{low:number} to {high:number}"),
    ]  # fmt: skip
    errors = [_ERROR] * (column["histogram"][0]["std_error"] is not None)
    bars = [bar | {"values": _between(bar["low"], bar["high"], whole=column["whole"])} for bar in column["histogram"]]
    shares = [_SHARE, *errors, Column("values", "{values}", "name")]
    return [Table(shares, bars, bars=_DRAWN), Section("", [Table(quantiles, column["quantiles"])])]


def _between(low: float, high: float, *, whole: bool) -> str:
    """Return the label of an interval; an interval of whole numbers may hold a single one."""
    return rounded(low, 6) if whole and low == high else f"{rounded(low, 6)} – {rounded(high, 6)}"


def _value_table(column: Mapping[str, Any], rows: int) -> list[Part]:
    """Return the most frequent values."""
    found = zip(column["values"], column["share"], column["std_error"], strict=True)
    bars = [{"value": value, "share": share, "std_error": error} for value, share, error in found]
    bars.sort(key=lambda row: -row["share"])
    columns = [_SHARE, _ERROR, Column("value", "{value:name}", "name")]
    return [Table(columns, bars[:rows], bars=_DRAWN), *more(len(bars) - rows, "value")]


def column_picture(content: Mapping[str, Any], name: str, most: int = charts.MOST_VALUES) -> Picture:
    """Return the distribution function of a column, with those of classes, or its most frequent values."""
    column, reach = content["columns"][name], errors_of(content["confidence_level"])
    classes = {value: own["columns"] for value, own in content.get("classes", {}).items()}
    of_classes = [(value, of[name]) for value, of in classes.items() if name in of]
    own, left = of_classes[: charts.MOST_CLASSES], len(of_classes) - charts.MOST_CLASSES
    legend = [(value, f"line{place}") for place, (value, _) in enumerate(own, 1)]
    if "edges" in column:
        caption = "Share of people below each value; the grey band holds the whole curve with "
        caption += "{confidence_level:given} confidence."
        caption += f" Not drawn: {pluralize(left, 'further class')}." if left > 0 else ""
        caption += " Other lines, by {by:name}:" * bool(own)
    else:
        rarer, legend = len(column["values"]) - most, []
        caption = "Shares with {confidence_level:given} intervals."
        caption += f" {rarer:,} rarer values are not drawn." if rarer > 0 else ""
        caption += " Classes are not drawn." if own else ""
    return Picture(lambda: charts.column_chart(name, column, own, reach, most), caption, legend)


def _joint_parts(joint: Mapping[str, Any]) -> list[Part]:
    """Return the most frequent pairs of two columns' values or intervals."""
    (one, first), (two, second) = ((joint[side]["name"], _labels(joint[side])) for side in ("first", "second"))
    rows = [
        {"first": first[i], "second": second[j], "share": share, "std_error": joint["std_error"][i][j]}
        for i, shares in enumerate(joint["share"])
        for j, share in enumerate(shares)
    ]
    rows.sort(key=lambda row: -row["share"])
    columns = [_SHARE, _ERROR, Column(one, "{first:name}", "name"), Column(two, "{second:name}", "name")]
    both = "{joint[first][name]:name} and {joint[second][name]:name}"
    answer = f"Joint distribution of {both}, estimated from {{joint[reports]:#report}}, method {{joint[method]}}."
    table = Table(columns, rows[:_PAIRS], name="pairs", bars=_DRAWN)
    return [Say(answer, kind="answer"), table, *more(len(rows) - _PAIRS, "pair")]


def _labels(side: Mapping[str, Any]) -> list[str]:
    if "values" in side:
        return list(side["values"])
    edges = [rounded(edge, 6) for edge in side["edges"]]
    return [f"{low} – {high}" for low, high in pairwise(edges)]


def distributions_page(
    found: "DistributionContent", plan: "PublishedPlan | None", title: str = "Estimated distributions", rows: int = 1000
) -> Record:
    """Return distributions as a page."""
    shown = distributions(found, rows)
    hint = f"All figures are estimates from randomized reports; {_RAW_STAYS}"
    return _page(shown, plan, str(shown.content.get("plan_id", "")), title, hint)


def _page(shown: Record, plan: "PublishedPlan | None", plan_id: str, title: str, hint: str, *last: Part) -> Record:
    """Return a record with parts for its page: a hint after the first sentence, and the guarantee at the end."""
    content = {**shown.content, "guaranteed": plan and guarantee_content(plan)}
    first, *rest = shown.parts
    hints = Page([Say(hint, kind="hint")])
    return Record(content, [first, hints, *rest, Page(last), *privacy_sections(plan, plan_id, "record")], title)


# ---- simulations


def simulated(done: "TableSimulation") -> Record:
    """Return estimated distributions with the truth, and the counts of randomized values."""
    plan: Any = done.reports.plan
    truth = "true_missing true_mean true_quantiles distance covered tested"
    columns = {
        name: each.found.record() | {"true_share": each.true_share.tolist()} | fields(each, truth)
        for name, each in done.columns.items()
    }
    content = (
        done.found.record()
        | fields(done.read, "clipped missing looks_whole")
        | {"columns": columns, "seconds": done.seconds}
    )
    lines = [column | _line(name, None, column) for name, column in columns.items()]
    quantiles = [
        {"column": name, "level": each["level"], "estimate": each["value"], "true": true}
        for name, column in columns.items()
        for each, true in zip(column.get("quantiles", ()), column["true_quantiles"], strict=False)
    ]
    name = Column("column", "{column:name}", "name")
    missing = [Column("missing", "{missing:.2%}"), Column("true", "{true_missing:.2%}")]
    missing *= any(row["missing"] is not None for row in lines)
    heads = [
        Column("reports", "{reports:,}"), Column("distance", "{distance:.2%}"),
        Column("covered", "{covered} of {tested}"),
        *missing, Column("mean", "{mean:number}"), Column("true", "{true_mean:number}"), name,
    ]  # fmt: skip
    below = [
        Column("share below", "{level:given}"), Column("estimate", "{estimate:number}"),
        Column("true", "{true:number}"), name,
    ]  # fmt: skip
    times = [f"{{seconds[{stage}]:.2f}} s to {stage}" for stage in done.seconds]
    parts: list[Part] = [
        Table(heads, lines, name="columns"),
        "distance: total variation between estimated and true shares",
        "covered: true shares within their {confidence_level:given} intervals; for numbers, edges at which the true "
        "distribution function lies within its band",
        *[Section("Quantiles", [Table(below, quantiles)])] * bool(quantiles),
        Section("", [", ".join(times)]),
    ]
    return Record(content, parts, notes=_notes(done.read, plan))


# ---- decision trees


def tree(model: "TreeModel", output: Path | None = None, rows: int = 30) -> Record:
    """Return a decision tree as lines of text, with its method, size and class shares."""
    root = model.nodes[0]
    content = {
        **fields(model, "plan_id method depth grown_leaves"),
        "class": model.class_name,
        "classes": dict(zip(model.classes, root.shares, strict=True)),
        "columns": [column.name for column in model.columns],
        "records": root.records,
        "leaves": model.n_leaves,
        "accuracy": model.accuracy and dict(zip(("low", "high"), model.accuracy, strict=True)),
        **({"output": str(output)} if output else {}),
    }
    what, lines = "report" if model.plan_id else "record", list(islice(tree_lines(model), rows))
    shares = [{"name": name, "share": share} for name, share in content["classes"].items()]
    leaves = "1 leaf" if model.n_leaves == 1 else "{leaves:,} leaves"
    answer = f"Decision tree for {{class:name}}, grown on {{records:#{what}}}: {leaves}, depth {{depth}}."
    if model.accuracy is not None:
        answer += " Pairs of columns have too little information, so columns are used one by one, as in naive Bayes."
        answer += " It predicts the class of {accuracy[low]:.1%} to {accuracy[high]:.1%} of people correctly, with 95%"
        answer += " confidence."
        if model.accuracy[0] <= max(root.shares):
            answer += (
                " That is not significantly more than the most frequent class alone: collect more reports, or choose "
                "fewer columns or a weaker guarantee."
            )
    parts: list[Part] = [
        Say(answer, kind="answer"),
        Say("{tree}", {"tree": "\n".join(lines)}, "pre"),
        *more(len(model.nodes) - 1 - rows, "line"),
        Section("", [
            *["pruned from {grown_leaves:,} leaves"] * (model.grown_leaves > model.n_leaves),
            Table([_SHARE, Column(model.class_name, "{name:name}", "name")], shares, bars=_DRAWN),
            *["model written to {output}"] * (output is not None),
        ]),
    ]  # fmt: skip
    return Record(content, parts)


def tree_page(model: "TreeModel", plan: "PublishedPlan | None", title: str = "", rows: int = 400) -> Record:
    """Return a decision tree as a page."""
    hint = f"Grown on randomized reports ({model.method}); shares are estimates, {_RAW_STAYS}"
    use = "Apply the model on the device with `assocpriv predict`, so people get their class and send no more data."
    title = title or f"Decision tree for {model.class_name}"
    return _page(tree(model, rows=rows), plan, model.plan_id, title, hint, use)


# ---- predictions


def predictions(counts: "PredictionCounts", output: Path) -> Record:
    """Return the counts of predicted classes, with notes on values outside the model's ranges and categories."""
    kinds = {
        "missing": "missing values, sent where most such records went",
        "unseen": "values not known to the model, treated as missing",
        "outside": "values outside the range, treated as its nearest end",
    }
    content: dict[str, Any] = {
        "records": counts.records, "predicted": dict(sorted(counts.classes.items())), "output": str(output),
        **{name: {column: count for column, count in getattr(counts, name).items() if count} for name in kinds},
    }  # fmt: skip
    notes = [f"{what}: {{{name}:each}}" for name, what in kinds.items() if content[name]]
    written = "{records:#record} with their predicted class written to {output}: {predicted:each}"
    return Record(content, [written], notes=notes)


# ---- guided plans


def guided_plan(facts: "GuidedFacts") -> Record:
    """Return the guarantee, attributes and guidance rules of a plan."""
    made, share = facts.plan, facts.random_share
    content = guarantee_content(made) | fields(made, "keep width batch") | fields(facts, "reports guidances") | {
        "random_share": None if share is None else float(share),
        "mu": float(made.mu),
        "class": {"name": made.label.name, "labels": list(made.labels)},
        "attributes": [{"name": column.name, "values": column.inputs} for column in made.attributes],
    }  # fmt: skip
    mechanism = "random bits mixed into every bit, in the share that the guidance needs"
    if share is not None:
        mechanism = "{random_share:least_up} of reports are about a random tuple"
    rows = [
        *[("mechanism", [mechanism])] * (made.guarantee is not None),
        ("attributes", ["{names:some}; {width:#bit} in total"]),
        ("raw", ["the class {class[name]}: {class[labels]:some}"]),
        ("guidance", [
            "directions in which classes differ by more than {mu:given} of the largest difference",
            "new after every {batch:#report}, {guidances:#time} in {reports:#report}",
        ]),
    ]  # fmt: skip
    first = Facts([("plan", ["{plan_id}", "a report has {report_bytes:#byte}"])])
    names = {"names": [column.name for column in made.attributes]}
    return Record(content, [first, guarantee_facts(content), Facts(rows, names)])


# ---- the miner of guided plans


def started(state: "MinerState", output: Path, path: Path, *, is_of_table: bool) -> Record:
    """Return a new state; with ``is_of_table`` its plan publishes values of a table."""
    made = state.plan
    content = guarantee_content(made) | {
        "attributes": len(made.attributes),
        "width": made.width,
        "classes": dict(zip(made.labels, state.started.tolist(), strict=True)),
    }
    rows = [
        ("columns", ["{attributes:#attribute}, {width:#column} of bits"]),
        ("tuples", ["known at the start: {classes:each}" if state.started.any() else "none known at the start"]),
        *guarantee_facts(content).rows,
        ("plan", ["{output}"]),
        ("state", ["{path}"]),
    ]
    public = (
        "{output} will publish the table's classes, and categories and cut points of {attributes:#column}; check it "
        "before publication, or take them from a schema instead (--schema, schema=)"
    )
    notes = [Say(public, {"output": output})] * is_of_table
    return Record(content, [Facts(rows, {"output": output, "path": path})], notes=notes)


def published(state: "MinerState", accuracies: "list[LevelAccuracy]", new: bool, output: Path) -> Record:
    """Return the current guidance, and the estimated accuracy by level."""
    guidance = state.guidance
    assert guidance is not None
    content = fields(state.plan, "plan_id width batch") | fields(guidance, "serial level")
    content |= {"new": new, "received": state.tuples, "amplification": plain(state.amplification_bound)}
    content["level_accuracy"] = [fields(each) for each in accuracies]
    rows = [
        ("guidance", ["{serial}" + ", unchanged until {batch:#tuple} have arrived since" * (not new)]),
        ("level", ["{level} of {width}"]),
        ("γ", ["unbounded" if state.amplification_bound is None else "≤ {amplification:up}"]),
        ("received", ["{received:#tuple}"]),
        ("written", ["{output}"]),
    ]
    columns = [
        Column("level", "{name}", "text"), Column("accuracy", "{accuracy:.1%}"),
        Column("standard error", "{std_error:.1%}"),
    ]  # fmt: skip
    levels = [each | {"name": f"{each['level'] or 'now'}"} for each in content["level_accuracy"]]
    title = "Estimated accuracy of naive Bayes now, and at each level once the same number of people responds again"
    accuracy = [Section(title, [Table(columns, levels)])] * bool(levels)
    return Record(content, [Facts(rows, {"output": output}), *accuracy])


def collected(state: "MinerState") -> Record:
    """Return the counts of collected tuples."""
    content = {
        "plan_id": state.plan.plan_id,
        "received": state.tuples,
        "classes": dict(zip(state.plan.labels, state.received.tolist(), strict=True)),
        "due": state.is_due,
        "left": max(state.published_at + state.plan.batch - state.tuples, 0),
    }
    then = "new guidance is due" if state.is_due else "new guidance after {left:#further tuple}"
    return Record(content, [Facts([("received", ["{received:#tuple}: {classes:each}"]), ("next", [then])])])


# ---- responses to guidance


def answered(done: "ResponseCounts", plan: "GuidedPlan", output: Path) -> Record:
    """Return the counts of responses, and of missing and clipped values."""
    sent = {"plan_id": plan.plan_id, "sent": done.records, "queued": 0, "report_bytes": plan.report_bytes}
    written = (
        "{sent:#report} of {report_bytes:#byte} written to {output}: responses to guidance {serial}, level {level}"
    )
    more = {
        "missing values, drawn uniformly: {missing:each}": done.missing,
        "{clipped:#bit} had a probability above 1, reduced to 1": done.clipped,
        "the queue is empty, and its key is deleted": done.from_queue,
        "no γ: {unbounded}": plan.amplification is None,
    }
    given = {"output": output, "unbounded": plan.unbounded}
    lines = [Say(line, given) for line in (written, *(line for line, applies in more.items() if applies))]
    return Record(sent | fields(done, "serial level clipped missing from_queue"), lines)


def queued(count: int, plan: "GuidedPlan", folder: Path, reason: str) -> Record:
    """Return the number of queued records, with folder and reason."""
    content = {"plan_id": plan.plan_id, "sent": 0, "queued": count}
    line = "{queued:#record} queued in {folder}, encrypted; nothing was sent: {reason}"
    return Record(content, [Say(line, {"folder": folder, "reason": reason})])


# ---- trials of guided plans


def guided_trial(trial: Trial) -> Record:
    """Return a trial of every level."""
    levels, wanted = trial.levels, [each.level for each in trial.levels if each.share <= trial.plan.mu]
    content = fields(trial.plan, "plan_id width") | fields(trial, "request people held_out original_accuracy majority")
    content |= {
        "mu": float(trial.plan.mu),
        "wanted_level": wanted[0] if wanted else trial.plan.width,
        "levels": [fields(each) for each in levels],
    }
    whole = next((place for place, each in enumerate(levels, 1) if each.disclosure == RoundMean(1, 0)), len(levels))
    information = "{information[low]:.1%}"
    if any(each.information.low < each.information.high for each in levels):
        information = "{information[low]:.0%}–{information[high]:.0%}"
    columns = [
        Column("level", "{level}"), Column("μ", "{share:.1%}"),
        Column("disclosure", "{disclosure[mean]:.1%} ± {disclosure[std_error]:.1%}"),
        Column("bound", "{disclosure_bound:.1%}"), Column("information", information),
        Column("accuracy", "{accuracy[mean]:.1%} ± {accuracy[std_error]:.1%}"),
        Column("estimate", "{estimate[mean]:.1%}"),
    ]  # fmt: skip
    higher: list[Part] = ["higher levels also disclose everything"] if whole < len(levels) else []
    parts: list[Part] = [
        "{people:#} people respond, {held_out:#} are held out for testing; {request[rounds]:#round} of "
        "{request[classifier]}",
        "accuracy on raw tuples {original_accuracy[mean]:.1%} ± {original_accuracy[std_error]:.1%}; of the most "
        "frequent class {majority[mean]:.1%}",
        "at the plan's μ of {mu:given} a miner who knew all tuples would request level {wanted_level}",
        Section("", [Table(columns, content["levels"][:whole]), *higher]),
        Section("", _TRIAL_LEGEND),
    ]
    return Record(content, parts)
