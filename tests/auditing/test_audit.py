"""The audit of a client as a black box: its exact parts, our clients, planted faults, programs and the command."""

import json
import math
import sys
from collections import Counter
from fractions import Fraction
from functools import partial
from itertools import combinations, product
from pathlib import Path

import faults
import naive
import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import binom

from assocpriv.auditing import bounds, clients, exact_walk, goodness_of_fit
from assocpriv.auditing.audit import Audit
from assocpriv.auditing.bounds import (
    Event,
    LowerBound,
    audit_conformance,
    choose_events,
    largest_chance,
    lower_bounds,
    smallest_chance,
)
from assocpriv.auditing.clients import BulkClient, ClientReports, Program, SingleClient, _decoded, answered, batch_of
from assocpriv.auditing.counts import (
    Tallies,
    coin_bits,
    compare_starts,
    equal_batches,
    form_of,
    free_sums,
    mixed_batches,
    transaction_of,
    worst_neighbours,
)
from assocpriv.auditing.findings import BROKEN, CONSISTENT, UNDECIDED, AuditRequest, Finding, verdict
from assocpriv.auditing.goodness_of_fit import (
    Events,
    OtherTallies,
    complexity_p_value,
    joint_p_value,
    linear_complexity,
    other_transactions,
    repeats_p_value,
)
from assocpriv.cli.main import main
from assocpriv.client.baskets import Randomizer
from assocpriv.files.plans import write_plan
from assocpriv.promise.breaches import epsilon
from assocpriv.promise.errors import FileError, PlanError, WireError
from assocpriv.show import audits, text
from assocpriv.simulation.enumeration import SeededEntropy, distribution

audit_client = partial(bounds.audit_client, seed=5)  # the same deal of items in every run of the tests
PLANS = faults.PLANS
# of each kind, small enough to enumerate
SMALL = {
    "none": naive.small_plan("none", 3, 2, 2, insert=(1, 2), weight_bits=6),
    "bch": naive.small_plan("bch", 3, 2, 1, weight_bits=6),
    "reed-solomon": naive.small_plan("reed-solomon", 2, 1, 1, insert=(1, 2), weight_bits=6),
    "fixed-size": naive.fixed_plan(4, 2, 2, 3, shares=[1, 5, 2]),
}


def law_of(plan, items):
    """Return the exact law of the reports of a transaction."""
    randomizer = Randomizer(plan)
    return distribution(lambda entropy: randomizer.randomize(items, entropy=entropy))


def broken(findings):
    """Return the names of the findings that say broken."""
    return {finding.name for finding in findings if finding.verdict == BROKEN}


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


@pytest.mark.parametrize("kind", ["bch", "reed-solomon"])
def test_free_sums_are_fair_coins_whatever_is_kept(kind):
    """Each free sum is 1 with half the chance of every number of kept items, exactly; at least one is found."""
    plan = SMALL[kind]
    transaction = transaction_of(tuple(range(plan.items.transaction_size)), plan)
    masks = [sum(1 << int(place) for place in places) for places in free_sums(transaction)]
    assert masks
    ones = Counter()
    for report, chance in law_of(plan, transaction.items).items():
        kept = len(plan.items.form.items(report) & set(transaction.reference))
        for number, mask in enumerate(masks):
            if (plan.items.form.decode(report) & mask).bit_count() & 1:
                ones[number, kept] += chance
    for number, (j, p) in product(range(len(masks)), enumerate(plan.items.operator.size_distribution)):
        assert ones[number, j] == p / 2


def test_what_kept_items_determine_is_no_coin():
    """In a Reed–Solomon code the first item's value is seed bits themselves: these are not called fair coins."""
    plan = PLANS["reed-solomon"]
    r = plan.items.independent.insert_bits
    holding, without = (set(coin_bits(transaction_of(items, plan)).tolist()) for items in ((0, 1, 2), (3, 4, 5)))
    assert not holding & set(range(r))
    assert set(range(r)) <= without


