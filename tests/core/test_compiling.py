"""Tests of compiling: declared types, code on disk that is never stale, places it may be kept in, warming up."""

import ast
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from assocpriv.apps import console
from assocpriv.apps.cli import main
from assocpriv.core import compiling, machine_code
from assocpriv.core.compiling import CodePlace, Entry, compile_kernels
from assocpriv.core.kernels import (
    bitmaps,
    block_counting,
    cells,
    counting,
    disclosure,
    draws,
    randomizing,
    ranks,
    seeds,
    tables,
    tallies,
    vector,
)
from assocpriv.records import text_kernel

NOBODY = 65534
IS_ROOT = hasattr(os, "getuid") and os.getuid() == 0
CORE = Path(compiling.__file__).parent
COMPILER = (
    "code_places.py", "compiling.py", "kernel_types.py", "machine_code.py", "numba_settings.py", "second_compiler.py",
    "through_numba.py",
)  # fmt: skip

pytestmark = pytest.mark.skipif(not isinstance(counting.count_pairs, Entry), reason="compilation is switched off")

# an entry, a kernel in another file, and a third one that this one calls
KERNELS = {
    "outer": """
from assocpriv.core.compiling import entry, int64
from assocpriv.core.kernels.inner import add_one

TEN = 10

@entry(int64)
def answer(n):
    return add_one(n) * TEN
""",
    "inner": """
from assocpriv.core.compiling import kernel
from assocpriv.core.kernels.innermost import ONE, same

@kernel
def add_one(n):
    return same(n) + ONE  # a remark
""",
    "innermost": """
from assocpriv.core.compiling import intrinsic, types

ONE = len("1")

@intrinsic
def same(context, n):
    def build(context, builder, signature, values):
        return builder.add(values[0], context.get_constant(types.int64, 0))
    return types.int64(types.int64), build
""",
    "beside": """
from assocpriv.core.compiling import kernel

@kernel
def double(n):
    return n * 2
""",
}

# Each run is a child of one process that has loaded numba already: a fraction of the time of a Python of its own, and
# what numba loads late is there also for a user who may not read Python's own files.
RUNNER = """
import json, os, sys, traceback
import numba

numba.njit(numba.int64(numba.int64))(lambda n: n + 1)

def run(folder, environment, user, size, umask, config):
    os.environ.update(environment)
    numba.config.reload_config()
    vars(numba.config).update(config)
    os.umask(umask)
    sys.dont_write_bytecode = "PYTHONDONTWRITEBYTECODE" in environment
    os.chdir(folder)
    sys.path.insert(0, folder)
    if user is not None:
        os.setuid(user)
    from assocpriv.core.kernels import beside, outer
    from assocpriv.core.compiling import compile_kernels
    if size is not None:
        import resource
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    answer = outer.answer(2)
    place = compile_kernels()["answer"]
    loaded = outer.answer.was_kept
    return [answer, loaded, str(place.folder), place.trouble or place.passed_over]

for line in sys.stdin:
    child = os.fork()
    if not child:
        try:
            result = run(*json.loads(line))
        except BaseException:
            result = traceback.format_exc()
        print(json.dumps(result), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""


class Install:
    """The compiler and a small kernel, installed in a folder of their own that everybody can read."""

    def __init__(self, folder: Path, runner: subprocess.Popen[str]) -> None:
        folder.chmod(0o755)
        self._runner = runner
        self.core = folder / "assocpriv" / "core"
        self.cache = self.core / "__pycache__"
        self.home = folder / "home"
        kernels = self.core / "kernels"
        kernels.mkdir(parents=True)
        self.home.mkdir()
        for package in (self.core.parent, self.core, kernels):
            (package / "__init__.py").touch()
        for name in COMPILER:
            shutil.copyfile(CORE / name, self.core / name)
        for name, source in KERNELS.items():
            (kernels / f"{name}.py").write_text(source)

    def run(
        self,
        *,
        user: int | None = None,
        size: int | None = None,
        bytecode: bool = False,
        umask: int = 0o022,
        config: dict[str, str] | None = None,
        **environment: str,
    ) -> list[Any]:
        """Call the kernel in a new process; return its answer, whether it was loaded, its folder, what troubled."""
        settings = {"HOME": str(self.home)} | ({} if bytecode else {"PYTHONDONTWRITEBYTECODE": "1"}) | environment
        assert self._runner.stdin is not None
        assert self._runner.stdout is not None
        order = [str(self.core.parents[1]), settings, user, size, umask, config or {}]
        self._runner.stdin.write(json.dumps(order) + "\n")
        self._runner.stdin.flush()
        result = json.loads(self._runner.stdout.readline())
        assert isinstance(result, list), result
        return result

    def edit(self, name: str, old: str, new: str) -> None:
        """Change a source without changing its size or its times."""
        path = self.core / name
        source, status = path.read_text(encoding="utf-8"), path.stat()
        assert source.count(old) == 1
        assert len(old) == len(new)
        path.write_text(source.replace(old, new), encoding="utf-8")
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert path.stat().st_mtime_ns == status.st_mtime_ns

    def make_read_only(self) -> int | None:
        """Take away the right to write; return the user to run as, None for this one."""
        self.cache.mkdir(exist_ok=True)
        for folder in (self.core, self.cache, self.home):
            folder.chmod(0o555)
        return NOBODY if IS_ROOT else None

    def make_home(self) -> Path:
        """Let the user without rights have his home; return where the code will be kept."""
        self.home.chmod(0o755)
        if IS_ROOT:
            os.chown(self.home, NOBODY, NOBODY)
        return self.home / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "assocpriv"


@pytest.fixture(scope="module")
def runner() -> Iterator[subprocess.Popen[str]]:
    """The process whose children call kernels; without our settings of numba and of cache folders."""
    if not hasattr(os, "fork"):
        pytest.skip("this system cannot fork")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "XDG_"))}
    command = [sys.executable, "-c", RUNNER]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as made:
        yield made
        assert made.stdin is not None
        made.stdin.close()


@pytest.fixture
def install(runner: subprocess.Popen[str]) -> Iterator[Install]:
    """A small install; not in pytest's folder, into which only its owner may go."""
    folder = Path(tempfile.mkdtemp(prefix="assocpriv-test-"))
    made = Install(folder, runner)
    yield made
    for each in (made.core, made.cache, made.home):
        if each.exists():
            each.chmod(0o755)
    shutil.rmtree(folder)


