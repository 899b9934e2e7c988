"""Guided perturbation: the miner says where classes differ, and people release what of them lies there.

``assocpriv.randomize`` answers guidance, for one record or many.
"""

from assocpriv.fronts import names_of_stub

__getattr__, __dir__, __all__ = names_of_stub(globals())
