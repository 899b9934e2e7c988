"""How far classes are told apart: shares moved together where codes bear nothing out, and trees that tell nothing."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from naive_shares import naive_weight

from assocpriv.client.tables import randomize_inputs
from assocpriv.files.reports import Reports
from assocpriv.numeric import grow_tree, predict
from assocpriv.plans.columns import CategoryColumn, Clear, LabelColumn, Window
from assocpriv.plans.tables import TablePlan
from assocpriv.promise.breaches import Breach
from assocpriv.records.tables import TableOptions, stream_table
from assocpriv.server import tree_pruning
from assocpriv.server.tree_growth import Branch, borne_out, channel_of, class_shares, reconstruct
from assocpriv.server.tree_pruning import held_out_gain, in_doubt
from assocpriv.simulation.enumeration import SeededEntropy

VALUES = tuple("abcdefghijklmnopqrst")


def many_columns(weight: int, n_columns: int = 8) -> TablePlan:
    """Return a plan of categories of 20 values, of which a report answers one, and a class in clear."""
    law = Window(20, 1, weight, 1)
    columns = tuple(CategoryColumn(f"c{place}", law, False, VALUES) for place in range(n_columns))
    return TablePlan((*columns, LabelColumn("class", Clear(2), False, ("yes", "no"))), 1, Breach("0.01%", "99.99%"))


def records(rng: np.random.Generator, n: int, *, tells: bool, n_columns: int = 8) -> pd.DataFrame:
    """Return records of which a quarter is of the class yes, told by the first column's first values or by nothing."""
    made = pd.DataFrame({f"c{place}": rng.choice(list(VALUES), n) for place in range(n_columns)})
    high = made.c0.isin(list(VALUES[:5])) if tells else np.zeros(n, dtype=np.bool_)
    chance = np.where(high, 0.85, 0.05) if tells else 0.25
    return made.assign(**{"class": np.where(rng.random(n) < chance, "yes", "no")})


def released(table: pd.DataFrame, plan: TablePlan, seed: int) -> Reports:
    """Return the reports of a table by the shipping client with seeded entropy."""
    inputs = stream_table(table, plan, TableOptions())
    return Reports(plan, np.concatenate(list(randomize_inputs(inputs, plan, entropy=SeededEntropy(seed), workers=1))))


@pytest.mark.parametrize("difference", [0, 0.05, 0.2, 0.6])
def test_what_is_borne_out_is_a_test_of_homogeneity(rng: np.random.Generator, difference: float) -> None:
    """λ of counts is what scipy's χ² test gives, with a code that nobody released left out."""
    shares = np.array([0.3, 0.3, 0.4 - 0.4 * difference, 0.4 * difference, 0])
    counts = np.array([rng.multinomial(800, [0.3, 0.3, 0.4, 0, 0]), rng.multinomial(500, shares)])
    assert borne_out(counts, in_a_row=False) == pytest.approx(naive_weight(counts), abs=1e-12)


def test_classes_that_do_not_differ_get_the_same_shares(rng: np.random.Generator) -> None:
    """By chance one column in ten seems to differ: of 400 at most 70, which 400 draws of 10% exceed in 2e-6.

    Shares of each class alone would differ in every one of them.
    """
    channel = channel_of(many_columns(4), 0)
    different = alone = 0
    for _ in range(400):
        codes, labels = rng.integers(0, 20, 600).astype(np.uint8), rng.integers(0, 2, 600)
        first, second = class_shares(codes, labels, channel).values()
        different += not np.array_equal(first, second)
        apart = [reconstruct(np.bincount(codes[labels == k], minlength=len(channel.matrix)), channel) for k in (0, 1)]
        alone += not np.allclose(*apart, atol=0.05)
    assert different <= 70
    assert alone == 400


def test_clear_differences_stay(rng: np.random.Generator) -> None:
    """Of 40,000 records that differ much shares by class are moved by less than a fiftieth of what they differ by."""
    channel = channel_of(many_columns(200), 0)
    labels = rng.integers(0, 2, 40_000)
    codes = np.where(labels == 1, rng.integers(0, 10, 40_000), rng.integers(10, 20, 40_000)).astype(np.uint8)
    found = class_shares(codes, labels, channel)
    alone = [reconstruct(np.bincount(codes[labels == k], minlength=len(channel.matrix)), channel) for k in (0, 1)]
    assert abs(found[0] - alone[0]).max() < abs(alone[0] - alone[1]).max() / 50


