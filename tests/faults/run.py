"""Seeded faults: apply each to a copy of the repository, and find those that no test catches.

    python tests/faults/run.py [WORD ...]          faults of *.toml in this folder whose name or file contains a word
    python tests/faults/run.py --mutants N SEED    N random mutants by cosmic-ray, in the packages of MUTATED
    python tests/faults/run.py --near              no fault; print the tests that import changed files

A fault is a part of a file, its replacement, and the tests that must catch it. These run first; if they pass, all
tests that import the changed file run, the nearest first. The status is 1 if a fault lives, or if only other tests
catch it.
Faults with an ``audit`` table name clients and plans: tests/auditing/test_seeded_faults.py tests that the audit of a
client finds them. They run here only if they name tests as well.
"""

import ast
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parents[2]
MUTATED = ("guarantees", "plans", "client", "estimation", "server", "suppress", "collect", "releasing")
PYTEST = (sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "--assert=plain", "-p", "no:cacheprovider")
LIMIT = 900  # seconds: a fault may make a loop endless, which counts as caught


@dataclass(frozen=True, slots=True)
class Fault:
    """A part of a file, its replacement, and the tests that must catch it."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...] = ()
    audit: tuple[tuple[str, str], ...] = ()  # clients and plans

    def mutated(self) -> str:
        """Return the file's text with the fault."""
        text = (ROOT / self.file).read_text(encoding="utf-8")
        if text.count(self.old) != 1:
            raise ValueError(f"{self.name}: its old text stands {text.count(self.old)} times in {self.file}")
        return text.replace(self.old, self.new)

    def apply_to(self, clone: Path) -> None:
        """Write the file with the fault in a copy of the repository, or of a part of it."""
        (clone / self.file).write_text(self.mutated(), encoding="utf-8")


def kept() -> list[Fault]:
    """Return the faults of the *.toml files of this folder, in their order."""
    tables = (tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(Path(__file__).parent.glob("*.toml")))
    return [
        Fault(name, **each | {"tests": tuple(each.get("tests", ())), "audit": tuple(each.get("audit", {}).items())})
        for table in tables
        for name, each in table.items()
    ]


def drawn(count: int, seed: int) -> Iterator[Fault]:
    """Draw faults at random places of the packages of MUTATED."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator, operator_names

    operators = [name for name in operator_names() if "Variable" not in name and "Decorator" not in name]
    files = sorted(path for package in MUTATED for path in (ROOT / "assocpriv" / package).rglob("*.py"))
    source = random.Random(seed)
    while count:
        path = source.choices(files, [each.stat().st_size for each in files])[0]
        text = path.read_text(encoding="utf-8")
        name = source.choice(operators)
        mutated = mutate_code(text, get_operator(name)(), source.randrange(20))
        if mutated and mutated != text and _matters(text, mutated):
            before, after = text.splitlines(), mutated.splitlines()
            line = next(place for place, (old, new) in enumerate(zip(before, after, strict=False)) if old != new)
            file = str(path.relative_to(ROOT))
            yield Fault(f"{file}:{line + 1} {name.partition('/')[2]}: {after[line].strip()}", file, text, mutated)
            count -= 1


def _matters(text: str, mutated: str) -> bool:
    """Return whether a change is valid Python and not in an annotation only."""
    try:
        trees = [ast.parse(each) for each in (text, mutated)]
    except SyntaxError:  # as a * between parameters
        return False
    for tree in trees:
        for node in ast.walk(tree):
            for field in ("annotation", "returns"):
                if hasattr(node, field):
                    setattr(node, field, None)
    return ast.dump(trees[0]) != ast.dump(trees[1])


def importers() -> dict[str, dict[str, int]]:
    """Return, for each file of the package, the test files that import it, and the number of imports between."""
    names = {_module(path): path for path in _sources()}
    imported = {path: {names[name] for name in _imports(path) if name in names} for path in names.values()}
    found: dict[str, dict[str, int]] = {}
    for test in (path for path in imported if Path(path).name.startswith("test_")):
        reached, border, distance = {test}, {test}, 0
        while border:
            border = {each for path in border for each in imported[path]} - reached
            reached |= border
            distance += 1
            for path in border:
                found.setdefault(path, {})[test] = distance
    return found


def _sources() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, check=True, text=True)
    return [name for name in listed.stdout.split() if name.startswith(("assocpriv/", "tests/", "bench/"))]


def _module(path: str) -> str:
    """Return the name that a file is imported by; tests/ is on the path."""
    parts = Path(path).with_suffix("").parts
    return ".".join(parts[1:] if parts[0] == "tests" else parts).removesuffix(".__init__")


def _imports(path: str) -> Iterator[str]:
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)


def near_changes() -> list[str]:
    """Return test files that differ from the last commit or import changed files; those of the same package first."""
    command = ["git", "status", "--porcelain", "--no-renames", "--untracked-files=all"]
    lines = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout.splitlines()
    changed, graph = {line[3:] for line in lines}, importers()
    near = {test for path in changed for test, distance in graph.get(path, {}).items() if distance == 1}
    own = [path for path in changed if path.endswith(".py") and (ROOT / path).exists()]
    near |= {path for path in own if path.startswith("assocpriv/") or Path(path).name.startswith("test_")}  # doctests
    packages = {Path(path).parts[1:2] for path in changed}
    return sorted(near, key=lambda test: (Path(test).parts[1:2] not in packages, test))


def copy_to(folder: Path) -> Path:
    """Copy the tracked files and the compiled kernels; return the copy's root."""
    clone = folder / "main"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.split(b"\0")
    compiled = [str(path.relative_to(ROOT)) for path in (ROOT / "assocpriv" / "kernels").glob("compiled.*.*")]
    for name in [os.fsdecode(each) for each in listed if each] + compiled:
        if (ROOT / name).exists():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, clone / name, follow_symlinks=False)
    for name in ("shared", "main/clients/js/node_modules"):
        if (ROOT.parent / name).exists():
            (folder / name).symlink_to(ROOT.parent / name)
    return clone


