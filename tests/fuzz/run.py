"""Coverage-guided fuzzing with atheris: run.py --minutes N for all targets in turn, run.py TARGET SECONDS for one.

A further argument is the corpus folder for inputs that reached new code, build/fuzz by default. Bytes that make a
target fail are written there as ``TARGET-crash-…``; write a regression test with them first. ``python dev.py fuzz``
installs the requirements.
"""

import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
FOLDER = TESTS.parent / "build" / "fuzz"
_MOST_MEMORY = 4096  # MiB
_LONGEST_RUN = 20  # seconds for one input
_LONGEST_INPUT = 8192  # bytes


def fuzz(name: str, seconds: int, folder: Path) -> None:
    """Fuzz one target until the time is over or an input fails; this ends the process."""
    import atheris

    # loops are compiled from their bytecode, which instrumentation must not change
    kernels = (TESTS.parent / "assocpriv" / "kernels").glob("*.py")
    untouched = [f"assocpriv.kernels.{path.stem}" for path in kernels]
    with atheris.instrument_imports(include=["assocpriv"], exclude=untouched):
        from fuzz.targets import TARGETS

    target, corpus = TARGETS[name], folder / name
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(target.seeds()):
        (corpus / f"seed-{number}").write_bytes(seed)
        assert target.run(seed), f"{name} refuses its own seed {number}"
    options = [f"-max_total_time={seconds}", f"-timeout={_LONGEST_RUN}", f"-rss_limit_mb={_MOST_MEMORY}"]
    options += [f"-max_len={_LONGEST_INPUT}", "-print_final_stats=1", f"-artifact_prefix={folder}/{name}-"]
    # libFuzzer would interpret the return value, so drop it
    atheris.Setup([sys.argv[0], *options, str(corpus)], lambda data: target.run(data) and None)
    atheris.Fuzz()


def fuzz_all(minutes: float, folder: Path) -> int:
    """Fuzz every target for its share of the time; return the number of failed targets."""
    from fuzz.targets import TARGETS

    seconds, failed = max(1, int(60 * minutes / len(TARGETS))), 0
    for name in TARGETS:
        print(f"== fuzz {name}: {seconds} s", flush=True)
        failed += subprocess.call([sys.executable, __file__, name, str(seconds), str(folder)]) != 0
    print(f"== fuzz: {failed} of {len(TARGETS)} targets failed; failing inputs are in {folder}")
    return failed


def main() -> int:
    """Fuzz as the arguments specify; return the exit status."""
    sys.path[:0] = [str(TESTS.parent), str(TESTS)]
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    first, second, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3]) if len(sys.argv) > 3 else FOLDER
    if first == "--minutes":
        return min(fuzz_all(float(second), folder), 1)
    fuzz(first, int(second), folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
