"""Tests of names on the client: how raw baskets of every source become transactions."""

import itertools
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from command_line import NAME, NUMBER, marked_files, marks_in, refused, run, shown_by
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import count_itemset, planned

import assocpriv as ap
from assocpriv.api import randomizing
from assocpriv.cli.main import main
from assocpriv.client.baskets import bulk_client
from assocpriv.client.baskets.one_basket import transaction_of
from assocpriv.client.baskets.transactions import NameReader, align_baskets, read_transactions, stream_transactions
from assocpriv.files.plan_files import read_plan, read_taxonomy, write_plan
from assocpriv.guarantees.errors import AssocprivError, BasketError
from assocpriv.planning.basket_planner import make_plan
from assocpriv.planning.truncation_loss import measure_truncation_loss
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.baskets.catalogue import Catalogue, Names
from assocpriv.plans.baskets.report_type import ReportType, SizesView
from assocpriv.records import basket_sources
from assocpriv.records.basket_files import ReadCounts
from assocpriv.records.baskets import Baskets
from assocpriv.records.layout import ReadOptions
from assocpriv.simulation.basket_samples import sample_sizes
from assocpriv.simulation.enumeration import SeededEntropy
from tests.plans.baskets.test_item_names import NAMES, TREE, plan_of, plans

SHOP = Names(unlisted="drop", parents=(*TREE, ("wine", "drinks")), left_out=("bags",))
OTHERS = st.sampled_from(["zebra", "yak", "b9"])
BASKETS = st.lists(st.sets(NAMES | OTHERS, max_size=8), min_size=1, max_size=12).filter(any)


def naive_transaction(basket: set[str], plan: Plan, *, drop: bool) -> tuple[set[int], int] | None:
    """Return a basket's transaction and how many names were dropped, or None if it must be refused."""
    rules, dropped, left = plan.names, 0, set()
    for name in basket:
        ancestors = [name]
        while ancestors[-1] in dict(rules.parents):
            ancestors.append(dict(rules.parents)[ancestors[-1]])
        meets = [each for each in ancestors if each in plan.catalogue or each in rules.left_out]
        if meets and meets[0] in plan.catalogue:
            left.add(meets[0])
        elif meets or drop or rules.unlisted == "drop":
            dropped += 1
        else:
            return None
    return {plan.catalogue.index_of[name] for name in left}, dropped


def written(folder: Path, baskets: list[set[str]], form: str) -> Path:
    """Write baskets in a file format; only in formats of one basket a line can one be empty."""
    path = folder / form
    lists = [sorted(basket) for basket in baskets]
    if form == "b.csv":
        path.write_text("".join(",".join(names) + "\n" for names in lists))
    elif form == "b.parquet":
        pq.write_table(pa.table({"items": pa.array(lists, pa.list_(pa.string()))}), path)
    return path


# ---- transactions


@given(plans(), BASKETS, st.booleans())
def test_transactions_equal_a_naive_implementation(plan: Plan, baskets: list[set[str]], drop: bool) -> None:
    """Baskets in memory, one basket and slices of baskets give the defined transactions, or are refused."""
    raw, unknown = Baskets.from_sets(baskets, empty="keep"), "drop" if drop else "error"
    expected = [naive_transaction(basket, plan, drop=drop) for basket in baskets]
    if None in expected:
        with pytest.raises(BasketError, match=f"item of basket {expected.index(None) + 1} is not in the catalogue"):
            align_baskets(raw, plan, unknown=unknown)
        others = [basket for basket, wanted in zip(baskets, expected, strict=True) if wanted is not None]
        raw = Baskets.from_sets(others, raw.catalogue, empty="keep")
    good = [each for each in expected if each is not None]
    made, dropped = align_baskets(raw, plan, unknown=unknown)
    assert list(made) == [items for items, _ in good]
    assert made.catalogue == plan.catalogue
    assert dropped == sum(number for _, number in good)
    part, _ = align_baskets(raw[1:], plan, unknown=unknown)
    assert list(part) == list(made)[1:]
    # ids rise within each basket, as compiled code needs them
    assert all((np.diff(made.items[a:b]) > 0).all() for a, b in itertools.pairwise(made.offsets.tolist()))
    for basket in baskets:
        alone = naive_transaction(basket, plan, drop=False)
        if alone is None:
            with pytest.raises(BasketError, match="is not in the plan's catalogue"):
                transaction_of(basket, plan)
        else:
            assert transaction_of(basket, plan) == sorted(alone[0])


