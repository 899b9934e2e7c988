"""Data frames of mined tables or rules with their own display in notebooks and shells."""

from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

from assocpriv.guarantees.errors import EstimateError
from assocpriv.plans.catalogue import sort_key
from assocpriv.plans.registry import load
from assocpriv.server.itemsets import COLUMNS
from assocpriv.server.rules import INTERVALS, SIDES
from assocpriv.server.selection import METRICS

if TYPE_CHECKING:
    from assocpriv.files.itemset_files import LightFrame


class _ShownFrame(pd.DataFrame):
    """Frames derived from this one keep its display while they have the columns that it needs."""

    _shown_by: ClassVar[str]
    _known: ClassVar[frozenset[str]] = frozenset()  # all columns of such a table
    _printed: ClassVar[frozenset[str]] = frozenset()  # those that fit the width of a shell

    @property
    def _constructor(self) -> Any:
        return type(self)

    def __repr__(self) -> str:
        if not self._printed or not self._known <= {*self.columns}:  # the caller chose columns: show them all
            return super().__repr__()
        printed = [name for name in self.columns if name in self._printed or name not in self._known]
        frame = pd.DataFrame(self[printed]).round(dict.fromkeys(self._printed, 5))
        for name in self._printed & {"itemsets", *SIDES}:
            frame[name] = [_braced(each) if isinstance(each, frozenset) else each for each in frame[name]]
        return f"{frame!r}\n({len(self.columns) - len(printed)} more in .columns)"

    def _repr_html_(self) -> Any:
        try:
            return load(self._shown_by)(self)._repr_html_()
        except (KeyError, TypeError, ValueError, EstimateError):  # columns are missing, or it is another table by now
            return super()._repr_html_()  # type: ignore[misc]


def _braced(names: frozenset[str]) -> str:
    return f"{{{', '.join(sorted(names, key=sort_key))}}}"


class ItemsetFrame(_ShownFrame):
    """A mined table."""

    _shown_by = "assocpriv.show.itemset_views:mined"
    _known = frozenset(COLUMNS)
    _printed = frozenset({"support", "itemsets", "ci_low", "ci_high", "probability", "selected"})


class RuleFrame(_ShownFrame):
    """A table of rules."""

    _shown_by = "assocpriv.show.itemset_views:rules"
    _known = frozenset({*SIDES, *METRICS, *INTERVALS, "probability", "selected", "selected_strict"})
    _printed = frozenset({*SIDES, "confidence", "confidence_ci_low", "confidence_ci_high"})


class SubstituteFrame(_ShownFrame):
    """A table of substitutes."""

    _shown_by = "assocpriv.show.itemset_views:substitutes"


def to_result_frame(table: "LightFrame", frame_type: type[_ShownFrame] = ItemsetFrame) -> pd.DataFrame:
    """Return a table as a data frame of a type."""
    plain = table.to_pandas()
    frame = frame_type(plain)
    frame.attrs.update(plain.attrs)
    return frame
