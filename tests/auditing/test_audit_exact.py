"""The exact depth of an audit: its formulas against others, sound plans of every kind, and planted faults."""

import ast
import json
import sys
from bisect import bisect_left
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import comb
from pathlib import Path

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assocpriv.auditing import exact_draws, exact_walk, recompute_central, recompute_promise, recompute_reports
from assocpriv.auditing.exact_walk import audit_exact as audit
from assocpriv.auditing.findings import BROKEN, CONSISTENT, UNDECIDED, verdict
from assocpriv.auditing.recompute_promise import check_integers, largest_ratio, read_numbers, stated_ratio
from assocpriv.auditing.recompute_reports import Bch, ReedSolomon, Sets, masks
from assocpriv.client.baskets import Answerer, KeptSubsets, Randomizer, SetDraws, kept_subsets
from assocpriv.client.bulk import BulkRandomizer
from assocpriv.plans.baskets import Plan
from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.generator import Generator, is_primitive, item_columns
from assocpriv.plans.names import Names
from assocpriv.plans.operator import FixedSizeOperator, Operator
from assocpriv.plans.question import Question
from assocpriv.promise import entropy
from assocpriv.promise.breaches import Breach
from assocpriv.promise.errors import PlanError
from assocpriv.promise.numbers import set_of_rank

M1, M2, M3 = Operator(1, 1, 2, 4, (5, 11)), Operator(2, 1, 1, 5, (3, 5, 19)), Operator(3, 1, 1, 6, (5, 3, 6, 32))
M2_QUARTERS = Operator(2, 3, 2, 6, (20, 14, 16))


@pytest.fixture(autouse=True)
def _wrap_around():
    """Without compilation numpy warns where unsigned integers wrap around, as they are meant to."""
    with np.errstate(over="ignore"):
        yield


def tight(ratio: Fraction) -> Breach:
    """Return a promise just beyond an amplification."""
    return Breach(1 / (1 + ratio * Fraction(1001, 1000)), Fraction(1, 2))


def make(code: str, n_items: int, operator, *, k: int = 1) -> Plan:
    """Make a plan by hand, with the smallest generator of a kind and a promise just beyond its amplification."""
    m = operator.size
    generator = naive.small_generator(code, n_items + m, operator.insert_bits, m + k)
    question = Question(n_items, operator, generator, k)
    return Plan(Catalogue.numbered(n_items), (question,), tight(operator.amplification))


def fixed(n_items: int, m: int, report_size: int, shares) -> Plan:
    """Make a plan for reports of a fixed size with a promise just beyond its amplification."""
    plan = naive.fixed_plan(n_items, m, 1, report_size, shares=shares)
    return replace(plan, promise=tight(plan.amplification))


PLANS = {
    "none": lambda: make("none", 30, M2, k=2),
    "none, M=1, rho 1/4": lambda: make("none", 30, M1),
    "none, M=3 of 2 items": lambda: make("none", 2, M3),
    "bch": lambda: make("bch", 30, M2, k=2),
    "bch with a row of ones": lambda: make("bch", 30, M3, k=2),
    "bch, r=2": lambda: make("bch", 30, M1),
    "reed-solomon": lambda: make("reed-solomon", 30, M1, k=1),
    "reed-solomon, r=1": lambda: make("reed-solomon", 14, Operator(1, 1, 1, 4, (5, 11))),
    "fixed size": lambda: fixed(20, 2, 4, (1, 2, 5)),
    "fixed size, one kept": lambda: fixed(20, 3, 1, (1, 4, 1, 1)),
    "fixed size, nearly all shown": lambda: fixed(5, 3, 7, (1, 1, 3, 8)),
    "two reports": lambda: replace(make("none", 20, M2), promise=tight(M2.amplification**2), reports_per_person=2),
    "names": lambda: replace(make("none", 20, M2), names=Names(others="drop")),
}


@pytest.fixture(scope="module", params=PLANS)
def plan(request):
    """One plan of each kind."""
    return PLANS[request.param]()


def named(findings, name):
    """Return the finding of a name."""
    [found] = [finding for finding in findings if finding.name == name]
    return found


def broken(findings):
    """Return the names of the findings that are broken."""
    return {finding.name for finding in findings if finding.verdict == BROKEN}


def asked(plan):
    """Return the integers of a plan's one question, as the audit reads them."""
    [numbers] = read_numbers(plan.canonical_json).questions
    return numbers


# ---- sound plans


def test_sound_plans_of_every_kind_are_consistent(plan):
    """Every check is made and finds nothing; the exact walk's largest ratio is the plan's γ where it can be reached."""
    told = []
    findings = audit(plan, text=plan.canonical_json, work=20_000, progress=lambda *n: told.append(n))
    assert [(f.name, f.said) for f in findings if f.verdict != CONSISTENT] == []
    assert verdict(findings) == CONSISTENT
    assert {finding.depth for finding in findings} == {"exact"}
    figures = named(findings, "amplification").figures
    assert figures["amplification"] == f"{plan.amplification.numerator}/{plan.amplification.denominator}"
    walk = named(findings, "client, every draw").figures
    assert (walk["size"], walk["how"]) == (plan.items.transaction_size, "all draws")
    assert Fraction(walk["largest_ratio"]) == plan.amplification
    assert told[-1][0] == told[-1][1]
    assert [done for done, _ in told] == list(range(1, len(told) + 1))
    json.dumps([finding.figures for finding in findings])


