"""The guarantee recomputed from a plan's text: its formulas against others, sound plans of all types, broken ones."""

import ast
import json
import math
import sys
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import comb
from pathlib import Path

import naive
import numpy as np
import pytest
from auditing.audited import PLANS as AUDITED
from hypothesis import given
from hypothesis import strategies as st

import assocpriv as ap
from assocpriv.auditing import recompute_guarantee, recompute_reports, table_audit
from assocpriv.auditing.audit import audit
from assocpriv.auditing.basket_audit import BasketSubject
from assocpriv.auditing.findings import BROKEN, CONSISTENT, AuditRequest
from assocpriv.auditing.recompute_guarantee import (
    check_integers,
    delta_of,
    largest_ratio,
    mean_blanket,
    read_numbers,
    stated_ratio,
)
from assocpriv.auditing.recompute_reports import Bch, ReedSolomon, masks
from assocpriv.auditing.recompute_tables import read_guided, read_table
from assocpriv.guarantees.errors import PlanError
from assocpriv.guarantees.shuffle_model import shuffled_delta
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.baskets.catalogue import Names
from assocpriv.plans.baskets.generator import is_primitive
from assocpriv.plans.baskets.operator import Operator
from assocpriv.simulation.enumeration import distribution

M1, M2, M3 = Operator(1, 1, 2, 4, (5, 11)), Operator(2, 1, 1, 5, (3, 5, 19)), Operator(3, 1, 1, 6, (5, 3, 6, 32))
M2_QUARTERS = Operator(2, 3, 2, 6, (20, 14, 16))


@pytest.fixture(autouse=True)
def _wrap_around():
    """Without compilation numpy warns where unsigned integers wrap around, as they are meant to."""
    with np.errstate(over="ignore"):
        yield


def tight(ratio: Fraction) -> ap.Guarantee:
    """Return a guarantee just beyond an amplification."""
    return ap.Guarantee(1 / (1 + ratio * Fraction(1001, 1000)), Fraction(1, 2))


def make(code: str, n_items: int, operator, *, k: int = 1) -> Plan:
    """Make a plan by hand, with the smallest generator of a kind and a guarantee just beyond its amplification."""
    generator = naive.small_generator(code, n_items + operator.size, operator.insert_bits, operator.size + k)
    return naive.items_plan(n_items, operator, generator, k, tight(operator.amplification))


def fixed(n_items: int, m: int, report_size: int, shares) -> Plan:
    """Make a plan for reports of a fixed size with a guarantee just beyond its amplification."""
    plan = naive.fixed_plan(n_items, m, 1, report_size, shares=shares)
    return replace(plan, guarantee=tight(plan.amplification))


PLANS = {
    "none": lambda: make("none", 30, M2, k=2), "none, M=1, rho 1/4": lambda: make("none", 30, M1),
    "none, M=3 of 2 items": lambda: make("none", 2, M3), "bch": lambda: make("bch", 30, M2, k=2),
    "bch with a row of ones": lambda: make("bch", 30, M3, k=2), "bch, r=2": lambda: make("bch", 30, M1),
    "reed-solomon": lambda: make("reed-solomon", 30, M1, k=1),
    "reed-solomon, r=1": lambda: make("reed-solomon", 14, Operator(1, 1, 1, 4, (5, 11))),
    "fixed size": lambda: fixed(20, 2, 4, (1, 2, 5)), "fixed size, one kept": lambda: fixed(20, 3, 1, (1, 4, 1, 1)),
    "fixed size, nearly all shown": lambda: fixed(5, 3, 7, (1, 1, 3, 8)),
    "two reports": lambda: replace(make("none", 20, M2), guarantee=tight(M2.amplification**2), reports_per_person=2),
    "names": lambda: replace(make("none", 20, M2), names=Names(unlisted="drop")),
}  # fmt: skip


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


def numbers_of(plan):
    """Return the integers of a plan's one report type, as the audit reads them."""
    [numbers] = read_numbers(plan.canonical_json).report_types
    return numbers


# ---- sound plans


def test_sound_plans_of_every_kind_are_consistent(plan):
    """All checks are made and consistent; γ is the plan's."""
    findings = check_integers(plan.canonical_json)
    assert [(f.name, f.message) for f in findings if f.verdict != CONSISTENT] == []
    figures = named(findings, "amplification").figures
    assert figures["amplification"] == f"{plan.amplification.numerator}/{plan.amplification.denominator}"
    json.dumps([finding.figures for finding in findings])


