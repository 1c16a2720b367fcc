"""Margins of a vote, and the exponential loss, on which AdaBoost is a coordinate descent."""

from typing import Any

import numpy as np
from scipy.optimize import brentq
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer.errors import DataError


def member_labels(model: Any, X: Any) -> np.ndarray:
    """Return the class that each member of a fitted ensemble of classifiers predicts.

    Parameters
    ----------
    model : classifier
        Fitted, with ``estimators_`` and ``classes_``: boosted, bagged, a forest, a vote.
    X : array-like of shape (n_samples, n_features)
        Rows.

    Returns
    -------
    ndarray of shape (n_samples, n_members)
        Indices into ``classes_``.

    Examples
    --------
    >>> from mercer.ensemble import AdaBoostClassifier, member_labels
    >>> model = AdaBoostClassifier(n_estimators=2).fit([[0.0], [1.0], [2.0]], ["a", "b", "a"])
    >>> member_labels(model, [[2.0]]).shape
    (1, 2)
    """
    check_is_fitted(model)
    used = getattr(model, "estimators_features_", None)
    columns = []
    for index, member in enumerate(model.estimators_):
        # Members that were fitted to arrays know no names of columns.
        rows = X if hasattr(member, "feature_names_in_") or not hasattr(X, "columns") else np.asarray(X)
        rows = rows if used is None else np.asarray(X)[:, used[index]]
        labels = member.predict(rows)
        # Members of forests, bags and votes may predict the index of a class in place of its label.
        known = np.isin(np.asarray(labels), model.classes_).all()
        columns.append(np.searchsorted(model.classes_, labels) if known else np.asarray(labels).astype(np.intp))
    return np.column_stack(columns)


def margins(model: Any, X: Any, y: Any, *, n_members: int | None = None) -> np.ndarray:
    r"""Return the margin of each row: the share of votes for its class minus the largest share for another class.

    With two classes it is :math:`\rho_i = y_i \sum_t \alpha_t h_t(x_i) / \sum_t \alpha_t`.

    Parameters
    ----------
    model : classifier
        A fitted ensemble, with ``estimators_`` and, where votes differ in weight, ``estimator_weights_``.
    X : array-like of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        True labels.
    n_members : int or None, default=None
        How many members vote; None means all.

    Returns
    -------
    ndarray of shape (n_samples,)
        Between -1 and 1; positive where the vote is right.

    Examples
    --------
    >>> from mercer.ensemble import AdaBoostClassifier, margins
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaBoostClassifier(n_estimators=100).fit(X, y)
    >>> found = margins(model, X, y)
    >>> bool(((found > 0) == (model.predict(X) == y)).all())
    True
    """
    labels = member_labels(model, X)[:, :n_members]
    weights = np.asarray(getattr(model, "estimator_weights_", np.ones(labels.shape[1])))[: labels.shape[1]]
    y = column_or_1d(y)
    true = np.searchsorted(model.classes_, y).clip(0, len(model.classes_) - 1)
    unknown = y[model.classes_[true] != y].tolist()
    if unknown:
        raise DataError(f"margins: y must have labels of the model; got {unknown[0]!r}. Drop those rows.")
    votes = np.stack([(labels == k) @ weights for k in range(len(model.classes_))], axis=1) / weights.sum()
    rows = np.arange(len(y))
    right = votes[rows, true]
    votes[rows, true] = -np.inf
    return right - np.maximum(votes.max(axis=1), 0.0)


def margin_distribution(found: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the distribution function of margins: the share of rows whose margin is at most each value.

    Parameters
    ----------
    found : array-like of shape (n_samples,)
        Margins.

    Returns
    -------
    values, shares : ndarray of shape (n_samples,)
        Margins in rising order, and the share of rows up to each.

    Examples
    --------
    >>> from mercer.ensemble import margin_distribution
    >>> values, shares = margin_distribution([0.5, -0.1, 0.2, 0.9])
    >>> values.tolist(), shares.tolist()
    ([-0.1, 0.2, 0.5, 0.9], [0.25, 0.5, 0.75, 1.0])
    """
    values = np.sort(np.asarray(found, dtype=np.float64))
    return values, np.arange(1, len(values) + 1) / len(values)


def exponential_loss(agreement: Any, weights: Any) -> tuple[float, np.ndarray]:
    r"""Return the objective of AdaBoost, and the weights of rows at it.

    :math:`G(\alpha) = \sum_i e^{-y_i f(x_i)}` with :math:`f = \sum_t \alpha_t h_t`, and
    :math:`d_i \propto -\partial G / \partial (y_i f(x_i))`.

    Parameters
    ----------
    agreement : array-like of shape (n_samples, n_members)
        :math:`y_i h_t(x_i)`: 1 where a member is right, -1 where it is wrong.
    weights : array-like of shape (n_members,)
        :math:`\alpha`: half of a two-class AdaBoost's ``estimator_weights_``.

    Returns
    -------
    loss : float
        G.
    row_weight : ndarray of shape (n_samples,)
        d, which sums to one.

    Examples
    --------
    >>> from mercer.ensemble import exponential_loss
    >>> loss, row_weight = exponential_loss([[1.0], [1.0], [-1.0]], [0.0])
    >>> loss
    3.0
    """
    powers = -(np.asarray(agreement, dtype=np.float64) @ np.asarray(weights, dtype=np.float64))
    shifted = np.exp(powers - powers.max())
    return float(np.exp(powers.max()) * shifted.sum()), shifted / shifted.sum()


def best_step(agreement: Any, row_weight: Any) -> float:
    r"""Return the :math:`\alpha` that minimises :math:`\sum_i d_i e^{-\alpha y_i h(x_i)}`, by a line search.

    For predictions of 1 and -1 it is :math:`\frac12 \ln \frac{1 - \epsilon}{\epsilon}`; here h may be any real number.

    Parameters
    ----------
    agreement : array-like of shape (n_samples,)
        :math:`y_i h(x_i)`.
    row_weight : array-like of shape (n_samples,)
        :math:`d_i`.

    Returns
    -------
    float
        Infinite where the member is never wrong, or never right.

    Examples
    --------
    >>> from mercer.ensemble import best_step
    >>> round(best_step([1.0, 1.0, 1.0, -1.0], [0.25] * 4), 6)
    0.549306
    """
    agreement, weight = (np.asarray(values, dtype=np.float64) for values in (agreement, row_weight))
    agreement = np.where(weight > 0, agreement, 0.0)
    if agreement.min() >= 0 or agreement.max() <= 0:
        return 0.0 if not agreement.any() else float(np.inf * np.sign(agreement.sum()))

    def slope(step: float) -> float:
        powers = -step * agreement
        return float(-(weight * agreement) @ np.exp(powers - powers.max()))

    # Double the interval until the slope changes its sign inside.
    reach = 1.0
    while slope(reach) < 0 or slope(-reach) > 0:
        reach *= 2.0
    return float(brentq(slope, -reach, reach, xtol=1e-14, rtol=1e-14))
