"""A collection, from its catalogue to its folder of reports, as records.

Catalogues: what is odd about one. They get published, so their names may be shown. Randomizing: what was left out of
baskets, and what sampling loses of them. Devices: what became of a report, and of those that waited, and what all that
it sent can have told; the client in JavaScript says that in the same words (clients/js/src/device/told.js), and
tests/vectors/devices.json holds them together. Gathering: what a run came to. Then a collection's keys, and what its
folder holds. It loads no room of the server.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assocpriv.planning.sampling_loss import SamplingLoss, describe_loss, sampling_loss
from assocpriv.promise.breaches import epsilon, highest_posterior
from assocpriv.promise.errors import counted
from assocpriv.show.figures import chance_up, fields, plain
from assocpriv.show.record import Column, Facts, Part, Record, Say, Table

if TYPE_CHECKING:
    from assocpriv.client.ledger import DeviceReport
    from assocpriv.client.ledger_book import Told
    from assocpriv.client.sending import SentReport, SentWaiting
    from assocpriv.client.transactions import BasketCounts
    from assocpriv.collect.folder import CollectionStatus
    from assocpriv.collect.gather import Gathered, Refusal
    from assocpriv.collect.keys import SourceKey
    from assocpriv.files.plans import CatalogueCheck
    from assocpriv.plans.baskets import Plan
    from assocpriv.simulation.samples import CatalogueDraft, CatalogueUse

_SHOWN = 20  # of what was refused
_NAMES_SHOWN = 5  # groups of twins
_PLANS_SHOWN = 3  # of what a device told
_PRIOR = Fraction(1, 100)  # a belief that everybody can picture
_KEY = "number name quota revoked"


# ---- catalogues


def draft(made: "CatalogueDraft", output: Any) -> Record:
    """Return what a catalogue was made of, and what to look at; its names, unless they are written to a file."""
    content = fields(made, "baskets rare share rewritten twins") | {
        "items": len(made.catalogue),
        "names": list(made.catalogue) if output is None else None,
        "output": output and str(output),
    }
    notes: list[Part] = ["{baskets:#basket}, {items:#item}" if made.baskets else "{items:#item}"]
    if made.rare:
        notes.append(
            "{rare:#rarer name} left out; the catalogue's items are {share:.0%} of all, so as many of a basket's items "
            "stay on average (plan --mean-size)"
        )
    if made.rewritten:
        notes.append(Say(
            "{rewritten:#name} put into Unicode form NFC with single blanks; baskets that write them otherwise do not "
            "match", kind="wrong",
        ))  # fmt: skip
    said: Part = "{items:#name} written to {output}; they get published: read them first"
    if output is None:
        said = Say("{lines}", {"lines": "\n".join(made.catalogue)})
    return Record(content, [said], notes=[*notes, *_twins(made.twins)])


def check(checked: "CatalogueCheck", use: "CatalogueUse | None") -> Record:
    """Return what is odd about a catalogue, and how baskets fit it."""
    used = dict.fromkeys(("baskets", "unknown", "unused")) if use is None else fields(use)
    content = {"items": len(checked.catalogue), **fields(checked, "odd twins"), **used}
    odd = "{count:#name} not in Unicode form NFC with single blanks, as {odd[0]!r}"
    parts: list[Part] = [
        "{items:#item}, all names distinct",
        *[Say(odd, {"count": len(checked.odd)}, "wrong")] * bool(checked.odd),
        *_twins(checked.twins),
    ]
    parts += ["no names that people may take for one"] * (not checked.odd and not checked.twins)
    if use is not None:
        parts.append("{baskets:#basket}: {unknown:#item} not in the catalogue; {unused:#name} of it in none of them")
    return Record(content, parts)


def _twins(twins: Sequence[tuple[str, ...]]) -> list[Part]:
    """Warn of names that people may take for one; they are shown, as a catalogue gets published."""
    shown, more = "; ".join(" | ".join(group) for group in twins[:_NAMES_SHOWN]), len(twins) - _NAMES_SHOWN
    said = "{count:#group} of names differ only in case, Unicode form, blanks or leading zeros: {shown}"
    said += "; and {more:#group} more" * (more > 0)
    return [Say(said, {"count": len(twins), "shown": shown, "more": more}, "wrong")] if twins else []


# ---- randomizing


def randomized(done: "BasketCounts", plan: "Plan", output: Any) -> Record:
    """Return what was written of baskets; its notes say what was left out or merged, and what sampling loses."""
    loss = sampling_loss(done.sizes, plan)
    content = {
        **fields(plan, "plan_id report_bytes reports_per_person"),
        **fields(done.read, "baskets unknown_dropped repeats_merged empty_kept empty_dropped"),
        **fields(done.read.left_out, "missing_cells incomplete_rows not_bought till_lines"),
        "reports": done.reported,
        "without_items": max(done.empty - done.read.empty_kept, 0),
        "people": done.people,
        "left_out": done.read.baskets - done.reported,
        **loss_content(loss),
    }
    said = {
        "unknown_dropped": "items outside the catalogue dropped",
        "repeats_merged": "repeated items merged",
        "empty_kept": "empty baskets kept",
        "empty_dropped": "empty baskets left out",
    }
    notes: list[Part] = [f"{{{name}:#}} {what}" for name, what in said.items() if content[name]]
    if content["without_items"]:
        # where a plan leaves names out, as a short list does, that is no sign of a wrong format
        expected = plan.names.others == "drop"
        line = "{without_items:#} of {baskets:#} baskets hold none of the catalogue's items"
        notes.append(
            line if expected else Say(f"{line}; check that names are written as there, and the layout", kind="wrong")
        )
    most = "{reports_per_person:#basket}"
    notes.append(
        f"every basket counts as another person's; the promise is for {most} of one: --person COLUMN says whose it is"
        if done.people is None
        else f"at most {most} of each person is reported, of {{people:#}} people; {{left_out:#}} left out"
    )
    written = Say("{reports:#report} of {report_bytes:#byte} written to {output}", {"output": output})
    return Record(content, [written], notes=[*notes, *loss_parts(loss)])


def loss_content(loss: SamplingLoss) -> dict[str, Any]:
    """Return what sampling loses of baskets' supports, as JSON content."""
    return {"sampled_baskets": loss.sampled, "expected_support_lost": plain(loss.shares)}


