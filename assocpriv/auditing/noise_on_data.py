"""What a plan's noise leaves on data at hand: attacks are tried, and said beside what the plan states.

Here raw data is read, by whoever has it, to judge a plan before it is published. Nothing of a record is shown, and the
verdict does not depend on it: noise promises an average, for a column alone, and keeps it.
"""

import math

from assocpriv.auditing.findings import CONSISTENT, UNDECIDED, Finding
from assocpriv.auditing.request import ON_DATA, AuditRequest
from assocpriv.core.errors import EstimateError
from assocpriv.lab.privacy_left import RELEASED, ColumnLeft, PrivacyLeft, attack_table
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
    least = column.left[column.best]
    attacked = f"{_attack(column.best)} leaves {least:.1%}"
    if least >= column.unseen:
        attacked = f"no attack leaves less than {least:.1%}"
    said = f"{column.stated:.1%} is stated; {attacked}; without a report it is {column.unseen:.1%}. "
    if column.amplification is None:
        said += "No square wave is as accurate."
    else:
        wave = column.left_by_wave[column.best_on_wave]
        said += f"The square wave of equal accuracy has γ {column.amplification:.3g} and leaves {wave:.1%}."
    figures = {
        "stated": column.stated, "unseen": column.unseen, "left": column.left, "best_attack": column.best,
        "amplification_of_equal_accuracy": column.amplification, "left_by_square_wave": column.left_by_wave,
    }  # fmt: skip
    return Finding(ON_DATA, f"noise of column {column.name}", CONSISTENT, said, figures)


def _attack(name: str) -> str:
    return "the released value itself" if name == RELEASED else name


def _of_record(left: PrivacyLeft) -> Finding:
    level = float(left.confidence)
    said = (
        f"Below, the width of the shortest interval around an attacker's estimate that holds {100 * level:.4g}% of the "
        f"true values of {left.records:,} records, as a share of the range, beside the width that the plan states. "
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
    figures = {"records": left.records, "confidence": level, "epsilon_of_equal_accuracy": exponent}
    return Finding(ON_DATA, "attacks on noise", CONSISTENT, said, figures)
