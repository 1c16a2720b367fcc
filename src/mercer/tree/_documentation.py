"""The parts of the documentation that decision trees and extremely randomised trees share."""

_CLASS_CRITERION = """criterion : one of 'gini', 'entropy', 'log_loss', default='gini'
        The impurity I; 'entropy' and 'log_loss' are the same."""

_VALUE_CRITERION = """\
criterion : one of 'squared_error', 'friedman_mse', 'absolute_error', 'poisson', default='squared_error'
        The impurity: 'squared_error' is the variance, and 'friedman_mse' chooses the same splits; 'absolute_error' is
        the mean distance from the median, which a leaf then predicts; 'poisson' is half the mean Poisson deviance, for
        counts."""

_SPLITTER = """'best' tries all thresholds, 'random' one drawn at random for each feature, and 'histogram' those between
        at most 255 bins of each column, which hold about equal weight."""

_SIZE = """max_depth : an integer in [0, inf) or None, default=None
        The most splits from the root to a leaf; 0 gives one leaf, and None means no limit.
    min_samples_split : an integer in [2, inf) or a number in (0, 1], default=2
        The rows a node needs to be split, or their share.
    min_samples_leaf : an integer in [1, inf) or a number in (0, 1), default=1
        The rows each side of a split needs, or their share.
    min_weight_fraction_leaf : a number in [0, 0.5], default=0.0
        The share of the weight that each side of a split needs."""

_MAX_FEATURES = """The number of features, drawn at random, that a node considers, or their share; None means all. More
        are considered where those drawn are constant."""

_GROWTH = """max_leaf_nodes : an integer in [2, inf) or None, default=None
        The most leaves; the tree then grows where a split gains most.
    min_impurity_decrease : a number in [0, inf), default=0.0
        The least gain of a split, as a share of all weight."""

_CLASS_WEIGHT = """class_weight : one of 'balanced' or an instance of dict or list or None, default=None
        Factors for the weights of classes; "balanced" makes classes weigh the same. For several outputs a list."""

_PRUNING = """ccp_alpha : a number in [0, inf), default=0.0
        The price of a leaf in cost-complexity pruning: the smallest tree that minimises impurity plus price is kept."""

_CLASS_ORDER = """monotonic_cst : an array-like or None, default=None
        For each feature 1 if the probability of the second class must rise with it, -1 if it must fall, 0 if free."""

_VALUE_ORDER = """monotonic_cst : an array-like or None, default=None
        For each feature 1 if predictions must rise with it, -1 if they must fall, 0 if free."""

_REST = """categorical_features : an array-like or one of 'from_dtype' or None, default=None
        The columns that hold categories, by index, mask or name, or those of a frame that have such a type.
    max_time : a number in [0, inf) or None, default=None
        Seconds after which growth ends with the levels that are complete.
    n_jobs : an integer in (-inf, inf) or None, default=None
        Threads; None means all that are free. Never changes a result."""

_ATTRIBUTES = """feature_importances_ : ndarray of shape (n_features,)
        Shares of the impurity that the splits by each feature take away.
    history_ : dict of ndarray
        By level: ``objective``, the weighted impurity of the leaves, and ``leaves``, their number.
    converged_, n_iter_, certificate_
        How the fit went. No certificate: a greedy tree may be far from the best one.
    n_features_in_, feature_names_in_
        Number and names of the columns."""

_EXTRA_NOTES = """Notes
    -----
    The draws of a node depend on the seed and on the path from the root to it, not on the order of rows or of growth.

    References
    ----------
    P. Geurts, D. Ernst and L. Wehenkel, Extremely randomized trees, 2006."""

# The texts by the names that the docstrings of the four classes use.
SHARED = {
    "class_criterion": _CLASS_CRITERION,
    "value_criterion": _VALUE_CRITERION,
    "splitter": _SPLITTER,
    "size": _SIZE,
    "max_features": _MAX_FEATURES,
    "class_limits": "\n    ".join((_GROWTH, _CLASS_WEIGHT, _PRUNING, _CLASS_ORDER, _REST)),
    "value_limits": "\n    ".join((_GROWTH, _PRUNING, _VALUE_ORDER, _REST)),
    "attributes": _ATTRIBUTES,
    "extra_notes": _EXTRA_NOTES,
}
