"""Fixtures and options of all tests: order, seeded randomness, slow tests, shared data sets."""

import hashlib
import importlib.util
import os
import random
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

from assocpriv.guarantees.entropy import SystemEntropy
from assocpriv.show import text_renderer

# changed most often together with the package (in the 400 commits before 28 November 2026: 35, 15, 7, 7, 6, 6, 5, …)
FAILS_FIRST = (
    "whole/test_layers.py", "whole/test_entropy.py", "cli/test_documents.py", "cli/test_start.py",
    "cli/test_plan_commands.py", "kernels/test_kernels.py", "whole/test_batches.py", "collect/test_keys.py",
    "server/baskets/test_itemsets.py",
)  # fmt: skip
# the longest, many of which wait for browsers and other processes: they start early, so that all cores finish together,
# and APART files apart, so that others compute meanwhile
TAKES_LONG = (
    "whole/test_spark.py", "client/test_javascript.py", "pages/test_demo_page.py", "auditing/test_seeded_faults.py",
    "collect/test_from_a_page.py", "collect/test_through_a_relay.py", "whole/test_run_a_collection.py",
    "whole/test_fuzz.py", "whole/test_site.py", "show/test_result_pages.py", "whole/test_readme.py",
    "collect/test_http_server.py", "collect/test_postgres.py", "whole/test_frozen.py",
)  # fmt: skip
APART = 8
ORDER = {name: place - len(FAILS_FIRST) for place, name in enumerate(FAILS_FIRST)}
ORDER |= {name: place * APART - 0.5 for place, name in enumerate(TAKES_LONG)}
BEGAN, SOURCE = pytest.StashKey[float](), pytest.StashKey["SeededSource | None"]()
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
    """Run first what fails most often, and early what takes long; skip those marked slow unless --slow is given."""
    files = [item.nodeid.partition("::")[0].removeprefix("tests/") for item in items]
    places = {name: place for place, name in enumerate(dict.fromkeys(files))} | ORDER
    if config.getoption("--seconds") is not None:
        places |= dict.fromkeys(TAKES_LONG, len(places))
    items[:] = [item for _, item in sorted(zip(files, items, strict=True), key=lambda pair: places[pair[0]])]
    if config.getoption("--slow"):
        return
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="slow: runs with --slow only"))


class SeededSource:
    """The system's random bytes in this process, from a seed; children of this process get the system's own."""

    def __init__(self, name):
        self._own, self._process, self.stream = os.urandom, os.getpid(), _stream(name)

    def __call__(self, count):
        """Return random bytes."""
        return self.stream.bytes(count) if os.getpid() == self._process else self._own(count)


def _stream(name):
    """Return a numpy Generator, which is safe in threads, seeded by a name."""
    return np.random.default_rng(int.from_bytes(hashlib.sha256(name.encode()).digest(), "big"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Seed the system's random bytes by a test's name and --soak-seed, unless it is marked system_entropy."""
    item.config.stash[SOURCE] = None
    if item.get_closest_marker("system_entropy"):
        return (yield)
    item.config.stash[SOURCE] = source = SeededSource(_name(item.config, item.nodeid))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "urandom", source)
        patch.setattr(random, "_urandom", source)  # of secrets, uuid and numpy's seeds
        patch.setattr(SystemEntropy, "is_shared", False)  # draws in the order of the chunks, not as threads come
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef, request):
    """Seed what is made for several tests by its own name, so that it does not depend on which test runs first."""
    source = request.config.stash[SOURCE]
    if source is None or fixturedef.scope == "function":
        return (yield)
    before, parameter = source.stream, getattr(request, "param_index", 0)
    source.stream = _stream(_name(request.config, f"{fixturedef.baseid} {fixturedef.argname} {parameter}"))
    try:
        return (yield)
    finally:
        source.stream = before


def _name(config, name):
    """Return the name of a stream: of a test or a fixture, and --soak-seed."""
    # ids have / on every system, and are relative to the root, so the checkout's folder does not matter
    return f"{name}\n{config.getoption('--soak-seed')}"


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
    return _stream(_name(request.config, request.node.nodeid))


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
