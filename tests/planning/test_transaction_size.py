"""What sampling long baskets loses, and the transaction size that is proposed for a sample."""

import json
import math
from collections import Counter
from fractions import Fraction
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from assocpriv.cli.main import main
from assocpriv.files.plans import read_plan
from assocpriv.planning.baskets import make_plan
from assocpriv.planning.request import PlanWishes
from assocpriv.planning.transaction_size import (
    NEAR,
    SizeRow,
    all_holders,
    default_itemset_size,
    propose_transaction_size,
    surviving_shares,
)
from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.transition import SupportModel
from assocpriv.promise.breaches import Breach
from assocpriv.promise.errors import PlanError
from assocpriv.records.baskets import Baskets, count_sizes, top_holders
from assocpriv.server.supports import Respondents, lowest_discoverable_support

PROMISE = Breach("5%", "50%")
SIZES = Counter({0: 30, 1: 300, 2: 250, 3: 200, 5: 150, 8: 60, 12: 10})


def random_sets(rng: np.random.Generator, count: int, n_items: int) -> list[list[int]]:
    """Return sets of all sizes in which low numbers are frequent."""
    chances = np.linspace(0.6, 0.05, n_items)
    return [np.flatnonzero(rng.random(n_items) < chances).tolist() for _ in range(count)]


def test_surviving_shares_are_what_sampling_leaves(rng: np.random.Generator) -> None:
    """Over all M items that could be drawn of each basket, so large a share of its k-itemsets stays on average."""
    sets = random_sets(rng, 12, 6)
    sizes = count_sizes(Baskets.from_sets(sets, Catalogue.numbered(6)))
    for m in range(1, 7):
        shares = surviving_shares(all_holders(sizes, 3), m)
        for k in range(1, 4):
            whole, left = 0, Fraction(0)
            for items in sets:
                drawn = list(combinations(items, min(m, len(items))))
                whole += comb(len(items), k)
                left += Fraction(sum(comb(len(sample), k) for sample in drawn), len(drawn))
            assert shares[k] == pytest.approx(float(left / whole) if whole else 1.0, rel=1e-12)


def test_all_itemsets_of_all_baskets_are_counted() -> None:
    """Baskets of L items hold C(L, k) itemsets each; sizes below k hold none and are left out."""
    assert all_holders(Counter({0: 1, 2: 2, 4: 1}), 3) == {1: {2: 4, 4: 4}, 2: {2: 2, 4: 6}, 3: {4: 4}}


def brute_holders(sets: list[list[int]], k: int) -> list[tuple[int, Counter[int]]]:
    """Return for each k-itemset how many hold it and the sizes of those who do, the most frequent first."""
    held: dict[tuple[int, ...], Counter[int]] = {}
    for items in sets:
        for itemset in combinations(items, k):
            held.setdefault(itemset, Counter())[len(items)] += 1
    return sorted(((sizes.total(), sizes) for sizes in held.values()), key=lambda entry: -entry[0])


def test_top_holders_are_those_of_the_most_frequent_itemsets(rng: np.random.Generator) -> None:
    """For up to three items the 20 most frequent itemsets are those that trying all of them finds."""
    sets = random_sets(rng, 400, 10)
    baskets = Baskets.from_sets(sets, Catalogue.numbered(10))
    for part, rows in ((baskets, sets), (baskets[37:251], sets[37:251])):
        found = top_holders(part, 3)
        for k in range(1, 4):
            ranked = brute_holders(rows, k)
            assert found[k].total() == sum(count for count, _ in ranked[:20])
            sure = [sizes for count, sizes in ranked[:20] if count > ranked[20][0]] if len(ranked) > 20 else []
            for size in range(11):  # itemsets as frequent as the 21st may stand for one another
                assert found[k][size] >= sum(sizes[size] for sizes in sure)


def test_few_items_and_no_baskets_have_holders_too() -> None:
    """With fewer than k items nobody holds k; nothing is lost of what nobody has."""
    pair = top_holders(Baskets.from_sets([["a"], ["a", "b"], []]), 3)
    assert pair == {1: {1: 1, 2: 2}, 2: {2: 1}, 3: {}}
    assert surviving_shares(pair, 1) == {1: pytest.approx(2 / 3), 2: 0.0, 3: 1.0}
    assert top_holders(Baskets.from_sets([], Catalogue.numbered(3)), 2) == {1: {}, 2: {}}


