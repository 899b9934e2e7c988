"""Laws of the black box: exact parts, rates of false alarms, and faults of programs whose words nobody sees."""

import math
import sys
from collections import Counter
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path

import naive
import numpy as np
import pytest
from auditing.audited import PLANS, subject_of
from scipy.stats import binom

from assocpriv.auditing import laws
from assocpriv.auditing.audit import audit
from assocpriv.auditing.clients import ClientReports, Ours, Program
from assocpriv.auditing.findings import BROKEN, AuditRequest
from assocpriv.auditing.laws import (
    audit_laws,
    complexity_p_value,
    joint_p_value,
    largest_chance,
    linear_complexity,
    p_values,
    repeats_p_value,
    smallest_chance,
)
from assocpriv.auditing.recompute_promise import read_numbers
from assocpriv.client.baskets import Randomizer
from assocpriv.client.bulk import randomize_chunks
from assocpriv.files.plans import write_plan
from assocpriv.promise.breaches import epsilon
from assocpriv.simulation.enumeration import SeededEntropy, distribution

# of each kind, small enough to enumerate
SMALL = {
    "none": naive.small_plan("none", 3, 2, 2, insert=(1, 2), weight_bits=6),
    "bch": naive.small_plan("bch", 3, 2, 1, weight_bits=6),
    "reed-solomon": naive.small_plan("reed-solomon", 2, 1, 1, insert=(1, 2), weight_bits=6),
    "fixed-size": naive.fixed_plan(4, 2, 2, 3, shares=[1, 5, 2]),
}


@pytest.fixture(autouse=True)
def _in_time(monkeypatch):
    """However busy a machine is, as many reports are asked for as is said."""
    monkeypatch.setattr(laws, "_SECONDS", 1e6)


def law_of(plan, items):
    """Return the exact law of the reports of a transaction."""
    randomizer = Randomizer(plan)
    return distribution(lambda entropy: randomizer.randomize(items, entropy=entropy))


def form_of(plan):
    """Return the audit's own reading of a plan's question."""
    return read_numbers(plan.canonical_json).questions[0].form


def broken(findings):
    """Return the names of the findings that say broken."""
    return {finding.name for finding in findings if finding.verdict == BROKEN}


def judged(plan, box, trials=30_000, false_alarm=1e-3):
    """Return which laws are broken."""
    return broken(audit_laws(subject_of(plan, 5), box, trials, false_alarm, lambda *_: None))


# ---- exact parts


@pytest.mark.parametrize("kind", SMALL)
def test_shown_probability_is_the_clients(kind):
    """For every set of up to two items the chance that a report shows it is the enumerated client's, as a fraction."""
    plan = SMALL[kind]
    items = tuple(range(plan.items.transaction_size))
    law = {plan.items.form.items(report): Fraction(0) for report in law_of(plan, items)}
    for report, chance in law_of(plan, items).items():
        law[plan.items.form.items(report)] += chance
    largest = min(2, plan.items.itemset_size)
    for size in range(largest + 1):
        for chosen in combinations(range(plan.items.padded_items), size):
            inside = len(set(chosen) & set(items))
            wanted = sum((chance for shown, chance in law.items() if shown >= set(chosen)), Fraction(0))
            assert form_of(plan).shown_probability(inside, size - inside) == wanted


@pytest.mark.parametrize("kind", SMALL)
def test_collision_moments_are_the_clients(kind):
    """Σ P² and Σ P³ over the enumerated reports are those that the plan gives."""
    plan = SMALL[kind]
    chances = law_of(plan, range(plan.items.transaction_size)).values()
    for power in (2, 3):
        assert form_of(plan).collision_moment(power) == sum(chance**power for chance in chances)


@pytest.mark.parametrize("kind", SMALL)
def test_looks_have_their_chances(kind):
    """What a look says of each feature, and of each two, is their exact chance over the enumerated reports."""
    plan = SMALL[kind]
    items = tuple(range(plan.items.transaction_size))
    law = law_of(plan, items)
    packed = np.frombuffer(b"".join(law), dtype=np.uint8).reshape(len(law), -1)
    weights = np.array([float(chance) for chance in law.values()])
    looks = list(subject_of(plan, 5).looks(packed, items))
    assert {look.name for look in looks} >= {"items shown", "number kept"}
    for look in looks:
        assert np.allclose(weights @ look.shown, look.chances, atol=1e-12)
        if look.together is not None:
            both = (look.shown * weights[:, None]).T @ look.shown
            known = ~np.isnan(look.together)
            assert np.allclose(both[known], look.together[known], atol=1e-12)


