# The rooms, which load when they are first used.
# fmt: off
# isort: off
from . import (
    audits as audits, charts as charts, collections as collections,
    comparisons as comparisons, figures as figures,
    guided as guided, html as html, itemsets as itemsets, pages as pages, plans as plans, progress as progress,
    promises as promises, record as record, suppression as suppression, tables as tables, text as text,
)
