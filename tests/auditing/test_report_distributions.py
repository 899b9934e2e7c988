"""Black-box tests of output distributions: exact parts, false-alarm rates, and faults of programs without replay."""

import math
import sys
from collections import Counter
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path

import naive
import numpy as np
import pytest
from auditing.audited import PLANS, make_subject
from scipy.stats import binom

from assocpriv.auditing import report_distributions
from assocpriv.auditing.audit import audit
from assocpriv.auditing.audit_subject import ClientReports, OwnClient, Program
from assocpriv.auditing.findings import BROKEN, AuditRequest
from assocpriv.auditing.recompute_guarantee import read_numbers
from assocpriv.auditing.report_distributions import (
    audit_distributions,
    complexity_p_value,
    joint_p_value,
    linear_complexity,
    lower_probability_bound,
    p_values,
    repeats_p_value,
    upper_probability_bound,
)
from assocpriv.client.baskets.bulk_client import randomize_chunks
from assocpriv.files.plan_files import write_plan
from assocpriv.guarantees.amplification import epsilon_from_amplification
from assocpriv.simulation.enumeration import SeededEntropy

# of each kind, small enough to enumerate
SMALL = {
    "none": naive.small_plan("none", 3, 2, 2, insert=(1, 2), weight_bits=6),
    "bch": naive.small_plan("bch", 3, 2, 1, weight_bits=6),
    "reed-solomon": naive.small_plan("reed-solomon", 2, 1, 1, insert=(1, 2), weight_bits=6),
    "fixed-size": naive.fixed_plan(4, 2, 2, 3, shares=[1, 5, 2]),
}


@pytest.fixture(autouse=True)
def _affordable_trials(monkeypatch):
    """Remove the time limit, so that a busy machine requests the same number of reports."""
    monkeypatch.setattr(report_distributions, "_SECONDS", 1e6)
    monkeypatch.setattr(report_distributions, "_START_SECONDS", 0)  # start a program as often as its reports need


def form_of(plan):
    """Return a plan's report form as the audit reads it."""
    return read_numbers(plan.canonical_json).report_types[0].form


def broken(findings):
    """Return the names of the findings with the verdict broken."""
    return {finding.name for finding in findings if finding.verdict == BROKEN}


def audited(plan, box, trials=30_000, level=1e-3, seed=5):
    """Return the findings of an audit of a client's output distribution."""
    return list(audit_distributions(make_subject(plan, seed), box, trials, level, lambda *_: None))


# ---- exact parts


@pytest.mark.parametrize("kind", SMALL)
def test_shown_probability_is_the_clients(kind):
    """For every set of up to two items the exact probability of showing it is the enumerated client's."""
    plan = SMALL[kind]
    items = tuple(range(plan.items.transaction_size))
    exact = Counter()
    for report, p in naive.client_distribution(plan, items).items():
        exact[plan.items.form.items(report)] += p
    for size in range(min(2, plan.items.itemset_size) + 1):
        for chosen in combinations(range(plan.items.padded_items), size):
            inside = len(set(chosen) & set(items))
            wanted = sum((p for shown, p in exact.items() if shown >= set(chosen)), Fraction(0))
            assert form_of(plan).shown_probability(inside, size - inside) == wanted


@pytest.mark.parametrize("kind", SMALL)
def test_collision_moments_are_the_clients(kind):
    """Σ P² and Σ P³ over the enumerated reports are those computed from the plan."""
    plan = SMALL[kind]
    probabilities = naive.client_distribution(plan, range(plan.items.transaction_size)).values()
    for power in (2, 3):
        assert form_of(plan).collision_moment(power) == sum(p**power for p in probabilities)


@pytest.mark.parametrize("kind", SMALL)
def test_observations_have_their_probabilities(kind):
    """Each observation states the exact probabilities of its features and pairs over the enumerated reports."""
    plan = SMALL[kind]
    items = tuple(range(plan.items.transaction_size))
    exact = naive.client_distribution(plan, items)
    packed = np.frombuffer(b"".join(exact), dtype=np.uint8).reshape(len(exact), -1)
    weights = np.array([float(p) for p in exact.values()])
    observations = list(make_subject(plan, 5).observations(packed, items))
    assert {each.name for each in observations} >= {"items shown", "number kept"}
    for each in observations:
        assert np.allclose(weights @ each.shown, each.probabilities, atol=1e-12)
        if each.joint is not None:
            both = (each.shown * weights[:, None]).T @ each.shown
            known = ~np.isnan(each.joint)
            assert np.allclose(both[known], each.joint[known], atol=1e-12)


