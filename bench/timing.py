"""Medians over rounds in which the sides of a comparison take turns."""

import statistics
from collections.abc import Callable
from time import perf_counter

ROUNDS = 5


def seconds(action: Callable[[], object]) -> float:
    """Return the time one call takes."""
    start = perf_counter()
    action()
    return perf_counter() - start


def medians(*actions: Callable[[], object]) -> list[float]:
    """Return each action's median time; a first round warms up and does not count."""
    rounds = [[seconds(action) for action in actions] for _ in range(ROUNDS + 1)][1:]
    return [statistics.median(times) for times in zip(*rounds, strict=True)]
