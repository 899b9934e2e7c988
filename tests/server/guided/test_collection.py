"""Guided perturbation at the miner: response model, directions, accuracy of levels, and the state.

The response model is checked over all possible tuples. Guidance learns without known tuples, also for more than two
classes. The state adds up, publishes, and refuses wrong input.
"""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from naive import guided_plan as small_plan
from naive import random_guidance, random_people, randomize_tuples, votes_plan

from assocpriv.files.report_files import Reports, read_reports
from assocpriv.guarantees.amplification import Guarantee
from assocpriv.guarantees.errors import EstimateError, FileError, GuidanceError, PlanError, WireError
from assocpriv.plans.guided.guided_plan import (
    MIXED_TOTAL,
    WEIGHT_TOTAL,
    Guidance,
    bit_weights,
    mix_weights,
    mixing_weight,
    random_share,
)
from assocpriv.server.guided.collection import (
    RECENT,
    choose_level,
    collect,
    directions,
    estimate_accuracy,
    naive_bayes,
    new_classifier,
    publish,
    read_state,
    released_tuples,
    replace_state_file,
    response_model,
    start_empty,
    start_with_tuples,
    write_state,
)
from assocpriv.simulation.enumeration import SeededEntropy


def all_tuples(plan):
    """Return every tuple of a plan, positions (D, attributes)."""
    return np.array(list(product(*map(range, plan.sizes))))


def mean_bits(plan, guidance, shares):
    """Return E[(t P)²] over tuples of independent attributes with these shares, (w,)."""
    bits = plan.to_bits(all_tuples(plan)).astype(float)
    probabilities = np.where(bits == 1, shares, 1).prod(axis=1)
    return probabilities @ (bits @ (guidance.projection / 2**40)) ** 2


@pytest.mark.parametrize("level", [1, 2, 4])
def test_the_response_model_is_exact_at_uniform_shares(rng, level):
    """f is E[R] over all tuples, and J its derivative in the shares of independent attributes, for any guidance."""
    plan = small_plan()
    guidance = random_guidance(plan, level, rng)
    model = response_model(guidance, plan)
    uniform = start_empty(plan).uniform
    assert np.allclose(model.expected, mean_bits(plan, guidance, uniform))
    step = np.array([1, -1, 2, -3, 1]) * 1e-5
    sides = [mean_bits(plan, guidance, uniform + sign * step) for sign in (1, -1)]
    assert np.allclose(model.slopes @ step, (sides[0] - sides[1]) / 2, rtol=1e-4, atol=1e-12)


@pytest.mark.parametrize("keep", ["bits", "tuple"])
def test_the_randomization_of_a_guarantee_is_removed(rng, keep):
    """Reports under a guarantee add the expected bits of the tuple itself; without the correction they do not."""
    plan = small_plan(keep)
    guidance = random_guidance(plan, 1, rng)
    share = float(random_share(plan, guidance))
    assert 0 < share < 1
    weights = bit_weights(guidance, plan, all_tuples(plan))
    own = weights[4] / WEIGHT_TOTAL
    if keep == "bits":
        mechanism = mix_weights(weights[4], mixing_weight(guidance, plan)) / MIXED_TOTAL
    else:
        mechanism = (1 - share) * own + share * weights.mean(axis=0) / WEIGHT_TOTAL
    model = response_model(guidance, plan)
    wanted = model.weights @ (own - model.expected)
    largest, uncorrected = np.abs(wanted).max(), replace(model, random_share=0.0)
    assert np.allclose(model.weighted(1, mechanism), wanted, atol=1e-3 * largest)
    assert not np.allclose(uncorrected.weighted(1, mechanism), wanted, atol=0.1 * largest)


def test_random_bits_alone_add_nothing():
    """Reports of random bits alone add nothing, without a division by 0."""
    plan = small_plan("bits", Guarantee("1%", "1.0001%"))
    guidance = Guidance.from_vectors(plan, 1, np.eye(5))
    assert random_share(plan, guidance) > 0.9
    assert np.isfinite(response_model(guidance, plan).weighted(3, np.full(5, 3))).all()


def test_all_bits_give_the_shares(rng):
    """If guidance requests every bit, the shares are those of the tuples, with a prior of at most two tuples."""
    state = replace(start_empty(PLAN, 1), guidances=(Guidance.from_vectors(PLAN, 1, np.eye(5)),))
    positions, classes = random_people(PLAN, 4000, rng)
    packed = randomize_tuples(positions, classes, PLAN, state.guidance, entropy=SeededEntropy(1))
    shares = collect(state, Reports(PLAN, packed)).shares
    for place in (0, 1):
        assert np.allclose(shares[place], PLAN.to_bits(positions[classes == place]).mean(axis=0), atol=1e-3)


def test_the_level_is_the_number_of_large_differences():
    """k* counts c and the differences above μ of the largest (equation 6), at least one and at most the bits."""
    plan = small_plan()
    for values, level in (([5.0], 2), ([10, 1.4], 2), ([10, 1.6], 3), ([9, 9, 9, 9, 9], 5)):
        assert choose_level(np.array(values), plan) == level
    assert choose_level(np.array([10, 1.6]), small_plan(mu=Fraction(1, 4))) == 2


