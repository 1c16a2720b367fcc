"""Neural networks: passes through dense layers and steps of their weights, by a team of threads."""

from mercer._native.loading import load_module


def __getattr__(name: str):
    return load_module(__name__, name)
