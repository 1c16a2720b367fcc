"""Model averaging: a committee whose members speak in proportion to the evidence for them."""

import time
from typing import Any, ClassVar

import numpy as np
from scipy.special import logsumexp
from sklearn.base import is_classifier, is_regressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from mercer._base import Estimator, fitting
from mercer._base.parameter import Array, Choice, Instance, Nothing, parameter
from mercer._base.reading import read_numbers, read_probabilities
from mercer._base.scoring import ClassifierMixin, RegressorMixin
from mercer._base.validation import check_weight
from mercer._base.wrapping import check_wrapped_place, fit_members, float_type, note_columns, one_step_record
from mercer._stored import Stored, floats, members, part
from mercer.errors import DataError, ParameterError
from mercer.estimation._comparison import bayesian_criterion, model_probabilities

# A variance or probability at least: the logarithm of zero would make every comparison NaN.
_TINY = float(np.finfo(np.float64).tiny)


class _ModelAveraging(Estimator):
    """What averaging classifiers and regressors share."""

    _needs_rows: ClassVar[str] = "it fits its members to rows drawn from all of them"

    estimators: Any = parameter(Instance(list) | Nothing(), default=None, kw_only=False)
    evidence: Any = parameter(Choice("bic") | Array(), default="bic")
    priors: Any = parameter(
        Array() | Nothing(), default=None, doc="Probabilities of the models before the data; None makes all equal."
    )

    _objective_moves: ClassVar[str | None] = "up"

    _stored: ClassVar[dict[str, Stored]] = {
        "estimators_": members(part("BaseEstimator"), "members"),
        "log_likelihoods_": floats("members"),
        "log_evidences_": floats("members"),
        "weights_": floats("members"),
    }

    def _fit_members(self, X: Any, y: Any, sample_weight: Any) -> Any:
        begun, name = time.perf_counter(), type(self).__name__
        members = self._members()
        given = None
        if not isinstance(self.evidence, str):
            given = read_numbers(name, "evidence", self.evidence, error=ParameterError)
            if given.shape != (len(members),):
                raise ParameterError(
                    f"{name}: evidence must have one number for each of {len(members)} estimators; got {given.shape}."
                )
        if self.priors is not None:
            read_probabilities(name, "priors", self.priors, len(members))
        weight = check_weight(self, sample_weight, len(y))
        fitted = fit_members(self, [member for _, member in members], X, y, weight)
        note_columns(self, fitted[-1])
        weight = np.ones(len(y)) if weight is None else weight
        likelihoods = np.array([self._log_likelihood(member, X, y, weight) for member in fitted])
        evidences = given
        if evidences is None:
            # Schwarz's approximation: log p(D | M) = log L - (parameters / 2) log n, up to terms bounded in n.
            counts = np.array([self._count_parameters(member) for member in fitted])
            evidences = -0.5 * bayesian_criterion(likelihoods, counts, float(weight.sum()))
        prior = np.full(len(members), 1 / len(members)) if self.priors is None else np.asarray(self.priors, dtype=float)
        # The evidence of the whole committee, log sum_i P(M_i) p(D | M_i).
        objective = float(logsumexp(evidences, b=prior))
        statement = (
            "Averages are as good as the evidences they are weighed by; nothing bounds their distance from best."
        )
        attributes = one_step_record(objective, begun, statement) | {
            "estimators_": fitted,
            "log_likelihoods_": likelihoods,
            "log_evidences_": evidences,
            "weights_": model_probabilities(evidences, self.priors),
            # Predictions have the precision of the rows of fit.
            "_precision": float_type(X).__name__,
        }
        for attribute, value in attributes.items():
            setattr(self, attribute, value)
        return self

    def _average(self, method: str, X: Any) -> np.ndarray:
        """Return the mean of what a method of the members gives, each weighted by its probability."""
        # From the last to the first: the default's first member is a constant, which checks no rows; the last does.
        answers = [np.asarray(getattr(member, method)(X), dtype=np.float64) for member in reversed(self.estimators_)]
        return np.tensordot(self.weights_[::-1], np.stack(answers), axes=1).astype(self._precision)

    def _members(self) -> list[tuple[str, Any]]:
        members = self._default_members() if self.estimators is None else self.estimators
        name = type(self).__name__
        if not members or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in members):
            raise ParameterError(
                f"{name}: estimators must be a list of pairs of a name and an estimator, not empty; got {members!r}."
            )
        for label, member in members:
            if not hasattr(member, "fit") or not self._fits_in(member):
                raise ParameterError(f"{name}: {label!r} must be {self._wanted}; got {type(member).__name__}.")
        return members

    def _count_parameters(self, member: Any) -> int:
        last = member[-1] if hasattr(member, "steps") else member
        if isinstance(last, DummyRegressor):
            return 1 + self._noise_parameters
        if isinstance(last, DummyClassifier):
            return len(last.classes_) - 1
        if not hasattr(last, "coef_"):
            raise DataError(
                f"{type(self).__name__}: cannot count the parameters of {type(last).__name__}, which has no coef_. "
                f"Give log-evidences as evidence."
            )
        # Coefficients that a penalty has set to zero are no parameters.
        offsets = np.size(last.intercept_) if np.any(getattr(last, "intercept_", 0.0)) else 0
        return int(np.count_nonzero(last.coef_)) + offsets + self._noise_parameters

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        members = self._default_members() if self.estimators is None else self.estimators
        if isinstance(members, list) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in members):
            tags.input_tags.sparse = all(get_tags(member).input_tags.sparse for _, member in members)
        return tags


