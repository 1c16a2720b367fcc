"""Histogram boosting: bins, gradients, growth by a team of threads, sums over trees."""

from mercer._native.loading import load_module


def __getattr__(name: str):
    return load_module(__name__, name)
