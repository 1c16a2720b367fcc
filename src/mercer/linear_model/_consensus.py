"""Random sample consensus: models of few rows, the one that most rows agree with, and a fit to those rows."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import sklearn
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from mercer._base import LimitedEstimator, fitting, seed_sequence
from mercer._base.folds import of_rows
from mercer._base.interface import MetaEstimatorMixin, MultiOutputMixin
from mercer._base.parameter import Choice, Function, HasFit, Integer, Nothing, Real, Seed, attribute, parameter
from mercer._base.scoring import RegressorMixin, compute_determination
from mercer._base.wrapping import check_member_rows
from mercer._plain import plain
from mercer._solver import Certificate, Dense, Solution, Solver, Step
from mercer._source import Source
from mercer._source.namespace import is_sparse_matrix
from mercer._source.threads import run_numbered
from mercer._stored import Stored, flags, integers, part
from mercer._types import Array
from mercer.errors import DataError, ParameterError
from mercer.linear_model._least_squares.least_squares import LinearRegression

_NO_BOUND = Certificate.none(
    "The rows were drawn at random: a larger consensus may exist; ``stop_probability`` says how likely a good draw is."
)
# Trials between two steps: fixed, so that the steps of a fit do not depend on the threads.
_BATCH = 16
# Predictions of a batch held at once.
_LARGEST = 2**22
_INFINITY = Real(math.inf, math.inf)


@plain
@dataclass(frozen=True, eq=False)
class ConsensusState:
    """The largest consensus so far (None before the first), its score, trials, skips, and trials that will suffice."""

    inliers: Any
    score: float
    n_trials: int
    no_inliers: int
    invalid_data: int
    invalid_model: int
    limit: float

    @property
    def n_skips(self) -> int:
        """Trials that gave no consensus."""
        return self.no_inliers + self.invalid_data + self.invalid_model


class RANSACRegressor(MetaEstimatorMixin, MultiOutputMixin, RegressorMixin, LimitedEstimator):
    """Regression that leaves out outliers, by random sample consensus.

    A trial fits the estimator to a few rows drawn at random, and counts the rows whose residual is at most
    ``residual_threshold``. The estimator is fitted to the rows of the largest count, among equals of the best score.
    With a share w of good rows and m rows a trial, one of k trials has good rows alone with probability
    1 - (1 - w^m)^k; trials end when that reaches ``stop_probability`` for the w seen so far.

    Attributes
    ----------
    estimator_ : estimator
        The estimator, fitted to the rows of the consensus.
    inlier_mask_ : ndarray of bool of shape (n_samples,)
        Which rows these are.
    n_trials_ : int
        Trials.
    n_skips_no_inliers_, n_skips_invalid_data_, n_skips_invalid_model_ : int
        Trials with a smaller consensus, and those that ``is_data_valid`` or ``is_model_valid`` refused.
    history_, converged_, n_iter_, certificate_
        How the fit went: a step for sixteen trials, whose objective is the size of the consensus so far.

    Notes
    -----
    Costs a fit to few rows and a prediction for all for each trial; least squares, the default, solves the equations of
    sixteen trials at once. Draws belong to the number of a trial: neither threads nor what others found change them.
    Rows in memory.

    References
    ----------
    M. Fischler and R. Bolles, Random sample consensus: a paradigm for model fitting with applications to image analysis
    and automated cartography, 1981.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linear_model import RANSACRegressor
    >>> x = np.arange(20.0)
    >>> y = 2.0 * x + 1.0
    >>> y[::5] = 100.0
    >>> model = RANSACRegressor(residual_threshold=1.0, random_state=0).fit(x[:, None], y)
    >>> round(float(model.predict([[3.0]])[0]), 6), int(model.inlier_mask_.sum())
    (7.0, 16)
    """

    _needs_rows: ClassVar[str] = "it fits its members to rows drawn from all of them"

    estimator: Any = parameter(
        HasFit() | Nothing(), default=None, kw_only=False, doc="The regressor; None takes LinearRegression."
    )
    min_samples: Any = parameter(
        Integer(1) | Real(0, 1) | Nothing(),
        default=None,
        doc="Rows of a trial: how many, or which share; None takes one more than the columns, for LinearRegression.",
    )
    residual_threshold: float | None = parameter(
        Real(0) | Nothing(),
        default=None,
        doc="The largest residual of a row of the consensus; None takes the median absolute deviation of the targets.",
    )
    is_data_valid: Any = parameter(
        Function() | Nothing(), default=None, doc="``is_data_valid(X, y)`` says whether a trial may use these rows."
    )
    is_model_valid: Any = parameter(
        Function() | Nothing(),
        default=None,
        doc="``is_model_valid(model, X, y)`` says whether the model of a trial counts.",
    )
    max_trials: Any = parameter(Integer(0) | _INFINITY, default=100, doc="The most trials.")
    max_skips: Any = parameter(Integer(0) | _INFINITY, default=math.inf, doc="The most trials without a consensus.")
    stop_n_inliers: Any = parameter(
        Integer(0) | _INFINITY, default=math.inf, doc="The size of a consensus that ends the trials."
    )
    stop_score: float = parameter(Real(), default=math.inf, doc="The score of a consensus that ends the trials.")
    stop_probability: float = parameter(
        Real(0, 1), default=0.99, doc="The probability of a trial with good rows alone that ends the trials."
    )
    loss: Any = parameter(
        Choice("absolute_error", "squared_error") | Function(),
        default="absolute_error",
        doc="The residual of a row, summed over targets; or ``loss(y, predicted)``, which returns one for each row.",
    )
    random_state: Any = parameter(Seed(), default=None, doc="The seed; each trial has a stream of its own.")

    estimator_: Any = attribute()

    _objective_moves: ClassVar[str | None] = "up"
    _depends_on_units = ("columns",)
    _checks_resumed: ClassVar[bool] = False
    _takes_sparse = True
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "the rows of the consensus are copied for the estimator, which may be of any kind",
        "row order": "rows are drawn by their numbers: equal in distribution only",
        "weights": "rows are drawn as often whatever they weigh: weights reach the fits alone",
    }
    _stored: ClassVar[dict[str, Stored]] = {
        "estimator_": part("BaseEstimator"),
        "inlier_mask_": flags("rows"),
        **{
            name: integers(low=0)
            for name in ("n_trials_", "n_skips_no_inliers_", "n_skips_invalid_data_", "n_skips_invalid_model_")
        },
    }

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> "RANSACRegressor":
        """Find the largest consensus, and fit the estimator to it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights, for the fits of the estimator.
        **fit_params : dict
            Metadata for the ``fit`` of the estimator, through scikit-learn's routing.
        """
        source = self._open(
            X, y, sample_weight, targets="numbers", accept_sparse="csr", ensure_all_finite=False, ensure_min_samples=1
        )
        plan = self._plan(source, sample_weight, fit_params)
        outcome = self._drive(
            lambda start: plan.solve(start, self._threads()),
            source,
            fitted=plan.list_attributes,
            max_steps=None if math.isinf(self.max_trials) else -(-int(self.max_trials) // _BATCH),
        )
        if outcome.state.n_skips > self.max_skips:
            warnings.warn(
                "RANSAC found a valid consensus set but exited early due to skipping more iterations than `max_skips`. "
                "See estimator attributes for diagnostics (n_skips*).",
                ConvergenceWarning,
                stacklevel=4,
            )
        self._conclude(outcome)
        return self

    def _plan(self, source: Source, sample_weight: Any, fit_params: dict[str, Any]) -> "_Trials":
        base = LinearRegression() if self.estimator is None else self.estimator
        rows, y, n = source.whole(), source.y, source.n_rows
        if self.min_samples is None:
            if type(base).__name__ != "LinearRegression":
                raise ParameterError(
                    f"RANSACRegressor: `min_samples` needs to be explicitly set when estimator is not a "
                    f"LinearRegression; got None for {type(base).__name__}. Give the rows that determine its model."
                )
            size = rows.shape[1] + 1
        elif isinstance(self.min_samples, float | np.floating) and self.min_samples < 1:
            size = max(1, math.ceil(self.min_samples * n))
        else:
            size = int(self.min_samples)
        if size > n:
            raise DataError(
                f"RANSACRegressor: `min_samples` may not be larger than number of samples: n_samples = {n}; got "
                f"{size}. Lower it, or give more rows."
            )
        if sample_weight is not None and not has_fit_parameter(base, "sample_weight"):
            raise DataError(
                f"{type(base).__name__} does not support sample_weight. Sample weights are only used for the "
                f"calibration itself. Leave them out, or take another estimator."
            )
        given = fit_params if sample_weight is None else fit_params | {"sample_weight": source.weight}
        into_fit, into_score = given, {}
        if sklearn.get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", **given) if given else None
            into_fit = dict(routed.estimator.fit) if routed is not None else {}
            into_score = dict(routed.estimator.score) if routed is not None else {}
        elif fit_params:
            raise ParameterError(
                f"[{', '.join(fit_params)}] are passed but are not explicitly set as requested or not: passing extra "
                f"keyword arguments to RANSACRegressor.fit is only supported if enable_metadata_routing=True, which "
                f"you can set using `sklearn.set_config`."
            )
        threshold = self.residual_threshold
        if threshold is None:
            threshold = float(np.median(np.abs(y - np.median(y))))
        seeds = seed_sequence(self.random_state)
        base = clone(base)
        if "random_state" in base.get_params():
            base.set_params(random_state=int(seeds.generate_state(1)[0] >> 1))
        return _Trials(self, base, rows, y, size, float(threshold), seeds.entropy, into_fit, into_score)

    def predict(self, X: Any, **params: Any) -> Any:
        """Predict the targets of rows by the estimator.

        Parameters
        ----------
        **params : dict
            Metadata for its ``predict``, through scikit-learn's routing.
        """
        check_is_fitted(self)
        rows = check_member_rows(self, self.estimator_, X, finite=False)
        return self.estimator_.predict(rows, **self._route("predict", params))

    # Weights are metadata as well: they come by name, as in scikit-learn.
    def score(self, X: Any, y: Any, **params: Any) -> float:  # type: ignore[override]
        """Return the score of the estimator.

        Parameters
        ----------
        **params : dict
            Metadata for its ``score``, through scikit-learn's routing.
        """
        check_is_fitted(self)
        rows = check_member_rows(self, self.estimator_, X, finite=False)
        return self.estimator_.score(rows, y, **self._route("score", params))

    def _route(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if not sklearn.get_config()["enable_metadata_routing"]:
            if params:
                raise ParameterError(
                    f"[{', '.join(params)}] are passed but are not explicitly set as requested or not: passing extra "
                    f"keyword arguments to RANSACRegressor.{method} is only supported if enable_metadata_routing=True, "
                    f"which you can set using `sklearn.set_config`."
                )
            return {}
        return dict(process_routing(self, method, **params).estimator[method]) if params else {}

    def get_metadata_routing(self) -> Any:
        """Return the routes of metadata, to the estimator.

        Returns
        -------
        MetadataRouter
        """
        into = MethodMapping()
        for caller, callee in (("fit", "fit"), ("fit", "score"), ("score", "score"), ("predict", "predict")):
            into.add(caller=caller, callee=callee)
        base = LinearRegression() if self.estimator is None else self.estimator
        return MetadataRouter(owner=self).add_self_request(self).add(estimator=base, method_mapping=into)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(LinearRegression() if self.estimator is None else self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        return tags


@dataclass(frozen=True, eq=False)
class _Trials:
    """What the trials share, and what is made of them."""

    model: RANSACRegressor
    base: Any
    rows: Any
    y: Array
    size: int
    threshold: float
    entropy: Any
    into_fit: dict[str, Any]
    into_score: dict[str, Any]

    def solve(self, state: ConsensusState | None, threads: int) -> Solver[ConsensusState]:
        """Try until enough trials agree that no better one is likely."""
        state = state or ConsensusState(None, -math.inf, 0, 0, 0, 0, float(self.model.max_trials))
        most = max(1, min(_BATCH, _LARGEST // max(1, self.y.size)))
        while state.n_trials < state.limit and state.n_skips <= self.model.max_skips:
            for first in range(state.n_trials, state.n_trials + _BATCH, most):
                last = int(min(first + most, state.limit, -(-(first + 1) // _BATCH) * _BATCH))
                if first >= state.limit or state.n_skips > self.model.max_skips:
                    break
                results = yield Dense(partial(self._try_several, range(first, last), threads), heavy=True)
                for result in results:
                    if state.n_trials < state.limit and state.n_skips <= self.model.max_skips:
                        state = self._judge(state, result)
            if state.inliers is not None:
                yield Step(float(np.count_nonzero(state.inliers)), state, _NO_BOUND)
        if state.inliers is None:
            self._refuse(state)
        return Solution(state, True, _NO_BOUND)

    def _refuse(self, state: ConsensusState) -> None:
        """Raise: no trial gave a consensus."""
        ended = (
            "RANSAC skipped more iterations than `max_skips` without finding a valid consensus set. Iterations were "
            "skipped because"
            if state.n_skips > self.model.max_skips
            else "RANSAC could not find a valid consensus set. All `max_trials` iterations were skipped because"
        )
        raise DataError(
            f"{ended} each randomly chosen sub-sample failed the passing criteria. See estimator attributes for "
            f"diagnostics (n_skips*): {state.invalid_data} refused by is_data_valid, {state.invalid_model} by "
            f"is_model_valid, {state.no_inliers} with too few rows within {self.threshold:g}."
        )

    def _judge(self, state: ConsensusState, result: tuple[str, Any]) -> ConsensusState:
        """Return the state after one trial more."""
        kind, found = result
        state = replace(state, n_trials=state.n_trials + 1)
        if kind != "model":
            return replace(state, **{kind: getattr(state, kind) + 1})
        inliers, score = found
        count = int(np.count_nonzero(inliers))
        best = 1 if state.inliers is None else int(np.count_nonzero(state.inliers))
        if count < best:
            return replace(state, no_inliers=state.no_inliers + 1)
        own = score()
        if count == best and own < state.score:
            return state
        limit = min(state.limit, count_trials(count / len(inliers), self.size, self.model.stop_probability))
        if count >= self.model.stop_n_inliers or own >= self.model.stop_score:
            limit = state.n_trials
        return replace(state, inliers=inliers, score=own, limit=float(limit))

    def _draw(self, number: int) -> Array:
        random = np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=(number,)))
        return random.choice(len(self.y), self.size, replace=False)

    def _try_several(self, numbers: range, threads: int) -> list[tuple[str, Any]]:
        """Return for each trial its rows within the threshold and a function that scores them, or why it is skipped."""
        if self._is_plain:
            return self._solve_several(numbers)
        results: list[tuple[str, Any]] = []
        run_numbered(lambda place: self._try(numbers[place]), len(numbers), threads, results.append)
        return results

    @property
    def _is_plain(self) -> bool:
        """Whether the trials are least squares of dense rows, as many as there are unknowns or more, without checks."""
        base, model = self.base, self.model
        known = type(base).__module__.startswith(("mercer.", "sklearn.")) and type(base).__name__ == "LinearRegression"
        plain_rows = not is_sparse_matrix(self.rows) and self.y.ndim == 1 and np.isfinite(self.rows).all()
        return (
            known
            and plain_rows
            and base.fit_intercept
            and not base.positive
            and self.size > self.rows.shape[1]
            and not self.into_fit
            and not self.into_score
            and model.is_data_valid is None
            and model.is_model_valid is None
        )

    def _solve_several(self, numbers: range) -> list[tuple[str, Any]]:
        """Solve the equations of several trials at once; trials whose rows depend on each other have least squares."""
        drawn = np.stack([self._draw(number) for number in numbers])
        X, y = self.rows.astype(np.float64, copy=False), self.y.astype(np.float64, copy=False)
        # Rows less the mean of their trial take the intercept out, and the place of the columns with it.
        rows, targets = X[drawn], y[drawn]
        centre, level = rows.mean(axis=1), targets.mean(axis=1)
        A, b = rows - centre[:, None], targets - level[:, None]
        W = _solve_exactly(A, b) if self.size == X.shape[1] + 1 else None
        if W is None:
            W = np.stack([np.linalg.lstsq(matrix, right, rcond=None)[0] for matrix, right in zip(A, b, strict=True)])
        shift = level - np.einsum("ij,ij->i", centre, W)
        fitted = X @ W.T + shift
        return [("model", self._weigh(column)) for column in np.ascontiguousarray(fitted.T)]

    def _try(self, number: int) -> tuple[str, Any]:
        """Return the outcome of one trial."""
        chosen = self._draw(number)
        X, y = self.rows[chosen], self.y[chosen]
        if self.model.is_data_valid is not None and not self.model.is_data_valid(X, y):
            return "invalid_data", None
        fitted = clone(self.base).fit(X, y, **of_rows(self.into_fit, chosen, len(self.y)))
        if self.model.is_model_valid is not None and not self.model.is_model_valid(fitted, X, y):
            return "invalid_model", None
        return "model", self._weigh(np.asarray(fitted.predict(self.rows)), fitted)

    def _weigh(self, predicted: Array, fitted: Any = None) -> tuple[Array, Callable[[], float]]:
        """Return which rows are within the threshold, and a function that scores them."""
        inliers = find_residuals(self.model.loss, self.y, predicted) <= self.threshold

        def score() -> float:
            chosen = np.flatnonzero(inliers)
            if fitted is None:
                return compute_determination(self.y[chosen], predicted[chosen]) if len(chosen) > 1 else -math.inf
            params = of_rows(self.into_score, chosen, len(self.y))
            return float(fitted.score(self.rows[chosen], self.y[chosen], **params))

        return inliers, score

    def list_attributes(self, state: ConsensusState) -> dict[str, Any]:
        """Return the fitted attributes: the estimator, fitted to the consensus, and the counts."""
        chosen = np.flatnonzero(state.inliers)
        fitted = clone(self.base)
        fitted.fit(self.rows[chosen], self.y[chosen], **of_rows(self.into_fit, chosen, len(self.y)))
        return {
            "estimator_": fitted,
            "inlier_mask_": state.inliers,
            "n_trials_": state.n_trials,
            "n_skips_no_inliers_": state.no_inliers,
            "n_skips_invalid_data_": state.invalid_data,
            "n_skips_invalid_model_": state.invalid_model,
        }


def _solve_exactly(A: Array, b: Array) -> Array | None:
    """Return the solutions of several systems whose last equation follows from the others; None if one has none."""
    try:
        return np.linalg.solve(A[:, :-1], b[:, :-1, None])[..., 0]
    except np.linalg.LinAlgError:
        return None


def find_residuals(loss: Any, y: Array, predicted: Array) -> Array:
    """Return the residual of each row, summed over targets."""
    if not isinstance(loss, str):
        return np.asarray(loss(y, predicted))
    gaps = y - predicted.reshape(y.shape)
    sizes = np.abs(gaps) if loss == "absolute_error" else gaps**2
    return sizes if sizes.ndim == 1 else sizes.sum(axis=1)


def count_trials(share: float, size: int, probability: float) -> float:
    """Return how many trials have one of good rows alone with this probability, if that share of the rows is good."""
    least = float(np.finfo(np.float64).eps)
    missed, wrong = max(least, 1.0 - probability), max(least, 1.0 - share**size)
    if missed == 1.0:
        return 0.0
    return math.inf if wrong == 1.0 else float(math.ceil(math.log(missed) / math.log(wrong)))
