"""Rounds: what the frequent items of one collection are worth to the next one, with other people.

Every person answers once, in one of up to four groups, and γ covers each answer whole:

    sizes      a few people answer only the bucket that their basket's size lies in: it decides on M, and what
               sampling loses
    items      which items are frequent at all: every item of the catalogue, a design for single items
    shortlist  the items that may belong to the wanted itemsets become the catalogue: baskets are shorter there, M and
               noise smaller, reports of a fixed size the best; single items, pairs and triples are estimated
    itemsets   the wanted itemsets themselves are the entries of a catalogue, each as sharp as a single item

M is chosen for the least mean squared error: variance / (share kept)² and the bias that undoing the sampling may leave.
Raw baskets are seen only where a simulation randomizes them; every decision uses reports alone.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.privacy import Breach
from assocpriv.files.tables import join_names
from assocpriv.planning.focus import Focus, focused_operator, single_focus
from assocpriv.planning.planner import check_range, choose_generator
from assocpriv.plans.baskets.catalogue import MAX_ITEMS, Catalogue
from assocpriv.plans.baskets.generator import Generator
from assocpriv.plans.baskets.operator import FixedSizeOperator
from assocpriv.plans.baskets.plan import Plan
from assocpriv.plans.baskets.view import View
from assocpriv.server.rounds.sampling_model import SizeShares

Floats = NDArray[np.float64]
BOUNDS = (0, 1, 2, 3, 4, 6, 8, 11, 16, 24, 40)
LARGEST_SIZE = 200
_PLAIN = View()
_PLANNED_BIAS = 0.5  # of what sampling loses, undone by the model, this much may be wrong: for the choice of M
_LIFTED = 1.5  # how much likelier a pair is than its items' product, for planning
_LEAST_WEIGHTS = {1: 0.05, 2: 0.25, 3: 0.05}  # patterns show only once pairs and triples are asked for
_TYPICAL = 0.03  # support of a wanted item before anything is known
_WITH_PAIRS = ((2, 0.4, (0.9, 0.08, 0.02)), (3, 0.1, (0.85, 0.1, 0.035, 0.015)))
_TRANSACTION_SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 10)
_LEAST_ITEMS, _MOST_ITEMS = 0.3, 0.6  # shares of the people who are asked about all items
_SHARES_LATER = (2, 3, 4, 5, 6, 8)


@dataclass(frozen=True, slots=True)
class Schedule:
    """How people are split over rounds, and how many entries the later catalogues have.

    Attributes:
        rounds: 1 (items alone), 2 (and a shortlist) or 3 (and itemsets).
        sizes: share of the people who tell sizes.
        items: share of the people who are asked about all items; by default what their answers suggest
            (:func:`items_share`). With one round all that are left.
        itemsets: with three rounds, share of those left then who are asked about itemsets; the others answer for the
            shortlist.
        shortlist: entries of the shortlist, a multiple of the itemsets wanted: at least this many …
        most: … and at most this many, as far as items lie within ``within`` standard errors of the wanted ones.
        candidates: entries of the catalogue of itemsets, a multiple of the itemsets wanted.
    """

    rounds: int = 3
    sizes: float = 0.02
    items: float | None = None
    itemsets: float = 0.42
    shortlist: float = 1.25
    most: float = 4.0
    within: float = 1.5
    candidates: float = 1.5

    def shares(self, items: float) -> tuple[float, ...]:
        """Return the shares of the people by group, sizes, items, shortlist, itemsets, with this one of items."""
        asked = min(items, 1 - self.sizes) if self.rounds > 1 else 1 - self.sizes
        rest = 1 - self.sizes - asked
        itemsets = self.itemsets * rest if self.rounds > 2 else 0.0
        return self.sizes, asked, rest - itemsets, itemsets


def items_share(n_items: int, promise: Breach, sizes: SizeShares, people: int, wanted: int) -> float:
    """Return which share of the people to ask about all items: more, the larger the noise is beside what is looked for.

    Looked for are items as frequent as the last of those wanted, were supports to follow Zipf's law and add up to the
    mean size of a basket. With noise of a third of that, 45% are asked; 12% more each time it doubles.

    Args:
        n_items: of the catalogue.
        promise: the breach that no report may cause.
        sizes: of baskets.
        people: in all rounds together.
        wanted: itemsets.
    """
    focus = single_focus(_TYPICAL)
    m = _best_size(n_items, promise, focus, sizes, max(people // 2, 1), _TRANSACTION_SIZES)
    operator = focused_operator(m, n_items + m, promise.amplification_limit, focus)
    noise = math.sqrt(max(focus.error(operator), 0.0) / max(people / 2, 1.0)) / _kept(sizes, m, 1)
    harmonic = math.log(n_items) + 0.577
    looked_for = max(sizes.mean, 0.01) / (min(wanted, n_items) * harmonic)
    share = 0.45 + 0.12 * math.log2(max(noise / looked_for / 0.3, 1e-9))  # no noise at all under very weak promises
    return min(max(share, _LEAST_ITEMS), _MOST_ITEMS)


# ---- plans


def plan_sizes(promise: Breach, bounds: Sequence[int] = BOUNDS, counted: Sequence[str] = ()) -> Plan:
    """Return the plan for people who answer only which bucket their basket's size lies in.

    Args:
        promise: the breach that no report may cause.
        bounds: the least size of each bucket, from 0.
        counted: names that count; all by default.
    """
    ends = [*(str(high - 1) for high in bounds[1:]), ""]
    names = [low if low == high else f"{low}-{high}" for low, high in zip(map(str, bounds), ends, strict=True)]
    view = View(kind="sizes", others="drop", bounds=tuple(bounds), counted=tuple(counted))
    focus = single_focus(1 / len(bounds))
    return _plan(Catalogue(names), 1, promise, focus, view)


def plan_items(catalogue: Catalogue, promise: Breach, sizes: SizeShares, people: int, *, pairs: bool = False) -> Plan:
    """Return the plan for a whole catalogue, M chosen for baskets of these sizes.

    Args:
        catalogue: the items.
        promise: the breach that no report may cause.
        sizes: of the baskets.
        people: who will report.
        pairs: whether there will be no other round, so that pairs and triples count, too.
    """
    focus = Focus((*single_focus(_TYPICAL).sizes, *_WITH_PAIRS)) if pairs else single_focus(_TYPICAL)
    most = max(len(catalogue), focus.largest)
    choices = [m for m in _TRANSACTION_SIZES if focus.largest <= m <= most]
    m = _best_size(len(catalogue), promise, focus, sizes, people, choices)
    return _plan(catalogue, m, promise, focus, View())


def plan_shortlist(
    names: Sequence[str], supports: Floats, promise: Breach, sizes: SizeShares, people: int, wanted: int
) -> tuple[Plan, SizeShares]:
    """Return the plan for a shortlist of items, and what is expected of the sizes of what baskets hold of it.

    Args:
        names: of the items.
        supports: estimates of theirs, float64 (items,).
        promise: the breach that no report may cause.
        sizes: of whole baskets.
        people: who will report.
        wanted: itemsets.
    """
    left = sizes.thinned(float(np.clip(supports, 0, 1).sum()))
    focus = expected_focus(supports, wanted)
    m = _best_size(len(names), promise, focus, left, people, [m for m in _SHARES_LATER if m >= focus.largest])
    return _plan(Catalogue(names), m, promise, focus, View(others="drop")), left


def plan_itemsets(
    itemsets: Sequence[Sequence[str]], supports: Floats, promise: Breach, held: SizeShares, people: int
) -> Plan:
    """Return the plan whose catalogue's entries are itemsets.

    Args:
        itemsets: names of the items of each.
        supports: estimates of theirs, float64 (itemsets,).
        promise: the breach that no report may cause.
        held: of how many of them baskets hold.
        people: who will report.
    """
    entries = [tuple(sorted(names)) for names in itemsets]
    focus = single_focus(float(np.clip(supports, 0.001, 0.5).mean()))
    m = _best_size(len(entries), promise, focus, held, people, _TRANSACTION_SIZES)
    view = View(kind="itemsets", others="drop", itemsets=tuple(entries))
    return _plan(Catalogue([join_names(list(names)) for names in entries]), m, promise, focus, view)


def _plan(catalogue: Catalogue, m: int, promise: Breach, focus: Focus, view: View) -> Plan:
    padded = len(catalogue) + m
    operator = focused_operator(m, padded, promise.amplification_limit, focus)
    if isinstance(operator, FixedSizeOperator):
        generator = Generator()
    else:
        generator = choose_generator("auto", padded, operator.insert_bits, m + focus.largest)
    return Plan(catalogue, m, focus.largest, (operator,), generator, promise, view=view)


def _best_size(
    n_items: int, promise: Breach, focus: Focus, sizes: SizeShares, people: int, choices: Sequence[int]
) -> int:
    """Return the M with the least expected squared error: undoing the sampling adds noise and leaves some bias."""

    def error(m: int) -> float:
        kept = {k: _kept(sizes, m, k) for k, _, _ in focus.sizes}
        noisier = Focus(tuple((k, weight / kept[k] ** 2, shares) for k, weight, shares in focus.sizes))
        operator = focused_operator(m, n_items + m, promise.amplification_limit, focus)
        bias = sum(weight * (_PLANNED_BIAS * (1 - kept[k]) * shares[-1]) ** 2 for k, weight, shares in focus.sizes)
        return noisier.error(operator) / people + bias

    return min(choices, key=error)


def _kept(sizes: SizeShares, m: int, k: int) -> float:
    """Return the share of all k-itemsets' support that sampling to m leaves, on average."""
    ways = np.array([float(math.comb(c, k)) for c in sizes.sizes.tolist()])
    total = float(sizes.shares @ ways)
    return max(float(sizes.shares @ (ways * sizes.kept(m, k))) / total, 1e-3) if total > 0 else 1.0


