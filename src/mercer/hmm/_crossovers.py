"""Sizes from which chains are computed in another way, each set by ``python -m tools.tune``."""

STATE_PRODUCTS = 40  # columns, from which full covariances are worked on by products for each state, not by lanes
