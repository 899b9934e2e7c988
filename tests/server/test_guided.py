"""Guided perturbation at the miner: sums without bias, where classes differ, the state.

What a promise mixes in is taken out over all reports there can be. Spectra have an order and a level, also of more
than two classes. The state adds up, publishes, and refuses what it must.
"""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from guided_tables import random_guidance, random_people, small_plan

from assocpriv.client.guided import randomize_tuples
from assocpriv.files.reports import Reports, read_reports
from assocpriv.plans.guidance import MIXED_TOTAL, WEIGHT_TOTAL, bit_weights, coin_of, mixed, mixing
from assocpriv.promise.breaches import Breach
from assocpriv.promise.errors import AssocprivError, EstimateError, FileError, PlanError, WireError
from assocpriv.server.guided import (
    BY_VALUE,
    RECENT,
    collect,
    corrected,
    naive_bayes,
    new_classifier,
    publish,
    random_products,
    random_start,
    read_state,
    released_tuples,
    replace_state,
    spectrum,
    start,
    write_state,
)
from assocpriv.simulation.enumeration import SeededEntropy


def expected(shares):
    """E[R'R] of independent bits: products of shares, on the diagonal the shares."""
    found = np.outer(shares, shares)
    np.fill_diagonal(found, shares)
    return found


def all_tuples(plan):
    """Every tuple of a plan, positions (D, attributes)."""
    return np.array(list(product(*map(range, plan.sizes))))


def mean_over_reports(plan, guidance, law, correct):
    """E of what one report of class 1 adds, with independent bits of these probabilities."""
    total = 0.0
    for report in product((0, 1), repeat=plan.width):
        chance = np.prod([p if bit else 1 - p for bit, p in zip(report, law, strict=True)])
        sums = np.zeros((2, plan.width, plan.width), dtype=np.int64)
        sums[1] = np.outer(report, report)
        total = total + chance * (corrected(np.array([0, 1]), sums, plan, guidance) if correct else sums)
    assert not np.any(total[0])
    return total[1]


def test_coins_are_taken_out(rng):
    """Under a promise kept by bits the corrected sums have the expectation of R(t)'R(t); the raw ones have not."""
    plan = small_plan("bits")
    guidance = random_guidance(plan, 3, rng)
    assert 0 < mixing(plan, guidance) < 1
    position = all_tuples(plan)[4:5]
    shares = bit_weights(guidance, plan, position)[0] / WEIGHT_TOTAL
    law = mixed(bit_weights(guidance, plan, position), coin_of(guidance, plan))[0] / MIXED_TOTAL
    assert np.allclose(mean_over_reports(plan, guidance, law, True), expected(shares))
    assert not np.allclose(mean_over_reports(plan, guidance, law, False), expected(shares))


def test_tuples_are_taken_out(rng):
    """Under a promise kept by tuples the same holds, of the mixture over all tuples."""
    plan = small_plan("tuple")
    guidance = random_guidance(plan, 3, rng)
    share = float(mixing(plan, guidance))
    laws = bit_weights(guidance, plan, all_tuples(plan)) / WEIGHT_TOTAL

    def mean(correct):
        found = [mean_over_reports(plan, guidance, law, correct) for law in laws]
        return (1 - share) * found[2] + share * np.mean(found, axis=0)

    assert np.allclose(mean(True), expected(laws[2]))
    assert not np.allclose(mean(False), expected(laws[2]))


def test_nothing_but_coins_says_nothing(rng):
    """Where nothing but coins is sent, nothing is added, instead of a division by 0."""
    plan = small_plan("bits", Breach("1%", "1.0001%"))
    guidance = random_guidance(plan, 5, rng)
    assert mixing(plan, guidance) > 0.9
    found = corrected(np.array([3, 3]), np.full((2, 5, 5), 3), plan, guidance)
    assert np.isfinite(found).all()


