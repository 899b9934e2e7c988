"""Decision trees from released values: corrections, growth and pruning against naive versions and scikit-learn."""

from dataclasses import asdict
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from naive import rejects, released_table
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

from assocpriv.files.model_files import tree_from_text, tree_to_text
from assocpriv.files.report_files import Reports
from assocpriv.guarantees.amplification import Guarantee
from assocpriv.guarantees.errors import EstimateError, PlanError
from assocpriv.numeric import ReleasedTreeClassifier, grow_tree, predict, released_frame
from assocpriv.plans.numeric.table_plan import (
    CategoryColumn,
    Clear,
    LabelColumn,
    Mechanism,
    NumberColumn,
    TablePlan,
    UniformNoise,
    Window,
    default_intervals,
)
from assocpriv.server.numeric.tree_growth import Box, CandidateSplit, GrowthLimits, PositionedRecords, grow, prune
from assocpriv.server.numeric.tree_positions import ReleasedRecords, channel_of, correct, quotas, reconstruct
from assocpriv.server.numeric.trees import ClassColumn, TreeRequest


def number(name: str, mechanism: Mechanism, *, optional: bool = False, intervals: int = 10) -> NumberColumn:
    """Return a column of numbers from 0 to 1."""
    return NumberColumn(name, mechanism, optional, Fraction(0), Fraction(1), intervals)


def table_plan(
    noise: Mechanism, colour: Mechanism, *, optional: bool = False, label: Mechanism | None = None
) -> TablePlan:
    """Return a plan of two numbers, a category and a class."""
    columns = (
        *(number(name, noise, optional=optional) for name in "xy"),
        CategoryColumn("colour", colour, optional, ("red", "green", "blue")),
        LabelColumn("class", label or Clear(2), False, ("yes", "no")),
    )
    protected = [column.is_protected for column in columns]
    return TablePlan(columns, sum(protected[:-1]), Guarantee("0.01%", "99.99%") if any(protected) else None)


