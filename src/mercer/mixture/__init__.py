"""Mixtures, and the EM engine that fits them."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {
        "_bayesian_mixture": ("BayesianGaussianMixture",),
        "_bernoulli_mixture": ("BernoulliMixture",),
        "_expectation_maximisation": (
            "EMResult",
            "expectation_maximisation",
            "expected_log_likelihood",
            "free_energy",
            "responsibilities",
        ),
        "_gaussian_mixture": ("GaussianMixture",),
        "_selection": ("MixtureSelection", "select_mixture"),
    },
    scikit="sklearn.mixture",
)
