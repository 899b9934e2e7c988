"""Fixtures of all tests of records."""

import logging
from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

MAKERS: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "pandas": pd.DataFrame,
    "polars": lambda columns: pl.DataFrame(columns, strict=False),
    "pyarrow": pa.table,
}


@pytest.fixture(params=list(MAKERS))
def make(request: pytest.FixtureRequest) -> Callable[[dict[str, list[Any]]], Any]:
    """Return a maker of one kind of table."""
    return MAKERS[request.param]


@pytest.fixture(autouse=True)
def _log_what_is_read(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "assocpriv")