def caught_by(fault: Fault, clone: Path, tests: list[str]) -> str:
    """Return the first of some tests that fails with the fault; empty if all pass."""
    fault.apply_to(clone)
    try:
        build(fault, clone)
        place = {"cwd": clone, "env": os.environ | {"PYTHONPATH": str(clone)}, "start_new_session": True}
        output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        running = subprocess.Popen([*PYTEST, *tests], **place, **output)
        shown, _ = running.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(running.pid, signal.SIGKILL)  # with the programs that the tests run
        running.wait()
        return "no end"
    finally:
        shutil.copy(ROOT / fault.file, clone / fault.file)  # with a new time
        build(fault, clone)
    if running.returncode in (4, 5):  # no such test, or none chosen
        raise ValueError(f"{fault.name}: {shown.strip().splitlines()[-1]}")
    lines = [line.partition(" - ")[0] for line in shown.splitlines()]
    failed = [line.partition(" ")[2] for line in lines if line.startswith(("FAILED ", "ERROR "))]
    return (failed or ["pytest itself"])[0] if running.returncode else ""


def build(fault: Fault, clone: Path) -> None:
    """Compile the kernels again, if the fault is in them."""
    if fault.file.endswith(".c"):
        command = [sys.executable, "-c", "from setuptools import setup; setup()", "-q", "build_ext", "--inplace"]
        subprocess.run(command, cwd=clone, check=True, capture_output=True)


def judge(fault: Fault, clone: Path, importing: dict[str, int]) -> tuple[bool, str]:
    """Return whether the required tests catch a fault, and a description of the result."""
    if fault.tests and (test := caught_by(fault, clone, list(fault.tests))):
        return True, f"caught by {test}"
    near = sorted(importing, key=lambda test: (importing[test], test))
    if near and (test := caught_by(fault, clone, near)):
        return not fault.tests, f"caught by {test}" + (", not by the required tests" if fault.tests else "")
    return False, "LIVES"


def run(faults: list[Fault]) -> int:
    """Judge each fault, on all cores; print a line for each; return the number of missed faults."""
    graph, clones, missed = importers(), SimpleQueue[Path](), 0
    with tempfile.TemporaryDirectory(prefix="assocpriv-faults-") as folder:
        cores = os.cpu_count() or 1
        for number in range(cores):
            clones.put(copy_to(Path(folder) / str(number)))
        # if tests cannot start, each fault would count as caught
        subprocess.run([*PYTEST, "--collect-only", "-qq"], cwd=Path(folder) / "0" / "main", check=True)

        def judged(fault: Fault) -> tuple[Fault, bool, str]:
            clone = clones.get()
            try:
                return fault, *judge(fault, clone, graph.get(fault.file, {}))
            finally:
                clones.put(clone)

        with ThreadPoolExecutor(cores) as pool:
            for fault, is_caught, words in pool.map(judged, faults):
                missed += not is_caught
                print(f"{fault.name}: {words}", flush=True)
    print(f"{len(faults)} faults, {len(faults) - missed} caught by the required tests")
    return missed


def main(arguments: list[str]) -> int:
    """Run the faults that the arguments select."""
    if arguments == ["--near"]:
        print(*near_changes(), sep="\n")
        return 0
    if arguments[:1] == ["--mutants"]:
        return bool(run(list(drawn(int(arguments[1]), int(arguments[2])))))
    words = arguments or [""]
    return bool(run([each for each in kept() if each.tests and any(word in each.name + each.file for word in words)]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
