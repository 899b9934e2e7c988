# The public names, each once: lazy_exports.py reads this list at run time, type checkers read it as a stub.
# fmt: off
# isort: off
__version__: str

from . import (
    collect as collect, guided as guided, numeric as numeric, show as show, spark as spark, suppress as suppress,
)

from .guarantees.errors import AssocprivError as AssocprivError
from .guarantees.amplification import (
    PosteriorRange as PosteriorRange, Channel as Channel, Guarantee as Guarantee,
    amplification_from_epsilon as amplification_from_epsilon, posterior_curve as posterior_curve, compose as compose,
    epsilon_from_amplification as epsilon_from_amplification, highest_posterior as highest_posterior,
    largest_rise as largest_rise, lowest_posterior as lowest_posterior,
)
from .guarantees.information_bounds import (
    excluded_fall as excluded_fall, excluded_posterior as excluded_posterior, information_limit as information_limit,
    inverse_worst_information as inverse_worst_information, mutual_information as mutual_information,
    upward_threshold as upward_threshold, worst_information as worst_information,
)
from .guarantees.entropy import SystemEntropy as SystemEntropy

from .plans.catalogue import Catalogue as Catalogue
from .plans.item_names import Names as Names
from .plans.report_type import ReportType as ReportType
from .plans.sizes_view import SizesView as SizesView
from .plans.basket_plan import Plan as Plan, report_items as report_items
from .files.plan_files import (
    NameSource as NameSource, check_catalogue as check_catalogue, read_catalogue as read_catalogue,
    read_plan as read_plan, write_catalogue as write_catalogue, write_plan as write_plan,
)
from .planning.basket_planner import explain_guarantees as explain_guarantees
from .planning.detection_limits import (
    privacy as privacy, reports_to_detect as reports_to_detect,
)
from .planning.short_catalogue import refine as refine
from .simulation.basket_samples import (
    best_sold as best_sold, catalogue as catalogue, draft_catalogue as draft_catalogue,
    sample_sizes as sample_sizes, try_catalogue as try_catalogue,
)
from .api import choose_plan as choose_plan, solve_plan as solve_plan, forecast as forecast, plan as plan

from .records.baskets import Baskets as Baskets, to_baskets as to_baskets
from .client.ledger import Ledger as Ledger, report as report, spent_budget as spent_budget
from .client.recommendation import recommend as recommend
from .client.connection import Collector as Collector
from .files.report_files import Reports as Reports, read_reports as read_reports
from .files.rule_files import digest_of as digest_of, read_rules as read_rules
from .collect.gather import gather as gather
from .api import randomize as randomize, read_baskets as read_baskets

from .server.itemsets import (
    read_itemsets as read_itemsets, to_efficient_apriori as to_efficient_apriori, write_fimi as write_fimi,
    write_itemsets as write_itemsets, write_spmf as write_spmf,
)
from .server.comparison import Comparison as Comparison, write_comparison as write_comparison
from .server.rules import to_arules as to_arules, write_rules as write_rules
from .server.substitutes import write_substitutes as write_substitutes
from .server.selection import ItemsetFilter as ItemsetFilter
from .api import (
    answer as answer, ask as ask, ask_rules as ask_rules, association_rules as association_rules,
    compare as compare, draws as draws,
    mine as mine, reconstruct as reconstruct, substitutes as substitutes, to_frame as to_frame,
)

from .auditing.inspection import inspect as inspect
from .simulation.demo import DemoSettings as DemoSettings, start_demo as start_demo
from .simulation.synthetic import (
    AgrawalSettings as AgrawalSettings, QuestSettings as QuestSettings, generate_agrawal_file as generate_agrawal_file,
    generate_file as generate_file,
)
from .api import audit as audit, simulate as simulate

from .show.result_pages import chart as chart, page as page, write_page as write_page
from .show.progress import progress_bar as progress_bar
