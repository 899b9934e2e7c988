"""Tests of lists of itemsets and rules: how their lines are read, and which of them go out."""

import csv
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assocpriv.core.errors import FileError, TemplateError
from assocpriv.owner.suppression import items_withholding
from assocpriv.owner.suppression.items_implied import Program
from assocpriv.owner.suppression.items_lists import Line, is_list, read_list
from assocpriv.owner.suppression.items_withholding import check_list
from assocpriv.suppression import ItemTemplate, ListCheck, check_items, suppress_items, templates_from_rules

ITEMSETS = [("beer", "0.5"), ("test", "0.4"), ("beer,test", "0.3"), ("milk", "0.25"), ("beer,milk", "0.125")]
BOUND = [{"channel": ["beer"], "sensitive": ["test"], "confidence": "50%"}]


def frame() -> pd.DataFrame:
    """Return a table as mlxtend makes one."""
    return pd.DataFrame(
        {"support": [float(s) for _, s in ITEMSETS], "itemsets": [frozenset(i.split(",")) for i, _ in ITEMSETS]}
    )


def written(tmp_path: Path, kind: str) -> Path:
    """Write the itemsets as some program does."""
    path = tmp_path / f"sets.{kind.split(maxsplit=1)[0]}"
    table = frame()
    if kind == "csv of mlxtend":
        table.to_csv(path)
    elif kind == "csv":
        lines = ["support,itemsets", *(f'{share},"{names}"' for names, share in ITEMSETS)]
        path.write_text("\n".join(lines), encoding="utf-8")
    elif kind == "csv of mine":
        mark = '# assocpriv-itemsets {"plan": 1}\n'
        rows = [f'{share},"{names}",17' for names, share in ITEMSETS]
        path.write_text(mark + "\n".join(["support,itemsets,count", *rows]), encoding="utf-8")
    elif kind == "json of mine":
        rows = [{"support": float(share), "count": 17, "itemset": names.split(",")} for names, share in ITEMSETS]
        path.write_text(json.dumps({"format": "assocpriv-itemsets", "itemsets": rows}), encoding="utf-8")
    elif kind == "json":
        rows = [{"support": float(share), "itemsets": names.split(",")} for names, share in ITEMSETS]
        path.write_text(json.dumps(rows), encoding="utf-8")
    else:
        table.assign(itemsets=table["itemsets"].map(sorted)).to_parquet(path)
    return path


KINDS = ["csv of mlxtend", "csv", "csv of mine", "json of mine", "json", "parquet"]


@pytest.mark.parametrize("kind", KINDS)
def test_files_keep_the_lines_that_go_out(kind: str, tmp_path: Path) -> None:
    """Each kind of file is read alike; what goes out are the other lines and nothing beside, and implies nothing."""
    source = written(tmp_path, kind)
    output = tmp_path / f"out{source.suffix}"
    read = read_list(source)
    assert [line.support for line in read.lines] == [Fraction(share) for _, share in ITEMSETS]
    assert is_list(source)
    done = suppress_items(source, BOUND, output)
    assert [(one.place, one.label) for one in done.withheld] == [(3, "beer, test")]
    assert read_list(output).lines == (*read.lines[:2], *read.lines[3:])
    if kind == "csv of mine":
        assert output.read_text(encoding="utf-8").splitlines() == [
            "support,itemsets", "0.5,beer", "0.4,test", "0.25,milk", '0.125,"beer,milk"',
        ]  # fmt: skip
    if kind == "json of mine":
        rows = [([name], share) for name, share in (("beer", 0.5), ("test", 0.4), ("milk", 0.25))]
        left = [*rows, (["beer", "milk"], 0.125)]
        assert json.loads(output.read_text(encoding="utf-8")) == {
            "itemsets": [{"support": share, "itemset": names} for names, share in left]
        }
    assert check_items(output, BOUND).passed


@pytest.mark.parametrize("ending", ["csv", "json", "parquet", ""])
def test_nothing_tells_that_a_line_was_withheld(ending: str, tmp_path: Path) -> None:
    """Ranks and indices leave a gap, facts beside the lines count them: from both a support left out can be told."""
    table = frame().assign(rank=[1, 2, 3, 4, 5], rank_low=1, consistent_support=0.5)
    table.attrs = {"assocpriv": {"min_support": 0.1}}
    source, output = tmp_path / f"in.{ending}", tmp_path / f"out.{ending}"
    plain = table.assign(itemsets=table["itemsets"].map(sorted))
    if ending == "csv":
        mark = '# assocpriv-itemsets {"min_support": 0.1}\n'
        source.write_text(mark + plain.assign(itemsets=plain["itemsets"].str.join(",")).to_csv(), encoding="utf-8")
    elif ending == "json":
        beside = {"min_support": 0.1, "itemsets": plain.to_dict("records"), "rules": [RULE | {"confidence": 0.6}]}
        source.write_text(json.dumps(beside), encoding="utf-8")
    elif ending == "parquet":
        plain.to_parquet(source)
    else:
        released = suppress_items(table, BOUND).released
        assert not released.attrs
        assert released.index.tolist() == [0, 1, 2, 3]
        assert released.columns.tolist() == ["support", "itemsets"]
        return
    suppress_items(source, BOUND, output)
    if ending == "parquet":
        assert pq.read_schema(output).metadata is None
        assert pq.read_schema(output).names == ["support", "itemsets"]
    written = output.read_bytes()
    assert not any(word in written for word in (b"rank", b"rules", b"consistent", b"min_support", b"0.3"))


