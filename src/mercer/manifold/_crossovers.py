"""Sizes from which embeddings are found in another way, each set by ``python -m tools.tune``."""

SPARSE_FACTORS = 450  # rows, from which the smallest eigenvalues are found by iterations with a sparse factor
PRODUCTS = 250  # rows, from which the largest eigenvalues are found by iterations of products
