"""Verbs of estimates: mine, refine, association_rules, substitutes, draws, reconstruct, ask, compare, to_frame."""

import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import combinations
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assocpriv.files.collections import as_collections
from assocpriv.files.releases import Release, is_release
from assocpriv.files.report_files import Reports, as_reports, check_copies, files_by_day
from assocpriv.guarantees.amplification import compose, epsilon_from_amplification
from assocpriv.guarantees.errors import EstimateError, PlanError, check_type, pluralize
from assocpriv.guarantees.exact_numbers import MOST_MEMORY, check_range
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.published_plan import PublishedPlan
from assocpriv.plans.registry import Entry, Part
from assocpriv.server.plan_parts import COLLECT, MINE, RECONSTRUCT

if TYPE_CHECKING:
    import pandas as pd

    from assocpriv.files.mined_tables import LightFrame
    from assocpriv.planning.collection_rounds import NextRound
    from assocpriv.server.baskets.comparison import Comparison
    from assocpriv.server.baskets.counting import CountingBackend
    from assocpriv.server.baskets.mining import MiningRequest
    from assocpriv.server.baskets.tables import ItemsetFilter
    from assocpriv.server.numeric.distributions import Distributions
    from assocpriv.server.spark_counting import SparkReports

    AnyReports = Reports | Release | SparkReports | str | Path | Iterable[str | Path]


