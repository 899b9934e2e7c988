"""Mine association rules from baskets nobody may see::

    import assocpriv as ap

    plan = ap.plan(["milk", "bread", "eggs"], transaction_size=2, promise=ap.Breach("5%", "50%"))
    report = ap.randomize({"milk", "bread"}, plan)               # on the device: a few bytes
    itemsets = ap.mine(ap.read_reports("reports.parquet"), 0.05)  # at the server
    rules = ap.association_rules(itemsets, 0.6)

Names load on first use, so importing the package is instant. ``assocpriv.client`` sees raw baskets,
``assocpriv.server`` sees reports only, ``assocpriv.lab`` may see both.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from assocpriv.plans.kind import on_first_use

# isort: off
# fmt: off
if TYPE_CHECKING:
    from assocpriv.assurance import Ledger, SystemEntropy, audit, inspect, privacy
    from assocpriv.baskets import (
        AssocprivError, Baskets, Breach, Catalogue, Epsilon, Plan, Reports, View, plan, promise_needed, randomize,
        randomize_baskets, randomize_file, read_baskets, read_plan, read_reports, report_items, reports_needed,
        to_baskets, write_plan,
    )
    from assocpriv.basket_files import catalogue, read_catalogue, write_catalogue
    from assocpriv.collection import gather
    from assocpriv.mining import (
        ask, ask_rules, association_rules, mine, read_itemsets, write_itemsets, write_rules,
    )
    from assocpriv.rounds import combine, refine, simulate_rounds
    from assocpriv.showing import chart
    from assocpriv.trials import simulate
# fmt: on
# isort: on

__version__ = "0.9.0"

__all__ = [
    "AssocprivError", "Baskets", "Breach", "Catalogue", "Epsilon", "Ledger", "Plan", "Reports", "SystemEntropy", "View",
    "ask", "ask_rules", "association_rules", "audit", "catalogue", "chart", "combine", "gather", "inspect", "mine",
    "plan", "privacy", "promise_needed", "randomize", "randomize_baskets", "randomize_file", "read_baskets",
    "read_catalogue", "read_itemsets", "read_plan", "read_reports", "refine", "report_items", "reports_needed",
    "simulate", "simulate_rounds", "to_baskets", "write_catalogue", "write_itemsets", "write_plan", "write_rules",
]  # fmt: skip
_HOMES = {
    "assocpriv.assurance": ("Ledger", "SystemEntropy", "audit", "inspect", "privacy"),
    "assocpriv.collection": ("gather",),
    "assocpriv.mining": (
        "ask",
        "ask_rules",
        "association_rules",
        "mine",
        "read_itemsets",
        "write_itemsets",
        "write_rules",
    ),
    "assocpriv.rounds": ("combine", "refine", "simulate_rounds"),
    "assocpriv.showing": ("chart",),
    "assocpriv.trials": ("simulate",),
    "assocpriv.basket_files": ("catalogue", "read_catalogue", "write_catalogue"),
}
_HOMES["assocpriv.baskets"] = tuple(set(__all__).difference(*_HOMES.values()))

_names, __dir__ = on_first_use(globals(), _HOMES)
_DOORS = ("amplification", "collect", "exchange", "guidance", "numeric", "showing", "spark", "suppress")


def __getattr__(name: str) -> object:
    """Return a public name, or a module that people import, as ``ap.numeric``."""
    return import_module(f"assocpriv.{name}") if name in _DOORS else _names(name)
