"""Products of columns, in any place."""

from sklearn.preprocessing import PolynomialFeatures as TheirPolynomialFeatures

from mercer._base.blockwise.composed import StreamedTransformer


class PolynomialFeatures(StreamedTransformer, TheirPolynomialFeatures):
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
