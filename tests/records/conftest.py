"""Fixtures of all tests of records."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import assocpriv as ap
from assocpriv.guarantees.errors import BasketError
from assocpriv.records.baskets import Baskets

MAKERS: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "pandas": pd.DataFrame,
    "polars": lambda columns: pl.DataFrame(columns, strict=False),
    "pyarrow": pa.table,
}


def named(baskets: Baskets) -> list[set[str]]:
    """Return the baskets as sets of names."""
    return [{baskets.catalogue[item] for item in basket} for basket in baskets]


def refused(says: str, read: Callable[..., Any], /, *given: Any, **options: Any) -> str:
    """Check that baskets are refused with such words; return the message."""
    with pytest.raises(BasketError, match=says) as caught:
        read(*given, **options)
    return str(caught.value)


@pytest.fixture
def read(tmp_path: Path) -> Any:
    """Return what writes a file and reads its baskets."""

    def read_text(text: str | bytes, name: str = "x.csv", **options: Any) -> list[set[str]]:
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return named(ap.read_baskets(tmp_path / name, **options))

    return read_text


@pytest.fixture(params=list(MAKERS))
def make(request: pytest.FixtureRequest) -> Callable[[dict[str, list[Any]]], Any]:
    """Return a maker of one kind of table."""
    return MAKERS[request.param]


@pytest.fixture(autouse=True)
def _log_what_is_read(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "assocpriv")
