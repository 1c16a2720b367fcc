"""Sizes from which sources compute in another way, each set by ``python -m tools.tune``."""

COMPILED_COLUMNS = 4  # columns of a dense factor, from which compiled products of sparse rows replace SciPy's
