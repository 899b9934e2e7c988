"""Guided perturbation at the miner: what answers tell of shares, where classes differ, what levels are worth, state.

Reading is checked over all tuples there are. Guidance finds its way from nobody, also of more than two classes. The
state adds up, publishes, and refuses what it must.
"""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from naive import guided_plan as small_plan
from naive import random_guidance, random_people, randomize_tuples, votes_plan

from assocpriv.files.reports import Reports, read_reports
from assocpriv.plans.guidance import MIXED_TOTAL, WEIGHT_TOTAL, Guidance, bit_weights, coin_of, mixed, mixing
from assocpriv.promise.breaches import Breach
from assocpriv.promise.errors import EstimateError, FileError, GuidanceError, PlanError, WireError
from assocpriv.server.guided import (
    RECENT,
    collect,
    directions,
    explore,
    level_for,
    naive_bayes,
    new_classifier,
    publish,
    read_state,
    reading_of,
    released_tuples,
    replace_state,
    start,
    worth,
    write_state,
)
from assocpriv.simulation.enumeration import SeededEntropy


def all_tuples(plan):
    """Every tuple of a plan, positions (D, attributes)."""
    return np.array(list(product(*map(range, plan.sizes))))


def mean_bits(plan, guidance, shares):
    """E[(t P)²] over tuples of independent attributes with these shares, (w,)."""
    bits = plan.to_bits(all_tuples(plan)).astype(float)
    chances = np.where(bits == 1, shares, 1).prod(axis=1)
    return chances @ (bits @ (guidance.projection / 2**40)) ** 2


@pytest.mark.parametrize("level", [1, 2, 4])
def test_readings_are_the_law_at_uniform_shares(rng, level):
    """f is E[R] over all tuples, and J its derivative in the shares of independent attributes, under any guidance."""
    plan = small_plan()
    guidance = random_guidance(plan, level, rng)
    read = reading_of(guidance, plan)
    uniform = explore(plan).uniform
    assert np.allclose(read.expected, mean_bits(plan, guidance, uniform))
    step = np.array([1, -1, 2, -3, 1]) * 1e-5
    sides = [mean_bits(plan, guidance, uniform + sign * step) for sign in (1, -1)]
    assert np.allclose(read.slopes @ step, (sides[0] - sides[1]) / 2, rtol=1e-4, atol=1e-12)


@pytest.mark.parametrize("keep", ["bits", "tuple"])
def test_what_promises_mix_in_is_taken_out(rng, keep):
    """Reports of a tuple under a promise add in the mean what its own bits would; taken as they are they do not."""
    plan = small_plan(keep)
    guidance = random_guidance(plan, 1, rng)
    share = float(mixing(plan, guidance))
    assert 0 < share < 1
    weights = bit_weights(guidance, plan, all_tuples(plan))
    own = weights[4] / WEIGHT_TOTAL
    if keep == "bits":
        law = mixed(weights[4], coin_of(guidance, plan)) / MIXED_TOTAL
    else:
        law = (1 - share) * own + share * weights.mean(axis=0) / WEIGHT_TOTAL
    read = reading_of(guidance, plan)
    wanted = read.weights @ (own - read.expected)
    assert np.allclose(read.weighted(1, law), wanted, atol=1e-3 * np.abs(wanted).max())
    assert not np.allclose(replace(read, mixed=0.0).weighted(1, law), wanted, atol=0.1 * np.abs(wanted).max())


def test_nothing_but_coins_says_nothing():
    """Where nothing but coins is sent, nothing is added, instead of a division by 0."""
    plan = small_plan("bits", Breach("1%", "1.0001%"))
    read = reading_of(Guidance.of_vectors(plan, 1, np.eye(5)), plan)
    assert mixing(plan, Guidance.of_vectors(plan, 1, np.eye(5))) > 0.9
    assert np.isfinite(read.weighted(3, np.full(5, 3))).all()


def test_all_bits_tell_shares_as_they_are(rng):
    """Where every bit is asked for, the shares are those of the tuples, beside a prior worth two tuples at most."""
    state = explore(PLAN, 1)
    state = replace(state, guidances=(Guidance.of_vectors(PLAN, 1, np.eye(5)),))
    positions, classes = random_people(PLAN, 4000, rng)
    packed = randomize_tuples(positions, classes, PLAN, state.guidance, entropy=SeededEntropy(1))
    shares = collect(state, Reports(PLAN, packed)).shares
    for place in (0, 1):
        assert np.allclose(shares[place], PLAN.to_bits(positions[classes == place]).mean(axis=0), atol=1e-3)


