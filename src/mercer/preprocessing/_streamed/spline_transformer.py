"""Splines of each column, in any place."""

from typing import Any

import numpy as np
from sklearn.preprocessing import SplineTransformer as TheirSplineTransformer

from mercer._base.blockwise.composed import StreamedTransformer
from mercer._source import place_of
from mercer.preprocessing._min_max_scaler import MinMaxScaler
from mercer.preprocessing._quantile_transformer import QuantileTransformer


class SplineTransformer(StreamedTransformer, TheirSplineTransformer):
    """Turn each column into B-splines, bumps that a linear model weighs to draw any curve.

    It is scikit-learn's, with its parameters, attributes and answers, and also takes rows that are not in memory.

    Parameters
    ----------
    n_knots : int, default=5
        Knots of each column, unless they are given.
    degree : int, default=3
        Degree of the polynomials between knots.
    knots : {"uniform", "quantile"} or array-like of shape (n_knots, n_features), default="uniform"
        Evenly spaced between the least and the largest value, at quantiles, or as they are given.
    extrapolation : {"error", "constant", "linear", "continue", "periodic"}, default="constant"
        What happens beyond the outer knots.
    include_bias : bool, default=True
        Whether the last spline of each column is kept; all sum to one.
    order : {"C", "F"}, default="C"
        The layout of dense results.
    handle_missing : {"error", "zeros"}, default="error"
        Whether missing values are refused, or give zeros.
    sparse_output : bool, default=False
        Whether the result is sparse.

    Attributes
    ----------
    bsplines_ : list of BSpline
        The splines of each column.
    n_features_out_ : int
        Number of columns of the result.
    n_features_in_, feature_names_in_ :
        Number and names of the columns.

    Notes
    -----
    Outside of memory one pass finds the ends or the quantiles of the columns, and there are no weights. Rows: NumPy,
    frames, files, streams that can be read again, Dask.

    See Also
    --------
    SplineBasis : Natural cubic splines of each column.

    Examples
    --------
    >>> from mercer.preprocessing import SplineTransformer
    >>> SplineTransformer(n_knots=3, degree=1).fit_transform([[0.0], [1.0], [4.0]])
    array([[1. , 0. , 0. ],
           [0.5, 0.5, 0. ],
           [0. , 0. , 1. ]])
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Find the knots of each column.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features), or rows elsewhere
            Rows.
        y : None or the name of a column
            The column of the targets of a table elsewhere, which is left out.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights, for knots at quantiles of rows in memory.

        Returns
        -------
        self : SplineTransformer
            The fitted transformer.
        """
        if place_of(X) == "memory":
            self.__dict__.pop("_table_output", None)
            return TheirSplineTransformer.fit(self, X, y, sample_weight)
        given: Any = self.get_params()["knots"]
        try:
            if isinstance(given, str):
                self.knots = self._find_knots(X, y)
            return super().fit(X, y)
        finally:
            self.knots = given

    def _find_knots(self, X: Any, y: Any) -> np.ndarray:
        """Return the knots of the columns of rows elsewhere, (n_knots, n_features)."""
        if self.knots == "quantile":
            return QuantileTransformer(n_quantiles=self.n_knots, subsample=None).fit(X, y).quantiles_
        extent = MinMaxScaler().fit(X, y)
        return np.linspace(extent.data_min_, extent.data_max_, self.n_knots)
