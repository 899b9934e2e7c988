"""Synthetic data with known structure: retail-like baskets, or records with a class.

Demos, benchmarks and simulations use it. The data are not about real people, so numpy's seeded generator is an
appropriate source of randomness. Numbered comments mark differences from the sources.

Baskets are retail-like: as in the IBM Quest generator, each basket is filled with instances of a fixed list of
overlapping patterns, and each instance loses some of its items.

Source: Agrawal & Srikant, Fast Algorithms for Mining Association Rules, VLDB 1994, section 2.4.3.

Records are loan applicants with a class, a benchmark for decision trees since 1992: nine attributes, and five functions
that determine the class. Half of the records are in each class: records are drawn until each class has enough.

Source: Agrawal, Imielinski, Swami, Database Mining: A Performance Perspective, IEEE TKDE 1993 (the generator of 1992);
functions and attributes as in AS00, section 5.1.
"""

import csv
import io
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import arrow_csv, pa, pq
from assocpriv.files.atomic import atomic_output, check_writable
from assocpriv.guarantees.errors import AssocprivError, BasketError, FileError, RecordError
from assocpriv.guarantees.exact_numbers import as_whole
from assocpriv.plans.baskets.catalogue import MAX_ITEMS, Catalogue
from assocpriv.records.baskets import Baskets

if TYPE_CHECKING:
    import pandas as pd


CHUNK_BASKETS = 1 << 17
MAX_BASKETS = 1 << 31
MAX_PATTERNS = 1 << 16
MAX_MEAN = 100.0
FILE_FORMATS: dict[str, Literal["dat", "basket"]] = {".dat": "dat", ".csv": "basket"}
_WHOLE_NUMBERS = {
    "n_baskets": (1, MAX_BASKETS), "n_items": (1, MAX_ITEMS), "n_patterns": (1, MAX_PATTERNS),
    "seed": (0, (1 << 128) - 1),
}  # fmt: skip
_NUMBERS = {  # the largest value allowed; means are above 0
    "mean_size": MAX_MEAN, "mean_pattern_size": MAX_MEAN, "correlation": 1.0, "corruption_mean": 1.0,
    "corruption_sd": 1.0, "item_skew": 10.0, "pattern_skew": 10.0,
}  # fmt: skip

# settings of published sets, with item weights as the program of the source has them
_PUBLISHED: dict[str, dict[str, Any]] = {
    "T10I4D100K": {
        "mean_size": 10.1, "mean_pattern_size": 4.0, "item_skew": 0.0, "pattern_skew": 0.0, "exponential_items": True,
    },
}  # fmt: skip
_TRIAL = 1 << 14  # baskets

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
_CHUNK_RECORDS = 1 << 16
LABEL, CLASSES = "class", ("A", "B")
_FLOATS = ("age", "hyears")
_LIMITS = {"function": (1, 5), "n_records": (2, 1 << 31), "seed": (0, (1 << 128) - 1)}
_SPARE = 1.2  # records drawn at a time, relative to the expected need
Records = dict[str, NDArray[Any]]