@pytest.mark.parametrize(
    "make", [frame, lambda: pl.from_pandas(frame().assign(itemsets=frame()["itemsets"].map(sorted)))]
)
def test_tables_come_back_with_fewer_rows(make: Any) -> None:
    """A table in memory gives one of the same library and order."""
    table = make()
    found = suppress_items(table, BOUND).released
    assert type(found) is type(table)
    assert found["support"].to_list() == [0.5, 0.4, 0.25, 0.125]


def test_arrow_tables_are_lists_too() -> None:
    """A pyarrow table with the columns of a list is one."""
    table = pa.table({"support": [0.5, 0.4], "itemsets": [["beer"], ["test", "beer"]]})
    assert is_list(table)
    assert suppress_items(table, BOUND).released.num_rows == 1


RULE = {"antecedents": ["beer"], "consequents": ["test"]}


def line_of(**measures: Any) -> Line:
    """Return the line that a rule with some measures is."""
    return read_list(pd.DataFrame([RULE | measures])).lines[0]


@pytest.mark.parametrize(
    "measures",
    [
        {"support": 0.3, "confidence": 0.6, "lift": 1.5},
        {"support": 0.3, "antecedent support": 0.5, "consequent support": 0.4},
        {"support": 0.3, "antecedent support": 0.5, "lift": 1.5, "leverage": 0.1, "conviction": float("inf")},
        {"confidence": 0.6, "antecedent support": 0.5, "consequent support": 0.4, "jaccard": 0.5},
    ],
)
def test_rules_state_three_supports(measures: dict[str, float]) -> None:
    """Whichever measures determine the supports of a rule and its sides, the list implies these."""
    program = Program(["beer", "test"], line_of(**measures).facts)
    bounds = [ItemTemplate(["beer"], ["test"], limit) for limit in ("59%", "61%")]
    violated = [not check_list(pd.DataFrame([RULE | measures]), [bound]).passed for bound in bounds]
    assert violated == [True, False]
    assert program.tolerance() < Fraction(1, 10**10)
    other = [ItemTemplate(["test"], ["beer"], limit) for limit in ("74%", "76%")]  # 0.3 of 0.4
    assert [check_list(pd.DataFrame([RULE | measures]), [bound]).passed for bound in other] == [False, True]


def test_a_confidence_alone_says_nothing_of_who() -> None:
    """A confidence above the bound implies nothing without any support: nobody may hold the antecedent."""
    table = pd.DataFrame([RULE | {"confidence": 0.9}])
    assert check_list(table, BOUND).passed
    assert not check_list(pd.DataFrame([RULE | {"confidence": 0.9, "antecedent support": 0.1}]), BOUND).passed


def test_halving_gives_what_one_after_the_other_gives(rng: np.random.Generator) -> None:
    """Lines go out by support, each if what is out then breaks nothing: the same lines, tried one at a time."""
    some = 0
    for _ in range(8):
        flags = rng.random((20, 4)) < rng.uniform(0.3, 0.8, 4)
        masks = [mask for mask in range(1, 16) if rng.random() < 0.7]
        held = [flags[:, [bool(mask >> at & 1) for at in range(4)]].all(axis=1).mean() for mask in masks]
        names = [frozenset(item for at, item in enumerate("abcd") if mask >> at & 1) for mask in masks]
        table = pd.DataFrame({"support": held, "itemsets": names})
        templates = [ItemTemplate(["a", "b"], ["c"], rng.uniform(0.3, 0.7)), ItemTemplate(["d"], ["a"], 0.5)]
        kept = list[int]()
        for place in sorted(range(len(table)), key=lambda at: (-held[at], at)):
            if check_list(table.iloc[sorted([*kept, place])], templates).passed:
                kept.append(place)
        done = suppress_items(table, templates)
        assert [one.place - 1 for one in done.withheld] == sorted(set(range(len(table))) - set(kept))
        some += len(done.withheld)
    assert some > 8


def test_contradictory_estimates_get_a_tolerance() -> None:
    """Estimates that contradict each other by 0.1 are checked with a tolerance of half of it, which is stated."""
    table = pd.DataFrame({"support": [0.3, 0.4], "itemsets": [["beer"], ["beer", "test"]]})
    found = check_items(table, BOUND)
    assert isinstance(found, ListCheck)
    assert not found.passed
    assert float(found.bounds[0].tolerance) == pytest.approx(0.05, abs=1e-9)
    assert not found.bounds[0].complete