# ---- the integers, against other formulas


@pytest.mark.parametrize("name", PLANS)
def test_amplification_is_the_operators(name):
    """The ratio recomputed from the text is the operator's own amplification, two programs of one formula."""
    plan = PLANS[name]()
    assert stated_ratio(asked(plan).form) == plan.items.operator.amplification


def law_by_hand(plan: Plan, operator, basket: frozenset[int], report: frozenset[int]) -> Fraction:
    """Return P[basket → report] as an average over samples of a sum over what is kept, without a generator."""
    m, n = operator.size, plan.n_items
    padding = frozenset(range(n, n + m - len(basket)))
    parts = [basket | padding] if len(basket) <= m else list(map(frozenset, combinations(basket, m)))
    everything = frozenset(range(n + m))
    total = Fraction(0)
    for part in parts:
        for j in range(m + 1):
            for kept in map(frozenset, combinations(part, j)):
                if report & part != kept:
                    continue
                if isinstance(operator, FixedSizeOperator):
                    ways = Fraction(1, comb(n, operator.report_size - j))
                else:
                    rho = operator.default_probability
                    ways = Fraction(1)
                    for item in everything - part:
                        ways *= rho if item in report else 1 - rho
                total += operator.size_distribution[j] / comb(m, j) * ways / len(parts)
    return total


@pytest.mark.parametrize(
    "plan",
    [
        make("none", 1, M2),
        make("none", 2, M3),
        make("none", 3, M2),
        make("none", 4, M2),
        fixed(3, 2, 2, (1, 2, 5)),
        fixed(2, 2, 3, (1, 2, 5)),
        fixed(1, 2, 1, (4, 1, 9)),
        fixed(4, 2, 1, (2, 1, 7)),
    ],
    ids=str,
)
def test_largest_ratio_is_that_of_all_baskets_and_reports(plan):
    """Over all baskets, empty, short and long, and all reports the largest ratio is the one found by counting."""
    numbers = asked(plan)
    n, m, operator = plan.n_items, plan.items.transaction_size, plan.items.operator
    baskets = [frozenset(basket) for size in range(n + 1) for basket in combinations(range(n), size)]
    sizes = [operator.report_size] if isinstance(operator, FixedSizeOperator) else range(n + m + 1)
    reports = [frozenset(report) for size in sizes for report in combinations(range(n + m), size)]
    largest = Fraction(1)
    for report in reports:
        chances = [law_by_hand(plan, operator, basket, report) for basket in baskets]
        if max(chances):
            largest = max(largest, max(chances) / min(chances))
    assert largest_ratio(numbers) == largest
    assert largest <= stated_ratio(numbers.form)


@pytest.mark.parametrize(
    "plan", [make("bch", 5, M2), make("reed-solomon", 3, M1), make("bch", 2, M2_QUARTERS), make("bch", 12, M3)], ids=str
)
def test_matching_seeds_are_counted(plan):
    """So many seeds show j given items as the formula says, and no two transactions' ratio goes beyond the bound."""
    numbers = asked(plan)
    form = numbers.form
    shown = [form.shown_of(range(form.items), seed) for seed in range(1 << form.seed_bits)]
    fitted = list(map(frozenset, combinations(range(form.items), form.size)))[:40]
    for transaction in fitted:
        for j in range(form.size + 1):
            for kept in map(frozenset, combinations(transaction, j)):
                assert sum(items & transaction == kept for items in shown) == form.matching(j)
    assert sum(comb(form.size, j) * form.matching(j) for j in range(form.size + 1)) == 1 << form.seed_bits
    ratios = []
    for items in set(shown):
        chances = [form.probability(transaction, items) for transaction in fitted]
        ratios.append(max(chances) / min(chances))
    assert max(ratios) == largest_ratio(numbers) == plan.amplification


@pytest.mark.parametrize("r", [1, 2, 3])
@pytest.mark.parametrize("code", ["bch", "reed-solomon"])
def test_masks_are_the_columns(code, r):
    """Masks made by their definition, element by element, are the columns that client and server use."""
    operator = Operator(3, 1, r, 6, (5, 3, 6, 32))
    for n_items, k in [(9, 1), (40, 2), (40, 3)]:
        plan = make(code, n_items, operator, k=k)
        form = asked(plan).form
        columns = item_columns(plan.items.generator, r, np.arange(form.items))
        made = [[int.from_bytes(words.astype("<u8").tobytes(), "little") for words in item] for item in columns]
        assert [list(masks(form, item)) for item in range(form.items)] == made


def test_values_of_a_polynomial():
    """A Reed–Solomon value is that of the seed's polynomial at the item, as worked out by hand in docs/formats.md."""
    form = ReedSolomon(1, 4, (1, 1), 1, 1, 1, field_bits=2, polynomial=7, blocks=2)
    assert form.value(3, 0b1001) == 0
    assert form.value(2, 0b1001) == 0


