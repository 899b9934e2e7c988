"""The client of any kind of plan: which function makes the reports, a line for each kind.

A client's module is loaded for the first plan of its kind. Raw records are handed on here, and none is kept.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from assocpriv.plans.kind import load_for
from assocpriv.plans.published import PublishedPlan
from assocpriv.promise.errors import RecordError

if TYPE_CHECKING:
    from assocpriv.promise.entropy import Entropy

# kind -> a function of (record, plan, *, entropy), which checks the record and returns the report of it
KINDS = {
    "select-a-size": "assocpriv.client.baskets:randomize_basket",
    "fixed-size": "assocpriv.client.baskets:randomize_basket",
    "table": "assocpriv.client.tables:randomize_record",
    "guided": "assocpriv.client.guided:randomize_guided",
}

# kind -> a function that reads one person's record of text, as `report` gets it; of other kinds names are read
RECORDS = {
    "table": "assocpriv.records.tables:parse_record",
    "guided": "assocpriv.client.guided:parse_guided",
}
# kind -> a function that reads the values of one person's record of text, where a collector gives the rest of it
VALUES = {"guided": "assocpriv.records.tables:parse_record"}

# kind -> a function of (values, plan, ask, *, max_level), which asks a collector for that and returns the record
ASKING = {"guided": "assocpriv.client.waiting:with_guidance"}
_MOST_BYTES = 1 << 24  # of a record


def takes_names(plan: PublishedPlan) -> bool:
    """Return whether a record of the plan's kind is a collection of names."""
    return plan.kind not in RECORDS


def parse_record(text: bytes, plan: PublishedPlan) -> Any:
    """Return the record that some text holds: a name a line, or what the plan's kind reads.

    Raises:
        RecordError: text that is no record, or too long.
    """
    _check_length(text)
    return _names_of(text) if takes_names(plan) else load_for(plan.kind, RECORDS, "read")(text)


def parse_values(text: bytes, plan: PublishedPlan) -> Any:
    """Return what some text holds of a record that a collector is to get, as :func:`parse_record`.

    Raises:
        RecordError: text that is no record, or too long.
    """
    if plan.kind not in VALUES:
        return parse_record(text, plan)
    _check_length(text)
    return load_for(plan.kind, VALUES, "read")(text)


def ask_for(record: Any, plan: PublishedPlan, ask: Callable[[str], Any], *, max_level: int | None = None) -> Any:
    """Return a record with what its plan's kind asks a collector for; of most kinds nothing is.

    Args:
        record: of one person.
        plan: the published plan.
        ask: returns the JSON content of a path of the collector.
        max_level: of a guided plan, the highest level that is answered.

    Raises:
        GuidanceError: what the collector has is not answered; nothing is sent.
    """
    if plan.kind not in ASKING:
        return record
    return load_for(plan.kind, ASKING, "answered")(record, plan, ask, max_level=max_level)


def _check_length(text: bytes) -> None:
    if len(text) > _MOST_BYTES:
        raise RecordError(f"the record on standard input is longer than {_MOST_BYTES >> 20} MiB")


def _names_of(text: bytes) -> list[str]:
    """Return names, one a line; blank lines say nothing."""
    # what is no UTF-8 becomes halves of surrogate pairs, which no name may hold: an error of the codec would show it
    lines = text.removeprefix(b"\xef\xbb\xbf").decode("utf-8", errors="surrogateescape").split("\n")
    return [line.strip() for line in lines if line.strip()]


def make_report(record: Any, plan: PublishedPlan, *, entropy: "Entropy") -> bytes:
    """Return the report of one person's raw record, of the type that the plan's kind takes.

    Of baskets it is a collection of names; of tables a mapping from the columns' names to values, {"age": 34}.

    Raises:
        RecordError: the record does not fit the plan; no draw is made.
        TypeError: no plan, or a record of another type.
    """
    if not isinstance(plan, PublishedPlan):
        raise TypeError(f"plan must be a Plan (read_plan reads one from a file), got a {type(plan).__name__}")
    report: bytes = load_for(plan.kind, KINDS, "answered")(record, plan, entropy=entropy)
    return report
