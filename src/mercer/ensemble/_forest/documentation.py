"""The parts of the documentation that the random forests and the extremely randomised trees share."""

_SCORES = """n_outputs_ : int
        Columns of targets.
    feature_importances_ : ndarray of shape (n_features,)
        Mean share of each feature in the decrease of impurity; biased, see :meth:`permutation_importance`.
    oob_score_ : float
        With `oob_score`: the score of predictions by trees that did not see a row."""

_HISTORY = """estimators_samples_ : list of ndarray
        The rows drawn for each tree.
    history_ : dict of ndarray
        For each tree: ``objective``, the mean impurity of its leaves, ``nodes``, and with `oob_score` ``oob_error``,
        one minus the score of the trees so far.
    converged_, n_iter_, certificate_
        How the fit went.
    n_features_in_, feature_names_in_
        Number and names of the columns."""

_FOREST_NOTES = """Notes
    -----
    A level of a tree costs O(m k) for m rows and k features drawn, after every column was ranked once. Nodes of at
    least 256 rows are searched in 255 steps of about equally many rows, smaller nodes exactly; trees are as accurate as
    those of an exact search. Trees grow in parallel, each from a seed of its own. Missing values (NaN) go to the side
    with the larger gain. With `sample_weight` rows are drawn in proportion to it. Rows must be in memory, with 2 to 10
    bytes a value in addition and about 100 bytes a row for each thread.

    References
    ----------
    L. Breiman, Random forests, 2001."""

_EXTRA_NOTES = """Notes
    -----
    Every node draws one threshold for each of its features, uniform between the least and greatest value of its rows,
    and takes the best of these splits. That costs less than a search and makes trees less correlated. Trees see all
    rows unless `bootstrap`. Missing values (NaN) go to a side drawn at random. Rows must be in memory.

    References
    ----------
    P. Geurts, D. Ernst and L. Wehenkel, Extremely randomized trees, 2006."""

# The texts by the names that the docstrings of the four classes use.
SHARED = {
    "scores": _SCORES,
    "history": _HISTORY,
    "forest_notes": _FOREST_NOTES,
    "extra_notes": _EXTRA_NOTES,
}
