"""The one registry of kinds of plans: what each side does with a plan of a kind, as text that is loaded on use.

A new kind is new files and one entry here. An entry's names are ``side.what``, and the side is a folder: what it names
stands in a room of that folder, or outside the package. So whoever asks gets what his own folder, or one below it, has;
tests/whole/test_layers.py holds every caller to that.

    plans.plan          the class that reads a plan of the kind
    client.report       (record, plan, *, entropy) -> report: one record, checked
    client.randomize    (records, plan, output, **options) -> (Reports or None, counts): many, into memory or a file
    client.parse        (text) -> record, as `report` reads it; without it a record is names
    client.values       (text) -> what a device says of a record, where a collector gives the rest
    client.ask          (values, plan, ask, *, max_level) -> record, with what a collector was asked for
    server.mine         (backend, request) -> table of itemsets
    server.reconstruct  (reports, question, progress) -> distributions
    server.collect      (files, state file) -> the miner's state with what they hold
    server.crafted      (reports, *, progress) -> which reports honest people cannot have sent
    planning.foresee    (plan, reports) -> what so many reports can show
    planning.warn       (sizes, plan) warns of what randomizing lost, of many records in memory
    simulation.simulate (records, plan, **options) -> both sides, beside the truth
    auditing.subject    what the audit needs to know of the kind, a class (auditing/subject.py)
    show.plan           (what is foreseen) -> record
    show.simulated      (what simulate returned) -> record
    pages.analysis      how the operator's page analyses a collection
"""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from assocpriv.promise.errors import PlanError

if TYPE_CHECKING:
    from assocpriv.plans.published import PublishedPlan

KINDS = {
    "baskets": {
        "plans.plan": "baskets:Plan",
        "client.report": "baskets:randomize_basket",
        "client.randomize": "bulk:randomize_records",
        "server.mine": "mining:mine",
        "server.crafted": "crafted:check_reports",
        "planning.foresee": "discovery:foresee",
        "planning.warn": "sampling_loss:warn_of_sampling",
        "simulation.simulate": "simulate:simulate_records",
        "auditing.subject": "baskets:BasketSubject",
        "show.plan": "plans:plan",
        "show.simulated": "audits:simulated",
        "pages.analysis": "operator:BASKETS",
    },
    "table": {
        "plans.plan": "tables:TablePlan",
        "client.report": "tables:randomize_record",
        "client.randomize": "tables:randomize_records",
        "client.parse": "tables:parse_record",
        "server.reconstruct": "distributions:reconstruct",
        "planning.foresee": "tables:foresee_table",
        "simulation.simulate": "tables:simulate_table",
        "auditing.subject": "tables:TableSubject",
        "show.plan": "tables:plan",
        "show.simulated": "tables:simulated",
        "pages.analysis": "operator:TABLES",
    },
    "guided": {
        "plans.plan": "guided:GuidedPlan",
        "client.report": "guided:randomize_guided",
        "client.randomize": "waiting:randomize_records",
        "client.parse": "guided:parse_guided",
        "client.values": "tables:parse_record",
        "client.ask": "waiting:with_guidance",
        "server.collect": "guided:collect_files",
        "planning.foresee": "tables:foresee_guided",
        "simulation.simulate": "guided:simulate_guided",
        "auditing.subject": "guided:GuidedSubject",
        "show.plan": "guided:plan",
        "show.simulated": "guided:simulated",
        "pages.analysis": "operator:GUIDED",
    },
}


def load(reference: str) -> Any:
    """Return the object that ``module:name`` stands for, importing the module.

    >>> load("fractions:Fraction")(1, 3)
    Fraction(1, 3)
    """
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


def knows(kind: str, what: str) -> bool:
    """Return whether a kind of plan has an entry ``side.what``.

    >>> knows("table", "client.parse"), knows("table", "server.mine"), knows("unheard-of", "plans.plan")
    (True, False, False)
    """
    return what in KINDS.get(kind, ())


def load_for(kind: str, what: str, done: str) -> Any:
    """Return the entry ``side.what`` of a kind of plan; ``done`` says what is done with it, in the past.

    Raises:
        PlanError: there is none.

    >>> load_for("table", "plans.plan", "read").__name__
    'TablePlan'
    """
    if not knows(kind, what):
        raise PlanError(f"plans of the kind {kind} cannot be {done} here; a newer release may know how")
    side, entry = what.partition(".")[0], KINDS[kind][what]
    return load(entry if "." in entry else f"assocpriv.{side}.{entry}")


def parse_plan(text: str) -> "PublishedPlan":
    """Read a plan of any kind from JSON text.

    Raises:
        PlanError: not a plan, one of a kind that is not known here, or one whose fields contradict each other.
    """
    from assocpriv.plans.published import UNKNOWN, check_envelope, parse_text

    content = check_envelope(parse_text(text))
    if content["kind"] not in KINDS:
        raise PlanError(UNKNOWN)
    plan: PublishedPlan = load_for(content["kind"], "plans.plan", "read").from_json(content)
    return plan


def shown_by(reference: str) -> Callable[[Any], str]:
    """Return a ``_repr_html_``: the HTML of the record that ``module:function`` makes of an object, loaded on use."""
    return lambda thing: str(load(reference)(thing)._repr_html_())
