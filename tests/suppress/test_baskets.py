"""Tests of baskets that are released: items hidden or dropped, in each layout, and checked as written."""

import gzip
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assocpriv.plans.catalogue import Catalogue
from assocpriv.promise.errors import AssocprivError, BasketError, FileError, TemplateError
from assocpriv.records.baskets import Baskets
from assocpriv.suppress import baskets, check, suppress, suppress_file

BEER = [{"channel": ["beer", "egg"], "sensitive": ["test", ["milk", "jam"]], "confidence": "60%"}]
Pairs = Counter[tuple[frozenset[str], frozenset[str]]]


def some_baskets(rng: np.random.Generator, n: int = 400) -> list[list[str]]:
    """Return baskets in which beer tells of test."""
    found = []
    for _ in range(n):
        basket = [item for item in ("beer", "egg", "milk", "jam", "tea") if rng.random() < 0.4]
        found.append([*basket, *["test"] * (rng.random() < (0.75 if "beer" in basket else 0.2))])
    return [basket or ["tea"] for basket in found]


def text_of(given: list[list[str]], kind: str) -> bytes:
    """Return baskets as a file of text."""
    items = sorted({item for basket in given for item in basket})
    if kind == "one-hot":
        rows = [items, *([str(int(item in basket)) for item in items] for basket in given)]
    elif kind == "long":
        rows = [["receipt", "product"], *([str(at), item] for at, basket in enumerate(given) for item in basket)]
    else:
        rows = given
    return b"".join(",".join(row).encode() + b"\n" for row in rows)


def read(text: bytes, kind: str) -> Pairs:
    """Return baskets and what is hidden in each, of a file of text."""
    rows = [line.split(",") for line in text.decode().splitlines()]
    if kind == "one-hot":
        found = [
            [{name for name, cell in zip(rows[0], row, strict=True) if cell == sign} for sign in "1*"]
            for row in rows[1:]
        ]
        return Counter((frozenset(held), frozenset(hidden)) for held, hidden in found)
    if kind == "long":
        by_number: dict[str, set[str]] = {}
        for number, item in rows[1:]:
            by_number.setdefault(number, set()).add(item)
        return Counter((frozenset(held), frozenset()) for held in by_number.values())
    return Counter((frozenset(row) - {""}, frozenset()) for row in rows)


def hold(found: Pairs, done: Any) -> None:
    """Check that shares are within the bound, counted over what a reader sees of the channel, and as told."""
    for sensitive, checked in zip((["test"], ["jam", "milk"]), done.checked, strict=True):
        totals, hits = Counter[Any](), Counter[Any]()
        for (held, hidden), count in found.items():
            pattern = tuple(None if item in hidden else item in held for item in ("beer", "egg"))
            totals[pattern] += count
            hits[pattern] += count * (held >= set(sensitive))
        totals[False, False] += done.records - totals.total()
        shares = [Fraction(hits[each], totals[each]) for each in totals if totals[each]]
        assert max(shares) == checked.confidence <= Fraction(3, 5)


def checks(given: Any, found: Pairs, done: Any, **options: Any) -> None:
    """Check that a release is verified as one, and that a lower bound lists just what the release has above it."""
    seen = check(given, BEER, **options)
    assert (seen.passed, seen.is_release) == (True, True)
    assert [*seen.absent] == [item for item, cells in done.told["cells"].items() if cells == done.records]
    low = Fraction(1, 10)
    told = {
        (each.bound.column, each.values): (each.hits, each.support)
        for each in check(given, [BEER[0] | {"confidence": low}], **options).violations
    }
    wanted = {}
    for sensitive in (["test"], ["jam", "milk"]):
        totals, hits = Counter[Any](), Counter[Any]()
        for (held, hidden), count in found.items():
            pattern = tuple("*" if item in hidden else "yes" if item in held else "no" for item in ("beer", "egg"))
            totals[pattern] += count
            hits[pattern] += count * (held >= set(sensitive))
        wanted |= {
            (", ".join(sensitive), each): (hits[each], totals[each]) for each in hits if hits[each] > low * totals[each]
        }
    assert told == wanted


@pytest.mark.parametrize("kind", ["one-hot", "long", "lines"])
@pytest.mark.parametrize("packed", [False, True])
def test_files_of_text(rng, kind: str, packed: bool, tmp_path: Path) -> None:
    """One-hot tables mark hidden cells, there or not; elsewhere an item is shown or dropped for everybody."""
    given = some_baskets(rng)
    source, output = tmp_path / ("b.csv" + ".gz" * packed), tmp_path / ("o.csv" + ".gz" * packed)
    text = text_of(given, kind)
    source.write_bytes(gzip.compress(text) if packed else text)
    done = suppress_file(source, BEER, output, layout=kind)
    raw = output.read_bytes()
    found = read(gzip.decompress(raw) if packed else raw, kind)
    hold(found, done)
    assert done.told["mode"] == ("local" if kind == "one-hot" else "global")
    if kind == "one-hot":
        assert found.total() == len(given)
        there = Counter(frozenset(basket) for basket in given)
        assert Counter(held - {"beer", "egg"} for held, _ in found.elements()) == Counter(
            basket - {"beer", "egg"} for basket in there.elements()
        )
        hidden = sum("beer" in each for _, each in found.elements())
        assert hidden == done.told["cells"]["beer"]
    else:
        dropped = {item for item, cells in done.told["cells"].items() if cells}
        wanted = Counter((frozenset(basket) - dropped, frozenset()) for basket in given)
        if kind == "long":
            del wanted[frozenset(), frozenset()]  # not seen
        assert found == wanted
    assert not check(source, BEER, layout=kind).passed
    checks(output, found, done, layout=kind)
    assert [line.split(b",")[0] for line in text.splitlines()] != [line.split(b",")[0] for line in raw.splitlines()]