class ModelAveragingRegressor(RegressorMixin, _ModelAveraging):
    """The average of regression models, weighed by their posterior probabilities.

    E[y | x, D] = sum_i P(M_i | D) E[y | x, M_i], with P(M_i | D) proportional to the evidence times the prior.

    Attributes
    ----------
    estimators_ : list of estimators
        Fitted to all rows.
    log_likelihoods_ : ndarray of shape (n_estimators,)
        Of the targets, with Gaussian noise of the residuals' variance.
    log_evidences_ : ndarray of shape (n_estimators,)
        What the weights are made from.
    weights_ : ndarray of shape (n_estimators,)
        P(M_i | D); they sum to one.
    history_, converged_, n_iter_, certificate_
        One step: the objective is the log-evidence of the whole committee.

    Notes
    -----
    The weights assume that the true model is among the candidates: with much data one member takes it all, though a
    mixture might predict better. Costs what the members cost, and one prediction of the rows each. Rows in memory;
    members see them as they were given.

    References
    ----------
    J. Hoeting, D. Madigan, A. Raftery, C. Volinsky, *Bayesian model averaging: a tutorial*, Statistical Science 14
    (1999).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.estimation import ModelAveragingRegressor
    >>> X = np.arange(20.0)[:, None]
    >>> y = 0.05 * X[:, 0] + np.random.default_rng(0).normal(size=20)
    >>> ModelAveragingRegressor().fit(X, y).weights_.round(2)  # a constant, or a line?
    array([0.78, 0.22])
    """

    _documents = {
        "estimators": "Pairs of a name and a regressor; None takes a constant and least squares.",
        "evidence": (
            'How much the data speak for each model. ``"bic"`` is minus half the Bayesian information criterion of '
            "Gaussian noise, with the non-zero coefficients, the intercept and the variance as parameters; an array "
            "has log-evidences."
        ),
    }

    _noise_parameters = 1
    _wanted = "a regressor"

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "ModelAveragingRegressor":
        """Fit the members and weigh them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, as the members take them.
        """
        check_wrapped_place(self, X, y)
        return self._fit_members(X, column_or_1d(y, warn=True, dtype=np.float64), sample_weight)

    def predict(self, X: Any) -> np.ndarray:
        """Return the average of the members' predictions."""
        return self._average("predict", X)

    def _log_likelihood(self, member: Any, X: Any, y: np.ndarray, weight: np.ndarray) -> float:
        squares = np.square(y - np.asarray(member.predict(X), dtype=np.float64))
        total = weight.sum()
        # At the variance of maximum likelihood the squares over it sum to the weight, hence the 1 below.
        variance = max(float(weight @ squares) / total, _TINY)
        return -0.5 * total * (np.log(2 * np.pi * variance) + 1)

    def _fits_in(self, member: Any) -> bool:
        return is_regressor(member)

    @staticmethod
    def _default_members() -> list[tuple[str, Any]]:
        from mercer.linear_model import LinearRegression

        return [("constant", DummyRegressor()), ("line", LinearRegression())]


