"""Tests of the command generate."""

from pathlib import Path

import pytest
from command_line import (
    refused_without_output,
    run,
)


def test_generate(tmp_path: Path) -> None:
    """Generated baskets repeat with their seed, and both kinds of file hold the same number of them."""
    size = ["--baskets", 500, "--items", 20, "--mean-size", 4, "--patterns", 10, "--mean-pattern-size", 2]
    for name, seed in (("a.dat", 1), ("b.dat", 1), ("c.dat", 2), ("a.csv", 1)):
        run("generate", "quest", *size, "--seed", seed, "-o", tmp_path / name)
    assert (tmp_path / "a.dat").read_bytes() == (tmp_path / "b.dat").read_bytes()
    assert (tmp_path / "a.dat").read_bytes() != (tmp_path / "c.dat").read_bytes()
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 500


@pytest.mark.parametrize(
    "wrong",
    ["--baskets=0", "--baskets=-1", f"--baskets={10**30}", "--items=0", f"--items={10**30}", "--mean-size=nan",
     "--mean-size=-1", "--mean-size=inf", "--patterns=0", "--mean-pattern-size=0", "--mean-pattern-size=nan"],
)  # fmt: skip
def test_bad_generators(tmp_path: Path, wrong: str) -> None:
    """Baskets that cannot be generated are refused, and no file is made."""
    refused_without_output(tmp_path, "generate", "quest", "--baskets", 10, wrong, "-o", tmp_path / "b.dat")


def test_generated_baskets_need_a_known_extension(tmp_path: Path) -> None:
    """Generated baskets are .dat or .csv."""
    refused_without_output(tmp_path, "generate", "quest", "--baskets", 9, "-o", tmp_path / "b.txt", status=2)


def test_generated_records(tmp_path: Path) -> None:
    """Records repeat with their seed; the schema is written beside them; another ending is refused."""
    size = ["generate", "agrawal", "--records", 100]
    for name, seed in (("a.csv", 1), ("b.csv", 1), ("c.csv", 2)):
        run(*size, "--seed", seed, "-o", tmp_path / name)
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert (tmp_path / "a.csv").read_bytes() != (tmp_path / "c.csv").read_bytes()
    said = run(*size, "--schema", tmp_path / "s.toml", "-o", tmp_path / "d.parquet").stdout
    assert said.splitlines()[0].startswith("100 records of function 1")
    assert "[columns.salary]" in (tmp_path / "s.toml").read_text()
    assert ".csv or .parquet" in refused_without_output(tmp_path, *size, "-o", tmp_path / "e.txt")