@pytest.mark.parametrize("data", [[["beer", "test"], ["beer", "Test"]], "list"])
def test_a_sensitive_item_written_in_two_ways_is_refused(data: Any) -> None:
    """A reader takes both for one item, so that a bound on one alone promises nothing."""
    names = [frozenset(["beer"]), frozenset(["beer", "Test"])]
    given = pd.DataFrame({"support": [0.5, 0.4], "itemsets": names}) if data == "list" else data
    for act in (check_items, suppress_items):
        with pytest.raises(TemplateError, match="item test is also written in another way"):
            act(given, BOUND)


BAD: dict[str, tuple[str, str]] = {
    "an unknown column": ("support,itemsets,margin\n0.5,beer,3\n", "column margin"),
    "counts of reports in another's list": ("support,itemsets,count\n0.5,beer,3\n", "column count"),
    "counts": ("support,itemsets\n512,beer\n", "line 1: support must be a share"),
    "no number": ("support,itemsets\n0.5,beer\nhalf,test\n", "line 2: support is no number"),
    "an exponent to fill memory": ("support,itemsets\n1e-999999999,beer\n", "line 1: support is no number"),
    "no support": ("support,itemsets\n,beer\n", "line 1: the support is missing"),
    "no items": ("support,itemsets\n0.5,\n", "line 1: the itemset is empty"),
    "a short row": ("support,itemsets\n0.5\n", "row 2 does not have the 2 cells"),
    "measures without supports": (
        "antecedents,consequents,confidence,leverage\nbeer,test,0.5,0.1\n",
        "line 1: measures",
    ),
    "a lift alone": ("antecedents,consequents,lift\nbeer,test,2\n", "line 1: a lift needs"),
    "no measures": ("antecedents,consequents,lift\nbeer,test,\n", "line 1: support, confidence and lift"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_lists_are_refused(name: str, tmp_path: Path) -> None:
    """A list that cannot be checked is refused with the place, and nothing is written."""
    text, message = BAD[name]
    source = tmp_path / "list.csv"
    source.write_text(text, encoding="utf-8")
    with pytest.raises(TemplateError, match=message):
        suppress_items(source, BOUND, tmp_path / "out.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["list.csv"]


def test_another_format_is_refused(tmp_path: Path) -> None:
    """A list goes out in its own format, and into a file where it came from one."""
    source = written(tmp_path, "csv")
    with pytest.raises(FileError, match="format it came in"):
        suppress_items(source, BOUND, tmp_path / "out.json")
    with pytest.raises(TemplateError, match="needs an output"):
        suppress_items(source, BOUND)


def test_a_faulty_list_is_not_released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list that was chosen or written wrongly fails the check, and never gets its name."""
    source, output = written(tmp_path, "csv"), tmp_path / "out.csv"
    choose = items_withholding._choose
    faults: list[Any] = [
        lambda checkers, lines: (list(range(len(lines))), ()),  # all lines
        lambda checkers, lines: ([*choose(checkers, lines)[0][:-1], 2], ()),
    ]
    for fault in faults:
        monkeypatch.setattr(items_withholding, "_choose", fault)
        with pytest.raises(TemplateError, match="check of the released list failed"):
            suppress_items(source, BOUND, output)
    assert not output.exists()


def test_braces_and_names_that_no_line_has(tmp_path: Path) -> None:
    """Itemsets in braces, as arules writes them, are read; a template's item that no line names is said."""
    path = tmp_path / "list.csv"
    path.write_text('itemsets,support\n{beer},0.5\n"{test,beer}",0.4\n', encoding="utf-8")
    found = check_items(path, BOUND)
    assert not found.passed
    template = {"channel": ["bear"], "sensitive": ["test"], "confidence": "50%"}
    assert [one.unnamed for one in check_items(path, [template]).bounds] == [("bear",)]
    assert [one.unnamed for one in found.bounds] == [()]


def test_rules_become_templates(tmp_path: Path) -> None:
    """Each rule gives a template: antecedent to channel, consequent to sensitive; a consequent may be asked for."""
    path = tmp_path / "rules.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = [("beer,wine", "test", 0.1, 0.9), ("beer", "milk,test", 0.2, 0.5), ("test", "beer", 0.1, 0.1)]
        csv.writer(file).writerows([("antecedents", "consequents", "support", "confidence"), *rows])
    made = [ItemTemplate(["beer", "wine"], ["test"], 0.4), ItemTemplate(["beer"], [["milk", "test"]], 0.4)]
    assert templates_from_rules(path, "40%", consequent=["test"]) == tuple(made)
    assert len(templates_from_rules(path, "40%")) == 3
    with pytest.raises(TemplateError, match="no rule has that consequent"):
        templates_from_rules(path, "40%", consequent=["wine"])
    with pytest.raises(TemplateError, match="holds no rules"):
        templates_from_rules(frame(), "40%")