@pytest.mark.parametrize(
    "plan",
    [make("none", 4, M2, k=2), make("bch", 4, M2), make("reed-solomon", 3, M1), fixed(4, 2, 2, (1, 2, 5))],
    ids=str,
)
def test_recomputed_reports_have_the_clients_distribution(plan):
    """For baskets of all sizes and all outcomes of the draws, the recomputation gives the client's reports."""
    subject = BasketSubject(plan, plan.canonical_json, np.random.default_rng(1))
    for size in range(plan.n_items + 1):
        items = tuple(range(size))
        own = distribution(lambda entropy, items=items: subject.recompute_report(items, entropy))
        assert own == naive.client_distribution(plan, items)


# ---- the integers, against other formulas


@pytest.mark.parametrize(
    "plan",
    [
        make("none", 1, M2), make("none", 2, M3), make("none", 3, M2), make("none", 4, M2), fixed(3, 2, 2, (1, 2, 5)),
        fixed(2, 2, 3, (1, 2, 5)), fixed(1, 2, 1, (4, 1, 9)), fixed(4, 2, 1, (2, 1, 7)),
    ],
    ids=str,
)  # fmt: skip
def test_largest_ratio_is_that_of_all_baskets_and_reports(plan):
    """Over all baskets, empty, short and long, and all reports of the client the largest ratio is that of counting."""
    numbers = numbers_of(plan)
    baskets = [basket for size in range(plan.n_items + 1) for basket in combinations(range(plan.n_items), size)]
    known = [naive.client_distribution(plan, each) for each in baskets]
    rows = [[each[report] for each in known] for report in set().union(*known)]
    assert largest_ratio(numbers) == max(max(each) / min(each) for each in rows)
    assert largest_ratio(numbers) <= stated_ratio(numbers.form)


def value_of(form, item, seed):
    """Return an item's value under a seed: the parities of its masks, the highest digit first."""
    value = 0
    for mask in masks(form, item):
        value = value << 1 | (mask & seed).bit_count() & 1
    return value


@pytest.mark.parametrize(
    "plan", [make("bch", 5, M2), make("reed-solomon", 3, M1), make("bch", 2, M2_QUARTERS), make("bch", 12, M3)], ids=str
)
def test_matching_seeds_are_counted(plan):
    """The formula counts the seeds that show j given items, and no ratio of two transactions exceeds the bound."""
    numbers = numbers_of(plan)
    form = numbers.form
    shown = [
        frozenset(item for item in range(form.items) if value_of(form, item, seed) < form.insert_num)
        for seed in range(1 << form.seed_bits)
    ]
    fitted = list(map(frozenset, combinations(range(form.items), form.size)))[:40]
    for transaction in fitted:
        for j in range(form.size + 1):
            for kept in map(frozenset, combinations(transaction, j)):
                assert sum(items & transaction == kept for items in shown) == form.matching(j)
    assert sum(comb(form.size, j) * form.matching(j) for j in range(form.size + 1)) == 1 << form.seed_bits
    ratios = []
    for items in set(shown):
        kept = [len(transaction & items) for transaction in fitted]
        probabilities = [form.probability(j, len(items) - j, form.items - form.size) for j in kept]
        ratios.append(max(probabilities) / min(probabilities))
    assert max(ratios) == largest_ratio(numbers) == plan.amplification


@pytest.mark.parametrize("width", [2, 3, 4, 5, 6, 7])
def test_x_generates_the_field_for_primitive_polynomials(width):
    """The powers of x are all elements other than 0 exactly for the primitive polynomials."""
    for polynomial in range((1 << width) + 1, 2 << width, 2):
        generates = recompute_reports.order_of_x(width, polynomial) == (1 << width) - 1
        assert generates == is_primitive(polynomial, width)


