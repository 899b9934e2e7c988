"""Files of mined itemsets, valid or tampered with; and exports to other programs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import pytest
from naive import planned, reports_of

import assocpriv as ap
from assocpriv import to_frame
from assocpriv.exports import to_arules, to_efficient_apriori, write_fimi, write_spmf
from assocpriv.files.mined_tables import mining_facts, read_table, write_itemsets
from assocpriv.server.baskets.result_frames import read_itemsets

SUFFIXES = [".parquet", ".csv", ".json"]


@pytest.fixture(scope="module")
def reports() -> ap.Reports:
    """Reports of 12,000 people."""
    plan = planned(["tea", "milk", "rye", "egg"], 3, ap.Guarantee("5%", "90%"))
    return reports_of([{"tea", "milk"}, {"rye"}, {"tea", "milk", "egg"}] * 4000, plan)


@pytest.fixture(scope="module")
def mined(reports: ap.Reports) -> pd.DataFrame:
    """A table with some itemsets not selected."""
    table = ap.mine(reports, "20%")
    table["selected"] &= table["itemsets"] != frozenset({"tea", "milk", "egg"})
    return table


# ---- files


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("kind", ["some", "none", "fdr", "none fdr", "two plans"])
def test_files_keep_all(reports: ap.Reports, tmp_path: Path, suffix: str, kind: str) -> None:
    """Every format keeps columns, their order and types, values to the last bit, and the facts.

    Of two plans one lacks some items: their estimates are those of the other plan.
    """
    given: Any = reports
    if kind == "two plans":
        other = planned(["tea", "fig"], 2, ap.Guarantee("5%", "90%"))
        given = [reports, ap.randomize([{"tea"}, {"fig"}] * 4000, other)]
    table = ap.mine(given, "90%" if "none" in kind else "20%", fdr="5%" if "fdr" in kind else None)
    assert (len(table) == 0) == ("none" in kind)
    assert np.isfinite(table["sampled_error"]).all()
    write_itemsets(table, tmp_path / f"i{suffix}")
    again = read_itemsets(tmp_path / f"i{suffix}")
    pd.testing.assert_frame_equal(again, table, check_exact=True)
    assert mining_facts(again) == mining_facts(table)
    assert read_table(tmp_path / f"i{suffix}").to_pandas().equals(table)


def _set(*path: Any) -> Callable[[Any], None]:
    *where, last, value = path

    def change(content: Any) -> None:
        for step in where:
            content = content[step]
        content[last] = value

    return change


TAMPERED = {
    "other format": _set("format", "x"), "other version": _set("version", 3), "no plans": _set("plan_ids", []),
    "plans no text": _set("plan_ids", [1]), "no reports": _set("reports", 0), "reports text": _set("reports", "many"),
    "support above 1": _set("min_support", 1.5), "level true": _set("confidence_level", True),
    "counted one number": _set("counted", [[4], [6]]),
    "sizes without truncation": _set("sizes", {"reports": 3, "mean": 2.0}), "fact unknown": _set("x", 1),
    "fact of fdr unknown": _set("fdr", "x", 1),
    "fact of sizes unknown": _set("sizes", {"reports": 3, "mean": 2.0, "truncation": {"1": [1.0, 0.1]}, "x": 1}),
    "field of a row unknown": _set("itemsets", 1, "x", 1),
    "field of all rows unknown": lambda c: [row.update(x=1) for row in c["itemsets"]],
    "fdr level": _set("fdr", "level", 2.0), "fdr by": _set("fdr", "by", "me"),
    "fewer hypotheses than rows": _set("fdr", "hypotheses", 1), "empty itemset": _set("itemsets", 0, "itemset", []),
    "itemset of numbers": _set("itemsets", 0, "itemset", [3]),
    "itemset twice": lambda c: c["itemsets"][0].update(itemset=c["itemsets"][1]["itemset"]),
    "other length": _set("itemsets", 0, "length", 2), "support above all": _set("itemsets", 0, "support", 1.01),
    "interval below 0": _set("itemsets", 0, "ci_low", -0.1),
    "probability above 1": _set("itemsets", 0, "probability", 1.5),
    "no error": _set("itemsets", 0, "std_error", None), "selected a number": _set("itemsets", 0, "selected", 2),
    "posterior words": _set("itemsets", 0, "posterior_mean_1", "a b c"),
    "posterior short": lambda c: [row.pop("posterior_weight_2") for row in c["itemsets"]],
    "p-value above 1": _set("itemsets", 0, "p_value", 1.5), "p-value below 0": _set("itemsets", 0, "p_value", -0.1),
}  # fmt: skip


@pytest.fixture(scope="module")
def content(reports: ap.Reports, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A table with FDR control, as JSON."""
    path = tmp_path_factory.mktemp("itemsets") / "i.json"
    write_itemsets(ap.mine(reports, "20%", fdr="5%"), path)
    return path.read_text()


