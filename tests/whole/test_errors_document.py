"""docs/cli.md names every error of the package."""

import re
from pathlib import Path

from assocpriv.promise import errors

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")


def test_every_error_is_explained() -> None:
    """A row of the table for each class, and for no other."""
    rows = set(re.findall(r"^\| `(\w+)` \|", PAGE.split("## Errors, and what to do")[1], flags=re.MULTILINE))
    classes = {name for name, each in vars(errors).items() if isinstance(each, type) and name.endswith("Error")}
    assert rows == classes - {"AssocprivError"}
