"""On a system without fcntl, resource and fork, such as Windows, clients and the miner run; a collector refuses.

as_windows.py simulates the system; path separators and the libraries' own code are those of the present system.
"""

import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from command_line import run
from running_collector import Collector, Forks

AS_WINDOWS = Path(__file__).parent / "as_windows.py"
GUARANTEE = "--prior 5% --posterior 90%"


def as_windows(folder: Path, *lines: str) -> list[tuple[int, str]]:
    """Return exit status and output of commands; text after < is a command's standard input."""
    inputs = [line.rpartition(" < ")[::2] if " < " in line else (line, "") for line in lines]
    asked = json.dumps([(line.split(), text) for line, text in inputs])
    options = {"input": asked, "env": os.environ | {"LOCALAPPDATA": str(folder / "local")}, "cwd": folder}
    done = subprocess.run([sys.executable, AS_WINDOWS], **options, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [(status, output) for status, output in json.loads(done.stdout)]


def test_clients_and_the_miner_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From baskets to rules and from a table to distributions, the bytes written equal those of the present system."""
    lines = [
        "generate quest --people 2000 --items 20 --seed 1 -o b.dat",
        f"plan --items 20 --transaction-size 3 {GUARANTEE} -o plan.json",
        "randomize b.dat --plan plan.json -o r.parquet", "mine r.parquet -o i.csv --html i.html",
        "mine r.parquet -o i.parquet",
        "rules i.parquet --min-confidence 10% -o rules.csv", "inspect plan.json -v",
        "report --plan plan.json --ledger l.bin --period 1 -o one.bin < 1\n2\n", "report --ledger l.bin --spent",
        "generate agrawal --people 500 --seed 1 -o p.csv --schema s.toml", "plan --schema s.toml -o t.json",
        "randomize p.csv --plan t.json -o n.parquet", "reconstruct n.parquet -o d.json",
    ]  # fmt: skip
    for line, (status, message) in zip(lines, as_windows(tmp_path, *lines), strict=True):
        assert status == 0, f"{line}: {message}"
    (here := tmp_path / "here").mkdir()
    monkeypatch.chdir(here)
    mined = "mine ../r.parquet -o i.csv", "rules ../i.parquet --min-confidence 10% -o rules.csv"
    for line in (*lines[:2], *mined, *lines[9:11]):
        run(*line.split())
    for path in here.iterdir():
        assert (tmp_path / path.name).read_bytes() == path.read_bytes(), path.name


def test_a_device_sends_and_a_collection_is_read(tmp_path: Path) -> None:
    """A report is sent to a collector; its folder, including the open batch, is mined, and its status shown."""
    with closing(Forks()) as forks, Collector(forks, tmp_path) as collector:
        url = f"http://127.0.0.1:{collector.port}"
        sent, again, mined, status = as_windows(
            tmp_path, f"report --collector {url} --ledger l.bin --period 1 < 1\n2\n",
            f"report --collector {url} --ledger l.bin --queued", "mine data", "collector status data --json",
        )  # fmt: skip
    assert [sent[0], again[0], mined[0], status[0]] == [0] * 4, (sent, again, mined, status)
    assert json.loads(status[1])["reports"] == 1


def test_a_collection_is_changed_on_posix_only(tmp_path: Path) -> None:
    """On other systems one line refuses it, and no file changes."""
    lines = ("serve plan.json --data data", "gather inbox --plan plan.json -o data", "collector close data",
             "collector keys data --add till-7")  # fmt: skip
    run(*f"plan --items 20 --transaction-size 3 {GUARANTEE} -o".split(), tmp_path / "plan.json")
    for name in ("inbox", "data"):
        (tmp_path / name).mkdir()
    (tmp_path / "data" / "plan.json").write_bytes((tmp_path / "plan.json").read_bytes())
    before = sorted(tmp_path.rglob("*"))
    for status, message in as_windows(tmp_path, *lines):
        assert status == 1
        assert message.startswith("Error: a collection can be served, gathered or changed only on a POSIX system")
        assert message.count("\n") == 1
    assert sorted(path for path in tmp_path.rglob("*") if "local" not in path.parts) == before
