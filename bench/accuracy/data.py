"""The data sets of the accuracy bench, and the split into sets for tuning and sets for evaluation.

Public files are read from ../shared/data next to the clone. They are used at their own size, at which local privacy
permits only coarse estimates, and resampled to a million baskets. The truth is that of the resampled baskets.

**Tuning and evaluation.** Constants of the package and settings of peers are chosen on the sets of :data:`TUNING`
alone; claims of the bench refer to :data:`HELD_OUT`. The rule was fixed before any of the sets was run. Public files,
sorted by the SHA-256 of their names, go to the two halves in turn, the first to tuning; a file is in the same half at
every size. Generated families have sets in both halves, with other seeds and parameters; densities alternate. The rule
does not cover choices made before it. Earlier versions used results on retail, msweb and fixed-5, chose settings of
peers on T10I4D100K, and chose rules on mushroom, BMS-WebView-2 and T10I4D100K.

Results on generated sets of the held-out half showed weaknesses of earlier versions, so these sets are no longer
unseen. The sets of :data:`FRESH` belong to the same families; the SHA-256 of their names fixes seeds and parameters.
They were first generated when the code that they evaluate was final.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from hashlib import sha256

import numpy as np

from assocpriv.records.baskets import Baskets
from bench.accuracy import families
from bench.accuracy.transactions import Transactions, offsets_of, resampled
from bench.speed.datasets import shared_file

MILLION = 10**6
Maker = Callable[[int], Transactions]  # number of baskets to baskets


class MissingDataError(LookupError):
    """A public data set is not in the folder next to the clone."""


# ---- sources of data


def from_file(name: str) -> Transactions:
    """Read a public data set; ids are renumbered where some do not occur.

    Raises:
        MissingDataError: the file is missing.
    """
    from assocpriv import read_baskets

    path = shared_file(name)
    if path is None:
        raise MissingDataError(f"{name} is not in the folder shared/data next to the clone")
    return from_baskets(read_baskets(path, repeats="merge", empty="keep"), name.split(".", maxsplit=1)[0])


def from_baskets(baskets: Baskets, name: str) -> Transactions:
    """Convert the package's baskets; numbers that occur in no basket are not items of the catalogue."""
    used, items = np.unique(baskets.items, return_inverse=True)
    return Transactions(baskets.offsets, items.astype(np.int64), len(used), name)


def of_file(file: str, n: int) -> Transactions:
    """Return a public data set resampled to n baskets."""
    return resampled(from_file(file), n, seed=0)


def generated(n: int, mean_size: float, seed: int, items: int = 1_000) -> Transactions:
    """Generate retail-like baskets whose target sizes follow a Poisson distribution."""
    from assocpriv.simulation.synthetic import QuestSettings, generate_quest

    baskets = generate_quest(QuestSettings(n_baskets=n, n_items=items, mean_size=mean_size, seed=seed))
    return Transactions(baskets.offsets, baskets.items, items)


def generated_fixed(n: int, size: int, seed: int) -> Transactions:
    """Generate baskets of exactly ``size`` items by filtering the generator's baskets."""
    source = generated(2 * n, float(size), seed)
    exact = np.flatnonzero(source.sizes == size)
    return source.take(np.resize(exact, n))  # about one in six; repeated until there are n


def generated_mixed(n: int, kinds: tuple[tuple[float, float], ...], seed: int) -> Transactions:
    """Generate baskets of several kinds of shoppers with different habits, (share, mean size) each."""
    counts = np.diff(np.rint(np.cumsum([0.0, *(share for share, _ in kinds)]) * n).astype(np.int64)).tolist()
    parts = [generated(count, kinds[kind][1], seed + kind) for kind, count in enumerate(counts)]
    sizes = np.concatenate([part.sizes for part in parts])
    return Transactions(offsets_of(sizes), np.concatenate([part.items for part in parts]), parts[0].n_items)


# ---- the sets

FILES: dict[str, str] = {
    "T5N1D1800": "T5N1D1800.dat.gz",
    "retail": "retail.dat",
    "BMS-WebView-1": "BMS-WebView-1.dat",
    "online-retail": "online-retail.dat",
    "msweb": "msweb.dat",
    "mushroom": "mushroom.dat",
    "BMS-WebView-2": "BMS-WebView-2.dat",
    "kosarak_head36k": "kosarak_head36k.dat",
    "groceries": "groceries.csv",
    "T10I4D100K": "T10I4D100K.dat",
}
GENERATED: dict[str, Maker] = {
    "fixed-5": partial(generated_fixed, size=5, seed=1),
    "mixed-3": partial(generated_mixed, kinds=((0.5, 2.0), (0.3, 5.0), (0.2, 12.0)), seed=11),
    "quest-4": partial(generated, mean_size=4.0, seed=101, items=2_000),
    "dense-2": partial(families.dense, items=300, density=0.02, seed=202),
    "dense-10": partial(families.dense, items=120, density=0.10, seed=210),
    "dense-30": partial(families.dense, items=60, density=0.30, seed=230),
    "long-pairs-15": partial(families.long_pairs, items=2_000, long_share=0.15, mean_size=15.0, seed=315),
    "long-tail-6": partial(families.long_tail, items=5_000, sigma=1.0, mean_log=1.3, seed=406),
    "flat-100": partial(families.flat, items=100, mean_size=6.0, pairs=30, seed=501),
    "fixed-4": partial(generated_fixed, size=4, seed=7),
    "mixed-2": partial(generated_mixed, kinds=((0.7, 3.0), (0.3, 14.0)), seed=23),
    "quest-7": partial(generated, mean_size=7.0, seed=707, items=1_500),
    "dense-1": partial(families.dense, items=400, density=0.01, seed=201),
    "dense-5": partial(families.dense, items=200, density=0.05, seed=205),
    "dense-20": partial(families.dense, items=80, density=0.20, seed=220),
    "dense-40": partial(families.dense, items=50, density=0.40, seed=240),
    "long-pairs-25": partial(families.long_pairs, items=1_000, long_share=0.25, mean_size=20.0, seed=325),
    "long-tail-9": partial(families.long_tail, items=8_000, sigma=1.2, mean_log=1.6, seed=409),
    "flat-200": partial(families.flat, items=200, mean_size=8.0, pairs=50, seed=502),
}


