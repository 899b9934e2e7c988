"""Tables of numbers and categories: plans from a schema, and decision trees on their reports.

``assocpriv.randomize`` perturbs their records on the device, ``assocpriv.reconstruct`` estimates distributions at the
server.
"""

from assocpriv.fronts import names_of_stub

__getattr__, __dir__, __all__ = names_of_stub(globals())
