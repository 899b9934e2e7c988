# The public names, each once: lazy_exports.py reads this list at run time, type checkers read it as a stub.
# fmt: off
# isort: off
__version__: str

from . import (
    catalogues as catalogues, collect as collect, device as device, exports as exports, guarantees as guarantees,
    guided as guided, numeric as numeric, planning as planning, show as show, simulation as simulation, spark as spark,
    suppress as suppress, tables as tables,
)

from .guarantees.errors import AssocprivError as AssocprivError
from .guarantees.amplification import Channel as Channel, Guarantee as Guarantee
from .plans.baskets.catalogue import Catalogue as Catalogue
from .plans.baskets.catalogue import Names as Names
from .plans.baskets.basket_plan import Plan as Plan
from .records.baskets import Baskets as Baskets, to_baskets as to_baskets
from .files.report_files import Reports as Reports, read_reports as read_reports
from .files.releases import Release as Release
from .api.releasing import read_release as read_release, release as release, release_budget as release_budget
from .server.baskets.comparison import Comparison as Comparison, write_comparison as write_comparison
from .server.baskets.tables import ItemsetFilter as ItemsetFilter

from .simulation.basket_samples import catalogue as catalogue
from .files.plan_files import (
    read_catalogue as read_catalogue, read_plan as read_plan, write_catalogue as write_catalogue,
    write_plan as write_plan,
)
from .planning.detection_limits import privacy as privacy
from .api.plans import forecast as forecast, plan as plan

from .collect.gather import gather as gather
from .api.randomizing import randomize as randomize, read_baskets as read_baskets

from .files.mined_tables import write_itemsets as write_itemsets
from .server.baskets.result_frames import read_itemsets as read_itemsets, read_rules as read_rules
from .server.baskets.rules import write_rules as write_rules
from .server.baskets.substitutes import write_substitutes as write_substitutes
from .api.mining import (
    ask as ask, ask_rules as ask_rules, association_rules as association_rules, compare as compare, draws as draws,
    mine as mine, reconstruct as reconstruct, refine as refine, substitutes as substitutes, to_frame as to_frame,
)

from .auditing.inspection import inspect as inspect
from .api.trials import audit as audit, simulate as simulate

from .show.result_pages import chart as chart, page as page, write_page as write_page
from .show.text_renderer import progress_bar as progress_bar
