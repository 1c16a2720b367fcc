"""Feature maps whose dot products approximate kernels, and networks of radial basis functions."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {
        "_chi_squared": ("AdditiveChi2Sampler", "SkewedChi2Sampler"),
        "_count_sketch": ("PolynomialCountSketch",),
        "_nystroem": ("Nystroem",),
        "_random_waves": ("OrthogonalRandomFeatures", "RBFSampler"),
        "_rbf_network": ("RBFNetworkClassifier", "RBFNetworkRegressor"),
    },
    scikit="sklearn.kernel_approximation",
)
