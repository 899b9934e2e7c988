"""The ledger of releases: what is spent is written first, adds up, and is never exceeded."""

from fractions import Fraction
from pathlib import Path

import pytest
from releasing.test_basket_release import refused

import assocpriv as ap
from assocpriv.files.release_ledger import BudgetEntry, ReleaseBudget, parse_limit, spend
from assocpriv.guarantees.errors import BudgetError
from assocpriv.guarantees.integer_noise import epsilon_from_rho

BASKETS = [{"a", "b"}, {"b"}] * 5_000
DELTA = Fraction(1, 10**8)
LIMIT = (Fraction(2), Fraction(1, 10**7))


def entry(epsilon: int = 1, delta: Fraction = DELTA) -> BudgetEntry:
    """Return a release of a day."""
    return BudgetEntry("2026-01-01", "a.parquet", Fraction(epsilon), delta)


def test_the_sum_is_that_of_rho_or_of_epsilon() -> None:
    """Twelve releases spend less than the sum of their ε; one spends its own; pure ones add up where δ is 0."""
    limit = Fraction(100), Fraction(1, 10**6)
    one, twelve = (ReleaseBudget((entry(),) * count, "basket", limit) for count in (1, 12))
    assert 0.8 < one.epsilon <= 1
    rho = entry().rho
    assert epsilon_from_rho(rho, DELTA) <= 1 + Fraction(1, 10**9)
    assert twelve.epsilon == epsilon_from_rho(12 * rho, limit[1])
    assert twelve.epsilon < Fraction(35, 10)
    pure = ReleaseBudget((entry(delta=Fraction(0)),) * 3, "basket", (Fraction(9), Fraction(0)))
    assert pure.epsilon == 3
    small = BudgetEntry("", "", Fraction(1, 10), Fraction(0))
    assert ReleaseBudget((small,) * 100, "basket", limit).epsilon == epsilon_from_rho(Fraction(1, 2), limit[1])
    assert ReleaseBudget((small,) * 2, "basket", limit).epsilon == Fraction(1, 5)


def test_a_limit_is_kept(tmp_path: Path) -> None:
    """A release is refused once the sum would exceed the limit; nothing is released, and the ledger stays as it is."""
    ledger = tmp_path / "shop.ledger"
    for number in range(20):
        output = tmp_path / f"{number}.parquet"
        before = ledger.read_bytes() if ledger.exists() else b""
        try:
            ap.release(BASKETS, ["a", "b"], ledger=ledger, limit="2,1e-7" if number == 0 else None, output=output)
        except BudgetError:
            break
    assert 2 <= number <= 6
    assert not output.exists()
    assert ledger.read_bytes() == before
    budget = ap.release_budget(ledger)
    assert len(budget.entries) == number
    assert budget.epsilon <= 2
    assert budget.with_entry(entry()).epsilon > 2
    assert f"{number} releases" in repr(budget)


def test_a_killed_process_loses_nothing_and_spends_nothing_more(tmp_path: Path) -> None:
    """A line that was cut off counts as not begun; the next release is written after it."""
    ledger = tmp_path / "shop.ledger"
    spend(ledger, entry(), "basket", LIMIT)
    whole = ledger.read_bytes()
    spend(ledger, entry(), "basket", None)
    last = ledger.read_bytes()[len(whole) :]
    for cut in range(len(last)):
        ledger.write_bytes(whole + last[:cut])
        known = 1 + (cut == len(last) - 1)  # all but the end of the line
        assert len(ap.release_budget(ledger).entries) == known
        assert len(spend(ledger, entry(), "basket", LIMIT).entries) == known + 1
        assert len(ap.release_budget(ledger).entries) == known + 1


@pytest.mark.parametrize(
    ("unit", "limit", "wrong"),
    [("person", None, "limits releases that protect one basket"), ("basket", (Fraction(3), LIMIT[1]), "another limit")],
)
def test_a_ledger_is_of_one_unit_and_limit(
    tmp_path: Path, unit: str, limit: tuple[Fraction, Fraction] | None, wrong: str
) -> None:
    """Baskets and persons do not add up, and a limit is not changed."""
    spend(tmp_path / "l", entry(), "basket", LIMIT)
    refused(wrong, spend, tmp_path / "l", entry(), unit, limit)


def test_refusals(tmp_path: Path) -> None:
    """A new ledger needs a limit, and one without δ pure releases; damaged ones and other files are refused."""
    refused("there is no ledger", ap.release, BASKETS, ["a", "b"], ledger=tmp_path / "none")
    refused("name its file", ap.release, BASKETS, ["a", "b"], limit="1,1e-8")
    with pytest.raises(BudgetError, match="allows no δ"):
        spend(tmp_path / "pure", entry(), "basket", (Fraction(9), Fraction(0)))
    for text in ("4", "0,1e-7", "1,2", "x,y"):
        refused(r"limit", parse_limit, text)
    spend(tmp_path / "l", entry(), "basket", LIMIT)
    lines = (tmp_path / "l").read_text(encoding="utf-8")
    (tmp_path / "l").write_text(lines.replace('"1/1"', '"1/0"'), encoding="utf-8")
    refused("is damaged", ap.release_budget, tmp_path / "l")
    (tmp_path / "o").write_text("{}", encoding="utf-8")
    refused("no ledger of releases", spend, tmp_path / "o", entry(), "basket", None)
    refused("cannot read", ap.release_budget, tmp_path / "absent")


def test_the_page_to_sign_states_the_guarantee(tmp_path: Path) -> None:
    """The page states ε, δ, the unit and the largest posterior, rounded up, and has a place to sign."""
    ap.release(BASKETS, ["a", "b"], epsilon=2, output=tmp_path / "r.parquet")
    page = ap.page(tmp_path / "r.parquet")
    assert "at most 7.389 times as likely with one basket" in page
    assert "5% to at most 28.0%" in page  # e² = 7.389; 7.389/26.389
    assert "Signature" in page
    assert ap.read_release(tmp_path / "r.parquet").plan_id in page
