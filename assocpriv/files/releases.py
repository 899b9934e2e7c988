"""Releases: noisy counts of items and larger sets under central differential privacy, and their files.

A shop that holds its baskets adds noise to counts of them and publishes the result, a release. What is computed from a
release alone keeps its guarantee. **Neighbours** are data sets that differ by one basket, which is added or removed, or
by one person, who has at most R baskets. The number of baskets is not public.

A release has two **stages**. The first counts all items of the public catalogue. The second counts the pairs and larger
sets of items that the first one's noisy counts show to be frequent, in baskets reduced to these items. Each stage also
counts baskets by classes of sizes, of which one basket is in one class; and all baskets are counted once.

**Weights.** A basket of c ≤ M items counts fully. In a larger one all k-itemsets together count as much as in a basket
of M: each with the weight √(C(M, k)/C(c, k)) for discrete Gaussian noise, with C(M, k)/C(c, k) for two-sided geometric
noise, rounded down to a multiple of 1/64. So one basket changes the counts of all k-itemsets by at most √C(M, k) in the
Euclidean norm, or by C(M, k) in the sum of absolute values. Nothing is drawn, and the reader knows the weights. A
release satisfies ρ-zero-concentrated differential privacy with

    ρ = R² Σ C(M, k) r

over all its counts, r being the rates of discrete Gaussian noise (guarantees/integer_noise.py), or with two-sided
geometric noise ε-differential privacy with ε = R Σ C(M, k) r. Reading a release checks that (ε, δ) follows.

**Items found in the baskets** are published where their noisy counts reach a threshold T (a stability-based histogram:
Korolova et al., Releasing Search Queries and Clicks Privately, WWW 2009; Bun, Nissim, Stemmer, JMLR 2019). Unless a
name appears that the neighbour lacks, the outputs of neighbours have the laws above. An item that only one person
bought, in a basket of c items, has a weight of at most R w(c). So the probability of such a name is at most

    δ_T = R max_c c P(noise ≥ T − R w(c)),

as each item counts for its smallest basket. With ρ at δ − δ_T, (ε, δ) follows: if the noise proves (ε, δ − δ_T) where
no such name appears, both directions lose δ_T at most. Baskets of more than 4,096 items count as empty ones.

docs/formats.md describes the file, a Parquet table with facts in its metadata.
"""

import hashlib
import json
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import comb, erfc, isqrt, sqrt
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import column_chunks, is_inflated, pa, parquet_errors, pq
from assocpriv.files.atomic import atomic_output, begins_with
from assocpriv.files.report_files import RELEASE_KEY
from assocpriv.guarantees.amplification import format_fraction, read_fraction
from assocpriv.guarantees.errors import FileError, PlanError, PrivacyLimitError, json_fields
from assocpriv.guarantees.integer_noise import IntegerNoise, epsilon_from_rho
from assocpriv.plans.baskets.catalogue import Catalogue, Names
from assocpriv.plans.result_display import html_renderer, short_repr

Ints = NDArray[np.int64]
FORMAT = RELEASE_KEY.decode()
SCALE = 64  # counts of itemsets are multiples of 1/64
_VERSION = 1
MOST_BASKETS_PER_PERSON = 1000
MOST_DELTA = Fraction(1, 1000)
MOST_TRANSACTION_SIZE = 64
MOST_DISCOVERED = 4096  # items of a basket, where items are found in the baskets
_TAIL_MARGIN = Fraction(1, 10**9)  # relative; errors of erfc in double precision are below 10^-14
_PARQUET = b"PAR1"  # the first bytes
_ALLOWED = 1 << 26  # bytes of memory that any file may claim
_MOST_COUNT = 1 << 53
_CONTRADICTS = "the counts of a release contradict its facts; it is damaged, or of another program"
_FIELDS = {
    "format", "version", "catalogue", "names", "baskets_per_person", "epsilon", "delta", "scale", "total", "total_rate",
    "squared", "stages", "threshold",
}  # fmt: skip
_STAGE_FIELDS = {"items", "transaction_size", "size_bounds", "size_counts", "size_rate", "rates"}


@dataclass(frozen=True, slots=True)
class CountedItems:
    """What a release counts: the largest M of its stages, and the size of its largest itemsets."""

    transaction_size: int
    itemset_size: int

    def supports(self, k: int) -> bool:
        """Return whether k-itemsets are counted."""
        return k <= self.itemset_size