@pytest.mark.parametrize("width", [2, 3, 4, 5, 6, 7])
def test_walked_fields_are_the_primitive_ones(width):
    """x walks through all elements just for the polynomials that powers of x find to be primitive."""
    for polynomial in range((1 << width) + 1, 2 << width, 2):
        walked = recompute_reports.order_of_x(width, polynomial) == (1 << width) - 1
        assert walked == is_primitive(polynomial, width)


@pytest.mark.parametrize(("n_items", "size"), [(1, 1), (5, 0), (5, 1), (5, 5), (8, 3), (9, 6)])
def test_sets_are_those_of_their_ranks(n_items, size):
    """Two programs give the same set of a rank."""
    for rank in range(comb(n_items, size)):
        assert sorted(recompute_reports.set_of(rank, n_items, size)) == set_of_rank(rank, n_items, size)


def test_integers_are_read_by_nobody_else():
    """The recomputation imports nothing of the package but its errors and the form of a finding."""
    modules = set()
    for module in (recompute_promise, recompute_central, recompute_reports):
        tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                within = node.module == "assocpriv.auditing"  # of a folder a module of it
                modules |= {f"{node.module}.{each.name}" for each in node.names} if within else {node.module}
        modules |= {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    own = {module for module in modules if module.startswith("assocpriv")}
    recomputed = {recompute_central.__name__, recompute_reports.__name__}
    assert own == {"assocpriv.promise.errors", "assocpriv.auditing.findings"} | recomputed
    others = {module.split(".")[0] for module in modules - own} - {"numpy", "scipy"}  # of the central bound alone
    assert others <= set(sys.stdlib_module_names)


# ---- broken integers


def content_of(name="bch"):
    """Return a plan's JSON content."""
    return json.loads(PLANS[name]().canonical_json)


def changed(name="bch", *, follows=True, **fields):
    """Return a plan's text with fields of it, its question, operator, generator or promise replaced.

    The question states the γ and the length that follow then, where the text can be read, unless told not to.
    """
    content = content_of(name)
    [question] = content["questions"]
    for field, replacement in fields.items():
        for part in (content, question, question["operator"], question["generator"], content["promise"]):
            if field in part:
                part[field] = replacement
    return stated_anew(content) if follows else json.dumps(content)


def stated_anew(content):
    """Return the text of a plan whose questions state what follows from their numbers."""
    try:
        numbers = read_numbers(json.dumps(content))
        for stated, question in zip(content["questions"], numbers.questions, strict=True):
            stated["report_bits"] = question.form.report_bits
            stated["amplification"] = recompute_promise._at_most(stated_ratio(question.form))
    except (PlanError, ZeroDivisionError):
        pass
    return json.dumps(content)


BROKEN_TEXTS = {
    "no JSON": ("{", "plan text"),
    "no object": ("[]", "plan text"),
    "no number": (changed(size="2"), "plan text"),
    "no fraction": (changed(prior="1/0"), "plan text"),
    "no promise": (changed(prior="1/2", posterior="1/20"), "plan text"),
    "true for a number": (changed(itemset_size=True), "plan text"),
    "too large a field": (changed(field_bits=10**9), "plan text"),
    "one weight missing": (changed(keep_weights=["3", "5"]), "plan text"),
    "a number twice": (changed().replace('"itemset_size"', '"itemset_size": 1, "itemset_size"'), "plan text"),
    "one weight too high": (changed(keep_weights=["3", "5", "20"]), "weights"),
    "a weight of 0": (changed(keep_weights=["0", "5", "22"]), "weights"),
    "a weight that cannot occur": (changed("fixed size, one kept", keep_weights=["1", "4", "1", "1"]), "weights"),
    "weights beyond the limit": (changed(keep_weights=["2", "5", "20"]), "amplification"),
    "a smaller promise": (changed(prior="1/2", posterior="51/100"), "amplification"),
    "rho beyond the limit": (changed("none, M=1, rho 1/4", insert_bits=3), "amplification"),
    "a reducible polynomial": (changed(field_polynomial=0b1000001), "field"),
    "no powers of x": (changed(field_polynomial=0b1111110), "field"),
    "too few blocks": (changed(blocks=1), "independence"),
    "larger itemsets than planned": (changed("bch with a row of ones", itemset_size=3), "independence"),
    "too many items": (changed("reed-solomon, r=1", catalogue={"count": 200}), "independence"),
    "another γ than follows": (changed(follows=False, amplification="at most 6.333333333"), "stated figures"),
    "γ as a number": (changed(follows=False, amplification=6.333334), "stated figures"),
    "another length than follows": (changed(follows=False, report_bits=17), "stated figures"),
    "a true length": (changed("none, M=1, rho 1/4", follows=False, report_bits=31.0), "stated figures"),
    "a share of more than all": (changed(share="2 of 1"), "plan text"),
    "a share of less than all": (changed(share="1 of 2"), "stated figures"),
    "no share": (changed(share="0 of 1"), "plan text"),
    "about sizes alone": (changed("none", view={"kind": "sizes", "bounds": list(range(1, 31))}), "plan text"),
    "about nothing known": (changed(view={"kind": "blocks"}), "plan text"),
    "too few powers": (changed("bch, r=2", catalogue={"count": 40}), "independence"),
}


@pytest.mark.parametrize(("text", "name"), BROKEN_TEXTS.values(), ids=BROKEN_TEXTS)
def test_broken_integers_are_found(text, name):
    """Each is found by the check that is meant for it, without a plan, and no client is run."""
    assert name in broken(check_integers(text)[1])
    findings = audit(None, text=text)
    assert broken(findings) == {name, "accepted by clients"} | broken(check_integers(text)[1])
    assert named(findings, "client").verdict == UNDECIDED


BCH_31 = Bch(2, 15, (1, 1, 1), 1, 2, 2, field_bits=5, polynomial=37, blocks=3)
RS_32 = ReedSolomon(2, 32, (1, 1, 1), 1, 5, 2, field_bits=5, polynomial=37, blocks=3)


@pytest.mark.parametrize(
    ("group", "needed", "reason"),
    [
        (BCH_31, 3, ""),
        (replace(BCH_31, items=16), 3, "too short"),
        (BCH_31, 4, "any 3 items"),
        (replace(BCH_31, insert_bits=1), 7, "any 6 items"),
        (replace(BCH_31, insert_bits=1, ones_row=1), 7, ""),
        (replace(BCH_31, ones_row=1), 4, "any 3 items"),
        (RS_32, 3, ""),
        (replace(RS_32, items=33), 3, "too short"),
        (replace(RS_32, insert_bits=6), 3, "too short"),
        (RS_32, 4, "any 3 items"),
    ],
)
def test_conditions_of_the_generators(group, needed, reason):
    """Each condition of the theorem holds at its bound, and is broken one step beyond."""
    said = recompute_promise._unfit(group, needed)
    assert reason in said
    assert bool(said) == bool(reason)


def test_a_primitive_polynomial_is_asked_for():
    """x⁴ + x³ + x² + x + 1 is irreducible, but x has the order 5: columns repeat."""
    assert recompute_reports.order_of_x(4, 0b11111) == 5
    group = replace(BCH_31, insert_bits=1, field_bits=4, polynomial=0b11111)
    assert masks(group, 0) == masks(group, 5)


@pytest.mark.parametrize(
    "prior", ["1/20", "2/40", "5%", "0.05", 0.05, "5e-2", " 1/20", "1/20\n", "１/20", f"1/{10**25}"]
)
def test_promises_are_read_as_clients_read_them(prior):
    """The audit takes the one way to write a promise that clients take, with the same limit, and no other."""
    text = changed("none", prior=prior)
    if prior == "1/20":
        assert Plan.parse(text).promise.prior == read_numbers(text).prior == Fraction(1, 20)
        assert read_numbers(text).limit == 19
        return
    for read in (Plan.parse, read_numbers):
        with pytest.raises(PlanError, match="prior must be"):
            read(text)


@pytest.mark.parametrize("name", ["bch", "reed-solomon"])
def test_dependent_columns_are_found_by_elimination(monkeypatch, name):
    """Masks that meet every condition on paper, but of which two are equal, are found among the sets tried."""
    monkeypatch.setattr(recompute_promise, "masks", lambda group, item: masks(group, max(item, 1)))
    finding = named(check_integers(PLANS[name]().canonical_json)[1], "independence")
    assert finding.verdict == BROKEN
    assert "depend on each other" in finding.said


@pytest.mark.parametrize(("reports", "wanted"), [(1, CONSISTENT), (2, CONSISTENT), (3, BROKEN), (40, BROKEN)])
def test_reports_of_one_person_compose(reports, wanted):
    """γ = 19/3 may be given twice below a limit of 99, not three times."""
    content = content_of("none") | {"promise": {"prior": "1/100", "posterior": "1/2"}, "reports_per_person": reports}
    finding = named(check_integers(json.dumps(content))[1], "amplification")
    assert finding.verdict == wanted
    composed = Fraction(finding.figures["composed"]) / Fraction(19, 3) ** reports
    assert 1 <= composed < 1 + Fraction(1, 10**5)


def test_long_weights_of_many_reports_can_be_told():
    """Weights of 1,024 bits and a thousand reports make numbers of a million bits, and a finding all the same."""
    weights = [1, (1 << 1024) - 1]
    operator = {
        "size": 1,
        "insert_num": 1,
        "insert_bits": 16,
        "weight_bits": 1024,
        "keep_weights": list(map(str, weights)),
    }
    content = content_of("none, M=1, rho 1/4") | {"reports_per_person": 1000}
    content["questions"][0]["operator"] = {"kind": "select-a-size"} | operator
    findings = check_integers(stated_anew(content))[1]
    assert broken(findings) == {"amplification"}
    assert named(findings, "amplification").figures["composed"] == "more than 1e+40"


def test_the_limit_itself_is_broken():
    """An amplification equal to the limit breaks the promise: the posterior can be reached."""
    text = changed("none", prior="3/22", posterior="1/2")  # (1/2)/(1/2) / ((3/22)/(19/22)) = 19/3
    finding = named(check_integers(text)[1], "amplification")
    assert finding.figures["limit"] == finding.figures["amplification"] == "19/3"
    assert finding.verdict == BROKEN
    assert named(check_integers(changed("none", prior="300000/2200001"))[1], "amplification").verdict == CONSISTENT


def test_few_items_do_not_excuse_the_operator():
    """Where too few items keep γ from being reached, the γ of docs/formats.md decides all the same, as for clients."""
    plan = make("none", 1, M2)
    numbers = asked(plan)
    reached, stated = largest_ratio(numbers), stated_ratio(numbers.form)
    assert reached < stated
    content = json.loads(plan.canonical_json)
    content["promise"]["prior"] = str(1 / (1 + (reached + stated) / 2))
    finding = named(check_integers(json.dumps(content))[1], "amplification")
    assert finding.verdict == BROKEN
    assert finding.figures["reached"] == f"{reached.numerator}/{reached.denominator}"


def test_decimals_never_err_in_our_favour():
    """γ is rounded up, with as many digits as show that it is below the limit."""
    limit = Fraction(19)
    assert recompute_promise._decimal(Fraction(1, 3), limit) == "0.333334"
    assert recompute_promise._decimal(1 + Fraction(1, 7**900), limit) == "1.00001"
    assert recompute_promise._decimal(limit - Fraction(1, 10**9), limit) == "18.999999999"


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), st.lists, max_leaves=3), st.data())
def test_no_text_makes_it_fail(junk, data):
    """Whatever stands in any field, the text is read or broken."""
    content = content_of(data.draw(st.sampled_from(["bch", "fixed size"])))
    [question] = content["questions"]
    parts = [content, question, question["operator"], question["generator"], content["promise"], content["catalogue"]]
    part = data.draw(st.sampled_from(parts))
    part[data.draw(st.sampled_from(sorted(part)))] = junk
    text = json.dumps(content)
    findings = check_integers(text)[1]
    try:
        Plan.parse(text)
    except PlanError:
        return
    assert broken(findings) == set()  # what clients accept is sound


