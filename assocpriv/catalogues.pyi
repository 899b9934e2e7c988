# fmt: off
# isort: off

from .files.plan_files import NameSource as NameSource, check_catalogue as check_catalogue
from .simulation.basket_samples import (
    draft_catalogue as draft_catalogue, sample_sizes as sample_sizes, try_catalogue as try_catalogue,
)
