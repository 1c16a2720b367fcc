"""Decomposition: principal components, whole, in batches and of kernels; independent components; source separation."""

from typing import TYPE_CHECKING

from mercer._lazy import load_on_use

if TYPE_CHECKING:
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
    from mercer.decomposition._separation.diagonalisation import JointDiagonalization, diagonalize_jointly
    from mercer.decomposition._separation.fast_ica import FastICA, fastica
    from mercer.decomposition._separation.gradient_ascent import infomax_gradient, natural_gradient
    from mercer.decomposition._separation.ica import ICA
    from mercer.decomposition._separation.matching import SourceMatch, amari_distance, match_sources
    from mercer.decomposition._separation.negentropy import density_kurtosis, density_negentropy, negentropy
    from mercer.decomposition._separation.neuron import SigmoidNeuron, train_neuron
    from mercer.decomposition._separation.pursuit import ProjectionPursuit
    from mercer.decomposition._separation.second_order import SecondOrderSeparation
    from mercer.decomposition._separation.stability import SourceStability, measure_stability
    from mercer.decomposition._truncated_svd import TruncatedSVD
    from mercer.decomposition._whitening import Whitening

__all__ = [
    "ICA",
    "NMF",
    "PCA",
    "AxesChoice",
    "FactorAnalysis",
    "FastICA",
    "IncrementalPCA",
    "JointDiagonalization",
    "KernelPCA",
    "MiniBatchNMF",
    "OnlinePCA",
    "PowerIteration",
    "ProbabilisticPCA",
    "ProjectionPursuit",
    "ReducedAxes",
    "RobustPCA",
    "SecondOrderSeparation",
    "SigmoidNeuron",
    "SourceMatch",
    "SourceStability",
    "TruncatedSVD",
    "Whitening",
    "amari_distance",
    "choose_n_axes",
    "denoise",
    "density_kurtosis",
    "density_negentropy",
    "diagonalize_jointly",
    "fastica",
    "infomax_gradient",
    "match_sources",
    "measure_stability",
    "natural_gradient",
    "negentropy",
    "non_negative_factorization",
    "power_iteration",
    "reduce_axes",
    "remove_components",
    "rotate_loadings",
    "train_neuron",
    "whitening_matrix",
]

__getattr__, __dir__ = load_on_use(
    __name__,
    {
        "_applications": ("denoise", "remove_components"),
        "_choice": ("AxesChoice", "choose_n_axes"),
        "_incremental_pca": ("IncrementalPCA",),
        "_kernel_pca": ("KernelPCA",),
        "_latent.factor_analysis": ("FactorAnalysis",),
        "_latent.probabilistic_pca": ("ProbabilisticPCA",),
        "_latent.rotation": ("rotate_loadings",),
        "_nonnegative.factorization": ("non_negative_factorization",),
        "_nonnegative.minibatch": ("MiniBatchNMF",),
        "_nonnegative.nmf": ("NMF",),
        "_online_pca": ("OnlinePCA",),
        "_pca": ("PCA",),
        "_power_iteration": ("PowerIteration", "power_iteration", "whitening_matrix"),
        "_reduced_set": ("ReducedAxes", "reduce_axes"),
        "_robust_pca": ("RobustPCA",),
        "_separation.diagonalisation": ("JointDiagonalization", "diagonalize_jointly"),
        "_separation.fast_ica": ("FastICA", "fastica"),
        "_separation.gradient_ascent": ("infomax_gradient", "natural_gradient"),
        "_separation.ica": ("ICA",),
        "_separation.matching": ("SourceMatch", "amari_distance", "match_sources"),
        "_separation.negentropy": ("density_kurtosis", "density_negentropy", "negentropy"),
        "_separation.neuron": ("SigmoidNeuron", "train_neuron"),
        "_separation.pursuit": ("ProjectionPursuit",),
        "_separation.second_order": ("SecondOrderSeparation",),
        "_separation.stability": ("SourceStability", "measure_stability"),
        "_truncated_svd": ("TruncatedSVD",),
        "_whitening": ("Whitening",),
    },
)