def test_text_and_plan_must_agree():
    """The text of another plan than the one given is broken; with neither, nothing can be audited."""
    plan, other = PLANS["none"](), PLANS["bch"]()
    assert broken(audit(plan, text=other.canonical_json)) == {"accepted by clients"}
    with pytest.raises(PlanError, match="needs a plan or the text"):
        audit(None)


# ---- planted faults


class Steering(Randomizer):
    """A client that changes what its entropy answers."""

    def randomize(self, transaction, *, entropy):
        """Randomize with the changed entropy."""
        return super().randomize(transaction, entropy=Changed(entropy, self))

    def below(self, entropy, n):
        """Answer a draw below n."""
        return entropy.below(n)

    def coins(self, entropy, *given):
        """Answer coins."""
        return entropy.coins(*given)


class Changed:
    """An entropy that asks the client what to answer."""

    def __init__(self, entropy, client):
        self.entropy, self.client, self.pick = entropy, client, entropy.pick

    def below(self, n):
        """Ask."""
        return self.client.below(self.entropy, n)

    def coins(self, *given):
        """Ask."""
        return self.client.coins(self.entropy, *given)


class LastItemTrue(Randomizer):
    """The last item is released as it is."""

    def randomize(self, transaction, *, entropy):
        """Overwrite one bit."""
        last = self.plan.n_items - 1
        bits = int.from_bytes(super().randomize(transaction, entropy=entropy), "little")
        return self.plan.items.form.encode(bits & ~(1 << last) | (last in transaction) << last)


