"""Linear models: least squares and ridge regression."""

from mercer.linear_model._least_squares import LinearRegression
from mercer.linear_model._ridge import Ridge

__all__ = ["LinearRegression", "Ridge"]
