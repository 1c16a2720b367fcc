"""Votes of classifiers and means of regressors of any kind, each fitted to all rows, and the variance of means."""

import math
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer._base import fitting
from mercer._base.column_names import read_column_names
from mercer._base.interface import TransformerMixin
from mercer._base.member_fits import BagState, GivenRows, MemberFits
from mercer._base.parameter import Array, Boolean, Choice, Integer, Nothing, parameter
from mercer._base.reading import read_integer
from mercer._base.scoring import ClassifierMixin, RegressorMixin
from mercer._base.validation import flatten_targets, name_targets
from mercer._base.wrapping import float_type
from mercer._solver import Step
from mercer._source import Source
from mercer._stored import Stored, part
from mercer.ensemble._committee.named_members import FirstLayer, NamedMembers, is_dropped
from mercer.ensemble._reweighting.weak_learner import predict_shares
from mercer.errors import DataError, ParameterError, UnsupportedError


def combine_labels(labels: Any, weights: Any = None) -> np.ndarray:
    r"""Return the (weighted) majority of the members' labels, :math:`\arg\max_k \sum_t \alpha_t [h_t(x) = k]`.

    Parameters
    ----------
    labels : array-like of shape (n_samples, n_members)
        Labels.
    weights : array-like of shape (n_members,) or None, default=None
        :math:`\alpha`; only their proportions matter. None: all equal.

    Returns
    -------
    ndarray of shape (n_samples,)
        The first of equal ones in sorted order.

    Examples
    --------
    >>> from mercer.ensemble import combine_labels
    >>> combine_labels([["a", "b", "b"], ["a", "a", "b"]]).tolist()
    ['b', 'a']
    >>> combine_labels([["a", "b", "b"]], weights=[3, 1, 1]).tolist()
    ['a']
    """
    labels = np.asarray(labels)
    weights = _check_weights("combine_labels", labels, weights)
    classes = np.unique(labels)
    votes = np.stack([(labels == label) @ weights for label in classes], axis=1)
    close = votes >= votes.max(axis=1, keepdims=True) - 1e-12 * np.abs(weights).sum()
    return classes[close.argmax(axis=1)]


def combine_numbers(values: Any, weights: Any = None, *, normalize: bool = True) -> np.ndarray:
    r"""Return the mean, or the weighted sum, of the members' predictions.

    Parameters
    ----------
    values : array-like of shape (n_samples, n_members) or (n_samples, n_members, k)
        Predictions or probabilities.
    weights : array-like of shape (n_members,) or None, default=None
        :math:`\alpha`; None: all one.
    normalize : bool, default=True
        Whether weights are divided by their sum: bagging's mean does so, boosting's sum does not.

    Returns
    -------
    ndarray of shape (n_samples,) or (n_samples, k)

    Examples
    --------
    >>> from mercer.ensemble import combine_numbers
    >>> combine_numbers([[1.0, 2.0, 6.0]]).tolist(), combine_numbers([[1.0, 3.0]], [3, 1]).tolist()
    ([3.0], [1.5])
    """
    values = np.asarray(values, dtype=np.float64)
    weights = _check_weights("combine_numbers", values, weights)
    if normalize:
        weights = weights / weights.sum()
    return np.tensordot(values, weights, axes=(1, 0))


def _check_weights(name: str, answers: np.ndarray, weights: Any) -> np.ndarray:
    """Return the weights (members,), ones for None; raise if they do not fit the table of predictions."""
    if answers.ndim < 2:
        raise DataError(
            f"{name}: answers must be a table, rows by members; got shape {answers.shape}. Stack them as columns."
        )
    checked = np.ones(answers.shape[1]) if weights is None else np.asarray(weights, dtype=np.float64)
    if checked.shape != (answers.shape[1],) or checked.sum() <= 0:
        raise DataError(
            f"{name}: weights must be one number for each of {answers.shape[1]} members, with a positive sum; got "
            f"{weights!r}."
        )
    return checked