@pytest.mark.parametrize("method", ["by-class", "local"])
def test_a_tree_that_tells_nothing_is_a_leaf(rng: np.random.Generator, method: str) -> None:
    """Where no column has to do with the class all of five trees say the commonest class, whatever noise there is."""
    plan = many_columns(3)
    for seed in range(5):
        model = grow_tree(released(records(rng, 3_000, tells=False), plan, seed), "class", method)
        assert set(predict(records(rng, 200, tells=False), model)) == {"no"}


@pytest.mark.parametrize(("gain", "leaf"), [(0.01, True), (0.015, False)])
def test_a_tree_in_doubt_stands_by_what_it_gains(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, gain: float, leaf: bool
) -> None:
    """Of a quarter of errors a gain of a twentieth is wanted, 0.0125; less makes a leaf, if pruning may."""
    reports = released(records(rng, 20_000, tells=True), many_columns(60), 0)
    monkeypatch.setattr(tree_pruning, "in_doubt", lambda *_: True)
    monkeypatch.setattr(tree_pruning, "held_out_gain", lambda *_: gain)
    model = grow_tree(reports, "class")
    assert (model.undecidable, model.n_leaves == 1) == (leaf, leaf)
    assert grow_tree(reports, "class", pruning="none").n_leaves > 1


def test_gains_are_those_of_the_other_half(rng: np.random.Generator) -> None:
    """A tree that is wrong on purpose gains what it gets wrong, one that has the rule what it gets right.

    A fifth of 40,000 records, those of class 1, hold codes 0 … 9: errors of the commonest class, 0.2, are all mended by
    the rule, and with both leaves swapped no record is right, 0.8 less. One standard error of a share is below 0.01.
    """
    labels = (rng.random(40_000) < 0.2).astype(np.int64)
    codes = np.where(labels == 1, rng.integers(0, 10, 40_000), rng.integers(10, 20, 40_000)).astype(np.uint8)
    plan = TablePlan((CategoryColumn("c", Window(20, 1, 10_000, 1), False, VALUES),), 1, Breach("0.0001%", "99.9999%"))
    channel = replace(channel_of(plan, 0), ranks=np.arange(20, dtype=np.float32))
    for counts, gain in ((((0.0, 1.0), (1.0, 0.0)), 0.2), (((1.0, 0.0), (0.0, 1.0)), -0.8)):
        tree = [Branch((1.0, 1.0), 0, 10, False, 2), *map(Branch, counts)]
        found = held_out_gain([codes], labels, lambda *_, tree=tree: (tree, [channel]), rng)
        assert found == pytest.approx(gain, abs=0.04)


def test_doubt_is_of_the_first_split(rng: np.random.Generator) -> None:
    """A column without differences is in doubt, one with clear ones is not, nor a single leaf."""
    plan = many_columns(60)
    channel, labels = channel_of(plan, 0), rng.integers(0, 2, 4_000)
    split = [Branch((1.0, 1.0), 0, 10, False, 2), Branch((1.0, 0.0)), Branch((0.0, 1.0))]
    nothing, clear = rng.integers(0, 20, 4_000).astype(np.uint8), (10 * labels).astype(np.uint8)
    assert in_doubt(split, [nothing], labels, [channel])
    assert not in_doubt(split, [clear], labels, [channel])
    assert not in_doubt(split[1:2], [nothing], labels, [channel])


def test_a_column_that_tells_the_class_is_believed(rng: np.random.Generator) -> None:
    """One of eight columns says the class, a report answers one of them: the tree is not taken back."""
    train, test = records(rng, 40_000, tells=True), records(rng, 2_000, tells=True)
    for method in ("by-class", "local"):  # local has no two answers of anybody: it grows as by-class
        model = grow_tree(released(train, many_columns(60), 0), "class", method)
        assert not model.undecidable
        assert (predict(test, model) == test["class"]).mean() > 0.88  # the rule: 0.925, the commonest class: 0.75
