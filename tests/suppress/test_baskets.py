"""Tests of baskets from which no named inference can be drawn.

Tests of which items of channels may stay in released baskets, against a twin that counts the baskets themselves.

Tests of released baskets: each format goes out as it came in but for some items, and is checked as written.
"""

import gzip
import math
from collections.abc import Collection, Sequence
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

from assocpriv.promise.errors import AssocprivError, BasketError, FileError, TemplateError
from assocpriv.records.baskets import Baskets
from assocpriv.suppress import baskets, check_items, suppress_items
from assocpriv.suppress.baskets import ItemSuppression, disclose_items, item_inferences, named_items, names_of
from assocpriv.suppress.templates import ItemBound, ItemTemplate, irredundant, item_bounds

ITEMS = "abcdef"
Sets = Sequence[frozenset[str]]


def confidence(baskets: Sets, bound: ItemBound) -> Fraction:
    """Return the highest share of baskets with the sensitive itemset among those that agree on the channel."""
    shares = [Fraction(0)]
    for pattern in {tuple(item in basket for item in bound.channel) for basket in baskets}:
        alike = [basket for basket in baskets if tuple(item in basket for item in bound.channel) == pattern]
        shares.append(Fraction(sum(set(bound.sensitive) <= basket for basket in alike), len(alike)))
    return max(shares)


def without(baskets: Sets, dropped: Collection[str]) -> Sets:
    """Return baskets that lost some items."""
    return [basket - set(dropped) for basket in baskets]


def naive(baskets: Sets, bounds: Sequence[ItemBound]) -> tuple[tuple[str, ...], list[str]] | None:
    """Return the items dropped and those that came back in order, by the words of the paper; None if impossible."""
    candidates = sorted({item for bound in bounds for item in bound.channel})
    used, shown = irredundant(bounds), list[str]()

    def confidences(more: Collection[str] = ()) -> list[Fraction]:
        hidden = [item for item in candidates if item not in shown and item not in more]
        return [confidence(without(baskets, hidden), bound) for bound in used]

    def score(item: str) -> float:
        held = Fraction(sum(item in basket for basket in baskets), len(baskets))
        entropy = -sum(float(p) * math.log2(p) for p in (held, 1 - held) if p)
        named = [at for at, bound in enumerate(used) if item in (*bound.channel, *bound.sensitive)]
        rises = [confidences([item])[at] - confidences()[at] for at in named]
        return entropy / (float(sum(rises)) / len(rises) + 1)

    def valid(more: Collection[str]) -> bool:
        return all(found <= bound.confidence for found, bound in zip(confidences(more), used, strict=True))

    if not valid([]):
        return None
    while scores := {item: score(item) for item in candidates if item not in shown and valid([item])}:
        best = max(scores.values())
        shown.append(next(item for item in candidates if scores.get(item, -1) >= best * (1 - 1e-12)))
    return tuple(item for item in candidates if item not in shown), shown


def random_bounds(rng: np.random.Generator) -> tuple[ItemBound, ...]:
    """Return the bounds of one to three templates over six items, of a channel of one to three."""
    templates = []
    for _ in range(rng.integers(1, 4)):
        names = rng.permutation(list(ITEMS)).tolist()
        k, sensitive = int(rng.integers(1, 4)), [names[3:5]] if rng.random() < 0.3 else [names[3]]
        templates.append(ItemTemplate(names[:k], sensitive, Fraction(int(rng.integers(1, 10)), 10)))
    return item_bounds(templates)


def random_baskets(rng: np.random.Generator, most: float = 0.8) -> list[frozenset[str]]:
    """Return 13 baskets over six items, of which some come with each other; the last one holds all."""
    flags = rng.random((12, 6)) < rng.uniform(0.1, most, 6)
    flags[:, 1] |= flags[:, 0] & (rng.random(12) < 0.7)
    return [frozenset(np.array(list(ITEMS))[row].tolist()) for row in flags] + [frozenset(ITEMS)]


