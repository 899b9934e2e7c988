"""Itemsets with their rules as records: mined or asked for, and the page of both."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from assocpriv.files.itemsets import AnyFrame, LightFrame, itemset_records
from assocpriv.plans.catalogue import itemsets_of
from assocpriv.server.itemsets import ATTRIBUTE, MiningFacts, describe_limits, mining_facts, with_named_intervals
from assocpriv.server.rules import listed_rules, rule_records
from assocpriv.server.search import LEAST_PROBABILITY as LEAST
from assocpriv.server.selection import EVERYTHING, ItemsetFilter, rows_to_show
from assocpriv.show import charts
from assocpriv.show.figures import fields, interval
from assocpriv.show.promises import privacy_sections, promise_content
from assocpriv.show.record import Column, Page, Part, Picture, Record, Say, Section, Table, more

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from assocpriv.plans.baskets import Plan
    from assocpriv.server.ask import AskOutcome

MOST_RULES = 250  # on a page
_INTERNAL = ("posterior", "common_error", "undoing", "undoing_error")  # of a table: what rules, draws, comparisons need
_SURE = "Itemsets are called sure as long as at most one in twenty of them is expected to be below the minimum support."
STRIPS = "Each mark is an itemset by its support; pale ones are less sure. Dashed: the minimum support."
_REFINE = (
    "{likely:#} more would make the list less true. Other people can be asked about just these: `assocpriv refine`."
)
_BOTH = (
    "The first interval holds the support with its probability on average over the catalogue, the second that of an "
    "itemset that you chose before you looked at results. For best sellers the second is the better one."
)
_NAMED = "intervals are those of itemsets that you chose before looking at results"
_MARK = Column("", "{mark}", "text")


# ---- itemsets


def mined(table: AnyFrame, top: int = 15, wanted: ItemsetFilter = EVERYTHING, *, everything: bool = False) -> Record:
    """Return a mined table: what is listed, or also what is likely but would make more of the list false."""
    frame = LightFrame.of(table)
    content = _mined_content(frame)
    if wanted.contains:
        frame = with_named_intervals(frame, content["confidence_level"])
    shown, left = _rows(frame, top, wanted, everything=everything)
    parts = [*_meaning(content), _list_sentence(content), *_itemset_parts(shown, content)]
    parts += [_NAMED] * bool(wanted.contains)
    kept = frame if wanted == EVERYTHING else frame.take(rows_to_show(frame, wanted, len(frame)))
    content |= {"hidden": len(frame) - len(kept)}
    return Record(content, [*parts, *left], more=lambda: {"itemsets": _records(kept)})


def _mined_content(frame: LightFrame) -> dict[str, Any]:
    facts, listed = mining_facts(frame), frame["listed"]
    certain: dict[str, Any] = {}
    if facts.certain is not None:
        certain = {"certain_count": int(frame["certain"].sum()), "certain_false": 1 - facts.certain.level}
    return facts.to_json() | certain | {
        "listed": int(listed.sum()),
        "likely": int((~listed & is_likely(frame)).sum()),
        "expected_false": float((1 - frame["probability"][listed]).sum()),
    }  # fmt: skip


def _records(frame: LightFrame) -> list[dict[str, Any]]:
    return itemset_records(LightFrame({name: each for name, each in frame.columns.items() if name not in _INTERNAL}))


def is_likely(frame: LightFrame) -> "NDArray[np.bool_]":
    """Tell which rows are listed or likely: of a mean of at least S, or all of the largest that were asked for."""
    facts = mining_facts(frame)
    return np.asarray(frame["listed"] | (frame["support"] >= facts.min_support) | (facts.top > 0))


def _rows(frame: LightFrame, top: int, wanted: ItemsetFilter, *, everything: bool) -> tuple[LightFrame, list[Part]]:
    """Return the rows to show, and how many of which sizes are not, for want of room or by a filter."""
    likely = frame.take(np.flatnonzero(is_likely(frame) if everything else frame["listed"]))
    rows = rows_to_show(likely, wanted, top)
    left, sizes = wanted.matches(likely), likely["length"]
    missing = np.bincount(sizes[left], minlength=1) - np.bincount(sizes[rows], minlength=sizes[left].max(initial=0) + 1)
    parts = [f"{count:,} more {itemsets_of(k, count)}" for k, count in enumerate(missing.tolist()) if count]
    hidden = len(likely) - int(left.sum())
    said: list[Part] = [Say("… and {more}", {"more": ", ".join(parts)})] if parts else []
    return likely.take(rows), said + [Say("hidden by the filters: {rows:#row}", {"rows": hidden})] * (hidden > 0)


def _meaning(content: Mapping[str, Any]) -> list[Part]:
    """Say what supports are shares of, and what reports tell of the sizes of baskets."""
    certain, sizes = content.get("certain"), content.get("sizes")
    chosen = (
        " ({certain[selecting_reports]:#} others chose the itemsets)" if certain and certain["by"] == "split" else ""
    )
    parts: list[Part] = [f"from {{reports:#report}}{chosen}; {{meaning}}"]
    if sizes:
        undone = [
            f"{{sizes[undoing][{k}][0]:.2f}} ± {{sizes[undoing][{k}][1]:.1%}} for {itemsets_of(int(k))}"
            for k in sizes["undoing"]
        ]
        parts.append(
            "from {sizes[answers]:#} answers about sizes: {sizes[mean]:.2f} items a basket; undoing the sampling "
            f"multiplies supports by about {', '.join(undone)}"
        )
    return parts


def _list_sentence(content: Mapping[str, Any]) -> Say:
    """Say which minimum support was taken, how many itemsets are listed, and how many of these may be below it."""
    said = "the {top:#} largest supports; " if content["top"] else ""
    said += "{listed:#itemset} of a support of {min_support:support} or more"
    said += ", the least that is likely to be told from noise" if content["auto"] else ""
    said += "; about {expected_false:about} of them, or fewer, are below it" if content["listed"] else ""
    return Say(said + _less_sure(content, "" if content["top"] else "likely, but "))


def _less_sure(content: Mapping[str, Any], likely: str) -> str:
    if not content["likely"]:
        return ""
    more, are = " more" * (content["listed"] > 0), "is" if content["likely"] == 1 else "are"
    return f"; {{likely:#}}{more} {are} {likely}less sure"


def _itemset_parts(shown: LightFrame, content: Mapping[str, Any], caption: str = "") -> list[Part]:
    """Return the table of itemsets, and what its marks mean."""
    rows = [
        row | {"mark": _mark(row, sure=bool(row.get("certain"))), "pale": not row["listed"]} for row in _records(shown)
    ]
    truth = [Column("true", "{true_support:estimate}")] if "true_support" in shown.columns else []
    named = [Column("if chosen beforehand", "{named_low:estimate}–{named_high:estimate}")] * (
        "named_low" in shown.columns
    )
    columns = [*_supports(content), *named, *truth, Column("itemset", "{itemset:names}", "name")]
    columns += [_MARK] * any(row["mark"] for row in rows)
    parts: list[Part] = [Table(columns, rows, caption, "itemsets", ("ci_low", "support", "ci_high"), "pale")]
    if any(row["pale"] for row in rows):
        parts.append("?: not listed; beside it how likely a support of {min_support:support} or more is")
    if content.get("certain"):
        parts.append(
            "*: none is certain; {certain[hypotheses]:#} itemsets tested"
            if not content["certain_count"]
            else "*: certain, {certain_count:#} of {certain[hypotheses]:#} itemsets tested; of these on average at "
            "most {certain_false:given} have a support below {min_support:support}"
        )
    return parts


def _supports(content: Mapping[str, Any]) -> list[Column]:
    limits = Column(interval(content["confidence_level"]), "{ci_low:estimate}–{ci_high:estimate}")
    return [Column("support", "{support:estimate}"), limits]


def _mark(row: Mapping[str, Any], *, sure: bool) -> str:
    return "*" * sure if row.get("listed", True) else f"? {row['probability']:.0%}"


# ---- rules


def rules(
    derived: AnyFrame,
    itemsets: "AnyFrame | None" = None,
    top: int = 15,
    *,
    everything: bool = False,
    level: float = 0.95,
) -> Record:
    """Return the listed rules, or ``everything``; and what supports mean, where the itemsets are given."""
    frame, facts = LightFrame.of(derived), None if itemsets is None else mining_facts(itemsets)
    content: dict[str, Any] = {"confidence_level": level}
    if facts is not None:
        content = fields(facts, "plan_ids reports transaction_size min_support whole confidence_level")
        content |= {"meaning": facts.to_json()["meaning"], "sizes": facts.to_json().get("sizes")}
    content |= _rules_content(frame)
    shown = frame if everything else listed_rules(frame)
    said = [] if facts is None else _meaning(content)
    parts = [*said, *_rule_parts(rule_records(shown.head(top)), content), *more(len(shown) - top)]
    parts += [*(describe_limits(facts) if facts else []), *["{none}"] * bool(content.get("none"))]
    parts += ["hidden by the filters: {hidden:#row}"] * (content.get("hidden", 0) > 0)
    return Record(content, parts, more=lambda: {"rules": rule_records(shown)})


def _rules_content(frame: LightFrame) -> dict[str, Any]:
    said = dict(frame.attrs.get(ATTRIBUTE, {}))
    if "listed" in said:
        said["likely"] = len(frame) + said.get("hidden", 0) - said["listed"]
    return said


def _rule_sentence(content: Mapping[str, Any]) -> str:
    """Say how many rules are listed, and about how many of them are expected to be false."""
    line = "{listed:#rule} of a confidence of {min_confidence:given} or more"
    if content["listed"]:
        line += ", about {expected_false:about} of them, or fewer, false; *: sure (one in twenty false)"
    return line + _less_sure(content, "likely, but ")


def _rule_parts(rows: Sequence[Mapping[str, Any]], content: Mapping[str, Any], caption: str = "") -> list[Part]:
    """Return the table of rules, with the truth where rows hold it, and what its marks mean."""
    marked = [
        {**row, "mark": _mark(row, sure=row.get("sure", False)), "pale": not row.get("listed", True)} for row in rows
    ]
    truth = [Column("true", "{true_confidence:.1%}")] if rows and "true_confidence" in rows[0] else []
    columns = [
        Column("confidence", "{confidence:.1%}"),
        Column(interval(content["confidence_level"]), "{confidence_ci_low:.1%}–{confidence_ci_high:.1%}"), *truth,
        Column("lift", "{lift:.2f}"), Column("support", "{support:estimate}"), *_values(content, rows),
        Column("rule", "{antecedents:names} → {consequents:names}", "name"),
        *[_MARK] * any(row["mark"] for row in marked),
    ]  # fmt: skip
    bars = ("confidence_ci_low", "confidence", "confidence_ci_high")
    parts: list[Part] = [_rule_sentence(content)] if "listed" in content else []
    parts.append(Table(columns, marked, caption, "rules", bars, "pale"))
    if any(row["pale"] for row in marked):
        parts.append(
            "?: not listed: less likely, or an interval of nearly 0–100%, or an antecedent whose support may be 0; "
            "beside it the probability of a confidence of {min_confidence:given} or more"
        )
    return parts


def _values(content: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> list[Column]:
    if not rows or "value" not in rows[0]:
        return []
    limits = Column(interval(content["confidence_level"]), "{value_ci_low:.2f} to {value_ci_high:.2f}")
    return [Column("value of 1,000 baskets", "{value:.2f}"), limits]


# ---- substitutes


def substitutes(table: AnyFrame, top: int = 15, *, everything: bool = False) -> Record:
    """Return pairs that are bought together less than chance has it, and how many pairs cannot be told."""
    frame = LightFrame.of(table)
    content = dict(frame.attrs[ATTRIBUTE]) | {"likely": int(((frame["probability"] >= LEAST) & ~frame["listed"]).sum())}
    likely = frame["listed"] | (everything & (frame["probability"] >= LEAST))
    shown = frame.take(np.flatnonzero(likely))
    rows = [
        row | {"mark": _mark(row, sure=False), "pale": not row["listed"]} for row in itemset_records(shown.head(top))
    ]
    of = " of one category" if content["by_category"] else ""
    said = (
        f"{{listed:#pair}}{of} bought together less than {{below:given}} as often as expected if independent, in "
        "baskets of the same size"
    )
    said += "; about {expected_false:about} of them may not be" if content["listed"] else ""
    untold = (
        f"{{told:#pair}}{of} can be told; {{untold:#}} are too rare: even if nobody bought both, noise would hide it"
    )
    columns = [
        Column("lift", "{lift_by_size:.2f}"),
        Column(interval(content["confidence_level"]), "{lift_ci_low:.2f}–{lift_ci_high:.2f}"),
        Column("support", "{support:estimate}"), Column("expected", "{expected_support:estimate}"),
        Column("pair", "{itemset:names}", "name"), *[_MARK] * any(row["mark"] for row in rows),
    ]  # fmt: skip
    bars = ("lift_ci_low", "lift_by_size", "lift_ci_high")
    parts: list[Part] = [*_meaning(content), Say(said + _less_sure(content, "likely, but ")), untold]
    parts += [Table(columns, rows, name="pairs", bars=bars, pale="pale"), *more(len(shown) - top)]
    return Record(content, parts, more=lambda: {"pairs": itemset_records(shown)})


# ---- questions


def answers(found: "AskOutcome") -> Record:
    """Return what was asked: itemsets, then rules, in the order asked."""
    content = found.facts.to_json()
    itemsets, derived = _records(found.itemsets), rule_records(found.rules)
    parts = _meaning(content)
    if itemsets:
        columns = [
            *_supports(content), Column("unbiased", "{unbiased:estimate}"),
            Column("± error", "{unbiased_error:estimate}"), Column("itemset", "{itemset:names}", "name"),
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
    """Return a mined table with rules that were derived of it as a page shows them."""
    frame, facts = LightFrame.of(table), mining_facts(table)
    content = _mined_content(frame)
    shown, left = _rows(frame, rows, EVERYTHING, everything=True)
    shown = with_named_intervals(shown, facts.confidence_level, "named_low", "named_high")
    found: list[Part] = [
        Page([Say("{meaning}. Every figure was computed from randomized reports; nobody saw a basket.", kind="hint")]),
        Section(
            "What did we learn?",
            [*_itemset_parts(shown, content, "Itemsets by support"), *left],
            "found",
        ),
        Section("How sure is it?", _sureness(frame, facts, content), "sure", aside=True),
    ]
    if len(derived):
        found += _rule_sections(derived, content, min(rows, MOST_RULES))
    answer = Say(f"{{reports:#report}} show {_list_sentence(content).text}.", kind="answer")
    content |= {"rule_list": _rules_content(derived), "promised": plan and promise_content(plan)}
    found += privacy_sections(plan, content["plan_ids"][0])
    lists = lambda: {"itemsets": _records(frame), "rules": rule_records(derived)}  # noqa: E731
    return Record(content, [answer, *found], title, more=lists)


def _sureness(frame: LightFrame, facts: MiningFacts, content: Mapping[str, Any]) -> list[Part]:
    return [
        f"{_SURE}{f' {_REFINE}' if content['likely'] else ''}",
        _BOTH,
        *_meaning(content)[1:],
        *(f"{each[:1].upper()}{each[1:]}." for each in describe_limits(facts)),
        sizes_picture(frame),
    ]


def sizes_picture(table: AnyFrame, rows: int | None = None) -> Picture:
    """Return the supports of each size, of so many itemsets that are listed or likely."""
    frame, least = LightFrame.of(table), mining_facts(table).min_support
    drawn = frame.take(np.flatnonzero(is_likely(frame)))
    marks = list(zip(*(drawn[name].tolist() for name in ("length", "support", "listed")), strict=True))[:rows]
    return Picture(lambda: charts.supports_chart(least, marks), STRIPS)


def rules_pictures(rows: Sequence[Mapping[str, Any]]) -> dict[str, Picture]:
    """Return rules by support and confidence, and as a graph."""
    scatter = "Rules by support (to the right) and confidence (upwards). Lift:"
    graph = "Who has the first item also has the second. Thick: high confidence. Lift:"
    return {
        "scatter": Picture(lambda: charts.rules_chart(rows), scatter, charts.SHADED_LEGEND),
        "graph": Picture(lambda: charts.rules_graph(rows), graph, charts.SHADED_LEGEND),
    }


def _rule_sections(derived: LightFrame, content: Mapping[str, Any], rows: int) -> list[Part]:
    drawn, said = rule_records(derived.head(rows)), {**content, **_rules_content(derived)}
    parts = _rule_parts(drawn, said, "Rules by how high their confidence surely is") + more(len(derived) - len(drawn))
    return [
        Section("Which rules follow?", [Record(said, parts)], "rules"),
        Section("The rules, drawn", list(rules_pictures(drawn).values()), "drawn", aside=True),
    ]
