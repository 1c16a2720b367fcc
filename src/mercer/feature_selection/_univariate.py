"""The base of selectors that look at each column by itself."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.feature_selection import SelectorMixin, f_classif
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._base.blockwise import BlockTransformer
from mercer._base.estimator import fitting
from mercer._base.parameter import Function, parameter
from mercer._solver import Dense, Solver
from mercer._source import Source, open_source, place_of
from mercer._stored import Stored, floats
from mercer._types import Array
from mercer.errors import DataError
from mercer.feature_selection._scores import SUMMED
from mercer.feature_selection._variance_threshold import Kept


class UnivariateSelector(SelectorMixin, BlockTransformer):
    """A selector by scores of single columns; a subclass says which scores are kept (`_get_support_mask`)."""

    score_func: Callable[..., Any] = parameter(
        Function(),
        default=f_classif,
        kw_only=False,
        doc="From rows and targets to scores, or to scores and p-values. f_classif, chi2, f_regression and "
        "r_regression are sums over rows, in any place; other functions are given all rows, in memory.",
    )

    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask")
    _stored: ClassVar[dict[str, Stored]] = {"scores_": floats("columns"), "pvalues_": floats("columns | none")}
    _takes_sparse = True

    @fitting
    def fit(self, X: Any, y: Any = None) -> "UnivariateSelector":
        """Score the columns."""
        known = SUMMED.get(self.score_func)
        # Several targets at once are what scikit-learn's own functions make of them.
        shape = np.asarray(y).shape if place_of(X) == "memory" else ()
        several = len(shape) == 2 and shape[1] > 1
        if known is None or several or (y is None and place_of(X) == "memory"):
            self._score_rows(X, y)
            return self
        targets, survey = known
        # Classes are numbered within the sums; numbers must be numbers.
        source = self._open(X, y, accept_sparse="csr", targets=targets)
        self._check_scores(source.n_features)
        name = type(self).__name__

        def solve(start: Any) -> Solver:
            return (yield from self._end((yield from survey(name, source))))

        self._run(solve, source)
        return self

    def _score_rows(self, X: Any, y: Any) -> None:
        """Score rows in memory by the function itself."""
        name = type(self).__name__
        if place_of(X) != "memory":
            raise DataError(
                f"{name}: score_func={getattr(self.score_func, '__name__', 'the function')!r} is no sum over rows, and "
                f"needs all of them in memory. Load them, or give f_classif, chi2, f_regression or r_regression."
            )
        if y is None:
            if self.score_func in SUMMED:
                raise DataError(f"{name}: requires y to be passed, but the target y is None. Give one value per row.")
            rows = validate_data(self, X, accept_sparse=["csr", "csc"])
        else:
            rows, y = validate_data(self, X, y, accept_sparse=["csr", "csc"], multi_output=True)
        self._check_scores(rows.shape[1])

        def solve(start: Any) -> Solver:
            found = yield Dense(lambda: self.score_func(rows, y))
            pair = found if isinstance(found, list | tuple) else (found, None)
            return (yield from self._end(pair))

        self._run(solve, open_source(np.zeros((1, 1)), threads=1))

    def _check_scores(self, width: int) -> None:
        """Raise or warn if the rule on scores does not suit the number of columns."""

    def _fitted(self, state: Any) -> dict[str, Any]:
        scores, p_values = state
        return {
            "scores_": np.asarray(scores, np.float64),
            "pvalues_": None if p_values is None else np.asarray(p_values, np.float64),
        }

    def _p_values(self) -> Array:
        check_is_fitted(self)
        if self.pvalues_ is None:
            raise DataError(
                f"{type(self).__name__}: score_func gives no p-values, by which columns are kept. Give f_classif, chi2 "
                f"or f_regression."
            )
        return self.pvalues_

    def transform(self, X: Any) -> Any:
        """Leave out the columns that were not selected.

        Returns
        -------
        ndarray or sparse matrix of shape (n_samples, n_features_out)
            Where and what the rows are: a Dask array for those of Dask, a CSR matrix for sparse ones.
        """
        check_is_fitted(self)
        return self._map(X, False)

    def _make_map(self, back: bool = False) -> Kept:
        mask = self._get_support_mask()
        if not mask.any():
            import warnings

            warnings.warn(
                f"{type(self).__name__}: No features were selected: either the data is too noisy or the selection test "
                f"too strict.",
                UserWarning,
                stacklevel=4,
            )
        return Kept(type(self).__name__, np.flatnonzero(mask))

    def _count_columns(self, source: Source) -> int:
        return int(self._get_support_mask().sum())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.score_func in SUMMED
        return tags
