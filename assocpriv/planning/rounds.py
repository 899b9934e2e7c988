"""Rounds: what the frequent items of one collection are worth to the next one, with other people.

Every person answers once, in one of up to four groups, and γ covers each answer whole:

    sizes      a few people answer only the bucket that their basket's size lies in: it decides on M, and what
               sampling loses
    items      which items are frequent at all: every item of the catalogue, a design for single items
    shortlist  the items that may belong to the wanted itemsets become the catalogue: baskets are shorter there, M and
               noise smaller, reports of a fixed size the best; single items, pairs and triples are estimated
    itemsets   the wanted itemsets themselves are the entries of a catalogue, each as sharp as a single item

M is chosen for the least mean squared error: variance / (share left)² and the bias that undoing the sampling may leave.
Every decision uses reports alone.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.errors import PlanError
from assocpriv.core.numbers import check_range
from assocpriv.core.privacy import Breach
from assocpriv.files.tables import join_names
from assocpriv.planning.designs import Family, Focus, Moments, insertion_families, pattern_errors
from assocpriv.planning.fixed_size_designs import AnyDesign, fixed_size_families
from assocpriv.plans.baskets.blocks import Blocks
from assocpriv.plans.baskets.catalogue import MAX_ITEMS, Catalogue
from assocpriv.plans.baskets.plan import Plan
from assocpriv.plans.baskets.view import View
from assocpriv.server.rounds.knowledge import LIFT, Itemset, Knowledge, ranked
from assocpriv.server.rounds.sampling_model import LEFT_BIAS, Sampling, SizeShares

Floats = NDArray[np.float64]
BOUNDS = (*range(9), *range(10, 25, 2), 27, 30, 34, 40, 48, 60, 80, 110, 150, 200, 300)
MOST_PIECES = 256
LEAST_SHORTLIST = 4
_PLAIN = View()
_INSERT_BITS = 7
_MOST_FIXED_ITEMS = 400  # with the dummies; beyond, independent insertion is as good
_LEAST_WEIGHTS = {1: 0.05, 2: 0.25, 3: 0.05}  # patterns show only once pairs and triples are asked for
_TYPICAL = 0.03  # support of a wanted item before anything is known
_WITH_PAIRS = ((2, 0.4, (0.9, 0.08, 0.02)), (3, 0.1, (0.85, 0.1, 0.035, 0.015)))
TRANSACTION_SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15)
_LEAST_ITEMS, _MOST_ITEMS = 0.3, 0.6  # shares of the people who are asked about all items
_SHORTLIST_SIZES = (2, 3, 4, 5, 6, 8, 10, 12, 15)


@dataclass(frozen=True, slots=True)
class PeopleSplit:
    """How people are split over 1 (items alone), 2 (and a shortlist) or 3 (and itemsets) rounds.

    ``sizes`` and ``items`` are shares of all people, of the latter by default :func:`items_share`; ``itemsets`` is one
    of those who are left then.
    """

    rounds: int = 3
    sizes: float = 0.02
    items: float | None = None
    itemsets: float = 0.42
    rule: "EntryRule" = field(default_factory=lambda: EntryRule())

    def shares(self, items: float) -> tuple[float, ...]:
        """Return the shares of the people by group, sizes, items, shortlist, itemsets, with this one of items."""
        asked = min(items, 1 - self.sizes) if self.rounds > 1 else 1 - self.sizes
        rest = 1 - self.sizes - asked
        itemsets = self.itemsets * rest if self.rounds > 2 else 0.0
        return self.sizes, asked, rest - itemsets, itemsets


@dataclass(frozen=True, slots=True)
class EntryRule:
    """Which items and itemsets later rounds ask about.

    A shortlist has the items whose expected support and ``reach`` spreads reach that of the last itemset wanted, a
    catalogue of itemsets those that belong to the wanted ones with a probability of ``chance`` or more; between
    ``least`` and ``most`` times as many as are wanted.
    """

    reach: float = 1.5
    most: float = 4.0
    chance: float = 0.02
    least: float = 1.1
    most_entries: float = 3.0

    def shortlisted(self, known: Knowledge, wanted: int) -> list[int]:
        """Return the items that may belong to the wanted itemsets, increasing."""
        singles: Knowledge = {itemset: value for itemset, value in known.items() if len(itemset) == 1}
        least = guessed_least(np.array([value.expected for value in singles.values()]), wanted)
        upper = {a: value.expected + self.reach * value.spread**0.5 for a, value in singles.items()}
        order = sorted(singles, key=lambda a: (-upper[a], a))
        count = max(sum(upper[a] >= least for a in order), min(LEAST_SHORTLIST, len(order)))
        return sorted(item for (item,) in order[: min(count, round(self.most * wanted))])

    def candidates(self, known: Knowledge, wanted: int) -> list[Itemset]:
        """Return the itemsets to ask about, by how probably they are among those wanted."""
        order = ranked(known, wanted)
        cut = known[order[-1]].expected
        chances = {a: value.chance(cut) for a, value in known.items()}
        best = sorted(known, key=lambda a: (-chances[a], -known[a].expected, len(a), a))
        count = sum(chances[a] >= self.chance for a in best)
        return best[: min(max(count, round(self.least * wanted)), round(self.most_entries * wanted))]


def guessed_least(items: Floats, wanted: int, largest: int = 4) -> float:
    """Return about which support the last of the wanted itemsets has, were items of these supports independent."""
    items = np.sort(np.clip(items, 0.0, 1.0))[::-1][: max(wanted, 1)]
    best, level = items, items
    place = np.arange(len(items))
    for _ in range(1, largest):
        products = level[:, None] * items[None, :]
        later = place[:, None] < np.arange(len(items))[None, :]
        products, ends = products[later], np.broadcast_to(np.arange(len(items)), later.shape)[later]
        keep = np.argsort(-products)[: 4 * wanted]
        level, place = products[keep], ends[keep]
        best = np.concatenate([best, level])
    return float(np.sort(best)[::-1][: max(wanted, 1)][-1])


@dataclass(frozen=True, slots=True)
class Risk:
    """The expected squared error of what is known once reports have been combined with what was expected before.

    For each size k of the focus: V_k = ``factor``_k · N·(mean squared error) + ``bias``_k is the variance of an
    estimate, τ_k² = ``spread``_k that of the supports around what is expected of them, and V τ² / (V + τ²) what is
    left: noise far above what is looked for costs no more for being larger still.
    """

    focus: Focus
    factors: tuple[float, ...]
    biases: tuple[float, ...]
    spreads: tuple[float, ...]

    @property
    def largest(self) -> int:
        """The largest itemset size."""
        return self.focus.largest

    @property
    def wanted(self) -> list[tuple[int, int]]:
        """All numbers of items held, of every size."""
        return self.focus.wanted

    def errors(self, moments: Moments) -> Floats:
        """Return the risk for every pattern, float64 (patterns,)."""
        total: Floats = np.zeros(len(next(iter(moments.values()))))
        parts = zip(self.focus.sizes, self.factors, self.biases, self.spreads, strict=True)
        for (k, weight, shares), factor, bias, spread in parts:
            by_held = np.column_stack([moments[k, held] for held in range(k + 1)])
            variance = factor * (by_held @ np.array(shares) - shares[-1] ** 2) + bias
            total += weight * variance * spread / (variance + spread)
        return total


@dataclass(frozen=True, slots=True)
class People:
    """Whom a round asks: the breach that no report may cause, how many report, and the sizes of their transactions."""

    promise: Breach
    count: int
    sizes: SizeShares

    def plan(self, catalogue: Catalogue, focus: Focus, view: View, choices: Sequence[int], *, blocks: bool = True) -> Plan:
        """Return the plan whose M, of the choices, and blocks, if any, have the least risk."""
        sampling = self.best_sampling(len(catalogue), focus, choices, blocks=blocks)
        m, padded = sampling.m, sampling.block_items + sampling.m
        design = self._design(sampling, focus, fine=True)[0]
        limit = self.promise.amplification_limit
        generator, operator = design.generator("auto", padded, m + focus.largest), design.operator(limit)
        cut = blocks_of(sampling, len(catalogue), focus.largest)
        return Plan(
            catalogue, m, focus.largest, (operator,), generator, self.promise, view=replace(view, blocks=cut)
        )

    def best_sampling(self, n_items: int, focus: Focus, choices: Sequence[int], *, blocks: bool = True) -> Sampling:
        """Return the M and the size of blocks with the least risk."""
        best, least = Sampling(min(choices), n_items, n_items), math.inf
        people = replace(self, sizes=self.sizes.grouped())
        for pieces in piece_choices(n_items, focus.largest) if blocks else [1]:
            for m in choices:
                sampling = Sampling(m, n_items, -(-n_items // pieces))
                if m > sampling.block_items and m > min(choices):
                    break
                if m < choices[-1] and people.sizes.left(sampling, focus.largest) < 0.3:
                    continue
                risk = people._design(sampling, focus, fine=False)[1]
                if risk < least * (1 - 1e-9):
                    best, least = sampling, risk
                if people.sizes.left(sampling, focus.largest) > 0.9995:
                    break
        return best

    def _design(self, sampling: Sampling, focus: Focus, *, fine: bool) -> tuple[AnyDesign, float]:
        left = [self.sizes.left(sampling, k) for k, _, _ in focus.sizes]
        shares = [shares[-1] for _, _, shares in focus.sizes]
        factors = tuple(
            1 / (max(self.count, 1) * sampling.asked(k) * each**2)
            for (k, _, _), each in zip(focus.sizes, left, strict=True)
        )
        biases = tuple((LEFT_BIAS * (1 - each) * share) ** 2 for each, share in zip(left, shares, strict=True))
        risk = Risk(focus, factors, biases, tuple(share**2 for share in shares))
        padded, limit = sampling.block_items + sampling.m, self.promise.amplification_limit
        if focus.largest > 1:
            design = focused_design(sampling.m, padded, limit, risk, fine)
            return design, design.error
        # of single items alone the design with the least error has the least risk, whatever the number of people
        design = focused_design(sampling.m, min(padded, _MOST_FIXED_ITEMS + 1), limit, focus, fine)
        support = shares[0]
        variance = factors[0] * (design.error + support * (1 - support)) + biases[0]
        return design, variance * risk.spreads[0] / (variance + risk.spreads[0])


def piece_choices(n_items: int, largest: int) -> list[int]:
    """Return the numbers of pieces tried, a half apart, so that a block holds the largest itemsets asked for."""
    most = min(n_items // largest, MOST_PIECES)
    tried, pieces = [1], 2
    while pieces <= most:
        tried.append(pieces)
        pieces = max(pieces + 1, pieces * 3 // 2)
    return sorted({*tried, most}) if most > 1 else tried


def blocks_of(sampling: Sampling, n_items: int, largest: int) -> Blocks | None:
    """Return blocks of a size, cut so often that itemsets of ``largest`` items lie in ten blocks on average."""
    if not sampling.in_blocks:
        return None
    pieces = -(-n_items // sampling.block_items)
    partitions = min(max(16, 10 * pieces ** (largest - 1)), 4096 // pieces)
    return Blocks(partitions, pieces)


def items_share(n_items: int, people: People, wanted: int) -> float:
    """Return which share of the people, those of all rounds, to ask about all items: more, the larger the noise.

    Looked for are items as frequent as the last of those wanted, were supports to follow Zipf's law and add up to the
    mean size of a basket. With noise of a third of that, 45% are asked; 12% more each time it doubles.
    """
    focus = single_focus(_TYPICAL)
    half = replace(people, count=max(people.count // 2, 1))
    sampling = half.best_sampling(n_items, focus, TRANSACTION_SIZES)
    variance = half._design(sampling, focus, fine=True)[1]
    noise = math.sqrt(max(variance, 0.0))
    harmonic = math.log(n_items) + 0.577
    looked_for = max(people.sizes.mean, 0.01) / (min(wanted, n_items) * harmonic)
    share = 0.45 + 0.12 * math.log2(max(noise / looked_for / 0.3, 1e-9))  # no noise at all under very weak promises
    return min(max(share, _LEAST_ITEMS), _MOST_ITEMS)


# ---- the least squared error


def single_focus(support: float) -> Focus:
    """Return the focus on single items of one support."""
    return Focus(((1, 1.0, (1 - support, support)),))


@lru_cache(maxsize=2048)
def focused_design(m: int, items: int, limit: Fraction, focus: Focus | Risk, fine: bool = True) -> AnyDesign:
    """Return the design with the least error in a focus, of either kind, for m of ``items`` items, dummies included."""
    families: list[Family[AnyDesign]] = [*insertion_families(m, _INSERT_BITS if fine else 4)]
    if m + focus.largest <= items <= _MOST_FIXED_ITEMS:
        families += fixed_size_families(m, items, _report_sizes(items, focus.largest, 8 if fine else 3))
    least, best = math.inf, None
    for family in families:
        patterns, errors = pattern_errors(family, limit, focus, changes=focus.largest)
        if not len(errors):
            continue
        place = int(errors.argmin())
        if errors[place] < least:
            least = float(errors[place])
            best = family.design(patterns[place], least)
    if best is None:
        raise PlanError("no operator within this promise lets supports be estimated")
    return best


def _report_sizes(items: int, smallest: int, fineness: int) -> list[int]:
    """Return the report sizes tried: all small ones, then every second, …: the error changes slowly with large ℓ."""
    sizes, size = [], smallest
    while size <= items // 2:
        sizes.append(size)
        size += max(1, size // fineness)
    return sizes


# ---- plans


def plan_sizes(promise: Breach, bounds: Sequence[int] = BOUNDS, counted: Sequence[str] = ()) -> Plan:
    """Return the plan for people who answer only which bucket their basket's size lies in.

    ``bounds`` are the least sizes of the buckets, from 0; ``counted`` the names that count, all by default.
    """
    ends = [*(str(high - 1) for high in bounds[1:]), ""]
    names = [low if low == high else f"{low}-{high}" for low, high in zip(map(str, bounds), ends, strict=True)]
    view = View(kind="sizes", others="drop", bounds=tuple(bounds), counted=tuple(counted))
    one_bucket = People(promise, 1, SizeShares(np.ones(1, dtype=np.int64), np.ones(1)))
    return one_bucket.plan(Catalogue(names), single_focus(1 / len(bounds)), view, (1,), blocks=False)


def plan_items(catalogue: Catalogue, people: People, *, pairs: bool = False) -> Plan:
    """Return the plan for a whole catalogue; with ``pairs``, these and triples count, for no other round comes."""
    focus = Focus((*single_focus(_TYPICAL).sizes, *_WITH_PAIRS)) if pairs else single_focus(_TYPICAL)
    most = max(len(catalogue), focus.largest)
    return people.plan(catalogue, focus, View(), [m for m in TRANSACTION_SIZES if focus.largest <= m <= most])


def plan_shortlist(names: Sequence[str], supports: Floats, people: People, wanted: int) -> tuple[Plan, SizeShares]:
    """Return the plan for a shortlist of items of these estimated supports, and the sizes of what baskets hold of it.

    The people's sizes are those of whole baskets.
    """
    left = people.sizes.thinned(float(np.clip(supports, 0, 1).sum()))
    focus = expected_focus(supports, wanted)
    choices = [m for m in _SHORTLIST_SIZES if m >= focus.largest]
    return replace(people, sizes=left).plan(Catalogue(names), focus, View(others="drop"), choices), left


def plan_itemsets(itemsets: Sequence[Sequence[str]], supports: Floats, people: People) -> Plan:
    """Return the plan whose entries are itemsets of these estimated supports; people's sizes are how many they hold."""
    entries = tuple(tuple(sorted(names)) for names in itemsets)
    focus = single_focus(float(np.clip(supports, 0.001, 0.5).mean()))
    view = View(kind="itemsets", others="drop", itemsets=entries)
    catalogue = Catalogue([join_names(list(names)) for names in entries])
    return people.plan(catalogue, focus, view, TRANSACTION_SIZES)


def expected_focus(supports: Floats, wanted: int) -> Focus:
    """Return which sizes the wanted itemsets have, were items of these supports held together a little too often."""
    items = np.sort(np.clip(supports, 1e-4, 0.95))[::-1]
    few = items[:40]
    left, right = np.triu_indices(len(items), 1)
    triples = np.array(list(combinations(few[:20], 3))).reshape(-1, 3).prod(axis=1)
    guesses = {1: items, 2: LIFT * items[left] * items[right], 3: LIFT**3 * triples}
    least = np.sort(np.concatenate(list(guesses.values())))[::-1][: max(wanted, 1)][-1]
    sizes = []
    for k, guess in guesses.items():
        among = guess[guess >= least]
        weight = max(len(among) / wanted, _LEAST_WEIGHTS[k])
        support = float(np.clip(among.mean() if len(among) else least, 1e-3, 0.5))
        sizes.append((k, round(weight, 2), _typical_shares(k, support)))
    return Focus(tuple(sizes))


def _typical_shares(k: int, support: float) -> tuple[float, ...]:
    """Return shares s_0 … s_k for an itemset of this support whose items are held independently but for the lift."""
    item = min((support / LIFT ** (k * (k - 1) / 2)) ** (1 / k), 0.9)
    below = [math.comb(k, held) * item**held * (1 - item) ** (k - held) for held in range(k)]
    scale = (1 - support) / sum(below)
    # rounded, so that nearly equal ones are planned alike; the first takes the rest
    rest, last = [round(share * scale, 3) for share in below[1:]], round(support, 3)
    return (1 - sum(rest) - last, *rest, last)


def plan_histogram(promise: Breach, reports: int, names: "int | Catalogue | None" = None, view: View = _PLAIN) -> Plan:
    """Return the plan that asks for the sizes of baskets alone.

    Args:
        promise: the breach that no report may cause.
        reports: number of people who will report; the plan does not depend on it.
        names: number of the items that count, or their names; all names by default.
        view: how clients find these names in a basket.

    Raises:
        PlanError: a number out of range.
    """
    check_range("reports", reports, 1, 10**15)
    if names is None:
        return plan_sizes(promise)
    if not isinstance(names, Catalogue):
        names = Catalogue.numbered(check_range("items", names, 1, MAX_ITEMS))
    plan = plan_sizes(promise, counted=sorted(names))
    return replace(plan, view=replace(plan.view, others="drop", parents=view.parents, left_out=view.left_out))
