"""Fixtures and options of all tests: order, seeded randomness, slow tests, shared data sets."""

import hashlib
import importlib.util
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # on small matrices, threads mostly wait for each other

import numpy as np
import pytest
from hypothesis import settings

if "KERNELS_TO_TEST" in os.environ:  # a build of the compiled kernels that checks bounds, made by dev.py
    spec = importlib.util.spec_from_file_location("assocpriv.kernels.compiled", os.environ["KERNELS_TO_TEST"])
    sys.modules[spec.name] = importlib.util.module_from_spec(spec)

from assocpriv.show import text_renderer

# changed most often together with the package (in the 400 commits before 28 November 2026: 35, 15, 7, 7, 6, 6, 5, …)
FAILS_FIRST = (
    "whole/test_layers.py", "whole/test_entropy.py", "cli/test_documents.py", "cli/test_start.py",
    "cli/test_plan_commands.py", "kernels/test_kernels.py", "whole/test_batches.py", "collect/test_keys.py",
    "server/baskets/test_itemsets.py",
)  # fmt: skip
# then the longest, so that all cores finish together
TAKES_LONG = (
    "show/test_result_pages.py", "pages/test_demo_page.py", "collect/test_from_a_page.py", "whole/test_spark.py",
    "auditing/test_seeded_faults.py", "client/test_javascript.py", "bench/test_crowd.py", "collect/test_every_store.py",
    "collect/test_through_a_relay.py", "cli/test_plan_dialog.py", "collect/test_postgres.py", "whole/test_readme.py",
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
        help="seed of all randomness in tests, combined with each test's name (0: fixed)",
    )
    parser.addoption("--slow", action="store_true", help="also run the tests marked slow")
    parser.addoption("--seconds", type=float, help="skip tests that start later than this; run long tests last")


def pytest_configure(config):
    """Set Hypothesis to the same examples in every run, new ones with --soak-seed, without deadlines."""
    settings.register_profile("assocpriv", deadline=None, derandomize=config.getoption("--soak-seed") == 0)
    settings.load_profile("assocpriv")


def pytest_collection_modifyitems(config, items):
    """Run first the tests that fail most often, then the longest; skip those marked slow unless --slow is given."""
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
    """Skip tests for which --seconds, counted from the first test, leaves no time."""
    seconds, now = item.config.getoption("--seconds"), time.monotonic()
    if seconds is not None and now > item.config.stash.setdefault(BEGAN, now) + seconds:
        pytest.skip(f"not started within {seconds:g} s")


def pytest_report_teststatus(report, config):
    """Print the name of a test as soon as it fails."""
    if report.failed:
        config.get_terminal_writer().line(f" {report.nodeid}")


@pytest.fixture
def rng(request):
    """Return a numpy Generator seeded by the test's name and --soak-seed, independent of other tests."""
    # the id has / on every system, and is relative to the root, so the checkout's folder does not matter
    name = f"{request.node.nodeid}\n{request.config.getoption('--soak-seed')}"
    digest = hashlib.sha256(name.encode()).digest()
    return np.random.default_rng(int.from_bytes(digest, "big"))


@pytest.fixture(scope="session")
def shared_data():
    """Return the folder of public data sets next to the repository; skip tests that need it if it is missing."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"the data folder {SHARED_DATA} is missing")
    return SHARED_DATA


@pytest.fixture(autouse=True)
def _unwrapped(monkeypatch):
    """Print sentences on one line, so that tests find them; show/test_text_renderer.py tests where they wrap."""
    monkeypatch.setattr(text_renderer, "WIDTH", 1 << 20)
