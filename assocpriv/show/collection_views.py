"""Records of a collection, from its catalogue to its folder of reports.

- Catalogues: problems of a catalogue. A catalogue is published, so its names may be shown.
- Randomization: dropped data, and the truncation loss.
- Devices: the result of sending reports, and the privacy budget spent. The JavaScript client has the same sentences
  (clients/js/src/device/budget-spent.js); tests/vectors/devices.json compares them.
- Gathering: the result of a run. Then a collection's keys, and the content of its folder.

This module imports nothing of the server package.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assocpriv.guarantees.amplification import epsilon_from_amplification, highest_posterior
from assocpriv.guarantees.errors import pluralize
from assocpriv.planning.truncation_loss import TruncationLoss, describe_truncation_loss, measure_truncation_loss
from assocpriv.show.number_format import chance_up, fields, plain
from assocpriv.show.result_record import Column, Facts, Part, Record, Say, Table

if TYPE_CHECKING:
    from assocpriv.client.baskets.transactions import BasketCounts
    from assocpriv.client.ledger import BudgetSpent, DeviceReport
    from assocpriv.client.upload import QueueResult, SentReport
    from assocpriv.collect.folder import CollectionStatus
    from assocpriv.collect.gather import GatherResult, RefusedFile
    from assocpriv.collect.keys import SourceKey
    from assocpriv.files.plan_files import CatalogueCheck
    from assocpriv.plans.baskets.basket_plan import Plan
    from assocpriv.simulation.basket_rounds import BothRounds
    from assocpriv.simulation.basket_samples import CatalogueDraft, CatalogueUse

_SHOWN = 20  # refused files
_NAMES_SHOWN = 5  # groups of near-duplicates
_PLANS_SHOWN = 3  # of a ledger
_PRIOR = Fraction(1, 100)  # easy to imagine
_KEY = "number name quota revoked"


# ---- catalogues


def draft(made: "CatalogueDraft", output: Any) -> Record:
    """Return the sources and problems of a new catalogue, and its names, unless they are written to a file."""
    content = fields(made, "baskets rare share rewritten near_duplicates") | {
        "items": len(made.catalogue),
        "names": list(made.catalogue) if output is None else None,
        "output": output and str(output),
    }
    notes: list[Part] = ["{baskets:#basket}, {items:#item}" if made.baskets else "{items:#item}"]
    if made.rare:
        notes.append(
            "{rare:#rare name} left out; the catalogue covers {share:.0%} of all items, and on average that share of a "
            "basket (plan --mean-size)"
        )
    if made.rewritten:
        notes.append(Say(
            "{rewritten:#name} changed to Unicode form NFC with single blanks; other spellings in baskets do not match",
            kind="wrong",
        ))  # fmt: skip
    written: Part = "{items:#name} written to {output}; the catalogue is published, so read the names first"
    if output is None:
        written = Say("{lines}", {"lines": "\n".join(made.catalogue)})
    return Record(content, [written], notes=[*notes, *_near_duplicates(made.near_duplicates)])


def check(checked: "CatalogueCheck", use: "CatalogueUse | None") -> Record:
    """Return the problems of a catalogue, and how baskets match it."""
    used = dict.fromkeys(("baskets", "unknown", "unused")) if use is None else fields(use)
    content = {"items": len(checked.catalogue), **fields(checked, "odd near_duplicates"), **used}
    odd = "{count:#name} not in Unicode form NFC with single blanks, as {odd[0]!r}"
    parts: list[Part] = [
        "{items:#item}, all names distinct",
        *[Say(odd, {"count": len(checked.odd)}, "wrong")] * bool(checked.odd),
        *_near_duplicates(checked.near_duplicates),
    ]
    parts += ["no near-duplicate names"] * (not checked.odd and not checked.near_duplicates)
    if use is not None:
        parts.append("{baskets:#basket}: {unknown:#item} not in the catalogue; {unused:#name} of it in no basket")
    return Record(content, parts)


def _near_duplicates(groups: Sequence[tuple[str, ...]]) -> list[Part]:
    """Return a warning of near-duplicate names; they are shown, because a catalogue is published."""
    shown, more = "; ".join(" | ".join(group) for group in groups[:_NAMES_SHOWN]), len(groups) - _NAMES_SHOWN
    text = "{count:#group} of names differ only in case, Unicode form, blanks or leading zeros: {shown}"
    text += "; and {more:#group} more" * (more > 0)
    return [Say(text, {"count": len(groups), "shown": shown, "more": more}, "wrong")] * bool(groups)


# ---- randomizing


def randomized(done: "BasketCounts", plan: "Plan", output: Any, lost: Record | None = None) -> Record:
    """Return the numbers of reports and of dropped or merged data, and the truncation loss, of one round by default."""
    lost = lost or losses([measure_truncation_loss(done.sizes, plan)])
    content = {
        **fields(plan, "plan_id report_bytes reports_per_person"),
        **fields(done.read, "baskets unknown_dropped repeats_merged empty_kept empty_dropped"),
        **fields(done.read.left_out, "missing_cells incomplete_rows not_bought till_lines empty_flags"),
        "reports": done.reported,
        "without_items": max(done.empty - done.read.empty_kept, 0),
        "people": done.people,
        "left_out": done.read.baskets - done.reported,
        **lost.content,
    }
    changes = {
        "unknown_dropped": ("item", "outside the catalogue dropped"),
        "repeats_merged": ("repeated item", "merged"),
        "empty_kept": ("empty basket", "kept"),
        "empty_dropped": ("empty basket", "dropped"),
    }
    notes: list[Part] = [f"{{{name}:#{noun}}} {change}" for name, (noun, change) in changes.items() if content[name]]
    if content["without_items"]:
        # a plan that drops other names, as of a short catalogue, makes this normal
        expected = plan.names.unlisted == "drop"
        line = "{without_items:#} of {baskets:#} baskets hold none of the catalogue's items"
        notes.append(
            line if expected else Say(f"{line}; compare the spelling of names, and check the layout", kind="wrong")
        )
    most = "{reports_per_person:#basket}"
    notes.append(
        f"each basket counts as a different person; the guarantee covers {most} per person. If people have several "
        "baskets, name the column that identifies the person: --person COLUMN"
        if done.people is None
        else f"reported: at most {most} of each of {{people:#}} people; {{left_out:#basket}} left out"
    )
    written = Say("{reports:#report} of {report_bytes:#byte} written to {output}", {"output": output})
    return Record(content, [written], notes=[*notes, *lost.notes])


def randomized_rounds(done: "BothRounds", folder: Path) -> Record:
    """Return the numbers of reports of both rounds, and of dropped or merged data."""
    assert done.read is not None
    plan: Any = done.first.plan
    read, following = randomized(done.read, plan, folder, losses(done.losses)), done.next_round
    own = {
        "second_plan_id": following.plan.plan_id, "first_reports": len(done.first), "second_reports": len(done.second),
        "second_items": following.plan.n_items, **fields(following, "mean_size share held"), "folder": str(folder),
    }  # fmt: skip
    lines: list[Part] = [
        "round 1: {first_reports:#report} about {items:#item}; baskets have {mean_size:.3g} items on average",
        "round 2: {second_reports:#report} about the {second_items:#} likeliest items, with {share:.0%} of purchases",
        "written to {folder}: first.parquet, second-plan.json, second.parquet",
    ]
    return Record({**read.content, **own, "items": plan.n_items}, lines, notes=read.notes)


def losses(found: "Sequence[TruncationLoss]") -> Record:
    """Return the truncation loss as notes, with warnings if it is large; of two rounds, each alone."""
    content = [{"truncated_baskets": loss.truncated, "expected_support_lost": plain(loss.shares)} for loss in found]
    notes: list[Part] = []
    names = [""] if len(found) == 1 else ["round 1: ", "round 2, of its own items: "]
    for loss, name in zip(found, names, strict=True):
        lines, warnings = describe_truncation_loss(loss)
        notes += [f"{name}{line}" for line in lines] + [Say(f"{name}{line}", kind="wrong") for line in warnings]
    return Record(content[0] if len(found) == 1 else {"losses": content}, [], notes=notes)


# ---- devices


def device(report: "DeviceReport", output: Path) -> Record:
    """Return the result of writing a device's report to a file."""
    about = fields(report.plan, "plan_id report_bytes unbounded")
    if report.plan.amplification is not None:
        about["unbounded"] = None
    hidden = "; send it alone, through a relay of another party, at a random time"
    return _report(report, about, "written to {place}" + hidden * (report.plan.central is not None), output)