def variance_of_average(variance: float, correlation: float, n_members: int) -> float:
    r"""Return the variance of the mean of M equally correlated predictions, :math:`\rho s^2 + (1 - \rho) s^2 / M`.

    Parameters
    ----------
    variance : float
        :math:`s^2`, of one member.
    correlation : float in [-1, 1]
        :math:`\rho`, of any two; at least :math:`-1/(M-1)`.
    n_members : int
        M.

    Returns
    -------
    float

    Examples
    --------
    >>> from mercer.ensemble import variance_of_average
    >>> variance_of_average(4.0, 0.0, 8), variance_of_average(4.0, 1.0, 8), variance_of_average(4.0, 0.5, 8)
    (0.5, 4.0, 2.25)
    """
    n_members = read_integer("variance_of_average", "n_members", n_members, 1)
    # M numbers whose pairs all have one correlation exist from -1 / (M - 1) on: below, their sum has variance < 0.
    least = -1.0 if n_members == 1 else max(-1.0, -1.0 / (n_members - 1))
    if not (0 <= variance < math.inf and least - 1e-9 <= correlation <= 1 + 1e-9):
        raise DataError(
            f"variance_of_average: variance must be in [0, inf) and correlation in [{least:.6g}, 1], since {n_members} "
            f"numbers cannot all be less correlated; got {variance!r} and {correlation!r}."
        )
    correlation = min(max(correlation, least), 1.0)
    return correlation * variance + (1 - correlation) * variance / n_members


