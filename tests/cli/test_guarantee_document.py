"""docs/choose-a-guarantee.md shows the output of assocpriv privacy --explain, with the costs of current plans."""

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import click
import pytest
from command_line import DOCS, blocks_of, parses, refused, run, run_json
from naive import planned

import assocpriv as ap
from assocpriv.cli.main import main
from assocpriv.guarantees.amplification import epsilon_from_amplification, highest_posterior
from assocpriv.planning.basket_planner import ITEMS, explain_guarantees, whole_basket_thresholds
from assocpriv.planning.detection_limits import describe_privacy
from assocpriv.show import text_renderer
from assocpriv.show.number_format import chance_up
from assocpriv.show.plan_views import choice as shown_choice

PAGE = (DOCS / "choose-a-guarantee.md").read_text(encoding="utf-8")
LN_19 = "ε           at most 2.94444 (ε = ln γ, amplification γ {} 19)\n"


def test_the_page_shows_the_commands_output(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's tables are the command's output, all paragraphs except the first and the last."""
    monkeypatch.setattr(text_renderer, "WIDTH", 100)  # as commands print sentences
    output = run("privacy", "--explain").stdout
    *paragraphs, _ = output.strip().split("\n\n")
    blocks = ["\n".join(block) for block in blocks_of(PAGE, "")]
    shown = "\n\n".join(block for block in blocks if "assocpriv" not in block)
    assert shown == "\n\n".join(paragraphs[1:])


def test_the_pages_examples_parse() -> None:
    """Every command on the page parses."""
    examples = [line.split()[1:] for line in PAGE.splitlines() if line.startswith("assocpriv ")]
    assert len(examples) >= 5
    for name, *words in examples:
        assert parses(main.get_command(click.Context(main), name), words)


def test_the_pages_other_figures() -> None:
    """Figures in the page's sentences: 50% grows to 95%, a guarantee equal to an ε, 52 small reports."""
    usual = ap.Guarantee("5%", "50%").amplification_limit
    assert highest_posterior(Fraction(1, 2), usual) == Fraction("0.95")
    assert "5% → 50% lets 50% grow to 95%" in PAGE
    assert ap.Guarantee.from_epsilon("ln 19") == ap.Guarantee("5%", "50%")
    assert 52 * Fraction("0.05") == Fraction("2.6")
    assert "`--epsilon 2.6 --reports-per-person 52` is the second way" in PAGE
    each = ap.plan(ITEMS, ap.Guarantee("5%", "50%"), reports=10**6, reports_per_person=52)
    assert 0.056 < epsilon_from_amplification(each.amplification) < 0.057
    other = 10**6 // 52
    weekly = ap.plan(ITEMS, ap.Guarantee("5%", "50%"), reports=other, explain=True)
    levels = whole_basket_thresholds(weekly.plan, other, weekly.request.sizes)
    assert (f"{levels[1]:.1%}", f"{levels[2]:.1%}", levels[3] > 1) == ("11.1%", "32.4%", True)
    costs = {reports: levels[1] for reports, levels in explain_guarantees().guarantees[3].thresholds.items()}
    assert costs[10**4] / costs[10**6] == pytest.approx(10, rel=0.2)  # four times as many halve a figure


def test_costs_are_those_of_plans() -> None:
    """A cost is the detection threshold of a size for the plan made for that number of reports, in whole baskets.

    docs/limits.md has the same, with errors.
    """
    worked = explain_guarantees().guarantees[3]
    record = shown_choice(ap.plan(ITEMS, worked.guarantee, reports=10**5, explain=True)).content["expected"]
    limits = (DOCS / "limits.md").read_text(encoding="utf-8")
    errors = ", ".join(f"{100 * each['error']:.1f}" for each in record.values())
    levels = " | ".join(f"{math.ceil(1000 * each['detection_threshold']) / 10}%" for each in record.values())
    assert f"| 100,000 | ε = ln 19 | {errors} | {levels} |" in limits
    assert {str(k): level for k, level in worked.thresholds[10**5].items()} == {
        k: each["detection_threshold"] for k, each in record.items()
    }


def test_a_plans_own_guarantee_is_explained(home: Path, tmp_path: Path) -> None:
    """With a plan its own guarantee is explained in the same words, with its costs and its place in the table."""
    text = run("privacy", "--explain", home / "plan.json").stdout
    assert 'gives "you buy X" a probability of 1 in 100 gives it, after your report, at most 1 in 6.' in text
    for command in ("privacy", "inspect"):  # the sign is the same where γ rounds up to the limit
        assert LN_19.format("<") in run(command, home / "plan.json").stdout
    assert "5% → 20%" not in text
    between = tmp_path / "between.json"
    run("plan", "--items", 12, "--transaction-size", 3, "--epsilon", 2, "--reports-per-person", 2, "-o", between)
    output = run("privacy", "--explain", between).stdout
    assert "weaker than 5% → 20%, stricter than 10% → 50%" in output
    assert "bounds what an adversary learns about the sender from all 2 reports of a person together" in output
    weak = replace(ap.read_plan(home / "plan.json"), guarantee=ap.Guarantee("0.1%", "50%"))
    ap.write_plan(weak, tmp_path / "weak.json")  # it keeps more than it guarantees
    assert LN_19.format("≤") in run("privacy", tmp_path / "weak.json").stdout


@pytest.mark.parametrize(
    ("chance", "message"),
    [
        ("1/2", "1 in 2"), ("19/118", "1 in 6"), ("0.501", "51 in 100"), ("0.9901", "991 in 1,000"),
        ("891/892", "999 in 1,000"), ("0.9999999", "certainty"), ("1/1000000", "1 in 1,000,000"),
    ],
)  # fmt: skip
def test_chances_are_rounded_up(chance: str, message: str) -> None:
    """A probability in words is at least the exact one."""
    assert chance_up(Fraction(chance)) == message
    if message != "certainty":
        part, whole = message.replace(",", "").split(" in ")
        assert Fraction(int(part), int(whole)) >= Fraction(chance)


def test_a_budget_multiplies(home: Path, tmp_path: Path) -> None:
    """The composition of several plans is the product of all γ, as fractions, in Python and by the command."""
    other = tmp_path / "other.json"
    run("plan", "--items", 12, "--transaction-size", 3, "--epsilon", 1, "--reports-per-person", 3, "-o", other)
    one, two = ap.read_plan(home / "plan.json"), ap.read_plan(other)
    budget = ap.privacy([two, (one, 4)], ["1%", "50%"])
    gamma = two.amplification**3 * one.amplification**4
    assert budget.together.amplification == gamma
    assert [row.highest for row in budget.together.posteriors] == [
        highest_posterior(Fraction(prior), gamma) for prior in ("0.01", "0.5")
    ]
    assert [each.covered for each in budget.plans] == [True, False]
    assert budget.together.reports == 7
    command = ["privacy", other, home / "plan.json", "--reports-per-person", 3, "--reports-per-person", 4]
    record, text = run_json(*command, "--prior", "1%", "--prior", "50%"), run(*command).stdout
    assert record["together"]["epsilon"] == epsilon_from_amplification(gamma) == budget.together.epsilon
    assert [each["reports"] for each in record["plans"]] == [3, 4]
    assert "MORE THAN COVERED" in text
    assert "report --prior --posterior" in text


def test_reports_of_one_plan_are_added_up(home: Path, tmp_path: Path) -> None:
    """A plan named twice has one line, and its guarantee for one report does not cover two."""
    plan, other = ap.read_plan(home / "plan.json"), tmp_path / "other.json"
    run("plan", "--items", 12, "--transaction-size", 3, "--epsilon", 1, "-o", other)
    (twice,) = ap.privacy([plan, (plan, 3)]).plans
    assert (twice.together.reports, twice.covered) == (4, False)
    assert twice.together == ap.privacy([(plan, 4)]).together
    first, second = run_json("privacy", home / "plan.json", other, home / "plan.json")["plans"]
    assert (first["plan_id"], first["reports"], first["covered"]) == (plan.plan_id, 2, False)
    assert (second["reports"], second["covered"]) == (1, True)


def test_privacy_of_one_plan_is_unchanged(home: Path) -> None:
    """``ap.privacy`` of one plan is unchanged, and 52 weeks are too many."""
    plan = ap.read_plan(home / "plan.json")
    assert ap.privacy(plan, ["1%"], reports_per_person=2) == describe_privacy(plan, ["1%"], reports_per_person=2)
    useless = "A prior of 1 in 100 may become certainty. This guarantee is too weak to be useful."
    for weeks in (52, 2):
        output = run("privacy", home / "plan.json", "--reports-per-person", weeks).stdout
        assert (useless in output) == (weeks == 52)


def test_long_budgets_are_rounded_up() -> None:
    """If a product has too many bits, a slightly larger number replaces it."""
    plan = planned(12, 3, ap.Guarantee("5%", "50%"), code="none")
    budget = ap.privacy([(plan, 1000)] * 3)
    exact = plan.amplification**3000
    above = budget.together.amplification / exact - 1
    assert bool(0 < above < Fraction(1, 10**30))  # numbers with more digits than Python writes
    assert "3,000 reports" in repr(budget)
    assert budget.together.amplification.denominator.bit_length() <= 129


def test_budgets_refuse(home: Path) -> None:
    """Arguments that are not plans, numbers or lists, or that need a single plan, are refused by name."""
    plan = ap.read_plan(home / "plan.json")
    for wrong, error, message in (
        ([plan, "plan.json"], TypeError, "got a str"),
        ((plan, 52), TypeError, r"\(monthly, 12\)"),
        ([(plan, 0)], ap.AssocprivError, "number of reports must be in 1..1000, got 0"),
        ([(plan, 1.5)], TypeError, "number of reports must be a whole number"),
        ([], ap.AssocprivError, "at least one plan"),
        (7, TypeError, "give a plan"),
    ):
        with pytest.raises(error, match=message):
            ap.privacy(wrong)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="reports_per_person applies only to one plan"):
        ap.privacy([plan], reports_per_person=10)  # type: ignore[call-overload]
    path = home / "plan.json"
    for words, message in (
        ([], "give a PLAN"),
        ([path, path, *["--reports-per-person", 1] * 3], "once for each, 2 in all"),
        ([path, path, "--explain"], "--explain goes with one PLAN"),
        (["--explain", "--reports-per-person", 2], "--reports-per-person does not go with --explain"),
    ):
        assert message in refused("privacy", *words, status=2)
