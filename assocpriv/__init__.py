"""Mine association rules from baskets nobody may see::

    import assocpriv as ap

    plan = ap.plan(["milk", "bread", "eggs"], transaction_size=2, promise=ap.Breach("5%", "50%"))
    report = ap.randomize({"milk", "bread"}, plan)               # on the device: a few bytes
    itemsets = ap.mine(ap.read_reports("reports.parquet"), 0.05)  # at the server
    rules = ap.association_rules(itemsets, 0.6)

Names load on first use, so importing the package is instant. ``assocpriv.client`` sees raw baskets,
``assocpriv.server`` sees reports only, ``assocpriv.simulation`` may see both.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from assocpriv.plans.kind import on_first_use

# isort: off
# fmt: off
if TYPE_CHECKING:
    from assocpriv.api import (
        AssocprivError, Baskets, BeliefRange, Breach, Catalogue, Channel, Epsilon, Ledger, Plan, Reports,
        SystemEntropy, View, amplification_of, ask, ask_rules, association_rules, audit, breach_curve,
        catalogue, chart, combine, compose, downward_threshold, epsilon, excluded_fall, excluded_posterior,
        gather, highest_posterior, information_limit, inspect, inverse_worst_information, largest_rise,
        lowest_posterior, mine, mutual_information, page, plan, privacy, progress_bar, promise_needed,
        randomize, randomize_baskets, randomize_file, read_baskets, read_catalogue, read_itemsets, read_plan,
        read_reports, refine, report_items, reports_needed, simulate, simulate_rounds, to_arules, to_baskets,
        to_efficient_apriori, to_frame, upward_threshold, worst_information, write_catalogue, write_fimi,
        write_itemsets, write_page, write_plan, write_rules, write_spmf,
    )
# fmt: on
# isort: on

__version__ = "0.9.0"

__all__ = [
    "AssocprivError", "Baskets", "BeliefRange", "Breach", "Catalogue", "Channel", "Epsilon", "Ledger", "Plan",
    "Reports", "SystemEntropy", "View", "amplification_of", "ask", "ask_rules", "association_rules", "audit",
    "breach_curve", "catalogue", "chart", "combine", "compose", "downward_threshold", "epsilon", "excluded_fall",
    "excluded_posterior", "gather", "highest_posterior", "information_limit", "inspect",
    "inverse_worst_information", "largest_rise", "lowest_posterior", "mine", "mutual_information", "page", "plan",
    "privacy", "progress_bar", "promise_needed", "randomize", "randomize_baskets", "randomize_file", "read_baskets",
    "read_catalogue", "read_itemsets", "read_plan", "read_reports", "refine", "report_items", "reports_needed",
    "simulate", "simulate_rounds", "to_arules", "to_baskets", "to_efficient_apriori", "to_frame",
    "upward_threshold", "worst_information", "write_catalogue", "write_fimi", "write_itemsets", "write_page",
    "write_plan", "write_rules", "write_spmf",
]  # fmt: skip
_HOMES = {"assocpriv.api": tuple(__all__)}
_FRONTS = ("collect", "guided", "numeric", "spark", "suppress")

_names, __dir__ = on_first_use(globals(), _HOMES)


def __getattr__(name: str) -> object:
    """Return a public name, or a module that people import, as ``ap.numeric``."""
    return import_module(f"assocpriv.{name}") if name in _FRONTS else _names(name)