@dataclass(frozen=True, eq=False, slots=True)
class ReleasedLevel:
    """Noisy counts of itemsets of one size.

    Attributes:
        itemsets: item ids, int64 (itemsets, k), rising in each row; rows in lexicographic order.
        counts: 64 times the weight of the baskets that hold each, with noise, int64 (itemsets,); some may be negative.
        noise: the noise of each of these numbers.
    """

    itemsets: Ints
    counts: Ints
    noise: IntegerNoise


@dataclass(frozen=True, eq=False, slots=True)
class ReleasedStage:
    """The counts of one stage.

    Attributes:
        items: ids of the items that baskets were reduced to, int64 (items,), rising.
        transaction_size: M, the most items with which a basket counts fully.
        size_bounds: least size of each class of sizes, by these items alone, int64 (classes,), rising from 0.
        size_counts: how many baskets are in each class, with noise, int64 (classes,).
        size_noise: the noise of each.
        levels: counts by itemset size.
    """

    items: Ints
    transaction_size: int
    size_bounds: Ints
    size_counts: Ints
    size_noise: IntegerNoise
    levels: tuple[ReleasedLevel, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """Noisy counts of baskets, published by who holds these.

    Attributes:
        catalogue: the public names of the items.
        total: number of baskets, with noise.
        total_noise: its noise.
        stages: the counts of all items, then those of larger sets.
        epsilon, delta: the guarantee; δ is 0 with two-sided geometric noise.
        baskets_per_person: R where the guarantee is for all baskets of a person, of which R were counted; 0 where it is
            for one basket.
        names: the taxonomy by which baskets were read.
        threshold: least noisy count, times 64, with which an item found in the baskets was published; 0 where the
            catalogue was public.

    Raises:
        PrivacyLimitError: the guarantee does not follow from the noise.
        PlanError: fields contradict each other.
    """

    catalogue: Catalogue
    total: int
    total_noise: IntegerNoise
    stages: tuple[ReleasedStage, ...]
    epsilon: Fraction
    delta: Fraction
    baskets_per_person: int = 0
    names: Names = Names()  # noqa: RUF009  # frozen
    threshold: int = 0

    kind: ClassVar[str] = "release"
    _repr_html_ = html_renderer("assocpriv.show.release_views:released")

    def __post_init__(self) -> None:
        if not self.epsilon > 0 or not 0 <= self.delta < MOST_DELTA or not self.stages:
            raise PlanError("a release needs an epsilon above 0, a delta from 0 to below 0.001, and counts")
        most = self.baskets_per_person
        if type(most) is not int or not 0 <= most <= MOST_BASKETS_PER_PERSON:
            raise PlanError(f"a release counts 1 to {MOST_BASKETS_PER_PERSON} baskets per person")
        if type(self.total) is not int or abs(self.total) > _MOST_COUNT or self.total_noise.squared != self.is_gaussian:
            raise PlanError(_CONTRADICTS)
        for stage in self.stages:
            _check_stage(stage, len(self.catalogue), squared=self.is_gaussian)
        if (
            type(self.threshold) is not int
            or not 0 <= self.threshold <= _MOST_COUNT
            or (self.threshold and (not self.is_gaussian or self.stages[0].levels[0].counts.min() < self.threshold))
        ):
            raise PlanError(_CONTRADICTS)
        if self.threshold_delta >= self.delta > 0:
            raise PrivacyLimitError("the threshold for items found in the baskets costs more than the release's δ")
        if self.spent > self.epsilon:
            raise PrivacyLimitError(
                f"the release's noise proves only epsilon = {float(self.spent):.6g}, not the {float(self.epsilon):.6g} "
                "that it states; do not use it"
            )

    def __repr__(self) -> str:
        counts = [f"{len(level.counts):,} sets of {level.itemsets.shape[1]}" for _, level in self.levels]
        guarantee = f"(ε, δ) = ({float(self.epsilon):g}, {float(self.delta):g}) for {self.unit}"
        return short_repr(self, f"about {self.n_baskets:,} baskets, {guarantee}", [f"counts of {', '.join(counts)}"])

    @property
    def unit(self) -> str:
        """What the guarantee covers, in words."""
        count = self.baskets_per_person
        return f"all baskets of a person, of which {count} at most are counted" if count else "one basket"

    @property
    def is_gaussian(self) -> bool:
        """Whether noise is discrete Gaussian, so that the guarantee needs a δ above 0."""
        return self.delta > 0

    @cached_property
    def spent(self) -> Fraction:
        """The ε that the noise proves at ``delta``, rounded up."""
        times, unit = max(self.baskets_per_person, 1), SCALE**2 if self.is_gaussian else SCALE
        total = sum((stage.size_noise.rate for stage in self.stages), self.total_noise.rate)
        total += sum(
            comb(stage.transaction_size, level.itemsets.shape[1]) * level.noise.rate * unit
            for stage, level in self.levels
        )
        left = self.delta - self.threshold_delta
        return epsilon_from_rho(total * times**2, left) if self.is_gaussian else total * times

    @cached_property
    def threshold_delta(self) -> Fraction:
        """δ_T, the part of δ that the threshold for items found in the baskets costs; 0 for a public catalogue."""
        first = self.stages[0]
        if not self.threshold:
            return Fraction(0)
        return discovery_delta(self.threshold, first.levels[0].noise, first.transaction_size, self.baskets_per_person)

    def largest_basket(self, number: int) -> int:
        """Return the most items of a basket that a stage counts.

        Args:
            number: of the stage, from 0.

        Returns:
            All its items, or 4,096 where items are found.
        """
        return MOST_DISCOVERED if self.threshold and not number else len(self.stages[number].items)

    @property
    def levels(self) -> list[tuple[ReleasedStage, ReleasedLevel]]:
        """The counts of each stage and itemset size."""
        return [(stage, level) for stage in self.stages for level in stage.levels]

    @property
    def n_items(self) -> int:
        """Number of items of the catalogue."""
        return len(self.catalogue)

    @property
    def n_baskets(self) -> int:
        """Noisy number of baskets, at least 1."""
        return max(self.total, 1)

    @property
    def plan(self) -> "Release":
        """The release, which describes its own counts."""
        return self

    @property
    def items(self) -> "CountedItems":
        """The itemset sizes that are counted."""
        largest = max(stage.transaction_size for stage in self.stages)
        return CountedItems(largest, max(level.itemsets.shape[1] for _, level in self.levels))

    @cached_property
    def plan_id(self) -> str:
        """SHA-256 of the release's facts and counts, 64 hexadecimal digits."""
        digest = hashlib.sha256(self._facts().encode())
        for _, level in self.levels:
            digest.update(level.itemsets.astype("<i8").tobytes() + level.counts.astype("<i8").tobytes())
        return digest.hexdigest()

    def _facts(self) -> str:
        stages = [
            {
                "items": stage.items.tolist() if len(stage.items) < self.n_items else None,
                "transaction_size": stage.transaction_size, "size_bounds": stage.size_bounds.tolist(),
                "size_counts": stage.size_counts.tolist(), "size_rate": format_fraction(stage.size_noise.rate),
                "rates": {str(level.itemsets.shape[1]): format_fraction(level.noise.rate) for level in stage.levels},
            }
            for stage in self.stages
        ]  # fmt: skip
        content = {
            "format": FORMAT, "version": _VERSION, "catalogue": self.catalogue.to_json(), "names": self.names.to_json(),
            "baskets_per_person": self.baskets_per_person, "epsilon": format_fraction(self.epsilon),
            "delta": format_fraction(self.delta), "scale": SCALE, "total": self.total,
            "total_rate": format_fraction(self.total_noise.rate), "squared": self.is_gaussian, "stages": stages,
            "threshold": self.threshold,
        }  # fmt: skip
        return json.dumps(content, sort_keys=True, separators=(",", ":"))

    def write(self, path: str | PathLike[str], *, force: bool = False) -> None:
        """Write the release to a Parquet file, atomically.

        Args:
            path: the file.
            force: replace an existing file.

        Raises:
            FileError: the file exists and ``force`` is not set, does not end in .parquet or .pq, or cannot be written.
        """
        if Path(path).suffix.lower() not in (".parquet", ".pq"):
            raise FileError(f"{path} must end in .parquet or .pq: releases are Parquet")
        rows = [
            (number, level.itemsets, level.counts) for number, stage in enumerate(self.stages) for level in stage.levels
        ]
        names = [[self.catalogue[i] for i in each] for _, itemsets, _ in rows for each in itemsets.tolist()]
        stages = np.concatenate([np.full(len(counts), n) for n, _, counts in rows])
        columns = [stages, names, np.concatenate([counts for *_, counts in rows])]
        table = pa.Table.from_arrays(
            [pa.array(each, field.type) for each, field in zip(columns, _schema(), strict=True)],
            schema=_schema().with_metadata({RELEASE_KEY: self._facts().encode()}),
        )
        with atomic_output(path, force=force) as stream:
            pq.write_table(table, stream)


def basket_weights(sizes: Ints, m: int, k: int, *, squared: bool) -> Ints:
    """Return 64 times the weight of a k-itemset in baskets of these sizes, int64 of their shape.

    >>> basket_weights(np.array([2, 4, 9]), 4, 2, squared=True).tolist()
    [64, 64, 26]
    """

    def weight(size: int) -> int:
        if size <= max(m, k - 1):
            return SCALE
        return isqrt(SCALE**2 * comb(m, k) // comb(size, k)) if squared else SCALE * comb(m, k) // comb(size, k)

    weights = np.zeros(sizes.max(initial=0) + 1, dtype=np.int64)
    distinct = np.flatnonzero(np.bincount(sizes))
    weights[distinct] = [weight(size) for size in distinct.tolist()]
    return weights[sizes]


@lru_cache(maxsize=8)
def _found_in(m: int) -> dict[int, int]:
    """Return 64 times the weights of an item in baskets in which one can be found, with the largest size of each."""
    sizes = np.arange(1, MOST_DISCOVERED + 1)
    return dict(zip(basket_weights(sizes, m, 1, squared=True).tolist(), sizes.tolist(), strict=True))


def discovery_delta(threshold: int, noise: IntegerNoise, m: int, baskets_per_person: int) -> Fraction:
    """Return δ_T, at least the probability of publishing an item that one basket or person alone holds.

    Args:
        threshold: T, least noisy count of a published item, times 64.
        noise: discrete Gaussian noise of the counts, times 64.
        m: M of the stage that counts items.
        baskets_per_person: R, or 0 for one basket.

    Returns:
        δ_T, rounded up; 1 where the threshold is not above what one person changes.

    Source: P(noise ≥ t) ≤ P(Z ≥ t − 1) for normal Z of the same σ (Canonne, Kamath, Steinke 2020).
    """
    times = max(baskets_per_person, 1)
    if threshold <= SCALE * times + 1:
        return Fraction(1)
    scale = sqrt(1 / float(noise.rate))  # σ√2
    tails = [size * erfc((threshold - times * weight - 1) / scale) / 2 for weight, size in _found_in(m).items()]
    return min(Fraction(max(tails)) * times * (1 + _TAIL_MARGIN), Fraction(1))


def _check_stage(stage: ReleasedStage, n_items: int, *, squared: bool) -> None:
    """Raise PlanError for counts that no release has."""
    items, m, bounds = stage.items, stage.transaction_size, stage.size_bounds
    sound = (
        len(items) > 0 and _is_rising(items, n_items) and type(m) is int and 1 <= m <= MOST_TRANSACTION_SIZE
        and len(bounds) == len(stage.size_counts) > 1 and bounds[0] == 0 and _is_rising(bounds, 1 << 40)
        and m in bounds and len(stage.levels) > 0 and _are_counts(stage.size_counts)
    )  # fmt: skip
    for level in stage.levels:
        rows = level.itemsets
        sound = (
            sound and 1 <= rows.shape[1] <= m and len(level.counts) == len(rows) > 0 and _are_counts(level.counts)
            and bool(np.isin(rows, items).all()) and bool((np.diff(rows, axis=1) > 0).all())
            and np.array_equal(rows, np.unique(rows, axis=0))
        )  # fmt: skip
    if not sound or any(noise.squared != squared for noise in _noises(stage)):
        raise PlanError(_CONTRADICTS)


def _are_counts(values: Ints) -> bool:
    return bool(values.min() >= -_MOST_COUNT and values.max() <= _MOST_COUNT)


def _noises(stage: ReleasedStage) -> list[IntegerNoise]:
    return [stage.size_noise, *(level.noise for level in stage.levels)]


def _is_rising(values: Ints, end: int) -> bool:
    return bool(values[0] >= 0 and values[-1] < end and (np.diff(values) > 0).all())


# ---- files


def is_release(path: str | PathLike[str]) -> bool:
    """Return whether a file is a release, by its metadata.

    Args:
        path: the file.

    Returns:
        False also for what cannot be read, as a pipe or a device.
    """
    if not begins_with(path, _PARQUET):  # the slow library is for Parquet alone
        return False
    try:
        return RELEASE_KEY in (pq.read_schema(path).metadata or {})
    except parquet_errors():
        return False


def read_release(path: str | PathLike[str]) -> Release:
    """Read a release.

    Args:
        path: the file that ``assocpriv release`` or :meth:`Release.write` wrote.

    Returns:
        The release, checked.

    Raises:
        FileError: the file cannot be read, is damaged or is no release, or its guarantee does not follow from its
            noise.
    """
    try:
        with open(path, "rb") as stream:
            if is_inflated(column_chunks(stream), Path(path).stat().st_size, _ALLOWED):
                raise FileError(f"{path} is damaged or malicious: it claims more than its bytes can hold")
        table = pq.read_table(path)
    except parquet_errors() as error:
        raise FileError(f"cannot read {path}: {error}") from None
    text = (table.schema.metadata or {}).get(RELEASE_KEY)
    if text is None:
        raise FileError(f"{path} is no release; assocpriv release writes one")
    try:
        return _parse(text.decode(), table)
    except PlanError as error:
        raise FileError(f"{path}: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise FileError(f"{path} is a damaged release, or one of a newer version") from None


def _parse(text: str, table: Any) -> Release:
    """Return the release of a file; KeyError, TypeError or ValueError for content of another form."""
    content: Any = json_fields(text)
    if (
        set(content) != _FIELDS
        or content["format"] != FORMAT
        or (content["version"], content["scale"]) != (_VERSION, SCALE)
    ):
        raise ValueError("unknown fields")
    schema = [(each.name, each.type) for each in table.schema]
    if schema != [(each.name, each.type) for each in _schema()] or any(each.null_count for each in table.columns):
        raise ValueError("other columns")
    catalogue = Catalogue.from_json(content["catalogue"])
    stage_numbers, counts = (table.column(name).to_numpy() for name in ("stage", "count"))
    itemsets, index = table.column("itemset").to_pylist(), catalogue.index_of
    stages = []
    for number, fields in enumerate(content["stages"]):
        if set(fields) != _STAGE_FIELDS:
            raise ValueError("unknown fields")
        rows, levels = np.flatnonzero(stage_numbers == number).tolist(), []
        for k, rate in fields["rates"].items():
            chosen = [row for row in rows if len(itemsets[row]) == int(k)]
            ids = np.array([[index[name] for name in itemsets[row]] for row in chosen], dtype=np.int64)
            noise = IntegerNoise(read_fraction(rate, "rate"), content["squared"])
            levels.append(ReleasedLevel(ids.reshape(-1, int(k)), counts[chosen].astype(np.int64), noise))
        if sum(len(level.counts) for level in levels) != len(rows):
            raise ValueError("counts of other sizes")
        every = np.arange(len(catalogue)) if fields["items"] is None else _integers(fields["items"])
        bounds, classes = _integers(fields["size_bounds"]), _integers(fields["size_counts"])
        noise = IntegerNoise(read_fraction(fields["size_rate"], "size_rate"), content["squared"])
        stages.append(ReleasedStage(every, fields["transaction_size"], bounds, classes, noise, tuple(levels)))
    if not np.isin(stage_numbers, np.arange(len(stages))).all():
        raise ValueError("counts of no stage")
    epsilon, delta = (read_number(content[name], name) for name in ("epsilon", "delta"))
    total_noise = IntegerNoise(read_fraction(content["total_rate"], "total_rate"), content["squared"])
    names = Names.from_json(content["names"])
    most = content["baskets_per_person"]
    threshold = content["threshold"]
    return Release(catalogue, content["total"], total_noise, tuple(stages), epsilon, delta, most, names, threshold)


def _schema() -> Any:
    types = {"stage": pa.int8(), "itemset": pa.list_(pa.string()), "count": pa.int64()}
    return pa.schema([pa.field(name, each) for name, each in types.items()])


def _integers(values: Any) -> Ints:
    if not isinstance(values, list) or not all(type(each) is int for each in values):
        raise ValueError("no list of whole numbers")
    return np.array(values, dtype=np.int64)


def read_number(text: object, name: str) -> Fraction:
    """Read ε or δ as a release writes it: as :func:`read_fraction`, or 0.

    Raises:
        PlanError: the text is no such number.
    """
    return Fraction(0) if text == "0/1" else read_fraction(text, name)
