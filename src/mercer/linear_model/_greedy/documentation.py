"""The parts of the documentation that models by least angle regression share."""

_PATH = r"""alphas_ : ndarray of shape (n_knots,), or a list of these, one for each target
        The penalty at each knot: the size of the products of columns in use with the residual, divided by the sum of
        the weights.
    active_ : list of int, or a list of these
        The columns in use at the end, in the order in which they joined.
    coef_path_ : ndarray of shape (n_features, n_knots), or a list of these
        The coefficients at each knot; between two of them they are on the line from one to the other."""

_COEF = r"""coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Coefficients.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercept.
    n_iter_ : int or list of int
        Steps from knot to knot, for each target.
    solver_used_ : str
        ``"gram"`` where the products of all columns were summed up, ``"columns"`` where those of each column were
        computed as it joined."""

_FEATURES = r"""n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where they have names."""

_NOTES = r"""Up to 512 columns, with more rows than columns, or where the rows are not in memory, one pass forms the
    d x d scatter: n d^2 multiplications, O(d^2) memory. Otherwise a pass over the rows, n d multiplications, gives the
    products of each column that joins. A step with k columns in use then takes O(k d). Rows: NumPy, frames, memory
    maps, SciPy sparse (never made dense), and with the scatter files, streams, Dask and devices."""

_EFRON = r"""B. Efron, T. Hastie, I. Johnstone and R. Tibshirani, Least angle regression, 2004."""

# The texts by the names that the docstrings of the classes use.
SHARED = {
    "path": _PATH,
    "coef": _COEF,
    "features": _FEATURES,
    "notes": _NOTES,
    "efron": _EFRON,
}