def test_coins_of_plain_reports_are_items_at_one_half():
    """Without a code the fair coins are items outside the transaction, if they are shown half the time."""
    assert set(coin_bits(transaction_of((0, 1, 2), PLANS["none"])).tolist()) == set(range(3, 43))
    for kind in ("none, rare", "fixed-size"):
        assert len(coin_bits(transaction_of((0, 1, 2), PLANS[kind]))) == 0


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
        p_values = Events.of(np.arange(n + 1), n, chance).p_values()
        law = binom(n, chance).pmf(np.arange(n + 1))
        assert all(law[p_values <= level].sum() <= level + 1e-12 for level in np.linspace(0.01, 1, 100))
    assert Events.of([1, 0], 20, [0.0, 1.0]).p_values().tolist() == [0.0, 0.0]
    assert Events.of([0, 20], 20, [0.0, 1.0]).p_values().tolist() == [1.0, 1.0]
    assert joint_p_value(np.array([0.001] * 5)) == 0.005


def test_a_bound_breaks_a_plan_only_if_it_exceeds_it():
    """The bounds are compared with γ as fractions: equality breaks nothing, one unit in the last place more does."""
    event = Event(0, False, "items", 0, np.array([True, False]))
    assert not LowerBound(event, 0.75, 0.25).exceeds(Fraction(3))
    assert LowerBound(event, math.nextafter(0.75, 1), 0.25).exceeds(Fraction(3))
    assert LowerBound(event, 0.1, 0.2).epsilon == 0


# ---- what is asked


@pytest.mark.parametrize("kind", PLANS)
def test_neighbours_are_what_a_plan_covers(kind):
    """Transactions are distinct and of the catalogue; pairs differ."""
    plan, chosen = PLANS[kind], worst_neighbours(PLANS[kind])
    items = [each.items for each in chosen.transactions]
    assert len(set(items)) == len(items)
    assert all(list(each) == sorted(set(each)) and set(each) <= set(range(plan.n_items)) for each in items)
    assert chosen.pairs
    for one, other in chosen.pairs:
        assert items[one] != items[other]
    assert len(items[0]) == min(plan.items.transaction_size, plan.n_items)


def test_neighbours_are_far_apart():
    """Among the pairs are baskets without a common item, full and empty ones, one item changed, and a longer one."""
    chosen = worst_neighbours(PLANS["bch"])
    items = [set(each.items) for each in chosen.transactions]
    pairs = [(items[one], items[other]) for one, other in chosen.pairs]
    assert any(not one & other and len(one) == len(other) == 3 for one, other in pairs)
    assert any(len(one) == 3 and not other for one, other in pairs)
    assert any(len(one & other) == 2 and len(one) == len(other) == 3 for one, other in pairs)
    assert any(len(one) > 3 == len(other) for one, other in pairs)


def test_batches_ask_as_many_as_wanted():
    """All transactions take turns, two at a time, for at least the wanted number of reports, and little more."""
    plan, chosen = PLANS["bch"], worst_neighbours(PLANS["bch"])
    for total in (1, 14, 1000, 100_000):
        turns, batches = mixed_batches(chosen.transactions, plan, total)
        lengths = [len(batch) for batch in batches]
        assert set(lengths) == {len(turns)}
        assert total <= sum(lengths) < total + 2 * len(chosen.transactions) * len(lengths)
        assert (turns.reshape(-1, 2)[:, 0] == turns.reshape(-1, 2)[:, 1]).all()
        assert sum(len(batch) for batch in equal_batches(chosen.transactions[0], plan, total)) == total
    assert [sorted(basket) for basket in batch_of([[0, 5], [], [3]], plan)] == [[0, 5], [], [3]]


@pytest.mark.parametrize("kind", PLANS)
def test_others_are_of_all_sizes_and_items(kind):
    """Besides, baskets of every size up to 64 are asked about, and items from all over the catalogue, several times."""
    plan = PLANS[kind]
    chosen = [each.items for each in other_transactions(plan, np.random.default_rng(1))]
    assert {len(items) for items in chosen} == set(range(min(64, plan.n_items) + 1))
    assert all(list(items) == sorted(set(items)) for items in chosen)
    assert {item for items in chosen for item in items} == set(range(plan.n_items))
    assert len(set(chosen)) == len(chosen)