def sent(done: "SentReport", url: str) -> Record:
    """Return the result of sending a report."""
    about = fields(done, "state plan_id report_bytes send_time") | {"unbounded": done.unbounded or None}
    if done.send_time is not None:
        return _report(
            done, about, "scheduled: assocpriv report --queued sends it from {place} on", _local_time(done.send_time)
        )
    return _report(done, about, "sent to {place}" if done.state == "sent" else "already sent to {place}", url)


def _local_time(time: int) -> str:
    return datetime.fromtimestamp(time).astimezone().isoformat(" ")


def _report(done: "DeviceReport | SentReport", about: dict[str, Any], result: str, place: Any) -> Record:
    cost = None if done.amplification is None else epsilon_from_amplification(done.amplification)
    content = about | fields(done, "new spent remaining amplification") | {"epsilon": cost}
    made = "new report" if done.new else "report made before"
    parts: list[Part] = [
        Say(f"{made}, {{report_bytes:#byte}}, {result}", {"place": place}),
        "plan {plan_id:id}: {spent:#report} made, {remaining:#} remaining",
        *["privacy budget spent in all: γ ≤ {amplification:up}, ε ≤ {epsilon:up}"] * (done.amplification is not None),
        *["{unbounded}"] * (content["unbounded"] is not None),
    ]
    return Record(content, parts)


