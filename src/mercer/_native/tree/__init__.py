"""Trees: searches for splits, growth of nodes, of stumps and of isolation trees, walks from the root to a leaf."""

from mercer._native.loading import load_module


def __getattr__(name: str):
    return load_module(__name__, name)
