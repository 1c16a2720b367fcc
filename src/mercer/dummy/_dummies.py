"""Predictors that ignore their inputs: what any model should beat."""

from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier as TheirClassifier
from sklearn.dummy import DummyRegressor as TheirRegressor

from mercer._base.opening import check_place, open_new_rows, open_rows
from mercer._base.scikit_learn import add_places
from mercer._source import Block, Source, place_of
from mercer._source.threads import n_threads
from mercer._statistic.labels import Labels
from mercer._types import Array


class PlacedDummy:
    """What both share: rows outside of memory; only their targets and weights are read."""

    def _threads(self) -> int:
        return n_threads(None)

    def _count_rows(self, X: Any) -> Any:
        """Return rows in memory as they are, and of others as many empty ones as there are."""
        if place_of(X) == "memory":
            return X
        return np.zeros((open_new_rows(self, X, accept_sparse=True).n_rows, 1))

    def _open_targets(self, X: Any, y: Any, sample_weight: Any, targets: str) -> Source:
        check_place(self, place_of(X, y))
        return open_rows(self, X, y, sample_weight, targets=targets, accept_sparse=True)

    def __sklearn_tags__(self) -> Any:
        return add_places(super().__sklearn_tags__(), ("memory", "file", "stream", "dask"))  # type: ignore[misc]


def _take_target(block: Block) -> Array:
    return block.y


def _take_weight(block: Block) -> Array:
    return np.ones(block.n) if block.weight is None else np.asarray(block.weight)


class DummyClassifier(PlacedDummy, TheirClassifier):
    """Predict classes without looking at the rows: by their frequency, at random, or always one.

    It is scikit-learn's, with its parameters, attributes and answers, and also takes tables that are not in memory.

    Parameters
    ----------
    strategy : {"most_frequent", "prior", "stratified", "uniform", "constant"}, default="prior"
        The most frequent class, with probability one or, as ``"prior"``, with the shares of the classes; classes drawn
        by their shares, or with equal ones; a class of your own.
    random_state : int, RandomState instance or None, default=None
        Draws classes.
    constant : int, str or array-like of shape (n_outputs,), default=None
        The class that ``"constant"`` predicts.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,) or list of such arrays
        The labels.
    n_classes_ : int or list of int
        How many there are.
    class_prior_ : ndarray of shape (n_classes,) or list of such arrays
        Their weighted shares.
    n_features_in_, feature_names_in_, n_outputs_, sparse_output_
        What was seen in ``fit``.

    Notes
    -----
    One pass over the targets.

    Examples
    --------
    >>> from mercer.dummy import DummyClassifier
    >>> model = DummyClassifier().fit([[0], [0], [0]], ["ash", "birch", "birch"])
    >>> model.predict([[5]]).tolist(), model.score([[1], [2]], ["ash", "birch"])
    (['birch'], 0.5)

    See Also
    --------
    DummyRegressor : The same for numbers.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "DummyClassifier":
        """Count the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a table elsewhere
            Rows; only their columns are noted.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), or the name of a column
            Labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights.

        Returns
        -------
        self : DummyClassifier
            The fitted model.
        """
        if place_of(X, y) == "memory":
            return super().fit(X, y, sample_weight)
        counts = self._open_targets(X, y, sample_weight, "labels").reduce(Labels())
        columns = {name: vars(self).get(name) for name in ("n_features_in_", "feature_names_in_")}
        super().fit(np.zeros((len(counts.classes), 1)), counts.classes, counts.weights)
        self.__dict__.update({name: value for name, value in columns.items() if value is not None})
        return self

    def predict(self, X: Any) -> Array:
        """Predict a class for each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a table elsewhere
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Labels.
        """
        return super().predict(self._count_rows(X))

    def predict_proba(self, X: Any) -> Any:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a table elsewhere
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or list of such arrays
            Probabilities.
        """
        return super().predict_proba(self._count_rows(X))


class DummyRegressor(PlacedDummy, TheirRegressor):
    """Predict one number for all rows: the mean, the median or a quantile of the targets, or a constant.

    It is scikit-learn's, with its parameters, attributes and answers, and also takes tables that are not in memory.

    Parameters
    ----------
    strategy : {"mean", "median", "quantile", "constant"}, default="mean"
        The number.
    constant : int, float or array-like of shape (n_outputs,), default=None
        What ``"constant"`` predicts.
    quantile : float in [0, 1] or None, default=None
        Which quantile; 0.5 is the median.

    Attributes
    ----------
    constant_ : ndarray of shape (1, n_outputs)
        The number.
    n_features_in_, feature_names_in_, n_outputs_
        What was seen in ``fit``.

    Notes
    -----
    One pass over the targets, which are held in memory.

    Examples
    --------
    >>> from mercer.dummy import DummyRegressor
    >>> DummyRegressor().fit([[0], [0]], [1.0, 3.0], [3.0, 1.0]).predict([[5]])
    array([1.5])

    See Also
    --------
    DummyClassifier : The same for classes.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "DummyRegressor":
        """Find the number.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a table elsewhere
            Rows; only their columns are noted.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), or names of columns
            Targets.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights.

        Returns
        -------
        self : DummyRegressor
            The fitted model.
        """
        if place_of(X, y) == "memory":
            return super().fit(X, y, sample_weight)
        source = self._open_targets(X, y, sample_weight, "numbers")
        targets = np.asarray(source.map(_take_target))
        weight = np.asarray(source.map(_take_weight)) if sample_weight is not None else None
        columns = {name: vars(self).get(name) for name in ("n_features_in_", "feature_names_in_")}
        super().fit(np.zeros((len(targets), 1)), targets, weight)
        self.__dict__.update({name: value for name, value in columns.items() if value is not None})
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predict the number for each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a table elsewhere
            Rows.
        return_std : bool, default=False
            Whether to return standard deviations too, which are zero.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predictions; with `return_std` a pair.
        """
        return super().predict(self._count_rows(X), return_std=return_std)
