"""The seeded faults of tests/faults apply to the current sources, and the tests that must catch them exist."""

import ast

import pytest
from faults import run as judge


@pytest.mark.parametrize("fault", judge.kept(), ids=lambda fault: fault.name)
def test_faults_apply_to_the_sources(fault):
    """The old text of a fault occurs once in its file, the mutated file is valid Python, and its tests exist."""
    changed = fault.mutated()
    if fault.file.endswith(".py"):
        ast.parse(changed)
    assert fault.tests or fault.audit
    assert all((judge.ROOT / test.partition("::")[0]).exists() for test in fault.tests)


def test_every_mutated_package_has_faults():
    """Each package in which a fault could break a guarantee, lose a report or change an estimate has seeded faults."""
    files = [fault.file for fault in judge.kept()]
    assert all(any(file.startswith(f"assocpriv/{package}/") for file in files) for package in judge.MUTATED)
    assert len({fault.name for fault in judge.kept()}) == len(files)