def test_many_tuples_are_sampled_without_bias(rng, monkeypatch):
    """With more tuples than are enumerated the mean over guidances of what is sampled is the mean over all."""
    plan = small_plan("tuple")
    guidance = random_guidance(plan, 2, rng)
    exact = random_products(plan, guidance)
    monkeypatch.setattr("assocpriv.server.guided._TUPLES", 5)
    same = [replace(guidance, serial=serial) for serial in range(1, 401)]
    sampled = np.array([random_products(plan, each) for each in same])
    errors = sampled.std(axis=0, ddof=1) / np.sqrt(len(sampled))
    varied = errors > 1e-9
    assert varied.any()
    assert (np.abs(sampled.mean(axis=0) - exact)[varied] < 4.9 * errors[varied]).all()
    assert (random_products(plan, same[0]) == sampled[0]).all()


MAGNITUDE = "magnitude"


def random_sums(rng, classes=2, width=6):
    """Sums of products of random tuples, whole numbers."""
    rows = [rng.integers(0, 2, (40, width)) for _ in range(classes)]
    return np.array([each.T @ each for each in rows], dtype=np.float64)


@pytest.mark.parametrize(
    ("order", "values", "level"),
    [
        (BY_VALUE, [10.0, 1.5, 0.2, -9], 1),
        (MAGNITUDE, [10.0, -9, 1.5, 0.2], 2),
        (MAGNITUDE, [10.0, -9, 1.6, 0.2], 3),
        (MAGNITUDE, [10.0, 9, 8, 7], 4),
    ],
)
def test_level_is_the_least_that_leaves_out_small_eigenvalues(order, values, level):
    """k* is the least k with σ_{k+1} ≤ μσ_1 in the order chosen, w where there is none (equation 6)."""
    difference = np.diag(values)[:, [2, 0, 3, 1]][[2, 0, 3, 1]]
    sums = np.array([np.maximum(difference, 0), np.maximum(-difference, 0)])
    found = spectrum(sums, order)
    assert found.level(Fraction(15, 100)) == level
    assert np.allclose(found.values, values if order == BY_VALUE else np.abs(values))


def test_vectors_take_the_difference_apart(rng):
    """V diag(σ) V' is A_0 − A_1 by value, V is orthonormal, and each column's largest entry is positive."""
    sums = random_sums(rng)
    found = spectrum(sums, BY_VALUE)
    assert np.allclose(found.vectors * found.values @ found.vectors.T, sums[0] - sums[1])
    assert np.allclose(found.vectors.T @ found.vectors, np.eye(6))
    assert (found.vectors.max(axis=0) >= -found.vectors.min(axis=0) - 1e-9).all()
    assert (np.diff(found.values) <= 0).all()


def test_more_classes_extend_the_order_by_magnitude(rng):
    """Σ (A_c − Ā)² of two classes is (A_0 − A_1)²/2 exactly, so σ are |σ|/√2 and the vectors the same."""
    sums = random_sums(rng)
    apart = 2 * sums - sums.sum(axis=0)
    assert ((apart @ apart).sum(axis=0) == 2 * (sums[0] - sums[1]) @ (sums[0] - sums[1])).all()
    third = np.concatenate([sums, sums.mean(axis=0, keepdims=True)])  # adds no difference
    two, three = spectrum(sums, MAGNITUDE), spectrum(third, MAGNITUDE)
    assert np.allclose(three.values, two.values / np.sqrt(2))
    assert np.allclose(np.abs((two.vectors * three.vectors).sum(axis=0)), 1)


def test_order_of_classes_does_not_matter_by_magnitude(rng):
    """Exchanging the classes changes the sign of σ alone; by value it changes what is asked for."""
    sums = random_sums(rng)
    one, other = (spectrum(each, MAGNITUDE) for each in (sums, sums[::-1]))
    assert np.allclose(one.values, other.values)
    assert not np.allclose(spectrum(sums, BY_VALUE).values, spectrum(sums[::-1], BY_VALUE).values)


@pytest.mark.parametrize("error", [-1e-13, 0, 1e-13])
def test_the_last_digit_decides_neither_sign_nor_order(monkeypatch, error):
    """Of entries as large the first is positive, of opposite σ the positive comes first, whatever rounding did."""
    vectors = np.array([[-1 - error, 1], [1, 1]]) / np.sqrt(2)
    monkeypatch.setattr(np.linalg, "eigh", lambda _: (np.array([-3 - error, 3]), vectors))
    found = spectrum(np.zeros((2, 2, 2)), MAGNITUDE)
    assert np.allclose(found.vectors, np.array([[1, 1], [1, -1]]) / np.sqrt(2))


