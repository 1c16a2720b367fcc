"""Projections of two tables at once: canonical correlations and partial least squares."""

from mercer.cross_decomposition._cca import CCA
from mercer.cross_decomposition._correlation_tests import CorrelationTest
from mercer.cross_decomposition._kernel_cca import KernelCCA
from mercer.cross_decomposition._pls import PLSCanonical, PLSRegression
from mercer.cross_decomposition._svd import PLSSVD

__all__ = ["CCA", "PLSSVD", "CorrelationTest", "KernelCCA", "PLSCanonical", "PLSRegression"]
