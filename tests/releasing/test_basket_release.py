"""Releases: what one basket changes, the noise, and what is estimated from them."""

import dataclasses
import io
import itertools
import json
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import run

import assocpriv as ap
from assocpriv.files.releases import SCALE, Release, basket_weights
from assocpriv.guarantees.errors import AssocprivError
from assocpriv.guarantees.integer_noise import IntegerNoise, epsilon_from_rho
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.records.baskets import Baskets
from assocpriv.releasing.basket_release import ReleaseOptions, _Groups, release_baskets
from assocpriv.simulation.basket_simulation import RawCounter, TrueSupports
from assocpriv.simulation.enumeration import SeededEntropy
from assocpriv.simulation.synthetic import QuestSettings, generate_quest

OPTIONS, PURE = ReleaseOptions(Fraction(1), Fraction(1, 10**8)), ReleaseOptions(Fraction(1), Fraction(0))
BASKETS = [{"a", "b"}, {"b"}] * 5_000


class NoNoise(SeededEntropy):
    """Words in the middle, which draw no noise."""

    def words(self, count: int) -> Any:
        """Return words of which each begins a uniform number of about one half."""
        return np.full(count, 1 << 63, dtype=np.uint64)


@cache
def shop(n: int, seed: int = 1, items: int = 60, mean: float = 4.0) -> Baskets:
    """Return generated baskets."""
    return generate_quest(QuestSettings(n_baskets=n, n_items=items, mean_size=mean, seed=seed))


@cache
def quiet(n: int, delta: Fraction) -> Release:
    """Return a release of generated baskets without noise."""
    return release_baskets(shop(n), ReleaseOptions(Fraction(1), delta), entropy=NoNoise(1))


def refused(says: str, call: Callable[..., Any], /, *given: Any, **options: Any) -> None:
    """Check that a call is refused with such words."""
    with pytest.raises(AssocprivError, match=says):
        call(*given, **options)


def counts_of(release: Release) -> list[np.ndarray]:
    """Return all numbers of a release that depend on the baskets, by vector."""
    sizes = [stage.size_counts for stage in release.stages]
    return [np.array([release.total]), *sizes, *(level.counts for _, level in release.levels)]


# ---- sensitivity


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**8)])
def test_weights_bound_what_a_basket_changes(delta: Fraction) -> None:
    """By any size, the weights of all k-itemsets have at most the norm that noise is for, and nearly that norm."""
    squared = delta > 0
    sizes = np.arange(1, 200)
    for m, k in itertools.product((1, 2, 5, 9, 16), (1, 2, 3)):
        weights = basket_weights(sizes, m, k, squared=squared).tolist()
        norms = [comb(c, k) * (w**2 if squared else w) for c, w in zip(sizes.tolist(), weights, strict=True)]
        limit = comb(m, k) * (SCALE**2 if squared else SCALE)
        assert max(norms) <= limit
        assert norms[m - 1] == limit
        assert all(w == SCALE for w in weights[:m])


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**8)])
@pytest.mark.parametrize("size", [0, 1, 3, 6, 30])
def test_neighbours_differ_by_no_more_than_the_noise_is_for(delta: Fraction, size: int) -> None:
    """Without noise, one further basket of any size changes each vector of counts by at most its stated norm.

    The sum of the costs at these changes is at most ε; with one basket more the choices of the release are the same, as
    they depend on noisy values that it hardly moves.
    """
    baskets = shop(6_000)
    names = [*baskets.catalogue]
    more = Baskets.from_sets(
        [*([names[i] for i in each] for each in baskets), names[:size]], baskets.catalogue, empty="keep"
    )
    first, second = quiet(6_000, delta), release_baskets(more, ReleaseOptions(Fraction(1), delta), entropy=NoNoise(1))
    assert [stage.transaction_size for stage in first.stages] == [stage.transaction_size for stage in second.stages]
    noises = [first.total_noise, *(stage.size_noise for stage in first.stages)]
    noises += [level.noise for _, level in first.levels]
    cost = Fraction(0)
    for old, new, noise in zip(counts_of(first), counts_of(second), noises, strict=True):
        if len(old) == len(new):
            change = (new - old).tolist()
            cost += noise.rate * (sum(x * x for x in change) if noise.squared else sum(map(abs, change)))
    spent = epsilon_from_rho(cost, delta) if delta and cost else cost
    assert 0 < spent <= first.spent <= 1