def test_the_level_is_the_number_of_differences_that_are_not_small():
    """k* counts c, and the differences above μ of the largest (equation 6), one at least and no more than bits."""
    plan = small_plan()
    for values, level in (([5.0], 2), ([10, 1.4], 2), ([10, 1.6], 3), ([9, 9, 9, 9, 9], 5)):
        assert level_for(np.array(values), plan) == level
    assert level_for(np.array([10, 1.6]), small_plan(mu=Fraction(1, 4))) == 2


def apart(rng, people, classes, bits=12):
    """People whose first bits, two a class, tell the class in 85% of cases."""
    of = rng.integers(0, classes, people)
    share = np.full((classes, bits), 0.5)
    for place in range(classes):
        share[:, 2 * place : 2 * place + 2] = 0.15
        share[place, 2 * place : 2 * place + 2] = 0.85
    return (rng.random((people, bits)) < share[of]).astype(np.int32), of, share


@pytest.mark.parametrize(("classes", "level"), [(2, 1), (2, 2), (4, 2)])
def test_guidance_finds_its_way_from_nobody(rng, classes, level):
    """After 2,000 answers .93 of what true shares tell is told at any level, of chance .6; and it is known how much."""
    plan = votes_plan(12, labels=tuple(map(str, range(classes))))
    positions, of, share = apart(rng, 2000, classes)
    state = explore(plan, 3)
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
    told = worth(state, [level])
    assert abs(told[0].accuracy - right(state.shares).mean()) < 0.08
    assert told[1].accuracy > told[0].accuracy - 0.02


def test_known_tuples_show_pairs(rng):
    """Classes that differ in a pair alone have it in the directions asked for where tuples are known; else nobody's."""
    plan = votes_plan(6)
    positions = rng.integers(0, 2, (600, 6))
    classes = positions[:, 0] ^ positions[:, 1]
    pair = np.array([1, -1, 1, -1] + [0] * 8) / 2
    known = directions(start(plan, classes, plan.to_bits(positions), 1), 3, 1)
    assert np.linalg.norm(known.T @ pair) > 0.9
    assert np.linalg.norm(directions(explore(plan, 1), 3, 1).T @ pair) < 0.9


PLAN = small_plan(batch=50)


def answers(state, n, rng, plan=PLAN):
    """Reports of n people to the state's guidance."""
    positions, classes = random_people(plan, n, rng)
    entropy = SeededEntropy(int(rng.integers(1 << 60)))
    return Reports(plan, randomize_tuples(positions, classes, plan, state.guidance, entropy=entropy))


def test_answers_add_up_however_they_are_split(rng):
    """What is known after reports in parts, in any order, is what it is after all of them at once."""
    state = publish(explore(PLAN, 1))
    reports = answers(state, 300, rng)
    done = collect(state, reports)
    _, classes, _ = PLAN.unpack(reports.packed)
    assert done.received.tolist() == np.bincount(classes).tolist()
    apart = state
    for part in (reports.packed[200:], reports.packed[:7], reports.packed[7:200]):
        apart = collect(apart, Reports(PLAN, part))
    assert np.allclose(apart.shares, done.shares)


def test_guidance_changes_once_per_batch(rng):
    """Before a batch has come in the same guidance is published, so no two differ by one person's tuple."""
    state = publish(explore(PLAN, 1))
    first = state.guidance
    state = collect(state, answers(state, 49, rng))
    assert publish(state) is state
    state = publish(collect(state, answers(state, 1, rng)))
    assert state.guidance.serial == first.serial + 1
    assert publish(state) is state


@pytest.mark.parametrize(
    ("wrong", "error", "said"),
    [
        *((lambda level=level: publish(explore(PLAN, 1), level), GuidanceError, r"in 1\.\.5") for level in (-1, 0, 6)),
        (lambda: new_classifier("forest", 10), EstimateError, "naive-bayes, tree, logistic"),
        (
            lambda: start(PLAN, np.array([0] * 8 + [1]), np.eye(9, 5, dtype=np.uint8)),
            EstimateError, "class yes has 1 tuple to start with, but needs 2",
        ),
    ],
)  # fmt: skip
def test_what_there_is_not(wrong, error, said):
    """A level below 1 or above the number of bits, an unknown classifier, a start with too few tuples of a class."""
    assert worth(publish(explore(PLAN, 1))) == []  # before anybody has answered nothing can be told of levels
    with pytest.raises(error, match=said):
        wrong()


