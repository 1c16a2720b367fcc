"""Sizes from which columns are ranked in another way, each set by ``python -m tools.tune``."""

SEPARATE_COLUMNS = 131072  # values, from which each column is ranked by itself instead of all in one call of NumPy each