class ModelAveragingClassifier(ClassifierMixin, _ModelAveraging):
    """The average of class probabilities, weighed by the posterior probabilities of the models.

    P(c | x, D) = sum_i P(M_i | D) P(c | x, M_i), with P(M_i | D) proportional to the evidence times the prior.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    estimators_ : list of estimators
        Fitted to all rows.
    log_likelihoods_ : ndarray of shape (n_estimators,)
        Of the labels.
    log_evidences_ : ndarray of shape (n_estimators,)
        What the weights are made from.
    weights_ : ndarray of shape (n_estimators,)
        P(M_i | D); they sum to one.
    history_, converged_, n_iter_, certificate_
        One step: the objective is the log-evidence of the whole committee.

    Notes
    -----
    The weights assume that the true model is among the candidates. Costs what the members cost, and one prediction of
    the rows each, n_samples x n_classes numbers at a time. Rows in memory; members see them as they were given.

    References
    ----------
    J. Hoeting, D. Madigan, A. Raftery, C. Volinsky, *Bayesian model averaging: a tutorial*, Statistical Science 14
    (1999).

    Examples
    --------
    >>> from mercer.datasets import load_fish
    >>> from mercer.estimation import ModelAveragingClassifier
    >>> fish = load_fish()
    >>> ModelAveragingClassifier().fit(fish.data, fish.species).weights_.round(6)
    array([0., 1.])
    """

    _documents = {
        "estimators": (
            "Pairs of a name and a classifier with ``predict_proba``; None takes class frequencies and logistic "
            "regression."
        ),
        "evidence": (
            'How much the data speak for each model. ``"bic"`` is minus half the Bayesian information criterion, '
            "with the non-zero coefficients and intercepts as parameters; an array has log-evidences."
        ),
    }

    _noise_parameters = 0
    _wanted = "a classifier with predict_proba"
    _depends_on_units = ("columns", "scale")

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "ModelAveragingClassifier":
        """Fit the members and weigh them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, as the members take them.
        """
        check_wrapped_place(self, X, y)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        weight = check_weight(self, sample_weight, len(y))
        self.classes_ = np.unique(y if weight is None else y[weight > 0])
        return self._fit_members(X, y, sample_weight)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the average of the members' class probabilities."""
        return self._average("predict_proba", X)

    def predict(self, X: Any) -> np.ndarray:
        """Return the label of the highest average probability."""
        highest = self.predict_proba(X).argmax(axis=1)
        return self.classes_[highest]

    def _log_likelihood(self, member: Any, X: Any, y: np.ndarray, weight: np.ndarray) -> float:
        if not np.array_equal(member.classes_, self.classes_):
            raise DataError(
                f"{type(self).__name__}: {type(member).__name__} knows the classes {member.classes_}, not "
                f"{self.classes_}. Drop rows of weight zero first."
            )
        # A class that the fit has not met has no column; such rows say nothing about the members.
        known = np.isin(y, self.classes_)
        column = np.searchsorted(self.classes_, y[known])
        chosen = np.asarray(member.predict_proba(X), dtype=np.float64)[known, column]
        # A probability of zero would make one row decide alone; _TINY bounds its logarithm.
        return float(weight[known] @ np.log(np.maximum(chosen, _TINY)))

    def _fits_in(self, member: Any) -> bool:
        return is_classifier(member) and hasattr(member, "predict_proba")

    @staticmethod
    def _default_members() -> list[tuple[str, Any]]:
        from mercer.linear_model import LogisticRegression

        return [("frequencies", DummyClassifier(strategy="prior")), ("logistic", LogisticRegression())]
