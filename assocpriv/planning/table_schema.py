"""Schemas of tables (TOML): kinds, ranges, values and releases of columns.

A float means its shortest decimal form, so that 0.1 is 1/10.
"""

import math
import tomllib
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from os import PathLike
from typing import Any

from assocpriv.files.plan_files import near_duplicate_names, read_text
from assocpriv.guarantees.amplification import parse_number, parse_probability
from assocpriv.guarantees.errors import PlanError, pluralize
from assocpriv.plans.numeric.table_columns import (
    MOST_OUTPUTS,
    MOST_WHOLE,
    CategoryColumn,
    LabelColumn,
    NumberColumn,
    check_text,
)
from assocpriv.plans.numeric.table_plan import MOST_COLUMNS

AS_IS, MEMBERSHIP, UNIFORM, GAUSSIAN = "as-is", "membership", "uniform", "gaussian"
SQUARE_WAVE, RESPONSE = "square-wave", "response"
CLASSICAL, PROTECTED = (MEMBERSHIP, UNIFORM, GAUSSIAN), (SQUARE_WAVE, RESPONSE)
NUMBER, CATEGORY, LABEL = NumberColumn.kind, CategoryColumn.kind, LabelColumn.kind
RELEASES = {NUMBER: (AS_IS, *CLASSICAL, SQUARE_WAVE), CATEGORY: (AS_IS, RESPONSE), LABEL: (AS_IS, RESPONSE)}
_OF_ALL = {"kind", "release", "optional"}
_OF_KIND = {
    NUMBER: _OF_ALL | {"whole", "low", "high", "intervals", "cells", "privacy", "confidence"},
    CATEGORY: _OF_ALL | {"values"},
    LABEL: _OF_ALL | {"values"},
}
_MOST_PRIVACY = 10  # times the range; more than 2 is hardly useful
_SHOWN_GROUPS = 5  # of near-duplicate values
_LARGEST = 10**30  # limit of a bound's numerator and denominator in the plan


@dataclass(frozen=True)
class ColumnRequest:
    """The schema of one column; the planner chooses what is not given."""

    name: str
    kind: str
    release: str
    optional: bool = False
    whole: bool | None = None  # None if the schema does not say
    low: Fraction = Fraction(0)
    high: Fraction = Fraction(1)
    intervals: int | None = None
    cells: int | None = None
    privacy: Fraction | None = None
    confidence: Fraction = Fraction(95, 100)
    values: tuple[str, ...] = ()

    @property
    def is_protected(self) -> bool:
        """Whether the column is released under the guarantee."""
        return self.release in PROTECTED


