"""A mixture of Gaussians and k-means on the same rows."""

from figures.mixture import draw_comparison as draw

__all__ = ["draw"]
