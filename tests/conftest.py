"""Fixtures and options of all tests: seeded randomness, slow tests, data sets that are not in the repository."""

import hashlib
import os
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # threads that wait for each other's share of a small matrix

import numpy as np
import pytest
from hypothesis import settings

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def pytest_addoption(parser):
    """Add --soak-seed and --slow."""
    parser.addoption(
        "--soak-seed",
        type=int,
        default=0,
        help="seed of all randomness in tests, with each test's name (0: the fixed one)",
    )
    parser.addoption("--slow", action="store_true", help="run the tests marked slow too")


def pytest_configure(config):
    """Let Hypothesis try the same examples in every run, new ones under --soak-seed; its deadlines measure noise."""
    settings.register_profile("assocpriv", deadline=None, derandomize=config.getoption("--soak-seed") == 0)
    settings.load_profile("assocpriv")


def pytest_collection_modifyitems(config, items):
    """Skip the tests marked slow unless --slow is given."""
    if config.getoption("--slow"):
        return
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="slow: runs with --slow only"))


@pytest.fixture
def rng(request):
    """A numpy Generator that depends on the test's name and --soak-seed alone: no test shifts another's draws."""
    # the id with / as in it on every system; relative to the root, so the folder of the checkout has no say
    name = f"{request.node.nodeid}\n{request.config.getoption('--soak-seed')}"
    digest = hashlib.sha256(name.encode()).digest()
    return np.random.default_rng(int.from_bytes(digest, "big"))


@pytest.fixture(scope="session")
def shared_data():
    """The folder of public data sets beside the repository; tests that need it are skipped without it."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"the folder of data sets {SHARED_DATA} is missing")
    return SHARED_DATA
