"""The verbs, which ask a plan or reports of which kind they are: one record or many, baskets or tables.

What a kind does stands in its entry of plans/kind.py. Here is also what needs rooms on both sides of the trust
boundary, or tables that may be files. Each function loads what it needs when it is called.
"""

import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from fractions import Fraction
from hashlib import sha256
from inspect import signature
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assocpriv.files.reports import Reports, as_collections, as_reports, check_copies, days_of
from assocpriv.plans.baskets import Plan
from assocpriv.plans.kind import knows, load_for
from assocpriv.plans.published import PublishedPlan
from assocpriv.promise.breaches import Breach, compose, epsilon
from assocpriv.promise.entropy import SystemEntropy
from assocpriv.promise.errors import EstimateError, FileError, PlanError, check_names, check_type, counted
from assocpriv.promise.numbers import MOST_MEMORY, check_range

if TYPE_CHECKING:
    import pandas as pd

    from assocpriv.auditing.audit import Audit
    from assocpriv.planning.baskets import Choice
    from assocpriv.planning.discovery import Found
    from assocpriv.plans.catalogue import Catalogue
    from assocpriv.records.baskets import Baskets
    from assocpriv.server.ask import AskOutcome
    from assocpriv.server.compare import Comparison
    from assocpriv.server.counting import CountingBackend
    from assocpriv.server.distributions import Distributions
    from assocpriv.server.selection import ItemsetFilter
    from assocpriv.server.spark import SparkReports

    AnyReports = Reports | SparkReports | str | Path | Iterable[str | Path]

_COUNTING = ("confidence_level", "memory_bytes", "progress")  # what a question to reports takes beside


# ---- plans


def plan(
    items: int | Iterable[str] | None = None,
    promise: Breach | None = None,
    **wishes: Any,
) -> Plan:
    """Choose the plan that tells most of whole baskets among those that keep a promise.

    It chooses M, to how many items a basket is sampled, the operator, the form of reports, and how many people are
    asked how many items they hold instead, by the expected error of supports in whole baskets.

    Args:
        items: number of items (then named 0 … n−1) or their names.
        promise: the breach that no report may cause, nor all reports of one person together: ``Breach("5%", "50%")``,
            or ``Epsilon(2)``.
        wishes: by name:

            - ``reports``: number of reports N that the planner counts on; a million by default.
            - ``central``: in place of a promise (ε, δ), as ``(1, 1e-8)``: what whoever reads batches of ``reports`` or
              more may learn of a person where an anonymous channel hides who sent which. The plan's own promise
              follows; ``local_cap`` is the most ε of it, 8 by default. A ``CentralPromise`` says more.
            - ``reports_per_person``: R, how many reports one person may send, 1..1000; each then tells less.
            - ``mean_size``: how many different items a basket holds on average. 6 is assumed where
              neither this nor ``like`` is known.
            - ``like``: a sample of baskets, as a file, as :func:`assocpriv.to_baskets` takes it, or as a mapping from
              sizes to numbers of baskets.
            - ``itemset_size``: K, the largest itemsets to be estimated; 3 (or M if that is less) by default.
            - ``transaction_size``: M, 1..15, where it is not to be chosen.
            - ``names``: what becomes of a basket's names (:class:`Names`); by default they are looked up.
            - ``paper``: take the choice of EGS03 for this M, the least maximal lowest discoverable support by
              thresholds, and ask nobody about sizes.

    Raises:
        PlanError: arguments out of range, or no operator fits.
        TypeError: arguments of another type, or of another name.

    Source: EGS03, sections 4 to 6; docs/why-it-works.md.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "bread", "tea"], ap.Breach("5%", "50%"), mean_size=2)
    >>> made.n_items, made.report_bytes, made.amplification < 19
    (3, 1, True)
    """
    return choose_plan(items, promise, **wishes).plan


def choose_plan(items: int | Iterable[str] | None = None, promise: Breach | None = None, **wishes: Any) -> "Choice":
    """Return the plan of :func:`plan`, what it was chosen for, and what is expected of it.

    Returns:
        The ``plan``, ``expected`` errors by itemset size, and ``other_means``: the M that half and twice the mean size
        of baskets would have chosen.

    Raises:
        PlanError, TypeError: as :func:`plan`.

    >>> import assocpriv as ap
    >>> choice = ap.choose_plan(1000, ap.Breach("5%", "50%"), mean_size=6)
    >>> choice.plan.items.transaction_size, choice.other_means
    (8, {3.0: 7, 12.0: 14})
    """
    from assocpriv.planning import baskets
    from assocpriv.planning.request import catalogue_of

    slips = {"epsilon", "prior", "posterior"} & wishes.keys()
    if slips or not (isinstance(promise, Breach) or "central" in wishes):
        said = f"plan() has no argument {min(slips)!r}" if slips else "plan() needs a promise"
        raise TypeError(f'{said}; give promise=Epsilon(2) or promise=Breach("5%", "50%"), both of assocpriv')
    check_names(wishes, [*signature(baskets.choose_plan).parameters])
    if items is None:
        raise TypeError("plan() needs items: how many there are, or their names")
    catalogue = catalogue_of(items)
    return baskets.choose_plan(catalogue, promise, **_with_sizes(catalogue, wishes))