def chosen(baskets: Sets, bounds: Sequence[ItemBound], *, shows_empty: bool = True) -> ItemSuppression:
    """Return what progressive disclosure finds."""
    made = Baskets.from_sets(baskets)
    named = named_items(names_of(bounds), made.offsets, made.items, made.catalogue.index_of)
    return disclose_items(named, bounds, shows_empty=shows_empty)


def test_equals_the_naive_twin(rng: np.random.Generator) -> None:
    """Of 300 random sets of baskets and templates the same items come back in the same order, or none can."""
    impossible = dropped = 0
    for _ in range(300):
        bounds, baskets = random_bounds(rng), random_baskets(rng)
        expected = naive(baskets, bounds)
        if expected is None:
            impossible += 1
            with pytest.raises(TemplateError, match="no suppression can satisfy"):
                chosen(baskets, bounds)
            continue
        found = chosen(baskets, bounds)
        assert (found.dropped, [step.item for step in found.steps]) == expected
        dropped += len(found.dropped)
        for one in found.bounds:
            assert one.before == confidence(baskets, one.bound)
            assert (one.after or 0) == confidence(without(baskets, found.dropped), one.bound) <= one.bound.confidence
        for item, reason in zip(found.dropped, found.reasons, strict=True):
            others = [each for each in found.dropped if each != item]
            assert reason.confidence == confidence(without(baskets, others), reason.bound) > reason.bound.confidence
    assert min(impossible, dropped) > 25


def test_baskets_that_vanish_do_not_help(rng: np.random.Generator) -> None:
    """Where emptied baskets cannot be seen, the bounds hold among those that can; counting all would break some."""
    broken = 0
    for _ in range(150):
        bounds, baskets = random_bounds(rng), random_baskets(rng, 0.3)
        for shows_empty in (False, True):
            try:
                found = chosen(baskets, bounds, shows_empty=shows_empty)
            except TemplateError:
                continue
            seen = [basket for basket in without(baskets, found.dropped) if basket]
            fine = all(confidence(seen, bound) <= bound.confidence for bound in bounds)
            assert fine or shows_empty
            broken += not fine
    assert broken > 3


def test_inferences_are_all_patterns() -> None:
    """Every pattern of presence and absence is listed with its support, highest confidence first."""
    baskets = [frozenset(text) for text in ("abc", "abc", "ab", "ac", "a", "b", "c")]
    made = Baskets.from_sets(baskets)
    bound = ItemBound(("a", "b"), ("c",), Fraction(1, 2))
    named = named_items(names_of([bound]), made.offsets, made.items, made.catalogue.index_of)
    found = [(each.pattern, each.support, each.hits) for each in item_inferences(named, bound)]
    expected = {
        flags: [basket for basket in baskets if ("a" in basket, "b" in basket) == flags]
        for flags in product((True, False), repeat=2)
    }
    assert set(found) == {(flags, len(all_), sum("c" in basket for basket in all_)) for flags, all_ in expected.items()}
    assert [Fraction(hits, support) for _, support, hits in found] == [1, Fraction(2, 3), Fraction(1, 2), 0]
    above = item_inferences(named, bound, above=Fraction(1, 2))
    assert [each.confidence for each in above] == [1, Fraction(2, 3)]


def test_a_sensitive_item_of_a_channel_is_silent_while_dropped() -> None:
    """An item that is sensitive and in a channel stays away if its return breaks its own bound, and nothing is said."""
    baskets = [frozenset(text) for text in ("ab", "ab", "b", "c")]
    bounds = [ItemBound(("a",), ("b",), Fraction(1, 2)), ItemBound(("b",), ("c",), Fraction(1, 2))]
    found = chosen(baskets, bounds)
    assert found.dropped == ("b",)
    assert [one.after for one in found.bounds] == [None, Fraction(1, 4)]


def test_redundant_bounds_are_dropped() -> None:
    """Of equal bounds one stays; a part of a channel with no lower a limit is implied, another itemset is not."""
    wide = ItemBound(("a", "b"), ("c",), Fraction(1, 2))
    implied = [ItemBound(("a",), ("c",), Fraction(1, 2)), ItemBound(("b",), ("c",), Fraction(2, 3)), wide]
    others = (ItemBound(("a",), ("c",), Fraction(1, 3)), ItemBound(("a",), ("d",), Fraction(1, 2)))
    assert irredundant([*implied, *others, wide]) == (wide, *others)


