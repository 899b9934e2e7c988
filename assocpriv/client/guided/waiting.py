"""Records that wait on the device for guidance, encrypted: the paper's cache of a client (ZWZ05, section 7).

A folder holds ``records``, encrypted and authenticated by Fernet (AES-128-CBC and HMAC-SHA256), and ``key``, made
for them alone, which only its owner may read. So a copy of the records without the key, as a backup or a synchronized
folder may hold, shows nothing but how many there are; and once the key is gone, after they were answered, nothing is
left to read in any copy. Who can read the key, as whoever has the device's account, can read the records.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.atomic import atomic_output, sync_folder
from assocpriv.plans.guided import GuidedPlan
from assocpriv.promise.errors import FileError, PlanError, RecordError

KEY, RECORDS = "key", "records"
_MOST_BYTES = 1 << 30
_ID_BYTES = 32


def is_waiting(folder: Path) -> bool:
    """Tell whether a path is a folder of waiting records."""
    return (folder / RECORDS).is_file()


def check_waiting(folder: Path) -> None:
    """Refuse a folder in which records cannot wait, before any work is done for it.

    Raises:
        FileError: it exists already.
    """
    if folder.exists() or folder.is_symlink():
        raise FileError(f"{folder} exists; records wait in a folder of their own, name another")
    _fernet()


def keep_waiting(raw_inputs: NDArray[np.int32], plan: GuidedPlan, folder: Path) -> None:
    """Put records into a new folder, encrypted with a new key.

    Args:
        raw_inputs: positions of values, int32 (n, columns), the class last; as many as there are values: missing.
        plan: the plan that they are of.
        folder: made here.

    Raises:
        FileError: it exists or cannot be written; nothing of the records is left there.
        PlanError: the package ``cryptography`` is missing.
    """
    check_waiting(folder)
    fernet = _fernet()
    key = fernet.generate_key()
    content = bytes.fromhex(plan.plan_id) + raw_inputs.astype("<u4").tobytes()
    if len(content) > _MOST_BYTES:
        raise RecordError("so many records cannot wait in one folder; split the table")
    try:
        folder.mkdir(mode=0o700)
        descriptor = os.open(folder / KEY, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "wb") as stream:
            stream.write(key)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise FileError(f"cannot make {folder}: {error.strerror or error}; nothing waits there") from None
    try:
        with atomic_output(folder / RECORDS) as sealed:
            sealed.write(fernet(key).encrypt(content))
        sync_folder(folder)
    except BaseException:
        forget_waiting(folder)
        raise


def waiting_inputs(folder: Path, plan: GuidedPlan) -> NDArray[np.int32]:
    """Return the records that wait in a folder, int32 (n, columns); they go on waiting.

    Raises:
        FileError: no such folder, or what it holds was cut, changed or encrypted with another key.
        PlanError: they are of another plan, or the package ``cryptography`` is missing.
    """
    fernet = _fernet()
    from cryptography.fernet import InvalidToken

    try:
        key, sealed = (folder / KEY).read_bytes(), (folder / RECORDS).read_bytes()
    except OSError as error:
        raise FileError(f"cannot read what waits in {folder}: {error.strerror or error}") from None
    try:
        content = fernet(key).decrypt(sealed)
    except (InvalidToken, ValueError):
        content = b""
    columns = len(plan.columns)
    if len(content) < _ID_BYTES:
        raise FileError(f"what waits in {folder} was cut, changed or encrypted with another key; nothing is sent")
    if content[:_ID_BYTES].hex() != plan.plan_id:
        raise PlanError(f"the records in {folder} wait for plan {content[:_ID_BYTES].hex()[:12]}, not for this one")
    return np.frombuffer(content[_ID_BYTES:], dtype="<u4").astype(np.int32).reshape(-1, columns)


def forget_waiting(folder: Path) -> None:
    """Take away a folder of waiting records, the key first: after that no copy of the records can be read."""
    try:
        (folder / KEY).unlink(missing_ok=True)
        sync_folder(folder)
        (folder / RECORDS).unlink(missing_ok=True)
        folder.rmdir()
    except OSError as error:
        raise FileError(f"cannot remove {folder}: {error.strerror or error}; delete it by hand") from None


def _fernet() -> Any:
    try:
        from cryptography.fernet import Fernet
    except ImportError:
        raise PlanError("records wait encrypted, by the package cryptography: pip install 'assocpriv[wait]'") from None
    return Fernet
