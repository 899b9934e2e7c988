"""The door of charts in notebooks: the pictures of the pages as functions on matplotlib's axes (extra ``plot``).

Each returns the axes that it drew on, which are new ones unless some are given.
"""

import math
import re
from typing import TYPE_CHECKING, Any

from assocpriv.core.loading import on_first_use

if TYPE_CHECKING:
    import pandas as pd

    from assocpriv.plans.baskets.plan import Plan
    from assocpriv.server.numeric.distributions import Distribution

__all__ = ["discoverable", "distribution", "rules", "supports"]
_HOMES: dict[str, tuple[str, ...]] = {}
_SURE, _DOUBT, _NOISE = "#0969da", "#9aa4af", "#e8ebee"
_LIFT_COLOURS, _LIFT_RANGE = "cividis", (0.5, 5.0)
_TURNS = re.compile("[\u202a-\u202e\u2066-\u2069]")  # of the direction of what stands beside them
_FEWEST, _MOST, _POINTS = 3, 9, 25  # powers of ten of reports, and how many of them are computed

__getattr__, __dir__ = on_first_use(globals(), _HOMES)


def supports(itemsets: "pd.DataFrame", ax: Any = None, *, top: int = 30) -> Any:
    """Draw the surest itemsets of a mined table with their intervals, pale where they may be chance.

    Args:
        itemsets: as :func:`assocpriv.mine` returns it.
        ax: axes to draw on.
        top: how many itemsets.

    Raises:
        EstimateError: a table that was not mined here.
        PlanError: the extra ``assocpriv[plot]`` is missing.
    """
    import numpy as np

    from assocpriv.core.light_frame import LightFrame
    from assocpriv.server.itemsets.frames import mining_facts
    from assocpriv.server.itemsets.selection import Surest

    ax = _axes(ax)
    facts, frame = mining_facts(itemsets), LightFrame.of(itemsets)
    surest = Surest.of(frame, top)
    shown, sure = surest.rows.take(np.arange(len(surest.rows))[::-1]), surest.sure[::-1]
    support = shown["support"]
    places = np.arange(len(support))
    ends = np.stack([support - shown["ci_low"], shown["ci_high"] - support])
    for mask, colour, label in ((sure, _SURE, "sure"), (~sure, _DOUBT, "may be chance")):
        if mask.any():
            ax.errorbar(support[mask], places[mask], xerr=ends[:, mask], fmt="o", color=colour, label=label, capsize=2)
    ax.axvline(facts.min_support, color=_DOUBT, linestyle=":", label="minimum support")
    ax.set_yticks(places, [_text(", ".join(sorted(each))) for each in shown["itemsets"]])
    ax.set_xlabel(f"support, with intervals of {100 * facts.errors.confidence_level:g}%")
    ax.xaxis.set_major_formatter(_percent())
    ax.legend(frameon=False)
    return ax


def rules(rules: "pd.DataFrame", ax: Any = None) -> Any:
    """Draw rules by support and confidence, with two standard errors of confidence; the colour is the lift.

    Args:
        rules: as :func:`assocpriv.association_rules` returns them.
        ax: axes to draw on.

    Raises:
        EstimateError: no table of rules.
        PlanError: the extra ``assocpriv[plot]`` is missing.
    """
    from assocpriv.server.itemsets.rules import check_rules

    check_rules(rules)
    ax = _axes(ax)  # says what to install
    from matplotlib.colors import LogNorm
    from matplotlib.ticker import NullFormatter

    told = rules[rules["confidence"].notna() & (rules["support"] > 0)]
    if "confidence_std_error" in told.columns:
        errors = 2 * told["confidence_std_error"]
        ax.errorbar(told["support"], told["confidence"], yerr=errors, fmt="none", ecolor=_DOUBT, alpha=0.5, zorder=1)
    colours = {"c": told["lift"].clip(*_LIFT_RANGE), "cmap": _LIFT_COLOURS, "norm": LogNorm(*_LIFT_RANGE)}
    drawn = ax.scatter(told["support"], told["confidence"], **colours, zorder=2)
    bar = ax.figure.colorbar(drawn, ax=ax, label="lift", ticks=[0.5, 1, 2, 5])
    bar.ax.set_yticklabels(["0.5 or less", "1: as by chance", "2", "5 or more"])
    if len(told):
        ax.set_xscale("log")
    ax.set_ylim(-0.02, 1.05)
    ax.set_xlabel("support")
    ax.set_ylabel("confidence")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(_percent())
    ax.xaxis.set_minor_formatter(NullFormatter())
    bar.ax.minorticks_off()
    return ax