def find_plan(support: float | str | Fraction, items: int | Iterable[str], **wishes: Any) -> "Found":
    """Return a plan that finds all itemsets of a size that have a support in whole baskets, needing little.

    With ``reports`` an ε of two decimals is looked for, up to that of the promise if one is given; without them a
    number of reports under the promise, of two digits. One step less does not do; still less may, where the planner's
    designs change.

    Args:
        support: in (0, 1], as 0.01 or ``"1%"``, in whole baskets.
        items: number of items or their names.
        wishes: ``size`` (items of an itemset, 2 by default), ``reports`` or ``promise`` or both, ``prior`` (what the
            promise found is shown for), ``progress`` (called with (done, total) steps), and all else of :func:`plan`.

    Returns:
        ``reports``, ``promise`` and the ``plan``.

    Raises:
        PlanError: arguments out of range, or nothing does: it says how many reports would.

    >>> import assocpriv as ap
    >>> found = ap.find_plan("20%", 100, size=1, reports=20_000, mean_size=4)
    >>> f"{float(found.promise.posterior):.1%}", found.plan.items.itemset_size
    ('12.1%', 1)
    """
    from assocpriv.planning import discovery
    from assocpriv.planning.request import catalogue_of

    catalogue = catalogue_of(items)
    return discovery.find_plan(support, catalogue, **_with_sizes(catalogue, wishes))


def _with_sizes(catalogue: "Catalogue", wishes: dict[str, Any]) -> dict[str, Any]:
    """Return wishes with the sizes of baskets in place of a sample of them."""
    sample = wishes.get("like")
    if sample is None or isinstance(sample, Mapping):
        return wishes
    if getattr(getattr(sample, "dtype", None), "kind", "O") in "iuf":
        raise TypeError(
            "like takes baskets, or a mapping from sizes to numbers of baskets, as dict(sizes.value_counts()); got a "
            f"{type(sample).__name__} of numbers"
        )
    from assocpriv.simulation.samples import sample_sizes

    return wishes | {"like": sample_sizes(sample, catalogue, wishes.get("names")).sizes}


def foresee(plan: PublishedPlan, reports: int) -> Any:
    """Return what so many reports of a plan, of any kind, can be expected to show.

    Args:
        plan: a plan.
        reports: how many people will answer, 1 at least.

    Returns:
        Of baskets the plan's errors and lowest discoverable supports by itemset size; of a table by column the
        expected errors of shares; of a guided plan what a report tells by level.

    Raises:
        PlanError: plans of this kind are not known here.

    >>> import assocpriv as ap
    >>> made = ap.plan(1000, ap.Breach("5%", "50%"))
    >>> ap.foresee(made, 1_000_000).reports
    1000000
    """
    plan = PublishedPlan.of(plan)
    return load_for(plan.kind, "planning.foresee", "foreseen")(plan, reports)


# ---- baskets


def read_baskets(
    path: "str | PathLike[str] | Sequence[str | PathLike[str]]",
    *,
    layout: str | None = None,
    catalogue: "Catalogue | None" = None,
    unknown: str = "error",
    repeats: str = "error",
    empty: str = "error",
    incomplete: str = "refuse",
    progress: Callable[[int, int], None] | None = None,
) -> "Baskets":
    r"""Read a file of baskets, or several together.

    What is not said of a file's layout is found out from its first lines, or refused where these may mean several
    things; the logger ``assocpriv`` is told what was understood, at the level INFO, in words that ``layout`` takes.
    docs/cli.md has the rules.

    Args:
        path: the file: text, Parquet or a workbook, .xlsx (extra ``xlsx``); a name that ends in .gz is
            decompressed. Of several the lines of one transaction id are one basket, in whichever they stand.
        layout: its words, the kind first: "lines" (a line of names a basket), "dat" (a line of item numbers a basket,
            blanks between), "long" (a line or row an item), "one-hot" (a column an item, cells 1 and 0 or t and f),
            "list" (a column of lists, or of text with a mark between items); then ``transaction=`` ``item=``
            ``quantity=`` (columns by name, or as #2 by number; several columns of transactions as ``date+receipt``;
            of lines and one-hot ``transaction`` is no item), ``rows=together`` or ``anywhere``, ``within=`` (between
            items in one cell, or none), ``missing=keep`` (NaN, None, NA are items), ``separator=`` (, ; | tab blank),
            ``header=yes`` or ``no``, ``encoding=``, ``sheet=`` (of a workbook: a name, or a number as ``#1``).
        catalogue: the items there may be, looked up by name: the number 7 is the name "7". By default
            0 … the largest number for dat (the distinct ones beyond 2^20), the columns for one-hot, otherwise the
            sorted names.
        unknown: "error", or "drop" to leave out items that are not in the catalogue.
        repeats: "error", or "merge" to count an item that a basket repeats once.
        empty: "error", or "keep" to take a blank line, or a null or empty list, as an empty basket, or "drop".
        incomplete: "refuse", or "drop" to leave out rows of the long layout without an id, an item or a quantity; such
            rows below all others, as totals, are left out anyway.
        progress: called with (bytes read, bytes of the file).

    Returns:
        The baskets in the order of the file; those of the long layout by first appearance.

    Raises:
        BasketError: a file that cannot be read, is not of the layout or may be of several; unknown, repeated, missing
            or unusable items; empty baskets.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> file = Path(mkdtemp(), "shop.csv")
    >>> _ = file.write_text("milk,tea\nmilk\n")
    >>> ap.read_baskets(file, layout="lines")
    Baskets(2 baskets over 2 items)
    """
    from assocpriv.records import basket_files
    from assocpriv.records.layout import ReadOptions

    options = ReadOptions(layout, unknown, repeats, empty, incomplete, progress=progress)
    return basket_files.read_baskets(path, catalogue, options)[0]


# ---- randomizing