def test_frequent_itemsets_lose_less_than_all(rng: np.random.Generator) -> None:
    """Where a few long baskets hold most itemsets, what survives of the frequent ones is more than the average."""
    sets = [[0, 1], [0, 2], [0, 1, 2]] * 300 + [list(range(3, 43))] * 5
    baskets = Baskets.from_sets(sets, Catalogue.numbered(43))
    everything = surviving_shares(all_holders(count_sizes(baskets), 2), 3)
    frequent = surviving_shares(top_holders(baskets, 2), 3)
    assert everything[2] < 0.5 < 0.9 < frequent[2]


# ---- the proposal


def wishes(**change: Any) -> PlanWishes:
    """Return wishes under the promise of these tests."""
    return PlanWishes(promise=PROMISE, **change)


def chosen(rows: list[SizeRow]) -> SizeRow:
    """Return the one row that is proposed."""
    [row] = [row for row in rows if row.proposed]
    return row


@pytest.mark.parametrize("target", [None, "singles", "pairs"])
def test_rows_are_what_the_planner_would_give(target: str | None) -> None:
    """Each row's figures follow from the planner's best operator and the shares that survive."""
    rows = propose_transaction_size(SIZES, wishes(reports=200_000, target=target))
    assert [row.transaction_size for row in rows] == list(range(3, 13))
    targets = {None: [1, 2, 3], "singles": [1], "pairs": [2]}[target]
    for row in rows:
        m = row.transaction_size
        assert row.longer == sum(n for size, n in SIZES.items() if size > m) / 1000
        assert row.surviving == surviving_shares(all_holders(SIZES, 3), m)
        assert row.lowest_raw_support == {k: row.lowest_discoverable_support[k] / row.surviving[k] for k in (1, 2, 3)}
        assert row.worst_raw_support == max(row.lowest_raw_support[k] for k in targets)
        if m < 7:
            plan = make_plan(50, m, PROMISE, reports=200_000, target=target, code="none", kind="independent")
            model = SupportModel.of(plan.items.operator)
            worst = max(lowest_discoverable_support(Respondents(200_000, model), k) for k in targets)
            assert max(row.lowest_discoverable_support[k] for k in targets) <= worst * (1 + 1e-9)
            assert max(row.lowest_discoverable_support[k] for k in targets) >= worst / 1.02 * (1 - 1e-9)


@pytest.mark.parametrize("reports", [10_000, 10_000_000])
def test_the_largest_size_near_the_least_is_proposed(reports: int) -> None:
    """Proposed is the last M whose worst lowest raw support is within 5% of the least."""
    rows = propose_transaction_size(SIZES, wishes(reports=reports))
    least = min(row.worst_raw_support for row in rows)
    near = [row for row in rows if row.worst_raw_support <= NEAR * least]
    assert chosen(rows) == near[-1]


def test_no_size_beyond_the_longest_basket_is_tried() -> None:
    """Where no basket is longer, a larger M could only cost; K then is what the longest basket holds."""
    [row] = propose_transaction_size(Counter({1: 5, 2: 5}), wishes())
    assert (row.transaction_size, row.longer, row.proposed) == (2, 0.0, True)
    assert row.surviving == {1: 1.0, 2: 1.0}
    assert default_itemset_size(Counter({2: 1, 7: 0})) == 2
    assert [r.transaction_size for r in propose_transaction_size(Counter({2: 5}), wishes(itemset_size=4))] == [4]


def test_holders_decide_what_survives() -> None:
    """Itemsets that only short baskets hold need no large M, those that only long ones hold do."""
    short = {k: Counter({3: 100}) for k in (1, 2, 3)}
    long = {k: Counter({12: 100}) for k in (1, 2, 3)}
    assert chosen(propose_transaction_size(SIZES, wishes(), holders=short)).transaction_size == 3
    assert chosen(propose_transaction_size(SIZES, wishes(), holders=long)).transaction_size > 8


