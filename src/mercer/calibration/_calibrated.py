"""Calibrated probabilities of any classifier, by rows that it was not fitted to."""

import warnings
from functools import partial
from typing import Any, ClassVar

import numpy as np
import sklearn
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import LeaveOneOut
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from mercer._base import Estimator, fitting
from mercer._base.folds import FOLDS, of_rows, splits
from mercer._base.interface import MetaEstimatorMixin
from mercer._base.member_fits import BagState, GivenRows, MemberFits, fit_batch
from mercer._base.parameter import Boolean, Choice, HasFit, Integer, Nothing, Real, attribute, parameter
from mercer._base.scoring import ClassifierMixin
from mercer._base.validation import check_labels, check_weight, flatten_targets
from mercer._base.wrapping import check_member_table, check_wrapped_place, float_type, take_rows
from mercer._solver import Solution, Solver, Step
from mercer._solver.request import Dense
from mercer._stored import Stored, members, part
from mercer._types import Array
from mercer.calibration._members import (
    METHODS,
    CalibratedClassifier,
    find_method,
    find_worst,
    fit_calibrators,
    read_scores,
)
from mercer.errors import DataError, ParameterError, UnsupportedError


class CalibratedClassifierCV(MetaEstimatorMixin, ClassifierMixin, Estimator):
    """Calibrated probabilities of a classifier: among rows with probability p of a class, a share p has it.

    The scores f of rows that a classifier was not fitted to, and their classes, determine a map from scores to
    probabilities. ``"sigmoid"``: 1 / (1 + exp(a f + b)), with the least log loss against Platt's targets;
    ``"isotonic"``: any map that never falls, with the least squared error; ``"temperature"``: softmax(beta z) of the
    scores z of all classes; ``"beta"``: the log-odds a log s - b log(1 - s) + c of a probability s, a and b not
    negative, and ``"dirichlet"``: softmax(W log p + b) of all probabilities, both with the least log loss of all rows
    plus half the squared distance from the map that changes nothing;
    ``"venn_abers"``: p1 / (1 - p0 + p1), where p0 and p1 are the isotonic fits with the new row itself in either class.
    Temperatures and Dirichlet maps are of all classes at once; the others serve each class against the rest, and shares
    are divided by their sum.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    calibrated_classifiers_ : list
        Classifiers with their calibrators, one for each fold, or a single one without `ensemble`. Each has
        ``estimator``, ``calibrators``, ``classes``, ``method`` and ``predict_proba``.
    history_, converged_, n_iter_, certificate_
        How the fit went: a step for each classifier, whose objective is their number. The certificate is that of the
        calibrator which is farthest from its tolerance: the largest derivative of the log loss, or the conditions of
        the blocks of isotonic regression.

    Notes
    -----
    Costs what the fits to the folds cost; they run beside each other on the threads, with the same result for any
    number. A classifier in a ``FrozenEstimator`` is not fitted again, and its scores are computed once. Rows in memory;
    the classifier sees them as they were given.

    References
    ----------
    J. Platt, Probabilistic outputs for support vector machines, 1999. B. Zadrozny and C. Elkan, Transforming classifier
    scores into accurate multiclass probability estimates, 2002. C. Guo, G. Pleiss, Y. Sun and K. Weinberger, On
    calibration of modern neural networks, 2017. M. Kull, T. Silva Filho and P. Flach, Beta calibration, 2017. M. Kull
    and others, Beyond temperature scaling, 2019. V. Vovk, I. Petej and V. Fedorova, Large-scale probabilistic
    predictors with and without guarantees of validity, 2015.

    Examples
    --------
    >>> from mercer.calibration import CalibratedClassifierCV
    >>> from mercer.naive_bayes import GaussianNB
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.metrics import log_loss
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> plain = GaussianNB().fit(X[::2], y[::2])
    >>> calibrated = CalibratedClassifierCV(GaussianNB(), method="isotonic").fit(X[::2], y[::2])
    >>> [round(log_loss(y[1::2], model.predict_proba(X[1::2])), 1) for model in (plain, calibrated)]
    [0.6, 0.3]
    """

    _needs_rows: ClassVar[str] = "it fits its members to rows drawn from all of them"

    estimator: Any = parameter(
        HasFit() | Nothing(),
        default=None,
        kw_only=False,
        doc="The classifier, with ``decision_function`` or ``predict_proba``; None takes mercer's LinearSVC. In a "
        "``FrozenEstimator`` it was fitted before, to other rows.",
    )
    method: str = parameter(
        Choice(*METHODS),
        default="sigmoid",
        doc="The map from scores to probabilities. Isotonic regression needs about 1000 rows. ``'beta'`` and "
        "``'dirichlet'`` need an estimator with ``predict_proba``.",
    )
    cv: Any = parameter(FOLDS, default=None, doc="The folds; None means five, stratified.")
    n_jobs: int | None = parameter(
        Integer() | Nothing(), default=None, doc="Threads over folds; None means all cores. Changes no result."
    )
    ensemble: Any = parameter(
        Boolean() | Choice("auto"),
        default="auto",
        doc="Whether each fold has a classifier and calibrators of its own, whose probabilities are averaged; else one "
        "classifier is fitted to all rows, and calibrated by the scores of the folds. 'auto' is True, but for a "
        "FrozenEstimator.",
    )
    max_time: float | None = parameter(
        Real(0) | Nothing(), default=None, doc="Seconds after which to stop with the folds fitted so far."
    )

    calibrated_classifiers_: list[CalibratedClassifier] = attribute()

    _objective_moves: ClassVar[str | None] = "up"
    _depends_on_units = ("columns",)
    _checks_resumed: ClassVar[bool] = False
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "each fold is a copy of its rows, since the classifier may be of any kind",
        "row order": "rows are dealt to folds by their numbers",
        "weights": "copies of a row may be dealt to different folds, a weighted row to one only",
    }
    _stored: ClassVar[dict[str, Stored]] = {
        "calibrated_classifiers_": members(part("CalibratedClassifier")),
    }
    _takes_sparse = True

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> "CalibratedClassifierCV":
        """Fit the classifier to folds, and calibrators to the scores of the rows left out.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, as the classifier takes them.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights, for the classifier where it takes them, and for the calibrators.
        **fit_params : dict
            Metadata for the ``fit`` of the classifier.
        """
        check_wrapped_place(self, X, y)
        base = self._choose_base()
        if not _are_records(X):
            checked, y = check_member_table(self, base, X, y, finite=False)
            # Tables stay tables: a pipeline may choose its columns by name.
            X = X if hasattr(X, "columns") else checked
        check_labels(y)
        y = np.asarray(flatten_targets(y))
        classes, counts = np.unique(y, return_counts=True)
        weight, params, split = self._route(base, sample_weight, len(y), fit_params)
        self._check_folds(int(counts.min()))
        joined = not (isinstance(base, FrozenEstimator) if self.ensemble == "auto" else not self.ensemble)
        folds = [] if not joined and isinstance(base, FrozenEstimator) else self._split(X, y, split)
        plan = _Plan(base, X, y, classes, self.method, weight, params)
        if joined:
            solve = MemberFits(
                lambda number: plan.fit_pair(*folds[number]), len(folds), self._threads(), _certify
            ).solve
        else:
            solve = partial(plan.solve_whole, folds=folds, threads=self._threads())
        outcome = self._drive(
            solve,
            GivenRows(X, y, weight, self._threads()),
            max_steps=max(1, len(folds)) if joined else 1,
            attributes={"classes_": classes},
        )
        self._conclude(outcome)
        return self

    def _fitted(self, state: BagState) -> dict[str, Any]:
        """Return the calibrated classifiers, and the columns as the first of them found them."""
        first = state.members[0].estimator
        columns = {
            name: getattr(first, name) for name in ("n_features_in_", "feature_names_in_") if hasattr(first, name)
        }
        return {"calibrated_classifiers_": list(state.members)} | columns

    def _choose_base(self) -> Any:
        """Return the classifier that is calibrated, not fitted."""
        if self.estimator is not None:
            return self.estimator
        from mercer.svm import LinearSVC

        base = LinearSVC(random_state=0)
        if sklearn.get_config()["enable_metadata_routing"]:
            base.set_fit_request(sample_weight=True)
        return base

    def _route(
        self, base: Any, sample_weight: Any, n: int, fit_params: dict[str, Any]
    ) -> tuple[Array | None, dict[str, Any], dict[str, Any]]:
        """Return the checked weights, and the metadata for the ``fit`` of the classifier and for the splitter."""
        weight = check_weight(self, sample_weight, n)
        if sklearn.get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", sample_weight=sample_weight, **fit_params)
            return weight, dict(routed.estimator.fit), dict(routed.splitter.split)
        if weight is None:
            return None, fit_params, {}
        if not has_fit_parameter(base, "sample_weight"):
            warnings.warn(
                f"CalibratedClassifierCV: {type(base).__name__} takes no sample_weight, so the weights serve the "
                f"calibration alone and not the classifier below it; choose a classifier that takes them.",
                UserWarning,
                stacklevel=6,
            )
            return weight, fit_params, {}
        return weight, fit_params | {"sample_weight": weight}, {}

    def _check_folds(self, fewest: int) -> None:
        """Raise if a class has fewer rows than there are folds, or the folds cannot hold all classes."""
        wanted = self.cv if isinstance(self.cv, int) else getattr(self.cv, "n_splits", None)
        if wanted and fewest < wanted:
            raise DataError(
                f"CalibratedClassifierCV: Requesting {wanted}-fold cross-validation but provided less than {wanted} "
                f"examples for at least one class. Give fewer folds, or more rows."
            )
        if isinstance(self.cv, LeaveOneOut):
            raise ParameterError(
                "CalibratedClassifierCV: cv=LeaveOneOut cross-validation does not allow all classes to be present in "
                "test splits, because each has one row; give cv=5, or StratifiedKFold."
            )

    def _split(self, X: Any, y: Array, params: dict[str, Any]) -> list[tuple[Array, Array]]:
        return splits(self.cv, X, y, classifier=True, **params)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Predict the probability of each class: the mean over the calibrated classifiers."""
        if "calibrated_classifiers_" not in vars(self):
            check_is_fitted(self)
        total = self.calibrated_classifiers_[0].predict_proba(X)
        for one in self.calibrated_classifiers_[1:]:
            total += one.predict_proba(X)
        total /= len(self.calibrated_classifiers_)
        return total.astype(float_type(X), copy=False)

    def predict_bounds(self, X: Any) -> np.ndarray:
        """Return two probabilities of the second class for each row; one of them is calibrated (Venn and Abers).

        Let the true class choose between them: the first number for a row of the first class, the second for a row of
        the second class. The chosen number is calibrated exactly, whatever the classifier, if rows are exchangeable.
        Far apart, they say that too few rows calibrate such scores. This is proved for a
        single fold or a frozen classifier, and not for the averages over several folds.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, 2)
        """
        if "calibrated_classifiers_" not in vars(self):
            check_is_fitted(self)
        if self.method != "venn_abers" or len(self.classes_) != 2:
            raise UnsupportedError(
                f"CalibratedClassifierCV: predict_bounds needs method='venn_abers' and two classes; got "
                f"{self.method!r} and {len(self.classes_)} classes."
            )
        parts = [
            one.calibrators[0].bound(read_scores(one.estimator, X, 2, self.method)[:, 0])
            for one in self.calibrated_classifiers_
        ]
        return np.mean([np.column_stack(pair) for pair in parts], axis=0)

    def predict(self, X: Any) -> np.ndarray:
        """Predict the most probable class of each row, which may differ from that of the classifier."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def get_metadata_routing(self) -> Any:
        """Return the routes of metadata: to the classifier, and to the splitter.

        Returns
        -------
        MetadataRouter
        """
        into_fit = MethodMapping().add(caller="fit", callee="fit")
        into_split = MethodMapping().add(caller="fit", callee="split")
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(estimator=self._choose_base(), method_mapping=into_fit)
            .add(splitter=self.cv, method_mapping=into_split)
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._choose_base())
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        return tags


