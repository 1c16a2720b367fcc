"""Choosing the penalty of ridge: by leave-one-out errors from one decomposition, or by folds from one each."""

import math
import warnings
from collections.abc import Callable, Generator
from functools import partial
from numbers import Real as RealNumber
from typing import Any, ClassVar

import numpy as np
from sklearn.base import is_classifier

from mercer._base import LimitedEstimator
from mercer._base.folds import FOLDS, fold_source, of_rows, read_score, route_parameters, router, scorer_of, splits
from mercer._base.interface import BaseEstimator
from mercer._base.linear.prediction import target_columns
from mercer._base.parameter import Array, Boolean, Function, Nothing, Real, Text, attribute, describe_value, parameter
from mercer._base.scoring import ClassifierMixin, RegressorMixin
from mercer._solver import Dense, Outcome, Solver
from mercer._solver.relay import answer_requests
from mercer._source import Source
from mercer._source.memory import require_memory
from mercer._source.threads import run_numbered
from mercer._stored import Stored, floats
from mercer.errors import ParameterError
from mercer.linear_model._solvers.closed_form.dual_equations import dual_coefficients
from mercer.linear_model._solvers.closed_form.linear_spectrum import (
    LinearSpectrum,
    spectrum_of_moments,
    spectrum_of_triangle,
)
from mercer.linear_model._solvers.closed_form.ridge_choice import (
    RidgeChoice,
    choose_by_gram,
    choose_by_scatter,
    gram_spectrum,
    solve_by_gram,
    solve_by_scatter,
)

# The tolerance of the certificates of closed forms: the rounding of well-scaled problems.
_TOLERANCE = 1e-8


