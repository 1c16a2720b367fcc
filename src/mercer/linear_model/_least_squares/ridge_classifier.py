"""Classification by least squares: signs for targets, ridge for the rest, the largest score decides."""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base import LimitedEstimator, fitting
from mercer._base.linear.classifier import LinearDecision, label_classes
from mercer._base.parameter import Boolean, Choice, Instance, Integer, Nothing, Real, Seed, parameter
from mercer._base.validation import flatten_targets, name_targets
from mercer._solver.linear_state import LinearState
from mercer._source import Block, Source, place_of
from mercer._source.namespace import namespace_of
from mercer._stored import Stored, flags, numbers, texts
from mercer.linear_model._least_squares.ridge import Ridge
from mercer.linear_model._least_squares.ridge_selection import GivenScores, RidgeSelection
from mercer.linear_model._solvers.closed_form.ridge_choice import RidgeChoice

_PLACES = ("memory", "file", "stream", "dask", "device")


@dataclass(frozen=True, eq=False)
class _Signs:
    """Turns class indices, as another labelling gives them, into signs: one column for two classes, else k."""

    n_classes: int
    numbering: Any = None

    @property
    def by_class(self) -> Any:
        return None if self.numbering is None else self.numbering.by_class

    def on(self, block: Block) -> Block:
        block = block if self.numbering is None else self.numbering.on(block)
        xp = block.xp
        if self.n_classes == 2:
            y = 2.0 * xp.astype(block.y, block.wide, copy=False) - 1.0
        else:
            own = block.y[:, None] == xp.arange(self.n_classes, dtype=block.y.dtype, device=block.device)[None, :]
            y = 2.0 * xp.astype(own, block.wide) - 1.0
        return type(block)(block.X, block.start, y, block.weight, xp, block.wide)


class SignedClassifier(LinearDecision):
    """Opens rows with labels for least squares, and decides by the largest score; also several labels for a row."""

    classes_: Any
    _multilabel: bool
    _is_binary: bool

    _stored: ClassVar[dict[str, Stored]] = {
        # One vector for two classes, as in scikit-learn.
        "coef_": numbers("scores, columns | columns", sparse=True),
        "_multilabel": flags(),
        "_is_binary": flags(),
    }
    _takes_sparse = True

    def _open_signed(self, X: Any, y: Any, sample_weight: Any, accept_sparse: Any) -> tuple[Source, Any, np.ndarray]:
        """Open rows with signs for targets; return them, the labels as a scorer knows them, and the classes."""
        if place_of(X, y) == "memory" and y is not None and not isinstance(y, str):
            self._multilabel = name_targets(y).startswith("multilabel")
            if self._multilabel:
                return self._open_indicators(X, y, sample_weight, accept_sparse)
            y = flatten_targets(y)
        self._multilabel = False
        source = self._open(X, y, sample_weight, targets="labels", accept_sparse=accept_sparse)  # type: ignore[attr-defined]
        classes, numbered = label_classes(self, source)
        self._is_binary = len(classes) == 2
        signed = numbered.relabel(_Signs(len(classes), numbered.labelling))
        return signed, source.y, classes

    def _open_indicators(
        self, X: Any, y: Any, sample_weight: Any, accept_sparse: Any
    ) -> tuple[Source, Any, np.ndarray]:
        dense = y.toarray() if hasattr(y, "toarray") else np.asarray(y)
        signs, self._is_binary = np.where(dense > 0, 1.0, -1.0), False
        source = self._open(X, signs, sample_weight, targets="numbers", accept_sparse=accept_sparse)  # type: ignore[attr-defined]
        return source, (dense > 0).astype(np.int64), np.arange(dense.shape[1])

    def predict(self, X: Any) -> np.ndarray:
        """Predict the class of each row, by its largest score; of several labels, each whose score is positive.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            The rows.

        Returns
        -------
        ndarray of shape (n,) or (n, n_labels)
            Labels out of ``classes_``, or zeros and ones.
        """
        check_is_fitted(self)
        return self._map(X, _positive) if self._multilabel else super().predict(X)

    def _columns(self) -> Any:
        return (self.coef_ if self.coef_.ndim == 2 else self.coef_[None, :]).T

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def _positive(scores: Any, dtype: Any) -> Any:
    xp = namespace_of(scores)
    return xp.astype(scores > 0, xp.int64)


