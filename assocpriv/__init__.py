"""assocpriv: mine association rules from baskets nobody may see.

    import assocpriv as ap

    plan = ap.plan(["milk", "bread", "eggs"], transaction_size=2, promise=ap.Breach("5%", "50%"))
    report = ap.randomize({"milk", "bread"}, plan)               # on the device: a few bytes
    itemsets = ap.mine(ap.read_reports("reports.parquet"), 0.05)  # at the server
    rules = ap.association_rules(itemsets, 0.6)

Names load on first use, so importing the package is instant. ``assocpriv.client`` sees raw baskets,
``assocpriv.server`` sees reports only, ``assocpriv.lab`` may see both.
"""

from typing import TYPE_CHECKING

from assocpriv.core.loading import on_first_use

if TYPE_CHECKING:
    from assocpriv.baskets import (
        ask,
        ask_rules,
        combine,
        mine,
        plan,
        randomize,
        randomize_baskets,
        randomize_file,
        read_baskets,
        refine,
        simulate,
        simulate_rounds,
        to_baskets,
    )
    from assocpriv.core.errors import AssocprivError
    from assocpriv.core.privacy import Breach
    from assocpriv.files.plans import read_plan, write_plan
    from assocpriv.files.reports import Reports, read_reports
    from assocpriv.plans.baskets.catalogue import Catalogue
    from assocpriv.plans.baskets.plan import Plan
    from assocpriv.plans.baskets.view import View
    from assocpriv.records.baskets import Baskets
    from assocpriv.server.itemsets.frames import read_itemsets, write_itemsets
    from assocpriv.server.itemsets.rules import association_rules, write_rules

__version__ = "0.1.0"

_HOMES = {
    "assocpriv.baskets": (
        "ask", "ask_rules", "combine", "mine", "plan", "randomize", "randomize_baskets", "randomize_file",
        "read_baskets", "refine", "simulate", "simulate_rounds", "to_baskets",
    ),
    "assocpriv.records.baskets": ("Baskets",),
    "assocpriv.core.errors": ("AssocprivError",),
    "assocpriv.plans.baskets.catalogue": ("Catalogue",),
    "assocpriv.plans.baskets.plan": ("Plan",),
    "assocpriv.core.privacy": ("Breach",),
    "assocpriv.plans.baskets.view": ("View",),
    "assocpriv.files.plans": ("read_plan", "write_plan"),
    "assocpriv.files.reports": ("Reports", "read_reports"),
    "assocpriv.server.itemsets.frames": ("read_itemsets", "write_itemsets"),
    "assocpriv.server.itemsets.rules": ("association_rules", "write_rules"),
}  # fmt: skip

__all__ = [
    "AssocprivError", "Baskets", "Breach", "Catalogue", "Plan", "Reports", "View", "ask", "ask_rules",
    "association_rules", "combine", "mine", "plan", "randomize", "randomize_baskets", "randomize_file", "read_baskets",
    "read_itemsets", "read_plan", "read_reports", "refine", "simulate", "simulate_rounds", "to_baskets",
    "write_itemsets", "write_plan", "write_rules",
]  # fmt: skip

__getattr__, __dir__ = on_first_use(globals(), _HOMES)