def apart(rng, people, classes, bits=12):
    """Return people whose first bits, two a class, show the class in 85% of cases."""
    of, share = rng.integers(0, classes, people), np.full((classes, bits), 0.5)
    share[:, : 2 * classes] = 0.15 + 0.7 * np.repeat(np.eye(classes), 2, axis=1)
    return (rng.random((people, bits)) < share[of]).astype(np.int32), of, share


@pytest.mark.parametrize(("classes", "level"), [(2, 1), (2, 2), (4, 2)])
def test_guidance_learns_without_known_tuples(rng, classes, level):
    """After 2,000 responses, accuracy is at least .93 of that of true shares, and the estimate of it is right."""
    plan = votes_plan(12, labels=tuple(map(str, range(classes))))
    positions, of, share = apart(rng, 2000, classes)
    state = start_empty(plan, 3)
    for first in range(0, 2000, plan.batch):
        state = publish(state, level)
        part = slice(first, first + plan.batch)
        packed = randomize_tuples(positions[part], of[part], plan, state.guidance, entropy=SeededEntropy(first))
        state = collect(state, Reports(plan, packed))
    assert state.guidance.level == level
    truth = np.stack([1 - share, share], axis=2).reshape(classes, -1)

    def right(shares):
        return (np.log(np.clip(shares, 0.01, 0.99)) @ plan.to_bits(positions).T).argmax(axis=0) == of

    assert right(state.shares).mean() > 0.93 * right(truth).mean()
    now, later = estimate_accuracy(state, [level])
    assert abs(now.accuracy - right(state.shares).mean()) < 0.08
    assert later.accuracy > now.accuracy - 0.02


def test_known_tuples_show_pairs(rng):
    """A pair in which alone classes differ is in the requested directions if tuples are known, and otherwise not."""
    plan = votes_plan(6)
    positions = rng.integers(0, 2, (600, 6))
    classes = positions[:, 0] ^ positions[:, 1]
    pair = np.array([1, -1, 1, -1] + [0] * 8) / 2
    known = directions(start_with_tuples(plan, classes, plan.to_bits(positions), 1), 3, 1)
    assert np.linalg.norm(known.T @ pair) > 0.9
    assert np.linalg.norm(directions(start_empty(plan, 1), 3, 1).T @ pair) < 0.9


PLAN = small_plan(batch=50)


def answers(state, n, rng, plan=PLAN):
    """Return reports of n people to the state's guidance."""
    positions, classes = random_people(plan, n, rng)
    entropy = SeededEntropy(int(rng.integers(1 << 60)))
    return Reports(plan, randomize_tuples(positions, classes, plan, state.guidance, entropy=entropy))


def test_answers_add_up_however_they_are_split(rng):
    """Estimates after reports in parts, in any order, equal those after all reports together."""
    apart = state = publish(start_empty(PLAN, 1))
    reports = answers(state, 300, rng)
    done, (_, classes, _) = collect(state, reports), PLAN.unpack(reports.packed)
    assert done.received.tolist() == np.bincount(classes).tolist()
    for part in (reports.packed[200:], reports.packed[:7], reports.packed[7:200]):
        apart = collect(apart, Reports(PLAN, part))
    assert np.allclose(apart.shares, done.shares)


def test_guidance_changes_once_per_batch(rng):
    """Before a batch has arrived, the same guidance is published, so no two differ by one person's tuple."""
    first = publish(start_empty(PLAN, 1))
    state = collect(first, answers(first, 49, rng))
    assert publish(state) is state
    state = publish(collect(state, answers(state, 1, rng)))
    assert state.guidance.serial == first.guidance.serial + 1
    assert publish(state) is state


def test_wrong_arguments():
    """A level below 1 or above the number of bits, an unknown classifier, too few known tuples of a class.

    Leaves of a tree hold a thousandth of the tuples, between 1 and 100.
    """
    for level in (-1, 0, 6):
        with pytest.raises(GuidanceError, match=r"in 1\.\.5"):
            publish(start_empty(PLAN, 1), level)
    assert [new_classifier("tree", tuples).min_samples_leaf for tuples in (500, 50_000, 10**6)] == [1, 50, 100]
    with pytest.raises(EstimateError, match="naive-bayes, tree, logistic"):
        new_classifier("forest", 10)
    assert estimate_accuracy(publish(start_empty(PLAN, 1))) == []  # no estimates before the first response
    start_with_tuples(PLAN, np.array([0] * 7 + [1] * 2), np.eye(9, 5, dtype=np.uint8))  # two of each class suffice
    with pytest.raises(EstimateError, match="class yes has 1 tuple to start with, but needs 2"):
        start_with_tuples(PLAN, np.array([0] * 8 + [1]), np.eye(9, 5, dtype=np.uint8))


