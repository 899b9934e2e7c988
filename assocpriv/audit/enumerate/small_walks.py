"""All draws of a client on a small catalogue: the law of its reports is the formula's, fraction for fraction.

Where all draws together are too many, they are walked through in two stages: every kept subset with its probability,
then all else that can be drawn for one kept subset of each size. With a code also in three: kept subsets, all values of
their items, all seeds for one choice of values. The report's law is the product of the stages.
"""

from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from math import comb, perm
from typing import Any

from assocpriv.audit.enumerate.draws_by_form import Client, Device, check_kept, padded, report_number, walk_seeds
from assocpriv.audit.enumerate.small_plans import small_plan, small_transactions
from assocpriv.audit.enumerate.steered import Picked
from assocpriv.audit.findings import Fault
from assocpriv.audit.recompute.plan_text import Numbers, read_numbers
from assocpriv.audit.recompute.promise import stated_ratio
from assocpriv.audit.recompute.report_forms import Group
from assocpriv.core.entropy import Entropy
from assocpriv.lab.enumeration import distribution
from assocpriv.plans.baskets.plan import Plan

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
        for transactions in small_transactions(case.numbers, case.group):
            if sum(_all_draws(case.group, len(raw)) for raw in transactions) * case.group.run_work <= work:
                return case.figures(ALL_DRAWS, case.walk_all(transactions))
    for stages, how in STAGES.items():
        for case in cases():
            ways = case.group.ways_in_stages.get(stages)
            if ways is not None and 2 * ((1 << size) + ways) * case.group.run_work <= work:
                return case.figures(how, case.walk_in_stages(stages))
    return 0, {"size": size, "how": NOT_DECIDED, "runs": 0}


def _all_draws(group: Group, length: int) -> int:
    """Return in how many ways the draws for a transaction of so many items can fall."""
    return (perm(length, group.size) if length > group.size else 1) * group.ways


class _Small:
    """A small plan, and what its reports show."""

    def __init__(self, plan: Plan, client: Client) -> None:
        self._plan, self._client = plan, client
        self.numbers = read_numbers(plan.canonical_json)
        self.group = self.numbers.groups[-1]
        self._shown: dict[int, frozenset[int]] = {}

    def figures(self, how: str, walked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Return the work of a walk, and what was walked through."""
        group = self.group
        about = {"size": group.size, "how": how, "items": group.items - group.size, "report_bits": group.report_bits}
        return walked["runs"] * group.run_work, about | walked

    def walk_all(self, transactions: Sequence[list[int]]) -> dict[str, Any]:
        """Walk through all draws for some transactions, and compare their laws with the formula and each other.

        Raises:
            Fault: a law is another, or two of them differ by more than γ.
        """
        device, laws, runs = self._client(self._plan), [], 0
        for raw in transactions:
            ways = _all_draws(self.group, len(raw))
            law = self._law(device, raw, ways)
            self._compare(law, self._fitted(raw))
            laws.append(law)
            runs += ways
        largest = max(max(law[report] for law in laws) / min(law[report] for law in laws) for report in laws[0])
        stated = stated_ratio(self.group)
        if largest > stated:
            raise Fault(f"Two transactions give a report with a ratio of {float(largest):.6g}, above γ.")
        return {"transactions": len(laws), "runs": runs, "largest_ratio": str(largest), "reaches": largest == stated}

    def walk_in_stages(self, stages: int) -> dict[str, Any]:
        """Walk through the kept subsets of a full and, where one counts here, an empty transaction, then all else.

        Raises:
            Fault: a stage's law is another.
        """
        group, device, runs = self.group, self._client(self._plan), 0
        full = list(range(min(group.size, self.numbers.n_items)))
        transactions = [full] + [[]] * (group.size == 1 or not self.numbers.in_clear)
        for raw in transactions:
            runs += check_kept(device, raw, self.numbers, group)
            if stages == 2:
                runs += self._walk_subsets(device, raw)
            else:
                runs += sum(walk_seeds(device, raw, j, self.numbers, group) for j in range(group.size + 1))
        return {"transactions": len(transactions), "runs": runs}

    def _walk_subsets(self, device: Device, raw: list[int]) -> int:
        """Walk through what is drawn for one kept subset of each size; return in how many ways it can fall."""
        group, ways = self.group, self.group.ways_in_stages[2]
        items = frozenset(padded(raw, self.numbers, group))
        for j in range(group.size + 1):
            index = sum(comb(group.size, fewer) for fewer in range(j))  # the first subset of its size
            law = self._law(device, raw, ways, index)
            self._compare(law, [items], group.kept_probability(j))
            if len({self._shown[report] & items for report in law}) != 1:
                raise Fault(f"What a report keeps depends on more than the pick (size {group.size}).")
        return ways

    def _law(self, device: Device, raw: list[int], ways: int, picked: int | None = None) -> Law:
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
            steered = entropy if picked is None else Picked(entropy, picked)
            return report_number(device.randomize(raw, entropy=steered), self.numbers, self.group)

        return distribution(run)

    def _compare(self, law: Law, fitted: Sequence[frozenset[int]], share: Fraction = Fraction(1)) -> None:
        """Compare a law with the formula's, divided by ``share``."""
        group, chances = self.group, dict[tuple[int, int], Fraction]()
        for report, probability in law.items():
            if report not in self._shown:
                self._shown[report] = group.report_items(report)
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
            return [frozenset(padded(raw, self.numbers, self.group))]
        return [frozenset(part) for part in combinations(sorted(raw), self.group.size)]
