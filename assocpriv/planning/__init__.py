"""Planning: the choice of plans, without access to records."""

from assocpriv.lazy_exports import read_stub

__getattr__, __dir__, __all__ = read_stub(globals())