def _drawn(name: str, low: float, high: float, parameter: str) -> float:
    """Return a number in [low, high) derived from the SHA-256 of a fresh set's name and a parameter's name."""
    word = int.from_bytes(sha256(f"{name} {parameter}".encode()).digest()[:6])
    return low + (high - low) * word / 2**48


def _fresh(name: str, maker: Callable[..., Transactions], **ranges: tuple[float, float]) -> Maker:
    """Return a family's set with derived seed and parameters; integers where both ends of a range are."""
    drawn = {parameter: _drawn(name, low, high, parameter) for parameter, (low, high) in ranges.items()}
    whole = {parameter: int(value) for parameter, value in drawn.items() if isinstance(ranges[parameter][0], int)}
    return partial(maker, seed=int(_drawn(name, 0, 10**6, "seed")), **drawn | whole)


def _two_kinds(n: int, *, short_share: float, short: float, long: float, seed: int) -> Transactions:
    return generated_mixed(n, ((short_share, short), (1 - short_share, long)), seed)


FRESH_MADE: dict[str, Maker] = {
    name: _fresh(name, maker, **ranges)
    for name, maker, ranges in (
        ("fresh-fixed", generated_fixed, {"size": (3, 8)}),
        ("fresh-mixed", _two_kinds, {"short_share": (0.5, 0.8), "short": (2.0, 4.0), "long": (10.0, 16.0)}),
        ("fresh-quest", generated, {"mean_size": (3.0, 8.0), "items": (1_000, 2_500)}),
        ("fresh-dense-sparse", families.dense, {"items": (300, 450), "density": (0.01, 0.03)}),
        ("fresh-dense-light", families.dense, {"items": (100, 220), "density": (0.03, 0.10)}),
        ("fresh-dense-middle", families.dense, {"items": (60, 120), "density": (0.10, 0.25)}),
        ("fresh-dense-heavy", families.dense, {"items": (40, 70), "density": (0.25, 0.45)}),
        ("fresh-long-pairs", families.long_pairs,
         {"items": (800, 2_500), "long_share": (0.1, 0.3), "mean_size": (12.0, 24.0)}),
        ("fresh-long-tail", families.long_tail, {"items": (4_000, 9_000), "sigma": (0.9, 1.3), "mean_log": (1.2, 1.7)}),
        ("fresh-flat", families.flat, {"items": (80, 250), "mean_size": (5.0, 9.0), "pairs": (25, 60)}),
    )
}  # fmt: skip
GENERATED |= FRESH_MADE
TUNING: tuple[str, ...] = (
    "groceries", "kosarak_head36k", "T5N1D1800", "online-retail", "BMS-WebView-1",
    "fixed-5", "mixed-3", "quest-4", "dense-2", "dense-10", "dense-30", "long-pairs-15", "long-tail-6", "flat-100",
)  # fmt: skip
HELD_OUT: tuple[str, ...] = (
    "retail", "msweb", "mushroom", "BMS-WebView-2", "T10I4D100K",
    "fixed-4", "mixed-2", "quest-7", "dense-1", "dense-5", "dense-20", "dense-40", "long-pairs-25", "long-tail-9",
    "flat-200",
)  # fmt: skip
UNSEEN: tuple[str, ...] = tuple(
    base for base in HELD_OUT if base in GENERATED
)  # the module's docstring explains the others
FRESH: tuple[str, ...] = tuple(FRESH_MADE)
HALVES = {"tuning": TUNING, "held-out": HELD_OUT, "fresh": FRESH}
_LARGE = ("T5N1D1800",)  # more than a million baskets: not taken at its own size


def names(half: str, people: int = MILLION, *, own_sizes: bool = True) -> tuple[str, ...]:
    """Return the names of a half's sets for :func:`load`: with this number of people, and files at their own size.

    >>> names("tuning", 300_000)[:3]
    ('groceries-3e5', 'kosarak_head36k-3e5', 'T5N1D1800-3e5')
    """
    own = [base for base in HALVES[half] if base in FILES and base not in _LARGE] if own_sizes else []
    return (*(sized(base, people) for base in HALVES[half]), *own)


def sized(base: str, people: int) -> str:
    """Return the name of a set with this number of baskets.

    >>> sized("retail", 250_000)
    'retail-25e4'
    """
    digits = str(people).rstrip("0")
    return f"{base}-{digits}e{len(str(people)) - len(digits)}"


@lru_cache(maxsize=2)
def load(name: str) -> Transactions:
    """Return a data set by name: a file at its own size, or ``NAME-PEOPLE``, as retail-1e6; the last two are cached.

    Raises:
        MissingDataError: its file is missing.
        KeyError: there is no such set.
    """
    base, _, label = name.rpartition("-")
    if name in FILES:
        made = from_file(FILES[name])
    elif base in FILES:
        made = of_file(FILES[base], int(float(label)))
    elif base in GENERATED:
        made = GENERATED[base](int(float(label)))
    else:
        made = GENERATED[name](MILLION)
    return Transactions(made.offsets, made.items, made.n_items, name)
