"""Tests of the commands mine, rules, ask and compare.

mine: options, FDR control, and reports that cannot be mined. rules: files, numbers, and tables that carry too little.
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
from assocpriv.planning.basket_planner import whole_basket_thresholds
from assocpriv.planning.expected_error import BasketSizes
from assocpriv.show.result_record import write


def test_sides_are_files_folders_and_tables(home: Path, tmp_path: Path) -> None:
    """Files separated by commas are one side; a folder alone is compared by the days of its files."""
    days = tmp_path / "days"
    days.mkdir()
    for place, name in enumerate(("a", "b", "c")):
        run("randomize", home / "b.dat", "--plan", home / "plan.json", "-o", days / f"{name}.parquet")
        os.utime(days / f"{name}.parquet", (place // 2 * 86_400, place // 2 * 86_400))
    compared = run_json("compare", days)
    assert [(side["name"], side["reports"]) for side in compared["sides"]] == [
        ("1970-01-01", 2 * N_BASKETS), ("1970-01-02", N_BASKETS),
    ]  # fmt: skip
    both = f"{days / 'a.parquet'},{days / 'b.parquet'}"
    files = run_json("compare", both, days / "c.parquet")
    assert [row["unbiased"] for row in files["itemsets"]] == [row["unbiased"] for row in compared["itemsets"]]
    for name in ("a", "b"):
        (days / f"{name}.parquet").unlink()
    assert "of 1 day;" in refused("compare", days)
    run("compare", home / "r.parquet", home / "i.csv", "-o", tmp_path / "compared.json")
    rows = json.loads((tmp_path / "compared.json").read_text())["rows"]
    assert {"value r", "above_minimum i", "unbiased_error"} <= rows[0].keys()
    assert {row["of"] for row in rows} == {"support", "confidence"}


def test_trends_are_drawn(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal by heights, on a page by a line with an interval for each side."""
    compared = ap.compare(*(home / name for name in ("r.parquet", "others.pq.parquet", "i.csv")), at_least="0%")
    compared.itemsets.columns["selected"][:] = True
    record = ap.show.comparison_views.compared(compared, top=3)
    monkeypatch.setenv("CLICOLOR_FORCE", "1")
    monkeypatch.setenv("COLUMNS", "100")
    stream = io.TextIOWrapper(io.BytesIO(), "utf-8")
    ap.show.text_renderer.show(record, stream)
    stream.seek(0)
    assert re.search("[▁▂▃▄▅▆▇█]{3} ±[▁▂▃▄▅▆▇█]", stream.read())
    ap.write_page(compared, tmp_path / "trend.html", title="Three")
    path = re.findall('<path d="(.*?)"', (tmp_path / "trend.html").read_text())[0]
    assert re.fullmatch(r"(M[\d.]+ [\d.]+V[\d.]+){3}M[\d.]+ [\d.]+(L[\d.]+ [\d.]+){2}", path)


def test_mine_options(home: Path) -> None:
    """Options change the result; --top cuts the text, even to no row."""
    request = ["mine", home / "r.parquet", "--min-support", "20%"]
    default = run_json(*request)
    assert {row["length"] for row in run_json(*request, "--max-itemset", 1)["itemsets"]} == {1}
    wide = run_json(*request, "--confidence-level", 0.999)["itemsets"][0]
    assert wide["ci_high"] - wide["ci_low"] > default["itemsets"][0]["ci_high"] - default["itemsets"][0]["ci_low"]
    for rows in (0, 1):
        shown = run(*request, "--top", rows).stdout.splitlines()
        assert sum(line.endswith(("  1", "  2", "  1, 2")) for line in shown) == rows
        assert shown[-1].startswith("… and ")