# ---- never stale


def test_changed_code_is_compiled_anew(install: Install) -> None:
    """A change of a constant, an entry or what compiles is seen, with sizes and times as they were."""
    cache = str(install.cache)
    assert install.run() == [30, False, cache, ""]
    assert install.run() == [30, True, cache, ""]
    install.edit("kernels/outer.py", "TEN = 10", "TEN = 20")
    assert install.run() == [60, False, cache, ""]
    install.edit("kernels/outer.py", "* TEN", "- TEN")
    assert install.run() == [-17, False, cache, ""]
    install.edit("through_numba.py", "_HEAD_BYTES = 64", "_HEAD_BYTES = 96")
    assert install.run() == [-17, False, cache, ""]


def test_changed_code_of_another_file_is_compiled_anew(install: Install) -> None:
    """A change of a file that an entry's file imports is seen, and of one that this imports; a comment is none."""
    cache = str(install.cache)
    assert install.run() == [30, False, cache, ""]
    install.edit("kernels/inner.py", "+ ONE", "- ONE")
    assert install.run() == [10, False, cache, ""]
    install.edit("kernels/innermost.py", "types.int64, 0)", "types.int64, 3)")
    assert install.run() == [40, False, cache, ""]
    install.edit("kernels/innermost.py", 'len("1")', 'len( "")')
    assert install.run() == [50, False, cache, ""]
    install.edit("kernels/inner.py", "a remark", "A REMARK")
    install.edit("kernels/beside.py", "n * 2", "n * 3")  # nothing imports it
    assert install.run() == [50, True, cache, ""]


def test_old_bytecode_does_not_pass_for_new_source(install: Install) -> None:
    """Where Python itself runs outdated bytecode, its code is not kept as that of the new source."""
    assert install.run(bytecode=True)[:2] == [30, False]
    install.edit("kernels/outer.py", "TEN = 10", "TEN = 20")
    install.edit("kernels/inner.py", "+ ONE", "- ONE")
    assert install.run(bytecode=True)[:2] == [30, True]
    for bytecode in install.core.rglob("*.pyc"):
        bytecode.unlink()
    assert install.run()[:2] == [20, False]


def test_a_kernel_takes_nothing_but_kernels(install: Install) -> None:
    """A module of kernels that imports what declares none is refused, because no digest would cover that."""
    (install.core / "numbers.py").write_text("TEN = 10\n")
    outer = install.core / "kernels" / "outer.py"
    outer.write_text(f"from assocpriv.core.numbers import TEN\n{outer.read_text()}")
    with pytest.raises(AssertionError, match=r"KeyError: 'assocpriv\.core\.numbers'"):
        install.run()


def test_settings_that_change_code_are_told_apart(install: Install) -> None:
    """Code compiled with bounds checks is not found without them, nor the other way round."""
    assert install.run()[1] is False
    assert install.run(NUMBA_BOUNDSCHECK="1")[1] is False
    assert install.run(NUMBA_BOUNDSCHECK="1")[1] is True
    assert install.run()[1] is True


