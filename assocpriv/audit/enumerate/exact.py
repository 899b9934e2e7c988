"""The exact depth of an audit: a plan's promise recomputed, and the shipping client walked through.

1. audit/recompute/integers.py computes the promise anew from the plan's text.
2. The client runs once for every way its draws can fall, on a small catalogue with the plan's own operators and the
   smallest generator of its kind. The law of its reports must be the formula's, fraction for fraction. Where these are
   too many draws, two stages: every kept subset with its probability, then all else that can be drawn for one kept
   subset of each size. With a generator, three: kept subsets, all values of their items, all seeds for one choice of
   values. The report's law is the product of the stages.
3. On the plan itself, audit/enumerate/draws.py looks at what the client draws and shows, audit/enumerate/parts.py at
   how draws are made of words and at the generator's columns, audit/enumerate/bulk_equal.py at the bulk client.

A finding says ``not decided`` where a check would take more runs than allowed; nothing is concluded from it.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from itertools import combinations, product
from math import comb, perm, prod
from typing import Any

import numpy as np

from assocpriv.audit.enumerate.bulk_equal import check_bulk
from assocpriv.audit.enumerate.draws import (
    RANDOM_POINTS,
    Client,
    Device,
    Fault,
    check_kept,
    check_others,
    check_sampling,
    kept_probability,
    padded,
    report_number,
    set_choices,
    value_choices,
    walk_seeds,
)
from assocpriv.audit.enumerate.parts import check_columns, check_words
from assocpriv.audit.findings import BROKEN, CONSISTENT, UNDECIDED, Finding, failure
from assocpriv.audit.recompute.integers import DEPTH, check_integers, stated_ratio
from assocpriv.audit.recompute.numbers import BCH, FIXED, NONE, Group, Numbers, order_of_x
from assocpriv.audit.recompute.plan_text import read_numbers
from assocpriv.client.baskets.randomizer import Randomizer
from assocpriv.core.entropy import Entropy
from assocpriv.core.errors import PlanError
from assocpriv.lab.enumeration import distribution
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.plans.baskets.generator import Generator
from assocpriv.plans.baskets.operator import AnyOperator, FixedSizeOperator
from assocpriv.plans.baskets.plan import HIDDEN, Plan
from assocpriv.plans.baskets.view import View

WORK = 200_000  # client runs without a generator: some 10 s

_PLAIN_BITS = 1 << 12  # of a report without a generator that take as long as all else

Law = dict[int, Fraction]
_ACCEPTED = "accepted by clients"
_STAGES = {2: "two stages", 3: "three stages"}


def audit_exact(
    plan: Plan | None,
    *,
    text: str | None = None,
    client: Client = Randomizer,
    work: int = WORK,
    progress: Callable[[int, int], None] | None = None,
) -> list[Finding]:
    """Audit a plan and the client that answers it, by recomputation and enumeration.

    Args:
        plan: the plan, or None where only its text is at hand, or no plan can be made of it.
        text: the plan's JSON text; the plan's canonical one by default.
        client: makes a device's side of a plan; the shipping one by default.
        work: how often the client may run on small catalogues, and again for what is kept on the plan itself; a run
            with a generator counts as four or more.
        progress: called with (checks done, checks).

    Returns:
        Findings, one a check. Where the integers are broken the client is not run.

    Raises:
        PlanError: neither a plan nor a text is given.
    """
    plan, numbers, findings = audit_plan(plan, text)
    broken = {finding.name for finding in findings if finding.verdict == BROKEN}
    if plan is None or numbers is None or broken:
        said = "The client was not run: it does not accept the plan."
        if broken != {_ACCEPTED}:
            said = "The client was not run: the plan itself is broken."
        return [*findings, Finding(DEPTH, "client", UNDECIDED, said)]
    checks = _client_checks(plan, numbers, client, work)
    for done, (name, check) in enumerate(checks, start=1):
        if progress:
            progress(done, 1 + len(checks))
        findings.append(_finding(name, check))
    if progress:
        progress(1 + len(checks), 1 + len(checks))
    return findings


def audit_plan(plan: Plan | None, text: str | None = None) -> tuple[Plan | None, Numbers | None, list[Finding]]:
    """Audit a plan alone, by its integers; no client is run.

    Args:
        plan: as for :func:`audit_exact`.
        text: likewise.

    Returns:
        The plan and its integers, each None where there is none, and what was found.

    Raises:
        PlanError: neither a plan nor a text is given.
    """
    if plan is None and text is None:
        raise PlanError("an audit needs a plan or the text of one")
    numbers, findings = check_integers(plan.canonical_json if text is None and plan else text or "")
    if text is not None:
        plan, finding = _same_plan(plan, text, all(finding.verdict != BROKEN for finding in findings))
        findings.append(finding)
    return plan, numbers, findings


def _same_plan(plan: Plan | None, text: str, is_sound: bool) -> tuple[Plan | None, Finding]:
    """Let clients' code read the plan; a plan that the audit's own reading finds sound is not blamed for what fails."""
    try:
        parsed = Plan.parse(text)
    except PlanError as error:
        said = f"Clients refuse this plan: {error}."
        if is_sound:
            said += " The audit's own reading finds nothing wrong with it: the fault may be the clients'."
        return None, Finding(DEPTH, _ACCEPTED, BROKEN, said)
    except Exception as error:  # noqa: BLE001 -- whatever a client under audit raises is a finding
        return None, failure(DEPTH, _ACCEPTED, error)
    if plan is not None and plan.plan_id != parsed.plan_id:
        return None, Finding(DEPTH, _ACCEPTED, BROKEN, "The text is that of another plan than the one given.")
    return parsed, Finding(DEPTH, _ACCEPTED, CONSISTENT, "Clients accept this plan.", {"plan_id": parsed.plan_id})


@dataclass
class _Outcome:
    """What a check has to say if it finds no fault."""

    said: str
    figures: dict[str, Any] = field(default_factory=dict)
    verdict: str = CONSISTENT


_Check = Callable[[], _Outcome]


def _finding(name: str, check: _Check) -> Finding:
    try:
        outcome = check()
    except Fault as fault:
        return Finding(DEPTH, name, BROKEN, str(fault))
    except Exception as error:  # noqa: BLE001 -- whatever a client under audit raises is a finding
        return failure(DEPTH, name, error)
    return Finding(DEPTH, name, outcome.verdict, outcome.said, outcome.figures)


def _client_checks(plan: Plan, numbers: Numbers, client: Client, work: int) -> list[tuple[str, _Check]]:
    checks: list[tuple[str, _Check]] = [
        ("client, every draw", lambda: _every_draw(plan, client, work)),
        ("client, kept items", lambda: _kept_items(client(plan), numbers, work)),
        ("client, other draws", lambda: _other_draws(client(plan), numbers, work)),
        ("draws from words", lambda: _words(numbers)),
    ]
    if plan.generator.kind != NONE:
        checks.append(("generator's columns", lambda: _columns(plan, numbers)))
    return [*checks, ("bulk client", lambda: _bulk(client(plan), plan, numbers, work))]


# ---- on the plan itself


def _kept_items(device: Device, numbers: Numbers, work: int) -> _Outcome:
    done, left_out, left = [], [], work
    for group in numbers.groups:
        for place, transaction in enumerate(_real_transactions(numbers, group)[:2]):
            cost = _run_work(group) << group.size
            if cost > left or (place and cost > work // 10):  # the second transaction is one check more
                left_out += [group.size] * (not place)
                continue
            runs = check_kept(device, transaction, numbers, group)
            left -= cost
            done.append({"size": group.size, "items": len(transaction), "runs": runs})
    said = (
        f"On this plan every subset of the items is kept with exactly its stated probability ({len(done)} transactions)"
    )
    if left_out:
        said += f"; of size {_listed(left_out)} they would take more than the runs allowed"
    return _Outcome(f"{said}.", {"transactions": done}, UNDECIDED if left_out else CONSISTENT)


def _other_draws(device: Device, numbers: Numbers, work: int) -> _Outcome:
    runs = cases = 0
    for group in numbers.groups:
        possible = [j for j in range(group.size + 1) if group.choices(j)]
        sizes = [possible[-1], possible[0], possible[len(possible) // 2]]
        pairs = list(product(_real_transactions(numbers, group), dict.fromkeys(sizes)))
        if len(pairs) * (group.seed_bits + 2 * RANDOM_POINTS) * _run_work(group) > work:
            pairs = pairs[::4]  # of three transactions with three sizes, each once
        for transaction, kept in pairs:
            runs += check_others(device, transaction, kept, numbers, group)
        cases += len(pairs)
    group, n = numbers.groups[-1], numbers.n_items
    if n > group.size:
        runs += check_sampling(device, range(n - min(n, 2 * group.size), n), numbers, group)
        cases += 1
    said = (
        f"On this plan a report is what the draws say in all of {runs} runs of {cases} cases; "
        f"the draws beyond what is kept were sampled, at {RANDOM_POINTS} points a case."
    )
    return _Outcome(said, {"runs": runs, "cases": cases})


def _words(numbers: Numbers) -> _Outcome:
    compared = check_words(numbers)
    return _Outcome(f"{compared} draws of chosen words are those of their definition.", {"draws": compared})


def _columns(plan: Plan, numbers: Numbers) -> _Outcome:
    compared = check_columns(plan, numbers, np.random.default_rng())
    return _Outcome(f"The columns of {compared:,} items are those of the definition.", {"items": compared})


def _bulk(device: Device, plan: Plan, numbers: Numbers, work: int) -> _Outcome:
    compared = check_bulk(device, plan, numbers, work * 3 // 5 // max(map(_run_work, numbers.groups)))
    held = "all" if compared.items == numbers.n_items else f"{compared.items:,} of"
    said = (
        f"The bulk client's reports of {compared.transactions:,} random transactions, which hold {held} "
        f"{numbers.n_items:,} items, and at {compared.picks:,} of {compared.ends:,} ends of kept subsets' numbers "
        "equal those of one at a time, byte for byte."
    )
    return _Outcome(said, asdict(compared))


def _real_transactions(numbers: Numbers, group: Group) -> list[list[int]]:
    """Return a full transaction of a group, with the first and the last item; then an empty and a half one, if any."""
    n, m = numbers.n_items, group.size
    full = sorted({n - 1 - place * (n - 1) // max(1, m - 1) for place in range(m)}) if n > m else list(range(n))
    if not numbers.in_clear:
        return [full, [], full[: len(full) // 2]]
    if m > n:
        return []  # no transaction has this size
    return [full, []] if m == 1 else [full]


# ---- on small catalogues, all draws


def _every_draw(plan: Plan, client: Client, work: int) -> _Outcome:
    sizes = [plan.transaction_size] if plan.sizes == HIDDEN else list(range(1, plan.transaction_size + 1))
    left, walks = work, []
    for size in sizes:
        used, walk = _walk(plan, client, size, left)
        left -= used
        walks.append(walk)
    undecided = [walk["size"] for walk in walks if walk["how"] == "not decided"]
    staged, by_values = ([walk["size"] for walk in walks if walk["how"] == _STAGES[stages]] for stages in (2, 3))
    joint = [walk["size"] for walk in walks if walk["how"] == "all draws"]
    parts = []
    if joint:
        parts.append(
            f"all draws of size {_listed(joint)} give the stated law and no ratio above γ, fraction for fraction"
        )
    if staged:
        parts.append(
            f"of size {_listed(staged)} each kept subset has its stated probability, and all draws for one subset of "
            "each size give the stated law"
        )
    if by_values:
        parts.append(
            f"of size {_listed(by_values)} each kept subset has its stated probability, and for one subset of each "
            "size all values are those drawn and all seeds with one choice of them equally likely"
        )
    if undecided:
        parts.append(
            f"size {_listed(undecided)} would take more than the runs allowed, so that its draws were only sampled "
            "(client, other draws)"
        )
    said = "On small catalogues with the plan's operators " + "; ".join(parts) + "."
    return _Outcome(said, {"sizes": walks}, UNDECIDED if undecided else CONSISTENT)


def _listed(sizes: Sequence[int]) -> str:
    return ", ".join(map(str, sizes))


def _walk(plan: Plan, client: Client, size: int, work: int) -> tuple[int, dict[str, Any]]:
    """Walk through one operator's draws on the largest catalogue that the work allows; return work done and figures."""
    # in M items and one more there are two transactions that share none (one is padding), and one that is too long;
    # with sizes in clear two of just this size need 2M
    fewest, most = (1, size + 1) if plan.sizes == HIDDEN else (size, 2 * size)
    for catalogue in range(most, fewest - 1, -1):
        small = _small_plan(plan, size, catalogue)
        if small is None:
            continue
        numbers = read_numbers(small.canonical_json)
        group = numbers.groups[-1]
        for transactions in _small_transactions(numbers, group):
            if sum(_all_draws(group, len(raw)) for raw in transactions) * _run_work(group) <= work:
                return _described(group, "all draws", _walk_all(client(small), transactions, numbers, group))
    for stages, draws in (2, _staged_draws), (3, _draws_by_values):
        for catalogue in range(most, fewest - 1, -1):
            small = _small_plan(plan, size, catalogue)
            if small is None or small.kind == FIXED or (stages == 3 and small.generator.kind == NONE):
                continue
            numbers = read_numbers(small.canonical_json)
            group = numbers.groups[-1]
            if 2 * ((1 << size) + draws(group)) * _run_work(group) <= work:
                transactions = [list(range(min(size, catalogue)))] + [[]] * (size == 1 or not numbers.in_clear)
                walk = _walk_two if stages == 2 else _walk_three
                return _described(group, _STAGES[stages], walk(client(small), transactions, numbers, group))
    return 0, {"size": size, "how": "not decided", "runs": 0}


