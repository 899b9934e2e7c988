"""Reconstructed distributions: what is known of a column, as data, tables and JSON content."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.itemsets import LightFrame, as_column, put_together, write_plain
from assocpriv.plans.kind import shown_by
from assocpriv.promise.numbers import rounded

if TYPE_CHECKING:
    import pandas as pd

UNBIASED, SMOOTH = "least-squares", "smooth"  # what bands and quantiles rest on


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its standard error and an interval at the confidence level that was asked for."""

    value: float
    std_error: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Quantile:
    """The value below which a share ``level`` of all lie, with an interval."""

    level: float
    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Numbers:
    """What only numbers have.

    ``edges`` of the intervals, float64 (intervals + 1,); ``cdf_low`` and ``cdf_high``, of the same shape, hold the
    distribution function at all edges at once; ``basis`` says what they and the intervals of quantiles rest on:
    ``least-squares`` assumes nothing of the distribution but even spread within intervals, ``smooth`` that its
    log-density is about as rough everywhere.
    """

    edges: NDArray[np.float64]
    cdf_low: NDArray[np.float64]
    cdf_high: NDArray[np.float64]
    basis: str
    mean: Figure | None
    variance: Figure | None
    quantiles: tuple[Quantile, ...]

    def record(self) -> dict[str, Any]:
        """Return it as JSON content."""
        bands = {"low": self.cdf_low.tolist(), "high": self.cdf_high.tolist(), "basis": self.basis}
        moments = {name: _fields(getattr(self, name)) for name in ("mean", "variance")}
        return moments | {"quantiles": [_fields(each) for each in self.quantiles], "distribution": bands}


@dataclass(frozen=True, eq=False)
class Distribution:
    """How one column's values are spread, missing ones left out.

    ``share`` and ``std_error`` are float64 (intervals or values,); the shares add up to 1. ``missing`` is the share of
    missing values, None where none may be missing; ``reports`` the number of reports that it comes from, of a
    protected class an estimate.
    """

    name: str
    method: str
    reports: int
    share: NDArray[np.float64]
    std_error: NDArray[np.float64]
    missing: Figure | None
    values: tuple[str, ...] = ()
    numbers: Numbers | None = None

    def record(self) -> dict[str, Any]:
        """Return it as JSON content."""
        where = {"values": list(self.values)} if self.numbers is None else {"edges": self.numbers.edges.tolist()}
        shares = {"share": self.share.tolist(), "std_error": self.std_error.tolist()}
        rest = {"method": self.method, "reports": self.reports, "missing": _fields(self.missing)}
        return where | shares | rest | ({} if self.numbers is None else self.numbers.record())

    def table(self) -> LightFrame:
        """Return a row for each interval or value; ``cdf_low`` and ``cdf_high`` hold at its upper edge."""
        n, numbers = len(self.share), self.numbers
        none = np.full(n, np.nan)
        places: dict[str, Any] = {"value": list(self.values) or [None] * n, "low": none, "high": none}
        bands = {"cdf_low": none, "cdf_high": none}
        if numbers is not None:
            places |= {"low": numbers.edges[:-1], "high": numbers.edges[1:]}
            bands = {"cdf_low": numbers.cdf_low[1:], "cdf_high": numbers.cdf_high[1:]}
        shares = {"share": self.share, "std_error": self.std_error}
        return LightFrame.made({"column": [self.name] * n} | places | shares | bands)

    def frame(self) -> "pd.DataFrame":
        """Return :meth:`table` as a data frame."""
        return _frame(self.table())