def test_counts_without_noise_are_weighted_supports() -> None:
    """Counts are the sums of the weights of the baskets that hold a set, over all sets of the second stage."""
    baskets = shop(3_000, mean=6.0)
    made = release_baskets(baskets, ReleaseOptions(Fraction(4), Fraction(1, 10**8)), entropy=NoNoise(1))
    assert made.total == len(baskets)
    for stage, level in made.levels:
        inside = [frozenset(stage.items.tolist()) & basket for basket in baskets]
        k = level.itemsets.shape[1]
        sizes = np.array([len(each) for each in inside])
        weights = basket_weights(np.maximum(sizes, 1), stage.transaction_size, k, squared=True)
        for itemset, count in list(zip(level.itemsets.tolist(), level.counts.tolist(), strict=True))[::7]:
            held = [weight for weight, basket in zip(weights.tolist(), inside, strict=True) if basket >= set(itemset)]
            assert count == sum(held)
        bounds = np.append(stage.size_bounds, 1 << 40)
        assert stage.size_counts.tolist() == np.histogram(sizes, bounds)[0].tolist()


def test_groups_count_as_a_loop_does() -> None:
    """Groups by size count what single baskets hold; empty baskets, and no baskets at all, are no obstacle."""
    baskets = Baskets.from_sets([[], ["a"], ["a", "b"], ["a", "b", "c"], []] * 50, Catalogue([*"abcd"]), empty="keep")
    groups = _Groups(baskets, 2)
    pairs = np.array(list(itertools.combinations(range(4), 2)))
    assert groups.sizes.tolist() == [2, 3]
    assert groups.count(pairs, np.array([1, 10])).tolist() == [50 + 500, 500, 0, 500, 0, 0]
    assert _Groups(baskets[:0], 2).count(pairs, np.zeros(0, dtype=np.int64)).tolist() == [0] * 6


class Lowered(NoNoise):
    """No noise for the first vectors; then noise far below 0."""

    def __init__(self, vectors: int) -> None:
        super().__init__(1)
        self.left = vectors

    def words(self, count: int) -> Any:
        """Return words in the middle, later words near 0."""
        self.left -= 1
        return super().words(count) if self.left >= 0 else np.full(count, 1 << 20, dtype=np.uint64)


def test_larger_sets_are_chosen_by_noisy_counts() -> None:
    """A triple whose pairs are frequent is counted; it is not where noise makes these pairs rare."""
    baskets = Baskets.from_sets([{"a", "b", "c"}] * 80 + [{"a"}, {"b"}, {"c"}] * 4_000, Catalogue([*"abcd"]))
    plain, lowered = (release_baskets(baskets, OPTIONS, entropy=source) for source in (NoNoise(1), Lowered(4)))
    largest = [[level.itemsets.shape[1] for _, level in made.levels] for made in (plain, lowered)]
    assert largest == [[1, 2, 3], [1, 2]]
    assert (lowered.levels[1][1].counts < 0).all()


def test_every_number_has_noise() -> None:
    """No vector of counts, and not the number of baskets, is that without noise."""
    baskets = shop(30_000)
    exact = counts_of(quiet(30_000, OPTIONS.delta))[:3]
    for seed in range(3):
        made = release_baskets(baskets, OPTIONS, entropy=SeededEntropy(seed))
        assert made.total != len(baskets)
        for one, other in zip(exact, counts_of(made)[:3], strict=True):
            assert len(one) != len(other) or (one != other).mean() > 0.8
        assert all(abs(each.noise.variance) > SCALE**2 for _, each in made.levels)


# ---- budget


def test_the_budget_is_spent_and_not_exceeded() -> None:
    """The noise proves the stated ε, and no more than a part in 10^6 less."""
    for options in (
        OPTIONS, ReleaseOptions(Fraction(4), Fraction(0)), ReleaseOptions(Fraction(1, 2), Fraction(1, 10**6), 3, 2),
        ReleaseOptions(Fraction(2), Fraction(1, 10**6), 0, 1),
    ):  # fmt: skip
        made = release_baskets(shop(30_000), options, entropy=SeededEntropy(1))
        assert made.spent <= made.epsilon
        largest = max(level.itemsets.shape[1] for _, level in made.levels)
        if options.max_itemset == largest > 1:
            assert made.spent > made.epsilon * Fraction(999_999, 1_000_000)


