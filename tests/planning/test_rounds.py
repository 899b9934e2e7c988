"""Tests of the next round's plan.

Planning the next round: its promise, what both answers of one person tell, the shortlist, and the whole walk.

Tests of rounds: the plans keep the promise, and a schedule on baskets finds what is there.
"""

import json
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import assocpriv as ap
from assocpriv.cli.main import main
from assocpriv.client.transactions import view_transaction
from assocpriv.planning.baskets import make_plan
from assocpriv.planning.rounds import (
    EntryRule,
    People,
    PeopleSplit,
    Refinement,
    RoundWishes,
    expected_focus,
    guessed_least,
    items_share,
    plan_items,
    plan_itemsets,
    plan_shortlist,
    plan_sizes,
    poisson,
    sizes_share,
)
from assocpriv.planning.rounds import refine as refine_as
from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.view import View
from assocpriv.promise.breaches import Breach
from assocpriv.promise.errors import AssocprivError, EstimateError, PlanError
from assocpriv.server.posterior import Estimate, Knowledge, measured
from assocpriv.server.undo_sampling import SizeShares
from tests.server.test_rounds import table

ROUND_PROMISE = ap.Breach("5%", "50%")
NAMES = [f"i{place:02}" for place in range(40)]
PLAN = make_plan(NAMES, 4, ROUND_PROMISE, itemset_size=2)
SIZES_SEEN = SizeShares(np.arange(1, 13), np.full(12, 1 / 12))


def refine(frame, plan: ap.Plan, top: int = 64, **change) -> Refinement:
    """Plan the next round."""
    return refine_as(frame, plan, RoundWishes(top, **change))


def mined(rows, plan=PLAN, **more):
    """Return a table mined with a plan."""
    frame = table(rows, m=plan.transaction_size, **more)
    frame.attrs["assocpriv"]["plan_id"] = plan.plan_id
    return frame


def singles(supports, error=1e-4):
    """Return rows of single items, the first names with these supports."""
    return {(name,): (support, error) for name, support in zip(NAMES, supports, strict=False)}


FALLING = [0.5 - 0.01 * place for place in range(40)]
PAIRS = {("i00", "i01"): (0.3, 0.01), ("i01", "i02"): (0.25, 0.01), ("i00", "i02"): (0.05, 0.01)}


# ---- the promise


@pytest.mark.parametrize("candidates", [False, True])
@pytest.mark.parametrize("promise", [("5%", "50%"), ("10%", "25%"), ("1/3", "2/5"), ("1e-6", "0.999999")], ids=str)
def test_the_next_plan_keeps_the_promise(promise: tuple[str, str], candidates: bool) -> None:
    """The next plan promises what the first did, exactly, and keeps it."""
    first = make_plan(NAMES, 2, ap.Breach(*promise), itemset_size=2)
    made = refine(mined(singles(FALLING) | PAIRS, first), first, 8, candidates=candidates, reports=10_000)
    assert made.plan.promise == first.promise
    assert made.plan.amplification < first.promise.amplification_limit


def test_both_answers_are_bayes_by_hand() -> None:
    """What two answers may tell is Bayes' rule for two independent reports, each at the limit of its promise."""
    made = refine(mined(singles(FALLING)), PLAN, 8)
    limit, prior, posterior = Fraction(19), Fraction(1, 20), Fraction(1, 2)
    assert made.amplification_limit == 361
    likelihoods = Fraction(limit**2), Fraction(1)
    up = prior * likelihoods[0] / (prior * likelihoods[0] + (1 - prior) * likelihoods[1])
    down = posterior * likelihoods[1] / (posterior * likelihoods[1] + (1 - posterior) * likelihoods[0])
    assert (made.highest_posterior, made.lowest_posterior) == (up, down) == (Fraction(19, 20), Fraction(1, 362))


# ---- the shortlist


