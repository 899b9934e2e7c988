"""Retail-like baskets with known structure, for demos, benches and simulations.

As by the IBM Quest generator every basket is filled with instances of a fixed list of overlapping patterns, each losing
some of its items. Nobody's purchases are in here, so numpy's seeded generator is the right source of randomness.
Numbered comments say where we differ from the source.

Source: Agrawal & Srikant, Fast Algorithms for Mining Association Rules, VLDB 1994, section 2.4.3.
"""

import csv
import io
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.atomic import atomic_output, check_writable
from assocpriv.plans.catalogue import MAX_ITEMS, Catalogue
from assocpriv.promise.errors import BasketError
from assocpriv.promise.numbers import as_whole
from assocpriv.records.baskets import Baskets

CHUNK_BASKETS = 1 << 17
MAX_BASKETS = 1 << 31
MAX_PATTERNS = 1 << 16
MAX_MEAN = 100.0
FILE_FORMATS: dict[str, Literal["dat", "basket"]] = {".dat": "dat", ".csv": "basket"}
_WHOLE_NUMBERS = {
    "n_baskets": (1, MAX_BASKETS), "n_items": (1, MAX_ITEMS), "n_patterns": (1, MAX_PATTERNS),
    "seed": (0, (1 << 128) - 1),
}  # fmt: skip
_NUMBERS = {  # by the largest; means are above 0
    "mean_size": MAX_MEAN, "mean_pattern_size": MAX_MEAN, "correlation": 1.0, "corruption_mean": 1.0,
    "corruption_sd": 1.0, "item_skew": 10.0, "pattern_skew": 10.0,
}  # fmt: skip

_QUALITY_NAMES = (
    "organic,fresh,classic,local,premium,everyday,homestyle,light,farmhouse,family,mini,gourmet,"
    "natural,rustic,budget,festive,original,golden,village,island"
)
_PRODUCT_NAMES = (
    "oat milk,wheat bread,bananas,free range eggs,salted butter,ground coffee,tomatoes,spaghetti,"
    "cheddar,apples,chicken breast,greek yoghurt,orange juice,potatoes,olive oil,dark chocolate,"
    "basmati rice,spinach,honey,black tea,carrots,mozzarella,sparkling water,onions,strawberry jam,"
    "cornflakes,salmon fillet,paper towels,lemons,red lentils,mushrooms,cream cheese,toothpaste,"
    "bell peppers,peanut butter,tortillas,dish soap,pumpkin seeds,ham,garlic,vanilla ice cream,"
    "chickpeas,cucumbers,mustard,crackers,frozen peas,hand soap,avocados,granola,laundry powder"
)
_QUALITIES = _QUALITY_NAMES.split(",")
_PRODUCTS = _PRODUCT_NAMES.split(",")


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestSettings:
    """What :func:`generate_quest` makes; the defaults look like a supermarket's small baskets.

    With the defaults, and baskets sampled down to 5 items, 30 items, 21 pairs, 9 triples and one set of four have a
    support above 2 %. ``mean_size``: mean of the Poisson law of wanted basket sizes. ``mean_pattern_size``: how many
    items a pattern holds on average. ``correlation``: mean of the exponential law of the fraction a pattern takes over
    from the one before. ``corruption_mean`` and ``corruption_sd``: the normal law of a pattern's corruption level,
    clipped to [0, 1]; the source gives a *variance* of 0.1, which is a deviation of 0.32. ``item_skew`` and
    ``pattern_skew``: exponents a of the Zipf factor (1 + rank)^−a on the weights of items and patterns (source: 0).

    Raises:
        BasketError: a number outside its range.

    >>> QuestSettings(n_baskets=1000).n_items
    1000
    """

    n_baskets: int = 1_000_000
    n_items: int = 1_000
    mean_size: float = 5.0
    n_patterns: int = 2_000
    mean_pattern_size: float = 3.5
    correlation: float = 0.5
    corruption_mean: float = 0.5
    corruption_sd: float = 0.1
    item_skew: float = 0.5
    pattern_skew: float = 0.9
    seed: int = 0

    def __post_init__(self) -> None:
        for name, (low, high) in _WHOLE_NUMBERS.items():
            value = as_whole(getattr(self, name))
            if value is None or not low <= value <= high:
                got = str(getattr(self, name))[:40]
                raise BasketError(f"{name} must be a whole number in {low}..{high}, got {got}")
            object.__setattr__(self, name, value)
        for name, highest in _NUMBERS.items():
            value, above_zero = getattr(self, name), highest == MAX_MEAN
            number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
            # written so that NaN fails
            if not (number and 0 <= value <= highest and (value > 0 or not above_zero)):
                rule = f"above 0 and at most {highest:g}" if above_zero else f"in 0..{highest:g}"
                raise BasketError(f"{name} must be a number {rule}, got {str(value)[:40]}")


@dataclass(frozen=True, slots=True)
class _Patterns:
    """The itemsets baskets are made of."""

    items: NDArray[np.int64]  # (n, L), row i meaning its first sizes[i] entries
    sizes: NDArray[np.int64]
    cumulative: NDArray[np.float64]  # running sum of the weights, ending in 1
    corruption: NDArray[np.float64]  # (n,), 0..1


