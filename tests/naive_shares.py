"""Shares of classes, moved together by what their codes bear out: the obvious version, with scipy's own test."""

import numpy as np
from scipy.stats import chi2, chi2_contingency

from assocpriv.server.tree_growth import reconstruct

LEVEL, MOST_BINS = 0.9, 8


def naive_weight(counts):
    """Return λ of counts of codes, a list a class, by scipy's test of homogeneity."""
    seen = [column for column in zip(*counts, strict=True) if sum(column)]
    found = chi2_contingency(np.transpose(seen), correction=False)
    return 1 - found.dof / found.statistic if found.statistic > chi2.ppf(LEVEL, found.dof) else 0.0


def naive_joined(counts):
    """Return counts of codes in a row, a list a class, with neighbours joined to bins of about equally many records."""
    every = [sum(column) for column in zip(*counts, strict=True)]
    if sum(found > 0 for found in every) <= MOST_BINS:
        return counts
    bins, so_far = [[0] * MOST_BINS for _ in counts], 0
    for code, found in enumerate(every):
        so_far += found
        for of_class, of_bins in zip(counts, bins, strict=True):
            of_bins[min((so_far - 1) * MOST_BINS // sum(every), MOST_BINS - 1) if found else 0] += of_class[code]
    return bins


def naive_shares(codes, labels, channel):
    """Return the shares by class of one column; of one class alone its own."""
    classes = sorted(set(labels.tolist()))
    counts = {k: np.bincount(codes[labels == k], minlength=len(channel.matrix)) for k in classes}
    every = reconstruct(sum(counts.values()), channel)
    seen = [found.tolist() for found in counts.values()]
    weight = naive_weight(seen if channel.edges is None else naive_joined(seen)) if len(classes) > 1 else 0.0
    return {k: every + weight * (reconstruct(counts[k], channel) - every) for k in classes}
