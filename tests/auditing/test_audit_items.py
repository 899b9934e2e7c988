"""Every item under audit: how the catalogue is dealt, that it is counted right, and faults with one item of many."""

import math
from collections import Counter
from functools import partial

import faults
import naive
import numpy as np
import pytest
from planned import planned

from assocpriv.auditing import bounds, exact_draws, goodness_of_fit
from assocpriv.auditing import counts as tallies_module
from assocpriv.auditing import goodness_of_fit as items
from assocpriv.auditing.bounds import audit_conformance
from assocpriv.auditing.clients import BulkClient, ClientReports, SingleClient
from assocpriv.auditing.counts import form_of, is_spanned, span_of
from assocpriv.auditing.exact_walk import audit_exact
from assocpriv.auditing.findings import BROKEN, CONSISTENT, UNDECIDED, Fault
from assocpriv.auditing.goodness_of_fit import Events, ItemTallies, deals, joint_p_value, reports_needed
from assocpriv.auditing.recompute_promise import read_numbers
from assocpriv.client import baskets as itemset
from assocpriv.client import bulk
from assocpriv.client.baskets import KeptSubsets, Randomizer
from assocpriv.promise.errors import PlanError
from assocpriv.simulation.enumeration import SeededEntropy

PROMISE = faults.PROMISE
FALSE_ALARM = 1e-6
ALARM_OF_A_LAW = 1.5e-5  # in an audit of both clients by default: of 0.1%, for 14 laws in each
# as many items as people have; the one-report client takes a millisecond for a seed of a Reed–Solomon code
LARGE = {
    "none": planned(1000, 5, PROMISE, code="none"),
    "bch": planned(1000, 5, PROMISE),
    "reed-solomon": planned(150, 3, PROMISE, code="reed-solomon"),
}
SMALL = faults.PLANS


def rng(seed=1):
    """Return numbers to deal by."""
    return np.random.default_rng(seed)


def broken(findings):
    """Return the names of the findings that say broken."""
    return {finding.name for finding in findings if finding.verdict == BROKEN}


def tallied(plan, box, total, seed=1):
    """Return the tallies of all deals."""
    chance = rng(seed)
    tallies = [ItemTallies(plan, dealt, chance) for dealt in deals(plan, total, chance)]
    for each in tallies:
        each.collect(box)
        assert each.malformed == 0
    return tallies


def p_values(plan, box, total, seed=1):
    """Return the p-values of the two laws about items."""
    return [law.p_value for law in goodness_of_fit.every_item(tallied(plan, box, total, seed))]


# ---- the deal


def held_by(dealt):
    """Return the baskets' items."""
    return [each.items for each in dealt.transactions]


