"""The exact depth of an audit: a plan's promise recomputed, the shipping client walked through draw by draw.

1. recompute_promise.py computes the promise anew from the plan's text.
2. The client is run once for every way its draws can fall, on a small catalogue with the plan's operators and the
   smallest generator of its kind: the law of its reports is the formula's, fraction for fraction.
3. On the plan itself exact_draws.py looks at what the client draws and shows, at how words make draws, at the
   generator's columns and at the bulk client.
4. With blocks all that is done block by block.

Where all draws together are too many, they are walked through in two stages: every kept subset with its probability,
then all else that can be drawn for one kept subset of each size. With a code also in three: kept subsets, all values of
their items, all seeds for one choice of values. The report's law is the product of the stages. A finding says ``not
decided`` where a check would take more runs than allowed; nothing is concluded from it.

Given its block a report must be one of the plan of a block, about the transaction's items in it. So a device is made to
draw a given block, asked about a transaction with given items in that block and others outside, and what it then draws
and reports goes through the checks of any plan. That the first draw is one below the number of blocks, and that its
answer is the block named, is checked in every run: the block is then drawn evenly, whatever is held. Blocks are those
of recompute_promise.py.

Whatever a client does wrong is raised as a Fault.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache, cached_property, partial
from itertools import combinations, count, product
from math import comb, perm
from typing import TYPE_CHECKING, Any

import numpy as np

from assocpriv.auditing import exact_draws
from assocpriv.auditing.findings import BROKEN, CONSISTENT, EXACT, UNDECIDED, Fault, Finding, client_at_work, failure
from assocpriv.auditing.recompute_promise import (
    NUMBER_BYTES,
    Cuts,
    Numbers,
    check_integers,
    read_numbers,
    stated_ratio,
)
from assocpriv.auditing.recompute_reports import Form, Seed, Sets, order_of_x
from assocpriv.client.baskets import Randomizer
from assocpriv.plans.baskets import Plan
from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.generator import Generator
from assocpriv.plans.view import Blocks, View
from assocpriv.promise.errors import PlanError
from assocpriv.simulation.enumeration import SeededEntropy

if TYPE_CHECKING:
    from assocpriv.plans.operator import AnyOperator
    from assocpriv.promise.entropy import Entropy

_ALL_DRAWS, _NOT_DECIDED = "all draws", "not decided"
_STAGES = {2: "two stages", 3: "three stages"}
Law = dict[int, Fraction]
WORK = 200_000  # client runs without a generator: some 10 s
_ACCEPTED = "accepted by clients"
# how the operator was walked through -> what is said of it
_SAID = {
    _ALL_DRAWS: "all draws give the stated law and no ratio above γ, fraction for fraction",
    _STAGES[2]: "each kept subset has its stated probability, and all draws for one subset of each size give "
    "the stated law",
    _STAGES[3]: "each kept subset has its stated probability, and for one subset of each size all values are those "
    "drawn and all seeds with one choice of them equally likely",
    _NOT_DECIDED: "all draws would take more than the runs allowed, so that they were only sampled (client, other "
    "draws)",
}
# a check's verdict, what it has to say if it finds no fault, and the figures
_Outcome = tuple[str, str, dict[str, Any]]
_Check = Callable[[], _Outcome]
_FEW_PARTITIONS = 3  # that one device is asked about; tables of large catalogues take seconds
_MOST_ENTRIES = 1 << 19  # of partitions that are cut anew
_MOST_BLOCKS = 1024  # that are looked at
_MOST_OUTSIDE = 16  # items held beside those in the block


# ---- the audit


def audit_exact(
    plan: Plan | None,
    *,
    text: str | None = None,
    client: exact_draws.Client = Randomizer,
    work: int = WORK,
    progress: Callable[[int, int], None] | None = None,
) -> list[Finding]:
    """Audit a plan and the client that answers it, by recomputation and enumeration; a finding a check.

    The plan may be None where only its text is at hand, or no plan can be made of it; the text is the plan's canonical
    one by default. Where the integers are broken the client is not run. It may run ``work`` times on small catalogues,
    and again for what is kept on the plan itself; a run with a generator counts as four or more. Progress is called
    with (checks done, checks).

    Raises:
        PlanError: neither a plan nor a text is given.
    """
    plan, numbers, findings = audit_plan(plan, text)
    broken = {finding.name for finding in findings if finding.verdict == BROKEN}
    if plan is None or numbers is None or broken:
        said = "The client was not run: it does not accept the plan."
        if broken != {_ACCEPTED}:
            said = "The client was not run: the plan itself is broken."
        return [*findings, Finding(EXACT, "client", UNDECIDED, said)]
    checks = _client_checks(plan, numbers, partial(exact_draws.Guarded, client), work)
    progress = progress or (lambda *_: None)
    for done, (name, check) in enumerate(checks.items(), start=1):
        progress(done, 1 + len(checks))
        findings.append(_finding(name, check))
    progress(1 + len(checks), 1 + len(checks))
    return findings


def audit_plan(plan: Plan | None, text: str | None = None) -> tuple[Plan | None, Numbers | None, list[Finding]]:
    """Audit a plan alone; return it and its integers, each None where there is none, and what was found."""
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
        return None, Finding(EXACT, _ACCEPTED, BROKEN, said)
    except Exception as error:  # noqa: BLE001 -- whatever a client under audit raises is a finding
        return None, failure(EXACT, _ACCEPTED, error, of_client=True)
    if plan is not None and plan.plan_id != parsed.plan_id:
        return None, Finding(EXACT, _ACCEPTED, BROKEN, "The text is that of another plan than the one given.")
    return parsed, Finding(EXACT, _ACCEPTED, CONSISTENT, "Clients accept this plan.", {"plan_id": parsed.plan_id})


def _finding(name: str, check: _Check) -> Finding:
    try:
        return Finding(EXACT, name, *check())
    except Fault as fault:
        return Finding(EXACT, name, BROKEN, str(fault))
    except Exception as error:  # noqa: BLE001 -- whatever is raised in an audit is a finding
        return failure(EXACT, name, error)


def _client_checks(plan: Plan, numbers: Numbers, client: exact_draws.Client, work: int) -> dict[str, _Check]:
    whole, inside = cache(lambda: client(plan)), numbers.inside
    # of one block, if there are blocks, and else of the plan itself
    part, own = plan.block_plan, client if numbers.cuts is None else client_in_blocks(client, plan)
    device = cache(lambda: own(part))  # one for all checks: where a field is large it makes tables in time
    checks: dict[str, _Check] = {
        "client, every draw": lambda: _every_draw(part, inside, own, work),
        "client, kept items": lambda: _kept_items(device(), inside, work),
        "client, other draws": lambda: _other_draws(device(), inside, work),
        "draws from words": lambda: _words(inside),
    }
    if numbers.cuts:
        checks["client, blocks"] = lambda: _blocks(whole(), client(part), plan, numbers, work)
    if isinstance(numbers.form, Seed):
        coded = numbers.form
        checks["generator's columns"] = lambda: _columns(part, coded)
    return checks | {"bulk client": lambda: _bulk(whole(), plan, numbers, work)}


# ---- on the plan itself


def _kept_items(device: exact_draws.Device, numbers: Numbers, work: int) -> _Outcome:
    form = numbers.form
    cost = form.run_work << form.size
    if cost > work:
        return UNDECIDED, "On this plan the subsets of the items would take more than the runs allowed.", {}
    done = []
    for transaction in _real_transactions(numbers)[: 1 if cost > work // 10 else 2]:  # the second is one check more
        runs = exact_draws.check_kept(exact_draws.Reader(device, numbers, form), transaction)
        done.append({"items": len(transaction), "runs": runs})
    said = (
        "On this plan every subset of the items is kept with exactly its stated probability "
        f"({len(done)} transactions)."
    )
    return CONSISTENT, said, {"transactions": done}


def _other_draws(device: exact_draws.Device, numbers: Numbers, work: int) -> _Outcome:
    form, n = numbers.form, numbers.n_items
    reader, possible = exact_draws.Reader(device, numbers, form), form.possible
    sizes = [possible[-1], possible[0], possible[len(possible) // 2]]
    pairs = list(product(_real_transactions(numbers), dict.fromkeys(sizes)))
    if len(pairs) * (form.seed_bits + 2 * exact_draws.RANDOM_POINTS) * form.run_work > work:
        pairs = pairs[::4]  # of three transactions with three sizes, each once
    runs, cases = sum(exact_draws.case_of(reader, transaction, kept).check() for transaction, kept in pairs), len(pairs)
    if n > form.size:
        long = range(n - min(n, 2 * form.size), n)
        runs += sum(
            exact_draws.case_of(reader, long, form.possible[-1], seed).check_once()
            for seed in range(exact_draws.RANDOM_POINTS)
        )
        cases += 1
    said = (
        f"On this plan a report is what the draws say in all of {runs} runs of {cases} cases; "
        f"the draws beyond what is kept were sampled, at {exact_draws.RANDOM_POINTS} points a case."
    )
    return CONSISTENT, said, {"runs": runs, "cases": cases}


def _words(numbers: Numbers) -> _Outcome:
    with client_at_work():
        compared = exact_draws.check_words(numbers)
    return CONSISTENT, f"{compared} draws of chosen words are those of their definition.", {"draws": compared}


def _columns(plan: Plan, form: Seed) -> _Outcome:
    compared = exact_draws.check_columns(plan, form, np.random.default_rng())
    return CONSISTENT, f"The columns of {compared:,} items are those of the definition.", {"items": compared}


def _blocks(device: exact_draws.Device, alone: exact_draws.Device, plan: Plan, numbers: Numbers, work: int) -> _Outcome:
    cuts = numbers.cuts
    assert cuts is not None
    looked, partitions = check_blocks(device, alone, plan, cuts, work // 10 // numbers.form.run_work)
    said = (
        f"The first draw is that of one of {cuts.count:,} blocks, whatever is held, and the report names it; in all of "
        f"{looked:,} blocks, of {partitions:,} of {cuts.partitions:,} partitions, these are the items of the "
        "definition, and the report is that of what a transaction holds of them."
    )
    return CONSISTENT, said, {"blocks": looked, "partitions": partitions, "of_partitions": cuts.partitions}


def _bulk(device: exact_draws.Device, plan: Plan, numbers: Numbers, work: int) -> _Outcome:
    cuts, inside = numbers.cuts, numbers.inside
    drawn = partial(drawn_cases, cuts=cuts) if cuts else None
    most = work * 3 // 5 // numbers.form.run_work
    compared = exact_draws.check_bulk(device, plan, inside, most, drawn=drawn)
    held = "all" if compared["items"] == inside.n_items else f"{compared['items']:,} of"
    held += f" {inside.n_items:,} {'places of blocks' if cuts else 'items'}"
    said = (
        f"The bulk client's reports of {compared['transactions']:,} random transactions, which hold {held}, and at "
        f"{compared['picks']:,} of {compared['ends']:,} ends of kept subsets' numbers equal those of one at a time, "
        "byte for byte."
    )
    return CONSISTENT, said, {**compared}


def _real_transactions(numbers: Numbers) -> list[list[int]]:
    """Return a full transaction, with the first and the last item; then an empty and a half one."""
    n, m = numbers.n_items, numbers.transaction_size
    full = sorted({n - 1 - place * (n - 1) // max(1, m - 1) for place in range(m)}) if n > m else list(range(n))
    return [full, [], full[: len(full) // 2]]


# ---- on small catalogues, all draws


def _every_draw(plan: Plan, numbers: Numbers, client: exact_draws.Client, work: int) -> _Outcome:
    walk = walk_operator(plan, numbers, client, work)
    said = f"On a small catalogue with the plan's operator {_SAID[walk['how']]}."
    return UNDECIDED if walk["how"] == _NOT_DECIDED else CONSISTENT, said, walk


def walk_operator(plan: Plan, numbers: Numbers, client: exact_draws.Client, work: int) -> dict[str, Any]:
    """Walk through the operator's draws on the largest catalogue that the work allows; return the figures."""
    size = plan.transaction_size

    def cases() -> "Iterator[_Small]":
        # in M items and one more there are two transactions that share none (one is padding), and one that is too long
        smalls = (small_plan(plan, numbers, catalogue) for catalogue in range(size + 1, 0, -1))
        return (_Small(small, client) for small in smalls if small is not None)

    for case in cases():
        for transactions in _transactions(case.numbers):
            if sum(_all_draws(case.form, len(raw)) for raw in transactions) * case.form.run_work <= work:
                return case.figures(_ALL_DRAWS, case.walk_all(transactions))
    for stages, how in _STAGES.items():
        for case in cases():
            ways = case.form.ways_in_stages.get(stages)
            if ways is not None and 2 * ((1 << size) + ways) * case.form.run_work <= work:
                return case.figures(how, case.walk_in_stages(stages))
    return {"size": size, "how": _NOT_DECIDED, "runs": 0}


