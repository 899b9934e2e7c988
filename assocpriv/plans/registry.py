"""The registry of plan types: the functions and classes for plans of each type, imported on use.

A new plan type is new modules and one entry here. An entry's names are ``package.task``. Its reference is a name in a
module of that subpackage (``.module:name``), or one outside this package. So a caller only gets code of its own or a
lower layer; tests/whole/test_layers.py checks all callers.

    plans.plan           the class that reads a plan of the type
    client.report        (record, plan, *, entropy) -> report: one record, checked
    client.randomize     (records, plan, output, **options) -> (Reports or None, counts): many, into memory or a file
    client.parse         (text) -> record for client.report; without this entry a record is a list of names
    client.values        (text) -> a device's part of a record, if the collector supplies the rest
    client.add_guidance  (values, plan, ask, *, max_level) -> record with the guidance fetched from a collector
    server.mine          (backend, request) -> table of itemsets
    server.reconstruct   (reports, columns, progress) -> distributions
    server.collect       (files, state file) -> the miner's state with the reports of the files
    server.manipulation  (reports, *, progress) -> tests for reports that honest people cannot have sent
    planning.forecast    (plan, reports) -> expected results of a number of reports
    planning.warn        (sizes, plan) warns of support lost by truncation, for many records in memory
    simulation.simulate  (records, plan, **options) -> client and server simulated, compared with the true results
    auditing.subject     the class with the audit's knowledge of the type (auditing/audit_subject.py)
    show.plan            (forecast) -> record
    show.simulated       (simulation) -> record
    pages.analysis       the analysis on the operator's page
"""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from assocpriv.guarantees.errors import PlanError

if TYPE_CHECKING:
    from assocpriv.plans.published_plan import PublishedPlan

KINDS = {
    "baskets": {
        "plans.plan": ".baskets.basket_plan:Plan",
        "client.report": ".baskets.basket_client:randomize_basket",
        "client.randomize": ".baskets.bulk_client:randomize_records",
        "server.mine": ".baskets.mining:mine",
        "server.manipulation": ".baskets.manipulation:check_manipulation",
        "planning.forecast": ".detection_limits:forecast",
        "planning.warn": ".truncation_loss:warn_of_truncation",
        "simulation.simulate": ".basket_simulation:simulate_records",
        "auditing.subject": ".basket_audit:BasketSubject",
        "show.plan": ".plan_views:plan",
        "show.simulated": ".audit_views:simulated",
        "pages.analysis": ".collector_page:BASKETS",
    },
    "table": {
        "plans.plan": ".numeric.table_plan:TablePlan",
        "client.report": ".numeric.table_client:randomize_record",
        "client.randomize": ".numeric.table_client:randomize_records",
        "client.parse": ".numeric.table_client:parse_record",
        "server.reconstruct": ".numeric.distributions:reconstruct",
        "planning.forecast": ".table_planner:forecast_table",
        "simulation.simulate": ".table_simulation:simulate_table",
        "auditing.subject": ".table_audit:TableSubject",
        "show.plan": ".table_views:plan",
        "show.simulated": ".table_views:simulated",
        "pages.analysis": ".collector_page:TABLES",
    },
    "guided": {
        "plans.plan": ".guided.guided_plan:GuidedPlan",
        "client.report": ".guided.guided_client:randomize_guided",
        "client.randomize": ".guided.report_queue:randomize_records",
        "client.parse": ".guided.guided_client:parse_guided",
        "client.values": ".numeric.table_client:parse_record",
        "client.add_guidance": ".guided.report_queue:fetch_guided_record",
        "server.collect": ".guided.collection:collect_files",
        "planning.forecast": ".table_planner:forecast_guided",
        "simulation.simulate": ".guided_simulation:simulate_guided",
        "auditing.subject": ".guided_audit:GuidedSubject",
        "show.plan": ".guided_views:plan",
        "show.simulated": ".guided_views:simulated",
        "pages.analysis": ".collector_page:GUIDED",
    },
}


def load(reference: str, package: str | None = None) -> Any:
    """Return the object of a reference ``module:name``, importing the module, ``.module`` from a package.

    >>> load("fractions:Fraction")(1, 3)
    Fraction(1, 3)
    """
    module, _, name = reference.partition(":")
    return getattr(import_module(module, package), name)


def has_entry(kind: str, what: str) -> bool:
    """Return whether a plan type has an entry.

    >>> has_entry("table", "client.parse"), has_entry("table", "server.mine"), has_entry("unheard-of", "plans.plan")
    (True, False, False)
    """
    return what in KINDS.get(kind, ())


def load_for(kind: str, what: str, done: str) -> Any:
    """Return the object of a plan type's entry; ``done`` is a past participle for the error message.

    Raises:
        PlanError: the plan type has no such entry.

    >>> load_for("table", "plans.plan", "read").__name__
    'TablePlan'
    """
    if not has_entry(kind, what):
        raise PlanError(f"plans of the type {kind} cannot be {done} here; a newer release may support this")
    package, entry = what.partition(".")[0], KINDS[kind][what]
    return load(entry, f"assocpriv.{package}")


def parse_plan(text: str) -> "PublishedPlan":
    """Read a plan of any type from JSON text.

    Raises:
        PlanError: the text is no plan, its type is unknown, or its fields contradict each other.
    """
    from assocpriv.plans.published_plan import UNKNOWN, check_envelope, parse_text

    content = check_envelope(parse_text(text))
    if content["kind"] not in KINDS:
        raise PlanError(UNKNOWN)
    plan: PublishedPlan = load_for(content["kind"], "plans.plan", "read").from_json(content)
    return plan


def html_renderer(reference: str) -> Callable[[Any], str]:
    """Return a ``_repr_html_`` method that renders the record which ``module:function`` makes of an object."""
    return lambda shown: str(load(reference)(shown)._repr_html_())