@pytest.mark.parametrize("kind", [*LARGE, *SMALL])
def test_every_item_is_dealt(kind):
    """With just enough reports every item is in a basket of min(M, n) different items, asked about often enough."""
    plan = (LARGE | SMALL)[kind]
    n, m = plan.n_items, min(plan.items.transaction_size, plan.n_items)
    needed = reports_needed(plan)
    [dealt] = deals(plan, -(-n // m) * needed, rng())
    held = held_by(dealt)
    assert {item for items in held for item in items} == set(range(n))
    assert all(list(items) == sorted(set(items)) and len(items) == m for items in held)
    assert (len(held), dealt.items, dealt.each) == (-(-n // m), n, needed)


@pytest.mark.parametrize("kind", LARGE)
def test_with_more_reports_smaller_baskets_are_dealt(kind):
    """With enough reports every item is in a basket of each size from 1 to M, alone too."""
    plan = LARGE[kind]
    dealt = deals(plan, 10**6, rng())
    sizes = [len(each.transactions[0].items) for each in dealt]
    assert sizes == [plan.items.transaction_size, *range(1, plan.items.transaction_size)]
    for each, size in zip(dealt, sizes, strict=True):
        assert {len(items) for items in held_by(each)} == {size}
        assert {item for items in held_by(each) for item in items} == set(range(plan.n_items))
        assert each.each >= reports_needed(plan)
    assert sum(len(each.transactions) * each.each for each in dealt) <= 10**6


@pytest.mark.parametrize("kind", ["none", "bch"])
def test_as_many_items_as_the_trials_allow(kind):
    """With fewer reports fewer items are dealt, none of them with fewer reports; and others each time."""
    plan = LARGE[kind]
    total = 20 * reports_needed(plan) + 3
    [first], [second] = (deals(plan, total, rng(seed)) for seed in (1, 2))
    assert first.items == len({item for items in held_by(first) for item in items}) == 20 * plan.items.transaction_size
    assert first.each == reports_needed(plan)
    assert first.transactions != second.transactions
    assert deals(plan, 3, rng())[0].each == 3


@pytest.mark.parametrize("kind", LARGE)
def test_needed_reports_find_what_is_always_or_never_shown(kind):
    """After so many reports an item always shown, or never, has a chance of at most 1e-10; one fewer would be more."""
    plan = LARGE[kind]
    inside = float(form_of(plan).shown_probability(1, 0))
    needed = reports_needed(plan)
    assert max(inside, 1 - inside) ** needed <= 1e-10 < max(inside, 1 - inside) ** (needed - 1)


def test_a_basket_that_is_asked_about_often_fits_a_batch():
    """Where a few items get all the reports, a basket's are no more than our bulk client answers at a time."""
    plan = SMALL["few items"]
    assert {each.each for each in deals(plan, 10**6, rng())} == {1 << 16}
    for tallies in tallied(plan, BulkClient(plan, SeededEntropy(1)), 300_000):
        assert Events.joined(tallies.own).trials.max() == 1 << 16


# ---- what is counted


@pytest.mark.parametrize("kind", SMALL)
@pytest.mark.parametrize("expanded", [1, 1 << 28])
def test_items_are_counted_as_they_are(monkeypatch, kind, expanded):
    """What is counted is what one finds by reading the reports one by one, in pieces or as a whole."""
    monkeypatch.setattr(items, "_EXPANDED_BITS", expanded)
    plan, reports = SMALL[kind], []

    class Noted(faults.Faulty):
        """Keeps its reports."""

        def spoiled(self, packed, batch):
            """Keep them."""
            reports.extend((tuple(sorted(basket)), bytes(row)) for basket, row in zip(batch, packed, strict=True))
            return ClientReports.of_packed(packed)

    tallies = tallied(plan, Noted(plan), 700)[0]
    dealt = tallies.deal
    reports = reports[: dealt.each * len(dealt.transactions)]
    own, kept, other, set_bits = Counter(), Counter(), Counter(), Counter()
    for held, report in reports:
        shown = plan.items.form.items(report)
        [reference] = [each.reference for each in dealt.transactions if each.items == held]
        own.update((held, item) for item in shown & set(reference))
        kept[held, len(shown & set(reference))] += 1
        other.update((held, item) for item in shown - set(reference))
        if plan.items.form.name != "rank":
            bits = plan.items.form.decode(report)
            set_bits.update((held, bit) for bit in range(plan.items.report_bits) if bits >> bit & 1)
    assert len(reports) == dealt.each * len(dealt.transactions)
    m = plan.items.transaction_size
    wanted = [[own[each.items, item] for item in each.reference] for each in dealt.transactions]
    wanted_kept = [[kept[each.items, j] for j in range(m + 1)] for each in dealt.transactions]
    counted = Events.joined(tallies.own)
    assert counted.count.tolist() == [*np.ravel(wanted), *np.ravel(wanted_kept)]
    assert set(counted.trials) == {dealt.each}
    elsewhere = Events.joined(tallies.elsewhere)
    if plan.items.generator.kind == "none":
        every = range(plan.items.padded_items)
        outside = [[i for i in every if i not in each.reference] for each in dealt.transactions]
        wanted = [
            other[each.items, i] for each, places in zip(dealt.transactions, outside, strict=True) for i in places
        ]
        assert elsewhere.count.tolist() == wanted
        assert set(elsewhere.probability) == {float(form_of(plan).shown_probability(0, 1))}
        return
    wanted = []
    for each in dealt.transactions:
        span = span_of(each.reference, plan)
        for bit in range(plan.items.report_bits):
            count = set_bits[each.items, bit]
            if abs(2 * count - dealt.each) <= 2 * dealt.each**0.5 or not is_spanned(1 << bit, span):
                wanted.append(count)
    assert elsewhere.count.tolist() == wanted
    assert set(elsewhere.probability) == {0.5}


def test_bits_that_items_fix_are_no_coins():
    """In a Reed–Solomon code item 0 fixes the first bits: a basket with it is not blamed for them, and would be."""
    plan = naive.small_plan("reed-solomon", 3, 3, 2, insert=(1, 3), shares=faults.SHARES)
    tallies = tallied(plan, BulkClient(plan, SeededEntropy(3)), 4000)[0]
    joined = Events.joined(tallies.elsewhere)
    assert len(joined.count) < plan.items.report_bits
    assert joint_p_value(joined.p_values()) > FALSE_ALARM
    span = span_of(tallies.deal.transactions[0].reference, plan)
    assert any(is_spanned(1 << bit, span) for bit in range(plan.items.report_bits))


# ---- our own clients, on plans as people have them


@pytest.mark.parametrize("kind", LARGE)
@pytest.mark.parametrize("client", [BulkClient, SingleClient])
def test_no_item_is_treated_otherwise(client, kind):
    """Neither client treats any item otherwise than the plan says, on the system's own entropy."""
    plan = LARGE[kind]
    total = (8 if client is BulkClient else 1) * -(-plan.n_items // plan.items.transaction_size) * reports_needed(plan)
    tallies = tallied(plan, client(plan), total, None)
    assert tallies[0].deal.items == plan.n_items
    assert min(law.p_value for law in goodness_of_fit.every_item(tallies)) > FALSE_ALARM


# ---- faults with one item of a thousand

RARE_FAULTS = {
    "always shown, bch": ("bch", faults.AlwaysShown, 0, 20_000),
    "always shown, none": ("none", faults.AlwaysShown, 0, 20_000),
    "always shown, alone": ("bch", faults.ShownAlone, 0, 125_000),
    "two items swapped": ("bch", faults.SwappedItems, 0, 250_000),
    "a seed bit tells it": ("bch", faults.SeedTells, 1, 20_000),
    "another item tells it": ("none", faults.ShowsAnother, 1, 20_000),
}


@pytest.mark.parametrize("name", RARE_FAULTS)
def test_a_fault_with_one_item_of_a_thousand_is_found(name):
    """Whatever the deal, the law that is about it finds it; and finds nothing in the faultless client."""
    kind, device, law, total = RARE_FAULTS[name]
    plan = LARGE[kind]
    for seed in (1, 2):
        box = faults.Single(device, plan) if seed == 1 and total == 20_000 else faults.InBulk(plan, device)
        assert p_values(plan, box, total, seed)[law] < ALARM_OF_A_LAW
    assert min(p_values(plan, faults.Faulty(plan), total)) > FALSE_ALARM


def test_a_rare_items_leak_breaks_the_default_audit():
    """A client for many baskets that always shows item 777 of a thousand is called broken by the default audit."""
    found = bounds.audit_client(LARGE["bch"], faults.InBulk(LARGE["bch"], faults.AlwaysShown), trials=300_000)
    assert "every item" in broken(found)
    [finding] = [finding for finding in found if finding.name == "every item"]
    assert "all 1,000 items" in finding.said
    assert "777" not in finding.said


@pytest.mark.parametrize("name", ["swapped", "always shown"])
@pytest.mark.parametrize("code", ["bch", "none"])
def test_our_clients_differ_in_one_item(name, code):
    """Where only the one-report client errs with an item of a thousand, its reports differ from the bulk client's."""
    device = {"swapped": faults.SwappedItems, "always shown": faults.AlwaysShown}[name]
    plan = LARGE[code]
    for seed in range(3):
        with pytest.raises(Fault, match=r"differ|more random words"):
            exact_draws.check_bulk(device(plan), plan, read_numbers(plan.canonical_json), 5000, seed)


def test_all_items_take_part_in_the_comparison():
    """The comparison of our clients deals every item, or says how many of them."""
    plan = LARGE["bch"]
    numbers = read_numbers(plan.canonical_json)
    assert exact_draws.check_bulk(Randomizer(plan), plan, numbers, 5000)["items"] == 1000
    few = exact_draws.check_bulk(Randomizer(plan), plan, numbers, 10, 3)
    assert few["transactions"] == 300 + len(exact_draws.told_sizes(numbers))
    deals = {tuple(sorted(map(tuple, exact_draws._dealt(numbers, 400, rng(seed))))) for seed in (1, 2)}
    assert len(deals) == 2


# ---- weights that are a little off


def rounded(operator):
    """Tabulate an operator's kept subsets with weights rounded to multiples of 2^(b−16)."""
    subsets, total = itemset.kept_subsets(operator), 1 << operator.weight_bits
    unit = total >> 16
    cumulative = (*((each + unit // 2) // unit * unit for each in subsets.cumulative[:-1]), total)
    return KeptSubsets(subsets.masks, cumulative)


def test_weights_rounded_to_16_bits_are_found(monkeypatch):
    """Sixteen weights rounded to 2^16, in the one or in the other of our clients, are found exactly, not by trials."""
    plan = planned(1000, 4, PROMISE)
    assert broken(audit_exact(plan, work=10_000)) == set()
    with monkeypatch.context() as one:
        one.setattr(bulk, "kept_subsets", rounded)
        assert broken(audit_exact(plan, work=10_000)) == {"bulk client"}
        box = BulkClient(plan, SeededEntropy(1))
        assert broken(bounds.audit_client(plan, box, trials=20_000, seed=1)) == set()
    with monkeypatch.context() as other:
        other.setattr(itemset, "kept_subsets", rounded)
        assert "client, kept items" in broken(audit_exact(plan, work=10_000))


def test_a_fixed_sizes_weights_one_off_are_found(monkeypatch):
    """In reports of a fixed size the bulk client's first bound off by one is found."""
    plan = planned(64, 3, PROMISE)
    assert plan.items.form.name == "rank"
    right = bulk.SetTables.__init__

    def wrong(self, plan):
        right(self, plan)
        self._draws[0][0, 0] += np.uint64(1)

    monkeypatch.setattr(bulk.SetTables, "__init__", wrong)
    assert broken(audit_exact(plan, work=10_000)) == {"bulk client"}


# ---- words used twice


@pytest.mark.parametrize(
    ("kind", "client", "trials"),
    [
        ("none, rare", BulkClient, 5000),
        ("none, rare", SingleClient, 5000),
        ("fixed-size", BulkClient, 5000),
        ("fixed-size", SingleClient, 5000),
        ("bch", BulkClient, 200_000),
    ],
)
def test_bits_of_one_word_used_twice_are_found(kind, client, trials):
    """Where the words that decide what is kept decide what else is shown, the laws of what is shown tell."""
    plan = SMALL[kind]
    assert broken(bounds.audit_client(plan, client(plan, faults.WordsTwice()), trials=trials, seed=1))


# ---- clients that fail


@pytest.mark.parametrize("error", [AssertionError, OverflowError, ValueError, IndexError])
@pytest.mark.parametrize("kind", ["none", "bch", "fixed-size"])
def test_a_client_that_fails_is_broken(kind, error):
    """In every depth a client that raises is a finding; of what it raised the kind and the place are said alone."""
    plan, device = SMALL[kind], partial(faults.Failing, error=error)
    found = audit_exact(plan, client=device, work=2000)
    for audit in (audit_conformance, partial(bounds.audit_client, trials=1000)):
        found += audit(plan, faults.Single(device, plan))
    failed = [finding for finding in found if error.__name__ in finding.said]
    assert {finding.depth for finding in failed} == {"exact", "conformance", "empirical"}
    assert all(finding.verdict == BROKEN and "faults.py, line" in finding.said for finding in failed)
    assert "canary" not in str(found)


def test_a_bulk_client_that_fails_does_not_blame_the_plan(monkeypatch):
    """What the bulk client says of the plan's generator, or a wrong sum, is its own fault, in every depth."""
    plan = SMALL["bch"]

    def failing(*given):
        raise PlanError("the plan's generator does not have the independence it states")

    monkeypatch.setattr(bulk.BulkRandomizer, "randomize", failing)
    found = audit_exact(plan, work=2000) + audit_conformance(plan) + bounds.audit_client(plan, trials=1000)
    assert {(finding.depth, finding.name) for finding in found if finding.verdict == BROKEN} == {
        ("exact", "bulk client"),
        ("conformance", "answers"),
        ("empirical", "answers"),
    }


def test_many_starts_say_what_they_can_see(monkeypatch):
    """The finding says how many starts there were and which seeds would have repeated; too few decide nothing."""
    plan = SMALL["bch"]
    monkeypatch.setattr(faults.Faulty, "starts_anew", True)
    for seconds, verdict in ((60, CONSISTENT), (0, UNDECIDED)):
        monkeypatch.setattr(tallies_module, "_START_SECONDS", seconds)
        found = bounds.audit_client(plan, faults.Faulty(plan), trials=1000, seed=1)
        [finding] = [each for each in found if each.name == "many starts"]
        starts, bits = finding.figures["starts"], finding.figures["seed_bits"]
        assert f"{starts:,} starts" in finding.said
        assert finding.verdict == verdict
        assert starts == (1024 if seconds else 2)
        assert not seconds or math.exp(-(starts**2) / 2 / 2**bits) <= 0.05 < math.exp(
            -(starts**2) / 2 / 2 ** (bits + 1)
        )


def test_what_is_not_started_anew_is_not_judged_by_its_starts():
    """Our own clients live in this process: nothing is said of seeds, which the tests of the source hold."""
    plan = SMALL["bch"]
    for box in (BulkClient(plan), SingleClient(plan)):
        names = {finding.name for finding in bounds.audit_client(plan, box, trials=1000)}
        assert not names & {"separate starts", "many starts"}


def test_one_answer_that_is_no_report_is_broken():
    """A client that leaks, and hides it behind one answer in thousands that is no report, is broken."""
    plan = LARGE["bch"]

    class Hidden(faults.InBulk):
        """One report in 5,000 is a byte short."""

        def spoiled(self, packed, batch):
            """Cut it."""
            answers = super().spoiled(packed, batch)
            lengths = answers.lengths - (self.rng.random(len(packed)) < 1 / 5000)
            return ClientReports(answers.octets, lengths)

    found = bounds.audit_client(plan, Hidden(plan, faults.AlwaysShown), trials=100_000, seed=1)
    assert broken(found) == {"format"}
