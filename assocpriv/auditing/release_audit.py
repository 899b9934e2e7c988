"""The audit of a release: what its file says, and the program on this machine that makes releases.

    guarantee      (ε, δ) of the file's noise; what one further basket or person changes in counts without noise
    form           M, items and larger sets of the file, chosen again from its noisy counts, are those it has
    replay         all noise of a release, recomputed from the random words that the operating system gave
    distributions  whole releases of neighbours: no event is more than e^ε times as likely, and noise has its variance

The program runs on generated baskets, with the ε, δ and R of the file. A file shows no raw counts, so the audit tests
the program on this machine, not the run that made the file.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, combinations
from math import comb, inf, isqrt, log
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.auditing.findings import (
    CONSISTENT,
    DISTRIBUTIONS,
    FORM,
    GUARANTEE,
    REPLAY,
    AuditRequest,
    Fault,
    Finding,
    Progress,
    run_check,
)
from assocpriv.files.releases import SCALE, Release
from assocpriv.guarantees.entropy import SystemEntropy, WordEntropy
from assocpriv.guarantees.integer_noise import IntegerNoise, epsilon_from_rho
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.records.baskets import Baskets
from assocpriv.records.layout import ReadOptions
from assocpriv.releasing.basket_release import ReleaseOptions, choose_again, release_baskets
from assocpriv.releasing.reading import read_once

Ints = NDArray[np.int64]
Sets = Sequence[frozenset[int]]
_ITEMS, _FEWEST = 8, 4_000  # of generated baskets; there are enough for an ε of 1
_RELEASES = 150  # of each neighbour, at most
_REPLAYED = 40  # counts of a vector whose noise is recomputed
_SIZES = (0, 1, 2, 5, _ITEMS)  # of the basket that neighbours differ by


def audit_release(release: Release, request: AuditRequest, progress: Progress) -> tuple[Finding, ...]:
    """Return the findings about a release and the program that makes releases.

    Args:
        release: the release.
        request: its ``trials`` over 1,000 are the releases of each neighbour, 150 at most; its confidence.
        progress: called with (stage, done, total).

    Returns:
        A finding a check.
    """
    wanted = ReleaseOptions(release.epsilon, release.delta, release.baskets_per_person)
    alarm, count = float(1 - request.level), max(50, min(_RELEASES, request.trials // 1000))
    checks = (
        (GUARANTEE, lambda: [_recomputed(release)]), (FORM, lambda: [_chosen(release)]),
        (GUARANTEE, lambda: _neighbours(wanted)), (GUARANTEE, lambda: _persons(wanted)),
        (REPLAY, lambda: [_replayed(wanted)]),
        (DISTRIBUTIONS, lambda: _distributions(wanted, count, alarm, progress)),
    )  # fmt: skip
    return tuple(finding for check, run in checks for finding in run_check(check, run))


# ---- the file


def _recomputed(release: Release) -> Finding:
    """Recompute ε over a grid of orders, from the file's rates and the changes that one basket makes by the formats."""
    times, squared = max(release.baskets_per_person, 1), release.is_gaussian
    vectors = [(1, release.total_noise)]
    for stage in release.stages:
        vectors.append((1, stage.size_noise))
        for level in stage.levels:
            k = level.itemsets.shape[1]
            vectors.append((comb(stage.transaction_size, k) * (SCALE**2 if squared else SCALE), level.noise))
    total = sum((change * noise.rate for change, noise in vectors), Fraction(0)) * (times**2 if squared else times)
    spent = float(total)
    if squared:
        left = float(release.delta - release.threshold_delta)
        orders = 1 + np.geomspace(1e-6, 1e6, 20_000)
        spent = float(np.min(
            spent * orders + np.log1p(-1 / orders) - (np.log(left) + np.log(orders)) / (orders - 1)
        ))  # fmt: skip
    if spent > float(release.epsilon) * (1 + 1e-6):
        raise Fault(f"The file's noise proves ε = {spent:.6g}, not {float(release.epsilon):.6g}.")
    message = f"The file's noise proves ε = {spent:.6g} of the {float(release.epsilon):.6g} stated."
    return Finding(GUARANTEE, "noise", CONSISTENT, message, {"epsilon": spent})


def _chosen(release: Release) -> Finding:
    wrong = choose_again(release)
    if wrong:
        raise Fault(f"The noisy counts of the file do not give its {wrong}: raw counts may have chosen it.")
    return Finding(FORM, "choices", CONSISTENT, "All choices of the file follow from its noisy counts.")


# ---- the program, without noise


class _NoNoise(WordEntropy):
    """Words in the middle, of which each gives no noise."""

    def words(self, count: int) -> Any:
        return np.full(count, 1 << 63, dtype=np.uint64)


class _Recorded(WordEntropy):
    """The operating system's words, kept by draw."""

    def __init__(self) -> None:
        self.draws: list[Any] = []

    def words(self, count: int) -> Any:
        self.draws.append(SystemEntropy().words(count))
        return self.draws[-1]


