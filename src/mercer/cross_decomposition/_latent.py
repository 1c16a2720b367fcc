"""What estimators of directions in two tables share: opening, scores, restoration and predictions."""

import warnings
from collections.abc import Generator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from mercer._base import Estimator, few_rows, fitting, open_new_rows
from mercer._base.interface import ClassNamePrefixFeaturesOutMixin, MultiOutputMixin, TransformerMixin
from mercer._base.parameter import Boolean, Integer, Nothing, Real, parameter
from mercer._base.scoring import RegressorMixin
from mercer._solver import Outcome, Solver
from mercer._source import Block, Source, place_of
from mercer._source.namespace import namespace_of, to_numpy
from mercer._source.placement import is_on_device
from mercer._statistic import Moments
from mercer._statistic.products import Residual
from mercer._stored import Stored, flags, floats, members
from mercer._types import Array
from mercer.cross_decomposition._deflation import PairedAxes
from mercer.cross_decomposition._moments import TwoTables, measure
from mercer.errors import DataError, ParameterError


@dataclass(frozen=True, eq=False)
class LinearMap:
    """``((x - mean) / scale) @ matrix + offset`` for the rows of a block; sparse rows stay sparse."""

    mean: Any
    scale: Any
    matrix: Any
    offset: Any = 0.0

    def __call__(self, block: Block) -> Any:
        if block.is_sparse:
            matrix = self.matrix / self.scale[:, None]
            return block.matmul(matrix) - self.mean @ matrix + self.offset
        return block.xp.matmul((block.X - self.mean) / self.scale, self.matrix) + self.offset

    def of_rows(self, rows: Any) -> Any:
        """Map rows in memory, or on a device, at once."""
        return namespace_of(rows).matmul((rows - self.mean) / self.scale, self.matrix) + self.offset


def check_components(subject: str, n_components: int, bound: int) -> None:
    """Raise if more components are asked for than the tables can have."""
    if n_components > bound:
        raise ParameterError(
            f"{subject}: `n_components` upper bound is {bound}. Got {n_components} instead. Reduce `n_components`."
        )


def correlate_scores(t: Any, u: Any) -> Array:
    """Return the correlation between two tables of scores, column by column; zero where one is constant."""
    t, u = (np.asarray(to_numpy(scores), dtype=np.float64) for scores in (t, u))
    t, u = t - t.mean(axis=0), u - u.mean(axis=0)
    sizes = np.sqrt(np.sum(t * t, axis=0) * np.sum(u * u, axis=0))
    return np.sum(t * u, axis=0) / np.where(sizes > 0, sizes, 1.0)


# Values of a table up to which its scores are computed at once, without threads.
_FEW = 2**14


class LatentTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Takes rows of both tables to scores, by ``x_rotations_`` and ``y_rotations_``."""

    n_components: int = parameter(Integer(1), default=2, kw_only=False)
    scale: bool = parameter(
        Boolean(), default=True, doc="Whether to divide the columns of both tables by their standard deviations."
    )
    copy: bool = parameter(Boolean(), default=True, doc="Has no effect: the tables are never overwritten.")
    n_jobs: int | None = parameter(Integer() | Nothing(), default=None)

    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask", "device")
    _objective_moves: ClassVar[str | None] = "up"
    # Whether the number of columns of y bounds the number of components.
    _bounded_by_targets: ClassVar[bool] = True

    _stored: ClassVar[dict[str, Stored]] = {
        "x_mean_": floats("columns"),
        "x_scale_": floats("columns"),
        "x_weights_": floats("columns, components"),
        "correlations_": floats("components"),
    }
    _takes_sparse = True

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the components.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or rows in any other place
            Rows of the first table.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Rows of the second table.
        """
        source = self._open_tables(X, y, sample_weight)
        outcome = self._learn(source)
        self._warn_of_few_rows(source)
        self._conclude(outcome)
        return self

    def _warn_of_few_rows(self, source: Source) -> None:
        """Warn where correlations say nothing, in the classes whose correlations can be perfect."""

    def _open_tables(self, X: Any, y: Any, sample_weight: Any) -> Source:
        """Open both tables, and check that they can have as many components as asked for."""
        source = self._open(X, y, sample_weight, targets="numbers", accept_sparse="csr")
        if source.known_rows == 1:
            raise DataError(
                f"{type(self).__name__}: two tables need at least 2 rows to vary; got n_samples = 1. Give more rows."
            )
        sizes = [source.n_features]
        if source.known_rows is not None:
            sizes.append(source.n_rows)
        if self._bounded_by_targets:
            sizes.append(source.n_targets)
        check_components(type(self).__name__, self.n_components, min(sizes))
        return source

    def _learn(self, source: Source) -> Outcome[PairedAxes]:
        """Drive the solver and store the model."""
        fitted = partial(self._describe_axes, dtype=source.host_dtype, flat=source.target_shape == ())
        outcome = self._drive(partial(self._request, source), source, fitted=fitted, max_steps=self.n_components)
        if outcome.state.n_iter:
            # scikit-learn's list, one count per component, in the place of the number of steps.
            self.n_iter_: Any = list(outcome.state.n_iter)
        self._store_scores(source)
        return outcome

    def _store_scores(self, source: Source) -> None:
        """Store the scores of the rows of the fit, in the classes that have them."""

    def _request(self, source: Source, start: PairedAxes | None) -> Solver:
        """Measure the tables, and solve from their moments."""
        tables: TwoTables = yield from measure(type(self).__name__, source, self.scale)
        return (yield from self._solve(source, tables, start))

    def _solve(self, source: Source, tables: TwoTables, start: PairedAxes | None) -> Generator[Any, Any, Any]:
        raise NotImplementedError  # each class has its own solver

    def _describe_axes(self, state: PairedAxes, dtype: Any, flat: bool) -> dict[str, Any]:
        """Return the fitted attributes of a state, in the precision of the rows."""
        arrays = {
            "x_mean_": state.x_mean,
            "y_mean_": state.y_mean,
            "x_scale_": state.x_scale,
            "y_scale_": state.y_scale,
            "x_weights_": state.x_weights,
            "y_weights_": state.y_weights,
            "correlations_": state.correlations,
        }
        return {name: np.ascontiguousarray(value, dtype=dtype) for name, value in arrays.items()}

    def _warn_constant(self, component: int) -> None:
        warnings.warn(
            f"{type(self).__name__}: y residual is constant at iteration {component}: the first {component} components "
            f"explain all that the tables share, and further ones are zero; reduce n_components.",
            UserWarning,
            stacklevel=2,
        )

    @property
    def _x_mean(self) -> Array:
        return self.x_mean_

    @property
    def _y_mean(self) -> Array:
        return self.y_mean_

    @property
    def _x_std(self) -> Array:
        return self.x_scale_

    @property
    def _y_std(self) -> Array:
        return self.y_scale_

    @property
    def _n_features_out(self) -> int:
        return int(self.x_weights_.shape[1])

    def _x_map(self) -> Array:
        return self.x_rotations_

    def _y_map(self) -> Array:
        return self.y_rotations_

    def transform(self, X: Any, y: Any = None, copy: bool = True) -> Any:
        """Return the scores of rows.

        Parameters
        ----------
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            Rows of the second table.
        copy : bool, default=True
            Has no effect: nothing is overwritten.

        Returns
        -------
        x_scores : ndarray of shape (n_samples, n_components)
        y_scores : ndarray of shape (n_samples, n_components)
            With `y` only.
        """
        if (rows := few_rows(self, X)) is not None:
            x_scores = LinearMap(self.x_mean_, self.x_scale_, self._x_map()).of_rows(rows)
        else:
            source = open_new_rows(self, X, accept_sparse="csr")
            x_scores = source.map(LinearMap(self.x_mean_, self.x_scale_, self._x_map()))
        return x_scores if y is None else (x_scores, self._transform_targets(y))

    def _transform_targets(self, y: Any) -> Array:
        """Return the scores of rows of the second table."""
        if is_on_device(y):
            y = namespace_of(y).astype(y, self.y_mean_.dtype, copy=False)
        else:
            y = check_array(y, ensure_2d=False, dtype=[np.float64, np.float32], input_name="y")
        if y.ndim == 1:
            y = y[:, None]
        if y.shape[1] != self.y_mean_.shape[0]:
            raise DataError(
                f"{type(self).__name__}: y has {y.shape[1]} columns, but the model was fitted to "
                f"{self.y_mean_.shape[0]}; give the columns of the fit."
            )
        return LinearMap(self.y_mean_, self.y_scale_, self._y_map()).of_rows(y)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit the model, and return the scores of its rows.

        Parameters
        ----------
        X, y, sample_weight
            As ``fit`` takes them.

        Returns
        -------
        x_scores, y_scores : ndarray of shape (n_samples, n_components)
        """
        return self.fit(X, y, sample_weight).transform(X, y)  # type: ignore[attr-defined]

    def measure_correlations(self, X: Any, y: Any) -> Array:
        """Return the correlation between the two scores of each component, on any rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; those that the model was not fitted to give an honest estimate.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Their rows in the second table.

        Returns
        -------
        ndarray of shape (n_components,)
            Zero where a score is constant.
        """
        return correlate_scores(*self.transform(X, y))

    def score(self, X: Any, y: Any) -> float:
        """Return the mean correlation, over the components, between the scores of both tables.

        Parameters
        ----------
        X, y
            As ``measure_correlations`` takes them.
        """
        return float(np.mean(self.measure_correlations(X, y)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags


class LatentRegressor(RegressorMixin, MultiOutputMixin, LatentTransformer):
    """Also predicts the second table from the first: Y is regressed on the scores of X."""

    max_iter: int = parameter(Integer(1), default=500, after="scale")
    tol: float = parameter(
        Real(0), default=1e-06, doc="A pair is found when the square of the change of w is below this."
    )

    _stored: ClassVar[dict[str, Stored]] = {
        "y_mean_": floats("targets"),
        "y_scale_": floats("targets"),
        "y_weights_": floats("targets, components"),
        "x_loadings_": floats("columns, components"),
        "y_loadings_": floats("targets, components"),
        "x_rotations_": floats("columns, components"),
        "y_rotations_": floats("targets, components"),
        "coef_": floats("targets, columns"),
        "intercept_": floats("targets"),
        "_predict_1d": flags(),
        "_fit_scores": members(floats("rows, *")),
    }

    def _describe_axes(self, state: PairedAxes, dtype: Any, flat: bool) -> dict[str, Any]:
        # B = R Q^T, back in the units of the columns.
        coef = (state.x_rotations @ state.inner.T * state.y_scale).T / state.x_scale
        arrays = {
            "x_loadings_": state.x_loadings,
            "y_loadings_": state.y_loadings,
            "x_rotations_": state.x_rotations,
            "y_rotations_": self._rotate_targets(state),
            "coef_": coef,
            "intercept_": state.y_mean,
        }
        attributes = super()._describe_axes(state, dtype, flat)
        attributes |= {name: np.ascontiguousarray(value, dtype=dtype) for name, value in arrays.items()}
        return attributes | {"_predict_1d": flat}

    def _rotate_targets(self, state: PairedAxes) -> Array:
        return state.y_rotations

    def _store_scores(self, source: Source) -> None:
        self.__dict__.pop("_fit_scores", None)
        if source.place == "memory":
            scores = LinearMap(self.x_mean_, self.x_scale_, self.x_rotations_)
            few = not source.is_sparse and source.n_rows * source.n_features <= _FEW
            x_scores = scores.of_rows(source.whole()) if few else source.map(scores)
            y = source.y if source.y.ndim == 2 else source.y[:, None]
            gaps = ((y - self.y_mean_) / self.y_scale_).astype(x_scores.dtype, copy=False)
            self._fit_scores = (x_scores, self._score_targets(gaps, x_scores))

    def _score_targets(self, gaps: Array, x_scores: Array) -> Array:
        """Return the scores of rows of Y, given centred and scaled."""
        return gaps @ self.y_rotations_

    @property
    def x_scores_(self) -> Array:
        """The scores of the rows of the fit, kept where these are in memory."""
        return self._find_scores("x_scores_")[0]

    @property
    def y_scores_(self) -> Array:
        """The scores of the second table's rows of the fit, kept where these are in memory."""
        return self._find_scores("y_scores_")[1]

    def _find_scores(self, name: str) -> tuple[Array, Array]:
        check_is_fitted(self)
        scores = vars(self).get("_fit_scores")
        if scores is None:
            raise AttributeError(
                f"{type(self).__name__} has no {name}: it is kept of rows in memory only; use transform."
            )
        return scores

    @property
    def _x_scores(self) -> Array:
        return self.x_scores_

    @property
    def _y_scores(self) -> Array:
        return self.y_scores_

    def predict(self, X: Any, copy: bool = True) -> Array:
        """Predict the second table.

        Parameters
        ----------
        copy : bool, default=True
            Has no effect: nothing is overwritten.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
            One-dimensional if `y` was so in ``fit``.
        """
        if (rows := few_rows(self, X)) is not None:
            values = (rows - self.x_mean_) @ self.coef_.T + self.intercept_
        else:
            source = open_new_rows(self, X, accept_sparse="csr")
            xp = namespace_of(self.x_mean_)
            unit = xp.ones_like(self.x_mean_)
            values = source.map(LinearMap(self.x_mean_, unit, self.coef_.T, self.intercept_))
        return values[:, 0] if self._predict_1d else values

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the coefficient of determination of the predictions, R^2 = 1 - RSS / TSS, averaged over targets."""
        if place_of(X, y) == "memory":
            return RegressorMixin.score(self, X, y, sample_weight)
        check_is_fitted(self)
        source = self._open(X, y, sample_weight, targets="numbers", reset=False, accept_sparse="csr")
        coef, mean, y_mean = (to_numpy(part).astype(np.float64) for part in (self.coef_, self.x_mean_, self.intercept_))
        left = source.reduce(Residual(coef.T, mean, y_mean)).squares
        total = source.reduce(Moments(diagonal=True)).y_scatter
        # As in scikit-learn, a constant target has R^2 = 1 if predicted exactly and 0 otherwise.
        shares = np.where(total > 0, left / np.where(total > 0, total, 1.0), (left > 0).astype(np.float64))
        return float(np.mean(1.0 - shares))

    def inverse_transform(self, X: Any, y: Any = None) -> Any:
        """Restore rows from their scores: exact up to what the components left out.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Scores of the first table.
        y : array-like of shape (n_samples, n_components), default=None
            Scores of the second table.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        y : ndarray of shape (n_samples, n_targets)
            With `y` only.
        """
        restored = self._restore(X, self.x_loadings_, self.x_scale_, self.x_mean_, "X")
        if y is None:
            return restored
        return restored, self._restore(y, self.y_loadings_, self.y_scale_, self.y_mean_, "y")

    def _restore(self, scores: Any, loadings: Array, scale: Array, mean: Array, name: str) -> Array:
        if not is_on_device(scores):
            scores = check_array(scores, dtype=[np.float64, np.float32], input_name=name)
        if scores.shape[1] != loadings.shape[1]:
            raise DataError(
                f"{type(self).__name__}: {name} has {scores.shape[1]} columns, but inverse_transform expects "
                f"{loadings.shape[1]}, one per component; give what transform returned."
            )
        return namespace_of(scores).matmul(scores, loadings.T) * scale + mean

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags
