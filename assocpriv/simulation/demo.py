"""The demonstration: baskets, a plan, reports, itemsets and rules, compared with the truth."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from assocpriv.files.atomic import check_writable
from assocpriv.files.mined_tables import write_itemsets
from assocpriv.files.plan_files import write_plan
from assocpriv.guarantees.amplification import Guarantee
from assocpriv.guarantees.errors import FileError, build_options
from assocpriv.planning.basket_planner import make_plan
from assocpriv.planning.detection_limits import Forecast, forecast
from assocpriv.planning.expected_error import TruncationLoss, measure_truncation_loss
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.records.basket_files import read_baskets
from assocpriv.records.baskets import Baskets, count_sizes
from assocpriv.records.layout import ReadOptions
from assocpriv.server.baskets.mining import MiningRequest
from assocpriv.server.baskets.rules import derive_rules, write_rules
from assocpriv.simulation.basket_simulation import Progress, Simulation, simulate
from assocpriv.simulation.synthetic import QuestSettings, generate_quest

if TYPE_CHECKING:
    import pandas as pd


PAGE = "itemsets.html"  # written by the command
_FILES = ("plan.json", "reports.parquet", "itemsets.parquet", "rules.csv", PAGE)


@dataclass(frozen=True, slots=True)
class DemoSettings:
    """The settings of a demonstration.

    Attributes:
        baskets: a file, and its reading options as for ``read_baskets``; None to generate baskets.
        size: number of baskets to generate.
        items: number of items to generate.
        guarantee: the privacy guarantee of each report.
        min_support: minimum support, as ``"2%"``; None for the smallest distinguishable from noise.
        seed: random seed; None draws reports from the operating system's entropy, and generates the baskets of seed 0.

    Raises:
        AssocprivError: an invalid minimum support or confidence.

    >>> import assocpriv as ap
    >>> settings = ap.simulation.DemoSettings(None, 100, 50, ap.Guarantee("5%", "50%"), None, seed=1)
    >>> settings.size, settings.items
    (100, 50)
    """

    baskets: tuple[Path, Mapping[str, Any]] | None
    size: int
    items: int
    guarantee: Guarantee
    min_support: str | None
    seed: int | None

    def __post_init__(self) -> None:
        MiningRequest(self.min_support)


@dataclass(frozen=True, slots=True)
class DemoStart:
    """A demo before the collection: raw baskets, the plan with its detection limits, and the files to write."""

    settings: DemoSettings
    paths: tuple[Path, ...]
    baskets: Baskets
    prospects: Forecast
    loss: TruncationLoss
    seconds: dict[str, float]

    def finish(self, progress: Progress) -> "Demo":
        """Randomize, mine, compare with the truth and write the files."""
        plan, settings = self.prospects.plan, self.settings
        simulation = simulate(self.baskets, plan, settings.min_support, seed=settings.seed, progress=progress)
        clock = [perf_counter()]
        rules = derive_rules(simulation.itemsets).to_pandas()
        clock.append(perf_counter())
        # as a server would have it, without the true supports
        mined = simulation.itemsets.drop(columns=["true_support"])
        write_plan(plan, self.paths[0], force=True)
        simulation.reports.write(self.paths[1], force=True)
        write_itemsets(mined, self.paths[2], force=True)
        write_rules(rules, self.paths[3], force=True)
        clock.append(perf_counter())
        seconds = self.seconds | simulation.seconds | {"rules": clock[1] - clock[0], "write": clock[2] - clock[1]}
        return Demo(self, simulation, _with_truth(rules, simulation), seconds)


@dataclass(frozen=True, slots=True)
class Demo:
    """The result of a demo with the truth; ``rules`` also have their ``true_confidence``."""

    start: DemoStart
    simulation: Simulation
    rules: "pd.DataFrame"
    seconds: dict[str, float]


def start_demo(settings: DemoSettings, folder: Path, *, force: bool, progress: Progress) -> DemoStart:
    """Read or generate baskets, and make a plan for them.

    Args:
        settings: The settings of the demonstration.
        folder: The folder for the plan, reports, itemsets and rules that ``finish`` writes; created if it is missing.
        force: Replace existing files.
        progress: Called with (stage, done, total).

    Returns:
        The ``baskets``, the plan with its detection limits (``prospects``), and the loss by truncation; its
        ``finish(progress)`` makes the reports and mines them.

    Raises:
        FileError: Files that exist without ``force``, or a folder that cannot be created.
        AssocprivError: Baskets that cannot be read or generated, or that no operator fits.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> settings = ap.simulation.DemoSettings(None, 100, 50, ap.Guarantee("5%", "50%"), None, seed=1)
    >>> ap.simulation.start_demo(settings, Path(mkdtemp()), force=False, progress=lambda *_: None).baskets
    Baskets(100 baskets over 50 items)
    """
    paths = _check_folder(folder, force)
    clock = [perf_counter()]
    baskets = _baskets(settings, progress)
    clock.append(perf_counter())
    # no collector knows its baskets' sizes
    plan = make_plan(baskets.catalogue, settings.guarantee, reports=len(baskets))
    clock.append(perf_counter())
    prospects = forecast(plan, len(baskets), manipulated=False)
    loss = measure_truncation_loss(count_sizes(baskets), plan)
    seconds = {"read" if settings.baskets else "generate": clock[1] - clock[0], "plan": clock[2] - clock[1]}
    return DemoStart(settings, paths, baskets, prospects, loss, seconds)


def _check_folder(folder: Path, force: bool) -> tuple[Path, ...]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot create the folder {folder}: {error.strerror or error}") from None
    return tuple(check_writable(folder / name, force=force) for name in _FILES)


def _baskets(settings: DemoSettings, progress: Progress) -> Baskets:
    if settings.baskets is not None:
        path, layout = settings.baskets
        own = {"repeats": "merge", "empty": "keep", "progress": partial(progress, "reading")}
        return _of_used_items(read_baskets(path, None, build_options(ReadOptions, own | dict(layout)))[0])
    quest = QuestSettings(n_baskets=settings.size, n_items=settings.items, seed=settings.seed or 0)
    return generate_quest(quest, progress=partial(progress, "generating"))


def _of_used_items(baskets: Baskets) -> Baskets:
    """Return baskets over a catalogue of the items that occur; item numbers of a file may have gaps."""
    used, numbers = np.unique(baskets.items[baskets.offsets[0] : baskets.offsets[-1]], return_inverse=True)
    if len(used) in (0, len(baskets.catalogue)):
        return baskets
    catalogue = Catalogue([baskets.catalogue[item] for item in used.tolist()])
    return Baskets(catalogue, baskets.offsets - baskets.offsets[0], numbers.astype(np.int64))


def _with_truth(rules: "pd.DataFrame", simulation: Simulation) -> "pd.DataFrame":
    unions = [a | c for a, c in zip(rules["antecedents"], rules["consequents"], strict=True)]
    whole, sides = simulation.truth.supports(unions), simulation.truth.supports(rules["antecedents"])
    with_truth = rules.assign(true_confidence=np.divide(whole, sides, out=np.zeros_like(whole), where=sides > 0))
    with_truth.attrs = rules.attrs
    return with_truth
