# fmt: off
# isort: off

from .server.itemsets import (
    to_efficient_apriori as to_efficient_apriori, write_fimi as write_fimi, write_spmf as write_spmf,
)
from .server.rules import to_arules as to_arules
