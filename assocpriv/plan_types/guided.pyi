# ruff: noqa: F401, N811, N813  # the alias is the name of an entry
# fmt: off
# isort: off

from ..plans.guided.guided_plan import GuidedPlan as plan
from ..client.guided.guided_client import parse_guided as parse, randomize_guided as report
from ..client.guided.guided_client import fetch_guided_record as add_guidance, randomize_records as randomize
from ..client.numeric.table_client import parse_record as values
from ..server.guided.collection import collect_files as collect
from ..planning.table_planner import forecast_guided as forecast
from ..simulation.guided_simulation import simulate_guided as simulate
from ..auditing.table_audit import GuidedSubject as subject
from ..show.table_views import guided_plan as show_plan, guided_trial as show_simulation
from ..pages.collector_page import GUIDED as analysis