def _generated(options: ReleaseOptions) -> list[frozenset[int]]:
    """Return baskets of which many hold each triple, enough for ε."""
    rng = np.random.default_rng()
    count = int(_FEWEST * max(1.0, max(options.baskets_per_person, 1) / float(options.epsilon)))
    held = rng.random((count, _ITEMS)) < rng.permutation(np.linspace(0.3, 0.7, _ITEMS))
    return [frozenset(np.flatnonzero(row).tolist()) for row in held]


def _as_baskets(sets: Sets) -> Baskets:
    offsets = np.append(0, np.cumsum([len(each) for each in sets])).astype(np.int64)
    flat = np.array([item for each in sets for item in sorted(each)], dtype=np.int64)
    return Baskets(Catalogue([f"item {i}" for i in range(_ITEMS)]), offsets, flat)


def _exact(sets: Sets, release: Release) -> list[Ints]:
    """Return the counts of a release without noise, by the formats alone: number, then sizes and levels by stage."""
    found = [np.array([len(sets)])]
    for stage in release.stages:
        inside = [each & frozenset(stage.items.tolist()) for each in sets]
        ends = [*stage.size_bounds.tolist()[1:], 1 << 40]
        found.append(np.histogram([len(each) for each in inside], [0, *ends])[0])
        m, alike = stage.transaction_size, Counter(inside)
        for level in stage.levels:
            k, sums = level.itemsets.shape[1], Counter[tuple[int, ...]]()
            for each, times in alike.items():
                share = Fraction(comb(m, k), comb(len(each), k)) if len(each) > m else Fraction(1)
                weight = times * (isqrt(int(share * SCALE**2)) if release.is_gaussian else int(share * SCALE))
                sums.update(dict.fromkeys(combinations(sorted(each), k), weight))
            found.append(np.array([sums[tuple(row)] for row in level.itemsets.tolist()]))
    return found


def _published(release: Release) -> list[tuple[Ints, IntegerNoise]]:
    found = [(np.array([release.total]), release.total_noise)]
    for stage in release.stages:
        found += [(stage.size_counts, stage.size_noise), *((each.counts, each.noise) for each in stage.levels)]
    return found


def _spent(first: Release, second: Release, options: ReleaseOptions) -> Fraction:
    """Return the ε that the difference of two releases without noise costs; counts of other choices do not compare."""
    cost = Fraction(0)
    for (old, noise), (new, _) in zip(_published(first), _published(second), strict=False):
        if len(old) == len(new):
            change = (new - old).tolist()
            cost += noise.rate * (sum(x * x for x in change) if noise.squared else sum(map(abs, change)))
    return epsilon_from_rho(cost, options.delta) if options.delta and cost else cost


def _neighbours(options: ReleaseOptions) -> Iterator[Finding]:
    """Check that one person's baskets of any size change the counts by no more than the noise is for."""
    sets, times, worst = _generated(options), max(options.baskets_per_person, 1), Fraction(0)
    first = release_baskets(_as_baskets(sets), options, entropy=_NoNoise())
    if any(not np.array_equal(a, b) for a, (b, _) in zip(_exact(sets, first), _published(first), strict=True)):
        raise Fault("Counts without noise are not those that the formats define.")
    for size in _SIZES:
        more = [*sets, *[frozenset(range(size))] * times]
        second = release_baskets(_as_baskets(more), options, entropy=_NoNoise())
        worst = max(worst, _spent(first, second, options))
    if worst > options.epsilon:
        raise Fault(f"What one person adds costs ε = {float(worst):.4g}, of {float(options.epsilon):.4g} stated.")
    message = f"What a person adds, of any size, costs at most ε = {float(worst):.4g}."
    yield Finding(GUARANTEE, "neighbours", CONSISTENT, message, {"epsilon": float(worst)})


def _persons(options: ReleaseOptions) -> Iterator[Finding]:
    """Check that at most R baskets of a person are read."""
    most = options.baskets_per_person
    if not most:
        return
    with TemporaryDirectory() as folder:
        path, names = Path(folder) / "rows.csv", ["item 0"]
        rows = [f"p{person},b{person}-{each},item 0" for person in range(9) for each in range(2 * most)]
        path.write_text("\n".join(["person,basket,item", *rows]) + "\n", encoding="utf-8")
        layout = ReadOptions("long transaction=basket item=item")
        count = len(read_once(path, Catalogue(names), layout, "person", most, "checked"))
    if count > 9 * most:
        raise Fault(f"{count} baskets of 9 persons are counted, where at most {most} of each may be.")
    yield Finding(GUARANTEE, "persons", CONSISTENT, f"At most {most} baskets of a person are counted.")


# ---- the program, with noise


def _replayed(options: ReleaseOptions) -> Finding:
    """Recompute noise from the words that gave it."""
    source, sets = _Recorded(), _generated(options)
    made = release_baskets(_as_baskets(sets), options, entropy=source)
    exact, compared = _exact(sets, made), 0
    for (counts, noise), plain, words in zip(_published(made), exact, source.draws, strict=False):
        for count, raw, word in list(zip(counts.tolist(), plain.tolist(), words.tolist(), strict=False))[:_REPLAYED]:
            compared += 1
            if not _gives(word, count - raw, noise):
                raise Fault("Noise is not what the operating system's random words give by the law of the release.")
    message = f"The noise of {compared} counts is recomputed from the operating system's random words."
    return Finding(REPLAY, "noise", CONSISTENT, message, {"compared": compared})


