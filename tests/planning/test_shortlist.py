"""Planning a shortlist for other people: its promise, what both answers of one person tell, its items, its M."""

from fractions import Fraction
from math import exp
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from fit import Z_LIMIT

import assocpriv as ap
from assocpriv.cli.main import main
from assocpriv.client.bulk import randomize_chunks
from assocpriv.client.transactions import align_baskets, transaction_of
from assocpriv.planning.baskets import make_plan
from assocpriv.planning.shortlist import MOST_ITEMS, REACH, guessed_least, poisson, refine, shortlisted
from assocpriv.plans.names import Names
from assocpriv.plans.operator import Operator
from assocpriv.promise.errors import AssocprivError, EstimateError, PlanError
from assocpriv.records.baskets import Baskets
from assocpriv.simulation.enumeration import SeededEntropy

PROMISE = ap.Breach("5%", "50%")
NAMES = [f"i{place:02}" for place in range(40)]
PLAN = make_plan(NAMES, 4, PROMISE, itemset_size=2)


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
    first = make_plan(NAMES, 2, ap.Breach(*promise), itemset_size=2)
    made = refine(mined(singles(FALLING) | PAIRS, first), first, top=8, reports=10_000)
    assert made.plan.promise == first.promise
    assert made.plan.amplification < first.promise.amplification_limit


def test_both_answers_are_bayes_by_hand() -> None:
    """What two answers may tell is Bayes' rule for two independent reports, each at the limit of its promise."""
    made = refine(mined(singles(FALLING)), PLAN, top=8)
    limit, prior, posterior = Fraction(19), Fraction(1, 20), Fraction(1, 2)
    assert made.amplification_limit == 361
    likelihoods = Fraction(limit**2), Fraction(1)
    up = prior * likelihoods[0] / (prior * likelihoods[0] + (1 - prior) * likelihoods[1])
    down = posterior * likelihoods[1] / (posterior * likelihoods[1] + (1 - posterior) * likelihoods[0])
    assert (made.highest_posterior, made.lowest_posterior) == (up, down) == (Fraction(19, 20), Fraction(1, 362))


# ---- the shortlist


def test_the_shortlist_is_the_best_items() -> None:
    """With clear supports it has the items that reach the last wanted itemset, in the order of the catalogue."""
    made = refine(mined(singles(FALLING[::-1])), PLAN, top=8)
    count = made.plan.n_items
    assert list(made.plan.catalogue) == NAMES[-count:]
    assert FALLING[count - 1] >= guessed_least(np.array(FALLING), 8) > FALLING[count]
    assert made.plan.names.others == "drop"
    assert made.reports == 1000
    assert made.held == pytest.approx(sum(sorted(FALLING)[-count:]))


def test_doubtful_items_are_asked_for_too() -> None:
    """Items that may be as frequent as the last wanted itemset are kept, up to a multiple of the number wanted."""
    least = guessed_least(np.array(FALLING), 8)
    near = sum(support + REACH * 0.02 >= least for support in FALLING)
    assert near > sum(support >= least for support in FALLING)
    for top, error, expected in ((8, 0.02, near), (8, 1.0, MOST_ITEMS * 8), (30, 1.0, 40)):
        assert len(shortlisted(np.array(FALLING), np.full(40, error), top)) == expected


def test_the_docs_tell_the_rule() -> None:
    """docs/cli/server.md names the numbers that the shortlist is made by."""
    text = " ".join((Path(__file__).parents[2] / "docs" / "cli" / "server.md").read_text(encoding="utf-8").split())
    assert f"{REACH:g} standard errors" in text
    assert f"at most {MOST_ITEMS:g} · N in all" in text


def test_poisson_is_poisson() -> None:
    """Of a thousand people as many hold each number as the law says; all that are more hold as many as there are."""
    for mean in (0.01, 1.0, 30.0):
        law = poisson(mean, 50)
        assert law.total() == pytest.approx(1000, abs=5)
        assert sum(size * count for size, count in law.items()) / law.total() == pytest.approx(mean, rel=0.06)
        assert law[0] == round(1000 * exp(-mean))
    assert poisson(30.0, 3) == {3: 1000}


def test_longer_baskets_get_a_larger_m() -> None:
    """M grows with what people hold of the shortlist; of two items nobody holds more than two."""
    sizes = []
    for support in (0.005, 0.05, 0.12):
        made = refine(mined(singles([support] * 40)), PLAN, top=40, reports=10**6).plan
        assert made.n_items == 40
        sizes.append(made.items.transaction_size)
    assert sizes[0] < sizes[1] < sizes[2]
    assert refine(mined(singles([0.9, 0.9])), PLAN).plan.items.transaction_size == 2


