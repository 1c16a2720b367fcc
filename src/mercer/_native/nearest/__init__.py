"""Nearest rows: all pairs of queries and rows in tiles, heaps of neighbours, walks down a box tree."""

from mercer._native.loading import load_module


def __getattr__(name: str):
    return load_module(__name__, name)
