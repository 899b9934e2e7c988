#!/usr/bin/env python3
"""Run the package and its checks from a fresh clone; makes .venv on first use, needs only the standard library.

    python3 dev.py demo [...]     install, then run `assocpriv demo --force` with further arguments
    python3 dev.py check          install developer tools, then run all checks of the project;
                                  --debian-packages: also install programs for tests with apt-get
                                  (root, Debian); --fast: lint, and for half a minute the tests
                                  that import changed modules, those of changed packages first
    python3 dev.py docs           install developer tools, then build the documentation in site/
    python3 dev.py bench [...]    install developer tools, then run the benchmarks
    python3 dev.py faults [...]   seed faults in a copy, one at a time, and list those that no test
                                  catches; words select faults by name or file, --mutants N SEED
                                  makes mutants with cosmic-ray
    python3 dev.py fuzz [...]     install atheris, then fuzz every parser; --minutes N in total (60)
    python3 dev.py nightly        faults, an hour of fuzzing, and all tests with new seeds, also beside
                                  the programs in tests/whole/peers.txt
    python3 dev.py format         sort imports and format the code

This file must parse on Python 3.6, so that an old Python shows a message and not a syntax error.
"""

import concurrent.futures
import glob
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.abspath(__file__))
VENV = os.path.join(ROOT, ".venv")
STAMP = os.path.join(VENV, "dev-stamp")
OLDEST = (3, 11)
TASKS = ("demo", "check", "docs", "bench", "faults", "fuzz", "nightly", "format")
PIP = ["-m", "pip", "--disable-pip-version-check", "-q"]
# an entry in sys.path, not a finder, which comes later: next to a clone named assocpriv, its folder would be imported
EDITABLE = ["--config-settings", "editable_mode=compat", "--editable"]
FOREIGN = ("PYTHONHOME", "PYTHONOPTIMIZE", "PYTHONPATH", "VIRTUAL_ENV", "PIP_TARGET", "PIP_PREFIX")
# the base of a virtual environment, because a broken .venv cannot replace itself
PYTHON = getattr(sys, "_base_executable", None) or sys.executable


class StepError(Exception):
    """A step ended with a status other than 0."""

    def __init__(self, name, status):
        self.status = status if status > 0 else 128 - status  # a signal, as shells count it
        Exception.__init__(self, f"{name} failed with status {self.status}")


def say(text):
    """Print a line, and flush it before later subprocesses print."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def clean_environment(**changes):
    """Return the environment without variables that would lead pip or Python out of .venv."""
    environment = {name: value for name, value in os.environ.items() if name not in FOREIGN}
    environment.update(PIP_USER="0", PIP_REQUIRE_VIRTUALENV="0")
    environment.update(changes)
    return environment


def venv_program(name, folder=VENV):
    """Return the path of a program in a virtual environment, on any system."""
    if os.name == "nt":
        return os.path.join(folder, "Scripts", name + ".exe")
    return os.path.join(folder, "bin", name)


def run_step(name, command, show_time=True, **changes):
    """Run one command from the repository's root; print its name before and its time after."""
    say("== " + name)
    start = time.time()
    status = subprocess.call(command, cwd=ROOT, env=clean_environment(**changes))
    if status:
        raise StepError(name, status)
    if show_time:
        say(f"== {name}: {time.time() - start:.1f} s")


def succeeds(command, quiet=True, **changes):
    """Return whether a command can be started and ends with status 0."""
    output = subprocess.DEVNULL if quiet else None
    try:
        environment = clean_environment(**changes)
        return subprocess.call(command, cwd=ROOT, env=environment, stdout=output, stderr=output) == 0
    except OSError:
        return False


def venv_works():
    """Return whether .venv has pip and a recent enough Python."""
    test = f"import sys, pip; sys.exit(sys.version_info < {OLDEST!r})"
    return succeeds([venv_program("python"), "-c", test])