def randomize(records: Any, plan: PublishedPlan, output: str | PathLike[str] | None = None, **options: Any) -> Any:
    """Randomize one record, or many, with the operating system's entropy.

    Args:
        records: **one record** is, of a plan of baskets, a set or list of item names (an int 7 is the name "7"), none
            repeated but those that the plan drops as unknown, any number of them, also none (``set()``, as an
            empty list has no basket); of a plan of a table a dictionary, {"age": 34}; of a guided plan a
            :class:`assocpriv.guided.GuidedRecord`.
            **Many** are :class:`Baskets`, a list of sets, a pandas, polars or pyarrow table, the name of a file,
            which is read batch by batch, or a list of ``Path`` (of a plan of baskets, a transaction id is one basket in
            all of them); of a guided plan also the path of a folder in which records wait.
        plan: the published plan.
        output: of many records, a report file to write (.parquet or .pq; of a guided plan also .jsonl); it appears
            whole or not at all.
        options: of many records, by name.

            - Of all kinds: ``memory_bytes`` (what reading may hold at a time; a quarter of the free memory by default),
              ``force`` (replace an existing file), ``progress`` (called with bytes read and bytes of the file, or with
              baskets done and baskets).
            - Of baskets: ``layout``, ``unknown``, ``repeats``, ``empty``, ``incomplete``, as of
              :func:`read_baskets`; a plan whose rules say so drops other names in any case. ``person`` (of files and
              tables with a line an item, columns that say whose a transaction is: by name, by number as "#2", or
              several as "store+customer") keeps as many baskets of each person as the plan promises reports, drawn by
              the operating system's entropy; without it every basket counts as another person's. ``person_as`` is
              "checked", or "written" to take ids that differ in case, blanks, Unicode form or as numbers (7, 007, 7.0)
              as different persons', which is refused otherwise.
            - Of tables: ``separator`` (of the cells of a CSV file), ``sheet`` (of a workbook, by name or as
              ``"#1"``), ``missing`` (a word, or several, for missing values; empty cells are such anyway, NaN and null
              of numbers), ``clip`` (move values outside a column's range to its ends).
            - Of guided plans: ``guidance``, ``max_level`` (the highest that is answered), ``announced`` (the level
              announced before the guidance came), ``separator``, ``sheet``, ``missing``.

    Returns:
        Of one record its report: ``plan.report_bytes`` bytes, all that may leave the device. Of many :class:`Reports`;
        with ``output`` what was read and left out: of baskets ``read`` and ``sizes``, of tables ``records``,
        ``clipped`` and ``missing``, of guided plans also the ``level``.

    Raises:
        RecordError: records that do not fit the plan; no value is shown.
        GuidanceError: guidance that is none of the plan's, or asks for more than is answered; nothing is sent.
        FileError: the output exists and ``force`` is not set, has another ending, or cannot be written.
        TypeError: no record, or options that the plan's kind does not have.

    Warns:
        UserWarning: without ``output``, where sampling baskets to the plan's transaction size loses more than 5% of
            support.

    Source: EGS03, sections 5 and 6; of tables AS00 and docs/formats/table-plan.md; of guided plans ZWZ05.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "bread", "tea"], transaction_size=2, promise=ap.Breach("5%", "50%"))
    >>> len(ap.randomize({"milk", "tea"}, made)), len(ap.randomize([{"milk"}, {"tea", "bread"}], made))
    (2, 2)
    """
    plan = PublishedPlan.of(plan)
    if "seed" in options:
        raise TypeError(
            "randomize() has no seed: who knows it could undo the noise, so the operating system's entropy decides "
            "what leaves a device; simulate() has one"
        )
    if _is_one(records):
        from assocpriv.client.ledger import make_report

        if output is not None or options:
            raise TypeError(f"{next(iter(options), 'output')} goes with many records, and this is one")
        return make_report(records, plan, entropy=SystemEntropy())
    reports, counts = load_for(plan.kind, "client.randomize", "randomized")(records, plan, output, **options)
    if output is not None:
        return counts
    if knows(plan.kind, "planning.warn"):
        load_for(plan.kind, "planning.warn", "described")(counts.sizes, plan)
    return reports


def _is_one(records: Any) -> bool:
    """Tell one person's record from many: a mapping, names, or what is no collection of collections at all."""
    from assocpriv.records.sources import is_file

    if is_file(records) or hasattr(type(records), "columns") or hasattr(type(records), "offsets"):
        return False
    if isinstance(records, Mapping | AbstractSet) or not isinstance(records, Iterable):
        return True
    first = next(iter(records), ()) if isinstance(records, Sequence) else ()  # an empty list is no record at all
    return isinstance(first, str) or not isinstance(first, Collection)


# ---- what reports tell


