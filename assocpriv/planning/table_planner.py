"""Plans of tables, made from schemas (TOML): kinds, ranges, values and releases of columns.

A float in a schema means its shortest decimal form, so that 0.1 is 1/10. A schema becomes a plan with grids, mechanisms
with integer weights, and a share of the guarantee for each column. The planner uses no records. The guarantee covers
all reports of a person. There are d protected columns and l protected labels. Each of a person's R reports has k of the
columns and all labels, so every column gets the (k + l)·R-th root of the limit of γ. Smaller k gives less noise in each
column: k minimizes the mean *sampling cost* of the columns. The cost of a column is the number of reports that estimate
it as well as one unrandomized value: the ratio of two variances, times d / k for k < d. The variances are those

    named values    of the inverted randomized response, summed over the values:  1 / (p − q)²
    numbers         of the unbiased mean, for values uniform over the range

p and q are the probabilities that a value is reported unchanged, and as a given other value. The cost does not depend
on the number of reports. Reporting few columns instead of all: Wang et al., Collecting and Analyzing Multidimensional
Data with Local Differential Privacy, ICDE 2019, where k follows from ε alone.

Additive noise is specified by *privacy* p at confidence c, a share of the range. It is the width of the interval that
contains the value with probability c, given the release (AS00, section 2.2): W·c for classes of width W, 2α·c for noise
uniform on ±α, and 2σΦ⁻¹((1+c)/2) for Gaussian noise. A window is specified by a limit of γ. The planner chooses the
integers with floats. The guarantee is then computed exactly from the integers, and always meets the specification.

The facts about a plan list, for each column, its privacy (computed from the integers), its grid and the sampling costs.
For a plan of guided perturbation they hold for any published guidance. Noise on a grid differs from continuous noise,
because a value is released as that of its cell. The *distance* of a column is the total variation between two
distributions, for the worst value in a cell: the release, spread evenly over its cell, and the release by the
continuous mechanism. No test of one release distinguishes the two with a larger advantage, so properties of the
continuous mechanism hold for the grid up to this distance. A grid is needed because continuous noise drawn in floating
point discloses the value by the low bits of the sum. Source: Mironov, On significance of the least significant bits for
differential privacy, CCS 2012.
"""

import logging
import math
import tomllib
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.estimation.supports import normal_cdf
from assocpriv.files.plan_files import near_duplicate_names, read_text
from assocpriv.guarantees.amplification import (
    Guarantee,
    check_guarantee,
    float_up,
    parse_number,
    parse_probability,
    root_of_limit,
)
from assocpriv.guarantees.errors import PlanError, pluralize
from assocpriv.guarantees.exact_numbers import check_range
from assocpriv.planning.operator_designs import DEFAULT_REPORTS, MOST_REPORTS
from assocpriv.plans import result_display as display
from assocpriv.plans.guided.guided_plan import GuidedPlan, TupleMix
from assocpriv.plans.numeric.table_plan import (
    COLUMNS,
    LARGEST_TOTAL,
    MOST_COLUMNS,
    MOST_OUTPUTS,
    MOST_WHOLE,
    CategoryColumn,
    Clear,
    Column,
    GaussianNoise,
    LabelColumn,
    Mechanism,
    Noise,
    NumberColumn,
    TablePlan,
    UniformNoise,
    WholeColumn,
    Window,
    check_protected_values,
    check_text,
    default_intervals,
    shortened,
)
from assocpriv.plans.published_plan import MOST_REPORTS_PER_PERSON

if TYPE_CHECKING:
    import pandas as pd


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
_LOG = logging.getLogger("assocpriv")  # notes about schemas; the command line prints them
_ROOT_BITS = 48  # binary places of the limit of γ for one column
DEFAULT_GUARANTEE = Guarantee("5%", "50%")
GRID = 1000  # default minimum of cells
ALL = "all"
_HOW_TO_PROTECT = "release a number by square-wave, a category by response"
_WIDER = 1 + 2.0**-20  # factor by which noise grows until its integers give the specified privacy
CONFIDENCES = (Fraction(1, 2), Fraction(95, 100), Fraction(999, 1000))  # of AS00, table 1
_FLOAT_ERROR = 1e-12  # maximum error of the sums of floats in this module