def make_venv():
    """Make .venv with the standard library, or with virtualenv in a temporary folder."""
    say(f"making .venv with Python {sys.version.split()[0]}")
    if os.path.islink(VENV):
        os.unlink(VENV)
    elif os.path.exists(VENV):
        shutil.rmtree(VENV)
    # Debian has venv without ensurepip, with which making the environment fails half-way
    has_venv = succeeds([PYTHON, "-c", "import ensurepip, venv"])
    if has_venv and succeeds([PYTHON, "-m", "venv", VENV]) and venv_works():
        return
    shutil.rmtree(VENV, ignore_errors=True)
    if succeeds([PYTHON, "-m", "pip", "--version"]) and make_venv_by_virtualenv():
        return
    shutil.rmtree(VENV, ignore_errors=True)
    sys.exit(
        f"dev.py: {PYTHON} cannot make a virtual environment:\n"
        "it lacks ensurepip, and pip is missing or could not fetch virtualenv.\n"
        "Install one of them, for example:\n"
        "    Debian, Ubuntu:  sudo apt install python3-venv\n"
        "    elsewhere:       the installer of python.org, or your system's package of pip"
    )


def make_venv_by_virtualenv():
    """Make .venv with virtualenv, which pip installs into a temporary folder; return whether that worked."""
    say("this Python lacks ensurepip; using virtualenv instead")
    folder = tempfile.mkdtemp(prefix="assocpriv-virtualenv-")
    try:
        # a target folder is not a system-wide installation, so PEP 668 allows it
        fetch = [PYTHON, *PIP, "install", "--target", folder, "virtualenv"]
        make = [PYTHON, "-m", "virtualenv", "-q", VENV]
        made = succeeds(fetch, quiet=False) and succeeds(make, quiet=False, PYTHONPATH=folder)
        return made and venv_works()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def wanted_stamp(extra):
    """Return the content of the stamp file: a hash of pyproject.toml, compiled sources and folder, and the extra."""
    digest = hashlib.sha256(os.fsencode(ROOT))
    for path in [
        os.path.join(ROOT, "pyproject.toml"),
        *sorted(glob.glob(os.path.join(ROOT, "assocpriv", "*", "*.[ch]"))),
    ]:
        with open(path, "rb") as source:
            digest.update(source.read())
    return digest.hexdigest() + "\n" + extra + "\n"


def installed_stamp():
    """Return the content of the stamp file, empty if there is none."""
    try:
        with open(STAMP) as stamp:
            return stamp.read()
    except OSError:
        return ""


def install(extra):
    """Install this package into .venv with an extra's tools ("dev", "dev,bench"), unless it is installed."""
    # an environment with the benchmarks' peers also has the developer tools, and one with those also serves the demo
    wider = ("dev", "dev,bench", "dev,fuzz", "dev,faults")
    serving = {"": ("", *wider), "dev": wider}.get(extra, (extra,))
    current = installed_stamp() in [wanted_stamp(each) for each in serving]
    if not venv_works():
        make_venv()
    elif current:
        return
    if os.path.exists(STAMP):
        os.remove(STAMP)
    target = "." + (f"[{extra}]" if extra else "")
    name = f"install assocpriv{target[1:]} into .venv (the first time takes minutes)"
    run_step(name, [venv_program("python"), *PIP, "install", *EDITABLE, target])
    with open(STAMP, "w") as stamp:
        stamp.write(wanted_stamp(extra))


def demo(arguments):
    """Run the demo."""
    install("")
    return subprocess.call([venv_program("assocpriv"), "demo", "--force", *arguments], env=clean_environment())


