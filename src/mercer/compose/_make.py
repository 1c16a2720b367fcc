"""Column transformers whose members name themselves."""

from typing import Any

from sklearn.compose import make_column_transformer as make_theirs

from mercer.compose._column_transformer import ColumnTransformer


def make_column_transformer(*transformers: Any, **options: Any) -> ColumnTransformer:
    """Make a ColumnTransformer of (transformer, columns) pairs, which are named after their classes.

    Parameters
    ----------
    *transformers : tuples
        (transformer, columns), as :class:`ColumnTransformer` takes them after a name.
    **options : dict
        Other parameters of :class:`ColumnTransformer`.

    Returns
    -------
    ColumnTransformer
        Not fitted.

    Examples
    --------
    >>> from mercer.compose import make_column_transformer
    >>> from mercer.preprocessing import OneHotEncoder, StandardScaler
    >>> made = make_column_transformer((OneHotEncoder(), ["maker"]), (StandardScaler(), ["age"]))
    >>> [name for name, _, _ in made.transformers]
    ['onehotencoder', 'standardscaler']
    """
    return ColumnTransformer(**make_theirs(*transformers, **options).get_params(deep=False))
