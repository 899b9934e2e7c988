"""Tests of what people type first in Python, beyond the steps from baskets to rules."""

import subprocess
import sys
from pathlib import Path

import pytest

import assocpriv as ap


@pytest.fixture(scope="module")
def plan() -> ap.Plan:
    """A plan of four names."""
    names, promise = ["bread", "milk", "eggs", "tea"], ap.Breach("5%", "50%")
    return ap.plan(names, transaction_size=2, promise=promise, kind="independent", code="none")


def test_dir_shows_public_names_alone() -> None:
    """What a shell completes is what may be used: nothing that only types or loading need."""
    assert {name for name in dir(ap) if not name.startswith("__")} == set(ap.__all__)


def test_modules_are_there_without_importing_them() -> None:
    """``ap.numeric`` is the module; what is none is an AttributeError."""
    code = "import assocpriv as ap\nassert ap.numeric.TablePlan and ap.collect.serve\nassert not hasattr(ap, 'cooking')"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_report_items_are_names(plan: ap.Plan) -> None:
    """A report shows names of the catalogue, those that its bits say; dummies are not among them."""
    ids = {name: plan.catalogue.index_of[name] for name in plan.catalogue}
    for report in (bytes([number]) for number in range(1 << plan.n_items + plan.transaction_size)):  # a bit each
        shown = {name for name, item in ids.items() if item in plan.form.items(report)}
        assert ap.report_items(report, plan) == shown
    assert ap.report_items(b"\x3f", plan) == set(plan.catalogue)


@pytest.mark.parametrize(
    ("report", "error"),
    [(b"", "was it made with another plan"), (b"\xff", "bit set beyond"), ("x", "a report is bytes")],
)
def test_what_is_no_report_is_refused(plan: ap.Plan, report: bytes, error: str) -> None:
    """Bytes of another plan and what are no bytes are told apart."""
    with pytest.raises((ap.AssocprivError, TypeError), match=error):
        ap.report_items(report, plan)


def test_an_audit_takes_a_plan_or_its_file(plan: ap.Plan, tmp_path: Path) -> None:
    """Both give the same findings; a broken promise is said to be."""
    path = tmp_path / "plan.json"
    ap.write_plan(plan, path)
    of_plan, of_file = ap.audit(plan, depth="exact"), ap.audit(str(path), depth="exact")
    assert [finding.name for finding in of_plan.findings] == [finding.name for finding in of_file.findings]
    assert of_plan.verdict == of_file.verdict == "consistent"
    assert repr(of_plan).startswith("Audit(consistent, ")
    path.write_text(path.read_text().replace('"prior": "1/20"', '"prior": "1/10"'))
    assert ap.audit(path, depth="exact").is_broken
    with pytest.raises(ap.AssocprivError, match="write_plan"):
        ap.audit(plan, program=["./client"])


def test_inspect_takes_a_path_as_text(plan: ap.Plan, tmp_path: Path) -> None:
    """A file's content is read whichever it is; no word of it is a path's type."""
    ap.write_plan(plan, tmp_path / "plan.json")
    content = ap.inspect(str(tmp_path / "plan.json"))
    assert (content.kind, content.plan) == ("plan", plan)


@pytest.mark.parametrize("front", ["numeric", "guided", "suppress", "collect", "spark"])
def test_every_public_name_has_an_example(front: str) -> None:
    """Functions and classes but exceptions show their use; a front without a list of names has those it defines."""
    module = getattr(ap, front)
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__]
    public = [getattr(module, name) for name in getattr(module, "__all__", own) if not name.startswith("_")]
    shown = [each for each in public if not (isinstance(each, type) and issubclass(each, Exception))]
    assert shown
    assert [each.__name__ for each in shown if ">>>" not in (each.__doc__ or "")] == []