# ---- a small catalogue, and transactions to try there


def small_plan(plan: Plan, numbers: Numbers, n_items: int) -> Plan | None:
    """Return the plan's operator over a small catalogue, with the smallest generator of its kind.

    None where reports of a fixed size need more items to keep as many as on the plan itself.
    """
    form = numbers.form.shrunk(n_items)
    if form is None:
        return None
    operator: AnyOperator = plan.operator
    if isinstance(form, Sets):
        operator = replace(plan.fixed, items=form.items, report_size=form.report_size)
    return replace(
        plan,
        catalogue=Catalogue.numbered(n_items),
        itemset_size=1,
        operator=operator,
        generator=_small_generator(plan.generator.kind, form) if isinstance(form, Seed) else plan.generator,
        view=View(),
    )


def _small_generator(kind: str, form: Seed) -> Generator:
    width = next(w for w in count(2) if form.fits_field(w))
    blocks, ones_row = form.blocks_for(form.size + 1)
    return Generator(kind, width, _primitive(width), blocks, bool(ones_row))


def _primitive(width: int) -> int:
    return next(poly for poly in range(1 << width, 2 << width) if order_of_x(width, poly) == (1 << width) - 1)


def _transactions(numbers: Numbers) -> Iterator[list[list[int]]]:
    """Yield lists of transactions to compare with each other, the longest list first."""
    n, m = numbers.n_items, numbers.transaction_size
    if n <= 3:
        yield [list(raw) for size in range(n + 1) for raw in combinations(range(n), size)]
    some = [list(range(size)) for size in range(min(n, m + 1) + 1)] + [list(range(n - min(n, m), n))]
    yield some
    yield [raw for raw in some if len(raw) <= m]
    yield [some[0], some[-1]]


