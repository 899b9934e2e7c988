"""Results as light tables, made without pandas; their ``to_pandas()`` makes data frames."""

from assocpriv.lazy_exports import read_stub

__getattr__, __dir__, __all__ = read_stub(globals())
