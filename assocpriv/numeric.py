"""Tables of numbers and categories: plans from a schema, and decision trees on their reports.

``assocpriv.randomize`` randomizes records on the device, ``assocpriv.reconstruct`` estimates distributions at the
server.
"""

from assocpriv.lazy_exports import read_stub

__getattr__, __dir__, __all__ = read_stub(globals())
