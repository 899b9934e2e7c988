"""One device week by week, and the bound of what its reports disclose.

Run: python examples/one_device.py
"""

from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import assocpriv as ap
from assocpriv.guarantees import highest_posterior, lowest_posterior
from assocpriv.guarantees.errors import BudgetError


def main() -> None:
    """Publish a plan, make two reports on a device, and print the bounds of an adversary's posterior."""
    catalogue = ["bread", "butter", "milk", "eggs", "tea", "coffee", "sugar", "jam"]
    plan = ap.plan(catalogue, transaction_size=3, guarantee=ap.Guarantee("5%", "50%"), reports_per_person=2)
    device_plan = ap.Plan.parse(plan.canonical_json)  # on the device, which checks the guarantee itself
    assert device_plan.plan_id == plan.plan_id

    baskets = {"2026-W46": {"bread", "tea"}, "2026-W47": {"bread", "tea", "jam"}, "2026-W48": {"bread"}}
    with TemporaryDirectory() as folder, ap.device.Ledger.open(Path(folder) / "ledger.bin") as ledger:
        for week, basket in baskets.items():
            try:
                report = ledger.report(basket, device_plan, period=week)
            except BudgetError as refusal:
                print(f"{week}: not sent: {str(refusal).split('; ')[0]}")
                continue
            # if sending fails, the same week gives the same bytes again, which disclose nothing more
            assert ledger.report(basket, device_plan, period=week) == report
            shown = sorted(ap.device.report_items(report, plan))
            print(f"{week}: sent {report.hex()}, {ledger.remaining(plan)} reports left")
            print(f"          its receiver sees: {shown}")

    for percent in (1, 5, 20):
        prior, together = Fraction(percent, 100), plan.composed_amplification
        low, high = lowest_posterior(prior, together), highest_posterior(prior, together)
        print(f"prior {percent}%: posterior between {float(low):.2%} and {float(high):.1%} after both reports")


if __name__ == "__main__":
    main()