def test_amplification_under_guidance():
    """Without a guarantee γ under guidance is infinite; with one it stays within the plan's, whatever the guidance."""
    assert publish(start_empty(PLAN, 1)).amplification_bound is None
    for keep in ("bits", "tuple"):
        plan = small_plan(keep)
        for level in (1, 5):
            bound = publish(start_empty(plan, 1), level).amplification_bound
            assert 1 < bound <= plan.amplification < 19


def test_wrong_reports_are_refused(rng, tmp_path):
    """Reports of another plan or to unknown guidance, and a file collected before, change nothing."""
    state = publish(start_empty(PLAN, 1))
    reports = answers(state, 20, rng)
    reports.write(tmp_path / "a.parquet")
    once = collect(state, read_reports(tmp_path / "a.parquet"))
    with pytest.raises(WireError, match=r"a\.parquet was collected before"):
        collect(once, read_reports(tmp_path / "a.parquet"))
    with pytest.raises(PlanError, match="the reports are of plan"):
        collect(state, Reports(small_plan(batch=51), reports.packed))
    with pytest.raises(WireError, match="respond to guidance 1, which this state has not published"):
        collect(start_empty(PLAN, 1), reports)
    for _ in range(RECENT):
        state = publish(collect(state, answers(state, 50, rng)))
    with pytest.raises(WireError, match=f"guidance 1, but the state keeps only the last {RECENT}, up to {RECENT + 1}"):
        collect(state, reports)


@pytest.mark.parametrize("keep", [None, "bits", "tuple"])
def test_states_in_files_continue_bit_for_bit(rng, tmp_path, keep):
    """Continuing from a state file gives the same bytes as without writing it."""
    plan = small_plan(keep, batch=50)
    state = publish(start_empty(plan, 1))
    first, second = (answers(state, 70, rng, plan) for _ in range(2))
    half = collect(state, first)
    write_state(half, tmp_path / "half.json")
    for name, given in (("resumed", read_state(tmp_path / "half.json")), ("whole", half)):
        write_state(publish(collect(given, second)), tmp_path / name)
    assert (tmp_path / "resumed").read_bytes() == (tmp_path / "whole").read_bytes()


def test_a_state_cut_anywhere_is_refused(rng, tmp_path):
    """Every prefix of a state file, and every changed digit, is a FileError in one line."""
    state = publish(start_empty(PLAN, 1))
    path = tmp_path / "state.json"
    write_state(collect(state, answers(state, 20, rng)), path)
    whole = path.read_bytes()
    cut = [whole[:size] for size in rng.integers(0, len(whole) - 1, 100)]
    digits = rng.choice([p for p, octet in enumerate(whole) if chr(octet).isdigit()], 100)
    changed = [whole[:p] + (b"3" if whole[p] == ord("7") else b"7") + whole[p + 1 :] for p in digits]
    for content in [*cut, *changed, whole[:-1], whole[:-2], whole + b"\n", b"", b"[]", b"\xff"]:
        path.write_bytes(content)
        with pytest.raises(FileError) as caught:
            read_state(path)
        assert "\n" not in str(caught.value)
    path.write_bytes(whole)
    assert read_state(path).tuples == 20


def test_a_state_too_large_to_read_is_not_written(tmp_path, monkeypatch):
    """A state above the limit of read_state is refused before the existing file is replaced."""
    path = tmp_path / "state.json"
    write_state(start_empty(PLAN, 1), path)
    before = path.read_bytes()
    monkeypatch.setattr("assocpriv.server.guided.collection._LARGEST_FILE", len(before))
    assert read_state(path).tuples == 0
    with pytest.raises(FileError, match="too large to read again"):
        write_state(publish(start_empty(PLAN, 1)), path, force=True)
    assert path.read_bytes() == before


def test_a_state_that_another_run_replaced_is_left_alone(rng, tmp_path):
    """If two runs start from the same state, the second write is refused, and the first stays."""
    path = tmp_path / "state.json"
    before = publish(start_empty(PLAN, 1))
    write_state(before, path)
    replace_state_file(before, collect(before, answers(before, 20, rng)), path)
    with pytest.raises(FileError, match="changed by another run meanwhile"):
        replace_state_file(before, collect(before, answers(before, 30, rng)), path)
    assert read_state(path).tuples == 20


def test_naive_bayes_is_that_of_the_shares(rng):
    """Naive Bayes is scikit-learn's fitted to the estimated shares; a class without tuples is refused."""
    state = publish(start_empty(PLAN, 1))
    with pytest.raises(EstimateError, match="a class has no tuples so far"):
        naive_bayes(state)
    reports = answers(state, 200, rng)
    state = collect(state, reports)
    smoothed = (state.shares * state.received[:, None] + 1) / (state.received[:, None] + 2)
    assert np.allclose(np.exp(naive_bayes(state).feature_log_prob_), smoothed)
    assert list(released_tuples(reports)[0].columns) == ["vote=n", "vote=y", "age=<30", "age=30–60", "age=≥60"]
