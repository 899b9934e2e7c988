"""A short catalogue for other people: its promise, what both answers of one person tell, its items, its rule."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from fit import Z_LIMIT
from planned import planned

import assocpriv as ap
from assocpriv.cli.main import main
from assocpriv.client.bulk import randomize_chunks
from assocpriv.client.transactions import align_baskets, transaction_of
from assocpriv.planning.baskets import make_plan
from assocpriv.planning.expected import Sizes, expected_error
from assocpriv.planning.shortlist import refine, short_catalogue
from assocpriv.plans.names import Names
from assocpriv.plans.operator import Operator
from assocpriv.promise.errors import AssocprivError, EstimateError, PlanError
from assocpriv.records.baskets import Baskets
from assocpriv.simulation.enumeration import SeededEntropy

PROMISE = ap.Breach("5%", "50%")
NAMES = [f"i{place:02}" for place in range(40)]
PLAN = planned(NAMES, 4, PROMISE, itemset_size=2)


def table(rows, plan="a", *, reports=1000, population=True, m=3, **more):
    """Return a mined table of {names: (support, standard error)} with made-up counts."""
    frame = pd.DataFrame(
        {
            "support": [support for support, _ in rows.values()],
            "itemsets": pd.Series([frozenset(names) for names in rows], dtype=object),
            "std_error": [error for _, error in rows.values()],
            "ci_low": 0.0,
            "ci_high": 1.0,
            "length": [len(names) for names in rows],
            "frequent": True,
            "count": [
                int(np.nan_to_num(support) * reports) + place for place, (support, _) in enumerate(rows.values())
            ],
        }
    )
    frame.attrs["assocpriv"] = {
        "format": "assocpriv-itemsets", "version": 3, "plan_id": plan * 64, "reports": reports, "transaction_size": m,
        "population": population, "min_support": 0.01, "confidence_level": 0.95, "itemset_size": 2, "levels": [],
        "operator": Operator(1, 1, 1, 3, (1, 7)).to_json(), **more,
    }  # fmt: skip
    return frame


def mined(rows, plan=PLAN, **more):
    """Return a table mined with a plan."""
    frame = table(rows, m=plan.items.transaction_size, **more)
    frame.attrs["assocpriv"]["plan_id"] = plan.plan_id
    return frame


def singles(supports, error=1e-4):
    """Return rows of single items, the first names with these supports."""
    return {(name,): (support, error) for name, support in zip(NAMES, supports, strict=False)}


FALLING = [0.5 - 0.01 * place for place in range(40)]
PAIRS = {("i00", "i01"): (0.3, 0.01), ("i01", "i02"): (0.25, 0.01), ("i00", "i02"): (0.05, 0.01)}


# ---- the promise


@pytest.mark.parametrize("promise", [("5%", "50%"), ("10%", "25%"), ("1/3", "2/5"), ("1e-6", "0.999999")], ids=str)
def test_the_next_plan_keeps_the_promise(promise: tuple[str, str]) -> None:
    """The next plan promises what the first did, exactly, and keeps it."""
    first = planned(NAMES, 2, ap.Breach(*promise), itemset_size=2)
    made = refine(mined(singles(FALLING) | PAIRS, first), first, best=8, reports=10_000)
    assert made.plan.promise == first.promise
    assert made.plan.amplification < first.promise.amplification_limit


def test_both_answers_are_bayes_by_hand() -> None:
    """What two answers may tell is Bayes' rule for two independent reports, each at the limit of its promise."""
    made = refine(mined(singles(FALLING)), PLAN, best=8)
    limit, prior, posterior = Fraction(19), Fraction(1, 20), Fraction(1, 2)
    assert made.amplification_limit == 361
    likelihoods = Fraction(limit**2), Fraction(1)
    up = prior * likelihoods[0] / (prior * likelihoods[0] + (1 - prior) * likelihoods[1])
    down = posterior * likelihoods[1] / (posterior * likelihoods[1] + (1 - posterior) * likelihoods[0])
    assert (made.highest_posterior, made.lowest_posterior) == (up, down) == (Fraction(19, 20), Fraction(1, 362))


# ---- the short catalogue