def _described(group: Group, how: str, walked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    about = {"size": group.size, "how": how, "items": group.items - group.size, "report_bits": group.report_bits}
    return walked["runs"] * _run_work(group), about | walked


def _walk_all(device: Device, transactions: Sequence[list[int]], numbers: Numbers, group: Group) -> dict[str, Any]:
    shown: dict[int, frozenset[int]] = {}
    laws, runs = [], 0
    for raw in transactions:
        ways = _all_draws(group, len(raw))
        law = _law(device, raw, numbers, group, ways)
        _compare(law, _fitted(raw, numbers, group), group, shown)
        laws.append(law)
        runs += ways
    largest = max(max(law[report] for law in laws) / min(law[report] for law in laws) for report in laws[0])
    stated = stated_ratio(group)
    if largest > stated:
        raise Fault(f"Two transactions give a report with a ratio of {float(largest):.6g}, above γ.")
    return {"transactions": len(laws), "runs": runs, "largest_ratio": str(largest), "reaches": largest == stated}


def _law(device: Device, raw: list[int], numbers: Numbers, group: Group, ways: int, picked: int | None = None) -> Law:
    """Return the exact law of a transaction's report, given the index that is picked where one is named.

    Raises:
        Fault: the draws can fall in more than so many ways, and might not come to an end.
    """
    runs = 0

    def run(entropy: Entropy) -> int:
        nonlocal runs
        runs += 1
        if runs > ways:
            raise Fault("The client's draws are not those of docs/formats.md: they can fall in more ways.")
        steered = entropy if picked is None else _Picked(entropy, picked)
        return report_number(device.randomize(raw, entropy=steered), numbers, group)

    return distribution(run)


def _compare(
    law: Law,
    fitted: Sequence[frozenset[int]],
    group: Group,
    shown: dict[int, frozenset[int]],
    share: Fraction = Fraction(1),
) -> None:
    """Compare a law with the formula's, divided by ``share``; ``shown`` keeps what reports show."""
    chances: dict[tuple[int, int], Fraction] = {}
    for report, probability in law.items():
        if report not in shown:
            shown[report] = group.report_items(report)
        items, wanted = shown[report], Fraction(0)
        for transaction in fitted:
            case = len(transaction & items), len(items)
            if case not in chances:
                chances[case] = group.probability(transaction, items) / share / len(fitted)
            wanted += chances[case]
        if probability != wanted:
            raise Fault(
                f"On a small catalogue a report has the probability {float(probability):.6g}, "
                f"and should have {float(wanted):.6g} (size {group.size})."
            )


def _walk_two(device: Device, transactions: Sequence[list[int]], numbers: Numbers, group: Group) -> dict[str, Any]:
    shown: dict[int, frozenset[int]] = {}
    runs = 0
    for raw in transactions:
        runs += check_kept(device, raw, numbers, group) + _staged_draws(group)
        items = frozenset(padded(raw, numbers, group))
        for j in range(group.size + 1):
            index = sum(comb(group.size, fewer) for fewer in range(j))  # the first subset of its size
            law = _law(device, raw, numbers, group, _staged_draws(group), index)
            _compare(law, [items], group, shown, kept_probability(j, group))
            if len({shown[report] & items for report in law}) != 1:
                raise Fault(f"What a report keeps depends on more than the pick (size {group.size}).")
    return {"transactions": len(transactions), "runs": runs}


def _walk_three(device: Device, transactions: Sequence[list[int]], numbers: Numbers, group: Group) -> dict[str, Any]:
    runs = 0
    for raw in transactions:
        runs += check_kept(device, raw, numbers, group)
        runs += sum(walk_seeds(device, raw, j, numbers, group) for j in range(group.size + 1))
    return {"transactions": len(transactions), "runs": runs}


class _Picked:
    """Answers the pick with a given index, and passes all other draws on."""

    def __init__(self, entropy: Entropy, index: int) -> None:
        self._index = index
        self.below, self.coins = entropy.below, entropy.coins

    def pick(self, cumulative: Sequence[int]) -> int:
        """Return the index given."""
        return min(self._index, len(cumulative) - 1)


# ---- small plans


def _small_plan(plan: Plan, size: int, n_items: int) -> Plan | None:
    """Return the plan's operators up to a size over a small catalogue, with the smallest generator of its kind.

    None where reports of a fixed size need more items to keep as many as on the plan itself.
    """
    operators: tuple[AnyOperator, ...] = plan.operators if plan.sizes == HIDDEN else plan.operators[:size]
    if plan.kind == FIXED:
        fixed = _small_fixed(plan.fixed, n_items)
        if fixed is None:
            return None
        operators = (fixed,)
    return replace(
        plan,
        catalogue=Catalogue.numbered(n_items),
        transaction_size=size,
        itemset_size=1,
        operators=operators,
        generator=_small_generator(plan.generator, operators, n_items),
        view=View(),
    )


def _small_fixed(operator: FixedSizeOperator, n_items: int) -> FixedSizeOperator | None:
    """Return an operator over fewer items with the same weights, where the same numbers of items can be kept."""
    m, n, size = operator.size, operator.items - operator.size, operator.report_size
    if n_items >= n:
        return operator if n_items == n else None
    for smaller in range(1, n_items + m):
        if (max(0, smaller - n_items), min(m, smaller)) == (max(0, size - n), min(m, size)):
            return replace(operator, items=n_items + m, report_size=smaller)
    return None


def _small_generator(generator: Generator, operators: Iterable[AnyOperator], n_items: int) -> Generator:
    if generator.kind == NONE:
        return generator
    needs = [(o.size, o.insert_bits, n_items + o.size) for o in operators if not isinstance(o, FixedSizeOperator)]
    if generator.kind == BCH:
        width = max(2, max(items * r for _, r, items in needs).bit_length())
        columns = max((m + 1) * r for m, r, _ in needs)
        return Generator(BCH, width, _primitive(width), max(1, columns // 2), columns > 1 and columns % 2 == 1)
    width = max(2, *(max(r, (items - 1).bit_length()) for _, r, items in needs))
    return Generator(generator.kind, width, _primitive(width), max(m + 1 for m, _, _ in needs))


def _primitive(width: int) -> int:
    """Return the least primitive polynomial of a degree."""
    return next(poly for poly in range(1 << width, 2 << width) if order_of_x(width, poly) == (1 << width) - 1)


def _small_transactions(numbers: Numbers, group: Group) -> Iterator[list[list[int]]]:
    """Yield lists of transactions to compare with each other, the longest list first."""
    n, m = numbers.n_items, group.size
    smallest = 0 if m == 1 or not numbers.in_clear else m
    if n <= 3:
        yield [list(raw) for size in range(smallest, n + 1) for raw in combinations(range(n), size)]
    some = [list(range(size)) for size in range(smallest, min(n, m + 1) + 1)] + [list(range(n - min(n, m), n))]
    yield some
    yield [raw for raw in some if len(raw) <= m]
    yield [some[0], some[-1]]


def _fitted(raw: Collection[int], numbers: Numbers, group: Group) -> list[frozenset[int]]:
    """Return the equally likely sets of m items that a transaction is cut or padded to."""
    if len(raw) <= group.size:
        return [frozenset(padded(raw, numbers, group))]
    return [frozenset(part) for part in combinations(sorted(raw), group.size)]


def _all_draws(group: Group, length: int) -> int:
    """Return in how many ways the draws for a transaction of so many items can fall."""
    m = group.size
    sampled = perm(length, m) if length > m else 1
    if group.kind == FIXED:
        return sampled * sum(prod(set_choices(group, j)) for j in range(group.size + 1) if group.choices(j))
    if group.kind == NONE:
        return sampled << m + group.items
    return sampled * _value_draws(group) << m + group.seed_bits


def _staged_draws(group: Group) -> int:
    """Return in how many ways the draws after the pick can fall, over one kept subset of each size."""
    if group.kind == NONE:
        return (group.size + 1) << group.items
    return (group.size + 1) * _value_draws(group) << group.seed_bits


def _draws_by_values(group: Group) -> int:
    """Return in how many ways values, and seeds for one choice of them, can fall over one kept subset of each size."""
    return (group.size + 1) * (_value_draws(group) + (1 << group.seed_bits))


def _value_draws(group: Group) -> int:
    draws: int = value_choices(group) ** group.size
    return draws


def _run_work(group: Group) -> int:
    """Return how many runs without a generator take about the time of one of this group."""
    if group.kind in (NONE, FIXED):
        return 1 + group.report_bits // _PLAIN_BITS
    columns = group.blocks // 3 if group.kind == BCH else group.seed_bits * group.insert_bits // 4
    return 4 + columns + (group.size * group.insert_bits) ** 2 // 400
