"""Regression of transformed targets, over rows in any place."""

from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor as TheirTransformedTargetRegressor

from mercer._source import place_of
from mercer._source.table.encoded import TableBlocks, TableView, read_with_targets


class TransformedTargetRegressor(TheirTransformedTargetRegressor):
    """Fit a regressor to transformed targets, and transform its predictions back.

    It is scikit-learn's, with its parameters, attributes and answers, and also takes rows that are not in memory.

    Parameters
    ----------
    regressor : object or None, default=None
        The regressor; None means LinearRegression.
    transformer : object or None, default=None
        A transformer with a way back, such as a scaler.
    func, inverse_func : callable or None, default=None
        Functions of the targets instead, such as ``numpy.log`` and ``numpy.exp``.
    check_inverse : bool, default=True
        Whether to warn if one does not undo the other.

    Attributes
    ----------
    regressor_ : object
        The fitted regressor.
    transformer_ : object
        The fitted transformer.
    n_features_in_, feature_names_in_ :
        As the regressor knows them.

    Notes
    -----
    Of rows in files and Dask collections the targets alone are read into memory, 8 bytes each; the regressor
    reads the rows where they are.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.compose import TransformedTargetRegressor
    >>> from mercer.linear_model import LinearRegression
    >>> rows = np.arange(4.0)[:, None]
    >>> model = TransformedTargetRegressor(LinearRegression(), func=np.log, inverse_func=np.exp)
    >>> model.fit(rows, np.exp(2 * rows[:, 0])).predict([[1.5]]).round(3)
    array([20.086])
    """

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Any:
        """Fit the regressor to transformed targets.

        Parameters
        ----------
        X : array-like, or rows elsewhere
            Rows, as the regressor takes them.
        y : array-like of shape (n_samples,), or the name of a column
            Targets.
        **fit_params : dict
            Parameters of the regressor's ``fit``.

        Returns
        -------
        self : TransformedTargetRegressor
            The fitted model.
        """
        place = place_of(X, y)
        if place != "memory":
            X, y = self._split_targets(X, y, place)
        return super().fit(X, y, **fit_params)

    def _split_targets(self, X: Any, y: Any, place: str) -> tuple[Any, Any]:
        """Return rows without their targets, and the targets as an array."""
        if not isinstance(y, str) or y.endswith(".npy"):
            return X, np.load(y) if isinstance(y, str) else np.asarray(y)
        if place == "dask":
            return X.drop(columns=[y]), np.asarray(X[y].compute())
        subject = type(self).__name__
        names = TableBlocks(X, [y], subject, 1, {}).names
        targets = [np.asarray(part) for _, part, _ in read_with_targets(TableView(X, [], place), y, subject, 1)]
        return TableView(X, list(names or []), place), np.concatenate(targets).astype(np.float64)