def discoverable(plan: "Plan", ax: Any = None) -> Any:
    """Draw from which support on all itemsets of a size can be told, for so many reports of a plan.

    Args:
        plan: of baskets.
        ax: axes to draw on.

    Raises:
        PlanError: another kind of plan, or the extra ``assocpriv[plot]`` is missing.
    """
    import numpy as np

    from assocpriv.planning.plan_facts import foresee
    from assocpriv.plans.baskets.plan import Plan

    plan, ax = Plan.of(plan), _axes(ax)
    reports = np.unique(np.logspace(_FEWEST, _MOST, _POINTS).round().astype(int))
    levels = [foresee(plan, int(n)).discoverable.level for n in reports]
    for size in levels[0]:
        least = np.array([level[size] for level in levels])
        seen = least <= 1
        if seen.any():
            ax.plot(reports[seen], least[seen], label=f"{size} item{'s' * (size > 1)}")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("reports")
    ax.set_ylabel("lowest support that can be told, all of a size")
    ax.yaxis.set_major_formatter(_percent())
    ax.grid(color=_NOISE)
    ax.legend(frameon=False)
    return ax


def distribution(column: "Distribution", ax: Any = None) -> Any:
    """Draw a reconstructed column: the distribution function within its band, or shares of values with their errors.

    Args:
        column: of what :func:`assocpriv.numeric.reconstruct` returns, ``found.columns["age"]``.
        ax: axes to draw on.

    Raises:
        PlanError: the extra ``assocpriv[plot]`` is missing.
    """
    import numpy as np

    from assocpriv.server.numeric.distributions import Distribution

    if not isinstance(column, Distribution):
        raise TypeError(
            f"column must be one that numeric.reconstruct returns, as found.columns['age'], not {type(column).__name__}"
        )
    ax = _axes(ax)
    if column.numbers is None:
        places = np.arange(len(column.share))
        ax.bar(places, column.share, yerr=1.96 * column.std_error, color=_SURE, ecolor=_DOUBT, capsize=2)
        ax.set_xticks(places, [_text(str(value)) for value in column.values], rotation=45, ha="right")
        ax.set_ylabel("share, with intervals of 95%")
    else:
        numbers = column.numbers
        ax.fill_between(numbers.edges, numbers.cdf_low, numbers.cdf_high, color=_DOUBT, alpha=0.35, label="band")
        ax.plot(numbers.edges, np.append(0.0, np.cumsum(column.share)), color=_SURE, label="estimate")
        ax.set_ylabel("share of values below")
        ax.legend(frameon=False)
    ax.set_xlabel(_text(column.name))
    ax.yaxis.set_major_formatter(_percent())
    return ax


def _axes(ax: Any) -> Any:
    """Return given axes, or new ones."""
    from assocpriv.core.errors import PlanError

    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise PlanError("charts are drawn by matplotlib: pip install 'assocpriv[plot]'") from None
    return plt.subplots(layout="constrained")[1]


def _percent() -> Any:
    from matplotlib.ticker import FuncFormatter

    return FuncFormatter(lambda share, _place: f"{100 * share:g}%" if math.isfinite(share) else "")


def _text(name: str) -> str:
    """Return a name as it is shown: cut where it is long, forwards, without mathematics, which matplotlib would set."""
    name = _TURNS.sub("\ufffd", name)
    shown = name if len(name) <= 40 else f"{name[:39]}…"
    return shown.replace("$", r"\$")