def test_persons_cost_as_often_as_they_count() -> None:
    """With R baskets of a person noise is R times as large, and at most R of each are counted."""
    one, many = (
        release_baskets(shop(20_000), ReleaseOptions(Fraction(2), Fraction(1, 10**8), each), entropy=NoNoise(1))
        for each in (1, 4)
    )
    assert float(one.total_noise.rate / many.total_noise.rate) == pytest.approx(16)
    rows = [f"{person},{basket},tea" for person in range(400) for basket in range(person * 7, person * 7 + 7)]
    table = pd.read_csv(io.StringIO("card,receipt,item\n" + "\n".join(rows)), dtype=str)
    made = ap.release(
        table, ["tea"], epsilon=50, delta="1e-6", person="card", baskets_per_person=2,
        layout="long transaction=receipt item=item",
    )  # fmt: skip
    assert abs(made.total - 800) < 60
    assert "2 at most" in made.unit


def test_a_release_that_claims_too_little_is_refused() -> None:
    """A smaller ε than the noise proves is refused; so is the noise of a smaller change."""
    made = release_baskets(shop(20_000), OPTIONS, entropy=SeededEntropy(1))
    refused("the release's noise proves only epsilon", dataclasses.replace, made, epsilon=Fraction(99, 100))
    refused("the release's noise proves only epsilon", dataclasses.replace, made, baskets_per_person=2)
    louder = IntegerNoise(made.total_noise.rate * 2)
    refused("the release's noise proves only epsilon", dataclasses.replace, made, total_noise=louder)


# ---- estimates


def test_frequent_pairs_of_20_000_baskets_are_found() -> None:
    """At (1, 10⁻⁸) 18 of the true first 20 pairs are among the first 20, and intervals hold in nine of ten cases.

    Estimates of pairs are within a standard error of .35 points; the raw counts of large baskets are not corrected.
    """
    baskets = shop(20_000, items=200, mean=6.0)
    truth = TrueSupports(baskets.catalogue, RawCounter(baskets.offsets, baskets.items, len(baskets.catalogue)))
    pairs = list(map(frozenset, itertools.combinations(baskets.catalogue, 2)))
    found = ap.mine(release_baskets(baskets, OPTIONS, entropy=SeededEntropy(5)), top=150)
    own = found[found["length"] == 2].nlargest(20, "support")["itemsets"]
    assert len({*own} & {pairs[place] for place in np.argsort(-truth.supports(pairs))[:20]}) >= 18
    known = found[found["length"] <= 2]
    exact = truth.supports(known["itemsets"].tolist())
    held = (known["ci_low"] <= exact) & (exact <= known["ci_high"])
    assert held.mean() > 0.9
    z = (known["unbiased"] - exact) / known["unbiased_error"]
    assert abs(z.mean()) < 0.5
    assert 0.5 < z.std() < 1.5


def test_all_questions_read_releases(tmp_path: Path) -> None:
    """Rules, named sets, substitutes and comparisons take releases and their files; two are read together."""
    shops = [release_baskets(shop(10_000, seed, 20), OPTIONS, entropy=SeededEntropy(seed)) for seed in (1, 2)]
    paths = [tmp_path / "0.parquet", tmp_path / "1.parquet"]
    for made, path in zip(shops, paths, strict=True):
        made.write(path)
    together, alone = ap.mine(paths), ap.mine(shops[0])
    assert together.attrs["assocpriv"]["reports"] > 1.9 * alone.attrs["assocpriv"]["reports"]
    assert together["std_error"].iloc[0] < alone["std_error"].iloc[0]
    best = [*alone["itemsets"].iloc[0]]
    assert ap.ask(shops[0], [best])["support"].iloc[0] == pytest.approx(alone["support"].iloc[0])
    assert len(ap.association_rules(alone, "20%")) > 0
    assert ap.compare([shops[0]], [shops[1]]).to_frame()["itemsets"].map(len).max() >= 2
    assert "lift_by_size" in ap.substitutes(shops[0])
    refused("no release", ap.mine, shops[0], "2%", fdr="5%")
    refused("refine takes the reports of a first round", ap.refine, shops[0])
    refused("named twice", ap.mine, [paths[0], paths[0]])