def mine(
    reports: "AnyReports | Sequence[AnyReports]",
    min_support: float | str | None = None,
    *,
    top: int | None = None,
    among: "ItemsetFilter | None" = None,
    max_itemset: int | None = None,
    certain: float | str | None = None,
    certain_by: str = "split",
    confidence_level: float | str = 0.95,
    memory_bytes: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    light: bool = False,
) -> Any:
    """Find itemsets from reports alone, with how sure each is.

    Supports are shares of **whole baskets** where the plan asks some people how many items they hold, as plans do;
    otherwise of what is left of baskets sampled to the plan's M items. They are posterior means, under priors that are
    fitted to the same reports.

    Args:
        reports: reports, a report file, a folder of them, or a list of files; or reports that Spark's tasks read
            (``assocpriv.spark.read_reports``). A list of such collections, or of files of several plans, is read
            together: of a first collection and a second about a shorter catalogue (:func:`refine`), of other people.
        min_support: S in (0, 1], as 0.02 or ``"2%"``; by default, or with ``"auto"``, the least that is likely to be
            told from noise.
        top: instead of a minimum support, how many itemsets of the largest supports are wanted.
        among: of which itemsets ``top`` are wanted; the table holds all others of at least such a support, too.
        max_itemset: largest itemsets; the plan's ``itemset_size`` by default, which its generator supports.
        certain: also test which itemsets are frequent, such that among those called certain the expected share of
            false ones is at most 1 less this: ``"95%"`` allows 5%, whatever the other supports are.
        certain_by: ``split``: 3 in 10 reports choose the itemsets, the others alone measure and test them. ``all``: all
            reports do both, and every possible itemset up to the largest size counts as tested.
        confidence_level: of the credible intervals ``ci_low`` … ``ci_high``, as 0.95 or ``"95%"``.
        memory_bytes: what of reports, bitmaps and candidates may be held; a quarter of the free memory by default.
        progress: called with (what is done, done, total).
        light: return a light table, made without pandas; its ``to_pandas()`` makes the data frame.

    Returns:
        One row an itemset of a mean of S or more: ``support``, ``itemsets`` (frozenset of names), ``std_error``,
        ``ci_low``, ``ci_high``, ``length``, ``probability`` (to reach S), ``listed``. About one in twenty of those
        listed is expected to be below S. Beside the posterior stand the estimates before any prior, ``unbiased`` in
        whole baskets and ``sampled`` within sampled items, with standard errors, and what rules need. If asked for,
        also ``p_value`` and ``certain``. ``write_itemsets`` keeps the table.

    Raises:
        EstimateError: no reports, sizes that the plan cannot answer, or a name ``among`` that no catalogue has.
        PlanError: reports of another kind than baskets; :func:`reconstruct` answers those of tables.
        WireError: files that are damaged.

    Warns:
        UserWarning: where reports are too few to tell much, or itemsets were left uncounted.

    Source: EGS03, section 5; Stephens, Biostatistics 18 (2017); docs/why-it-works.md.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], ap.Breach("5%", "50%"), mean_size=2)
    >>> found = ap.mine(ap.randomize([{"milk", "tea"}] * 20_000, made))
    >>> sorted(sorted(itemset) for itemset in found[found["listed"]]["itemsets"])
    [['milk'], ['milk', 'tea'], ['tea']]
    """
    from assocpriv.server.intervals import ErrorOptions
    from assocpriv.server.itemsets import describe_limits, mining_facts
    from assocpriv.server.mining import MiningRequest
    from assocpriv.server.selection import EVERYTHING, ItemsetFilter

    errors = ErrorOptions(confidence_level)
    request = MiningRequest(
        min_support,
        top,
        max_itemset,
        certain,
        certain_by,
        errors,
        check_type("among", among or EVERYTHING, ItemsetFilter),
    )
    backends = _backends(reports, memory_bytes, progress)
    request.among.check([each.plan for each in backends])
    run = load_for(backends[0].plan.kind, "server.mine", "mined")
    frame = run(backends, request)
    for line in describe_limits(mining_facts(frame)):
        warnings.warn(line, stacklevel=2)
    if light:
        return frame
    from assocpriv.server.data_frames import shown

    return shown(frame)


def _answering(plan: PublishedPlan, verb: str) -> Any:
    """Return what answers a verb on reports of a plan's kind; say which verb does where this one has no answer."""
    if not knows(plan.kind, verb):
        others = [each for each in ("server.mine", "server.reconstruct", "server.collect") if knows(plan.kind, each)]
        said = " and ".join(each.partition(".")[2] for each in others) or "none that is known here"
        raise PlanError(f"reports of a plan of the kind {plan.kind} are for {said}, not for {verb.partition('.')[2]}")
    return load_for(plan.kind, verb, "answered")


def _backends(
    reports: "AnyReports | Sequence[AnyReports]",
    memory_bytes: int | None,
    progress: Callable[[str, int, int], None] | None,
) -> "list[CountingBackend]":
    """Return who counts reports, where they are: one for each collection."""
    if memory_bytes is not None:
        memory_bytes = check_range("memory_bytes", memory_bytes, 1, MOST_MEMORY)
    return [_backend(each, memory_bytes, progress) for each in as_collections(reports)]


def _backend(
    reports: "Reports | SparkReports", memory_bytes: int | None, progress: Callable[[str, int, int], None] | None
) -> "CountingBackend":
    _answering(reports.plan, "server.mine")

    if isinstance(reports, Reports):
        from assocpriv.server.counting import LocalBackend

        return LocalBackend.of(reports, memory_bytes, progress)
    from assocpriv.server.spark import SparkBackend

    return SparkBackend(reports, memory_bytes)