@dataclass(frozen=True, eq=False)
class JointDistribution:
    """How two columns' values are spread together, records with a missing one left out.

    ``share`` and ``std_error`` are float64 (places of the first, places of the second); ``places`` are the edges of
    each column's intervals, or its values.
    """

    names: tuple[str, str]
    method: str
    reports: int
    places: tuple[NDArray[np.float64] | tuple[str, ...], NDArray[np.float64] | tuple[str, ...]]
    share: NDArray[np.float64]
    std_error: NDArray[np.float64]

    def record(self) -> dict[str, Any]:
        """Return it as JSON content."""
        sides = {
            side: {"name": name} | ({"values": list(at)} if isinstance(at, tuple) else {"edges": at.tolist()})
            for side, name, at in zip(("first", "second"), self.names, self.places, strict=True)
        }
        shares = {"share": self.share.tolist(), "std_error": self.std_error.tolist()}
        return sides | shares | {"method": self.method, "reports": self.reports}

    def table(self) -> LightFrame:
        """Return a row for each pair of intervals or values, named ``first`` and ``second``."""
        first, second = (_labels(at) for at in self.places)
        pairs = [(one, other) for one in first for other in second]
        table: dict[str, Any] = {
            "column": [" × ".join(self.names)] * len(pairs),
            "first": [one for one, _ in pairs],
            "second": [two for _, two in pairs],
        }
        return LightFrame.made(table | {"share": self.share.ravel(), "std_error": self.std_error.ravel()})

    def frame(self) -> "pd.DataFrame":
        """Return :meth:`table` as a data frame."""
        return _frame(self.table())


@dataclass(frozen=True, eq=False)
class Distributions:
    """Distributions of all columns, over all records and by class, and of two columns together.

    ``left_out`` says of classes why they are not in ``classes``; ``plan_id`` is that of the reports' plan.
    """

    reports: int
    confidence_level: float
    columns: Mapping[str, Distribution]
    by: str | None = None
    classes: Mapping[str, Mapping[str, Distribution]] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    joint: JointDistribution | None = None
    plan_id: str = ""

    _repr_html_ = shown_by("assocpriv.apps.render.notebook:distributions_html")

    def __repr__(self) -> str:
        by = f", by {len(self.classes)} classes of {self.by}" if self.by is not None else ""
        return f"Distributions({', '.join(self.columns)}; {self.reports:,} reports{by})"

    def __getitem__(self, name: str) -> Distribution:
        return self.columns[name]

    def _parts(self) -> Iterator[tuple[str | None, Distribution]]:
        if self.by is None:
            yield from ((None, each) for each in self.columns.values())
        for value, columns in self.classes.items():
            yield from ((value, each) for each in columns.values())

    def frame(self) -> "pd.DataFrame":
        """Return a row for each interval or value, with by also for each class; of two columns for each pair."""
        return _frame(self._table())

    def _table(self) -> LightFrame:
        if self.joint is not None:
            return self.joint.table()
        tables = []
        for value, distribution in self._parts():
            table = distribution.table()
            names = {} if self.by is None else {"class": as_column([value] * len(table))}
            tables.append(LightFrame(names | table.columns))
        return put_together(tables)

    def record(self) -> dict[str, Any]:
        """Return it as JSON content."""
        found: dict[str, Any] = {
            "plan_id": self.plan_id,
            "reports": self.reports,
            "confidence_level": self.confidence_level,
            "columns": {name: each.record() for name, each in self.columns.items()},
        }
        if self.by is not None:
            classes = {
                value: {"columns": {name: each.record() for name, each in columns.items()}}
                for value, columns in self.classes.items()
            }
            found |= {"by": self.by, "classes": classes, "left_out": dict(self.left_out)}
        if self.joint is not None:
            found["joint"] = self.joint.record()
        return found

    def write(self, path: str | Path, *, force: bool = False) -> None:
        """Write :meth:`frame` as Parquet or CSV, or all that is known as JSON, by extension.

        Raises:
            FileError: unknown extension, existing file without ``force``, or the disk refuses.
        """
        write_plain(
            self._table(), [], lambda: json.dumps(self.record(), indent=1, ensure_ascii=False), path, force=force
        )


def _frame(table: LightFrame) -> "pd.DataFrame":
    """Return a data frame whose texts have pandas' own type."""
    import pandas as pd

    return pd.DataFrame({name: each.tolist() if each.dtype == object else each for name, each in table.columns.items()})


def _labels(places: NDArray[np.float64] | tuple[str, ...]) -> list[str]:
    if isinstance(places, tuple):
        return list(places)
    return [f"{rounded(low, 6)}–{rounded(high, 6)}" for low, high in pairwise(places)]


def _fields(thing: Figure | Quantile | None) -> dict[str, float] | None:
    return None if thing is None else {name: getattr(thing, name) for name in thing.__slots__}
