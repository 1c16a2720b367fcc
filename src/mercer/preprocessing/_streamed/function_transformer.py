"""Functions of rows, in any place."""

from typing import Any

from sklearn.preprocessing import FunctionTransformer as TheirFunctionTransformer

from mercer._base.blockwise.composed import StreamedTransformer


class FunctionTransformer(StreamedTransformer, TheirFunctionTransformer):
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

    def _name_outputs(self) -> list[str]:
        """Return the names of the columns of the result, those of a frame if the function returns one."""
        return list(self._output_names)

    def _note_output(self, shown: Any, table: Any) -> None:
        super()._note_output(shown, table)
        named = hasattr(shown, "columns")
        self._output_names = (
            [str(name) for name in shown.columns] if named else [f"x{k}" for k in range(shown.shape[1])]
        )
