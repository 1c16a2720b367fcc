"""Decision trees: searches for splits, growth of nodes, walks from the root to a leaf."""

from mercer._native.loading import load_module


def __getattr__(name: str):
    return load_module(__name__, name)
