"""Measures of a clustering against known classes: shares, pairs of rows, and information."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.special import xlogy
from sklearn.utils import check_array

from mercer.errors import DataError, ParameterError
from mercer.metrics._groups import PairCounts, count_pairs, tabulate_pairs

# The mean of the two entropies by which mutual information is divided, by name.
_AVERAGES: dict[str, Callable[[float, float], float]] = {
    "min": min,
    "geometric": lambda first, second: math.sqrt(first * second),
    "arithmetic": lambda first, second: (first + second) / 2.0,
    "max": max,
}


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
    largest = np.zeros(len(table.of_clusters))
    np.maximum.at(largest, table.cluster_of, table.counts)
    return float(largest.sum() / table.total)


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
    share = table.counts / table.of_clusters[table.cluster_of]
    return float(abs(xlogy(table.counts, share).sum()) / table.total)


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
    together, clustered, true, _ = _count_all(table)
    # Without any pair both partitions are single rows, and equal.
    if clustered == true == 0:
        return 1.0
    # (1 + beta^2) P R / (beta^2 P + R) with precision P = together / clustered and recall R = together / true.
    return float((1.0 + beta**2) * together / (beta**2 * true + clustered))


def rand_score(labels_true: Any, labels_pred: Any) -> float:
    """Return the share of pairs of rows that both labellings treat alike: together in both, or apart in both.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n,)
        Classes and clusters.

    Returns
    -------
    float
        In [0, 1]; one for equal partitions. Random labels have a high value too; see :func:`adjusted_rand_score`.

    Examples
    --------
    >>> from mercer.metrics import rand_score
    >>> rand_score(["a", "a", "b", "b"], [0, 0, 1, 2])  # one of six pairs differs
    0.8333333333333334
    """
    table = count_pairs("rand_score", labels_true, labels_pred)
    together, clustered, true, pairs = _count_all(table)
    return (pairs + 2.0 * together - clustered - true) / pairs if pairs else 1.0


def adjusted_rand_score(labels_true: Any, labels_pred: Any) -> float:
    """Return the Rand index less what chance gives, over the most that is left: 1 if equal, 0 on average if random.

    The mean is over all labellings with the same sizes of clusters, in which T C / N of the N pairs of rows are
    expected together in both, if T are together in one and C in the other.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n,)
        Classes and clusters.

    Returns
    -------
    float
        In [-0.5, 1].

    References
    ----------
    L. Hubert and P. Arabie, Comparing partitions, Journal of Classification 2 (1985).

    Examples
    --------
    >>> from mercer.metrics import adjusted_rand_score
    >>> round(adjusted_rand_score(["a", "a", "b", "b"], [0, 0, 1, 2]), 6)
    0.571429
    """
    table = count_pairs("adjusted_rand_score", labels_true, labels_pred)
    together, clustered, true, pairs = _count_all(table)
    expected = clustered * true / pairs if pairs else 0.0
    most = (clustered + true) / 2.0
    # Both partitions are one cluster, or both are single rows: equal, with nothing left to chance.
    return 1.0 if most == expected else (together - expected) / (most - expected)


def mutual_info_score(labels_true: Any, labels_pred: Any, *, contingency: Any = None) -> float:
    """Return the mutual information of class and cluster, in nats: what one tells of the other.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n,)
        Classes and clusters.
    contingency : array-like or sparse matrix of shape (n_classes, n_clusters) or None, default=None
        Rows of each pair, if they are counted already; the labels are not looked at then.

    Returns
    -------
    float
        The entropy of the classes less :func:`conditional_entropy`; zero if independent.

    Examples
    --------
    >>> from mercer.metrics import mutual_info_score
    >>> round(mutual_info_score(["a", "a", "b", "b"], [1, 1, 0, 0]), 6)  # log 2
    0.693147
    """
    if contingency is None:
        return _inform(count_pairs("mutual_info_score", labels_true, labels_pred))[0]
    cells = coo_array(check_array(contingency, accept_sparse=True, ensure_non_negative=True, input_name="contingency"))
    if not cells.data.any():
        raise DataError("mutual_info_score: contingency must count at least one row; it is all zeros.")
    counted = cells.data != 0
    return _inform(tabulate_pairs(cells.row[counted], cells.col[counted], cells.data[counted], cells.shape))[0]


def normalized_mutual_info_score(labels_true: Any, labels_pred: Any, *, average_method: str = "arithmetic") -> float:
    """Return the mutual information of class and cluster over a mean of their entropies.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n,)
        Classes and clusters.
    average_method : {"min", "geometric", "arithmetic", "max"}, default="arithmetic"
        Which mean.

    Returns
    -------
    float
        In [0, 1]; one for equal partitions, zero for independent ones.

    Examples
    --------
    >>> from mercer.metrics import normalized_mutual_info_score
    >>> round(normalized_mutual_info_score(["a", "a", "b", "b"], [0, 0, 1, 2]), 6)  # log 2 over (log 2 + 1.5 log 2) / 2
    0.8
    """
    table = count_pairs("normalized_mutual_info_score", labels_true, labels_pred)
    if average_method not in _AVERAGES:
        known = ", ".join(map(repr, _AVERAGES))
        raise ParameterError(
            f"normalized_mutual_info_score: average_method must be one of {known}; got {average_method!r}."
        )
    information, first, second = _inform(table)
    # One cluster and one class are the same partition.
    if first == second == 0.0:
        return 1.0
    mean = _AVERAGES[average_method](first, second)
    return float(np.clip(information / mean, 0.0, 1.0)) if mean > 0 else 0.0


def _inform(table: PairCounts) -> tuple[float, float, float]:
    """Return the mutual information of a table of counts, and the entropies of its rows and columns."""
    shares = [part / table.total for part in (table.of_classes, table.of_clusters, table.counts)]
    entropies = [float(-xlogy(part, part).sum()) for part in shares]
    return max(entropies[0] + entropies[1] - entropies[2], 0.0), abs(entropies[0]), abs(entropies[1])


def _count_all(table: PairCounts) -> tuple[float, float, float, float]:
    """Return the pairs of rows that are together in both, in a cluster, in a class, and all pairs."""
    return _pairs(table.counts), _pairs(table.of_clusters), _pairs(table.of_classes), _pairs(np.array(table.total))


def _pairs(counts: Any) -> float:
    """Return the number of pairs within groups of these sizes, sum c (c - 1) / 2."""
    return float(np.sum(counts * (counts - 1.0)) / 2.0)
