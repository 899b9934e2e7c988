# The compiled functions; those that randomize are in no other module. Arguments, described in counting.c, normal.c and
# randomizing.c, are arrays in order and then whole numbers. module.c checks them.

from typing import Any

from numpy.typing import NDArray

# fmt: off
from .plain import (
    count_items as count_items,
)
from .plain import (
    count_pairs as count_pairs,
)
from .plain import (
    count_supersets as count_supersets,
)
from .plain import (
    expand_items as expand_items,
)
from .plain import (
    fill_rows as fill_rows,
)
from .plain import (
    mixture_probabilities as mixture_probabilities,
)
from .plain import (
    parse_numbers as parse_numbers,
)
from .plain import (
    tally_codes as tally_codes,
)
from .plain import (
    transpose_reports as transpose_reports,
)
from .plain import (
    truncate_normals as truncate_normals,
)
from .plain import (
    unrank_reports as unrank_reports,
)

# fmt: on

def randomize_transactions(*arguments: NDArray[Any] | int) -> int: ...
def randomize_sets(*arguments: NDArray[Any] | int) -> int: ...
def randomize_records(*arguments: NDArray[Any] | int) -> int: ...
