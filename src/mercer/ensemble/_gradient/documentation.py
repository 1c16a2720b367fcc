"""The parts of the documentation that both gradient boosting estimators share."""

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
    "attributes": _ATTRIBUTES,
}
