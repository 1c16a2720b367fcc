"""Densities and decisions from the rows near a point."""

from mercer.neighbors._histogram_density import HistogramDensity
from mercer.neighbors._kernel_density import KernelDensity
from mercer.neighbors._nearest_centroid import NearestCentroid
from mercer.neighbors._outliers.local_outlier_factor import LocalOutlierFactor

__all__ = ["HistogramDensity", "KernelDensity", "LocalOutlierFactor", "NearestCentroid"]