@pytest.mark.parametrize("setting", [{"NUMBA_CPU_NAME": "generic"}, {"NUMBA_BOUNDSCHECK": "1"}, {"NUMBA_OPT": "2"}])
def test_settings_of_the_environment_are_no_programs(setting: dict[str, str]) -> None:
    """The same code is looked for before numba is loaded and after: else what warm-up kept would never be found."""
    code = """
from assocpriv.core import compiling
before = compiling._settings()
import numba
assert compiling._settings() == before, (before, compiling._settings())
"""
    subprocess.run([sys.executable, "-c", code], env=os.environ | setting, check=True)


def test_code_of_another_kernel_is_not_taken(tmp_path: Path) -> None:
    """A copy under another's name is as good as damaged: called with other arguments it would end the process."""
    code = machine_code.MachineCode("f", 1, b"\x7fELF")
    code.write(tmp_path / "one.code")
    shutil.copy(tmp_path / "one.code", tmp_path / "other.code")
    assert machine_code.MachineCode.read(tmp_path / "one.code") == code
    assert machine_code.MachineCode.read(tmp_path / "other.code") is None


def test_processors_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code for one processor is not found on another, and is found on one of the same kind."""
    ours = compiling._digest(compiling._THIS_MODULE)
    assert compiling._digest(compiling._THIS_MODULE) == ours
    monkeypatch.setattr(machine_code, "processor", lambda: ("x86_64-unknown-linux-gnu", "another", "+avx"))
    assert compiling._digest(compiling._THIS_MODULE) != ours


def test_numbers_a_module_computes_count() -> None:
    """A global integer that a kernel has frozen is part of what its code depends on."""
    code = compiling._THIS_MODULE.code
    one, other = (compiling._digest(compiling._Module(code, {"BLOCK": number})) for number in (1, 2))
    assert one != other


def test_a_damaged_file_is_replaced(install: Install) -> None:
    """Files that were cut off or overwritten cost a compilation, not a crash, and are mended."""
    install.run()
    (file,) = install.cache.glob("*answer*.code")
    whole = file.read_bytes()
    for content in (b"", b"no code", whole[:-1], whole[:99] + bytes([whole[99] ^ 1]) + whole[100:]):
        file.write_bytes(content)
        assert install.run()[:2] == [30, False]
        assert install.run()[:2] == [30, True]


# ---- places


def test_a_read_only_install_is_read(install: Install) -> None:
    """What was compiled when the install could be written is loaded when it cannot, without any other place."""
    install.run()
    assert install.run(user=install.make_read_only()) == [30, True, str(install.cache), ""]


def test_without_any_place_each_process_compiles(install: Install) -> None:
    """A read-only install and a read-only home end in a result, and in a reason that names both."""
    answer, loaded, folder, trouble = install.run(user=install.make_read_only())
    assert [answer, loaded, folder] == [30, False, "None"]
    assert f"{install.cache}: Permission denied" in trouble
    assert f"{install.home}" in trouble


def test_a_home_serves_a_read_only_install(install: Install) -> None:
    """Code goes to the user's own cache folder where the install cannot be written, and is found there."""
    user, cache = install.make_read_only(), install.make_home()
    assert install.run(user=user) == [30, False, str(cache), ""]
    assert cache.stat().st_mode & 0o777 == 0o700
    assert install.run(user=user) == [30, True, str(cache), ""]


@pytest.mark.parametrize("level", ["folder", "parent"])
def test_a_place_that_others_can_write_is_not_used(install: Install, level: str) -> None:
    """Compiled code is not read from a user's folder that somebody else could have filled."""
    user, cache = install.make_read_only(), install.make_home()
    assert install.run(user=user)[2] == str(cache)
    (cache if level == "folder" else cache.parent).chmod(0o777)
    answer, loaded, folder, trouble = install.run(user=user)
    assert [answer, loaded, folder] == [30, False, "None"]
    assert f"{cache}: another user can write there" in trouble


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o1777], ids=oct)
def test_an_install_that_others_can_write_is_not_used(install: Install, mode: int) -> None:
    """Code in the package's own folder counts only while nobody else can write there; else it is passed over, told."""
    assert install.run()[2] == str(install.cache)
    install.cache.chmod(mode)
    home = install.make_home()
    answer, loaded, folder, told = install.run(user=NOBODY if IS_ROOT else None)
    assert [answer, loaded, folder] == [30, False, str(home)]
    assert told == f"{install.cache}: another user can write there"


@pytest.mark.skipif(not IS_ROOT, reason="only root can give a folder away")
def test_an_install_of_another_user_is_not_used(install: Install) -> None:
    """A folder that belongs to another user than us and root is one that this user can write."""
    install.run()
    os.chown(install.cache, NOBODY, NOBODY)
    answer, loaded, folder, told = install.run()
    assert [answer, loaded] == [30, False]
    assert folder != str(install.cache)
    assert told == f"{install.cache}: another user can write there"


