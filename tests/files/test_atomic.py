"""Files that appear whole: what a killed process left of one, and two processes that write the same one."""

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
    """Return a name with signs that patterns have."""
    return tmp_path / "found [1].csv"


def _write(path: Path) -> None:
    with atomic_output(path, force=True) as stream:
        stream.write(b"whole")


def _begin(path: Path) -> "subprocess.Popen[bytes]":
    """Start a process that is in the middle of writing a file."""
    pytest.importorskip("fcntl")
    writer = subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert writer.stdout is not None
    assert writer.stdout.readline() == b"writes\n"
    return writer


def test_what_a_killed_process_left_goes_with_the_next_write(path: Path) -> None:
    """kill -9 leaves a hidden file; the next write of the same name takes it away, and no other's."""
    other = path.with_name(".other.csv.0123abcd.part")
    other.touch()
    with _begin(path) as writer:
        writer.kill()
    assert len(list(path.parent.iterdir())) == 2
    _write(path)
    assert sorted(path.parent.iterdir()) == [other, path]


def test_what_a_living_process_writes_stays(path: Path) -> None:
    """A second writer of a name leaves alone what the first is in the middle of, which then ends as it would have."""
    with _begin(path) as writer:
        _write(path)
        assert len(list(path.parent.iterdir())) == 2
        _, said = writer.communicate(b"")
    assert b"appeared while it was being written" in said
    assert list(path.parent.iterdir()) == [path]
    assert path.read_bytes() == b"whole"


def test_a_file_taken_for_abandoned_before_it_was_locked_is_begun_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
