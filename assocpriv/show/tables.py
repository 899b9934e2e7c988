"""Tables of numbers or categories as records.

What a plan promises, column by column (figures of privacy err against us); what became of values that were randomized;
reconstructed distributions, in a simulation beside the truth; decision trees, and what predicting by them came to.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assocpriv.planning.schema import AS_IS, GAUSSIAN, MEMBERSHIP, UNIFORM
from assocpriv.planning.tables import CONFIDENCES, ColumnFacts, TableFacts
from assocpriv.plans.columns import NumberColumn
from assocpriv.plans.operator import MAX_TRANSACTION_SIZE
from assocpriv.plans.tree_model import tree_lines
from assocpriv.promise.breaches import epsilon, float_up
from assocpriv.promise.numbers import rounded
from assocpriv.show import charts
from assocpriv.show.figures import errors_of, fields, interval, percent_as_given, plain
from assocpriv.show.promises import privacy_sections, promise_content, promise_facts
from assocpriv.show.record import Column, Facts, Page, Part, Picture, Record, Say, Section, Table, more

if TYPE_CHECKING:
    from assocpriv.client.table_classes import PredictionCounts
    from assocpriv.plans.published import PublishedPlan
    from assocpriv.plans.tables import TablePlan
    from assocpriv.plans.tree_model import TreeModel
    from assocpriv.records.tables import TableCounts
    from assocpriv.server.distributions import Distributions
    from assocpriv.simulation.tables import TableSimulation

    Found = Distributions | Mapping[str, Any]

_MOST_COSTS = 4  # shown
_PAIRS = 20  # of two columns that are shown
_SCALES = {GAUSSIAN: "σ ", UNIFORM: "noise up to ±", MEMBERSHIP: "classes of width "}
_BASES = {
    "least-squares": "Bands and quantiles assume nothing but even spread within intervals (unbiased least squares).",
    "smooth": "Behind Gaussian noise bands and quantiles assume an evenly rough log-density; not for narrow peaks.",
}
_EMPTY = "Nobody seems to hold a value, so how values would be spread is undecidable."
_DRAWN = ("", "share", "share")  # of a row of shares
_SHARE, _ERROR = Column("share", "{share:.2%}"), Column("± error", "{std_error:.2%}")


# ---- plans

_AS_ITEMS = (
    "this plan is for distributions and trees; for association rules across the {columns} columns plan their values "
    "as items, named column=value, with `--transaction-size {columns}`: docs/cli/numeric.md, columns as items"
)


def plan(facts: TableFacts) -> Record:
    """Return what a plan promises."""
    made = facts.plan
    content = promise_content(made) | {
        "answered": made.answered,
        "asked": len(made.asked),
        "answer_costs": plain(facts.costs),
        "reports": facts.reports,
        "columns": [_column_content(each) for each in facts.columns],
    }
    columns = [Record(each, [Facts([(each["name"], _column_lines(each))])]) for each in content["columns"]]
    own: list[Part] = [Facts([("plan", ["{plan_id}", "a report has {report_bytes:#byte}"])]), promise_facts(content)]
    if 1 < len(columns) <= MAX_TRANSACTION_SIZE:
        own.append(Facts([("rules", [_AS_ITEMS.format(columns=len(columns))])]))
    return Record(content, [*own, *_answer_parts(made, content), Section("Columns", columns)])


def _answer_parts(made: "TablePlan", content: Mapping[str, Any]) -> list[Part]:
    """Say how many protected columns a report answers, and what other numbers would cost."""
    if content["asked"] < 2:
        return []
    labels = sum(column.is_protected for column in made.columns) - content["asked"]
    which = "{answered} of {asked}" if made.is_sampled else "all {asked}"
    drawn = ", drawn by the device" * made.is_sampled
    also = f", and {'the label' if labels == 1 else 'each label'}" if labels else ""
    lines = [f"answers {which} protected columns{drawn}{also}"]
    lines += ["joint questions about two columns need two answers: `plan --answer 2`"] * (content["answered"] == 1)
    costs = sorted(content["answer_costs"], key=lambda each: (each["cost"], each["answered"]))
    rows = [row for place, row in enumerate(costs) if place < _MOST_COSTS or row["answered"] == content["answered"]]
    columns = [Column("answers", "{answered}"), Column("reports", "{cost:.3g}")]
    caption = "Reports that are worth one direct answer, on average, by how many columns each answers "
    caption += "(all answers share one promise, so that fewer are surer):"
    return [Section("Answers", [Facts([("a report", lines)]), Table(columns, rows, caption)])]


def _column_content(facts: ColumnFacts) -> dict[str, Any]:
    column, law, gamma = facts.column, facts.column.law, facts.column.law.amplification
    content: dict[str, Any] = fields(column, "name kind optional codes") | fields(facts, "release scale distance") | {
        "protected": column.is_protected,
        "amplification": plain(gamma),
        "epsilon": gamma and epsilon(gamma),
        "kept": gamma and float(Fraction(law.near * law.high, law.total(optional=column.optional))),  # type: ignore[attr-defined]
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
    """Say what a column's law promises, on which grid."""
    is_number = "cells" in content
    what = "{kind}: {values:some}"
    if is_number:
        what = f"{'whole ' * content['whole']}number {{low:edge}} … {{high:edge}} in {{intervals:#interval}}"
    lines = [f"{what}{', may be missing' if content['optional'] else ''}; {{release}}"]
    if content["release"] == AS_IS:
        return [*lines, f"reports tell it{' (its cell of {cells:,})' if is_number else ''}: nothing is promised"]
    if content["amplification"]:
        is_range = is_number and not (content["whole"] and content["scale"] < 1)
        near = "a value within ±{scale:edge}" if is_range else "the value itself"
        lines.append(f"γ ≤ {{amplification:up}}, ε ≤ {{epsilon:up}}; {near} is reported with probability {{kept:.3g}}")
    else:
        widths = [f"{{privacy[{key}]:from}} at {percent_as_given(float(Fraction(key)))}" for key in content["privacy"]]
        lines.append(f"{_SCALES[content['release']]}{{scale:edge}}; promises an average, no γ")
        lines.append(f"of the range a release leaves open {', '.join(widths)}")
    if content["distance"] is not None:
        lines.append("grid of {cells:#cell}: within {distance:least_up} of the law without a grid")
    return lines


