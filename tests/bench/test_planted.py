"""The faults that the bench plants can be planted in the source as it stands."""

import ast

import pytest

from bench.accuracy import planted


@pytest.mark.parametrize("fault", planted.FAULTS, ids=lambda fault: fault.name)
def test_faults_can_be_planted(fault):
    """What a planted fault replaces stands once in the package, and what it becomes is Python."""
    for file, old, new in fault.edits:
        text = (planted.ROOT / "assocpriv" / file).read_text(encoding="utf-8")
        changed = planted.replaced(text, old, new)
        assert changed != text
        ast.parse(changed)