class RidgeClassifier(SignedClassifier, LimitedEstimator):
    """Classification by ridge regression on signs: 1 for a row's own class, -1 for the others.

    Minimises, over coefficients c_k (``coef_``) and intercepts b_k (``intercept_``) of each class k,

        sum_i s_i (t_ik - b_k - x_i . c_k)^2 + alpha |c_k|^2,    t_ik = 1 if y_i = k else -1

    with s_i the weights of the rows (``sample_weight`` times ``class_weight``), and decides for the largest score. Two
    classes need one score, whose sign decides. One-hot targets would give half the scores and the same decisions.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted; for several labels a row, the numbers of their columns.
    coef_ : ndarray of shape (n_features,) or (n_classes, n_features)
        Coefficients; of two classes, those of one score, which speaks for the second where it is positive.
    intercept_ : float or ndarray of shape (1,) or (n_classes,)
        Intercepts.
    n_iter_ : ndarray
        Steps for each score; one for closed forms.
    solver_, solver_used_ : str
        The solver in scikit-learn's words, and the method that gave the answer.
    history_, converged_, certificate_
        How the fit went; as for :class:`Ridge`.

    Notes
    -----
    Costs what :class:`Ridge` costs with a target for each class, which share one factorisation; runs wherever it does.
    Two classes of equal size give Fisher's direction. ``y`` may also be a matrix of zeros and ones, a column for each
    of several labels.

    Examples
    --------
    >>> from mercer.linear_model import RidgeClassifier
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> round(RidgeClassifier().fit(X, y).score(X, y), 4)
    0.9596
    """

    alpha: float = parameter(Real(0), default=1.0, kw_only=False, doc="The penalty.")
    fit_intercept: bool = parameter(Boolean(), default=True, doc="Whether to fit b; otherwise it is zero.")
    copy_X: bool = parameter(
        Boolean(),
        default=True,
        doc="Has no effect: rows are neither copied nor overwritten. Kept so that scikit-learn's calls run.",
    )
    max_iter: int | None = parameter(
        Integer(1) | Nothing(), default=None, doc="The most steps of an iterative solver; None as for :class:`Ridge`."
    )
    tol: float = parameter(Real(0), default=1e-4, doc="When iterative solvers end, as for :class:`Ridge`.")
    class_weight: Any = parameter(
        Choice("balanced") | Instance(dict) | Nothing(),
        default=None,
        doc='Weights of the classes; "balanced" makes them inverse to the class frequencies.',
    )
    solver: str = parameter(
        Choice("auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"),
        default="auto",
        doc="The method, as for :class:`Ridge`.",
    )
    positive: bool = parameter(Boolean(), default=False, doc="Whether the coefficients must not be negative.")
    random_state: Any = parameter(Seed(), default=None, doc="The seed of 'sag' and 'saga'.")

    _places: ClassVar[tuple[str, ...]] = _PLACES
    _depends_on_units = ("columns", "scale")

    _stored: ClassVar[dict[str, Stored]] = {
        "solver_": texts(),
    }

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "RidgeClassifier":
        """Fit the model.

        Parameters
        ----------
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Labels, or zeros and ones, a column for each of several labels.
        sample_weight : float or array-like of shape (n_samples,) or None, default=None
            Weights; a weight of two is the row twice.
        """
        ridge = self._regressor()
        ridge._check_solver()
        source, _, classes = self._open_signed(X, y, sample_weight, False if self.solver == "svd" else "csr")
        # Two classes have one score, with targets -1 and 1.
        n_scores = 1 if self._is_binary else len(classes)
        ridge.solver_ = self.solver_ = ridge._resolve_solver(source)
        alpha = np.full(n_scores, float(self.alpha))
        outcome = self._drive(
            lambda start: ridge._solver(source, alpha, start),
            source,
            fitted=partial(ridge._read_state, dtype=source.dtype_name, flat=(self._is_binary, False)),
            attributes={"classes_": classes},
        )
        self.n_iter_ = np.broadcast_to(getattr(outcome.state, "steps", 1), alpha.shape).astype(np.int32)  # type: ignore[assignment]
        if isinstance(outcome.state, LinearState) and outcome.interrupt is None:
            outcome.converged, outcome.reason, self.converged_ = True, "converged", True
        self._conclude(outcome)
        return self

    def _regressor(self) -> Ridge:
        """Return the regression behind the classifier."""
        names = ("alpha", "fit_intercept", "max_iter", "tol", "solver", "positive", "random_state", "n_jobs")
        return Ridge(**{name: getattr(self, name) for name in names})

    def _labels(self, source: Source, given: dict[str, Any]) -> Any:
        return read_signed_labels(self, source, given)

    @property
    def _check_exceptions(self) -> dict[str, str]:  # type: ignore[override]
        if self.solver not in ("sag", "saga"):
            return {}
        reason = "rows are visited at random, so a weight equals repetitions within tol and not to the last digits"
        return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.solver != "svd"
        if self.solver in ("lsqr", "sag", "saga"):
            tags.array_api_support = False
        return tags


