"""Fixtures of the collector's tests: a PostgreSQL server, and collectors as processes, one of each for all of them."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from collect.postgres_server import Server
from command_line import program
from running_collector import MEMORY, Collector, Forks


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """Give a folder in memory, where there is any."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """Give a server, started by the first test that asks for it."""
    pytest.importorskip("psycopg", reason="the extra assocpriv[postgres] is not installed")
    server = Server(program("initdb", "postgresql", "/usr/lib/postgresql/*/bin/initdb"))
    try:
        yield server
    finally:
        server.remove()


@pytest.fixture
def database(postgres: Server) -> Iterator[Server]:
    """Give the server without any collection in it."""
    yield postgres
    postgres.forget()


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    """Give the process that collectors are forked from."""
    forks = Forks()
    yield forks
    forks.close()


@pytest.fixture
def collector(forks: Forks, tmp_path: Path) -> Iterator[Collector]:
    """Give a collector that runs."""
    with Collector(forks, tmp_path) as running:
        yield running
