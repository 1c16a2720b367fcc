"""Sequences: forward and backward passes, best paths, expected counts."""

from mercer._native.loading import load_module


def __getattr__(name: str):
    return load_module(__name__, name)
