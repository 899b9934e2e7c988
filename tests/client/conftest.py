"""What tests of a device share."""

from pathlib import Path

import pytest


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A place for a ledger."""
    return tmp_path / "ledger.bin"
