"""The exact depth of an audit: a plan's promise recomputed, the shipping client walked through draw by draw.

1. recompute_promise.py computes the promise anew from the plan's text.
2. The client is run once for every way its draws can fall, on a small catalogue with the plan's operators and the
   smallest generator of its kind: the law of its reports is the formula's, fraction for fraction.
3. On the plan itself exact_draws.py looks at what the client draws and shows, at how words make draws, at the
   generator's columns and at the bulk client.

Where all draws together are too many, they are walked through in two stages: every kept subset with its probability,
then all else that can be drawn for one kept subset of each size. With a code also in three: kept subsets, all values of
their items, all seeds for one choice of values. The report's law is the product of the stages. A finding says ``not
decided`` where a check would take more runs than allowed; nothing is concluded from it.

Of a plan of several questions all that is done for each of them, with the client of the plan that asks it alone of its
entries, which draws no question. Then devices of the whole plan are made to draw each question in turn, and asked about
transactions of all sizes. Their first draw must be the pick of a question, by the plan's weights: so each is drawn with
its share, whatever is held. And for equal words the report must be the question's number, what the device of that
question alone answers about the entries that the audit's own reading makes of the transaction, and zero bytes. So the
law of reports is that of the questions, each with its share, exactly.

Whatever a client does wrong is raised as a Fault.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
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
    Numbers,
    QuestionNumbers,
    check_integers,
    named_by_question,
    read_numbers,
    stated_ratio,
)
from assocpriv.auditing.recompute_reports import Form, Seed, Sets, order_of_x
from assocpriv.client.baskets import Randomizer
from assocpriv.plans.baskets import Plan
from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.generator import Generator
from assocpriv.plans.names import Names
from assocpriv.plans.question import Question
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
_ROUNDS = 16  # of transactions of all sizes that a device is asked about, for each question
_LONGER = 8  # items beyond 2M of the longest of random sizes


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
    alone = [plan.alone(question) for question in plan.questions] if len(plan.questions) > 1 else [plan]
    devices = [cache(partial(client, each)) for each in alone]  # one for all checks: large fields make tables in time
    whole = cache(partial(client, plan)) if len(alone) > 1 else devices[0]
    checks: dict[str, _Check] = {}
    for number, (each, question, device) in enumerate(zip(alone, numbers.questions, devices, strict=True)):
        made = _question_checks(each, question, client, device, work)
        checks |= {named_by_question(name, number, numbers): check for name, check in made.items()}
    if len(alone) > 1:
        checks["client, questions"] = lambda: _questions(whole(), [device() for device in devices], numbers, work)
    return checks | {"bulk client": lambda: _bulk(whole(), plan, numbers, work)}


def _question_checks(
    plan: Plan,
    numbers: QuestionNumbers,
    client: exact_draws.Client,
    device: Callable[[], exact_draws.Device],
    work: int,
) -> Mapping[str, _Check]:
    """Return the checks of a plan of one question."""
    checks: dict[str, _Check] = {
        "client, every draw": lambda: _every_draw(plan, numbers, client, work),
        "client, kept items": lambda: _kept_items(device(), numbers, work),
        "client, other draws": lambda: _other_draws(device(), numbers, work),
        "draws from words": lambda: _words(numbers.form),
    }
    if isinstance(numbers.form, Seed):
        coded = numbers.form
        checks["generator's columns"] = lambda: _columns(plan, coded)
    return checks


# ---- on the plan itself


def _kept_items(device: exact_draws.Device, numbers: QuestionNumbers, work: int) -> _Outcome:
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


def _other_draws(device: exact_draws.Device, numbers: QuestionNumbers, work: int) -> _Outcome:
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


def _words(form: Form) -> _Outcome:
    with client_at_work():
        compared = exact_draws.check_words(form)
    return CONSISTENT, f"{compared} draws of chosen words are those of their definition.", {"draws": compared}


def _columns(plan: Plan, form: Seed) -> _Outcome:
    compared = exact_draws.check_columns(plan, form, np.random.default_rng())
    return CONSISTENT, f"The columns of {compared:,} items are those of the definition.", {"items": compared}


def _questions(
    device: exact_draws.Device, alone: Sequence[exact_draws.Device], numbers: Numbers, work: int
) -> _Outcome:
    cost = sum(question.form.run_work for question in numbers.questions)
    runs, longest = check_questions(device, alone, numbers, work // 10 // cost)
    with client_at_work():
        compared = exact_draws.check_pick(numbers.cumulative)
    said = (
        f"The first draw is that of a question, by the plan's weights, whatever is held; in all of {runs:,} runs, with "
        f"0 to {longest:,} items, the report names it and is its answer about what the transaction has of it."
    )
    return CONSISTENT, said, {"runs": runs, "longest": longest, "draws": compared}


def _bulk(device: exact_draws.Device, plan: Plan, numbers: Numbers, work: int) -> _Outcome:
    most = work * 3 // 5 // max(question.form.run_work for question in numbers.questions)
    compared = exact_draws.check_bulk(device, plan, numbers, most)
    held = "all" if compared["items"] == numbers.n_items else f"{compared['items']:,} of"
    said = (
        f"The bulk client's reports of {compared['transactions']:,} random transactions, which hold {held} "
        f"{numbers.n_items:,} items, and at {compared['picks']:,} of {compared['ends']:,} ends of kept subsets' "
        "numbers equal those of one at a time, byte for byte."
    )
    return CONSISTENT, said, {**compared}


def _real_transactions(numbers: QuestionNumbers) -> list[list[int]]:
    """Return a full transaction, with the first and the last item; then an empty and a half one."""
    n, m = numbers.n_items, numbers.transaction_size
    full = sorted({n - 1 - place * (n - 1) // max(1, m - 1) for place in range(m)}) if n > m else list(range(n))
    return [full, [], full[: len(full) // 2]]


# ---- on small catalogues, all draws


def _every_draw(plan: Plan, numbers: QuestionNumbers, client: exact_draws.Client, work: int) -> _Outcome:
    walk = walk_operator(plan, numbers, client, work)
    said = f"On a small catalogue with the plan's operator {_SAID[walk['how']]}."
    return UNDECIDED if walk["how"] == _NOT_DECIDED else CONSISTENT, said, walk


def walk_operator(plan: Plan, numbers: QuestionNumbers, client: exact_draws.Client, work: int) -> dict[str, Any]:
    """Walk through the operator's draws on the largest catalogue that the work allows; return the figures."""
    size = numbers.transaction_size

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


