"""Mixtures, and the EM engine that fits them."""

from mercer.mixture._gaussian_mixture import GaussianMixture

__all__ = ["GaussianMixture"]
