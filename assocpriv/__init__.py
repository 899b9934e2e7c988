"""Mine association rules from transactions that never leave the device unprotected::

    import assocpriv as ap

    plan = ap.plan(["milk", "bread", "eggs"], ap.Guarantee("5%", "50%"), transaction_size=2)
    report = ap.randomize({"milk", "bread"}, plan)               # on the device: a few bytes
    itemsets = ap.mine(ap.read_reports("reports.parquet"), 0.05)  # at the server
    rules = ap.association_rules(itemsets, 0.6)

Names load on first use, so the import is instant. ``assocpriv.client`` reads raw baskets, ``assocpriv.server`` reads
reports only, ``assocpriv.simulation`` may read both.
"""

from assocpriv.lazy_exports import read_stub

__version__ = "1.0.0"

_INSTEAD = "; reports are mined, not baskets: ap.mine(ap.randomize(baskets, plan)), then ap.association_rules"
_HINTS = dict.fromkeys(("apriori", "eclat", "fpgrowth", "fpmax", "hmine"), _INSTEAD)  # of mlxtend and its peers
__getattr__, __dir__, __all__ = read_stub(globals(), _HINTS)  # the list is __init__.pyi