def test_the_recomputation_imports_nothing_of_the_package():
    """The recomputation imports nothing of the package but its errors and the class of findings."""
    modules = set()
    for module in (recompute_guarantee, recompute_reports):
        tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                within = node.module == "assocpriv.auditing"  # of a folder a module of it
                modules |= {f"{node.module}.{each.name}" for each in node.names} if within else {node.module}
        modules |= {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    own = {module for module in modules if module.startswith("assocpriv")}
    assert own == {"assocpriv.guarantees.errors", "assocpriv.auditing.findings", recompute_reports.__name__}
    others = {module.split(".")[0] for module in modules - own} - {"numpy", "scipy"}  # of the central bound alone
    assert others <= set(sys.stdlib_module_names)


# ---- broken integers


@cache
def text_of(name):
    """Return a plan's text."""
    return PLANS[name]().canonical_json


def content_of(name="bch"):
    """Return a plan's JSON content."""
    return json.loads(text_of(name))


def changed(name="bch", *, follows=True, **fields):
    """Return a plan's text with fields of it, its report type, operator, generator or guarantee replaced.

    With ``follows`` the report type states the γ and the length that follow, if the text can be read.
    """
    content = content_of(name)
    [report_type] = content["report_types"]
    for field, replacement in fields.items():
        for part in (content, report_type, report_type["operator"], report_type["generator"], content["guarantee"]):
            if field in part:
                part[field] = replacement
    return stated_anew(content) if follows else json.dumps(content)


def stated_anew(content):
    """Return the text of a plan whose report types state the figures that follow from their numbers."""
    try:
        numbers = read_numbers(json.dumps(content))
        for stated, report_type in zip(content["report_types"], numbers.report_types, strict=True):
            stated["report_bits"] = report_type.form.report_bits
            stated["amplification"] = recompute_guarantee._at_most(stated_ratio(report_type.form))
    except (PlanError, ZeroDivisionError):
        pass
    return json.dumps(content)


BROKEN_TEXTS = {
    "no JSON": ("{", "plan text"),
    "no object": ("[]", "plan text"),
    "no number": (changed(size="2"), "plan text"),
    "no fraction": (changed(prior="1/0"), "plan text"),
    "no guarantee": (changed(prior="1/2", posterior="1/20"), "plan text"),
    "true for a number": (changed(itemset_size=True), "plan text"),
    "too large a field": (changed(field_bits=10**9), "plan text"),
    "one weight missing": (changed(keep_weights=["3", "5"]), "plan text"),
    "a number twice": (changed().replace('"itemset_size"', '"itemset_size": 1, "itemset_size"'), "plan text"),
    "one weight too high": (changed(keep_weights=["3", "5", "20"]), "weights"),
    "a weight of 0": (changed(keep_weights=["0", "5", "22"]), "weights"),
    "a weight that cannot occur": (changed("fixed size, one kept", keep_weights=["1", "4", "1", "1"]), "weights"),
    "weights beyond the limit": (changed(keep_weights=["2", "5", "20"]), "amplification"),
    "a smaller guarantee": (changed(prior="1/2", posterior="51/100"), "amplification"),
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
    """Each is found by the check meant for it, without a plan, and no client is run."""
    assert name in broken(check_integers(text))
    if text.startswith('{"'):
        findings = audit(text, AuditRequest()).findings
        assert broken(findings) == {"accepted by clients"} | broken(check_integers(text))
        assert {finding.check for finding in findings} == {"guarantee"}


BCH_31 = Bch(2, 15, (1, 1, 1), 1, 2, 2, field_bits=5, polynomial=37, blocks=3)
RS_32 = ReedSolomon(2, 32, (1, 1, 1), 1, 5, 2, field_bits=5, polynomial=37, blocks=3)


@pytest.mark.parametrize(
    ("group", "needed", "reason"),
    [
        (BCH_31, 3, ""), (replace(BCH_31, items=16), 3, "too short"), (BCH_31, 4, "any 3 items"),
        (replace(BCH_31, insert_bits=1), 7, "any 6 items"), (replace(BCH_31, insert_bits=1, ones_row=1), 7, ""),
        (replace(BCH_31, ones_row=1), 4, "any 3 items"), (RS_32, 3, ""), (replace(RS_32, items=33), 3, "too short"),
        (replace(RS_32, insert_bits=6), 3, "too short"), (RS_32, 4, "any 3 items"),
    ],
)  # fmt: skip
def test_conditions_of_the_generators(group, needed, reason):
    """Each condition of the theorem holds at its bound, and is broken one step beyond."""
    message = recompute_guarantee._broken_condition(group, needed)
    assert reason in message
    assert bool(message) == bool(reason)


@pytest.mark.parametrize("name", ["bch", "reed-solomon"])
def test_dependent_columns_are_found_by_elimination(monkeypatch, name):
    """Masks that meet every condition on paper, but of which two are equal, are found among the tested sets."""
    monkeypatch.setattr(recompute_reports, "masks", lambda group, item: masks(group, max(item, 1)))
    finding = named(check_integers(PLANS[name]().canonical_json), "independence")
    assert finding.verdict == BROKEN
    assert "depend on each other" in finding.message


@pytest.mark.parametrize(("reports", "wanted"), [(1, CONSISTENT), (2, CONSISTENT), (3, BROKEN), (40, BROKEN)])
def test_reports_of_one_person_compose(reports, wanted):
    """γ = 19/3 stays below a limit of 99 for two reports, not for three."""
    content = content_of("none") | {"guarantee": {"prior": "1/100", "posterior": "1/2"}, "reports_per_person": reports}
    finding = named(check_integers(json.dumps(content)), "amplification")
    assert finding.verdict == wanted
    composed = Fraction(finding.figures["composed"]) / Fraction(19, 3) ** reports
    assert 1 <= composed < 1 + Fraction(1, 10**5)


def test_long_weights_of_many_reports_can_be_shown():
    """Weights of 1,024 bits and a thousand reports make numbers of a million bits, and a finding all the same."""
    content = content_of("none, M=1, rho 1/4") | {"reports_per_person": 1000}
    numbers = {"insert_bits": 16, "weight_bits": 1024, "keep_weights": ["1", str((1 << 1024) - 1)]}
    content["report_types"][0]["operator"] |= numbers
    findings = check_integers(stated_anew(content))
    assert broken(findings) == {"amplification"}
    assert named(findings, "amplification").figures["composed"] == "more than 1e+40"


def test_the_limit_itself_is_broken():
    """An amplification equal to the limit breaks the guarantee: the posterior can be reached."""
    text = changed("none", prior="3/22", posterior="1/2")  # (1/2)/(1/2) / ((3/22)/(19/22)) = 19/3
    finding = named(check_integers(text), "amplification")
    assert finding.figures["limit"] == finding.figures["amplification"] == "19/3"
    assert finding.verdict == BROKEN
    assert named(check_integers(changed("none", prior="300000/2200001")), "amplification").verdict == CONSISTENT


def test_few_items_do_not_excuse_the_operator():
    """Where too few items exist to reach γ, the γ that docs/formats defines still decides, as for clients."""
    plan = make("none", 1, M2)
    numbers = numbers_of(plan)
    reached, stated = largest_ratio(numbers), stated_ratio(numbers.form)
    assert reached < stated
    content = json.loads(plan.canonical_json)
    content["guarantee"]["prior"] = str(1 / (1 + (reached + stated) / 2))
    finding = named(check_integers(json.dumps(content)), "amplification")
    assert finding.verdict == BROKEN
    assert finding.figures["reached"] == f"{reached.numerator}/{reached.denominator}"


def test_decimals_are_rounded_up():
    """γ is rounded up, with enough digits to show that it is below the limit."""
    limit = Fraction(19)
    assert recompute_guarantee._decimal(Fraction(1, 3), limit) == "0.333334"
    assert recompute_guarantee._decimal(1 + Fraction(1, 7**900), limit) == "1.00001"
    assert recompute_guarantee._decimal(limit - Fraction(1, 10**9), limit) == "18.999999999"


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), st.lists, max_leaves=3), st.data())
def test_every_text_is_read_or_broken(junk, data):
    """With any content in any field, the text is either read or found broken."""
    content = content_of(data.draw(st.sampled_from(["bch", "fixed size"])))
    [report_type] = content["report_types"]
    parts = [report_type, report_type["operator"], report_type["generator"]]
    part = data.draw(st.sampled_from([content, *parts, content["guarantee"], content["catalogue"]]))
    part[data.draw(st.sampled_from(sorted(part)))] = junk
    text = json.dumps(content)
    findings = check_integers(text)
    try:
        Plan.parse(text)
    except PlanError:
        return
    assert broken(findings) == set()  # what clients accept is sound


