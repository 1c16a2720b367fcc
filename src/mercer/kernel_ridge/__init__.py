"""Regression and classification in the feature space of a kernel."""

from typing import TYPE_CHECKING

from mercer._lazy import load_on_use

if TYPE_CHECKING:
    from mercer.kernel_ridge._kernel_logistic import KernelLogisticRegression
    from mercer.kernel_ridge._kernel_ridge import KernelRidge
    from mercer.kernel_ridge._kernel_ridge_cv import KernelRidgeCV
    from mercer.kernel_ridge._regularization_network import RegularizationNetwork

__all__ = ["KernelLogisticRegression", "KernelRidge", "KernelRidgeCV", "RegularizationNetwork"]

__getattr__, __dir__ = load_on_use(
    __name__,
    {
        "_kernel_logistic": ("KernelLogisticRegression",),
        "_kernel_ridge": ("KernelRidge",),
        "_kernel_ridge_cv": ("KernelRidgeCV",),
        "_regularization_network": ("RegularizationNetwork",),
    },
)