@settings(max_examples=40)
@given(plans(), BASKETS, st.sampled_from(["b.csv", "b.parquet"]), st.integers(4, 200))
def test_files_match_memory(plan: Plan, baskets: list[set[str]], form: str, chunk: int) -> None:
    """A file read whole and one read batch by batch give the transactions and counts of baskets in memory."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(basket_sources, "CHUNK_BYTES", chunk)
        path = written(Path(folder), baskets, form)
        made, dropped = align_baskets(Baskets.from_sets(baskets, empty="keep"), plan, unknown="drop")
        counts = ReadCounts(len(baskets), dropped, 0, sum(not basket for basket in baskets))
        kind = "lines" if form == "b.csv" else None  # so few baskets may look like a table
        options = ReadOptions(kind, unknown="drop", empty="keep")
        if len(made.items) or not dropped or plan.names.unlisted == "drop":
            whole = read_transactions(path, plan, options)
            assert (list(whole[0]), whole[1].read) == (list(made), counts)
        else:
            with pytest.raises(BasketError, match="none of the"):
                read_transactions(path, plan, options)
        stream = stream_transactions(path, plan, options)
        batches = list(stream)
        assert all(batch.catalogue == plan.catalogue for batch in batches)
        assert list(itertools.chain(*batches)) == list(made)
        assert stream.counts == counts
        if any(naive_transaction(basket, plan, drop=False) is None for basket in baskets):
            with pytest.raises(BasketError, match=f"^{form}: .*not in the catalogue"):
                list(stream_transactions(path, plan, ReadOptions(kind, empty="keep")))


def test_names_that_are_numbers() -> None:
    """Baskets of numbers over a large numbered catalogue roll up by their names."""
    plan = plan_of(["9", "a"], Names(unlisted="drop", parents=(("1000000", "9"), ("7", "a"))))
    made, dropped = align_baskets(Baskets.from_sets([[1_000_000, 9, 3], [7]]), plan)
    assert list(made) == [{0}, {1}]
    assert dropped == 1
    assert transaction_of([1_000_000, np.int64(9), 3], plan) == [0]


PLAIN, DROPPING = plan_of(["a", "b"], Names()), plan_of(["a", "b"], Names(unlisted="drop"))
WITH_SIZES = replace(PLAIN, report_types=(PLAIN.items, ReportType(1, PLAIN.items.operator, view=SizesView((2,)))))


@pytest.mark.parametrize("plan", [PLAIN, DROPPING, WITH_SIZES], ids=repr)
def test_baskets_without_items_can_be_randomized(plan: Plan) -> None:
    """Empty baskets are randomized, also alone, of many on request; no baskets give no reports."""
    assert len(ap.randomize(set(), plan)) == plan.report_bytes
    assert len(ap.randomize([], plan)) == 0
    sources: list[Any] = [[set()], pd.DataFrame({"items": [[]]})]
    for baskets in sources:
        assert len(ap.randomize(baskets, plan, empty="keep")) == 1
        with pytest.raises(BasketError, match="none of 1 basket has an item"):
            ap.randomize(baskets, plan, empty="drop")
        with pytest.raises(BasketError, match="basket 1 is an empty basket"):
            ap.randomize(baskets, plan)


@pytest.mark.filterwarnings("ignore:.* estimates depend mostly on the prior")
def test_arguments_recommended_by_errors_work() -> None:
    """An argument that an error recommends exists in the called function and solves the problem."""
    plan = plan_of(["a", "b"], Names())
    with pytest.raises(BasketError, match="unknown='drop'"):
        ap.randomize([["a", "zebra"]], plan)
    assert len(ap.randomize([["a", "b", "zebra", "zebra"]], plan, unknown="drop")) == 1
    with pytest.raises(BasketError, match="unknown must be one of"):
        ap.randomize([["a"]], plan_of(["a"], SHOP), unknown="keep")
    with pytest.raises(BasketError, match="repeats='merge'"):
        ap.randomize([["a", "a"]], plan)
    assert len(ap.randomize([["a", "a"]], plan, repeats="merge")) == 1
    assert ap.simulate([["a", "a", "zebra"]] * 50, plan, "50%", unknown="drop", repeats="merge", seed=1)
    with pytest.raises(BasketError, match="at least one basket must have one, unless catalogue= gives"):
        ap.to_baskets([[]], empty="keep")
    assert len(ap.to_baskets([[]], empty="keep", catalogue=plan.catalogue)) == 1
    with pytest.raises(BasketError, match=r"empty='keep'.*empty='drop'"):
        ap.to_baskets([["a"], []])
    assert [len(ap.to_baskets([["a"], []], empty=way)) for way in ("keep", "drop")] == [2, 1]


STRANGERS = [["canary-x", "canary-y"], ["canary-x"], []]


@pytest.mark.parametrize("kind", ["list", "frame", "csv", "parquet"])
def test_dropping_all_items_is_refused(kind: str, tmp_path: Path) -> None:
    """Where no name matches, every report would be that of an empty basket: only a plan that drops names allows it."""
    rows = [(n, name) for n, names in enumerate(STRANGERS) for name in names]
    frame = pd.DataFrame(rows, columns=["receipt", "item"])
    frame.to_csv(tmp_path / "b.csv", index=False)
    frame.to_parquet(tmp_path / "b.parquet")
    source = {"list": STRANGERS, "frame": frame, "csv": tmp_path / "b.csv", "parquet": tmp_path / "b.parquet"}[kind]
    for call in (
        lambda: ap.randomize(source, PLAIN, tmp_path / "r.parquet", unknown="drop", empty="keep"),
        lambda: ap.simulate(source, PLAIN, "50%", unknown="drop", empty="keep", seed=1),
        lambda: ap.catalogues.sample_sizes(source, ["a", "b"]),
        lambda: ap.plan(["a", "b"], ap.Guarantee("5%", "50%"), sample=source),
    ):
        with pytest.raises(BasketError, match="none of the 3 items is in the catalogue of 2") as caught:
            call()
        assert "canary" not in str(caught.value)
    assert not (tmp_path / "r.parquet").exists()
    assert ap.randomize(source, DROPPING, tmp_path / "r.parquet", empty="keep").empty >= 2


def test_dropping_most_items_logs_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    """More dropped than known names are a sign of other spellings: the log has a WARNING."""
    ap.randomize([["a", "b", "canary-x", "canary-y"]], PLAIN, unknown="drop")
    assert not caplog.records
    ap.randomize([["a", "canary-x"], ["canary-y"]], PLAIN, unknown="drop")
    [record] = caplog.records
    assert record.getMessage().startswith("2 of 3 items are not in the catalogue and were dropped; compare")
    assert (record.levelname, "canary" in record.getMessage()) == ("WARNING", False)


def test_columns_of_several_levels_are_refused() -> None:
    """Column names that are pairs match nothing; the advice of the error works."""
    frame = pd.DataFrame({("sold", "a"): [1, 0], ("sold", "b"): [0, 1]})
    with pytest.raises(BasketError, match="MultiIndex") as caught:
        ap.randomize(frame, PLAIN, unknown="drop")
    assert "frame.columns = frame.columns.get_level_values(-1)" in str(caught.value)
    frame.columns = frame.columns.get_level_values(-1)
    assert len(ap.randomize(frame, PLAIN)) == 2


def test_catalogues_of_frames_take_a_layout() -> None:
    """The layout names the transaction and item columns of a frame, as of a file."""
    frame = pd.DataFrame({"day": [1, 1, 2], "shop": ["x", "x", "x"], "sold": ["rye", "tea", "tea"]})
    layout = "long transaction=day item=sold"
    assert list(ap.catalogue(frame, layout=layout)) == ["rye", "tea"]
    assert ap.catalogues.draft_catalogue([frame], layout=layout).baskets == 2
    assert ap.catalogues.try_catalogue(ap.Catalogue(["tea"]), [frame], layout).unknown == 1
    with pytest.raises(BasketError, match="a layout applies only to files and tables"):
        ap.catalogue([["tea"]], layout=layout)


# ---- files of every format


def test_numbers_in_a_file_are_rolled_up(tmp_path: Path) -> None:
    """A .dat file's numbers roll up by name, however large."""
    path = tmp_path / "b.dat"
    path.write_text("1 2 3\n999999999 1\n\n5\n")
    plan = plan_of(["10", "20"], Names(unlisted="drop", parents=(("1", "10"), ("2", "10"), ("999999999", "20"))))
    expected: list[set[int]] = [{0}, {0, 1}, set(), set()]
    assert list(itertools.chain(*stream_transactions(path, plan, ReadOptions(empty="keep")))) == expected
    assert list(read_transactions(path, plan, ReadOptions(empty="keep"))[0]) == expected


