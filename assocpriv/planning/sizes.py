"""The question about sizes that goes with one about at most M items: which classes, which operator, which share.

Dummies of the reports of items tell how many baskets hold fewer than M items, exactly as well as they tell of items; of
longer ones they tell nothing, and those are what is sampled. So the classes begin at M (server/size_law.py cuts them).
The share is small, as all who answer are of no use for items: 2,000 people tell the law of sizes well
enough, 5% at most of few and 1% at least of many.

Of one of B classes and the dummy the best operators within γ are reports of ℓ of the B + 1 (subset selection, Ye and
Barg 2018), ℓ = 1 being generalized randomized response.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from assocpriv.planning.designs import Floats, WorstSupport, fixed_size_family, runs
from assocpriv.planning.expected import Sizes
from assocpriv.plans.question import Question
from assocpriv.plans.sizes_view import SizesView
from assocpriv.plans.transition import SupportModel
from assocpriv.server.size_law import fit_size_law, size_classes

if TYPE_CHECKING:
    from assocpriv.plans.baskets import Plan

_PEOPLE, _LEAST_SHARE, _MOST_SHARE = 2000, Fraction(1, 100), Fraction(1, 20)
_PARTS = 1000  # shares are whole numbers of these
_FORGED = (0.001, 0.01)
_SURE = 3.1  # standard errors, which one in a thousand exceeds
_TESTS = 20  # that share one false-alarm rate, about


def share_asked(reports: int) -> Fraction:
    """Return the share of the people who are asked about sizes, a whole number of thousandths.

    >>> str(share_asked(100_000)), str(share_asked(100))
    ('1/50', '1/20')
    """
    share = min(max(Fraction(_PEOPLE, reports), _LEAST_SHARE), _MOST_SHARE)
    return Fraction(math.ceil(share * _PARTS), _PARTS)


def with_sizes(
    question: Question, share: Fraction, limit: Fraction, reports: int, common_sizes: Iterable[int] = ()
) -> tuple[Question, ...]:
    """Return a question about items, and beside it one about sizes that so large a share is asked.

    ``limit`` is the γ that each report stays strictly below; ``common_sizes``, which many baskets are known to have,
    are classes of their own. There is no question about sizes where no transaction can hold more than M items.
    """
    if question.transaction_size >= question.n_items:
        return (question,)
    classes = size_classes(question.transaction_size, common_sizes)
    bounds = tuple(classes[classes <= question.n_items].tolist())
    objective, family = WorstSupport(1, max(1, int(reports * share))), fixed_size_family(1, len(bounds) + 1)
    operator = min(family.search(limit, objective, runs(1)), key=lambda design: design.error).operator(limit)
    asked = Question(len(bounds), operator, view=SizesView(bounds), weight=share.numerator)
    whole = Question(
        question.n_items, question.operator, question.generator, question.itemset_size,
        weight=share.denominator - share.numerator,
    )  # fmt: skip
    return whole, asked


# ---- forged answers


@dataclass(frozen=True, slots=True)
class Forged:
    """What a share of all reports, forged to say that baskets are of the largest class, does to undoing the sampling.

    ``factors`` are by itemset size what supports are multiplied by (server/size_law.py); ``noticed`` tells whether the
    check of the questions' shares flags so many answers about sizes 998 times in a thousand (server/crafted.py).
    """

    share: float
    factors: Mapping[int, float]
    noticed: bool


def forged_sizes(plan: "Plan", reports: int) -> tuple[Forged, ...]:
    """Return what forged ones among so many reports do, of baskets as usual; nothing without answers that tell of both.

    None, as many as the check of the questions' shares lets pass, .1% and 1%. Usual baskets are those
    of expected.py. All forged reports answer the question about sizes, which few honest ones do. Dummies bound how many
    baskets they can claim to hold M items or more, not how many items these hold.
    """
    # the planner, which needs nothing of it, starts sooner without
    from assocpriv.server.crafted import FALSE_ALARM, log_share_chance

    asked = plan.sizes
    if asked is None or 1 in (asked.amplification, plan.items.amplification):
        return ()
    share, limit = plan.share(asked), math.log(FALSE_ALARM / _TESTS)
    expected = float(reports * share)
    step = most = max(1, round(math.sqrt(expected)) // 8)

    def flagged(forged: int, fewer: float) -> bool:
        """Tell whether so many forged answers are flagged, were honest ones so many standard errors below the mean."""
        honest = (reports - forged) * share
        count = max(0, int(honest - fewer * math.sqrt(honest * (1 - share)))) + forged
        return log_share_chance(min(count, reports), reports, share) < limit

    while most < reports and not flagged(most + step, 0):
        most += step
    return tuple(
        Forged(part, _factors(plan, asked, reports, part), part > 0 and flagged(round(part * reports), _SURE))
        for part in sorted({0.0, most / reports, *_FORGED})
        if part < 1  # of so few reports all may be forged unnoticed, and nothing honest is left
    )


def _factors(plan: "Plan", asked: Question, reports: int, forged: float) -> dict[int, float]:
    """Return what supports are multiplied by where this share of the reports is forged."""
    sizes, bounds = Sizes.usual(plan.n_items).shares, np.array(plan.size_bounds)
    honest = reports * (1 - forged)
    claimed = np.append(np.zeros(len(bounds) - 1), reports * forged)
    below, classes = np.cumsum(sizes)[: bounds[0]], np.add.reduceat(sizes, bounds)
    of_items = _expected(plan.items, below, honest * float(plan.share(plan.items)), 0.0)
    of_sizes = _expected(asked, classes, honest * float(plan.share(asked)), claimed)
    law = fit_size_law(*of_items, *of_sizes, bounds, plan.n_items)
    return {k: law.undoing(int(bounds[0]), k)[0] for k in range(1, plan.items.itemset_size + 1)}


def _expected(question: Question, supports: Floats, honest: float, forged: "Floats | float") -> tuple[Floats, Floats]:
    """Return estimates of supports and their errors, expected of honest answers and forged ones that show entries."""
    none, held = (float(value) for value in SupportModel.of(question.operator).row(1))
    count = honest + float(np.sum(forged))
    shown = ((supports - none) / (held - none) * honest + forged) / count
    return none + (held - none) * shown, (held - none) * np.sqrt(np.clip(shown * (1 - shown), 0, None) / count)
