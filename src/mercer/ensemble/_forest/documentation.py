"""The parts of the documentation that the random forests and the extremely randomised trees share."""

_LIMITS = """max_depth : an integer in [0, inf) or None, default=None
        Most splits from the root to a leaf; 0 gives one leaf, and None means no limit.
    min_samples_split : an integer in [2, inf) or a number in (0, 1], default=2
        Fewest rows of a node that is split, or their share.
    min_samples_leaf : an integer in [1, inf) or a number in (0, 1), default=1
        Fewest rows on each side of a split, or their share.
    min_weight_fraction_leaf : a number in [0, 0.5], default=0.0
        Least share of the weight on each side of a split."""

_LEAVES = """max_leaf_nodes : an integer in [2, inf) or None, default=None
        Most leaves of a tree, which then grows best first.
    min_impurity_decrease : a number in [0, inf), default=0.0
        Least decrease of impurity by a split, weighted by the node's share of all weight."""

_PROGRESS = """verbose : a boolean or an integer in [0, inf), default=0
        Whether to print a line for each tree.
    warm_start : a boolean, default=False
        Whether `fit` keeps the trees of the last fit and grows only those that are missing."""

_PRUNING_AND_SAMPLES = """ccp_alpha : a number in [0, inf), default=0.0
        The price of a leaf in cost-complexity pruning of each tree.
    max_samples : an integer in [1, inf) or a number in (0, inf) or None, default=None
        The number or share of rows drawn for a tree; None means as many as there are.
    monotonic_cst : an array-like or None, default=None
        For each feature 1 if predictions may only rise with it, -1 if they may only fall, else 0.
    categorical_features : an array-like or one of 'from_dtype' or None, default=None
        Columns that hold categories: a mask, indices or names; ``'from_dtype'``: the columns of a frame of that type.
    max_time : a number in [0, inf) or None, default=None
        Seconds after which the fit ends with the trees it has; trees still growing are discarded, except the first."""

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
    "limits": _LIMITS,
    "leaves": _LEAVES,
    "progress": _PROGRESS,
    "pruning_and_samples": _PRUNING_AND_SAMPLES,
    "scores": _SCORES,
    "history": _HISTORY,
    "forest_notes": _FOREST_NOTES,
    "extra_notes": _EXTRA_NOTES,
}
