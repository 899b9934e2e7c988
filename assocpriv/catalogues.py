"""Catalogues in detail: drafts with counts, checks, sources of names."""

from assocpriv.lazy_exports import read_stub

__getattr__, __dir__, __all__ = read_stub(globals())