class LastItemTrueOnRealPlans(LastItemTrue):
    """As above, but only where there are many items: no small catalogue shows it."""

    def randomize(self, transaction, *, entropy):
        """Overwrite one bit of long catalogues."""
        fault = LastItemTrue if self.plan.n_items > 10 else Randomizer
        return fault.randomize(self, transaction, entropy=entropy)


class Answering(Randomizer):
    """A client whose answers to its question are another's, with one fault."""

    answerer: type[Answerer]

    def __init__(self, plan):
        super().__init__(plan)
        self._answerers = [self.answerer(question) for question in plan.questions]


class BiasedSubset(Answering):
    """One of the subsets of one item is never kept, another twice as often."""

    class answerer(Answerer):  # noqa: N801
        """Replaces a subset by its neighbour of the same size."""

        @property
        def subsets(self):
            """The subsets."""
            masks = list(super().subsets.masks)
            masks[2] = masks[1]
            return KeptSubsets(tuple(masks), super().subsets.cumulative)


class WeightOff(Answering):
    """One unit in 2^b too many for keeping nothing."""

    class answerer(Answerer):  # noqa: N801
        """Moves the first bound by one."""

        @property
        def subsets(self):
            """The subsets."""
            first, *rest = super().subsets.cumulative
            return KeptSubsets(super().subsets.masks, (first + 1, *rest))


