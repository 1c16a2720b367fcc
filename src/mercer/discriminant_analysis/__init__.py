"""Discriminant analysis: Bayes' rule with Gaussian classes, and with densities of any kind."""

from typing import TYPE_CHECKING

from mercer._lazy import load_on_use

if TYPE_CHECKING:
    from mercer.discriminant_analysis._class_conditional import ClassConditionalClassifier
    from mercer.discriminant_analysis._kernel_discriminant import KernelDiscriminantAnalysis
    from mercer.discriminant_analysis._linear import LinearDiscriminantAnalysis
    from mercer.discriminant_analysis._quadratic import QuadraticDiscriminantAnalysis
    from mercer.discriminant_analysis._separation import fisher_criterion, mean_separation, separation_ratio

__all__ = [
    "ClassConditionalClassifier",
    "KernelDiscriminantAnalysis",
    "LinearDiscriminantAnalysis",
    "QuadraticDiscriminantAnalysis",
    "fisher_criterion",
    "mean_separation",
    "separation_ratio",
]

__getattr__, __dir__ = load_on_use(
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
)
