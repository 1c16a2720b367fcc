"""Decomposition: principal components, whole, in batches, and of the features of a kernel."""

from mercer.decomposition._incremental_pca import IncrementalPCA
from mercer.decomposition._kernel_pca import KernelPCA
from mercer.decomposition._pca import PCA
from mercer.decomposition._power_iteration import PowerIteration, power_iteration, whitening_matrix
from mercer.decomposition._reduced_set import ReducedAxes, reduce_axes
from mercer.decomposition._truncated_svd import TruncatedSVD

__all__ = [
    "PCA",
    "IncrementalPCA",
    "KernelPCA",
    "PowerIteration",
    "ReducedAxes",
    "TruncatedSVD",
    "power_iteration",
    "reduce_axes",
    "whitening_matrix",
]