@pytest.mark.parametrize("name", TAMPERED)
def test_tampered_tables(content: str, tmp_path: Path, name: str) -> None:
    """Facts and values that mining cannot have written are refused, naming the file."""
    changed = json.loads(content)
    TAMPERED[name](changed)
    (tmp_path / "i.json").write_text(json.dumps(changed))
    with pytest.raises(ap.AssocprivError, match=r"i\.json is not a file of mined itemsets") as refused:
        read_itemsets(tmp_path / "i.json")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_other_files_are_refused(tmp_path: Path, suffix: str) -> None:
    """Files of other content, and missing ones, are refused in every format."""
    (tmp_path / f"strange{suffix}").write_text({".csv": "a,b\n1,2\n", ".json": '{"a": 1}', ".parquet": "PAR1"}[suffix])
    for name, message in (("strange", "is not a file of mined itemsets"), ("none", "cannot read")):
        with pytest.raises(ap.AssocprivError, match=f"{name}{suffix}.*{message}|{message}.*{name}{suffix}"):
            read_itemsets(tmp_path / f"{name}{suffix}")


def test_reports_are_refused(reports: ap.Reports, tmp_path: Path) -> None:
    """Reports are refused with the command for them."""
    reports.write(tmp_path / "r.parquet")
    with pytest.raises(ap.AssocprivError, match="mine them first"):
        read_itemsets(tmp_path / "r.parquet")


# ---- other programs


def test_frames_of_other_libraries(mined: pd.DataFrame) -> None:
    """Frames have the same columns and values, sets as sorted lists; and they can be read as baskets again."""
    for backend in ("polars", "pyarrow", "pandas"):
        frame = to_frame(mined, backend)
        assert type(frame).__module__.split(".")[0] == backend
        shown = nw.from_native(frame, eager_only=True)
        assert [list(each) for each in shown["itemsets"].to_list()] == [sorted(each) for each in mined["itemsets"]]
        assert shown["support"].to_list() == mined["support"].tolist()
        assert len(ap.to_baskets(shown.select("itemsets").to_native())) == len(mined)
    with pytest.raises(ValueError, match="pandas, polars or pyarrow"):
        to_frame(mined, "dask")


def test_efficient_apriori_has_the_same_shape(mined: pd.DataFrame) -> None:
    """Keys and tuples are those of efficient-apriori on the original baskets; counts are close."""
    efficient = pytest.importorskip("efficient_apriori")
    plain, _ = efficient.itemsets_from_transactions(
        [("tea", "milk"), ("rye",), ("tea", "milk", "egg")] * 4000, min_support=0.2, max_length=2
    )
    ours = to_efficient_apriori(mined[mined["length"] <= 2])
    assert {size: set(each) for size, each in ours.items()} == {size: set(each) for size, each in plain.items()}
    assert all(abs(ours[k][items] - count) < 1500 for k, each in plain.items() for items, count in each.items())


def test_files_of_spmf_and_fimi(mined: pd.DataFrame, tmp_path: Path) -> None:
    """One line per itemset; a name with a blank is refused, and nothing is written."""
    selected = mined[mined["selected"]]
    wanted = [(" ".join(sorted(each)), round(12_000 * s)) for each, s in selected[["itemsets", "support"]].to_numpy()]
    for write, form in ((write_spmf, "{} #SUP: {}"), (write_fimi, "{} ({})")):
        write(mined, tmp_path / "found.txt", force=True)
        assert (tmp_path / "found.txt").read_text().splitlines() == [form.format(*each) for each in wanted]
    spaced = mined.assign(itemsets=[frozenset({"green tea"})] * len(mined))
    spaced.attrs = mined.attrs
    with pytest.raises(ap.AssocprivError, match="blank"):
        write_spmf(spaced, tmp_path / "no.txt")
    assert not (tmp_path / "no.txt").exists()


def test_rules_in_the_format_of_arules(mined: pd.DataFrame) -> None:
    """Sides are in braces, coverage is the antecedent's support; the ends of intervals come last."""
    rules = ap.association_rules(mined, "10%")
    table = to_arules(rules)
    ends = ["confidence_ci_low", "confidence_ci_high", "lift_ci_low", "lift_ci_high"]
    assert list(table.columns) == ["rules", "support", "confidence", "coverage", "lift", *ends]
    left, right = (",".join(sorted(rules[side].iloc[0])) for side in ("antecedents", "consequents"))
    assert table["rules"].iloc[0] == f"{{{left}}} => {{{right}}}"
    assert table["coverage"].tolist() == rules["antecedent support"].tolist()
    assert table[ends].equals(rules[ends])


def test_itemsets_are_refused_as_rules(mined: pd.DataFrame, tmp_path: Path) -> None:
    """Itemsets are refused in place of rules, and nothing is written."""
    for given in (mined, None):
        with pytest.raises(ap.AssocprivError, match="not a table of rules; association_rules makes one"):
            to_arules(given)
        with pytest.raises(ap.AssocprivError, match="not a table of rules"):
            ap.write_rules(given, tmp_path / "r.csv")
    assert not list(tmp_path.iterdir())