@pytest.mark.parametrize("kind", PLANS)
def test_others_are_counted_as_they_are(kind):
    """What is counted of others is what one finds by reading their reports one by one."""
    plan = PLANS[kind]
    tallies, reports = OtherTallies(plan, np.random.default_rng(1)), []

    class Noted(faults.Faulty):
        """Keeps its reports."""

        def spoiled(self, packed, batch):
            """Keep them."""
            reports.extend((tuple(basket), bytes(row)) for basket, row in zip(batch, packed, strict=True))
            return ClientReports.of_packed(packed)

    tallies.collect(Noted(plan), 300)
    own, kept, others = Counter(), Counter(), Counter()
    places = {each.items: place for place, each in enumerate(tallies.transactions)}
    for items, report in reports:
        place = places[tuple(sorted(items))]
        each = tallies.transactions[place]
        shown = plan.items.form.items(report)
        own.update((place, item) for item in shown & set(each.reference))
        kept[place, len(shown & set(each.reference))] += not each.is_sampled
        others.update(shown - set(each.reference))
    for place, each in enumerate(tallies.transactions):
        assert tallies.own[place].tolist() == [own[place, item] for item in each.reference]
        assert tallies.kept[place].tolist() == [kept[place, j] for j in range(plan.items.transaction_size + 1)]
    counts, trials = tallies.others
    assert counts.tolist() == [others[item] for item in range(len(counts))]
    outside = [[item not in each.reference for each in tallies.transactions] for item in range(len(trials))]
    assert trials.tolist() == (np.array(outside) @ tallies.totals).tolist()


@pytest.mark.parametrize("trials", [1000, 1007, 50_000, 10**6])
def test_trials_are_shared_out(trials):
    """All reports are asked for, at least two in five of them to test on."""
    split = bounds.split_trials(trials)
    parts = (split.learn, split.score, split.follow, split.items, split.others, 2 * split.start, split.test)
    assert sum(parts) == trials
    assert 5 * split.test >= 2 * trials


# ---- our own clients


@pytest.mark.parametrize("kind", PLANS)
def test_our_bulk_client_is_consistent(kind):
    """No depth finds anything in the bulk client, for any kind of plan, and ε is bounded from below by something."""
    plan = PLANS[kind]
    box = BulkClient(plan, SeededEntropy(7))
    findings = audit_conformance(plan, box) + audit_client(plan, box, trials=30_000)
    assert verdict(findings) == CONSISTENT
    rates = [finding.figures["false_alarm"] for finding in findings if "false_alarm" in finding.figures]
    assert math.isclose(math.fsum(rates), 0.001)  # what 99.9% leaves for all of them together
    figures = next(finding.figures for finding in findings if finding.name == "amplification")
    assert 0.3 * figures["epsilon"] < figures["epsilon_low"] <= figures["epsilon"]


@pytest.mark.parametrize("kind", ["none, rare", "bch", "fixed-size"])
def test_our_one_report_client_is_consistent(kind):
    """No depth finds anything in the one-report client."""
    plan = PLANS[kind]
    box = SingleClient(plan, SeededEntropy(11))
    assert broken(audit_conformance(plan, box) + audit_client(plan, box, trials=1500)) == set()


def test_the_bound_comes_near_the_plan():
    """With more trials the lower bound of ε rises to within a tenth of what the plan says, and not beyond."""
    plan = PLANS["bch"]
    found = audit_client(plan, BulkClient(plan, SeededEntropy(3)), trials=400_000)[0].figures
    assert 0.9 * epsilon(plan.amplification) < found["epsilon_low"] <= epsilon(plan.amplification)


def allowed_alarms(events, level):
    """Bound, exactly by the laws, how often the joint p-value of events is at most ``level``: the sum over events."""
    chance = 0.0
    for (trials, probability), alike in Counter(zip(events.trials, events.probability, strict=True)).items():
        counts = np.arange(trials + 1)
        rejected = Events.of(counts, trials, probability).p_values() <= level / len(events.count)
        chance += alike * binom(trials, probability).pmf(counts)[rejected].sum()
    return chance


def test_false_alarms_keep_their_rate(monkeypatch):
    """In 40 audits of a faultless client no family alarms more often than its laws allow once in a million.

    It would, in every family, if its tests did not share their alarms, or if each report were counted twice.
    """
    plan, level, audits = naive.small_plan("bch", 5, 2, 2, shares=[1, 1, 9]), 0.1, 40
    samples_of, alone, law_of_family = {}, Counter(), goodness_of_fit.law_of

    def noted(name, what, parts, *figures):
        samples_of.setdefault(name, []).append(Events.joined(parts))
        return law_of_family(name, what, parts, *figures)

    monkeypatch.setattr(goodness_of_fit, "law_of", noted)
    for seed in range(audits):
        bounds, *laws = audit_client(plan, faults.Faulty(plan, seed), trials=4000, confidence="50%")
        alone.update(law.name for law in laws if law.figures.get("p_value", 1) <= level)
        alone["amplification"] += bounds.verdict == BROKEN
    assert len(samples_of) == 9
    for name, samples in samples_of.items():
        allowed = allowed_alarms(samples[0], level)
        assert allowed <= level
        limit = binom(audits, allowed).isf(1e-6)
        unshared = sum(sample.p_values().min() <= level for sample in samples)
        doubled = (Events(2 * sample.count, 2 * sample.trials, sample.probability) for sample in samples)
        twice = sum(joint_p_value(each.p_values()) <= level for each in doubled)
        assert alone.pop(name, 0) <= limit < min(unshared, twice)
    assert set(alone) <= {"amplification", "repeats", "linear complexity"}
    assert max(alone.values()) <= binom(audits, level).isf(1e-6)


