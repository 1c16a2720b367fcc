"""Regression and classification in the feature space of a kernel."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(
    __name__,
    {
        "_kernel_logistic": ("KernelLogisticRegression",),
        "_kernel_ridge": ("KernelRidge",),
        "_kernel_ridge_cv": ("KernelRidgeCV",),
        "_regularization_network": ("RegularizationNetwork",),
    },
    scikit="sklearn.kernel_ridge",
)