@pytest.mark.parametrize("n", range(1, 10))
def test_complexity_p_value_counts_sequences(n):
    """Below n/2 the p-value of a linear complexity is the share of all sequences of n bits with no larger one."""
    lengths = Counter(linear_complexity(bits) for bits in product((0, 1), repeat=n))
    for length in range((n + 1) // 2):
        assert complexity_p_value(length, n) == sum(lengths[each] for each in range(length + 1)) / 2**n


def test_linear_complexity_of_a_register():
    """A register of 7 cells has complexity 7 (and its twin that a bit spoils nearly half its length)."""
    bits = [1, 0, 0, 0, 0, 0, 0]
    while len(bits) < 200:
        bits.append(bits[-7] ^ bits[-6])
    assert linear_complexity(bits) == 7
    assert linear_complexity([*bits[:-1], 1 - bits[-1]]) == 200 - 7


@pytest.mark.parametrize("n_values", [2, 5])
def test_repeats_p_value_is_a_bound(n_values):
    """Over all draws of four uniform values, so many equal pairs are never likelier than the p-value says."""
    pairs = Counter(
        sum(math.comb(count, 2) for count in Counter(drawn).values()) for drawn in product(range(n_values), repeat=4)
    )
    chance = Fraction(1, n_values)
    for equal in range(7):
        tail = sum(count for found, count in pairs.items() if found >= equal) / n_values**4
        assert repeats_p_value(equal, 4, chance, chance**2) >= tail - 1e-12


def test_repeats_p_value_is_sharp_on_either_side():
    """Three pairs where a hundred-thousandth is expected, and a fiftieth too many of a million, are no chance."""
    rare = Fraction(2, 10**10)
    assert repeats_p_value(3, 316, rare, rare**2) < 1e-6
    assert repeats_p_value(0, 316, rare, rare**2) == 1
    often = Fraction(1, 500)
    assert repeats_p_value(1_020_000, 31_623, often, often**2) < 3e-3
    assert repeats_p_value(1_000_000, 31_623, often, often**2) > 0.3


@pytest.mark.parametrize("chance", [0.01, 0.2, 0.5, 0.97])
def test_bounds_of_a_chance_cover_it(chance):
    """Either Clopper–Pearson bound passes the true chance with at most its rate, and not with much less."""
    n, alpha = 50, 0.05
    law = binom(n, chance).pmf(np.arange(n + 1))
    low = sum(law[count] for count in range(n + 1) if smallest_chance(count, n, alpha) > chance)
    high = sum(law[count] for count in range(n + 1) if largest_chance(count, n, alpha) < chance)
    assert low <= alpha
    assert high <= alpha
    assert max(low, high) > alpha / 10


def test_p_values_keep_their_rate():
    """A p-value is at most x with a chance of at most x, and an event that cannot happen is caught at once."""
    n = 20
    for chance in (0.05, 0.3, 0.5):
        values = p_values(np.arange(n + 1), n, chance)
        law = binom(n, chance).pmf(np.arange(n + 1))
        assert all(law[values <= level].sum() <= level + 1e-12 for level in np.linspace(0.01, 1, 100))
    assert p_values([1, 0], 20, [0.0, 1.0]).tolist() == [0.0, 0.0]
    assert p_values([0, 20], 20, [0.0, 1.0]).tolist() == [1.0, 1.0]
    assert joint_p_value(np.array([0.001] * 5)) == 0.005


def test_lags_keep_their_rate(rng):
    """Of independent reports the lags alarm no more often than stated; of ones that repeat 97 before, always."""
    chances, alarms = np.array([0.2, 0.5]), 0
    for _ in range(200):
        shown = (rng.random((400, 2)) < chances).astype(np.uint8)
        alarms += joint_p_value(np.concatenate(list(laws._lagged(shown, chances)))) <= 0.1
    assert alarms <= binom(200, 0.1).isf(1e-6)
    shown = np.tile((rng.random((97, 2)) < chances).astype(np.uint8), (20, 1))
    assert joint_p_value(np.concatenate(list(laws._lagged(shown, chances)))) < 1e-6


# ---- our clients as black boxes


def seeded(plan, seed, spoil=lambda packed, _records: packed):
    """Return our bulk client on seeded words, its reports spoiled."""
    entropy = SeededEntropy(seed)

    def make(batch):
        packed = np.concatenate([chunk.packed for chunk in randomize_chunks(batch.given, plan, entropy=entropy)])
        yield ClientReports.of_packed(spoil(packed, batch.records))

    return Ours(make)


@pytest.mark.parametrize(
    "kind", ["bits", "rare bits", "seeds", "few items", "one item", "reed-solomon", "sets", "questions"]
)
def test_a_faultless_client_keeps_the_laws(kind):
    """Nothing is found in the bulk client, and the families share one false alarm."""
    plan = PLANS[kind]
    findings = list(audit_laws(subject_of(plan, 5), seeded(plan, 7), 20_000, 1e-3, lambda *_: None))
    assert broken(findings) == set()
    rates = [finding.figures["false_alarm"] for finding in findings]
    assert math.isclose(math.fsum(rates), 1e-3)


def test_the_bound_comes_near_the_plan():
    """The lower bound of ε rises to within a fifth of what the plan says, and not beyond."""
    plan = naive.small_plan("bch", 40, 3, 2, shares=[1, 1, 1, 19])
    found = next(iter(audit_laws(subject_of(plan, 5), seeded(plan, 3), 100_000, 1e-3, lambda *_: None))).figures
    assert 0.8 * epsilon(plan.amplification) < found["epsilon_low"] <= epsilon(plan.amplification)


def test_false_alarms_keep_their_rate():
    """In 60 audits of a faultless client each family alarms no more often than it states, and less than unshared."""
    plan, level, audits, alarms = naive.small_plan("bch", 5, 2, 2, shares=[1, 1, 9]), 0.2, 60, Counter()
    for seed in range(audits):
        for finding in audit_laws(subject_of(plan, seed), seeded(plan, seed), 3000, level, lambda *_: None):
            alarms[finding.name] += finding.verdict == BROKEN
            unshared = finding.figures.get("p_value", 1) <= level
            alarms["unshared"] += unshared
    limits = {name: binom(audits, level).isf(1e-6) for name in alarms}
    assert all(alarms[name] <= limits[name] for name in alarms if name != "unshared")
    assert sum(count for name, count in alarms.items() if name != "unshared") <= binom(audits, level).isf(1e-6)


def _unrandomized(packed, records):
    packed[:, 0] = packed[:, 0] & 0xFE | np.array([0 in items for items in records], dtype=np.uint8)
    return packed


def _spread(packed, records):
    chance = np.random.default_rng(len(packed))
    holds = np.array([0 in items for items in records])
    bits = np.unpackbits(packed, axis=1, bitorder="little", count=43)
    bits |= (chance.random(bits.shape) < 0.2) & holds[:, None]
    return np.packbits(bits, axis=1, bitorder="little")


def _odd_bit(packed, _records):
    packed[::5, 0] |= 1
    return packed


def _lagged(packed, _records):
    packed[512:] = np.where(np.arange(len(packed) - 512)[:, None] % 3 == 0, packed[:-512], packed[512:])
    return packed


def _long_tells(packed, records):
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
    "baskets beyond 1,024 items": ("many", _long_tells, "items shown"),
    "one item in short baskets": ("bits", _one_of_many, "items shown, many records", 240_000),
}


