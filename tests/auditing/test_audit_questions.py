"""Plans of several questions under audit: the coin, each question by itself, and faults in either."""

import json
import math
from collections import Counter
from fractions import Fraction
from functools import partial

import faults
import naive
import numpy as np
import pytest
from scipy.stats import binom

from assocpriv.auditing import bounds, exact_walk, questions
from assocpriv.auditing.bounds import audit_conformance
from assocpriv.auditing.clients import BulkClient, ClientReports, SingleClient, batch_of
from assocpriv.auditing.exact_walk import audit_exact
from assocpriv.auditing.findings import BROKEN, CONSISTENT, UNDECIDED, Fault, verdict
from assocpriv.auditing.questions import CoinTallies, OfQuestion, Seen, TooFewAnswers, coin_baskets, coin_laws
from assocpriv.auditing.recompute_promise import check_integers, read_numbers
from assocpriv.client.bulk import BulkRandomizer
from assocpriv.plans.baskets import Plan
from assocpriv.simulation.enumeration import SeededEntropy

audit_client = partial(bounds.audit_client, seed=5)
PLANS = faults.QUESTIONS
THREE, PLAIN = PLANS["three questions"], PLANS["plain"]
COIN, QUESTIONS, BULK = "questions", "client, questions", "bulk client"


def broken(findings):
    """Return the names of the findings that say broken."""
    return {finding.name for finding in findings if finding.verdict == BROKEN}


def numbers_of(plan):
    """Return a plan's integers."""
    return read_numbers(plan.canonical_json)


def of_question(plan, number, seed=1, client=BulkClient):
    """Return our client as one of a question."""
    box = client(plan, SeededEntropy(seed))
    return OfQuestion(box, plan, numbers_of(plan), number, Seen.none(plan), np.random.default_rng(seed))


# ---- our own clients


@pytest.mark.parametrize("kind", PLANS)
def test_the_exact_depth_is_consistent(kind):
    """Every check is made of each question, named by its number, and of the whole."""
    plan = PLANS[kind]
    findings = audit_exact(plan, text=plan.canonical_json, work=20_000)
    assert [(finding.name, finding.said) for finding in findings if finding.verdict != CONSISTENT] == []
    names = {finding.name for finding in findings}
    assert {QUESTIONS, BULK} <= names
    assert {f"client, every draw, question {number}" for number in range(len(plan.questions))} <= names
    [figures] = [finding.figures for finding in findings if finding.name == "amplification"]
    ratios = [question.amplification for question in plan.questions]
    assert list(map(Fraction, figures["questions"])) == ratios
    assert Fraction(figures["amplification"]) == max(ratios) == plan.amplification
    json.dumps([finding.figures for finding in findings])


@pytest.mark.parametrize(("client", "trials"), [(BulkClient, 60_000), (SingleClient, 8000)])
@pytest.mark.parametrize("kind", PLANS)
def test_our_clients_are_consistent(kind, client, trials):
    """No depth finds anything; coin and questions share the false alarms; about so many reports are asked for."""
    plan = PLANS[kind]
    box = client(plan, SeededEntropy(7))
    findings = audit_conformance(plan, box) + audit_client(plan, box, trials=trials)
    assert verdict(findings) == CONSISTENT
    named = {finding.name: finding for finding in findings}
    rates = [finding.figures["false_alarm"] for finding in findings if "false_alarm" in finding.figures]
    decided = sum(f"amplification, question {number}" in named for number in range(len(plan.questions)))
    assert math.isclose(math.fsum(rates), 0.001 * (decided + 1) / (len(plan.questions) + 1))
    form = [finding for finding in findings if finding.name == "format"][-1]
    assert trials / 2 < form.figures["reports"] < 4 * trials  # few trials are many for each basket
    assert named["amplification, questions"].figures["epsilon_low"] == 0


def test_a_question_that_is_rarely_asked_is_not_decided():
    """Where too few answers are to be expected nothing is asked, and it is said; about all else it is decided."""
    plan = PLANS["rarely a size"]
    findings = audit_client(plan, BulkClient(plan, SeededEntropy(1)), trials=6000)
    [undecided] = [finding for finding in findings if finding.name == "answers, question 1"]
    assert undecided.verdict == UNDECIDED
    assert "amplification, question 0" in {finding.name for finding in findings}
    assert not any("question 1" in finding.name for finding in findings if finding is not undecided)