def association_rules(
    itemsets: "pd.DataFrame",
    min_confidence: "float | str" = "50%",
    *,
    size: int | str | None = None,
    antecedent_size: int | str | None = None,
    contains: Collection[str] = (),
    antecedent: Collection[str] = (),
    consequent: Collection[str] = (),
    prune: bool = False,
    sort: str = "sure",
    prices: "Mapping[str, float] | str | Path | None" = None,
    light: bool = False,
) -> Any:
    """Derive the rules A → C that are more likely than not to have at least ``min_confidence``.

    Args:
        itemsets: a table as :func:`mine` returns it.
        min_confidence: in [0, 1], as 0.6 or ``"60%"``.
        size, antecedent_size: items of the rule and of its antecedent, as 2, ``"2..3"``, ``"2.."`` or ``"..3"``.
        contains, antecedent, consequent: names that the rule and its sides must hold, a list each.
        prune: leave out redundant rules: another of the same consequent and fewer items in the antecedent, or the
            consequent's own support, has at least their confidence (Bayardo, Agrawal, Gunopulos 1999).
        sort: ``sure`` (listed ones first, by the lower end of the confidence's interval; with prices of the value's),
            a metric, ``size`` or ``name``.
        prices: of each item what it earns, a price or a margin, or a CSV file of it (item, price): what a rule is
            worth is told, too. Prices are public, so no report needs more.
        light: return a light table, made without pandas; its ``to_pandas()`` makes the data frame.

    Returns:
        mlxtend's columns ``antecedents``, ``consequents``, the supports of both and of all items, and mlxtend's
        measures of these three supports; the intervals ``confidence_ci_low`` … ``confidence_ci_high`` in [0, 1] and
        ``lift_ci_low`` … ``lift_ci_high``, which hold the confidence and the lift;
        ``probability`` (to have the confidence), ``listed`` (about one in ten of the listed is expected to be false)
        and ``sure`` (one in twenty). A rule is neither if the interval of its antecedent's support reaches 0, or if
        that of its confidence is 95 points wide or more. With prices ``value``, ``value_ci_low`` and
        ``value_ci_high``: what the consequents earn per thousand baskets that have both sides, beyond as many as there
        were if they had nothing to do with each other. ``attrs`` say how many are listed, and expected to be false.

    Raises:
        EstimateError: the table does not carry what is needed, or an argument is out of range.
        TypeError: not a table of itemsets.

    Warns:
        UserWarning: where there is no rule, as no itemset has two items, or one of the names wanted.

    Source: EGS03; docs/why-it-works.md.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], ap.Breach("5%", "50%"), mean_size=2)
    >>> found = ap.mine(ap.randomize([{"milk", "tea"}] * 20_000, made))
    >>> sorted(sorted(side) for side in ap.association_rules(found, "60%")["antecedents"])
    [['milk'], ['tea']]
    """
    from assocpriv.files.rules import read_prices
    from assocpriv.server.itemsets import ATTRIBUTE
    from assocpriv.server.rules import derive_rules
    from assocpriv.server.selection import RuleFilter

    wanted = RuleFilter(size, antecedent_size, contains, antecedent, consequent, prune, sort)
    known = read_prices(prices) if isinstance(prices, str | Path) else prices
    derived = derive_rules(itemsets, min_confidence, None if wanted == RuleFilter() else wanted, known)
    if light:
        return derived
    if why := derived.attrs[ATTRIBUTE].get("none"):
        warnings.warn(f"there is no rule: {why}", stacklevel=2)
    from assocpriv.server.data_frames import RuleFrame, shown

    return shown(derived, RuleFrame)


def substitutes(
    reports: "AnyReports | Sequence[AnyReports]",
    below: "float | str" = 0.8,
    *,
    categories: Mapping[str, str] | None = None,
    confidence_level: float | str = 0.95,
    memory_bytes: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    light: bool = False,
) -> Any:
    """Find pairs that are bought together less than chance has it: products that take each other's place.

    Chance is that of baskets of the same sizes: large ones hold more of everything, so items that have nothing to do
    with each other have a lift above 1.

    Args:
        reports, confidence_level, memory_bytes, progress: as for :func:`mine`.
        below: the bound on the lift, as 0.8 or ``"80%"`` of the expected support.
        categories: of each item the name of its category; only pairs of one category are looked at. By default the
            parents of the plan's taxonomy, or all pairs where it has none.
        light: return a light table, made without pandas; its ``to_pandas()`` makes the data frame.

    Returns:
        One row a pair that can be told, the surest first: ``itemsets``, ``support``, ``expected_support`` (under
        independence given the basket size), ``lift`` (as of rules), ``lift_by_size`` (support over expected support)
        with ``lift_ci_low`` … ``lift_ci_high``, ``probability`` (of a ``lift_by_size`` below the bound) and
        ``listed``: about one in twenty of those listed is expected to be false. ``attrs`` say how many pairs are
        ``told``, and how many not (``untold``): their expected support is so small that even a support of 0 could not
        be distinguished from it.

    Raises:
        EstimateError, PlanError, WireError: as :func:`mine`; or a bound out of range.

    Source: docs/decide-with-rules.md.

    >>> import assocpriv as ap
    >>> made = ap.plan(["bread", "butter", "margarine"], ap.Breach("5%", "50%"), mean_size=1)
    >>> baskets = [{"bread", "butter"}, {"bread", "margarine"}, {"bread"}, {"butter"}, {"margarine"}, set()]
    >>> reports = ap.randomize(baskets * 20_000, made)
    >>> [sorted(row["itemsets"]) for row in ap.substitutes(reports, light=True).to_dict() if row["listed"]]
    [['butter', 'margarine']]
    """
    from assocpriv.server.intervals import ErrorOptions
    from assocpriv.server.substitutes import find_substitutes

    backends = _backends(reports, memory_bytes, progress)
    found = find_substitutes(backends, below, categories, ErrorOptions(confidence_level))
    if light:
        return found
    from assocpriv.server.data_frames import SubstituteFrame, shown

    return shown(found, SubstituteFrame)


def draws(itemsets: "pd.DataFrame", count: int = 1000, *, seed: int) -> "pd.DataFrame":
    """Draw supports from the posterior of a mined table, for a statistic of one's own.

    Each draw respects subsets (no itemset has more than one of its subsets), and what is unsure of the law of baskets'
    sizes moves all supports of a draw together.

    Args:
        itemsets: a table as :func:`mine` returns it.
        count: number of draws.
        seed: makes them repeatable.

    Returns:
        A row a draw, a column an itemset in the table's order.

    Raises:
        EstimateError: the table does not carry its facts, or a number of draws below 1.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], ap.Breach("5%", "50%"), mean_size=2)
    >>> found = ap.mine(ap.randomize([{"milk", "tea"}] * 20_000, made))
    >>> ap.draws(found, 100, seed=1).shape
    (100, 3)
    """
    import pandas as pd

    from assocpriv.server.draws import draw_supports

    drawn = draw_supports(itemsets, count, seed)
    return pd.DataFrame(drawn, columns=list(itemsets["itemsets"]))


