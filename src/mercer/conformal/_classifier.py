"""Conformal sets of classes around the probabilities of any classifier."""

from typing import Any, ClassVar

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer._base.folds import FOLDS, splits
from mercer._base.parameter import Boolean, Choice, Integer, Real, parameter
from mercer._base.scoring import ClassifierMixin
from mercer._base.wrapping import (
    fit_members,
    take_rows,
)
from mercer._stored import Stored, integers
from mercer.conformal._model import ConformalModel
from mercer.conformal._quantile import Quantiles, check_level
from mercer.errors import DataError, ParameterError, UnsupportedError

# Scores are sums and differences of probabilities; those that differ by less are equal.
_ROUNDING = 1e-12


class ConformalClassifier(ClassifierMixin, ConformalModel):
    r"""Sets of classes that hold the true one with a given probability.

    A set holds the classes whose score is at most the k-th smallest score of n rows that the model was not fitted to,
    k = ceil((n + 1) coverage). With the probabilities :math:`p_1 \ge p_2 \ge \dots` of a row in order, the score of the
    class at place r is

    .. math:: 1 - p_r \;(\text{lac}), \qquad \sum_{q \le r} p_q \;(\text{aps}), \qquad
        \sum_{q \le r} p_q + \lambda \max(0, r - r_0) \;(\text{raps})

    Whatever the model and the distribution, the true class is in the set with a probability of at least `coverage`, if
    rows are exchangeable.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    estimator_ : estimator
        The model behind ``predict`` and ``predict_proba``.
    estimators_ : list of estimators
        The copies fitted to folds, for ``method="cross"``; else empty.
    scores_ : ndarray of shape (n_scores,)
        Of the true classes of rows that the model had not seen, in their order.
    repeats_ : ndarray of shape (n_scores,)
        The weight of each row, as repetitions.
    true_ : ndarray of int of shape (n_scores,)
        The index of the true class of each.
    fold_ : ndarray of int of shape (n_scores,)
        Which copy has not seen the row; all zero for ``method="split"``.
    groups_, shift_ : ndarray of shape (n_scores,) or None
        What `condition` and `likelihood_ratio` say of them.
    history_, converged_, n_iter_, certificate_
        One step, whose objective is the mean score. The estimator's own are in ``estimator_``.

    Notes
    -----
    ``"split"`` promises `coverage`; ``"cross"``, which uses all rows for both purposes, 1 - 2 (1 - coverage), and comes
    near `coverage` in practice. The promise is an average over classes and rows: ``class_conditional=True`` makes it to
    each class, `condition` to each group. ``"lac"`` has the smallest sets and may leave some empty, which it then fills
    with the most probable class; ``"aps"`` and ``"raps"`` give hard rows larger sets. It fails where new rows differ
    from those of the fit (give `likelihood_ratio`), and where rows depend on each other.

    References
    ----------
    M. Sadinle, J. Lei and L. Wasserman, *Least ambiguous set-valued classifiers with bounded error levels*, Journal of
    the American Statistical Association 114 (2019).

    Y. Romano, M. Sesia and E. J. Candes, *Classification with valid and adaptive coverage*, NeurIPS (2020).

    A. N. Angelopoulos, S. Bates, J. Malik and M. I. Jordan, *Uncertainty sets for image classifiers using conformal
    prediction*, ICLR (2021).

    Examples
    --------
    >>> from mercer.conformal import ConformalClassifier, check_coverage
    >>> from mercer.datasets import load_fish
    >>> fish = load_fish()
    >>> model = ConformalClassifier(method="cross", random_state=0).fit(fish.data, fish.species)
    >>> sets = model.predict_set(fish.data, coverage=0.95)
    >>> check_coverage(fish.species, sets, classes=model.classes_).coverage >= 0.95
    True
    """

    method: str = parameter(
        Choice("split", "cross"),
        default="split",
        after="estimator",
        doc="Where the scores come from: rows kept apart, or folds.",
    )
    conformity: str = parameter(
        Choice("lac", "aps", "raps"),
        default="lac",
        doc="One less the probability of the class; the probability of all classes that are at least as likely; or "
        "that with a price on large sets.",
    )
    cv: Any = parameter(
        FOLDS,
        default=None,
        after="calibration_size",
        doc="Folds of ``method='cross'``: a number, a splitter, or the splits; None means 5.",
    )
    class_conditional: bool = parameter(
        Boolean(), default=False, doc="Whether each class has a quantile, and so a promise, of its own (Mondrian)."
    )
    regularization: float = parameter(Real(0), default=0.01, doc="Lambda of ``conformity='raps'``.")
    free_classes: int = parameter(
        Integer(0), default=1, doc="r_0 of ``conformity='raps'``: the classes of a set that cost nothing."
    )
    _documents = {
        "estimator": (
            "A classifier with ``predict_proba``: of mercer, of scikit-learn, or any other; None takes logistic "
            "regression. A FrozenEstimator is not fitted again: all rows of the fit then calibrate it."
        ),
        "coverage": "What ``predict_set`` takes unless it is told otherwise.",
    }

    _stored: ClassVar[dict[str, Stored]] = {
        "true_": integers("scores", low=0, below="classes"),
        "fold_": integers("scores", low=0),
    }
    _depends_on_units = ("columns", "scale", "place")

    def _check_choice(self) -> None:
        """Raise UnsupportedError if parameters contradict each other."""
        given = [
            name
            for name, value in (
                ("class_conditional", self.class_conditional),
                ("condition", self.condition is not None),
                ("likelihood_ratio", self.likelihood_ratio is not None),
            )
            if value
        ]
        if len(given) > 1:
            raise UnsupportedError(f"ConformalClassifier: {' and '.join(given)} exclude each other; give one.")
        if self.method == "cross" and given not in ([], ["class_conditional"]):
            raise UnsupportedError(f"ConformalClassifier: {given[0]} needs method='split'; got 'cross'.")
        if self.method == "cross" and isinstance(self.estimator, FrozenEstimator):
            raise UnsupportedError(
                "ConformalClassifier: a FrozenEstimator is not fitted to folds; take method='split'."
            )

    def _member(self) -> Any:
        if self.estimator is None:
            from mercer.linear_model import LogisticRegression

            return LogisticRegression()
        if not hasattr(self.estimator, "predict_proba"):
            raise ParameterError(
                f"ConformalClassifier: estimator must have predict_proba; got {type(self.estimator).__name__}. Wrap it "
                f"in CalibratedClassifierCV."
            )
        return self.estimator

    def _read_targets(self, y: Any) -> np.ndarray:
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        return y

    def _score_unseen(self, X: Any, y: np.ndarray, weight: Any) -> tuple[np.ndarray, np.ndarray]:
        rows, shares, self.fold_ = (self._split if self.method == "split" else self._cross)(X, y, weight)
        self.true_ = self._find_labels(y[rows])
        return self._score(shares)[np.arange(len(rows)), self.true_], rows

    def _split(self, X: Any, y: np.ndarray, weight: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Fit to some rows; return the others, their probabilities, and the copy that gave them."""
        if isinstance(self.estimator, FrozenEstimator):
            self.estimator_ = fit_members(self, [self.estimator], X, y, None)[0]
            kept = np.arange(len(y))
        else:
            train, kept = self._deal_rows(len(y))
            given = None if weight is None else weight[train]
            self.estimator_ = fit_members(self, [self._member()], take_rows(X, train), y[train], given)[0]
        self.classes_ = np.asarray(self.estimator_.classes_)
        return kept, _find_shares(self.estimator_, take_rows(X, kept)), np.zeros(len(kept), dtype=np.int64)

    def _cross(self, X: Any, y: np.ndarray, weight: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Fit to all rows and to folds; return all rows, their probabilities, and the copy that gave them."""
        folds = splits(5 if self.cv is None else self.cv, X, y, classifier=True)
        parts = [*(train for train, _ in folds), np.arange(len(y))]
        *self.estimators_, self.estimator_ = fit_members(self, [self._member()] * len(parts), X, y, weight, parts)
        self.classes_ = np.asarray(self.estimator_.classes_)
        for member, (train, _) in zip(self.estimators_, folds):
            if len(member.classes_) < len(self.classes_):
                missing = np.setdiff1d(self.classes_, y[train])
                raise DataError(
                    f"ConformalClassifier: a fold has no row of class {str(missing[0])!r} to fit to. Give fewer folds, "
                    f"or more rows of that class."
                )
        rows = np.concatenate([test for _, test in folds])
        shares = np.concatenate([_find_shares(m, take_rows(X, test)) for m, (_, test) in zip(self.estimators_, folds)])
        fold = np.repeat(np.arange(len(folds)), [len(test) for _, test in folds])
        order = np.argsort(rows, kind="stable")
        return rows[order], shares[order], fold[order]

    def _find_labels(self, y: np.ndarray) -> np.ndarray:
        place = np.searchsorted(self.classes_, y).clip(0, len(self.classes_) - 1)
        unknown = self.classes_[place] != y
        if unknown.any():
            raise DataError(
                f"ConformalClassifier: the model does not know the class {str(y[unknown][0])!r} of a row kept for "
                f"calibration. Give more rows of it, or stratified folds."
            )
        return np.asarray(place, dtype=np.int64)

    def _score(self, shares: np.ndarray) -> np.ndarray:
        """Return the score of each class of each row."""
        if self.conformity == "lac":
            return 1.0 - shares
        order = np.argsort(-shares, axis=1, kind="stable")
        sums = np.cumsum(np.take_along_axis(shares, order, axis=1), axis=1)
        if self.conformity == "raps":
            sums += self.regularization * np.maximum(0, np.arange(1, shares.shape[1] + 1) - self.free_classes)
        scores = np.empty_like(sums)
        np.put_along_axis(scores, order, sums, axis=1)
        return scores

    def predict_proba(self, X: Any) -> np.ndarray:
        """Predict class probabilities, as the model does."""
        if "estimator_" not in vars(self):
            check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """Predict the most probable class of each row."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def predict_set(self, X: Any, coverage: float | None = None) -> np.ndarray:
        """Return sets of classes that hold the true one with a given probability.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        coverage : float or None, default=None
            The probability, in (0, 1); None takes the parameter of the class.

        Returns
        -------
        ndarray of bool of shape (n_samples, n_classes)
            Which classes are in the set of each row, in the order of ``classes_``. The most probable class always is.
        """
        if "estimator_" not in vars(self):
            check_is_fitted(self)
        level = check_level(type(self).__name__, self.coverage if coverage is None else coverage)
        shares = self.predict_proba(X).astype(np.float64)
        if self.method == "cross":
            kept = self._rank(X, level)
        else:
            most = (
                self._find_class_reach(level)
                if self.class_conditional
                else self._find_reach(X, level, len(shares))[:, None]
            )
            kept = self._score(shares) <= most + _ROUNDING
        kept[np.arange(len(shares)), shares.argmax(axis=1)] = True
        return kept

    def _find_class_reach(self, level: float) -> np.ndarray:
        """Return the quantile of the scores of each class."""
        parts = [self.true_ == place for place in range(len(self.classes_))]
        names = [f"rows of class {str(name)!r}" for name in self.classes_]
        return np.array(
            [
                self._find_quantile(Quantiles(self.scores_[part], self.repeats_[part]), level, name)
                for part, name in zip(parts, names, strict=True)
            ]
        )

    def _rank(self, X: Any, level: float) -> np.ndarray:
        """Return which classes have a score that is among the ranks allowed, each copy beside its own rows."""
        k = len(self.classes_)
        above: Any = 0.0
        totals: Any = 0.0
        for number, member in enumerate(self.estimators_):
            scores = self._score(_find_shares(member, X))
            mine = self.fold_ == number
            counts = np.empty_like(scores)
            size = np.empty(k)
            for place in range(k):
                chosen = mine & (self.true_ == place) if self.class_conditional else mine
                one = Quantiles(self.scores_[chosen], self.repeats_[chosen])
                size[place] = one.total
                before = np.searchsorted(one.scores, scores[:, place] - _ROUNDING, side="left")
                counts[:, place] = one.total - np.append(0.0, one.reached)[before]
            above, totals = above + counts, totals + size
        # The p-value of a class is the share of rows, with the new one, whose score is at least as large.
        return np.asarray((above + 1.0) / (totals + 1.0) > 1.0 - level - _ROUNDING)


def _find_shares(model: Any, X: Any) -> np.ndarray:
    """Return the class probabilities as float64, with rows that sum to one."""
    shares = np.asarray(model.predict_proba(X), dtype=np.float64)
    return shares / shares.sum(axis=1, keepdims=True)