# ---- schemas


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


# ---- from a schema to a plan


@dataclass(frozen=True)
class SamplingCost:
    """The cost of a number of protected columns per report.

    Attributes:
        columns_per_report: k.
        limit: strict upper bound of γ of one column.
        cost: number of reports that estimate a column as well as one unrandomized value, on average over columns.
    """

    columns_per_report: int
    limit: float
    cost: float


def plan_table(
    schema: Any,
    guarantee: Guarantee | None = None,
    *,
    reports: int = DEFAULT_REPORTS,
    reports_per_person: int = 1,
    columns_per_report: "int | str | None" = None,
    whole: Collection[str] = (),
) -> TablePlan:
    """Choose the plan of a table: for each column a grid or an order of values, and a mechanism.

    Args:
        schema: path of a TOML file, or its content (docs/cli/numeric.md).
        guarantee: of all protected columns together; by default 5% → 50%.
        reports: expected number of reports; it determines the number of intervals.
        reports_per_person: R, the number of reports of one person that the guarantee covers.
        columns_per_report: number of protected columns in a report, without labels; "all", or by default the number
            with the smallest cost.
        whole: names of columns of whole numbers, from :func:`assocpriv.numeric.find_whole_columns`; the schema takes
            precedence.

    Returns:
        The plan. It has no guarantee if no column is protected.

    Raises:
        PlanError: the schema is invalid, or there is a guarantee but no protected column.
        TypeError: text instead of a list of columns, or a guarantee of another class.

    Warns:
        UserWarning: values of a column differ only in case, Unicode form, blanks or leading zeros.

    Source: EGS03, section 4, for γ; Li and others, SIGMOD 2020, section 5, for the square wave; AS00, section 2, for
    noise.

    >>> import assocpriv as ap
    >>> column = {"kind": "number", "low": 0, "high": 1, "release": "square-wave"}
    >>> ap.numeric.plan_table({"columns": {"x": column}}).guarantee.amplification_limit
    Fraction(19, 1)
    """
    check_range("reports", reports, 1, MOST_REPORTS)
    check_range("reports_per_person", reports_per_person, 1, MOST_REPORTS_PER_PERSON)
    if isinstance(whole, str | bytes):
        raise TypeError("whole must be a list of column names, got text")
    requests = [_add_whole(column, whole) for column in read_schema(schema)]
    warn_of_near_duplicates(requests)
    protected = sorted((each for each in requests if each.is_protected), key=lambda each: each.kind == LABEL)
    if not protected:
        if guarantee is not None or columns_per_report is not None:
            what = "guarantee" if guarantee is not None else "columns_per_report"
            raise PlanError(f"no column is protected, so {what} has no effect; {_HOW_TO_PROTECT}")
        return TablePlan(_columns(requests, None, reports), 0, None, reports_per_person)
    guarantee = DEFAULT_GUARANTEE if guarantee is None else check_guarantee(guarantee)
    labels = sum(each.kind == LABEL for each in protected)
    sizes = [_size(each, reports) for each in protected]
    costs = _costs(sizes, labels, guarantee.amplification_limit, reports_per_person)
    sampled = _columns_per_report(columns_per_report, costs)
    check_protected_values(sampled + labels, reports_per_person)
    limit = root_of_limit(guarantee.amplification_limit, (sampled + labels) * reports_per_person, _ROOT_BITS)
    return TablePlan(_columns(requests, limit, reports), sampled, guarantee, reports_per_person)


def _add_whole(request: ColumnRequest, whole: Collection[str]) -> ColumnRequest:
    """Return a column, of whole numbers if ``whole`` names it, its bounds are whole, and the schema does not say."""
    if request.name not in whole or request.whole is not None or not _has_whole_bounds(request):
        return request
    _LOG.info("column %s: whole numbers from %d to %d, as in the sample", request.name, request.low, request.high)
    return replace(request, whole=True)