# ---- baskets


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestSettings:
    """Settings of :func:`generate_quest`; the defaults resemble small supermarket baskets.

    With the defaults, and baskets truncated to 5 items, 30 items, 21 pairs, 9 triples and one set of four have a
    support above 2%.

    Attributes:
        n_baskets: number of baskets.
        n_items: number of items.
        mean_size: mean of the Poisson distribution of target basket sizes, in items.
        n_patterns: number of patterns.
        mean_pattern_size: mean number of items of a pattern.
        correlation: mean of the exponential distribution of the fraction that a pattern shares with the one before.
        corruption_mean, corruption_sd: mean and standard deviation of the normal distribution of a pattern's corruption
            level, clipped to [0, 1]; the source gives a *variance* of 0.1, which is a deviation of 0.32.
        item_skew, pattern_skew: exponents a of the Zipf factor (1 + rank)^−a on item and pattern weights (source: 0).
        exponential_items: whether item weights are also exponentially distributed, as in the source's program.
        seed: random seed.

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
    exponential_items: bool = False
    seed: int = 0

    @classmethod
    def with_mean(cls, mean_size: float, **settings: Any) -> "QuestSettings":
        """Return settings that give baskets of a mean size, by trials with 16,384 baskets.

        Args:
            mean_size: mean of the basket sizes, in items; patterns are no longer by default.
            settings: the other settings, by name.

        Returns:
            The settings; their ``mean_size`` is the mean of the target sizes.

        Raises:
            BasketError: a number outside its range, or a mean size that these baskets cannot have.

        >>> generate_quest(QuestSettings.with_mean(4, n_baskets=20_000, seed=7)).sizes.mean().round(1)
        np.float64(4.0)
        """
        from scipy.optimize import brentq

        given = cls(mean_size=mean_size, **{"mean_pattern_size": min(mean_size, cls().mean_pattern_size)} | settings)
        patterns = _draw_patterns(given, np.random.default_rng(given.seed))

        def excess(target: float) -> float:
            rng = np.random.default_rng(given.seed)
            sizes, _ = _fill_chunk(replace(given, mean_size=target), patterns, _TRIAL, rng)
            return float(sizes.mean()) - mean_size

        ends = 0.01, min(4.0 * mean_size, MAX_MEAN)
        for end, sign in zip(ends, (1, -1), strict=True):
            if sign * (beyond := excess(end)) < 0:
                continue
            if abs(beyond) > 0.01 * mean_size:
                limit = f"{'at least' if sign > 0 else 'at most about'} {mean_size + beyond:.3g}"
                raise BasketError(
                    f"the mean size of baskets over {given.n_items:,} items is {limit}, not {mean_size:g}"
                )
            return replace(given, mean_size=end)
        return replace(given, mean_size=round(brentq(excess, *ends, xtol=0.005), 3))

    @classmethod
    def like(cls, name: str, **settings: Any) -> "QuestSettings":
        """Return the settings of a published set of baskets.

        Args:
            name: ``T10I4D100K``.
            settings: other settings, by name, as the number of baskets and the seed.

        Returns:
            The settings; the mean size is that of the published baskets.

        Raises:
            BasketError: another name, or a number outside its range.

        >>> QuestSettings.like("T10I4D100K", n_baskets=100_000).mean_pattern_size
        4.0
        """
        if name not in _PUBLISHED:
            raise BasketError(f"there are no settings {name!r}; known are {', '.join(_PUBLISHED)}")
        return cls.with_mean(**_PUBLISHED[name] | settings)

    def __post_init__(self) -> None:
        _check_whole(self, _WHOLE_NUMBERS, BasketError)
        for name, highest in _NUMBERS.items():
            value, above_zero = getattr(self, name), highest == MAX_MEAN
            number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
            # written so that NaN fails
            if not (number and 0 <= value <= highest and (value > 0 or not above_zero)):
                rule = f"above 0 and at most {highest:g}" if above_zero else f"in 0..{highest:g}"
                raise BasketError(f"{name} must be a number {rule}, got {str(value)[:40]}")


def _check_whole(settings: Any, limits: dict[str, tuple[int, int]], error: type[AssocprivError]) -> None:
    """Convert fields of settings to whole numbers; raise ``error`` for another value or one outside its limits."""
    for name, (low, high) in limits.items():
        given = getattr(settings, name)
        value = as_whole(given)
        if value is None or not low <= value <= high:
            raise error(f"{name} must be a whole number in {low}..{high}, got {str(given)[:40]}")
        object.__setattr__(settings, name, value)


@dataclass(frozen=True, slots=True)
class _Patterns:
    """The patterns: itemsets that baskets are made of."""

    items: NDArray[np.int64]  # (n, L), the first sizes[i] entries of row i count
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
    # 1. A size is 1 + Poisson(mean - 1), so that no pattern is empty and the mean is as set; a mean below 1 gives
    #    patterns of one item.
    sizes = 1 + rng.poisson(max(settings.mean_pattern_size - 1.0, 0.0), count)
    sizes = np.minimum(sizes, settings.n_items).astype(np.int64)
    # 2. The source draws a pattern's items uniformly, its program by exponential weights. Sales are skewed, so items
    #    here have Zipf-like weights, and so have patterns: a Zipf factor of its position multiplies the exponential
    #    weight of a pattern.
    drawn = np.sort(rng.exponential(size=settings.n_items))[::-1] if settings.exponential_items else 1.0
    popular = _cumulative(drawn * _zipf(settings.n_items, settings.item_skew))
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
    """Return ``start`` and further items, drawn by weight one by one, up to ``size`` distinct ones."""
    chosen = dict.fromkeys(start)
    draws = np.searchsorted(cumulative, rng.random(4 * size + 16), side="right").tolist()
    # the first new values among independent draws are a weighted sample without replacement
    chosen |= dict.fromkeys(islice((item for item in dict.fromkeys(draws) if item not in chosen), size - len(chosen)))
    if len(chosen) < size:
        weights = np.diff(cumulative, prepend=0.0)
        weights[list(chosen)] = 0.0
        # exponential races: the smallest Exp / weight give the same sample, but need every item
        race = rng.exponential(size=weights.size) / np.maximum(weights, 1e-300)
        race[list(chosen)] = math.inf
        chosen |= dict.fromkeys(np.argsort(race)[: size - len(chosen)].tolist())
    return list(chosen)


def _draw_sizes(settings: QuestSettings, rng: np.random.Generator, count: int) -> NDArray[np.int64]:
    """Return target basket sizes, int64 (count,): Poisson, with 0 raised to 1."""
    return np.maximum(rng.poisson(settings.mean_size, count), 1).astype(np.int64)


def _draw_instances(
    patterns: _Patterns, count: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return instances: items in random order, int64 (count, L), and how many of each row to use, int64 (count,)."""
    chosen = np.searchsorted(patterns.cumulative, rng.random(count), side="right")
    sizes = patterns.sizes[chosen]
    # "drop an item while a uniform draw is below c" drops G items, P[G ≥ g] = c^g; so G = ⌊ln u / ln c⌋
    with np.errstate(divide="ignore"):
        log_level = np.log(patterns.corruption)
    log_level = np.minimum(log_level, -1e-12)[chosen]
    dropped = np.minimum(np.log(1.0 - rng.random(count)) / log_level, sizes).astype(np.int64)
    # 3. One item always stays, so every instance adds an item and the loop over instances ends.
    lengths = np.maximum(sizes - dropped, 1)
    keys = rng.random((count, patterns.items.shape[1]), dtype=np.float32)
    keys[np.arange(keys.shape[1]) >= sizes[:, None]] = 2.0
    return patterns.items[chosen[:, None], np.argsort(keys, axis=1)], lengths


