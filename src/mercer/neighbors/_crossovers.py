"""Sizes from which neighbours are found in another way, each set by ``python -m tools.tune``."""

CENTRE_PRODUCTS = 16384  # values of all class centres, from which their scores are a matrix product