def _all_draws(form: Form, length: int) -> int:
    """Return in how many ways the draws for a transaction of so many items can fall."""
    return (perm(length, form.size) if length > form.size else 1) * form.ways


# ---- the walks


class _Picked:
    """Answers the pick with a given index, and passes all other draws on."""

    def __init__(self, entropy: "Entropy", index: int) -> None:
        self._index = index
        self.below, self.coins = entropy.below, entropy.coins

    def pick(self, cumulative: Sequence[int]) -> int:
        return min(self._index, len(cumulative) - 1)


class _Small:
    """A small plan, and what its reports show."""

    def __init__(self, plan: Plan, client: exact_draws.Client) -> None:
        self._plan, self._client = plan, client
        self.numbers = read_numbers(plan.canonical_json)
        self.form = self.numbers.form
        self._shown: dict[int, frozenset[int]] = {}

    @cached_property
    def _reader(self) -> exact_draws.Reader[Any]:
        return exact_draws.Reader(self._client(self._plan), self.numbers, self.form)

    def figures(self, how: str, walked: dict[str, Any]) -> dict[str, Any]:
        """Return what was walked through, and how."""
        form = self.form
        about = {"size": form.size, "how": how, "items": form.items - form.size, "report_bits": form.report_bits}
        return about | walked

    def walk_all(self, transactions: Sequence[list[int]]) -> dict[str, Any]:
        """Walk through all draws for some transactions, and compare their laws with the formula and each other."""
        laws, runs = [], 0
        for raw in transactions:
            ways = _all_draws(self.form, len(raw))
            law = self._law(raw, ways)
            self._compare(law, self._fitted(raw))
            laws.append(law)
            runs += ways
        largest = max(max(law[report] for law in laws) / min(law[report] for law in laws) for report in laws[0])
        stated = stated_ratio(self.form)
        if largest > stated:
            raise Fault(f"Two transactions give a report with a ratio of {float(largest):.6g}, above γ.")
        return {"transactions": len(laws), "runs": runs, "largest_ratio": str(largest), "reaches": largest == stated}

    def walk_in_stages(self, stages: int) -> dict[str, Any]:
        """Walk through the kept subsets of a full and of an empty transaction, then all else."""
        form, runs = self.form, 0
        transactions: list[list[int]] = [list(range(min(form.size, self.numbers.n_items))), []]
        for raw in transactions:
            runs += exact_draws.check_kept(self._reader, raw)
            if stages == 2:
                runs += self._walk_subsets(raw)
            else:
                runs += sum(exact_draws.SeedCase(self._reader, raw, j).walk() for j in range(form.size + 1))
        return {"transactions": len(transactions), "runs": runs}

    def _walk_subsets(self, raw: list[int]) -> int:
        """Walk through what is drawn for one kept subset of each size; return in how many ways it can fall."""
        form, ways = self.form, self.form.ways_in_stages[2]
        items = frozenset(self._reader.padded(raw))
        for j in range(form.size + 1):
            index = sum(comb(form.size, fewer) for fewer in range(j))  # the first subset of its size
            law = self._law(raw, ways, index)
            self._compare(law, [items], form.kept_probability(j))
            if len({self._shown[report] & items for report in law}) != 1:
                raise Fault(f"What a report keeps depends on more than the pick (size {form.size}).")
        return ways

    def _law(self, raw: list[int], ways: int, picked: int | None = None) -> Law:
        def run(entropy: "Entropy") -> int:
            return self._reader.report(raw, entropy if picked is None else _Picked(entropy, picked))

        return exact_draws.bounded_law(run, ways)[0]

    def _compare(self, law: Law, fitted: Sequence[frozenset[int]], share: Fraction = Fraction(1)) -> None:
        """Compare a law with the formula's, divided by ``share``."""
        form, chances = self.form, dict[tuple[int, int], Fraction]()
        for report, probability in law.items():
            if report not in self._shown:
                self._shown[report] = form.shown_of(range(form.items), report)
            items, wanted = self._shown[report], Fraction(0)
            for transaction in fitted:
                case = len(transaction & items), len(items)
                if case not in chances:
                    chances[case] = form.probability(transaction, items) / share / len(fitted)
                wanted += chances[case]
            if probability != wanted:
                raise Fault(
                    f"On a small catalogue a report has the probability {float(probability):.6g}, "
                    f"and should have {float(wanted):.6g} (size {form.size})."
                )

    def _fitted(self, raw: Collection[int]) -> list[frozenset[int]]:
        """Return the equally likely sets of m items that a transaction is cut or padded to."""
        if len(raw) <= self.form.size:
            return [frozenset(self._reader.padded(raw))]
        return [frozenset(part) for part in combinations(sorted(raw), self.form.size)]


