"""The names of the estimator families, for lazy loading and for the closed registry of model files."""

__all__ = ["FAMILIES"]

FAMILIES = (
    "cluster",
    "decision",
    "decomposition",
    "estimation",
    "linear_model",
    "mixture",
    "neighbors",
    "preprocessing",
)