def test_the_shortlist_is_the_best_items() -> None:
    """With clear supports it has the items that reach the last wanted itemset, in the order of the catalogue."""
    made = refine(mined(singles(FALLING[::-1])), PLAN, 8)
    count = made.plan.n_items
    assert list(made.plan.catalogue) == NAMES[-count:]
    assert FALLING[count - 1] >= guessed_least(np.array(FALLING), 8) > FALLING[count]
    assert made.plan.view.others == "drop"
    assert (made.reports, made.basis) == (1000, "poisson")
    assert made.entry_sizes.mean == pytest.approx(sum(sorted(FALLING)[-count:]), rel=0.02)


def test_doubtful_items_are_asked_for_too() -> None:
    """Items that may be as frequent as the last wanted itemset are kept, up to a multiple of the number wanted."""
    rule, least = EntryRule(), guessed_least(np.array(FALLING), 8)
    near = sum(support + rule.reach * 0.02 >= least for support in FALLING)
    assert near > sum(support >= least for support in FALLING)
    for top, error, expected in ((8, 0.02, near), (8, 1.0, round(rule.most * 8)), (30, 1.0, 40)):
        made = refine(mined(singles(FALLING, error)), PLAN, top, reports=1000)
        assert made.plan.n_items == expected


def test_the_docs_tell_the_rule() -> None:
    """docs/cli/server.md names the numbers that the shortlist is made by."""
    rule = EntryRule()
    text = " ".join((Path(__file__).parents[2] / "docs" / "cli" / "server.md").read_text(encoding="utf-8").split())
    assert f"{rule.reach:g} standard errors" in text
    assert f"at most {rule.most:g} · N in all" in text


def test_a_histogram_replaces_the_poisson_law() -> None:
    """With sizes of baskets the supports are those before sampling, so more is expected to be held."""
    frame = mined(singles(FALLING))
    plain, told = refine(frame, PLAN, 8), refine(frame, PLAN, 8, sizes=SIZES_SEEN)
    assert told.basis == "histogram"
    assert told.entry_sizes.mean > plain.entry_sizes.mean * 1.2


def sizes_table(plan: ap.Plan, reports: int = 1_000):
    """Return a table mined with a plan of sizes: baskets of 2 or 3 items."""
    names = [name for name in plan.catalogue if name in ("2", "3")]
    frame = mined({(name,): (0.5, 0.01) for name in names}, plan)
    frame.attrs["assocpriv"] |= {"reports": reports}
    frame.attrs["assocpriv"]["buckets"] = dict(zip(plan.catalogue, plan.view.bounds, strict=True))
    return frame


def test_after_sizes_come_all_items() -> None:
    """M is for the sizes told, the people are split by them, and the catalogue is what the sizes plan counted."""
    plan = plan_sizes(ROUND_PROMISE)
    made = refine(sizes_table(plan), plan, 8, catalogue=Catalogue(NAMES))
    assert (list(made.plan.catalogue), made.plan.itemset_size) == (NAMES, 1)
    assert made.entry_sizes.mean == pytest.approx(2.5, abs=0.15)
    assert made.people is not None
    assert sum(made.people.values()) == 49_000  # 1,000 were 2% of all
    assert 0.3 <= made.people["items"] / 50_000 <= 0.6
    assert made.plan.view.others == "error"
    counted = plan_sizes(ROUND_PROMISE, counted=sorted(map(str, range(12))))
    numbered = refine(sizes_table(counted), counted, 8).plan
    assert (numbered.catalogue, numbered.view.others) == (Catalogue.numbered(12), "drop")
    more = refine(sizes_table(plan), plan, 8, catalogue=Catalogue(NAMES), reports=10**9)
    assert more.people is not None
    assert more.people["items"] == pytest.approx(0.3 * 10**9, rel=1e-3)