def mine(
    reports: "AnyReports | Sequence[AnyReports]",
    min_support: float | str | None = None,
    *,
    top: int | None = None,
    among: "ItemsetFilter | None" = None,
    max_itemset: int | None = None,
    fdr: float | str | None = None,
    fdr_by: str = "split",
    confidence_level: float | str = 0.95,
    memory_bytes: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> "pd.DataFrame":
    """Find frequent itemsets from reports, with credible intervals.

    Supports are shares of **whole baskets** if some reports of the plan give basket sizes, as by default; else of
    baskets cut to the plan's M items. They are posterior means under statistical priors fitted to the same reports
    (empirical Bayes), which are not the prior and posterior of the guarantee.

    Args:
        reports: reports, a report file, a folder of them, or a list of files; releases (:func:`release`) or their
            files; or reports for Spark (``assocpriv.spark.read_reports``). A list of collections, or of files of
            several plans, is combined, as the two rounds of a collection (:func:`refine`).
        min_support: S in (0, 1], as 0.02 or ``"2%"``; by default, or with ``"auto"``, the smallest distinguishable from
            noise.
        top: instead of a minimum support, the number of itemsets of largest support.
        among: with ``top``, count only these itemsets; others with a support at least as large stay in the table.
        max_itemset: maximum itemset size; the plan's ``itemset_size`` by default.
        fdr: also test which itemsets are frequent, without a prior, and mark significant ones: the expected share of
            false ones among them is at most this, as 0.05 or ``"5%"`` (Benjamini–Hochberg).
        fdr_by: ``split``: 3 in 10 reports choose the itemsets, the others alone measure and test them. ``all``: all
            reports do both, and every possible itemset up to the largest size counts as tested.
        confidence_level: of the credible intervals ``ci_low`` … ``ci_high``, as 0.95 or ``"95%"``.
        memory_bytes: memory for reports, bitmaps and candidates; a quarter of the free memory by default.
        progress: called with (stage, done, total).

    Returns:
        One row per itemset with a posterior mean of at least S: ``support``, ``itemsets`` (frozenset of names),
        ``std_error``, ``ci_low``, ``ci_high``, ``length``, ``probability`` (posterior probability of a support of at
        least S), ``selected`` (the expected share of selected rows below S is at most 5%). ``unbiased`` is the
        estimate without the fitted prior, for whole baskets, ``sampled`` the same for cut ones, with standard errors.
        With ``fdr`` also ``p_value`` and
        ``significant``. ``write_itemsets`` keeps the table.

    Raises:
        EstimateError: no reports, sizes that the plan cannot estimate, or a name ``among`` outside the catalogue.
        PlanError: reports of another plan type; :func:`reconstruct` takes those of tables.
        WireError: damaged files.
        TypeError: no reports, or an argument of another class.

    Warns:
        UserWarning: too few reports to detect much, or itemsets that were not counted.

    Source: EGS03, section 5; Stephens, Biostatistics 18 (2017); docs/why-it-works.md.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], ap.Guarantee("5%", "50%"), mean_size=2)
    >>> found = ap.mine(ap.randomize([{"milk", "tea"}] * 20_000, made))
    >>> sorted(sorted(itemset) for itemset in found[found["selected"]]["itemsets"])
    [['milk'], ['milk', 'tea'], ['tea']]
    """
    from assocpriv.estimation.supports import ErrorOptions
    from assocpriv.server.baskets.mining import MiningRequest
    from assocpriv.server.baskets.result_frames import to_result_frame
    from assocpriv.server.baskets.tables import NO_FILTER, ItemsetFilter

    chosen = check_type("among", among or NO_FILTER, ItemsetFilter)
    request = MiningRequest(min_support, top, max_itemset, fdr, fdr_by, ErrorOptions(confidence_level), chosen)
    return to_result_frame(mine_table(backends(reports, memory_bytes, progress), request))


def mine_table(opened: "list[CountingBackend]", request: "MiningRequest") -> "LightFrame":
    """Return the table of :func:`mine`, without pandas.

    Args:
        opened: a counter of reports for each collection, as of :func:`backends`.
        request: what to mine.

    Returns:
        One row an itemset, as of :func:`mine`.

    Raises:
        EstimateError: as :func:`mine`.

    Warns:
        UserWarning: as :func:`mine`.
    """
    from assocpriv.files.mined_tables import describe_limits, mining_facts

    request.among.check([each.plan for each in opened])
    kind = "baskets" if isinstance(opened[0].plan, Release) else opened[0].plan.kind
    frame: LightFrame = MINE.of(kind)(opened, request)
    for line in describe_limits(mining_facts(frame)):
        warnings.warn(line, stacklevel=3)
    return frame


def refine(
    reports: "AnyReports",
    *,
    people: int | None = None,
    best: int | None = None,
    memory_bytes: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> "NextRound":
    """Plan the second round of a collection, about the likeliest items, from people who sent nothing in the first.

    The plan has the first plan's guarantee, its own catalogue, M, operator and size classes, and is for itemsets of up
    to three items. Mine the reports of both rounds together: ``mine([first, second])``.

    Args:
        reports: the reports of the first round, as for :func:`mine`.
        people: expected number of people of the second round; by default as many as sent ``reports``.
        best: number of items of the second round; 32 by default.
        memory_bytes, progress: as for :func:`mine`.

    Returns:
        ``plan``, the plan of the second round; ``mean_size``, the mean basket size that was learned; ``share`` of all
        purchases that falls on the items, and ``held``, the mean number of them in a basket; and for a person who
        reports in both rounds ``amplification_limit`` (the product of both limits), ``highest_posterior`` and
        ``lowest_posterior``.

    Raises:
        EstimateError: no reports, or of fewer than two items.
        PlanError: reports of several plans or of another type, a number out of range, or no operator fits.
        WireError: damaged files.
        TypeError: no reports.

    >>> import assocpriv as ap
    >>> first = ap.plan([*"abcdefgh"], ap.Guarantee("5%", "50%"), reports=40_000, rounds=2)
    >>> reports = ap.randomize([{"a", "b"}] * 20_000, first)
    >>> second = ap.refine(reports, best=2)
    >>> sorted(second.plan.catalogue), round(second.mean_size)
    (['a', 'b'], 2)
    """
    from assocpriv.planning.collection_rounds import plan_next_round
    from assocpriv.server.baskets.mining import learn_items

    collections = as_collections(reports)
    if len(collections) > 1:
        asked = [each for each in collections if isinstance(each.plan, Plan) and each.plan.items.itemset_size == 1]
        named = "".join(f": {path}" for each in asked if len(asked) == 1 == len(each.paths) for path in each.paths)
        raise PlanError(f"these are reports of several plans; give those of the first round alone{named}")
    opened = backends(collections, memory_bytes, progress)
    plan = opened[0].plan
    if isinstance(plan, Release):
        raise PlanError("a release counts pairs already; refine takes the reports of a first round")
    return plan_next_round(learn_items(opened), plan, best, people)


def _answering(plan: PublishedPlan, entry: "Entry[Part]") -> "Part":
    """Return the function that reads reports of a plan; the error names the verb for the plan type."""
    if not entry.is_of(plan.kind):
        others = [each.name for each in (MINE, RECONSTRUCT, COLLECT) if each.is_of(plan.kind)]
        verbs = " and ".join(others) or "none that is known here"
        raise PlanError(f"reports of a plan of the kind {plan.kind} are for {verbs}, not for {entry.name}")
    return entry.of(plan.kind)


def backends(
    reports: "AnyReports | Sequence[AnyReports]",
    memory_bytes: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> "list[CountingBackend]":
    """Return a counter of reports for each collection.

    Args:
        reports: reports, files or collections, as for :func:`mine`.
        memory_bytes: memory for reports, bitmaps and candidates; a quarter of the free memory by default.
        progress: called with (stage, done, total).

    Returns:
        The counters, one a plan, in the order of the collections.

    Raises:
        PlanError: reports of another plan type, or ``memory_bytes`` out of range.
        TypeError: neither reports nor paths.
        WireError: damaged files, or two collections of the same plan in memory.
    """
    if memory_bytes is not None:
        memory_bytes = check_range("memory_bytes", memory_bytes, 1, MOST_MEMORY)
    return [backend(each, memory_bytes, progress) for each in as_collections(reports)]


def backend(
    reports: "Reports | Release | SparkReports",
    memory_bytes: int | None,
    progress: Callable[[str, int, int], None] | None,
) -> "CountingBackend":
    """Return a counter of one collection."""
    if isinstance(reports, Release):
        from assocpriv.server.baskets.released_rounds import ReleaseBackend

        return ReleaseBackend(reports)
    _answering(reports.plan, MINE)
    if isinstance(reports, Reports):
        from assocpriv.server.baskets.counting import LocalBackend

        return LocalBackend.from_reports(reports, memory_bytes, progress)
    from assocpriv.server.spark_counting import SparkBackend

    return SparkBackend(reports, memory_bytes)


def association_rules(
    itemsets: "pd.DataFrame | str | Path",
    min_confidence: "float | str" = "50%",
    *,
    size: int | str | None = None,
    antecedent_size: int | str | None = None,
    contains: Collection[str] = (),
    antecedent: Collection[str] = (),
    consequent: Collection[str] = (),
    prune: bool = False,
    sort: str | None = None,
    prices: "Mapping[str, float] | str | Path | None" = None,
    metric: None = None,
    min_threshold: None = None,
) -> "pd.DataFrame":
    """Derive the rules A → C that have at least ``min_confidence`` with a probability above 50%.

    Args:
        itemsets: a table of :func:`mine`, or a file of it.
        min_confidence: in [0, 1], as 0.6 or ``"60%"``.
        size, antecedent_size: items in the rule and in its antecedent, as 2, ``"2..3"``, ``"2.."`` or ``"..3"``.
        contains, antecedent, consequent: names that the rule, or its side, must contain.
        prune: leave out redundant rules: those to which another rule with the same consequent and a smaller antecedent,
            or the consequent's own support, gives at least their confidence (Bayardo, Agrawal, Gunopulos 1999).
        sort: a metric, ``size`` or ``name``; None: selected rules first, by the lower end of the confidence's interval
            (with prices, of the value's).
        prices: price or margin of each item, or a CSV file of it (item, price), for the value of rules. Prices are
            public, so they cost no privacy budget.
        metric, min_threshold: not accepted: mlxtend's; filter measures in the table, as ``rules[rules["lift"] > 1.2]``.

    Returns:
        The columns of mlxtend: ``antecedents``, ``consequents``, the supports of both and of the rule, and the measures
        of these. Intervals ``confidence_ci_low`` … ``confidence_ci_high`` in [0, 1] and ``lift_ci_low`` …
        ``lift_ci_high``; the former ends at 1 where the reports allow that the consequent always follows. Supports are
        means of one joint posterior, so a side's may differ a little from that of :func:`mine`, and confidence and lift
        from those that mlxtend makes of the same itemsets. ``probability``
        (posterior probability of the confidence), ``selected`` (at most 10% expected to be false) and
        ``selected_strict`` (at most 5%). A rule is neither if the interval of its antecedent's support reaches 0, or if
        that of its confidence is 95 points wide or more.
        With prices ``value``, ``value_ci_low`` and ``value_ci_high``: what the consequents earn per thousand baskets
        with both sides, above the expectation under independence. ``attrs`` hold the number of selected rules and the
        number expected to be false.

    Raises:
        EstimateError: the table lacks what is needed, or an argument is out of range.
        TypeError: not a table of itemsets.

    Warns:
        UserWarning: no rule, as no itemset has two items, or none has the given names.

    Source: EGS03; docs/why-it-works.md.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], ap.Guarantee("5%", "50%"), mean_size=2)
    >>> found = ap.mine(ap.randomize([{"milk", "tea"}] * 20_000, made))
    >>> sorted(sorted(side) for side in ap.association_rules(found, "60%")["antecedents"])
    [['milk'], ['tea']]
    """
    if metric is not None or min_threshold is not None:
        raise TypeError(
            'association_rules() takes min_confidence=0.6; other measures are columns, as rules[rules["lift"] > 1.2]'
        )
    from assocpriv.files.mined_tables import ATTRIBUTE, read_table
    from assocpriv.files.plan_files import read_prices
    from assocpriv.server.baskets.result_frames import RuleFrame, to_result_frame
    from assocpriv.server.baskets.rules import derive_rules
    from assocpriv.server.baskets.tables import RuleFilter

    wanted = RuleFilter(size, antecedent_size, contains, antecedent, consequent, prune, sort)
    known = read_prices(prices) if isinstance(prices, str | Path) else prices
    table = read_table(itemsets) if isinstance(itemsets, str | Path) else itemsets
    derived = derive_rules(table, min_confidence, wanted, known)
    if why := derived.attrs[ATTRIBUTE].get("why_none"):
        warnings.warn(f"there is no rule: {why}", stacklevel=2)
    return to_result_frame(derived, RuleFrame)


def substitutes(
    reports: "AnyReports | Sequence[AnyReports]",
    below: "float | str" = 0.8,
    *,
    categories: Mapping[str, str] | None = None,
    confidence_level: float | str = 0.95,
    memory_bytes: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> "pd.DataFrame":
    """Find pairs that are bought together less than expected under independence: substitutes.

    The expectation is conditional on basket size: large baskets hold more of everything, so independent items have a
    lift above 1.

    Args:
        reports, confidence_level, memory_bytes, progress: as for :func:`mine`.
        below: upper bound on the lift, as 0.8 or ``"80%"`` of the expected support.
        categories: the category of each item; only pairs within a category are considered. By default the parents of
            the plan's taxonomy, or all pairs without one.

    Returns:
        One row a detectable pair, by probability: ``itemsets``, ``support``, ``expected_support`` (under independence
        given the basket size), ``lift``, ``lift_by_size`` (support over expected support) with ``lift_ci_low`` …
        ``lift_ci_high``, ``probability`` (posterior probability of a ``lift_by_size`` below the bound) and ``selected``
        (at most 5% expected to be false). ``attrs`` count the ``detectable`` and the ``undetectable`` pairs, whose
        expected support is too small to be distinguished from 0.

    Raises:
        EstimateError, PlanError, WireError: as :func:`mine`; or a bound out of range.

    Source: docs/decide-with-rules.md.

    >>> import assocpriv as ap
    >>> made = ap.plan(["bread", "butter", "margarine"], ap.Guarantee("5%", "50%"), mean_size=1)
    >>> baskets = [{"bread", "butter"}, {"bread", "margarine"}, {"bread"}, {"butter"}, {"margarine"}, set()]
    >>> reports = ap.randomize(baskets * 20_000, made, empty="keep")
    >>> found = ap.substitutes(reports)
    >>> [sorted(pair) for pair in found[found["selected"]]["itemsets"]]
    [['butter', 'margarine']]
    """
    from assocpriv.estimation.supports import ErrorOptions
    from assocpriv.server.baskets.result_frames import SubstituteFrame, to_result_frame
    from assocpriv.server.baskets.substitutes import find_substitutes

    opened = backends(reports, memory_bytes, progress)
    found = find_substitutes(opened, below, categories, ErrorOptions(confidence_level))
    return to_result_frame(found, SubstituteFrame)


def draws(itemsets: "pd.DataFrame", count: int = 1000, *, seed: int) -> "pd.DataFrame":
    """Draw supports from the posterior of a mined table, for statistics of your own.

    Each draw is anti-monotone (no itemset is more frequent than its subsets). The uncertainty of the basket-size
    distribution moves all supports of a draw together.

    Args:
        itemsets: a table of :func:`mine`.
        count: number of draws.
        seed: random seed.

    Returns:
        One row a draw, one column an itemset in the table's order.

    Raises:
        EstimateError: the table lacks its facts, or ``count`` is below 1.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], ap.Guarantee("5%", "50%"), mean_size=2)
    >>> found = ap.mine(ap.randomize([{"milk", "tea"}] * 20_000, made))
    >>> ap.draws(found, 100, seed=1).shape
    (100, 3)
    """
    import pandas as pd

    from assocpriv.files.mined_tables import light_table
    from assocpriv.server.baskets.posterior import draw_supports

    table = light_table(itemsets)
    return pd.DataFrame(draw_supports(table, count, seed), columns=table["itemsets"].tolist())


def reconstruct(
    reports: "AnyReports",
    by: str | None = None,
    joint: tuple[str, str] | None = None,
    method: str = "auto",
    *,
    confidence_level: float | str = 0.95,
    progress: Callable[[int, int], None] | None = None,
) -> "Distributions":
    """Estimate the distribution of each column of a table from reports.

    Args:
        reports: reports of a table, a file of them, a folder, or a list of files; or reports for Spark
            (``assocpriv.spark.read_reports``).
        by: a label or category: also estimate the distributions within each of its classes.
        joint: two columns: estimate their joint distribution instead.
        method: ``auto`` (``smooth`` for additive noise, else ``em``), ``smooth`` (penalized likelihood, smoothness
            chosen by the data), ``em`` (maximum likelihood), ``ems`` (EM with smoothing: Li et al. 2020), ``bayes``
            (iterated Bayes with the χ² stopping rule of AS00) or ``least-squares`` (unbiased, shares may be negative).
            Where a method does not apply to a column another is used; ``Distribution.method`` names it.
        confidence_level: of intervals and bands, as 0.95 or ``"95%"``.
        progress: called with (reports done, all) while they are counted.

    Returns:
        ``columns`` by name, and with ``by`` ``classes`` by value; ``to_frame()`` gives all of them as a table.

    Raises:
        EstimateError: no reports, too few of a class or a column, or arguments that do not fit together.
        PlanError: reports of another plan type, or a column that the plan does not have.
        WireError: files that are damaged or of different plans.

    Source: AS00, section 3; for ``ems`` Li and others 2020; for the rest docs/why-it-works.md.

    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> ill = {"kind": "category", "release": "response", "values": ["no", "yes"]}
    >>> made = ap.numeric.plan_table({"columns": {"ill": ill}}, ap.Guarantee.from_epsilon(2))
    >>> reports = ap.randomize(pd.DataFrame({"ill": ["no"] * 3000 + ["yes"] * 1000}), made)
    >>> abs(float(ap.reconstruct(reports)["ill"].share[1]) - 0.25) < 0.1
    True
    """
    from assocpriv.server.numeric.distributions import ReconstructionRequest

    opened = as_reports(reports)
    run = _answering(opened.plan, RECONSTRUCT)
    found: Distributions = run(opened, ReconstructionRequest(by, joint, method, confidence_level), progress)
    return found


def ask(
    reports: "AnyReports",
    itemsets: "Iterable[Collection[str | int]] | pd.DataFrame",
    *,
    confidence_level: float | str = 0.95,
    memory_bytes: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> "pd.DataFrame":
    """Estimate the supports of chosen itemsets, also of rare ones.

    Args:
        reports: as for :func:`mine`.
        itemsets: sets or lists of names of the plan's catalogue (an int 7 is the name "7"), or a table with the column
            ``itemsets``.
        confidence_level, memory_bytes, progress: as for :func:`mine`.

    Returns:
        One row an itemset, in the given order: the columns of :func:`mine` except those about a minimum support. The
        intervals are those of itemsets chosen beforehand, which are wider for best sellers.

    Raises:
        EstimateError, WireError: as :func:`mine`; an unknown or repeated name, or an itemset larger than the plan's.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> found = ap.ask(ap.randomize([{"milk", "tea"}] * 20_000, made), [["milk", "tea"], ["tea"]])
    >>> (found["support"] > 0.9).tolist()
    [True, True]
    """
    from assocpriv.estimation.supports import ErrorOptions
    from assocpriv.server.baskets.ask import ask as run
    from assocpriv.server.baskets.result_frames import AskedItemsets, to_result_frame

    table: Any = itemsets
    chosen = table["itemsets"] if hasattr(table, "columns") else table
    found = run(backends(reports, memory_bytes, progress), chosen, (), ErrorOptions(confidence_level))
    return to_result_frame(found.itemsets, AskedItemsets)


def ask_rules(
    reports: "AnyReports",
    rules: "Iterable[tuple[Collection[str | int], Collection[str | int]]] | pd.DataFrame",
    *,
    confidence_level: float | str = 0.95,
    memory_bytes: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> "pd.DataFrame":
    """Estimate the confidences of chosen rules, also of rare ones.

    Args:
        reports, confidence_level, memory_bytes, progress: as for :func:`ask`.
        rules: pairs (antecedent, consequent) of sets or lists of names, or a table of rules.

    Returns:
        One row a rule, in the given order: the columns of :func:`association_rules` except those about a minimum.

    Raises:
        EstimateError, WireError: as :func:`ask`; or both sides name the same item.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> found = ap.ask_rules(ap.randomize([{"milk", "tea"}] * 20_000, made), [(["milk"], ["tea"])])
    >>> float(found["confidence"][0]) > 0.9
    True
    """
    from assocpriv.estimation.supports import ErrorOptions
    from assocpriv.server.baskets.ask import ask as run
    from assocpriv.server.baskets.result_frames import AskedRules, to_result_frame

    table: Any = rules
    chosen = zip(table["antecedents"], table["consequents"], strict=True) if hasattr(table, "columns") else table
    found = run(backends(reports, memory_bytes, progress), (), chosen, ErrorOptions(confidence_level))
    return to_result_frame(found.rules, AskedRules)


def compare(
    *sides: Any,
    names: Sequence[str] | None = None,
    at_least: float | str = 0.0,
    fdr: float | str | None = None,
    min_confidence: float | str = "50%",
    confidence_level: float | str = 0.95,
    memory_bytes: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> "Comparison":
    """Estimate what differs between stores, regions or seasons; of three or more, their trend.

    The sides must be disjoint samples of people. A person in two of them makes the stated errors wrong, and spends the
    budget of both reports.

    Args:
        sides: two or more, in order: tables of :func:`mine`, or files of these; or reports, report files, folders or
            lists of files, which are read for the same itemsets. Plans may differ. One folder alone stands for the days
            on which its files were closed.
        names: of the sides; by default those of their files, else A, B, C …
        at_least: the smallest difference of interest, as 0.01 or ``"1%"`` of baskets; 0 tests the sign of a change.
        fdr: also test which differences are larger than ``at_least``, without a prior, and mark significant ones: the
            expected share of false ones among them is at most this, as 0.05 or ``"5%"``.
        min_confidence: of rules; a rule is compared if it has this confidence on some side.
        confidence_level, memory_bytes, progress: as for :func:`mine`.

    Returns:
        ``itemsets`` and ``rules``, light tables whose ``to_pandas()`` makes data frames. ``difference`` is the last
        side minus the first (for more than two, the change along a straight line), with ``ci_low`` … ``ci_high``,
        ``probability`` (posterior probability of a difference above ``at_least``) and ``selected``, by probability.

    Raises:
        EstimateError: fewer than two sides, tables that cannot be compared, or a number out of range.
        WireError: files that are damaged, or a copy of another side's.

    Source: docs/why-it-works.md.

    >>> import assocpriv as ap
    >>> made = ap.plan(["ice", "tea"], ap.Guarantee("5%", "50%"), mean_size=1)
    >>> summer, winter = (ap.randomize([{name}] * 20_000, made) for name in ("ice", "tea"))
    >>> found = ap.compare(summer, winter, names=["summer", "winter"])
    >>> sorted((*row["itemsets"], row["difference"] > 0) for row in found.itemsets.to_dict()[:2])
    [('ice', False), ('tea', True)]
    """
    from assocpriv.estimation.supports import ErrorOptions
    from assocpriv.server.baskets.comparison import CompareRequest, read_sides
    from assocpriv.server.baskets.comparison import compare as run

    request = CompareRequest(at_least, fdr, min_confidence, ErrorOptions(confidence_level))
    named = _named_sides(sides, names)
    given = {name: _opened(side) for name, side in named.items()}
    sources = [_sources(side, given[name]) for name, side in named.items()]
    for (one, first), (other, second) in combinations(enumerate(sources, 1), 2):
        if first & second:
            raise EstimateError(
                f"sides {one} and {other} have reports or tables in common; a comparison is of different people"
            )
    check_copies(reports for each in given.values() if isinstance(each, list) for reports in each)
    tables = {name: each for name, each in given.items() if not isinstance(each, list)}
    collections = {name: each for name, each in given.items() if isinstance(each, list)}
    counted = {
        name: [backend(reports, memory_bytes, progress) for reports in each] for name, each in collections.items()
    }
    read = tables | read_sides(counted, tables, request.errors)
    found = run({name: read[name] for name in named}, request)
    plans = [reports.plan for each in collections.values() for reports in each]
    local = [plan for plan in plans if not isinstance(plan, Release)]
    factors = [plan.amplification for plan in local for _ in range(plan.reports_per_person)]
    known = not tables and len(local) == len(plans) and all(factors)
    found.facts["epsilon_in_all"] = epsilon_from_amplification(compose(filter(None, factors))) if known else None
    return found


def _named_sides(sides: Sequence[Any], names: Sequence[str] | None) -> dict[str, Any]:
    """Return the sides by name; a folder alone stands for its days."""
    if len(sides) == 1 and isinstance(sides[0], str | PathLike) and Path(sides[0]).is_dir():
        days = files_by_day(Path(sides[0]))
        if len(days) < 2:
            raise EstimateError(
                f"the reports in files of {sides[0]} are of {pluralize(len(days), 'day')}; a comparison is of two or "
                "more sides: name another, or close the reports of another day"
            )
        sides, names = tuple(days.values()), list(days) if names is None else names
    if len(sides) < 2:
        raise EstimateError(
            "a comparison is of two or more sides, each an argument of its own, as compare(first, second); got "
            f"{len(sides)}"
        )
    called = _names_of(sides) if names is None else [str(name) for name in names]
    if len(called) != len(sides) or len(set(called)) < len(sides):
        raise EstimateError(f"names must be {len(sides)} different ones, one a side, got {called}")
    return dict(zip(called, sides, strict=True))


def _names_of(sides: Sequence[Any]) -> list[str]:
    """Return file names without endings where these are unique, else letters."""
    paths = [Path(side) if isinstance(side, str | PathLike) else None for side in sides]
    stems = [path.name.partition(".")[0] if path else "" for path in paths]
    if all(stems) and len(set(stems)) == len(stems):
        return stems
    whole = [str(path) for path in paths if path]
    return whole if len(set(whole)) == len(sides) else [chr(ord("A") + place) for place in range(len(sides))]


def _opened(side: Any) -> Any:
    """Return a mined table, or a list of collections."""
    from assocpriv.files.mined_tables import mining_facts, read_table
    from assocpriv.files.report_files import holds_reports

    if hasattr(side, "columns"):
        mining_facts(side)  # refuses what is no such table
        return side
    if isinstance(side, str | PathLike) and not (Path(side).is_dir() or holds_reports(Path(side)) or is_release(side)):
        return read_table(Path(side))
    return as_collections(side)


def _sources(side: Any, opened: Any) -> set[Any]:
    """Return what identifies reports and tables, to find those that are given twice."""
    if isinstance(opened, list):
        reports = [each for each in opened if not isinstance(each, Release)]
        memory = {sha256(each.in_memory.tobytes()).digest() for each in reports if len(each.in_memory)}
        files = {path.resolve() for each in reports for path in each.paths}
        return memory | files | {each.plan_id for each in opened if isinstance(each, Release)}
    return {sha256(Path(side).read_bytes()).digest() if isinstance(side, str | PathLike) else id(opened)}


def to_frame(table: "pd.DataFrame", backend: str) -> Any:
    """Convert a table of ours to a frame of another library.

    Args:
        table: of itemsets, rules or distributions.
        backend: ``polars``, ``pyarrow`` or ``pandas``, which must be installed.

    Returns:
        A frame with the same columns; sets of names become sorted lists.

    Raises:
        ValueError: another backend.
        TypeError: no table.

    >>> import pandas as pd
    >>> to_frame(pd.DataFrame({"itemsets": [frozenset({"tea", "milk"})], "support": [0.5]}), "pyarrow").to_pylist()
    [{'itemsets': ['milk', 'tea'], 'support': 0.5}]
    """
    import narwhals as nw

    from assocpriv.files.mined_tables import LightFrame

    if backend not in ("pandas", "polars", "pyarrow"):
        raise ValueError(f"backend must be pandas, polars or pyarrow, got {backend!r}")
    if not hasattr(table, "columns"):
        raise TypeError(f"table must be a table of itemsets, rules or distributions, got a {type(table).__name__}")
    columns = {
        name: each.tolist() for name, each in LightFrame.from_frame(table).columns.items() if name in table.columns
    }
    plain = {name: [sorted(each) if isinstance(each, frozenset) else each for each in values]
             for name, values in columns.items()}  # fmt: skip
    frame = nw.from_dict(plain, backend=backend)  # type: ignore[arg-type]  # one of three
    return frame.to_native()
