"""Sizes from which neighbours are searched in another way, each set by ``python -m tools.tune``."""

BYTE_PAIRS = 4194304  # pairs of a query and a row, from which they are compared in bytes where these suffice