def test_false_alarms_of_the_coin_keep_their_rate():
    """In 60 audits of a faultless coin neither law alarms more often than its rate allows once in a million."""
    level, audits, alarms = 0.1, 60, Counter()
    numbers = numbers_of(THREE)
    for seed in range(audits):
        seen = Seen.none(THREE)
        tested = CoinTallies(coin_baskets(numbers, np.random.default_rng(seed)), THREE, seen)
        tested.collect(faults.Faulty(THREE, seed), 3000)
        alarms.update(law.name for law in coin_laws(tested, seen, numbers) if law.p_value <= level)
    assert max(alarms.values(), default=0) <= binom(audits, level).isf(1e-6)


# ---- a client of one question


@pytest.mark.parametrize("number", range(3))
def test_answers_are_those_of_the_question(number):
    """Each row of entries gets one of the answers that the client gave about a transaction with just those entries."""
    given, plan = Counter(), THREE
    question = plan.questions[number]

    class Noted(faults.Faulty):
        """Keeps its answers by the entries that the package's own view sees."""

        def spoiled(self, packed, batch):
            """Keep them."""
            for basket, report in zip(batch, packed, strict=True):
                asked, answer = plan.answer_in(report.tobytes())
                if asked == question:
                    given[tuple(question.view.entries(sorted(basket))), answer] += 1
            return ClientReports.of_packed(packed)

    box = OfQuestion(Noted(plan), plan, numbers_of(plan), number, Seen.none(plan), np.random.default_rng(1))
    rows = [(), (0,), (1,), (2,)] if question.view.kind == "sizes" else [(), (3,), (0, 1, 2, 39), tuple(range(30))]
    batches = [batch_of(rows * 50, plan.alone(question)), batch_of(rows[:1] * 7, plan.alone(question))[2:]]
    answers = list(box.reports(iter(batches)))
    assert [len(each) for each in answers] == [200, 5]
    assert box.malformed == 0
    taken = Counter()
    for asked, each in zip((rows * 50, rows[:1] * 5), answers, strict=True):
        assert (each.lengths == question.form.length).all()
        taken.update(zip(asked, (row.tobytes() for row in each.octets), strict=True))
    assert taken <= given


@pytest.mark.parametrize("number", range(3))
def test_answers_follow_the_order_of_the_client(number):
    """The answers about one transaction are the first that the client gave, in its order."""
    plan, rows = THREE, [()] * 400
    box, other = (BulkClient(plan, SeededEntropy(3)) for _ in range(2))
    asked = []

    class Noted:
        """Keeps what it is asked."""

        starts_anew = False

        def reports(self, batches):
            """Answer."""

            def kept():
                for batch in batches:
                    asked.append(batch)
                    yield batch

            return box.reports(kept())

    question = plan.questions[number]
    inside = OfQuestion(Noted(), plan, numbers_of(plan), number, Seen.none(plan), np.random.default_rng(1))
    [answers] = inside.reports(iter([batch_of(rows, plan.alone(question))]))
    again = np.concatenate([each.octets for each in other.reports(iter(asked))])
    wanted = plan.answers_in(again, number)[:400]
    assert np.array_equal(answers.octets, wanted)


def test_too_few_answers_are_told():
    """A client that never answers a question is not judged by it, and its coin is broken."""

    class Never(faults.Asked):
        """Asks everybody the first question."""

        def number(self, items, entropy):
            """Return it."""
            return 0

    inside = of_question(THREE, 1, client=lambda plan, _: faults.Single(Never, plan))
    with pytest.raises(TooFewAnswers):
        list(inside.reports(iter([batch_of([[1], [2, 3]], THREE.alone(THREE.questions[1]))])))
    findings = audit_client(PLAIN, faults.Single(Never, PLAIN), trials=8000)
    assert broken(findings) == {COIN, "successive questions"}
    named = {finding.name: finding.verdict for finding in findings}
    assert [named[f"answers, question {number}"] for number in (1, 2)] == [UNDECIDED] * 2