# ---- several report types

THREE = AUDITED["report types"]


def changed_report_type(place, **fields):
    """Return the text of a plan with fields of one report type replaced, or of its view."""
    content = json.loads(THREE.canonical_json)
    report_type = content["report_types"][place]
    for field, value in fields.items():
        (report_type if field in report_type else report_type["view"])[field] = value
    return json.dumps(content)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (changed_report_type(0, share="5 of 10"), "stated figures"),
        (changed_report_type(1, share="3 of 11"), "stated figures"),
        (changed_report_type(1, share="03 of 10"), "plan text"),
        (changed_report_type(2, amplification="at most 99.000000"), "stated figures"),
        (changed_report_type(2, report_bits=5), "stated figures"),
        (changed_report_type(2, bounds=[2, 2, 9]), "plan text"),
        (changed_report_type(2, bounds=[2, 4, 41]), "plan text"),
        (changed_report_type(2, bounds=[0, 4, 9]), "plan text"),
        (changed_report_type(2, bounds=[2, 4, True]), "plan text"),
        (changed_report_type(2, bounds=[]), "plan text"),
    ],
)
def test_broken_report_types_are_found(text, name):
    """Each is found by the check meant for it."""
    assert broken(check_integers(text)) == {name}


def test_the_largest_amplification_of_all_report_types_decides():
    """A plan whose guarantee one report type breaks is broken, even if that type is rarely drawn."""
    content = json.loads(THREE.canonical_json)
    largest = max(report_type.amplification for report_type in THREE.report_types)
    for odds, wanted in ((largest, {"amplification"}), (largest + 1, set())):
        prior = 1 / (1 + odds)
        content["guarantee"] = {"prior": f"{prior.numerator}/{prior.denominator}", "posterior": "1/2"}
        assert broken(check_integers(json.dumps(content))) == wanted


