"""Tests of the commands mine and rules.

Tests of the command mine: what is asked for, what is certain, and reports that cannot be mined.

Tests of the command rules: its files, its numbers, and tables that carry too little.
"""

import io
import json
import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import N_BASKETS, N_ITEMS, refused, refused_without_output, run, run_json
from naive import planned, reports_of

import assocpriv as ap
from assocpriv.planning.baskets import whole_levels
from assocpriv.planning.expected import Sizes
from assocpriv.show.record import write


def test_sides_are_files_folders_and_tables(home: Path, tmp_path: Path) -> None:
    """Files with commas between are one side; a folder alone is compared by the days of its files."""
    days = tmp_path / "days"
    days.mkdir()
    for place, name in enumerate(("a", "b", "c")):
        run("randomize", home / "b.dat", "--plan", home / "plan.json", "-o", days / f"{name}.parquet")
        os.utime(days / f"{name}.parquet", (place // 2 * 86_400, place // 2 * 86_400))
    told = run_json("compare", days)
    assert [(side["name"], side["reports"]) for side in told["sides"]] == [
        ("1970-01-01", 2 * N_BASKETS), ("1970-01-02", N_BASKETS),
    ]  # fmt: skip
    both = f"{days / 'a.parquet'},{days / 'b.parquet'}"
    files = run_json("compare", both, days / "c.parquet")
    assert [row["raw"] for row in files["itemsets"]] == [row["raw"] for row in told["itemsets"]]
    assert "two or more sides" in refused("compare", home / "r.parquet")
    assert "on two sides" in refused("compare", days, days / "c.parquet")
    for name in ("a", "b"):
        (days / f"{name}.parquet").unlink()
    assert "of 1 day;" in refused("compare", days)
    run("compare", home / "r.parquet", home / "i.csv", "-o", tmp_path / "told.json")
    rows = json.loads((tmp_path / "told.json").read_text())["rows"]
    assert {"value r", "holds i", "raw_error"} <= rows[0].keys()
    assert {row["of"] for row in rows} == {"support", "confidence"}


def test_a_trend_is_drawn(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal by heights, on a page by a line with an interval for each side."""
    sides = [home / name for name in ("r.parquet", "others.pq.parquet", "i.csv")]
    told = ap.compare(*sides, at_least="0%")
    told.itemsets.columns["listed"][:] = True
    record = ap.show.comparisons.compared(told, top=3)
    monkeypatch.setenv("CLICOLOR_FORCE", "1")
    stream = io.TextIOWrapper(io.BytesIO(), "utf-8")
    ap.show.text.show(record, stream)
    stream.seek(0)
    assert re.search("[▁▂▃▄▅▆▇█]{3} ±[▁▂▃▄▅▆▇█]", stream.read())
    ap.write_page(told, tmp_path / "trend.html", title="Three")
    path = re.findall('<path d="(.*?)"', (tmp_path / "trend.html").read_text())[0]
    assert re.fullmatch(r"(M[\d.]+ [\d.]+V[\d.]+){3}M[\d.]+ [\d.]+(L[\d.]+ [\d.]+){2}", path)


def test_mine_options(home: Path) -> None:
    """Largest itemsets and level of the intervals show in the result; --top cuts the text, if need be to nothing."""
    question = ["mine", home / "r.parquet", "--min-support", "20%"]
    usual = run_json(*question)
    assert {row["length"] for row in run_json(*question, "--max-itemset", 1)["itemsets"]} == {1}
    wide = run_json(*question, "--confidence-level", 0.999)["itemsets"][0]
    assert wide["ci_high"] - wide["ci_low"] > usual["itemsets"][0]["ci_high"] - usual["itemsets"][0]["ci_low"]
    for rows in (0, 1):
        shown = run(*question, "--top", rows).stdout.splitlines()
        assert sum(line.endswith(("  1", "  2", "  1, 2")) for line in shown) == rows
        assert shown[-1].startswith("… and ")


def test_no_option_is_needed(home: Path, tmp_path: Path) -> None:
    """The minimum support that is taken is said, in text and files; only what is listed is shown, --all adds the rest.

    Simulations do likewise.
    """
    record = run_json("mine", home / "r.parquet", "-o", tmp_path / "i.csv")
    assert record == run_json("mine", home / "r.parquet", "--min-support", "auto")
    assert record["auto"] is True
    listed = [row for row in record["itemsets"] if row["listed"]]
    assert {("1",), ("2",), ("1", "2")} < {tuple(row["itemset"]) for row in listed}
    least = write(record["min_support"], "support")
    said = f"{len(listed)} itemsets of a support of {least} or more, the least that is likely"
    shown, everything = (run("mine", home / "r.parquet", *more).stdout.splitlines() for more in ([], ["--all"]))
    assert shown[1].startswith(said)
    assert run("inspect", tmp_path / "i.csv").stdout.splitlines()[1:9] == shown[:8]
    assert sum("  ? " in line for line in everything) == sum(
        row["support"] >= record["min_support"] for row in record["itemsets"] if not row["listed"]
    )
    assert not any("  ? " in line for line in shown)
    tried = ["simulate", home / "b.dat", "--plan", home / "plan.json", "--seed", 1]
    assert run_json(*tried)["auto"] is True


def test_the_largest_supports(home: Path, tmp_path: Path) -> None:
    """Without a minimum support --top mines the largest supports of all sizes, and rules follow from them."""
    record = run_json("mine", home / "r.parquet", "--top", 4, "-o", tmp_path / "i.parquet")
    assert record["top"] == len(record["itemsets"]) == 4
    found = {tuple(row["itemset"]) for row in record["itemsets"]}
    assert {("1",), ("2",), ("1", "2")} < found  # the fourth is in 20%, others in 11%, which noise may swap
    filtered = run_json("mine", home / "r.parquet", "--top", 5, "--size", "2..3", "--contains", "1")["itemsets"]
    assert len(filtered) == 5  # of what the filters leave
    assert {len(row["itemset"]) for row in filtered} <= {2, 3}
    shown = run("mine", home / "r.parquet", "--top", 4).stdout.splitlines()
    by_support = sorted(record["itemsets"], key=lambda row: -row["support"])
    assert [line.rsplit("  ", 1)[1] for line in shown[-4:]] == [", ".join(row["itemset"]) for row in by_support]
    assert run_json("rules", tmp_path / "i.parquet")["rules"]


def test_what_cannot_be_asked(home: Path, tmp_path: Path) -> None:
    """No reports, numbers that are none, and questions that contradict each other are refused in a line."""
    assert refused("mine", status=2).startswith("Missing argument 'REPORTS...'")
    assert "'many'" in refused("mine", home / "r.parquet", "--top", "many", status=2)
    assert "minimum support" in refused("mine", home / "r.parquet", "--min-support", "some")
    assert "not with top" in refused("mine", home / "r.parquet", "--top", 3, "--certain", "95%")
    for level in ("0", "100%", "x", "nan", ""):
        question = ["mine", home / "r.parquet", f"--certain={level}", "-o", tmp_path / "i.parquet"]
        assert "certain" in refused_without_output(tmp_path, *question)


def test_what_is_certain(home: Path, tmp_path: Path) -> None:
    """What is certain is marked and explained, by inspect too."""
    question = ["mine", home / "r.parquet", "--min-support", "20%", "--certain", "95%"]
    record = run_json(*question, "-o", tmp_path / "i.csv")
    assert record["reports"] + record["certain"]["selecting_reports"] == N_BASKETS
    pair = next(row for row in record["itemsets"] if row["itemset"] == ["1", "2"])
    assert (pair["certain"], pair["p_value"] < 1e-6) == (True, True)
    shown = run("inspect", tmp_path / "i.csv").stdout
    assert "%  *  1, 2" in shown
    assert "on average at most 5% have a support below 20%" in shown
    assert f"({record['certain']['selecting_reports']:,} others chose the itemsets)" in shown
    hopeless = run("mine", home / "r.parquet", "--min-support", "99%", "--certain", "95%").stdout
    assert "none is certain" in hopeless


def test_reports_of_two_plans(home: Path, tmp_path: Path) -> None:
    """A first collection and one of a plan that refine made are read together; a folder is of one plan alone."""
    again, second = tmp_path / "p.json", tmp_path / "second.parquet"
    run("refine", home / "i.json", "--plan", home / "plan.json", "--best", 4, "-o", again)
    run("randomize", home / "b.dat", "--plan", again, "--unknown", "drop", "-o", second)
    question = ["--itemset", "1,2", "--itemset", "11"]
    first, both = (run_json("ask", *files, *question) for files in ([home / "r.parquet"], [home / "r.parquet", second]))
    assert both["itemsets"][0]["unbiased_error"] < 0.9 * first["itemsets"][0]["unbiased_error"]
    assert both["itemsets"][1]["unbiased_error"] == pytest.approx(first["itemsets"][1]["unbiased_error"], rel=0.01)
    mined = run_json("mine", second, home / "r.parquet", "-o", tmp_path / "i.json")
    # more than the second tells of
    assert mined == run_json("mine", home / "r.parquet", second, "--max-itemset", 3)
    assert mined["plan_ids"] == [run_json("inspect", plan)["plan_id"] for plan in (home / "plan.json", again)]
    assert run_json("rules", tmp_path / "i.json")["plan_ids"] == mined["plan_ids"]
    certain = ["mine", home / "r.parquet", second, "--certain", "95%"]
    assert "reports of one plan" in refused_without_output(tmp_path, *certain)
    (tmp_path / "r.parquet").write_bytes((home / "r.parquet").read_bytes())
    assert "cannot be mixed" in refused("mine", tmp_path)


def test_itemsets_beyond_the_generator(home: Path, tmp_path: Path) -> None:
    """Itemsets that the plan's reports cannot answer for are refused, with the remedy."""
    question = [home / "r.parquet", "--min-support", "20%", "-o", tmp_path / "i.parquet", "--max-itemset"]
    for size in (4, 0):
        refused_without_output(tmp_path, "mine", *question, size)
    ap.write_plan(planned(N_ITEMS, 3, ap.Breach("5%", "50%"), itemset_size=1, code="bch"), tmp_path / "p.json")
    run("randomize", home / "b.dat", "--plan", tmp_path / "p.json", "-o", tmp_path / "r.parquet")
    message = refused("mine", tmp_path / "r.parquet", "--min-support", "20%", "--max-itemset", 3)
    assert "--itemset-size 3" in message


def test_what_rules_are_worth(home: Path, tmp_path: Path) -> None:
    """With prices each rule has a value, as text and as JSON; the digest of what devices get is said."""
    names = sorted({name for row in run_json("inspect", home / "i.json")["itemsets"] for name in row["itemset"]})
    (tmp_path / "p.csv").write_text("".join(f"{name},2.50\n" for name in names))
    question = ["rules", home / "i.parquet", "--min-confidence", "10%", "--prices", tmp_path / "p.csv"]
    assert {"value", "value_ci_low", "value_ci_high"} <= set(run_json(*question)["rules"][0])
    done = run(*question, "-o", tmp_path / "r.json")
    assert "value of 1,000 baskets" in done.stdout
    assert f"its digest is {ap.digest_of(tmp_path / 'r.json')}" in done.stderr


def test_substitutes_are_told_of_reports(home: Path, tmp_path: Path) -> None:
    """The record and the file say how many pairs are told, and how many not; what is of rules does not go with it."""
    question = ["rules", home / "r.parquet", "--substitutes"]
    found = run_json(*question, "-o", tmp_path / "s.json")
    assert json.loads((tmp_path / "s.json").read_text())["pairs"] == found["pairs"]
    assert f"{found['untold']:,} are too rare" in run(*question).stdout
    assert "--sort does not go with --substitutes" in refused(*question, "--sort", "lift", status=2)


def test_reports_in_place_of_itemsets_are_told_apart(home: Path) -> None:
    """Who names the reports is told to mine them first."""
    said = refused("rules", home / "r.parquet", "--min-confidence", "10%")
    assert "it holds reports; mine them first: assocpriv mine" in said


def test_all_shows_and_writes_rules_that_are_not_listed(tmp_path: Path) -> None:
    """Text, JSON and files have the listed rules alone; with --all also the others, which say that they are not."""
    rng, plan = np.random.default_rng(3), planned([*"abcdef"], 3, ap.Breach("1%", "90%"), reports=5_000)
    held = rng.random((5_000, 6)) < np.linspace(0.05, 0.6, 6)
    reports = reports_of([["abcdef"[item] for item in np.flatnonzero(row)[:3]] for row in held], plan, 3)
    ap.write_itemsets(ap.mine(reports, top=41), tmp_path / "i.parquet")
    question = ["rules", tmp_path / "i.parquet", "--min-confidence", "30%", "--top", 999]
    rules = {}
    for name, more in (("listed", []), ("all", ["--all"])):
        text = run(*question, *more, "-o", tmp_path / f"{name}.csv").stdout.splitlines()
        rules[name] = run_json(*question, *more, "-o", tmp_path / f"{name}.json")["rules"]
        file = pd.read_csv(tmp_path / f"{name}.csv")
        assert file["listed"].tolist() == [rule["listed"] for rule in rules[name]]
        assert sum(" → " in line for line in text) == len(rules[name])
        assert sum("  ? " in line for line in text) == sum(not rule["listed"] for rule in rules[name])
        assert len(json.loads((tmp_path / f"{name}.json").read_text())["rules"]) == len(file)
    assert rules["listed"] == [rule for rule in rules["all"] if rule["listed"]]
    assert 0 < len(rules["listed"]) < len(rules["all"])


def test_infinite_values_are_null(home: Path) -> None:
    """What nothing can be learned from, and an infinite conviction, is null and never Infinity or NaN."""
    hopeless = run_json("inspect", home / "plan.json", "--reports", 1)
    assert all(s is None or s >= 0 for s in hopeless["lowest_discoverable_support"].values())
    rules = run_json("rules", home / "i.parquet", "--min-confidence", "0")["rules"]
    assert all((rule["conviction"] is None) == (rule["confidence"] >= 1) for rule in rules)


def test_an_empty_result_says_what_to_do_next(home: Path, tmp_path: Path) -> None:
    """It names a number of reports and a promise that would show more, with the planner's own figures."""
    (tmp_path / "b.dat").write_text("1 2\n" * 100 + "3\n" * 100)
    run("randomize", tmp_path / "b.dat", "--plan", home / "plan.json", "-o", tmp_path / "r.parquet")
    result = run("mine", tmp_path / "r.parquet", "--max-itemset", 2)
    if "(none)" in result.stdout:  # else noise has been believed, as of one list in twenty
        more = whole_levels(ap.read_plan(home / "plan.json", ap.Plan), 1000, Sizes.usual(N_ITEMS))[2]
        few, many, promise = result.stderr.splitlines()[-3:]
        assert (
            few
            == "nothing can be told from noise; of baskets of 6 items 200 reports can show no pairs (too few people)"
        )
        assert many == f"1,000 reports would show pairs from {more:.3%} on"
        assert re.fullmatch(r"the promise 1% → 50% would show pairs from [\d.]+% on, for less privacy", promise)
    assert "nothing can be told" not in run("mine", home / "r.parquet").stderr


def test_rules_of_few_reports_say_so(home: Path, tmp_path: Path) -> None:
    """As mining does, for whoever has its table alone."""
    (tmp_path / "b.dat").write_text("1 2\n" * 20)
    run("randomize", tmp_path / "b.dat", "--plan", home / "plan.json", "-o", tmp_path / "r.parquet")
    run("mine", tmp_path / "r.parquet", "-o", tmp_path / "i.parquet")
    assert "20 reports tell little" in run("rules", tmp_path / "i.parquet").stdout
