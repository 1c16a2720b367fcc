"""Decomposition: principal components, whole and in batches."""

from mercer.decomposition._incremental_pca import IncrementalPCA
from mercer.decomposition._pca import PCA

__all__ = ["PCA", "IncrementalPCA"]
