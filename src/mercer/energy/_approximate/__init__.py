"""Approximations with what is known of their error: the mean field with its bound, and loopy belief propagation."""
