"""The names of the estimator families, for lazy loading and for the closed registry of model files."""

__all__ = ["FAMILIES"]

FAMILIES = (
    "cluster",
    "covariance",
    "decision",
    "decomposition",
    "discriminant_analysis",
    "ensemble",
    "estimation",
    "linear_model",
    "mixture",
    "naive_bayes",
    "neighbors",
    "preprocessing",
)