def _gives(word: int, noise: int, law: IntegerNoise) -> bool:
    """Return whether the uniform numbers that begin with a word include one that gives this noise."""
    sums = _cumulative(law)
    place = noise + len(sums) // 2 - 1  # sums are P(X < x) from the least x on
    unit = Decimal(1) / (1 << 64)
    return (
        0 <= place < len(sums) - 1 and sums[place] - unit <= (word + 1) * unit and word * unit <= sums[place + 1] + unit
    )


@lru_cache(maxsize=8)
def _cumulative(law: IntegerNoise) -> list[Decimal]:
    """Return P(X < x) for x from −n to n, to 40 digits; beyond n is less than 10^-50."""
    with localcontext() as context:
        context.prec = 60
        rate = Decimal(law.rate.numerator) / law.rate.denominator
        reach = int((Decimal(120) / rate).sqrt() if law.squared else Decimal(120) / rate) + 2
        weights, step = [Decimal(1)], (-rate).exp()
        square = step * step if law.squared else Decimal(1)
        for _ in range(reach):
            weights.append(weights[-1] * step)
            step *= square
        sums = [Decimal(0), *accumulate([*reversed(weights[1:]), *weights])]
        return [each / sums[-1] for each in sums]


def _distributions(options: ReleaseOptions, count: int, alarm: float, progress: Progress) -> Iterator[Finding]:
    """Compare whole releases of neighbours: events, the distance of their likelihoods, and the variance of noise."""
    from scipy.stats import beta, chi2, norm

    times, sets = max(options.baskets_per_person, 1), _generated(options)
    sides = [sets, [*sets, *[frozenset(range(min(5, _ITEMS)))] * times]]
    values: list[list[Any]] = [[], []]
    excess: dict[int, list[float]] = {}
    given = [_as_baskets(side) for side in sides]
    shape = release_baskets(given[0], options, entropy=_NoNoise())
    exact = [_exact(side, shape) for side in sides]
    weights = [2 * float(noise.rate) * (b - a) for a, b, (_, noise) in zip(*exact, _published(shape), strict=True)]
    for number in range(count):
        progress("releases", number, count)
        for side, baskets in enumerate(given):
            made = release_baskets(baskets, options)
            same = [a.transaction_size for a in made.stages] == [a.transaction_size for a in shape.stages]
            score = 0.0
            for place, (counts, noise) in enumerate(_published(made)):
                if same and place < len(weights) and len(counts) == len(weights[place]):
                    apart = counts - exact[side][place]
                    excess.setdefault(place, []).append(float((apart**2).sum()) / noise.variance)
                    score += float(weights[place] @ (counts - exact[0][place]))
            values[side].append((score, made.total))
    progress("releases", count, count)
    scores, totals = (np.array([[row[i] for row in side] for side in values]) for i in (0, 1))
    events = [*(scores >= cut for cut in np.quantile(scores, np.linspace(0.02, 0.98, 25)))]
    events += [totals == len(side) for side in sides]
    bound, delta, each = -inf, float(options.delta), alarm / 8 / len(events)
    for event in events:
        for hits in (event.sum(axis=1), (~event).sum(axis=1)):
            for one, other in (hits, hits[::-1]):
                least = float(beta.ppf(each, one, count - one + 1)) if one else 0.0
                most = float(beta.ppf(1 - each, other + 1, count - other)) if other < count else 1.0
                bound = max(bound, log(max(least - delta, 1e-300) / most))
    figures = {"epsilon_low": max(bound, 0.0), "epsilon": float(options.epsilon), "releases": 2 * count}
    if bound > float(options.epsilon):
        raise Fault(f"An event is e^{bound:.3g} times as likely with a person as without, above e^ε.")
    message = f"No event of {2 * count} whole releases of neighbours shows more than ε = {max(bound, 0.0):.3g}."
    yield Finding(DISTRIBUTIONS, "likelihood ratios", CONSISTENT, message, figures)
    if options.delta:
        deviation = float(np.sqrt((scores.var(axis=1, ddof=1)).mean()))
        distance = abs(float(scores[1].mean() - scores[0].mean())) / deviation
        rho = float(sum(options.rates().values())) * times**2
        reach = (2 * rho) ** 0.5 + float(norm.isf(alarm / 4)) * (2 / count) ** 0.5
        if distance > reach:
            raise Fault(f"Releases of neighbours are {distance:.3g} deviations apart; at most {reach:.3g} may be seen.")
    lengths = [len(each) for each in exact[0]]
    for place, ratios in excess.items():
        freedom = lengths[place] * len(ratios)
        tail = float(chi2.cdf(sum(ratios), freedom)) if options.delta else 1.0
        if tail < alarm / 4 / len(excess):
            raise Fault("The noise of a release's counts is smaller than its file says.")
    yield Finding(DISTRIBUTIONS, "noise", CONSISTENT, "Noise has at least the variance that the file states.")