def test_repeats_apply_to_names_in_the_file(tmp_path: Path) -> None:
    """Names that a line repeats are refused or merged by option; names made equal by roll-up always merge."""
    (tmp_path / "b.csv").write_text("beer,wine\nbeer,beer\n")
    plan = plan_of(["drinks"], SHOP)
    with pytest.raises(BasketError, match="line 2 repeats an item"):
        list(stream_transactions(tmp_path / "b.csv", plan))
    stream = stream_transactions(tmp_path / "b.csv", plan, ReadOptions(repeats="merge"))
    assert list(itertools.chain(*stream)) == [{0}, {0}]
    assert stream.counts == ReadCounts(2, 0, 1, 0)
    with pytest.raises(BasketError, match="repeats an item"):
        transaction_of(["beer", "beer"], plan)


def test_left_out_names_of_a_file_are_no_unknown_ones(tmp_path: Path) -> None:
    """Under a plan that refuses unknown names, names that it leaves out are dropped."""
    (tmp_path / "b.csv").write_text("beer,bags\nwine,bags\n")
    plan = plan_of(["drinks"], replace(SHOP, unlisted="error"))
    assert list(itertools.chain(*stream_transactions(tmp_path / "b.csv", plan))) == [{0}, {0}]


# ---- the Python API and the command line


def seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the public functions draw the same words every time."""
    for module in (randomizing, bulk_client):
        monkeypatch.setattr(module, "SystemEntropy", lambda: SeededEntropy(5))


SETS = [["beer", "milk", "bags"], ["beer", "wine"], ["pear"], ["drinks", "dairy", "milk"]] * 25


def test_all_ways_make_the_same_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One basket, many, a data frame, a file and the command line randomize the same transactions."""
    seeded(monkeypatch)
    plan = plan_of(["drinks", "dairy"], SHOP)
    write_plan(plan, tmp_path / "plan.json")
    (tmp_path / "b.csv").write_text("".join(",".join(names) + "\n" for names in SETS))
    packed = ap.randomize(SETS, plan).packed
    rows = [(number, name) for number, names in enumerate(SETS) for name in names]
    frame = pd.DataFrame(rows, columns=["transaction", "item"])
    assert (ap.randomize(frame, plan).packed == packed).all()
    assert ap.randomize(SETS[0], plan) == packed[0].tobytes()
    done = ap.randomize(tmp_path / "b.csv", plan, tmp_path / "api.parquet")
    assert done.read.unknown_dropped == align_baskets(Baskets.from_sets(SETS), plan)[1]
    run("randomize", tmp_path / "b.csv", "--plan", tmp_path / "plan.json", "-o", tmp_path / "cli.parquet")
    for name in ("api.parquet", "cli.parquet"):
        sent = pq.read_table(tmp_path / name).column("report").to_pylist()
        assert sent == [report.tobytes() for report in packed]


@pytest.mark.filterwarnings("ignore:.* estimates depend mostly on the prior")
def test_truncation_is_counted_over_transactions(tmp_path: Path) -> None:
    """The number of truncated baskets counts the plan's transactions, not the raw baskets."""
    products = [f"p{number}" for number in range(8)]
    names = Names(parents=tuple((name, "ab"[number % 2]) for number, name in enumerate(products)))
    plan = plan_of(["a", "b", "c"], names)
    (tmp_path / "b.csv").write_text(",".join(products) + "\n" + "a,b,c\n")
    done = ap.randomize(tmp_path / "b.csv", plan, tmp_path / "r.parquet")
    loss = measure_truncation_loss(done.sizes, plan)
    assert (loss.baskets, loss.truncated) == (2, 1)
    message = "1 of 2 baskets have more than 2 items.*more than 5% of support is lost"
    with pytest.warns(UserWarning, match=message) as warned:
        assert ap.simulate([products, ["a", "b", "c"]], plan, 0.5, seed=1).truncated_baskets == 1
    assert warned[0].filename == __file__


