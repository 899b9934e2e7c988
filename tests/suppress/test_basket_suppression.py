"""Tests of released baskets: items hidden or dropped, in each layout, and checked as written."""

import gzip
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assocpriv.guarantees.errors import AssocprivError, BasketError, FileError, TemplateError
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.records.baskets import Baskets
from assocpriv.suppress import basket_suppression, check, suppress, suppress_file

BEER = [{"channel": ["beer", "egg"], "sensitive": ["test", ["milk", "jam"]], "confidence": "60%"}]
Pairs = Counter[tuple[frozenset[str], frozenset[str]]]


def some_baskets(rng: np.random.Generator, n: int = 400) -> list[list[str]]:
    """Return baskets in which beer and test are correlated."""
    found = []
    for _ in range(n):
        basket = [item for item in ("beer", "egg", "milk", "jam", "tea") if rng.random() < 0.4]
        found.append([*basket, *["test"] * (rng.random() < (0.75 if "beer" in basket else 0.2))])
    return [basket or ["tea"] for basket in found]


def table_of(given: list[list[str]], kind: str) -> pa.Table:
    """Return baskets as an Arrow table."""
    if kind == "list":
        return pa.table({"items": given})
    if kind == "long":
        rows = [(at, item) for at, basket in enumerate(given) for item in basket]
        return pa.table({"receipt": [at for at, _ in rows], "product": [item for _, item in rows]})
    items = sorted({item for basket in given for item in basket})
    return pa.table({item: [item in basket for basket in given] for item in items})


def write(given: list[list[str]], kind: str, path: Path) -> None:
    """Write baskets as a file."""
    if kind == "lines":
        text = "".join(",".join(basket) + "\n" for basket in given).encode()
        path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    elif path.suffix == ".parquet":
        pq.write_table(table_of(given, kind), path)
    else:
        (table_of(given, kind).to_pandas() * 1).to_csv(path, index=False)  # flags as 1 and 0


def read(released: Any, kind: str) -> list[tuple[frozenset[str], frozenset[str]]]:
    """Return baskets and the hidden items of each, in their order."""
    if kind == "lines":
        with (gzip.open if released.suffix == ".gz" else open)(released, "rt") as lines:
            return [(frozenset(line.strip().split(",")) - {""}, frozenset()) for line in lines]
    if isinstance(released, Path):
        as_parquet = released.suffix == ".parquet"
        released = pq.read_table(released) if as_parquet else pd.read_csv(released, dtype=str)
    rows = pa.table(released).to_pylist()
    if kind == "list":
        return [(frozenset(row["items"]), frozenset(row["hidden"])) for row in rows]
    if kind == "long":
        by_number: dict[Any, set[str]] = {}
        for number, item in (row.values() for row in rows):
            by_number.setdefault(number, set()).add(item)
        return [(frozenset(held), frozenset()) for held in by_number.values()]
    return [tuple(frozenset(n for n in row if row[n] in signs) for signs in ((True, "1"), (None, "*"))) for row in rows]


SIGNS = {None: "*", True: "yes", False: "no"}


def counted(found: Pairs, records: int) -> Iterator[tuple[str, dict[Any, Fraction], Counter[Any], Counter[Any]]]:
    """Yield each sensitive set's name with shares, hits and records by the visible channel pattern."""
    for sensitive in (["test"], ["jam", "milk"]):
        totals, hits = Counter[Any](), Counter[Any]()
        for (held, hidden), count in found.items():
            pattern = tuple(SIGNS[None if item in hidden else item in held] for item in ("beer", "egg"))
            totals[pattern] += count
            hits[pattern] += count * (held >= set(sensitive))
        totals["no", "no"] += records - totals.total()
        shares = {each: Fraction(hits[each], totals[each]) for each in totals if totals[each]}
        yield ", ".join(sensitive), shares, hits, totals


def hold(found: Pairs, done: Any) -> None:
    """Check that shares are within the bound, and equal to the reported ones."""
    most = [max(shares.values()) for _, shares, _, _ in counted(found, done.records)]
    assert most == [each.confidence for each in done.checked]
    assert max(most) <= Fraction(3, 5)