def queue_sent(done: "QueueResult", url: str) -> Record:
    """Return the result of sending the queued reports."""
    others = ["{other_plans:#report} of other plans still queued"] * (done.other_plans > 0)
    parts: list[Part] = [Say("{sent:#report} sent to {url}", {"url": url}), *others]
    if done.later:
        parts.append(Say("{count:#report} scheduled; run this again from {first} on", {
            "count": len(done.later), "first": _local_time(done.later[0])}))  # fmt: skip
    return Record(fields(done), parts)


# ---- privacy budget


def spent(found: "BudgetSpent") -> Record:
    """Return the reports of a device by plan, and the privacy budget that they spent."""
    gamma = found.stated_amplification
    figures = "reports unstated uncovered stated_amplification stated_epsilon remaining remaining_epsilon"
    content = fields(found, f"plans {figures}") | {
        "stated": found.reports - found.unstated,
        "prior": plain(_PRIOR),
        "stated_posterior": gamma and plain(highest_posterior(_PRIOR, gamma)),
        "amplification_limit": found.limit and plain(found.limit.amplification_limit),
    }
    sentences = " ".join([*_spent_sentences(content), *_remaining_sentence(content)])
    return Record(content, [_reports_sentence(content["plans"]), *([sentences] if sentences else [])])


def _reports_sentence(plans: list[dict[str, Any]]) -> Say:
    """Return a sentence on the ledger's reports and their plans; a lost ledger would not count."""
    start = "This device's ledger holds {reports:#report}"
    if not plans:
        return Say("This device's ledger holds no report: it has spent no privacy budget.")
    if len(plans) == 1:
        return Say(f"{start}, under plan {{plans[0][plan_id]:.12}}.")
    shown = range(min(len(plans), _PLANS_SHOWN))
    parts = [f"{{plans[{k}][reports]:#}} under plan {{plans[{k}][plan_id]:.12}}" for k in shown]
    rest = plans[_PLANS_SHOWN:]
    parts += ["{more:#} under {others:#other plan}"] if rest else []
    return Say(f"{start}: {', '.join(parts)}.", {"more": sum(each["reports"] for each in rest), "others": len(rest)})


