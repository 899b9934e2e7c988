"""Uploads to stores, whose ids and reports tell their number."""

from pathlib import Path

import numpy as np
from planned import planned

import assocpriv as ap
from assocpriv.collect.wire import Upload, read_upload

PLAN = planned(items=200, transaction_size=3, promise=ap.Breach("5%", "50%"))  # 15 bytes a report, any of which are one
LENGTH = 16 + PLAN.report_bytes


def records(numbers: range | list[int]) -> bytes:
    """Return records whose ids and reports tell their number."""
    rows = np.zeros((len(numbers), LENGTH), dtype=np.uint8)
    rows[:, :4] = np.array(numbers, dtype="<u4")[:, None].view(np.uint8)
    rows[:, 16:19] = np.array(numbers, dtype="<u4")[:, None].view(np.uint8)[:, :3]
    return rows.tobytes()


def upload(numbers: range | list[int], key: int = 0, quota: int | None = None) -> Upload:
    """Return an upload of such records."""
    return read_upload(records(numbers), PLAN, key, quota)


def stored(folder: Path) -> list[int]:
    """Return the numbers of all reports in a folder, as anybody reads it."""
    packed = np.concatenate([*ap.read_reports(folder).batches(1000), np.empty((0, PLAN.report_bytes), np.uint8)])
    return sorted((packed[:, :3].astype(int) @ [1, 256, 65536]).tolist())
