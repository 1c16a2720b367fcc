"""Source separation: scores of independent components with their sums, and rotations of sets of matrices."""

from mercer._native.loading import load_module


def __getattr__(name: str):
    return load_module(__name__, name)
