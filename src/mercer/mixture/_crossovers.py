"""Sizes from which densities are computed in another way, each set by ``python -m tools.tune``."""

COMPONENT_PRODUCTS = 2500  # features of a row, from which each component has a product of its own without features
