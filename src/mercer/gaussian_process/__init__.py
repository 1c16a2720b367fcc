"""Gaussian processes: regression by three solvers, classification by Laplace's approximation."""

from mercer.gaussian_process._classifier import GaussianProcessClassifier
from mercer.gaussian_process._regressor import GaussianProcessRegressor

__all__ = ["GaussianProcessClassifier", "GaussianProcessRegressor"]
