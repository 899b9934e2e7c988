"""Mining and asking as the front does, without its warnings."""

from typing import Any

import pandas as pd

from assocpriv.files.reports import Reports
from assocpriv.server import ask as asking
from assocpriv.server import mining
from assocpriv.server.counting import LocalBackend
from assocpriv.server.intervals import ErrorOptions
from assocpriv.server.mining import MiningRequest


def _errors(options: dict[str, Any]) -> ErrorOptions:
    return ErrorOptions(**{name: options.pop(name) for name in ("confidence_level",) if name in options})


def mine(reports: Reports, min_support: Any = None, *, memory_bytes: int | None = None, **options: Any) -> pd.DataFrame:
    """Mine reports on this machine; options as of the front."""
    request = MiningRequest(min_support, errors=_errors(options), **options)
    return mining.mine(LocalBackend.of(reports, memory_bytes), request).to_pandas()


def ask(reports: Reports, itemsets: Any = (), rules: Any = (), **options: Any) -> asking.AskOutcome:
    """Ask reports on this machine; options as of the front."""
    return asking.ask([LocalBackend.of(reports)], itemsets, rules, _errors(options))