def expected_focus(supports: Floats, wanted: int) -> Focus:
    """Return what to plan for: which sizes the wanted itemsets have, were items held together a little too often.

    Args:
        supports: estimates of the items, float64 (items,).
        wanted: number of itemsets.
    """
    items = np.sort(np.clip(supports, 1e-4, 0.95))[::-1]
    few = items[:40]
    left, right = np.triu_indices(len(items), 1)
    triples = np.array(list(combinations(few[:20], 3))).reshape(-1, 3).prod(axis=1)
    guesses = {1: items, 2: _LIFTED * items[left] * items[right], 3: _LIFTED**3 * triples}
    least = np.sort(np.concatenate(list(guesses.values())))[::-1][: max(wanted, 1)][-1]
    sizes = []
    for k, guess in guesses.items():
        among = guess[guess >= least]
        weight = max(len(among) / wanted, _LEAST_WEIGHTS[k])
        support = float(np.clip(among.mean() if len(among) else least / 2, 1e-3, 0.5))
        sizes.append((k, round(weight, 2), _typical_shares(k, support)))
    return Focus(tuple(sizes))


def _typical_shares(k: int, support: float) -> tuple[float, ...]:
    """Return shares s_0 … s_k for an itemset of this support whose items are held independently but for the lift."""
    item = min((support / _LIFTED ** (k * (k - 1) / 2)) ** (1 / k), 0.9)
    below = [math.comb(k, held) * item**held * (1 - item) ** (k - held) for held in range(k)]
    scale = (1 - support) / sum(below)
    return _rounded([share * scale for share in below], support)


def _rounded(below: list[float], support: float) -> tuple[float, ...]:
    """Round shares, so that nearly equal ones are planned alike; the first takes the rest."""
    rest = [round(share, 3) for share in below[1:]]
    last = round(support, 3)
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
    if isinstance(names, int):
        check_range("items", names, 1, MAX_ITEMS)
    plan = plan_sizes(promise, counted=sorted(map(str, range(names)) if isinstance(names, int) else names))
    return replace(plan, view=replace(plan.view, others="drop", parents=view.parents, left_out=view.left_out))
