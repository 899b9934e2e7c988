"""What plans can detect: the published figures, computed from plans in two seconds, identical on every machine."""

from typing import Any

from bench.figures import curves, cut_and_paste


def run() -> dict[str, Any]:
    """Return one table per figure."""
    return {
        "tables": {name: curves.rows(figure) for name, figure in curves.FIGURES.items()}
        | {"cut-and-paste": cut_and_paste.rows()}
    }
