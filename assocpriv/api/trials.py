"""Verbs of both sides: simulate, audit."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from assocpriv.guarantees.errors import FileError, given_options
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.published_plan import PublishedPlan
from assocpriv.plans.registry import Entry

if TYPE_CHECKING:
    from assocpriv.auditing.audit import Audit
    from assocpriv.files.releases import Release
    from assocpriv.plans.guided.guided_plan import GuidedPlan
    from assocpriv.plans.numeric.table_plan import TablePlan
    from assocpriv.simulation.basket_simulation import Simulation
    from assocpriv.simulation.guided_simulation import Trial
    from assocpriv.simulation.table_simulation import TableSimulation

Stages: TypeAlias = "Callable[[str, int, int], None] | None"
_SIMULATE: Entry[Callable[..., Any]] = Entry("simulate", "tried")


@overload
def simulate(
    records: Any, plan: Plan, min_support: float | str | None = None, *, seed: int | None = None,
    progress: Stages = None, people: int | None = None, max_itemset: int | None = None, rounds: int | None = None,
    layout: str | None = None, unknown: str | None = None, repeats: str | None = None, empty: str | None = None,
    incomplete: str | None = None,
) -> "Simulation": ...  # fmt: skip
@overload
def simulate(
    records: Any, plan: "TablePlan", *, seed: int | None = None, progress: Stages = None,
    separator: str | None = None, sheet: str | None = None, missing: str | Sequence[str] | None = None,
    clip: bool = False,
) -> "TableSimulation": ...  # fmt: skip
@overload
def simulate(
    records: Any, plan: "GuidedPlan", *, seed: int | None = None, progress: Stages = None, people: int | None = None,
    separator: str | None = None, sheet: str | None = None, missing: str | Sequence[str] | None = None,
    classifier: str | None = None, unconcerned: int | None = None, rounds: int | None = None,
) -> "Trial": ...  # fmt: skip
def simulate(
    records: Any, plan: PublishedPlan, min_support: float | str | None = None, *, seed: int | None = None,
    progress: Stages = None, people: int | None = None, max_itemset: int | None = None, layout: str | None = None,
    unknown: str | None = None, repeats: str | None = None, empty: str | None = None, incomplete: str | None = None,
    separator: str | None = None, sheet: str | None = None, missing: str | Sequence[str] | None = None,
    clip: bool = False, classifier: str | None = None, unconcerned: int | None = None, rounds: int | None = None,
) -> "Simulation | TableSimulation | Trial":  # fmt: skip
    """Randomize records, estimate from the reports, and compare with the truth.

    Args:
        records: many records, as for :func:`randomize`: baskets, tables, or a file of such.
        plan: the plan to try, of any type.
        min_support: for baskets, as for :func:`mine`.
        seed: makes the run repeatable; the operating system's entropy by default.
        progress: called with stage, done and total.
        people: number of people, each with a random basket; by default one person a basket. For guided plans the number
            of random records, 5,000 by default.
        max_itemset: for baskets, the plan's ``itemset_size`` by default.
        layout, unknown, repeats, empty, incomplete: for baskets, as for :func:`read_baskets`.
        separator, sheet, missing, clip: for tables, as for :func:`randomize`; for guided plans the first three.
        classifier: for guided plans ``"naive-bayes"`` (the default), ``"tree"`` or ``"logistic"``.
        unconcerned: for guided plans, number of people whose raw tuples start the guidance; 0 (the default) for none.
        rounds: for baskets 2 for both rounds of a collection with this first plan (:func:`refine`). For guided plans 5
            by default, each with another third of the people held out for testing.

    Returns:
        For baskets ``itemsets`` with ``true_support`` (in whole baskets where these are estimated), ``missed`` ones,
        counts of found, missed and false ones, what was ``read``, and the seconds of each stage; the truth is that of
        the baskets as the plan reads them. For tables ``found``, as of :func:`reconstruct`, and ``columns`` with
        ``true_share``, ``true_mean`` and ``true_quantiles`` (exact to a cell of the plan's grid), the total variation
        ``distance`` of both, and the number of intervals ``tested`` and ``held`` (that contain the truth). For guided
        plans ``levels``: what each discloses and the accuracy of a classifier, with standard errors over the rounds,
        next to the published bound and the miner's own estimate.

    Raises:
        PlanError: plans of this type cannot be simulated.
        RecordError: records that the plan does not take, such as an item outside its catalogue; for guided plans too
            few people of a class.
        EstimateError: no baskets, sizes that the plan cannot estimate, or fewer records than intervals; for guided
            plans an unknown classifier, or scikit-learn is not installed.
        TypeError: an option of another plan type.

    Warns:
        UserWarning: as :func:`mine`, and for baskets in memory as :func:`randomize`.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> tried = ap.simulate([{"milk", "tea"}] * 20_000, made, 0.5, seed=1)
    >>> tried.found_count, tried.missed_count, tried.false_count
    (3, 0, 0)
    >>> import pandas as pd
    >>> table = pd.DataFrame({"smokes": ["no", "yes"] * 10, "ill": ["no", "yes"] * 10})
    >>> schema = {"columns": {"ill": {"kind": "category", "values": ["no", "yes"], "release": "response"}}}
    >>> made = ap.numeric.plan_table(schema, ap.Guarantee.from_epsilon(3))
    >>> ap.simulate(table, made, seed=1).columns["ill"].true_share.tolist()
    [0.5, 0.5]
    >>> made = ap.guided.start(table, "ill").plan
    >>> tried = ap.simulate(table, made, rounds=2, seed=0)
    >>> [each.level for each in tried.levels], tried.original_accuracy.mean
    ([1, 2], 1.0)
    """
    options = given_options(locals(), "records plan output")
    plan = PublishedPlan.require(plan)
    tried: Simulation | TableSimulation | Trial
    tried = _SIMULATE.of(plan.kind)(records, plan, **options)
    return tried


def audit(
    plan: "PublishedPlan | Release | str | Path",
    *,
    trials: int = 1_000_000,
    confidence: str | float | Fraction = "99.9%",
    client: str = "both",
    program: Sequence[str] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> "Audit":
    """Audit a plan and its clients: does the guarantee hold, and do the clients follow the plan?

    The clients run on generated records, never on real ones. Of a release, the file is checked, and the program that
    makes releases, on generated baskets.

    Args:
        plan: a plan or a release, or a file of one.
        trials: reports to request from each client, at least 1,000, as far as it makes them in some seconds; of
            a release, a thousand times the releases made of each neighbour, which are 50 to 150.
        confidence: probability, at least, that correct clients pass; from 50% to below 100%.
        client: which of our clients: "bulk" (many baskets), "single" (one basket) or "both".
        program: a program in any language with its arguments, in place of our clients; it needs a plan file.
        progress: called with (stage, done, total).

    Returns:
        ``verdict`` ("consistent" or "broken"), ``is_broken``, and ``findings``, each with a ``verdict`` (also "not
        decided") and its explanation.

    Raises:
        PlanError: text that is no plan, or a number out of range.
        FileError: the file cannot be read, or a program cannot be started.
        TypeError: neither a plan nor the path of one.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> ap.audit(made, trials=1000, client="single").verdict
    'consistent'
    """
    from assocpriv.auditing.audit import audit as run
    from assocpriv.auditing.audit import audit_file, audited_release
    from assocpriv.auditing.findings import AuditRequest
    from assocpriv.files.releases import Release

    words = None if program is None else tuple(program)
    request = AuditRequest(trials, confidence, client, words)
    if isinstance(plan, str | Path):
        return audit_file(Path(plan), request, progress)
    if isinstance(plan, Release):
        return audited_release(plan, request, progress)
    plan = PublishedPlan.require(plan)
    if words is not None:
        raise FileError("a program reads its plan from a file; write the plan with write_plan and name the file")
    return run(plan.canonical_json, request, progress)
