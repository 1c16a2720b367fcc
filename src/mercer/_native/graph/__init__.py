"""Tables on graphs: products and sums of tables along a junction tree, counts of rows for tables."""

from mercer._native.loading import load_module


def __getattr__(name: str):
    return load_module(__name__, name)
