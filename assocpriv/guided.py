"""Guided perturbation: the miner publishes where classes differ, and people release their values there.

``assocpriv.randomize`` makes reports under guidance, of one record or many.
"""

from assocpriv.lazy_exports import read_stub

__getattr__, __dir__, __all__ = read_stub(globals())
