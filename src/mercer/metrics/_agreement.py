"""Measures of a clustering against known classes that scikit-learn does not have."""

from typing import Any

import numpy as np
from scipy.special import xlogy

from mercer.metrics._groups import count_pairs

__all__ = ["conditional_entropy", "pair_f_score", "purity_score"]


def purity_score(labels_true: Any, labels_pred: Any) -> float:
    """Return the share of rows that belong to the most frequent class of their cluster.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n,)
        Classes and clusters.

    Returns
    -------
    float
        In (0, 1]; one where no cluster mixes classes, so also where each row is a cluster.

    Examples
    --------
    >>> from mercer.metrics import purity_score
    >>> purity_score(["a", "a", "b", "b"], [0, 0, 0, 1])
    0.75
    """
    table = count_pairs("purity_score", labels_true, labels_pred)
    return float(table.max(axis=0).sum() / table.sum())


def conditional_entropy(labels_true: Any, labels_pred: Any) -> float:
    """Return the entropy of the class given the cluster, in nats: what knowing the cluster leaves open.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n,)
        Classes and clusters.

    Returns
    -------
    float
        Zero where no cluster mixes classes.

    Examples
    --------
    >>> from mercer.metrics import conditional_entropy
    >>> round(conditional_entropy(["a", "a", "b", "b"], [0, 1, 0, 1]), 6)
    0.693147
    """
    table = count_pairs("conditional_entropy", labels_true, labels_pred)
    share = table / table.sum(axis=0)
    return float(np.sum(table.sum(axis=0) * -xlogy(share, share).sum(axis=0)) / table.sum())


def pair_f_score(labels_true: Any, labels_pred: Any, *, beta: float = 1.0) -> float:
    """Return the F-measure over pairs of rows: found where one cluster holds both, true where one class does.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n,)
        Classes and clusters.
    beta : float, default=1.0
        How many times recall counts as much as precision.

    Returns
    -------
    float
        In [0, 1]; one for equal partitions.

    Examples
    --------
    >>> from mercer.metrics import pair_f_score
    >>> pair_f_score(["a", "a", "b", "b"], [0, 0, 0, 0])
    0.5
    """
    table = count_pairs("pair_f_score", labels_true, labels_pred)
    together, clustered, true = (_pairs(counts) for counts in (table, table.sum(axis=0), table.sum(axis=1)))
    # Without any pair both partitions are single rows, and equal.
    if clustered == true == 0:
        return 1.0
    # (1 + beta^2) P R / (beta^2 P + R) with precision P = together / clustered and recall R = together / true.
    return float((1.0 + beta**2) * together / (beta**2 * true + clustered))


def _pairs(counts: Any) -> float:
    """Return the number of pairs within groups of these sizes, sum c (c - 1) / 2."""
    return float(np.sum(counts * (counts - 1.0)) / 2.0)