def check(arguments):
    """Run all checks of the project; stop at the first that fails."""
    if arguments not in ([], ["--debian-packages"], ["--fast"]):
        sys.exit("dev.py: check takes only --debian-packages or --fast")
    if arguments == ["--fast"]:
        return check_fast()
    # only the tests need them, so they are installed in parallel; a failure is printed there and found by the tests
    packages = subprocess.Popen([os.path.join(ROOT, ".ci", "debian-packages")]) if arguments else None
    try:
        install("dev")
        check_before_tests()
    finally:
        if packages:
            packages.wait()
    try:
        # plain asserts show no values but spare each worker 8 s; no time, so that the summary is the last line
        run_step("pytest", pytest("--assert=plain"), show_time=False)
    except StepError:
        run_step("the tests that failed, with values", pytest("--last-failed", "--last-failed-no-failures=none"))
        raise
    return 0


def pytest(*arguments):
    """Return the command that runs tests in the order of tests/conftest.py, files in parallel."""
    workers = str((os.cpu_count() or 1) + 1)  # one more than cores, since tests wait for browsers, servers and Spark
    files = ["-n", workers, "--dist", "loadfile", "--no-loadscope-reorder", "--durations=20"]
    return [venv_program("python"), "-m", "pytest", *files, *arguments]


def check_fast():
    """Run within about a minute lint and the tests nearest to the changes since the last commit."""
    install("dev")
    lint()
    near = [venv_program("python"), os.path.join("tests", "faults", "run.py"), "--near"]
    tests = subprocess.check_output(near, cwd=ROOT, env=clean_environment(), universal_newlines=True).split()
    if tests:
        run_step("pytest of the nearest tests", pytest("-x", "--seconds", "30", *tests), show_time=False)
    return 0


def lint():
    """Run the checks that only read the source."""
    python = venv_program("python")
    run_step("ruff format --check", [python, "-m", "ruff", "format", "--check"])
    run_step("ruff check", [python, "-m", "ruff", "check"])


def check_before_tests():
    """Run the checks before the tests; all but lint two at a time, since each mostly needs one core."""
    python = venv_program("python")
    lint()
    with tempfile.TemporaryDirectory(prefix="assocpriv-kernels-") as folder:
        steps = [("mypy", [python, "-m", "mypy"], {}), *bounds_checks(folder)]
        for example in sorted(glob.glob(os.path.join(ROOT, "examples", "*.py"))):
            name = os.path.relpath(example, ROOT)
            steps.append((name, [python, name], {}))
        steps.append(("codespell", [venv_program("codespell")], {}))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            try:
                for running in [pool.submit(run_parallel_step, *step) for step in steps]:
                    running.result()
            finally:
                pool.shutdown(cancel_futures=True)


def bounds_checks(folder):
    """Return the step that tests compiled loops built with AddressSanitizer and UBSan; none without gcc."""
    python, kinds = venv_program("python"), "-fsanitize=address,undefined"
    if not sys.platform.startswith("linux") or not shutil.which("gcc"):
        return []
    flags = {"CFLAGS": kinds + " -fno-sanitize-recover -g -O1 -Wall -Wextra -Werror", "LDFLAGS": kinds, "CC": "gcc"}
    command = ["-c", "from setuptools import setup; setup()", "-q", "build_ext", "--build-lib", folder, "-t", folder]
    run_step("build the loops with bounds checks", [python, *command], **flags)
    [built] = glob.glob(os.path.join(folder, "assocpriv", "kernels", "compiled.*"))
    runtime = subprocess.check_output(["gcc", "-print-file-name=libasan.so"], universal_newlines=True).strip()
    changes = {"LD_PRELOAD": runtime, "ASAN_OPTIONS": "detect_leaks=0", "KERNELS_TO_TEST": built}
    names = "kernels", "server/baskets/test_bitmaps.py", "server/numeric/test_histograms.py", "whole/test_fixed_size.py"
    tests = [os.path.join("tests", name) for name in (*names, "client/baskets/test_bulk_client.py")]
    return [("loops with bounds checks", [python, "-m", "pytest", "-p", "no:cacheprovider", *tests], changes)]


