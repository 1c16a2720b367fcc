"""Conformal intervals around the predictions of any regressor."""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer._base import seed_sequence
from mercer._base.folds import FOLDS, splits
from mercer._base.parameter import Choice, HasFit, Integer, Nothing, attribute, parameter
from mercer._base.scoring import RegressorMixin
from mercer._base.wrapping import (
    fit_members,
    take_rows,
)
from mercer._stored import Stored, floats, integers, part
from mercer.conformal._exact import find_interval, find_residuals
from mercer.conformal._model import ConformalModel, warn_of_few
from mercer.conformal._quantile import check_level, find_rank
from mercer.errors import DataError, ParameterError, UnsupportedError

# Candidate ends that are held at a time: 32 MB of predictions of the members.
_HELD = 4_000_000


class ConformalRegressor(RegressorMixin, ConformalModel):
    r"""Intervals around the predictions of a regressor that hold the truth with a given probability.

    Rows that a model was not fitted to say how wrong it is. With their scores :math:`s_i` and k = ceil((n + 1)
    coverage), the interval of a new row holds all y whose score is at most the k-th smallest. For scores :math:`|y -
    \hat\mu(x)|` that is :math:`\hat\mu(x) \pm s_{(k)}`. Whatever the model and the distribution, the probability that y
    is in the interval is at least `coverage`, if rows are exchangeable.

    Attributes
    ----------
    estimator_ : estimator
        The model behind ``predict``: fitted to the rows that are not for calibration, or to all rows where scores come
        from copies.
    estimators_ : list of estimators
        The copies behind ``"cv+"``, ``"jackknife+"`` and its bootstrap form; else empty.
    scale_estimator_, upper_estimator_ : estimator or None
        The model of the size of residuals, for ``conformity="normalized"``, and of the upper quantile, for
        ``"quantile"``.
    scores_ : ndarray of shape (n_scores,)
        Of the rows that the model had not seen, in their order.
    repeats_ : ndarray of shape (n_scores,)
        The weight of each of them, as repetitions.
    groups_, shift_ : ndarray of shape (n_scores,) or None
        What `condition` and `likelihood_ratio` say of them.
    history_, converged_, n_iter_, certificate_
        One step, whose objective is the mean score. The estimator's own are in ``estimator_``.

    Notes
    -----
    What is promised, for exchangeable rows:

    ======================================  =====================================  =========================
    method                                  coverage is at least                   fits
    ======================================  =====================================  =========================
    ``"split"``                             coverage                               1
    ``"full"``                              coverage, with all rows                1, and n m steps
    ``"cv+"``                               1 - 2 (1 - coverage), in practice      `cv` + 1
                                            near coverage
    ``"jackknife+"``                        1 - 2 (1 - coverage), in practice      n + 1
                                            near coverage
    ``"jackknife+-after-bootstrap"``        1 - 2 (1 - coverage), in practice      `n_resamples` + 1
                                            near coverage
    ======================================  =====================================  =========================

    It is an average over new rows and over training sets: rows of one group, or those that are hard to predict, may be
    held less often, which `condition` and the other scores mend. It fails where new rows differ from those of the fit
    (give `likelihood_ratio`), where rows depend on each other (time series: :class:`AdaptiveConformal`; groups of rows:
    give folds that keep them together), or if the model was fitted to the calibration rows.

    References
    ----------
    V. Vovk, A. Gammerman and G. Shafer, *Algorithmic Learning in a Random World*, Springer (2005).

    R. Foygel Barber, E. J. Candes, A. Ramdas and R. J. Tibshirani, *Predictive inference with the jackknife+*, Annals
    of Statistics 49 (2021).

    B. Kim, C. Xu and R. Foygel Barber, *Predictive inference is free with the jackknife+-after-bootstrap*, NeurIPS
    (2020).

    Y. Romano, E. Patterson and E. J. Candes, *Conformalized quantile regression*, NeurIPS (2019).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.conformal import ConformalRegressor, check_coverage
    >>> from mercer.linear_model import Ridge
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(2000, 3))
    >>> y = X @ [1.0, 2.0, 3.0] + random.normal(size=2000)
    >>> model = ConformalRegressor(Ridge(), random_state=0).fit(X[:1000], y[:1000])
    >>> intervals = model.predict_interval(X[1000:], coverage=0.9)
    >>> check_coverage(y[1000:], intervals).holds(0.9)
    True
    """

    method: str = parameter(
        Choice("split", "full", "cv+", "jackknife+", "jackknife+-after-bootstrap"),
        default="split",
        after="estimator",
        doc="Where the scores come from: rows kept apart, all rows by exact refits, folds, single rows left out, or "
        "rows left out of bootstrap samples.",
    )
    conformity: str = parameter(
        Choice("absolute", "normalized", "quantile"),
        default="absolute",
        doc="``'absolute'`` residuals give intervals of one width. ``'normalized'`` ones are divided by a model of "
        "their size. ``'quantile'`` takes how far the value lies outside of two predicted quantiles.",
    )
    cv: Any = parameter(
        FOLDS,
        default=None,
        after="calibration_size",
        doc="Folds of ``method='cv+'``: a number, a splitter, or the splits; None means 10.",
    )
    n_resamples: int = parameter(Integer(2), default=30, doc="Bootstrap samples.")
    scale_estimator: Any = parameter(
        HasFit() | Nothing(),
        default=None,
        doc="Regressor of absolute residuals for ``conformity='normalized'``; None takes a copy of the estimator.",
    )
    _documents = {
        "estimator": (
            "A regressor of mercer, of scikit-learn, or any other; None takes ridge regression. A FrozenEstimator is "
            "not fitted again: with ``method='split'`` all rows of the fit then calibrate it."
        ),
        "coverage": (
            "What ``predict_interval`` takes unless it is told otherwise, and for ``conformity='quantile'`` the two "
            "quantiles that are fitted."
        ),
        "random_state": "The seed of the rows kept apart, and of bootstrap samples.",
    }

    _seen: Any = attribute()
    _rows: Any = attribute()
    _targets: Any = attribute()

    _is_of_numbers: ClassVar[bool] = True
    _stored: ClassVar[dict[str, Stored]] = {
        "scale_estimator_": part("BaseEstimator", "none"),
        "upper_estimator_": part("BaseEstimator", "none"),
        "_seen": integers("scores, * | none", low=0),
        "_rows": floats("scores, columns | none"),
        "_targets": floats("scores | none"),
    }
    _depends_on_units = ("columns", "scale")

    def _check_choice(self) -> None:
        """Raise UnsupportedError if parameters contradict each other."""
        if self.method != "split":
            for name, value, usual in (
                ("conformity", self.conformity, "absolute"),
                ("condition", self.condition, None),
                ("likelihood_ratio", self.likelihood_ratio, None),
            ):
                if value != usual:
                    raise UnsupportedError(
                        f"ConformalRegressor: {name}={value!r} needs method='split'; got {self.method!r}."
                    )
        if self.condition is not None and self.likelihood_ratio is not None:
            raise UnsupportedError("ConformalRegressor: condition and likelihood_ratio exclude each other; give one.")
        if isinstance(self.estimator, FrozenEstimator) and self.method not in ("split", "full"):
            raise UnsupportedError(
                f"ConformalRegressor: a FrozenEstimator is not fitted to folds; method must be 'split', got "
                f"{self.method!r}."
            )

    def _member(self) -> Any:
        if self.estimator is None:
            from mercer.linear_model import Ridge

            return Ridge()
        return self.estimator

    def _read_targets(self, y: Any) -> np.ndarray:
        return np.asarray(column_or_1d(y, warn=True), dtype=np.float64)

    def _score_unseen(self, X: Any, y: np.ndarray, weight: Any) -> tuple[np.ndarray, np.ndarray]:
        self.scale_estimator_ = self.upper_estimator_ = None
        self._seen = self._rows = self._targets = None
        return {"split": self._split, "full": self._follow}.get(self.method, self._leave_out)(X, y, weight)

    def _split(self, X: Any, y: np.ndarray, weight: Any) -> tuple[np.ndarray, np.ndarray]:
        """Fit to some rows, and score the others."""
        frozen = isinstance(self.estimator, FrozenEstimator)
        if frozen:
            train, kept = np.arange(len(y)), np.arange(len(y))
        else:
            train, kept = self._deal_rows(len(y))
        given = None if weight is None or frozen else weight[train]
        rows, targets = (X, y) if frozen else (take_rows(X, train), y[train])
        if self.conformity == "quantile":
            tail = (1.0 - self.coverage) / 2.0
            lower, upper = (_set_quantile(self._member(), share) for share in (tail, 1.0 - tail))
            self.estimator_, self.upper_estimator_ = fit_members(self, [lower, upper], rows, targets, given)
        else:
            self.estimator_ = fit_members(self, [self._member()], rows, targets, given)[0]
        unseen = take_rows(X, kept)
        if self.conformity == "normalized":
            size = np.abs(targets - self.predict(rows))
            scale = clone(self._member() if self.scale_estimator is None else self.scale_estimator)
            self.scale_estimator_ = fit_members(self, [scale], rows, size, given)[0]
        low, high, unit = self._describe(unseen)
        return np.maximum(low - y[kept], y[kept] - high) / unit, kept

    def _describe(self, X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return for each row the ends that a score of zero stands for, and the unit of scores."""
        low = _predict(self.estimator_, X)
        high = low if self.upper_estimator_ is None else _predict(self.upper_estimator_, X)
        if self.scale_estimator_ is None:
            return low, high, np.ones(len(low))
        size = _predict(self.scale_estimator_, X)
        # A predicted size that is not positive says nothing: the smallest one that does takes its place.
        positive = size[size > 0]
        least = 1e-3 * float(np.median(positive)) if len(positive) else 1.0
        return low, high, np.maximum(size, least)

    def _follow(self, X: Any, y: np.ndarray, weight: Any) -> tuple[np.ndarray, np.ndarray]:
        """Fit to all rows, and keep them: each new row is fitted with them."""
        if weight is not None and np.ptp(weight) > 0:
            raise UnsupportedError("ConformalRegressor: method='full' takes no sample_weight; repeat the rows.")
        self.estimator_ = fit_members(self, [self._member()], X, y, None)[0]
        if hasattr(X, "toarray"):
            raise UnsupportedError("ConformalRegressor: method='full' takes dense rows; got sparse ones. Use 'cv+'.")
        self._rows, self._targets = np.array(X, dtype=np.float64), y.copy()
        inner = self.estimator_.estimator if isinstance(self.estimator_, FrozenEstimator) else self.estimator_
        # Raises for a model that cannot be followed, before anything is asked of it.
        find_residuals(inner, self._rows, y, self._rows[:1])
        return np.abs(y - self.predict(X)), np.arange(len(y))

    def _leave_out(self, X: Any, y: np.ndarray, weight: Any) -> tuple[np.ndarray, np.ndarray]:
        """Fit copies to parts of the rows; score each row by the copies that have not seen it."""
        n = len(y)
        trains = self._draw_parts(X, y)
        members = fit_members(self, [self._member()] * (len(trains) + 1), X, y, weight, [*trains, np.arange(n)])
        *self.estimators_, self.estimator_ = members
        seen = np.zeros((n, len(trains)), dtype=np.int8)
        for number, train in enumerate(trains):
            seen[train, number] = 1
        kept = np.flatnonzero((seen == 0).any(axis=1))
        if not len(kept):
            raise DataError("ConformalRegressor: every row is in every sample; raise n_resamples.")
        self._seen = seen[kept]
        answers = np.column_stack([_predict(member, X) for member in self.estimators_])[kept]
        own = np.einsum("ij,ij->i", answers, _share_unseen(self._seen))
        return np.abs(y[kept] - own), kept

    def _draw_parts(self, X: Any, y: np.ndarray) -> list[np.ndarray]:
        """Return the rows that each copy is fitted to."""
        n = len(y)
        if self.method == "jackknife+-after-bootstrap":
            children = seed_sequence(self.random_state).spawn(self.n_resamples)
            return [np.sort(np.random.default_rng(child).integers(0, n, n)) for child in children]
        if n < 2:
            raise DataError(f"ConformalRegressor: method={self.method!r} needs two rows or more; got {n}.")
        cv = n if self.method == "jackknife+" else min(10, n) if self.cv is None else self.cv
        return [train for train, _ in splits(cv, X, y, classifier=False)]

    def predict(self, X: Any) -> np.ndarray:
        """Predict the targets, as the model does; between its two quantiles for ``conformity='quantile'``."""
        if "estimator_" not in vars(self):
            check_is_fitted(self)
        values = np.asarray(self.estimator_.predict(X))
        return values if self.upper_estimator_ is None else 0.5 * (values + self.upper_estimator_.predict(X))

    def predict_interval(self, X: Any, coverage: float | None = None) -> np.ndarray:
        """Return intervals that hold the truth with a given probability.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        coverage : float or None, default=None
            The probability, in (0, 1); None takes the parameter of the class.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Low and high ends; infinite where there are too few scores for the coverage.
        """
        if "estimator_" not in vars(self):
            check_is_fitted(self)
        level = check_level(type(self).__name__, self.coverage if coverage is None else coverage)
        if self.method == "full":
            return self._solve(X, level)
        if self.method != "split":
            return self._combine(X, level)
        low, high, unit = self._describe(X)
        reach = self._find_reach(X, level, len(low)) * unit
        # Quantiles may cross, and a negative score may shrink an interval to nothing: its middle is left.
        middle = 0.5 * (low + high)
        return np.column_stack([np.minimum(low - reach, middle), np.maximum(high + reach, middle)])

    def _combine(self, X: Any, level: float) -> np.ndarray:
        """Return the quantiles of what the copies predict, less and plus the scores of the rows they have not seen."""
        answers = np.column_stack([_predict(member, X) for member in self.estimators_])
        total = self.repeats_.sum()
        rank = find_rank(float(total), level)
        ends = np.empty((len(answers), 2))
        if rank > total:
            warn_of_few(type(self).__name__, float(total), level, "rows")
            ends[:] = (-np.inf, np.inf)
            return ends
        shares = _share_unseen(self._seen)
        step = max(1, _HELD // max(1, len(self.scores_)))
        for begin in range(0, len(answers), step):
            run = slice(begin, begin + step)
            centre = answers[run] @ shares.T
            # The k-th largest lower end is the k-th smallest of the negated ones.
            ends[run, 0] = -_find_each(self.scores_ - centre, self.repeats_, rank)
            ends[run, 1] = _find_each(self.scores_ + centre, self.repeats_, rank)
        return ends

    def _solve(self, X: Any, level: float) -> np.ndarray:
        inner = self.estimator_.estimator if isinstance(self.estimator_, FrozenEstimator) else self.estimator_
        new = np.asarray(X, dtype=np.float64)
        _predict(self.estimator_, X)  # checks the rows
        ends = np.empty((len(new), 2))
        step = max(1, _HELD // (4 * len(self._rows)))
        for begin in range(0, len(new), step):
            residuals = find_residuals(inner, self._rows, self._targets, new[begin : begin + step])
            for column in range(len(residuals.own_slope)):
                ends[begin + column] = find_interval(residuals, column, level)
        return ends

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.sparse and self.method != "full"
        return tags


def _predict(model: Any, X: Any) -> np.ndarray:
    return np.asarray(model.predict(X), dtype=np.float64).reshape(-1)


def _set_quantile(model: Any, share: float) -> Any:
    """Return a copy of a regressor that predicts a quantile."""
    copy = clone(model)
    known = copy.get_params(deep=False)
    if "quantile" in known:
        loss = {"loss": "quantile"} if "loss" in known else {}
        return copy.set_params(quantile=share, **loss)
    if "alpha" in known and known.get("loss") in ("quantile", "squared_error"):
        return copy.set_params(loss="quantile", alpha=share)
    raise ParameterError(
        f"ConformalRegressor: conformity='quantile' needs an estimator with a parameter quantile; got "
        f"{type(model).__name__}. Use QuantileRegressor or HistGradientBoostingRegressor."
    )


def _share_unseen(seen: np.ndarray) -> np.ndarray:
    """Return the shares by which each scored row averages the copies that have not seen it."""
    unseen = 1.0 - seen
    return np.asarray(unseen / unseen.sum(axis=1, keepdims=True))


def _find_each(values: np.ndarray, repeats: np.ndarray, rank: float) -> np.ndarray:
    """Return the value of a rank in each row, columns counted with their repetitions."""
    if (repeats == 1.0).all():
        place = int(rank) - 1
        return np.partition(values, place, axis=1)[:, place]
    order = np.argsort(values, axis=1, kind="stable")
    reached = np.cumsum(repeats[order], axis=1)
    place = (reached < rank - 1e-9).sum(axis=1)
    return values[np.arange(len(values)), order[np.arange(len(values)), place]]
