"""Tests of the commands privacy and inspect: what a plan proves, and what inspect says of any file."""

import json
import math
import os
import re
import shutil
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import naive
import pytest
from command_line import N_BASKETS, refused, run, run_json
from naive import planned

import assocpriv as ap
from assocpriv.estimation.manipulation_bounds import bound_manipulation
from assocpriv.files.plan_files import write_plan
from assocpriv.guarantees.amplification import parse_probability
from assocpriv.guarantees.shuffle_model import CentralGuarantee, central_guarantee
from assocpriv.planning.detection_limits import _power_up, describe_privacy
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.show.number_format import points, written
from assocpriv.show.privacy_views import privacy
from assocpriv.show.text_renderer import lines

SMALL = naive.small_plan("none", 12, 3, 1, shares=(2, 1, 1, 5))
SEEDED = naive.small_plan("bch", 300, 3, 2)


def text_of(plan: Plan, **options: Any) -> str:
    """Return the text about a plan."""
    return "\n".join(lines(privacy(describe_privacy(plan, **options))))


@pytest.mark.parametrize("count", [1, 2, 7, 1000])
def test_posteriors_are_rounded_outwards(count: int) -> None:
    """Highest posteriors are the smallest floats above the exact ones of γ^R, lowest ones the largest below."""
    priors = ["1%", "1/3", "0.5", "99.9%"]
    record = privacy(describe_privacy(SMALL, priors, reports_per_person=count)).content
    gamma = SMALL.amplification**count
    for part, power in ((record["one_report"], SMALL.amplification), (record["together"], gamma)):
        assert [Fraction(row["prior"]) for row in part["posteriors"]] == sorted(
            parse_probability(p, "p") for p in priors
        )
        for row in part["posteriors"]:
            prior = Fraction(row["prior"])
            high, low = ap.guarantees.highest_posterior(prior, power), ap.guarantees.lowest_posterior(prior, power)
            assert Fraction(math.nextafter(row["highest_posterior"], 0)) < high <= Fraction(row["highest_posterior"])
            assert Fraction(row["lowest_posterior"]) <= low < Fraction(math.nextafter(row["lowest_posterior"], 1))
        assert part["epsilon"] == ap.guarantees.epsilon_from_amplification(power)
        assert part["largest_rise"] == ap.guarantees.largest_rise(power)
        with localcontext(prec=60):
            bits = (Decimal(power.numerator).ln() - Decimal(power.denominator).ln()) / Decimal(2).ln()
            assert bits <= Decimal(part["log_amplification_bits"]) < bits * Decimal("1.00000000000001")
    assert record["together"]["reports"] == count


def test_a_long_product_is_rounded_up() -> None:
    """If γ^R has too many bits it is replaced by a number above it, closer than any digit shown."""
    gamma = Fraction(3**600, 2**900)
    above = _power_up(gamma, 100)
    assert gamma**100 < above < gamma**100 * (1 + Fraction(1, 10**30))
    assert above.numerator.bit_length() < 30_000
    assert _power_up(gamma, 2) == gamma**2


@pytest.mark.parametrize(
    ("value", "digits", "up", "text"),
    [
        (Fraction(1, 3), 4, True, "0.3334"), (Fraction(1, 3), 4, False, "0.3333"), (Fraction(19), 6, True, "19"),
        (Fraction(19 * 10**9 - 1, 10**9), 6, True, "19"), (Fraction(19 * 10**9 - 1, 10**9), 6, False, "18.9999"),
        (Fraction(10**12 + 1), 4, True, "1001000000000"), (Fraction(19) ** 1000, 6, True, "5.67024e+1278"),
        (Fraction(1, 10**9), 4, True, "1e-9"), (Fraction(0), 4, False, "0"), (Fraction(99999, 100000), 4, True, "1"),
    ],
)  # fmt: skip
def test_figures_are_written_with_one_rounding(value: Fraction, digits: int, up: bool, text: str) -> None:
    """A figure has the given number of digits, rounded in the given direction, also near other figures."""
    assert written(value, digits, up=up) == text


def test_bounds_are_called_bounds() -> None:
    """Figures of a code with too many seeds are written as bounds; exact ones are not."""
    assert "(upper bounds: the plan is too large for exact values)" in text_of(SEEDED)
    assert "bounds" not in text_of(SMALL)