# beer tells the test in 3 of 4 baskets; of no beer it is 1 of 4
BASKETS = [["beer", "test"], ["milk"], ["test", "beer", "milk"], ["beer"], ["beer", "test"], ["milk", "test"], ["egg"],
           ["egg", "milk"]]  # fmt: skip
LEFT = [["test"], ["milk"], ["test", "milk"], [], ["test"], ["milk", "test"], ["egg"], ["egg", "milk"]]
BEER = [{"channel": ["beer"], "sensitive": ["test"], "confidence": "60%"}]
MARK = b"\xef\xbb\xbf"
NUMBER = {"beer": "11", "test": "2", "milk": "0", "egg": "1"}
NUMBERS = [{"channel": ["11"], "sensitive": ["2"], "confidence": "60%"}]


def lines(baskets: list[list[str]], separator: str = ",", end: str = "\n") -> bytes:
    """Return baskets as a line of text each."""
    return "".join(separator.join(basket) + end for basket in baskets).encode()


def as_long(baskets: list[list[str]]) -> list[tuple[str, str]]:
    """Return baskets as pairs of transaction and item."""
    return [(f"t{at}", item) for at, basket in enumerate(baskets) for item in basket]


def as_flags(baskets: list[list[str]], items: list[str]) -> list[list[int]]:
    """Return baskets as a column of 0 and 1 for each item."""
    return [[int(item in basket) for item in items] for basket in baskets]


def long_lines(baskets: list[list[str]]) -> bytes:
    """Return the long layout with a column that is neither."""
    return b"".join([b"order,day,item\n", *(f'{order}, "x" ,{item} \n'.encode() for order, item in as_long(baskets))])


def flag_lines(baskets: list[list[str]], items: list[str]) -> bytes:
    """Return a one-hot table with a column of ids."""
    rows = [["id", *items], *([str(at), *map(str, row)] for at, row in enumerate(as_flags(baskets, items)))]
    return lines(rows, ";")


