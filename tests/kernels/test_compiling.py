"""Kernels are compiled once, for these sources and this processor, and cached where no other user can write."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assocpriv.kernels import compiling
from assocpriv.kernels.compiling import find_cache_folder, kernel

KERNELS = Path(compiling.__file__).parent
HELPER = "from assocpriv.kernels.compiling import kernel\n\n\n@kernel\ndef add(n):\n    return n + 1\n"
KERNEL = """
from assocpriv.kernels.compiling import kernel
from assocpriv.kernels.helper import add

@kernel
def twice(n):
    return 2 * add(n)
"""
CALL = """
import json
from assocpriv.kernels import compiling
compiled = []
compiling.notify_when_compiling(lambda: compiled.append(1))
from assocpriv.kernels.outer import twice
print(json.dumps([twice(20), len(compiled)]))
"""


def run_python(code: str, folder: Path, root: Path = KERNELS.parents[1], **environment: str) -> str:
    """Run Python code in a new process, in a folder; return what it prints."""
    settings = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "XDG_"))}
    paths = {"PYTHONPATH": str(root), "PYTHONSAFEPATH": "1", "HOME": str(folder)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, cwd=folder, env=settings | paths | environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def install(tmp_path: Path) -> Path:
    """A copy of the compiler with two small kernels, one of which calls the other."""
    kernels = tmp_path / "assocpriv" / "kernels"
    kernels.mkdir(parents=True)
    for folder in (kernels, kernels.parent, kernels.parents[1]):
        (folder / "__init__.py").touch()
    shutil.copy(compiling.__file__, kernels)
    (kernels / "helper.py").write_text(HELPER, encoding="utf-8")
    (kernels / "outer.py").write_text(KERNEL, encoding="utf-8")
    return tmp_path


def call(install: Path, **environment: str) -> list[int]:
    """Call the kernel in a new process; return its result, and whether it was compiled."""
    result: list[int] = json.loads(run_python(CALL, install, install, **environment))
    return result


def test_code_is_cached_by_source_in_a_private_folder(install: Path) -> None:
    """A change of a helper in another file, which numba does not check, compiles anew; the old source finds old code.

    Only the user can access the folder. It lies in NUMBA_CACHE_DIR if that is an absolute path.
    """
    assert call(install, NUMBA_CACHE_DIR="code") == [42, 1]
    (kept,) = (install / ".cache" / "assocpriv").iterdir()
    assert kept.stat().st_mode & 0o777 == 0o700
    assert not (install / "code").exists()
    helper = install / "assocpriv" / "kernels" / "helper.py"
    helper.write_text(HELPER.replace("n + 1", "n + 2"), encoding="utf-8")
    assert call(install, NUMBA_CACHE_DIR="code") == [44, 1]
    helper.write_text(HELPER, encoding="utf-8")
    assert call(install, NUMBA_CACHE_DIR="code") == [42, 0]
    assert call(install, NUMBA_CACHE_DIR=str(install / "code")) == [42, 1]
    assert list((install / "code" / "assocpriv").rglob("*.nbc"))


@pytest.fixture
def named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder named in the environment."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
def test_a_folder_that_others_can_write_is_not_used(named: Path, mode: int) -> None:
    """Cached code is executed unchecked, so no other user may add files or replace the folder.

    Folders are created for the user only, whatever the umask; a parent such as /tmp is accepted.
    """
    before = os.umask(0)
    try:
        folder = find_cache_folder()
    finally:
        os.umask(before)
    assert folder is not None
    for place in (folder, folder.parent):
        assert place.stat().st_mode & 0o777 == 0o700
        place.chmod(mode)
        assert (find_cache_folder() is None) == (place == folder or mode != 0o1777)
        place.chmod(0o700)
    assert find_cache_folder() == folder
    if os.getuid() == 0:  # only root can give folders away
        os.chown(folder, 12345, -1)
        assert find_cache_folder() is None


def test_code_of_another_processor_or_setting_is_not_used(named: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code compiled for one processor or setting is not found with another."""
    folders = {find_cache_folder()}
    for name, value in (("NUMBA_CPU_NAME", "generic"), ("NUMBA_BOUNDSCHECK", "1")):
        monkeypatch.setenv(name, value)
        compiling._digest.cache_clear()
        folders.add(find_cache_folder())
    monkeypatch.undo()
    compiling._digest.cache_clear()
    assert len(folders) == 3