def _has_whole_bounds(request: ColumnRequest) -> bool:
    return request.kind == NUMBER and request.low.denominator == request.high.denominator == 1


def _columns_per_report(wanted: "int | str | None", costs: Sequence[SamplingCost]) -> int:
    """Return the number of protected columns in a report."""
    most = costs[-1].columns_per_report
    if wanted is None:
        return min(costs, key=lambda each: (each.cost, -each.columns_per_report)).columns_per_report
    if wanted == ALL:
        return most
    if type(wanted) is not int or not min(1, most) <= wanted <= most:
        raise PlanError(f"columns_per_report must be in 1..{most} or {ALL!r}, got {wanted!r}")
    return wanted


# ---- columns


def _columns(requests: Sequence[ColumnRequest], limit: Fraction | None, reports: int) -> tuple[Column, ...]:
    """Return the columns; log those with whole interval edges if the schema does not say whether values are whole."""
    columns = tuple(_column(request, limit, reports) for request in requests)
    open_ = [each for request, each in zip(requests, columns, strict=True) if request.whole is None]
    names = [each.name for each in open_ if isinstance(each, NumberColumn) and _has_whole_edges(each)]
    if names:
        _LOG.info(
            "edges of intervals are whole numbers in %s. If the values are whole numbers, too (ages, ratings, counts), "
            "set whole = true, and low and high to the smallest and largest value; otherwise estimated means may be "
            "off by half a cell. If they are not, set whole = false",
            shortened(names),
        )
    return columns


def _has_whole_edges(column: NumberColumn) -> bool:
    width = (column.high - column.low) / column.intervals
    return column.low.denominator == width.denominator == 1


def _column(request: ColumnRequest, limit: Fraction | None, reports: int) -> Column:
    try:
        if request.kind != NUMBER:
            as_is = Clear(len(request.values))
            mechanism: Mechanism = as_is
            if limit is not None and request.release != AS_IS:
                mechanism = design_window(as_is.inputs, limit, optional=request.optional, near=1)
            make: Any = COLUMNS[request.kind]
            column: Column = make(request.name, mechanism, request.optional, request.values)
            return column
        intervals, cells = _grid(request, reports)
        mechanism = _number_mechanism(request, cells, limit)
        number = WholeColumn if request.whole else NumberColumn
        return number(request.name, mechanism, request.optional, request.low, request.high, intervals)
    except PlanError as error:
        raise PlanError(f"column {request.name}: {error}") from None


def _number_mechanism(request: ColumnRequest, cells: int, limit: Fraction | None) -> Mechanism:
    if request.release == AS_IS:
        return Clear(cells)
    if request.privacy is None:
        assert limit is not None  # a square wave: protected columns have a guarantee
        return design_window(cells, limit, optional=request.optional)
    designs = {MEMBERSHIP: design_membership, UNIFORM: design_uniform, GAUSSIAN: design_gaussian}
    return designs[request.release](cells, request.privacy, request.confidence)


