"""Boltzmann machines: units drawn by their probabilities, free energies, and the effect of turning one unit over."""

from mercer._native.loading import load_module


def __getattr__(name: str):
    return load_module(__name__, name)