class RidgeClassifierCV(SignedClassifier, RidgeSelection):
    """Classification by ridge regression on signs, with the penalty that cross-validation chooses.

    The model is that of :class:`RidgeClassifier`; the penalty is chosen as by :class:`RidgeCV`, without ``cv`` by the
    squared leave-one-out errors of the signs, for all penalties from one decomposition.

    Attributes
    ----------
    alpha_ : float
        The penalty chosen; the first of several that score alike.
    best_score_ : float
        Its score.
    classes_, coef_, intercept_
        As of :class:`RidgeClassifier`.
    cv_results_ : ndarray of shape (n_samples, n_scores, n_alphas)
        With ``store_cv_results``: weighted squared leave-one-out errors, or scores where there is a scorer.
    solver_used_ : str
        ``"eigen scatter"`` or ``"eigen gram"``.
    history_, converged_, n_iter_, certificate_
        How the fit went; as for :class:`RidgeCV`.

    Notes
    -----
    Costs what :class:`RidgeCV` costs with a target for each class; rows in any place without a scorer and folds.

    Examples
    --------
    >>> from mercer.linear_model import RidgeClassifierCV
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RidgeClassifierCV(alphas=[1e-3, 1e-2, 1e-1, 1]).fit(X, y)
    >>> model.alpha_, round(model.score(X, y), 4)
    (0.01, 0.9631)
    """

    class_weight: Any = parameter(
        Choice("balanced") | Instance(dict) | Nothing(),
        default=None,
        after="cv",
        doc='Weights of the classes; "balanced" makes them inverse to the class frequencies.',
    )

    _documents = {
        "fit_intercept": "Whether to fit intercepts.",
        "scoring": (
            "What is to be largest; None means the negative mean squared error of the signs, with ``cv`` the accuracy."
        ),
        "cv": "Folds, stratified where a number is given; None means leave-one-out.",
    }

    _default_scorer = "accuracy"
    _places: ClassVar[tuple[str, ...]] = _PLACES

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> "RidgeClassifierCV":
        """Fit the model.

        Parameters
        ----------
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Labels, or zeros and ones, a column for each of several labels.
        sample_weight : float or array-like of shape (n_samples,) or None, default=None
            Weights; a weight of two is the row twice.
        **params : dict
            For the scorer and the splitter, with scikit-learn's metadata routing.
        """
        source, labels, classes = self._open_signed(X, y, sample_weight, "csr")
        self.classes_ = classes
        weight = None if sample_weight is None else source.weight
        fitted = partial(self._read_state, dtype=source.dtype_name)
        outcome = self._select(source, labels, weight, params, fitted, classes_=classes)
        self._conclude(outcome)
        return self

    def _read_state(self, state: RidgeChoice, dtype: str) -> dict[str, Any]:
        """Return the fitted attributes, in the precision of the rows."""
        coef, intercept = state.coef.T.astype(dtype), state.intercept.astype(dtype)
        model = {"coef_": coef[0] if self._is_binary else coef, "intercept_": intercept if self.fit_intercept else 0.0}
        return model | self._read_choice(state)

    def _make_model(self, coef: np.ndarray, intercept: np.ndarray, source: Source) -> RidgeClassifier:
        model = RidgeClassifier(fit_intercept=self.fit_intercept, n_jobs=1)
        model.n_features_in_, model.classes_, model._multilabel = len(coef), self.classes_, self._multilabel
        model._is_binary = self._is_binary
        model.coef_, model.intercept_ = coef.T, intercept
        return model

    def _make_given(self, predictions: np.ndarray) -> Any:
        scores = predictions if predictions.ndim == 2 else predictions[:, None]
        return GivenScores(self.classes_, self._multilabel), scores

    def _labels(self, source: Source, given: dict[str, Any]) -> Any:
        return read_signed_labels(self, source, given)


def read_signed_labels(estimator: Any, source: Source, given: dict[str, Any]) -> Any:
    """Return the labels of rows whose targets are signs, for callbacks; None if they are not in memory."""
    if source.y is None or source.place != "memory":
        return None
    if estimator._multilabel:
        return (source.y > 0).astype(np.int64)
    numbers = np.argmax(source.y, axis=1) if source.y.ndim == 2 else (source.y > 0).astype(np.int64)
    return given["classes_"][numbers]
