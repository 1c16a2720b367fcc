"""Decomposition: principal components, whole and in batches."""

from mercer.decomposition._pca import PCA

__all__ = ["PCA"]
