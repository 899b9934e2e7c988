"""Records of itemsets and rules: mined or asked for, and the page of itemsets and rules."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from assocpriv.files.mined_tables import (
    ATTRIBUTE,
    MACHINE_COLUMNS,
    AnyFrame,
    LightFrame,
    MiningFacts,
    describe_limits,
    itemset_records,
    mining_facts,
)
from assocpriv.guarantees.errors import pluralize
from assocpriv.plans.baskets.catalogue import name_itemsets
from assocpriv.server.baskets.mining import LEAST_PROBABILITY as LEAST
from assocpriv.server.baskets.rules import rule_records, selected_rules
from assocpriv.server.baskets.tables import NO_FILTER, ItemsetFilter, rows_to_show, with_named_intervals
from assocpriv.show import charts
from assocpriv.show.guarantee_views import guarantee_content, privacy_sections
from assocpriv.show.number_format import fields, interval
from assocpriv.show.result_record import Column, Page, Part, Picture, Record, Say, Section, Table, more

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from assocpriv.plans.baskets.basket_plan import Plan
    from assocpriv.server.baskets.ask import AskResult

MOST_RULES = 250  # on a page
_SELECTION = (
    "Itemsets are selected as long as at most one in twenty of them is expected to be below the minimum support."
)
_REFINE = (
    "{not_selected:#} more are probable, but not selected. A second round about fewer items, from other people, can "
    "confirm them: `assocpriv refine`."
)
_BOTH = (
    "Interval next to the support: counted over all itemsets, {confidence_level:given} of these intervals contain the "
    "true support; over the best sellers only, fewer. If named beforehand: use this interval for an itemset that "
    "you chose before you saw results, such as a known best seller. It contains the true support in "
    "{confidence_level:given} of collections."
)
_NAMED = "intervals are for itemsets chosen before looking at results"
_MARK = Column("", "{mark}", "text")


# ---- itemsets
_SOURCES = {"report": "randomized reports", "basket": "a release: counts of baskets with noise"}


def mined(table: AnyFrame, top: int = 15, wanted: ItemsetFilter = NO_FILTER, *, everything: bool = False) -> Record:
    """Return a mined table: selected itemsets, or with ``everything`` also likely ones that are not selected."""
    frame = LightFrame.from_frame(table)
    content = _mined_content(frame)
    if wanted.contains:
        frame = with_named_intervals(frame, content["confidence_level"])
    shown, left = _rows(frame, top, wanted, everything=everything)
    parts = [*_describe_supports(content), _list_sentence(content), *_itemset_parts(shown, content)]
    parts += [_NAMED] * bool(wanted.contains)
    kept = frame if wanted == NO_FILTER else frame.take(rows_to_show(frame, wanted, len(frame)))
    content |= {"hidden": len(frame) - len(kept)}
    return Record(content, [*parts, *left], more=lambda: {"itemsets": _records(kept)})


def _mined_content(frame: LightFrame) -> dict[str, Any]:
    facts, selected = mining_facts(frame), frame["selected"]
    tests = {} if facts.fdr is None else {"fdr_count": int(frame["significant"].sum())}
    return facts.to_json() | tests | {
        "selected": int(selected.sum()),
        "not_selected": int((~selected & is_likely(frame)).sum()),
        "expected_false": float((1 - frame["probability"][selected]).sum()),
    }  # fmt: skip


def _records(frame: LightFrame) -> list[dict[str, Any]]:
    return itemset_records(
        LightFrame({name: each for name, each in frame.columns.items() if name not in MACHINE_COLUMNS})
    )


def is_likely(frame: LightFrame) -> "NDArray[np.bool_]":
    """Return which rows are selected or likely: those with a mean of at least S, or all of the largest requested."""
    facts = mining_facts(frame)
    return np.asarray(frame["selected"] | (frame["support"] >= facts.min_support) | (facts.top > 0))


def _rows(frame: LightFrame, top: int, wanted: ItemsetFilter, *, everything: bool) -> tuple[LightFrame, list[Part]]:
    """Return the rows to show, and how many of which sizes are left out for lack of room or by a filter."""
    likely = frame.take(np.flatnonzero(is_likely(frame) if everything else frame["selected"]))
    rows = rows_to_show(likely, wanted, top)
    left, sizes = wanted.matches(likely), likely["length"]
    missing = np.bincount(sizes[left], minlength=1) - np.bincount(sizes[rows], minlength=sizes[left].max(initial=0) + 1)
    parts = [f"{count:,} more {name_itemsets(k, count)}" for k, count in enumerate(missing.tolist()) if count]
    hidden = len(likely) - int(left.sum())
    text = "… and {more} are left out; shown are the largest of each size, so others can be larger than some shown"
    notes: list[Part] = [Say(text, {"more": ", ".join(parts)})] if parts else []
    return likely.take(rows), notes + [Say("hidden by the filters: {rows:#row}", {"rows": hidden})] * (hidden > 0)


def _describe_supports(content: Mapping[str, Any]) -> list[Part]:
    """Return lines on what supports are shares of, and on the basket sizes."""
    fdr, sizes = content.get("fdr"), content.get("sizes")
    chosen = ", {fdr[selecting_reports]:#} others chose the itemsets" if fdr and fdr["by"] == "split" else ""
    parts: list[Part] = [f"{{reports:#{content['unit']}}}{chosen}; {{meaning}}"]
    if sizes:
        factors = [
            f"{{sizes[truncation][{k}][0]:.2f}} ± {{sizes[truncation][{k}][1]:.1%}} for {name_itemsets(int(k))}"
            for k in sizes["truncation"]
        ]
        others = " (clients drop other items)" if content.get("unlisted") == "drop" else ""
        parts.append(
            f"basket sizes: mean {{sizes[mean]:.2f}} items of the catalogue{others}, estimated from "
            f"{{sizes[reports]:#{content['unit']}}}; "
            f"supports are already corrected for truncation, by factors of about {', '.join(factors)} (±: relative "
            "standard error, which the intervals include)"
        )
    return parts


def _list_sentence(content: Mapping[str, Any]) -> Say:
    """Return a sentence on the minimum support, the selected itemsets, and how many of them may be below it."""
    text = "the {top:#} largest supports; " if content["top"] else ""
    text += "{selected:#itemset} selected with a support of at least {min_support:support}"
    text += f", the automatic minimum for these {content['unit']}s" if content["auto"] else ""
    return Say(text + _false_and_more(content, "expected below this minimum"))


def _false_and_more(content: Mapping[str, Any], expected: str) -> str:
    """Return how many selected rows are expected to be false, and how many more are likely but not selected."""
    some = " or fewer" if content.get("expected_false", 0) >= 0.05 else ""  # else the text is "none"
    text = f"; {expected}: {{expected_false:about}}{some}" if content["selected"] else ""
    return text + (
        "; {not_selected:#} more are probable, but not selected (`--all`)" if content["not_selected"] else ""
    )


def _itemset_parts(shown: LightFrame, content: Mapping[str, Any], caption: str = "") -> list[Part]:
    """Return the table of itemsets, and a line for each mark."""
    rows = [
        row | {"mark": _mark(row, starred=bool(row.get("significant"))), "pale": not row["selected"]}
        for row in _records(shown)
    ]
    truth = [Column("true", "{true_support:estimate}")] if "true_support" in shown.columns else []
    named = [Column("if named beforehand", "{named_low:estimate}–{named_high:estimate}")] * (
        "named_low" in shown.columns
    )
    columns = [*_supports(content), *named, *truth, Column("itemset", "{itemset:names}", "name")]
    columns += [_MARK] * any(row["mark"] for row in rows)
    parts: list[Part] = [Table(columns, rows, caption, "itemsets", ("ci_low", "support", "ci_high"), "pale")]
    parts += [_BOTH] * bool(named)
    if any(row["pale"] for row in rows):
        parts.append(
            "?: not selected; the figure is the probability that the support is at least {min_support:support}"
        )
    if content.get("fdr"):
        parts.append(
            "*: significant, {fdr_count:#} of {fdr[hypotheses]:#} itemsets tested; at most {fdr[level]:given} of them "
            "are expected to have a support below {min_support:support}"
            if content["fdr_count"]
            else "*: none is significant; {fdr[hypotheses]:#} itemsets tested"
        )
    return parts


def _supports(content: Mapping[str, Any]) -> list[Column]:
    limits = Column(interval(content["confidence_level"]), "{ci_low:estimate}–{ci_high:estimate}")
    return [Column("support", "{support:estimate}"), limits]


def _mark(row: Mapping[str, Any], *, starred: bool) -> str:
    return "*" * starred if row.get("selected", True) else f"? {row['probability']:.0%}"


# ---- rules


def rules(
    derived: AnyFrame,
    itemsets: "AnyFrame | None" = None,
    top: int = 15,
    *,
    everything: bool = False,
    level: float = 0.95,
) -> Record:
    """Return the selected rules, or all with ``everything``; given the itemsets, also what supports are shares of."""
    frame, facts = LightFrame.from_frame(derived), None if itemsets is None else mining_facts(itemsets)
    content: dict[str, Any] = {"confidence_level": level}
    if facts is not None:
        content = fields(facts, "plan_ids reports unit transaction_size min_support whole confidence_level")
        content |= {"meaning": facts.to_json()["meaning"], "sizes": facts.to_json().get("sizes")}
    content |= _rules_content(frame)
    shown = frame if everything else selected_rules(frame)
    lines = [] if facts is None else _describe_supports(content)
    parts = [*lines, *_rule_parts(rule_records(shown.head(top)), content), *more(len(shown) - top)]
    parts += [*(describe_limits(facts) if facts else []), *["{why_none}"] * bool(content.get("why_none"))]
    parts += ["hidden by the filters: {hidden:#row}"] * (content.get("hidden", 0) > 0)
    return Record(content, parts, more=lambda: {"rules": rule_records(shown)})


def _rules_content(frame: LightFrame) -> dict[str, Any]:
    content = dict(frame.attrs.get(ATTRIBUTE, {}))
    if "selected" in content:
        content["not_selected"] = len(frame) + content.get("hidden", 0) - content["selected"]
    return content


def _rule_sentence(content: Mapping[str, Any], ordered_by: str) -> str:
    """Return a sentence on how many rules are selected, how many of them are expected to be false, and their order."""
    text = "{selected:#rule} selected with a confidence of at least {min_confidence:given}"
    order = f"; ordered by the lower end of the {ordered_by}'s interval"
    in_order = content.get("sort", "") is None and content["selected"] > 1
    return text + _false_and_more(content, "expected below this minimum") + order * in_order


def _rule_parts(rows: Sequence[Mapping[str, Any]], content: Mapping[str, Any], caption: str = "") -> list[Part]:
    """Return the table of rules, with true values where rows hold them, and a line for each mark."""
    marked = [
        {**row, "mark": _mark(row, starred=row.get("selected_strict", False)), "pale": not row.get("selected", True)}
        for row in rows
    ]
    values = _values(content, rows)
    truth = [Column("true", "{true_confidence:.1%}")] if rows and "true_confidence" in rows[0] else []
    columns = [
        Column("confidence", "{confidence:.1%}"),
        Column(interval(content["confidence_level"]), "{confidence_ci_low:.1%}–{confidence_ci_high:.1%}"), *truth,
        Column("lift", "{lift:.2f}"), Column("support", "{support:estimate}"), *values,
        Column("rule", "{antecedents:names} → {consequents:names}", "name"),
        *[_MARK] * any(row["mark"] for row in marked),
    ]  # fmt: skip
    bars = ("confidence_ci_low", "confidence", "confidence_ci_high")
    parts: list[Part] = [_rule_sentence(content, "value" if values else "confidence")] if "selected" in content else []
    parts.append(Table(columns, marked, caption, "rules", bars, "pale"))
    if any(row["mark"] == "*" for row in marked):
        parts.append(
            "*: stricter choice; at most 5% of the rules with * are expected to be false, at most 10% of all "
            "selected rules"
        )
    if any(row["pale"] for row in marked):
        parts.append(
            "?: not selected; the figure is the probability that the confidence is at least {min_confidence:given}. "
            "Reasons: this probability is too low, the interval covers nearly 0–100%, or the support of the left side "
            "may be 0."
        )
    return parts


def _values(content: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> list[Column]:
    if not rows or "value" not in rows[0]:
        return []
    limits = Column(interval(content["confidence_level"]), "{value_ci_low:.2f} to {value_ci_high:.2f}")
    return [Column("value per 1,000 baskets", "{value:.2f}"), limits]


# ---- substitutes


def substitutes(table: AnyFrame, top: int = 15, *, everything: bool = False) -> Record:
    """Return pairs bought together less often than expected under independence, and how many pairs are undetectable."""
    frame = LightFrame.from_frame(table)
    content = dict(frame.attrs[ATTRIBUTE])
    content["not_selected"] = int(((frame["probability"] >= LEAST) & ~frame["selected"]).sum())
    likely = frame["selected"] | (everything & (frame["probability"] >= LEAST))
    shown = frame.take(np.flatnonzero(likely))
    rows = [
        row | {"mark": _mark(row, starred=False), "pale": not row["selected"]}
        for row in itemset_records(shown.head(top))
    ]
    of = " of one category" if content["by_category"] else ""
    text = (
        f"{{selected:#pair}}{of} selected: bought together less than {{below:given}} as often as expected under "
        f"independence given the basket size{_false_and_more(content, 'expected false')}"
    )
    undetectable = (
        f"{{detectable:#pair}}{of} detectable; {{undetectable:#}} too rare: noise would hide even a support of 0"
    )
    columns = [
        Column("lift", "{lift_by_size:.2f}"),
        Column(interval(content["confidence_level"]), "{lift_ci_low:.2f}–{lift_ci_high:.2f}"),
        Column("support", "{support:estimate}"), Column("expected", "{expected_support:estimate}"),
        Column("pair", "{itemset:names}", "name"), *[_MARK] * any(row["mark"] for row in rows),
    ]  # fmt: skip
    bars = ("lift_ci_low", "lift_by_size", "lift_ci_high")
    parts: list[Part] = [*_describe_supports(content), text, undetectable]
    parts += [Table(columns, rows, name="pairs", bars=bars, pale="pale"), *more(len(shown) - top)]
    if any(row["pale"] for row in rows):
        parts.append(
            "?: not selected; with the posterior probability of less than {below:given} of the expected support"
        )
    return Record(content, parts, more=lambda: {"pairs": itemset_records(shown)})


# ---- chosen itemsets and rules


def answers(found: "AskResult") -> Record:
    """Return the itemsets and then the rules asked for, in the order asked."""
    return _answers(found.facts.to_json(), _records(found.itemsets), rule_records(found.rules))


def asked(table: AnyFrame) -> Record:
    """Return a table of the itemsets, or of the rules, asked for."""
    frame = LightFrame.from_frame(table)
    of_rules = "antecedents" in frame.columns
    return _answers(frame.attrs[ATTRIBUTE], *(([], rule_records(frame)) if of_rules else (_records(frame), [])))


def _answers(content: dict[str, Any], itemsets: list[dict[str, Any]], derived: list[dict[str, Any]]) -> Record:
    parts = _describe_supports(content)
    if itemsets:
        columns = [
            *_supports(content), Column("unbiased", "{unbiased:estimate}"),
            Column("standard error", "{unbiased_error:estimate}"), Column("itemset", "{itemset:names}", "name"),
        ]  # fmt: skip
        parts.append(Table(columns, itemsets, name="itemsets", bars=("ci_low", "support", "ci_high")))
    parts += _rule_parts(derived, content) if derived else []
    return Record(content, parts, more=lambda: {"itemsets": itemsets, "rules": derived})


# ---- the page


def page(
    table: AnyFrame,
    plan: "Plan | None",
    derived: LightFrame,
    title: str = "What baskets have in common",
    rows: int = 1000,
) -> Record:
    """Return a mined table and its rules as a page shows them."""
    frame, facts = LightFrame.from_frame(table), mining_facts(table)
    content = _mined_content(frame)
    shown, left = _rows(frame, rows, NO_FILTER, everything=True)
    shown = with_named_intervals(shown, facts.confidence_level, "named_low", "named_high")
    found: list[Part] = [
        Page([Say(f"{{meaning}}. Every figure was computed from {_SOURCES[facts.unit]}.", kind="hint")]),
        Section("What did we learn?", [*_itemset_parts(shown, content, "Itemsets by support"), *left], "found"),
        Section("How reliable is it?", _reliability(frame, facts, content), "reliability", aside=True),
    ]
    if len(derived):
        found += _rule_sections(derived, content, min(rows, MOST_RULES))
    answer = Say(f"{{reports:#{facts.unit}}}: {_list_sentence(content).text}.", kind="answer")
    content |= {"rule_list": _rules_content(derived), "guaranteed": plan and guarantee_content(plan)}
    found += privacy_sections(plan, content["plan_ids"][0])
    lists = lambda: {"itemsets": _records(frame), "rules": rule_records(derived)}  # noqa: E731
    return Record(content, [answer, *found], title, more=lists)


def _reliability(frame: LightFrame, facts: MiningFacts, content: Mapping[str, Any]) -> list[Part]:
    return [
        f"{_SELECTION}{f' {_REFINE}' if content['not_selected'] else ''}",
        *_describe_supports(content)[1:],
        *(f"{each[:1].upper()}{each[1:]}." for each in describe_limits(facts)),
        sizes_picture(frame.take(np.flatnonzero(is_likely(frame))), facts.min_support),
    ]


def not_drawn(*counts: tuple[int, str, str]) -> str:
    """Return a sentence on what a chart leaves out; each is a number, of what, and which of these."""
    left = [f"{pluralize(count, what)}{which}" for count, what, which in counts if count]
    return f" Not drawn: {', '.join(left)}." * bool(left)


def sizes_picture(frame: LightFrame, min_support: float, left: str = "") -> Picture:
    """Return a chart of the supports of each size, of all these itemsets; ``left`` says what is not among them."""
    lengths = [len(names) for names in frame["itemsets"]]
    flags = frame.columns.get("selected", np.ones(len(frame), dtype=np.bool_))
    marks = list(zip(lengths, frame["support"].tolist(), flags.tolist(), strict=True))
    caption = "Each mark is an itemset at its support." + " Pale: not selected." * (not flags.all())
    caption += " Dashed: the minimum support." * (min_support > 0) + left
    return Picture(lambda: charts.supports_chart(min_support, marks), caption if marks else left)


def rules_pictures(rows: Sequence[Mapping[str, Any]], beyond: int = 0) -> dict[str, Picture]:
    """Return charts of rules: by support and confidence, and as a graph; ``beyond`` rules follow these."""
    points, placed = [row for row in rows if row["support"] > 0], charts.rules_of_graph(rows)
    most, after = charts.MOST_RANGES, (beyond, "further rule", "")
    scatter = "Rules by support (to the right) and confidence (upwards)."
    if points and "confidence_ci_low" in points[0]:
        of_first = f", for the first {most} rules" * (len(points) > most)
        scatter += f" Vertical lines: intervals of the confidence{of_first}."
    graph = "A rule of three items or more has a dot of its own. Thick: high confidence."
    scatter += " Hollow: not selected." * any(not row.get("selected", True) for row in points)
    graph += " Dashed: not selected." * any(not row.get("selected", True) for row in placed)
    left = not_drawn((len(rows) - len(points), "rule", " with a support of 0"), after)
    no_place = not_drawn((len(rows) - len(placed), "rule", " without a place in the graph"), after)
    legend = charts.SHADED_LEGEND
    return {
        "scatter": Picture(lambda: charts.rules_chart(points), f"{scatter}{left} Lift:" if points else left, legend),
        "graph": Picture(
            lambda: charts.rules_graph(placed), f"{graph}{no_place} Lift:" if placed else no_place, legend
        ),
    }


def _rule_sections(derived: LightFrame, content: Mapping[str, Any], rows: int) -> list[Part]:
    drawn, own = rule_records(derived.head(rows)), {**content, **_rules_content(derived)}
    parts = _rule_parts(drawn, own, "Rules by the lower end of their confidence's interval") + more(
        len(derived) - len(drawn)
    )
    return [
        Section("Which rules follow?", [Record(own, parts)], "rules"),
        Section(
            "The rules, drawn", list(rules_pictures(drawn, len(derived) - len(drawn)).values()), "drawn", aside=True
        ),
    ]