def _fill_chunk(
    settings: QuestSettings, patterns: _Patterns, count: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return ``count`` baskets: their sizes, and their increasing items basket by basket, both int64."""
    room = _draw_sizes(settings, rng, count)
    open_rows = np.arange(count)
    keys = []
    first = True
    while open_rows.size:
        items, lengths = _draw_instances(patterns, open_rows.size, rng)
        fits = lengths <= room[open_rows]
        # 4. An instance too large for the room left is added anyway with probability 1/2, as in the source;
        #    otherwise it ends the basket, whereas the source moves it to the next one. A first instance is always
        #    added.
        placed = np.ones(fits.size, dtype=np.bool_) if first else fits | (rng.random(fits.size) < 0.5)
        used = placed[:, None] & (np.arange(items.shape[1]) < lengths[:, None])
        keys.append((open_rows[:, None] * settings.n_items + items)[used])
        room[open_rows] -= lengths
        open_rows = open_rows[fits & (room[open_rows] > 0)]
        first = False
    # 5. A repeated item counts once, so a basket can be smaller than its target.
    merged = np.sort(np.concatenate(keys))
    merged = merged[np.concatenate(([True], merged[1:] != merged[:-1]))]
    rows, distinct = np.divmod(merged, settings.n_items)
    return np.bincount(rows, minlength=count).astype(np.int64), distinct


def generate_quest(settings: QuestSettings, *, progress: Callable[[int, int], None] | None = None) -> Baskets:
    """Generate retail-like baskets; the same settings give the same baskets.

    Items are named by :func:`product_names`, those with larger weights first. A basket has at least one item. By
    comments 4 and 5 the mean size differs from ``mean_size``: :meth:`QuestSettings.with_mean` finds settings for one.

    Skewed items and patterns are not of the source: they give more frequent itemsets than T10I4D100K, which was made by
    its authors' program. ``QuestSettings.like("T10I4D100K")`` follows that.

    Args:
        settings: The settings, with the seed.
        progress: Called with (baskets done, total).

    Returns:
        The baskets.

    Source: Agrawal & Srikant, Fast Algorithms for Mining Association Rules, VLDB 1994, section 2.4.3.

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
    """Return distinct product names in a mixed order; after 1,000 they have a number.

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
    r"""Write baskets, one per line; an empty basket is an empty line.

    The format is ``dat``, item ids separated by blanks, or ``basket``, comma-separated names in UTF-8, quoted as by the
    csv module; another one is a BasketError.

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
    # tokens of items inside a line, of items at the end of a line, and of an empty line
    tokens = [name + separator for name in encoded] + [name + b"\n" for name in encoded] + [b"\n"]
    for codes in _token_codes(baskets):
        stream.write(b"".join(map(tokens.__getitem__, codes.tolist())))


def generate_file(
    settings: QuestSettings, path: Path, *, force: bool, progress: Callable[[int, int], None] | None = None
) -> Baskets:
    """Write generated baskets to a file: ids if its name ends in .dat, names if it ends in .csv.

    Args:
        settings: The settings; the same ones give the same file.
        path: The file; it appears complete or not at all.
        force: Replace an existing file.
        progress: Called with (baskets done, total).

    Returns:
        The baskets.

    Raises:
        FileError: The file exists and ``force`` is not set, or cannot be written.
        BasketError: Another file ending.

    Source: Agrawal & Srikant, Fast Algorithms for Mining Association Rules, VLDB 1994, section 2.4.3.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> settings = ap.simulation.QuestSettings(n_baskets=100, n_items=50)
    >>> ap.simulation.generate_file(settings, Path(mkdtemp(), "shop.csv"), force=False)
    Baskets(100 baskets over 50 items)
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
    """Yield positions in the token table of :func:`write_baskets`, for one chunk of baskets at a time."""
    n_items = len(baskets.catalogue)
    for start in range(0, len(baskets.offsets) - 1, CHUNK_BASKETS):
        offsets = baskets.offsets[start : start + CHUNK_BASKETS + 1]
        codes = baskets.items[offsets[0] : offsets[-1]].astype(np.int64)
        begin, end = offsets[:-1] - offsets[0], offsets[1:] - offsets[0]
        codes[end[end > begin] - 1] += n_items
        yield np.insert(codes, begin[end == begin], 2 * n_items)


# ---- records


@dataclass(frozen=True, slots=True)
class Range:
    """The range of an attribute, and its number of values if they are few; ``is_amount``: many whole numbers."""

    low: int
    high: int
    values: int | None = None
    is_amount: bool = False


# the range of few whole numbers ends one above the largest: in AS00 v stands for the interval from v to v + 1
ATTRIBUTES = {
    "salary": Range(20_000, 150_000, is_amount=True),
    "commission": Range(0, 75_000, is_amount=True),
    "age": Range(20, 80),
    "elevel": Range(0, 5, 5),
    "car": Range(1, 21, 20),
    "zipcode": Range(1, 10, 9),
    "hvalue": Range(50_000, 1_350_000, is_amount=True),
    "hyears": Range(1, 30),
    "loan": Range(0, 500_000, is_amount=True),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AgrawalSettings:
    """Settings of :func:`generate_agrawal_file`.

    Attributes:
        function: The function that determines the class, 1..5.
        n_records: Number of records, 2..2^31.
        seed: Random seed, 0..2^128 − 1.

    Raises:
        RecordError: a number outside its range.

    >>> AgrawalSettings(function=2, n_records=1000).seed
    0
    """

    function: int = 1
    n_records: int = 100_000
    seed: int = 0

    def __post_init__(self) -> None:
        _check_whole(self, _LIMITS, RecordError)


def _draw(count: int, rng: np.random.Generator) -> Records:
    """Draw records of both classes."""
    salary = rng.integers(20_000, 150_000, count, endpoint=True)  # 1. amounts are whole numbers, years hundredths
    commission = np.where(salary >= 75_000, 0, rng.integers(10_000, 75_000, count, endpoint=True))
    zipcode = rng.integers(1, 10, count)
    return {
        "salary": salary,
        "commission": commission,
        "age": rng.integers(20_00, 80_00, count) / 100,
        "elevel": rng.integers(0, 5, count),
        "car": rng.integers(1, 21, count),
        "zipcode": zipcode,
        # 2. the source does not state which zip code has which k in 0 … 9; here k is the zip code
        "hvalue": np.rint(zipcode * (50_000 + 100_000 * rng.random(count))).astype(np.int64),
        "hyears": rng.integers(1_00, 30_00, count) / 100,
        "loan": rng.integers(0, 500_000, count, endpoint=True),
    }


def _within(amount: NDArray[Any], low: int, high: int) -> Any:
    return (amount >= low * 1000) & (amount <= high * 1000)


def _by_age(records: Records, young: Any, middle: Any, old: Any) -> Any:
    age = records["age"]
    return np.where(age < 40, young, np.where(age < 60, middle, old))


def _function_2(records: Records) -> Any:
    salary = records["salary"]
    return _by_age(records, _within(salary, 50, 100), _within(salary, 75, 125), _within(salary, 25, 75))


def _function_3(records: Records) -> Any:
    salary, level = records["salary"], records["elevel"]
    low, middle, high = (_within(salary, *bounds) for bounds in ((25, 75), (50, 100), (75, 125)))
    return _by_age(
        records,
        np.where(level <= 1, low, (level <= 3) & middle),
        np.where(level == 4, high, (level >= 1) & middle),
        np.where(level == 1, low, (level >= 2) & middle),
    )


def _disposable(records: Records) -> NDArray[np.float64]:
    income = records["salary"] + records["commission"]
    return 0.67 * income - 0.2 * records["loan"] - 10_000


def _equity(records: Records) -> Any:
    return 0.1 * records["hvalue"] * np.maximum(records["hyears"] - 20, 0)


FUNCTIONS: dict[int, Callable[[Records], Any]] = {
    1: lambda records: _by_age(records, True, False, True),
    2: _function_2,
    3: _function_3,
    4: lambda records: _disposable(records) > 0,
    5: lambda records: _disposable(records) + 0.2 * _equity(records) > 0,
}


def _chunk(wanted: tuple[int, int], function: int, rng: np.random.Generator) -> Records:
    """Return the wanted numbers of records of class A and of class B, in random order."""
    pieces: list[Records] = []
    found = np.zeros(2, dtype=np.int64)
    while (found < wanted).any():
        drawn = _draw(int(_SPARE * sum(wanted)) + 64, rng)
        drawn[LABEL] = np.where(FUNCTIONS[function](drawn), 0, 1)
        pieces.append(drawn)
        found += np.bincount(drawn[LABEL], minlength=2)
    every = {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
    kept = np.concatenate([np.flatnonzero(every[LABEL] == place)[:count] for place, count in enumerate(wanted)])
    kept = rng.permutation(kept)
    return {name: values[kept] for name, values in every.items()}


def _chunks(settings: AgrawalSettings) -> Iterator[Records]:
    rng = np.random.default_rng(settings.seed)
    for start in range(0, settings.n_records, _CHUNK_RECORDS):
        count = min(_CHUNK_RECORDS, settings.n_records - start)
        yield _chunk(((count + 1) // 2, count // 2), settings.function, rng)


def generate_agrawal(settings: AgrawalSettings) -> "pd.DataFrame":
    """Return records as a data frame: the nine attributes, and ``class``, A where the function holds, else B.

    Args:
        settings: The settings, with the seed.

    Returns:
        A pandas data frame, one row per record.

    Source: Agrawal, Imielinski, Swami, Database Mining: A Performance Perspective, IEEE TKDE 1993.

    >>> made = generate_agrawal(AgrawalSettings(function=1, n_records=1000))
    >>> made["class"].value_counts().to_dict() == {"A": 500, "B": 500}
    True
    >>> bool((made["age"].between(40, 59.99) == (made["class"] == "B")).all())
    True
    """
    import pandas as pd

    pieces = list(_chunks(settings))
    every = {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
    every[LABEL] = np.array(CLASSES, dtype=object)[every[LABEL]]
    return pd.DataFrame(every)


def generate_agrawal_file(
    settings: AgrawalSettings,
    path: str | Path,
    *,
    schema: str | Path | None = None,
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Write records to a CSV or Parquet file in parts, and return their number.

    Args:
        settings: The settings, with the seed.
        path: The file to write, .csv or .parquet.
        schema: Also write a schema for ``assocpriv plan --schema`` to this path: Gaussian noise at 100% privacy.
        force: Replace existing files.
        progress: Called with (records done, total).

    Returns:
        The number of records.

    Raises:
        FileError: Another file ending, or a file that exists or cannot be written.

    Source: Agrawal, Imielinski, Swami, Database Mining: A Performance Perspective, IEEE TKDE 1993.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> settings = ap.simulation.AgrawalSettings(function=1, n_records=100)
    >>> ap.simulation.generate_agrawal_file(settings, f"{mkdtemp()}/people.csv")
    100
    """
    if Path(path).suffix.lower() not in (".csv", ".parquet"):
        raise FileError(f"{path} must end in .csv or .parquet to select the format")
    if schema is not None:
        check_writable(schema, force=force)
    with atomic_output(path, force=force) as stream:
        _write(settings, stream, Path(path).suffix.lower(), progress)
    if schema is not None:
        with atomic_output(schema, force=force) as stream:
            stream.write(agrawal_schema().encode("ascii"))
    return settings.n_records


def _write(
    settings: AgrawalSettings, stream: BinaryIO, ending: str, progress: Callable[[int, int], None] | None
) -> None:
    fields = [(name, pa.float64() if name in _FLOATS else pa.int64()) for name in ATTRIBUTES]
    schema = pa.schema([*fields, (LABEL, pa.string())])
    done = 0
    options = {"write_options": arrow_csv.WriteOptions(quoting_style="none")} if ending == ".csv" else {}
    opened = (arrow_csv.CSVWriter if ending == ".csv" else pq.ParquetWriter)(stream, schema, **options)
    with opened as writer:
        for piece in _chunks(settings):
            named = piece | {LABEL: np.array(CLASSES)[piece[LABEL]]}
            writer.write_table(pa.table(named, schema=schema))
            done += len(piece[LABEL])
            if progress:
                progress(done, settings.n_records)


def agrawal_schema() -> str:
    """Return a TOML schema for ``assocpriv plan --schema``: attributes with Gaussian noise, the class raw."""
    lines = []
    for name, known in ATTRIBUTES.items():
        is_few = known.values is not None
        lines += [f"[columns.{name}]", 'kind = "number"', f"whole = {str(known.is_amount or is_few).lower()}"]
        lines += [f"low = {known.low}", f"high = {known.high - is_few}"]
        lines += ['release = "gaussian"', 'privacy = "100%"', 'confidence = "95%"', ""]
    values = ", ".join(f'"{value}"' for value in CLASSES)
    return "\n".join([*lines, f"[columns.{LABEL}]", 'kind = "label"', f"values = [{values}]", 'release = "as-is"', ""])
