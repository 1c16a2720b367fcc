"""Products of columns, in any place."""

from typing import Any

from sklearn.preprocessing import PolynomialFeatures as TheirPolynomialFeatures

from mercer._base.blockwise.composed import Streamed
from mercer._base.blockwise.frames import encode_elsewhere
from mercer._source import place_of


class PolynomialFeatures(Streamed, TheirPolynomialFeatures):
    """Multiply columns with each other and with themselves.

    It is scikit-learn's, with its parameters, attributes and answers, and also takes rows that are not in memory.

    Parameters
    ----------
    degree : int or tuple of two ints, default=2
        The highest degree of a product, or the lowest and the highest.
    interaction_only : bool, default=False
        Whether a column is at most once in a product.
    include_bias : bool, default=True
        Whether there is a column of ones.
    order : {"C", "F"}, default="C"
        The layout of dense results.

    Attributes
    ----------
    powers_ : ndarray of shape (n_output_features_, n_features_in_)
        The exponent of each column in each product.
    n_output_features_ : int
        Number of products.
    n_features_in_, feature_names_in_ :
        Number and names of the columns.

    Notes
    -----
    Nothing is learnt but the number of columns. Rows: NumPy, sparse, frames, files, streams that can be read again,
    Dask.

    See Also
    --------
    PolynomialBasis : Orthonormal polynomials of each column.

    Examples
    --------
    >>> from mercer.preprocessing import PolynomialFeatures
    >>> PolynomialFeatures(2).fit_transform([[2.0, 3.0]])
    array([[1., 2., 3., 4., 6., 9.]])
    """

    def fit(self, X: Any, y: Any = None) -> Any:
        """Find the products of columns.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features), or rows elsewhere
            Rows.
        y : None or the name of a column
            The column of the targets of a table elsewhere, which is left out.

        Returns
        -------
        self : PolynomialFeatures
            The fitted transformer.
        """
        self.__dict__.pop("_table_output", None)
        place = place_of(X)
        if place == "memory":
            return super().fit(X, y)
        return self._fit_to_head(X, y, place, super().fit)

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Fit to rows, and transform them.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features), or rows elsewhere
            Rows.
        y : None or the name of a column
            The column of the targets of a table elsewhere, which is left out.
        **params : dict
            Parameters of ``fit``.

        Returns
        -------
        ndarray, sparse matrix or frame of shape (n_samples, n_features_out)
            The result; of rows elsewhere an object that an estimator takes in their stead.
        """
        return self.fit(X, y, **params).transform(X)

    def transform(self, X: Any) -> Any:
        """Multiply columns.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features), or rows elsewhere
            Rows.

        Returns
        -------
        ndarray, sparse matrix or frame of shape (n_samples, n_features_out)
            The result; of rows elsewhere an object that an estimator takes in their stead.
        """
        place = place_of(X)
        return super().transform(X) if place == "memory" else encode_elsewhere(self, X, place)
