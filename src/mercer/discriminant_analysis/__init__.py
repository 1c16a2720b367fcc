"""Discriminant analysis: Bayes' rule with Gaussian classes, and with densities of any kind."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {
        "_class_conditional": ("ClassConditionalClassifier",),
        "_kernel_discriminant": ("KernelDiscriminantAnalysis",),
        "_linear": ("LinearDiscriminantAnalysis",),
        "_quadratic": ("QuadraticDiscriminantAnalysis",),
        "_separation": (
            "fisher_criterion",
            "mean_separation",
            "separation_ratio",
        ),
    },
    scikit="sklearn.discriminant_analysis",
)