def test_the_audits_own_reading_is_the_packages():
    """The entries and reports that the audit computes are those of the package."""
    numbers = read_numbers(THREE.canonical_json)
    assert (numbers.report_bytes, numbers.cumulative) == (THREE.report_bytes, THREE.cumulative_weights)
    for number, (own, report_type) in enumerate(zip(numbers.report_types, THREE.report_types, strict=True)):
        assert numbers.report(number, b"\1") == THREE.pack_report(number, b"\1")
        for size in range(THREE.n_items + 1):
            assert own.entries(range(size)) == report_type.view.entries(list(range(size)))


# ---- tables and guided plans

TABLE, BITS = AUDITED["table"], AUDITED["mixed bits"]
RECORDS = {
    "no guarantee": (TABLE, lambda c: c.update(guarantee=None), "without a γ that keeps it"),
    "too many reports": (TABLE, lambda c: c.update(reports_per_person=9), "the guarantee needs less than"),
    "all columns answered": (TABLE, lambda c: c.update(columns_per_report=3), "γ is 180 for one report"),
    "a higher weight": (TABLE, lambda c: c["columns"][4]["release"].update(high=500), "γ is 4000 for one report"),
    "a smaller guarantee": (TABLE, lambda c: c["guarantee"].update(posterior="1/5"), "needs less than 24.75"),
    "another rule": (TABLE, lambda c: c["columns"][0].update(intervals=7), "breaks another rule of plans"),
    "no columns": (TABLE, lambda c: c.update(columns=[]), "not a table plan"),
    "weights as text": (TABLE, lambda c: c["columns"][1]["release"].update(half="1"), "not a table plan"),
    "no low weight": (TABLE, lambda c: c["columns"][2]["release"].pop("low"), "not a table plan"),
    "a stated γ": (BITS, lambda c: c["safeguard"].update(amplification="5/1"), "5 for one report"),
    "three reports": (BITS, lambda c: c.update(reports_per_person=3), "for 3 reports"),
    "a guarantee that is less": (BITS, lambda c: c["guarantee"].update(posterior="1/15"), "needs less than 1.3"),
    "no safeguard": (BITS, lambda c: c.update(safeguard=None), "without a γ that keeps it"),
    "a guarantee of none": (BITS, lambda c: c.update(guarantee=None), "without a γ that keeps it"),
    "no attributes": (BITS, lambda c: c.update(attributes=[]), "not a guided plan"),
    "an unknown safeguard": (BITS, lambda c: c["safeguard"].update(kind="coins"), "not a guided plan"),
}