def _cumulative(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    total = np.cumsum(weights)
    total /= total[-1]
    return total


def _zipf(count: int, skew: float) -> NDArray[np.float64]:
    return np.power(np.arange(1, count + 1, dtype=np.float64), -skew)


def _draw_patterns(settings: QuestSettings, rng: np.random.Generator) -> _Patterns:
    count = settings.n_patterns
    # 1. A size is 1 + Poisson(mean - 1), so that no pattern is empty and the mean is the wanted one; a mean
    #    below 1 gives patterns of one item.
    sizes = 1 + rng.poisson(max(settings.mean_pattern_size - 1.0, 0.0), count)
    sizes = np.minimum(sizes, settings.n_items).astype(np.int64)
    # 2. The source draws a pattern's items uniformly. Sales are skewed, so ours have Zipf-like weights, and
    #    so has a pattern: its exponential weight is multiplied by a Zipf factor of its position.
    popular = _cumulative(_zipf(settings.n_items, settings.item_skew))
    weights = rng.exponential(size=count) * _zipf(count, settings.pattern_skew)
    shared = np.minimum(rng.exponential(settings.correlation, count), 1.0)
    items = np.zeros((count, int(sizes.max())), dtype=np.int64)
    before: list[int] = []
    for row, size in enumerate(sizes.tolist()):
        taken = min(round(shared[row] * size), len(before), size)
        shared_items = [before[i] for i in rng.permutation(len(before))[:taken]]
        before = _draw_distinct(popular, shared_items, size, rng)
        items[row, :size] = before
    corruption = rng.normal(settings.corruption_mean, settings.corruption_sd, count).clip(0.0, 1.0)
    return _Patterns(items, sizes, _cumulative(weights), corruption)


def _draw_distinct(cumulative: NDArray[np.float64], start: list[int], size: int, rng: np.random.Generator) -> list[int]:
    """Return ``start`` and further items, drawn by weight one after another, up to ``size`` distinct ones."""
    chosen = dict.fromkeys(start)
    draws = np.searchsorted(cumulative, rng.random(4 * size + 16), side="right").tolist()
    # the first new values among independent draws are a weighted sample without replacement
    chosen |= dict.fromkeys(islice((item for item in dict.fromkeys(draws) if item not in chosen), size - len(chosen)))
    if len(chosen) < size:
        weights = np.diff(cumulative, prepend=0.0)
        weights[list(chosen)] = 0.0
        # exponential races: the smallest Exp / weight are the same sample, but look at every item
        race = rng.exponential(size=weights.size) / np.maximum(weights, 1e-300)
        race[list(chosen)] = math.inf
        chosen |= dict.fromkeys(np.argsort(race)[: size - len(chosen)].tolist())
    return list(chosen)


def _draw_sizes(settings: QuestSettings, rng: np.random.Generator, count: int) -> NDArray[np.int64]:
    """Return wanted basket sizes, int64 (count,): Poisson, with 0 raised to 1."""
    return np.maximum(rng.poisson(settings.mean_size, count), 1).astype(np.int64)


def _draw_instances(
    patterns: _Patterns, count: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return instances: int64 (count, L) items in random order, int64 (count,) how many of a row to use."""
    chosen = np.searchsorted(patterns.cumulative, rng.random(count), side="right")
    sizes = patterns.sizes[chosen]
    # "drop an item while a uniform draw is below c" drops G items, P[G ≥ g] = c^g; so G = ⌊ln u / ln c⌋
    with np.errstate(divide="ignore"):
        log_level = np.log(patterns.corruption)
    log_level = np.minimum(log_level, -1e-12)[chosen]
    dropped = np.minimum(np.log(1.0 - rng.random(count)) / log_level, sizes).astype(np.int64)
    # 3. One item always stays, so every instance brings something and the loop over instances ends.
    lengths = np.maximum(sizes - dropped, 1)
    keys = rng.random((count, patterns.items.shape[1]), dtype=np.float32)
    keys[np.arange(keys.shape[1]) >= sizes[:, None]] = 2.0
    order = np.argsort(keys, axis=1)
    return patterns.items[chosen[:, None], order], lengths


def _fill_chunk(
    settings: QuestSettings, patterns: _Patterns, count: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return ``count`` baskets: their sizes and, basket after basket, their increasing items, both int64."""
    room = _draw_sizes(settings, rng, count)
    open_rows = np.arange(count)
    keys = []
    first = True
    while open_rows.size:
        items, lengths = _draw_instances(patterns, open_rows.size, rng)
        fits = lengths <= room[open_rows]
        # 4. An instance too large for the room left goes in anyway half of the time, as in the source;
        #    otherwise it ends the basket, where the source moves it to the next one. A first instance always
        #    goes in.
        placed = np.ones(fits.size, dtype=np.bool_) if first else fits | (rng.random(fits.size) < 0.5)
        used = placed[:, None] & (np.arange(items.shape[1]) < lengths[:, None])
        keys.append((open_rows[:, None] * settings.n_items + items)[used])
        room[open_rows] -= lengths
        open_rows = open_rows[fits & (room[open_rows] > 0)]
        first = False
    # 5. An item met twice counts once, so a basket can be smaller than wanted.
    merged = np.sort(np.concatenate(keys))
    merged = merged[np.concatenate(([True], merged[1:] != merged[:-1]))]
    rows, distinct = np.divmod(merged, settings.n_items)
    return np.bincount(rows, minlength=count).astype(np.int64), distinct


def generate_quest(settings: QuestSettings, *, progress: Callable[[int, int], None] | None = None) -> Baskets:
    """Generate retail-like baskets; the same settings give the same baskets.

    Items are named by :func:`product_names`; those that patterns take more readily come first. A basket holds
    an item or more; by comments 4 and 5 the mean is near ``mean_size``, not equal (5.3 with the defaults).
    ``progress`` is called with (baskets done, baskets in all).

    >>> baskets = generate_quest(QuestSettings(n_baskets=100, seed=7))
    >>> len(baskets.offsets), len(baskets.catalogue)
    (101, 1000)
    """
    rng = np.random.default_rng(settings.seed)
    patterns = _draw_patterns(settings, rng)
    offsets = np.zeros(settings.n_baskets + 1, dtype=np.int64)
    parts = []
    for start in range(0, settings.n_baskets, CHUNK_BASKETS):
        stop = min(start + CHUNK_BASKETS, settings.n_baskets)
        sizes, items = _fill_chunk(settings, patterns, stop - start, rng)
        offsets[start + 1 : stop + 1] = offsets[start] + np.cumsum(sizes)
        parts.append(items)
        if progress:
            progress(stop, settings.n_baskets)
    return Baskets(Catalogue(product_names(settings.n_items)), offsets, np.concatenate(parts))


def product_names(n_items: int) -> list[str]:
    """Return distinct product names, neighbours unlike each other; after 1,000 they carry a number.

    >>> product_names(3)
    ['organic oat milk', 'light wheat bread', 'budget bananas']
    """
    plain = len(_QUALITIES) * len(_PRODUCTS)
    names = []
    for item in range(n_items):
        series, place = divmod(item, plain)
        block, product = divmod(place, len(_PRODUCTS))
        # 7 shares no factor with 20: for one product the twenty blocks have twenty qualities
        quality = _QUALITIES[(block + 7 * product) % len(_QUALITIES)]
        names.append(f"{quality} {_PRODUCTS[product]}" + (f" {series + 1}" if series else ""))
    return names


def write_baskets(baskets: Baskets, stream: BinaryIO, format: Literal["dat", "basket"]) -> None:  # noqa: A002
    r"""Write baskets, one a line, an empty one as an empty line.

    The format is ``dat``, item ids with blanks between them, or ``basket``, comma-separated names, UTF-8, quoted where
    the csv module quotes; another is a BasketError.

    >>> stream = io.BytesIO()
    >>> write_baskets(generate_quest(QuestSettings(n_baskets=2, n_items=1)), stream, "basket")
    >>> stream.getvalue()
    b'organic oat milk\norganic oat milk\n'
    """
    if format == "dat":
        names, separator = [str(item) for item in range(len(baskets.catalogue))], b" "
    elif format == "basket":
        names, separator = list(map(_csv_field, baskets.catalogue)), b","
    else:
        raise BasketError("format must be 'dat' or 'basket'")
    encoded = [name.encode() for name in names]
    # every item as it stands inside a line, then as it stands at the end of one, then an empty line
    tokens = [name + separator for name in encoded] + [name + b"\n" for name in encoded] + [b"\n"]
    for codes in _token_codes(baskets):
        stream.write(b"".join(map(tokens.__getitem__, codes.tolist())))


def generate_file(
    settings: QuestSettings, path: Path, *, force: bool, progress: Callable[[int, int], None] | None = None
) -> Baskets:
    """Generate baskets into a file: ids where its name ends in .dat, names where it ends in .csv.

    Raises:
        FileError: the file exists and ``force`` is not set, or cannot be written.
        BasketError: another ending.
    """
    if path.suffix not in FILE_FORMATS:
        raise BasketError(f"{path} must end in {' or '.join(FILE_FORMATS)}")
    check_writable(path, force=force)
    baskets = generate_quest(settings, progress=progress)
    with atomic_output(path, force=force) as stream:
        write_baskets(baskets, stream, FILE_FORMATS[path.suffix])
    return baskets


def _csv_field(name: str) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow([name])
    return text.getvalue()


def _token_codes(baskets: Baskets) -> Iterator[NDArray[np.int64]]:
    """Yield positions in the token table of :func:`write_baskets` for a chunk of baskets at a time."""
    n_items = len(baskets.catalogue)
    for start in range(0, len(baskets.offsets) - 1, CHUNK_BASKETS):
        offsets = baskets.offsets[start : start + CHUNK_BASKETS + 1]
        codes = baskets.items[offsets[0] : offsets[-1]].astype(np.int64)
        begin, end = offsets[:-1] - offsets[0], offsets[1:] - offsets[0]
        codes[end[end > begin] - 1] += n_items
        yield np.insert(codes, begin[end == begin], 2 * n_items)
