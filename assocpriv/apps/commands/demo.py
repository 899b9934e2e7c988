"""The whole way, for a newcomer: baskets, plan, reports, itemsets, rules, beside the truth only a demo may know."""

import math
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from assocpriv.apps.commands.warm_up import compile_told
from assocpriv.apps.progress import Progress
from assocpriv.apps.render import results as show
from assocpriv.apps.render.limits import LEVEL, limits_of
from assocpriv.apps.simulation import missed_lines, score_line, simulation_record
from assocpriv.core.errors import FileError
from assocpriv.core.privacy import Breach, parse_probability
from assocpriv.files.atomic import check_writable
from assocpriv.files.plans import write_plan
from assocpriv.lab.simulate import Simulation, simulate
from assocpriv.lab.synthetic import QuestSettings, generate_quest
from assocpriv.planning.planner import make_plan
from assocpriv.planning.sampling_loss import sampling_loss
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.plans.baskets.plan import Plan
from assocpriv.records.basket_files import ReadOptions, read_baskets
from assocpriv.records.basket_sizes import count_sizes
from assocpriv.records.baskets import Baskets
from assocpriv.server.itemsets.frames import mining_facts, write_itemsets
from assocpriv.server.itemsets.requests import AUTO, check_aim, check_min_support
from assocpriv.server.itemsets.rules import association_rules, rule_records, write_rules
from assocpriv.server.itemsets.undecided import describe_undecided

if TYPE_CHECKING:
    import pandas as pd

_FILES = ("plan.json", "reports.parquet", "itemsets.parquet", "rules.csv")
Say = Callable[[str], None]


def run_demo(
    *,
    say: Say,
    baskets: Path | None,
    format_: str | None,
    size: int,
    items: int,
    transaction_size: int,
    prior: str,
    posterior: str,
    min_support: str | None,
    min_confidence: str,
    seed: int | None,
    output: Path,
    top: int,
    force: bool,
) -> dict[str, Any]:
    """Run the demo; ``say`` shows a line to a person, the record returned holds everything for a program.

    Raises:
        AssocprivError: bad input, or files that exist already without ``force``.
    """
    promise = Breach(prior, posterior)
    if min_support is not None:
        check_aim(min_support, None)
    parse_probability(min_confidence, "the minimum confidence")
    paths = _prepare(output, force)
    progress, seconds = Progress(), {}
    start = perf_counter()
    raw = _baskets(baskets, format_, size, items, seed, progress)
    seconds["read" if baskets else "generate"] = perf_counter() - start
    say(f"{len(raw):,} baskets over {len(raw.catalogue):,} items, {raw.sizes.mean():.2f} items on average")
    start = perf_counter()
    plan = make_plan(raw.catalogue, transaction_size, promise, reports=len(raw), progress=progress.stage("planning"))
    seconds["plan"] = perf_counter() - start
    for line in ["", *show.plan_lines(plan, len(raw)), *show.loss_lines(sampling_loss(count_sizes(raw), plan))]:
        say(line)
    chosen = min_support if min_support is not None else _reachable_support(plan, len(raw))
    if chosen != AUTO:
        say(f"minimum support {check_min_support(chosen):.3%}")
    compile_told()
    result = simulate(raw, plan, chosen, seed=seed, progress=progress)
    seconds |= result.seconds
    start = perf_counter()
    rules = association_rules(result.itemsets, min_confidence)
    seconds["rules"] = perf_counter() - start
    start = perf_counter()
    _write(plan, result, rules, paths)
    seconds["write"] = perf_counter() - start
    _with_truth(rules, result)
    for line in _result_lines(result, rules, top):
        say(line)
    say(f"\ntime: {', '.join(f'{stage} {taken:.2f} s' for stage, taken in seconds.items())}")
    say(f"files: {', '.join(str(path) for path in paths)}")
    record = simulation_record(result) | {"seconds": seconds, "rules": rule_records(rules)}
    return record | {"plan": show.plan_record(plan, len(raw)), "files": [str(path) for path in paths]}


def _reachable_support(plan: Plan, n_reports: int) -> str:
    """Return 2%, or a support from which finds of every size can be believed (100% if there is none)."""
    least = max(limits_of(plan, n_reports)[LEVEL].values())
    return f"{min(max(math.ceil(least * 1000) / 1000, 0.02), 1.0)}" if least < 1 else "1"


def _prepare(output: Path, force: bool) -> list[Path]:
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make the folder {output}: {error.strerror or error}") from None
    return [check_writable(output / name, force=force) for name in _FILES]


def _baskets(
    path: Path | None, format_: str | None, size: int, items: int, seed: int | None, progress: Progress
) -> Baskets:
    if path is not None:
        told = progress.stage("reading", "B")
        raw, _ = read_baskets(path, None, ReadOptions(format_, repeats="merge", empty="keep", progress=told))
        sold = np.unique(raw.items).tolist()  # a .dat file numbers its items, and not every number need occur
        return raw.aligned(Catalogue(raw.catalogue[item] for item in sold))[0]
    settings = QuestSettings(n_baskets=size, n_items=items, seed=seed or 0)
    return generate_quest(settings, progress=progress.stage("generating"))


def _write(plan: Plan, result: Simulation, rules: "pd.DataFrame", paths: list[Path]) -> None:
    write_plan(plan, paths[0], force=True)
    result.reports.write(paths[1], force=True)
    # what a server would have: no column of truths
    mined = result.itemsets.drop(columns=["true_support", "raw_support"])
    write_itemsets(mined, paths[2], force=True)
    write_rules(rules, paths[3], force=True)


def _with_truth(rules: "pd.DataFrame", result: Simulation) -> None:
    unions = [a | c for a, c in zip(rules["antecedents"], rules["consequents"], strict=True)]
    whole = result.truth.supports(unions, raw=False)
    sides = result.truth.supports(rules["antecedents"], raw=False)
    rules["true_confidence"] = np.divide(whole, sides, out=np.zeros_like(whole), where=sides > 0)


def _result_lines(result: Simulation, rules: "pd.DataFrame", top: int) -> list[str]:
    itemsets = result.itemsets
    lines = ["", "Found in the reports; true: support within the sampled items, raw: in the whole baskets"]
    lines += show.threshold_lines(mining_facts(itemsets))
    for k in sorted(set(itemsets["length"])):
        lines += ["", *show.itemset_lines(itemsets[itemsets["length"] == k], top)]
    if not itemsets["frequent"].any():
        lines += [
            "nothing reaches this support: more baskets, a smaller --transaction-size (shorter baskets need fewer "
            "reports) or a weaker promise (a higher --posterior) make lower supports discoverable"
        ]
    lines += ["", *missed_lines(result.missed, top), score_line(result)]
    lines += describe_undecided(mining_facts(itemsets))
    return [*lines, "", *show.rule_lines(rules, top)]
