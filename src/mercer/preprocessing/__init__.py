"""Basis functions: columns made of columns, so that a linear model can bend."""

from mercer.preprocessing._fourier import FourierBasis
from mercer.preprocessing._polynomial import PolynomialBasis
from mercer.preprocessing._radial import RadialBasis
from mercer.preprocessing._spline import SplineBasis

__all__ = ["FourierBasis", "PolynomialBasis", "RadialBasis", "SplineBasis"]
