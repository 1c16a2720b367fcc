"""A mixture of Gaussians and k-means on the same rows."""

from figures.probability.mixture import draw_comparison as draw

__all__ = ["draw"]
