"""Kernels in scikit-learn's form, which Gaussian processes take too. See :mod:`mercer.kernels`."""

from mercer._lazy import load_on_use

__getattr__, __dir__, __all__ = load_on_use(__name__, {}, scikit="sklearn.gaussian_process.kernels")
