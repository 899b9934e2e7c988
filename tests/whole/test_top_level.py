"""Tests of what people type first in Python, beyond the steps from baskets to rules."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from naive import planned

import assocpriv as ap


@pytest.fixture(scope="module")
def plan() -> ap.Plan:
    """A plan of four names."""
    return planned(["bread", "milk", "eggs", "tea"], 2, ap.Guarantee("5%", "50%"), kind="independent", code="none")


def test_dir_shows_public_names_alone() -> None:
    """What a shell completes is what may be used: nothing that only types or loading need."""
    assert {name for name in dir(ap) if not name.startswith("__")} == set(ap.__all__)


def test_report_items_are_names(plan: ap.Plan) -> None:
    """A report shows names of the catalogue, those that its bits say; padding items are not among them."""
    ids = {name: plan.catalogue.index_of[name] for name in plan.catalogue}
    for report in (bytes([number]) for number in range(1 << plan.n_items + plan.items.transaction_size)):  # a bit each
        shown = {name for name, item in ids.items() if item in plan.items.form.items(report)}
        assert ap.device.report_items(report, plan) == shown
    assert ap.device.report_items(b"\x3f", plan) == set(plan.catalogue)


@pytest.mark.parametrize("front", ["numeric", "guided", "suppress", "collect", "spark"])
def test_every_public_name_has_an_example(front: str) -> None:
    """Functions and classes but exceptions show their use; a front without a list of names has those it defines."""
    module = getattr(ap, front)
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__]
    public = [getattr(module, name) for name in getattr(module, "__all__", own) if not name.startswith("_")]
    shown = [each for each in public if not (isinstance(each, type) and issubclass(each, Exception))]
    assert shown
    assert [each.__name__ for each in shown if ">>>" not in (each.__doc__ or "")] == []


def test_one_record_is_told_from_many(plan: ap.Plan) -> None:
    """A set or list of names is one person's; an empty list is nobody's; a mapping, whose zeros count, is no basket."""
    assert all(len(ap.randomize(one, plan)) == plan.report_bytes for one in ({"milk"}, ["milk", "tea"], set()))
    assert [len(ap.randomize(many, plan)) for many in ([], [["milk"]])] == [0, 1]
    assert len(ap.randomize([set(), {"tea"}], plan, empty="keep")) == 2
    for wrong in ({"milk": 1, "tea": 0}, [{"milk": 1, "tea": 0}], "milk"):
        with pytest.raises(TypeError) as refused:
            ap.randomize(wrong, plan)
        assert "milk" not in str(refused.value)
    with pytest.raises(TypeError, match="unknown goes with many records, and this is one"):
        ap.randomize({"milk"}, plan, unknown="drop")


@pytest.mark.parametrize(
    ("slip", "message"),
    [
        (lambda: ap.plan(9), r"plan\(\) needs a guarantee: epsilon=2, or prior"),
        (lambda: ap.plan(9, ap.Guarantee("5%", "50%"), epsilon=2), "give the guarantee once"),
        (lambda: ap.plan(9, prior="5%"), "give the guarantee once: epsilon=2, prior="),
        (lambda: ap.plan(9, detect="1%", posterior="50%"), "give the guarantee once"),
        (lambda: ap.plan(9, 0.5), "guarantee must be a Guarantee"),
        (lambda: ap.forecast("plan.json", 100), "read_plan reads one from a file"),
        (lambda: ap.mine({"milk"}, 0.5), "got a set of other objects"),
        (lambda: ap.mine([{"milk"}]), r"got a set of other objects; .* with randomize\(baskets, plan\)"),
        (lambda: ap.mine(ap.to_baskets([{"milk"}])), r"got a Baskets of other objects; .* randomize\(baskets, plan\)"),
        (
            lambda: ap.plan({"columns": {"age": {}}}, ap.Guarantee.from_epsilon(2)),
            "use assocpriv.numeric.plan_table for a table's columns",
        ),
        (
            lambda: ap.plan(9, ap.Guarantee.from_epsilon(2), sample=pd.Series([2, 3])),
            r"dict\(sizes.value_counts\(\)\); got a Series",
        ),
        (
            lambda: ap.randomize([{"a"}], ap.plan(["a"], ap.Guarantee.from_epsilon(2)), seed=1),
            r"no seed: .* simulate\(\) has one",
        ),
    ],
)
def test_slips_are_answered_in_the_callers_words(slip: Callable[[], object], message: str) -> None:
    """Wrong names and missing arguments of verbs say what is meant, by the names that the caller typed."""
    with pytest.raises(TypeError, match=message):
        slip()


@pytest.mark.parametrize("name", ["apriori", "fpgrowth", "fpmax", "eclat"])
def test_names_of_peers_lead_on(name: str) -> None:
    """The error for a function of mlxtend or its peers names the verbs of this package."""
    with pytest.raises(AttributeError, match=rf"no attribute '{name}'; reports are mined, not baskets: ap\.mine\("):
        getattr(ap, name)


NO_CATALOGUE = "catalogue must be of the class Catalogue"
MADE = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
WRONG = {  # what is called with an argument of another type or out of range, and the message
    "no plan to write": (lambda: ap.write_plan("plan.json", "p.json"), TypeError, "plan must be a PublishedPlan"),
    "no plan to look at": (lambda: ap.planning.reports_to_detect(5, "5%"), TypeError, "plan must be a Plan"),
    "no plan of a page": (lambda: ap.page(MADE, plan=5), TypeError, "plan must be a PublishedPlan"),
    "a falsy plan of a page": (lambda: ap.page(MADE, plan=0), TypeError, "plan must be a PublishedPlan"),
    "no plan of messages": (lambda: ap.guided.read_messages(__file__, 5), TypeError, "plan must be a PublishedPlan"),
    "a plan of baskets": (lambda: ap.guided.read_messages(__file__, MADE), ap.AssocprivError, "need a guided plan"),
    "no catalogue to check": (lambda: ap.catalogues.check_catalogue(["a"]), TypeError, NO_CATALOGUE),
    "no catalogue to try": (lambda: ap.catalogues.try_catalogue(["a"], [[["a"]]]), TypeError, NO_CATALOGUE),
    "no catalogue to write": (lambda: ap.write_catalogue(["a"], "c.txt"), TypeError, NO_CATALOGUE),
    "one text as names": (lambda: ap.Catalogue("milk"), TypeError, "a list of names, got text"),
    "bytes as items": (lambda: ap.plan(b"milk", epsilon=2), TypeError, "items must be a number of items or a list"),
    "no rules of names": (lambda: ap.plan(2, epsilon=2, names="drop"), TypeError, "names must be of the class Names"),
    "no guarantee of a table": (lambda: ap.numeric.plan_table(TABLE, 2), TypeError, "guarantee must be a Guarantee"),
    "text as columns": (lambda: ap.numeric.plan_table(TABLE, whole="ill"), TypeError, "whole must be a list"),
    "no guarantee of a guided plan": (lambda: guided(guarantee=2), TypeError, "guarantee must be a Guarantee"),
    "no number as mu": (lambda: guided(mu="x"), ap.AssocprivError, "mu must lie between 0 and 1"),
    "no column": (lambda: ap.guided.plan_guided(["x"], "y"), TypeError, "column must be of the class Column"),
    "no reports": (lambda: ap.numeric.released_frame(5), TypeError, "reports must be of the class Reports"),
    "too many reports": (lambda: ap.forecast(MADE, 10**30), ap.AssocprivError, "reports must be in 1.."),
    "memory below 0": (lambda: ap.randomize([{"tea"}], MADE, memory_bytes=-1), ap.AssocprivError, "memory_bytes"),
    "memory in words": (lambda: ap.mine(few(), memory_bytes="2GB"), TypeError, "memory_bytes must be a whole number"),
    "memory of a report type": (lambda: ap.ask(few(), [["tea"]], memory_bytes=0), ap.AssocprivError, "memory_bytes"),
    "no filter": (lambda: ap.mine(few(), among=["tea"]), TypeError, "among must be of the class ItemsetFilter"),
    "no table": (lambda: ap.to_frame(5, "pandas"), TypeError, "table must be a table of itemsets"),
    "a frame as a file": (lambda: ap.read_baskets(pd.DataFrame({"a": [1]})), TypeError, r"use to_baskets\(\)"),
    "lists as files": (lambda: ap.read_baskets([{"tea"}]), TypeError, r"use to_baskets\(\)"),
    "no file": (lambda: ap.read_baskets([]), ap.AssocprivError, "no file of baskets is given"),
    "a frame to inspect": (lambda: ap.inspect(pd.DataFrame({"a": [1]})), TypeError, r"a DataFrame; .*to_baskets\(\)"),
    "baskets to mine": (lambda: ap.mine([["tea"], ["milk"]]), TypeError, r"with randomize\(baskets, plan\)"),
    "a frame as reports": (lambda: ap.read_reports(pd.DataFrame({"tea": [1]})), TypeError, "got a DataFrame of other"),
    "text as γ's": (lambda: ap.guarantees.compose("19"), TypeError, "amplifications must be a list of them, got a str"),
    "one γ": (lambda: ap.guarantees.compose(19), TypeError, "amplifications must be a list of them, got a int"),
    "γ's that are gone": (
        lambda: ap.guarantees.compose(iter([])),
        ap.AssocprivError,
        "the iterator of amplifications is empty, perhaps because it was read before",
    ),
    "one prior": (lambda: ap.guarantees.posterior_curve(19, "5%"), TypeError, "priors must be a list of them, got a"),
    "itemsets that are gone": (
        lambda: ap.ask(few(), iter([])),
        ap.AssocprivError,
        "the iterator of itemsets is empty, perhaps because it was read before; give a list",
    ),
    "a number to explain": (lambda: ap.planning.explain_guarantees(0), TypeError, "plan must be a Plan"),
    "reports to inspect": (lambda: ap.inspect(few()), TypeError, "got a Reports; use print"),
}
TEMPLATES = [{"channel": ["tea"], "sensitive": ["milk"], "confidence": "70%"}]
TABLE = {"columns": {"ill": {"kind": "category", "release": "response", "values": ["no", "yes"]}}}


def few() -> ap.Reports:
    """Return two reports."""
    return ap.randomize([{"tea"}, {"milk"}], MADE)


def guided(**options: Any) -> Any:
    """Ask for a guided plan."""
    columns = [ap.guided.category("smokes", ["no", "yes"])], ap.guided.class_label("ill", ["no", "yes"])
    return ap.guided.plan_guided(*columns, **options)


@pytest.mark.parametrize("case", WRONG)
def test_wrong_arguments_are_named(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Public functions refuse what they cannot use at once, in words of ours."""
    monkeypatch.chdir(tmp_path)
    ask, kind, output = WRONG[case]
    with pytest.raises(kind, match=output):
        ask()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "ask",
    [
        lambda used: ap.randomize(used, MADE), lambda used: ap.simulate(used, MADE, "5%"), ap.catalogue,
        lambda used: ap.catalogues.sample_sizes(used, ["milk"]),
        lambda used: ap.plan(["milk"], ap.Guarantee.from_epsilon(2), sample=used), ap.to_baskets,
        lambda used: ap.Baskets.from_sets(used, ap.Catalogue(["milk"])),
        lambda used: ap.suppress.suppress(used, TEMPLATES),
    ],
)  # fmt: skip
def test_an_iterator_without_baskets_is_refused(ask: Callable[[Any], object]) -> None:
    """One that was read before would look as if there were none."""
    used = iter([["milk"], ["tea"]])
    assert len(list(used)) == 2
    with pytest.raises(ap.AssocprivError, match="the iterator has no baskets"):
        ask(used)