@pytest.mark.parametrize(("plan", "change", "message"), RECORDS.values(), ids=RECORDS)
def test_broken_table_and_guided_plans_are_found(plan, change, message):
    """Texts that are not plans, or break a guarantee or a rule, are broken, with one sentence that says how."""
    content = plan.to_json()
    change(content)
    findings = audit(json.dumps(content), AuditRequest()).findings
    assert findings[0].verdict == BROKEN
    assert message in findings[0].message
    assert {finding.check for finding in findings} == {"guarantee"}


@pytest.mark.parametrize("name", ["table", "whole table", "mixed bits", "mixed tuples"])
def test_the_audits_own_distributions_are_the_packages(name):
    """The package and the audit agree on every probability of a table or guided plan and on γ."""
    plan = AUDITED[name]
    if "table" not in name:
        assert read_guided(plan.canonical_json).amplification == plan.amplification
        return
    table = read_table(plan.canonical_json)
    assert table.amplification == plan.amplification
    for own, column in zip(table.columns, plan.columns, strict=True):
        for value, row in enumerate(naive.exact_transition(column)):
            known = {code: Fraction(weight, own.total) for code, weight in own.runs(value)}
            assert known == {code: share for code, share in enumerate(row) if share}


def test_too_few_random_bits_and_another_amplification_are_found(monkeypatch):
    """A package that mixes in one step less than γ needs, or reads a smaller γ from a plan, is found."""
    own = table_audit.mixing_weight
    monkeypatch.setattr(table_audit, "mixing_weight", lambda guidance, plan: max(0, own(guidance, plan) - 1))
    assert broken(table_audit.GuidedSubject.check_guarantee(BITS, BITS.canonical_json)) == {"random bits"}
    content = BITS.to_json()
    content["safeguard"]["amplification"] = "9/2"
    assert "amplification" in broken(table_audit.GuidedSubject.check_guarantee(BITS, json.dumps(content)))


# ---- central guarantees: the audit's own proof against the shipped one and exact sums

DELTA = 1e-8


@pytest.mark.parametrize(("people", "local", "mass"), [(90_000, 7.8, 0.36), (18_000, 6.2, 0.37), (5_000, 3.5, 0.2)])
@pytest.mark.parametrize("value", [0.05, 0.3, 1.0])
def test_two_proofs_agree(people: int, local: float, mass: float, value: float) -> None:
    """A sum over every number of clones gives the bound of sums over strata, or up to 3% less."""
    gamma = Fraction(math.exp(local))
    ours = delta_of(value, gamma, Fraction(mass), people, DELTA)
    own = shuffled_delta(value, gamma, people, Fraction(mass), DELTA / 1000)
    assert 0.97 * own <= ours <= own * (1 + 1e-4) + DELTA / 500


def test_the_audit_proves_a_central_guarantee() -> None:
    """From the text alone: γ, the mean blanket, and whether the guarantee follows; for fewer people it does not."""
    plan = ap.plan(30, central=(1, 1e-6), reports=500)
    assert len(plan.report_types) == 2
    numbers = read_numbers(plan.canonical_json)
    forms = zip(numbers.shares, (each.form for each in numbers.report_types), strict=True)
    assert mean_blanket(forms) == plan.blanket
    content = plan.to_json()
    for reports, verdict in ((500, CONSISTENT), (250, BROKEN)):
        content["central"]["reports"] = reports
        assert named(check_integers(json.dumps(content)), "central guarantee").verdict == verdict


@pytest.mark.parametrize(
    "change", [{"reports": 0}, {"delta": "1/2"}, {"epsilon": "2/2"}, {"colluding": "1/1"}, {"delay": 0}], ids=str
)
def test_a_central_guarantee_of_another_form_is_broken(change: dict[str, object]) -> None:
    """The audit's reader refuses what clients refuse."""
    content = json.loads(ap.plan(5, ap.Guarantee.from_epsilon(1)).canonical_json)
    central = {"epsilon": "2/1", "delta": "1/10000", "colluding": "1/10", "reports": 500, "delay": 60}
    assert read_numbers(json.dumps(content | {"central": central})).central is not None
    assert check_integers(json.dumps(content | {"central": central | change}))[0].verdict == "broken"
