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
from assocpriv.auditing.recompute.report_forms import Group, Sets
from assocpriv.core.entropy import Entropy
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.plans.baskets.generator import Generator
from assocpriv.plans.baskets.operator import AnyOperator
from assocpriv.plans.baskets.plan import Plan
from assocpriv.plans.baskets.view import View

ALL_DRAWS, NOT_DECIDED = "all draws", "not decided"
STAGES = {2: "two stages", 3: "three stages"}
Law = dict[int, Fraction]


def walk_operator(plan: Plan, numbers: Numbers, client: Client, size: int, work: int) -> tuple[int, dict[str, Any]]:
    """Walk through one operator's draws on the largest catalogue that the work allows; return work done and figures."""
    # in M items and one more there are two transactions that share none (one is padding), and one that is too long;
    # with sizes in clear two of just this size need 2M
    fewest, most = (size, 2 * size) if numbers.in_clear else (1, size + 1)

    def cases() -> "Iterator[_Small]":
        smalls = (small_plan(plan, numbers, size, catalogue) for catalogue in range(most, fewest - 1, -1))
        return (_Small(small, client) for small in smalls if small is not None)

    for case in cases():
        for transactions in _transactions(case.numbers, case.group):
            if sum(_all_draws(case.group, len(raw)) for raw in transactions) * case.group.run_work <= work:
                return case.figures(ALL_DRAWS, case.walk_all(transactions))
    for stages, how in STAGES.items():
        for case in cases():
            ways = case.group.ways_in_stages.get(stages)
            if ways is not None and 2 * ((1 << size) + ways) * case.group.run_work <= work:
                return case.figures(how, case.walk_in_stages(stages))
    return 0, {"size": size, "how": NOT_DECIDED, "runs": 0}


# ---- a small catalogue, and transactions to try there


def small_plan(plan: Plan, numbers: Numbers, size: int, n_items: int) -> Plan | None:
    """Return the plan's operators up to a size over a small catalogue, with the smallest generator of its kind.

    None where reports of a fixed size need more items to keep as many as on the plan itself.
    """
    shrunk = [group.shrunk(n_items) for group in numbers.groups if group.size <= size]
    groups = [group for group in shrunk if group is not None]
    if len(groups) < len(shrunk):
        return None
    operators: tuple[AnyOperator, ...] = plan.operators[: len(groups)]
    if isinstance(groups[-1], Sets):
        operators = (replace(plan.fixed, items=groups[-1].items, report_size=groups[-1].report_size),)
    coded = [group for group in groups if isinstance(group, Seed)]
    return replace(
        plan,
        catalogue=Catalogue.numbered(n_items),
        transaction_size=size,
        itemset_size=1,
        operators=operators,
        generator=_small_generator(plan.generator.kind, coded) if coded else plan.generator,
        view=View(),
    )


def _small_generator(kind: str, groups: Sequence[Seed]) -> Generator:
    width = next(w for w in count(2) if all(group.fits_field(w) for group in groups))
    blocks, ones_row = max(group.blocks_for(group.size + 1) for group in groups)
    return Generator(kind, width, _primitive(width), blocks, bool(ones_row))


def _primitive(width: int) -> int:
    return next(poly for poly in range(1 << width, 2 << width) if order_of_x(width, poly) == (1 << width) - 1)


def _transactions(numbers: Numbers, group: Group) -> Iterator[list[list[int]]]:
    """Yield lists of transactions to compare with each other, the longest list first."""
    n, m = numbers.n_items, group.size
    smallest = 0 if m == 1 or not numbers.in_clear else m
    if n <= 3:
        yield [list(raw) for size in range(smallest, n + 1) for raw in combinations(range(n), size)]
    some = [list(range(size)) for size in range(smallest, min(n, m + 1) + 1)] + [list(range(n - min(n, m), n))]
    yield some
    yield [raw for raw in some if len(raw) <= m]
    yield [some[0], some[-1]]


def _all_draws(group: Group, length: int) -> int:
    """Return in how many ways the draws for a transaction of so many items can fall."""
    return (perm(length, group.size) if length > group.size else 1) * group.ways


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
        self.group = self.numbers.groups[-1]
        self._shown: dict[int, frozenset[int]] = {}

    @cached_property
    def _reader(self) -> Reader[Any]:
        return Reader(self._client(self._plan), self.numbers, self.group)

    def figures(self, how: str, walked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Return the work of a walk, and what was walked through."""
        group = self.group
        about = {"size": group.size, "how": how, "items": group.items - group.size, "report_bits": group.report_bits}
        return walked["runs"] * group.run_work, about | walked

    def walk_all(self, transactions: Sequence[list[int]]) -> dict[str, Any]:
        """Walk through all draws for some transactions, and compare their laws with the formula and each other."""
        laws, runs = [], 0
        for raw in transactions:
            ways = _all_draws(self.group, len(raw))
            law = self._law(raw, ways)
            self._compare(law, self._fitted(raw))
            laws.append(law)
            runs += ways
        largest = max(max(law[report] for law in laws) / min(law[report] for law in laws) for report in laws[0])
        stated = stated_ratio(self.group)
        if largest > stated:
            raise Fault(f"Two transactions give a report with a ratio of {float(largest):.6g}, above γ.")
        return {"transactions": len(laws), "runs": runs, "largest_ratio": str(largest), "reaches": largest == stated}

    def walk_in_stages(self, stages: int) -> dict[str, Any]:
        """Walk through the kept subsets of a full and, where one counts here, an empty transaction, then all else."""
        group, runs = self.group, 0
        full = list(range(min(group.size, self.numbers.n_items)))
        transactions = [full] + [[]] * (group.size == 1 or not self.numbers.in_clear)
        for raw in transactions:
            runs += check_kept(self._reader, raw)
            if stages == 2:
                runs += self._walk_subsets(raw)
            else:
                runs += sum(SeedCase(self._reader, raw, j).walk() for j in range(group.size + 1))
        return {"transactions": len(transactions), "runs": runs}

    def _walk_subsets(self, raw: list[int]) -> int:
        """Walk through what is drawn for one kept subset of each size; return in how many ways it can fall."""
        group, ways = self.group, self.group.ways_in_stages[2]
        items = frozenset(self._reader.padded(raw))
        for j in range(group.size + 1):
            index = sum(comb(group.size, fewer) for fewer in range(j))  # the first subset of its size
            law = self._law(raw, ways, index)
            self._compare(law, [items], group.kept_probability(j))
            if len({self._shown[report] & items for report in law}) != 1:
                raise Fault(f"What a report keeps depends on more than the pick (size {group.size}).")
        return ways

    def _law(self, raw: list[int], ways: int, picked: int | None = None) -> Law:
        def run(entropy: Entropy) -> int:
            return self._reader.report(raw, entropy if picked is None else _Picked(entropy, picked))

        return bounded_law(run, ways)[0]

    def _compare(self, law: Law, fitted: Sequence[frozenset[int]], share: Fraction = Fraction(1)) -> None:
        """Compare a law with the formula's, divided by ``share``."""
        group, chances = self.group, dict[tuple[int, int], Fraction]()
        for report, probability in law.items():
            if report not in self._shown:
                self._shown[report] = group.shown_of(range(group.items), report)
            items, wanted = self._shown[report], Fraction(0)
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

    def _fitted(self, raw: Collection[int]) -> list[frozenset[int]]:
        """Return the equally likely sets of m items that a transaction is cut or padded to."""
        if len(raw) <= self.group.size:
            return [frozenset(self._reader.padded(raw))]
        return [frozenset(part) for part in combinations(sorted(raw), self.group.size)]