def test_the_likeliest_items_are_asked() -> None:
    """The catalogue has the items of largest support, as many as wanted, in the order of the first one."""
    made = refine(mined(singles(FALLING[::-1])), PLAN, best=8)
    assert list(made.plan.catalogue) == NAMES[-8:]
    assert made.plan.names.others == "drop"
    assert made.reports == 1000
    assert made.short.share == pytest.approx(sum(FALLING[:8]) / Sizes.usual(40, sum(FALLING)).mean)
    assert made.short.held == pytest.approx(sum(FALLING[:8]), rel=0.01)
    assert refine(mined(singles(FALLING)), PLAN).plan.n_items == 40


@pytest.mark.parametrize("n_items", [1000, 20_000])
@pytest.mark.parametrize("mean", [3, 12])
def test_the_rule(n_items: int, mean: int) -> None:
    """Asking only the best sold pays where a pair's variance halves and baskets hold no more of them than M."""
    choice = ap.choose_plan(n_items, PROMISE, reports=10**6, mean_size=mean)
    short = short_catalogue(choice)
    assert short is not None
    ranks = [1 / rank for rank in range(1, n_items + 1)]
    assert short.share == pytest.approx(sum(ranks[:100]) / sum(ranks))
    assert short.held == pytest.approx(mean * short.share, rel=1e-3)
    law = Sizes.usual(n_items, mean).thinned(short.share)
    second = make_plan(100, PROMISE, reports=10**6, like=law, transaction_size=6)
    noises = [
        expected_error(plan.items, sizes, float(plan.share(plan.items)), 2).noise
        for plan, sizes in ((choice.plan, choice.request.sizes), (second, law))
    ]
    assert short.gain == pytest.approx((noises[0] / noises[1]) ** 2)
    assert short.pays == (short.gain >= 2 and short.held <= 6)
    assert short.error == pytest.approx(noises[1] / noises[0])


def test_catalogues_that_are_short_already() -> None:
    """Of 200 items nothing is said."""
    assert short_catalogue(ap.choose_plan(200, PROMISE)) is None


def test_the_mean_size_that_reports_tell_is_taken() -> None:
    """Where the table has the mean size of baskets, the share of what is bought is by that."""
    sizes = {"answers": 50, "mean": 20.0, "undoing": {"1": [2.0, 0.1], "2": [4.0, 0.2]}}
    rows = singles(FALLING)
    frame = mined(rows, sizes=sizes)
    whole = [2 * support for support, _ in rows.values()]
    frame = frame.assign(whole_support=whole, whole_std_error=0.01, model_error=0.1)
    frame.attrs = mined(rows, sizes=sizes).attrs
    made = refine(frame, PLAN, best=8)
    # a support is at most 1
    assert made.short.share == pytest.approx(
        sum(min(2 * support, 1) for support in FALLING[:8]) / Sizes.usual(40, 20).mean
    )


def test_supports_below_nothing_plan_the_least() -> None:
    """Where noise puts the supports of all items below 0, a plan still comes of it, which does not pay."""
    made = refine(mined(singles([-0.1, -0.2, -0.3])), PLAN)
    assert made.plan.n_items == 3
    assert made.short.share == 0.01
    assert not made.short.pays or made.short.gain >= 2


# ---- the view


def test_a_taxonomy_goes_along_and_means_the_same() -> None:
    """A name that was an item of its own does not become the item above it because the shortlist lacks it."""
    rules = Names(
        others="error",
        parents=(("brie", "cheese"), ("cheese", "dairy"), ("milk", "dairy"), ("skim", "milk"), ("yogurt", "dairy")),
        left_out=("yogurt",),
    )
    first = planned(["bread", "dairy", "milk"], 2, PROMISE, names=rules, itemset_size=2)
    rows = {("bread",): (0.4, 0.001), ("dairy",): (0.3, 0.001), ("milk",): (0.01, 0.001)}
    made = refine(mined(rows, first), first, best=2)
    assert list(made.plan.catalogue) == ["bread", "dairy"]
    for names in (["brie"], ["milk"], ["skim"], ["yogurt"], ["bread", "skim"], ["dairy", "skim", "brie"]):
        before = {first.catalogue[item] for item in transaction_of(names, first)} - {"milk"}
        assert {made.plan.catalogue[item] for item in transaction_of(names, made.plan)} == before
    assert made.plan.names.left_out == ("milk", "yogurt")
    assert transaction_of(["salt"], made.plan) == []


