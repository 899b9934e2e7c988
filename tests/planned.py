"""Plans for tests that need a certain question: of either kind, with a code, or for sizes.

What the planner chooses is tested in tests/planning; other tests hold for any plan, and name the one they need.
"""

from fractions import Fraction

from assocpriv.planning.designs import FixedSizeFamily, WorstSupport, choose_generator, papers_family, runs
from assocpriv.planning.request import catalogue_of, limit_of_each
from assocpriv.planning.sizes import share_asked, with_sizes
from assocpriv.plans.baskets import Plan
from assocpriv.plans.names import Names
from assocpriv.plans.question import Question
from assocpriv.promise.breaches import parse_share

LONGEST_FIXED = 256


def planned(
    items, transaction_size=None, promise=None, *, itemset_size=None, reports=10**6, reports_per_person=1, names=None,
    kind="auto", code=None, sizes=None,
):  # fmt: skip
    """Return the plan with the least lowest discoverable support (LDS) within M items, within 2% the shortest.

    ``kind``: of items added ``independent`` or ``fixed-size``; ``sizes``: the share asked about sizes, or ``auto``.
    """
    catalogue, m = catalogue_of(items), transaction_size
    largest, limit = itemset_size or min(3, m), limit_of_each(promise, reports_per_person)
    objective, padded = WorstSupport(largest, reports), len(catalogue) + m
    families = []
    if kind != "fixed-size":
        families.append(papers_family(m))
    if kind == "fixed-size" or (kind == "auto" and code in (None, "none") and m + largest <= padded <= LONGEST_FIXED):
        families.append(FixedSizeFamily(m, padded, tuple(range(1, padded // 2 + 1))))
    designs = [design for family in families for design in family.search(limit, objective, runs(m))]
    least = min(design.error for design in designs)
    near = [design for design in designs if design.error <= 1.02 * least]
    design = min(near, key=lambda design: (design.report_bits(padded, m + largest), design.error))
    generator = design.generator(padded, m + largest)
    if code is not None and generator.kind != code:
        generator = choose_generator(padded, design.insert_bits, m + largest, code)
    question = Question(len(catalogue), design.operator(limit), generator, largest)
    share = (
        None if sizes is None else share_asked(reports) if sizes == "auto" else Fraction(parse_share(sizes, "share"))
    )
    questions = (question,) if share is None else with_sizes(question, share, limit, reports)
    return Plan(catalogue, questions, promise, names or Names(), reports_per_person)
