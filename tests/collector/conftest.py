"""Fixtures of the collector's tests: a PostgreSQL server, one for all of them."""

from collections.abc import Iterator

import pytest
from debian_packages import program
from postgres_server import Server


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
