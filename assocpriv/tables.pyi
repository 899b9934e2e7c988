# fmt: off
# isort: off

from .api import backends as backends, mine_table as mine_table
from .files.rule_files import read_prices as read_prices
from .server.ask import ask as ask
from .server.intervals import ErrorOptions as ErrorOptions
from .server.itemsets import read_table as read_table
from .server.mining import MiningRequest as MiningRequest
from .server.rules import derive_rules as derive_rules
from .server.selection import RuleFilter as RuleFilter
from .server.substitutes import find_substitutes as find_substitutes
