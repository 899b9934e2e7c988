"""What one device does, and what the bytes it sends say about it.

Run: python examples/one_device.py
"""

from fractions import Fraction

import assocpriv as ap
from assocpriv.core.privacy import highest_posterior, lowest_posterior
from assocpriv.core.wire import report_items


def main() -> None:
    """Publish a plan, answer it on a device, and bound what the answer can teach anybody."""
    catalogue = ["bread", "butter", "milk", "eggs", "tea", "coffee", "sugar", "jam"]
    plan = ap.plan(catalogue, transaction_size=3, promise=ap.Breach("5%", "50%"))
    device_plan = ap.Plan.parse(plan.canonical_json)  # what arrives at the device; it checks the promise itself
    assert device_plan.plan_id == plan.plan_id

    report = ap.randomize({"bread", "tea"}, device_plan)
    shown = sorted(item for item in report_items(report, plan) if item < plan.n_items)
    print(f"sent: {report.hex()} ({len(report)} bytes)")
    print(f"whoever receives it sees: {[plan.catalogue[item] for item in shown]}")

    for percent in (1, 5, 20):
        prior = Fraction(percent, 100)
        low, high = lowest_posterior(prior, plan.amplification), highest_posterior(prior, plan.amplification)
        print(f"a belief held with {percent}% stays between {float(low):.2%} and {float(high):.1%}")


if __name__ == "__main__":
    main()
