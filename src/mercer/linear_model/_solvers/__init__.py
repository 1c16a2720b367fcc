"""Solvers that only linear models use, one folder per kind of method."""
