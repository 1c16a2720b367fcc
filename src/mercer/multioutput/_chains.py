"""Estimators of several targets in a chain: each one also sees the targets before its own."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import sklearn
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, check_random_state, validate_data

from mercer._base import fitting
from mercer._base.copies import CopiesModel, has_method
from mercer._base.folds import FOLDS, of_rows, splits
from mercer._base.parameter import Array, Boolean, Choice, Integer, Nothing, Seed, attribute, parameter
from mercer._base.randomness import draw_seed
from mercer._base.scoring import ClassifierMixin, RegressorMixin
from mercer._base.wrapping import take_rows
from mercer._source.namespace import is_sparse_matrix
from mercer._stored import Stored, choice, integers, labels, members
from mercer.errors import DataError

_METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function")


class ChainModel(CopiesModel):
    """Copies of one estimator, one for each target, which see the targets before their own as further columns."""

    _needs_rows: ClassVar[str] = "it fits its members to rows drawn from all of them"

    order: Any = parameter(
        Array("integers", flat=True) | Choice("random") | Nothing(),
        default=None,
        after="estimator",
        doc="The columns of the targets in the order of the chain; None takes them as they are, 'random' draws it.",
    )
    cv: Any = parameter(
        FOLDS,
        default=None,
        doc="What later links see in the fit: None the true targets, which they will not have later; folds what copies "
        "that were fitted to the other folds predict.",
    )
    random_state: Any = parameter(Seed(), default=None, doc="Draws the order.")
    verbose: int | bool = parameter(Integer(0) | Boolean(), default=False)

    order_: Any = attribute()

    # A part of a chain predicts a part of the targets.
    _all_at_once: ClassVar[bool] = True
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "each link has a copy of the rows, with the columns of the targets before its own",
    }
    _stored: ClassVar[dict[str, Stored]] = {"order_": integers("*", low=0)}

    def _fit_chain(self, X: Any, Y: Any, params: dict[str, Any], method: str, attributes: dict[str, Any]) -> None:
        """Fit the links; `method` gives what later links see of the one before."""
        allowed = "allow-nan" if get_tags(self.estimator).input_tags.allow_nan else True
        X, Y = validate_data(
            self, X, Y, multi_output=True, accept_sparse=["csr", "csc"], ensure_all_finite=allowed, y_numeric=False
        )
        if Y.ndim == 1:
            raise DataError(f"{type(self).__name__}: Y must have a column for each target; got a vector. Reshape it.")
        order = self._choose_order(Y.shape[1])
        known = _number_labels(Y)[:, order]
        if self.cv is not None:
            known = np.zeros(Y.shape)

        def fit_link(number: int) -> Any:
            begun = time.perf_counter()
            rows, targets = join(X, known[:, :number]), Y[:, order[number]]
            link = self._fit_copy(rows, targets, params)
            if self.cv is not None and number + 1 < len(order):
                known[:, number] = self._predict_left_out(rows, targets, params, method)
            if self.verbose:
                seconds, place = time.perf_counter() - begun, f"({number + 1} of {len(order)})"
                print(f"[Chain] ............. {place} Processing order {order[number]}, total={seconds:6.1f}s")
            return link

        attributes = attributes | {"order_": order, "n_features_in_": X.shape[1]}
        if "feature_names_in_" in vars(self):
            attributes["feature_names_in_"] = self.feature_names_in_
        # With folds a link needs what those before it predict.
        threads = None if self.cv is None else 1
        self._drive_copies(X, Y, fit_link, len(order), attributes, threads)

    def _describe_step(self, number: int, step: Any) -> str:
        # Each link has its own line, as in scikit-learn.
        return ""

    def _choose_order(self, n_targets: int) -> np.ndarray:
        """Return the columns of the targets in the order of the chain."""
        if self.order is None:
            return np.arange(n_targets)
        if isinstance(self.order, str):
            generator = isinstance(self.random_state, np.random.Generator)
            random = check_random_state(draw_seed(self.random_state) if generator else self.random_state)
            return random.permutation(n_targets)
        order = np.asarray(self.order)
        if order.ndim != 1 or not np.array_equal(np.sort(order), np.arange(n_targets)):
            raise DataError(
                f"{type(self).__name__}: invalid order: it must hold each of the columns 0 to {n_targets - 1} once; "
                f"got {self.order!r}. Leave it out for the order of the columns."
            )
        return order.astype(np.intp)

    def _predict_left_out(self, rows: Any, targets: np.ndarray, params: dict[str, Any], method: str) -> np.ndarray:
        """Return what copies that were fitted to the other folds say of each row."""
        n, found, seen = len(targets), np.zeros(len(targets)), np.zeros(len(targets), dtype=int)
        for train, test in splits(self.cv, rows, targets, classifier=is_classifier(self.estimator)):
            copy = self._fit_copy(take_rows(rows, train), targets[train], of_rows(params, train, n))
            found[test] = read_column(copy, take_rows(rows, test), method, np.unique(targets))
            seen[test] += 1
        if (seen != 1).any():
            raise DataError(
                f"{type(self).__name__}: cv must put each row in one test part; it holds some rows twice or never. "
                f"Give a partition, such as KFold."
            )
        return found

    def _fitted(self, state: Any) -> dict[str, Any]:
        # The columns are those of the rows: later links have more.
        return {"estimators_": list(state.members)}

    def _answer(self, X: Any, method: str, ask: Callable[[Any, Any], np.ndarray]) -> np.ndarray:
        """Return what ``ask(link, rows)`` says of each target; later links see what `method` of earlier ones says."""
        check_is_fitted(self)
        allowed = "allow-nan" if get_tags(self.estimator).input_tags.allow_nan else True
        X = validate_data(self, X, accept_sparse=["csr", "csc"], ensure_all_finite=allowed, reset=False)
        known, answers = np.zeros((X.shape[0], len(self.order_))), [np.empty(0)] * len(self.order_)
        for number, (link, column) in enumerate(zip(self.estimators_, self.order_, strict=True)):
            rows = join(X, known[:, :number])
            answers[column] = ask(link, rows)
            if number + 1 < len(self.order_):
                known[:, number] = read_column(link, rows, method, getattr(link, "classes_", None))
        return np.stack(answers, axis=1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = False
        tags.target_tags.multi_output = True
        return tags


class RegressorChain(RegressorMixin, ChainModel):
    """A regressor of several targets by a chain of regressors, which also see the targets before their own.

    Link i of the chain predicts the target ``order_[i]`` from the columns and from the targets of the links before it:
    from the true ones in the fit, or from predictions of folds with `cv`, and from the predicted ones afterwards.

    Attributes
    ----------
    estimators_ : list of estimators
        The links, in the order of the chain.
    order_ : ndarray of shape (n_targets,)
        The column of the target of each link.
    n_features_in_, feature_names_in_
        The columns of the fit.
    history_, converged_, n_iter_, certificate_
        One step; the objective is the number of links. There is no certificate.

    Notes
    -----
    Costs a fit for each target, and with `cv` one more for each fold. Without `cv` links do not depend on each other,
    and are fitted beside each other on threads, with the same result for any number. Linear models with the true
    targets gain nothing by the chain. Rows in memory, dense or sparse.

    References
    ----------
    E. Spyromitros-Xioufis, G. Tsoumakas, W. Groves and I. Vlahavas, *Multi-target regression via input space expansion:
    treating targets as inputs*, Machine Learning 104 (2016).

    Examples
    --------
    >>> from mercer.multioutput import RegressorChain
    >>> from mercer.tree import DecisionTreeRegressor
    >>> from sklearn.datasets import make_regression
    >>> X, Y = make_regression(200, 4, n_targets=3, random_state=0)
    >>> chain = RegressorChain(DecisionTreeRegressor(random_state=0), order=[2, 0, 1]).fit(X, Y)
    >>> round(chain.score(X, Y), 2)
    1.0

    See Also
    --------
    MultiOutputRegressor : Regressors that do not see each other's targets.
    """

    @fitting
    def fit(self, X: Any, Y: Any, **fit_params: Any) -> Self:
        """Fit the links of the chain.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        Y : array-like of shape (n_samples, n_targets)
            Targets.
        **fit_params : dict
            Metadata for the ``fit`` of the links.
        """
        routed = self._begin_chain(X, Y, fit_params)
        self._fit_chain(X, Y, routed, "predict", {})
        return self

    def _begin_chain(self, X: Any, Y: Any, params: dict[str, Any]) -> dict[str, Any]:
        """Return the metadata for the links; without scikit-learn's routing all of it."""
        self._begin("fit", X, Y, {})
        if not params or not sklearn.get_config()["enable_metadata_routing"]:
            return params
        return dict(process_routing(self, "fit", **params).estimator.fit)

    def predict(self, X: Any) -> np.ndarray:
        """Predict the targets, one after the other along the chain."""
        return self._answer(X, "predict", lambda link, rows: link.predict(rows))


