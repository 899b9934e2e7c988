"""The faults of tests/faults can be planted in the source as it stands, and the tests that must catch them exist."""

import ast

import pytest
from faults import run as judge


@pytest.mark.parametrize("fault", judge.kept(), ids=lambda fault: fault.name)
def test_faults_can_be_planted(fault):
    """What a fault replaces stands once in its file, what it becomes is Python, and its tests exist."""
    changed = fault.planted()
    if fault.file.endswith(".py"):
        ast.parse(changed)
    assert fault.tests or fault.audit
    assert all((judge.ROOT / test.partition("::")[0]).exists() for test in fault.tests)


def test_there_are_faults_of_every_room_that_decides():
    """Each room in which a fault could cost a promise, a report or a figure has some."""
    files = [fault.file for fault in judge.kept()]
    assert all(any(file.startswith(f"assocpriv/{room}/") for file in files) for room in judge.MUTATED)
    assert len({fault.name for fault in judge.kept()}) == len(files)