@pytest.mark.parametrize("n", range(1, 10))
def test_complexity_p_value_counts_sequences(n):
    """Below n/2 the p-value of a linear complexity is the share of sequences of n bits with at most this complexity."""
    lengths = Counter(linear_complexity(bits) for bits in product((0, 1), repeat=n))
    for length in range((n + 1) // 2):
        assert complexity_p_value(length, n) == sum(lengths[each] for each in range(length + 1)) / 2**n


@pytest.mark.parametrize("n_values", [2, 5])
def test_repeats_p_value_is_a_bound(n_values):
    """Over all draws of four uniform values, no number of equal pairs is likelier than its p-value."""
    pairs = Counter(
        sum(math.comb(count, 2) for count in Counter(drawn).values()) for drawn in product(range(n_values), repeat=4)
    )
    p = Fraction(1, n_values)
    for equal in range(7):
        tail = sum(count for found, count in pairs.items() if found >= equal) / n_values**4
        assert repeats_p_value(equal, 4, p, p**2) >= tail - 1e-12


def test_repeats_p_value_is_sharp_on_either_side():
    """The p-value is small for three pairs with 10^-5 expected, and for a million pairs with 2% too many."""
    rare = Fraction(2, 10**10)
    assert repeats_p_value(3, 316, rare, rare**2) < 1e-6
    assert repeats_p_value(0, 316, rare, rare**2) == 1
    often = Fraction(1, 500)
    assert repeats_p_value(1_020_000, 31_623, often, often**2) < 3e-3
    assert repeats_p_value(1_000_000, 31_623, often, often**2) > 0.3


@pytest.mark.parametrize("p", [0.01, 0.2, 0.5, 0.97])
def test_bounds_of_a_probability_cover_it(p):
    """Each Clopper–Pearson bound misses the true probability at most at its rate, and not much less often."""
    n, alpha = 50, 0.05
    exact = binom(n, p).pmf(np.arange(n + 1))
    low = sum(exact[count] for count in range(n + 1) if lower_probability_bound(count, n, alpha) > p)
    high = sum(exact[count] for count in range(n + 1) if upper_probability_bound(count, n, alpha) < p)
    assert low <= alpha
    assert high <= alpha
    assert max(low, high) > alpha / 10


def test_p_values_keep_their_rate():
    """A p-value is at most x with probability at most x, and an impossible event has the p-value 0."""
    n = 20
    for p in (0.05, 0.3, 0.5):
        values = p_values(np.arange(n + 1), n, p)
        exact = binom(n, p).pmf(np.arange(n + 1))
        assert all(exact[values <= level].sum() <= level + 1e-12 for level in np.linspace(0.01, 1, 100))
    assert p_values([1, 0], 20, [0.0, 1.0]).tolist() == [0.0, 0.0]
    assert p_values([0, 20], 20, [0.0, 1.0]).tolist() == [1.0, 1.0]
    assert joint_p_value(np.array([0.001] * 5)) == 0.005


def test_lags_keep_their_rate(rng):
    """Lags alarm at most at their rate for independent reports, and always for reports that repeat after 97."""
    probabilities, alarms = np.array([0.2, 0.5]), 0
    for _ in range(200):
        shown = (rng.random((400, 2)) < probabilities).astype(np.uint8)
        alarms += joint_p_value(np.concatenate(list(report_distributions._lagged(shown, probabilities)))) <= 0.1
    assert alarms <= binom(200, 0.1).isf(1e-6)
    shown = np.tile((rng.random((97, 2)) < probabilities).astype(np.uint8), (20, 1))
    assert joint_p_value(np.concatenate(list(report_distributions._lagged(shown, probabilities)))) < 1e-6


# ---- our clients as black boxes


def seeded(plan, seed, spoil=lambda packed, _records: packed):
    """Return our bulk client on seeded random words, its reports modified."""
    entropy = SeededEntropy(seed)

    def make(batch):
        packed = np.concatenate([chunk.packed for chunk in randomize_chunks(batch.given, plan, entropy=entropy)])
        yield ClientReports.from_packed(spoil(packed, batch.records))

    return OwnClient(make)


@pytest.mark.parametrize(
    "kind", ["bits", "rare bits", "seeds", "few items", "one item", "reed-solomon", "sets", "report types"]
)
def test_a_faultless_client_passes(kind):
    """The bulk client passes, and the test families share one false-alarm rate."""
    plan = PLANS[kind]
    findings = audited(plan, seeded(plan, 7), 20_000)
    assert broken(findings) == set()
    rates = [finding.figures["false_alarm"] for finding in findings]
    assert math.isclose(math.fsum(rates), 1e-3)


def test_the_bound_comes_near_the_plan():
    """The lower bound of ε is at least 80% of the plan's ε, and at most the plan's ε."""
    plan = naive.small_plan("bch", 40, 3, 2, shares=[1, 1, 1, 19])
    found, epsilon = audited(plan, seeded(plan, 3), 100_000)[0].figures, epsilon_from_amplification(plan.amplification)
    assert 0.8 * epsilon < found["epsilon_low"] <= epsilon


def test_false_alarms_keep_their_rate():
    """In 60 audits of a faultless client all families together alarm at most at the level."""
    plan, level, audits, alarms = naive.small_plan("bch", 5, 2, 2, shares=[1, 1, 9]), 0.2, 60, 0
    for seed in range(audits):
        findings = audited(plan, seeded(plan, seed), 1500, level, seed)
        alarms += sum(finding.verdict == BROKEN for finding in findings)
    assert alarms <= binom(audits, level).isf(1e-6)


def _unrandomized(packed, records):
    packed[:, 0] = packed[:, 0] & 0xFE | np.array([0 in items for items in records], dtype=np.uint8)
    return packed


def _spread(packed, records):
    rng = np.random.default_rng(len(packed))
    holds = np.array([0 in items for items in records])
    bits = np.unpackbits(packed, axis=1, bitorder="little", count=43)
    bits |= (rng.random(bits.shape) < 0.2) & holds[:, None]
    return np.packbits(bits, axis=1, bitorder="little")


def _odd_bit(packed, _records):
    packed[::5, 0] |= 1
    return packed


def _lagged(packed, _records):
    packed[512:] = np.where(np.arange(len(packed) - 512)[:, None] % 3 == 0, packed[:-512], packed[512:])
    return packed


def _long_leaks(packed, records):
    long = np.array([len(items) > 1024 for items in records])
    packed[long, 0] = 0xFF
    return packed


def _one_of_many(packed, records):
    rare = np.array([len(items) < 3 and 21 in items for items in records])
    packed[rare, 2] |= 1 << 5
    return packed


BOXES = {
    "a bit not randomized": ("bits", _unrandomized, "amplification"),
    "a leak spread over all bits": ("bits", _spread, "items shown"),
    "a bit of a seed": ("seeds", _odd_bit, "seed"),
    "reports of 512 before": ("bits", _lagged, "lags"),
    "baskets beyond 1,024 items": ("many", _long_leaks, "items shown"),
    "one item in short baskets": ("bits", _one_of_many, "items shown, many records", 240_000),
}


@pytest.mark.parametrize("name", BOXES)
def test_a_fault_of_a_black_box_is_found(name):
    """The test family meant for it finds it, from reports alone."""
    plan, spoil, family, *trials = BOXES[name]
    assert family in broken(audited(PLANS[plan], seeded(PLANS[plan], 11, spoil), *trials))


# ---- other programs

START = f"""
import random, sys, time
sys.path[:0] = [{str(Path(naive.__file__).parent)!r}]
from assocpriv.client.baskets.basket_client import Randomizer
from assocpriv.files.plan_files import read_plan
from assocpriv.guarantees.entropy import SystemEntropy
from assocpriv.simulation.enumeration import SeededEntropy
plan = read_plan(sys.argv[-1])
client, entropy = Randomizer(plan), SystemEntropy()
"""
ANSWER = """
for number, line in enumerate(sys.stdin):
    drawn = entropy if number >= FIRST else SeededEntropy(number)
    print(client.randomize([int(item) for item in line.split()], entropy=drawn).hex())
"""


def program_of(kind, tmp_path, first=0):
    """Return the reference client on a pipe, the first reports of each start drawn from seeds."""
    write_plan(PLANS[kind], tmp_path / "p.json")
    return sys.executable, "-c", START + ANSWER.replace("FIRST", str(first))


@pytest.mark.parametrize(("kind", "first"), [("bits", 3), ("bits", 0), ("one item", 0)])
def test_starts_that_repeat_are_found(kind, first, tmp_path):
    """Reports at the same place of two starts are compared, with the first ones; a faultless program passes."""
    subject = make_subject(PLANS[kind], 5)
    box = Program(program_of(kind, tmp_path, first), tmp_path / "p.json", subject.plan, subject.program_input)
    separate, _ = report_distributions._check_restarts(subject, box, (0,))
    assert (separate.p_value < 1e-6) == bool(first)  # a faultless program fails in one run of a million


def test_a_faultless_program_is_consistent(tmp_path):
    """The reference client on a pipe passes; its source and its random words are not checked."""
    command, plan = program_of("one item", tmp_path), PLANS["one item"]
    request = AuditRequest(trials=1000, confidence="99.99999%", program=command, plan_path=tmp_path / "p.json")
    findings = audit(plan.canonical_json, request).findings
    made = {finding.check: finding.verdict for finding in findings}
    assert (made["source"], made["replay"]) == ("not decided", "not decided")
    assert broken(findings) == set()
