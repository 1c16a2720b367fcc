"""Columns made of columns: tables as numbers, and basis functions, so that a linear model can bend."""

from mercer.preprocessing._fourier import FourierBasis
from mercer.preprocessing._polynomial import PolynomialBasis
from mercer.preprocessing._radial import RadialBasis
from mercer.preprocessing._spline import SplineBasis
from mercer.preprocessing._table_encoder import TableEncoder

__all__ = ["FourierBasis", "PolynomialBasis", "RadialBasis", "SplineBasis", "TableEncoder"]
