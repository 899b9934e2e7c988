# ruff: noqa: F401, N811, N813  # the alias is the name of an entry
# fmt: off
# isort: off

from ..plans.baskets.basket_plan import Plan as plan
from ..client.baskets.basket_client import randomize_basket as report
from ..client.baskets.bulk_client import randomize_records as randomize
from ..server.baskets.mining import mine as mine
from ..server.baskets.manipulation import check_manipulation as check_manipulation
from ..planning.detection_limits import forecast as forecast
from ..planning.truncation_loss import warn_of_truncation as warn
from ..simulation.basket_simulation import simulate_records as simulate
from ..auditing.basket_audit import BasketSubject as subject
from ..show.plan_views import plan as show_plan
from ..show.audit_views import simulated as show_simulation
from ..pages.collector_page import BASKETS as analysis
