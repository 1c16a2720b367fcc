"""Tables on graphs: their products and sums along a junction tree, counts of rows; orders of elimination."""

from mercer._native.loading import load_module


def __getattr__(name: str):
    return load_module(__name__, name)
