"""Cost-complexity pruning with the penalty chosen by cross-validation, in one call."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import column_or_1d

from mercer.errors import ParameterError
from mercer.tree._node_view import NodeView, cut_model, view_nodes


@dataclass(frozen=True)
class PruningChoice:
    """A pruned tree and how it was chosen.

    Attributes
    ----------
    estimator : estimator
        The tree, fitted to all rows and pruned.
    alpha : float
        The penalty of a leaf that was chosen.
    alphas : ndarray of shape (n_subtrees,)
        The penalties at which branches of the tree go, in rising order from zero.
    n_leaves : ndarray of shape (n_subtrees,)
        The leaves that are left from each on.
    errors, standard_errors : ndarray of shape (n_subtrees,)
        The mean over folds of the held-out error (share of wrong labels, or mean squared error), and its standard
        error.
    """

    estimator: Any
    alpha: float
    alphas: np.ndarray
    n_leaves: np.ndarray
    errors: np.ndarray
    standard_errors: np.ndarray


def prune_cost_complexity(
    estimator: Any, X: Any, y: Any, cv: Any = 5, *, one_standard_error: bool = False, sample_weight: Any = None
) -> PruningChoice:
    r"""Grow a tree, and prune it by the penalty that cross-validation finds best.

    Pruning minimises :math:`C_\alpha(T) = \sum_m N_m Q_m / N + \alpha |T|` over subtrees, where leaf m has impurity
    :math:`Q_m` and weight :math:`N_m`. The subtrees are nested: the branch of least cost increase for each leaf saved
    goes first.

    Parameters
    ----------
    estimator : estimator
        A decision tree of mercer or scikit-learn; a copy of it is fitted.
    X : array-like of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Targets.
    cv : int, splitter or iterable, default=5
        The folds, as scikit-learn takes them.
    one_standard_error : bool, default=False
        Whether to take the smallest tree whose error is within one standard error of the least.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights of the rows, in growing and in errors.

    Returns
    -------
    PruningChoice

    Notes
    -----
    Each fold grows one tree; all penalties are judged on it without growing others.

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen and C. Stone, *Classification and regression trees*, 1984.

    Examples
    --------
    >>> from mercer.tree import DecisionTreeClassifier, prune_cost_complexity
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = prune_cost_complexity(DecisionTreeClassifier(random_state=0), X, y, one_standard_error=True)
    >>> bool(found.estimator.get_n_leaves() < found.n_leaves[0])
    True
    """
    from sklearn.model_selection import check_cv

    y = column_or_1d(y)
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    whole = view_nodes(_grow(estimator, X, y, weight))
    alphas, cuts = find_weakest_links(whole)
    # A penalty between two critical ones stands for all of them; the geometric mean is Breiman's choice.
    tried = np.sqrt(alphas * np.append(alphas[1:], np.inf))
    folds = list(check_cv(cv, y, classifier=is_classifier(estimator)).split(X, y))
    if len(folds) < 2:
        raise ParameterError(f"prune_cost_complexity: cv must make two folds or more; got {len(folds)}. Raise cv.")
    table = np.array([_measure_fold(estimator, X, y, weight, fold, tried) for fold in folds])
    errors = table.mean(axis=0)
    spread = table.std(axis=0, ddof=1) / np.sqrt(len(folds))
    # Penalties rise, so the last of the equally good ones has the smallest tree.
    best = int(np.flatnonzero(errors <= errors.min() + 1e-12)[-1])
    if one_standard_error:
        best = int(np.flatnonzero(errors <= errors[best] + spread[best])[-1])
    model = cut_model(whole, cuts[best])
    if "ccp_alpha" in model.get_params():
        model.set_params(ccp_alpha=float(alphas[best]))
    leaves = np.array([_count_leaves(whole, cut) for cut in cuts])
    return PruningChoice(model, float(alphas[best]), alphas, leaves, errors, spread)


def find_weakest_links(nodes: NodeView) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the penalties at which branches are cut, from 0 for the whole tree, and for each a mask of cut nodes."""
    own, n = nodes.cost, len(nodes.parent)
    cut = np.zeros(n, dtype=bool)
    alphas, cuts = [0.0], [cut.copy()]
    while not cut[0] and not nodes.leaves[0]:
        branch, leaves = own.copy(), np.ones(n)
        # Nodes below a cut are gone: they are no candidates.
        hidden = nodes.ends(cut) != np.arange(n)
        inner = ~nodes.leaves & ~cut & ~hidden
        for node in np.flatnonzero(inner)[::-1]:
            below = nodes.children[node]
            branch[node], leaves[node] = branch[below].sum(), leaves[below].sum()
        strength = np.full(n, np.inf)
        # A branch with b leaves costs branch + alpha b, a leaf in its place own + alpha: equal at this alpha.
        strength[inner] = (own[inner] - branch[inner]) / (leaves[inner] - 1)
        least = strength.min()
        # All links of this strength are cut at once; rounding must not make two strengths of it.
        cut |= strength <= least + 1e-12
        # In exact arithmetic strengths rise from cut to cut; rounding may lower one.
        least = max(least, alphas[-1])
        if least <= alphas[-1] + 1e-15 and len(alphas) > 1:
            cuts[-1] = cut.copy()
        else:
            alphas.append(float(least))
            cuts.append(cut.copy())
    return np.array(alphas), cuts


def _grow(estimator: Any, X: Any, y: np.ndarray, weight: np.ndarray | None) -> Any:
    model = clone(estimator)
    if "ccp_alpha" in model.get_params():
        model.set_params(ccp_alpha=0.0)
    return model.fit(X, y) if weight is None else model.fit(X, y, sample_weight=weight)


def _measure_fold(estimator: Any, X: Any, y: Any, weight: Any, fold: Any, tried: np.ndarray) -> np.ndarray:
    train, test = fold
    nodes = view_nodes(_grow(estimator, _take_rows(X, train), y[train], None if weight is None else weight[train]))
    alphas, cuts = find_weakest_links(nodes)
    parts = nodes.parts(_take_rows(X, test))
    own = np.ones(len(test)) if weight is None else weight[test]
    errors = [
        np.average(_compute_losses(nodes, nodes.answers(parts, len(test), cut), y[test]), weights=own) for cut in cuts
    ]
    # The subtree for a penalty is that of the largest critical penalty which does not exceed it.
    return np.array(errors)[np.searchsorted(alphas, tried, side="right") - 1]


def _compute_losses(nodes: NodeView, answers: np.ndarray, y: np.ndarray) -> np.ndarray:
    if nodes.classes is None:
        return (answers[:, 0] - y) ** 2
    return (nodes.classes[answers.argmax(axis=1)] != y).astype(np.float64)


def _take_rows(X: Any, index: np.ndarray) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[index]
    return X[index] if hasattr(X, "shape") else np.asarray(X)[index]


def _count_leaves(nodes: NodeView, cut: np.ndarray) -> int:
    ends = nodes.ends(cut)
    return len(set(ends[nodes.leaves].tolist()))
