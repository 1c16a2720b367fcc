"""Linear models: coordinate descent, stochastic and averaged gradients."""

from mercer._native.loading import load_module


def __getattr__(name: str):
    return load_module(__name__, name)
