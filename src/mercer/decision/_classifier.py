"""A classifier that decides by cost, over the probabilities of any other."""

import time
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer._base import Estimator, fitting
from mercer._base.parameter import Array, Choice, Instance, Integer, Nothing, Real, Text, parameter
from mercer._base.reading import read_costs, read_probabilities
from mercer._base.scoring import ClassifierMixin
from mercer._base.validation import check_weight
from mercer._base.wrapping import check_wrapped_place, fit_members, float_type, note_columns, one_step_record
from mercer._stored import Stored, floats, labels, part
from mercer.decision._cost import accuracy_costs, add_reject, correct_priors, expected_cost
from mercer.errors import DataError, ParameterError


class DecisionClassifier(ClassifierMixin, Estimator):
    """Decide by expected cost, over the class probabilities of any classifier.

    For each row the action a of least R(a | x) = sum_c cost(a, c) P(c | x) is taken. Actions need not be classes, costs
    may differ from row to row, and one action may be to decline.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    actions_ : ndarray of shape (n_actions,)
        What ``predict`` can return; the last is to decline, where that is allowed.
    costs_ : ndarray of shape (n_actions, n_classes)
        The costs used, with those of declining.
    trained_priors_ : ndarray of shape (n_classes,)
        Shares of the classes in training, or as given.
    estimator_ : estimator
        The fitted classifier.
    history_, converged_, n_iter_, certificate_
        One step, whose objective is the risk of the best action without looking at a row. The estimator's own are in
        ``estimator_``.

    Notes
    -----
    Costs what the estimator costs, and n_samples x n_actions x n_classes multiplications to decide. Decisions are best
    if probabilities are true; calibrate where they are not. Costs of single rows are given to ``predict`` and ``score``
    as ``costs`` of shape (n_samples, n_actions, n_classes), through metadata routing where a pipeline or a search is
    around. Rows in memory; the estimator sees them as they were given.

    References
    ----------
    C. Chow, *On optimum recognition error and reject tradeoff*, IEEE Transactions on Information Theory 16 (1970).

    C. Elkan, *The foundations of cost-sensitive learning*, IJCAI (2001).

    Examples
    --------
    >>> from mercer.datasets import load_fish
    >>> from mercer.decision import DecisionClassifier
    >>> fish = load_fish()
    >>> careful = DecisionClassifier(reject_cost=0.1).fit(fish.data, fish.species)
    >>> answer = careful.predict(fish.data)
    >>> kept = answer != "reject"
    >>> right = careful.estimator_.predict(fish.data) == fish.species
    >>> bool(right[kept].mean() > right.mean())
    True
    """

    _needs_rows: ClassVar[str] = "it fits its members to rows drawn from all of them"

    estimator: Any = parameter(
        Instance(BaseEstimator) | Nothing(),
        default=None,
        kw_only=False,
        doc="A classifier with ``predict_proba``: of mercer, of scikit-learn, a pipeline, or any other estimator. "
        "Its copy is fitted; scikit-learn's ``FrozenEstimator`` keeps a fitted one as it is, and "
        "``CalibratedClassifierCV`` calibrates its probabilities. None takes logistic regression.",
    )
    costs: Any = parameter(
        Array() | Choice("balanced") | Nothing(),
        default=None,
        doc="Of shape (n_actions, n_classes): the cost of each action where each class is true, classes in sorted "
        'order. Gains are negative. None: an error costs one. ``"balanced"``: an error costs the inverse of the '
        "share of the true class in the training rows, which maximises balanced accuracy.",
    )
    actions: Any = parameter(
        Array("entries") | Nothing(),
        default=None,
        doc="Names of the actions, which ``predict`` returns; None names them after the classes where there are as "
        "many, else 0, 1, 2...",
    )
    reject_cost: float | None = parameter(
        Real() | Nothing(),
        default=None,
        doc="What it costs to decline; None never declines. With the costs of errors, rows are declined whose "
        "probability of error exceeds it.",
    )
    reject_label: Any = parameter(
        Text() | Integer() | Nothing(),
        default=None,
        doc='What ``predict`` returns for declined rows; None takes ``"reject"`` where actions have names, else -1.',
    )
    priors: Any = parameter(
        Array() | Nothing(),
        default=None,
        doc="Class probabilities where decisions are made, in the order of the classes; the estimator's "
        "probabilities are corrected for the difference from training. None leaves them.",
    )
    trained_priors: Any = parameter(
        Array() | Nothing(),
        default=None,
        doc="Class probabilities behind the estimator's answers, for the correction; None counts the training rows. "
        "Equal ones belong to an estimator with balanced class weights.",
    )

    _stored: ClassVar[dict[str, Stored]] = {
        "estimator_": part("BaseEstimator"),
        "trained_priors_": floats("classes"),
        "costs_": floats("actions, classes"),
        "actions_": labels("actions"),
    }
    _depends_on_units = ("columns", "scale")

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "DecisionClassifier":
        """Fit the estimator, and check costs and priors against its classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, as the estimator takes them.
        """
        begun = time.perf_counter()
        check_wrapped_place(self, X, y)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        weight = check_weight(self, sample_weight, len(y))
        self.estimator_ = fit_members(self, [self._member()], X, y, weight)[0]
        note_columns(self, self.estimator_)
        self.classes_ = np.asarray(self.estimator_.classes_)
        # Posteriors of the member hold for the priors of its training rows, so these are needed to change the priors.
        self.trained_priors_ = self._read_trained_priors(y, weight)
        if self.priors is not None:
            read_probabilities(type(self).__name__, "priors", self.priors, len(self.classes_))
        self.costs_, self.actions_ = self._read_costs()
        shares = self.trained_priors_ if self.priors is None else np.asarray(self.priors, dtype=np.float64)
        statement = "Decisions are best for the estimator's probabilities; nothing bounds how far those are from true."
        # The objective is the least expected cost of an action taken without looking at x.
        for name, value in one_step_record(float((self.costs_ @ shares).min()), begun, statement).items():
            setattr(self, name, value)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Predict class probabilities, corrected for the priors where they are given."""
        # Asking scikit-learn whether a model is fitted takes longer than a prediction for one row.
        if "estimator_" not in vars(self):
            check_is_fitted(self)
        shares = np.asarray(self.estimator_.predict_proba(X))
        if self.priors is None:
            return shares
        # Probabilities of float32 sum to one only to seven digits; the correction asks for more.
        exact = shares.astype(np.float64)
        corrected = correct_priors(exact / exact.sum(axis=1, keepdims=True), self.trained_priors_, self.priors)
        return corrected.astype(float_type(shares))

    def expected_costs(self, X: Any, costs: Any = None) -> np.ndarray:
        """Return the expected cost of each action for each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        costs : array-like of shape (n_samples, n_actions, n_classes) or None, default=None
            Costs of each row, without those of declining, which are added; None takes those of the estimator.

        Returns
        -------
        ndarray of shape (n_samples, n_actions)
        """
        shares = self.predict_proba(X).astype(np.float64)
        shares /= shares.sum(axis=1, keepdims=True)
        return shares @ self.costs_.T if costs is None else expected_cost(shares, self._row_costs(costs, len(shares)))

    def predict(self, X: Any, costs: Any = None) -> np.ndarray:
        """Return the action of least expected cost for each row; the first of equals.

        Parameters
        ----------
        costs : array-like of shape (n_samples, n_actions, n_classes) or None, default=None
            Costs of each row; None takes those of the estimator.

        Returns
        -------
        ndarray of shape (n_samples,)
            Out of ``actions_``.
        """
        best = self.expected_costs(X, costs).argmin(axis=1)
        return self.actions_[best]

    def score(self, X: Any, y: Any, sample_weight: Any = None, costs: Any = None) -> float:
        """Return the accuracy if every error costs the same, else minus the mean cost of the decisions.

        Parameters
        ----------
        costs : array-like of shape (n_samples, n_actions, n_classes) or None, default=None
            Costs of each row; None takes those of the estimator.
        """
        action = self.expected_costs(X, costs).argmin(axis=1)
        y = column_or_1d(y)
        column = np.searchsorted(self.classes_, y).clip(0, len(self.classes_) - 1)
        # searchsorted gives some column to every label; only an equal one is the label's own.
        known = self.classes_[column] == y
        if costs is None and self.costs is None and self.reject_cost is None:
            return float(np.average(known & (action == column), weights=sample_weight))
        if not known.all():
            raise DataError(
                f"{type(self).__name__}: the cost of class {str(y[~known][0])!r} is not known; training had none."
            )
        matrix = self._row_costs(costs, len(y))
        incurred = matrix[action, column] if matrix.ndim == 2 else matrix[np.arange(len(y)), action, column]
        return -float(np.average(incurred, weights=sample_weight))

    def _member(self) -> Any:
        if self.estimator is None:
            from mercer.linear_model import LogisticRegression

            return LogisticRegression()
        if not hasattr(self.estimator, "predict_proba"):
            raise ParameterError(
                f"{type(self).__name__}: estimator must have predict_proba; got {type(self.estimator).__name__}. "
                f"Wrap it in CalibratedClassifierCV."
            )
        return self.estimator

    def _read_trained_priors(self, y: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        if self.trained_priors is not None:
            return read_probabilities(type(self).__name__, "trained_priors", self.trained_priors, len(self.classes_))
        column = np.searchsorted(self.classes_, y).clip(0, len(self.classes_) - 1)
        known = self.classes_[column] == y
        counts = np.bincount(column[known], None if weight is None else weight[known], minlength=len(self.classes_))
        return counts / counts.sum() if counts.any() else np.full(len(self.classes_), 1 / len(self.classes_))

    def _read_costs(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the cost matrix and the names of its rows, with one more of each where declining is allowed."""
        name, c = type(self).__name__, len(self.classes_)
        if isinstance(self.costs, str):
            # With these costs every class has the same total weight, 1 / c, as in balanced accuracy.
            costs = accuracy_costs(c) / (c * np.maximum(self.trained_priors_, np.finfo(float).tiny))
        else:
            costs = accuracy_costs(c) if self.costs is None else read_costs(name, self.costs, c)
        if costs.ndim == 3:
            raise ParameterError(
                f"{name}: costs of single rows are given to predict and score; got shape {costs.shape}."
            )
        k = len(costs)
        actions = np.asarray(self.actions) if self.actions is not None else self.classes_ if k == c else np.arange(k)
        if actions.shape != (k,) or len(set(actions.tolist())) < k:
            raise ParameterError(
                f"{name}: actions must be {k} different names, one for each row of costs; got {self.actions!r}."
            )
        if self.reject_cost is None:
            return costs, actions
        label = self.reject_label
        if label is None:
            label = -1 if actions.dtype.kind in "iuf" else "reject"
        if label in actions.tolist():
            raise ParameterError(f"{name}: reject_label must not be an action; got {label!r}. Choose another.")
        return add_reject(costs, self.reject_cost), _join_names(actions, label)

    def _row_costs(self, costs: Any, n: int) -> np.ndarray:
        if costs is None:
            return self.costs_
        matrix = read_costs(type(self).__name__, costs, len(self.classes_))
        # To decline is the last action, whose costs are added here and not given.
        k = len(self.actions_) - (self.reject_cost is not None)
        if matrix.shape != (n, k, len(self.classes_)):
            raise DataError(
                f"{type(self).__name__}: costs of rows must have shape ({n}, {k}, {len(self.classes_)}), rows by "
                f"actions by classes; got {matrix.shape}."
            )
        return matrix if self.reject_cost is None else add_reject(matrix, self.reject_cost)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # The tags follow the member, as it is the one that reads the rows.
        if self.estimator is None or isinstance(self.estimator, BaseEstimator):
            inner = get_tags(self._member() if self.estimator is None else self.estimator)
            tags.input_tags.sparse = inner.input_tags.sparse
            tags.input_tags.allow_nan = inner.input_tags.allow_nan
            if inner.classifier_tags is not None:
                tags.classifier_tags = inner.classifier_tags
        return tags


def _join_names(actions: np.ndarray, label: Any) -> np.ndarray:
    """Return the names of the actions and one more, as one array of text or of numbers, else of objects."""
    names = [*actions.tolist(), label]
    alike = actions.dtype.kind == "U" if isinstance(label, str) else actions.dtype.kind in "iuf"
    return np.array(names) if alike else np.array(names, dtype=object)
