"""What a plan's noise leaves on data at hand: attacks are tried, and said beside what the plan states.

Here raw data is read, by whoever has it, to judge a plan before it is published. Nothing of a record is shown, and the
verdict does not depend on it: noise promises an average, for a column alone, and keeps it.
"""

import math
from collections.abc import Iterable

from assocpriv.auditing.findings import CONSISTENT, UNDECIDED, Finding
from assocpriv.auditing.request import ON_DATA, AuditRequest
from assocpriv.core.errors import EstimateError
from assocpriv.core.privacy import format_fraction
from assocpriv.lab.privacy_left import RELEASED, ColumnLeft, LevelLeft, PrivacyLeft, attack_table
from assocpriv.plans.numeric.plan import TablePlan


def audit_on_data(plan: TablePlan, request: AuditRequest) -> list[Finding]:
    """Return what attacks leave of each column with noise; nothing where no data was given.

    Raises:
        RecordError: the table cannot be read, or is not the plan's.
    """
    if request.data is None:
        return []
    try:
        left = attack_table(request.data, plan, missing=request.missing)
    except EstimateError as error:
        return [Finding(ON_DATA, "attacks on noise", UNDECIDED, f"Nothing was tried: {error}.")]
    return [_of_record(left), *(_of_column(column) for column in left.columns)]


def _of_column(column: ColumnLeft) -> Finding:
    levels = list(column.levels.values())
    attacks = [_attack(level.best) for level in levels]
    by = attacks[:1] if len(set(attacks)) == 1 else attacks
    said = (
        f"{_shares(level.stated for level in levels)} are stated; "
        f"{_shares(level.left[level.best] for level in levels)} are left by {', '.join(by)}; "
        f"without a report these are {_shares(level.unseen for level in levels)}. "
    )
    if column.amplification is None:
        said += "No square wave is as accurate."
    else:
        said += (
            f"The square wave of equal accuracy has γ {column.amplification:.3g} and leaves "
            f"{_shares(level.left_by_wave[level.best_on_wave] for level in levels)}."
        )
    figures = {
        "amplification_of_equal_accuracy": column.amplification,
        "levels": {format_fraction(confidence): _figures(level) for confidence, level in column.levels.items()},
    }
    return Finding(ON_DATA, f"noise of column {column.name}", CONSISTENT, said, figures)


def _figures(level: LevelLeft) -> dict[str, object]:
    return {
        "stated": level.stated, "unseen": level.unseen, "left": level.left, "best_attack": level.best,
        "left_by_square_wave": level.left_by_wave,
    }  # fmt: skip


def _shares(shares: Iterable[float]) -> str:
    return ", ".join(f"{share:.1%}" for share in shares)


def _attack(name: str) -> str:
    return "the released value itself" if name == RELEASED else name


def _of_record(left: PrivacyLeft) -> Finding:
    *most, last = (f"{100 * float(level):.4g}%" for level in left.columns[0].levels)
    said = (
        f"Below, at {', '.join(most)} and {last}, the width of the shortest interval around an attacker's estimate "
        f"that holds so many of the true values of {left.records:,} records, as a share of the range, beside the width "
        "that the plan states. "
    )
    ratios = [column.amplification for column in left.columns if column.amplification is not None]
    exponent = sum(map(math.log, ratios)) if len(ratios) == len(left.columns) else None
    if exponent is None:
        said += "No γ plan is as accurate as this noise in every column."
    else:
        said += (
            "A γ plan of equal accuracy (of the mean of evenly spread values, all columns answered) has ε "
            f"{exponent:.3g} for the record, where 5% to 50% allows 2.94."
        )
    figures = {"records": left.records, "epsilon_of_equal_accuracy": exponent}
    return Finding(ON_DATA, "attacks on noise", CONSISTENT, said, figures)