@pytest.mark.parametrize("count", [1, 3])
def test_both_guarantees_are_stated(count: int) -> None:
    """The smallest ε of a batch is proved with δ' for each of R reports; the text names both, and collusion."""
    guarantee = CentralGuarantee(Fraction(4), Fraction(1, 10**8), 100_000)
    plan = replace(SMALL, reports_per_person=count, central=guarantee)
    record = privacy(describe_privacy(plan))
    each, delta = guarantee.limits_per_report(count)
    assert sum(Fraction(delta) * Fraction(math.exp(each)) ** step for step in range(count)) <= guarantee.delta
    least = central_guarantee(plan.amplification, guarantee.people, delta, blanket=plan.blanket).epsilon
    assert record.content["proved"]["epsilon"] == pytest.approx(count * least, rel=1e-12)
    assert record.content["proved"]["epsilon"] <= 4
    assert record.content["central"] == guarantee.to_json()
    text = "\n".join(lines(record))
    after = f"If they do, the local guarantee remains: {written(100 * plan.guarantee.prior, 4, up=False)}% → "
    assert "(ε, δ)-DP with ε = 4 and δ = 1e-8 against all who read closed batches, as long as relay and" in text
    assert after in text
    moved = bound_manipulation(plan, guarantee.reports)[1]
    assert moved
    assert f"moves supports by at most: single items {points(moved.one_report)}" in text
    assert "central" not in text_of(SMALL)
    assert privacy(describe_privacy(SMALL)).content.get("central") is None


@pytest.fixture(scope="module")
def plan_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a plan file."""
    path = tmp_path_factory.mktemp("privacy") / "plan.json"
    write_plan(SMALL, path)
    return path


def test_the_command_prints_the_results_of_python(plan_path: Path) -> None:
    """The command's text and JSON are those of the functions with the same options."""
    command = ["privacy", plan_path, "--prior", "1%", "--prior", "25%", "--reports-per-person", 2]
    proved = privacy(describe_privacy(SMALL, ["1%", "25%"], reports_per_person=2))
    assert run(*command).stdout.splitlines() == lines(proved)
    assert run_json(*command) == proved.to_json()
    assert run("privacy", plan_path).stdout.rstrip() == text_of(SMALL)


def test_a_page_to_sign(plan_path: Path, tmp_path: Path) -> None:
    """One page has the plan's whole id and a place to sign; it goes with one plan and no other option."""
    page = tmp_path / "guarantees.html"
    assert run("privacy", plan_path, "--html", page).stdout == f"page written to {page}\n"
    for each in (SMALL.plan_id, "Signature", "assocpriv report --ledger L --spent", "report, ever"):
        assert each in page.read_text(encoding="utf-8")
    assert "exists" in refused("privacy", plan_path, "--html", page)
    assert "--explain does not go with --html" in refused("privacy", plan_path, "--html", page, "--explain", status=2)
    assert "one PLAN" in refused("privacy", plan_path, plan_path, "--html", page, status=2)


def test_inspect_describes_a_file(home: Path, tmp_path: Path) -> None:
    """Plans, reports, folders of reports and itemsets of every format are distinguished."""
    assert run_json("inspect", home / "plan.json", "--people", 7)["kind"] == "plan"
    reports = run_json("inspect", home / "r.parquet")
    assert (reports["kind"], reports["reports"], reports["files"]) == ("reports", N_BASKETS, 1)
    for name in ("r", "others.pq"):
        shutil.copy(home / f"{name}.parquet", tmp_path)
    assert run_json("inspect", tmp_path)["reports"] == 2 * N_BASKETS
    for ending in ("parquet", "csv", "json"):
        assert run_json("inspect", home / f"i.{ending}")["kind"] == "itemsets"
        assert "itemsets mined with plan" in run("inspect", home / f"i.{ending}").stdout
    assert "guarantee" in run("inspect", home / "plan.json").stdout
    assert "all complete and valid for the plan" in run("inspect", home / "r.parquet").stdout
    for name, kind in (("r.parquet", "reports"), ("i.csv", "itemsets")):
        assert f"holds {kind}" in refused("inspect", home / name, "--people", 7, status=2)


