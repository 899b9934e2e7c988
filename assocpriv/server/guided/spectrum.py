"""Where the classes differ: the eigen decomposition of sums of released tuples, and how much of it is asked for.

With A_c the sum of R'R over the released tuples of class c, two classes differ in A = A_0 − A_1 = V Σ V'. The paper
takes the k* eigenvectors of its largest eigenvalues; ordered by value, what class 1 has more of is left out, so that
|σ| is the order by default. More than two classes differ in Σ_c (A_c − Ā)², Ā the mean of the A_c, and σ is the square
root of its eigenvalues: for two classes Σ_c (A_c − Ā)² = A²/2, the same vectors, in the order of |σ|.

Source: Zhang, Wang, Zhao, A New Scheme on Privacy-Preserving Data Classification, KDD 2005, section 4.1.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

BY_VALUE = "value"
_DIGITS = 9


@dataclass(frozen=True, eq=False, slots=True)
class Spectrum:
    """Eigenvalues σ, float64 (w,), in the order in which they count, and their vectors, the columns of (w, w)."""

    values: NDArray[np.float64]
    vectors: NDArray[np.float64]

    def level(self, share: Fraction) -> int:
        """Return k*, the least k ≥ 1 with σ_{k+1} ≤ μ σ_1 in the order at hand (equation 6), w where there is none.

        >>> spectrum(np.array([np.diag([9.0, 1, 0]), np.diag([0.0, 0, 4])]), "magnitude").level(Fraction(15, 100))
        2
        """
        small = self.values[1:] <= float(share) * self.values[0]
        return int(np.argmax(small)) + 1 if small.any() else len(self.values)


def spectrum(sums: NDArray[np.float64], order: str) -> Spectrum:
    """Decompose the difference of the classes' sums, float64 (classes, w, w).

    ``order`` is ``"magnitude"``, by |σ| and of equal ones the positive first, or ``"value"``, of two classes alone. The
    largest entry of a vector, the first of several, is positive. What agrees to nine digits counts as equal, so that
    another machine's last digit decides neither. By magnitude ``values`` are |σ|.
    """
    values, vectors = np.linalg.eigh(_difference(sums))
    if len(sums) > 2:
        values = np.sqrt(np.clip(values, 0, None))
    key = values if order == BY_VALUE else np.abs(values)
    scale = np.abs(values).max() or 1.0
    places = np.lexsort((-values, -np.round(key / scale, _DIGITS)))
    vectors = vectors[:, places]
    largest = np.round(np.abs(vectors), _DIGITS).argmax(axis=0)
    signs = np.where(vectors[largest, np.arange(len(values))] < 0, -1.0, 1.0)
    return Spectrum(key[places], vectors * signs)


def _difference(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    if len(sums) == 2:
        difference: NDArray[np.float64] = sums[0] - sums[1]
        return difference
    apart = sums - sums.mean(axis=0)
    total: NDArray[np.float64] = (apart @ apart).sum(axis=0)
    return total