# ---- files and refusals


def test_files_keep_all(tmp_path: Path) -> None:
    """A release that is read again is the same, and its file holds no name that the catalogue lacks."""
    made = ap.release([{"milk", "tea"}, {"tea"}] * 5_000, ["milk", "tea"], epsilon=2)
    made.write(tmp_path / "r.parquet")
    again = ap.read_release(tmp_path / "r.parquet")
    assert (again.plan_id, again.spent, repr(again)) == (made.plan_id, made.spent, repr(made))
    table = pq.read_table(tmp_path / "r.parquet")
    assert {name for names in table["itemset"].to_pylist() for name in names} == {"milk", "tea"}


def test_pure_releases_are_read_again(tmp_path: Path) -> None:
    """A release without δ is written and read; so are ε and δ where the last digit of a logarithm decides."""
    for number, options in enumerate(
        ({"delta": 0}, {"epsilon": 18, "delta": "1e-10"}, {"epsilon": 13, "delta": "1e-9"})
    ):
        made = ap.release(BASKETS, ["a", "b"], output=tmp_path / f"{number}.parquet", **options)
        assert ap.read_release(tmp_path / f"{number}.parquet").plan_id == made.plan_id


def test_sizes_are_those_of_the_stage_that_counts_them() -> None:
    """Pairs and triples can be asked for where the first stage counts baskets of one item fully."""
    baskets = Baskets.from_sets([{"a"}] * 9_000 + [{"a", "b", "c"}] * 400, Catalogue([*"abc"]))
    made = release_baskets(baskets, OPTIONS, entropy=SeededEntropy(3))
    assert made.stages[0].transaction_size < 3
    assert len(ap.ask(made, [["a", "b", "c"]])) == 1
    assert ap.mine(made, max_itemset=3)["length"].max() >= 2


