"""Multidimensional scaling: maps whose distances are those given, classical, metric and non-metric."""