def loss_parts(loss: SamplingLoss) -> list[Part]:
    """Say it; much of it is warned of."""
    lines, warnings = describe_loss(loss)
    return [*lines, *(Say(line, kind="wrong") for line in warnings)]


# ---- devices


def device(report: "DeviceReport", output: Path) -> Record:
    """Return a device's report, whose bytes are in a file, and how many more the device may make."""
    about = fields(report.plan, "plan_id report_bytes unbounded")
    if report.plan.amplification is not None:
        about["unbounded"] = None
    hidden = "; it is to be sent through a relay of somebody else alone, at a moment that tells nothing"
    return _report(report, about, "written to {place}" + hidden * (report.plan.central is not None), output)


def sent(done: "SentReport", url: str) -> Record:
    """Return what became of a report that was to be sent."""
    about = fields(done, "state plan_id report_bytes moment") | {"unbounded": done.unbounded or None}
    if done.moment is not None:
        return _report(done, about, "to be sent by --unsent from {place} on", _shown_moment(done.moment))
    return _report(done, about, "sent to {place}" if done.state == "sent" else "which {place} has already", url)


def _shown_moment(moment: int) -> str:
    return datetime.fromtimestamp(moment).astimezone().isoformat(" ")


def _report(done: "DeviceReport | SentReport", about: dict[str, Any], said: str, place: Any) -> Record:
    cost = None if done.amplification is None else epsilon(done.amplification)
    content = about | fields(done, "new spent left amplification") | {"epsilon": cost}
    made = "a new report" if done.new else "the report made before"
    parts: list[Part] = [
        Say(f"{made}, {{report_bytes:#byte}}, {said}", {"place": place}),
        "of plan {plan_id:id} the ledger counts {spent:#report}; left: {left:#}",
        *["all that this device told has γ ≤ {amplification:up}, ε ≤ {epsilon:up}"] * (done.amplification is not None),
        *["{unbounded}"] * (content["unbounded"] is not None),
    ]
    return Record(content, parts)


def waiting(done: "SentWaiting", url: str) -> Record:
    """Return what became of the reports that waited."""
    others = ["{other_plans:#report} of other plans, which are not collected there: kept"] * (done.other_plans > 0)
    parts: list[Part] = [Say("{sent:#report} sent to {url}", {"url": url}), *others]
    if done.later:
        parts.append(Say("{count:#report} to be sent by --unsent, the first from {first} on", {
            "count": len(done.later), "first": _shown_moment(done.later[0])}))  # fmt: skip
    return Record(fields(done), parts)


# ---- what a device told


