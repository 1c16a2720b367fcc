"""The part of the documentation that both histogram boosting estimators share."""

_TREES = r"""learning_rate : a number in (0, inf), default=0.1
        The factor :math:`\nu` of each tree's values.
    max_iter : an integer in [1, inf), default=100
        The number of rounds, M.
    max_leaf_nodes : an integer in [2, inf) or None, default=31
        Most leaves of a tree; the leaf whose split gains most is split next.
    max_depth : an integer in [1, inf) or None, default=None
        Most splits from the root to a leaf.
    min_samples_leaf : an integer in [1, inf), default=20
        Fewest rows of a leaf. Where all weights are whole numbers, a row of weight w counts as w rows.
    l2_regularization : a number in [0, inf), default=0.0
        The penalty :math:`\lambda` on the values of leaves.
    max_features : a number in (0, 1], default=1.0
        The share of the columns, drawn anew for each split, that a split may choose from.
    max_bins : an integer in [2, 255], default=255
        Most bins of a column; missing values have one more.
    categorical_features : an array-like or one of 'from_dtype' or None, default='from_dtype'
        Columns that hold categories: a mask, indices or names; by default the columns of a frame of categorical type.
    monotonic_cst : an array-like or an instance of dict or None, default=None
        1 where the score may only rise with a column, -1 where it may only fall, 0 elsewhere; or by name.
    interaction_cst : one of 'pairwise', 'no_interactions' or an instance of list or tuple or None, default=None
        Sets of columns that may occur together on a path from the root to a leaf.
    warm_start : a boolean, default=False
        Whether a fit continues the last one, with its trees, bins and seed.
    early_stopping : one of 'auto' or a boolean, default='auto'
        Whether a validation score ends the rounds; ``'auto'`` means for more than 10 000 rows.
    scoring : a string or a callable or None, default='loss'
        The validation score: minus the loss, a scorer of scikit-learn, or None for the method ``score``.
    validation_fraction : a number in (0, 1) or an integer in [1, inf) or None, default=0.1
        The share or number of rows held out for validation where ``fit`` is given none; with None the training rows
        are scored.
    n_iter_no_change : an integer in [1, inf), default=10
        Rounds without a better score that end the fit.
    tol : a number in [0, inf), default=1e-07
        The least difference that counts as a better score.
    verbose : an integer in [0, inf) or a boolean, default=0
        Whether to print a line for each round.
    random_state : None, a non-negative integer, a numpy RandomState or a numpy Generator, default=None
        The seed of the held-out rows, of the sample for the bins, and of the columns of splits."""

_SAMPLING = r"""subsample : a number in (0, 1], default=1.0
        The probability that a row is drawn for a round, independently in each; a round learns from drawn rows only.
    category_price : a number in [0, inf), default=0.3
        The gain that a split by categories needs for each category beyond four, in units of the gain that a category
        makes by chance. With 0, as in scikit-learn, columns with many categories win by chance.
    budget : a number in (0, inf) or None, default=None
        If set, learning rate, leaves and rounds are found on rows held out: 1 is usual, more takes longer and is a
        little better. `learning_rate`, `max_iter`, `max_leaf_nodes`, `early_stopping`, `validation_fraction`,
        `n_iter_no_change` and `warm_start` must then keep their defaults.
    max_time : a number in [0, inf) or None, default=None
        Seconds after which the fit ends with the rounds it has.
    n_jobs : an integer in (-inf, inf) or None, default=None
        Threads; None means all cores. Changes no result."""

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
SHARED = {"trees": _TREES, "sampling": _SAMPLING, "attributes_and_notes": _ATTRIBUTES_AND_NOTES}
