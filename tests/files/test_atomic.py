"""Atomic writing: partial files of killed processes, and two processes that write the same file."""

import subprocess
import sys
from pathlib import Path

import pytest

from assocpriv.files.atomic import atomic_output

_WRITER = """
import sys
from assocpriv.files.atomic import atomic_output
with atomic_output(sys.argv[1]) as stream:
    stream.write(b"begun")
    stream.flush()
    print("writes", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a name with characters that are special in patterns."""
    return tmp_path / "found [1].csv"


def _write(path: Path) -> None:
    with atomic_output(path, force=True) as stream:
        stream.write(b"whole")


def _begin(path: Path) -> "subprocess.Popen[bytes]":
    """Start a process that is in the middle of writing a file."""
    pytest.importorskip("fcntl")
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    writer = subprocess.Popen([sys.executable, "-c", _WRITER, str(path)], **pipes)
    assert writer.stdout.readline() == b"writes\n"
    return writer


def test_the_next_write_removes_partial_files_of_killed_processes(path: Path) -> None:
    """kill -9 leaves a hidden file; the next write of the same name removes it, and no other file."""
    other = path.with_name(".other.csv.0123abcd.part")
    other.touch()
    with _begin(path) as writer:
        writer.kill()
    assert len(list(path.parent.iterdir())) == 2
    _write(path)
    assert sorted(path.parent.iterdir()) == [other, path]


def test_partial_files_of_running_processes_stay(path: Path) -> None:
    """A second writer of a name does not disturb a first one, which finishes as it would have alone."""
    with _begin(path) as writer:
        _write(path)
        assert len(list(path.parent.iterdir())) == 2
        _, output = writer.communicate(b"")
    assert b"appeared while it was being written" in output
    assert list(path.parent.iterdir()) == [path]
    assert path.read_bytes() == b"whole"


def test_a_partial_file_removed_before_its_lock_is_made_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between making a file and locking it another writer may remove it: then a further one is made."""
    fcntl = pytest.importorskip("fcntl")
    real, taken = fcntl.flock, list[Path]()

    def take_away_first(file: int, how: int) -> None:
        if not taken:
            taken.extend(path.parent.iterdir())
            taken[0].unlink()
        real(file, how)

    monkeypatch.setattr(fcntl, "flock", take_away_first)
    _write(path)
    assert len(taken) == 1
    assert list(path.parent.iterdir()) == [path]
