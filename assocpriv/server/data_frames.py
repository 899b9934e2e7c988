"""Data frames of mined tables or rules, which show themselves in notebooks; else they are pandas' own."""

from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

from assocpriv.plans.kind import load
from assocpriv.promise.errors import EstimateError

if TYPE_CHECKING:
    from assocpriv.files.itemsets import LightFrame


class _ShownFrame(pd.DataFrame):
    """What is taken of it shows itself too, as long as it has the columns that this takes."""

    _shown_by: ClassVar[str]

    @property
    def _constructor(self) -> Any:
        return type(self)

    def _repr_html_(self) -> Any:
        try:
            return load(self._shown_by)(self)._repr_html_()
        except (KeyError, TypeError, ValueError, EstimateError):  # some of its columns, or another table by now
            return super()._repr_html_()  # type: ignore[misc]


class ItemsetFrame(_ShownFrame):
    """A mined table."""

    _shown_by = "assocpriv.show.itemsets:mined"


class RuleFrame(_ShownFrame):
    """A table of rules."""

    _shown_by = "assocpriv.show.itemsets:rules"


class SubstituteFrame(_ShownFrame):
    """A table of substitutes."""

    _shown_by = "assocpriv.show.itemsets:substitutes"


def shown(table: "LightFrame", kind: type[_ShownFrame] = ItemsetFrame) -> pd.DataFrame:
    """Return a table as a data frame of a kind."""
    plain = table.to_pandas()
    frame = kind(plain)
    frame.attrs.update(plain.attrs)
    return frame