# ---- refusals


@pytest.mark.parametrize(
    ("rows", "best", "wrong"),
    [
        ({("i00",): (0.5, 0.1)}, 8, "needs 2 single items, the table has 1"),
        ({}, 8, "needs 2 single items, the table has 0"),
        ({("i00", "i01"): (0.5, 0.1)}, 8, "needs 2 single items, the table has 0"),
        ({("x",): (0.5, 0.1), ("y",): (0.5, 0.1)}, 8, "names items that its plan does not have"),
        (singles(FALLING), 1, "best must be"),
    ],
)
def test_refusals(rows, best, wrong) -> None:
    """A table without two items, of other names, and a number out of range are refused."""
    with pytest.raises(AssocprivError, match=wrong):
        refine(mined(rows), PLAN, best=best)


def test_more_refusals() -> None:
    """A table of another plan, what is no plan and no people are refused."""
    frame = mined(singles(FALLING))
    other = planned(NAMES, 3, PROMISE)
    with pytest.raises(EstimateError, match="not with the plan given"):
        refine(frame, other)
    with pytest.raises(PlanError, match="reports must"):
        refine(frame, PLAN, reports=0)
    with pytest.raises(TypeError, match="plan must be a Plan"):
        ap.refine(frame, "plan.json")  # type: ignore[arg-type]


# ---- the walk


def reports_of(baskets: Baskets, plan: ap.Plan, seed: int) -> ap.Reports:
    """Return everybody's report."""
    chunks = randomize_chunks(align_baskets(baskets, plan)[0], plan, entropy=SeededEntropy(seed))
    return ap.Reports(plan, np.concatenate([chunk.packed for chunk in chunks]))


def test_other_people_tell_more_of_the_shortlist(rng: np.random.Generator) -> None:
    """Of the pair that matters the second collection errs less than the first, and its interval is about the truth."""
    held = rng.random((60_000, 60)) < np.where(np.arange(60) < 6, 0.3, 0.02)
    held[:, 1] |= held[:, 0]
    first_people, others = (
        Baskets.from_sets([map(str, np.flatnonzero(row)) for row in half], ap.Catalogue.numbered(60))
        for half in (held[:30_000], held[30_000:])
    )
    plan = planned(60, 5, PROMISE, itemset_size=2, reports=30_000)
    reports = reports_of(first_people, plan, 1)
    found = ap.mine(reports, "15%", max_itemset=1)
    made = refine(found, plan, best=8, reports=30_000).plan
    assert set(map(str, range(6))) <= set(made.catalogue)
    assert made.n_items < 20
    before, after = (
        ap.ask(each, [["0", "1"]], population=True).iloc[0] for each in (reports, reports_of(others, made, 2))
    )
    assert after["std_error"] < 0.95 * before["std_error"]
    # what sampling to M items loses of a third is little here
    assert abs(after["support"] - 0.3) < Z_LIMIT * after["std_error"] + 0.02


def test_almost_no_privacy_loss_tells_nothing(tmp_path: Path) -> None:
    """Where γ is just above 1 a plan for the next round says that nothing can be discovered."""
    first = planned(NAMES, 2, ap.Breach("5%", "5.01%"), itemset_size=2)
    ap.write_plan(first, tmp_path / "p.json")
    frame = mined(singles([0.3] * 3), first)
    frame.attrs["assocpriv"] |= {"operator": first.items.operator.to_json()}
    ap.write_itemsets(frame, tmp_path / "t.json")
    arguments = ["refine", tmp_path / "t.json", "--plan", tmp_path / "p.json", "-o", tmp_path / "q.json"]
    result = CliRunner().invoke(main, [*map(str, arguments)])
    assert result.exit_code == 0, result.output
    assert "nothing below 100% can be discovered" in result.stdout
    assert "OTHER people" in result.stdout
