"""The names of the estimator families, for lazy loading and for the closed registry of model files."""

__all__ = ["FAMILIES"]

FAMILIES = (
    "bayesnet",
    "cluster",
    "covariance",
    "cross_decomposition",
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
    "manifold",
    "mixture",
    "naive_bayes",
    "neighbors",
    "neural_network",
    "outliers",
    "preprocessing",
    "random_projection",
    "svm",
    "tree",
)
