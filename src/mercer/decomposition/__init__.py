"""Decomposition: principal components, whole, in batches, and of the features of a kernel."""

from mercer.decomposition._applications import denoise, remove_components
from mercer.decomposition._choice import AxesChoice, choose_n_axes
from mercer.decomposition._incremental_pca import IncrementalPCA
from mercer.decomposition._kernel_pca import KernelPCA
from mercer.decomposition._latent.factor_analysis import FactorAnalysis
from mercer.decomposition._latent.probabilistic_pca import ProbabilisticPCA
from mercer.decomposition._latent.rotation import rotate_loadings
from mercer.decomposition._nonnegative.factorization import non_negative_factorization
from mercer.decomposition._nonnegative.minibatch import MiniBatchNMF
from mercer.decomposition._nonnegative.nmf import NMF
from mercer.decomposition._online_pca import OnlinePCA
from mercer.decomposition._pca import PCA
from mercer.decomposition._power_iteration import PowerIteration, power_iteration, whitening_matrix
from mercer.decomposition._reduced_set import ReducedAxes, reduce_axes
from mercer.decomposition._robust_pca import RobustPCA
from mercer.decomposition._truncated_svd import TruncatedSVD
from mercer.decomposition._whitening import Whitening

__all__ = [
    "NMF",
    "PCA",
    "AxesChoice",
    "FactorAnalysis",
    "IncrementalPCA",
    "KernelPCA",
    "MiniBatchNMF",
    "OnlinePCA",
    "PowerIteration",
    "ProbabilisticPCA",
    "ReducedAxes",
    "RobustPCA",
    "TruncatedSVD",
    "Whitening",
    "choose_n_axes",
    "denoise",
    "non_negative_factorization",
    "power_iteration",
    "reduce_axes",
    "remove_components",
    "rotate_loadings",
    "whitening_matrix",
]