@pytest.mark.filterwarnings("ignore:.* estimates depend mostly on the prior")
def test_true_supports_of_a_simulation_are_counted_over_transactions() -> None:
    """A simulation's true supports are counted over rolled-up baskets."""
    rng = np.random.default_rng(3)
    products = ["beer", "wine", "milk", "drinks", "pear"]
    sets = [sorted(rng.choice(products, size=rng.integers(1, 5), replace=False).tolist()) for _ in range(2000)]
    plan = planned(["drinks", "dairy"], 2, ap.Guarantee("5%", "50%"), reports=2000, code="bch", names=SHOP)
    result = ap.simulate(sets, plan, 0.05, seed=4)
    items = {"beer": "drinks", "wine": "drinks", "drinks": "drinks", "milk": "dairy"}
    rolled = [{items[name] for name in names if name != "pear"} for names in sets]
    for names in (["drinks"], ["dairy"], ["dairy", "drinks"]):
        truth = count_itemset(rolled, names) / len(sets)
        assert result.truth.supports([frozenset(names)]) == pytest.approx([truth])


# ---- making plans

PLAN = ["plan", "--transaction-size", 2, "--prior", "5%", "--posterior", "50%"]


def test_plans_with_a_taxonomy(tmp_path: Path) -> None:
    """The options of the command make the plan that the function makes."""
    (tmp_path / "tree.csv").write_text("beer,drinks,food\nmilk,dairy,food\nwine,drinks\nsalt\n")
    (tmp_path / "names.txt").write_text("dairy\nbeer\nfood\n")
    (tmp_path / "out.txt").write_text("wine\nbags\n")
    tree = ["--taxonomy", tmp_path / "tree.csv", "--catalogue", tmp_path / "names.txt"]
    leave_out, left_out, path = ["--leave-out", tmp_path / "out.txt"], ("bags", "wine"), tmp_path / "p.json"
    parents = (("beer", "drinks"), ("dairy", "food"), ("drinks", "food"), ("milk", "dairy"), ("wine", "drinks"))
    made = {"transaction_size": 2, "names": Names(parents=parents, unlisted="drop", left_out=left_out)}
    run(*PLAN, *tree, *leave_out, "--unlisted", "drop", "-o", path)
    assert read_plan(path) == make_plan(["dairy", "beer", "food"], ap.Guarantee("5%", "50%"), **made)
    run(*PLAN, *tree, "-o", path, "--force")
    assert read_plan(path).names == Names(parents=parents)
    run(*PLAN, "--items", 3, *leave_out, "-o", path, "--force")
    assert read_plan(path).names == Names(left_out=left_out)


def test_a_sample_is_rolled_up(tmp_path: Path) -> None:
    """With a taxonomy, the sample of basket sizes is rolled up and unknown names are dropped."""
    (tmp_path / "tree.csv").write_text("".join(f"p{number},group\n" for number in range(9)))
    (tmp_path / "b.csv").write_text(",".join(f"p{number}" for number in range(9)) + ",pear\np1\n")
    (tmp_path / "names.txt").write_text("tea\ngroup\n")
    counts = sample_sizes(tmp_path / "b.csv", ["group", "tea"], Names(parents=read_taxonomy(tmp_path / "tree.csv")))
    assert counts.sizes == {1: 2}
    command = [*PLAN, "--taxonomy", tmp_path / "tree.csv", "--catalogue", tmp_path / "names.txt"]
    notes = run(*command, "--sample", tmp_path / "b.csv", "-o", tmp_path / "p.json").stderr
    assert "items outside the catalogue, not counted: 1" in notes