def test_without_a_cache_folder_kernels_are_compiled_anew(named: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a file in the folder's place, a full disk, or no home, each process compiles for itself."""

    def twice(n: Any) -> Any:
        return 2 * n

    monkeypatch.setattr(compiling, "_FREE_BYTES", 1 << 62)
    assert find_cache_folder() is None
    assert kernel(twice)(21) == 42
    shutil.rmtree(named / "assocpriv")
    (named / "assocpriv").touch()
    assert find_cache_folder() is None
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(compiling, "_users_folder", lambda: Path("somewhere"))
    assert find_cache_folder() is None


def test_without_a_home_nothing_is_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user unknown to the system, as in a container, has no home."""

    def find_no_user(_number: int) -> None:
        raise KeyError

    pwd = pytest.importorskip("pwd")
    for name in ("HOME", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", find_no_user)
    assert find_cache_folder() is None


def test_a_folder_that_cannot_be_written_is_not_used(named: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba would otherwise use another folder, whose name holds no digest."""
    assert find_cache_folder() is not None
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda *_: False)
        assert find_cache_folder() is None
    monkeypatch.setenv("NUMBA_CACHE_LOCATOR_CLASSES", "InTreeCacheLocator")
    assert find_cache_folder() is None


def test_numbas_own_cache_folder_is_restored() -> None:
    """The cache folder for other packages' functions is unchanged after kernels were declared."""
    config = compiling.load_numba().config
    before = config.CACHE_DIR
    with compiling._code_folder(config) as folder:
        assert str(folder) == config.CACHE_DIR
    assert before == config.CACHE_DIR


def test_kernels_allocate_nothing() -> None:
    """References are not counted, so memory that a kernel allocates would never be freed; compilation refuses it."""

    def make(n: int) -> int:
        return len(np.empty(n))

    with pytest.raises(Exception, match="empty"):
        kernel(make)(3)


def test_the_digest_covers_all_kernels() -> None:
    """No other folder declares kernels; of the package they import only the compiler and each other."""
    package = KERNELS.parent
    declaring = {path for path in package.rglob("*.py") if "\n@kernel" in path.read_text(encoding="utf-8")}
    assert {path.parent for path in declaring} == {KERNELS}
    for path in declaring:
        lines = [
            line for line in path.read_text(encoding="utf-8").splitlines() if "assocpriv" in line and "import" in line
        ]
        assert all(line.startswith("from assocpriv.kernels.") for line in lines)


# ---- settings files

GALOIS = "from assocpriv.plans.baskets.generator import primitive_polynomial\nprint(primitive_polynomial(40))"
NAMES = "config.BOUNDSCHECK, config.DISABLE_JIT, config.CHROME_TRACE, int(config.OPT), config.CACHE_DIR"
COMPILE = f"""
from assocpriv.kernels.entropy_words import popcount
import json, numpy
popcount(numpy.uint64(3))
from numba import config, njit
before = [{NAMES}]
njit(lambda n: n + 1)(1)
print(json.dumps([before, [{NAMES}]]))
"""


def test_a_settings_file_in_the_current_folder_is_ignored(tmp_path: Path) -> None:
    """Numba takes no setting from a file in the current folder, now or later; it takes those of the environment."""
    pytest.importorskip("yaml", reason="numba reads the file only with PyYAML, which the extra dev installs")
    evil = {
        "boundscheck": 1,
        "disable_jit": 1,
        "chrome_trace": str(tmp_path / "trace"),
        "opt": "0",
        "cache_dir": "evil",
    }
    (tmp_path / ".numba_config.yaml").write_text(json.dumps(evil), encoding="utf-8")
    code = str(tmp_path / "code")
    before, after = json.loads(run_python(COMPILE, tmp_path, NUMBA_OPT="2", NUMBA_CACHE_DIR=code))
    assert before == after == [None, 0, "", 2, code]
    run_python(f"import yaml\n{GALOIS}", tmp_path)
    assert not (tmp_path / "evil").exists()
    assert not (tmp_path / "trace").exists()
    printed = run_python(f"import json\nfrom numba import config\nprint(json.dumps([{NAMES}]))", tmp_path)
    assert json.loads(printed)[:2] == [1, 1], "numba alone reads the file"
