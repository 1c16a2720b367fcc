"""The names of the estimator families, for lazy loading and for the closed registry of model files."""

__all__ = ["FAMILIES"]

FAMILIES = (
    "cluster",
    "covariance",
    "decomposition",
    "discriminant_analysis",
    "linear_model",
    "naive_bayes",
    "neighbors",
)
