"""Sizes from which axes are found in another way, each set by ``python -m tools.tune``."""

CHOSEN_DRIVER = 33  # columns, from which SciPy chooses how to find eigenvectors; below, LAPACK finds all of them
NARROW_SUBSPACE = 128  # columns, from which random vectors span fewer directions than there are columns
CHOLESKY_BASIS = 8192  # numbers of a basis, from which its inner products make it orthonormal, not reflections