def test_what_follows_sizes_needs_one_catalogue() -> None:
    """All names counted: give the items; some counted: these are they; and a shortlist brings its own."""
    plan, counted = plan_sizes(ROUND_PROMISE), plan_sizes(ROUND_PROMISE, counted=["a", "b"])
    with pytest.raises(EstimateError, match="counted all names, so give the catalogue"):
        refine(sizes_table(plan), plan)
    with pytest.raises(EstimateError, match="so give no other"):
        refine(sizes_table(counted), counted, catalogue=Catalogue(["a"]))
    with pytest.raises(EstimateError, match="a catalogue goes with a table of sizes"):
        refine(mined(singles(FALLING)), PLAN, 8, catalogue=Catalogue(NAMES))
    with pytest.raises(EstimateError, match="asks for sizes"):
        refine(sizes_table(plan), plan, candidates=True)
    with pytest.raises(EstimateError, match="needs 2 items"):
        refine(sizes_table(plan), plan, catalogue=Catalogue(["a"]))
    assert refine(sizes_table(plan), plan, catalogue=Catalogue(["a", "b"])).plan.transaction_size <= 2
    with pytest.raises(EstimateError, match="a histogram of sizes itself"):
        refine(sizes_table(plan), plan, catalogue=Catalogue(NAMES), sizes=SIZES_SEEN)


@pytest.mark.parametrize("reports", [3, 4, 5, 50, 777, 10**15])
@pytest.mark.parametrize("asked", [1, 1_000, 10**15])
def test_people_add_up(reports: int, asked: int) -> None:
    """However few there are, and however odd the table, every round has somebody's place and nobody two."""
    plan = plan_sizes(ROUND_PROMISE)
    people = refine(sizes_table(plan, asked), plan, 8, catalogue=Catalogue(NAMES), reports=reports).people
    assert people is not None
    assert sum(people.values()) == reports
    assert people["items"] >= 1
    assert min(people.values()) >= 0


def test_tables_of_absurdly_many_are_refused() -> None:
    """A crafted number of reports is refused, and so are too few people."""
    plan = plan_sizes(ROUND_PROMISE)
    for asked, left in ((10**17, 10), (1_000, 2)):
        with pytest.raises(PlanError, match="must be"):
            refine(sizes_table(plan, asked), plan, 8, catalogue=Catalogue(NAMES), reports=left)


def test_poisson_is_poisson() -> None:
    """Its mean and its share of nothing are those of the law, also near 0."""
    for mean in (0.01, 1.0, 30.0):
        assert poisson(mean).mean == pytest.approx(mean, rel=1e-9)
        assert poisson(mean).shares[0] == pytest.approx(np.exp(-mean), rel=1e-9)


# ---- itemsets as entries


def test_itemsets_become_entries() -> None:
    """The most frequent itemsets are the entries, 1.5 · top at most, closed under taking subsets."""
    frame = mined(singles(FALLING) | PAIRS)
    for top in (2, 4, 12, 30):
        made = refine(frame, PLAN, top, candidates=True)
        entries = {frozenset(names) for names in made.plan.view.itemsets}
        assert len(entries) == min(round(1.5 * top), len(frame))
        assert all({name} in entries for entry in entries for name in entry)
    assert {"i00", "i01"} in entries
    assert made.plan.view.kind == "itemsets"


def test_a_subset_that_came_out_low_comes_along() -> None:
    """An itemset whose item noise pushed below it brings the item, where there is room for both."""
    rows = {("i00",): (0.5, 0.01), ("i01",): (0.01, 0.01), ("i02",): (0.2, 0.01), ("i00", "i01"): (0.4, 0.01)}
    entries = refine(mined(rows), PLAN, 2, candidates=True).plan.view.itemsets
    assert set(entries) == {("i00",), ("i01",), ("i00", "i01")}
    rows |= {("i00", "i01"): (0.15, 0.01)}
    entries = refine(mined(rows), PLAN, 2, candidates=True).plan.view.itemsets
    assert set(entries) == {("i00",), ("i02",), ("i01",)}