class FreeBitsZero(Steering):
    """The seed drawn first has half its bits at 0."""

    def below(self, entropy, n):
        """Clear the high bits of the seed."""
        drawn = entropy.below(n)
        seeds = 1 << self.plan.items.generator.seed_bits
        return drawn & ((1 << self.plan.items.generator.seed_bits // 2) - 1) if n == seeds else drawn


class FewValues(Steering):
    """Dropped items always take the least value."""

    def below(self, entropy, n):
        """Answer 0 but for the seed."""
        drawn = entropy.below(n)
        return drawn if n == 1 << self.plan.items.generator.seed_bits else 0


class OneChoiceOfValues(Steering):
    """Two items' values that are both made of the highest number are replaced."""

    before = 0

    def below(self, entropy, n):
        """Answer the second of two high numbers by 0."""
        drawn = entropy.below(n)
        twice = n == 3 and drawn == self.before == 2
        self.before = drawn if n == 3 else 0
        return 0 if twice else drawn


class KeptByCoin(Randomizer):
    """Which item is kept depends on the last coin: if it shows, the second is kept in place of the first."""

    def randomize(self, transaction, *, entropy):
        """Move the bit of the first item to the second where it alone is kept."""
        bits = int.from_bytes(super().randomize(transaction, entropy=entropy), "little")
        items = [*sorted(transaction), self.plan.n_items][:2]  # the first dummy pads a single item
        moved = transaction and bits >> self.plan.items.padded_items - 1 & 1
        if moved and bits >> items[0] & 1 and not bits >> items[1] & 1:
            bits ^= 1 << items[0] | 1 << items[1]
        return self.plan.items.form.encode(bits)


class SeedNotLinear(Steering):
    """One seed in sixteen is replaced by another."""

    def below(self, entropy, n):
        """Clear the high bits where they are 1111: low bits are pivots, and may be overwritten anyway."""
        drawn, high = entropy.below(n), n >> 4
        return drawn % high if n == 1 << self.plan.items.generator.seed_bits and drawn // high == 15 else drawn


class RhoOff(Steering):
    """Items outside the transaction are shown with a probability one step higher."""

    def coins(self, entropy, count, num, bits):
        """Ask for likelier coins."""
        return entropy.coins(count, num + 1, bits)


class NoPadding(Randomizer):
    """A short transaction is not padded, so that the dummies tell its size."""

    def randomize(self, transaction, *, entropy):
        """Leave the dummies to their coins."""
        subsets = kept_subsets(self.plan.items.independent)
        mask = subsets.masks[entropy.pick(subsets.cumulative)]
        operator = self.plan.items.independent
        bits = entropy.coins(self.plan.items.padded_items, operator.insert_num, operator.insert_bits)
        for place, item in enumerate(sorted(transaction)[: self.plan.items.transaction_size]):
            bits = bits & ~(1 << item) | (mask >> place & 1) << item
        return self.plan.items.form.encode(bits)


class FirstItems(Steering):
    """Of a long transaction always the first items are taken."""

    def below(self, entropy, n):
        """Shuffle nothing: of plans without a generator only samples are drawn below n."""
        entropy.below(n)
        return 0


class FewSets(Steering):
    """The added items are never those of the highest rank."""

    def below(self, entropy, n):
        """Answer the highest by the lowest."""
        drawn = entropy.below(n)
        return 0 if drawn == n - 1 else drawn


class KeptOff(Answering):
    """One unit of T too many for the fewest kept items."""

    class answerer(Answerer):  # noqa: N801
        """Moves the first bound by one."""

        @property
        def sets(self):
            """The draws."""
            draws = SetDraws.of(self.question.fixed)
            first, *rest = draws.cumulative
            return replace(draws, cumulative=(first + 1, *rest))


class OneWordMore(Randomizer):
    """Draws a word that nobody needs: the law is right, the words are not."""

    def randomize(self, transaction, *, entropy):
        """Throw a coin."""
        entropy.below(2)
        return super().randomize(transaction, entropy=entropy)


class PickTwice(Randomizer):
    """Picks once for nothing: the law is right, but a walk over all picks would be far longer than stated."""

    def randomize(self, transaction, *, entropy):
        """Pick and forget."""
        entropy.pick(kept_subsets(self.plan.items.independent).cumulative)
        return super().randomize(transaction, entropy=entropy)


class Unmarked(Randomizer):
    """A report with a bit beyond its own."""

    def randomize(self, transaction, *, entropy):
        """Set the highest bit."""
        report = super().randomize(transaction, entropy=entropy)
        return report[:-1] + bytes([report[-1] | 128])


class ByteMore(Randomizer):
    """A report is a byte too long."""

    def randomize(self, transaction, *, entropy):
        """Append a byte."""
        return super().randomize(transaction, entropy=entropy) + bytes(1)


class LastSetOff(Randomizer):
    """The last of the sets gets a number that no set has."""

    def randomize(self, transaction, *, entropy):
        """Count one on."""
        rank = int.from_bytes(super().randomize(transaction, entropy=entropy), "little")
        last = comb(self.plan.items.padded_items, self.plan.items.fixed.report_size) - 1
        return self.plan.items.form.encode(rank + (rank == last))


class Moved(Randomizer):
    """Where the first item of a transaction is shown, the last dummy is shown instead."""

    def randomize(self, transaction, *, entropy):
        """Move a bit."""
        bits = int.from_bytes(super().randomize(transaction, entropy=entropy), "little")
        first = min(transaction, default=0)
        shown = bits >> first & 1
        return self.plan.items.form.encode((bits & ~(1 << first)) | shown << self.plan.items.padded_items - 1)


DRAWS, KEPT, OTHERS, BULK = "client, every draw", "client, kept items", "client, other draws", "bulk client"
FAULTS = [
    (LastItemTrue, "none", {DRAWS, KEPT, OTHERS, BULK}),
    (LastItemTrue, "none, M=1, rho 1/4", {DRAWS, KEPT, OTHERS, BULK}),
    (LastItemTrueOnRealPlans, "none", {KEPT, OTHERS, BULK}),
    (BiasedSubset, "none", {DRAWS, KEPT, BULK}),
    (BiasedSubset, "bch", {DRAWS, KEPT, BULK}),
    (WeightOff, "none", {DRAWS, KEPT, BULK}),
    (WeightOff, "bch with a row of ones", {DRAWS, KEPT, BULK}),
    (WeightOff, "reed-solomon", {DRAWS, KEPT, BULK}),
    (FreeBitsZero, "bch", {DRAWS, OTHERS, BULK}),
    (FreeBitsZero, "reed-solomon", {DRAWS, OTHERS, BULK}),
    (FewValues, "bch, r=2", {DRAWS, OTHERS, BULK}),
    (SeedNotLinear, "bch with a row of ones", {DRAWS, OTHERS}),
    (RhoOff, "none, M=1, rho 1/4", {DRAWS, OTHERS, BULK}),
    (KeptByCoin, "none", {DRAWS, OTHERS, BULK}),
    (NoPadding, "none", {DRAWS, KEPT, OTHERS, BULK}),
    (FirstItems, "none", {DRAWS, OTHERS, BULK}),
    (FewSets, "fixed size", {DRAWS, KEPT, OTHERS, BULK}),
    (KeptOff, "fixed size", {DRAWS, KEPT}),
    (OneWordMore, "none", {DRAWS, OTHERS, BULK}),
    (PickTwice, "none", {DRAWS, KEPT, BULK}),
    (ByteMore, "none", {DRAWS, KEPT, OTHERS, BULK}),
    (LastSetOff, "fixed size, one kept", {DRAWS, BULK}),
    (Moved, "none, M=1, rho 1/4", {DRAWS, KEPT, OTHERS, BULK}),
    (Unmarked, "bch", {DRAWS, KEPT, OTHERS, BULK}),
]


@pytest.mark.parametrize(("client", "name", "caught"), FAULTS, ids=lambda given: getattr(given, "__name__", None))
def test_planted_faults_are_caught(client, name, caught):
    """Each fault breaks the checks that are meant for it; the plan's integers stay consistent."""
    findings = audit(PLANS[name](), client=client)
    assert caught <= broken(findings) <= {DRAWS, KEPT, OTHERS, BULK}
    assert verdict(findings) == BROKEN


@pytest.mark.parametrize(
    ("client", "name", "work"),
    [
        (BiasedSubset, "none", 60),
        (WeightOff, "none", 60),
        (LastItemTrue, "none", 60),
        (KeptByCoin, "none", 60),
        (RhoOff, "none, M=3 of 2 items", 200),
        (FreeBitsZero, "bch with a row of ones", 3000),
        (WeightOff, "bch with a row of ones", 3000),
    ],
    ids=lambda given: getattr(given, "__name__", None),
)
def test_two_stages_catch_faults_too(client, name, work):
    """Where the draws are too many together, those after the pick are walked through for one subset of each size."""
    plan = PLANS[name]()
    finding = named(audit(plan, work=work), DRAWS)
    assert finding.figures["how"] == "two stages"
    assert finding.verdict == CONSISTENT
    assert DRAWS in broken(audit(plan, client=client, work=work))


@pytest.mark.parametrize(
    "client",
    [WeightOff, FreeBitsZero, FewValues, OneChoiceOfValues, SeedNotLinear],
    ids=lambda given: given.__name__,
)
@pytest.mark.parametrize(("code", "work"), [("bch", 16_000), ("reed-solomon", 10_000)])
def test_three_stages_catch_faults_too(client, code, work):
    """Where values and seeds are too many together, all values and, for some of these, all seeds are walked through."""
    plan = make(code, 9, M2_QUARTERS)
    finding = named(audit(plan, work=work), DRAWS)
    assert finding.figures["how"] == "three stages"
    assert finding.verdict == CONSISTENT
    assert DRAWS in broken(audit(plan, client=client, work=work))


def test_what_is_too_much_is_not_decided():
    """With no work allowed the walks say so, nothing is broken by it, and the sampled checks are still made."""
    findings = audit(PLANS["bch"](), work=3)
    assert {finding.name for finding in findings if finding.verdict == UNDECIDED} == {DRAWS, KEPT}
    assert "more than the runs allowed" in named(findings, DRAWS).said
    assert verdict(findings) == CONSISTENT


def test_a_ratio_above_the_stated_one_is_caught(monkeypatch):
    """If the walk's largest ratio were above γ, that alone would be a fault."""
    monkeypatch.setattr(exact_walk, "stated_ratio", lambda group: Fraction(6))
    finding = named(audit(PLANS["none"]()), DRAWS)
    assert finding.verdict == BROKEN
    assert "above γ" in finding.said


def test_no_client_is_run_on_broken_integers(monkeypatch):
    """Where the recomputation finds broken what clients would accept, the client is not run."""
    wrong = check_integers(changed(keep_weights=["2", "5", "20"]))
    monkeypatch.setattr(exact_walk, "check_integers", lambda text: wrong)
    findings = audit(PLANS["bch"](), client=None)
    assert broken(findings) == {"amplification"}
    assert findings[-1].verdict == UNDECIDED


def test_columns_that_differ_from_their_definition_are_caught(monkeypatch):
    """A column with one bit flipped, in the code that client and server share, is found."""

    def flipped(*given):
        columns = item_columns(*given)
        columns[-1, 0, 0] ^= np.uint64(1)
        return columns

    monkeypatch.setattr(exact_draws, "item_columns", flipped)
    assert broken(audit(PLANS["bch"](), work=3)) == {"generator's columns"}


def at_most(planes, num, bits):
    """Compare 64 numbers with num as the entropy does, but count equal ones in."""
    numbers = [sum((plane >> place & 1) << (bits - 1 - p) for p, plane in enumerate(planes)) for place in range(64)]
    return sum(1 << place for place, number in enumerate(numbers) if number <= num)


def below_without_rejection(self, n):
    """Draw below n by one word, a little unevenly."""
    words = -(-(n - 1).bit_length() // 64)
    drawn = self._little_endian(words) if words else 0
    return drawn & (n - 1) if n & (n - 1) == 0 else (drawn * n) >> 64 * words


def pick_too_late(self, cumulative):
    """Pick by a bound that is one too low."""
    return bisect_left(cumulative, self.below(cumulative[-1]))


@pytest.mark.parametrize(
    ("name", "place", "attribute", "fault"),
    [
        ("none", entropy, "_less_than", at_most),
        ("fixed size", entropy.WordEntropy, "below", below_without_rejection),
        ("none", entropy.WordEntropy, "below", below_without_rejection),
        ("bch", entropy.WordEntropy, "pick", pick_too_late),
    ],
    ids=["coins", "below", "below of samples", "pick"],
)
def test_wrong_draws_are_caught(monkeypatch, name, place, attribute, fault):
    """Draws that are off by the least there is are found in the words, where walks over draws cannot see them."""
    monkeypatch.setattr(place, attribute, fault)
    caught = broken(audit(PLANS[name]()))
    assert "draws from words" in caught
    assert caught <= {"draws from words", BULK}


@pytest.mark.parametrize("n", [3, 6, 10**19, 2**64 - 1, 2**64 + 1, 3**90])
def test_words_are_the_least_accepted_ones(n):
    """The words made of a number are the first that give it and are not rejected; those of 0 come before, and are."""
    for number in (0, 1, n // 2, n - 1):
        words = exact_draws.words_of(number, n)
        half = len(words) // 2
        rejected, taken = (sum(word << 64 * i for i, word in enumerate(part)) for part in (words[:half], words[half:]))
        span = 1 << 64 * half
        accepted = [x * n % span >= span % n and x * n // span == number for x in (taken, taken - 1)]
        assert accepted == [True, False]
        assert rejected * n % span < span % n


def test_a_bulk_client_that_differs_is_caught(monkeypatch):
    """One report of the bulk client with one bit flipped is found."""
    right = BulkRandomizer.randomize

    def wrong(self, *given):
        chunk = right(self, *given)
        chunk.packed[-1, 0] ^= 1
        return chunk

    monkeypatch.setattr(BulkRandomizer, "randomize", wrong)
    assert broken(audit(PLANS["none"](), work=3)) == {BULK}


def test_findings_name_no_item():
    """What is said of a client that leaks an item does not name it, nor any other."""
    plan = replace(PLANS["none"](), catalogue=Catalogue([f"canary{i}" for i in range(30)]))
    findings = audit(plan, client=LastItemTrue, work=100)
    assert "canary" not in str(findings)


@pytest.mark.parametrize("fewer", [(6, 3), (2, 5)])
def test_small_fixed_operators_keep_what_can_be_kept(fewer):
    """A smaller universe of sets keeps the same weights, and the same numbers of items can be kept."""
    n_items, report_size = fewer
    operator = (
        fixed(9, 3, 3, (1, 2, 3, 9)).items.fixed if report_size == 3 else fixed(9, 3, 11, (1, 1, 3, 8)).items.fixed
    )
    group = Sets(operator.size, operator.items, operator.keep_weights, operator.report_size).shrunk(n_items)
    small = FixedSizeOperator(group.size, group.items, group.report_size, group.weights)
    assert small.keep_weights == operator.keep_weights
    assert small.items == n_items + 3
    assert [bool(small.sets_keeping(j)) for j in range(4)] == [bool(operator.sets_keeping(j)) for j in range(4)]


@pytest.mark.parametrize("width", range(2, 9))
def test_small_fields_are_primitive(width):
    """The field of a small generator is one that a Generator accepts."""
    assert Generator("bch", width, exact_walk._primitive(width), 1, False).field_bits == width