def test_the_ratio_of_guidance():
    """Without a promise γ under guidance is infinite; under one it stays within the plan's, whatever the guidance."""
    assert publish(explore(PLAN, 1)).ratio is None
    for keep in ("bits", "tuple"):
        plan = small_plan(keep)
        for level in (1, 5):
            ratio = publish(explore(plan, 1), level).ratio
            assert 1 < ratio <= plan.amplification < 19


def test_a_seed_repeats_guidance():
    """Of nobody a seed says what is asked first; another asks for something else."""
    first, same, other = (publish(explore(PLAN, seed)).guidance.vectors for seed in (3, 3, 4))
    assert (first == same).all()
    assert (first != other).any()


def test_what_does_not_fit_is_refused(rng, tmp_path):
    """Reports of another plan or to guidance not known, and a file collected before, change nothing."""
    state = publish(explore(PLAN, 1))
    reports = answers(state, 20, rng)
    reports.write(tmp_path / "a.parquet")
    once = collect(state, read_reports(tmp_path / "a.parquet"))
    with pytest.raises(WireError, match=r"a\.parquet was collected before"):
        collect(once, read_reports(tmp_path / "a.parquet"))
    other = small_plan(batch=51)
    with pytest.raises(PlanError, match="the reports are of plan"):
        collect(state, Reports(other, reports.packed))
    with pytest.raises(WireError, match="answer guidance 1, which this state has not published"):
        collect(explore(PLAN, 1), reports)
    for _ in range(RECENT):
        state = publish(collect(state, answers(state, 50, rng)))
    with pytest.raises(WireError, match=f"answer guidance 1, but only the last {RECENT}, up to {RECENT + 1}"):
        collect(state, reports)


@pytest.mark.parametrize("keep", [None, "bits", "tuple"])
def test_states_at_rest_go_on_bit_for_bit(rng, tmp_path, keep):
    """A state read again and gone on with gives the bytes of one that was never written."""
    plan = small_plan(keep, batch=50)
    state = publish(explore(plan, 1))
    first, second = (answers(state, 70, rng, plan) for _ in range(2))
    write_state(collect(state, first), tmp_path / "half.json")
    resumed = publish(collect(read_state(tmp_path / "half.json"), second))
    write_state(resumed, tmp_path / "resumed.json")
    write_state(publish(collect(collect(state, first), second)), tmp_path / "whole.json")
    assert (tmp_path / "resumed.json").read_bytes() == (tmp_path / "whole.json").read_bytes()


def test_a_state_cut_anywhere_is_refused(rng, tmp_path):
    """Every prefix of a state file, and every changed digit, is a FileError in one line."""
    state = publish(explore(PLAN, 1))
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
    write_state(explore(PLAN, 1), path)
    before = path.read_bytes()
    monkeypatch.setattr("assocpriv.server.guided._LARGEST_FILE", len(before))
    assert read_state(path).tuples == 0
    with pytest.raises(FileError, match="too large to read again"):
        write_state(publish(explore(PLAN, 1)), path, force=True)
    assert path.read_bytes() == before


def test_a_state_that_another_run_replaced_is_left_alone(rng, tmp_path):
    """Of two runs that began with the same state the second to write is refused, and the first one's work stays."""
    path = tmp_path / "state.json"
    before = publish(explore(PLAN, 1))
    write_state(before, path)
    replace_state(before, collect(before, answers(before, 20, rng)), path)
    with pytest.raises(FileError, match="changed by another run meanwhile"):
        replace_state(before, collect(before, answers(before, 30, rng)), path)
    assert read_state(path).tuples == 20


def test_naive_bayes_is_that_of_the_shares(rng):
    """Naive Bayes is scikit-learn's of the shares that are known; a class that nobody is of is refused."""
    state = publish(explore(PLAN, 1))
    with pytest.raises(EstimateError, match="a class has no tuples so far"):
        naive_bayes(state)
    reports = answers(state, 200, rng)
    X, _ = released_tuples(reports)
    state = collect(state, reports)
    ours = naive_bayes(state)
    smoothed = (state.shares * state.received[:, None] + 1) / (state.received[:, None] + 2)
    assert np.allclose(np.exp(ours.feature_log_prob_), smoothed)
    assert list(X.columns) == ["vote=n", "vote=y", "age=<30", "age=30–60", "age=≥60"]
