# ruff: noqa: F401, N811, N813  # the alias is the name of an entry
# fmt: off
# isort: off

from ..plans.numeric.table_plan import TablePlan as plan
from ..client.numeric.table_client import (
    parse_record as parse, randomize_record as report, randomize_records as randomize,
)
from ..server.numeric.distributions import reconstruct as reconstruct
from ..planning.table_planner import forecast_table as forecast
from ..simulation.table_simulation import simulate_table as simulate
from ..auditing.table_audit import TableSubject as subject
from ..show.table_views import plan as show_plan, simulated as show_simulation
from ..pages.collector_page import TABLES as analysis
