"""Kernels are compiled once, for these sources and this processor, and kept where nobody else can write."""

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
from assocpriv.kernels.compiling import find_folder, kernel

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
compiling.tell_when_compiling(lambda: compiled.append(1))
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
    """A copy of the compiler with two small kernels, one in the code of the other."""
    kernels = tmp_path / "assocpriv" / "kernels"
    kernels.mkdir(parents=True)
    for folder in (kernels, kernels.parent, kernels.parents[1]):
        (folder / "__init__.py").touch()
    shutil.copy(compiling.__file__, kernels)
    (kernels / "helper.py").write_text(HELPER, encoding="utf-8")
    (kernels / "outer.py").write_text(KERNEL, encoding="utf-8")
    return tmp_path


def call(install: Path, **environment: str) -> list[int]:
    """Call the kernel in a new process; return what it gave, and whether it had to be compiled."""
    result: list[int] = json.loads(run_python(CALL, install, install, **environment))
    return result


def test_code_is_of_these_sources_and_lies_in_a_folder_of_the_users_own(install: Path) -> None:
    """A helper changed in another file, which numba does not look at, is compiled anew; the old code serves the old.

    The folder lets the user alone in, or is in the one that NUMBA_CACHE_DIR names, if it is a full path.
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
    """A folder that the environment names."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
def test_a_folder_that_others_can_write_is_not_used(named: Path, mode: int) -> None:
    """Code there is run without a question, so nobody else may add any, nor put another folder in its place.

    Folders are made for the user alone, whatever others the umask lets in; above them one such as /tmp is good enough.
    """
    before = os.umask(0)
    try:
        folder = find_folder()
    finally:
        os.umask(before)
    assert folder is not None
    for place in (folder, folder.parent):
        assert place.stat().st_mode & 0o777 == 0o700
        place.chmod(mode)
        assert (find_folder() is None) == (place == folder or mode != 0o1777)
        place.chmod(0o700)
    assert find_folder() == folder
    if os.getuid() == 0:  # only root can give folders away
        os.chown(folder, 12345, -1)
        assert find_folder() is None


def test_code_of_another_processor_or_setting_is_not_used(named: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was compiled for one is not found by the other."""
    folders = {find_folder()}
    for name, value in (("NUMBA_CPU_NAME", "generic"), ("NUMBA_BOUNDSCHECK", "1")):
        monkeypatch.setenv(name, value)
        compiling._digest.cache_clear()
        folders.add(find_folder())
    monkeypatch.undo()
    compiling._digest.cache_clear()
    assert len(folders) == 3


def test_without_a_place_kernels_are_compiled_all_the_same(named: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file where the folder would be, a disk that is full, no home: each process compiles for itself."""

    def twice(n: Any) -> Any:
        return 2 * n

    monkeypatch.setattr(compiling, "_FREE_BYTES", 1 << 62)
    assert find_folder() is None
    assert kernel(twice)(21) == 42
    shutil.rmtree(named / "assocpriv")
    (named / "assocpriv").touch()
    assert find_folder() is None
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(compiling, "_users_folder", lambda: Path("somewhere"))
    assert find_folder() is None


def test_without_a_home_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a user whom the system does not know, in a container."""

    def find_nobody(_number: int) -> None:
        raise KeyError

    pwd = pytest.importorskip("pwd")
    for name in ("HOME", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", find_nobody)
    assert find_folder() is None


def test_a_folder_that_cannot_be_written_is_not_used(named: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba would go on to another, which no digest names."""
    assert find_folder() is not None
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda *_: False)
        assert find_folder() is None
    monkeypatch.setenv("NUMBA_CACHE_LOCATOR_CLASSES", "InTreeCacheLocator")
    assert find_folder() is None


def test_functions_of_others_are_kept_where_numba_would() -> None:
    """Where numba keeps what other packages compile is theirs to say, also after kernels were declared."""
    config = compiling.load_numba().config
    before = config.CACHE_DIR
    with compiling._code_folder(config) as folder:
        assert str(folder) == config.CACHE_DIR
    assert before == config.CACHE_DIR


def test_kernels_allocate_nothing() -> None:
    """References are not counted, so an array of a kernel's own would never be given back: it is refused."""

    def make(n: int) -> int:
        return len(np.empty(n))

    with pytest.raises(Exception, match="empty"):
        kernel(make)(3)


def test_all_kernels_lie_where_the_digest_looks() -> None:
    """No other file of the package declares one; kernels import nothing of it but the compiler and each other."""
    package = KERNELS.parent
    declaring = {path for path in package.rglob("*.py") if "\n@kernel" in path.read_text(encoding="utf-8")}
    assert {path.parent for path in declaring} == {KERNELS}
    for path in declaring:
        lines = [
            line for line in path.read_text(encoding="utf-8").splitlines() if "assocpriv" in line and "import" in line
        ]
        assert all(line.startswith("from assocpriv.kernels.") for line in lines)


# ---- settings lying about

GALOIS = "from assocpriv.plans.generator import primitive_polynomial\nprint(primitive_polynomial(40))"
NAMES = "config.BOUNDSCHECK, config.DISABLE_JIT, config.CHROME_TRACE, int(config.OPT), config.CACHE_DIR"
COMPILE = f"""
from assocpriv.kernels.words import popcount
import json, numpy
popcount(numpy.uint64(3))
from numba import config, njit
before = [{NAMES}]
njit(lambda n: n + 1)(1)
print(json.dumps([before, [{NAMES}]]))
"""


def test_a_file_beside_the_data_sets_nothing(tmp_path: Path) -> None:
    """No setting of numba comes from a file in the current folder, at first or later; the environment's do."""
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
    said = run_python(f"import json\nfrom numba import config\nprint(json.dumps([{NAMES}]))", tmp_path)
    assert json.loads(said)[:2] == [1, 1], "numba by itself reads the file"