@pytest.mark.parametrize("level", ["folder", "parent"])
def test_a_named_place_that_others_can_write_is_not_used(install: Install, level: str) -> None:
    """NUMBA_CACHE_DIR does not make a folder safe that another user can write; nothing is read or written there."""
    named = install.core.parents[1] / "named"
    own = named / "assocpriv"
    assert install.run(NUMBA_CACHE_DIR=str(named))[2] == str(own)
    (own if level == "folder" else named).chmod(0o777)
    before = sorted(file.name for file in own.iterdir())
    answer, loaded, folder, told = install.run(NUMBA_CACHE_DIR=str(named))
    assert [answer, loaded, folder] == [30, False, str(install.cache)]
    assert told == f"{own}: another user can write there"
    assert sorted(file.name for file in own.iterdir()) == before


def test_nothing_is_made_where_others_can_write(install: Install) -> None:
    """Not even an empty folder is made in a place that another user can write."""
    named = install.core.parents[1] / "named"
    named.mkdir()
    named.chmod(0o777)
    assert install.run(NUMBA_CACHE_DIR=str(named))[2] == str(install.cache)
    assert not any(named.iterdir())


def test_a_file_that_others_can_write_is_not_read(install: Install) -> None:
    """A file that another user can write, or wrote while the folder was open, spoils the folder."""
    install.run()
    (file,) = install.cache.glob("*answer*.code")
    file.chmod(0o666)
    answer, loaded, folder, told = install.run()
    assert [answer, loaded, folder == str(install.cache)] == [30, False, False]
    assert told == f"{install.cache}: another user can write {file.name}"
    file.chmod(0o644)
    assert install.run() == [30, True, str(install.cache), ""]


@pytest.mark.parametrize("mask", [0, 0o002, 0o077], ids=oct)
def test_what_is_written_can_be_used_again(install: Install, mask: int) -> None:
    """Whatever the umask, folders and files made here are such that they are not refused the next time."""
    install.core.parents[1].chmod(0o755)
    named = install.core.parents[1] / "named"
    named.mkdir()
    for loaded in (False, True):
        told = install.run(umask=mask, NUMBA_CACHE_DIR=str(named))
        assert told == [30, loaded, str(named / "assocpriv"), ""]
    modes = {file.stat().st_mode & 0o777 for file in (named / "assocpriv").iterdir()}
    assert modes == {0o644 & ~mask}


def test_numba_does_not_choose_the_place(install: Install) -> None:
    """Neither numba's own folder nor its own list of places counts: both can come from a file that lies about."""
    elsewhere = install.core.parents[1] / "elsewhere"
    told = install.run(config={"CACHE_DIR": str(elsewhere), "CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator"})
    assert told == [30, False, str(install.cache), ""]
    assert not elsewhere.exists()


def test_without_a_home_nothing_is_kept_where_we_are(install: Install) -> None:
    """A home that is no full path does not make the current folder a place for code."""
    assert install.run(user=install.make_read_only(), HOME="", XDG_CACHE_HOME=".")[2] == "None"


def test_the_environment_names_the_place(install: Install) -> None:
    """NUMBA_CACHE_DIR comes first, and serves users who may only read it."""
    named = install.core.parents[1] / "named"
    for loaded in (False, True):
        assert install.run(NUMBA_CACHE_DIR=str(named)) == [30, loaded, str(named / "assocpriv"), ""]
    (named / "assocpriv").chmod(0o555)
    user = install.make_read_only()
    assert install.run(user=user, NUMBA_CACHE_DIR=str(named)) == [30, True, str(named / "assocpriv"), ""]
    (named / "assocpriv").chmod(0o755)


def test_a_full_disk_does_not_stop_a_kernel(install: Install) -> None:
    """Code that cannot be written is run all the same, and what was left half-written is not found later."""
    answer, loaded, folder, trouble = install.run(size=0)
    assert [answer, loaded, folder] == [30, False, "None"]
    assert trouble.startswith(f"{install.cache}: ")
    assert install.run()[:2] == [30, False]


