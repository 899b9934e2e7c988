# fmt: off
# isort: off

from .client.connection import Collector as Collector
from .client.ledger import Ledger as Ledger, report as report, spent_budget as spent_budget
from .client.published_results import recommend as recommend
from .plans.baskets.basket_plan import report_items as report_items
from .files.model_files import digest_of as digest_of, read_device_rules as read_device_rules