class VotingModel(TransformerMixin, NamedMembers):
    """Named members, each fitted to all rows, whose predictions are combined by fixed weights."""

    weights: Any = parameter(Array() | Nothing(), default=None, doc="A weight for each pair; None means equal weights.")
    verbose: int | bool = parameter(Integer(0) | Boolean(), default=False, after="n_jobs")

    _objective_moves = "up"

    # Which estimators may be members, see KINDS.
    _kind: ClassVar[str]

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Fit the members.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, as the members take them.
        y : array-like of shape (n_samples,)
            Labels for classification, numbers for regression.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights, for all members; with scikit-learn's metadata routing, for those that request them.
        **fit_params : dict
            Metadata for the members' ``fit``, through scikit-learn's routing.
        """
        self._check_call(X, y, fit_params)
        y, attributes = self._encode_targets(y)
        members = self._list_members(self._kind)
        self._check_weights()
        weight, params = self._route_fit(members, sample_weight, len(y), fit_params)
        solver = MemberFits(FirstLayer(members, params, X, y).fit, len(members), self._threads())
        source = GivenRows(X, y, weight, self._threads())
        self.__dict__.pop("feature_names_in_", None)
        outcome = self._drive(solver.solve, source, max_steps=len(members), attributes=attributes)
        self._conclude(outcome)
        return self

    def _check_weights(self) -> None:
        """Raise if the weights of members are not finite, or not as many as the members."""
        if self.weights is None:
            return
        if len(self.weights) != len(self.estimators):
            raise ParameterError(
                f"{type(self).__name__}: Number of `estimators` and weights must be equal; got {len(self.weights)} "
                f"weights, {len(self.estimators)} estimators."
            )
        weights = np.asarray(self._list_weights(), dtype=np.float64)
        if not (np.isfinite(weights).all() and weights.sum() > 0):
            raise ParameterError(
                f"{type(self).__name__}: weights must be finite, with a positive sum over the estimators that are not "
                f"dropped; got {self.weights!r}."
            )

    def _list_weights(self) -> list[float] | None:
        """Return the weights of the fitted members, or before a fit of those that are not dropped."""
        if self.weights is None:
            return None
        pairs = zip(self.estimators, self.weights, strict=True)
        kept = [weight for (_, member), weight in pairs if not is_dropped(member)]
        return kept[: len(self.estimators_)] if "estimators_" in vars(self) else kept

    def _fitted(self, state: BagState) -> dict[str, Any]:
        """Return the fitted attributes that depend on the members of a state."""
        return self._name_members(list(state.members))

    def _describe_step(self, number: int, step: Step) -> str:
        names = [name for name, member in self.estimators if not is_dropped(member)]
        return f"{type(self).__name__}: fitted {names[number]!r}, {number + 1} of {len(names)}"


class VotingClassifier(ClassifierMixin, VotingModel):
    r"""A vote of different classifiers, each fitted to all rows.

    A hard vote goes to :math:`\arg\max_k \sum_t \alpha_t [h_t(x) = k]`, a soft one to
    :math:`\arg\max_k \sum_t \alpha_t P_t(k \mid x)`, with the weights :math:`\alpha` of the members; see
    :func:`combine_labels` and :func:`combine_numbers`.

    Attributes
    ----------
    estimators_ : list of classifiers
        The fitted members; they are fitted to the indices of the classes.
    named_estimators_ : Bunch
        The fitted members by their names.
    le_ : LabelEncoder
        Turns labels into indices.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_features_in_, feature_names_in_ :
        As in the first member.
    history_, converged_, n_iter_, certificate_ :
        A step for each member; the objective is the number of members. There is no certificate.

    Notes
    -----
    Costs what the members cost; as many are fitted at a time as there are threads. Among equal votes the first label
    in sorted order is taken. Rows must be in memory; members get them as they were given: dense, sparse or frames.

    References
    ----------
    L. Lam and C. Y. Suen, *Application of majority voting to pattern recognition*, IEEE Transactions on Systems, Man,
    and Cybernetics A 27 (1997). L. Kuncheva, *Combining Pattern Classifiers*, 2004.

    Examples
    --------
    >>> from mercer.ensemble import VotingClassifier
    >>> from mercer.discriminant_analysis import LinearDiscriminantAnalysis
    >>> from mercer.naive_bayes import GaussianNB
    >>> from mercer.tree import DecisionTreeClassifier
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> X, y = load_wine(return_X_y=True)
    >>> members = [("nb", GaussianNB()), ("lda", LinearDiscriminantAnalysis()), ("tree", DecisionTreeClassifier())]
    >>> bool(cross_val_score(VotingClassifier(members), X, y).mean() > 0.95)
    True
    """

    voting: str = parameter(
        Choice("hard", "soft"), default="hard", doc="Whether labels are counted or probabilities averaged."
    )
    flatten_transform: bool = parameter(
        Boolean(),
        default=True,
        after="n_jobs",
        doc="Whether ``transform`` of a soft vote joins the members' probabilities in one table.",
    )

    _documents = {
        "estimators": 'Pairs of a name and a classifier; ``"drop"`` in the place of a classifier leaves it out.',
    }

    _kind = "classifier"

    _stored: ClassVar[dict[str, Stored]] = {
        "le_": part("LabelEncoder"),
    }
    _depends_on_units = ("columns",)

    def _encode_targets(self, y: Any) -> tuple[np.ndarray, dict[str, Any]]:
        from sklearn.preprocessing import LabelEncoder

        encoder = LabelEncoder()
        indices = encoder.fit_transform(self._check_labels(y))
        return indices, {"le_": encoder, "classes_": encoder.classes_}

    def _check_labels(self, y: Any) -> np.ndarray:
        """Return the labels (n,); raise if they are of several outputs or no labels at all."""
        kind, name = name_targets(y), type(self).__name__
        if kind in ("unknown", "continuous"):
            raise DataError(
                f"{name}: Unknown label type: {kind}. Maybe you are trying to fit a classifier, which expects discrete "
                f"classes on a regression target with continuous values."
            )
        if kind not in ("binary", "multiclass"):
            raise UnsupportedError(
                f"{name}: only supports binary or multiclass classification; got {kind}. Multilabel and multi-output "
                f"classification are not supported: fit one vote for each output."
            )
        return flatten_targets(y)

    def _labels(self, source: Source, given: dict[str, Any]) -> Any:
        return given["classes_"][source.y]

    def predict(self, X: Any) -> np.ndarray:
        """Return the label of most votes, or of the largest mean probability."""
        check_is_fitted(self)
        if self.voting == "soft":
            return self.classes_[self._average_shares(X).argmax(axis=1)]
        return self.classes_[combine_labels(self._predict_labels(X), self._list_weights())]

    def _check_soft(self) -> bool:
        """Raise AttributeError if members vote by labels."""
        if self.voting == "hard":
            raise AttributeError(f"predict_proba is not available when voting={self.voting!r}")
        return True

    @available_if(_check_soft)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the weighted mean of the members' probabilities; available with ``voting='soft'`` only."""
        return self._average_shares(X).astype(float_type(X), copy=False)

    def transform(self, X: Any) -> np.ndarray:
        """Return the prediction of each member: probabilities for a soft vote, indices of classes for a hard one.

        Returns
        -------
        ndarray
            Of shape (n_samples, n_members) for a hard vote; (n_samples, n_members x n_classes) for a soft one, or
            (n_members, n_samples, n_classes) where ``flatten_transform`` is False.
        """
        check_is_fitted(self)
        if self.voting == "hard":
            return self._predict_labels(X)
        shares = self._predict_shares(X)
        whole = np.hstack(shares) if self.flatten_transform else np.stack(shares)
        return whole.astype(float_type(X), copy=False)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns of ``transform``.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            The names of the rows' columns; only checked.

        Returns
        -------
        ndarray of str
        """
        names, prefix = self._list_names(), type(self).__name__.lower()
        if self.voting == "soft" and not self.flatten_transform:
            raise UnsupportedError(
                f"{type(self).__name__}: get_feature_names_out is not supported when `voting='soft'` and "
                f"`flatten_transform=False`; set flatten_transform=True."
            )
        read_column_names(self, input_features, needed=False)
        if self.voting == "soft":
            names = [f"{name}{index}" for name in names for index in range(len(self.classes_))]
        return np.asarray([f"{prefix}_{name}" for name in names], dtype=object)

    def _predict_labels(self, X: Any) -> np.ndarray:
        """Return the index of the class that each member predicts (n, members)."""
        return np.column_stack(self._predict_members(X, lambda index: np.asarray(self.estimators_[index].predict(X))))

    def _predict_shares(self, X: Any) -> list[np.ndarray]:
        """Return the probabilities of each member (n, classes)."""
        indices = np.arange(len(self.classes_))
        return self._predict_members(X, lambda index: predict_shares(self.estimators_[index], X, indices))

    def _average_shares(self, X: Any) -> np.ndarray:
        """Return the weighted mean of the members' probabilities (n, classes)."""
        check_is_fitted(self)
        return combine_numbers(np.stack(self._predict_shares(X), axis=1), self._list_weights())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags


