# fmt: off
# isort: off

from .server.baskets.tables import (
    to_efficient_apriori as to_efficient_apriori,
    write_fimi as write_fimi,
    write_spmf as write_spmf,
)
from .server.baskets.rules import to_arules as to_arules