PLAN = small_plan(batch=50)


def answers(state, n, rng, plan=PLAN):
    """Reports of n people to the state's guidance."""
    positions, classes = random_people(plan, n, rng)
    entropy = SeededEntropy(int(rng.integers(1 << 60)))
    return Reports(plan, randomize_tuples(positions, classes, plan, state.guidance, entropy=entropy))


def test_sums_are_those_of_the_reports_by_class(rng):
    """A_c is the sum of r'r over the reports of class c, in any order and however they are split (equation 4)."""
    state = publish(random_start(PLAN, 1))
    reports = answers(state, 300, rng)
    _, classes, bits = PLAN.unpack(reports.packed)
    done = collect(state, reports)
    for place in (0, 1):
        rows = bits[classes == place].astype(int)
        assert (done.sums[place] == rows.T @ rows).all()
        assert done.received[place] == len(rows)
    apart = state
    for part in (reports.packed[200:], reports.packed[:7], reports.packed[7:200]):
        apart = collect(apart, Reports(PLAN, part))
    assert (apart.sums == done.sums).all()
    assert (apart.start_sums == state.start_sums).all()


def test_guidance_changes_once_per_batch(rng):
    """Before a batch has come in the same guidance is published, so no two differ by one person's tuple."""
    state = publish(random_start(PLAN, 1))
    first = state.guidance
    state = collect(state, answers(state, 49, rng))
    assert publish(state) is state
    state = publish(collect(state, answers(state, 1, rng)))
    assert state.guidance.serial == first.serial + 1
    assert publish(state) is state


def test_the_ratio_of_guidance():
    """Without a promise γ under guidance is infinite; under one it stays within the plan's, whatever the guidance."""
    assert publish(random_start(PLAN, 1)).ratio is None
    for keep in ("bits", "tuple"):
        plan = small_plan(keep)
        for level in (1, 5):
            ratio = publish(random_start(plan, 1), level).ratio
            assert 1 < ratio <= plan.amplification < 19


def test_random_start_has_tuples_of_every_class():
    """A random start has n tuples of each class, one value of each of n attributes, the same for a seed."""
    state = random_start(PLAN, 3)
    assert state.started.tolist() == [2, 2]
    assert np.diagonal(state.start_sums, axis1=1, axis2=2).sum(axis=1).tolist() == [4, 4]
    assert (random_start(PLAN, 3).start_sums == state.start_sums).all()
    assert any((random_start(PLAN, seed).start_sums != state.start_sums).any() for seed in range(4, 9))


def test_start_needs_tuples_of_every_class(rng):
    """A start with fewer tuples of a class than attributes names the class and the number."""
    positions, _ = random_people(PLAN, 9, rng)
    with pytest.raises(EstimateError, match="class yes has 1 tuple to start with, but needs 2"):
        start(PLAN, np.array([0] * 8 + [1]), PLAN.to_bits(positions))


def test_what_does_not_fit_is_refused(rng, tmp_path):
    """Reports of another plan or to guidance not known, and a file collected before, change nothing."""
    state = publish(random_start(PLAN, 1))
    reports = answers(state, 20, rng)
    reports.write(tmp_path / "a.parquet")
    once = collect(state, read_reports(tmp_path / "a.parquet"))
    with pytest.raises(WireError, match=r"a\.parquet was collected before"):
        collect(once, read_reports(tmp_path / "a.parquet"))
    other = small_plan(batch=51)
    with pytest.raises(PlanError, match="the reports are of plan"):
        collect(state, Reports(other, reports.packed))
    with pytest.raises(WireError, match="answer guidance 1, which this state has not published"):
        collect(random_start(PLAN, 1), reports)
    for _ in range(RECENT):
        state = publish(collect(state, answers(state, 50, rng)))
    with pytest.raises(WireError, match=f"answer guidance 1, but only the last {RECENT}, up to {RECENT + 1}"):
        collect(state, reports)


def test_a_class_without_tuples_is_named(rng):
    """Where a state knows nothing of a class no guidance is made."""

    state = random_start(PLAN, 1)
    with pytest.raises(EstimateError, match="class no has no tuple so far"):
        publish(replace(state, started=np.array([0, 5])))


