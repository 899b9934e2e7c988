"""Data frames of mined tables or rules, with their own display in notebooks and shells, and from files."""

import csv
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, ClassVar
from zlib import crc32

import pandas as pd

from assocpriv.files.arrow import parquet_errors
from assocpriv.files.atomic import MAX_TABLE_BYTES, check_regular, output_format, read_bounded
from assocpriv.files.mined_tables import (
    ATTRIBUTE,
    SET_COLUMNS,
    SHOWN_COLUMNS,
    AnyFrame,
    LightFrame,
    cells_of_csv,
    column_of_text,
    known_table,
    light_table,
    read_table,
    sets_of_text,
)
from assocpriv.guarantees.errors import EstimateError, FileError, json_fields
from assocpriv.plans.baskets.catalogue import sort_key
from assocpriv.server.baskets.rules import INTERVALS, OF_ALL, SIDES, check_rules, counts_of_selected, empty_rules
from assocpriv.server.baskets.tables import METRICS

_LEAST_ROOM = 12  # characters of a printed item set


class _ShownFrame(pd.DataFrame):
    """A table with its own display as long as nothing is changed: rows, their order, columns and values.

    Frames derived from it are shown as pandas shows them, with item sets as {a, b}; printed, the columns that fit.
    """

    _internal_names: ClassVar[list[str]] = [*pd.DataFrame._internal_names, "_fingerprint"]  # type: ignore[attr-defined]
    _internal_names_set: ClassVar[set[str]] = {*_internal_names}
    _shown_by: ClassVar[str]
    _known: ClassVar[frozenset[str]] = frozenset()  # all columns of such a table
    _printed: ClassVar[tuple[str, ...]] = ()  # those that fit the width of a shell
    _fingerprint: tuple[Any, ...] = ()  # of the table as it was returned

    @property
    def _constructor(self) -> Any:
        return type(self)

    def __repr__(self) -> str:
        plain = self._plain()
        # all columns if the caller chose columns, or a number of columns other than pandas' own
        is_whole = self._known <= {*self.columns} or is_as_returned(self)
        if not self._printed or not is_whole or pd.get_option("display.max_columns") not in (0, 20):
            return repr(plain)
        for name in [name for name in self._printed if name.endswith("_ci")]:
            plain[name] = [
                f"{low:.3f}–{high:.3f}" for low, high in zip(self[f"{name}_low"], self[f"{name}_high"], strict=True)
            ]
        printed = [*self._printed, *(name for name in self.columns if name not in self._known)]
        printed = list(dict.fromkeys(name for name in printed if name in plain.columns))
        text = _fitting_text(plain[printed])
        epsilon = self.attrs.get(ATTRIBUTE, {}).get("epsilon")
        bound = f"; ε ≤ {epsilon} for each person" if epsilon else ""
        shown = {*printed, *(f"{name}_{end}" for name in printed for end in ("low", "high"))}
        return f"{text}\n({len({*self.columns} - shown)} more in .columns{bound})"

    def _repr_html_(self) -> Any:
        if is_as_returned(self):
            return resolve_name(self._shown_by)(self)._repr_html_()
        return self._plain()._repr_html_()  # type: ignore[operator]

    def _plain(self) -> pd.DataFrame:
        """Return a copy of pandas' own type, with item sets as text, and known numbers to five places."""
        plain = pd.DataFrame(self)
        known = [name for name in plain.columns if name in self._known and plain[name].dtype == float]
        plain = plain.round(dict.fromkeys(known, 5))
        for name in {*SET_COLUMNS} & {*plain.columns}:
            plain[name] = [_braced(each) if isinstance(each, frozenset) else each for each in plain[name]]
        return plain


