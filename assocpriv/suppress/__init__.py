"""Suppression: publish tables and baskets with bounded confidence of named inferences.

``check`` lists the inferences of a table, or of baskets, above their bounds. ``suppress`` returns data in memory with
cells hidden so that all bounds hold; ``suppress_file`` writes a file. ``record`` returns results as JSON content.
Templates are files, mappings, or :class:`Template`.
"""

from assocpriv.lazy_exports import read_stub

__getattr__, __dir__, __all__ = read_stub(globals())
