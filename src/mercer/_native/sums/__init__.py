"""Sums over rows: moments, class sums, losses and their gradients, responsibilities."""

from mercer._native.loading import load_module


def __getattr__(name: str):
    return load_module(__name__, name)
