"""Small transactions for tests of the accuracy bench."""

import numpy as np

from bench.accuracy.transactions import Transactions


def transactions_of(baskets, n_items):
    """Make transactions of sets."""
    offsets = np.concatenate(([0], np.cumsum([len(basket) for basket in baskets]))).astype(np.int64)
    flat = np.array([item for basket in baskets for item in sorted(basket)], dtype=np.int64)
    return Transactions(offsets, flat, n_items, "small")


def random_transactions(rng, n, n_items, share=0.3):
    """Make baskets that hold every item with a chance of its own, near ``share``."""
    held = rng.random((n, n_items)) < share * np.linspace(1.6, 0.4, n_items)
    return transactions_of([np.flatnonzero(row).tolist() for row in held], n_items)


def held_by(transactions):
    """Return the baskets as sets."""
    return [set(part.tolist()) for part in np.split(transactions.items, transactions.offsets[1:-1])]
