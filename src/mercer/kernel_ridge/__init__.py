"""Regression and classification in the feature space of a kernel."""

from mercer.kernel_ridge._kernel_ridge import KernelRidge

__all__ = ["KernelRidge"]
