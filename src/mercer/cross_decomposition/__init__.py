"""Projections of two tables at once: canonical correlations and partial least squares."""

from typing import TYPE_CHECKING

from mercer._lazy import load_on_use

if TYPE_CHECKING:
    from mercer.cross_decomposition._cca import CCA
    from mercer.cross_decomposition._correlation_tests import CorrelationTest
    from mercer.cross_decomposition._kernel_cca import KernelCCA
    from mercer.cross_decomposition._pls import PLSCanonical, PLSRegression
    from mercer.cross_decomposition._svd import PLSSVD

__all__ = ["CCA", "PLSSVD", "CorrelationTest", "KernelCCA", "PLSCanonical", "PLSRegression"]

__getattr__, __dir__ = load_on_use(
    __name__,
    {
        "_cca": ("CCA",),
        "_correlation_tests": ("CorrelationTest",),
        "_kernel_cca": ("KernelCCA",),
        "_pls": ("PLSCanonical", "PLSRegression"),
        "_svd": ("PLSSVD",),
    },
)
