"""Suppression: data leave their owner when no named inference can be drawn from them above a confidence.

Of tables: ``check`` lists what one tells, ``suppress`` returns one in memory that tells no more than templates allow,
and ``suppress_file`` writes one. Of baskets: ``check_items`` and ``suppress_items``. ``check_record``,
``publication_record`` and ``item_record`` give results as JSON has them. Templates are files, mappings, or
:class:`Template`.
"""

from assocpriv.fronts import names_of_stub

__getattr__, __dir__, __all__ = names_of_stub(globals())
