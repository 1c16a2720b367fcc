"""The part of the documentation that both histogram boosting estimators share."""

_ATTRIBUTES_AND_NOTES = r"""n_iter_ : int
        Rounds.
    n_trees_per_iteration_ : int
        Trees in a round.
    do_early_stopping_ : bool
        Whether early stopping followed a score.
    train_score_, validation_score_ : ndarray of shape (n_iter_ + 1,) or (0,)
        The scores before the first round and after each; empty without early stopping.
    is_categorical_ : ndarray of shape (d,) or None
        Which columns hold categories.
    feature_importances_ : ndarray of shape (d,)
        The share of each column in the gain of all splits.
    budget_trials_ : list of dict
        With a budget: the parameters of each trial, and its score on the rows held out.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.
    history_ : dict of ndarray
        After each round: ``objective``, the mean loss of the training rows, ``seconds``, ``validation_score``.
    converged_ : bool
        Whether early stopping ended the fit, or no split of the last round had a gain.
    certificate_ : Certificate
        ``"none"``: boosting is greedy.

    Notes
    -----
    Gradients and curvatures are rounded to multiples of a power of two, 2**-52 of their sum, and added as integers: the
    trees are the same for any number of threads and in any place, and depend on the order of the rows through the
    sample only. The histogram of the larger child is that of the parent minus that of the smaller child. A round takes
    O(n d) at the root and about as much again below. Memory is 2 d + 50 bytes a row and 16 bytes more for each further
    score, forecast before it is taken; the rows themselves are not kept. Rows in files, streams and Dask collections
    are read twice, for a sample and for their bins.

    Bins are cut at the quantiles of 65 536 rows. Missing values go to the side with the larger gain, and in nodes
    without any to the side with more rows. If a column has more categories than bins, the most frequent ones have a bin
    each and the others share one; categories that are unknown, negative or missing are missing values. Categories with
    fewer than ten rows in a node go right. Weights are repetitions; rows of weight zero are left out.

    A split by k categories is the best of many sets and gains about :math:`2 k / \pi` by chance alone, in units of
    :math:`\sum g_i^2 / \sum h_i`. The default price subtracts about half of that from the gain. On held-out rows of 14
    tables this was better than a ridge penalty for such splits, and than limits on the categories of a side or on their
    rows.

    References
    ----------
    J. H. Friedman, Greedy function approximation: a gradient boosting machine, 2001.
    T. Chen and C. Guestrin, XGBoost: a scalable tree boosting system, 2016.
    G. Ke et al., LightGBM: a highly efficient gradient boosting decision tree, 2017."""

# The texts by the names that the docstrings of the two classes use.
SHARED = {"attributes_and_notes": _ATTRIBUTES_AND_NOTES}
