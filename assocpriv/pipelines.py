"""The door of what stands in scikit-learn's pipelines on the clients' side (extra ``assocpriv[trees]``)."""

from typing import TYPE_CHECKING

from assocpriv.core.loading import on_first_use

if TYPE_CHECKING:
    from assocpriv.client.baskets.transformer import BasketRandomizer

__all__ = ["BasketRandomizer"]
_HOMES = {"assocpriv.client.baskets.transformer": ("BasketRandomizer",)}

__getattr__, __dir__ = on_first_use(globals(), _HOMES)
