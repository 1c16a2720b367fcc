"""What native modules share: elementary functions, sums, BLAS and LAPACK, and teams of threads."""

from mercer._native.loading import load_module


def __getattr__(name: str):
    return load_module(__name__, name)