def _fitting_text(plain: pd.DataFrame) -> str:
    """Return all columns as text, with item sets cut to the width of the shell."""
    sets = [name for name in plain.columns if name in SET_COLUMNS]
    with pd.option_context("display.max_columns", None, "display.expand_frame_repr", False):
        width = len(repr(plain.drop(columns=sets).head()).partition("\n")[0])
        room = max(((pd.get_option("display.width") or 80) - width) // len(sets) - 2, _LEAST_ROOM)
        cut = {
            name: [f"{each[: room - 1]}…" if len(str(each)) > room else each for each in plain[name]] for name in sets
        }
        return repr(plain.assign(**cut))


def _braced(names: frozenset[str]) -> str:
    return f"{{{', '.join(sorted(names, key=sort_key))}}}"


def is_as_returned(table: Any) -> bool:
    """Return whether a table is one of these with its rows, their order, columns and values as they were returned."""
    return isinstance(table, _ShownFrame) and table._fingerprint == _fingerprint(table)


def _fingerprint(frame: pd.DataFrame) -> tuple[Any, ...]:
    """Return what differs between two tables if their rows, the order of these, columns or values differ."""
    index = frame.index
    of_index = (index.start, index.stop, index.step) if isinstance(index, pd.RangeIndex) else None
    values = [
        hash(tuple(map(id, column))) if column.dtype == object else crc32(column.tobytes())
        for column in (frame[name].to_numpy() for name in frame.columns)
    ]
    return (of_index, *frame.columns, *values)


class ItemsetFrame(_ShownFrame):
    """A mined table."""

    _shown_by = "assocpriv.show.itemset_views:mined"
    _known = frozenset(SHOWN_COLUMNS)
    _printed = ("itemsets", "support", "ci_low", "ci_high", "selected")


class RuleFrame(_ShownFrame):
    """A table of rules."""

    _shown_by = "assocpriv.show.itemset_views:rules"
    _known = frozenset({*SIDES, *METRICS, *INTERVALS, "probability", "selected", "selected_strict"})
    _printed = (*SIDES, "confidence", "confidence_ci", "selected")


class AskedItemsets(_ShownFrame):
    """A table of chosen itemsets."""

    _shown_by = "assocpriv.show.itemset_views:asked"
    _known = ItemsetFrame._known - {"probability", "selected"}
    _printed = ("itemsets", "support", "ci_low", "ci_high", "unbiased")


class AskedRules(_ShownFrame):
    """A table of chosen rules."""

    _shown_by = AskedItemsets._shown_by
    _known = RuleFrame._known - {"probability", "selected", "selected_strict"}
    _printed = RuleFrame._printed[:-1]


class SubstituteFrame(_ShownFrame):
    """A table of substitutes."""

    _shown_by = "assocpriv.show.itemset_views:substitutes"
    _known = frozenset({"itemsets", "support", "expected_support", "lift_by_size", "probability", "selected"})
    _known |= {"lift", *INTERVALS[2:]}
    _printed = ("itemsets", "support", "expected_support", "lift_by_size", "lift_ci", "selected")


def to_result_frame(
    table: "LightFrame", frame_type: type[_ShownFrame] = ItemsetFrame, *, own_view: bool = True
) -> pd.DataFrame:
    """Return a table as a data frame of a type, with the type's own view in notebooks or without."""
    plain = table.to_pandas()
    frame = frame_type(plain)
    frame.attrs.update(plain.attrs)
    frame._fingerprint = _fingerprint(frame) if own_view else ()
    return frame


# ---- from files


def read_itemsets(source: "str | Path | pd.DataFrame") -> "pd.DataFrame":
    """Return a table of itemsets from a file of :func:`write_itemsets`, as pandas' data frame.

    Args:
        source: a file of .parquet, .csv or .json; or a frame that pandas read from such a Parquet file or from one that
            it wrote of a mined table.

    Returns:
        The table as :func:`assocpriv.mine` returned it.

    Raises:
        EstimateError: it is not such a table, or is damaged.
        FileError: the file cannot be read, or has another extension.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> found = ap.mine(ap.randomize([{"milk", "tea"}] * 20_000, made), 0.5)
    >>> ap.write_itemsets(found, file := f"{mkdtemp()}/found.parquet")
    >>> ap.read_itemsets(file).equals(found)
    True
    """
    if isinstance(source, str | Path):
        return to_result_frame(read_table(source))
    table = light_table(source)
    return to_result_frame(known_table(table, table.attrs.get(ATTRIBUTE)))


def read_rules(source: "str | Path | pd.DataFrame") -> "pd.DataFrame":
    """Return rules from a file of :func:`write_rules`, as pandas' data frame.

    Args:
        source: a file of .parquet, .csv or .json (its numbers have four digits); or a frame of pandas or polars that
            such a file was read into.

    Returns:
        The table as :func:`assocpriv.association_rules` returned it, of the rules that were written.

    Raises:
        EstimateError: it is no table of rules, or is damaged.
        FileError: the file cannot be read, or has another extension.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> rules = ap.association_rules(ap.mine(ap.randomize([{"milk", "tea"}] * 20_000, made), 0.5), "60%")
    >>> ap.write_rules(rules, file := f"{mkdtemp()}/rules.csv")
    >>> ap.read_rules(file).equals(rules)
    True
    """
    frame = _rules_of_file(Path(source)) if isinstance(source, str | Path) else source
    check_rules(frame)
    table = LightFrame.from_frame(frame)
    columns = {name: each for name, each in table.columns.items() if name not in OF_ALL}
    of_all = {name: table[name].tolist()[0] for name in OF_ALL if len(table) and name in table.columns}
    facts = table.attrs.pop(ATTRIBUTE, {}) | of_all | counts_of_selected(table)
    if facts.keys() >= {"min_confidence", "expected_false"}:  # else a view could not state them
        table.attrs[ATTRIBUTE] = facts
    own_view = {*INTERVALS[:2]} <= {*columns}  # rules of other miners have no intervals
    return to_result_frame(LightFrame(columns, table.attrs), RuleFrame, own_view=own_view)


def _rules_of_file(path: Path) -> AnyFrame:
    """Return the columns of a file of rules, with lists of names on both sides."""
    kind = output_format(path)
    damage: tuple[type[BaseException], ...] = (*parquet_errors(), csv.Error, AttributeError)
    try:
        check_regular(path)
        if kind == "parquet":
            return pd.read_parquet(path)
        text = read_bounded(path, MAX_TABLE_BYTES).decode("utf-8")
        if kind == "csv":
            cells = cells_of_csv(text)
            return LightFrame(
                {name: (sets_of_text if name in SIDES else column_of_text)(each) for name, each in cells.items()}
            )
        content = json_fields(text)
        frame = pd.DataFrame(content["rules"]) if content["rules"] else empty_rules().to_pandas()
        frame.attrs[ATTRIBUTE] = {name: content[name] for name in (*OF_ALL, "expected_false") if name in content}
        return frame
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or 'it is damaged'}") from None
    except damage:
        raise EstimateError(f"{path} holds no rules; assocpriv rules writes them, or ap.write_rules") from None
