"""Pruning from the leaves up: by errors on validation rows, or by upper bounds of the errors on training rows."""

from typing import Any

import numpy as np
from scipy.stats import beta
from sklearn.utils.validation import column_or_1d

from mercer.errors import DataError, ParameterError
from mercer.tree._node_view import NodeView, cut_model, view_nodes


def prune_reduced_error(model: Any, X_val: Any, y_val: Any, *, sample_weight: Any = None) -> Any:
    """Cut every branch that does not lower the error on validation rows.

    From the leaves up a node becomes a leaf if it makes no more errors on the validation rows (for regression: no
    larger sum of squares) than its branch does. The result is the smallest of the most accurate subtrees.

    Parameters
    ----------
    model : estimator
        A fitted decision tree of mercer or scikit-learn; it is left as it is.
    X_val : array-like of shape (n_samples, n_features)
        Rows that the tree was not grown from.
    y_val : array-like of shape (n_samples,)
        Their targets.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights of the errors.

    Returns
    -------
    estimator
        A fitted copy, pruned.

    References
    ----------
    J. R. Quinlan, *Simplifying decision trees*, International Journal of Man-Machine Studies 27 (1987).

    Examples
    --------
    >>> from mercer.tree import DecisionTreeClassifier, prune_reduced_error
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = DecisionTreeClassifier(random_state=0).fit(X[::2], y[::2])
    >>> pruned = prune_reduced_error(model, X[1::2], y[1::2])
    >>> pruned.get_n_leaves() < model.get_n_leaves(), pruned.score(X[1::2], y[1::2]) >= model.score(X[1::2], y[1::2])
    (True, True)
    """
    nodes = view_nodes(model)
    y_val = column_or_1d(y_val)
    weight = np.ones(len(y_val)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    # own[t] is the error of node t if it were a leaf: a row that ends in a leaf has passed all nodes above it.
    own = np.zeros(len(nodes.parent))
    for leaf, rows, part in nodes.parts(X_val):
        node = leaf
        while node >= 0:
            own[node] += (part * weight[rows] * _compute_loss(nodes, node, y_val[rows])).sum()
            node = nodes.parent[node]
    return cut_model(nodes, _cut_from_below(nodes, own))


def prune_pessimistic(model: Any, *, confidence: float = 0.25) -> Any:
    r"""Cut every branch whose pessimistic error is not lower than that of a leaf in its place.

    A leaf with E errors among N training rows counts :math:`N U(E, N)` errors, where U is the upper end of the
    confidence interval of a binomial share: the share p at which E errors or fewer have the probability `confidence`.

    Parameters
    ----------
    model : estimator
        A fitted classification tree of mercer or scikit-learn; it is left as it is.
    confidence : float in (0, 1), default=0.25
        Less prunes more; C4.5's default.

    Returns
    -------
    estimator
        A fitted copy, pruned.

    References
    ----------
    J. R. Quinlan, *C4.5: programs for machine learning*, 1993.

    Examples
    --------
    >>> from mercer.datasets import load_fish
    >>> from mercer.tree import DecisionTreeClassifier, prune_pessimistic
    >>> fish = load_fish()
    >>> model = DecisionTreeClassifier(random_state=0).fit(fish.data, fish.species)
    >>> prune_pessimistic(model).get_n_leaves() < model.get_n_leaves()
    True
    """
    if not 0 < confidence < 1:
        raise ParameterError(
            f"prune_pessimistic: confidence must be a number in (0, 1); got {confidence!r}. C4.5 takes 0.25."
        )
    nodes = view_nodes(model)
    if nodes.classes is None:
        raise DataError(
            f"prune_pessimistic: model must be a classification tree; got {type(model).__name__}. Use another rule."
        )
    # The share p with P(at most E errors of N | p) = c is the quantile 1 - c of a beta distribution with parameters E +
    # 1 and N - E (Clopper and Pearson).
    errors = nodes.weight * (1.0 - nodes.value.max(axis=1))
    upper = beta.ppf(1.0 - confidence, errors + 1.0, np.maximum(nodes.weight - errors, 1e-12))
    return cut_model(nodes, _cut_from_below(nodes, nodes.weight * upper))


def _cut_from_below(nodes: NodeView, own: np.ndarray) -> np.ndarray:
    """Return a mask of the nodes to cut: those whose `own` cost as a leaf is at most that of their pruned branch."""
    # best[t] is the least cost of the branch of node t; children come after their parents.
    best, cut = own.copy(), np.zeros(len(own), dtype=bool)
    for node in range(len(own) - 1, -1, -1):
        below = nodes.children[node]
        if below:
            branch = best[below].sum()
            # Equal cost cuts too: the smaller of two equally good trees is wanted.
            cut[node] = own[node] <= branch + 1e-12 * abs(branch)
            best[node] = min(own[node], branch)
    return cut


def _compute_loss(nodes: NodeView, node: int, y: np.ndarray) -> np.ndarray:
    if nodes.classes is None:
        return (nodes.value[node, 0] - y) ** 2
    return (nodes.classes[nodes.value[node].argmax()] != y).astype(np.float64)
