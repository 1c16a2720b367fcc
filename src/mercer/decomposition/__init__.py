"""Decomposition: principal components, whole, in batches and of kernels; independent components; source separation."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {
        "_applications": ("denoise", "remove_components"),
        "_choice": ("AxesChoice", "choose_n_axes"),
        "_incremental_pca": ("IncrementalPCA",),
        "_kernel_pca": ("KernelPCA",),
        "_latent.factor_analysis": ("FactorAnalysis", "rotate_loadings"),
        "_latent.probabilistic_pca": ("ProbabilisticPCA",),
        "_nonnegative.minibatch": ("MiniBatchNMF",),
        "_nonnegative.nmf": ("NMF", "non_negative_factorization"),
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
    scikit="sklearn.decomposition",
)