def test_baskets_are_recognized(tmp_path: Path) -> None:
    """If reports or itemsets are expected, the error names a file of baskets as such, with the command for it."""
    for name, commands in {"shop.csv": ["inspect", "mine", "rules", "compare"], "shop.xlsx": ["inspect"]}.items():
        (tmp_path / name).write_text("receipt,item\n1,Zx9\n")
        for command in commands:
            output = refused(command, *[tmp_path / name] * (1 + (command == "compare")))
            assert "it looks like baskets or a table; randomize baskets first: assocpriv randomize" in output
            assert "Zx9" not in output


def test_inspect_refuses_other_files(home: Path) -> None:
    """Inspect gives the reason against each known type of file."""
    for name in ("b.dat", "names.txt", "lists.parquet", "none.json"):
        message = refused("inspect", home / name)
        assert str(home / name) in message
        assert not message.rstrip().endswith(":")


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_inspect_reads_no_endless_file(tmp_path: Path, ending: str) -> None:
    """A pipe, a device and a huge file of zeros are refused in one line, without waiting or reading them whole."""
    pipe, device, sparse = (tmp_path / f"{name}.{ending}" for name in ("pipe", "device", "sparse"))
    os.mkfifo(pipe)
    device.symlink_to("/dev/zero")
    with sparse.open("wb") as file:
        file.truncate(3 << 30)
    for path in (pipe, device):
        for further in ((), ("--html", tmp_path / "page.html")):
            assert "is a device or a pipe; name a regular file" in refused("inspect", path, *further)
    output = refused("inspect", sparse)
    assert "larger than 256 MiB" in output or ending == "parquet"
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize("sizes", [None, "20%"])
def test_a_plan_whose_reports_carry_no_information(tmp_path: Path, sizes: str | None) -> None:
    """With γ = 1 for items, inspect and privacy describe the plan and state that its reports carry no information."""
    content = planned(100, 2, ap.Guarantee("5%", "50%"), kind="independent", code="none", sizes=sizes).to_json()
    content["report_types"][0]["operator"] |= {
        "insert_num": 1, "insert_bits": 1, "weight_bits": 2, "keep_weights": ["1", "1", "1"]
    }  # fmt: skip
    content["report_types"][0]["amplification"] = "at most 1.000000000"
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(content))
    message = "γ is 1: a report is independent of the basket, so no support can be estimated"
    assert message in run("inspect", path, "--people", 1).stdout
    for command in ("inspect", "privacy"):
        assert ("γ is 1: reports are independent of the data" in run(command, path).stdout) is (sizes is None)


def test_inspect_gives_the_reports_needed_for_a_support(home: Path) -> None:
    """With --detect the number of reports for each size is given as JSON and text, for basket plans only."""
    needed = run_json("inspect", home / "plan.json", "--detect", "5%")["reports_needed"]
    assert sorted(needed) == ["1", "2", "3"]
    text = run("inspect", home / "plan.json", "--detect=5%").stdout
    assert re.search(rf"^pairs +{needed['2']:,}$", text, re.MULTILINE)
    assert "holds reports" in refused("inspect", home / "r.parquet", "--detect", "5%", status=2)
    assert "above 0" in refused("inspect", home / "plan.json", "--detect", "0")


def test_a_ledger_is_named(home: Path, tmp_path: Path) -> None:
    """A device's ledger is named as such, and never gathered, for any length."""
    ledger = tmp_path / "ledger.bin"
    report = ["--period", "w1", "--empty", "keep", "-o", tmp_path / "one.bin"]
    run("report", "--plan", home / "plan.json", "--ledger", ledger, *report)
    before = ledger.read_bytes()
    for report_type in (["inspect", ledger], ["mine", ledger, "--min-support", "2%"], ["ask", ledger, "--itemset", "1"],
                     ["gather", ledger, "--plan", home / "plan.json", "-o", tmp_path / "all"]):  # fmt: skip
        assert "ledger.bin is a device's privacy budget ledger" in refused(*report_type)
    assert ledger.read_bytes() == before
    assert "gather" in refused("inspect", tmp_path / "one.bin")