def told(found: "Told") -> Record:
    """Return how many reports of which plans were made, and what all of them can have told at most."""
    gamma = found.stated_amplification
    content = fields(found, "plans reports unstated outside stated_amplification stated_epsilon left left_epsilon") | {
        "stated": found.reports - found.unstated,
        "prior": plain(_PRIOR),
        "stated_posterior": gamma and plain(highest_posterior(_PRIOR, gamma)),
        "amplification_limit": found.limit and plain(found.limit.amplification_limit),
    }
    tells = " ".join([*_bounds(content), *_left(content)])
    return Record(content, [_made(content["plans"]), *([tells] if tells else [])])


def _made(plans: list[dict[str, Any]]) -> Say:
    """Say how many reports the ledger knows of, which one that was lost does not, and under which plans."""
    said = "The ledger of this device counts {reports:#report}"
    if not plans:
        return Say("The ledger of this device counts no report, so as far as it knows nothing was told.")
    if len(plans) == 1:
        return Say(f"{said}, under plan {{plans[0][plan_id]:.12}}.")
    shown = range(min(len(plans), _PLANS_SHOWN))
    parts = [f"{{plans[{k}][reports]:#}} under plan {{plans[{k}][plan_id]:.12}}" for k in shown]
    rest = plans[_PLANS_SHOWN:]
    parts += ["{more:#} under {others:#other plan}"] if rest else []
    return Say(f"{said}: {', '.join(parts)}.", {"more": sum(each["reports"] for each in rest), "others": len(rest)})


def _bounds(content: Mapping[str, Any]) -> Iterator[str]:
    """Say what nothing bounds, then what γ bounds: as ε, and as what becomes of a belief."""
    within = ""
    if content["unstated"]:
        yield "Nothing bounds what {unstated:#report} can have told, for no γ is stated."
    if content["outside"]:
        yield "Nothing bounds what {outside:#report} can have told outside γ, as in a column in clear."
        within = " within γ"
    if not content["stated"]:
        return
    one = content["stated"] == 1
    who = "It" if one else "Together they"
    if content["unstated"]:
        who = "The other report" if one else "The other {stated:#report}"
    most, then = "nearly everything", "may be certain of it"
    if content["stated_epsilon"] is not None:
        most = "at most ε = {stated_epsilon:up}"
        if chance_up(Fraction(content["stated_posterior"])) != "certainty":
            then = "thinks it at most {stated_posterior:chance} likely"
    yield f"{who} can have told {most}{within}: whoever thought something about you {{prior:chance}} likely {then} now."


def _left(content: Mapping[str, Any]) -> Iterator[str]:
    """Say what the limit of the device leaves, if it has one."""
    if content["amplification_limit"] is None:
        return
    if content["left"] is None:
        yield "No limit can hold for this device any more."
    elif not content["left_epsilon"]:
        yield "Under the limit of this device nothing is left to tell."
    else:
        further = "further " * (content["reports"] > 0)
        yield f"Under the limit of this device {further}reports may tell less than ε = {{left_epsilon:down}} in all."


# ---- gathering


def gathered(done: "Gathered") -> Record:
    """Return what was gathered into which collections; its notes name what was refused, and files that came again.

    The plan's id stands at the top of the content if there is one plan.
    """
    ids = [each.plan.plan_id for each in done.collections]
    collections = [
        {"plan_id": each.plan.plan_id, "path": str(each.path), **fields(each, "gathered repeated reports unsealed")}
        for each in done.collections
    ]
    content = {
        "plan_id": ids[0] if len(ids) == 1 else None,
        **fields(done, "gathered repeated refused refused_count"),
        "reports": sum(each.reports for each in done.collections),
        "collections": collections,
    }
    said = "{gathered:#report} gathered into {path}, which holds {reports:#} now; plan {plan_id:id}"
    wait = "{unsealed:#} of them are not sealed: they wait for others, and are mined meanwhile"
    parts: list[Part] = [
        Record(each, [said, *[wait] * (each["unsealed"] > 0)]) for each in collections if each["reports"]
    ]
    if not done.gathered and not done.repeated and not done.refused_count:
        parts.append("nothing to do: there was no file to gather")
    if done.gathered:
        parts.append("the files gathered are removed: the collection has their bytes, and nothing else of them")
    return Record(content, parts, notes=_refused(done))


def _refused(done: "Gathered") -> list[Part]:
    """Name what was refused and say where it is; then how many files came again."""
    notes = [Say("left where it is: {refusal}", {"refusal": _refusal(each)}, "wrong") for each in done.refused[:_SHOWN]]
    more = done.refused_count - len(notes)
    notes += [Say("and {more:#} more", {"more": more}, "wrong")] * (more > 0)
    again = "{repeated:#file} removed without counting: reports under their names were gathered before"
    return [*notes, *[Say(again, kind="wrong")] * (done.repeated > 0)]