def test_no_option_is_needed(home: Path, tmp_path: Path) -> None:
    """Text and files state the minimum support; only selected itemsets are shown, --all adds the rest."""
    record = run_json("mine", home / "r.parquet", "-o", tmp_path / "i.csv")
    assert record == run_json("mine", home / "r.parquet", "--min-support", "auto")
    assert record["auto"] is True
    selected = [row for row in record["itemsets"] if row["selected"]]
    assert {("1",), ("2",), ("1", "2")} < {tuple(row["itemset"]) for row in selected}
    least = write(record["min_support"], "support")
    output = f"{len(selected)} itemsets selected with a support of at least {least}, the automatic minimum"
    shown, everything = (run("mine", home / "r.parquet", *more).stdout.splitlines() for more in ([], ["--all"]))
    assert shown[1].startswith(output)
    assert run("inspect", tmp_path / "i.csv").stdout.splitlines()[1:9] == shown[:8]
    assert sum("  ? " in line for line in everything) == sum(
        row["support"] >= record["min_support"] for row in record["itemsets"] if not row["selected"]
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
    assert 2 < len(filtered) <= 5  # that match the filters; noise decides how many of the rare ones are found
    assert {len(row["itemset"]) for row in filtered} <= {2, 3}
    shown = run("mine", home / "r.parquet", "--top", 4).stdout.splitlines()
    by_support = sorted(record["itemsets"], key=lambda row: -row["support"])
    assert [line.rsplit("  ", 1)[1] for line in shown[-4:]] == [", ".join(row["itemset"]) for row in by_support]
    assert run_json("rules", tmp_path / "i.parquet")["rules"]


def test_invalid_requests_are_refused(home: Path, tmp_path: Path) -> None:
    """Missing reports, invalid numbers, and options that contradict each other are refused in one line."""
    assert refused("mine", status=2).startswith("Missing argument 'REPORTS...'")
    assert "'many'" in refused("mine", home / "r.parquet", "--top", "many", status=2)
    for option, message in (("--min-support=some", "minimum support"), ("--fdr=100%", "fdr"), ("--fdr=", "fdr")):
        request = ["mine", home / "r.parquet", option, "-o", tmp_path / "i.parquet"]
        assert message in refused_without_output(tmp_path, *request)


def test_significant_itemsets_are_marked(home: Path, tmp_path: Path) -> None:
    """Significant itemsets are marked and explained, by inspect too."""
    request = ["mine", home / "r.parquet", "--min-support", "20%", "--fdr", "5%"]
    record = run_json(*request, "-o", tmp_path / "i.csv")
    assert record["reports"] + record["fdr"]["selecting_reports"] == N_BASKETS
    pair = next(row for row in record["itemsets"] if row["itemset"] == ["1", "2"])
    assert (pair["significant"], pair["p_value"] < 1e-6) == (True, True)
    shown = run("inspect", tmp_path / "i.csv").stdout
    assert "%  *  1, 2" in shown
    assert "at most 5% of them are expected to have a support below 20%" in shown
    assert f", {record['fdr']['selecting_reports']:,} others chose the itemsets;" in shown
    hopeless = run("mine", home / "r.parquet", "--min-support", "99%", "--fdr", "5%").stdout
    assert "none is significant" in hopeless


def test_reports_of_two_plans(home: Path, tmp_path: Path) -> None:
    """A first collection and one with a plan of refine are combined."""
    again, second = tmp_path / "p.json", tmp_path / "second.parquet"
    run("refine", home / "r.parquet", "--best", 4, "-o", again)
    run("randomize", home / "b.dat", "--plan", again, "--unknown", "drop", "-o", second)
    request = ["--itemset", "1,2", "--itemset", "11"]
    first, both = (run_json("ask", *files, *request) for files in ([home / "r.parquet"], [home / "r.parquet", second]))
    assert both["itemsets"][0]["unbiased_error"] < 0.9 * first["itemsets"][0]["unbiased_error"]
    assert both["itemsets"][1]["unbiased_error"] == pytest.approx(first["itemsets"][1]["unbiased_error"], rel=0.01)
    mined = run_json("mine", second, home / "r.parquet", "-o", tmp_path / "i.json")
    # beyond the second plan's itemset size
    assert mined == run_json("mine", home / "r.parquet", second, "--max-itemset", 3)
    assert mined["plan_ids"] == [run_json("inspect", plan)["plan_id"] for plan in (home / "plan.json", again)]
    assert run_json("rules", tmp_path / "i.json")["plan_ids"] == mined["plan_ids"]
    tested = ["mine", home / "r.parquet", second, "--fdr", "5%"]
    assert "reports of one plan" in refused_without_output(tmp_path, *tested)


def test_itemsets_beyond_the_generator(home: Path, tmp_path: Path) -> None:
    """Itemsets that the plan's reports cannot estimate are refused, with the remedy."""
    request = [home / "r.parquet", "--min-support", "20%", "-o", tmp_path / "i.parquet", "--max-itemset"]
    for size in (4, 0):
        refused_without_output(tmp_path, "mine", *request, size)
    ap.write_plan(planned(N_ITEMS, 3, ap.Guarantee("5%", "50%"), itemset_size=1, code="bch"), tmp_path / "p.json")
    run("randomize", home / "b.dat", "--plan", tmp_path / "p.json", "-o", tmp_path / "r.parquet")
    message = refused("mine", tmp_path / "r.parquet", "--min-support", "20%", "--max-itemset", 3)
    assert "--itemset-size 3" in message


def test_rules_have_a_value_with_prices(home: Path, tmp_path: Path) -> None:
    """With prices each rule has a value, as text and as JSON; the digest of the file for devices is printed."""
    names = sorted({name for row in run_json("inspect", home / "i.json")["itemsets"] for name in row["itemset"]})
    (tmp_path / "p.csv").write_text("".join(f"{name},2.50\n" for name in names))
    request = ["rules", home / "i.parquet", "--min-confidence", "10%", "--prices", tmp_path / "p.csv"]
    assert {"value", "value_ci_low", "value_ci_high"} <= set(run_json(*request)["rules"][0])
    done = run(*request, "-o", tmp_path / "r.json")
    assert "value per 1,000 baskets" in done.stdout
    assert f"SHA-256 digest: {ap.device.digest_of(tmp_path / 'r.json')}" in done.stderr


def test_substitutes_come_from_reports(home: Path, tmp_path: Path) -> None:
    """The record and the file count pairs; options of rules are refused, and reports without --substitutes."""
    request = ["rules", home / "r.parquet", "--substitutes"]
    found = run_json(*request, "-o", tmp_path / "s.json")
    assert json.loads((tmp_path / "s.json").read_text())["pairs"] == found["pairs"]
    assert f"{found['undetectable']:,} too rare" in run(*request).stdout
    assert "--sort does not go with --substitutes" in refused(*request, "--sort", "lift", status=2)
    assert "it holds reports; mine them first: assocpriv mine" in refused(*request[:2], "--min-confidence", "10%")


def test_all_shows_and_writes_rules_that_are_not_selected(tmp_path: Path) -> None:
    """Text, JSON and files have selected rules only; with --all also the others, distinguished by a column."""
    rng, plan = np.random.default_rng(3), planned([*"abcdef"], 3, ap.Guarantee("1%", "90%"), reports=5_000)
    held = rng.random((5_000, 6)) < np.linspace(0.05, 0.6, 6)
    reports = reports_of([["abcdef"[item] for item in np.flatnonzero(row)[:3]] for row in held], plan, 3)
    ap.write_itemsets(ap.mine(reports, top=41), tmp_path / "i.parquet")
    request = ["rules", tmp_path / "i.parquet", "--min-confidence", "45%", "--top", 999]
    shown = []
    for more in ([], ["--all"]):
        text = run(*request, *more, "-o", tmp_path / "r.csv", "--force").stdout
        rules = run_json(*request, *more, "-o", tmp_path / "r.json", "--force")["rules"]
        file = pd.read_csv(tmp_path / "r.csv")
        assert file["selected"].tolist() == [rule["selected"] for rule in rules]
        assert (text.count(" → "), text.count("  ? ")) == (len(rules), sum(not rule["selected"] for rule in rules))
        assert len(json.loads((tmp_path / "r.json").read_text())["rules"]) == len(file)
        shown.append(rules)
    assert shown[0] == [rule for rule in shown[1] if rule["selected"]]
    assert 0 < len(shown[0]) < len(shown[1])


def test_infinite_values_are_null(home: Path) -> None:
    """Undetectable supports and infinite convictions are null, never Infinity or NaN."""
    assert None in run_json("inspect", home / "plan.json", "--people", 1)["detectable_support"].values()
    rules = run_json("rules", home / "i.parquet", "--min-confidence", "0")["rules"]
    assert all((rule["conviction"] is None) == (rule["confidence"] >= 1) for rule in rules)


def test_an_empty_result_gives_the_next_step(home: Path, tmp_path: Path) -> None:
    """It gives the detectable support, and of how many reports or which guarantee, with the planner's own figures."""
    (tmp_path / "b.dat").write_text("1 2\n" * 100 + "3\n" * 100)
    run("randomize", tmp_path / "b.dat", "--plan", home / "plan.json", "-o", tmp_path / "r.parquet")
    result = run("mine", tmp_path / "r.parquet", "--max-itemset", 2)
    if "(none)" in result.stdout:  # else noise was selected, as in one result of twenty
        plan = ap.read_plan(home / "plan.json", ap.Plan)
        more = whole_basket_thresholds(plan, 1000, BasketSizes.from_mean(N_ITEMS))[2]
        few, many, guarantee, following = result.stderr.splitlines()[-4:]
        assert re.match(r"No itemset is distinguishable from noise\. 200 reports of baskets of .* detect no pairs", few)
        assert many == f"1,000 reports would detect pairs from a support of {more:.3%}."
        assert re.fullmatch(r"The weaker guarantee 1% → 50% would detect pairs from a support of [\d.]+%\.", guarantee)
        assert following.startswith("Next: ")
    assert "distinguishable" not in run("mine", home / "r.parquet").stderr


def test_rules_of_few_reports_have_a_warning(home: Path) -> None:
    """Rules repeat the warning of mining, for readers of the table alone."""
    assert "3,000 reports: below 5,000" in run("rules", home / "i.parquet").stdout
