"""All draws of a client on a small catalogue: the law of its reports is the formula's, fraction for fraction.

The plan's own operators are taken, with the smallest generator of its kind. Where all draws together are too many, they
are walked through in two stages: every kept subset with its probability, then all else that can be drawn for one kept
subset of each size. With a code also in three: kept subsets, all values of their items, all seeds for one choice of
values. The report's law is the product of the stages.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations, count
from math import comb, perm
from typing import Any

from assocpriv.auditing.enumerate.draws_by_form import Client, Reader, SeedCase, bounded_law, check_kept
from assocpriv.auditing.findings import Fault
from assocpriv.auditing.recompute.codes import Seed, order_of_x
from assocpriv.auditing.recompute.plan_text import Numbers, read_numbers
from assocpriv.auditing.recompute.promise import stated_ratio
from assocpriv.auditing.recompute.report_forms import Form, Sets
from assocpriv.plans.baskets import Plan
from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.generator import Generator
from assocpriv.plans.operator import AnyOperator
from assocpriv.plans.view import View
from assocpriv.promise.entropy import Entropy

ALL_DRAWS, NOT_DECIDED = "all draws", "not decided"
STAGES = {2: "two stages", 3: "three stages"}
Law = dict[int, Fraction]


def walk_operator(plan: Plan, numbers: Numbers, client: Client, work: int) -> dict[str, Any]:
    """Walk through the operator's draws on the largest catalogue that the work allows; return the figures."""
    size = plan.transaction_size

    def cases() -> "Iterator[_Small]":
        # in M items and one more there are two transactions that share none (one is padding), and one that is too long
        smalls = (small_plan(plan, numbers, catalogue) for catalogue in range(size + 1, 0, -1))
        return (_Small(small, client) for small in smalls if small is not None)

    for case in cases():
        for transactions in _transactions(case.numbers):
            if sum(_all_draws(case.form, len(raw)) for raw in transactions) * case.form.run_work <= work:
                return case.figures(ALL_DRAWS, case.walk_all(transactions))
    for stages, how in STAGES.items():
        for case in cases():
            ways = case.form.ways_in_stages.get(stages)
            if ways is not None and 2 * ((1 << size) + ways) * case.form.run_work <= work:
                return case.figures(how, case.walk_in_stages(stages))
    return {"size": size, "how": NOT_DECIDED, "runs": 0}


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

    def __init__(self, entropy: Entropy, index: int) -> None:
        self._index = index
        self.below, self.coins = entropy.below, entropy.coins

    def pick(self, cumulative: Sequence[int]) -> int:
        return min(self._index, len(cumulative) - 1)


class _Small:
    """A small plan, and what its reports show."""

    def __init__(self, plan: Plan, client: Client) -> None:
        self._plan, self._client = plan, client
        self.numbers = read_numbers(plan.canonical_json)
        self.form = self.numbers.form
        self._shown: dict[int, frozenset[int]] = {}

    @cached_property
    def _reader(self) -> Reader[Any]:
        return Reader(self._client(self._plan), self.numbers, self.form)

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
            runs += check_kept(self._reader, raw)
            if stages == 2:
                runs += self._walk_subsets(raw)
            else:
                runs += sum(SeedCase(self._reader, raw, j).walk() for j in range(form.size + 1))
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
        def run(entropy: Entropy) -> int:
            return self._reader.report(raw, entropy if picked is None else _Picked(entropy, picked))

        return bounded_law(run, ways)[0]

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
