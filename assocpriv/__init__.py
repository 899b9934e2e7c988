"""Mine association rules from baskets nobody may see::

    import assocpriv as ap

    plan = ap.plan(["milk", "bread", "eggs"], transaction_size=2, promise=ap.Breach("5%", "50%"))
    report = ap.randomize({"milk", "bread"}, plan)               # on the device: a few bytes
    itemsets = ap.mine(ap.read_reports("reports.parquet"), 0.05)  # at the server
    rules = ap.association_rules(itemsets, 0.6)

Names load on first use, so importing the package is instant. ``assocpriv.client`` sees raw baskets,
``assocpriv.server`` sees reports only, ``assocpriv.simulation`` may see both.
"""

from assocpriv.fronts import names_of_stub

__version__ = "1.0.0"

__getattr__, __dir__, __all__ = names_of_stub(globals())  # the list is __init__.pyi