# ---- randomizing


def randomized(done: "TableCounts", plan: "TablePlan", output: Path) -> Record:
    """Return what became of values, and what the plan does not promise."""
    content = fields(plan, "plan_id report_bytes") | {
        "reports": done.records,
        **fields(done, "clipped missing looks_whole"),
    }
    said = Say("{reports:#report} of {report_bytes:#byte} written to {output}", {"output": output})
    return Record(content, [said], notes=_notes(done, plan))


def _notes(done: "TableCounts", plan: "TablePlan") -> list[Part]:
    notes: list[Part] = ["values clipped to the range: {clipped:each}"] if done.clipped else []
    notes += ["missing values: {missing:each}"] if done.missing else []
    if done.looks_whole:
        notes.append(
            "whole numbers in {looks_whole:names}, which the plan takes as spread evenly over cells, so means are "
            "up to half a cell off; plan such a column with whole = true"
        )
    if plan.amplification is None:
        notes.append("the plan states no γ: its noise promises privacy on average, not for every record")
    elif plan.uncovered:
        notes.append(Say("γ does not cover {outside}", {"outside": plan.uncovered}))
    return notes


# ---- distributions


def overview(found: "Found", rows: int = 15) -> Record:
    """Return the reports and the mean of each column, with how sure these are."""
    content: Mapping[str, Any] = found if isinstance(found, Mapping) else found.record()
    if "joint" in content:
        return distributions(content)
    lines = [_line(*each) for each in _each_column(content)]
    columns = {
        "reports": Column("reports", "{reports:,}"), "mean": Column("mean", "{mean:number}"),
        "interval": Column(interval(content["confidence_level"]), "{interval:interval}"),
        "variance": Column("variance", "{variance:number}"), "missing": Column("missing", "{missing:.2%}"),
        "missing_interval": Column(interval(content["confidence_level"]), "{missing_interval:share_interval}"),
        "band": Column("± band", "{band:share}"), "column": Column("column", "{column:name}", "name"),
    }  # fmt: skip
    known = [each for key, each in columns.items() if any(line[key] is not None for line in lines)]
    known += [Column(content.get("by", ""), "{class:name}", "name")] * ("by" in content)
    bands = [each["distribution"]["half_width"] for each in content["columns"].values() if "distribution" in each]
    sure = "; shares below a value are known to ± {worst:share} or better" if bands else ""
    given = {"count": len(content["columns"]), "worst": max(bands, default=0)}
    parts: list[Part] = [
        Say(f"{{reports:#report}} tell how the values of {{count:#column}} are spread{sure}.", given, "answer"),
        Table(known, lines[:rows], name="columns"),
        *more(len(lines) - rows, "row"),
        *[Say("left out: {by} = {value}: {why}", {"by": content["by"], "value": value, "why": why})
          for value, why in content.get("left_out", {}).items()],
    ]  # fmt: skip
    return Record(content, parts)


def _each_column(content: Mapping[str, Any]) -> Iterator[tuple[str, str | None, Mapping[str, Any]]]:
    """Yield each column, and after it the same of each class: its name, the class, what was found."""
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


