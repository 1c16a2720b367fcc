"""Discriminant analysis: Gaussian classes with one covariance, or each with its own."""

from mercer.discriminant_analysis._linear import LinearDiscriminantAnalysis

__all__ = ["LinearDiscriminantAnalysis"]
