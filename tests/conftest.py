"""Fixtures and options of all tests: their order, seeded randomness, slow tests, data sets that are elsewhere."""

import hashlib
import os
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # threads that wait for each other's share of a small matrix

import numpy as np
import pytest
from hypothesis import settings

# mended most often together with the package (of the 400 commits before 28 November 2026: 35, 15, 7, 7, 6, 6, 5, …)
FAILS_FIRST = (
    "whole/test_layers.py", "whole/test_entropy.py", "cli/test_documents.py", "cli/test_start.py", "cli/test_plan.py",
    "kernels/test_compiling.py", "whole/test_batches.py", "collect/test_keys.py", "server/test_itemsets.py",
)  # fmt: skip
# then what takes longest, so that all cores end together
TAKES_LONG = (
    "show/test_pages.py", "pages/test_demo.py", "collect/test_from_a_page.py", "whole/test_spark.py",
    "auditing/test_planted.py", "client/test_javascript.py", "bench/test_crowd.py", "collect/test_every_store.py",
    "collect/test_through_a_relay.py", "cli/test_asking.py", "collect/test_postgres.py", "whole/test_readme.py",
)  # fmt: skip
ORDER = {name: place for place, name in enumerate((*FAILS_FIRST, *TAKES_LONG))}
BEGAN = pytest.StashKey[float]()
SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def pytest_addoption(parser):
    """Add --soak-seed, --slow and --seconds."""
    parser.addoption(
        "--soak-seed",
        type=int,
        default=0,
        help="seed of all randomness in tests, with each test's name (0: the fixed one)",
    )
    parser.addoption("--slow", action="store_true", help="run the tests marked slow too")
    parser.addoption("--seconds", type=float, help="skip what has not begun by then, what takes long last")


def pytest_configure(config):
    """Let Hypothesis try the same examples in every run, new ones under --soak-seed; its deadlines measure noise."""
    settings.register_profile("assocpriv", deadline=None, derandomize=config.getoption("--soak-seed") == 0)
    settings.load_profile("assocpriv")


def pytest_collection_modifyitems(config, items):
    """Put first what fails most often, then what takes longest; skip the tests marked slow unless --slow is given."""
    hurried = config.getoption("--seconds") is not None

    def place(item):
        found = ORDER.get(item.nodeid.partition("::")[0].removeprefix("tests/"), len(ORDER))
        return found if found < len(FAILS_FIRST) or not hurried else 2 * len(ORDER) - found

    items.sort(key=place)
    if config.getoption("--slow"):
        return
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="slow: runs with --slow only"))


def pytest_runtest_setup(item):
    """Skip what --seconds leaves no time for, counted from the first test."""
    seconds, now = item.config.getoption("--seconds"), time.monotonic()
    if seconds is not None and now > item.config.stash.setdefault(BEGAN, now) + seconds:
        pytest.skip(f"not begun in {seconds:g} s")


def pytest_report_teststatus(report, config):
    """Name what fails when it does, not minutes later."""
    if report.failed:
        config.get_terminal_writer().line(f" {report.nodeid}")


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
