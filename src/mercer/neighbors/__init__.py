"""Densities and decisions from the rows near a point."""

from mercer.neighbors._histogram_density import HistogramDensity
from mercer.neighbors._kernel_density import KernelDensity

__all__ = ["HistogramDensity", "KernelDensity"]
