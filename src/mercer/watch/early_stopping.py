"""Early stopping on a validation set of the user's."""

import math
from collections.abc import Callable
from typing import Any


class Patience:
    """Counts the steps since a score last rose.

    Attributes
    ----------
    best_step : int
        The step with the best score; -1 before the first.
    """

    def __init__(self, patience: int, min_delta: float) -> None:
        self.patience, self.min_delta = patience, min_delta
        self.best, self.best_step, self.seen = -math.inf, -1, 0

    def see(self, score: float) -> bool:
        """Take the score of the next step; whether patience is at its end."""
        if score > self.best + self.min_delta or self.best_step < 0:
            self.best, self.best_step = score, self.seen
        self.seen += 1
        return self.seen - 1 - self.best_step >= self.patience


class EarlyStopping:
    """End a fit when the score on a given validation set has not risen for some steps; keep the best state.

    Parameters
    ----------
    X_val : array-like of shape (n, d)
        Validation rows, in the form the estimator itself is given (inside a Pipeline: already transformed).
    y_val : array-like of shape (n,), default=None
        Validation targets.
    scoring : str, callable or None, default=None
        A scikit-learn scorer; None means the estimator's own ``score``.
    patience : int, default=5
        Steps without a rise after which the fit ends.
    min_delta : float, default=0
        A smaller rise does not count.

    Attributes
    ----------
    scores_ : list of float
        The validation score after each step of the last fit.
    best_step_ : int
        The step whose state was kept.

    Examples
    --------
    >>> from mercer.watch import EarlyStopping
    >>> from mercer.linear_model import LogisticRegression
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> X, X_val, y, y_val = train_test_split(*load_breast_cancer(return_X_y=True), random_state=0)
    >>> stop = EarlyStopping(X_val, y_val, patience=3)
    >>> model = LogisticRegression(C=1e4).set_callbacks(stop).fit(X, y)
    >>> model.score(X_val, y_val) == max(stop.scores_)
    True
    """

    def __init__(
        self,
        X_val: Any,
        y_val: Any = None,
        *,
        scoring: str | Callable[..., float] | None = None,
        patience: int = 5,
        min_delta: float = 0.0,
    ) -> None:
        self.X_val = X_val
        self.y_val = y_val
        self.scoring = scoring
        self.patience = patience
        self.min_delta = min_delta

    def setup(self, estimator: Any, context: Any) -> None:
        from sklearn.metrics import check_scoring

        self.scorer_ = check_scoring(estimator, self.scoring)
        self.scores_: list[float] = []
        self.best_step_ = -1
        self._counter = Patience(self.patience, self.min_delta)

    def teardown(self, estimator: Any, context: Any) -> None:
        pass

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        pass

    def on_fit_task_end(self, estimator: Any, context: Any, *, fitted_estimator: Any = None) -> bool:
        # The task that holds the steps ends too; only a leaf is a step.
        if fitted_estimator is None or context.max_subtasks != 0:
            return False
        score = float(self.scorer_(fitted_estimator, self.X_val, self.y_val))
        self.scores_.append(score)
        exhausted = self._counter.see(score)
        self.best_step_ = self._counter.best_step
        return exhausted
