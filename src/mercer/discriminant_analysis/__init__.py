"""Discriminant analysis: Gaussian classes with one covariance, or each with its own."""

from mercer.discriminant_analysis._linear import LinearDiscriminantAnalysis
from mercer.discriminant_analysis._quadratic import QuadraticDiscriminantAnalysis

__all__ = ["LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"]
