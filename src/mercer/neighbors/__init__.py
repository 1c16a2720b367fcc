"""Densities and decisions from the rows near a point."""

from mercer.neighbors._kernel_density import KernelDensity

__all__ = ["KernelDensity"]
