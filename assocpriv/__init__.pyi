# The public names, each once: fronts.py reads this list at run time, type checkers read it as a stub.
# fmt: off
# isort: off
__version__: str

from . import (
    collect as collect, guided as guided, numeric as numeric, show as show, spark as spark, suppress as suppress,
)

from .promise.errors import AssocprivError as AssocprivError
from .promise.breaches import (
    BeliefRange as BeliefRange, Breach as Breach, Channel as Channel, Epsilon as Epsilon,
    amplification_of as amplification_of, breach_curve as breach_curve, compose as compose, epsilon as epsilon,
    highest_posterior as highest_posterior, largest_rise as largest_rise, lowest_posterior as lowest_posterior,
)
from .promise.information import (
    excluded_fall as excluded_fall, excluded_posterior as excluded_posterior, information_limit as information_limit,
    inverse_worst_information as inverse_worst_information, mutual_information as mutual_information,
    upward_threshold as upward_threshold, worst_information as worst_information,
)
from .promise.entropy import SystemEntropy as SystemEntropy

from .plans.catalogue import Catalogue as Catalogue
from .plans.names import Names as Names
from .plans.question import Question as Question
from .plans.sizes_view import SizesView as SizesView
from .plans.baskets import Plan as Plan, report_items as report_items
from .files.plans import (
    NameSource as NameSource, check_catalogue as check_catalogue, read_catalogue as read_catalogue,
    read_plan as read_plan, write_catalogue as write_catalogue, write_plan as write_plan,
)
from .planning.baskets import explain_promises as explain_promises
from .planning.discovery import (
    privacy as privacy, reports_to_discover as reports_to_discover,
)
from .planning.shortlist import refine as refine
from .simulation.samples import (
    best_sold as best_sold, catalogue as catalogue, draft_catalogue as draft_catalogue,
    sample_sizes as sample_sizes, try_catalogue as try_catalogue,
)
from .api import choose_plan as choose_plan, find_plan as find_plan, foresee as foresee, plan as plan

from .records.baskets import Baskets as Baskets, to_baskets as to_baskets
from .client.ledger import Ledger as Ledger, report as report, told as told
from .client.recommend import recommend as recommend
from .client.connection import Collector as Collector
from .files.reports import Reports as Reports, read_reports as read_reports
from .files.rules import digest_of as digest_of, read_rules as read_rules
from .collect.gather import gather as gather
from .api import randomize as randomize, read_baskets as read_baskets

from .server.itemsets import (
    read_itemsets as read_itemsets, to_efficient_apriori as to_efficient_apriori, write_fimi as write_fimi,
    write_itemsets as write_itemsets, write_spmf as write_spmf,
)
from .server.compare import Comparison as Comparison, write_comparison as write_comparison
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

from .show.pages import chart as chart, page as page, write_page as write_page
from .show.progress import progress_bar as progress_bar
