"""Gaussian processes: regression by three solvers, classification by Laplace's approximation, choice of kernels."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {
        "_classifier": ("GaussianProcessClassifier",),
        "_regressor": ("GaussianProcessRegressor",),
        "_selection": ("KernelSelection", "select_kernel"),
    },
    scikit="sklearn.gaussian_process",
)
