"""Verbs of plans: plan, forecast."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

from assocpriv.guarantees.amplification import Guarantee, read_guarantee
from assocpriv.planning.plan_parts import FORECAST
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.published_plan import PublishedPlan

if TYPE_CHECKING:
    from assocpriv.guarantees.shuffle_model import CentralGuarantee
    from assocpriv.planning.basket_planner import PlannedCollection
    from assocpriv.planning.detection_limits import Forecast, PlanForDetection
    from assocpriv.planning.table_planner import GuidedFacts, TableFacts
    from assocpriv.plans.baskets.catalogue import Catalogue, Names
    from assocpriv.plans.guided.guided_plan import GuidedPlan
    from assocpriv.plans.numeric.table_plan import TablePlan

Number: TypeAlias = float | str | Fraction
Shown: TypeAlias = "Callable[[int, int], None] | None"


@overload
def plan(
    items: int | Iterable[str], guarantee: Guarantee | None = None, *, epsilon: Number | None = None,
    prior: Number | None = None, posterior: Number | None = None,
    central: "CentralGuarantee | Sequence[Number] | None" = None, local_cap: "Number | Guarantee | None" = None,
    reports: int | None = None, reports_per_person: int = 1, mean_size: float | None = None, sample: Any = None,
    itemset_size: int | None = None, transaction_size: int | None = None, names: "Names | None" = None,
    paper: bool = False, rounds: int | None = 1, detect: None = None, explain: Literal[False] = False,
    progress: Shown = None,
) -> Plan: ...  # fmt: skip
@overload
def plan(
    items: int | Iterable[str], guarantee: Guarantee | None = None, *, epsilon: Number | None = None,
    prior: Number | None = None, posterior: Number | None = None,
    central: "CentralGuarantee | Sequence[Number] | None" = None, local_cap: "Number | Guarantee | None" = None,
    reports: int | None = None, reports_per_person: int = 1, mean_size: float | None = None, sample: Any = None,
    itemset_size: int | None = None, transaction_size: int | None = None, names: "Names | None" = None,
    paper: bool = False, rounds: int | None = 1, explain: Literal[True], detect: None = None, progress: Shown = None,
) -> "PlannedCollection": ...  # fmt: skip
@overload
def plan(
    items: int | Iterable[str], guarantee: Guarantee | None = None, *, epsilon: Number | None = None,
    prior: Number | None = None, posterior: Number | None = None,
    central: "CentralGuarantee | Sequence[Number] | None" = None, local_cap: "Number | Guarantee | None" = None,
    reports: int | None = None, reports_per_person: int = 1, mean_size: float | None = None, sample: Any = None,
    itemset_size: int | None = None, transaction_size: int | None = None, names: "Names | None" = None,
    paper: bool = False, rounds: int | None = 1, detect: Number, explain: bool = False, progress: Shown = None,
) -> "PlanForDetection": ...  # fmt: skip
def plan(
    items: int | Iterable[str], guarantee: Guarantee | None = None, *, epsilon: Number | None = None,
    prior: Number | None = None, posterior: Number | None = None,
    central: "CentralGuarantee | Sequence[Number] | None" = None, local_cap: "Number | Guarantee | None" = None,
    reports: int | None = None, reports_per_person: int = 1, mean_size: float | None = None, sample: Any = None,
    itemset_size: int | None = None, transaction_size: int | None = None, names: "Names | None" = None,
    paper: bool = False, rounds: int | None = 1, detect: Number | None = None, explain: bool = False,
    progress: Shown = None,
) -> "Plan | PlannedCollection | PlanForDetection":  # fmt: skip
    """Choose the plan of least expected error under a privacy guarantee.

    The planner chooses M (the number of items that a basket is cut or padded to), the randomization operator, the form
    of reports, and the share of people whose report gives their basket's size. It minimizes the expected error of
    supports in whole baskets.

    Args:
        items: number of items (then named 0 … n−1), or their names.
        guarantee: bound for all reports of one person together, as ``Guarantee("5%", "50%")``. Or give it by numbers:
        epsilon: privacy parameter ε of local differential privacy, in nats, as 2.0 or ``"ln 19"``.
        prior, posterior: no prior of at most ``prior`` becomes a posterior of ``posterior`` or more, as ``"5%"`` and
            ``"50%"``.
        central: instead of a guarantee, (ε, δ) as ``(1, 1e-8)``: central differential privacy of batches of ``reports``
            or more, for an anonymous channel that hides who sent which report. The plan's local guarantee follows from
            it. A ``CentralGuarantee`` has more options.
        local_cap: with ``central``, the maximum ε of the local guarantee, 8 by default.
        reports: expected number of reports N; 1,000,000 by default.
        reports_per_person: maximum number of reports per person R, 1..1000.
        mean_size: mean number of different items in a basket; 6 without this and without ``sample``.
        sample: a sample of baskets: a file, what :func:`assocpriv.to_baskets` takes, or a mapping from sizes to numbers
            of baskets.
        itemset_size: maximum itemset size K; 3 (or M if that is less) by default.
        transaction_size: M, 1..15, if the planner shall not choose it.
        names: how names become items (:class:`Names`); by default each name is an item.
        paper: choose as Evfimievski, Gehrke and Srikant 2003 (EGS03) do for this M, without reports of basket sizes.
        rounds: 2 for the plan of the first of two rounds: half of the people, drawn at random, then report on single
            items and sizes (2% for 32 items or fewer), the others on the likeliest items under the plan that
            :func:`refine` makes, which finds more. None for the better number, for ``reports`` in all.
        detect: a support in (0, 1], as 0.01 or ``"1%"``, of itemsets of ``itemset_size`` items (2 by default): find
            what detects it. With ``reports`` this is the smallest ε of two decimals, up to that of a given guarantee,
            stated for ``prior`` (5% by default). Without, it is the smallest number of reports (of two digits) under
            the guarantee. The next smaller value fails; still smaller ones may succeed, where the design changes.
        explain: return the plan with its expected errors and alternatives.
        progress: with ``detect``, called with (done, total) steps.

    Returns:
        The plan. With ``explain`` also ``expected`` errors by itemset size, ``other_means``, M for half and for twice
        the mean basket size and what the assumption costs then, and ``rounds``, what follows if this is the first of
        two. With ``detect`` also ``reports`` and ``guarantee``.

    Raises:
        PlanError: arguments out of range, no randomization operator fits, or nothing detects the support; the message
            states how many reports would.
        TypeError: arguments of a wrong type, or no guarantee or several.

    Source: EGS03, sections 4 to 6; docs/why-it-works.md.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "bread", "tea"], epsilon="ln 19", mean_size=2)
    >>> made.n_items, made.report_bytes, made.amplification < 19, made.epsilon
    (3, 1, True, 2.944439)
    >>> choice = ap.plan(1000, prior="5%", posterior="50%", mean_size=6, explain=True)
    >>> choice.plan.items.transaction_size, {mean: each.transaction_size for mean, each in choice.other_means.items()}
    (8, {3.0: 7, 12.0: 14})
    >>> found = ap.plan(100, detect="20%", itemset_size=1, reports=20_000, mean_size=4)
    >>> f"{float(found.guarantee.posterior):.1%}", found.plan.items.itemset_size
    ('12.1%', 1)
    """
    from assocpriv.planning import collection_rounds, detection_limits
    from assocpriv.planning.basket_planner import as_catalogue

    only_prior = (
        detect is not None and prior is not None and guarantee is None and epsilon is None and posterior is None
    )
    given = None if only_prior else read_guarantee(guarantee, epsilon, prior, posterior)
    catalogue = as_catalogue(items)
    wanted: dict[str, Any] = {
        "reports_per_person": reports_per_person, "mean_size": mean_size,
        "sample": _sizes_of(sample, catalogue, names), "transaction_size": transaction_size, "names": names,
        "paper": paper,
    }  # fmt: skip
    if detect is not None:
        if central is not None or local_cap is not None:
            raise TypeError(
                "detect goes with a local guarantee, or with reports alone; leave central and local_cap out"
            )
        size = 2 if itemset_size is None else itemset_size
        return detection_limits.solve_plan(
            detect, catalogue, size=size, reports=reports, guarantee=given, prior="5%" if prior is None else prior,
            progress=progress, **wanted,
        )  # fmt: skip
    if given is None and central is None:
        raise TypeError('plan() needs a guarantee: epsilon=2, or prior="5%" and posterior="50%"')
    choice = collection_rounds.choose_rounds(
        catalogue, given, rounds=rounds, central=central, local_cap=local_cap,
        reports=1_000_000 if reports is None else reports, itemset_size=itemset_size, **wanted,
    )  # fmt: skip
    return choice if explain else choice.plan


def _sizes_of(sample: Any, catalogue: "Catalogue", names: "Names | None") -> Any:
    """Return the sizes of a sample of baskets, or what is not baskets as it is."""
    if sample is None or isinstance(sample, Mapping):
        return sample
    if getattr(getattr(sample, "dtype", None), "kind", "O") in "iuf":
        raise TypeError(
            "sample takes baskets, or a mapping from sizes to numbers of baskets, as dict(sizes.value_counts()); got a "
            f"{type(sample).__name__} of numbers"
        )
    from assocpriv.simulation.basket_samples import sample_sizes

    return sample_sizes(sample, catalogue, names).sizes


@overload
def forecast(plan: Plan, reports: int) -> "Forecast": ...
@overload
def forecast(plan: "TablePlan", reports: int) -> "TableFacts": ...
@overload
def forecast(plan: "GuidedPlan", reports: int) -> "GuidedFacts": ...
def forecast(plan: PublishedPlan, reports: int) -> "Forecast | TableFacts | GuidedFacts":
    """Return what a number of reports of a plan, of any type, is expected to detect.

    Args:
        plan: a plan.
        reports: number of reports, at least 1.

    Returns:
        For baskets: detectable supports and detection thresholds by itemset size. For tables: the scale of noise and
        the guarantee by column. For guided plans: how often guidance is published. ``to_frame()`` gives a table.

    Raises:
        PlanError: plans of this type are not known here, or ``reports`` is out of range.
        TypeError: no plan, or ``reports`` is no whole number.

    >>> import assocpriv as ap
    >>> made = ap.plan(1000, ap.Guarantee("5%", "50%"))
    >>> ap.forecast(made, 1_000_000).reports
    1000000
    """
    plan = PublishedPlan.require(plan)
    found: Forecast | TableFacts | GuidedFacts = FORECAST.of(plan.kind)(plan, reports)
    return found