class VotingRegressor(RegressorMixin, VotingModel):
    r"""The weighted mean of different regressors, each fitted to all rows.

    .. math:: f(x) = \sum_t \alpha_t f_t(x) \Big/ \sum_t \alpha_t

    Members whose errors are less than perfectly correlated have a mean of less variance, see
    :func:`variance_of_average`.

    Attributes
    ----------
    estimators_ : list of regressors
        The fitted members.
    named_estimators_ : Bunch
        The fitted members by their names.
    n_features_in_, feature_names_in_ :
        As in the first member.
    history_, converged_, n_iter_, certificate_ :
        A step for each member; the objective is the number of members. There is no certificate.

    Notes
    -----
    As :class:`VotingClassifier`.

    References
    ----------
    L. Breiman, *Stacked regressions*, Machine Learning 24 (1996), where the weights are learnt.

    Examples
    --------
    >>> from mercer.ensemble import VotingRegressor
    >>> from mercer.linear_model import Ridge
    >>> from mercer.tree import DecisionTreeRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tree = DecisionTreeRegressor(max_depth=4, random_state=0)
    >>> model = VotingRegressor([("ridge", Ridge(alpha=0.1)), ("tree", tree)]).fit(X[:300], y[:300])
    >>> model.score(X[300:], y[300:]) > model.named_estimators_.tree.score(X[300:], y[300:])
    True
    """

    _kind = "regressor"
    _depends_on_units = ("columns", "scale")

    def _encode_targets(self, y: Any) -> tuple[np.ndarray, dict[str, Any]]:
        return column_or_1d(y, warn=True), {}

    def predict(self, X: Any) -> np.ndarray:
        """Return the weighted mean of the members' predictions."""
        return combine_numbers(self._predict_values(X), self._list_weights()).astype(float_type(X), copy=False)

    def transform(self, X: Any) -> np.ndarray:
        """Return the prediction of each member.

        Returns
        -------
        ndarray of shape (n_samples, n_members)
        """
        return self._predict_values(X).astype(float_type(X), copy=False)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns of ``transform``.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            The names of the rows' columns; only checked.

        Returns
        -------
        ndarray of str
        """
        names = self._list_names()
        read_column_names(self, input_features, needed=False)
        return np.asarray([f"{type(self).__name__.lower()}_{name}" for name in names], dtype=object)

    def _predict_values(self, X: Any) -> np.ndarray:
        """Return the prediction of each member (n, members), float64."""
        check_is_fitted(self)
        return np.column_stack(
            self._predict_members(X, lambda index: np.asarray(self.estimators_[index].predict(X), dtype=np.float64))
        )
