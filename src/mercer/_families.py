"""The names of the estimator families, for lazy loading and for the closed registry of model files."""

__all__ = ["FAMILIES"]

FAMILIES = (
    "bayesnet",
    "cluster",
    "covariance",
    "decision",
    "decomposition",
    "discriminant_analysis",
    "energy",
    "ensemble",
    "estimation",
    "gaussian_process",
    "hmm",
    "kernel_approximation",
    "kernel_ridge",
    "linear_model",
    "mixture",
    "naive_bayes",
    "neighbors",
    "preprocessing",
    "svm",
    "tree",
)
