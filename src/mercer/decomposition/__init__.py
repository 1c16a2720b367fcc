"""Decomposition: principal components, whole, in batches, and of the features of a kernel."""

from mercer.decomposition._incremental_pca import IncrementalPCA
from mercer.decomposition._kernel_pca import KernelPCA
from mercer.decomposition._latent.factor_analysis import FactorAnalysis
from mercer.decomposition._latent.probabilistic_pca import ProbabilisticPCA
from mercer.decomposition._latent.rotation import rotate_loadings
from mercer.decomposition._nonnegative.factorization import non_negative_factorization
from mercer.decomposition._nonnegative.minibatch import MiniBatchNMF
from mercer.decomposition._nonnegative.nmf import NMF
from mercer.decomposition._pca import PCA
from mercer.decomposition._power_iteration import PowerIteration, power_iteration, whitening_matrix
from mercer.decomposition._reduced_set import ReducedAxes, reduce_axes
from mercer.decomposition._truncated_svd import TruncatedSVD

__all__ = [
    "NMF",
    "PCA",
    "FactorAnalysis",
    "IncrementalPCA",
    "KernelPCA",
    "MiniBatchNMF",
    "PowerIteration",
    "ProbabilisticPCA",
    "ReducedAxes",
    "TruncatedSVD",
    "non_negative_factorization",
    "power_iteration",
    "reduce_axes",
    "rotate_loadings",
    "whitening_matrix",
]