# ---- plans with blocks


class _FirstDraw:
    """Answers the first draw, which must be that of a block, and passes all others on."""

    def __init__(self, block: int, count: int, others: "Entropy") -> None:
        self._block: int | None = block
        self._count, self._others = count, others

    def _is_first(self, n: int) -> bool:
        if self._block is not None and n != self._count:
            raise Fault("A client's first draw is not that of a block, below the number of blocks.")
        return self._block is not None

    def below(self, n: int) -> int:
        """Return the given block first."""
        if self._is_first(n):
            block, self._block = self._block or 0, None
            return block
        return self._others.below(n)

    def pick(self, cumulative: Sequence[int]) -> int:
        """Pass the draw on; it must not be the first."""
        self._is_first(0)
        return self._others.pick(cumulative)

    def coins(self, count: int, num: int, bits: int) -> int:
        """Likewise."""
        self._is_first(0)
        return self._others.coins(count, num, bits)


class _InBlock:
    """A device as one of the plan of a block: transactions are places in a block, reports have no block's number.

    Which block is drawn follows from the places alone, so that equal draws give equal reports.
    """

    def __init__(self, device: exact_draws.Device, cuts: Cuts) -> None:
        self._device, self._cuts = device, cuts
        last = cuts.partitions - 1
        self._partitions = sorted({0, last // 2, last})[:_FEW_PARTITIONS]

    def randomize(self, transaction: Collection[int], *, entropy: "Entropy") -> bytes:
        """Return the report of what a transaction holds of a block."""
        places = sorted(transaction)
        some = sum((place + 1) * 31**order for order, place in enumerate(places))
        partition = self._partitions[some % len(self._partitions)]
        pieces = self._cuts.pieces
        turns = ((some // 3 + turn) % pieces + partition * pieces for turn in range(pieces))
        block = next(each for each in turns if not places or places[-1] < len(self._cuts.members(each)))
        held = _held_of(self._cuts, block, places, some % _MOST_OUTSIDE)
        return _in_block(self._device, self._cuts, block, held, entropy)


def _held_of(cuts: Cuts, block: int, places: Sequence[int], outside: int) -> list[int]:
    """Return a transaction with the items at some places of a block, and so many items of another block, if any."""
    members = cuts.members(block)
    partition, piece = divmod(block, cuts.pieces)
    others = cuts.members(partition * cuts.pieces + (piece + 1) % cuts.pieces)
    return sorted([members[place] for place in places] + others[:outside])


def _in_block(
    device: exact_draws.Device, cuts: Cuts, block: int, transaction: Collection[int], entropy: "Entropy"
) -> bytes:
    """Return what a device that draws a given block reports of it, without its number."""
    report = device.randomize(transaction, entropy=_FirstDraw(block, cuts.count, entropy))
    if int.from_bytes(report[:NUMBER_BYTES], "little") != block:
        raise Fault("A report names another block than the one that was drawn.")
    return report[NUMBER_BYTES:]


def client_in_blocks(client: exact_draws.Client, plan: Plan) -> exact_draws.Client:
    """Return a client of a plan of blocks as one of the plan of a block, also of a small one of its kind."""

    def made(inside: Plan) -> _InBlock:
        n = inside.n_items
        # two pieces of a small catalogue: where they hold more than one item, one of them is shorter
        small = replace(inside, catalogue=Catalogue.numbered(2 * n - (n > 1)), view=View(blocks=Blocks(2, 2, 1)))
        whole = plan if inside == plan.block_plan else small
        cuts = read_numbers(whole.canonical_json).cuts
        assert cuts is not None
        return _InBlock(client(whole), cuts)

    return made


def check_blocks(
    device: exact_draws.Device, alone: exact_draws.Device, plan: Plan, cuts: Cuts, most: int
) -> tuple[int, int]:
    """Let a device draw blocks, and compare its reports with those of a device of the plan of a block, for equal words.

    Also that clients and servers take the same items for the block's. Returned are how many blocks were looked at, no
    more than ``most``, and of how many partitions.
    """
    assert plan.view.blocks is not None
    chance = np.random.default_rng()
    at_once = max(1, min(cuts.partitions, _MOST_ENTRIES // cuts.entries))
    partitions = sorted(chance.choice(cuts.partitions, at_once, replace=False).tolist())
    each = max(1, min(cuts.pieces, min(most, _MOST_BLOCKS) // at_once))
    looked = 0
    for partition in partitions[: min(most, _MOST_BLOCKS)]:
        for piece in chance.choice(cuts.pieces, each, replace=False).tolist():
            block = partition * cuts.pieces + piece
            with client_at_work():
                theirs = plan.view.blocks.members(block, plan.n_items).tolist()
            if theirs != cuts.members(block):
                raise Fault("A block holds other items than docs/formats/plan.md says.")
            n, longest = len(theirs), 2 * plan.transaction_size
            some = sorted(chance.choice(n, min(n, int(chance.integers(longest + 1))), replace=False).tolist())
            # nothing of the block, something beside it: a client that shuns such blocks is seen by no other basket
            for places, beside in ((some, int(chance.integers(_MOST_OUTSIDE))), ([], _MOST_OUTSIDE)):
                _compare(device, alone, _held_of(cuts, block, places, beside), places, (cuts, block), chance)
            looked += 1
    return looked, min(len(partitions), looked)


def _compare(
    device: exact_draws.Device,
    alone: exact_draws.Device,
    held: list[int],
    places: list[int],
    drawn: tuple[Cuts, int],
    chance: np.random.Generator,
) -> None:
    words = exact_draws.Noted([], SeededEntropy(int(chance.integers(1 << 62))))
    wanted = alone.randomize(places, entropy=words)
    again = exact_draws.Replayed(words.given)
    if _in_block(device, *drawn, held, again) != wanted or again.left:
        raise Fault("A report is not that of what the transaction holds of its block.")


def drawn_cases(cases: list[exact_draws.Case], chance: np.random.Generator, cuts: Cuts) -> list[exact_draws.Case]:
    """Turn cases about places in a block into cases about items: a block is drawn first, each in turn."""
    at_once = max(1, min(cuts.partitions, _MOST_ENTRIES // cuts.entries))
    partitions = chance.choice(cuts.partitions, at_once, replace=False).tolist()
    made = []
    for number, (places, words, _) in enumerate(cases):
        partition = partitions[number * at_once // len(cases)]  # in order, as each is cut anew
        pieces = [(number + turn) % cuts.pieces for turn in range(cuts.pieces)]
        blocks = (partition * cuts.pieces + piece for piece in pieces)
        block = next(each for each in blocks if not places or places[-1] < len(cuts.members(each)))
        held = _held_of(cuts, block, places, int(chance.integers(_MOST_OUTSIDE)))
        made.append(exact_draws.Case(held, words, exact_draws.words_of(block, cuts.count)))
    return made
