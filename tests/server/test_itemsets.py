"""Tables of itemsets as other programs have them: the same itemsets, counts and measures."""

from pathlib import Path

import narwhals as nw
import pandas as pd
import pytest
from planned import planned

import assocpriv as ap
from assocpriv import to_arules, to_efficient_apriori, to_frame, write_fimi, write_spmf


@pytest.fixture(scope="module")
def mined() -> pd.DataFrame:
    """A table of names and of subsets that noise pushed below."""
    plan = planned(["tea", "milk", "rye", "egg"], 3, ap.Breach("5%", "90%"))
    return ap.mine(ap.randomize([{"tea", "milk"}, {"rye"}, {"tea", "milk", "egg"}] * 4000, plan), "20%")


def test_frames_of_other_libraries(mined: pd.DataFrame) -> None:
    """The same columns and values, sets as sorted lists; and these frames are baskets again."""
    for backend in ("polars", "pyarrow", "pandas"):
        frame = to_frame(mined, backend)
        assert type(frame).__module__.split(".")[0] == backend
        shown = {name: nw.from_native(frame, eager_only=True)[name].to_list() for name in ("itemsets", "support")}
        assert [list(each) for each in shown["itemsets"]] == [sorted(each) for each in mined["itemsets"]]
        assert shown["support"] == mined["support"].tolist()
        baskets = nw.from_native(frame, eager_only=True).select("itemsets").to_native()
        assert len(ap.to_baskets(baskets)) == len(mined)
    with pytest.raises(ValueError, match="pandas, polars or pyarrow"):
        to_frame(mined, "dask")


def test_efficient_apriori_has_the_same_shape(mined: pd.DataFrame) -> None:
    """Keys and tuples are those that efficient-apriori gives of plain baskets; counts are near."""
    efficient = pytest.importorskip("efficient_apriori")
    plain, _ = efficient.itemsets_from_transactions(
        [("tea", "milk"), ("rye",), ("tea", "milk", "egg")] * 4000, min_support=0.2, max_length=2
    )
    ours = to_efficient_apriori(mined[mined["length"] <= 2])
    assert {size: set(each) for size, each in ours.items()} == {size: set(each) for size, each in plain.items()}
    assert all(abs(ours[k][items] - count) < 1500 for k, each in plain.items() for items, count in each.items())


def test_files_of_spmf_and_fimi(mined: pd.DataFrame, tmp_path: Path) -> None:
    """A line an itemset; a name with a blank is refused, and nothing written."""
    for write, mark in ((write_spmf, " #SUP: "), (write_fimi, " (")):
        write(mined, tmp_path / "found.txt", force=True)
        lines = (tmp_path / "found.txt").read_text().splitlines()
        found = [line.rstrip(")").split(mark) for line in lines]
        wanted = mined[mined["frequent"]]
        assert [items.split() for items, _ in found] == [sorted(each) for each in wanted["itemsets"]]
        assert [int(count) for _, count in found] == (wanted["support"] * 12_000).round().clip(0).astype(int).tolist()
    spaced = mined.assign(itemsets=[frozenset({"green tea"})] * len(mined))
    spaced.attrs = mined.attrs
    with pytest.raises(ap.AssocprivError, match="blank"):
        write_spmf(spaced, tmp_path / "no.txt")
    assert not (tmp_path / "no.txt").exists()


def test_rules_as_arules_writes_them(mined: pd.DataFrame) -> None:
    """Sides in braces, coverage is the antecedent's support; errors come last."""
    rules = ap.association_rules(mined, "10%")
    table = to_arules(rules)
    assert list(table.columns[:5]) == ["rules", "support", "confidence", "coverage", "lift"]
    assert table["rules"].iloc[0] == (
        f"{{{','.join(sorted(rules['antecedents'].iloc[0]))}}} => {{{','.join(sorted(rules['consequents'].iloc[0]))}}}"
    )
    assert table["coverage"].tolist() == rules["antecedent support"].tolist()
    assert table.columns[-1].endswith("_std_error")


def test_itemsets_are_no_rules(mined: pd.DataFrame, tmp_path: Path) -> None:
    """They are refused where rules are meant, and nothing is written."""
    for given in (mined, None):
        with pytest.raises(ap.AssocprivError, match="no table of rules; association_rules makes one"):
            to_arules(given)
        with pytest.raises(ap.AssocprivError, match="no table of rules"):
            ap.write_rules(given, tmp_path / "r.csv")
    assert not list(tmp_path.iterdir())
