"""Data frames of mined tables or rules, which show themselves in notebooks and shells; else they are pandas' own."""

from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

from assocpriv.plans.catalogue import sort_key
from assocpriv.plans.kind import load
from assocpriv.promise.errors import EstimateError
from assocpriv.server.itemsets import COLUMNS
from assocpriv.server.rules import INTERVALS, SIDES
from assocpriv.server.selection import METRICS

if TYPE_CHECKING:
    from assocpriv.files.itemsets import LightFrame


class _ShownFrame(pd.DataFrame):
    """What is taken of it shows itself too, as long as it has the columns that this takes."""

    _shown_by: ClassVar[str]
    _known: ClassVar[frozenset[str]] = frozenset()  # its columns
    _printed: ClassVar[frozenset[str]] = frozenset()  # of these, as many as a shell is wide

    @property
    def _constructor(self) -> Any:
        return type(self)

    def __repr__(self) -> str:
        if not self._printed or not self._known <= {*self.columns}:  # some of its columns: all that was asked for
            return super().__repr__()
        printed = [name for name in self.columns if name in self._printed or name not in self._known]
        told = pd.DataFrame(self[printed]).round(dict.fromkeys(self._printed, 5))
        for name in self._printed & {"itemsets", *SIDES}:
            told[name] = [_braced(each) if isinstance(each, frozenset) else each for each in told[name]]
        return f"{told!r}\n({len(self.columns) - len(printed)} more in .columns)"

    def _repr_html_(self) -> Any:
        try:
            return load(self._shown_by)(self)._repr_html_()
        except (KeyError, TypeError, ValueError, EstimateError):  # some of its columns, or another table by now
            return super()._repr_html_()  # type: ignore[misc]


def _braced(names: frozenset[str]) -> str:
    return f"{{{', '.join(sorted(names, key=sort_key))}}}"


class ItemsetFrame(_ShownFrame):
    """A mined table."""

    _shown_by = "assocpriv.show.itemsets:mined"
    _known = frozenset(COLUMNS)
    _printed = frozenset({"support", "itemsets", "ci_low", "ci_high", "probability", "listed"})


class RuleFrame(_ShownFrame):
    """A table of rules."""

    _shown_by = "assocpriv.show.itemsets:rules"
    _known = frozenset({*SIDES, *METRICS, *INTERVALS, "probability", "listed", "sure"})
    _printed = frozenset({*SIDES, "confidence", "confidence_ci_low", "confidence_ci_high"})


class SubstituteFrame(_ShownFrame):
    """A table of substitutes."""

    _shown_by = "assocpriv.show.itemsets:substitutes"


def shown(table: "LightFrame", kind: type[_ShownFrame] = ItemsetFrame) -> pd.DataFrame:
    """Return a table as a data frame of a kind."""
    plain = table.to_pandas()
    frame = kind(plain)
    frame.attrs.update(plain.attrs)
    return frame
