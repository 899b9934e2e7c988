"""Which reports of a group of uploads count: each submission id once, and of each key no more than its quota."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assocpriv.collector.wire import Refused, Upload
from assocpriv.promise.errors import counted


@dataclass(frozen=True, slots=True)
class Accepted:
    """Of each upload how many of its reports count, or why it is refused; of each record whether it is stored."""

    results: list[int | Refused]
    stored: NDArray[np.bool_]


def accept(
    uploads: Sequence[Upload], ids: Sequence[bytes], known: Collection[bytes], used: Mapping[int, int]
) -> Accepted:
    """Decide on uploads in their order.

    Args:
        uploads: the group; no report in it is malformed.
        ids: the submission ids of all their records.
        known: of these ids those that were stored before.
        used: how many reports each key has sent before, of keys with a quota.

    An upload is taken whole or not at all: one whose new reports are more than its key has left is refused, and an id
    in it counts where a later upload brings it again. What was stored before costs nothing.
    """
    met, left = set(known), dict[int, int]()
    results, stored, end = list[int | Refused](), np.zeros(len(ids), dtype=np.bool_), 0
    for upload in uploads:
        first, end = end, end + upload.count
        new = {each: first + place for place, each in reversed(list(enumerate(ids[first:end]))) if each not in met}
        if upload.quota is not None:
            room = left.setdefault(upload.key, max(0, upload.quota - used.get(upload.key, 0)))
            if len(new) > room:
                results.append(_over_quota(len(new), room, upload.quota))
                continue
            left[upload.key] = room - len(new)
        met.update(new)
        stored[list(new.values())] = True
        results.append(len(new))
    return Accepted(results, stored)


def _over_quota(new: int, room: int, quota: int) -> Refused:
    return Refused(
        429,
        "quota",
        f"this key may send {counted(quota, 'report')} and has {room:,} left; the {new:,} new ones of this request "
        "were not stored",
        quota=quota,
        left=room,
    )
