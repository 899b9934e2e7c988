"""How long a report is as a seed: with the paper's BCH code, a row of ones more, and Reed–Solomon.

Source: EGS03, section 6.
"""

from typing import Any

from assocpriv.plans.generator import bch_seed_bits, reed_solomon_seed_bits

SETTINGS = (  # items, transaction size M, itemset size K, bits an item r
    (1_000, 5, 3, 1),
    (1_000, 5, 3, 2),
    (1_000, 5, 3, 4),
    (10_000, 5, 3, 1),
    (10_000, 5, 3, 3),
    (42_178, 5, 3, 1),
    (1_000, 10, 3, 1),
)


def rows() -> list[dict[str, Any]]:
    """Return the bits of a report in each setting, beside those without a code; the M dummies are items too."""
    found = []
    for items, m, k, r in SETTINGS:
        padded, columns = items + m, (m + k) * r
        found.append(
            {
                "items": items,
                "M": m,
                "K": k,
                "r": r,
                # a BCH code alone makes an even number of columns independent
                "bch_bits": bch_seed_bits(padded * r, 1, columns + columns % 2),
                "bch_ones_row_bits": bch_seed_bits(padded, r, m + k),
                "reed_solomon_bits": reed_solomon_seed_bits(padded, r, m + k),
                "no_code_bits": padded,
            }
        )
    return found
