"""Decomposition: principal components, whole, in batches, and of the features of a kernel."""

from mercer.decomposition._incremental_pca import IncrementalPCA
from mercer.decomposition._kernel_pca import KernelPCA
from mercer.decomposition._pca import PCA

__all__ = ["PCA", "IncrementalPCA", "KernelPCA"]