class RidgeSelection(LimitedEstimator):
    """What RidgeCV and RidgeClassifierCV share; they say what targets are and how a model is made for the scorer."""

    alphas: Any = parameter(
        Array("entries") | Real(0, math.inf, "neither"),  # _check_alphas names the entry at fault
        default=(0.1, 1.0, 10.0),
        kw_only=False,
        doc="The penalties to choose from: positive, or zero too with ``cv``.",
    )
    fit_intercept: bool = parameter(Boolean(), default=True)
    scoring: Any = parameter(Text() | Function() | Nothing(), default=None)
    cv: Any = parameter(FOLDS, default=None)
    store_cv_results: bool = parameter(
        Boolean(),
        default=False,
        doc="Whether to keep the leave-one-out errors of every row and penalty in ``cv_results_``.",
    )

    _documents = {
        "max_time": "Has no effect: a closed form ends by itself. Kept so that estimators can be exchanged.",
    }

    gcv_mode: str | None = attribute(None)
    alpha_per_target: bool = attribute(False)
    _default_scorer = "r2"

    _stored: ClassVar[dict[str, Stored]] = {
        "alpha_": floats(" | *"),
        "best_score_": floats(" | *"),
        "cv_results_": floats("..."),
    }
    _depends_on_units = ("columns", "scale")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        # Before the rows are looked at, so that the first error is about the parameter whatever the rows are.
        self._check_alphas()

    def _make_model(self, coef: np.ndarray, intercept: np.ndarray, source: Source) -> Any:
        """Return a ridge model with coefficients (d, k), for a scorer; `source` gives the shape of the targets."""
        raise NotImplementedError  # each of the two defines its own

    def _make_given(self, predictions: np.ndarray) -> Any:
        """Return a model and an input for which it predicts `predictions`, for a scorer."""
        return _Given(), predictions

    def _select(
        self,
        source: Source,
        labels: Any,
        sample_weight: Any,
        parameters: dict[str, Any],
        fitted: Callable[[RidgeChoice], dict[str, Any]],
        **attributes: Any,
    ) -> Outcome:
        """Choose a penalty for the opened rows, and solve for it; `labels` are the targets that a scorer knows."""
        alphas = self._check_alphas()
        to_scorer, to_splitter = route_parameters(self, "fit", sample_weight, parameters)
        if self.gcv_mode == "svd" and source.is_sparse:
            warnings.warn(
                f"{type(self).__name__}: The 'svd' mode is not supported for sparse X; 'eigen' is used instead.",
                FutureWarning,
                stacklevel=6,
            )
        # Leave-one-out errors or predictions, where they are to be stored.
        stored: dict[str, Any] = {}
        if self.cv is None:
            judge = partial(self._judge, source, labels, to_scorer, stored)
            solve = partial(self._by_leave_one_out, source, alphas, judge)
        else:
            self._check_folds()
            self._needs_memory(source, "cross-validation by folds", "use cv=None")
            folds = splits(self.cv, source.whole(), labels, classifier=is_classifier(self), **to_splitter)
            solve = partial(self._by_folds, source, labels, alphas, folds, to_scorer)
        outcome = self._drive(lambda start: solve(), source, fitted=fitted, attributes=attributes)
        if outcome.interrupt is None:
            outcome.converged, outcome.reason, self.converged_ = True, "converged", True
        self.__dict__.pop("cv_results_", None)
        if self.store_cv_results:
            self.cv_results_ = stored.get("cv_results_")
        return outcome

    def _check_alphas(self) -> np.ndarray:
        name, least = type(self).__name__, "> 0.0" if self.cv is None else ">= 0.0"
        values = [self.alphas] if isinstance(self.alphas, RealNumber) else list(self.alphas)
        for number, alpha in enumerate(values):
            if not isinstance(alpha, RealNumber):
                raise ParameterError(
                    f"{name}: alphas[{number}] must be an instance of float, not {type(alpha).__name__}."
                )
            if not Real(0, math.inf, "left").accepts(alpha) or (self.cv is None and alpha == 0):
                shown = describe_value(alpha)
                raise ParameterError(f"{name}: alphas[{number}] == {shown}, must be {least} and finite. Drop it.")
        if not values:
            raise ParameterError(f"{name}: alphas must have an entry; got none. Give one penalty or more.")
        return np.asarray(values, dtype=np.float64)

    def _check_folds(self) -> None:
        for name in ("store_cv_results", "alpha_per_target"):
            if getattr(self, name):
                raise ParameterError(f"{type(self).__name__}: cv!=None and {name}=True are incompatible; set cv=None.")

    def _by_leave_one_out(self, source: Source, alphas: np.ndarray, judge: Any) -> Solver:
        # A scorer, or stored results, need the error of every row; the mean square needs sums only.
        whole = self.scoring is not None or self.store_cv_results
        if whole:
            self._needs_memory(source, "a scorer, or store_cv_results,", "leave both out")
            n_bytes = 24 * source.n_rows * len(alphas) * target_columns(source.y).shape[1]
            require_memory(
                type(self).__name__, n_bytes, "every error of every penalty", "use scoring=None and fewer alphas"
            )
        if self._uses_gram(source):
            y = target_columns(source.y)
            return choose_by_gram(alphas, y, source.weight, self.fit_intercept, _TOLERANCE, judge, whole)
        spectrum, method = self._spectrum(source)
        return choose_by_scatter(spectrum, alphas, self.fit_intercept, _TOLERANCE, judge, whole, method)

    def _uses_gram(self, source: Source) -> bool:
        """Return whether rows are fewer than columns, and the n x n matrix may be formed."""
        if source.place != "memory" or source.n_rows > source.n_features or self._uses_triangle(source):
            return False
        require_memory(type(self).__name__, 40 * source.n_rows**2, "the Gram matrix of the rows", "use Ridge")
        return True

    def _uses_triangle(self, source: Source) -> bool:
        return self.gcv_mode == "svd" and not source.is_sparse

    def _spectrum(self, source: Source) -> tuple[Generator[Any, Any, LinearSpectrum], str]:
        cure = "select columns, or use Ridge"
        if self._uses_triangle(source):
            n_bytes = 40 * min(source.n_rows, source.n_features) * source.n_features
            require_memory(type(self).__name__, n_bytes, "the triangle of the rows", cure)
            return spectrum_of_triangle(self.fit_intercept), "svd"
        require_memory(type(self).__name__, 32 * source.n_features**2, "the scatter of the columns", cure)
        return spectrum_of_moments(self.fit_intercept), "eigen scatter"

    def _judge(
        self, source: Source, labels: Any, to_scorer: dict[str, Any], stored: dict[str, Any], errors: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the index of the best penalty of each target, and its score, from leave-one-out errors."""
        n_targets = errors.shape[-1]
        if self.scoring is None:
            if errors.ndim == 3:
                errors = errors**2 if source.weight is None else source.weight[:, None, None] * errors**2
                stored["cv_results_"] = self._lay_out(errors, source)
                errors = errors.sum(axis=0)
            scores = -errors / source.total_weight()
            # One penalty for all targets is judged by the mean over targets.
            scores = scores if self.alpha_per_target else scores.mean(axis=1)
        else:
            # The leave-one-out prediction is the target less its error.
            predictions = target_columns(source.y)[:, None, :] - errors
            stored["cv_results_"] = self._lay_out(predictions, source)
            scores = self._scores(predictions, labels, to_scorer)
        return _best(scores, n_targets)

    def _scores(self, predictions: np.ndarray, labels: Any, to_scorer: dict[str, Any]) -> np.ndarray:
        """Score predictions (n, a, k): (a,), or (a, k) with a penalty for each target."""
        scorer = self._make_scorer()
        numbers = range(predictions.shape[1])
        # A score for each penalty and target, so that targets may differ in their penalty.
        if self.alpha_per_target:
            columns = range(predictions.shape[2])
            y = target_columns(labels)
            return np.array(
                [[scorer(_Given(), predictions[:, a, j], y[:, j], **to_scorer) for j in columns] for a in numbers]
            )
        flat = predictions.shape[2] == 1 and np.ndim(labels) == 1
        models = [self._make_given(predictions[:, a, 0] if flat else predictions[:, a]) for a in numbers]
        return np.array([scorer(model, given, labels, **to_scorer) for model, given in models])

    def _make_scorer(self) -> Callable[..., float]:
        """Return the scorer, with its scores checked."""
        scorer = scorer_of(self, self._default_scorer)

        def score(*given: Any, **parameters: Any) -> float:
            return read_score(type(self).__name__, "scoring", scorer(*given, **parameters))

        return score

    def _lay_out(self, values: np.ndarray, source: Source) -> np.ndarray | None:
        """Return values (n, a, k) as (n, k, a), or (n, a) for a single target; None if they are not to be stored."""
        if not self.store_cv_results:
            return None
        values = np.swapaxes(values, 1, 2).astype(source.host_dtype)
        return values[:, 0] if source.target_shape == () and not is_classifier(self) else values

    def _by_folds(
        self, source: Source, labels: Any, alphas: np.ndarray, folds: list, to_scorer: dict[str, Any]
    ) -> Solver:
        """Score the path of each fold on its test rows, and solve for the penalty of the best mean score."""
        centre, k = self.fit_intercept, target_columns(source.y).shape[1]
        scores = yield Dense(partial(self._fold_scores, source, labels, alphas, folds, to_scorer))
        chosen, score = _best(scores.mean(axis=0), k)
        if self._uses_gram(source):
            gram, mean = yield from gram_spectrum(target_columns(source.y), source.weight, centre)
            return (yield from solve_by_gram(gram, mean, centre, alphas[chosen], chosen, score, _TOLERANCE))
        spectrum, method = self._spectrum(source)
        eigen = yield from spectrum
        return (yield from solve_by_scatter(eigen, alphas[chosen], chosen, score, _TOLERANCE, method))

    def _fold_scores(
        self, source: Source, labels: Any, alphas: np.ndarray, folds: list, to_scorer: dict[str, Any]
    ) -> np.ndarray:
        """Score the folds (folds, a). Paths run on all threads; scorers, which may not be thread-safe, on one."""
        paths: list[tuple[np.ndarray, np.ndarray]] = []
        by_gram = self._uses_gram(source)

        def path(number: int) -> tuple[np.ndarray, np.ndarray]:
            return _path(fold_source(source, folds[number][0], 1), alphas, self.fit_intercept, by_gram)

        # Each path runs on one thread, since the folds are on all of them.
        run_numbered(path, len(folds), source.threads, paths.append)
        scorer = self._make_scorer()

        def scores(test: np.ndarray, coefs: np.ndarray, intercepts: np.ndarray) -> list[float]:
            chosen = of_rows(to_scorer, test, source.n_rows)
            rows, y = source.whole()[test], np.asarray(labels)[test]
            return [scorer(self._make_model(*model, source), rows, y, **chosen) for model in zip(coefs, intercepts)]

        return np.array([scores(test, *fitted) for (_, test), fitted in zip(folds, paths)])

    def _read_choice(self, state: RidgeChoice) -> dict[str, Any]:
        """Return the fitted attributes of the penalty chosen."""
        alphas = self._check_alphas()[state.chosen]
        each = self.alpha_per_target and len(alphas) > 1
        return {
            "alpha_": alphas if each else float(alphas[0]),
            "best_score_": np.asarray(state.score) if each else float(np.ravel(state.score)[0]),
            "solver_used_": state.method,
        }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.cv is not None or self.scoring is not None or self.store_cv_results:
            tags.array_api_support = False
        return tags

    def get_metadata_routing(self) -> Any:
        """Return scikit-learn's router; see its guide on metadata routing."""
        return router(self, scorer_of(self, self._default_scorer))


def _best(scores: np.ndarray, n_targets: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the index of the first of the best scores, for all targets or for each, and the score."""
    # A scorer that fails on a fold returns NaN, which argmax would prefer to every number.
    ranked = np.where(np.isnan(scores), -np.inf, scores)
    best = np.atleast_1d(np.argmax(ranked, axis=0))
    return np.broadcast_to(best, (n_targets,)).copy(), scores.reshape(len(scores), -1)[best, np.arange(len(best))]


def _path(source: Source, alphas: np.ndarray, centre: bool, by_gram: bool) -> tuple[np.ndarray, np.ndarray]:
    """Compute coefficients (a, d, k) and intercepts (a, k) for every penalty."""
    if not by_gram:
        eigen = answer_requests(spectrum_of_moments(centre), source)
        coefs = np.stack([eigen.coef(alpha) for alpha in alphas])
        return coefs, np.stack([eigen.intercept(coef) for coef in coefs])
    y = target_columns(source.y)
    gram, mean = answer_requests(gram_spectrum(y, source.weight, centre), source)
    # The dual coefficients of all penalties side by side: one pass over the rows serves them all.
    duals = np.hstack([gram.dual(np.full(y.shape[1], alpha)) for alpha in alphas])
    stacked, mean = answer_requests(dual_coefficients(duals, gram.share, centre, mean), source)
    coefs = np.moveaxis(stacked.reshape(len(mean), len(alphas), -1), 1, 0)
    return coefs, gram.y_mean - mean @ coefs


class _Given(RegressorMixin, BaseEstimator):
    """A regressor whose prediction is its input."""

    def predict(self, X: Any) -> Any:
        return X


class GivenScores(ClassifierMixin, BaseEstimator):
    """A classifier whose scores are its input: it predicts the class of the largest, or each label above zero."""

    def __init__(self, classes: Any, multilabel: bool = False) -> None:
        self.classes = classes
        self.multilabel = multilabel
        self.classes_ = classes

    def decision_function(self, X: Any) -> Any:
        return X[:, 0] if X.shape[1] == 1 else X

    def predict(self, X: Any) -> Any:
        if self.multilabel:
            return (X > 0).astype(np.int64)
        return self.classes[(X[:, 0] > 0).astype(np.int64) if X.shape[1] == 1 else np.argmax(X, axis=1)]
