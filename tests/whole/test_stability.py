"""What 1.0 will freeze is what the list says: a change of it is seen, and meant (docs/stability.md)."""

import frozen
import pytest

LISTED = frozen.listed()
HOW = "if this change is meant, run python tests/frozen.py, and say it in CHANGELOG.md (docs/stability.md)"


@pytest.mark.parametrize("door", frozen.DOORS)
def test_python_names_are_those_listed(door: str) -> None:
    """Public names, and the names of what they take."""
    assert frozen.python_names()[door] == LISTED["python"][door], HOW


def test_options_are_those_listed() -> None:
    """Commands with their arguments and options."""
    assert frozen.options() == LISTED["options"], HOW


def test_plans_that_are_read_are_those_listed() -> None:
    """A kind of plan that is read once is read for ever."""
    assert frozen.plan_kinds() == LISTED["plans"], HOW


def test_a_change_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """An argument more, or a name less, is not what the list says."""
    import assocpriv as ap

    def mine(reports: object, support: float) -> None:
        """Take other arguments."""

    monkeypatch.setattr(ap, "mine", mine)
    assert frozen.python_names()["assocpriv"] != LISTED["python"]["assocpriv"]
    monkeypatch.setattr(ap, "__all__", ap.__all__[1:])
    assert len(frozen.python_names()["assocpriv"]) < len(LISTED["python"]["assocpriv"])


def test_a_method_of_another_name_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """What classes have is listed, too."""
    import assocpriv as ap

    assert any(name.startswith("Reports.from_bytes(") for name in LISTED["python"]["assocpriv"])
    monkeypatch.delattr(ap.Reports, "from_bytes")
    assert frozen.python_names()["assocpriv"] != LISTED["python"]["assocpriv"]