def make_table(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Return records whose class depends on x, and on the colour if y is low."""
    made = pd.DataFrame({"x": rng.random(n), "y": rng.random(n), "colour": rng.choice(["red", "green", "blue"], n)})
    made["class"] = np.where((made.x < 0.5) ^ ((made.y < 0.3) & (made.colour == "blue")), "yes", "no")
    return made


# ---- corrections


def naive_sorted(codes, shares):
    """Assign the lowest released values to the first interval, and so on: AS00, section 4.2, by a loop."""
    ends = [round(len(codes) * sum(shares[: place + 1])) for place in range(len(shares) - 1)]
    given = {code: [] for code in codes}
    for rank, code in enumerate(sorted(codes)):
        given[code].append(sum(rank >= end for end in ends))
    return given


def test_numbers_get_their_quotas_in_order(rng: np.random.Generator) -> None:
    """Sorted codes fill the intervals' quotas: every code has the same positions as from a loop, except for ties."""
    channel = channel_of(TablePlan((number("x", UniformNoise(10, 3)),), 0), 0)
    codes = rng.integers(0, 16, 500).astype(np.uint16)
    shares = reconstruct(np.bincount(codes, minlength=16), channel)
    positions = correct(codes, channel, np.random.default_rng(0), shares)
    assert np.bincount(positions, minlength=10).tolist() == quotas(500, shares).tolist()
    found = {code: sorted(positions[codes == code].tolist()) for code in np.unique(codes).tolist()}
    assert found == naive_sorted(codes.tolist(), shares.tolist())
    assert abs(quotas(500, shares) - 500 * shares).max() <= 1


def test_categories_move_the_fewest_records(rng: np.random.Generator) -> None:
    """The counts fit the inverted response, and the number of moved records is the difference of counts."""
    column = CategoryColumn("c", Window(4, 1, 6, 1), False, ("a", "b", "c", "d"))
    channel = channel_of(TablePlan((column,), 1, Guarantee("1%", "20%")), 0)
    codes = rng.choice(4, 900, p=[0.5, 0.3, 0.1, 0.1]).astype(np.uint8)
    counts = np.bincount(codes, minlength=4)
    inverse = np.linalg.solve(channel.matrix, counts / 900)
    wanted = quotas(900, np.clip(inverse, 0, 1) / np.clip(inverse, 0, 1).sum())
    positions = correct(codes, channel, rng, reconstruct(counts, channel))
    final = np.bincount(positions, minlength=4)
    assert abs(final - wanted).max() <= 1 + 900 * abs(np.minimum(inverse, 0)).sum()
    assert (positions != codes).sum() == np.maximum(final - counts, 0).sum()


def test_omitted_columns_get_positions_by_the_shares(rng: np.random.Generator) -> None:
    """Missing and omitted values get positions by the shares, and the estimated number stays missing."""
    columns = (number("x", Window(10, 3, 9, 1), optional=True), number("y", Window(10, 3, 9, 1)))
    plan = TablePlan(columns, 1, Guarantee("1%", "99%"))
    channel = channel_of(plan, 0)
    assert (channel.missing_code, channel.omitted_code) == (12, 13)
    codes = np.concatenate([rng.integers(0, 12, 600), np.full(150, 12), np.full(250, 13)]).astype(np.uint8)
    shares = reconstruct(np.bincount(codes[:750], minlength=13), channel)
    positions = correct(codes, channel, np.random.default_rng(1), shares)
    assert (positions == 10).sum() == pytest.approx(1000 * shares[-1], abs=2)
    known, omitted = (np.bincount(each, minlength=11)[:10] for each in (positions, positions[750:]))
    of_values = shares[:10] / shares[:10].sum()
    assert abs(known - known.sum() * of_values).max() <= 3
    assert not rejects(omitted, of_values)
    raw = channel_of(plan, 0, corrected=False)
    assert (correct(np.array([12, 13], np.uint8), raw, rng, shares) == raw.n_positions).all()


# ---- no noise


@pytest.mark.parametrize("method", ["by-class", "global", "local", "randomized"])
def test_without_noise_the_tree_is_scikit_learns(method: str) -> None:
    """On raw values every method grows scikit-learn's tree on the same intervals: splits, shares, predictions.

    Leaves of 100 records and these data avoid ties between columns, where scikit-learn takes one at random.
    """
    rng = np.random.default_rng(0)
    X = rng.random((3000, 3))
    y = np.where((X[:, 0] < 0.43) ^ (X[:, 1] > 0.71), "p", "q")
    y[rng.random(3000) < 0.1] = "p"
    plan = TablePlan(
        (*(number(name, Clear(100), intervals=50) for name in "abc"), LabelColumn("k", Clear(2), False, ("p", "q"))), 0
    )
    mine = ReleasedTreeClassifier(plan, method=method, max_depth=7, pruning="none", min_samples_leaf=100).fit(X, y)
    intervals = np.floor(X * 50)
    theirs = DecisionTreeClassifier(max_depth=7, min_samples_leaf=100, random_state=0).fit(intervals, y)
    tree = theirs.tree_
    nodes = zip(tree.feature, tree.threshold, strict=True)
    expected = [(column, (np.floor(at) + 1) / 50) if column >= 0 else None for column, at in nodes]
    found = [node.split and (node.split.column, node.split.below) for node in mine.model_.nodes]
    assert [f and f[0] for f in found] == [e and e[0] for e in expected]
    assert np.allclose([f[1] for f in found if f], [e[1] for e in expected if e], atol=1e-12)
    fresh = rng.random((2000, 3))
    assert (mine.predict(fresh) == theirs.predict(np.floor(fresh * 50))).all()
    assert np.allclose(mine.predict_proba(fresh), theirs.predict_proba(np.floor(fresh * 50)), atol=1e-12)


def boxes(counts, column=0, *below, number=1):
    """Return a box that is split in a column, with the boxes below it, or a leaf."""
    mass, split = np.array(counts, dtype=float), CandidateSplit(0.0, column, 3, False)
    if not below:
        return Box(mass, [], number=number)
    halves = (boxes(*each, number=2 * number + side) for side, each in enumerate(below))
    return Box(mass, [], number=number, split=split, below=tuple(halves))


def test_description_lengths_by_hand() -> None:
    """Costs by hand: 12 records with 5 errors cost 6 as a leaf; the split is cheaper: 1 + 1 + (1 + 1) + (1 + 0) = 5."""

    def left(tree, categories=(), **how):
        root = boxes(*tree)
        prune(root, categories, **how)
        return [tuple(box.mass) for box in root.leaves]

    keep = ((7, 5), 0, ((7, 1),), ((0, 4),))
    assert left(keep) == [(7, 1), (0, 4)]
    # as a leaf 1 + 3 = 4, split 1 + 1 + (1 + 0) + (1 + 0) = 4: at equal costs the leaf stays
    equal = ((9, 3), 0, ((9, 0),), ((0, 3),))
    assert left(equal) == [(9, 3)]
    assert left(equal, whole=True) == [(9, 0), (0, 3)]
    # the only test of a category costs ln 1 = 0, so this split stays
    assert left(equal, [0]) == [(9, 0), (0, 3)]
    # a split below one that is pruned: 1 + 2 = 3 against 2 + (1 + 2) + 1 = 6, then 1 + 6 against 2 + 3 + (1 + 1)
    assert left(((8, 6), 0, ((7, 2), 1, ((5, 2),), ((2, 0),)), ((1, 4),))) == [(8, 6)]
    assert left(((80, 60), 0, ((70, 2), 1, ((50, 2),), ((20, 0),)), ((10, 58),))) == [(70, 2), (10, 58)]


# ---- local


def naive_gini_split(positions, labels):
    """Return (gain, column, boundary) of the best split by loops over all columns and boundaries."""

    def impurity(part):
        return len(part) * (1 - sum(np.mean(part == k) ** 2 for k in (0, 1)))

    found = []
    for column, values in enumerate(positions.T):
        for at in np.unique(values)[1:].tolist():
            left = values < at
            cost = impurity(labels[left]) + impurity(labels[~left])
            found.append((round(impurity(labels) - cost, 9), column, at))
    return max(found, default=(0, -1, 0), key=lambda split: split[0])


def naive_local(of, rows, positions, used, number, depth, least):
    """Grow the local tree by recursion: nested (column, left, right), or the counts of a leaf."""
    counts = tuple(np.bincount(of.labels[rows], minlength=2).tolist())
    again = min(counts) >= least
    if again:
        rng, positions = np.random.default_rng([7, number] if number > 1 else 7), positions.copy()
        for place in set(range(len(of.channels))) - used:
            for k in (0, 1):
                mine, channel = of.labels[rows] == k, of.channels[place]
                codes = of.codes[place][rows[mine]]
                shares = reconstruct(np.bincount(codes, minlength=len(channel.matrix)), channel)
                positions[mine, place] = correct(codes, channel, rng, shares)
    if depth == 0 or 0 in counts:
        return counts
    _, column, at = naive_gini_split(positions, of.labels[rows])
    if column < 0:
        return counts
    left = positions[:, column] < at
    sides = [(rows[side], positions[side], used | {column}) for side in (left, ~left)]
    return (column, *(naive_local(of, *side, 2 * number + at, depth - 1, least) for at, side in enumerate(sides)))


def nested(box: Box):
    """Return a tree in the form of the naive one."""
    if box.below is None or box.split is None:
        return tuple(box.mass.astype(int).tolist())
    return box.split.column, *map(nested, box.below)


@pytest.mark.parametrize("seed", range(4))
def test_local_growth_equals_a_naive_version(seed: int) -> None:
    """The splits and the counts in every leaf equal those of a recursion with the Gini index by loops."""
    rng = np.random.default_rng(seed)
    plan = TablePlan(tuple(number(name, UniformNoise(8, 2), intervals=8) for name in "ab"), 0)
    channels = [channel_of(plan, place) for place in range(2)]
    raw = rng.integers(0, 8, (400, 2))
    labels = ((raw[:, 0] > 3) ^ ((raw[:, 1] > 5) & (rng.random(400) < 0.8))).astype(np.int64)
    codes = [(raw[:, place] + rng.integers(0, 5, 400)).astype(np.uint8) for place in range(2)]
    of = ReleasedRecords(codes, labels, channels, 2)
    records = PositionedRecords(of, 7, local=True, least=20)
    root = records.root(of.shares)
    grow(root, [8, 8], GrowthLimits(max_depth=3), records.divide)
    assert nested(root) == naive_local(of, np.arange(400), np.zeros((400, 2), dtype=np.int32), set(), 1, 3, 20)


# ---- protected classes


@pytest.mark.parametrize("window", [Window(2, 1, 3, 1), Window(3, 1, 5, 2)])
def test_shares_of_a_protected_class_are_inverted(window: Window) -> None:
    """Expected counts of a response give the true shares; impossible counts give shares within 0 and 1."""
    n, counts = window.inputs, (6, 3, 1)[: window.inputs]
    column = ClassColumn.from_column(LabelColumn("c", window, False, tuple("abc"[:n])))
    low, high = (weight / window.total(optional=False) for weight in (window.low, window.high))
    found = column.true_shares([low * sum(counts) + (high - low) * count for count in counts])
    assert found == pytest.approx([count / sum(counts) for count in counts])
    assert max(column.true_shares([99, 1, 1][:n])) == 1.0


def test_protected_columns_and_class_are_learned(rng: np.random.Generator) -> None:
    """With γ for all columns and the class, trees find the rule, and the root has the shares of the true classes."""
    plan = table_plan(Window(20, 5, 20, 1), Window(3, 1, 9, 1), label=Window(2, 1, 4, 1))
    train, test = make_table(rng, 40_000), make_table(rng, 4_000)
    reports = released_table(train, plan, 1)
    model = grow_tree(reports)
    assert (predict(test, model) == test["class"]).mean() > 0.85
    assert model.nodes[0].shares[0] == pytest.approx((train["class"] == "yes").mean(), abs=0.02)
    assert grow_tree(reports, "class", "randomized").n_leaves > 1


def test_sampled_columns_and_missing_values(rng: np.random.Generator) -> None:
    """With missing values and one of three columns a report, the tree finds x; frames grow the same tree as reports."""
    columns = table_plan(Window(20, 5, 40, 1), Window(3, 1, 40, 1), optional=True).columns
    plan = TablePlan(columns, 1, Guarantee("1%", "99%"))
    train, test = make_table(rng, 30_000), make_table(rng, 2_000)
    train.loc[rng.random(len(train)) < 0.2, "y"] = np.nan
    reports = released_table(train, plan, 1)
    model = grow_tree(reports, method="by-class", seed=3)
    assert (predict(test, model) == test["class"]).mean() > 0.8
    frame = released_frame(reports)
    fitted = ReleasedTreeClassifier(plan, random_state=3).fit(frame.drop(columns="class"), frame["class"])
    assert fitted.model_ == model
    with pytest.raises(EstimateError, match="does not distinguish missing values"):
        ReleasedTreeClassifier(plan).fit(frame[["x", "y", "colour"]], frame["class"])


# ---- the estimator


def test_scikit_learns_checks() -> None:
    """scikit-learn's own checks of estimators pass."""
    results = check_estimator(ReleasedTreeClassifier(), on_fail=None, on_skip=None)
    assert not [(each["check_name"], each["exception"]) for each in results if each["status"] == "failed"]


def test_growth_has_the_same_options_everywhere() -> None:
    """The estimator, whose signature scikit-learn reads, has the options and defaults of grow_tree."""
    options = ReleasedTreeClassifier().get_params()
    options["seed"] = options.pop("random_state")
    assert asdict(TreeRequest()) == {name: options[name] for name in options if name not in ("plan", "label")}
    with pytest.raises(TypeError, match="unexpected keyword argument 'depth'"):
        grow_tree(Reports(table_plan(UniformNoise(10, 3), Clear(3)), np.empty((0, 4), np.uint8)), depth=3)


def test_clone_pipeline_and_exports(rng: np.random.Generator) -> None:
    """The estimator clones, works in a pipeline, predicts as its model does, and is written as text and DOT."""
    table = make_table(rng, 5_000)
    plan = table_plan(UniformNoise(50, 10), Clear(3))
    frame, raw = released_frame(released_table(table, plan, 1)), make_table(rng, 500)
    made = clone(ReleasedTreeClassifier(plan, method="local", max_depth=3))
    assert made.get_params()["method"] == "local"
    line = make_pipeline(FunctionTransformer(), made).fit(frame.drop(columns="class"), frame["class"])
    assert (line.predict(raw) == predict(raw, made.model_)).all()
    assert [predict(record, made.model_) for record in raw.to_dict("records")] == line.predict(raw).tolist()
    proba = line.predict_proba(raw)
    assert np.allclose(proba.sum(axis=1), 1)
    assert (made.classes_[proba.argmax(axis=1)] == line.predict(raw)).all()
    assert made.export_text().startswith("x < 0.")
    assert made.export_dot().startswith("digraph tree {")
    assert made.export_dot().count("->") == len(made.model_.nodes) - 1
    assert tree_from_text(tree_to_text(made.model_)) == made.model_


def test_intervals_of_raw_numbers_follow_the_rule() -> None:
    """Without a plan numbers are cut into the number of intervals of AS00; all thresholds are among their edges."""
    X = np.random.default_rng(0).random((3000, 1))
    model = ReleasedTreeClassifier(pruning="none", min_samples_leaf=1).fit(X, X[:, 0] * 7 % 1 > 0.5).model_
    edges = np.linspace(X.min(), X.max(), default_intervals(3000) + 1)
    assert {node.split.below for node in model.nodes if node.split} <= set(edges)


# ---- refusals


@pytest.mark.parametrize(
    ("n", "of_class", "message"),
    [(2000, "yes", "one class"), (5, None, "more than there are records"), (0, None, "no records")],
)
def test_reports_that_make_no_tree(rng: np.random.Generator, n: int, of_class: str | None, message: str) -> None:
    """One class, more intervals than records and no reports are refused."""
    plan, table = table_plan(UniformNoise(10, 3), Clear(3)), make_table(rng, 2000)
    table["class"] = of_class or table["class"]
    with pytest.raises(EstimateError, match=message):
        grow_tree(Reports(plan, released_table(table, plan, 1).packed[:n]))


def test_classes_that_are_none(rng: np.random.Generator) -> None:
    """A number, an unknown column and unknown options are refused."""
    plan = table_plan(UniformNoise(10, 3), Clear(3))
    reports = released_table(make_table(rng, 200), plan, 1)
    for wrong, error, message in (
        (["x"], EstimateError, "column x holds numbers"),
        (["z"], PlanError, "no column 'z'"),
        (["class", "best"], EstimateError, "method must be one of"),
    ):
        with pytest.raises(error, match=message):
            grow_tree(reports, *wrong)
    assert grow_tree(reports, "colour").class_name == "colour"
    for given, error, message in (
        (plan, EstimateError, "no report of the plan holds"),
        ("plan.json", TypeError, "plan must be a TablePlan"),
    ):
        with pytest.raises(error, match=message):
            ReleasedTreeClassifier(given).fit([[9.0, 0.1, "red"]] * 20, ["yes", "no"] * 10)


def test_a_channel_is_as_wide_as_its_codes() -> None:
    """Without correction, codes outside the range lie in intervals of the same width, and others in the plan's."""
    column = number("x", UniformNoise(20, 7))
    taken = channel_of(TablePlan((column,), 0), 0, corrected=False)
    middles = np.array([(code - 7 + 0.5) / 20 for code in range(34)])
    found = np.searchsorted(taken.edges, middles, side="right") - 1
    assert found.tolist() == taken.positions.tolist()
    assert set(column.interval_edges) <= set(taken.edges)