def table_of(given: list[list[str]], kind: str) -> pa.Table:
    """Return baskets as an Arrow table."""
    if kind == "list":
        return pa.table({"items": given})
    if kind == "long":
        rows = [(at, item) for at, basket in enumerate(given) for item in basket]
        return pa.table({"receipt": [at for at, _ in rows], "product": [item for _, item in rows]})
    items = sorted({item for basket in given for item in basket})
    return pa.table({item: [item in basket for basket in given] for item in items})


@pytest.mark.parametrize("kind", ["list", "long", "one-hot"])
@pytest.mark.parametrize("form", ["file", "pandas", "polars", "pyarrow"])
def test_tables_and_parquet(rng, kind: str, form: str, tmp_path: Path) -> None:
    """Lists get a second list of hidden items, flags are missing where they are hidden; of the kind that came in."""
    table = table_of(some_baskets(rng), kind)
    if form == "file":
        pq.write_table(table, tmp_path / "b.parquet")
        done = suppress_file(tmp_path / "b.parquet", BEER, tmp_path / "o.parquet")
        released = tmp_path / "o.parquet"
        found = pq.read_table(released)
    else:
        given = {"pandas": table.to_pandas, "polars": lambda: pl.from_arrow(table), "pyarrow": lambda: table}[form]()
        released, done = suppress(given, BEER)
        assert type(released) is type(given)
        found = {
            "pandas": lambda: pa.Table.from_pandas(released),
            "polars": lambda: pl.DataFrame(released).to_arrow(),
            "pyarrow": lambda: released,
        }[form]()
    rows = [tuple(row.values()) for row in found.to_pylist()]
    if kind == "list":
        assert found.column_names == ["items", "hidden"]
        pairs = Counter((frozenset(held), frozenset(hidden)) for held, hidden in rows)
    elif kind == "long":
        by_number: dict[int, set[str]] = {}
        for number, item in rows:
            by_number.setdefault(number, set()).add(item)
        pairs = Counter((frozenset(held), frozenset[str]()) for held in by_number.values())
    else:
        names = found.column_names
        pairs = Counter(
            (
                frozenset(n for n, cell in zip(names, row, strict=True) if cell),
                frozenset(n for n, cell in zip(names, row, strict=True) if cell is None),
            )
            for row in rows
        )
    hold(pairs, done)
    checks(released, pairs, done)


def test_lists_and_baskets_in_memory(rng) -> None:
    """Lists come back as lists, baskets with a catalogue of what they hold; an item is shown or dropped for all."""
    given = some_baskets(rng)
    released, done = suppress(given, BEER)
    hold(Counter((frozenset(basket), frozenset[str]()) for basket in released), done)
    held = Baskets.from_sets(given, Catalogue(["rum", *sorted(set().union(*given))]))
    again, done = suppress(held, BEER)
    names = [frozenset(again.catalogue[item] for item in basket) for basket in again]
    assert set(again.catalogue) == set.union(*map(set, names))
    hold(Counter((basket, frozenset[str]()) for basket in names), done)


