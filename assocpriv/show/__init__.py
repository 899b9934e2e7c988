"""What people are shown: a result as text, as JSON content or as a page."""

from assocpriv.fronts import names_of_stub

__getattr__, __dir__, __all__ = names_of_stub(globals())