def test_supports_below_nothing_plan_the_least() -> None:
    """Where noise puts the supports of all items below 0, a plan still comes of it."""
    made = refine(mined(singles([-0.1, -0.2, -0.3])), PLAN, top=2)
    assert made.plan.items.transaction_size == 1
    assert made.held > 0


# ---- the view


def test_a_taxonomy_goes_along_and_means_the_same() -> None:
    """A name that was an item of its own does not become the item above it because the shortlist lacks it."""
    rules = Names(
        others="error",
        parents=(("brie", "cheese"), ("cheese", "dairy"), ("milk", "dairy"), ("skim", "milk"), ("yogurt", "dairy")),
        left_out=("yogurt",),
    )
    first = make_plan(["bread", "dairy", "milk"], 2, PROMISE, names=rules, itemset_size=2)
    rows = {("bread",): (0.4, 0.001), ("dairy",): (0.3, 0.001), ("milk",): (0.01, 0.001)}
    made = refine(mined(rows, first), first, top=1)
    assert list(made.plan.catalogue) == ["bread", "dairy"]
    for names in (["brie"], ["milk"], ["skim"], ["yogurt"], ["bread", "skim"], ["dairy", "skim", "brie"]):
        before = {first.catalogue[item] for item in transaction_of(names, first)} - {"milk"}
        assert {made.plan.catalogue[item] for item in transaction_of(names, made.plan)} == before
    assert made.plan.names.left_out == ("milk", "yogurt")
    assert transaction_of(["salt"], made.plan) == []


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
        refine(mined(rows), PLAN, top=top)


def test_more_refusals() -> None:
    """A table of another plan, what is no plan and no people are refused."""
    frame = mined(singles(FALLING))
    other = make_plan(NAMES, 3, PROMISE)
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
    plan = make_plan(60, 5, PROMISE, itemset_size=2, reports=30_000)
    reports = reports_of(first_people, plan, 1)
    found = ap.mine(reports, "15%", max_itemset=1)
    made = refine(found, plan, top=8, reports=30_000).plan
    assert set(map(str, range(6))) <= set(made.catalogue)
    assert made.n_items < 20
    before, after = (
        ap.ask(each, [["0", "1"]], population=True).iloc[0] for each in (reports, reports_of(others, made, 2))
    )
    assert after["std_error"] < 0.8 * before["std_error"]
    # what sampling to M items loses of a third is little here
    assert abs(after["support"] - 0.3) < Z_LIMIT * after["std_error"] + 0.02


def test_almost_no_privacy_loss_tells_nothing(tmp_path: Path) -> None:
    """Where γ is just above 1 a plan for the next round says that nothing can be discovered."""
    first = make_plan(NAMES, 2, ap.Breach("5%", "5.01%"), itemset_size=2)
    ap.write_plan(first, tmp_path / "p.json")
    frame = mined(singles([0.3] * 3), first)
    frame.attrs["assocpriv"] |= {"operator": first.items.operator.to_json()}
    ap.write_itemsets(frame, tmp_path / "t.json")
    arguments = ["refine", tmp_path / "t.json", "--plan", tmp_path / "p.json", "-o", tmp_path / "q.json"]
    result = CliRunner().invoke(main, [*map(str, arguments)])
    assert result.exit_code == 0, result.output
    assert "nothing below 100% can be discovered" in result.stdout
    assert "OTHER people" in result.stdout


# ---- the rule


def test_shortlist_asks_what_can_matter() -> None:
    """Items that may reach the last wanted itemset: of sharp estimates few, of noisy ones more, up to a bound."""
    supports = 0.9 / np.arange(1, 101)
    sharp, noisy, wild = (shortlisted(supports, np.full(100, error), 10) for error in (1e-6, 0.03, 1.0))
    assert sharp == list(range(len(sharp)))
    assert len(sharp) <= 10
    assert len(sharp) < len(noisy) < 40
    assert len(wild) == 40


def test_dense_baskets_need_few_items() -> None:
    """Of items that nearly everybody has nine make 255 itemsets of up to four: no other item can be among the top."""
    assert guessed_least(np.full(9, 0.9), 64) > 0.6
    supports = np.where(np.arange(60) < 9, 0.9, 0.3)
    assert shortlisted(supports, np.full(60, 1e-4), 64) == list(range(9))
