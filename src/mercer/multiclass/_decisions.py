"""What classifiers of two classes say, as one score for each row."""

from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor

from mercer._base.copies import ConstantMember
from mercer._types import Array


def score_rows(model: Any, X: Any) -> Array:
    """Return the score of each row: the decision, the probability of the second class, or what a regressor says."""
    if isinstance(model, ConstantMember):
        return model.predict(X)
    if is_regressor(model):
        return np.asarray(model.predict(X))
    try:
        return np.ravel(model.decision_function(X))
    except (AttributeError, NotImplementedError):
        return np.asarray(model.predict_proba(X))[:, 1]


def find_threshold(copies: list[Any]) -> float:
    """Return the score above which a row is of the second class; what copies with one target say is 0 or 1."""
    model = next((copy for copy in copies if not isinstance(copy, ConstantMember)), None)
    if model is None:
        return 0.5
    return 0.0 if hasattr(model, "decision_function") and is_classifier(model) else 0.5


def join_votes(votes: Array, scores: Array, n_classes: int) -> Array:
    """Return a score for each class from those of all pairs: votes, and the sum of scores where votes are equal.

    Parameters
    ----------
    votes : ndarray of shape (n_rows, n_pairs)
        0 for the first class of a pair, 1 for the second.
    scores : ndarray of shape (n_rows, n_pairs)
        How much each pair is for its second class.
    n_classes : int
        The number of classes.

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
    """
    counts, sums = np.zeros((len(votes), n_classes)), np.zeros((len(votes), n_classes))
    first, second = np.triu_indices(n_classes, 1)
    for pair, (one, other) in enumerate(zip(first[: votes.shape[1]], second, strict=False)):
        counts[:, one] += votes[:, pair] == 0
        counts[:, other] += votes[:, pair] == 1
        sums[:, one] -= scores[:, pair]
        sums[:, other] += scores[:, pair]
    # Sums become less than a third of a vote, and so decide among equal votes only.
    return counts + sums / (3.0 * (np.abs(sums) + 1.0))