BAD: dict[str, tuple[Any, dict[str, Any], str, type[Exception], str]] = {
    "an item nobody has": ([BEER[0] | {"channel": ["bear"]}], {}, "o.csv", TemplateError, "item bear .* in no basket"),
    "its own channel": ([BEER[0] | {"channel": ["test"]}], {}, "o.csv", TemplateError, "stands in its own channel"),
    "more than all have": ([BEER[0] | {"confidence": 0.01}], {}, "o.csv", TemplateError, "no suppression meets"),
    "not a share": ([BEER[0] | {"confidence": 1}], {}, "o.csv", TemplateError, "between 0 and 1"),
    "a long channel": ([BEER[0] | {"channel": list(map(str, range(21)))}], {}, "o.csv", TemplateError, "at most 20"),
    "another format": (BEER, {}, "o.parquet", FileError, "stays in its format"),
    "the input": (BEER, {}, "b.csv", FileError, "is an input"),
    "a folder that is missing": (BEER, {}, "no/o.csv", FileError, "does not exist"),
    "an empty basket": (BEER, {"text": b"beer\n\ntest"}, "o.csv", BasketError, "empty basket"),
    "no text": (BEER, {"text": b"beer\n\xff"}, "o.csv", BasketError, "only UTF-8 text"),
    "the paper's mode": (BEER, {"mode": "paper"}, "o.csv", TemplateError, "paper's mode are of tables"),
    "free of whole items": (BEER, {"mode": "free"}, "o.csv", TemplateError, "leave free out"),
    "little memory": (BEER, {"memory_bytes": 20_000}, "o.csv", BasketError, "more than the 0 MiB allowed"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused(rng, name: str, tmp_path: Path) -> None:
    """What cannot be done is refused by what is wrong, and leaves no file behind."""
    templates, options, output, kind, message = BAD[name]
    source = tmp_path / "b.csv"
    source.write_bytes(options.get("text", text_of(some_baskets(rng), "lines")))
    more = {key: value for key, value in options.items() if key != "text"}
    with pytest.raises(kind, match=message) as caught:
        suppress_file(source, templates, tmp_path / output, layout="lines", **more)
    assert isinstance(caught.value, AssocprivError)
    assert [path.name for path in tmp_path.iterdir()] == ["b.csv"]


@pytest.mark.parametrize("columns", [("itemsets", "support"), ("antecedents", "consequents", "confidence")])
def test_mined_tables_are_no_baskets(columns: tuple[str, ...], tmp_path: Path) -> None:
    """A table of itemsets or rules is refused, since nothing would check its supports; so is its file."""
    cells = {name: [["beer"], ["milk"]] if name.endswith("s") else [0.5, 0.4] for name in columns}
    table = pd.DataFrame(cells)
    table.to_parquet(tmp_path / "mined.parquet")
    for given in (table, pa.table(cells), tmp_path / "mined.parquet"):
        with pytest.raises(TemplateError, match="not baskets"):
            check(given, [BEER[0] | {"channel": ["beer"], "sensitive": ["milk"]}], layout=f"item={columns[0]}")


@pytest.mark.parametrize(
    ("rows", "kind", "message"),
    [
        (["beer,test"] + ["*,1"] * 9 + ["*,*"], TemplateError, "test is in no basket, or hidden in one"),
        (["beer,test"] + ["*,0"] * 9, TemplateError, "test is in no basket, or hidden in one"),
        (["beer,test,Test", "*,1,0", "0,0,1"], TemplateError, "some basket writes test in another way"),
        (["beer,test"] + ["*,1"] * 2000 + ["secret,1"], BasketError, "neither 1, 0 nor"),
    ],
)
def test_what_cannot_be_checked_is_refused(
    rows: list[str], kind: type[Exception], message: str, tmp_path: Path
) -> None:
    """A release whose sensitive items are hidden, nowhere or written twice, and a table with other cells."""
    (tmp_path / "o.csv").write_text("\n".join(rows))
    with pytest.raises(kind, match=message) as caught:
        check(tmp_path / "o.csv", [BEER[0] | {"channel": ["beer"], "sensitive": ["test"]}])
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("sensitive", ["beer", ["beer", "wine"]])
def test_what_is_sensitive_stands_in_no_channel(sensitive: str | list[str]) -> None:
    """Nor a part of it: of ten baskets three hold beer and wine, five beer: who knows that is 60% sure."""
    given = [["beer", "wine", "tea"]] * 3 + [["beer", "milk"]] * 2 + [["tea"]] * 5
    templates = [
        {"channel": ["beer"], "sensitive": ["milk"], "confidence": "90%"},
        {"channel": ["tea"], "sensitive": [sensitive], "confidence": "60%" if sensitive == "beer" else "40%"},
    ]
    with pytest.raises(TemplateError, match="beer is sensitive and stands in the channel of another template"):
        suppress(given, templates)


def test_a_sensitive_item_written_in_two_ways_is_refused() -> None:
    """A reader takes both for one item, so that a bound on one alone promises nothing."""
    for act in (check, suppress):
        with pytest.raises(TemplateError, match="some basket writes test in another way"):
            act([["beer", "test"], ["beer", "Test"]], [BEER[0] | {"channel": ["beer"], "sensitive": ["test"]}])


@pytest.mark.parametrize("fault", ["nothing hidden", "a basket more"])
def test_a_faulty_file_is_not_released(rng, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that was written wrongly fails the check, and never gets its name; so does a list in memory."""
    given = some_baskets(rng)
    wrong = given if fault == "nothing hidden" else [["tea"]] * 401
    monkeypatch.setattr(baskets._Made, "lists", lambda _: wrong)
    source = tmp_path / "b.csv"
    source.write_bytes(text_of(given, "lines"))
    with pytest.raises(FileError, match=r"violates|more baskets"):
        suppress_file(source, BEER, tmp_path / "o.csv", layout="lines")
    assert [path.name for path in tmp_path.iterdir()] == ["b.csv"]
    with pytest.raises(FileError, match=r"violates|more baskets"):
        suppress(given, BEER)
