"""Tests of the miner's state: what it adds up, when it publishes, and what it refuses."""

import numpy as np
import pytest
from guided_tables import random_people, small_plan

from assocpriv.client.guided import randomize_tuples
from assocpriv.files.reports import Reports, read_reports
from assocpriv.promise.errors import AssocprivError, EstimateError, FileError, PlanError, WireError
from assocpriv.server.guided import (
    RECENT,
    collect,
    naive_bayes,
    new_classifier,
    publish,
    random_start,
    released_tuples,
    start,
)
from assocpriv.server.guided_state import read_state, replace_state, write_state
from assocpriv.simulation.enumeration import SeededEntropy

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
    from dataclasses import replace

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
    monkeypatch.setattr("assocpriv.server.guided_state._LARGEST_FILE", len(before))
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
