"""The parts of the documentation that decision trees and extremely randomised trees share."""

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
    "attributes": _ATTRIBUTES,
    "extra_notes": _EXTRA_NOTES,
}
