"""Audit the form of a client's reports: one for each basket, of one length, and such that every server takes them.

The length of a report must not depend on the basket: it would tell its size to everybody on the way.
"""

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from assocpriv.auditing.black_box.clients import Answers, BlackBox, BulkClient, answered, batch_of
from assocpriv.auditing.black_box.shown import is_whole, judge_format
from assocpriv.auditing.findings import BROKEN, CONSISTENT, UNDECIDED, Finding, failure
from assocpriv.auditing.request import Progress
from assocpriv.files.reports import Reports, read_reports
from assocpriv.plans.baskets import Plan
from assocpriv.promise.errors import FileError

DEPTH = "conformance"
_ROUNDS = 16
_LONGEST_BASKET = 64


def audit_conformance(plan: Plan, box: BlackBox | None = None, *, progress: Progress | None = None) -> list[Finding]:
    """Check that a client's reports are reports of the plan, for baskets of every size from none to 64 items.

    The arguments are those of :func:`assocpriv.auditing.black_box.empirical.audit_client`.

    Raises:
        FileError: a program that cannot be started.
    """
    try:
        return _audit_form(plan, box or BulkClient(plan), progress)
    except (FileError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 -- whatever a client under audit raises is a finding
        return [failure(DEPTH, "answers", error)]


def _audit_form(plan: Plan, box: BlackBox, progress: Progress | None) -> list[Finding]:
    baskets = _baskets(plan)
    sizes = np.array([len(items) for items in baskets], dtype=np.int64)
    batch = batch_of(baskets, plan)
    [answers] = answered(box, iter([batch]), partial(progress or (lambda *_: None), "form"), len(batch))
    said, malformed = "Every basket is answered with one report.", int((~is_whole(answers, plan)).sum())
    found = [Finding(DEPTH, "answers", CONSISTENT, said, {"reports": len(batch)})]
    found += [_length(answers, sizes, plan), judge_format(DEPTH, malformed, len(answers))]
    return [*found, _report_file(answers, plan, not malformed)]


def _baskets(plan: Plan) -> list[range]:
    """Return baskets of all sizes, taking turns; of every size some from either end of the catalogue."""
    n, sizes = plan.n_items, range(min(plan.n_items, _LONGEST_BASKET) + 1)
    return [range(n - m, n) if number % 2 else range(m) for number in range(_ROUNDS) for m in sizes]


def _length(answers: Answers, sizes: NDArray[np.int64], plan: Plan) -> Finding:
    seen, wanted = np.unique(answers.lengths), plan.report_bytes
    figures = {"report_bytes": wanted, "least": int(seen[0]), "most": int(seen[-1])}
    if len(seen) == 1 and seen[0] == wanted:
        return Finding(
            DEPTH, "length", CONSISTENT, f"All reports are {_bytes(wanted)} long, as the plan says.", figures
        )
    by_size = [np.unique(answers.lengths[sizes == size]).tolist() for size in np.unique(sizes)]
    said = f"Reports are {seen[0]} to {_bytes(int(seen[-1]))} long; the plan says {wanted}."
    if any(each != by_size[0] for each in by_size):
        said += " The length depends on the basket's size, which everybody on the way can see."
    return Finding(DEPTH, "length", BROKEN, said, figures)


def _bytes(count: int) -> str:
    return f"{count} byte" if count == 1 else f"{count} bytes"


def _report_file(answers: Answers, plan: Plan, are_reports: bool) -> Finding:
    """Write the reports to a file and read it as a server does."""
    if not are_reports:
        return Finding(DEPTH, "report file", UNDECIDED, "What are no reports of the plan cannot be kept in a file.")
    packed = np.ascontiguousarray(answers.octets[:, : plan.report_bytes])
    with TemporaryDirectory() as folder:
        path = Path(folder) / "reports.parquet"
        Reports(plan, packed).write(path)
        read = read_reports(path)
        same = read.plan.plan_id == plan.plan_id and np.array_equal(np.concatenate(list(read.batches(1 << 16))), packed)
    if not same:
        return Finding(DEPTH, "report file", BROKEN, "A file of these reports does not give them back with their plan.")
    return Finding(DEPTH, "report file", CONSISTENT, "A file keeps these reports, and the id of their plan.")
