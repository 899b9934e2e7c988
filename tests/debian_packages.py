"""Programs of Debian packages that some tests need; in CI (CI=true) a test fails where one is missing."""

import os
import shutil
from pathlib import Path

import pytest


def program(name: str, package: str, *places: str) -> str:
    """Return where a program is, on the path or in other places (with * in them); skip the test if it is nowhere."""
    found = [shutil.which(name), *(str(path) for place in places for path in sorted(Path("/").glob(place.lstrip("/"))))]
    if path := next((each for each in reversed(found) if each), None):
        return path
    message = f"{name} is not installed; on Debian: apt-get install {package}"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)
