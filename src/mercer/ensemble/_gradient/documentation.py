"""The parts of the documentation that both gradient boosting estimators share."""

_ROUNDS = r"""learning_rate : a number in [0, inf), default=0.1
        The factor :math:`\nu` of each tree's values.
    n_estimators : an integer in [1, inf), default=100
        The number of rounds, M.
    subsample : a number in (0, 1], default=1.0
        The share of the rows that a round learns from, drawn anew without replacement.
    criterion : one of 'deprecated', 'squared_error', 'friedman_mse', default='deprecated'
        Has no effect, as in scikit-learn: splits are always those of least squares.
    min_samples_split : an integer in [2, inf) or a number in (0, 1], default=2
        Fewest rows of a node that is split, or their share.
    min_samples_leaf : an integer in [1, inf) or a number in (0, 1), default=1
        Fewest rows on each side of a split, or their share.
    min_weight_fraction_leaf : a number in [0, 0.5], default=0.0
        Least share of the weight on each side of a split.
    max_depth : an integer in [1, inf) or None, default=3
        Most splits from the root to a leaf.
    min_impurity_decrease : a number in [0, inf), default=0.0
        Least decrease of impurity by a split, weighted by the node's share of all weight."""

_DRAWING = """random_state : None, a non-negative integer, a numpy RandomState or a numpy Generator, default=None
        The seed of the rows and features that are drawn, and of the rows held out.
    max_features : an integer in [1, inf) or a number in (0, 1] or one of 'sqrt', 'log2' or None, default=None
        The number or share of features, drawn at random, among which a node is split; None means all."""

_STOPPING = """verbose : a boolean or an integer in [0, inf), default=0
        Whether to print a line for each round.
    max_leaf_nodes : an integer in [2, inf) or None, default=None
        Most leaves of a tree, which then grows best first.
    warm_start : a boolean, default=False
        Whether a fit adds rounds to those of the last fit.
    validation_fraction : a number in (0, 1), default=0.1
        The share of the rows held out for early stopping.
    n_iter_no_change : an integer in [1, inf) or None, default=None
        Rounds whose validation loss the next round must improve on at least once, or the fit ends; None holds out no
        rows.
    tol : a number in [0, inf), default=0.0001
        The least difference that counts as a smaller loss.
    ccp_alpha : a number in [0, inf), default=0.0
        The price of a leaf in cost-complexity pruning of each tree.
    max_time : a number in [0, inf) or None, default=None
        Seconds after which the fit ends with the rounds it has.
    n_jobs : an integer in (-inf, inf) or None, default=None
        Threads; None means all cores. Changes no result."""

_ATTRIBUTES = """n_estimators_, n_trees_per_iteration_, max_features_ : int
        The numbers of rounds, of trees in a round, and of features among which a node is split.
    init_ : estimator or 'zero'
        What the rounds start from.
    train_score_ : ndarray of shape (n_estimators_,)
        The loss after each round of the rows that it learnt from.
    oob_scores_, oob_improvement_ : ndarray of shape (n_estimators_,)
        With `subsample` < 1: the loss of the other rows after each round, and its decrease by the round.
    oob_score_ : float
        The last of `oob_scores_`.
    feature_importances_ : ndarray of shape (n_features,)
        The share of each feature in the gain of all splits.
    n_features_in_, feature_names_in_
        Number and names of the columns.
    history_ : dict of ndarray
        After each round: ``objective``, the mean loss of all training rows, and ``seconds``.
    converged_ : bool
        Whether early stopping or the monitor ended the fit.
    n_iter_, certificate_
        Rounds of this fit. No certificate: boosting is greedy."""

# The texts by the names that the docstrings of the two classes use.
SHARED = {
    "rounds": _ROUNDS,
    "drawing": _DRAWING,
    "stopping": _STOPPING,
    "attributes": _ATTRIBUTES,
}
