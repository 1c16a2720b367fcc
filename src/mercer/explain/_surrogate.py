"""Small models and few rows that stand for a large one: surrogate trees, prototypes and criticisms."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from mercer._types import Array
from mercer.errors import DataError, ParameterError
from mercer.explain._outputs import check_fitted
from mercer.explain._rows import Table
from mercer.kernels import RBF, as_kernel
from mercer.tree import DecisionTreeClassifier, DecisionTreeRegressor

# The median distance of at most this many rows chooses the unit of a kernel.
_SAMPLED = 500


@dataclass(frozen=True, eq=False)
class Surrogate:
    """A small tree that answers as a model does.

    Attributes
    ----------
    tree : DecisionTreeClassifier or DecisionTreeRegressor
        Fitted to the model's answers; ``mercer.tree.rules`` prints it.
    fidelity : float
        How well it agrees with the model on rows that it was not fitted to: the share of equal labels, or the share of
        the variance of the answers.
    """

    tree: Any
    fidelity: float


def surrogate_tree(model: Any, X: Any, *, max_depth: int = 3, random_state: Any = None) -> Surrogate:
    """Fit a small tree to the answers of a model, and say how well it stands for it.

    Parameters
    ----------
    model : estimator or callable
        A fitted model, or a function from rows to numbers.
    X : array-like of shape (n, d)
        Rows; no targets are needed.
    max_depth : int, default=3
        Most splits from the root to a leaf.
    random_state : int, Generator or None, default=None
        Draws the half of the rows that the fidelity is measured on.

    Returns
    -------
    Surrogate
        Its tree is fitted to all rows; the fidelity is the mean over both halves of a tree fitted to the other.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.explain import surrogate_tree
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> surrogate_tree(lambda rows: (rows[:, 1] > 0) * 2.0, X, random_state=0).fidelity > 0.9
    True
    """
    check_fitted("surrogate_tree", model)
    rows = Table.read("surrogate_tree", X, model)
    if len(rows) < 4:
        raise DataError(f"surrogate_tree: two halves need 4 rows or more; got {len(rows)}.")
    numbers = rows.to_floats("surrogate_tree")
    answers = np.asarray((model.predict if hasattr(model, "predict") else model)(rows.rows))
    has_labels = answers.dtype.kind not in "fiu" or (hasattr(model, "predict") and is_classifier(model))
    kind = DecisionTreeClassifier if has_labels else DecisionTreeRegressor
    halves = np.array_split(np.random.default_rng(random_state).permutation(len(rows)), 2)
    agreed = []
    for test, train in (halves, halves[::-1]):
        if kind is DecisionTreeClassifier and len(np.unique(answers[train])) < 2:
            agreed.append(float((answers[test] == answers[train][0]).mean()))
            continue
        tree = kind(max_depth=max_depth, random_state=0).fit(numbers[train], answers[train])
        agreed.append(float(tree.score(numbers[test], answers[test])))
    return Surrogate(kind(max_depth=max_depth, random_state=0).fit(numbers, answers), float(np.mean(agreed)))


@dataclass(frozen=True, eq=False)
class Prototypes:
    """Rows that stand for a table, and rows that they do not stand for.

    Attributes
    ----------
    prototypes : ndarray of shape (n_prototypes,)
        Indices of rows, in the order in which they were chosen.
    criticisms : ndarray of shape (n_criticisms,)
        Indices of rows where the prototypes and the table differ most.
    discrepancies : ndarray of shape (n_prototypes,)
        The squared maximum mean discrepancy between the table and the first prototypes.
    """

    prototypes: Array
    criticisms: Array
    discrepancies: Array


def find_prototypes(X: Any, n_prototypes: int = 5, n_criticisms: int = 5, *, kernel: Any = "median") -> Prototypes:
    """Choose rows that stand for a table, and rows that they miss, by the maximum mean discrepancy.

    Each prototype is the row that lowers most the discrepancy between the table and the prototypes in the feature space
    of a kernel. Criticisms are the rows where the witness function, the difference of the two mean kernel values, is
    largest; near ones are not chosen twice.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Rows.
    n_prototypes, n_criticisms : int, default=5
        How many are chosen.
    kernel : Kernel, str or "median", default="median"
        A kernel of :mod:`mercer.kernels`; "median" is a Gaussian one whose length scale is the median distance of rows.

    Returns
    -------
    Prototypes

    Notes
    -----
    Takes the n x n kernel matrix; choose a sample of large tables.

    References
    ----------
    B. Kim, R. Khanna and O. Koyejo, Examples are not enough, learn to criticize, 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.explain import find_prototypes
    >>> X = np.repeat([[0.0], [5.0], [20.0]], [10, 10, 1], axis=0)
    >>> found = find_prototypes(X, 2, 1, kernel="rbf")
    >>> sorted(X[found.prototypes, 0].tolist()), X[found.criticisms, 0].tolist()
    ([0.0, 5.0], [20.0])
    """
    rows = Table.read("find_prototypes", X).to_floats("find_prototypes")
    n = len(rows)
    if not (n_prototypes >= 1 and n_criticisms >= 0 and n_prototypes + n_criticisms <= n):
        raise ParameterError(
            f"find_prototypes: n_prototypes from 1 on and n_criticisms must be at most {n} rows together; got "
            f"{n_prototypes} and {n_criticisms}."
        )
    gram = np.asarray(_choose_kernel(rows, kernel)(rows, rows), np.float64)
    means = gram.mean(axis=1)
    chosen: list[int] = []
    discrepancies: list[float] = []
    within, across = 0.0, 0.0
    near = np.zeros(n)
    for count in range(1, n_prototypes + 1):
        # The squared discrepancy if each row came next.
        tried = (within + 2.0 * near + np.diag(gram)) / count**2 - 2.0 * (across + means) / count
        tried[chosen] = np.inf
        best = int(np.argmin(tried))
        within, across = within + 2.0 * near[best] + gram[best, best], across + means[best]
        near += gram[best]
        chosen.append(best)
        discrepancies.append(max(0.0, float(tried[best] + means.mean())))
    # Rows that the prototypes lie close to count less, and so do those near a criticism that was chosen.
    witness = np.abs(means - near / n_prototypes)
    scale = np.sqrt(np.diag(gram))
    critics: list[int] = []
    for _ in range(n_criticisms):
        likeness = np.clip(gram[:, critics] / np.outer(scale, scale[critics]), 0.0, 1.0).max(axis=1, initial=0.0)
        scores = witness * (1.0 - likeness)
        scores[chosen + critics] = -np.inf
        critics.append(int(np.argmax(scores)))
    return Prototypes(np.array(chosen), np.array(critics, np.int64), np.array(discrepancies))


def _choose_kernel(rows: Array, kernel: Any) -> Any:
    if not isinstance(kernel, str) or kernel != "median":
        return as_kernel(kernel, rows=rows)
    some = rows[np.linspace(0, len(rows) - 1, min(len(rows), _SAMPLED)).astype(int)]
    gaps = np.sqrt(((some[:, None] - some) ** 2).sum(axis=2))
    median = float(np.median(gaps[np.triu_indices(len(some), 1)])) if len(some) > 1 else 0.0
    return RBF(length_scale=median if median > 0 else 1.0)
