"""Tests of who may see the operator's page: the token's file, the limit on failures, sessions and forms."""

from pathlib import Path

import pytest

from assocpriv.pages.operator import TOKEN_FILE, Sessions, TooManyFailuresError, read_or_make_token
from assocpriv.promise.errors import FileError


class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


def test_a_token_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    """It has 256 bits and mode 0600 and stays; nothing else is left in the folder."""
    token = read_or_make_token(tmp_path)
    assert len(token) >= 43
    assert (tmp_path / TOKEN_FILE).stat().st_mode & 0o777 == 0o600
    assert read_or_make_token(tmp_path) == token
    assert [path.name for path in tmp_path.iterdir()] == [TOKEN_FILE]


def test_a_token_that_others_read_or_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    """The error names the file and what to do, and does not show the token."""
    token, path = read_or_make_token(tmp_path), tmp_path / TOKEN_FILE
    path.chmod(0o640)
    with pytest.raises(FileError, match="others than its owner may read") as refused:
        read_or_make_token(tmp_path)
    assert token not in str(refused.value)
    path.chmod(0o600)
    path.write_text(token[:20])
    with pytest.raises(FileError, match="no whole token"):
        read_or_make_token(tmp_path)
    path.unlink()
    path.mkdir()
    with pytest.raises(FileError, match="cannot use the operator's token"):
        read_or_make_token(tmp_path)


def test_failed_logins_are_limited_for_all_together() -> None:
    """After five failures one more may fail every ten seconds; the right token is let in all the while."""
    clock = Clock()
    sessions = Sessions("right", clock)
    assert all(sessions.admits("right") for _ in range(20))
    assert not any(sessions.admits(wrong) for wrong in ("wrong", "", "right ", "Right", "é\udcff"))
    for now, fails in ((0, False), (9.9, False), (10, True), (10, False), (20, True)):
        clock.now = now
        assert sessions.admits("right")
        if fails:
            assert not sessions.admits("wrong")
        else:
            with pytest.raises(TooManyFailuresError, match=r"try again in \d+ seconds"):
                sessions.admits("wrong")


def test_sessions_end() -> None:
    """By logging out, after twelve hours, and the oldest where there are too many."""
    clock = Clock()
    sessions = Sessions("token", clock)
    values = [sessions.begin() for _ in range(65)]
    assert len(set(values)) == 65
    assert [sessions.is_open(value) for value in values[:2]] == [False, True]
    sessions.end(values[1])
    assert not sessions.is_open(values[1])
    assert sessions.is_open(values[2])
    clock.now = 12 * 3600
    assert not sessions.is_open(values[2])
    assert not sessions.is_open("")


def test_a_form_belongs_to_a_cookie_and_a_process() -> None:
    """Another cookie's form, another process's, none and an empty cookie are no own forms."""
    sessions, others = Sessions("token"), Sessions("token")
    value = sessions.begin()
    assert sessions.is_own_form(value, sessions.form_token(value))
    assert not sessions.is_own_form(value, sessions.form_token(sessions.begin()))
    assert not sessions.is_own_form(value, others.form_token(value))
    assert not sessions.is_own_form(value, "")
    assert not sessions.is_own_form(value, "é")
    assert not sessions.is_own_form("", sessions.form_token(""))