def test_a_numba_with_other_internals_keeps_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without what we build on kernels are compiled all the same, and kept nowhere."""
    monkeypatch.delattr("llvmlite.binding.parse_bitcode")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))

    def double(n: Any) -> Any:
        return n * 2

    compiled, place, was_kept = compiling._compile(double, (compiling.int64,), compiling._THIS_MODULE)
    assert (compiled(2), place.folder, was_kept) == (4, None, False)
    assert "numba" in place.trouble
    assert not any(path.is_file() for path in tmp_path.rglob("*"))


def test_code_that_needs_numba_is_not_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A kernel that calls numba's own library while it runs works, but where numba is loaded alone."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))

    def sum_flat(numbers: Any) -> Any:
        return numbers.reshape(numbers.size)[-1]

    declared = (compiling.const(compiling.int64[:, ::1]),)
    compiled, place, _ = compiling._compile(sum_flat, declared, compiling._THIS_MODULE)
    assert (compiled(np.arange(6).reshape(2, 3)), place.folder) == (5, None)
    assert "numba_attempt_nocopy_reshape" in place.trouble
    assert not any(path.is_file() for path in tmp_path.rglob("*"))


def test_other_caches_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions of other packages are compiled and kept as numba does it, before and after ours are compiled."""
    from numba.core import caching

    before = list(caching.CacheImpl._locator_classes)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "ours"))
    declared = (compiling.int64[::1], compiling.int64)
    Entry(divide, declared, compiling._THIS_MODULE).load()  # with arrays as the other package makes them
    assert list(caching.CacheImpl._locator_classes) == before
    source = (
        "import numba, numpy\n\n@numba.njit(cache=True)\ndef f(n):\n    return n + 1\n\n"
        "@numba.njit\ndef g(n):\n    made = numpy.zeros(n, numpy.int64)\n"
        "    made[n - 1] = max(n, 2) ** 2\n    return made\n"
    )
    (tmp_path / "foreign.py").write_text(source, encoding="utf-8")
    monkeypatch.setattr("numba.config.CACHE_DIR", "")
    monkeypatch.syspath_prepend(tmp_path)
    import foreign

    assert foreign.f(1) == 2
    assert foreign.g(3).tolist() == [0, 0, 9]
    (file,) = (tmp_path / "__pycache__").glob("*f-3*.nbi")
    assert file.name.startswith("foreign.f-3.py")


# ---- code and settings lying about

PLANT = """
import pickle
from pathlib import Path
from llvmlite import ir
from assocpriv.core.machine_code import MachineCode, _target_machine, load_llvm

class Hostile:
    def __reduce__(self):
        return exec, ("open({marker!r}, 'w').close()",)

def hostile_code(symbol):
    octet, number, name = ir.IntType(8), ir.IntType(32), bytearray({marker!r}.encode() + bytes(1))
    module = ir.Module()
    make_file = ir.Function(module, ir.FunctionType(number, [octet.as_pointer(), number]), "creat")
    text = ir.GlobalVariable(module, ir.ArrayType(octet, len(name)), "text")
    text.initializer = ir.Constant(text.value_type, name)
    builder = ir.IRBuilder(ir.Function(module, ir.FunctionType(number, []), symbol).append_basic_block())
    builder.call(make_file, [builder.bitcast(text, octet.as_pointer()), number(0o600)])
    builder.ret(number(0))
    llvm = load_llvm()
    return _target_machine(llvm).emit_object(llvm.parse_assembly(str(module)))

for file in Path({folder!r}).rglob("*.nb[ic]"):
    file.write_bytes(pickle.dumps(Hostile()))
for file in Path({folder!r}).rglob("*.code"):
    kept = MachineCode.read(file)
    MachineCode(kept.symbol, kept.results, hostile_code(kept.symbol)).write(file)
"""
VICTIMS = {
    "kernels": "import numpy as np\nfrom assocpriv.core.kernels.bitmaps import fill_rows\n"
    "from assocpriv.core.compiling import compile_kernels\nprint(compile_kernels(['fill_rows']))\n"
    "one = np.zeros(1, np.int64)\nfill_rows(one, one, one, np.zeros((1, 1, 1), np.uint64))",
    "galois": "from assocpriv.plans.baskets.codes import primitive_polynomial\nprint(primitive_polynomial(40))",
}


