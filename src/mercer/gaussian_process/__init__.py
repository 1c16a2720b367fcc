"""Gaussian processes: regression by three solvers, classification by Laplace's approximation, choice of kernels."""

from typing import TYPE_CHECKING

from mercer._lazy import load_on_use

if TYPE_CHECKING:
    from mercer.gaussian_process._classifier import GaussianProcessClassifier
    from mercer.gaussian_process._regressor import GaussianProcessRegressor
    from mercer.gaussian_process._selection import KernelSelection, select_kernel

__all__ = ["GaussianProcessClassifier", "GaussianProcessRegressor", "KernelSelection", "select_kernel"]

__getattr__, __dir__ = load_on_use(
    __name__,
    {
        "_classifier": ("GaussianProcessClassifier",),
        "_regressor": ("GaussianProcessRegressor",),
        "_selection": ("KernelSelection", "select_kernel"),
    },
)