def test_names_with_commas_stay_apart() -> None:
    """The items a,b and the pair of a and b are two entries."""
    plan = make_plan(["a", "b", "a,b"], 2, ROUND_PROMISE, itemset_size=2)
    rows = {("a",): (0.4, 0.01), ("b",): (0.3, 0.01), ("a,b",): (0.2, 0.01), ("a", "b"): (0.1, 0.01)}
    made = refine(mined(rows, plan), plan, 4, candidates=True)
    assert set(made.plan.view.itemsets) == {("a",), ("b",), ("a,b",), ("a", "b")}


# ---- the view


def test_a_taxonomy_goes_along_and_means_the_same() -> None:
    """A name that was an item of its own does not become the item above it because the shortlist lacks it."""
    view = View(
        others="error",
        parents=(("brie", "cheese"), ("cheese", "dairy"), ("milk", "dairy"), ("skim", "milk"), ("yogurt", "dairy")),
        left_out=("yogurt",),
    )
    first = make_plan(["bread", "dairy", "milk"], 2, ROUND_PROMISE, view=view, itemset_size=2)
    rows = {("bread",): (0.4, 0.001), ("dairy",): (0.3, 0.001), ("milk",): (0.01, 0.001)}
    made = refine(mined(rows, first), first, 1)
    assert list(made.plan.catalogue) == ["bread", "dairy"]
    for names in (["brie"], ["milk"], ["skim"], ["yogurt"], ["bread", "skim"], ["dairy", "skim", "brie"]):
        before = {first.catalogue[item] for item in view_transaction(names, first)} - {"milk"}
        assert {made.plan.catalogue[item] for item in view_transaction(names, made.plan)} == before
    assert made.plan.view.left_out == ("milk", "yogurt")
    assert view_transaction(["salt"], made.plan) == []


# ---- refusals


@pytest.mark.parametrize(
    ("rows", "top", "wrong"),
    [
        ({("i00",): (0.5, 0.1)}, 8, "needs 2 single items, the table has 1"),
        ({}, 8, "needs 2 single items, the table has 0"),
        ({("i00", "i01"): (0.5, 0.1)}, 8, "needs 2 single items, the table has 0"),
        ({("x",): (0.5, 0.1), ("y",): (0.5, 0.1)}, 8, "names items that its plan does not have"),
        (singles(FALLING), 0, "top must be"),
    ],
)
def test_refusals(rows, top, wrong) -> None:
    """A table without two items, of other names, and a number out of range are refused."""
    with pytest.raises(AssocprivError, match=wrong):
        refine(mined(rows), PLAN, top)


def test_more_refusals() -> None:
    """A table of another plan, entries that are no items, no itemsets and no people are refused."""
    frame = mined(singles(FALLING))
    other = make_plan(NAMES, 3, ROUND_PROMISE)
    with pytest.raises(EstimateError, match="not with the plan given"):
        refine(frame, other)
    with pytest.raises(PlanError, match="reports must"):
        refine(frame, PLAN, reports=0)
    entries = refine(frame, PLAN, 4, candidates=True).plan
    with pytest.raises(EstimateError, match="this plan asks for itemsets"):
        refine(mined(singles(FALLING), entries), entries)
    with pytest.raises(EstimateError, match="needs 2 of them, the table has 1"):
        refine(mined({("i00",): (0.5, 0.1)}), PLAN, candidates=True)
    with pytest.raises(EstimateError, match="must be a mined table of a sizes plan"):
        ap.refine(frame, PLAN, histogram=frame)
    with pytest.raises(TypeError, match="plan must be a Plan"):
        ap.refine(frame, "plan.json")  # type: ignore[arg-type]


# ---- the walk


