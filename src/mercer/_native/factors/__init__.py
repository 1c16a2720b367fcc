"""Factors of matrices: nonnegative rows by coordinate descent, products at stored entries, steps of online axes."""

from mercer._native.loading import load_module


def __getattr__(name: str):
    return load_module(__name__, name)