# ---- planted faults


RARE, RARER = PLANS["none, rare"], naive.small_plan("none", 40, 3, 2, insert=(79, 8))
SHIFTED = naive.small_plan("bch", 40, 3, 2, shares=[10, 10, 10, 213])
EVEN = naive.small_plan("none", 40, 3, 2, shares=[1, 1, 1, 1])
WIDE, MIDDLE = naive.small_plan("none", 300, 5, 2), frozenset(range(160, 256))
# name -> plan, client, trials, and findings that must say broken
FAULTS = {
    "one bit not randomized": ("none", faults.UnrandomizedBit, 10_000, {"amplification"}),
    "p[j] off by 3%": ("bch", lambda plan: faults.OtherPlan(plan, SHIFTED), 60_000, {"number kept"}),
    "first items kept": (EVEN, faults.FirstItemsKept, 30_000, {"items kept"}),
    "rho off by 3%": (RARE, lambda plan: faults.OtherPlan(plan, RARER), 20_000, {"items shown"}),
    "seed bit not fair": ("bch", faults.OddSeedBit, 20_000, {"seed"}),
    "seeds not uniform": ("reed-solomon", faults.lazy_seeds, 3000, {"seed"}),
    "longer for bigger baskets": ("bch", faults.LongerForBigger, 10_000, {"length", "format", "amplification"}),
    "no padding": ("none", faults.Unpadded, 10_000, {"number kept"}),
    "unused bits": ("bch", faults.UnusedBits, 10_000, {"format"}),
    "every tenth repeated": ("reed-solomon", faults.RepeatedReport, 20_000, {"repeats"}),
    "basket before": ("bch", faults.PreviousBasket, 10_000, {"number kept"}),
    "a report lost": ("bch", faults.TooFew, 10_000, {"answers"}),
    "seeded anew from 16 bits": ("reed-solomon", faults.Reseeded, 60_000, {"repeats"}),
    "xorshift32": ("bch", lambda plan: BulkClient(plan, faults.Xorshift32()), 20_000, {"linear complexity"}),
    "xorshift32, plain": ("none", lambda plan: BulkClient(plan, faults.Xorshift32()), 20_000, {"linear complexity"}),
    "congruential": ("bch", lambda plan: BulkClient(plan, faults.PowerOfTwoLcg()), 20_000, {"linear complexity"}),
    "Mersenne Twister": (
        "bch", lambda plan: BulkClient(plan, faults.MersenneTwister()), 330_000, {"linear complexity"}
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_broken(name):
    """The audit calls the client broken, by the finding that is about its fault."""
    plan, client, trials, wanted = FAULTS[name]
    plan = PLANS[plan] if isinstance(plan, str) else plan
    found = audit_conformance(plan, client(plan)) + audit_client(plan, client(plan), trials=trials)
    assert wanted <= broken(found)


# faults that only some findings are about: name -> plan, client, those findings
ITEMS = {"all sizes", "every item", "every item, elsewhere"}
RARELY_SEEN = {
    "a seed of 16 bits at each start": ("bch", faults.SeededPerStart, {"many starts"}),
    "the same seed after each start": ("bch", faults.ConstantSeed, {"separate starts", "many starts"}),
    "the same seed, plain": ("none, rare", faults.ConstantSeed, {"separate starts", "many starts"}),
    "sizes 2 … M − 1 raw": (WIDE, lambda plan: faults.RawWhere(plan, lambda t: 2 <= len(t) < 5), {"all sizes"}),
    "sizes from 2M + 4 raw": (WIDE, lambda plan: faults.RawWhere(plan, lambda t: len(t) > 13), {"all sizes"}),
    "some items raw": (WIDE, lambda plan: faults.RawWhere(plan, lambda t: bool(t & MIDDLE)), ITEMS),
}  # fmt: skip


@pytest.mark.parametrize("name", RARELY_SEEN)
def test_what_only_some_findings_can_see(name):
    """A fault that the worst neighbours in one run do not show is found, by the findings that are about it alone."""
    plan, client, wanted = RARELY_SEEN[name]
    plan = PLANS[plan] if isinstance(plan, str) else plan
    assert broken(audit_client(plan, client(plan), trials=20_000)) == wanted
    assert broken(audit_conformance(plan, client(plan))) == set()


def test_the_faultless_twins_of_faults_are_consistent():
    """What faults are planted in has none of its own: the reports are found broken for the fault alone."""
    for kind, client, trials in (
        ("reed-solomon", faults.Faulty, 20_000),
        ("none", faults._OneByOne, 20_000),
    ):
        plan = PLANS[kind]
        assert broken(audit_conformance(plan, client(plan)) + audit_client(plan, client(plan), trials=trials)) == set()


def test_a_leak_spread_over_all_bits_is_found_by_the_score():
    """Where no bit tells much, the score learned from all of them does; this plan promises to tell nothing at all."""
    plan = naive.small_plan("none", 60, 1, 1, shares=[1, 1])
    assert plan.amplification == 1
    found = audit_client(plan, faults.SpreadLeak(plan), trials=20_000)[0]
    assert (found.verdict, found.figures["feature"]) == (BROKEN, "score")
    assert found.figures["epsilon_low"] > 1


def test_events_are_tested_on_reports_that_did_not_choose_them():
    """Of a client that tells nothing, fresh reports bound ε by 0; those that chose the sets would call it broken."""
    plan = naive.small_plan("none", 60, 1, 1, shares=[1, 1])
    chosen, alarms = worst_neighbours(plan), Counter()
    for seed in range(20):
        box = BulkClient(plan, SeededEntropy(seed))
        learned, fresh = Tallies(chosen, plan), Tallies(chosen, plan)
        learned.collect(box, 500)
        fresh.collect(box, 500)
        events = choose_events([learned])
        for name, tested in (("learned", learned), ("fresh", fresh)):
            alarms[name] += any(bound.epsilon > 0 for bound in lower_bounds(events, tested, 0.5))
    assert alarms["fresh"] <= binom(20, 0.5).isf(1e-6) < alarms["learned"] + 1
    assert alarms["learned"] == 20


def test_all_bounds_share_one_false_alarm():
    """Each of n events gets two bounds, each with the 2n-th part of the rate."""
    plan = PLANS["none"]
    tallies = Tallies(worst_neighbours(plan), plan)
    tallies.collect(BulkClient(plan, SeededEntropy(1)), 2000)
    events = choose_events([tallies])
    for bound in lower_bounds(events, tallies, 0.01):
        if bound.event.feature == "items":
            one, other = tallies.chosen.pairs[bound.event.pair][:: -1 if bound.event.is_reversed else 1]
            shown = bool(bound.event.values[1])
            counts = [int(tallies.items[place, bound.event.number]) for place in (one, other)]
            totals = [int(tallies.totals[place]) for place in (one, other)]
            hits = [count if shown else total - count for count, total in zip(counts, totals, strict=True)]
            each = 0.01 / (2 * len(events))
            assert math.isclose(bound.likelier, smallest_chance(hits[0], totals[0], each), rel_tol=1e-8)
            assert math.isclose(bound.rarer, largest_chance(hits[1], totals[1], each), rel_tol=1e-8)


def test_malformed_reports_have_no_law():
    """Where some answers are no reports, the laws are not decided instead of guessed."""
    plan = PLANS["fixed-size"]

    class NoSuchSet(faults.Faulty):
        """Every hundredth rank is beyond the last set."""

        def spoiled(self, packed, batch):
            """Set all bits."""
            packed[::100] = 0xFF
            return ClientReports.of_packed(packed)

    found = audit_client(plan, NoSuchSet(plan), trials=5000)
    assert broken(found) == {"format"}
    assert {finding.verdict for finding in found[2:]} == {UNDECIDED}
    assert broken(audit_conformance(plan, NoSuchSet(plan))) == {"format"}


def test_an_audit_refuses_what_it_cannot_use():
    """Too few trials and confidences without meaning are refused."""
    for trials, confidence in ((999, "99%"), (1000, "40%"), (1000, "100%"), (1000, "much")):
        with pytest.raises(PlanError):
            audit_client(PLANS["none"], trials=trials, confidence=confidence)


def test_progress_ends_at_the_total():
    """Every stage tells how many of its reports are done, up to all of them."""
    told = {}
    audit_client(PLANS["none"], trials=4000, progress=lambda stage, done, total: told.update({stage: (done, total)}))
    audit_conformance(PLANS["none"], progress=lambda stage, done, total: told.update({stage: (done, total)}))
    stages = ["learning", "scoring", "following", "every item", "all sizes", "testing", "form"]
    assert list(told) == stages
    assert all(done == total for done, total in told.values())


# ---- programs

READ_ALL = "import sys\nlines = sys.stdin.read().split('\\n')[:-1]\n"
ANSWER = f"{READ_ALL}print('\\n'.join('00' * WIDTH for line in lines))"
PROGRAMS = {
    "import time\ntime.sleep(60)": "wrote nothing for",
    "raise SystemExit(3)": "ended after 0 lines",
    f"{READ_ALL}print('00' * WIDTH)": "ended after 1 lines",
    f"{READ_ALL}print('zz' * WIDTH)\nprint('\\n'.join('00' * WIDTH for line in lines))": "line 1 of",
    f"{READ_ALL}print('\\n'.join('AA' * WIDTH for line in lines))": "line 1 of the program is no report in lowercase",
    f"{READ_ALL}print('\\n'.join('0' for line in lines))": "no report in lowercase hexadecimal",
    f"{ANSWER}\nprint('00')": "wrote more than the 300 reports",
    f"{ANSWER}\nraise SystemExit(4)": "ended with status 4",
    f"{ANSWER}\nimport os, time\nsys.stdout.close()\nos.close(1)\ntime.sleep(60)": "did not end",
    "print('plan', '0' * 64)": "another plan",
    "while True: print('x' * 99999, end='')": "longer than any report",
}


@pytest.fixture(scope="module")
def plan_path(tmp_path_factory):
    """Return the file of a small plan."""
    path = tmp_path_factory.mktemp("audit") / "plan.json"
    write_plan(PLANS["bch"], path)
    return path


def program(code, plan_path, **options):
    """Return a client that runs some Python."""
    plan = PLANS["bch"]
    code = code.replace("WIDTH", str(plan.report_bytes))
    return Program([sys.executable, "-c", code], plan_path, plan, **options)


def batches(count=3, rows=100):
    """Return batches of small transactions."""
    return [batch_of([[0, 1], [], [5], [1, 2, 3, 4]] * (rows // 4), PLANS["bch"])] * count


@pytest.mark.parametrize("code", PROGRAMS)
def test_a_program_that_breaks_the_protocol_is_refused(plan_path, code):
    """Whatever a program does wrong, it is told as one error, within its patience, and the program is gone."""
    with pytest.raises(WireError, match=PROGRAMS[code]):
        list(answered(program(code, plan_path, patience_seconds=1.5), iter(batches())))


@pytest.mark.parametrize("ending", ["\\n", "\\r\\n"])
def test_a_program_may_answer_at_the_end(plan_path, ending):
    """Reports come in the order of transactions, of whatever length, also where none is written before all is read."""
    code = f"{READ_ALL}sys.stdout.write(''.join(line.replace(' ', '').encode().hex() + '{ending}' for line in lines))"
    given = list(program(code, plan_path).reports(iter(batches())))
    assert [len(answers) for answers in given] == [100] * 3
    for answers in given:
        assert answers.lengths.tolist() == [2, 0, 1, 4] * 25
        assert answers.octets[3].tobytes() == b"1234"
        assert answers.octets[2].tobytes() == b"5\0\0\0"


def test_a_program_gets_the_transactions_as_they_are(plan_path, tmp_path):
    """Standard input holds a line a transaction, nothing else; the last argument is the plan's path."""
    code = f"{ANSWER}\nopen({str(tmp_path / 'seen')!r}, 'w').write(sys.argv[-1] + '\\n' + '\\n'.join(lines))"
    list(program(code, plan_path).reports(iter(batches(1, 4))))
    assert (tmp_path / "seen").read_text() == f"{plan_path}\n0 1\n\n5\n1 2 3 4"


def test_neither_side_waits_for_the_other(plan_path):
    """Far more than pipes hold goes in and out: a program that writes while it reads, and one that does not."""
    many = batches(10, 8000)
    echo = "import sys\nfor line in sys.stdin: print('00' * 99)"
    for code in (echo, ANSWER.replace("WIDTH", "99")):
        assert sum(len(answers) for answers in program(code, plan_path).reports(iter(many))) == 80_000


def test_stopping_early_ends_the_program(plan_path):
    """Whoever takes no more answers leaves no program behind, though it would write for ever."""
    stream = program("while True: print('00' * WIDTH)", plan_path).reports(iter(batches()))
    next(stream)
    stream.close()


def test_a_program_is_started_twice(plan_path):
    """A program that seeds itself the same way at each start gives equal reports; one that does not, hardly any."""
    plan = PLANS["bch"]
    drawn = f"chance.getrandbits({plan.items.report_bits}).to_bytes(WIDTH, 'little').hex()"
    for seed, least, most in (("1", 200, 200), ("", 0, 9)):  # more than 9 by chance once in 10^20
        code = f"import random\n{READ_ALL}chance = random.Random({seed})\nfor line in lines: print({drawn})"
        starts = compare_starts(worst_neighbours(plan).transactions[0], plan, program(code, plan_path), 200, 6)
        assert (starts.long, starts.length, starts.malformed) == (200, 6, 0)
        assert least <= starts.equal <= most
        assert starts.short >= 2
        assert starts.equal_pairs == (math.comb(starts.short, 2) if least else 0)


def test_what_goes_wrong_with_the_transactions_is_told(plan_path):
    """An error of the batches themselves is not taken for the program's."""

    def failing():
        yield from batches(1)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(program(ANSWER, plan_path).reports(failing()))


def test_a_program_that_is_none(plan_path, tmp_path):
    """A program that cannot be started is refused."""
    with pytest.raises(FileError, match="cannot start"):
        list(Program([str(tmp_path / "nothing")], plan_path, PLANS["bch"]).reports(iter(batches())))


def test_a_broken_program_is_a_finding(plan_path):
    """An audit of a program that does not answer ends with a finding, not an error, in both depths."""
    plan = PLANS["bch"]
    for found in (
        audit_conformance(plan, program("raise SystemExit(3)", plan_path)),
        audit_client(plan, program("raise SystemExit(3)", plan_path), trials=1000),
    ):
        assert broken(found) == {"answers"}
        assert "ended after 0 lines" in found[0].said


# ---- the command


CLIENT = Path(__file__).parents[1] / "pipe_client.py"
SURE = ("--confidence", "99.9999%")  # where real entropy is drawn: one false alarm in a million runs


def run(*arguments):
    """Run the audit; return its exit status and what it printed."""
    result = CliRunner().invoke(main, ["audit", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
    return result.exit_code, result.stdout, result.stderr


def test_the_reference_program_is_consistent(plan_path):
    """A program of the one-report client passes conformance and the empirical depth through a pipe."""
    command = f"'{sys.executable}' '{CLIENT}'"
    for depth in ("conformance", "empirical"):
        status, out, _ = run(plan_path, "--depth", depth, "--trials", 3000, *SURE, "--program", command, "--json")
        record = json.loads(out)
        assert (status, record["verdict"], record["client"]) == (0, CONSISTENT, "program")
        assert {finding["depth"] for finding in record["findings"]} == {depth}


def test_a_broken_client_ends_with_status_one(plan_path):
    """The findings are printed all the same, as text and as JSON."""
    command = f"'{sys.executable}' -c \"import sys; [print('00') for line in sys.stdin]\""
    options = ("--depth", "conformance", "--program", command)
    status, text, errors = run(plan_path, *options)
    assert (status, errors) == (1, "")
    assert text.startswith(f"broken, 1 check not made: plan {PLANS['bch'].plan_id}, ")
    assert "length: Reports are 1 to 1 byte long; the plan says 2." in text
    status, out, _ = run(plan_path, *options, "--json")
    record = json.loads(out)
    assert (status, record["verdict"], record["not_decided"]) == (1, BROKEN, 1)


def test_a_program_is_not_judged_by_our_client(plan_path, monkeypatch):
    """With --program all depths audit the plan's integers and the program: our client is not walked through."""
    monkeypatch.setattr(exact_walk, "_client_checks", None)
    command = f"'{sys.executable}' -c \"import sys; [print('00') for line in sys.stdin]\""
    status, out, _ = run(plan_path, "--trials", 1000, "--program", command, "--json")
    record = json.loads(out)
    names = {finding["name"] for finding in record["findings"] if finding["depth"] == "exact"}
    assert (status, record["verdict"]) == (1, BROKEN)
    assert {"amplification", "weights", "accepted by clients"} <= names
    assert not any("client," in name or name in ("bulk client", "draws from words") for name in names)


def test_one_long_line_takes_no_more_memory_than_itself():
    """A line of a megabyte among short ones is seen as too long, not kept beside each of them."""
    answers = _decoded([b"ff"] * 3_000 + [b"00" * 500_000, b"0a" * 2], 1, 0)
    assert answers.octets.shape == (3_002, 256)
    assert answers.lengths.tolist() == [1] * 3_000 + [256, 2]
    with pytest.raises(WireError, match="line 7 of the program is no report"):
        _decoded([b"f" * 1_000_001], 1, 6)


def test_checks_not_made_are_told_with_the_verdict():
    """The headline and the record say how many checks were not made, and the plan's whole id."""
    plan = PLANS["bch"]
    made, left_out = (Finding("exact", "check", verdict, "Said.") for verdict in (CONSISTENT, UNDECIDED))
    request = AuditRequest(trials=1_000, program=("client",))
    for findings, head, count in (
        ([made], "consistent: ", 0),
        ([made, left_out], "consistent, 1 check not made: ", 1),
        ([left_out, made, left_out], "consistent, 2 checks not made: ", 2),
    ):
        audit = Audit(request, plan, tuple(findings))
        record = audits.audit(audit)
        lines = text.lines(record)
        assert lines[0].startswith(f"{head}plan {plan.plan_id}, ε ≤ ")
        assert lines[1] == (
            "depth all; the program given; 1,000 reports asked for, a false alarm with a chance of at most 0.1%"
        )
        assert record.to_json()["not_decided"] == count


def test_either_of_our_clients_may_be_audited(plan_path):
    """All depths of both clients are consistent, and the record says what was asked for."""
    for client in ("bulk", "single"):
        status, out, _ = run(plan_path, "--client", client, "--trials", 1000, *SURE, "--json")
        record = json.loads(out)
        assert (status, record["verdict"], record["client"], record["confidence"]) == (
            0,
            CONSISTENT,
            client,
            "999999/1000000",
        )
        assert {finding["depth"] for finding in record["findings"]} == {"exact", "conformance", "empirical"}


def test_a_plan_that_breaks_its_promise_is_broken(plan_path, tmp_path):
    """The exact depth audits the text of a plan that nobody could use; the other depths need a plan."""
    spoiled = tmp_path / "plan.json"
    content = json.loads(plan_path.read_text())
    content["promise"] = {"prior": "5/100", "posterior": "6/100"}
    spoiled.write_text(json.dumps(content))
    status, out, _ = run(spoiled, "--depth", "exact", "--json")
    record = json.loads(out)
    assert (status, record["verdict"], record["plan_id"]) == (1, BROKEN, None)
    assert run(spoiled, "--depth", "conformance")[0] == 1
    assert "no usable plan" in run(spoiled)[1]


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["--trials", "999"], 2),
        (["--depth", "deep"], 2),
        (["--client", "single", "--program", "x"], 2),
        (["--depth", "exact", "--program", "x"], 2),
        (["--program", ""], 2),
        (["--program", "'x"], 2),
        (["--confidence", "20%"], 1),
        (["--confidence", "sure"], 1),
        (["--program", "/nothing/here", "--depth", "conformance"], 1),
    ],
)
def test_what_cannot_be_asked(plan_path, arguments, status):
    """Wrong usage has status 2, bad values status 1, as elsewhere; nothing goes to standard output."""
    result = run(plan_path, *arguments)
    assert (result[0], result[1]) == (status, "")
    assert "Error: " in result[2]


def test_an_audit_of_no_file(tmp_path):
    """A plan that is not there is an error, not a finding."""
    status, out, errors = run(tmp_path / "none.json")
    assert (status, out) == (1, "")
    assert "cannot read" in errors


def test_patience_is_a_minute():
    """docs/formats.md tells how long a program may be silent."""
    assert clients.PATIENCE_SECONDS == 60