def run(*arguments):
    """Run a command with --json; it must succeed."""
    result = CliRunner().invoke(main, [*map(str, arguments), "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def baskets_of_sizes(rng: np.random.Generator, count: int) -> list[str]:
    """Return baskets of 30 items, the lower the likelier; 0 and 1 go together."""
    chances = 0.5 / np.arange(2, 32)
    holds = rng.random((count, 30)) < chances
    holds[:, 1] = np.where(holds[:, 0], rng.random(count) < 0.7, holds[:, 1])
    return [" ".join(map(str, np.flatnonzero(row))) for row in holds]


def truth_of(lines: list[str], names: frozenset[str]) -> float:
    """Return the support of an itemset in whole baskets."""
    return sum(names <= set(line.split()) for line in lines) / len(lines)


def test_three_rounds_from_sizes_to_a_combined_table(rng: np.random.Generator, tmp_path: Path) -> None:
    """Sizes, all items, a shortlist, itemsets: other people each, one table at the end that is near the truth."""
    lines = baskets_of_sizes(rng, 80_000)
    ends = [0, 8_000, 32_000, 56_000, 80_000]
    for number, (start, end) in enumerate(pairwise(ends)):
        (tmp_path / f"b{number}.dat").write_text("\n".join(lines[start:end]) + "\n")

    def collect(number: int, least: str) -> Path:
        plan, reports = tmp_path / f"p{number}.json", tmp_path / f"r{number}.parquet"
        run("randomize", tmp_path / f"b{number}.dat", "--plan", plan, "-o", reports, "--empty", "keep")
        run("mine", reports, "--min-support", least, "-o", tmp_path / f"t{number}.parquet")
        return tmp_path / f"t{number}.parquet"

    promise = ["--prior", "5%", "--posterior", "50%"]
    first = run("plan", "--histogram", *promise, "-o", tmp_path / "p0.json")
    assert (first["view"], first["transaction_size"]) == ("sizes", 1)
    sizes = collect(0, "2%")
    asked = ["--items", 30, "--reports", 72_000, "--top", 8]
    opening = run("refine", sizes, "--plan", tmp_path / "p0.json", *asked, "-o", tmp_path / "p1.json")
    assert (opening["items"], opening["itemset_size"], opening["sizes_from"]) == (30, 1, "histogram")
    assert sum(opening["people"].values()) == 72_000
    assert opening["reports"] == opening["people"]["items"]
    items = collect(1, "2%")
    more = ["--histogram", sizes, "--top", 8]
    second = run("refine", items, "--plan", tmp_path / "p1.json", *more, "-o", tmp_path / "p2.json")
    assert second["both"]["highest_posterior"] == "19/20"
    assert second["both"]["amplification_limit"] == "361/1"
    assert (second["promise"], second["sizes_from"]) == ({"prior": "1/20", "posterior": "1/2"}, "histogram")
    assert {"0", "1"} <= set(second["entries"])
    shortlist = collect(2, "4%")
    third = run("refine", shortlist, "--plan", tmp_path / "p2.json", *more, "--itemsets", "-o", tmp_path / "p3.json")
    assert (third["view"], third["items"] <= 12, "0,1" in third["entries"]) == ("itemsets", True, True)
    candidates = collect(3, "4%")
    assert candidates.exists()


def test_almost_no_privacy_loss_tells_nothing(tmp_path: Path) -> None:
    """Where γ is just above 1 a plan for the next round says that nothing can be discovered."""
    first = make_plan(NAMES, 2, ap.Breach("5%", "5.0001%"), itemset_size=2)
    ap.write_plan(first, tmp_path / "p.json")
    frame = mined(singles(FALLING) | PAIRS, first)
    frame.attrs["assocpriv"] |= {"operator": first.operator.to_json()}
    ap.write_itemsets(frame, tmp_path / "t.json")
    for more in ([], ["--itemsets"]):
        arguments = ["refine", tmp_path / "t.json", "--plan", tmp_path / "p.json", *more, "-o", tmp_path / "q.json"]
        result = CliRunner().invoke(main, [*map(str, arguments), "--force"])
        assert result.exit_code == 0, result.output
        assert "nothing below 100% can be discovered" in result.stdout
        assert "OTHER people" in result.stdout


# ---- blocks


LONG = SizeShares(np.array([24]), np.ones(1))


def test_later_rounds_have_blocks_where_baskets_are_long() -> None:
    """By sizes alone a shortlist is cut where people hold far more of it than M, and is not where they hold few."""
    short_sizes = SizeShares(np.array([3]), np.ones(1))
    asked = ((0.6, LONG), (0.07, short_sizes))
    long, short = (refine(mined(singles([s] * 40)), PLAN, 40, sizes=sizes, reports=10**6) for s, sizes in asked)
    assert long.plan.view.blocks is not None
    assert short.plan.view.blocks is None
    assert long.plan.view.others == "drop"


def test_blocks_stay_beside_a_taxonomy() -> None:
    """Whatever else the first plan's view does goes along with the blocks of the next."""
    view = View(parents=(("a", "i00"),), left_out=("z",))
    first = make_plan(NAMES, 4, ROUND_PROMISE, itemset_size=2, view=view)
    plan = refine(mined(singles([0.6] * 40), first), first, 40, sizes=LONG, reports=10**6).plan
    assert plan.view.blocks is not None
    assert plan.view.parents == view.parents
    assert "z" in plan.view.left_out


def test_all_items_in_blocks_after_sizes() -> None:
    """After a round of sizes the plan of all items has blocks where baskets are long, and the view of that plan."""
    plan = plan_sizes(ROUND_PROMISE)
    bounds = dict(zip(plan.catalogue, plan.view.bounds, strict=True))
    dense = next(name for name, low in bounds.items() if low >= 24)
    frame = mined({(dense,): (1.0, 0.01)}, plan)
    frame.attrs["assocpriv"].update(view="sizes", buckets=bounds)
    after = refine(frame, plan, catalogue=Catalogue.numbered(60)).plan
    assert after.view.blocks is not None
    assert after.view.others == "error"


PROMISE = Breach("5%", "50%")
SIZES = SizeShares(np.array([1, 2, 4, 8]), np.array([0.3, 0.3, 0.3, 0.1]))


def test_plans_of_all_rounds_keep_the_promise() -> None:
    """Every round's plan is strictly within the promise; catalogues and views are what the round asks for."""
    names = [f"item {i}" for i in range(30)]
    people = People(PROMISE, 10_000, SIZES)
    plans = [
        plan_sizes(PROMISE),
        plan_items(Catalogue(names), people),
        plan_items(Catalogue(names), people, pairs=True),
        plan_shortlist(names[:12], np.linspace(0.3, 0.02, 12), people, 20)[0],
        plan_itemsets([names[:1], names[:2], names[1:3]], np.array([0.2, 0.1, 0.1]), people),
    ]
    for plan in plans:
        assert plan.amplification < PROMISE.amplification_limit
    assert [plan.view.kind for plan in plans] == ["sizes", "items", "items", "items", "itemsets"]
    assert plans[0].transaction_size == plans[0].itemset_size == 1
    assert plans[2].itemset_size == 3
    assert plans[3].view.others == "drop"
    assert plans[4].view.itemsets == tuple(tuple(sorted(names[a:b])) for a, b in ((0, 1), (0, 2), (1, 3)))


def test_longer_baskets_get_a_larger_m() -> None:
    """M grows with what baskets hold, and shrinks with γ: noise then costs more than sampling."""
    catalogue = Catalogue.numbered(200)
    long = SizeShares(np.array([10]), np.ones(1))
    short = SizeShares(np.array([1, 2]), np.array([0.8, 0.2]))
    sizes = [plan_items(catalogue, People(PROMISE, 100_000, shares)).transaction_size for shares in (short, long)]
    assert sizes[0] <= 2 < sizes[1]


def test_focus_foresees_which_sizes_are_wanted() -> None:
    """With a few very popular items pairs and triples are among the wanted; with many rare ones single items are."""
    weights = {k: weight for k, weight, _ in expected_focus(np.array([0.6, 0.5, 0.4, 0.05, 0.02]), 8).sizes}
    assert weights[2] >= weights[1] * 0.5
    rare = {k: weight for k, weight, _ in expected_focus(np.full(100, 0.02), 64).sizes}
    assert rare[1] > 1 > rare[2] > rare[3]
    for _, _, shares in expected_focus(np.array([0.6, 0.5, 0.4]), 5).sizes:
        assert sum(shares) == pytest.approx(1)
        assert min(shares) >= 0


def test_shortlist_asks_what_can_matter() -> None:
    """Items that may reach the last wanted itemset: of sharp estimates few, of noisy ones more, up to a bound."""

    def known(sigma: float) -> Knowledge:
        return {(i,): measured(0.9 / (i + 1), sigma**2) for i in range(100)}

    rule = EntryRule(most=4.0)
    sharp = rule.shortlisted(known(1e-6), 10)
    assert sharp == list(range(len(sharp)))
    assert len(sharp) <= 10
    assert len(sharp) < len(rule.shortlisted(known(0.03), 10)) < 40
    assert len(rule.shortlisted(known(1.0), 10)) == 40


def test_dense_baskets_need_few_items() -> None:
    """Of items that nearly everybody has nine make 255 itemsets of up to four: no other item can be among the top."""
    assert guessed_least(np.full(9, 0.9), 64) > 0.6
    known: Knowledge = {(i,): measured(0.9 if i < 9 else 0.3, 1e-8) for i in range(60)}
    assert EntryRule().shortlisted(known, 64) == list(range(9))


def test_candidates_are_those_that_may_be_wanted() -> None:
    """A pair that is probably rare but may be a pattern is asked about; without exploring it is not."""
    known: Knowledge = {(i,): measured(0.1 - 0.004 * i, 1e-8) for i in range(20)}
    known[0, 1] = Estimate(0.01, 1e-3, 0.01, 1e-3, ((0.9, 0.0, 1e-8), (0.1, 0.09, 1e-5)))
    assert (0, 1) in EntryRule().candidates(known, 10)
    assert (0, 1) not in EntryRule(explore=False).candidates(known, 10)
    assert len(EntryRule(chance=0.0, most_entries=1.5).candidates(known, 10)) == 15


@pytest.mark.parametrize("rounds", [1, 2, 3])
@pytest.mark.parametrize("items", [0.0, 0.5, 1.0])
def test_shares_add_up(rounds: int, items: float) -> None:
    """Nobody is left out, nobody asked twice; rounds that there are not ask nobody."""
    shares = PeopleSplit(rounds=rounds).shares(0.02, items)
    assert sum(shares) == pytest.approx(1)
    assert min(shares) >= 0
    assert all(share == 0 for share in shares[rounds + 1 :])


def test_more_are_asked_about_sizes_the_larger_the_noise() -> None:
    """Fewer people and a stronger promise ask a larger share about sizes, between 2 and 6 in a hundred."""
    shares = [sizes_share(PROMISE, people) for people in (10**3, 250_000, 10**8)]
    assert shares[0] == 0.06 > shares[1] > shares[2] == 0.02
    assert sizes_share(Breach("5%", "20%"), 250_000) > shares[1]


def test_sizes_decide_how_many_are_asked_about_all_items() -> None:
    """Fewer people, a weaker plan and longer baskets at equal supports ask for more of them, within bounds."""
    short, long = SizeShares(np.array([4]), np.ones(1)), SizeShares(np.array([2, 30]), np.array([0.93, 0.07]))
    at = [items_share(1_000, People(PROMISE, people, short), 64) for people in (10**3, 10**5, 10**6, 10**8)]
    assert at[0] == 0.6 > at[1] > at[2] > at[3] == 0.3
    assert items_share(1_000, People(Breach("5%", "20%"), 10**6, short), 64) > at[2]
    # so weak a promise has no noise that a float could show
    assert items_share(10, People(Breach("1e-24", f"0.{'9' * 24}"), 1_000, short), 64) == 0.3
    assert short.mean == pytest.approx(long.mean, abs=0.05)
    assert items_share(1_000, People(PROMISE, 10**6, long), 64) > at[2]