class ClassifierChain(ClassifierMixin, ChainModel):
    """A classifier of several columns of labels by a chain of classifiers, which see the labels before their own.

    Link i of the chain predicts the column ``order_[i]`` from the columns of the rows and from the labels of the links
    before it: from the true ones in the fit, or from predictions of folds with `cv`, and from what `chain_method` of
    those links says afterwards.

    Attributes
    ----------
    estimators_ : list of estimators
        The links, in the order of the chain.
    classes_ : list of ndarray
        The labels of each link, in the order of the chain.
    order_ : ndarray of shape (n_outputs,)
        The column of labels of each link.
    chain_method_ : str
        The method of a link that later links see.
    n_features_in_, feature_names_in_
        The columns of the fit.
    history_, converged_, n_iter_, certificate_
        One step; the objective is the number of links. There is no certificate.

    Notes
    -----
    Costs a fit for each column of labels, and with `cv` one more for each fold. Without `cv` links are fitted beside
    each other on threads, with the same result for any number. Links see labels that are no numbers by their place
    among the sorted ones. Rows in memory, dense or sparse.

    References
    ----------
    J. Read, B. Pfahringer, G. Holmes and E. Frank, *Classifier chains for multi-label classification*, Machine Learning
    85 (2011).

    Examples
    --------
    >>> from mercer.linear_model import LogisticRegression
    >>> from mercer.multioutput import ClassifierChain
    >>> from sklearn.datasets import make_multilabel_classification
    >>> X, Y = make_multilabel_classification(300, n_classes=3, random_state=0)
    >>> chain = ClassifierChain(LogisticRegression(), order="random", random_state=0).fit(X[::2], Y[::2])
    >>> bool(chain.score(X[1::2], Y[1::2]) > 0.5)
    True

    See Also
    --------
    MultiOutputClassifier : Classifiers that do not see each other's labels.
    """

    chain_method: Any = parameter(
        Choice(*_METHODS) | Array("entries"),
        default="predict",
        after="cv",
        doc="What later links see of the ones before: a method, or several; the first one that the estimator has is "
        "taken. Those other than ``'predict'`` need two labels in each column.",
    )

    classes_: Any = attribute()
    chain_method_: str = attribute()

    _stored: ClassVar[dict[str, Stored]] = {
        "classes_": members(labels("*")),
        "chain_method_": choice(*_METHODS),
    }

    @fitting
    def fit(self, X: Any, Y: Any, **fit_params: Any) -> Self:
        """Fit the links of the chain.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        Y : array-like of shape (n_samples, n_outputs)
            Labels.
        **fit_params : dict
            Metadata for the ``fit`` of the links, through scikit-learn's routing.
        """
        params = self._begin("fit", X, Y, fit_params)
        check_classification_targets(Y)
        method = self._choose_method()
        self._fit_chain(X, Y, params, method, {"chain_method_": method})
        return self

    def _fitted(self, state: Any) -> dict[str, Any]:
        return super()._fitted(state) | {"classes_": [link.classes_ for link in state.members]}

    def _choose_method(self) -> str:
        """Return the first method of `chain_method` that the estimator has."""
        given = (self.chain_method,) if isinstance(self.chain_method, str) else self.chain_method
        for name in given:
            if name in _METHODS and hasattr(self.estimator, name):
                return str(name)
        raise AttributeError(
            f"{type(self.estimator).__name__} has none of the following attributes: {', '.join(given)}. Name another "
            f"chain_method."
        )

    def predict(self, X: Any) -> np.ndarray:
        """Predict the labels, one column after the other along the chain."""
        check_is_fitted(self)
        return self._answer(X, self.chain_method_, lambda link, rows: link.predict(rows))

    @available_if(has_method("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Predict the probability of the second label of each column, given the labels before it in the chain."""
        check_is_fitted(self)
        return self._answer(X, self.chain_method_, partial(_ask, "predict_proba"))

    @available_if(has_method("predict_proba"))
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Predict the logarithm of the probability of the second label of each column."""
        return np.log(self.predict_proba(X))

    @available_if(has_method("decision_function"))
    def decision_function(self, X: Any) -> np.ndarray:
        """Return the score of the second label of each column."""
        check_is_fitted(self)
        return self._answer(X, self.chain_method_, partial(_ask, "decision_function"))


def _ask(method: str, link: Any, rows: Any) -> np.ndarray:
    return read_column(link, rows, method, link.classes_)


def join(X: Any, columns: np.ndarray) -> Any:
    """Return rows with further columns at their end, in the precision of the rows."""
    if not columns.shape[1]:
        return X
    if is_sparse_matrix(X):
        store = sparse.csr_matrix if sparse.isspmatrix(X) else sparse.csr_array
        return sparse.hstack([X, store(columns.astype(X.dtype if X.dtype.kind == "f" else np.float64))], format="csr")
    kind = X.dtype if X.dtype.kind == "f" else np.float64
    return np.concatenate([X, columns.astype(kind)], axis=1, dtype=kind)


def read_column(link: Any, rows: Any, method: str, classes: Any) -> np.ndarray:
    """Return what a method of a link says of rows as one number for each; of two labels what it says of the second."""
    found = np.asarray(getattr(link, method)(rows))
    if method == "predict":
        return found if found.dtype.kind in "fiub" else np.searchsorted(classes, found).astype(np.float64)
    known = link.classes_
    if found.ndim == 1:
        return found
    if len(classes) != 2:
        raise DataError(
            f"chain_method: {method} needs two labels in each column; a column has {len(classes)}. Give "
            f"chain_method='predict'."
        )
    place = np.flatnonzero(known == classes[1])
    # A fold may lack one of the labels.
    return found[:, place[0]] if len(place) else np.full(len(found), 0.0 if method == "predict_proba" else -np.inf)


def _number_labels(Y: np.ndarray) -> np.ndarray:
    """Return targets as numbers; labels that are none as their place among the sorted ones."""
    if Y.dtype.kind in "fiub":
        return Y.astype(np.float64)
    return np.stack([np.unique(column, return_inverse=True)[1] for column in Y.T], axis=1).astype(np.float64)
