"""Gaussian processes: regression by three solvers, classification by Laplace's approximation, choice of kernels."""

from mercer.gaussian_process._classifier import GaussianProcessClassifier
from mercer.gaussian_process._regressor import GaussianProcessRegressor
from mercer.gaussian_process._selection import KernelSelection, select_kernel

__all__ = ["GaussianProcessClassifier", "GaussianProcessRegressor", "KernelSelection", "select_kernel"]
