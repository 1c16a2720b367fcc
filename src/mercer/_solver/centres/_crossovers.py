"""Sizes from which nearest centres are found in another way, each set by ``python -m tools.tune``."""

BOUNDED_VALUES = 512  # values of all centres, from which bounds of distances save more time than they take
PRODUCT_VALUES = 1024  # values of all centres, from which scores by the BLAS take less time than distances in lanes
