"""Transformers side by side, over rows in any place."""

from typing import Any

from sklearn.pipeline import FeatureUnion as TheirFeatureUnion
from sklearn.pipeline import make_union as make_theirs

from mercer._base.blockwise.composed import StreamedComposite
from mercer._source import place_of


class FeatureUnion(StreamedComposite, TheirFeatureUnion):
    """Apply several transformers to all columns, and join the results.

    It is scikit-learn's, with its parameters, attributes and answers, and also takes tables that are not in memory.

    Parameters
    ----------
    transformer_list : list of tuples
        (name, transformer); a transformer may be ``"drop"`` or ``"passthrough"``.
    n_jobs : int or None, default=None
        Number of jobs that fit the transformers.
    transformer_weights : dict or None, default=None
        Factors of the results, by name.
    verbose : bool, default=False
        Whether the time of each fit is printed.
    verbose_feature_names_out : bool, default=True
        Whether names of columns begin with that of the transformer.

    Attributes
    ----------
    named_transformers : Bunch
        The transformers by name.
    n_features_in_, feature_names_in_ :
        Number and names of the columns, as the first transformer knows them.

    Notes
    -----
    Rows in files, streams that can be read again, and Dask dataframes are encoded block by block, as by
    :class:`ColumnTransformer`.

    Examples
    --------
    >>> from mercer.pipeline import FeatureUnion
    >>> from mercer.preprocessing import MaxAbsScaler, MinMaxScaler
    >>> FeatureUnion([("range", MinMaxScaler()), ("size", MaxAbsScaler())]).fit_transform([[-1.0], [4.0]])
    array([[ 0.  , -0.25],
           [ 1.  ,  1.  ]])
    """

    _members = "transformer_list"

    def fit(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit all transformers.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features), or a table elsewhere
            Rows.
        y : array-like of shape (n_samples,), column name or None, default=None
            Targets.
        **fit_params : dict
            Parameters of the transformers, through scikit-learn's metadata routing.

        Returns
        -------
        self : FeatureUnion
            The fitted union.
        """
        if place_of(X, y) != "memory":
            self.fit_transform(X, y, **fit_params)
            return self
        self.__dict__.pop("_table_output", None)
        return super().fit(X, y, **fit_params)


def make_union(*transformers: Any, **options: Any) -> FeatureUnion:
    """Make a FeatureUnion of transformers, which are named after their classes.

    Parameters
    ----------
    *transformers : estimators
        The transformers.
    **options : dict
        Other parameters of :class:`FeatureUnion`.

    Returns
    -------
    FeatureUnion
        Not fitted.

    Examples
    --------
    >>> from mercer.pipeline import make_union
    >>> from mercer.preprocessing import MaxAbsScaler, MinMaxScaler
    >>> [name for name, _ in make_union(MinMaxScaler(), MaxAbsScaler()).transformer_list]
    ['minmaxscaler', 'maxabsscaler']
    """
    return FeatureUnion(**make_theirs(*transformers, **options).get_params(deep=False))
