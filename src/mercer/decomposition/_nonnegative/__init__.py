"""Nonnegative matrix factorisation: starts, coordinate descent, multiplicative updates, and the estimators."""
