"""Regression and classification in the feature space of a kernel."""

from mercer.kernel_ridge._kernel_logistic import KernelLogisticRegression
from mercer.kernel_ridge._kernel_ridge import KernelRidge
from mercer.kernel_ridge._kernel_ridge_cv import KernelRidgeCV
from mercer.kernel_ridge._regularization_network import RegularizationNetwork

__all__ = ["KernelLogisticRegression", "KernelRidge", "KernelRidgeCV", "RegularizationNetwork"]