def test_what_is_no_report_has_no_question():
    """Malformed reports are counted once for all, and nothing is decided from the others' laws."""

    class Unknown(faults.Faulty):
        """Every hundredth report answers a question that there is not."""

        def spoiled(self, packed, batch):
            """Number it."""
            packed[::100, 0] = 3
            return ClientReports.of_packed(packed)

    findings = audit_client(THREE, Unknown(THREE), trials=20_000)
    assert broken(findings) == {"format"} == broken(audit_conformance(THREE, Unknown(THREE))) - {"report file"}
    laws = [finding for finding in findings if "p_value" in finding.figures]
    assert {finding.verdict for finding in laws} == {UNDECIDED}


# ---- planted faults

# name -> device, trials, and findings of the black box that must say broken; the exact depth finds each by QUESTIONS
FAULTS = {
    "a coin that depends on the basket": (faults.NotOfLarge, 10_000, {COIN}),
    "a coin drawn until it suits": (faults.UntilItSuits, 10_000, {COIN}),
    "shares off by a tenth": (faults.SharesOff, 20_000, {COIN}),
    "a number that tells the size": (faults.NumberTellsSize, 10_000, {COIN}),
    "padding that tells the size": (faults.PaddingTells, 6000, {"format"}),
    "about others than held": (faults.AnswersAnother, 20_000, {"items shown, question 0"}),
    "another question than named": (faults.NamesAnother, 10_000, {COIN, "items shown, question 1"}),
    "a question asked again": (faults.CoinRepeats, 6000, {"successive questions"}),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_broken(name):
    """The finding that is about its fault calls a client broken, asked one at a time."""
    device, trials, wanted = FAULTS[name]
    assert wanted <= broken(audit_client(PLAIN, faults.Single(device, PLAIN), trials=trials))


def test_a_coin_that_tells_too_much_breaks_the_bound_of_epsilon():
    """Where a question rules a basket out, what it is asked belongs to what reports tell: more than γ allows."""
    found = audit_client(PLAIN, faults.BulkUntilItSuits(PLAIN), trials=200_000)
    assert {COIN, "amplification, questions"} <= broken(found)


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found_exactly(name):
    """The exact depth finds each in the whole plan alone; each question by itself has none."""
    found = broken(audit_exact(PLAIN, client=FAULTS[name][0], work=3000))
    assert QUESTIONS in found <= {QUESTIONS, BULK}


def test_the_faultless_twin_is_consistent():
    """What faults are planted in has none of its own."""
    assert broken(audit_client(PLAIN, faults.Single(faults.Asked, PLAIN), trials=20_000)) == set()
    assert broken(audit_exact(PLAIN, client=faults.Asked, work=3000)) == set()


def test_a_coin_a_tenth_off_breaks_the_default_audit():
    """In as many reports as are asked for by default a share of 1 in 16 is found to be a tenth too large."""
    plan = PLANS["rarely a size"]
    found = audit_client(plan, faults.OtherShares(plan, (298, 22)), trials=1_000_000)
    assert COIN in broken(found)


@pytest.mark.parametrize("number", range(3))
def test_a_fault_of_one_question_is_told_by_its_number(number):
    """A client that answers one question by another operator is broken at that question alone."""
    followed = faults.with_shares(THREE, number)
    found = broken(audit_client(THREE, faults.OtherPlan(THREE, followed), trials=200_000))
    assert f"number kept, question {number}" in found
    assert all(name.endswith(f"question {number}") for name in found)


def test_a_bulk_client_that_mixes_questions_is_found(monkeypatch):
    """A bulk client that names another question in one report differs from one at a time, for equal words."""
    right = BulkRandomizer.randomize

    def wrong(self, *given):
        chunk = right(self, *given)
        chunk.packed[-1, 0] ^= 1
        return chunk

    monkeypatch.setattr(BulkRandomizer, "randomize", wrong)
    assert broken(audit_exact(THREE, work=3000)) == {BULK}


def test_a_coin_of_other_weights_is_no_first_draw():
    """Whoever draws anything before the question, or by other weights, is told so."""

    class Early(faults.Asked):
        """Draws a coin before the question."""

        def number(self, items, entropy):
            """Throw it."""
            entropy.below(2)
            return super().number(items, entropy)

    for device in (Early, faults.SharesOff):
        alone = [device(THREE.alone(question)) for question in THREE.questions]
        with pytest.raises(Fault, match="first draw is not that of a question"):
            exact_walk.check_questions(device(THREE), alone, numbers_of(THREE), 1)


# ---- the text


def changed(place, **fields):
    """Return the text of a plan with fields of one question replaced, or of its view."""
    content = json.loads(THREE.canonical_json)
    question = content["questions"][place]
    for field, value in fields.items():
        (question if field in question else question["view"])[field] = value
    return json.dumps(content)


def doubled():
    """Return the text of a plan with a question twice."""
    content = json.loads(THREE.canonical_json)
    content["questions"][1] = content["questions"][0]
    return json.dumps(content)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (changed(0, share="5 of 10"), "stated figures"),
        (changed(1, share="3 of 11"), "stated figures"),
        (changed(1, share="03 of 10"), "plan text"),
        (changed(2, amplification="at most 99.000000"), "stated figures"),
        (changed(2, report_bits=5), "stated figures"),
        (changed(2, bounds=[2, 2, 9]), "plan text"),
        (changed(2, bounds=[2, 4, 41]), "plan text"),
        (changed(2, bounds=[0, 4, 9]), "plan text"),
        (changed(2, bounds=[2, 4, True]), "plan text"),
        (changed(2, bounds=[]), "plan text"),
        (doubled(), "plan text"),
    ],
)
def test_broken_questions_are_found(text, name):
    """Each is found by the check that is meant for it, and clients refuse the plan."""
    assert broken(check_integers(text)[1]) == {name}
    assert broken(audit_exact(None, text=text)) == {name, "accepted by clients"}