def run_python(code: str, folder: Path, **environment: str) -> str:
    """Run Python code in a new process, in a folder; return what it prints."""
    settings = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "XDG_"))}
    paths = {"PYTHONPATH": str(CORE.parents[1]), "PYTHONSAFEPATH": "1"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, cwd=folder, env=settings | paths | environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("victim", VICTIMS)
def test_a_file_beside_the_data_does_not_say_where_code_is(victim: str, tmp_path: Path) -> None:
    """Where numba's settings file lies in the current folder, code is neither read from nor kept where it says."""
    pytest.importorskip("yaml", reason="numba reads the file only with PyYAML, which the extra dev installs")
    evil, data, marker = tmp_path / "evil", tmp_path / "data", tmp_path / "ran"
    data.mkdir()
    run_python(VICTIMS[victim], data, NUMBA_CACHE_DIR=str(evil))  # names its files as the real thing does
    (data / ".numba_config.yaml").write_text(f"cache_dir: {evil}\n")
    plant = PLANT.format(marker=str(marker), folder=str(evil))
    run_python(plant, data)
    if victim == "galois":
        run_python("import contextlib\nwith contextlib.suppress(Exception):\n    import yaml, galois", data)
        assert marker.exists(), "where numba's own rules hold, what was planted runs"
    else:
        run_python(VICTIMS[victim], data, NUMBA_CACHE_DIR=str(evil))
        assert marker.exists(), "from a folder that the environment names what was planted runs"
    marker.unlink()
    run_python(plant, data)
    planted = {file: file.read_bytes() for file in evil.rglob("*.*") if file.suffix in (".nbi", ".nbc", ".code")}
    assert planted
    said = run_python(f"import yaml\n{VICTIMS[victim]}", data)
    assert not marker.exists()
    assert str(evil) not in said
    assert {file: file.read_bytes() for file in planted} == planted


def test_a_file_beside_the_data_sets_nothing(tmp_path: Path) -> None:
    """No setting of numba comes from a file in the current folder, at first or later; the environment's do."""
    pytest.importorskip("yaml", reason="numba reads the file only with PyYAML, which the extra dev installs")
    settings = {
        "boundscheck": 1,
        "disable_jit": 1,
        "chrome_trace": str(tmp_path / "trace"),
        "opt": "0",
        "num_threads": 1,
    }
    (tmp_path / ".numba_config.yaml").write_text(json.dumps(settings))
    names = "config.BOUNDSCHECK, config.DISABLE_JIT, config.CHROME_TRACE, int(config.OPT), config.DEBUG_CACHE"
    code = (
        "from assocpriv.core.kernels.bitmaps import fill_rows\nimport json\nfill_rows.load()\n"
        "from numba import config, njit\n"
        f"before = [{names}]\nnjit(lambda n: n + 1)(1)\nprint(json.dumps([before, [{names}]]))"
    )
    before, after = json.loads(
        run_python(code, tmp_path, NUMBA_DEBUG_CACHE="0", NUMBA_OPT="2", NUMBA_CACHE_DIR=str(tmp_path / "code"))
    )
    assert before == after == [None, 0, "", 2, 0]
    assert not (tmp_path / "trace").exists()


def test_a_broken_file_beside_the_data_stops_nothing(tmp_path: Path) -> None:
    """What numba could not read as settings does not keep it from being loaded."""
    pytest.importorskip("yaml", reason="numba reads the file only with PyYAML, which the extra dev installs")
    (tmp_path / ".numba_config.yaml").write_text("- not\n- settings\n")
    code = "from assocpriv.core.kernels.bitmaps import fill_rows\nfill_rows.load()\nprint('compiled')"
    assert run_python(code, tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "code")) == "compiled\n"


# ---- declared types


@pytest.fixture
def add_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An entry that adds a row of a table, and a number, to sums."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))

    def add(table: Any, sums: Any, number: Any) -> None:
        for i in range(sums.shape[0]):
            sums[i] += table[1, i] + number

    uint64 = compiling.uint64
    declared = (compiling.const(uint64[:, ::1]), uint64[::1], compiling.int64)
    return Entry(add, declared, compiling._THIS_MODULE)


def test_other_types_are_refused(add_row: Any) -> None:
    """Another dtype, layout, order or number of arguments is a TypeError, not a second compilation."""
    table, sums = np.ones((2, 3), np.uint64), np.zeros(3, np.uint64)
    frozen = sums.copy()
    frozen.flags.writeable = False
    wrong: list[tuple[Any, ...]] = [
        (table.astype(np.int64), sums, 1),
        (np.asfortranarray(table), sums, 1),
        (table[0], sums, 1),
        (table, np.zeros(6, np.uint64)[::2], 1),
        (table, frozen, 1),
        (table, sums, "1"),
        (table, sums, 1.0),
        (table, sums.astype(">u8"), 1),
        (table, list(sums), 1),
        (table, sums),
        (table, sums, 1, 1),
    ]
    for arguments in wrong:
        with pytest.raises(TypeError):
            add_row(*arguments)
    add_row(table, sums, np.int32(1))
    assert sums.tolist() == [2, 2, 2]


def test_inputs_may_be_read_only(add_row: Any) -> None:
    """Arrays that a kernel only reads may be read-only, as those over bytes are; others give the same."""
    table = np.frombuffer(bytes([3, *[0] * 7, 5, *[0] * 7]), dtype="<u8").reshape(2, 1).astype(np.uint64, copy=False)
    for given in (table, table.copy()):
        sums = np.zeros(1, np.uint64)
        add_row(given, sums, 2)
        assert sums.tolist() == [7]


def divide(numbers: Any, by: Any) -> Any:
    """Return the first of some numbers, divided, and how much memory was had for as many as there are."""
    return numbers[0] // by, np.empty(numbers[1]).size