def _grid(request: ColumnRequest, reports: int) -> tuple[int, int]:
    """Return the numbers of intervals and cells of a column of numbers."""
    classes = _classes(request)
    default = default_intervals(reports)
    if request.whole:
        return _whole_grid(request, classes, default)
    if request.intervals is not None:
        intervals = request.intervals
    elif request.cells is not None:
        intervals = max(n for n in range(1, min(default, request.cells) + 1) if request.cells % n == 0)
    else:
        intervals = classes if 1 < classes <= default else default
    if request.cells is not None:
        return intervals, request.cells
    base = lcm(intervals, classes)
    # classes have at least two cells, which distinguishes them from a grid that is released as-is
    cells = base * (max(1, -(-GRID // base)) if classes == 1 else 1 + (base == classes))
    if cells > MOST_OUTPUTS:
        raise PlanError(f"{intervals:,} intervals and {classes:,} classes need a grid of {cells:,} cells; choose fewer")
    return intervals, cells


def _whole_grid(request: ColumnRequest, classes: int, default: int) -> tuple[int, int]:
    """Return the same for whole numbers: one value per cell, or more if at least GRID cells remain."""
    values = int(request.high - request.low) + 1
    step = max(1, values // GRID) if request.cells is None else -(-values // request.cells)
    cells = -(-values // step)
    most = request.intervals or (classes if 1 < classes <= default else default)
    group = -(-cells // most)
    block = group
    if classes > 1:
        if classes >= cells:
            raise PlanError("this privacy gives classes of one value each; request more privacy, or release as-is")
        width = -(-cells // classes)
        group = min(group, width)
        block = group * -(-width // group)
    cells = block * -(-cells // block)
    return cells // group, cells


def _classes(request: ColumnRequest) -> int:
    """Return the largest number of classes that have the requested privacy; 1 without value-class membership."""
    if request.release != MEMBERSHIP or request.privacy is None:
        return 1
    classes = request.confidence // request.privacy
    if classes < 2:
        most = float(request.confidence / 2)
        raise PlanError(
            f"two classes give a privacy of at most {most:.4g} of the range at this confidence; request less privacy, "
            "or use noise"
        )
    return classes


# ---- the mechanism of one column


def design_membership(cells: int, privacy: Fraction, confidence: Fraction) -> Clear:
    """Return the narrowest classes of equal width that have a privacy, at most the confidence.

    >>> design_membership(60, Fraction(1, 4), Fraction(19, 20)).width
    20
    """
    widths = (width for width in range(1, cells + 1) if cells % width == 0)
    return Clear(cells, next(width for width in widths if confidence * width >= privacy * cells))


def design_uniform(cells: int, privacy: Fraction, confidence: Fraction) -> UniformNoise:
    """Return the smallest uniform noise that has a privacy.

    >>> noise = design_uniform(60, Fraction(1), Fraction(19, 20))
    >>> noise.reach, float(noise.known_width(Fraction(19, 20)) / 60)
    (32, 1.0291666666666666)
    """
    return UniformNoise(cells, max(1, math.ceil((privacy * cells / confidence - 1) / 2)))


def design_gaussian(cells: int, privacy: Fraction, confidence: Fraction) -> GaussianNoise:
    """Return Gaussian noise that has a privacy.

    The mass of each cell is rounded down to a multiple of 2^-32; noise 0 gets the rest.

    >>> noise = design_gaussian(60, Fraction(1), Fraction(19, 20))
    >>> 1 <= noise.known_width(Fraction(19, 20)) / 60 < 1.001
    True
    """
    from scipy.special import ndtri

    deviation = float(privacy) * cells / (2 * float(ndtri((1 + float(confidence)) / 2)))
    while True:
        noise = GaussianNoise(cells, _gaussian_half(deviation))
        if noise.known_width(confidence) >= privacy * cells:
            return noise
        deviation *= _WIDER


def _gaussian_half(deviation: float) -> tuple[int, ...]:
    from scipy.special import ndtr

    half: list[int] = []
    for k in range(1, MOST_OUTPUTS):
        mass = float(ndtr((0.5 - k) / deviation) - ndtr((-0.5 - k) / deviation))
        if mass * LARGEST_TOTAL < 1:
            break
        half.append(int(mass * LARGEST_TOTAL))
    if not half:
        raise PlanError("the noise is smaller than a cell of the grid; set more cells, or release as-is")
    return (LARGEST_TOTAL - 2 * sum(half), *half)


def design_window(inputs: int, limit: Fraction, *, optional: bool, near: int | None = None) -> Window:
    """Return a window whose γ is strictly below a limit, with the finest weights for one random word.

    Args:
        inputs: number of cells or values.
        limit: strict upper bound of γ, above 1.
        optional: whether a value may be missing; γ covers missing values, too.
        near: number of outputs near the value; by default :func:`_square_wave_width`, for numbers.

    >>> window = design_window(4, Fraction(19), optional=False, near=1)
    >>> window.amplification < 19, float(window.amplification)
    (True, 18.999999...)
    """
    if limit <= 1:
        raise PlanError(
            "γ of a column must be allowed to exceed 1; choose fewer protected columns or a weaker guarantee"
        )
    near = _square_wave_width(inputs, limit) if near is None else near
    far = inputs - 1 + (near if optional else 0)
    low = math.floor(LARGEST_TOTAL / (near * limit + far))
    high = math.ceil(limit * low) - 1
    if low < 1:
        raise PlanError("the guarantee is too weak to protect anything; choose a smaller ε, or release columns as-is")
    if high <= low:
        raise PlanError(
            "the guarantee leaves almost no information in a column; choose fewer columns or a weaker guarantee"
        )
    return Window(inputs, near, high, low)


def _square_wave_width(cells: int, limit: Fraction) -> int:
    """Return the number of near outputs of a square wave, in cells; it is odd.

    The half-width b = (ε e^ε − e^ε + 1) / (2 e^ε (e^ε − 1 − ε)), in units of the range, maximizes a bound of the mutual
    information between value and report. Source: Li et al., SIGMOD 2020, section 5.2.

    >>> _square_wave_width(100, Fraction(19))
    13
    """
    ratio = float(limit)
    exponent = math.log(ratio)
    half = 0.5 if exponent < 1e-3 else (exponent * ratio - ratio + 1) / (2 * ratio * (ratio - 1 - exponent))
    return 2 * math.floor(half * cells) + 1


# ---- the number of columns in a report


@dataclass(frozen=True)
class _ColumnSize:
    """The properties that determine the sampling cost of a protected column."""

    inputs: int
    is_number: bool
    optional: bool


def _size(request: ColumnRequest, reports: int) -> _ColumnSize:
    if request.kind == NUMBER:
        return _ColumnSize(_grid(request, reports)[1], True, request.optional)
    return _ColumnSize(len(request.values), False, request.optional)


def sampling_costs(plan: TablePlan) -> list[SamplingCost]:
    """Return the cost of each number of columns per report under a plan's guarantee; empty without one."""
    if plan.guarantee is None:
        return []
    columns = [column for column in plan.columns if column.is_protected]
    columns.sort(key=lambda column: isinstance(column, LabelColumn))
    sizes = [_ColumnSize(column.inputs, isinstance(column, NumberColumn), column.optional) for column in columns]
    labels = len(columns) - len(plan.protected_positions)
    return _costs(sizes, labels, plan.guarantee.amplification_limit, plan.reports_per_person)


def _costs(sizes: Sequence[_ColumnSize], labels: int, limit: Fraction, reports_per_person: int) -> list[SamplingCost]:
    """Return the costs of all numbers of columns per report; ``sizes`` has labels last."""
    free = len(sizes) - labels
    costs = []
    for sampled in range(min(1, free), free + 1):
        share = float(limit) ** (1 / ((sampled + labels) * reports_per_person))
        cost = {size: _column_cost(size, share) for size in set(sizes)}  # columns are often alike
        of_free = sum(cost[size] for size in sizes[:free]) * (free / sampled if free else 1)
        costs.append(SamplingCost(sampled, share, (of_free + sum(cost[size] for size in sizes[free:])) / len(sizes)))
    return costs


def _column_cost(size: _ColumnSize, ratio: float) -> float:
    """Return the number of reports with a given γ that estimate a column as well as one unrandomized value.

    >>> _column_cost(_ColumnSize(2, False, False), 3.0)  # p − q = 1/2
    4.0
    """
    n = size.inputs
    if not size.is_number:
        return ((ratio + n - 1 + size.optional) / (ratio - 1)) ** 2
    near = _square_wave_width(n, Fraction(ratio))
    total, outputs = near * ratio + n - 1 + near * size.optional, n + near - 1
    spread = outputs * (outputs**2 - 1) / 12 + (ratio - 1) * near * (n**2 + near**2 - 2) / 12
    slope = near * (ratio - 1) / total
    return spread / total / slope**2 / ((n**2 - 1) / 12)


# ---- the guarantee of a plan


@dataclass(frozen=True)
class ColumnFacts:
    """The guarantee of a column.

    Attributes:
        column: the column.
        release: its release, as in a schema.
        widths: for noise and classes, the exact widths of the intervals that contain the value with a probability of
            ``CONFIDENCES``, given its release, as shares of the range; empty for other releases.
        scale: σ of Gaussian noise, half-width of uniform noise and of a square wave, width of classes, in the column's
            unit.
        distance: total variation distance to the continuous mechanism, rounded up; None if there is none.
    """

    column: Column
    release: str
    widths: tuple[Fraction, ...] = ()
    scale: float | None = None
    distance: float | None = None

    @property
    def amplification(self) -> Fraction | None:
        """γ of the column in one report; None if there is none."""
        return self.column.mechanism.amplification


@dataclass(frozen=True)
class TableFacts:
    """The guarantee of a plan of a table, and the cost of each number of columns per report.

    Attributes:
        plan: the plan.
        reports: expected number of reports.
        columns: the guarantee of each column.
        costs: the cost of each number of columns per report.
    """

    plan: TablePlan
    reports: int
    columns: tuple[ColumnFacts, ...]
    costs: tuple[SamplingCost, ...]

    _repr_html_ = display.html_renderer("assocpriv.show.table_views:plan")

    def __repr__(self) -> str:
        rows = [
            f"{each.column.name}: {each.release}, "
            f"{display.bound_text(each.amplification) if each.amplification else 'no γ'}"
            for each in self.columns
        ]
        return display.short_repr(self, f"{pluralize(self.reports, 'report')}, {display.plan_bound(self.plan)}", rows)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row a column: its release and guarantee, and the scale of its noise.

        Returns:
            A pandas frame with the columns ``column``, ``kind``, ``release``, ``amplification``, ``epsilon`` (in nats),
            ``scale`` (in the column's unit) and ``distance``.
        """
        return display.rows_frame("column kind release amplification epsilon scale distance", (
            (each.column.name, each.column.kind, each.release, *display.gamma_and_epsilon(each.amplification),
             each.scale, each.distance)
            for each in self.columns
        ))  # fmt: skip


def forecast_table(plan: TablePlan, reports: int) -> TableFacts:
    """Return the guarantee of a plan of a table; PlanError if ``reports`` is below 1."""
    reports = check_range("reports", reports, 1, MOST_REPORTS)
    return TableFacts(plan, reports, tuple(map(column_facts, plan.columns)), tuple(sampling_costs(plan)))


def column_facts(column: Column) -> ColumnFacts:
    """Return the guarantee of a column."""
    mechanism = column.mechanism
    if not isinstance(column, NumberColumn):
        return ColumnFacts(column, RESPONSE if isinstance(mechanism, Window) else AS_IS)
    unit = float(column.cell_width)
    points = column.grain == column.cell_width  # no continuous mechanism releases them
    if isinstance(mechanism, Window):
        distance = None if points else wave_distance(mechanism, optional=column.optional)
        return ColumnFacts(column, SQUARE_WAVE, (), mechanism.near * unit / 2, distance)
    if isinstance(mechanism, Clear) and mechanism.width == 1:
        return ColumnFacts(column, AS_IS)
    widths = tuple(map(column.known_width, CONFIDENCES))
    if isinstance(mechanism, Clear):
        return ColumnFacts(column, MEMBERSHIP, widths, mechanism.width * unit)
    if isinstance(mechanism, UniformNoise):
        scale = (2 * mechanism.reach + 1) * unit / 2
        return ColumnFacts(column, UNIFORM, widths, scale, None if points else uniform_distance(mechanism))
    assert isinstance(mechanism, GaussianNoise)
    distance = None if points else gaussian_distance(mechanism)
    return ColumnFacts(column, GAUSSIAN, widths, gaussian_deviation(mechanism) * unit, distance)


# ---- distances to continuous mechanisms


def uniform_distance(noise: UniformNoise) -> float:
    """Return the distance to uniform noise of the same width: half a cell of it, for a value at its cell's edge.

    >>> uniform_distance(UniformNoise(10, 2))
    0.1
    """
    return float_up(Fraction(1, 2 * (2 * noise.reach + 1)))


def wave_distance(window: Window, *, optional: bool = False) -> float:
    """Return the distance to the square wave with the same γ and the same width of the near outputs.

    The worst value is at the upper edge of the last cell: the grid's window lies half a cell lower, and its output
    range is one cell shorter. The sum covers the outputs with a larger density on the grid.
    """
    total = window.total(optional=optional)
    longer = total + window.low
    high, low = ((Fraction(weight, total), Fraction(weight, longer)) for weight in (window.high, window.low))
    both_near = (window.near - Fraction(1, 2)) * (high[0] - high[1])
    near_here = Fraction(1, 2) * (high[0] - low[1])
    far = window.inputs - 1 + (window.near if optional else 0)  # a missing value's output weighs near · low
    return float_up(both_near + near_here + far * (low[0] - low[1]))


def gaussian_deviation(noise: Noise) -> float:
    """Return σ, in cells, of the Gaussian distribution with the noise's masses of cells (Sheppard's correction)."""
    weights = np.array(noise.noise_weights, dtype=np.float64)
    steps = np.arange(-noise.largest, noise.largest + 1)
    return math.sqrt(max(float(weights @ steps**2 / weights.sum()) - 1 / 12, 1e-6))


def gaussian_distance(noise: Noise) -> float:
    """Return the distance to Gaussian noise of :func:`gaussian_deviation`, for a value at its cell's edge.

    The distance is largest there. The overlap of two symmetric unimodal densities shrinks as one of them is shifted,
    because at each level the overlap of their intervals above that level shrinks.
    """
    deviation = gaussian_deviation(noise)
    weights = np.array(noise.noise_weights[noise.largest :]) / noise.cumulative[-1]
    first = np.arange(len(weights))
    overlap_below = _overlap(weights, first, deviation)  # the value's own cell and those below
    overlap_above = _overlap(weights[1:], first[:-1], deviation)
    return min(1.0, 1 - overlap_below - overlap_above + _FLOAT_ERROR)


def _overlap(masses: NDArray[np.float64], starts: NDArray[np.int64], deviation: float) -> float:
    """Return the overlap of one half of Gaussian noise with masses spread over cells [start, start + 1]."""
    level = np.minimum(masses * deviation * math.sqrt(2 * math.pi), 1.0)  # relative to the largest density
    crossing = np.clip(deviation * np.sqrt(-2 * np.log(level)), starts, starts + 1)
    beyond = normal_cdf(-crossing / deviation) - normal_cdf(-(starts + 1) / deviation)
    return float(np.sum(masses * (crossing - starts) + beyond))


# ---- guided perturbation


@dataclass(frozen=True, slots=True)
class GuidedFacts:
    """A plan of guided perturbation with an expected number of reports.

    Attributes:
        plan: the plan.
        reports: expected number of reports.
    """

    plan: GuidedPlan
    reports: int

    @property
    def guidances(self) -> int:
        """Number of guidance publications for these reports."""
        return -(-self.reports // self.plan.batch)

    @property
    def random_share(self) -> Fraction | None:
        """q, the share of reports about a random tuple; None with another safeguard."""
        return self.plan.safeguard.random_share if isinstance(self.plan.safeguard, TupleMix) else None

    _repr_html_ = display.html_renderer("assocpriv.show.table_views:guided_plan")

    def __repr__(self) -> str:
        return display.short_repr(self, f"{pluralize(self.reports, 'report')}, {display.plan_bound(self.plan)}", [
            f"guidance is published {pluralize(self.guidances, 'time')}, after every {self.plan.batch:,} reports",
            f"{pluralize(len(self.plan.attributes), 'attribute')}, {pluralize(self.plan.width, 'bit')}; "
            f"the class {self.plan.label.name} is raw",
        ])  # fmt: skip

    def to_frame(self) -> "pd.DataFrame":
        """Return a row an attribute, with its number of values, each a bit of a report.

        Returns:
            A pandas frame with the columns ``column`` and ``values``.
        """
        return display.rows_frame("column values", ((each.name, each.inputs) for each in self.plan.attributes))


def forecast_guided(plan: GuidedPlan, reports: int) -> GuidedFacts:
    """Return the guarantee of a plan; PlanError if ``reports`` is below 1."""
    return GuidedFacts(plan, check_range("reports", reports, 1, MOST_REPORTS))