def small_plan(plan: Plan, numbers: QuestionNumbers, n_items: int) -> Plan | None:
    """Return the operator of a plan of one question over a small catalogue, with the smallest generator of its kind.

    None where reports of a fixed size need more items to keep as many as on the plan itself.
    """
    form, asked = numbers.form.shrunk(n_items), plan.items
    if form is None:
        return None
    operator: AnyOperator = asked.operator
    if isinstance(form, Sets):
        operator = replace(asked.fixed, items=form.items, report_size=form.report_size)
    generator = _small_generator(asked.generator.kind, form) if isinstance(form, Seed) else asked.generator
    question = Question(n_items, operator, generator)
    return replace(plan, catalogue=Catalogue.numbered(n_items), questions=(question,), names=Names())


def _small_generator(kind: str, form: Seed) -> Generator:
    width = next(w for w in count(2) if form.fits_field(w))
    blocks, ones_row = form.blocks_for(form.size + 1)
    return Generator(kind, width, _primitive(width), blocks, bool(ones_row))


def _primitive(width: int) -> int:
    return next(poly for poly in range(1 << width, 2 << width) if order_of_x(width, poly) == (1 << width) - 1)


def _transactions(numbers: QuestionNumbers) -> Iterator[list[list[int]]]:
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
        [self.numbers] = read_numbers(plan.canonical_json).questions
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


# ---- plans of several questions


class _Coin:
    """Answers the first draw, which must be that of a question, with a given one, and passes all others on."""

    def __init__(self, number: int, cumulative: Sequence[int], others: "Entropy") -> None:
        self._number, self._cumulative, self._others = number, tuple(cumulative), others
        self._is_drawn = False

    def _later(self) -> "Entropy":
        if not self._is_drawn:
            raise Fault("A client's first draw is not that of a question, by the plan's weights.")
        return self._others

    def pick(self, cumulative: Sequence[int]) -> int:
        """Return the given question first."""
        if self._is_drawn or tuple(cumulative) != self._cumulative:
            return self._later().pick(cumulative)
        self._is_drawn = True
        return self._number

    def below(self, n: int) -> int:
        """Pass the draw on; it must not be the first."""
        return self._later().below(n)

    def coins(self, count: int, num: int, bits: int) -> int:
        """Likewise."""
        return self._later().coins(count, num, bits)


def check_questions(
    device: exact_draws.Device, alone: Sequence[exact_draws.Device], numbers: Numbers, most: int
) -> tuple[int, int]:
    """Let a device draw each question, and compare its reports with those of devices of one question, for equal words.

    Returned are how often it ran, once for each question and size that tells something and about ``most`` times more,
    and with how many items at most.
    """
    chance, told = np.random.default_rng(), exact_draws.told_sizes(numbers)
    longest = min(numbers.n_items, 2 * max(each.transaction_size for each in numbers.questions) + _LONGER)
    rounds = max(1, min(_ROUNDS, most // (2 * len(told))))
    sizes = told * rounds + chance.integers(longest + 1, size=len(told) * rounds).tolist()
    for number, question in enumerate(numbers.questions):
        for size in sizes:
            held = exact_draws.some_items(numbers, size, chance)
            words = exact_draws.Noted([], SeededEntropy(int(chance.integers(1 << 62))))
            answer = alone[number].randomize(question.entries(held), entropy=words)
            again = exact_draws.Replayed(words.given)
            report = device.randomize(held, entropy=_Coin(number, numbers.cumulative, again))
            if report != numbers.report(number, answer) or again.left:
                raise Fault("A report is not the answer to its question about what the transaction has of it.")
    return len(sizes) * len(numbers.questions), max(sizes)
