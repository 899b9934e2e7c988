"""Shares of classes, moved together by what their codes bear out: the obvious version, with scipy's own test."""

import numpy as np
from scipy.stats import chi2, chi2_contingency

from assocpriv.server.numeric.trees.correction import reconstruct

LEVEL = 0.99


def naive_weight(counts):
    """Return λ of counts of codes, a list a class, by scipy's test of homogeneity."""
    seen = [column for column in zip(*counts, strict=True) if sum(column)]
    found = chi2_contingency(np.transpose(seen), correction=False)
    return 1 - found.dof / found.statistic if found.statistic > chi2.ppf(LEVEL, found.dof) else 0.0


def naive_shares(codes, labels, channel):
    """Return the shares by class of one column with fewer codes than are joined; of one class alone its own."""
    classes = sorted(set(labels.tolist()))
    counts = {k: np.bincount(codes[labels == k], minlength=len(channel.matrix)) for k in classes}
    every = reconstruct(sum(counts.values()), channel)
    weight = naive_weight(list(counts.values())) if len(classes) > 1 else 0.0
    return {k: every + weight * (reconstruct(counts[k], channel) - every) for k in classes}
