"""Sizes from which what estimators share computes in another way, each set by ``python -m tools.tune``."""

NUMPY_CLASSES = 9  # classes, from which NumPy finds the largest score of a row sooner than native code
