"""Explanations: Shapley values of trees, along the paths of training rows and against rows of a background."""

from mercer._native.loading import load_module


def __getattr__(name: str):
    return load_module(__name__, name)
