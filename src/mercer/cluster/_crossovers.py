"""Sizes from which clusters are found in another way, each set by ``python -m tools.tune``."""

PRODUCT_VALUES = 1048576  # differences of all pairs, from which a matrix product gives the distances of long rows