def _are_records(X: Any) -> bool:
    """Return whether rows are texts, dictionaries and the like, which the classifier alone can read."""
    return (isinstance(X, list | tuple) and len(X) > 0 and isinstance(X[0], str | dict)) or (
        isinstance(X, np.ndarray) and X.ndim == 1 and X.dtype.kind in "OU"
    )


class _Plan:
    """What the fits to all folds share."""

    def __init__(
        self, base: Any, X: Any, y: Array, classes: Array, method: str, weight: Array | None, params: dict[str, Any]
    ) -> None:
        self.base, self.X, self.y, self.classes = base, X, y, classes
        self.method, self.weight, self.params = method, weight, params

    def fit_copy(self, train: Array) -> Any:
        """Return a copy of the classifier, fitted to some rows."""
        copy = clone(self.base)
        return copy.fit(take_rows(self.X, train), self.y[train], **of_rows(self.params, train, len(self.y)))

    def fit_pair(self, train: Array, test: Array) -> CalibratedClassifier:
        """Return a classifier fitted to the training rows of a fold, calibrated by the others."""
        copy = self.fit_copy(train)
        return self.calibrate(copy, read_scores(copy, take_rows(self.X, test), len(self.classes), self.method), test)

    def calibrate(self, estimator: Any, scores: Array, rows: Array) -> CalibratedClassifier:
        """Return a fitted classifier, calibrated by the scores of some rows."""
        weight = None if self.weight is None else self.weight[rows]
        return fit_calibrators(estimator, scores, self.y[rows], self.classes, self.method, weight)

    def score_fold(self, train: Array, test: Array) -> Array:
        """Return the scores of the test rows of a fold, a column for each class; the fold may lack some of them."""
        copy, n_classes = self.fit_copy(train), len(self.classes)
        scores = read_scores(copy, take_rows(self.X, test), n_classes, self.method)
        if n_classes == 2 or len(copy.classes_) == n_classes:
            return scores
        # A class that a fold has not seen is as unlikely as can be.
        least = 0.0 if find_method(copy, self.method) == "predict_proba" else float(scores.min())
        whole = np.full((len(test), n_classes), least)
        whole[:, np.searchsorted(self.classes, copy.classes_)] = scores
        return whole

    def solve_whole(self, state: BagState | None, folds: list[tuple[Array, Array]], threads: int) -> Solver[BagState]:
        """Fit one classifier to all rows, and calibrate it by the scores of the folds: one step."""
        if state is not None:
            return Solution(state, True, _certify(state))
        rows = np.arange(len(self.y))

        def fit_one(number: int) -> Any:
            """Return the scores of a fold, or after the last one the classifier of all rows."""
            if number < len(folds):
                return self.score_fold(*folds[number])
            return clone(self.base).fit(self.X, self.y, **self.params)

        parts: list[Any] = []
        while len(parts) <= len(folds):
            parts += yield Dense(fit_batch(fit_one, len(parts), len(folds) + 1, threads), heavy=True)
        *scores, estimator = parts
        if folds:
            order = np.concatenate([test for _, test in folds])
            if len(np.unique(order)) != len(rows) or len(order) != len(rows):
                raise DataError(
                    "CalibratedClassifierCV: without ensemble each row must be in one test part; the folds hold some "
                    "rows twice or never. Give a partition, or set ensemble=True."
                )
            joined = np.concatenate(scores)
        else:
            order, joined = rows, read_scores(estimator, self.X, len(self.classes), self.method)
        found = yield Dense(partial(self.calibrate, estimator, joined, order), heavy=True)
        state = BagState((found,))
        yield Step(1.0, state, found.certificate)
        return Solution(state, True, found.certificate)


def _certify(state: BagState) -> Any:
    return find_worst([one.certificate for one in state.members])