NUMBERED = [[NUMBER[item] for item in basket] for basket in BASKETS]
TEXTS: dict[str, tuple[str, bytes, bytes, dict[str, Any]]] = {
    "dat": ("b.dat", lines(NUMBERED, " "), b"2\n0\n2 0\n\n2\n0 2\n1\n1 0\n", {}),
    "dat as it is written": ("b.dat", b"011  2\r\n1\t11\n2 \n11", b"2\r\n1\n2 \n\n", {}),
    "basket": ("b.csv", lines(BASKETS), lines(LEFT), {"layout": "lines"}),
    "carriage returns": ("b.csv", lines(BASKETS, end="\r\n"), lines(LEFT, end="\r\n"), {"layout": "lines"}),
    "a mark before the text": ("b.csv", MARK + lines(BASKETS), MARK + lines(LEFT), {"layout": "lines"}),
    "blanks": ("b.txt", lines(BASKETS, " "), lines(LEFT, " "), {"layout": "lines separator=blank"}),
    "quotes": (
        "b.csv", b'"beer", test,"a ""b"", c"\nbeery,x\n " beer"\n', b'test,"a ""b"", c"\nbeery,x\n\n',
        {"layout": "lines"},
    ),
    "ids apart": (
        "b.csv", b"7,beer,test\n8,milk\n9,beer", b"7,test\n8,milk\n9", {"layout": "lines transaction=1"},
    ),
    "long": ("b.csv", long_lines(BASKETS), long_lines(LEFT), {}),
    "onehot": (
        "b.csv", flag_lines(BASKETS, ["milk", "beer", "egg", "test"]), flag_lines(LEFT, ["milk", "egg", "test"]), {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("packed", [False, True])
def test_text_keeps_all_but_the_items(name: str, packed: bool, tmp_path: Path) -> None:
    """A file of text goes out to the byte, but for the items dropped; packed by gzip if its name says so."""
    file, before, after, options = TEXTS[name]
    source, output = tmp_path / (file + ".gz" * packed), tmp_path / ("out" + Path(file).suffix + ".gz" * packed)
    source.write_bytes(gzip.compress(before) if packed else before)
    short = [BEER[0] | {"confidence": "40%"}]
    templates = NUMBERS if file.endswith(".dat") else BEER if len(before) > 50 else short
    done = suppress_items(source, templates, output, **options)
    found = output.read_bytes()
    assert (gzip.decompress(found) if packed else found) == after
    assert done.released is None
    assert done.suppression.dropped == (("11",) if file.endswith(".dat") else ("beer",))
    assert not check_items(source, templates, **options).passed


def tables() -> dict[str, tuple[pa.Table, pa.Table]]:
    """Return Arrow tables of baskets in each layout, before and after."""
    kinds = {"strings": pa.string(), "large": pa.large_string()}
    made: dict[str, tuple[pa.Table, pa.Table]] = {}
    for name, kind in kinds.items():
        made[f"lists of {name}"] = tuple(
            pa.table({"day": range(8), "items": pa.array([*each[:7], None], pa.list_(kind))})
            for each in (BASKETS, LEFT)
        )  # type: ignore[assignment]
    coded = pa.dictionary(pa.int32(), pa.string())
    pairs = [as_long(each) for each in (BASKETS, LEFT)]
    made["long"] = tuple(
        pa.table({"order": [order for order, _ in each], "item": pa.array([item for _, item in each]).cast(coded)})
        for each in pairs
    )  # type: ignore[assignment]
    items = ["milk", "beer", "egg", "test"]
    flags = pd.DataFrame(as_flags(BASKETS, items), columns=items).astype(bool)
    made["onehot"] = (pa.Table.from_pandas(flags), pa.Table.from_pandas(flags.drop(columns="beer")))
    return made


@pytest.mark.parametrize("name", sorted(tables()))
def test_parquet_keeps_all_but_the_items(name: str, tmp_path: Path) -> None:
    """Parquet keeps columns, types, order and nulls; what pandas and a dictionary say of the items goes, too."""
    before, after = tables()[name]
    source, output = tmp_path / "b.parquet", tmp_path / "out.parquet"
    pq.write_table(before, source, row_group_size=3)
    suppress_items(source, BEER, output, empty="keep")
    found = pq.read_table(output)
    assert found.equals(after)
    assert found.schema.equals(after.schema)
    assert b"beer" not in output.read_bytes()


FRAMES = {
    "pandas": pa.Table.to_pandas,
    "polars": pl.from_arrow,
    "pyarrow": lambda table: table,
}


@pytest.mark.parametrize("name", [name for name in sorted(tables()) if "large" not in name])
@pytest.mark.parametrize("kind", sorted(FRAMES))
def test_frames_come_back_as_they_were(kind: str, name: str) -> None:
    """A table in memory gives one of the same library with the same columns, types and order."""
    before, after = [FRAMES[kind](each) for each in tables()[name]]
    found = suppress_items(before, BEER).released
    assert type(found) is type(after)
    if kind == "pandas":
        rows = found.reset_index(drop=True)
        assert [list(map(_plain, row)) for row in rows.to_numpy()] == [
            list(map(_plain, row)) for row in after.to_numpy()
        ]
        assert list(found.dtypes) == list(before[found.columns].dtypes)
    else:
        assert found.equals(after) or (name == "long" and found.to_pylist() == after.to_pylist())
        assert found.schema == after.schema


def _plain(cell: Any) -> Any:
    return list(cell) if isinstance(cell, list | np.ndarray) else cell


def test_lists_come_back_as_they_were() -> None:
    """Lists, tuples and sets stay what they are, in their order; baskets keep their catalogue."""
    given = [["beer", "test"], ("milk", "beer"), {"beer"}, frozenset(["test", "milk"]), ["beer", "test"]]
    done = suppress_items(given, [BEER[0] | {"confidence": "60%"}]).released
    assert done == [["test"], ("milk",), set(), frozenset(["test", "milk"]), ["test"]]
    baskets = Baskets.from_sets(BASKETS)
    released = suppress_items(baskets[1:], BEER).released
    assert released.catalogue == baskets.catalogue
    assert [{baskets.catalogue[item] for item in basket} for basket in released] == list(map(set, LEFT[1:]))


def test_nothing_is_dropped_without_need(tmp_path: Path) -> None:
    """Where the bounds hold, the file goes out to the byte."""
    source, output = tmp_path / "b.csv", tmp_path / "out.csv"
    source.write_bytes(lines(BASKETS))
    done = suppress_items(source, [BEER[0] | {"confidence": 0.75}], output, layout="lines")
    assert output.read_bytes() == source.read_bytes()
    assert done.suppression.cells == 0


BAD: dict[str, tuple[Any, dict[str, Any], str, type[Exception], str]] = {
    "an item nobody has": (
        [BEER[0] | {"channel": ["bear"]}],
        {},
        "out.csv",
        TemplateError,
        "item bear .* in no basket",
    ),
    "its own channel": ([BEER[0] | {"channel": ["test"]}], {}, "out.csv", TemplateError, "stands in its own channel"),
    "more than all have": ([BEER[0] | {"confidence": 0.1}], {}, "out.csv", TemplateError, "no suppression can satisfy"),
    "not a share": ([BEER[0] | {"confidence": 1}], {}, "out.csv", TemplateError, "between 0 and 1"),
    "a column's template": ([BEER[0] | {"sensitive": {"a": ["b"]}}], {}, "out.csv", TemplateError, "list of items"),
    "a long channel": ([BEER[0] | {"channel": list(map(str, range(21)))}], {}, "out.csv", TemplateError, "at most 20"),
    "another format": (BEER, {}, "out.parquet", FileError, "the format they came in"),
    "the input": (BEER, {}, "b.csv", FileError, "is an input"),
    "a folder that is missing": (BEER, {}, "no/out.csv", FileError, "does not exist"),
    "an empty basket": (BEER, {"text": b"beer\n\ntest"}, "out.csv", BasketError, "empty basket"),
    "no text": (BEER, {"text": b"beer\n\xff"}, "out.csv", BasketError, "only UTF-8 text"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused(name: str, tmp_path: Path) -> None:
    """What cannot be done is refused by what is wrong, and leaves no file behind."""
    templates, options, output, kind, message = BAD[name]
    source = tmp_path / "b.csv"
    source.write_bytes(options.get("text", lines(BASKETS)))
    with pytest.raises(kind, match=message) as caught:
        suppress_items(source, templates, tmp_path / output, layout="lines")
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
            check_items(given, BEER, layout=f"item={columns[0]}")


def test_a_sensitive_item_written_in_two_ways_is_refused() -> None:
    """A reader takes both for one item, so that a bound on one alone promises nothing."""
    for act in (check_items, suppress_items):
        with pytest.raises(TemplateError, match="item test is also written in another way"):
            act([["beer", "test"], ["beer", "Test"]], BEER)


@pytest.mark.parametrize("fault", ["nothing dropped", "a basket lost"])
def test_a_faulty_file_is_not_released(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that was written wrongly fails the check, and never gets its name; so does a table in memory."""
    text = lines(BASKETS) if fault == "nothing dropped" else lines(LEFT[:-1])
    monkeypatch.setattr(baskets, "write_without", lambda *args, **_: args[3].write(text))
    monkeypatch.setattr(baskets, "lists_without", lambda _, __: BASKETS if "nothing" in fault else LEFT[:-1])
    source = tmp_path / "b.csv"
    source.write_bytes(lines(BASKETS))
    with pytest.raises(TemplateError, match="check of the released baskets failed"):
        suppress_items(source, BEER, tmp_path / "out.csv", layout="lines")
    assert [path.name for path in tmp_path.iterdir()] == ["b.csv"]
    with pytest.raises(TemplateError, match="check of the released baskets failed"):
        suppress_items(BASKETS, BEER)