@pytest.mark.parametrize("name", BOXES)
def test_a_fault_of_a_black_box_is_found(name):
    """The law that is meant for it finds it, from reports alone."""
    plan, spoil, law, *trials = BOXES[name]
    assert law in judged(PLANS[plan], seeded(PLANS[plan], 11, spoil), *trials)


# ---- other programs

START = f"""
import random, sys, time
sys.path[:0] = [{str(Path(naive.__file__).parent)!r}]
from assocpriv.client.baskets import Randomizer
from assocpriv.files.plans import read_plan
from assocpriv.promise.entropy import SystemEntropy
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
def test_starts_that_repeat_are_found(kind, first, tmp_path, monkeypatch):
    """Reports at one place of two starts are compared, the first ones too; of equal ones by chance so many are due."""
    monkeypatch.setattr(laws, "_START_SECONDS", 0)
    subject = subject_of(PLANS[kind], 5)
    box = Program(program_of(kind, tmp_path, first), tmp_path / "p.json", subject.plan, subject.lines)
    separate, _ = laws._starts(subject, box, (0,))
    assert (separate.p_value < 1e-6) == bool(first)  # of a faultless one in a run of a million


def test_a_faultless_program_is_consistent(tmp_path):
    """The reference client on a pipe breaks nothing; its sources and its words are not looked at."""
    command, plan = program_of("one item", tmp_path), PLANS["one item"]
    request = AuditRequest(trials=1000, confidence="99.9999%", program=command, plan_path=tmp_path / "p.json")
    findings = audit(plan.canonical_json, request).findings
    made = {finding.check: finding.verdict for finding in findings}
    assert (made["source"], made["words"]) == ("not decided", "not decided")
    assert broken(findings) == set()
