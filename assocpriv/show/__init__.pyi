# The rooms, which load when they are first used.
# fmt: off
# isort: off
from . import (
    audits as audits, charts as charts, collections as collections, figures as figures, guided as guided,
    itemsets as itemsets, notebook as notebook, outcomes as outcomes, pages as pages, plans as plans,
    promises as promises, sheets as sheets, suppression as suppression, tables as tables,
    terminal as terminal,
)
