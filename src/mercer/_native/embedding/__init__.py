"""Maps of rows in few dimensions: perplexities, attraction along edges, repulsion by trees, grids and all pairs."""

from mercer._native.loading import load_module


def __getattr__(name: str):
    return load_module(__name__, name)