def test_where_nothing_can_be_told_the_smallest_is_proposed() -> None:
    """If nothing of a target survives at any M, the figures are infinite and the smallest M is as good as any."""
    rows = propose_transaction_size(SIZES, wishes(itemset_size=1), holders={1: Counter({10**9: 1})})
    assert all(math.isfinite(row.worst_raw_support) for row in rows)
    nobody = propose_transaction_size(
        Counter({2: 5}), wishes(itemset_size=3), holders={k: Counter() for k in (1, 2, 3)}
    )
    assert chosen(nobody).transaction_size == 3


@pytest.mark.parametrize(
    ("sizes", "change", "message"),
    [
        (Counter(), {}, "must hold baskets"),
        (Counter({0: 9}), {}, "must hold baskets"),
        (SIZES, {"itemset_size": 0}, r"itemset_size \(K\) must be in 1..15"),
        (SIZES, {"itemset_size": 16}, r"itemset_size \(K\) must be in 1..15"),
        (SIZES, {"reports": 0}, "reports must be in"),
        (SIZES, {"target": "quads"}, "target must name"),
        (SIZES, {"pattern": "best"}, "pattern must be"),
    ],
)
def test_bad_questions_are_refused(sizes: Counter[int], change: dict[str, Any], message: str) -> None:
    """A sample without items and arguments out of range are refused with their rule."""
    with pytest.raises(PlanError, match=message):
        propose_transaction_size(sizes, wishes(**change))


# ---- the command line


@pytest.fixture
def sample(tmp_path: Path, rng: np.random.Generator) -> Path:
    """Return a file of 300 baskets over 12 items, none empty."""
    sets = [items or [0] for items in random_sets(rng, 300, 12)]
    path = tmp_path / "sample.dat"
    path.write_text("".join(" ".join(map(str, items)) + "\n" for items in sets))
    return path


def plan_command(folder: Path, *arguments: Any) -> Result:
    """Run assocpriv plan for 12 items; it writes plan.json."""
    question = ["plan", "--items", 12, "--prior", "5%", "--posterior", "50%", "-o", folder / "plan.json", "--force"]
    return CliRunner().invoke(main, [str(argument) for argument in (*question, *arguments)])


def test_the_command_proposes_a_size(tmp_path: Path, sample: Path) -> None:
    """Without --transaction-size the sample decides: the table goes to standard error, JSON holds all of it."""
    text = plan_command(tmp_path, "--baskets", sample)
    assert text.exit_code == 0, text.output
    assert "← proposed" in text.stderr
    assert "proposed" not in text.stdout
    result = plan_command(tmp_path, "--baskets", sample, "--json")
    record = json.loads(result.stdout)
    [row] = [row for row in record["transaction_sizes"] if row["proposed"]]
    made = read_plan(tmp_path / "plan.json")
    assert row["transaction_size"] == record["transaction_size"] == made.items.transaction_size
    assert set(row["surviving_support"]) == set(row["lowest_raw_support"]) == {"1", "2", "3"}


def test_a_size_that_is_given_is_taken(tmp_path: Path, sample: Path) -> None:
    """With --transaction-size the sample says only what sampling would lose."""
    result = plan_command(tmp_path, "--baskets", sample, "--transaction-size", 2, "--json")
    assert result.exit_code == 0, result.output
    assert "transaction_sizes" not in json.loads(result.stdout)
    assert "are longer than 2 items" in result.stderr
    assert "proposed" not in result.stderr


def test_a_size_or_a_sample_is_needed(tmp_path: Path, sample: Path) -> None:
    """Neither is wrong usage; a sample that cannot be read is bad input; no plan is written."""
    for arguments, status in (([], 2), (["--baskets", tmp_path / "none.dat"], 1)):
        result = plan_command(tmp_path, *arguments)
        assert result.exit_code == status
        assert not (tmp_path / "plan.json").exists()
    for wrong in (0, -1, 16, 10**9):
        assert plan_command(tmp_path, "--baskets", sample, "--itemset-size", wrong).exit_code == 1
