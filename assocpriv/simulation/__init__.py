"""Both sides at once, on data at hand: synthetic data, trials, exact enumeration, the demonstration."""

from assocpriv.lazy_exports import read_stub

__getattr__, __dir__, __all__ = read_stub(globals())
