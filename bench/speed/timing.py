"""Medians over rounds in which the compared sides take turns."""

import statistics
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

ROUNDS = 5
TURNS = 3
LONG_S = 20.0  # longer runs are measured once


def seconds(action: Callable[[], object]) -> float:
    """Return the seconds that one call takes."""
    start = perf_counter()
    action()
    return perf_counter() - start


def medians(*actions: Callable[[], object], rounds: int = ROUNDS) -> list[float]:
    """Return each action's median time; a first round warms up and does not count."""
    times = [[seconds(action) for action in actions] for _ in range(rounds + 1)][1:]
    return [statistics.median(column) for column in zip(*times, strict=True)]


def take_turns(runs: Mapping[str, Callable[[], dict[str, Any]]], turns: int = TURNS) -> dict[str, dict[str, Any]]:
    """Run every side once per round and return each side's medians; long and failed runs get one round.

    A run returns figures with ``process_s``, or the reason of its failure as ``failure``.
    """
    outcomes: dict[str, list[dict[str, Any]]] = {name: [] for name in runs}
    for turn in range(turns):
        for name, run in runs.items():
            if turn == 0 or _again(outcomes[name][-1]):
                outcomes[name].append(run())
    return {name: middle(rounds) for name, rounds in outcomes.items()}


def _again(outcome: dict[str, Any]) -> bool:
    return "failure" not in outcome and outcome["process_s"] <= LONG_S


def middle(outcomes: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the first outcome with the medians of all figures, or a failure if there is one."""
    failed = [outcome for outcome in outcomes if "failure" in outcome]
    if failed:
        return failed[0]
    merged = dict(outcomes[0])
    for name, value in merged.items():
        if isinstance(value, float):
            merged[name] = statistics.median(outcome[name] for outcome in outcomes if name in outcome)
    return merged | {"rounds": len(outcomes)}
