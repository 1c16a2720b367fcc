"""Isolation trees: draws of rows, and trees of random splits grown on them."""

from mercer._native.loading import load_module


def __getattr__(name: str):
    return load_module(__name__, name)