def test_the_largest_amplification_of_all_questions_decides():
    """A plan whose promise one question breaks is broken, though it is seldom asked."""
    content = json.loads(THREE.canonical_json)
    largest = max(question.amplification for question in THREE.questions)
    for odds, wanted in ((largest, {"amplification"}), (largest + 1, set())):
        prior = 1 / (1 + odds)
        content["promise"] = {"prior": f"{prior.numerator}/{prior.denominator}", "posterior": "1/2"}
        assert broken(check_integers(json.dumps(content))[1]) == wanted


def test_the_audits_own_reading_is_the_packages():
    """Entries and reports that the audit computes are those of the package, and so are the sizes that it chooses."""
    for plan in PLANS.values():
        numbers = numbers_of(plan)
        assert numbers.report_bytes == plan.report_bytes
        assert numbers.cumulative == plan.cumulative_weights
        for number, (asked, question) in enumerate(zip(numbers.questions, plan.questions, strict=True)):
            assert numbers.report(number, b"\1") == plan.report_of(number, b"\1")
            for size in range(plan.n_items + 1):
                entries = question.view.entries(list(range(size)))
                assert asked.entries(range(size)) == entries
                assert not asked.bounds or size in asked.sizes(entries, plan.n_items)


def test_unlikely_sizes_are_asked_about():
    """The coin is asked about the ends of all classes, the empty basket first, and about all items."""
    sizes = [len(basket) for basket in coin_baskets(numbers_of(THREE), np.random.default_rng(1))]
    assert sizes[0] == 0
    assert {0, 1, 2, 3, 4, 8, 9, 40} <= set(sizes)
    assert len(sizes) <= questions._MOST_SIZES + 1


def test_a_plan_of_one_question_is_audited_as_before():
    """No coin and no number: its findings name no question, whatever its weight."""
    plan = naive.small_plan("none", 5, 1, 1)
    heavy = Plan(plan.catalogue, (faults.weighted(plan, 7),), plan.promise)
    for each in (plan, heavy):
        findings = audit_exact(each, work=3000) + audit_client(each, trials=1000)
        assert not any("question" in finding.name for finding in findings)
        assert broken(findings) == set()
