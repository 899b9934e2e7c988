# fmt: off
# isort: off

from .api.mining import backends as backends, mine_table as mine_table
from .files.plan_files import read_prices as read_prices
from .files.release_ledger import is_release_ledger as is_release_ledger
from .files.releases import is_release as is_release
from .server.baskets.ask import ask as ask
from .estimation.supports import ErrorOptions as ErrorOptions
from .files.mined_tables import read_table as read_table
from .server.baskets.mining import MiningRequest as MiningRequest
from .server.baskets.rules import derive_rules as derive_rules
from .server.baskets.tables import RuleFilter as RuleFilter
from .server.baskets.substitutes import find_substitutes as find_substitutes
