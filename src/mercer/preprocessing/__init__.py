"""Basis functions, so that a linear model can bend, and centring in feature space."""

from mercer.preprocessing._fourier import FourierBasis
from mercer.preprocessing._kernel_centerer import KernelCenterer
from mercer.preprocessing._polynomial import PolynomialBasis
from mercer.preprocessing._radial import RadialBasis
from mercer.preprocessing._spline import SplineBasis

__all__ = ["FourierBasis", "KernelCenterer", "PolynomialBasis", "RadialBasis", "SplineBasis"]
