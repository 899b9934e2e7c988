"""Plans of guided perturbation and people for tests."""

from fractions import Fraction

import numpy as np

from assocpriv.client.guided import randomize_inputs
from assocpriv.plans.guidance import Guidance
from assocpriv.plans.guided import category, class_label, number, plan_guided
from assocpriv.promise.breaches import Breach

LABEL = class_label("class", ("no", "yes"))


def small_plan(keep=None, promise=None, **settings):
    """A plan of two attributes and five bits."""
    attributes = [category("vote", ("n", "y")), number("age", [Fraction(30), Fraction(60)])]
    kept = {} if keep is None else {"promise": promise or Breach("5%", "50%"), "keep": keep}
    return plan_guided(attributes, LABEL, **kept, **settings)


def votes_plan(n=24, labels=("no", "yes"), **settings):
    """A plan of n questions of yes or no."""
    return plan_guided(
        [category(f"v{place}", ("n", "y")) for place in range(n)], class_label("class", labels), **settings
    )


def random_guidance(plan, level, rng, serial=1):
    """Guidance of random directions."""
    vectors, _ = np.linalg.qr(rng.standard_normal((plan.width, level)))
    return Guidance.of_vectors(plan, serial, vectors)


def random_people(plan, n, rng):
    """Positions, (n, attributes), and classes, (n,), of people who are nobody."""
    return rng.integers(0, np.array(plan.sizes), (n, len(plan.sizes))), rng.integers(0, len(plan.labels), n)


def randomize_tuples(positions, classes, plan, guidance, *, entropy):
    """Reports of tuples that answer guidance, by the shipping client."""
    inputs = np.column_stack([positions, classes]).astype(np.int32)
    return np.concatenate(list(randomize_inputs([inputs], plan, guidance, entropy=entropy)))