def read_schema(schema: "str | PathLike[str] | Mapping[str, Any]") -> tuple[ColumnRequest, ...]:
    """Read a schema from a TOML file, or from its content: ``{"columns": {"age": {"kind": "number", …}}}``.

    Raises:
        PlanError: the schema is invalid; the message names the column and the key.

    >>> read_schema({"columns": {"age": {"kind": "number", "low": 20, "high": 80, "release": "as-is"}}})[0].high
    Fraction(80, 1)
    """
    if isinstance(schema, Mapping):
        return _read(schema)
    if not isinstance(schema, str | PathLike):
        raise TypeError(f"schema must be the path of a TOML file or a mapping, got a {type(schema).__name__}")
    text = read_text(schema, "schema")  # type: ignore[arg-type]
    try:
        return _read(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise PlanError(f"{schema}: not TOML: {error}; write each column as [columns.NAME]") from None
    except PlanError as error:
        raise PlanError(f"{schema}: {error}") from None


def warn_of_near_duplicates(columns: Iterable[ColumnRequest]) -> None:
    """Warn of values that differ only in case, Unicode form, blanks or leading zeros.

    Warns:
        UserWarning: the column and its near-duplicate values, which the plan publishes.
    """
    for column in columns:
        if alike := near_duplicate_names(column.values):
            shown = "; ".join(" | ".join(group) for group in alike[:_SHOWN_GROUPS])
            warnings.warn(
                f"column {column.name}: {pluralize(len(alike), 'group')} of values differ only in case, Unicode form, "
                f"blanks or leading zeros: {shown}{' …' * (len(alike) > _SHOWN_GROUPS)}; each counts as a separate "
                "value, so keep one of each group in the schema and in the data",
                stacklevel=3,
            )


def _read(content: Mapping[str, Any]) -> tuple[ColumnRequest, ...]:
    if further := [key for key in content if key != "columns"]:
        raise PlanError(f"a schema may have only columns, as [columns.age], got {_shown(further[0])}")
    columns = content.get("columns")
    if not isinstance(columns, Mapping) or not columns:
        raise PlanError("the schema has no columns; write one as [columns.age] with its kind and release")
    if len(columns) > MOST_COLUMNS:
        raise PlanError(f"the schema has {len(columns):,} columns; a plan may have at most {MOST_COLUMNS:,}")
    return tuple(_read_column(name, keys) for name, keys in columns.items())


def _read_column(name: object, keys: object) -> ColumnRequest:
    named = check_text(name, "a column's name")
    try:
        if not isinstance(keys, Mapping):
            raise PlanError(f"must be a table of keys, such as [columns.{named}] with kind and release")
        return _checked(named, keys)
    except PlanError as error:
        raise PlanError(f"column {named}: {error}") from None


def _checked(name: str, keys: Mapping[str, Any]) -> ColumnRequest:
    kind = _one_of(keys, "kind", tuple(RELEASES))
    if unknown := [key for key in keys if key not in _OF_KIND[kind]]:
        known = ", ".join(sorted(_OF_KIND[kind]))
        raise PlanError(f"a {kind} has no key {_shown(unknown[0])}; its keys are {known}")
    release = _one_of(keys, "release", RELEASES[kind], f" for a {kind}")
    read = {key: _READERS[key](keys[key], key) for key in keys if key not in ("kind", "release")}
    for needed in ("low", "high") if kind == NUMBER else ("values",):
        if needed not in read:
            raise PlanError(f"{needed} is missing; a {kind} needs it")
    request = ColumnRequest(name, kind, release, **read)
    _CHECKS[kind](request)
    _check_privacy(request, keys)
    return request


def _check_number(column: ColumnRequest) -> None:
    if not column.low < column.high:
        raise PlanError(f"low must be below high, got {float(column.low):g} and {float(column.high):g}")
    if column.whole:
        _check_whole(column)
    elif column.cells is not None and column.intervals is not None and column.cells % column.intervals:
        raise PlanError(f"cells must be a multiple of intervals, got {column.cells} and {column.intervals}")


def _check_whole(column: ColumnRequest) -> None:
    for name, bound in (("low", column.low), ("high", column.high)):
        if bound.denominator != 1 or abs(bound) > MOST_WHOLE:
            raise PlanError(
                f"{name} must be a whole number from -2^53 to 2^53 if whole = true, got {float(bound):g}; give the "
                "smallest and the largest value, such as 1 and 5 for ratings"
            )
    values = int(column.high - column.low) + 1
    for name, count in (("cells", column.cells), ("intervals", column.intervals)):
        if count is not None and count > values:
            raise PlanError(
                f"{name} must be at most the number of whole values, {values:,}, got {count:,}; leave it out"
            )


def _check_values(column: ColumnRequest) -> None:
    if column.release == RESPONSE and len(column.values) < 2:
        raise PlanError("release response needs at least two values")


def _check_privacy(column: ColumnRequest, keys: Mapping[str, Any]) -> None:
    if column.release in CLASSICAL:
        if column.privacy is None:
            raise PlanError(f"privacy is missing; release {column.release} needs it, as a share of the range: 50%")
        return
    for key in ("privacy", "confidence"):
        if key in keys:
            why = "has the guarantee's γ instead" if column.release in PROTECTED else "adds no noise"
            raise PlanError(f"{key} cannot be given with release {column.release}, which {why}")


_CHECKS = {NUMBER: _check_number, CATEGORY: _check_values, LABEL: _check_values}


def _one_of(keys: Mapping[str, Any], key: str, words: tuple[str, ...], where: str = "") -> str:
    if key not in keys:
        raise PlanError(f"{key} is missing; give one of {', '.join(words)}")
    if keys[key] not in words:
        raise PlanError(f"{key} must be one of {', '.join(words)}{where}, got {_shown(keys[key])}")
    return str(keys[key])


def _read_bound(value: object, key: str) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        raise PlanError(f"{key} must be a number, got {_shown(value)}")
    if isinstance(value, float) and not math.isfinite(value):
        raise PlanError(f"{key} must be a finite number, got {value}")
    number = Fraction(str(value)) if isinstance(value, float) else Fraction(value)
    if max(abs(number.numerator), number.denominator) >= _LARGEST:
        raise PlanError(f"{key} must be a number of at most 30 digits; round it")
    return number


def _read_count(value: object, key: str) -> int:
    if type(value) is not int or not 1 <= value <= MOST_OUTPUTS:
        raise PlanError(f"{key} must be a whole number from 1 to {MOST_OUTPUTS:,}, got {_shown(value)}")
    return value


def _read_flag(value: object, key: str) -> bool:
    if type(value) is not bool:
        raise PlanError(f"{key} must be true or false, got {_shown(value)}")
    return value


def _read_privacy(value: object, key: str) -> Fraction:
    share = parse_number(_plain(value, key), key, "a share of the range such as 50%")
    if share <= 0:
        raise PlanError(f"{key} must be above 0, a share of the range such as 50%, got {_shown(value)}")
    if share > _MOST_PRIVACY:
        raise PlanError(
            f"{key} must be a share of the range of at most 10 (1000%), got {_shown(value)}; write, for example, 50%"
        )
    return share


def _read_confidence(value: object, key: str) -> Fraction:
    share = parse_probability(_plain(value, key), key)
    if not 0 < share < 1:
        raise PlanError(f"{key} must lie between 0 and 1, such as 95%, got {_shown(value)}")
    return share


def _plain(value: object, key: str) -> "str | int | float | Fraction":
    if isinstance(value, bool) or not isinstance(value, str | int | float | Fraction):
        raise PlanError(f"{key} must be a share such as 50%, got {_shown(value)}")
    return value


def _read_values(value: object, key: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not 1 <= len(value) <= MOST_OUTPUTS:
        raise PlanError(f"{key} must be a list of 1 to {MOST_OUTPUTS:,} values")
    if not all(isinstance(each, str | int) and not isinstance(each, bool) for each in value):
        raise PlanError(f"{key} must be texts or whole numbers; write other values in quotes, as in the table")
    texts = tuple(check_text(str(each), f"a value of {key}") for each in value)
    if len(set(texts)) != len(texts):
        raise PlanError(f"{key} must differ; one is repeated")
    return texts


_READERS: dict[str, Callable[[object, str], Any]] = {
    "optional": _read_flag,
    "whole": _read_flag,
    "low": _read_bound,
    "high": _read_bound,
    "intervals": _read_count,
    "cells": _read_count,
    "privacy": _read_privacy,
    "confidence": _read_confidence,
    "values": _read_values,
}


def _shown(value: object) -> str:
    """Return a schema's value as text, shortened; it is from no record."""
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}…"
