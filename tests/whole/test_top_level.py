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


def test_report_items_are_names(plan: ap.Plan) -> None:
    """A report shows names of the catalogue, those that its bits say; padding items are not among them."""
    ids = {name: plan.catalogue.index_of[name] for name in plan.catalogue}
    for report in (bytes([number]) for number in range(1 << plan.n_items + plan.items.transaction_size)):  # a bit each
        shown = {name for name, item in ids.items() if item in plan.items.form.items(report)}
        assert ap.device.report_items(report, plan) == shown
    assert ap.device.report_items(b"\x3f", plan) == set(plan.catalogue)


@pytest.mark.parametrize("front", ["numeric", "guided", "suppress", "collect", "spark"])
def test_every_public_name_has_an_example(front: str) -> None:
    """Functions and classes but exceptions show their use."""
    public = [getattr(getattr(ap, front), name) for name in getattr(ap, front).__all__]
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


def test_names_of_peers_lead_on() -> None:
    """The error for a function of mlxtend or its peers names the verbs of this package."""
    for name in ("apriori", "fpgrowth"):
        with pytest.raises(AttributeError, match=rf"no attribute '{name}'; reports are mined, not baskets: ap\.mine\("):
            getattr(ap, name)


NO_PLAN, NO_CATALOGUE = "plan must be a PublishedPlan", "catalogue must be of the class Catalogue"
GUARANTEE = ap.Guarantee("5%", "50%")
MADE = ap.plan(["milk", "tea"], transaction_size=2, guarantee=GUARANTEE)
OF_TYPE = [  # calls with an argument that is missing, given twice or of another type, and the message
    (lambda: ap.plan(9), r"plan\(\) needs a guarantee: epsilon=2, or prior"),
    (lambda: ap.plan(9, GUARANTEE, epsilon=2), "give the guarantee once"),
    (lambda: ap.plan(9, prior="5%"), "give the guarantee once: epsilon=2, prior="),
    (lambda: ap.plan(9, detect="1%", posterior="50%"), "give the guarantee once"),
    (lambda: ap.plan(9, 0.5), "guarantee must be a Guarantee"),
    (lambda: ap.plan({"columns": {"age": {}}}, epsilon=2), "use assocpriv.numeric.plan_table for a table's columns"),
    (lambda: ap.plan(9, epsilon=2, sample=pd.Series([2])), r"dict\(sizes.value_counts\(\)\); got a Series"),
    (lambda: ap.plan(b"milk", epsilon=2), "items must be a number of items or a list"),
    (lambda: ap.plan(2, epsilon=2, names="drop"), "names must be of the class Names"),
    (lambda: ap.forecast("plan.json", 100), "read_plan reads one from a file"),
    (lambda: ap.mine([{"milk"}]), r"got a set of other objects; .* with randomize\(baskets, plan\)"),
    (lambda: ap.mine(ap.to_baskets([{"milk"}])), r"got a Baskets of other objects; .* randomize\(baskets, plan\)"),
    (lambda: ap.mine(few(), memory_bytes="2GB"), "memory_bytes must be a whole number"),
    (lambda: ap.mine(few(), among=["tea"]), "among must be of the class ItemsetFilter"),
    (lambda: ap.randomize([{"milk"}], MADE, seed=1), r"no seed: .* simulate\(\) has one"),
    (lambda: ap.write_plan("plan.json", "p.json"), NO_PLAN),
    (lambda: ap.page(MADE, plan=5), NO_PLAN),
    (lambda: ap.page(MADE, plan=0), NO_PLAN),
    (lambda: ap.guided.read_messages(__file__, 5), NO_PLAN),
    (lambda: ap.planning.reports_to_detect(5, "5%"), "plan must be a Plan"),
    (lambda: ap.planning.explain_guarantees(0), "plan must be a Plan"),
    (lambda: ap.catalogues.check_catalogue(["a"]), NO_CATALOGUE),
    (lambda: ap.catalogues.try_catalogue(["a"], [[["a"]]]), NO_CATALOGUE),
    (lambda: ap.write_catalogue(["a"], "c.txt"), NO_CATALOGUE),
    (lambda: ap.Catalogue("milk"), "a list of names, got text"),
    (lambda: ap.numeric.plan_table(TABLE, 2), "guarantee must be a Guarantee"),
    (lambda: ap.numeric.plan_table(TABLE, whole="ill"), "whole must be a list"),
    (lambda: ap.numeric.released_frame(5), "reports must be of the class Reports"),
    (lambda: guided(guarantee=2), "guarantee must be a Guarantee"),
    (lambda: ap.guided.plan_guided(["x"], "y"), "column must be of the class Column"),
    (lambda: ap.to_frame(5, "pandas"), "table must be a table of itemsets"),
    (lambda: ap.read_baskets(pd.DataFrame({"a": [1]})), r"use to_baskets\(\)"),
    (lambda: ap.read_baskets([{"tea"}]), r"use to_baskets\(\)"),
    (lambda: ap.inspect(pd.DataFrame({"a": [1]})), r"a DataFrame; .*to_baskets\(\)"),
    (lambda: ap.inspect(few()), "got a Reports; use print"),
    (lambda: ap.read_reports(pd.DataFrame({"tea": [1]})), "got a DataFrame of other"),
    (lambda: ap.guarantees.compose("19"), "amplifications must be a list of them, got a str"),
    (lambda: ap.guarantees.posterior_curve(19, "5%"), "priors must be a list of them, got a"),
]
OF_VALUE = [  # calls with an argument out of range
    (lambda: ap.guided.read_messages(__file__, MADE), "need a guided plan"),
    (lambda: guided(mu="x"), "mu must lie between 0 and 1"),
    (lambda: ap.forecast(MADE, 10**30), "reports must be in 1.."),
    (lambda: ap.randomize([{"tea"}], MADE, memory_bytes=-1), "memory_bytes"),
    (lambda: ap.ask(few(), [["tea"]], memory_bytes=0), "memory_bytes"),
    (lambda: ap.read_baskets([]), "no file of baskets is given"),
    (
        lambda: ap.guarantees.compose(iter([])),
        "the iterator of amplifications is empty, perhaps because it was read",
    ),
    (lambda: ap.ask(few(), iter([])), "iterator of itemsets is empty, perhaps because it was read before; give a list"),
]
TEMPLATES = [{"channel": ["tea"], "sensitive": ["milk"], "confidence": "70%"}]
TABLE = {"columns": {"ill": {"kind": "category", "release": "response", "values": ["no", "yes"]}}}


def few() -> ap.Reports:
    """Return two reports."""
    return ap.randomize([{"tea"}, {"milk"}], MADE)


def guided(**options: Any) -> Any:
    """Ask for a guided plan."""
    columns = [ap.guided.category("smokes", ["no", "yes"])], ap.guided.class_label("ill", ["no", "yes"])
    return ap.guided.plan_guided(*columns, **options)


@pytest.mark.parametrize(("kind", "ask", "message"), [
    *((TypeError, *each) for each in OF_TYPE), *((ap.AssocprivError, *each) for each in OF_VALUE),
])  # fmt: skip
def test_wrong_arguments_are_named(
    kind: type[Exception], ask: Callable[[], object], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Public functions refuse at once what they cannot use, by the names that the caller typed."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kind, match=message):
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
