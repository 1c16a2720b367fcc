"""Least squares, ridge, its searches and its Bayesian form."""
