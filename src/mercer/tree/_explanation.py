"""Explanations of a tree's answer for one row: its path, and how each step changed the answer."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.errors import DataError
from mercer.tree._conditions import Condition, list_conditions


@dataclass(frozen=True)
class PathStep:
    """One step down: the condition that the row met, the node it reached, and the change of the answer."""

    condition: Condition
    node: int
    change: np.ndarray


@dataclass(frozen=True)
class RowExplanation:
    """The path of a row.

    Attributes
    ----------
    base : ndarray
        The answer of the root: class shares, or a number.
    steps : tuple of PathStep
        From the root to the leaf; ``base`` and all changes sum to the leaf's answer.
    contributions : ndarray of shape (n_features, n_answers)
        The changes, by the column that made them.
    """

    base: np.ndarray
    steps: tuple[PathStep, ...]
    contributions: np.ndarray

    def __str__(self) -> str:
        lines = [f"start {np.array2string(self.base, precision=3)}"]
        lines += [f"{step.condition}: {np.array2string(step.change, precision=3, sign='+')}" for step in self.steps]
        return "\n".join(lines)


def explain_rows(model: Any, X: Any, *, feature_names: Any = None) -> list[RowExplanation]:
    """Explain what a tree answers for rows, step by step.

    Parameters
    ----------
    model : estimator
        A fitted decision tree of mercer or scikit-learn.
    X : array-like of shape (n_samples, n_features)
        Rows.
    feature_names : list of str or None, default=None
        Names of the columns; None takes those of the fit.

    Returns
    -------
    list of RowExplanation

    Notes
    -----
    The contributions describe the path in this tree only: a column that is used near the root gets the credit for what
    correlated columns could have contributed. They sum to the answer less that of the root.

    Examples
    --------
    >>> from mercer.tree import DecisionTreeClassifier, explain_rows
    >>> model = DecisionTreeClassifier().fit([[0.0], [1.0], [2.0], [3.0]], ["a", "b", "b", "b"])
    >>> print(explain_rows(model, [[0.2]])[0])
    start [0.25 0.75]
    "x0" <= 0.5: [+0.75 -0.75]
    """
    nodes, conditions = list_conditions(model, feature_names)
    explained: list[Any] = [None] * (len(X) if not hasattr(X, "shape") else X.shape[0])
    for leaf, rows, part in nodes.parts(X):
        # A row that a node splits among branches has a part of less than one in each of its leaves.
        if len(part) and (part < 1).any():
            raise DataError(
                f"explain_rows: row {int(rows[np.argmax(part < 1)])} goes down several branches, for a category or a "
                f"missing value that a node has no branch for. Explain other rows."
            )
        # All rows of a leaf share the conditions on the way to it.
        explanation = _explain(model, nodes, conditions, int(leaf))
        for row in rows:
            explained[row] = explanation
    return explained


def _explain(model: Any, nodes: Any, conditions: list[Condition | None], leaf: int) -> RowExplanation:
    steps, node = [], leaf
    contributions = np.zeros((model.n_features_in_, nodes.value.shape[1]))
    while (parent := int(nodes.parent[node])) >= 0:
        condition = conditions[node]
        # The changes along the path sum to the answer less that of the root.
        change = nodes.value[node] - nodes.value[parent]
        steps.append(PathStep(condition, node, change))  # type: ignore[arg-type]
        contributions[condition.feature] += change  # type: ignore[union-attr]
        node = parent
    return RowExplanation(nodes.value[0], tuple(steps[::-1]), contributions)
