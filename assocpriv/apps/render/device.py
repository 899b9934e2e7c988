"""One report of a device, as text for a person and as JSON content."""

from pathlib import Path
from typing import Any

from assocpriv.assurance import DeviceReport
from assocpriv.core.privacy import format_fraction


def device_record(report: DeviceReport) -> dict[str, Any]:
    """Return a device's report for ``--json``; its bytes are in the file."""
    return {
        "plan_id": report.plan.plan_id,
        "new": report.new,
        "report_bytes": report.plan.report_bytes,
        "spent": report.spent,
        "left": report.left,
        "amplification": report.amplification and format_fraction(report.amplification),
    }


def device_lines(report: DeviceReport, output: Path) -> list[str]:
    """Say what was written, and how many reports the device may still make."""
    plan = report.plan
    return [
        f"{'a new report' if report.new else 'the report made before'}, {plan.report_bytes} bytes, written to {output}",
        f"of plan {plan.plan_id[:16]}… this device has made {report.spent} of {plan.reports_per_person} reports; "
        f"left: {report.left}",
    ]
