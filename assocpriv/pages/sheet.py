"""A page in one file: its frame, style and script, and that it loads nothing from elsewhere.

The page forbids itself to (content-security-policy); its one script, which sorts and filters, is allowed by its hash.
"""

import base64
import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

_TEMPLATES = Environment(
    loader=PackageLoader("assocpriv.pages"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
    lstrip_blocks=True,
)  # fmt: skip


def sheet(template: str, title: str, answer: str, view: Mapping[str, Any]) -> str:
    """Return a page, HTML: its title, what it answers first, and the template's sections of a view."""
    script = _TEMPLATES.get_template("mined.js").render()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    frame: dict[str, Any] = {"title": title, "answer": answer, "script": Markup(script), "script_hash": digest}
    return _TEMPLATES.get_template(template).render(frame | dict(view))


def drawn(chart: Callable[..., str], *given: Any) -> Markup:
    """Return a chart as markup; the charts escape what they are given."""
    return Markup(chart(*given))
