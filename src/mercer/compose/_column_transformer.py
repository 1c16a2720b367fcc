"""Transformers of some columns each, over tables in any place."""

from sklearn.compose import ColumnTransformer as TheirColumnTransformer

from mercer._base.blockwise.composed import StreamedComposite


class ColumnTransformer(StreamedComposite, TheirColumnTransformer):
    """Apply a transformer to some columns each, and join the results.

    It is scikit-learn's, with its parameters, attributes and answers, and also takes tables that are not in memory.

    Parameters
    ----------
    transformers : list of tuples
        (name, transformer, columns); columns are names, positions, slices, masks or functions such as
        :func:`make_column_selector`. A transformer may be ``"drop"`` or ``"passthrough"``.
    remainder : {"drop", "passthrough"} or estimator, default="drop"
        What happens to the other columns.
    sparse_threshold : float, default=0.3
        The result is sparse if a smaller share of it is not zero; outside of memory the first block decides.
    n_jobs : int or None, default=None
        Number of jobs that fit the transformers.
    transformer_weights : dict or None, default=None
        Factors of the results, by name.
    verbose : bool, default=False
        Whether the time of each fit is printed.
    verbose_feature_names_out : bool, str or callable, default=True
        Whether names of columns begin with that of the transformer.
    force_int_remainder_cols : "deprecated"
        Has no effect.

    Attributes
    ----------
    transformers_ : list of tuples
        The fitted transformers, with their columns.
    named_transformers_ : Bunch
        The same by name.
    sparse_output_ : bool
        Whether the result is sparse.
    output_indices_ : dict
        The columns of the result that each transformer makes.
    n_features_in_, feature_names_in_ :
        Number and names of the columns.

    Notes
    -----
    Rows in files, streams that can be read again, and Dask dataframes: each transformer is fitted where the rows are,
    in as many passes as it needs over its columns alone, and the result is an object that an estimator takes in their
    stead: ``make_pipeline(ColumnTransformer(...), LogisticRegression()).fit("cars.parquet", "sold")`` reads and
    encodes a few blocks at a time in each pass of the estimator. Blocks are frames of pandas, which must be installed.
    The transformers must be mercer's, or work row by row. On Dask, rows are encoded by what is learnt of all rows, so
    that a TargetEncoder stands in a pipeline of its own there.

    See Also
    --------
    TableEncoder : Chooses an encoding for each column.

    Examples
    --------
    >>> import pandas
    >>> from mercer.compose import ColumnTransformer
    >>> from mercer.preprocessing import OneHotEncoder, StandardScaler
    >>> cars = pandas.DataFrame({"maker": ["Audi", "BMW", "Audi", "BMW"], "age": [1.0, 2.0, 3.0, 4.0]})
    >>> by_column = [("code", OneHotEncoder(), ["maker"]), ("scale", StandardScaler(), ["age"])]
    >>> ColumnTransformer(by_column).fit_transform(cars)[0].round(2)
    array([ 1.  ,  0.  , -1.34])
    """

    _members = "transformers"
