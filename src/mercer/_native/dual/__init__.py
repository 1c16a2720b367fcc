"""Kernel machines: kernel values, working sets, steps on pairs of coefficients."""

from mercer._native.loading import load_module


def __getattr__(name: str):
    return load_module(__name__, name)
