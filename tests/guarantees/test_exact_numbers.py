"""Numbers in arguments and options: numpy's numbers, three forms of probabilities, and only the digits 0 to 9."""

from fractions import Fraction
from itertools import product

import click
import numpy as np
import pytest

import assocpriv as ap
from assocpriv.auditing.findings import AuditRequest
from assocpriv.cli.options import NUMBER, WHOLE
from assocpriv.estimation.supports import ErrorOptions
from assocpriv.guarantees.errors import EstimateError, PlanError
from assocpriv.guarantees.exact_numbers import as_whole, check_range
from assocpriv.planning.detection_limits import forecast
from assocpriv.simulation.synthetic import QuestSettings
from tests.cli.test_documents import ALL

WEAK = ap.Guarantee("5%", "99.99%")
WHOLES = [np.int64, np.uint8]


@pytest.mark.parametrize("value", [True, np.True_, 3.0, np.float64(3), "3", "٣", None, [3]])
def test_values_that_are_no_whole_numbers(value: object) -> None:
    """Truth values, floats and text are no whole numbers, neither Python's nor numpy's."""
    assert as_whole(value) is None
    with pytest.raises(TypeError, match="top must be a whole number"):
        check_range("top", value, 1, 9)


def test_ranges_are_checked() -> None:
    """A number out of its range is refused by name; the message does not print a very long number."""
    assert check_range("top", np.int64(9), 1, 9) == 9
    assert type(check_range("top", np.int64(9), 1, 9)) is int
    for value, shown in ((np.int64(0), "got 0"), (10, "got 10"), (10**5000, "got far more")):
        with pytest.raises(PlanError, match=f"top must be in 1..9, {shown}"):
            check_range("top", value, 1, 9)


@pytest.mark.parametrize("whole", WHOLES)
def test_public_functions_take_numpys_numbers(whole: type) -> None:
    """Python's and numpy's numbers give the same plan, table and simulation."""
    options = {"transaction_size": 3, "itemset_size": 2, "reports": 100, "reports_per_person": 2}
    numpys = {name: whole(value) for name, value in options.items()}
    plan = ap.plan(whole(12), guarantee=WEAK, mean_size=np.float32(2), **numpys)
    assert plan.plan_id == ap.plan(12, guarantee=WEAK, mean_size=2, **options).plan_id
    settings = QuestSettings(n_baskets=whole(50), n_items=whole(12), mean_size=np.float32(2), seed=whole(1))
    assert settings == QuestSettings(n_baskets=50, n_items=12, mean_size=2, seed=1)
    baskets = [{whole(1), whole(2)}] * 6000
    reports = ap.randomize(baskets, plan)
    assert len(ap.mine(reports, top=whole(2), max_itemset=whole(1), fdr=None)) >= 1
    assert ap.simulate(baskets, plan, np.float64(0.5), max_itemset=whole(1), seed=whole(3)).itemsets is not None
    assert ap.randomize([whole(1), whole(2)], plan)
    assert ap.ask(reports, [[whole(1)]], confidence_level=np.float32(0.5), memory_bytes=np.int64(1 << 27)) is not None
    assert type(ap.privacy(plan, reports_per_person=whole(2)).together.reports) is int
    assert ap.privacy([(plan, whole(2))]).together == ap.privacy(plan).together
    assert type(AuditRequest(trials=np.int64(2000)).to_json()["trials"]) is int
    assert type(forecast(plan, whole(100)).reports) is int
    assert list(ap.catalogue([["tea", "salt"], ["tea"]], min_count=whole(2))) == ["tea"]


@pytest.mark.parametrize("given", ["95%", "0.95", "19/20", 0.95, np.float64(0.95), Fraction(19, 20)])
def test_confidence_levels_are_probabilities(given: "str | float") -> None:
    """A confidence level may have any form of a probability, with the same value."""
    assert ErrorOptions(given) == ErrorOptions(0.95)
    assert type(ErrorOptions(given).confidence_level) is float


@pytest.mark.parametrize("given", [95, "95", "٩٥%", "nan", "100%", 0, 1.0, -0.1, True])
def test_invalid_confidence_levels(given: "str | float") -> None:
    """A value that is no probability strictly between 0 and 1 is refused by name."""
    with pytest.raises(EstimateError, match="confidence_level must"):
        ErrorOptions(given)


def test_options_accept_only_the_digits_0_to_9() -> None:
    """No option accepts a digit of another script (the types are in cli/options.py)."""
    kinds = click.types.IntParamType | click.types.FloatParamType
    options = [each for command in ALL.values() for each in command.params if isinstance(each.type, kinds)]
    assert len(options) > 40
    for option, digits in product(options, ["٣", "३", "3٣", "３"]):
        given = [digits] * option.nargs if option.multiple or option.nargs > 1 else digits
        with pytest.raises(click.BadParameter, match="is not a number in the digits 0 to 9"):
            option.type_cast_value(click.Context(click.Command("command")), given)


def test_a_decimal_comma_is_named() -> None:
    """A number with a comma, for decimals or thousands, is refused; the message has the rule."""
    for option in (WHOLE, NUMBER):
        with pytest.raises(click.BadParameter, match=r"'2,03' has a comma; a point stands before decimals"):
            option.convert("2,03", None, None)
