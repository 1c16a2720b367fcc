"""Columns made of columns: tables as numbers, basis functions by which a linear model can bend, centred kernels."""

from mercer.preprocessing._fourier import FourierBasis
from mercer.preprocessing._kernel_centerer import KernelCenterer
from mercer.preprocessing._polynomial import PolynomialBasis
from mercer.preprocessing._radial import RadialBasis
from mercer.preprocessing._spline import SplineBasis
from mercer.preprocessing._table_encoder import TableEncoder

__all__ = [
    "FourierBasis",
    "KernelCenterer",
    "PolynomialBasis",
    "RadialBasis",
    "SplineBasis",
    "TableEncoder",
]
