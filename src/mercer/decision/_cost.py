"""What decisions cost: expected costs of actions, the best of them, rejection, errors, and other priors."""

from typing import Any, NamedTuple

import numpy as np

from mercer._base.reading import read_costs, read_numbers, read_probabilities
from mercer.errors import DataError, ParameterError


class Decision(NamedTuple):
    """The best action for each row, and what it costs on average."""

    action: np.ndarray
    risk: np.ndarray


def expected_cost(posteriors: Any, costs: Any) -> np.ndarray:
    """Return the expected cost of each action: R(a | x) = sum_c cost(a, c) P(c | x).

    Parameters
    ----------
    posteriors : array-like of shape (n, n_classes)
        Class probabilities, from any classifier.
    costs : array-like of shape (n_actions, n_classes) or (n, n_actions, n_classes)
        The cost of each action where each class is true, the same for all rows or row by row; gains are negative.

    Returns
    -------
    ndarray of shape (n, n_actions)

    Examples
    --------
    >>> from mercer.decision import expected_cost
    >>> expected_cost([[0.1, 0.9]], [[100, -20], [0, 0]]).round(6)  # buy the car, or not
    array([[-8.,  0.]])
    """
    shares = read_probabilities("expected_cost", "posteriors", posteriors)
    matrix = read_costs("expected_cost", costs, shares.shape[-1])
    # One matrix serves all rows: (n, classes) @ (classes, actions).
    if matrix.ndim == 2:
        return shares @ matrix.T
    if shares.ndim != 2 or len(matrix) != len(shares):
        raise DataError(f"expected_cost: costs must have one matrix for each of {len(shares)} rows; got {len(matrix)}.")
    # One matrix a row: R(a | x_n) = sum_c cost_n(a, c) P(c | x_n).
    return np.einsum("nac,nc->na", matrix, shares)


def optimal_action(posteriors: Any, costs: Any) -> Decision:
    """Return the action of least expected cost, and that cost; the first of equals.

    Parameters
    ----------
    posteriors : array-like of shape (n, n_classes)
        Class probabilities.
    costs : array-like of shape (n_actions, n_classes) or (n, n_actions, n_classes)
        The cost of each action where each class is true.

    Returns
    -------
    Decision
        ``action``, numbers of rows of the cost matrix, and ``risk``.

    Examples
    --------
    >>> from mercer.decision import optimal_action
    >>> optimal_action([[0.1, 0.9], [0.2, 0.8]], [[100, -20], [0, 0]]).action  # break-even is at 1/6
    array([0, 1])
    """
    risks = expected_cost(posteriors, costs)
    best = risks.argmin(axis=-1)
    return Decision(best, np.take_along_axis(risks, best[..., None], axis=-1)[..., 0])


def accuracy_costs(n_classes: int, *, gain: bool = False) -> np.ndarray:
    """Return costs under which the best action is the most probable class.

    Parameters
    ----------
    n_classes : int
        Classes, and actions.
    gain : bool, default=False
        False: an error costs one, and the least risk is the probability of error. True: a hit gains one, the same less
        one.

    Returns
    -------
    ndarray of shape (n_classes, n_classes)

    Examples
    --------
    >>> from mercer.decision import accuracy_costs
    >>> accuracy_costs(2)
    array([[0., 1.],
           [1., 0.]])
    """
    return -np.eye(n_classes) if gain else 1.0 - np.eye(n_classes)


def add_reject(costs: Any, reject_cost: Any) -> np.ndarray:
    """Return costs with one more action, the last: to decline, at a cost that does not depend on the class.

    With 0-1 costs a row is rejected where 1 - max P(c | x) exceeds the cost (Chow's rule).

    Parameters
    ----------
    costs : array-like of shape (n_actions, n_classes) or (n, n_actions, n_classes)
        Costs of the other actions.
    reject_cost : float or array-like of shape (n_classes,)
        The cost to decline.

    Returns
    -------
    ndarray with one row more

    Examples
    --------
    >>> from mercer.decision import accuracy_costs, add_reject, optimal_action
    >>> optimal_action([[0.9, 0.1], [0.6, 0.4]], add_reject(accuracy_costs(2), 0.2)).action
    array([0, 2])
    """
    matrix = read_costs("add_reject", costs)
    row = read_numbers("add_reject", "reject_cost", reject_cost, closed="neither", error=ParameterError)
    shape = (*matrix.shape[:-2], 1, matrix.shape[-1])
    return np.concatenate([matrix, np.broadcast_to(row, shape)], axis=-2)


def conditional_error(posteriors: Any, decisions: Any = None) -> np.ndarray:
    """Return the probability that a decision is wrong: the posteriors of the classes that were not chosen.

    Parameters
    ----------
    posteriors : array-like of shape (n, n_classes)
        Class probabilities.
    decisions : array-like of int of shape (n,) or None, default=None
        Numbers of the chosen classes; None takes the most probable, whose error is the least.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> from mercer.decision import conditional_error
    >>> conditional_error([[0.7, 0.3], [0.4, 0.6]], [0, 0]).round(6)
    array([0.3, 0.6])
    """
    shares = read_probabilities("conditional_error", "posteriors", posteriors)
    if decisions is None:
        # The Bayes decision is the largest posterior; its error is the rest.
        return 1.0 - shares.max(axis=-1)
    chosen = np.asarray(decisions)
    valid = chosen.dtype.kind in "iu" and ((chosen >= 0) & (chosen < shares.shape[-1])).all()
    if not valid or chosen.shape != shares.shape[:-1]:
        raise DataError(
            f"conditional_error: decisions must be one integer in [0, {shares.shape[-1] - 1}] for each row; got "
            f"{decisions!r}."
        )
    return 1.0 - np.take_along_axis(shares, chosen[..., None], axis=-1)[..., 0]


def correct_priors(posteriors: Any, old: Any, new: Any) -> np.ndarray:
    """Compute posteriors under other class frequencies than those a classifier was trained with.

    P'(c | x) is proportional to P(c | x) P'(c) / P(c).

    Parameters
    ----------
    posteriors : array-like of shape (n, n_classes)
        Class probabilities.
    old, new : array-like of shape (n_classes,)
        Class probabilities in training, all positive, and where decisions are made.

    Returns
    -------
    ndarray of shape (n, n_classes)

    Examples
    --------
    >>> from mercer.decision import correct_priors
    >>> correct_priors([[0.5, 0.5]], [0.5, 0.5], [0.01, 0.99]).round(6)
    array([[0.01, 0.99]])
    """
    shares = read_probabilities("correct_priors", "posteriors", posteriors)
    before = read_probabilities("correct_priors", "old", old, shares.shape[-1])
    after = read_probabilities("correct_priors", "new", new, shares.shape[-1])
    if not (before > 0).all():
        raise ParameterError(
            f"correct_priors: old must be positive in every class; got {before}. Drop the classes never seen."
        )
    # p(x | c) does not change: P(c | x) / P(c) is proportional to it, and the new prior times it to the new posterior.
    weighed = shares * (after / before)
    total = weighed.sum(axis=-1, keepdims=True)
    if not (total > 0).all():
        row = int((total <= 0).ravel().argmax())
        raise DataError(f"correct_priors: row {row} is certain of a class that new makes impossible. Raise its prior.")
    return weighed / total