def checks(given: Any, found: Pairs, done: Any, **options: Any) -> None:
    """Check that a release is recognized, and that a lower bound lists exactly the inferences above it."""
    hold(found, done)
    seen = check(given, BEER, **options)
    assert (seen.passed, seen.is_release) == (True, True)
    assert [*seen.absent] == [item for item, cells in done.details["cells"].items() if cells == done.records]
    low = Fraction(1, 10)
    violations = check(given, [BEER[0] | {"confidence": low}], **options).violations
    assert {(each.bound.column, each.values): (each.hits, each.support) for each in violations} == {
        (name, each): (hits[each], totals[each])
        for name, shares, hits, totals in counted(found, found.total()) for each in shares if shares[each] > low
    }  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        *product(("lines", "long", "one-hot"), ("csv", "csv.gz")),
        *product(("list", "long", "one-hot"), ("parquet", "pandas", "polars", "pyarrow")),
    ],
)
def test_each_layout_is_released(rng, kind: str, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Flags and lists mark hidden cells, present or not; other layouts show or drop an item for all baskets."""
    for name in ("_ROWS", "_CELLS"):  # written in several parts
        monkeypatch.setattr(basket_suppression, name, 30)
    given, options = some_baskets(rng), {"layout": kind} if "csv" in form else {}
    if form == "parquet" or options:
        source, released = tmp_path / f"b.{form}", tmp_path / f"o.{form}"
        write(given, kind, source)
        done = suppress_file(source, BEER, released, **options)
    else:
        table = table_of(given, kind)
        source = {"pandas": table.to_pandas, "polars": lambda: pl.from_arrow(table), "pyarrow": lambda: table}[form]()
        released, done = suppress(source, BEER)
        assert type(released) is type(source)
    found, is_local = read(released, kind), kind in ("list", "one-hot")
    cells = {item: count for item, count in done.details["cells"].items() if count}
    assert done.details["mode"] == ("local" if is_local else "global")
    if is_local:
        assert Counter(item for _, hidden in found for item in hidden) == cells
    left_out = {"beer", "egg"} if is_local else set(cells)
    shown = [held - left_out for held, _ in found]
    there = [frozenset(basket) - left_out for basket in given]
    there = [basket for basket in there if basket or kind != "long"]  # where a basket without items is invisible
    assert Counter(shown) == Counter(there)
    assert shown != there
    assert not check(source, BEER, **options).passed
    checks(released, Counter(found), done, **options)


def test_lists_and_baskets_in_memory(rng) -> None:
    """Lists stay lists, and baskets have a catalogue of their items; an item is shown or dropped for all baskets."""
    given = some_baskets(rng)
    released, done = suppress(given, BEER)
    hold(Counter((frozenset(basket), frozenset[str]()) for basket in released), done)
    held = Baskets.from_sets(given, Catalogue(["rum", *sorted(set().union(*given))]))
    again, done = suppress(held, BEER)
    names = [frozenset(again.catalogue[item] for item in basket) for basket in again]
    assert set(again.catalogue) == set.union(*map(set, names))
    hold(Counter((basket, frozenset[str]()) for basket in names), done)


@pytest.mark.parametrize(
    ("template", "options", "output", "text", "message"),
    [
        ({"channel": ["bear"]}, {}, "o.csv", b"", "item bear .* in no"),
        ({"channel": ["test"]}, {}, "o.csv", b"", "in its own channel"),
        ({"confidence": 0.01}, {}, "o.csv", b"", "no suppression meets"),
        ({"channel": list(map(str, range(21)))}, {}, "o.csv", b"", "at most 20"),
        ({}, {}, "o.parquet", b"", "the release of this file is text"),
        ({}, {}, "b.csv", b"", "is an input"),
        ({}, {}, "no/o.csv", b"", "does not exist"),
        ({}, {}, "o.csv", b"\n\n", "empty basket"),
        ({}, {}, "o.csv", b"\xff", "only UTF-8 text"),
        ({}, {"mode": "deterministic"}, "o.csv", b"", "leave the mode deterministic out"),
        ({}, {"memory_bytes": 20_000}, "o.csv", b"", "more than the 0 MiB allowed"),
    ],
)
def test_bad_input_is_refused(rng, template, options, output, text: bytes, message: str, tmp_path: Path) -> None:
    """Invalid input is refused with the reason, and leaves no file."""
    source = tmp_path / "b.csv"
    write(some_baskets(rng), "lines", source)
    source.write_bytes(source.read_bytes() + text)
    with pytest.raises(AssocprivError, match=message):
        suppress_file(source, [BEER[0] | template], tmp_path / output, layout="lines", **options)
    assert [path.name for path in tmp_path.iterdir()] == ["b.csv"]


@pytest.mark.parametrize("columns", [("itemsets", "support"), ("antecedents", "consequents", "confidence")])
def test_mined_tables_are_not_baskets(columns: tuple[str, ...], tmp_path: Path) -> None:
    """A table or file of itemsets or rules is refused, since its supports would be unchecked."""
    cells = {name: [["beer"], ["milk"]] if name.endswith("s") else [0.5, 0.4] for name in columns}
    table = pd.DataFrame(cells)
    table.to_parquet(tmp_path / "mined.parquet")
    for given in (table, pa.table(cells), tmp_path / "mined.parquet"):
        with pytest.raises(TemplateError, match="not baskets"):
            check(given, [BEER[0] | {"channel": ["beer"], "sensitive": ["milk"]}], layout=f"item={columns[0]}")


@pytest.mark.parametrize(
    ("rows", "kind", "message"),
    [
        (["beer,test"] + ["*,1"] * 9 + ["*,*"], TemplateError, "test is in no basket, or hidden in some"),
        (["beer,test"] + ["*,0"] * 9, TemplateError, "test is in no basket, or hidden in some"),
        (["beer,test,Test", "*,1,0", "0,0,1"], TemplateError, "some basket writes test in another way"),
        (["beer,test"] + ["*,1"] * 2000 + ["secret,1"], BasketError, "neither 1, 0 nor"),
    ],
)
def test_baskets_that_cannot_be_checked_are_refused(
    rows: list[str], kind: type[Exception], message: str, tmp_path: Path
) -> None:
    """Sensitive items that are hidden, absent or have two spellings, and a table with other cells."""
    (tmp_path / "o.csv").write_text("\n".join(rows))
    with pytest.raises(kind, match=message) as caught:
        check(tmp_path / "o.csv", [BEER[0] | {"channel": ["beer"], "sensitive": ["test"]}])
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("sensitive", ["beer", ["beer", "wine"]])
def test_sensitive_items_are_in_no_channel(sensitive: str | list[str]) -> None:
    """Nor a part of one: of ten baskets five hold beer, three of them wine: the posterior would be 60%."""
    given = [["beer", "wine", "tea"]] * 3 + [["beer", "milk"]] * 2 + [["tea"]] * 5
    templates = [BEER[0] | {"channel": [a], "sensitive": [b]} for a, b in (("beer", "milk"), ("tea", sensitive))]
    with pytest.raises(TemplateError, match="beer is sensitive and in the channel of another template"):
        suppress(given, templates)


def test_a_sensitive_item_written_in_two_ways_is_refused() -> None:
    """Readers see both as one item, so a bound on one alone guarantees nothing."""
    for act in (check, suppress):
        with pytest.raises(TemplateError, match="some basket writes test in another way"):
            act([["beer", "test"], ["beer", "Test"]], [BEER[0] | {"channel": ["beer"], "sensitive": ["test"]}])


@pytest.mark.parametrize("fault", ["nothing hidden", "a basket more"])
def test_a_faulty_file_is_not_released(rng, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrongly written file fails the check and never gets its name; a wrong list in memory is not returned."""
    given = some_baskets(rng)
    wrong = given if fault == "nothing hidden" else [["tea"]] * 401
    monkeypatch.setattr(basket_suppression._ReleasedBaskets, "lists", lambda _: wrong)
    source = tmp_path / "b.csv"
    write(given, "lines", source)
    with pytest.raises(FileError, match=r"violates|more baskets"):
        suppress_file(source, BEER, tmp_path / "o.csv", layout="lines")
    assert [path.name for path in tmp_path.iterdir()] == ["b.csv"]
    with pytest.raises(FileError, match=r"violates|more baskets"):
        suppress(given, BEER)
