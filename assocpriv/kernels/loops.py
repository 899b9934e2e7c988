"""The package's loops over words: compiled if a C compiler was there when the package was built, otherwise in numpy.

Both give equal integers. ``kernels`` has the functions of compiled.pyi.
"""

import logging

from assocpriv.kernels.plain import DEPENDENT_COLUMNS, DRAWS_AGAIN, OUT_OF_WORDS

try:
    from assocpriv.kernels import compiled as kernels
except ImportError:
    from assocpriv.kernels import plain as kernels  # type: ignore[no-redef]

    logging.getLogger("assocpriv").warning(
        "assocpriv was built without a C compiler: files are randomized 2 to 300 times and counted about 5 times as "
        "slowly; with one (Debian: apt install gcc python3-dev) run: "
        "pip install --force-reinstall --no-cache-dir assocpriv"
    )

__all__ = [
    "CLEAR", "DEPENDENT_COLUMNS", "DRAWS_AGAIN", "EVEN_NOISE", "GROUPS", "IS_COMPILED", "LANES", "OUT_OF_WORDS",
    "WEIGHTED_NOISE", "WINDOW", "kernels",
]  # fmt: skip
IS_COMPILED = kernels.__name__.endswith("compiled")
LANES = 32  # words combined together: rows of bitmaps are multiples of it
GROUPS = 6  # of planes, whose table lines are combined in one pass
CLEAR, EVEN_NOISE, WEIGHTED_NOISE, WINDOW = range(4)  # forms of mechanisms