def test_exceptions_come_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a kernel raises, Python raises; out of memory too, which its own code asks the C library for."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    made = Entry(divide, (compiling.const(compiling.int64[::1]), compiling.int64), compiling._THIS_MODULE)
    assert made(np.array([7, 5]), 2) == (3, 5)
    with pytest.raises(ZeroDivisionError):
        made(np.array([7, 5]), 0)
    with pytest.raises(MemoryError):
        made(np.array([7, 1 << 58]), 2)
    with pytest.raises(OverflowError):
        made(np.array([7, 5]), 1 << 63)
    assert made.load().folder == tmp_path / "assocpriv"


def test_code_of_another_return_type_is_refused() -> None:
    """A kernel that returns what is no integer is refused when it is compiled."""
    made = Entry(lambda n: n / 2, (compiling.int64,), compiling._THIS_MODULE)
    with pytest.raises(TypeError, match="returns nothing, or integers"):
        made(2)


def test_memory_is_given_back() -> None:
    """Arrays that kernels make for themselves are freed: of a hundred of 8 MiB, filled, not a tenth stays."""
    resource = pytest.importorskip("resource")
    unit = 1 if sys.platform == "darwin" else 1 << 10
    make = Entry(lambda n: np.zeros(n).size, (compiling.int64,), compiling._THIS_MODULE)
    assert make(1 << 20) == 1 << 20
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(100):
        make(1 << 20)
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * unit < 80 << 20


def test_an_entry_shows_its_function() -> None:
    """An entry has its function's name and docstring, and the function."""
    made: Any = counting.count_pairs
    assert (made.__name__, made.__doc__) == ("count_pairs", made.py_func.__doc__)


MODULES = (
    bitmaps,
    block_counting,
    cells,
    counting,
    disclosure,
    draws,
    randomizing,
    ranks,
    seeds,
    tables,
    tallies,
    text_kernel,
    vector,
)
TREES = {made.__name__: ast.parse(Path(str(made.__file__)).read_text(encoding="utf-8")) for made in MODULES}


def test_all_files_of_kernels_are_known() -> None:
    """The files looked at here are all that declare kernels."""
    sources = {path: path.read_text(encoding="utf-8") for path in CORE.parent.rglob("*.py")}
    users = {path for path, source in sources.items() if "from assocpriv.core.compiling import" in source}
    # the console only compiles them beforehand
    assert {path for path in users if "apps" not in path.parts} == {Path(str(made.__file__)) for made in MODULES}


def test_entries_have_names_of_their_own() -> None:
    """No two entries have one name, and these are all that are compiled: other kernels lie in the entries' code."""
    names = [name for made in MODULES for name, each in vars(made).items() if isinstance(each, Entry)]
    assert sorted(names) == sorted(compiling._ENTRIES)


def test_kernels_stand_alone() -> None:
    """Files of kernels take nothing of this package but the compiler and each other, at the top, name by name."""
    for tree in TREES.values():
        nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
        assert all(node in tree.body for node in nodes)
        names = [node.module if isinstance(node, ast.ImportFrom) else node.names[0].name for node in nodes]
        assert not any(node.level for node in nodes if isinstance(node, ast.ImportFrom))
        ours = {name for name in names if name and name.startswith("assocpriv")}
        assert ours <= {"assocpriv.core.compiling", *TREES}