def _spent_sentences(content: Mapping[str, Any]) -> Iterator[str]:
    """Yield sentences on unbounded disclosure, then on the disclosure that γ bounds, as ε and as a posterior."""
    within = ""
    if content["unstated"]:
        yield "The disclosure by {unstated:#report} without γ is not bounded."
    if content["uncovered"]:
        yield "The disclosure by {uncovered:#report} outside γ, as in a raw column, is not bounded."
        within = " within γ"
    if not content["stated"]:
        return
    one = content["stated"] == 1
    who = "It" if one else "Together they"
    if content["unstated"]:
        who = "The other report" if one else "The other {stated:#report}"
    most, then = "more than any guarantee allows", "can be certain"
    if content["stated_epsilon"] is not None:
        most = "at most ε = {stated_epsilon:up}"
        if chance_up(Fraction(content["stated_posterior"])) != "certainty":
            then = "can be at most {stated_posterior:chance} likely"
    yield f"{who} spent {most}{within}: a statement about you that was {{prior:chance}} likely before {then} now."


def _remaining_sentence(content: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence on the remaining budget, if the device has a limit."""
    if content["amplification_limit"] is None:
        return
    if content["remaining"] is None:
        yield "No limit can hold for this device any more."
    elif not content["remaining_epsilon"]:
        yield "Under this device's limit no privacy budget remains."
    else:
        further = "further " * (content["reports"] > 0)
        yield f"Under this device's limit {further}reports may spend less than ε = {{remaining_epsilon:down}} in all."


# ---- gathering


def gathered(done: "GatherResult") -> Record:
    """Return the collections with their gathered reports; notes list refused files, and count repeated ones.

    With one plan the top of the content has its id.
    """
    ids = [each.plan.plan_id for each in done.collections]
    collections = [
        {"plan_id": each.plan.plan_id, "path": str(each.path), **fields(each, "gathered repeated reports open")}
        for each in done.collections
    ]
    content = {
        "plan_id": ids[0] if len(ids) == 1 else None,
        **fields(done, "gathered repeated refused refused_count"),
        "reports": sum(each.reports for each in done.collections),
        "collections": collections,
    }
    line = "{gathered:#report} gathered into {path}, which holds {reports:#} now; plan {plan_id:id}"
    rest = "{open:#} of them are in the open batch, below the minimum size; mining reads them meanwhile"
    parts: list[Part] = [Record(each, [line, *[rest] * (each["open"] > 0)]) for each in collections if each["reports"]]
    if not done.gathered and not done.repeated and not done.refused_count:
        parts.append("nothing to do: there is no file to gather")
    if done.gathered:
        parts.append("gathered files are removed: the collection holds their bytes")
    return Record(content, parts, notes=_refused(done))


def _refused(done: "GatherResult") -> list[Part]:
    """Return notes: the refused files, which stay in place, and the number of repeated ones."""
    notes = [Say("not gathered: {refusal}", {"refusal": _refusal(each)}, "wrong") for each in done.refused[:_SHOWN]]
    more = done.refused_count - len(notes)
    notes += [Say("and {more:#} more", {"more": more}, "wrong")] * (more > 0)
    again = "{repeated:#file} removed without counting: files of these names were gathered before"
    return [*notes, *[Say(again, kind="wrong")] * (done.repeated > 0)]


def failure(done: "GatherResult") -> str:
    """Return why no file could be gathered; empty if one was, or if there was none."""
    if done.gathered or done.repeated or not done.refused:
        return ""
    more = done.refused_count - 1
    others = f"; {pluralize(more, 'other file')} refused" if more else ""
    return f"no file was gathered: {_refusal(done.refused[0])}{others}"


def _refusal(refusal: "RefusedFile") -> str:
    # senders choose the names of files in an inbox: a name must not imitate our own lines
    name = "".join(character if character.isprintable() else "?" for character in refusal.file)
    return f"{name} {refusal.reason}"


# ---- keys


def keys(found: "list[SourceKey]") -> Record:
    """Return a collection's keys, without their hashes."""
    rows = [fields(each, _KEY) for each in found]
    columns = [
        Column("key", "{number}"), Column("quota", "{quota:#}"), Column("state", "{state}", "text"),
        Column("name", "{name:name}", "name"),
    ]  # fmt: skip
    table = Table(columns, [row | {"state": "revoked" * row["revoked"]} for row in rows])
    none = "no keys: everyone may send reports; collector keys DATA --add NAME makes a key"
    return Record({"keys": rows}, [table if rows else none])


def new_key(key: "SourceKey", secret: str) -> Record:
    """Return a new key, to be given to its source."""
    shown = "key {number}, shown only now. Devices send it as Authorization: Bearer KEY"
    return Record(fields(key, _KEY) | {"key": secret}, ["{key}"], notes=[shown])


def revoked_key(key: "SourceKey") -> Record:
    """Return a revoked key."""
    return Record(fields(key, _KEY), ["key {number} ({name}) is revoked; its reports stay"])


# ---- folders


def status(found: "CollectionStatus") -> Record:
    """Return the status of a collection; in the content keys' numbers are texts, "0" without a key."""
    content = fields(found) | fields(found, "reports")
    state = "ended" if found.ended else "being served" if found.served else "not being served"
    held = ["{reports:#report}: {closed:#} in closed batches, {open:#} open; minimum batch size {minimum_batch_size:#}"]
    held += ["{removed:#report} removed"] * (found.removed > 0)
    if found.in_database is None:
        held.append("open reports in PostgreSQL: stop the collector, then run `assocpriv collector close`")
    elif found.in_database:
        held.append("{in_database:#} open in PostgreSQL: run `assocpriv collector close`")
    how = {None: "", "only": " through a relay only", "also": " directly or through a relay"}[found.relay]
    who = "sources with a key may send" if found.keys else f"everyone may send{how}"
    who = "no one may send any more" if found.ended else who
    parts: list[Part] = [Facts([("plan", [f"{{plan_id:id}}, {state}; {who}"]), ("reports", held)])]
    by_key, aside = found.by_key, found.set_aside
    if any(by_key | aside):
        columns = [Column("key", "{key}"), Column("reports", "{held:#}"), Column("set aside", "{aside:#}")]
        rows = [
            {"key": str(key or "none"), "held": by_key.get(key), "aside": aside.get(key)}
            for key in sorted(by_key | aside)
        ]
        parts.append(Table(columns, rows))
    return Record(content, parts)


def set_aside(moved: int, key: int, data: Path, *, restore: bool) -> Record:
    """Return the number of a key's reports that were set aside or restored, and the next step."""
    line = "{moved:#report} of key {key} restored to {data}"
    if not restore:
        line = (
            "{moved:#report} of key {key} set aside; mining no longer reads them. To refuse further ones, revoke the "
            "key: `assocpriv collector keys {data} --revoke {key}`"
        )
    return Record({"key": key, "moved": moved, "restored": restore}, [Say(line, {"data": data})])


def closed(count: int, minimum: int, data: Path, *, ended: bool) -> Record:
    """Return the number of reports in closed batches, with a warning if the batch is small."""
    line = "{closed:#report} closed" + ("; {data} has ended, and takes no more reports" if ended else " in {data}")
    cost = (
        "this batch is below the minimum of {minimum:#}: someone who has a device's ledger, or saw when it sent, knows "
        "that its report is one of {closed:#}"
    )
    notes: list[Part] = [Say(cost, {"minimum": minimum}, "wrong")] if 0 < count < minimum else []
    return Record({"closed": count, "ended": ended}, [Say(line, {"data": data})], notes=notes)


def removed(by_day: dict[str, int], undated: int, days: int) -> Record:
    """Return the number of removed reports, by the day on which their batch was closed."""
    content = {"removed": sum(by_day.values()), "by_day": by_day, "undated": undated, "days": days}
    parts: list[Part] = ["{removed:#report} removed, from batches closed more than {days:#day} ago"]
    if by_day:
        rows = [{"day": day, "removed": count} for day, count in by_day.items()]
        parts.append(Table([Column("closed on", "{day}", "text"), Column("removed", "{removed:#}")], rows))
    undated_note = "{undated:#file} without a day kept: no collector wrote it, or an older version did"
    return Record(content, parts, notes=[Say(undated_note, kind="wrong")] * (undated > 0))
