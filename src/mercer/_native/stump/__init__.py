"""Stumps, trees of one split: the search over sorted columns, the two sides of the rows, votes of many stumps."""

from mercer._native.loading import load_module


def __getattr__(name: str):
    return load_module(__name__, name)
