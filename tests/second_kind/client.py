"""The device: an answer -> a report."""

from typing import Any

from assocpriv.promise.entropy import Entropy
from assocpriv.promise.errors import BasketError
from tests.second_kind.plan import NO, YES, YesNoPlan


def randomize_answer(record: Any, plan: YesNoPlan, *, entropy: Entropy) -> bytes:
    """Return the report of an answer, given as the one name ``yes`` or ``no``."""
    if list(record) not in (["yes"], ["no"]):
        raise BasketError("an answer must be the one word yes or no")
    answers = [YES, NO] if list(record) == ["yes"] else [NO, YES]
    return answers[entropy.pick([plan.truth, plan.truth + plan.lie])]