def reconstruct(
    reports: "AnyReports",
    by: str | None = None,
    joint: tuple[str, str] | None = None,
    method: str = "auto",
    *,
    confidence_level: float | str = 0.95,
    progress: Callable[[int, int], None] | None = None,
) -> "Distributions":
    """Reconstruct how the values of each column are spread, from released records alone.

    Args:
        reports: released records, a file of them, a folder, or a list of files; or what Spark's tasks read
            (``assocpriv.spark.read_reports``).
        by: a label or category: also the distributions within each of its classes, protected or not.
        joint: two columns: instead, how their values are spread together.
        method: ``auto`` (``smooth`` behind noise, else ``em``), ``smooth`` (penalized likelihood, its smoothness chosen
            by the data), ``em`` (maximum likelihood), ``ems`` (EM with smoothing: Li et al. 2020), ``bayes`` (iterated
            Bayes with the χ² stopping rule of AS00) or ``least-squares`` (unbiased, shares may be negative). Where one
            is of no use to a column another is taken; ``Distribution.method`` says which.
        confidence_level: of intervals and bands, as 0.95 or ``"95%"``.
        progress: called with (reports done, all) while they are counted.

    Returns:
        ``columns`` by name, and with ``by`` ``classes`` by value; ``frame()`` gives all of them as a table.

    Raises:
        EstimateError: no reports, a class or a column without enough of them, or a question that makes no sense.
        PlanError: reports of another kind of plan, or a column that it does not have.
        WireError: files that are damaged or of different plans.

    Source: AS00, section 3; of ``ems`` Li and others 2020; of the rest docs/why-it-works.md.

    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> ill = {"kind": "category", "release": "response", "values": ["no", "yes"]}
    >>> made = ap.numeric.plan_table({"columns": {"ill": ill}}, ap.Epsilon(2))
    >>> reports = ap.randomize(pd.DataFrame({"ill": ["no"] * 3000 + ["yes"] * 1000}), made)
    >>> abs(float(ap.reconstruct(reports)["ill"].share[1]) - 0.25) < 0.1
    True
    """
    from assocpriv.server.distributions import Question

    opened = as_reports(reports)
    run = _answering(opened.plan, "server.reconstruct")
    found: Distributions = run(opened, Question(by, joint, method, confidence_level), progress)
    return found


def ask(reports: "AnyReports", itemsets: Iterable[Collection[str | int]], **options: Any) -> "pd.DataFrame":
    """Tell the supports of chosen itemsets from reports alone, whether or not mining would list them.

    Args:
        reports: as for :func:`mine`.
        itemsets: sets or lists of names of the plan's catalogue (an int 7 is the name "7"); where the plan asks for
            itemsets, all the names of one of them.
        options: ``confidence_level``, ``memory_bytes`` and ``progress``, as for :func:`mine`.

    Returns:
        One row an itemset, in the order asked: the columns of :func:`mine` but for what is said of a minimum support.

    Raises:
        EstimateError, WireError: as :func:`mine`; an unknown or repeated name, or a larger itemset than the plan's.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, promise=ap.Breach("5%", "50%"))
    >>> found = ap.ask(ap.randomize([{"milk", "tea"}] * 20_000, made), [["milk", "tea"], ["tea"]])
    >>> (found["support"] > 0.9).tolist()
    [True, True]
    """
    check_names(options, _COUNTING)
    return answer(reports, itemsets, (), **options).itemsets.to_pandas()


def ask_rules(
    reports: "AnyReports", rules: Iterable[tuple[Collection[str | int], Collection[str | int]]], **options: Any
) -> "pd.DataFrame":
    """Tell the confidences of chosen rules from reports alone, whether or not mining would list them.

    Args:
        reports, options: as for :func:`ask`.
        rules: pairs (antecedent, consequent) of sets or lists of names.

    Returns:
        One row a rule, in the order asked: the columns of :func:`association_rules` but for what is said of a minimum.

    Raises:
        EstimateError, WireError: as :func:`ask`, or both sides name the same item.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, promise=ap.Breach("5%", "50%"))
    >>> found = ap.ask_rules(ap.randomize([{"milk", "tea"}] * 20_000, made), [(["milk"], ["tea"])])
    >>> float(found["confidence"][0]) > 0.9
    True
    """
    check_names(options, _COUNTING)
    return answer(reports, (), rules, **options).rules.to_pandas()


