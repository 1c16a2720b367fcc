"""Texts: their terms, how often each is in a text, and the hashes of terms."""

from mercer._native.loading import load_module


def __getattr__(name: str):
    return load_module(__name__, name)
