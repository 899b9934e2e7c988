"""Privacy guarantees: amplification, privacy breaches, information measures, exact numbers and entropy."""

from assocpriv.lazy_exports import read_stub

__getattr__, __dir__, __all__ = read_stub(globals())