def run_parallel_step(name, command, changes):
    """Run one command in parallel with others, and print its output at once, after its name and time."""
    start, environment = time.time(), clean_environment(**changes)
    done = subprocess.run(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    say(f"== {name}: {time.time() - start:.1f} s\n{done.stdout.decode(errors='replace')}".rstrip())
    if done.returncode:
        raise StepError(name, done.returncode)


def docs(arguments):
    """Build the documentation site; every warning is an error."""
    if arguments:
        sys.exit("dev.py: docs takes no arguments")
    install("dev")
    command = [venv_program("python"), "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "docs", "site"]
    run_step("sphinx", command)
    say("the site begins at " + os.path.join(ROOT, "site", "index.html"))
    return 0


def bench(arguments):
    """Run the benchmarks."""
    # peers are only needed for mining raw baskets: pyfim needs a compiler, Spark is large
    install("dev,bench" if "mining" in arguments else "dev")
    return subprocess.call([venv_program("python"), "-m", "bench", *arguments], cwd=ROOT, env=clean_environment())


def fuzz(arguments):
    """Fuzz every parser of untrusted bytes, one after the other."""
    if arguments and (len(arguments) != 2 or arguments[0] != "--minutes" or not arguments[1].isdigit()):
        sys.exit("dev.py: fuzz takes --minutes N, in total (60 by default)")
    install("dev,fuzz")
    command = [venv_program("python"), os.path.join("tests", "fuzz", "run.py"), *(arguments or ["--minutes", "60"])]
    return subprocess.call(command, cwd=ROOT, env=clean_environment())


def faults(arguments):
    """Seed faults, and list those that no test catches."""
    install("dev,faults")
    command = [venv_program("python"), os.path.join("tests", "faults", "run.py"), *arguments]
    return subprocess.call(command, cwd=ROOT, env=clean_environment())


def nightly(arguments):
    """Run the checks that take hours; return 1 if one of them finds something."""
    if arguments:
        sys.exit("dev.py: nightly takes no arguments")
    found = [faults([]), fuzz([])]
    install("dev")
    peers = os.path.join("tests", "whole", "peers.txt")
    run_step("programs to compare with", [venv_program("python"), *PIP, "install", "-r", peers])
    slow = pytest("--slow", "--soak-seed", str(int(time.time())))
    found.append(subprocess.call(slow, cwd=ROOT, env=clean_environment()))
    return int(any(found))


def format_code(arguments):
    """Sort imports and format."""
    if arguments:
        sys.exit("dev.py: format takes no arguments")
    install("dev")
    python = venv_program("python")
    run_step("ruff check --select I --fix", [python, "-m", "ruff", "check", "--select", "I", "--fix"])
    run_step("ruff format", [python, "-m", "ruff", "format"])
    return 0


def main(arguments):
    """Run the task that the first argument names and return an exit status."""
    if sys.version_info < OLDEST:
        sys.stderr.write(
            f"dev.py: assocpriv needs Python {OLDEST[0]}.{OLDEST[1]} or later, and {sys.executable} is "
            f"Python {sys.version.split()[0]}.\n"
            "Start dev.py with a newer one, for example: python3.12 dev.py demo\n"
        )
        return 1
    if not arguments or arguments[0] in ("-h", "--help") or arguments[0] not in TASKS:
        is_help = arguments[:1] in (["-h"], ["--help"])
        (sys.stdout if is_help else sys.stderr).write(__doc__)
        return 0 if is_help else 2
    tasks = {"demo": demo, "check": check, "docs": docs, "bench": bench, "faults": faults, "fuzz": fuzz}
    tasks.update(nightly=nightly, format=format_code)
    try:
        return tasks[arguments[0]](arguments[1:])
    except StepError as failure:
        sys.stdout.flush()
        sys.stderr.write(f"dev.py: {failure}\n")
        return failure.status
    except KeyboardInterrupt:
        sys.stderr.write("dev.py: interrupted\n")
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
