"""Fixtures of the collector's tests: one PostgreSQL server for all, and collectors as processes."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from collect.postgres_server import Server
from command_line import program
from running_collector import MEMORY, PLAN, Collector, Forks, Opened

from assocpriv.collect.folder import open_store
from assocpriv.collect.store import ReportStore


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """Yield a folder, in memory where possible."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        yield Path(folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a place for a store."""
    return tmp_path / "collection"


@pytest.fixture
def url() -> str:
    """Return the URL of a store."""
    return "sqlite"


@pytest.fixture
def opened(folder: Path, url: str) -> Iterator[Opened]:
    """Yield a function that opens the store, also repeatedly; the last one is closed at the end."""
    stores: list[ReportStore] = []

    def open_it(**options: Any) -> ReportStore:
        while stores:
            stores.pop().close()
        stores.append(open_store(folder, PLAN, url, **options))
        return stores[-1]

    yield open_it
    for store in stores:
        store.close()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """Yield a server, started by the first test that needs it."""
    pytest.importorskip("psycopg", reason="the extra assocpriv[postgres] is not installed")
    server = Server(program("initdb", "postgresql", "/usr/lib/postgresql/*/bin/initdb"))
    try:
        yield server
    finally:
        server.remove()


@pytest.fixture
def database(postgres: Server) -> Iterator[Server]:
    """Yield the server without any collection in it."""
    yield postgres
    postgres.forget()


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    """Yield the process that collectors are forked from."""
    forks = Forks()
    yield forks
    forks.close()


@pytest.fixture
def collector(forks: Forks, tmp_path: Path) -> Iterator[Collector]:
    """Yield a running collector."""
    with Collector(forks, tmp_path) as running:
        yield running