def failure(done: "Gathered") -> str:
    """Say why nothing could be gathered of what was there; empty where something was, or nothing was there."""
    if done.gathered or done.repeated or not done.refused:
        return ""
    more = done.refused_count - 1
    others = f"; {counted(more, 'other file')} refused, too" if more else ""
    return f"nothing was gathered: {_refusal(done.refused[0])}{others}"


def _refusal(refusal: "Refusal") -> str:
    # whoever may put files into an inbox chooses their names: nothing of them may pass for our own lines
    name = "".join(character if character.isprintable() else "?" for character in refusal.file)
    return f"{name} {refusal.reason}"


# ---- keys


def keys(found: "list[SourceKey]") -> Record:
    """Return what is kept of a collection's keys but their hashes."""
    rows = [fields(each, _KEY) for each in found]
    columns = [
        Column("key", "{number}"), Column("quota", "{quota:#}"), Column("", "{state}", "text"),
        Column("name", "{name:name}", "name"),
    ]  # fmt: skip
    table = Table(columns, [row | {"state": "revoked" * row["revoked"]} for row in rows])
    none = "there are no keys: anybody may send reports; collector keys DATA --add NAME makes one"
    return Record({"keys": rows}, [table if rows else none])


def new_key(key: "SourceKey", secret: str) -> Record:
    """Return a key that was made, to be handed to its source."""
    shown = "key {number}; it is shown this once. Devices send it as Authorization: Bearer KEY"
    return Record(fields(key, _KEY) | {"key": secret}, ["{key}"], notes=[shown])


def revoked_key(key: "SourceKey") -> Record:
    """Return a key with which nobody may send any more."""
    return Record(fields(key, _KEY), ["key {number} ({name}) is revoked; its reports stay"])


# ---- folders


def status(found: "CollectionStatus") -> Record:
    """Return what a folder holds; keys' numbers are texts in the content, 0 where reports came without one."""
    content = fields(found) | fields(found, "reports")
    state = "closed" if found.closed else "being served" if found.served else "not being served"
    held = ["{reports:#report}: {sealed:#} sealed, {unsealed:#} not yet; at least {fewest:#} are sealed together"]
    held += ["{removed:#report} removed"] * (found.removed > 0)
    if found.in_database is None:
        held.append("in PostgreSQL, those that are not sealed: stop the collector, then `assocpriv collector seal`")
    elif found.in_database:
        held.append("{in_database:#} in PostgreSQL, not sealed: `assocpriv collector seal`")
    how = {None: "", "alone": ", through a relay alone", "may": ", also through a relay"}[found.relay]
    who = "only sources with a key may send" if found.keys else f"anybody may send{how}"
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
    """Return how many reports of a key were set aside or restored, and what there is left to do."""
    said = "{moved:#report} of key {key} restored to {data}"
    if not restore:
        said = (
            "{moved:#report} of key {key} set aside; mine and the rest see them no more. More may come until it is "
            "revoked: `assocpriv collector keys {data} --revoke {key}`"
        )
    return Record({"key": key, "moved": moved, "restored": restore}, [Say(said, {"data": data})])


def sealed(count: int, fewest: int, data: Path, *, closed: bool) -> Record:
    """Return how many reports were sealed; a warning says what it costs that they are few."""
    said = "{sealed:#report} sealed" + ("; {data} is closed, and takes no more reports" if closed else " in {data}")
    cost = (
        "these are fewer than {fewest:#}: whoever has a device's ledger, or saw when it sent, knows its report to be "
        "one of {sealed:#}"
    )
    notes: list[Part] = [Say(cost, {"fewest": fewest}, "wrong")] if 0 < count < fewest else []
    return Record({"sealed": count, "closed": closed}, [Say(said, {"data": data})], notes=notes)


def removed(by_day: dict[str, int], undated: int, days: int) -> Record:
    """Return how many reports were removed, by the day on which they were sealed."""
    content = {"removed": sum(by_day.values()), "by_day": by_day, "undated": undated, "days": days}
    parts: list[Part] = ["{removed:#report} removed, sealed more than {days:#day} ago"]
    if by_day:
        rows = [{"day": day, "removed": count} for day, count in by_day.items()]
        parts.append(Table([Column("sealed on", "{day}", "text"), Column("removed", "{removed:#}")], rows))
    left = "{undated:#file} without a day stay: no collector sealed them, or an older version did"
    return Record(content, parts, notes=[Say(left, kind="wrong")] * (undated > 0))