def test_a_plan_is_not_written_over_its_inputs(tmp_path: Path) -> None:
    """A catalogue is a number or a file; an input file is never overwritten, even with --force."""
    (tmp_path / "tree.csv").write_text("beer,drinks\n")
    (tmp_path / "names.txt").write_text("drinks\n")
    names, end = ["--catalogue", tmp_path / "names.txt"], ["--force", "-o", tmp_path / "tree.csv"]
    for options in ([], ["--items", 3, *names]):
        assert "--items" in refused(*PLAN, *options, *end, status=2)
    assert "is an input" in refused(*PLAN, *names, "--taxonomy", tmp_path / "tree.csv", *end)
    assert (tmp_path / "tree.csv").read_text() == "beer,drinks\n"


# ---- nothing shows an item

CANARY_RULES = {
    "tree": (["milk", "tea"], Names(parents=((f"{NAME}-known", "milk"),))),
    "left out": (["milk", "tea"], Names(left_out=(f"{NAME}-out",))),
}
BAD: list[list[Any]] = [[NAME], [f"{NAME}-known", NAME], [NAME, NAME], [NUMBER], [f"{NAME}\x07"], [None, NAME], [2.5]]


@pytest.mark.parametrize("kind", CANARY_RULES)
@pytest.mark.parametrize("position", range(len(BAD)))
def test_refusals_show_no_item(kind: str, position: int) -> None:
    """One basket or many that a plan refuses are refused without showing a name."""
    for baskets in (BAD[position], [BAD[position]]):
        with pytest.raises((AssocprivError, TypeError)) as caught:
            ap.randomize(baskets, plan_of(*CANARY_RULES[kind]))
        assert not marks_in(shown_by(caught.value))


@pytest.mark.parametrize("kind", CANARY_RULES)
def test_errors_about_malformed_arrays_show_no_item(kind: str) -> None:
    """Ids outside their catalogue and decreasing offsets are refused without showing an id."""
    plan = plan_of(*CANARY_RULES[kind])
    for catalogue in (Catalogue(["milk", "tea"]), NameReader(plan).names):
        for offsets, items in (([0, 2], [0, NUMBER]), ([0, 2], [-NUMBER, 0]), ([0, 2, 1], [0, 1])):
            baskets = Baskets(catalogue, np.array(offsets), np.array(items))
            with pytest.raises(BasketError) as caught:
                align_baskets(baskets, plan, unknown="drop")
            assert not marks_in(shown_by(caught.value))


@pytest.mark.parametrize("kind", CANARY_RULES)
@pytest.mark.parametrize("name", ["b.csv", "b.parquet"])
def test_commands_show_no_item(tmp_path: Path, kind: str, name: str) -> None:
    """No command shows a name of a basket that a plan refuses, drops or rolls up, or leaves one in a file."""
    items, rules = CANARY_RULES[kind]
    strict, plan = plan_of(items, rules), plan_of(items, replace(rules, unlisted="drop"))
    write_plan(strict, tmp_path / "strict.json")
    write_plan(plan, tmp_path / "plan.json")
    path = written(tmp_path, [{"milk", NAME}, {NAME, f"{NAME}-known" if kind == "tree" else f"{NAME}-out"}], name)
    files = {path, tmp_path / "strict.json", tmp_path / "plan.json", tmp_path / "r.parquet"}
    for command, end in (("randomize", ["-o", tmp_path / "r.parquet"]), ("simulate", ["--min-support", "50%"])):
        for chosen, fails in (("strict.json", True), ("plan.json", False)):
            arguments = [command, path, "--plan", tmp_path / chosen, *end]
            result = CliRunner().invoke(main, [str(argument) for argument in arguments])
            if fails:
                assert result.exit_code == 1, result.output
                assert not marks_in(shown_by(result.exception or AssertionError()))
            assert not marks_in(result.stderr)
            assert command == "simulate" or not marks_in(result.stdout)
            assert not marked_files(tmp_path, files)
            assert not (fails and (tmp_path / "r.parquet").exists())
            (tmp_path / "r.parquet").unlink(missing_ok=True)


def test_invalid_text_and_blank_names_have_different_errors() -> None:
    """The error about bytes that are not UTF-8 names the reason and shows no byte."""
    for name, why in (("\udce9", "is not UTF-8 text"), ("\x07", "is empty or has control characters")):
        with pytest.raises(BasketError, match=f"1st item of the basket {why}"):
            transaction_of([name], PLAIN)
