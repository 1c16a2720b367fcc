"""Sizes from which what estimators share computes in another way, each set by ``python -m tools.tune``."""

NUMPY_CLASSES = 9  # classes, from which NumPy finds the largest score of a row sooner than native code
SPLIT_SCORES = 16384  # rows times columns times classes, from which classes are scored one after the other
THREADED_QUERIES = 16  # queries, from which more threads save more seconds than asking for their number takes
