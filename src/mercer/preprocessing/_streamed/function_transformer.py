"""Functions of rows, in any place."""

from typing import Any

from sklearn.preprocessing import FunctionTransformer as TheirFunctionTransformer

from mercer._base.blockwise.composed import Streamed
from mercer._base.blockwise.frames import encode_elsewhere
from mercer._source import place_of


class FunctionTransformer(Streamed, TheirFunctionTransformer):
    """Apply a function to rows.

    It is scikit-learn's, with its parameters, attributes and answers, and also takes rows that are not in memory.

    Parameters
    ----------
    func : callable or None, default=None
        From rows to rows; None returns them as they are. Of tables elsewhere it is given frames of pandas.
    inverse_func : callable or None, default=None
        The way back.
    validate : bool, default=False
        Whether rows are checked to be numbers.
    accept_sparse : bool, default=False
        Whether rows may be sparse.
    check_inverse : bool, default=True
        Whether to warn if one function does not undo the other.
    feature_names_out : callable, "one-to-one" or None, default=None
        The names of the columns of the result.
    kw_args, inv_kw_args : dict or None, default=None
        Further arguments of the functions.

    Attributes
    ----------
    n_features_in_, feature_names_in_ :
        Number and names of the columns.

    Notes
    -----
    Rows in files, streams and Dask collections are given to the function block by block, in each pass: it must
    work row by row. A frame that it returns goes on to the next transformer with its names and types.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.preprocessing import FunctionTransformer
    >>> FunctionTransformer(np.log1p).fit_transform(np.array([[0.0, 1.0]])).round(3)
    array([[0.   , 0.693]])
    """

    def fit(self, X: Any, y: Any = None) -> Any:
        """Store the number and names of the columns.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features), or rows elsewhere
            Rows.
        y : None or the name of a column
            The column of the targets of a table elsewhere, which is left out.

        Returns
        -------
        self : FunctionTransformer
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
        """Apply the function.

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

    def _name_outputs(self) -> list[str]:
        """Return the names of the columns of the result, those of a frame if the function returns one."""
        return list(self._output_names)

    def _note_output(self, shown: Any, table: Any) -> None:
        super()._note_output(shown, table)
        named = hasattr(shown, "columns")
        self._output_names = (
            [str(name) for name in shown.columns] if named else [f"x{k}" for k in range(shown.shape[1])]
        )