def stated(table: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    """Return a table with other facts."""
    facts = change(json.loads(table.schema.metadata[b"assocpriv-release"]))
    return table.replace_schema_metadata({b"assocpriv-release": json.dumps(facts).encode()})


def resized(facts: dict[str, Any]) -> dict[str, Any]:
    """Return facts of another transaction size of the first stage."""
    first, second = facts["stages"]
    return facts | {"stages": [first | {"transaction_size": 12}, second]}


def counted(table: Any, counts: list[int | None]) -> Any:
    """Return a table with other first counts."""
    return table.set_column(2, "count", pa.array(counts + [1] * (table.num_rows - len(counts)), pa.int64()))


STAGE_7 = pa.array([7], pa.int8())
EDITS: dict[str, Callable[[Any], Any]] = {  # of the table of a release, which no writer makes
    "a count twice": lambda table: pa.concat_tables([table, table[:1]]),
    "rows of no stage": lambda table: pa.concat_tables([table, table[:1].set_column(0, "stage", STAGE_7)]),
    "rows reversed": lambda table: table.take(list(reversed(range(table.num_rows)))),
    "a column more": lambda table: table.append_column("exact", pa.array([0] * table.num_rows)),
    "counts as floats": lambda table: table.set_column(2, "count", table["count"].cast(pa.float64())),
    "a count missing": lambda table: counted(table, [None]),
    "the least count": lambda table: counted(table, [-(2**63)]),
    "no rows": lambda table: table[:0],
    "no second stage": lambda table: stated(table, lambda facts: facts | {"stages": facts["stages"][:1]}),
    "persons by a flag": lambda table: stated(table, lambda facts: facts | {"baskets_per_person": True}),
    "no total": lambda table: stated(table, lambda facts: {"tota1": facts.pop("total")} | facts),
    "a total as text": lambda table: stated(table, lambda facts: facts | {"total": "5"}),
    "a huge total": lambda table: stated(table, lambda facts: facts | {"total": 10**400}),
    "more δ than any": lambda table: stated(table, lambda facts: facts | {"delta": "1/2"}),
    "less ε than is spent": lambda table: stated(table, lambda facts: facts | {"epsilon": "1/2"}),
    "another version": lambda table: stated(table, lambda facts: facts | {"version": 2}),
    "no kind of noise": lambda table: stated(table, lambda facts: facts | {"squared": None}),
    "another size": lambda table: stated(table, resized),
}


@pytest.mark.parametrize("change", EDITS)
def test_what_no_writer_writes_is_refused(tmp_path: Path, change: str) -> None:
    """Counts whose noise the facts do not state, and facts of another form, are refused in one line."""
    ap.release(BASKETS, ["a", "b"], output=tmp_path / "r.parquet")
    table = pq.read_table(tmp_path / "r.parquet")
    edited = EDITS[change](table)
    assert not edited.equals(table, check_metadata=True)
    pq.write_table(edited, tmp_path / "c.parquet")
    refused(r"c\.parquet", ap.read_release, tmp_path / "c.parquet")


def test_baskets_count_once(tmp_path: Path) -> None:
    """A file named twice, or a copy of it, and a release in place of baskets are refused."""
    (tmp_path / "b.csv").write_text("a,b\nb\n" * 3_000, encoding="utf-8")
    (tmp_path / "copy.csv").write_bytes((tmp_path / "b.csv").read_bytes())
    for second in ("b.csv", "copy.csv"):
        refused("named twice, or is a copy", ap.release, [tmp_path / "b.csv", tmp_path / second], ["a", "b"])
    ap.release([tmp_path / "b.csv"], ["a", "b"], output=tmp_path / "r.parquet")
    refused("holds no baskets", ap.release, tmp_path / "r.parquet", ["a", "b"])
    refused("mine it first", ap.association_rules, tmp_path / "r.parquet")
    refused("baskets_per_person must be", ap.release, tmp_path / "b.csv", ["a", "b"], person="x", baskets_per_person=0)


def test_pure_noise_can_be_drawn_for_large_baskets() -> None:
    """M is at most a size for which noise can be drawn, also where nearly all baskets are larger."""
    made = release_baskets(shop(20_000, items=30, mean=12.0), PURE, entropy=SeededEntropy(1))
    assert made.spent <= 1
    assert made.stages[1].transaction_size >= 3


REFUSALS: list[tuple[dict[str, Any], str]] = [
    ({"epsilon": 0}, "epsilon must be above 0"), ({"epsilon": "x"}, "epsilon"), ({"delta": "0.5"}, "delta must be"),
    ({"delta": "0.0009"}, "below 1 over the number of baskets"), ({"max_itemset": 6}, "max itemset"),
    ({"delta": "1e-30"}, "denominator of at most"), ({"baskets_per_person": 2}, "needs person"),
    ({"epsilon": "0.001"}, "are too few|too large to be drawn"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "wrong"), REFUSALS)
def test_refusals(options: dict[str, Any], wrong: str) -> None:
    """Numbers out of range, and too few baskets, are refused."""
    refused(wrong, ap.release, [{"a"}, {"b"}] * 2_000, ["a", "b"], **options)


def test_few_baskets_and_short_catalogues() -> None:
    """Forty baskets tell nothing; unknown items are refused or dropped; one item and empty baskets can be counted."""
    refused("are too few for epsilon = 1", ap.release, [{"a"}] * 40, ["a"])
    refused("catalogue", ap.release, [{"a", "z"}] * 4_000, ["a"])
    made = ap.release([{"a", "z"}, set()] * 4_000, ["a"], unknown="drop", empty="keep")
    assert ap.mine(made)["support"].iloc[0] == pytest.approx(0.5, abs=0.05)


def test_a_release_of_single_items_names_no_second_round(tmp_path: Path) -> None:
    """Advice about plans is not printed for a release, which has none."""
    ap.release(BASKETS, ["a", "b"], max_itemset=1, output=tmp_path / "r.parquet")
    assert "refine" not in run("mine", tmp_path / "r.parquet", "-o", tmp_path / "m.csv").output


def test_a_part_of_baskets_is_released_like_a_copy() -> None:
    """A slice shares the arrays of all baskets."""
    part = shop(6_000)[1_000:5_000]
    copy = Baskets(part.catalogue, part.offsets - part.offsets[0], part.items[part.offsets[0] : part.offsets[-1]])
    one, other = (release_baskets(each, OPTIONS, entropy=SeededEntropy(1)) for each in (part, copy))
    assert len(one.stages) == 2
    for mine, others in zip(counts_of(one), counts_of(other), strict=True):
        assert mine.tolist() == others.tolist()
