"""Audit the form of a client's reports: one for each basket, of one length, and such that every server takes them.

The length of a report must not depend on the basket: it would tell its size to everybody on the way.
"""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from assocpriv.audit.black_box.clients import Answers, BlackBox, BulkClient, batch_of
from assocpriv.audit.black_box.neighbours import stated_size
from assocpriv.audit.black_box.shown import is_whole
from assocpriv.audit.black_box.tallies import answered
from assocpriv.audit.findings import BROKEN, CONSISTENT, UNDECIDED, Finding, failure
from assocpriv.core.errors import FileError
from assocpriv.files.reports import Reports, read_reports
from assocpriv.plans.baskets.plan import IN_CLEAR, Plan

DEPTH = "conformance"
_ROUNDS = 16
_LONGEST_BASKET = 64


def audit_conformance(
    plan: Plan, box: BlackBox | None = None, *, progress: Callable[[str, int, int], None] | None = None
) -> list[Finding]:
    """Check that a client's reports are reports of the plan, for baskets of every size from none to 64 items.

    Args:
        plan: the plan that it says it follows.
        box: the client; our own for many transactions, with the operating system's entropy, by default.
        progress: called with (stage, reports done, reports in all).

    Returns:
        Findings of the depth ``conformance``.

    Raises:
        FileError: a program that cannot be started.
    """
    try:
        return _audit_form(plan, box or BulkClient(plan), progress)
    except (FileError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 -- whatever a client under audit raises is a finding
        return [failure(DEPTH, "answers", error)]


def _audit_form(plan: Plan, box: BlackBox, progress: Callable[[str, int, int], None] | None) -> list[Finding]:
    baskets = _baskets(plan)
    sizes = np.array([len(items) for items in baskets], dtype=np.int64)
    batch = batch_of(baskets, plan)
    pieces, length, done = [], max(1, len(batch) // 16), 0
    parts = iter([batch[start : start + length] for start in range(0, len(batch), length)])
    for answers in answered(box, parts):
        pieces.append(answers)
        done += len(answers)
        if progress:
            progress("form", done, len(batch))
    answered_all = Finding(
        DEPTH, "answers", CONSISTENT, "Every basket is answered with one report.", {"reports": len(batch)}
    )
    joined = _joined(pieces)
    found = [answered_all, _length(joined, sizes, plan), _format(joined, plan)]
    if plan.sizes == IN_CLEAR:
        found.append(_size_in_clear(joined, sizes, plan))
    return [*found, _report_file(joined, plan)]


def _baskets(plan: Plan) -> list[range]:
    """Return baskets of all sizes, taking turns; of every size some from either end of the catalogue."""
    n = plan.n_items
    made = []
    for number in range(_ROUNDS):
        for size in range(min(n, _LONGEST_BASKET) + 1):
            first = n - size if number % 2 else 0
            made.append(range(first, first + size))
    return made


def _joined(pieces: list[Answers]) -> Answers:
    width = max(piece.octets.shape[1] for piece in pieces)
    padded = [np.pad(piece.octets, ((0, 0), (0, width - piece.octets.shape[1]))) for piece in pieces]
    return Answers(np.concatenate(padded), np.concatenate([piece.lengths for piece in pieces]))


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


def _format(answers: Answers, plan: Plan) -> Finding:
    malformed = int((~is_whole(answers.octets, answers.lengths, plan)).sum())
    figures = {"malformed": malformed, "reports": len(answers)}
    if malformed:
        said = (
            f"{malformed:,} of {len(answers):,} are no reports of the plan: of another length, with an unused bit "
            "set, or of a set or size that the plan does not have."
        )
        return Finding(DEPTH, "format", BROKEN, said, figures)
    return Finding(DEPTH, "format", CONSISTENT, "All reports can be read by the plan.", figures)


def _size_in_clear(answers: Answers, sizes: NDArray[np.int64], plan: Plan) -> Finding:
    stated = np.array([stated_size(size, plan) for size in sizes.tolist()])
    wrong = int((answers.octets[:, 0] != stated).sum())
    figures = {"wrong": wrong, "reports": len(answers)}
    if wrong:
        return Finding(DEPTH, "size in clear", BROKEN, f"{wrong:,} reports state another size than 1 … M.", figures)
    return Finding(DEPTH, "size in clear", CONSISTENT, "Every report states its basket's size, 1 … M.", figures)


def _report_file(answers: Answers, plan: Plan) -> Finding:
    """Write the reports to a file and read it as a server does."""
    if not is_whole(answers.octets, answers.lengths, plan).all():
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