def distributions(found: "Found", rows: int = 50) -> Record:
    """Return how the values of each column are spread, by class, too, or those of two columns together."""
    content: Mapping[str, Any] = found if isinstance(found, Mapping) else found.record()
    if "joint" in content:
        return Record(content, _joint_parts(content["joint"]))
    numbers = [column for _, _, column in _each_column(content) if "distribution" in column]
    hints = ["The curve of a column lies within its band everywhere at once, with {confidence_level:given}."] * bool(
        numbers
    )
    hints += [_BASES[each] for each in sorted({column["distribution"]["basis"] for column in numbers})]
    if any(column["mean"] and not column["variance"] for column in numbers):
        hints.append("A variance of — is undecidable: what lies within a class cannot be seen.")
    sections = list(islice(_each_column(content), rows + 1))
    spread = [_spread(content, *each, rows) for each in sections[:rows]]
    left: list[Part] = ["… and more columns (`--json`)"] * (len(sections) > rows)
    return Record(content, [*overview(content, rows).parts, Section("", hints), *spread, *left])


def _spread(
    content: Mapping[str, Any], name: str, of_class: str | None, column: Mapping[str, Any], rows: int
) -> Record:
    """Return the quantiles of a column, or of one class of it, and its shares."""
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
    """Name the values of an interval; of whole numbers a single one may be in it."""
    return rounded(low, 6) if whole and low == high else f"{rounded(low, 6)} – {rounded(high, 6)}"


def _value_table(column: Mapping[str, Any], rows: int) -> list[Part]:
    """Return the commonest values."""
    found = zip(column["values"], column["share"], column["std_error"], strict=True)
    bars = [{"value": value, "share": share, "std_error": error} for value, share, error in found]
    bars.sort(key=lambda row: -row["share"])
    columns = [_SHARE, _ERROR, Column("value", "{value:name}", "name")]
    return [Table(columns, bars[:rows], bars=_DRAWN), *more(len(bars) - rows, "value")]


def column_picture(content: Mapping[str, Any], name: str, most: int = charts.MOST_VALUES) -> Picture:
    """Return the distribution function of a column, with those of classes, or its commonest values."""
    column, reach = content["columns"][name], errors_of(content["confidence_level"])
    classes = {value: own["columns"] for value, own in content.get("classes", {}).items()}
    own = [(value, of[name]) for value, of in classes.items() if name in of][: charts.MOST_CLASSES]
    legend = [(value, f"line{place}") for place, (value, _) in enumerate(own, 1)]
    if "edges" in column:
        caption = "Which share of the people lies below each value; the grey band holds the curve everywhere at once."
        caption += " Other lines, by {by:name}:" if own else ""
    else:
        rarer, legend = len(column["values"]) - most, []
        caption = "Shares with intervals of {confidence_level:given}."
        caption += f" {rarer:,} rarer values are not drawn." if rarer > 0 else ""
    return Picture(lambda: charts.column_chart(name, column, own, reach, most), caption, legend)


def _joint_parts(joint: Mapping[str, Any]) -> list[Part]:
    """Return the commonest pairs of two columns' values or intervals."""
    (one, first), (two, second) = ((joint[side]["name"], _labels(joint[side])) for side in ("first", "second"))
    rows = [
        {"first": first[i], "second": second[j], "share": share, "std_error": joint["std_error"][i][j]}
        for i, shares in enumerate(joint["share"])
        for j, share in enumerate(shares)
    ]
    rows.sort(key=lambda row: -row["share"])
    columns = [_SHARE, _ERROR, Column(one, "{first:name}", "name"), Column(two, "{second:name}", "name")]
    both = "{joint[first][name]:name} and {joint[second][name]:name}"
    said = f"{{joint[reports]:#report}} tell how {both} are spread together, method {{joint[method]}}."
    table = Table(columns, rows[:_PAIRS], name="pairs", bars=_DRAWN)
    return [Say(said, kind="answer"), table, *more(len(rows) - _PAIRS, "pair")]


def _labels(side: Mapping[str, Any]) -> list[str]:
    if "values" in side:
        return list(side["values"])
    edges = [rounded(edge, 6) for edge in side["edges"]]
    return [f"{low} – {high}" for low, high in pairwise(edges)]


def distributions_page(
    found: "Found", plan: "PublishedPlan | None", title: str = "How the values are spread", rows: int = 1000
) -> Record:
    """Return distributions as a page shows them."""
    shown = distributions(found, rows)
    hint = "Every figure is an estimate from randomized reports; nobody saw a record."
    return _page(shown, plan, str(shown.content.get("plan_id", "")), title, hint)