def test_a_digest_covers_all_that_a_file_imports() -> None:
    """The modules behind a kernel's digest are those that its file imports, those that these import, and so on."""

    def behind(module: Any) -> set[str]:
        return {module.variables["__name__"]}.union(*map(behind, module.imported))

    compiler = behind(compiling._THIS_MODULE)
    assert {f"{name.rpartition('.')[2]}.py" for name in compiler} == set(COMPILER) - {
        "code_places.py",
        "second_compiler.py",
    }

    def imported(name: str) -> set[str]:
        nodes = TREES[name].body if name in TREES else []
        names = {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
        return {name}.union(*(imported(each) for each in names if each.startswith("assocpriv")))

    for made in MODULES:
        assert behind(compiling._MODULES[made.__name__]) == imported(made.__name__) | compiler
    assert behind(compiling._MODULES[randomizing.__name__]) > {ranks.__name__, seeds.__name__, vector.__name__}


def test_threads_compile_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that call a kernel at the same moment wait for one compilation."""
    compiled = []

    def slowly(function: Callable[..., Any], *_: Any) -> tuple[Any, CodePlace, bool]:
        compiled.append(function)
        time.sleep(0.1)
        return function, CodePlace(None), False

    monkeypatch.setattr(compiling, "_compile", slowly)
    made, results = Entry(lambda n: n + 1, (), compiling._THIS_MODULE), []
    threads = [threading.Thread(target=lambda n=n: results.append(made(n))) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(compiled), sorted(results)) == (1, list(range(1, 9)))


@pytest.mark.parametrize("helps", [True, False])
def test_two_compile_at_once(helps: bool, tmp_path: Path) -> None:
    """Kernels that a second process compiled are loaded; where none can be started all are compiled here."""
    code = (
        "import sys\nfrom assocpriv.core import compiling\nfrom assocpriv.core.kernels import bitmaps, cells, tables\n"
        f"if not {helps}: sys.executable = '/nowhere/python'\n"
        "names = ['fill_rows', 'replace_cells', 'find_cells']\n"
        "places = compiling.compile_kernels(names, on_two_cores=True)\n"
        "kept = [compiling._ENTRIES[name].was_kept for name in names]\n"
        "print(kept[0], kept[2], all(each.folder for each in places.values()))"
    )
    (tmp_path / "json.py").write_text("raise SystemExit('a module beside the data was loaded')", encoding="utf-8")
    said = run_python(code, tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "code"))
    assert said == f"False {helps} True\n"
    assert len(list((tmp_path / "code").rglob("*.code"))) == 3


# ---- warming up


def test_warm_up_compiles_all() -> None:
    """The command tells how many kernels there are and where their code is kept, as text and as JSON."""
    said = CliRunner().invoke(main, ["warm-up"])
    assert said.exit_code == 0
    assert f"{len(compiling._ENTRIES)} kernels ready after " in said.stdout
    record = json.loads(CliRunner().invoke(main, ["warm-up", "--json"]).stdout)
    assert record["kernels"] == sorted(compiling._ENTRIES)
    assert all(Path(folder).is_dir() and folder in said.stdout for folder in record["folders"])
    assert record["seconds"] >= 0


def test_warm_up_tells_which_folders_it_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that another user can write is told, with why, though the code is kept elsewhere."""
    reason = "/shared/assocpriv: another user can write there"
    monkeypatch.setattr(Entry, "load", lambda self: CodePlace(Path("/mine"), passed_over=reason))
    said = CliRunner().invoke(main, ["warm-up"])
    assert (said.exit_code, f"not used: {reason}" in said.stdout) == (0, True)
    assert json.loads(CliRunner().invoke(main, ["warm-up", "--json"]).stdout)["passed_over"] == [reason]


@pytest.mark.parametrize("arguments", [["warm-up"], ["warm-up", "--json"]], ids=" ".join)
def test_warm_up_tells_why_code_cannot_be_kept(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the code cannot be kept the command fails with one line that says why and what helps."""
    monkeypatch.setattr(Entry, "load", lambda self: CodePlace(None, "/there: Permission denied"))
    said = CliRunner().invoke(main, arguments)
    assert (said.exit_code, said.stdout) == (1, "")
    assert "(/there: Permission denied)" in said.stderr
    assert "NUMBA_CACHE_DIR" in said.stderr


def test_warm_up_without_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where compilation is switched off the command says so and fails."""
    monkeypatch.setattr(compiling, "is_switched_off", lambda: True)
    said = CliRunner().invoke(main, ["warm-up"])
    assert said.exit_code == 1
    assert "NUMBA_DISABLE_JIT" in said.stderr


def test_compiling_ahead_is_silent_when_quick(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Kernels that are there already are loaded without a word."""
    monkeypatch.setitem(console._KERNELS, "filling", {"assocpriv.core.compiling": ("fill_rows",)})
    compile_kernels(["fill_rows"])
    console.compile_ahead("filling")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("folder", [Path("/there"), None])
def test_compiling_ahead_tells_when_slow(
    folder: Path | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A compilation that takes long is told in one line on standard error, and whether it will be so again."""

    def slowly(_: Entry) -> CodePlace:
        time.sleep(0.2)
        return CodePlace(folder)

    monkeypatch.setitem(console._KERNELS, "filling", {"assocpriv.core.compiling": ("fill_rows",)})
    monkeypatch.setattr(console, "_PATIENCE_SECONDS", 0.02)
    monkeypatch.setattr(Entry, "load", slowly)
    console.compile_ahead("filling")
    told = capsys.readouterr()
    lines = ["making or loading code for this processor; the first time it takes some seconds …"]
    if folder is None:
        lines.append("warning: the compiled code cannot be kept; assocpriv warm-up tells why")
    assert (told.out, told.err.splitlines()) == ("", lines)


def test_progress_counts_kernels() -> None:
    """Progress is told after each kernel."""
    steps: list[tuple[int, int]] = []
    compile_kernels(["fill_rows", "fill_rows"], lambda done, total: steps.append((done, total)))
    assert steps == [(1, 2), (2, 2)]
