"""The parts of the documentation that the estimators by stochastic gradients share."""

_CLASSES_TO_T = r"""classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    coef_ : ndarray of shape (1, d) or (n_classes, d)
        w; one row for two classes, whose score speaks for the second.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        b.
    n_iter_ : int
        Epochs; with several classes, those of the slowest.
    t_ : float
        Number of the next step: one more than the rows visited."""

_CONVERGED_TO_FEATURE_NAMES = r"""converged_ : bool
        Whether the stopping rule was met; also True after `max_iter` epochs without a rule.
    certificate_ : Certificate
        The statement that there is none: :class:`GeneralizedLinearEstimator` minimises the same objective with a
        duality gap.
    n_features_in_, feature_names_in_
        Number and names of the columns seen by ``fit``."""

# The texts by the names that the docstrings of the classes use: a range of parameters or attributes.
SHARED = {
    "classes_to_t": _CLASSES_TO_T,
    "converged_to_feature_names": _CONVERGED_TO_FEATURE_NAMES,
}
