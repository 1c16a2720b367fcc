"""Reverse-mode automatic differentiation of array expressions, for losses of one's own (NN-05)."""
