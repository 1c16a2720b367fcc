"""What conformal regressors and classifiers share: rows kept apart, their scores, groups and shifts."""

import math
import time
import warnings
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags

from mercer._base import Estimator, fitting, seed_sequence
from mercer._base.parameter import Function, HasFit, Integer, Nothing, Real, Seed, attribute, parameter
from mercer._base.validation import check_weight
from mercer._base.wrapping import check_member_table, check_wrapped_place, one_step_record, take_rows
from mercer._stored import Stored, floats, labels, members, part
from mercer.conformal._quantile import Quantiles
from mercer.errors import DataError

_STATEMENT = "Coverage is a promise about exchangeable rows; nothing here bounds the error of the model itself."


# Where fitted models of mercer and scikit-learn keep rows of their fit.
_KEPT_ROWS = ("_fit_X", "X_fit_", "X_train_", "support_vectors_")


class ConformalModel(Estimator):
    """A model, the scores of rows that it has not seen, and what the user says of groups and shifts."""

    _needs_rows: ClassVar[str] = "it fits its members to rows drawn from all of them"

    estimator: Any = parameter(HasFit() | Nothing(), default=None, kw_only=False)
    coverage: float = parameter(Real(0, 1, closed="neither"), default=0.9)
    calibration_size: Any = parameter(
        Integer(1) | Real(0, 1, closed="neither"),
        default=0.25,
        doc="Rows kept apart for ``method='split'``: a share, or a number.",
    )
    condition: Any = parameter(
        Function() | Nothing(),
        default=None,
        doc="``condition(X)`` returns a group for each row; each group has a quantile, and so a promise, of its own. "
        "For ``method='split'``.",
    )
    likelihood_ratio: Any = parameter(
        Function() | Nothing(),
        default=None,
        doc="``likelihood_ratio(X)`` returns how much more likely each row is among new rows than among those of the "
        "fit (covariate shift). For ``method='split'``.",
    )
    random_state: Any = parameter(Seed(), default=None, doc="The seed of the rows kept apart.")

    estimator_: Any = attribute()
    estimators_: Any = attribute()
    scores_: np.ndarray = attribute()
    repeats_: np.ndarray = attribute()
    groups_: Any = attribute()
    shift_: Any = attribute()

    # Whether targets are numbers; else they are labels.
    _is_of_numbers: ClassVar[bool] = False
    _objective_moves: ClassVar[str | None] = None
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "the model is fitted to a copy of the rows that are not for calibration",
        "row order": "rows are kept apart by their numbers: equal in distribution only",
        "weights": "copies of a row may be kept apart from each other: equal in distribution only",
    }
    _check_exceptions: ClassVar[dict[str, str]] = Estimator._check_exceptions | {
        f"check_sample_weight_equivalence_on_{kind}_data": "rows are kept apart by their numbers"
        for kind in ("dense", "sparse")
    }
    _stored: ClassVar[dict[str, Stored]] = {
        "estimator_": part("BaseEstimator"),
        "estimators_": members(part("BaseEstimator")),
        "scores_": floats("scores"),
        "repeats_": floats("scores"),
        "groups_": labels("scores | none"),
        "shift_": floats("scores | none"),
    }

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model, and score rows that it has not seen.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, as the estimator takes them.
        y : array-like of shape (n_samples,)
            Numbers for a regressor, labels for a classifier.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights; a weight of two is the row twice, in the fit and among the scores.
        """
        begun = time.perf_counter()
        check_wrapped_place(self, X, y)
        self._check_choice()
        checked, y = check_member_table(self, self._member(), X, y, numbers=self._is_of_numbers)
        # Tables stay tables: a pipeline may choose its columns by name.
        X = X if hasattr(X, "columns") else checked
        y = self._read_targets(y)
        weight = check_weight(self, sample_weight, len(y))
        self.estimators_ = []
        self.scores_, rows = self._score_unseen(X, y, weight)
        if isinstance(self.estimator, FrozenEstimator) and holds_rows(self.estimator.estimator, X):
            warnings.warn(
                f"{type(self).__name__}: the frozen {type(self.estimator.estimator).__name__} was fitted to rows that "
                f"are given for calibration; its errors on them are too small, and so are intervals and sets. Give "
                f"rows that it has not seen.",
                UserWarning,
                stacklevel=3,
            )
        self.repeats_ = np.ones(len(rows)) if weight is None else np.asarray(weight, dtype=np.float64)[rows]
        self.groups_ = self.shift_ = None
        if self.condition is not None:
            self.groups_ = self._ask("condition", self.condition, take_rows(X, rows))
        if self.likelihood_ratio is not None:
            self.shift_ = self.repeats_ * self._weigh(take_rows(X, rows))
        for name, value in one_step_record(float(self.scores_.mean()), begun, _STATEMENT).items():
            setattr(self, name, value)
        return self

    @abstractmethod
    def _check_choice(self) -> None:
        """Raise UnsupportedError if parameters contradict each other."""

    @abstractmethod
    def _member(self) -> Any:
        """Return the estimator to fit."""

    @abstractmethod
    def _read_targets(self, y: Any) -> np.ndarray:
        """Return the targets as one column."""

    @abstractmethod
    def _score_unseen(self, X: Any, y: np.ndarray, weight: Any) -> tuple[np.ndarray, np.ndarray]:
        """Fit the model; return the scores of rows that it has not seen, and the numbers of these rows."""

    def _deal_rows(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of the fit and those kept apart, both in their order."""
        size = self.calibration_size
        kept = math.ceil(size * n) if isinstance(size, float) else int(size)
        if not 0 < kept < n:
            raise DataError(
                f"{type(self).__name__}: calibration_size={size!r} keeps {kept} rows apart of n_samples={n}, which "
                f"leaves none for the fit. Give more rows, or use method='cv+'."
            )
        order = np.random.default_rng(seed_sequence(self.random_state)).permutation(n)
        return np.sort(order[kept:]), np.sort(order[:kept])

    def _ask(self, name: str, function: Callable[[Any], Any], X: Any) -> np.ndarray:
        """Return what a function of the user says of each row; raise DataError if it does not say one thing of each."""
        values = np.asarray(function(X))
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        if values.shape != (n,):
            raise DataError(
                f"{type(self).__name__}: {name} must return a value for each of {n} rows; got the shape {values.shape}."
            )
        return values

    def _weigh(self, X: Any) -> np.ndarray:
        """Return the likelihood ratios of rows; raise DataError unless they are finite and not negative."""
        values = self._ask("likelihood_ratio", self.likelihood_ratio, X).astype(np.float64)
        if not np.isfinite(values).all() or (values < 0).any():
            raise DataError(
                f"{type(self).__name__}: likelihood_ratio must return finite numbers that are not negative; got "
                f"{values[~np.isfinite(values) | (values < 0)][0]:g}."
            )
        return values

    def _find_reach(self, X: Any, level: float, n_rows: int) -> np.ndarray:
        """Return the quantile of scores that belongs to each row."""
        if self.likelihood_ratio is not None:
            return _find_shifted(self.scores_, self.shift_, self._weigh(X), level)
        if self.condition is None:
            return np.full(n_rows, self._find_quantile(Quantiles(self.scores_, self.repeats_), level, "rows"))
        groups = self._ask("condition", self.condition, X)
        # Nothing can be promised to a group without scores.
        strange = np.setdiff1d(groups, self.groups_)
        if len(strange):
            raise DataError(
                f"{type(self).__name__}: no row kept for calibration is in the group {str(strange[0])!r} of condition. "
                f"Keep more rows, or join groups."
            )
        reach = np.empty(n_rows)
        for group in np.unique(groups):
            inside = self.groups_ == group
            own = Quantiles(self.scores_[inside], self.repeats_[inside])
            reach[groups == group] = self._find_quantile(own, level, f"rows of the group {str(group)!r}")
        return reach

    def _find_quantile(self, scores: Quantiles, level: float, what: str) -> float:
        """Return the quantile of scores; warn where there are too few, so that nothing short of everything is sure."""
        reach = scores.find(level)
        if math.isinf(reach):
            warn_of_few(type(self).__name__, scores.total, level, what)
        return reach

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._member())
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        return tags


def holds_rows(model: Any, X: Any) -> bool:
    """Return whether a fitted model keeps training rows, as neighbours and machines do, that are among some rows."""
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    kept = next((vars(last)[name] for name in _KEPT_ROWS if name in vars(last)), None)
    rows = model[:-1].transform(X) if last is not model else X
    if kept is None or issparse(kept) or issparse(rows) or np.ndim(kept) != 2:
        return False
    kept, rows = np.asarray(kept), np.asarray(rows)
    if kept.shape[1:] != rows.shape[1:] or not len(kept) or rows.dtype.kind not in "fiu":
        return False
    known = {one.tobytes() for one in np.ascontiguousarray(kept, dtype=np.float64)}
    shared = sum(one.tobytes() in known for one in np.ascontiguousarray(rows, dtype=np.float64))
    return shared > 0.5 * min(len(kept), len(rows))


def warn_of_few(subject: str, total: float, level: float, what: str) -> None:
    """Warn that so few scores promise a coverage only for all that can be."""
    needed = math.ceil(round(level / (1.0 - level), 9))
    warnings.warn(
        f"{subject}: a coverage of {level:g} needs {needed} {what} kept for calibration; there are {total:g}, so that "
        f"every value is allowed. Keep more rows, or ask for less.",
        UserWarning,
        stacklevel=4,
    )


def _find_shifted(scores: np.ndarray, shares: np.ndarray, own: np.ndarray, coverage: float) -> np.ndarray:
    """Return the quantile of weighted scores for new rows with their own weights, whose scores may be infinite."""
    order = np.argsort(scores, kind="stable")
    reached = np.cumsum(shares[order])
    total = reached[-1] + own
    place = np.searchsorted(reached, coverage * total * (1.0 - 1e-12))
    values = np.append(scores[order], np.inf)
    return np.asarray(np.where(total > 0, values[place], np.inf))