def _page(shown: Record, plan: "PublishedPlan | None", plan_id: str, title: str, hint: str, *last: Part) -> Record:
    """Return a record with what only its page says: a hint behind its first sentence, and the promise at its end."""
    content = {**shown.content, "promised": plan and promise_content(plan)}
    first, *rest = shown.parts
    hints = Page([Say(hint, kind="hint")])
    return Record(content, [first, hints, *rest, Page(last), *privacy_sections(plan, plan_id, "record")], title)


# ---- simulations


def simulated(done: "TableSimulation") -> Record:
    """Return distributions beside the truth, and what happened to values."""
    plan: Any = done.reports.plan
    truth = "true_missing true_mean true_quantiles distance held tested"
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
        {"column": name, "level": each["level"], "found": each["value"], "true": true}
        for name, column in columns.items()
        for each, true in zip(column.get("quantiles", ()), column["true_quantiles"], strict=False)
    ]
    name = Column("column", "{column:name}", "name")
    missing = [Column("missing", "{missing:.2%}"), Column("true", "{true_missing:.2%}")]
    missing *= any(row["missing"] is not None for row in lines)
    heads = [
        Column("reports", "{reports:,}"), Column("distance", "{distance:.2%}"), Column("held", "{held} of {tested}"),
        *missing, Column("mean", "{mean:number}"), Column("true", "{true_mean:number}"), name,
    ]  # fmt: skip
    below = [
        Column("share below", "{level:given}"), Column("found", "{found:number}"), Column("true", "{true:number}"),
        name,
    ]  # fmt: skip
    times = [f"{{seconds[{stage}]:.2f}} s to {stage}" for stage in done.seconds]
    parts: list[Part] = [
        Table(heads, lines, name="columns"),
        "distance: total variation between the shares that were found and the true ones",
        "held: true shares within their intervals of {confidence_level:given}; of numbers, edges of intervals at "
        "which the true distribution function lies within its band",
        *[Section("Quantiles", [Table(below, quantiles)])] * bool(quantiles),
        Section("", [", ".join(times)]),
    ]
    return Record(content, parts, notes=_notes(done.read, plan))


# ---- decision trees


def tree(model: "TreeModel", output: Path | None = None, rows: int = 30) -> Record:
    """Return a decision tree as lines of text, and what it was grown on; the file has the tree itself."""
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
    answer = f"{{records:#{what}}} tell {{class:name}} by a tree of {{leaves:#answer}}, of depth {{depth}}."
    if model.accuracy is not None:
        answer += " Pairs of answers tell too little, so columns count one by one, as naive Bayes has it."
        answer += " It says the class of {accuracy[low]:.1%} to {accuracy[high]:.1%} of the people rightly, with 95%."
        if model.accuracy[0] <= max(root.shares):
            answer += (
                " That is not surely more than the commonest class alone: gather more reports, or choose fewer columns "
                "or a weaker promise."
            )
    parts: list[Part] = [
        Say(answer, kind="answer"),
        Say("{tree}", {"tree": "\n".join(lines)}, "pre"),
        *more(len(model.nodes) - 1 - rows, "line"),
        Section("", [
            *["pruned from {grown_leaves:#answer}"] * (model.grown_leaves > model.n_leaves),
            Table([_SHARE, Column(model.class_name, "{name:name}", "name")], shares, bars=_DRAWN),
            *["model written to {output}"] * (output is not None),
        ]),
    ]  # fmt: skip
    return Record(content, parts)


def tree_page(model: "TreeModel", plan: "PublishedPlan | None", title: str = "", rows: int = 400) -> Record:
    """Return a decision tree as a page shows it."""
    hint = f"Grown on randomized reports ({model.method}); nobody saw a record. Shares are estimates."
    use = (
        "The model can be applied where a record lies, so that people get their own class and send nothing more: "
        "`assocpriv predict`."
    )
    title = title or f"What tells {model.class_name}"
    return _page(tree(model, rows=rows), plan, model.plan_id, title, hint, use)


# ---- predictions


def predictions(counts: "PredictionCounts", output: Path) -> Record:
    """Return what predicting came to; notes on values that the model has no interval or category for."""
    said = {
        "missing": "missing values, sent where most such records went",
        "unseen": "values not known to the model, taken as missing",
        "outside": "values outside the range, taken as its nearest end",
    }
    content: dict[str, Any] = {
        "records": counts.records, "predicted": dict(sorted(counts.classes.items())), "output": str(output),
        **{name: {column: count for column, count in getattr(counts, name).items() if count} for name in said},
    }  # fmt: skip
    notes = [f"{what}: {{{name}:each}}" for name, what in said.items() if content[name]]
    written = "{records:#record} with their predicted class written to {output}: {predicted:each}"
    return Record(content, [written], notes=notes)