@pytest.mark.parametrize("keep", [None, "bits", "tuple"])
def test_states_at_rest_go_on_bit_for_bit(rng, tmp_path, keep):
    """A state read again and gone on with gives the bytes of one that was never written."""
    plan = small_plan(keep, batch=50)
    state = publish(random_start(plan, 1))
    first, second = (answers(state, 70, rng, plan) for _ in range(2))
    write_state(collect(state, first), tmp_path / "half.json")
    resumed = publish(collect(read_state(tmp_path / "half.json"), second))
    write_state(resumed, tmp_path / "resumed.json")
    write_state(publish(collect(collect(state, first), second)), tmp_path / "whole.json")
    assert (tmp_path / "resumed.json").read_bytes() == (tmp_path / "whole.json").read_bytes()


def test_a_state_cut_anywhere_is_refused(rng, tmp_path):
    """Every prefix of a state file, and every changed digit, is a FileError in one line."""
    state = publish(random_start(PLAN, 1))
    path = tmp_path / "state.json"
    write_state(collect(state, answers(state, 20, rng)), path)
    whole = path.read_bytes()
    broken = [whole[:size] for size in rng.integers(0, len(whole) - 1, 100)]
    for place in rng.choice([p for p, octet in enumerate(whole) if chr(octet).isdigit()], 100):
        broken.append(whole[:place] + (b"7" if whole[place : place + 1] != b"7" else b"3") + whole[place + 1 :])
    for content in [*broken, whole[:-1], whole[:-2], whole + b"\n", b"", b"[]", b"\xff"]:
        path.write_bytes(content)
        with pytest.raises(FileError) as caught:
            read_state(path)
        assert "\n" not in str(caught.value)
    path.write_bytes(whole)
    assert read_state(path).tuples == 20


def test_a_state_too_large_to_read_is_not_written(tmp_path, monkeypatch):
    """What read_state would cut off is refused before the state that was there is replaced."""
    path = tmp_path / "state.json"
    write_state(random_start(PLAN, 1), path)
    before = path.read_bytes()
    monkeypatch.setattr("assocpriv.server.guided._LARGEST_FILE", len(before))
    assert read_state(path).tuples == 0
    with pytest.raises(FileError, match="too large to read again"):
        write_state(publish(random_start(PLAN, 1)), path, force=True)
    assert path.read_bytes() == before


def test_a_state_that_another_run_replaced_is_left_alone(rng, tmp_path):
    """Of two runs that began with the same state the second to write is refused, and the first one's work stays."""
    path = tmp_path / "state.json"
    before = publish(random_start(PLAN, 1))
    write_state(before, path)
    replace_state(before, collect(before, answers(before, 20, rng)), path)
    with pytest.raises(FileError, match="changed by another run meanwhile"):
        replace_state(before, collect(before, answers(before, 30, rng)), path)
    assert read_state(path).tuples == 20


def test_writing_a_state_leaves_the_old_one_or_the_new(tmp_path, monkeypatch):
    """Where the disk refuses, the state that was there stays."""
    path = tmp_path / "state.json"
    write_state(random_start(PLAN, 1), path)
    before = path.read_bytes()
    monkeypatch.setattr("os.fsync", lambda _file: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(AssocprivError, match="No space left"):
        write_state(random_start(PLAN, 2), path, force=True)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["state.json"]


def test_naive_bayes_of_sums_is_that_of_the_tuples(rng):
    """Without a promise naive Bayes of the sums is scikit-learn's of the released tuples."""
    state = publish(random_start(PLAN, 1))
    reports = answers(state, 200, rng)
    X, y = released_tuples(reports)
    direct = new_classifier("naive-bayes", len(y)).fit(X, y)
    ours = naive_bayes(collect(state, reports))
    assert np.allclose(ours.feature_log_prob_, direct.feature_log_prob_)
    assert np.allclose(ours.class_log_prior_, direct.class_log_prior_)
    assert (ours.predict(X) == direct.predict(X)).all()
    assert list(X.columns) == ["vote=n", "vote=y", "age=<30", "age=30–60", "age=≥60"]


def test_other_classifiers_are_refused():
    """An unknown name is refused with those that there are."""
    with pytest.raises(EstimateError, match="tree, naive-bayes, logistic"):
        new_classifier("forest", 10)