def answer(
    reports: "AnyReports",
    itemsets: Iterable[Collection[str | int]],
    rules: Iterable[tuple[Collection[str | int], Collection[str | int]]],
    *,
    confidence_level: float | str = 0.95,
    memory_bytes: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> "AskOutcome":
    """Tell supports of itemsets and confidences of rules from one reading of the reports.

    The arguments are those of :func:`ask` and :func:`ask_rules`.

    Returns:
        ``itemsets`` and ``rules``: light tables, whose ``to_pandas()`` makes data frames.

    Raises:
        EstimateError, WireError: as :func:`ask` and :func:`ask_rules`.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, promise=ap.Breach("5%", "50%"))
    >>> both = ap.answer(ap.randomize([{"tea"}] * 20_000, made), [["tea"]], [(["tea"], ["milk"])])
    >>> len(both.itemsets), len(both.rules)
    (1, 1)
    """
    from assocpriv.server.ask import ask as run
    from assocpriv.server.intervals import ErrorOptions

    return run(_backends(reports, memory_bytes, progress), itemsets, rules, ErrorOptions(confidence_level))


# ---- several collections


def compare(
    *sides: Any,
    names: Sequence[str] | None = None,
    at_least: float | str = 0.0,
    certain: float | str | None = None,
    min_confidence: float | str = "50%",
    confidence_level: float | str = 0.95,
    memory_bytes: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> "Comparison":
    """Tell what differs between stores, regions or seasons, with how sure that is; of three or more, their trend.

    The people of each side are taken to be others than those of the rest: somebody in two of them makes errors smaller
    or larger than what is said, and gave away what both reports tell together.

    Args:
        sides: two or more, in their order: tables as :func:`mine` returned them, or files of these; or reports, report
            files, folders of them or lists of files, which are read for the same itemsets. Plans may differ. A folder
            alone stands for the days on which its files were sealed, or by their dates.
        names: of the sides; by default those of their files, else A, B, C …
        at_least: the difference that matters, as 0.01 or ``"1%"`` of baskets; 0 asks which way supports changed.
        certain: also test which differences are larger than ``at_least``, such that among those called certain the
            expected share of false ones is at most 1 less this, whatever the differences of the others.
        min_confidence: of rules, which are compared where they have it on some side.
        confidence_level, memory_bytes, progress: as for :func:`mine`.

    Returns:
        ``itemsets`` and ``rules``, light tables whose ``to_pandas()`` makes data frames, as the comparison's own makes
        one of both: the last side less the first
        (of more than two, the change along a straight line) as ``difference``, with ``ci_low`` … ``ci_high``,
        ``probability`` (to be larger than ``at_least`` that way) and ``listed``, the surest first.

    Raises:
        EstimateError: fewer than two sides, tables of different meaning, or a number out of range.
        WireError: files that are damaged, or a copy of another side's.

    Source: docs/why-it-works.md.

    >>> import assocpriv as ap
    >>> made = ap.plan(["ice", "tea"], ap.Breach("5%", "50%"), mean_size=1)
    >>> summer, winter = (ap.randomize([{name}] * 20_000, made) for name in ("ice", "tea"))
    >>> told = ap.compare(summer, winter, names=["summer", "winter"])
    >>> sorted((*row["itemsets"], row["difference"] > 0) for row in told.itemsets.to_dict()[:2])
    [('ice', False), ('tea', True)]
    """
    from assocpriv.server.compare import CompareRequest, read_sides
    from assocpriv.server.compare import compare as run
    from assocpriv.server.intervals import ErrorOptions

    request = CompareRequest(at_least, certain, min_confidence, ErrorOptions(confidence_level))
    if len(sides) == 1 and isinstance(sides[0], str | PathLike) and Path(sides[0]).is_dir():
        days = days_of(Path(sides[0]))
        if len(days) < 2:
            raise EstimateError(
                f"the reports in files of {sides[0]} are of {counted(len(days), 'day')}; a comparison is of two or "
                "more sides: name another, or seal the reports of another day"
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
    given = {name: _opened(side) for name, side in zip(called, sides, strict=True)}
    sources = [_sources(side, given[name]) for name, side in zip(called, sides, strict=True)]
    if len(set().union(*sources)) < sum(map(len, sources)):
        raise EstimateError(f"some reports or tables are on two sides of {called}; a comparison is of different people")
    check_copies(reports for each in given.values() if isinstance(each, list) for reports in each)
    tables = {name: each for name, each in given.items() if not isinstance(each, list)}
    collections = {name: each for name, each in given.items() if isinstance(each, list)}
    backends = {
        name: [_backend(reports, memory_bytes, progress) for reports in each] for name, each in collections.items()
    }
    read = tables | read_sides(backends, tables, request.errors)
    told = run({name: read[name] for name in called}, request)
    plans = [reports.plan for each in collections.values() for reports in each]
    factors = [plan.amplification for plan in plans for _ in range(plan.reports_per_person)]
    known = not tables and all(factors)
    told.facts["epsilon_in_all"] = epsilon(compose(filter(None, factors))) if known else None
    return told


def _names_of(sides: Sequence[Any]) -> list[str]:
    """Return the names of files without their endings where these tell all apart, else letters."""
    paths = [Path(side) if isinstance(side, str | PathLike) else None for side in sides]
    stems = [path.name.partition(".")[0] if path else "" for path in paths]
    if all(stems) and len(set(stems)) == len(stems):
        return stems
    whole = [str(path) for path in paths if path]
    return whole if len(set(whole)) == len(sides) else [chr(ord("A") + place) for place in range(len(sides))]


def _opened(side: Any) -> Any:
    """Return a mined table, or a list of collections."""
    from assocpriv.files.reports import holds_reports
    from assocpriv.server.itemsets import mining_facts, read_table

    if hasattr(side, "columns"):
        mining_facts(side)  # refuses what is no such table
        return side
    if isinstance(side, str | PathLike) and not Path(side).is_dir() and not holds_reports(Path(side)):
        return read_table(Path(side))
    return as_collections(side)


def _sources(side: Any, opened: Any) -> set[Any]:
    """Return by what reports and tables are known that are given twice."""
    if isinstance(opened, list):
        memory = {sha256(reports.in_memory.tobytes()).digest() for reports in opened if len(reports.in_memory)}
        return memory | {path.resolve() for reports in opened for path in reports.paths}
    return {sha256(Path(side).read_bytes()).digest() if isinstance(side, str | PathLike) else id(opened)}


# ---- both sides, and the promise


def simulate(records: Any, plan: PublishedPlan, min_support: float | str | None = None, **options: Any) -> Any:
    """Randomize records, answer from the reports, compare with the truth: what would this plan find on data like mine?

    Args:
        records: as of :func:`randomize`, many of them: baskets, tables, or a file of such.
        plan: the plan to try, of any kind.
        min_support: of baskets, as for :func:`mine`.
        options: ``seed`` (makes the run repeatable; the operating system's entropy by default) and ``progress`` (called
            with what is done, done and total). Of baskets also ``people`` (so many, each with one of the baskets drawn
            at random; by default one person a basket), ``max_itemset`` (the plan's ``itemset_size`` by default), and
            ``layout``, ``unknown``, ``repeats``, ``empty``, ``incomplete``, as of :func:`read_baskets`. Of tables
            ``missing``, ``separator``, ``sheet`` and ``clip``, as of :func:`randomize`. Of a guided plan the former
            three, ``classifier`` (``"naive-bayes"``, ``"tree"`` or ``"logistic"``), ``people`` (so many of the records
            at most, drawn at random; 5,000), ``unconcerned`` (so many people's raw tuples start it; 0 for nobody's),
            and ``rounds`` (5, each with another third of the people held back to test on).

    Returns:
        Of baskets ``itemsets`` with their ``true_support`` (of whole baskets where these are told), ``missed`` ones,
        counts of found, missed and false ones, what was ``read``, and the time of each stage; the truth is that of what
        the plan makes of the baskets. Of tables ``found``, as of :func:`reconstruct`, and ``columns``, each of them
        beside the truth, which is known to a cell of the plan's grid: ``true_share``, ``true_mean`` and
        ``true_quantiles``, the total variation ``distance`` of both, and of how many intervals ``tested`` the truth was
        ``held``. Of a guided plan ``levels``, what each discloses and how accurate a classifier is, with standard
        errors over the rounds, beside the published bound and the miner's own estimate.

    Raises:
        PlanError: plans of this kind cannot be tried.
        RecordError: records that the plan does not take, such as an item outside its catalogue that it does not drop;
            of a guided plan too few people of a class.
        EstimateError: no baskets, sizes that the plan cannot answer, or fewer records than intervals; of a guided plan
            no such classifier, or scikit-learn is not installed.
        TypeError: an option that plans of this kind do not have.

    Warns:
        UserWarning: as :func:`mine`, and of baskets in memory as :func:`randomize`.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, promise=ap.Breach("5%", "50%"))
    >>> tried = ap.simulate([{"milk", "tea"}] * 20_000, made, 0.5, seed=1)
    >>> tried.found_count, tried.missed_count, tried.false_count
    (3, 0, 0)
    >>> import pandas as pd
    >>> table = pd.DataFrame({"smokes": ["no", "yes"] * 10, "ill": ["no", "yes"] * 10})
    >>> schema = {"columns": {"ill": {"kind": "category", "values": ["no", "yes"], "release": "response"}}}
    >>> ap.simulate(table, ap.numeric.plan_table(schema, ap.Epsilon(3)), seed=1).columns["ill"].true_share.tolist()
    [0.5, 0.5]
    >>> made = ap.guided.start(table, "ill").plan
    >>> tried = ap.simulate(table, made, rounds=2, seed=0)
    >>> [each.level for each in tried.levels], tried.original_accuracy.mean
    ([1, 2], 1.0)
    """
    plan = PublishedPlan.of(plan)
    if min_support is not None:
        options["min_support"] = min_support
    return load_for(plan.kind, "simulation.simulate", "tried")(records, plan, **options)


def audit(
    plan: PublishedPlan | str | Path,
    *,
    trials: int = 1_000_000,
    confidence: str | float | Fraction = "99.9%",
    client: str = "both",
    program: Sequence[str] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> "Audit":
    """Audit a plan and clients of it: is the promise kept, and do the clients follow the plan?

    The clients run on records made here, never on anybody's.

    Args:
        plan: a plan, or a plan file.
        trials: reports to ask each client for, 1,000 at least, as far as it makes them in some seconds.
        confidence: chance, at least, that clients that follow the plan are not called broken; from 50% to below 100%.
        client: of ours, "bulk" (for many baskets), "single" (for one) or "both".
        program: a program of any language and its arguments, in place of our clients; it needs a plan file.
        progress: called with (stage, done, total).

    Returns:
        ``verdict`` ("consistent" or "broken"), ``is_broken``, and ``findings``, each with a ``verdict`` of its own,
        which can also be "not decided", and what was ``said``.

    Raises:
        PlanError: text that does not say that it is a plan, or a number out of range.
        FileError: the file cannot be read, or a program cannot be started.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, promise=ap.Breach("5%", "50%"))
    >>> ap.audit(made, trials=1000, client="single").verdict
    'consistent'
    """
    from assocpriv.auditing.audit import audit as run
    from assocpriv.auditing.audit import audit_file
    from assocpriv.auditing.findings import AuditRequest

    words = None if program is None else tuple(program)
    request = AuditRequest(trials, confidence, client, words)
    if isinstance(plan, str | Path):
        return audit_file(Path(plan), request, progress)
    plan = PublishedPlan.of(plan)
    if words is not None:
        raise FileError("a program reads its plan from a file; write the plan with write_plan and name the file")
    return run(plan.canonical_json, request, progress)


# ---- other programs


def to_frame(table: "pd.DataFrame", backend: str) -> Any:
    """Return a table of ours as a frame of another library.

    Args:
        table: of itemsets, rules or distributions.
        backend: ``polars``, ``pyarrow`` or ``pandas``, which must be installed.

    Returns:
        A frame with the same columns; sets of names become sorted lists, which every library has.

    Raises:
        ValueError: another backend.
        TypeError: no table.

    >>> import pandas as pd
    >>> to_frame(pd.DataFrame({"itemsets": [frozenset({"tea", "milk"})], "support": [0.5]}), "pyarrow").to_pylist()
    [{'itemsets': ['milk', 'tea'], 'support': 0.5}]
    """
    import narwhals as nw

    if backend not in ("pandas", "polars", "pyarrow"):
        raise ValueError(f"backend must be pandas, polars or pyarrow, got {backend!r}")
    if not hasattr(table, "columns"):
        raise TypeError(f"table must be a table of itemsets, rules or distributions, got a {type(table).__name__}")
    columns = {str(name): table[name].tolist() for name in table.columns}
    plain = {name: [sorted(each) if isinstance(each, frozenset) else each for each in values]
             for name, values in columns.items()}  # fmt: skip
    frame = nw.from_dict(plain, backend=backend)  # type: ignore[arg-type]  # one of three
    return frame.to_native()
