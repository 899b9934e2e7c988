"""How a device's ledger begins, so that whoever meets one among other files can name it; client/ alone reads it."""

from pathlib import Path

LEDGER_NAME = b"assocpriv-ledger"  # the first bytes (docs/formats/ledger.md)
IS_LEDGER = "is a device's ledger, which is not to leave the device; assocpriv report alone reads it"


def is_ledger(path: Path) -> bool:
    """Tell whether a file begins as ledgers do; what cannot be read does not."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(len(LEDGER_NAME)) == LEDGER_NAME
    except OSError:
        return False
