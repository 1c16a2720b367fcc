"""Projections of two tables at once: canonical correlations and partial least squares."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {
        "_cca": ("CCA", "CorrelationTest"),
        "_kernel_cca": ("KernelCCA",),
        "_pls": ("PLSCanonical", "PLSRegression"),
        "_svd": ("PLSSVD",),
    },
    scikit="sklearn.cross_decomposition",
)
