"""Classification by nearness."""

from mercer.neighbors._nearest_centroid import NearestCentroid

__all__ = ["NearestCentroid"]
